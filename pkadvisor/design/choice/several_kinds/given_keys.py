"""Keys that are given, priced as ``analyze`` prices those that it proposes: over every row, with intervals, and beside
the other tables and kinds of the account.

Kinds that share a partition under the keys in use: whether they stay, and what one transaction of them saves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.choice.certainty.confidence import with_intervals
from pkadvisor.design.choice.goals import good_enough
from pkadvisor.design.choice.judge import learn, partitions_counted, readable
from pkadvisor.design.choice.sections import Section, observed
from pkadvisor.design.choice.several_kinds.account import AccountLoad, bench_beside, shared_loads, table_name
from pkadvisor.design.choice.several_kinds.kinds import Arrangement, Bond, KindPool, bonds_of, bound
from pkadvisor.design.cost.cost import beside, estimate
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.counting import set_fixes
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.rows.dependencies import half_rules, in_one_way
from pkadvisor.design.rows.samples.screen import PartitionFacts
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.workload import Workload
from pkadvisor.values import dataclass


def stays(now: Arrangement, best: Arrangement, pools: Mapping[str, KindPool]) -> bool:
    """Whether kinds that share a partition keep the keys in use: these hold the same transactions, break nothing at the
    declared load and are good enough, kind by kind."""
    shared = [kind for _, kinds in now.shared for kind in kinds]
    if not shared or len(now.kept) < len(best.kept) or any(not v.assumed for _, v in now.violations):
        return False
    in_use = [(now.scheme_of(kind), pools[kind].current) for kind in shared]
    return all(mine is theirs for mine, theirs in in_use) and all(
        good_enough(now.scheme_of(kind), best.scheme_of(kind)) for kind in shared
    )


def offer_in_use(
    kinds: tuple[str, ...], bonds: tuple[Bond, ...], pools: Mapping[str, KindPool]
) -> list[tuple[str, dict[str, CostEstimate]]]:
    """The keys in use with their PartitionKey, where that is one template and keeps the transactions; else nothing."""
    offer = {kind: pools[kind].current for kind in kinds}
    texts = {format_template(e.scheme.main.partition) for e in offer.values() if e is not None}
    if len(texts) != 1:
        return []
    out = {}
    for kind, now in offer.items():
        if now is None:
            return []
        bench = pools[kind].bench
        joined = replace(bench, workload=bound(bench.workload, [b for b in bonds if kind in b.kinds], kind))
        if any(v.code == "transaction-broken" for v in estimate(now.scheme, joined).violations):
            return []
        out[kind] = now
    return [(texts.pop(), out)]


def saved_per_s(bond: Bond, estimates: Mapping[str, CostEstimate], limits: Limits, *, peak: bool = False) -> float:
    """Requests per second that a kept transaction saves, against its writes under the keys of each kind alone.

    At most one for each entity; fewer where a kind writes several entities in one request already.
    """
    needed = max(1, math.ceil(bond.entities / limits.group_transaction_entities))
    rate = bond.peak_per_s if peak else bond.rate_per_s
    costs = [c for m in bond.members for c in estimates[m.kind].classes if c.name == m.name]
    alone = math.fsum((c.peak_per_s if peak else c.rate_per_s) * c.requests_write for c in costs)
    return max(0.0, min(rate * bond.entities, alone) - rate * needed)


@dataclass(frozen=True, slots=True)
class GivenKeys:
    """One table or kind with its given keys, priced; ``of_table``: which of them the table is taken to have."""

    section: Section
    bench: Bench
    schemes: tuple[CostEstimate, ...]
    of_table: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """The same beside the other tables and kinds: each scheme with the bench of it."""

    schemes: tuple[tuple[CostEstimate, Bench], ...]


def price(
    schemes: Sequence[KeyScheme], bench: Bench, section: Section, dataset: Dataset | None
) -> tuple[CostEstimate, ...]:
    """Keys of one table with intervals and partitions, checked over every row where that can be read."""
    assert section.data is not None
    counted: dict[Key, PartitionFacts] = {}
    if readable(section.data, dataset):  # a sample cannot tell whether a key is unique
        learn([scheme.main for scheme in schemes], bench, dataset, counted)
    estimates = tuple(estimate(scheme, bench) for scheme in schemes)
    estimates = partitions_counted(estimates, bench, dataset, counted)
    return with_intervals(estimates, bench, log_sampled=section.traffic is not None and section.traffic.sampled)


def together(
    tables: Sequence[GivenKeys], unpriced: Sequence[Section], limits: Limits
) -> tuple[list[Told], tuple[AccountLoad, ...]]:
    """Every scheme beside the keys that the other tables and kinds have, and the account's loads under these."""
    account = account_of(tables, [(table_name(s), observed(s)[0]) for s in unpriced], limits)
    out = []
    for table in tables:
        name, bench = table_name(table.section), table.bench
        benches = [bench_beside(bench, estimate, account, name) for estimate in table.schemes]
        out.append(Told(tuple((beside(f, b), b) for f, b in zip(table.schemes, benches, strict=True))))
    return out, account


def account_of(
    tables: Sequence[GivenKeys], unpriced: Sequence[tuple[str, Workload]], limits: Limits
) -> tuple[AccountLoad, ...]:
    """The account's loads under the keys that the tables and kinds have; nothing where only one asks anything of it.

    ``unpriced``: names and workloads of those whose keys cannot be priced.
    """
    kinds = [(table_name(t.section), t.bench, t.schemes[t.of_table]) for t in tables]
    return shared_loads(kinds, unpriced, limits, saved_by_sets(tables, limits))


def saved_by_sets(tables: Sequence[GivenKeys], limits: Limits) -> float:
    """Requests per second at the peak that transactions over several kinds save, under the keys that these have."""
    saved = []
    for name in dict.fromkeys(t.section.table for t in tables):
        kinds = {t.section.kind or "": t for t in tables if t.section.table == name}
        declared = next(iter(kinds.values())).section.declared
        if len(kinds) < 2 or declared is None:
            continue
        keys = {kind: t.schemes[t.of_table] for kind, t in kinds.items()}
        kept_bonds = [bond for bond in _bonds(declared.workload, kinds) if _kept(bond, kinds)]
        saved += [saved_per_s(bond, keys, limits, peak=True) for bond in kept_bonds]
    return math.fsum(saved)


def _bonds(workload: Workload, kinds: Mapping[str, GivenKeys]) -> list[Bond]:
    populations = {kind: table.bench.population for kind, table in kinds.items()}
    alike = {
        kind: {d.source: d.target for d in half_rules(p) if d.both_ways and p.has(d.target)}
        for kind, p in populations.items()
    }
    bonds = bonds_of(workload, {kind: p.types for kind, p in populations.items()}, alike)
    return [bond for bond in bonds if set(bond.kinds) <= kinds.keys()]


def _kept(bond: Bond, kinds: Mapping[str, GivenKeys]) -> bool:
    """Whether a transaction is one group transaction: its kinds have one PartitionKey of what it has in common."""
    if bond.missing:
        return False
    texts = set()
    for kind in bond.kinds:
        table = kinds[kind]
        parts, population = table.schemes[table.of_table].scheme.main.partition, table.bench.population
        if not set_fixes(bond.common(kind), parts, population):
            return False
        texts.add(format_template(in_one_way(parts, population)))
    return len(texts) == 1
