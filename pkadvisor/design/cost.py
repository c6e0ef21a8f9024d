"""What a scheme costs a workload: entities read and written, requests, the load of the hottest partition, when it
breaks.

Published facts used: a partition serves 2,000 entities/s and an account 20,000 requests/s; entities *scanned* count; a
page holds 1,000 entities or 4 MiB; a group transaction is one request for at most 100 entities of one partition; stored
bytes follow the 2010 capacity formula. What a request costs its owner is counted; capacities are the published targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pkadvisor.design.demand import Demand, group_sizes, range_count
from pkadvisor.design.heat import Fronts, LoadMap, write_fronts
from pkadvisor.design.plan import Access, AccessPlan, plan
from pkadvisor.design.population import Atom, Population, atoms_of
from pkadvisor.design.scheme import IndexRow, Key, KeyScheme, encode, key_expression
from pkadvisor.design.template import format_template
from pkadvisor.design.transforms import (
    TICKS_DIGITS,
    Field,
    Hash,
    Literal,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Sequence,
    Ticks,
    Time,
)
from pkadvisor.observe.workload import Basis, DrawBy, GrowthOf, Operation, Transaction, Workload
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.limits import Limits

    Floats = NDArray[np.float64]

DEFAULT_HORIZON_FACTOR = 3.0
"""Growth that a design must survive where none is declared: assumed."""
BOUNDARY_REQUESTS = 1.0
"""Continuations at server boundaries that a scan over several partitions must expect: assumed, the map is not
public."""
SECONDS_PER_MONTH = 30 * 86_400
FEW_PARTITIONS = 50
POINTER_BYTES = 80.0
"""Stored bytes of the two properties that a pointer row carries, besides its key: assumed."""


@dataclass(frozen=True, slots=True)
class ClassCost:
    """One class under one scheme, per operation and at its rates.

    ``entities_read`` is what the service scans, ``entities_returned`` what the application gets, both as means over the
    parameters; ``requests`` includes continuation pages and, for a located write, the look-up.
    """

    name: str
    operation: Operation
    plan: AccessPlan | None
    rate_per_s: float
    peak_per_s: float
    entities_read: float
    entities_read_max: float
    entities_returned: float
    entities_written: float
    requests: float
    fan_out: float
    analytic: bool = False
    notes: tuple[str, ...] = ()

    @property
    def entities_per_s(self) -> float:
        """Entities counted toward targets per second, mean."""
        return self.rate_per_s * (self.entities_read + self.entities_written)


@dataclass(frozen=True, slots=True)
class Violation:
    """A hard constraint that the scheme breaks: what was measured, what the limit is, and by which factor.

    ``assumed``: it holds at the declared peak and fails only at a growth that nobody declared. ``keys`` are the key
    values that the message quotes, for whoever must hide them.
    """

    code: str
    message: str
    measured: float
    limit: float
    unit: str
    severity: float
    assumed: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the owner of the design should know and that breaks nothing by itself."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class HotPartition:
    """The partition that takes most of the load at the peak."""

    partition_key: str
    entities_per_s: float
    share: float
    partitions: int


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """What becomes of a set of writes that belong together."""

    name: str
    kept: bool
    required: bool
    mean_entities: float
    too_large: int
    groups: int


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """A scheme with everything that was computed about it."""

    scheme: KeyScheme
    classes: tuple[ClassCost, ...]
    hot: HotPartition | None
    fronts: Fronts
    inserts_per_s_peak: float
    requests_per_s: float
    requests_per_s_peak: float
    entities_per_s: float
    bytes_per_entity: float
    break_factor: float
    break_cause: str
    horizon_factor: float
    transactions: tuple[TransactionOutcome, ...]
    violations: tuple[Violation, ...]
    remarks: tuple[Remark, ...]
    score: float
    partitions: int
    surplus: int

    @property
    def feasible(self) -> bool:
        """Whether every hard constraint holds."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Bench:
    """What every scheme of one table is measured against."""

    population: Population
    workload: Workload
    demands: tuple[Demand, ...]
    limits: Limits
    property_bytes: float
    """Mean stored bytes of an entity without its keys."""

    @property
    def horizon_factor(self) -> float:
        """Rate growth that the design must survive."""
        growth = self.workload.growth
        if growth is None or growth.of is GrowthOf.ROWS_PER_KEY:
            return DEFAULT_HORIZON_FACTOR if growth is None else growth.factor
        return max(1.0, growth.factor)


def estimate(scheme: KeyScheme, bench: Bench) -> CostEstimate:
    """Everything about one scheme; a pure function of its arguments (the population only caches)."""
    population, workload, limits = bench.population, bench.workload, bench.limits
    transactions = tuple(_transaction(t, scheme, population) for t in workload.transactions)
    loads = LoadMap(population)
    costs = tuple(_class_cost(demand, scheme, bench, transactions, loads) for demand in bench.demands)
    hot = _hot(loads, scheme, population)
    inserted = sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.operation in (Operation.INSERT, Operation.UPSERT) and not d.query.analytic
    )
    fronts, inserts_peak = _fronts(scheme, bench, inserted)
    live = [c for c in costs if not c.analytic]
    requests = sum(c.rate_per_s * c.requests for c in live)
    requests_peak = sum(c.peak_per_s * c.requests for c in live)
    entities = sum(c.entities_per_s for c in live)
    surplus = key_surplus(scheme.main, population)
    pairs = _break_pairs(hot, fronts, inserts_peak, requests_peak, limits)
    factor, cause = min(((f, c) for f, c in pairs), default=(float("inf"), "nothing measured binds"))
    violations = _violations(scheme, bench, hot, fronts, inserts_peak, requests_peak, surplus, transactions)
    score = _score(costs, factor, bench.horizon_factor)
    atoms = atoms_of(scheme.main.partition)
    return CostEstimate(
        scheme=scheme,
        classes=costs,
        hot=hot,
        fronts=fronts,
        inserts_per_s_peak=inserts_peak,
        requests_per_s=requests,
        requests_per_s_peak=requests_peak,
        entities_per_s=entities,
        bytes_per_entity=_bytes(scheme, bench),
        break_factor=factor,
        break_cause=cause,
        horizon_factor=bench.horizon_factor,
        transactions=transactions,
        violations=violations,
        remarks=(*_remarks(scheme, bench, costs, fronts, transactions), *_run_remarks(loads, limits)),
        score=score,
        partitions=round(population.groups_total(atoms)),
        surplus=surplus,
    )


# -- classes ---------------------------------------------------------------------------------------------------------


def _class_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
) -> ClassCost:
    query = demand.query
    if query.operation in (Operation.INSERT, Operation.UPSERT) and query.filter is None:
        return _insert_cost(demand, scheme, bench, transactions, loads)
    candidates = [
        _read(p, demand, scheme, bench)
        for p in plan(query, demand.conditions, scheme, bench.population.types, bench.population.keeps_order)
    ]
    best = min(candidates, key=lambda r: (r.requests, r.entities, r.plan.access.rank, r.plan.via))
    demand = replace(demand, notes=(*demand.notes, *_clamped(demand, list(scheme.each_key())[best.plan.via][0])))
    peak = query.rate.sustained_per_s
    key = list(scheme.each_key())[best.plan.via][0]
    if not query.analytic:
        _spread(best, demand, key, bench.population, loads, peak)
    if query.operation is Operation.QUERY:
        return ClassCost(
            query.name,
            query.operation,
            best.plan,
            query.rate.mean_per_s,
            peak,
            best.entities,
            best.entities_max,
            best.returned,
            0.0,
            best.requests,
            best.fan_out,
            query.analytic,
            demand.notes,
        )
    return _write_cost(demand, scheme, best, bench, loads)


def _clamped(demand: Demand, key: Key) -> tuple[str, ...]:
    """Bounds with an offset that may leave the digits of a padded number."""
    out = []
    for part in (*key.partition, *key.row):
        if isinstance(part, Pad | ReversePad) and part.property in demand.conditions.ranges:
            span = demand.conditions.ranges[part.property]
            if any(getattr(operand, "offset", 0) for operand in (span.low, span.high)):
                out.append(f"keep the bounds on {part.property} within {part.width} digits before padding them")
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _Read:
    plan: AccessPlan
    per_instance: Floats
    entities: float
    entities_max: float
    returned: float
    requests: float
    fan_out: float


def _read(found: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> _Read:
    """Entities scanned and requests sent for each instance of a class along one plan."""
    import numpy as np

    population, limits = bench.population, bench.limits
    instances = demand.instances
    key = list(scheme.each_key())[found.via][0]
    fan_out = np.full(len(instances), float(found.buckets))
    for name in found.choices:
        fan_out *= len(demand.conditions.any_of[name])
    if found.access is Access.TABLE_SCAN:
        scanned = np.full(len(instances), float(population.total * scheme.rows_per_entity))
        fan_out[:] = 1
    else:
        scanned = _rows_reached(found, demand, population)
        for name in found.choices:
            scanned = scanned * len(demand.conditions.any_of[name])
        shared = sum(1 for k, _ in scheme.each_key() if k.partition == key.partition)
        if found.access in (Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN) and not _leads_with_text(key.row):
            scanned = scanned * shared
    if found.periods is not None:
        fan_out *= _period_count(found, demand, population)
    returned = np.minimum(demand.returned, scanned) if len(instances) else demand.returned
    if demand.query.top is not None:
        scanned = _stop_early(scanned, returned, demand.query.top, found, fan_out)
        returned = np.minimum(returned, demand.query.top)
    if found.access is Access.POINT and not found.unserved:
        scanned = np.maximum(np.minimum(scanned, fan_out), 0.0)
    per_request = scanned / np.maximum(fan_out, 1)
    answer_bytes = returned / np.maximum(fan_out, 1) * (bench.property_bytes + 64)
    pages = np.maximum(np.ceil(per_request / limits.page_entities), np.ceil(answer_bytes / limits.page_bytes))
    requests = fan_out * np.maximum(pages, 1)
    if found.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        requests = requests + BOUNDARY_REQUESTS
    if found.pointer:
        requests = requests + returned
        scanned = scanned + returned
    read = np.maximum(scanned, 1.0)
    return _Read(
        found,
        read,
        demand.mean(read) if len(read) else 1.0,
        float(read.max(initial=1.0)),
        demand.mean(returned) if len(read) else 0.0,
        demand.mean(requests) if len(read) else 1.0,
        demand.mean(fan_out) if len(read) else 1.0,
    )


def _rows_reached(found: AccessPlan, demand: Demand, population: Population) -> Floats:
    """Rows between a plan's bounds, per instance: many schemes share the same bounds, so the counts are kept."""
    key = ("reached", demand.query.name, frozenset(found.equal_atoms), found.range_atom)
    if key not in population.memo:
        if found.range_atom and found.range_atom[1] in demand.bounds:
            bounds = demand.bounds[found.range_atom[1]]
            counts = range_count(population, list(found.equal_atoms), found.range_atom, bounds, demand.instances)
        else:
            counts = population.matching(found.equal_atoms, demand.instances)
        population.memo[key] = counts
    kept: Floats = population.memo[key]
    return kept


def _stop_early(scanned: Floats, returned: Floats, top: int, found: AccessPlan, fan_out: Floats) -> Floats:
    """Entities scanned when ``$top`` may stop a scan: only rows in the wanted order let it stop."""
    import numpy as np

    if not found.order_served:
        return scanned
    density = np.where(scanned > 0, np.minimum(1.0, returned / np.maximum(scanned, 1e-9)), 1.0)
    needed = top / np.maximum(density, 1e-9) if found.unserved else np.full(len(scanned), float(top))
    stopped: Floats = np.minimum(scanned, needed * np.maximum(fan_out, 1))
    return stopped


def _period_count(found: AccessPlan, demand: Demand, population: Population) -> Floats:
    """Periods between the bounds of a range, per instance: one request each."""
    import numpy as np

    from pkadvisor.design.population import period_index
    from pkadvisor.design.transforms import time_unit

    assert found.periods is not None
    name = found.periods.property
    low, high = demand.bounds[name]
    unit = time_unit(found.periods.pattern)
    newest = float(population.numbers(name, np.arange(population.size, dtype=np.int64)).max(initial=0))
    import polars as pl

    def periods(moments: Floats) -> NDArray[np.int64]:
        clipped = np.clip(np.nan_to_num(moments, posinf=newest), -6e16, 2.5e17).astype(np.int64)
        return period_index(pl.Series(clipped).cast(pl.Datetime("us", "UTC")), unit)

    high = np.minimum(high, newest + 1)
    return np.asarray(np.maximum(periods(np.maximum(high - 1, low)) - periods(low) + 1, 1), dtype=np.float64)


def _leads_with_text(parts: tuple[Part, ...]) -> bool:
    return bool(parts) and isinstance(parts[0], Literal)


def _spread(best: _Read, demand: Demand, key: Key, population: Population, loads: LoadMap, rate_per_s: float) -> None:
    """Put the entities that a read scans on the partitions that serve them."""
    import numpy as np

    weights = demand.weights * rate_per_s
    single = best.plan.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    if single and best.plan.buckets == 1 and not best.plan.choices:
        recent = _recent(demand, population)
        loads.at_instances(key.partition, demand.instances, weights * best.per_instance, recent=recent)
        return
    atoms = [a for a in best.plan.equal_atoms if a[0] != "m"]
    ids, size = population.groups(atoms)
    scanned = weights * best.per_instance
    load = np.bincount(ids[demand.instances], weights=scanned, minlength=size).astype(np.float64)
    if best.plan.access is Access.PARTITION_RANGE_SCAN:
        loads.at_run(float(load.max(initial=0.0)), demand.query.name)
    loads.at_rows(key.partition, ids, load, population.counts(atoms).astype(np.float64))


def _recent(demand: Demand, population: Population) -> bool:
    """Whether a class goes to the newest entities, and nothing but time says which those are."""
    moving = demand.query.operation is Operation.INSERT or demand.query.draw.by is DrawBy.NEWEST
    return moving and population.sampling == "slice"


def _has_row(key: Key, row: IndexRow | None, population: Population) -> Floats:
    """1 for each row that is written under a key: an index row only where what it is looked up by is present.

    An equality never matches a missing value, so no query would ever read such a row.
    """
    import numpy as np

    memo = ("has row", key.partition if row is not None else None)
    if memo not in population.memo:
        there = np.ones(population.size)
        for part in key.partition if row is not None else ():
            for name in part.properties:
                coded = population.coded(name)
                if coded.has_missing:
                    there *= coded.codes > 0
        population.memo[memo] = there
    kept: Floats = population.memo[memo]
    return kept


def _insert_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
) -> ClassCost:
    import numpy as np

    query = demand.query
    weights = demand.weights * query.rate.sustained_per_s * query.entities_per_request
    written, elsewhere = 1.0, 0.0
    recent = _recent(demand, bench.population)
    for key, row in scheme.each_key():
        there = _has_row(key, row, bench.population)[demand.instances]
        loads.at_instances(key.partition, demand.instances, weights * there, recent=recent)
        if row is not None:
            share = demand.mean(there)
            written += share
            elsewhere += 0.0 if scheme.same_partition(row) else share
    requests = 1 + elsewhere
    for outcome, declared in zip(transactions, bench.workload.transactions, strict=True):
        if query.name not in declared.together:
            continue
        if query.entities_per_request > 1 and not outcome.kept:
            requests = query.entities_per_request * (1 + elsewhere)
        elif query.entities_per_request == 1 and outcome.kept:
            fits = max(1.0, min(outcome.mean_entities, float(bench.limits.group_transaction_entities)))
            requests = (1 + _grouped(scheme, declared, bench.population)) / fits + _grouped(
                scheme, declared, bench.population, together=False
            )
    return ClassCost(
        query.name,
        query.operation,
        None,
        query.rate.mean_per_s,
        query.rate.sustained_per_s,
        0.0,
        0.0,
        0.0,
        query.entities_per_request * written,
        requests,
        1.0,
        query.analytic,
        demand.notes if isinstance(demand.notes, tuple) else tuple(np.asarray(demand.notes)),
    )


def _grouped(scheme: KeyScheme, declared: Transaction, population: Population, *, together: bool = True) -> float:
    """Index rows elsewhere that a set writes in one request of their own (``together``), or else one by one.

    Rows of a set share their partition where what the set has in common fixes it.
    """
    common = [("p", name) for name in declared.group_by if population.has(name)]
    return float(
        sum(
            1
            for row in scheme.index_rows
            if not scheme.same_partition(row) and population.determines(common, atoms_of(row.key.partition)) is together
        )
    )


def _write_cost(demand: Demand, scheme: KeyScheme, located: _Read, bench: Bench, loads: LoadMap) -> ClassCost:
    """An update or delete: locate where the filter is not the whole key, then write every row of the entity."""
    import numpy as np

    query = demand.query
    changed = np.maximum(demand.returned, 1.0)
    knows_key = located.plan.access is Access.POINT and not located.plan.unserved and not located.plan.pointer
    locate = not knows_key or query.read_modify_write
    key_properties = set(scheme.main.properties)
    moves = query.operation is Operation.UPDATE and bool(key_properties & set(query.sets))
    touched = [
        row
        for row in scheme.index_rows
        if query.operation is Operation.DELETE or row.copy == "full" or set(row.key.properties) & set(query.sets)
    ]
    # A changed key is a delete and an insert: two rows written where one stood.
    rows = sum(2 if moves or set(r.key.properties) & set(query.sets) else 1 for r in touched) + (2 if moves else 1)
    away = sum(1 for row in touched if not scheme.same_partition(row))
    writes = 1 + away + (1 if moves and scheme.main.partition and _partition_moves(scheme, query.sets) else 0)
    weights = demand.weights * query.rate.sustained_per_s * changed
    for key in (scheme.main, *(r.key for r in touched)):
        loads.at_instances(key.partition, demand.instances, weights)
    notes = list(demand.notes)
    if moves:
        notes.append("sets a property of the key: each update is a delete and an insert")
    return ClassCost(
        query.name,
        query.operation,
        located.plan,
        query.rate.mean_per_s,
        query.rate.sustained_per_s,
        located.entities if locate else 0.0,
        located.entities_max if locate else 0.0,
        demand.mean(demand.returned),
        rows * demand.mean(changed),
        (located.requests if locate else 0.0) + writes * demand.mean(changed),
        located.fan_out,
        query.analytic,
        tuple(notes),
    )


def _partition_moves(scheme: KeyScheme, sets: tuple[str, ...]) -> bool:
    return bool({p for part in scheme.main.partition for p in part.properties} & set(sets))


# -- the whole -------------------------------------------------------------------------------------------------------


def key_surplus(key: Key, population: Population) -> int:
    """Rows at hand whose key another row already has.

    Where parts of varying width touch (``{month}{day}``) the texts are compared, since 1 + 11 and 11 + 1 read the same.
    """
    if not (_touching(key.partition, population) or _touching(key.row, population)):
        return population.surplus(atoms_of((*key.partition, *key.row)))
    memo = ("surplus", key)
    if memo not in population.memo:
        frame = population.frame.head(population.rows).with_row_index("#seq")
        texts = frame.select(
            key_expression(key.partition, population.types).alias("pk"),
            key_expression(key.row, population.types).alias("rk"),
        )
        population.memo[memo] = texts.height - texts.n_unique()
    return int(population.memo[memo])


def _touching(parts: tuple[Part, ...], population: Population) -> bool:
    """Whether a part of varying width is followed by another part with no text between them."""
    return any(
        isinstance(part, Field)
        and population.types.get(part.property) not in _FIXED_LENGTHS
        and not isinstance(after, Literal)
        for part, after in pairwise(parts)
    )


def _transaction(declared: Transaction, scheme: KeyScheme, population: Population) -> TransactionOutcome:
    """A set stays atomic when everything that the PartitionKey reads is fixed by what the set has in common."""
    common = [("p", p) for p in declared.group_by if population.has(p)]
    kept = all(population.determines(common, atoms_of(key.partition)) for key, row in scheme.each_key() if row is None)
    if declared.logged_entities is not None:
        mean, too_large, groups = declared.logged_entities, 0, 0
    else:
        mean, too_large, groups = group_sizes(declared, population)
    return TransactionOutcome(declared.name, kept, declared.required, mean, too_large, groups)


def _hot(loads: LoadMap, scheme: KeyScheme, population: Population) -> HotPartition | None:
    hottest = loads.hottest()
    if hottest is None:
        return None
    parts, load = hottest
    text = encode_row(parts, population, load.row) if load.row is not None else format_template(parts)
    return HotPartition(text, load.entities_per_s, load.share, load.partitions)


def encode_row(parts: tuple[Part, ...], population: Population, row: int) -> str:
    """The key text of one row at hand."""
    return encode(parts, row_values(population, row, parts), population.types)


def row_values(
    population: Population, row: int, parts: tuple[Part, ...]
) -> dict[str, str | int | float | bool | bytes | None]:
    """The values of one row, as Python holds Edm values."""
    from pkadvisor.design.population import _python

    values: dict[str, str | int | float | bool | bytes | None] = {}
    for part in parts:
        for name in part.properties:
            value = population.frame.get_column(name)[row]
            edm = population.types.get(name, EdmType.STRING)
            values[name] = None if value is None else _python(value, edm)
    return values


def _fronts(scheme: KeyScheme, bench: Bench, inserted_per_s: float) -> tuple[Fronts, float]:
    """(fronts, entities inserted per second) of the PartitionKey where the inserts crowd most; unknown fronts come
    last."""
    rows: dict[tuple[Part, ...], float] = {}
    for key, row in scheme.each_key():
        share = (
            float(_has_row(key, row, bench.population)[: bench.population.rows].mean()) if bench.population.rows else 1
        )
        rows[key.partition] = rows.get(key.partition, 0.0) + share
    found = [(write_fronts(parts, bench.population), inserted_per_s * count) for parts, count in rows.items()]
    known = [f for f in found if f[0].median is not None]
    return max(known, key=lambda f: f[1] / (f[0].median or 1.0)) if known else found[0]


def _break_pairs(
    hot: HotPartition | None, fronts: Fronts, inserts_peak: float, requests_peak: float, limits: Limits
) -> list[tuple[float, str]]:
    pairs = []
    if hot is not None and hot.entities_per_s > 0:
        pairs.append((limits.partition_entities_per_s / hot.entities_per_s, "the hottest partition"))
    if requests_peak > 0:
        pairs.append((limits.account_requests_per_s / requests_peak, "the account's requests"))
    if fronts.median is not None and inserts_peak > 0:
        pairs.append((limits.range_entities_per_s * fronts.median / inserts_peak, "the range that takes the inserts"))
    return pairs


def _violations(
    scheme: KeyScheme,
    bench: Bench,
    hot: HotPartition | None,
    fronts: Fronts,
    inserts_peak: float,
    requests_peak: float,
    surplus: int,
    transactions: tuple[TransactionOutcome, ...],
) -> tuple[Violation, ...]:
    limits, population, horizon, workload = bench.limits, bench.population, bench.horizon_factor, bench.workload
    out: list[Violation] = []

    declared = workload.growth is not None

    def over(code: str, what: str, measured: float, limit: float, unit: str, keys: tuple[str, ...] = ()) -> None:
        if measured * horizon <= limit:
            return
        when = f"{measured:,.0f} {unit} at the peak"
        if measured <= limit:
            when += f", ×{horizon:.3g} at the horizon" + ("" if declared else " (assumed)")
        message = f"{what}: {when}; target {limit:,.0f} ({times(measured / limit)} of it)"
        assumed = measured <= limit and not declared
        out.append(Violation(code, message, measured, limit, unit, measured * horizon / limit, assumed, keys))

    if hot is not None:
        name = f"partition '{hot.partition_key}'" if hot.partition_key else "the one partition ''"
        over(
            "hot-partition",
            f"{name} takes {_percent(hot.share)} of the load",
            hot.entities_per_s,
            limits.partition_entities_per_s,
            "entities/s",
            (hot.partition_key,) if hot.partition_key else (),
        )
    if fronts.median is not None and inserts_peak > 0:
        key = format_template(scheme.main.partition) or "''"
        over(
            "append-only",
            f"inserts reach {fronts.median:.3g} key ranges at a time under {key}: "
            f"{inserts_peak:,.0f} entities/s, and splitting does not help",
            inserts_peak / fronts.median,
            limits.range_entities_per_s,
            "entities/s in one range",
        )
    over("account", "all requests together", requests_peak, limits.account_requests_per_s, "requests/s")
    if surplus:
        example, keys = _collision(scheme.main, population)
        out.append(
            Violation(
                "not-unique",
                f"{surplus:,} of {population.rows:,} entities share a key with another{example}",
                float(surplus),
                0.0,
                "entities",
                10.0 + surplus / max(1, population.rows),
                keys=keys,
            )
        )
    for row in scheme.index_rows:
        if not surplus and key_surplus(row.key, population):
            out.append(Violation("not-unique", f"index rows share a key: {row.key}", 1.0, 0.0, "entities", 10.0))
    for outcome in transactions:
        if outcome.required and not outcome.kept:
            out.append(
                Violation(
                    "transaction-broken",
                    f"transaction '{outcome.name}' spans partitions: its entities differ in the PartitionKey",
                    1.0,
                    0.0,
                    "transaction",
                    20.0,
                )
            )
    isolation = bench.workload.isolation
    for each, _ in scheme.each_key() if isolation is not None else ():
        first = next((p for p in each.partition if not isinstance(p, Literal)), None)
        if first is None or first.properties != (isolation,) or not first.injective:
            text = format_template(each.partition) or "''"
            message = f"the PartitionKey {text} does not lead with {isolation}: it mixes what must stay apart"
            out.append(Violation("isolation", message, 1.0, 0.0, "rule", 5.0))
            break
    out += _legality(scheme, bench)
    return tuple(out)


def times(factor: float) -> str:
    """A factor with as many digits as matter."""
    return f"{factor:,.0f}x" if factor >= 100 else f"{factor:.3g}x"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _collision(key: Key, population: Population) -> tuple[str, tuple[str, ...]]:
    """Two entities, one key: (an example in words, the keys in it)."""
    import numpy as np

    atoms = atoms_of((*key.partition, *key.row))
    ids, _ = population.groups(atoms)
    counts = population.counts(atoms)
    first = np.flatnonzero(counts[ids[: population.rows]] > 1)
    if not len(first):
        return "", ()
    row = int(first[0])
    found = int(counts[ids[row]])
    shown = (encode_row(key.partition, population, row), encode_row(key.row, population, row))
    return f", e.g. {found} under '{shown[0]}' | '{shown[1]}'", tuple(s for s in shown if s)


def _legality(scheme: KeyScheme, bench: Bench) -> list[Violation]:
    """Keys over the service's length, over the rows at hand."""
    out = []
    for key, _ in scheme.each_key():
        for name, parts in (("PartitionKey", key.partition), ("RowKey", key.row)):
            longest = _longest(parts, bench.population)
            if longest > bench.limits.key_units_max:
                message = f"{name} {format_template(parts)} reaches {longest:,} UTF-16 units"
                limit = float(bench.limits.key_units_max)
                out.append(Violation("key-too-long", message, float(longest), limit, "UTF-16 units", 10.0))
    return out


def _longest(parts: tuple[Part, ...], population: Population) -> int:
    """An upper bound of the key's length without escapes, in UTF-16 units as far as texts have no astral characters."""
    return sum(_length(part, population, longest=True) for part in parts).__ceil__()


def _length(part: Part, population: Population, *, longest: bool = False) -> float:
    """Characters that a part adds to a key: the mean, or the most."""
    if isinstance(part, Literal):
        return float(len(part.text))
    if isinstance(part, Pad | ReversePad | Sequence):
        return float(part.width)
    if isinstance(part, Time):
        return float(len(part.pattern))
    if isinstance(part, Hash):
        return float(part.digits)
    if isinstance(part, Ticks | ReverseTicks):
        return float(TICKS_DIGITS)
    edm, sizes = population.types.get(part.property, EdmType.STRING), population.sizes(part.property)
    if edm.integer:
        return float(len(str(sizes.largest)))
    if edm in _FIXED_LENGTHS:
        return _FIXED_LENGTHS[edm]
    return float(sizes.characters_max) if longest else sizes.characters_mean


_FIXED_LENGTHS = {EdmType.DATETIME: 28.0, EdmType.GUID: 36.0, EdmType.BOOLEAN: 4.5, EdmType.DOUBLE: 12.0}


def _bytes(scheme: KeyScheme, bench: Bench) -> float:
    """Stored bytes of one logical entity, all its rows together (capacity formula of 2010, mean key lengths)."""
    total = 0.0
    for key, row in scheme.each_key():
        length = sum(_length(part, bench.population) for part in (*key.partition, *key.row))
        full = row is None or row.copy == "full"
        total += 4 + 2 * length + (bench.property_bytes if full else POINTER_BYTES)
    return total


def property_bytes(population: Population, declared: Mapping[str, int] | None = None) -> float:
    """Mean stored bytes of an entity's properties, by the published formula; declared sizes replace measured
    lengths."""
    from pkadvisor.table.edm import STORED_BYTES

    total = 0.0
    for name, edm in population.types.items():
        if name in ("PartitionKey", "RowKey", "Timestamp") or not population.has(name):
            continue
        sizes = population.sizes(name)
        each = 8.0 + 2 * len(name) + STORED_BYTES[edm]
        if edm is EdmType.STRING:
            each += 2 * (declared or {}).get(name, sizes.characters_mean)
        elif edm is EdmType.BINARY:
            each += (declared or {}).get(name, sizes.characters_mean / 2)
        total += sizes.present * each
    for name, size in sorted((declared or {}).items()):
        if name not in population.types:
            total += 8.0 + 2 * len(name) + 4 + 2 * size
    return total


def _score(costs: tuple[ClassCost, ...], break_factor: float, horizon: float) -> float:
    """100 × the rate-weighted share of counted entities that were asked for × how far the design reaches to its
    horizon."""
    live = [c for c in costs if not c.analytic and c.rate_per_s > 0]
    rate = sum(c.rate_per_s for c in live)
    if not rate:
        return 0.0
    useful = sum(
        c.rate_per_s
        * min(
            1.0,
            max(1.0, c.entities_returned if c.operation is Operation.QUERY else 1.0)
            / max(1.0, c.entities_read + c.entities_written),
        )
        for c in live
    )
    return 100 * useful / rate * min(1.0, break_factor / horizon)


def _counts(cost: ClassCost) -> str:
    returned = cost.entities_returned
    shown = f"{returned:,.0f}" if returned >= 100 or returned == int(returned) else f"{returned:.3g}"
    return f"{cost.entities_read:,.0f} entities read for {shown} returned"


def _remarks(
    scheme: KeyScheme,
    bench: Bench,
    costs: tuple[ClassCost, ...],
    fronts: Fronts,
    transactions: tuple[TransactionOutcome, ...],
) -> tuple[Remark, ...]:
    population = bench.population
    out: list[Remark] = []
    for cost in costs:
        if cost.plan is not None and cost.plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN):
            shown = "scans the table" if cost.plan.access is Access.TABLE_SCAN else "scans a range of partitions"
            out.append(Remark("table-scan", f"{cost.name} {shown}: {_counts(cost)}"))
        elif (
            cost.plan is not None
            and cost.plan.access is Access.PARTITION_SCAN
            and cost.entities_read > 10 * max(1.0, cost.entities_returned)
        ):
            out.append(Remark("partition-scan", f"{cost.name} scans its partition: {_counts(cost)}"))
    out += _lost_remarks(bench, costs)
    out += _order_remarks(scheme, bench)
    out += _missing_remarks(scheme, population)
    out += _hostile_remarks(scheme, population)
    for outcome in transactions:
        if not outcome.kept and not outcome.required:
            out.append(
                Remark(
                    "transaction-broken",
                    f"'{outcome.name}' cannot be one group transaction: its entities spread over partitions",
                )
            )
        elif outcome.kept and outcome.too_large:
            out.append(
                Remark(
                    "transaction-too-large",
                    f"{outcome.too_large:,} of {outcome.groups:,} sets of '{outcome.name}' exceed "
                    f"{bench.limits.group_transaction_entities} entities: several group transactions, not one",
                )
            )
    if (
        fronts.median is not None
        and fronts.median < 2
        and fronts.basis is Basis.COUNTED
        and population.distinct(atoms_of(scheme.main.partition)) > 1
    ):
        out.append(
            Remark(
                "append-only",
                "inserts follow the key order: one range of partitions takes them all, however many servers there are",
            )
        )
    count = round(population.groups_total(atoms_of(scheme.main.partition)))
    if 1 <= count < FEW_PARTITIONS and population.rows >= 2 * FEW_PARTITIONS:
        out.append(
            Remark(
                "few-partitions",
                f"{count} partition{'s' if count > 1 else ''} in all: no more servers than that can share the load",
            )
        )
    return tuple(out)


def _order_remarks(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    """Numbers written without padding where somebody needs their order, or where they touch another part."""
    out = []
    types = bench.population.types
    ordered = {o.property for d in bench.demands for o in d.query.order_by} | {
        name for d in bench.demands for name in d.conditions.ranges
    }
    for key, _ in scheme.each_key():
        for parts in (key.partition, key.row):
            for position, part in enumerate(parts):
                if not isinstance(part, Field) or not types.get(part.property, EdmType.STRING).numeric:
                    continue
                neighbour = parts[position + 1] if position + 1 < len(parts) else None
                if neighbour is not None and not isinstance(neighbour, Literal):
                    out.append(
                        Remark("ambiguous", f"{{{part.property}}} touches {neighbour}: 1 + 11 and 11 + 1 give one key")
                    )
                if part.property in ordered or parts is key.row:
                    out.append(
                        Remark("unpadded", f"{{{part.property}}} is a number without padding: 10 sorts before 2")
                    )
    return list(dict.fromkeys(out))


def _run_remarks(loads: LoadMap, limits: Limits) -> list[Remark]:
    """Neighbouring small partitions that a range query reads: one server has them until the service splits the run."""
    load, name = loads.busiest_run
    if load <= limits.range_entities_per_s:
        return []
    what = f"{name} reads {load:,.0f} entities/s from one run of neighbouring partitions; one server takes "
    what += f"{limits.range_entities_per_s:,.0f} until the service has split the run, which takes minutes"
    return [Remark("hot-range", what)]


def _lost_remarks(bench: Bench, costs: tuple[ClassCost, ...]) -> list[Remark]:
    """Lists whose entities do not lie together, or not in the order in which they are wanted."""
    out = []
    by_name = {d.query.name: d.query for d in bench.demands}
    for cost in costs:
        query, found = by_name[cost.name], cost.plan
        if found is None or query.operation is not Operation.QUERY or query.analytic:
            continue
        what = ""
        if found.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN):
            several = cost.entities_returned > 1.5 or query.order_by
            if several and cost.entities_read > 2 * cost.entities_returned:
                what = f"what {cost.name} lists does not lie together under this key"
        elif found.buckets > 1:
            what = f"{cost.name} is spread over {found.buckets} buckets: as many requests for what would be one"
        elif not found.order_served and query.top is not None and cost.entities_read > 2 * cost.entities_returned:
            what = f"{cost.name} wants an order that the key text does not have: all is read, then sorted"
        if what:
            out.append(Remark("lost-range", what))
    return out


def _missing_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    out = []
    partition = {name for part in scheme.main.partition for name in part.properties}
    for name in scheme.main.properties:
        missing = 1 - population.sizes(name).present
        if missing > 0.001:
            effect = (
                "they all share one PartitionKey" if name in partition else "the RowKey cannot tell them apart by it"
            )
            out.append(Remark("missing-values", f"{name} is missing on {_percent(missing)} of the entities: {effect}"))
    return out


def _hostile_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    """Texts in the key with characters that the service forbids there."""
    out = []
    for part in (*scheme.main.partition, *scheme.main.row):
        if not isinstance(part, Field) or population.types.get(part.property) is not EdmType.STRING:
            continue
        if part.property in population.hashed:
            continue
        memo = ("hostile", part.property)
        if memo not in population.memo:
            column = population.frame.get_column(part.property).head(population.rows)
            population.memo[memo] = int(column.str.contains(FORBIDDEN_PATTERN).sum() or 0)
        count = population.memo[memo]
        if count:
            out.append(
                Remark(
                    "illegal-characters",
                    f"{count:,} values of {part.property} hold characters that keys may not: they are escaped",
                )
            )
    return out


FORBIDDEN_PATTERN = r"[/\\#?\x00-\x1f\x7f-\x{9f}]"


__all__ = [
    "Atom",
    "Bench",
    "ClassCost",
    "CostEstimate",
    "HotPartition",
    "Remark",
    "Violation",
    "estimate",
    "property_bytes",
]
