"""What one class of requests costs under one scheme: entities read and written, requests sent, where the load falls.

Published facts used: entities *scanned* count, not returned ones; a page holds 1,000 entities or 4 MiB; a group
transaction is one request for at most 100 entities of one partition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.design.demand import Demand, free_atoms, reached, rows_of_constants
from pkadvisor.design.estimates import Bench, ClassCost, TransactionOutcome
from pkadvisor.design.heat import LoadMap
from pkadvisor.design.plan import Access, AccessPlan, plan
from pkadvisor.design.population import Population, atoms_of
from pkadvisor.design.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.transforms import (
    Literal,
    Pad,
    Part,
    ReversePad,
)
from pkadvisor.observe.workload import DrawBy, Operation, Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BOUNDARY_REQUESTS = 1.0
"""Continuations at server boundaries that a scan over several partitions must expect: assumed, the map is not
public."""


def class_cost(
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
        read(p, demand, scheme, bench)
        for p in plan(query, demand.conditions, scheme, bench.population.types, bench.population)
    ]
    best = min(candidates, key=preference)
    demand = replace(demand, notes=(*demand.notes, *_clamped(demand, list(scheme.each_key())[best.plan.via][0])))
    peak = query.rate.sustained_per_s
    key = list(scheme.each_key())[best.plan.via][0]
    if not query.analytic and query.operation is Operation.QUERY:
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


ENTITIES_PER_REQUEST = 100.0
"""Entities scanned that weigh as much as a request, where two rows of a scheme serve a query: assumed."""


def preference(found: Read) -> tuple[float, float, int, int]:
    """What the plans through the rows of one scheme are compared by; the least is sent."""
    weight = found.requests + found.entities / ENTITIES_PER_REQUEST
    return (weight, found.requests, found.plan.access.rank, found.plan.via)


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
class Read:
    plan: AccessPlan
    per_instance: Floats
    entities: float
    entities_max: float
    returned: float
    requests: float
    fan_out: float


def read(found: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> Read:
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
        scanned = rows_reached(found, demand, population)
        for name in found.choices:
            if name not in demand.constants:
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
    return Read(
        found,
        read,
        demand.mean(read) if len(read) else 1.0,
        float(read.max(initial=1.0)),
        demand.mean(returned) if len(read) else 0.0,
        demand.mean(requests) if len(read) else 1.0,
        demand.mean(fan_out) if len(read) else 1.0,
    )


def rows_reached(found: AccessPlan, demand: Demand, population: Population) -> Floats:
    """Rows between a plan's bounds, per instance: many schemes share the same bounds, so the counts are kept."""
    key = ("reached", demand.query.name, frozenset(found.equal_atoms), found.range_atom)
    if key not in population.memo:
        over = found.range_atom if found.range_atom and found.range_atom[1] in demand.bounds else None
        counts = reached(population, demand, found.equal_atoms, over, demand.bounds[over[1]] if over else None)
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
    unit = time_unit(found.periods.format)
    newest = float(population.numbers(name, np.arange(population.size, dtype=np.int64)).max(initial=0))
    import polars as pl

    def periods(moments: Floats) -> NDArray[np.int64]:
        clipped = np.clip(np.nan_to_num(moments, posinf=newest), -6e16, 2.5e17).astype(np.int64)
        return period_index(pl.Series(clipped).cast(pl.Datetime("us", "UTC")), unit)

    high = np.where(np.isposinf(high), newest + 1, high)
    last = np.ceil(high) - 1  # an included bound is half a unit above itself
    return np.asarray(np.maximum(periods(np.maximum(last, low)) - periods(low) + 1, 1), dtype=np.float64)


def _leads_with_text(parts: tuple[Part, ...]) -> bool:
    return bool(parts) and isinstance(parts[0], Literal)


def _spread(best: Read, demand: Demand, key: Key, population: Population, loads: LoadMap, rate_per_s: float) -> None:
    """Put the entities that a read scans on the partitions that serve them."""
    import numpy as np

    weights = demand.weights * rate_per_s
    plan_ = best.plan
    keep = rows_of_constants(population, plan_.equal_atoms, demand.constants)
    single = plan_.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    # What a scan reads grows with the rows of a key, unless $top stops it.
    stops = demand.query.top is not None and plan_.order_served and not plan_.unserved
    grows = plan_.access is not Access.POINT and not stops
    if single and plan_.buckets == 1 and not plan_.choices and keep is None:
        recent = _recent(demand, population)
        load = weights * best.per_instance
        loads.at_instances(key.partition, demand.instances, load, recent=recent, grows=grows)
        if plan_.access is Access.POINT:
            loads.at_entities(key, demand.instances, load, recent=recent)
        return
    free = list(plan_.equal_atoms) if keep is None else free_atoms(plan_.equal_atoms, demand.constants)
    ids, size = population.groups(free)
    scanned = weights * best.per_instance
    load = np.bincount(ids[demand.instances], weights=scanned, minlength=size).astype(np.float64)
    if not single:
        run = float(load.max(initial=0.0)) if plan_.access is Access.PARTITION_RANGE_SCAN else 0.0
        loads.at_run(run, float(load.sum()), demand.query.name)
    loads.at_rows(key.partition, ids, load, keep, grows=grows)


def _recent(demand: Demand, population: Population) -> bool:
    """Whether a class goes to the newest entities, and nothing but time says which those are; or to a few keys, as
    many of the whole table as of the rows at hand."""
    moving = demand.query.operation is Operation.INSERT or demand.query.draw.by is DrawBy.NEWEST
    return (moving and population.sampling == "slice") or demand.query.draw.by is DrawBy.ZIPF


def has_row(key: Key, row: IndexRow | None, population: Population) -> Floats:
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
        there = has_row(key, row, bench.population)[demand.instances]
        loads.at_instances(key.partition, demand.instances, weights * there, recent=recent)
        if query.operation is Operation.UPSERT:
            loads.at_entities(key, demand.instances, weights * there, recent=recent)
        if row is not None:
            share = demand.mean(there)
            written += share
            elsewhere += 0.0 if scheme.same_partition(row) else share
    requests = 1 + elsewhere
    limit = max(1, bench.limits.group_transaction_entities // _rows_together(scheme))
    together = next(
        (
            (outcome, declared)
            for outcome, declared in zip(transactions, bench.workload.transactions, strict=True)
            if query.name in declared.together
        ),
        None,
    )
    if query.entities_per_request > 1 and scheme.main.partition and atoms_of(scheme.main.partition):
        if together is None or not together[0].kept:
            requests = query.entities_per_request * (
                1 + elsewhere
            )  # they lie in as many partitions, as far as is known
    elif query.entities_per_request == 1 and together is not None and together[0].kept:
        outcome, declared = together
        fits = max(1.0, min(outcome.mean_entities, float(limit)))
        alone = _grouped(scheme, declared, bench.population, together=False)
        requests = (1 + _grouped(scheme, declared, bench.population)) / fits + alone
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


def _rows_together(scheme: KeyScheme) -> int:
    """Rows of one entity that are written in one group transaction."""
    return 1 + sum(1 for row in scheme.index_rows if scheme.same_partition(row))


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


def _write_cost(demand: Demand, scheme: KeyScheme, located: Read, bench: Bench, loads: LoadMap) -> ClassCost:
    """An update or delete: locate where the filter is not the whole key, then write every row of the entity."""
    import numpy as np

    query = demand.query
    changed = np.maximum(demand.returned, 1.0)
    plan_, known = located.plan, {*demand.conditions.equal}
    knows_key = plan_.access is Access.POINT and not plan_.pointer and set(plan_.unserved) <= known
    moves = query.operation is Operation.UPDATE and bool(set(scheme.main.properties) & set(query.sets))
    touched = [
        row
        for row in scheme.index_rows
        if query.operation is Operation.DELETE or row.copy == "full" or set(row.key.properties) & set(query.sets)
    ]
    # The key of an index row is made of the entity's values as they were: those that the caller does not name are read.
    guesses = any(set(row.key.properties) - known for row in touched)
    locate = not knows_key or query.read_modify_write or guesses
    # A changed key is a delete and an insert: two rows written where one stood.
    rows, away = (2 if moves else 1), 0
    for row in touched:
        moved = query.operation is Operation.UPDATE and bool(set(row.key.properties) & set(query.sets))
        rows += 2 if moved else 1
        if not scheme.same_partition(row):
            away += 2 if moved and _moved({p for part in row.key.partition for p in part.properties}, query.sets) else 1
    writes = 1 + away + (1 if moves and _partition_moves(scheme, query.sets) else 0)
    weights = demand.weights * query.rate.sustained_per_s * changed
    if locate:
        key = list(scheme.each_key())[plan_.via][0]
        _spread(located, demand, key, bench.population, loads, query.rate.sustained_per_s)
    alone = float(changed.max(initial=1.0)) <= 1.0
    recent = _recent(demand, bench.population)
    for key in (scheme.main, *(r.key for r in touched)):
        # An update of many entities by one filter loads their partition; no single entity takes it all.
        loads.at_instances(key.partition, demand.instances, weights, recent=recent, grows=not alone)
        if alone:
            loads.at_entities(key, demand.instances, weights, recent=recent)
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


def _moved(properties: set[str], sets: tuple[str, ...]) -> bool:
    return bool(properties & set(sets))


def _partition_moves(scheme: KeyScheme, sets: tuple[str, ...]) -> bool:
    return bool({p for part in scheme.main.partition for p in part.properties} & set(sets))
