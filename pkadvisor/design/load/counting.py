"""What the service counts: entities of 1 KiB, pages, group transactions. And rates that no account could bear."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.row_sizes import row_bytes
from pkadvisor.design.rows.arrivals import follows_arrival
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import guarantee
from pkadvisor.lazy import Floats, np
from pkadvisor.observe.workload import Transaction
from pkadvisor.table.accounting import ANSWER_BYTES, counted_by_bytes, group_most

RATE_ABSURD = 1_000.0
"""Times the account's target above which a rate is told to be a slip of the pen: assumed."""


def capacity_weights(scheme: KeyScheme, bench: Bench) -> tuple[float, ...]:
    """What each row of an entity counts toward a target that is stated for small entities: once for every started
    ``limits.capacity_entity_bytes``, at least once."""
    return tuple(float(counted_by_bytes(size, bench.limits.capacity_entity_bytes)) for size in row_bytes(scheme, bench))


def pages_of(scanned: Floats, returned: Floats, bench: Bench) -> Floats:
    """Pages of one request: one ends at so many entities, at so many bytes, or after so many seconds of scanning."""
    limits = bench.limits
    by_entities = np.ceil(scanned / limits.page_entities)
    by_bytes = np.ceil(returned * (bench.property_bytes + ANSWER_BYTES) / limits.page_bytes)
    pages: Floats = np.maximum(by_entities, by_bytes)
    seconds = limits.scan_ms_per_entity / 1000
    if seconds * limits.page_entities > limits.query_execution_s:  # else a page is full before its time is over
        pages = np.maximum(pages, np.ceil(scanned * seconds / limits.query_execution_s))
    return pages


def set_entities_most(scheme: KeyScheme, bench: Bench) -> int:
    """Entities that one group transaction takes with their index rows of the same partition, by count and by bytes."""
    sizes = row_bytes(scheme, bench)
    inside = scheme.places()[0]
    return group_most(sum(sizes[via] for via in inside), len(inside), bench.limits)


def set_fixes(names: Sequence[str], parts: Sequence[Part], population: Population) -> bool:
    """Whether entities that agree on some properties always share a key: only then can they change in one group
    transaction.

    What the key reads must be among the properties, or depend on them in the sampled rows, with at least one set of two
    rows to tell by where these are a sample. Buckets of a hash that happen to be equal tell nothing: there the hashed
    property must depend on them.
    """
    common = [("p", name) for name in names if population.has(name)]
    seen = population.complete or int(population.counts(common).max(initial=0)) > 1
    for part in parts:
        if part.constant is not None or (part.properties and set(part.properties) <= set(names)):
            continue
        read = [("p", name) for name in part.properties] if part.hashing is not None else list(atoms_of((part,)))
        if not seen or not population.determines(common, read):
            return False
    return True


def keeps_together(declared: Transaction, parts: Sequence[Part], population: Population) -> bool:
    """Whether all entities that a transaction changes together always share a key.

    A logged group is written at one moment: its entities share the period of their arrival.
    """
    if declared.pair is not None:
        return guarantee(declared.pair, parts, population).whole
    if declared.logged_entities is not None:
        parts = [p for p in parts if p.period is None or not follows_arrival(p.properties[0], population)]
    return set_fixes(declared.group_by, parts, population)


def common_to(declared: Transaction, scheme: KeyScheme) -> tuple[str, ...]:
    """What the entities of one kept set have alike: for a pair whatever the PartitionKey reads."""
    if declared.pair is None:
        return declared.group_by
    return part_properties(scheme.main.partition)


def strange_rate(demand: Demand, bench: Bench) -> tuple[str, ...]:
    """What to say of a rate that weighs nothing, or that no account could bear."""
    rate, target = demand.query.rate, bench.limits.account_requests_per_s
    if rate.mean_per_s == 0:
        return ("its rate is zero: it costs nothing and decides nothing",)
    if rate.peak_per_s > RATE_ABSURD * target:
        times = rate.peak_per_s / target
        return (f"{rate.peak_per_s:,.0f}/s is {times:,.0f} times the target of an account: check the number",)
    return ()
