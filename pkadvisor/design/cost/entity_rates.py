"""How often one entity is changed: read-modify-write under If-Match has a ceiling that no key lifts."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.contention import contention, cycle_ms_of_conflicts, sharded_counter
from pkadvisor.design.load.estimates import Bench, Break, Violation
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.load.scaling import zipf_top_share
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.draws import zipf_block
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Draw, DrawBy, GrowthOf
from pkadvisor.remembered import remembered
from pkadvisor.table.filters import Parameter
from pkadvisor.values import dataclass

STANDS_OUT = 2
"""An entity is named that is changed this many times as often as they are in the mean."""


@dataclass(frozen=True, slots=True)
class EntityRate:
    """Read-modify-writes of one class.

    ``hottest_per_s``: of the entity that all such classes together change most, at the peak, which is that of ``row``;
    None where it is not known, or no other than the rest. ``attempts``: attempts per commit, for each instance of the
    class, by latencies as the limits say. ``cycle_ms``: how long a read and a write take: so, or longer, where more of
    the logged attempts conflicted than these explain.
    """

    hottest_per_s: float
    attempts: Floats
    cycle_ms: float
    row: int | None = None


def zipf_share(draw: Draw, population: Population, names: Iterable[str]) -> float | None:
    """What share of the load on the most popular key at hand is its own in the whole table, under Zipf's law.

    The rest is that of the keys that it stands for. None where a partition or entity that ``names`` divide by may hold
    some of these as well, so that the law does not tell.
    """
    block = zipf_block(draw, population)
    if block > 1 and not {n for n in draw.of if population.has(n)} <= set(names):
        return None
    return zipf_top_share(draw.exponent, round(block))


def entity_rates(bench: Bench) -> dict[str, EntityRate]:
    """Rates per entity of every class that reads, modifies and writes; no key scheme changes them.

    Entities are told apart by what a class names by equality, and a class that names nothing so is left out; classes
    that name the same properties and constants change the same entities. Instances are rows at hand, and a share of a
    sample is scaled to the table.
    """
    named = [d for d in bench.demands if d.conditions.equal or d.conditions.folded]
    changing = [d for d in named if d.query.read_modify_write and not d.query.analytic]
    if not changing:
        return {}
    return _entity_rates(changing, bench, _assumed_cycle_ms(bench))


@remembered(
    "entity rates",
    of=lambda changing, bench, cycle_ms: (
        tuple((d.query, bench.workload.conflicts.get(d.query.name)) for d in changing),
        cycle_ms,
    ),
)
def _entity_rates(changing: list[Demand], bench: Bench, cycle_ms: float) -> dict[str, EntityRate]:
    population, seconds = bench.population, cycle_ms / 1000
    by_identity: dict[tuple[tuple[Atom, ...], tuple[str, ...]], list[Demand]] = {}
    for demand in changing:
        equal = {name: operand for name, operand in demand.conditions.equal.items() if population.has(name)}
        literals = {name for name, operand in equal.items() if not isinstance(operand, Parameter)}
        atoms = tuple(sorted(a for a in demand.fixed_atoms(population) if not literals & {*atom_properties(a)}))
        constants = tuple(sorted(f"{name} {equal[name]}" for name in literals))
        by_identity.setdefault((atoms, constants), []).append(demand)
    out = {}
    for (atoms, _), demands in by_identity.items():
        names = tuple(name for atom in atoms for name in atom_properties(atom))
        ids, size = population.groups(atoms) if atoms else (np.zeros(population.rows, dtype=np.int64), 1)
        per_s = np.zeros(size)
        for demand in demands:
            # What a log asks for is what was asked for; Zipf's law tells what the hottest takes of the entities that it
            # stands for; other shares of a sample of the data are scaled.
            draw = demand.query.draw
            zipf = zipf_share(draw, population, names) if draw.by is DrawBy.ZIPF else None
            whole = draw.by is DrawBy.LOG or not atoms
            factor = 1.0 if whole else zipf if zipf is not None else population.share_factor(atoms)
            rate = demand.weights * demand.query.rate.sustained_per_s * demand.query.entities_per_request * factor
            per_s += np.bincount(ids[demand.instances], weights=rate, minlength=size)
        hottest, row = float(per_s.max(initial=0.0)), _hottest_row(per_s, ids[: population.rows])
        for demand in demands:
            # As in contention(): e^load attempts; at a load of 1 and above only what can commit is counted.
            busy = np.minimum(per_s[ids[demand.instances]] * seconds, 1.0)
            # The hottest entity has at least the share of conflicts that all of its class have.
            refused = bench.workload.conflicts.get(demand.query.name, 0.0)
            cycle = max(cycle_ms, cycle_ms_of_conflicts(hottest, refused))
            out[demand.query.name] = EntityRate(hottest, np.exp(busy), cycle, row)
    return out


def _hottest_row(per_s: Floats, ids: Ints) -> int | None:
    """The row at hand that is changed most, where it is one, and is changed more often than the others are."""
    rows = np.flatnonzero(ids == int(per_s.argmax())) if len(per_s) else ids[:0]
    alone = len(rows) == 1 and float(per_s.max()) * len(per_s) >= STANDS_OUT * float(per_s.sum())
    return int(rows[0]) if alone else None


def contended(scheme: KeyScheme, bench: Bench) -> tuple[Violation, ...]:
    """The classes that change one entity more often than it can commit, under whatever key."""
    growth = bench.workload.growth
    grows = growth is None or growth.of is GrowthOf.RATE
    horizon = bench.horizon_factor if grows else 1.0
    out = []
    for name, entity_rate in entity_rates(bench).items():
        now = contention(entity_rate.hottest_per_s, bench.limits, cycle_ms=entity_rate.cycle_ms)
        rate, most = now.rate_per_s, now.commits_per_s_served
        if rate * horizon < most:
            continue
        cycle = entity_rate.cycle_ms
        rows, later = (sharded_counter(rate * factor, bench.limits, cycle_ms=cycle).shards for factor in (1, horizon))
        when = f"{amount(rate)} times a second at the peak"
        assumed = rate < most and growth is None
        if rate < most:
            when += f", {amount(rate * horizon)} after {amount(horizon)}x growth" + (" (assumed)" if assumed else "")
        over = f"{later} rows" + (f" ({rows} would do at today's peak)" if rows != later else "")
        keys = _keys_of(scheme, bench.population, entity_rate.row)
        refused = bench.workload.conflicts.get(name, 0.0)
        by_log = (
            f" where {percent(refused)} of the attempts get 412, as in the log"
            if cycle > _assumed_cycle_ms(bench)
            else ""
        )
        named = "" if keys is None else f", '{keys[0]}' | '{keys[1]}',"
        message = (
            f"'{name}' reads, changes and writes one entity{named} {when}; {amount(most)}/s are served under any key "
            f"(a read and a write take {amount(now.cycle_ms)} ms{by_log}): divide the counter over {over}, and add "
            "them up when it is read"
        )
        texts = tuple(text for text in keys or () if text)
        severity = rate * horizon / most
        out.append(Violation("hot-entity-contention", message, rate, most, "commits/s", severity, assumed, texts))
    return tuple(out)


def _assumed_cycle_ms(bench: Bench) -> float:
    """Milliseconds of a read and a write, as the limits say."""
    return contention(0.0, bench.limits).cycle_ms


def _keys_of(scheme: KeyScheme, population: Population, row: int | None) -> tuple[str, str] | None:
    """The PartitionKey and the RowKey of an entity at hand."""
    if row is None:
        return None
    parts = scheme.main.partition, scheme.main.row
    partition, row_key = (encode_row(each, under(each, population), row) for each in parts)
    return partition, row_key


def entity_breaks(bench: Bench) -> tuple[Break, ...]:
    """Where growth of the rate ends for one entity: at the commits that it can take."""
    out = []
    for name, entity_rate in entity_rates(bench).items():
        now = contention(entity_rate.hottest_per_s, bench.limits, cycle_ms=entity_rate.cycle_ms)
        if now.load > 0:
            most = now.commits_per_s_served
            factor = most / now.rate_per_s
            comfort = bench.limits.headroom_share * factor
            cause, kinds = f"commits of one entity by {name}", (GrowthOf.RATE,)
            out.append(Break(cause, "entity", now.rate_per_s, most, "commits/s", factor, comfort, kinds))
    return tuple(out)
