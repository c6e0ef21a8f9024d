"""What one class of requests costs under one scheme: entities read and written, requests sent, where the load falls.

Published facts used: entities *scanned* count, not returned ones; a page holds 1,000 entities or 4 MiB; a group
transaction is one request for at most 100 entities of one partition.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.cost.class_latency import spread
from pkadvisor.design.cost.entity_rates import entity_rates, zipf_share
from pkadvisor.design.cost.scan_load import load_led_to, load_of_rows
from pkadvisor.design.cost.scan_runs import Reading
from pkadvisor.design.cost.scans import row_mask, rows_scanned
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.keys.transforms import (
    Part,
)
from pkadvisor.design.load.counting import capacity_weights, pages_of, set_entities_most, set_fixes, strange_rate
from pkadvisor.design.load.estimates import Bench, ClassCost, Read, TransactionOutcome
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.row_sizes import row_bytes
from pkadvisor.design.plan.caller import touched
from pkadvisor.design.plan.plan import Access, AccessPlan, plan
from pkadvisor.design.plan.stop_early import stop_early
from pkadvisor.design.plan.walk_back import note_of, walk_back
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import (
    Demand,
    choice_count,
    exact_answer,
    free_atoms,
    returned_among,
    rows_of_constants,
)
from pkadvisor.design.rows.group_sets import requests_each_row
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import DrawBy, Operation, Transaction
from pkadvisor.table.accounting import group_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.keys.conditions import Conditions

    Floats = NDArray[np.float64]


def class_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
) -> ClassCost:
    if strange := strange_rate(demand, bench):
        demand = replace(demand, notes=(*demand.notes, *strange))
    query = demand.query
    if query.operation in (Operation.INSERT, Operation.UPSERT) and query.filter is None:
        return _insert_cost(demand, scheme, bench, transactions, loads)
    best = best_read(demand, scheme, bench)
    key = list(scheme.each_key())[best.plan.via][0]
    if clamped := _clamped(demand, key):
        demand = replace(demand, notes=(*demand.notes, *clamped))
    if best.plan.back and (note := note_of(walk_back(best.plan, demand, bench.population))):
        demand = replace(demand, notes=(*demand.notes, note))
    peak = query.rate.sustained_per_s
    if not query.analytic and (query.operation is Operation.QUERY or locates(best.plan)):
        lookups_per_s = peak * query.entities_per_request
        _spread(best, demand, scheme, bench.population, loads, lookups_per_s * _attempts(demand, bench))
    if query.operation is Operation.QUERY:
        middle, high = spread(best.per_instance, demand.weights)
        return ClassCost(
            name=query.name,
            operation=query.operation,
            plan=best.plan,
            rate_per_s=query.rate.mean_per_s,
            peak_per_s=peak,
            entities_read=best.entities,
            entities_read_max=best.entities_max,
            entities_returned=best.returned,
            entities_written=0.0,
            requests=best.requests,
            fan_out=best.fan_out,
            analytic=query.analytic,
            notes=demand.notes,
            entities_by_bytes=best.by_bytes,
            round_trips=best.round_trips,
            continuations=best.continuations,
            entities_read_p50=middle,
            entities_read_p99=high,
        )
    return _write_cost(demand, scheme, best, bench, loads, kept_together(query.name, bench, transactions))


def best_read(demand: Demand, scheme: KeyScheme, bench: Bench) -> Read:
    """What the cheapest plan of a class reads; a rate changes nothing of it, so ``bench.reads`` keeps it."""
    memo = (scheme, demand.query.name)
    if bench.reads is not None and memo in bench.reads:
        return bench.reads[memo]
    candidates = [read(p, demand, scheme, bench) for p in plans_of(demand, scheme, bench.population)]
    if demand.query.name in bench.along:
        candidates = [c for c in candidates if c.plan.way == bench.along[demand.query.name]] or candidates
    best = min(candidates, key=preference)
    if bench.reads is not None:
        bench.reads[memo] = best
    return best


def plans_of(demand: Demand, scheme: KeyScheme, population: Population) -> tuple[AccessPlan, ...]:
    """One plan for each row of a scheme that could serve a class, made once for a population and all of its resamples:
    no rate and no draw of rows changes a plan."""
    query, wanted = demand.query, demand.conditions
    # What the planner and its account of the caller ask a class for, besides its conditions.
    caller = (query.operation, query.sets, query.read_modify_write)
    memo = (scheme, query.name, query.kind, query.order_by, query.top, *caller)
    held: list[tuple[Conditions, tuple[AccessPlan, ...]]] = population.plans.setdefault(memo, [])
    for conditions, plans in held:
        if conditions is wanted or conditions == wanted:
            return plans
    held.append((wanted, plan(query, wanted, scheme, population.types, population)))
    return held[-1][1]


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
        if part.padded_width and part.properties[0] in demand.conditions.ranges:
            span = demand.conditions.ranges[part.properties[0]]
            if any(getattr(operand, "offset", 0) for operand in (span.low, span.high)):
                name, width = part.properties[0], part.padded_width
                out.append(f"keep the bounds on {name} within {width} digits before padding them")
    return tuple(out)


def read(found: AccessPlan, demand: Demand, scheme: KeyScheme, bench: Bench) -> Read:
    """Entities scanned and requests sent for each instance of a class along one plan."""
    import numpy as np

    population, limits = bench.population, bench.limits
    instances = demand.instances
    fan_out = np.full(len(instances), float(found.buckets))
    for name in found.choices:
        fan_out *= choice_count(demand, population, found.equal_atoms, name)
    each = rows_scanned(found, demand, scheme, population)
    scanned, own = sum(each.values(), np.zeros(len(instances))), each[found.via]
    if found.access is Access.TABLE_SCAN:
        fan_out[:] = 1
    if found.back:
        way = walk_back(found, demand, population)
        fan_out *= way.periods
        scanned, own = np.minimum(scanned, way.rows), np.minimum(own, way.rows)
    elif found.periods is not None:
        fan_out *= _period_count(found, demand, population)
    if exact_answer(demand, population):  # every entity returned was read, however few of them a sample shows
        scanned, own = np.maximum(scanned, demand.returned), np.maximum(own, demand.returned)
    returned = np.minimum(demand.returned, scanned) if len(instances) else demand.returned
    reading = Reading(found, demand, scheme, population)
    if found.top is not None:
        stopped = stop_early(scanned, own, returned, found, demand, population, fan_out)
        own = np.minimum(own, stopped)
        # A scan over several partitions comes by rows of other kinds before the last row that it wants.
        scanned = stopped + reading.on_the_way() if reading.stops and len(each) > 1 else stopped
    if demand.query.top is not None:
        returned = np.minimum(returned, demand.query.top)
    if found.access is Access.POINT and not found.unserved:
        scanned = np.maximum(np.minimum(scanned, fan_out), 0.0)
    asked = np.maximum(fan_out, 1)
    pages = np.maximum(pages_of(scanned / asked, returned / asked, bench), 1)
    if found.several and not found.back and found.top is None and scanned.max(initial=0.0) > limits.page_entities:
        further_pages = reading.further_pages(each, bench)
        if further_pages is not None:
            pages = np.maximum(pages_of(np.zeros(len(asked)), returned / asked, bench), 1 + further_pages / asked)
    boundaries = float(found.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)) * limits.scan_boundary_requests
    requests = fan_out * pages + boundaries
    fetched, led, read = 0.0, np.zeros(len(instances)), np.maximum(scanned, 1.0)
    widest = float(asked.max(initial=1.0))
    counted = read if limits.scan_weight == 1 and widest == 1 else np.maximum(read * limits.scan_weight, asked)
    size = capacity_weights(scheme, bench)
    weigh = size if bench.count_bytes else (1.0,) * len(size)
    if weigh[found.via] != 1:
        counted = counted * weigh[found.via]
    loading = scanned * (limits.scan_weight * weigh[found.via])
    if found.follows:
        # Before the client can filter, sort or cut off, it follows every pointer that the requests bring. What a copy
        # tells is filtered first.
        cut = found.client or demand.query.top is not None
        followed = own if found.pointer and cut else returned
        fetched = demand.mean(followed)
        requests, read, counted = requests + followed, read + followed, counted + followed * weigh[0]
        led = followed * weigh[0]
    if not len(read):
        return Read(found, read, 1.0, 1.0, 0.0, 1.0, 1.0, counted, requests, scanned, loading)
    entities = demand.mean(read)
    rounds = np.ceil(asked / limits.fan_out_parallel) if widest > limits.fan_out_parallel else 1.0
    rounds = asked if found.back else rounds  # each period is asked when the one before has told too little
    further = demand.mean(fan_out * (pages - 1)) if pages.max() > 1 else 0.0
    return Read(
        plan=found,
        per_instance=read,
        entities=entities,
        entities_max=float(read[demand.weights > 0].max(initial=0.0)),
        returned=demand.mean(returned),
        requests=demand.mean(requests),
        fan_out=demand.mean(fan_out),
        counted=counted,
        requests_each=requests,
        rows=scanned,
        scanned=loading,
        followed=led,
        by_bytes=(entities - fetched) * size[found.via] + fetched * size[0],
        round_trips=(demand.mean(rounds * pages) if further or widest > 1 else 1.0)
        + boundaries
        + math.ceil(fetched / limits.fan_out_parallel),
        continuations=further + boundaries,
    )


def _period_count(found: AccessPlan, demand: Demand, population: Population) -> Floats:
    """Periods between the bounds of a range, per instance: one request each."""
    import numpy as np

    from pkadvisor.design.keys.transforms import time_unit
    from pkadvisor.design.rows.values import period_index

    assert found.periods is not None
    name = found.periods.property
    low, high = demand.bounds[name]
    unit = time_unit(found.periods.format)
    memo = ("periods asked", demand.query.name, name, unit)
    if memo in population.memo:
        known: Floats = population.memo[memo]
        return known
    newest = float(population.numbers(name, np.arange(population.size, dtype=np.int64)).max(initial=0))
    import polars as pl

    def periods(moments: Floats) -> NDArray[np.int64]:
        clipped = np.clip(np.nan_to_num(moments, posinf=newest), -6e16, 2.5e17).astype(np.int64)
        return period_index(pl.Series(clipped).cast(pl.Datetime("us", "UTC")), unit)

    high = np.where(np.isposinf(high), newest + 1, high)
    last = np.ceil(high) - 1  # an included bound is half a unit above itself
    between = np.maximum(periods(np.maximum(last, low)) - periods(low) + 1, 1)
    counts = np.asarray(between, dtype=np.float64)
    population.memo[memo] = counts
    return counts


def _spread(
    best: Read, demand: Demand, scheme: KeyScheme, population: Population, loads: LoadMap, rate_per_s: Floats
) -> None:
    """Put the entities that a read scans on the partitions that serve them; a rate for each instance."""
    import numpy as np

    weights = demand.weights * rate_per_s
    found, key = best.plan, list(scheme.each_key())[best.plan.via][0]
    keep = rows_of_constants(population, found.equal_atoms, demand.constants)
    single = found.access not in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
    # What a scan reads grows with the rows of a key, unless $top stops it.
    stops = found.top is not None and not found.unserved
    grows = found.access is not Access.POINT and not stops
    own = weights * (best.counted - best.followed)
    if found.follows:  # the entities that they lead to lie in partitions of their own
        led_to = load_led_to(best, demand, scheme, population, weights * best.followed)
        loads.at_each_row(scheme.main.partition, led_to, grows=grows)
    if single and not found.several and keep is None:
        kept = kept_share(demand, population, key.partition)
        loads.at_instances(key.partition, demand.instances, own, kept=kept, grows=grows)
        if found.access is Access.POINT:
            kept = kept_share(demand, population, (*key.partition, *key.row))
            loads.at_entities(key, demand.instances, own, kept=kept)
        return
    free = list(found.equal_atoms) if keep is None else free_atoms(found.equal_atoms, demand.constants)
    ids, size = population.groups(free)
    load = np.bincount(ids[demand.instances], weights=own, minlength=size).astype(np.float64)
    if not single:
        terms = tuple(term.template(population.types) for term in found.terms if term.name == "PartitionKey")
        run = (key.partition, tuple(free), terms) if found.access is Access.PARTITION_RANGE_SCAN else None
        loads.at_run(run, load, demand.query.name)
    if found.back:
        loads.at_rows(key.partition, ids, load, keep, grows=grows)
    else:
        for parts, row_load in load_of_rows(best, demand, scheme, population, own, weights):
            loads.at_each_row(parts, row_load, grows=grows)
    one = found.access is Access.POINT and not found.several
    if one and not free and keep is not None and keep.any():  # constants alone make the whole key
        loads.at_entity(key, int(np.argmax(keep)), float(load.sum()))


def kept_share(demand: Demand, population: Population, parts: tuple[Part, ...]) -> float | None:
    """What share of a class's load on one key stays there in the whole table, of which a sample of keys is at hand.

    ``parts`` make the key, of a partition or of an entity. None where the class says nothing of it: then the keys that
    are not at hand take their part.

    The newest entities are in one period, whatever else there is. Under Zipf's law the first of all keys takes 1 of
    the sum of the ranks that each key at hand stands for.
    """
    draw = demand.query.draw
    if draw.by is DrawBy.ZIPF:
        return zipf_share(draw, population, {a[1] for a in atoms_of(parts) if a[0] == "p"})
    moving = demand.query.operation is Operation.INSERT or draw.by is DrawBy.NEWEST
    return 1.0 if moving and population.sampling == "slice" else None


def has_row(key: Key, row: IndexRow | None, population: Population) -> Floats:
    """1 for each row that is written under a key: an index row only where what it is looked up by is present.

    An equality never matches a missing value, so no query would ever read such a row.
    """
    import numpy as np

    there = row_mask(key, row, population)
    return np.ones(population.size) if there is None else there.astype(np.float64)


def entities_with_row(demand: Demand, row: IndexRow, population: Population, changed: Floats) -> Floats:
    """How many of the entities that each instance changes have an index row."""
    import numpy as np

    there = has_row(row.key, row, population)
    if bool(there.all()):
        return changed
    at_hand = demand.instances.max(initial=-1) < population.rows  # what a log names is not all of an entity
    if at_hand and float(demand.returned.max(initial=1.0)) <= 1.0:
        return np.asarray(changed * there[demand.instances])
    written = returned_among(demand, population, there[: population.rows] > 0)
    return np.asarray(changed * np.minimum(1.0, written / np.maximum(demand.returned, 1.0)))


def _insert_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
) -> ClassCost:
    query = demand.query
    together = next(
        (
            (outcome, declared)
            for outcome, declared in zip(transactions, bench.workload.transactions, strict=True)
            if query.name in declared.together
        ),
        None,
    )
    each = group = query.entities_per_request
    weights = demand.weights * query.rate.sustained_per_s * each
    written, after, by_bytes, stored = 0.0, 0.0, 0.0, 0.0
    sizes, counts = row_bytes(scheme, bench), capacity_weights(scheme, bench)
    for (key, row), size, count in zip(scheme.each_key(), sizes, counts, strict=True):
        there = has_row(key, row, bench.population)[demand.instances]
        load = weights * there * (count if bench.count_bytes else 1.0)
        loads.at_inserts(
            key.partition, demand.instances, load, kept=kept_share(demand, bench.population, key.partition)
        )
        if query.operation is Operation.UPSERT:
            own = kept_share(demand, bench.population, (*key.partition, *key.row))
            loads.at_entities(key, demand.instances, load, kept=own)
        share = 1.0 if row is None else demand.mean(there)
        written, by_bytes, stored = written + share, by_bytes + share * count, stored + share * size
        if row is not None and not scheme.same_partition(row):
            # Rows of a group that fall together are one request, as far as it is known what the group has in common.
            one = each > 1 and falls_together(key.partition, together[1] if together else None, bench.population)
            after += min(1.0, share * each) if one else share * each
    # Requests of one entity or one declared group: those sent at once, those that follow, rows of each.
    first, kept = 1.0, together is not None and together[0].kept
    if each > 1 and atoms_of(scheme.main.partition) and not kept:
        # They lie in as many partitions, as far as is known.
        first, group = each, 1.0
    elif each > 1:
        first = float(math.ceil(each / set_entities_most(scheme, bench)))
        group = each / first
    requests = first + after
    if each == 1 and together is not None and kept:
        outcome, declared = together
        group = 1 / outcome.requests_each
        requests = outcome.requests_each + sum(
            _requests_elsewhere(row, scheme, declared, bench) for row in scheme.index_rows
        )
    return ClassCost(
        name=query.name,
        operation=query.operation,
        plan=None,
        rate_per_s=query.rate.mean_per_s,
        peak_per_s=query.rate.sustained_per_s,
        entities_read=0.0,
        entities_read_max=0.0,
        entities_returned=0.0,
        entities_written=each * written,
        requests=requests,
        fan_out=1.0,
        analytic=query.analytic,
        notes=demand.notes,
        entities_changed=each,
        entities_by_bytes=each * by_bytes,
        bytes_written=each * stored,
        round_trips=1.0 + (1.0 if after else 0.0),
        requests_write=first,
        requests_after=after,
        group_entities=group * sum(1 for _, row in scheme.each_key() if row is None or scheme.same_partition(row)),
    )


def falls_together(parts: tuple[Part, ...], declared: Transaction | None, population: Population) -> bool:
    return not atoms_of(parts) or (declared is not None and set_fixes(declared.group_by, parts, population))


def _requests_elsewhere(row: IndexRow, scheme: KeyScheme, declared: Transaction, bench: Bench) -> float:
    """Requests for each entity of a set that write its index row in another partition.

    Rows of a set are written together where what the set has in common fixes their partition, else one by one.
    """
    if scheme.same_partition(row):
        return 0.0
    there = row_mask(row.key, row, bench.population)
    if set_fixes(declared.group_by, row.key.partition, bench.population):
        size = row_bytes(scheme, bench)[1 + scheme.index_rows.index(row)]
        return requests_each_row(declared, bench.population, there, group_most(size, 1, bench.limits))
    return 1.0 if there is None else float(there[: bench.population.rows].mean())


def locates(found: AccessPlan) -> bool:
    """Whether an update or delete must read before it can write."""
    return bool(found.unknown)


def _attempts(demand: Demand, bench: Bench) -> Floats:
    """Attempts per commit of each instance: 1 but for a read-modify-write of a contended entity."""
    import numpy as np

    found = entity_rates(bench).get(demand.query.name)
    return np.ones(len(demand.instances)) if found is None else found.attempts


def kept_together(name: str, bench: Bench, transactions: tuple[TransactionOutcome, ...]) -> bool:
    """Whether a class is of a declared transaction whose entities have one PartitionKey."""
    declared = zip(transactions, bench.workload.transactions, strict=True)
    return any(outcome.kept and name in each.together for outcome, each in declared)


def _write_cost(
    demand: Demand, scheme: KeyScheme, located: Read, bench: Bench, loads: LoadMap, grouped: bool
) -> ClassCost:
    """An update or delete: locate where the filter is not the whole key, then write every row of the entity.

    Of several entities in a request each is located and written, in one group transaction where they are ``grouped``.
    """
    import numpy as np

    query = demand.query
    several = query.entities_per_request
    changed = np.maximum(demand.returned, 1.0) * several
    moves = query.operation is Operation.UPDATE and bool(set(scheme.main.properties) & set(query.sets))
    locate = locates(located.plan)
    attempts = _attempts(demand, bench)
    # A changed key is a delete and an insert: two rows written where one stood.
    changed_rows, moved_rows = {0: changed * (2 if moves else 1)}, {0} if moves else set[int]()
    away = np.zeros(len(changed))
    for via in touched(demand.query, scheme):
        row = scheme.index_rows[via - 1]
        there = entities_with_row(demand, row, bench.population, changed)
        moved = query.operation is Operation.UPDATE and bool(set(row.key.properties) & set(query.sets))
        changed_rows[via] = there * (2 if moved else 1)
        moved_rows |= {via} if moved else set()
        if not scheme.same_partition(row):
            moves_away = moved and _moved({p for part in row.key.partition for p in part.properties}, query.sets)
            away += there * (2 if moves_away else 1)
    first = 1 + (1 if moves and _partition_moves(scheme, query.sets) else 0)
    sizes, counts = row_bytes(scheme, bench), capacity_weights(scheme, bench)
    # A lost race is a request, and the entity is counted; index rows elsewhere follow only the write that wins.
    tried = {via: attempts if via == 0 else np.ones(len(attempts)) for via in changed_rows}
    weights = demand.weights * query.rate.sustained_per_s
    alone = float(demand.returned.max(initial=1.0)) <= 1.0
    for via, (key, written) in enumerate(scheme.each_key()):
        if via in changed_rows:
            load = weights * tried[via] * changed_rows[via] * (counts[via] if bench.count_bytes else 1.0)
            twice = 2 if via in moved_rows else 1
            kept = kept_share(demand, bench.population, key.partition)
            if alone or kept is not None or not _by_equality(demand):
                loads.at_instances(key.partition, demand.instances, load, kept=kept, grows=not alone)
            else:
                _at_changed(demand, key, written, bench.population, load, loads)
            if alone:  # of a row that moves, one entity is removed and another one written
                own = kept_share(demand, bench.population, (*key.partition, *key.row))
                loads.at_entities(key, demand.instances, load / twice, kept=own)
    notes = list(demand.notes)
    if moves:
        notes.append("sets a property of the key: each update is a delete and an insert")
    found = located if locate else None
    mean_attempts = demand.mean(attempts) if len(attempts) else 1.0
    each = demand.mean(changed)
    rows_written = {via: demand.mean(rows) for via, rows in changed_rows.items()}
    after = demand.mean(away)
    middle, high = spread(located.per_instance * several, demand.weights) if found else (0.0, 0.0)
    locating = several * demand.mean(located.requests_each * attempts) if found else 0.0
    reads = several * demand.mean(located.per_instance * attempts) if found else 0.0
    sent = first * (each / several if grouped else each)
    return ClassCost(
        name=query.name,
        operation=query.operation,
        plan=located.plan,
        rate_per_s=query.rate.mean_per_s,
        peak_per_s=query.rate.sustained_per_s,
        entities_read=reads,
        entities_read_max=found.entities_max * several if found else 0.0,
        entities_returned=demand.mean(demand.returned) * several,
        entities_written=sum(rows_written.values()),
        requests=locating + sent * mean_attempts + after,
        fan_out=located.fan_out,
        analytic=query.analytic,
        notes=tuple(notes),
        entities_changed=each,
        entities_by_bytes=(several * located.by_bytes * mean_attempts if found else 0.0)
        + sum(rows * counts[via] for via, rows in rows_written.items()),
        bytes_written=sum(rows * sizes[via] for via, rows in rows_written.items()),
        round_trips=(found.round_trips if found else 0.0) + 1.0 + (1.0 if after else 0.0),
        continuations=found.continuations if found else 0.0,
        requests_locate=locating,
        requests_write=sent,
        requests_after=after,
        entities_read_p50=middle,
        entities_read_p99=high,
        attempts=mean_attempts,
    )


def _by_equality(demand: Demand) -> bool:
    """Whether equalities alone say which entities a write changes."""
    wanted = demand.conditions
    return bool(wanted.equal) and not (wanted.ranges or wanted.any_of or wanted.residual)


def _at_changed(
    demand: Demand, key: Key, row: IndexRow | None, population: Population, load: Floats, loads: LoadMap
) -> None:
    """The load of a write of many entities by one filter, alike on all of them that have a row under a key."""
    import numpy as np

    atoms = [("p", name) for name in demand.conditions.equal if population.has(name)]
    ids, size = population.groups(free_atoms(atoms, demand.constants))
    keep = has_row(key, row, population)[: population.rows] > 0
    constant = rows_of_constants(population, atoms, demand.constants)
    keep = keep if constant is None else keep & constant
    group_load: Floats = np.bincount(ids[demand.instances], weights=load, minlength=size).astype(float)
    loads.at_rows(key.partition, ids, group_load, keep, grows=True)


def _moved(properties: set[str], sets: tuple[str, ...]) -> bool:
    return bool(properties & set(sets))


def _partition_moves(scheme: KeyScheme, sets: tuple[str, ...]) -> bool:
    return bool({p for part in scheme.main.partition for p in part.properties} & set(sets))
