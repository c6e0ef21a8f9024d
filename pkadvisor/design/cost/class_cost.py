"""What one class of requests costs under one scheme: entities read and written, requests sent, where the load falls.

Published facts used: entities *scanned* count, not returned ones; a page holds 1,000 entities or 4 MiB; a group
transaction is one request for at most 100 entities of one partition.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from pkadvisor.design.cost.class_latency import spread
from pkadvisor.design.cost.entity_rates import entity_rates
from pkadvisor.design.cost.plan_reads import kept_share, put_load, read
from pkadvisor.design.cost.scans import row_counts, row_mask
from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.load.counting import capacity_weights, keeps_together, row_bytes, set_entities_most, strange_rate
from pkadvisor.design.load.estimates import Bench, ClassCost, Read, TransactionOutcome
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.plan.caller import rows_written
from pkadvisor.design.plan.plan import Walks, plan
from pkadvisor.design.plan.stop_early import note_of, walk_back
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.asked_rows import seen_under
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms, returned_among
from pkadvisor.design.rows.fronts import moved_on
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import requests_each_row
from pkadvisor.documents.part import MOVES
from pkadvisor.lazy import Floats, np
from pkadvisor.observe.workload import Operation, Transaction
from pkadvisor.table.accounting import group_most
from pkadvisor.values import dataclass

LENGTHS_MOST = 16
"""Lengths of lists up to which the rows of what a request changes are counted; of more, each list has the mean."""


def class_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
    best: Read | None = None,
) -> ClassCost:
    """The cost of a class, without latencies; its load is put into ``loads``. ``best``: what its cheapest plan reads,
    where that is known."""
    if strange := strange_rate(demand, bench):
        demand = replace(demand, notes=(*demand.notes, *strange))
    query = demand.query
    if query.operation in (Operation.INSERT, Operation.UPSERT) and query.filter is None:
        return _insert_cost(demand, scheme, bench, transactions, loads)
    best = best if best is not None else best_read(demand, scheme, bench)
    key = list(scheme.each_key())[best.plan.via][0]
    if clamped := _clamped(demand, key):
        demand = replace(demand, notes=(*demand.notes, *clamped))
    seen, rows = seen_under((*key.partition, *key.row), demand, bench.population)
    if best.plan.back and (note := note_of(walk_back(best.plan, seen, rows))):
        demand = replace(demand, notes=(*demand.notes, note))
    peak = query.rate.sustained_per_s
    if not query.analytic and (query.operation is Operation.QUERY or locates(best.plan)):
        lookups_per_s = peak * query.entities_per_request
        put_load(best.plan, demand, scheme, bench, loads, lookups_per_s * _attempts(demand, bench))
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
            range_ends=best.range_ends,
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
    query, wanted = demand.query, (demand.of_values or demand).conditions
    # What the planner and its account of the caller ask a class for, besides its conditions.
    caller = (query.operation, query.sets, query.read_modify_write)
    memo = (scheme, query.name, query.kind, query.order_by, query.top, *caller)
    held: list[tuple[Conditions, tuple[AccessPlan, ...]]] = population.plans.setdefault(memo, [])
    for conditions, plans in held:
        if conditions is wanted or conditions == wanted:
            return plans
    walked: dict[str, tuple[Conditions, Walks]] = population.plans.setdefault("walks", {})
    if query.name not in walked or walked[query.name][0] is not wanted:
        walked[query.name] = (wanted, Walks())
    held.append((wanted, plan(query, wanted, scheme, population.types, population, walked[query.name][1])))
    return held[-1][1]


ENTITIES_PER_REQUEST = 100.0
"""Entities scanned that weigh as much as a request, where two rows of a scheme serve a query: assumed."""


def preference(reading: Read) -> tuple[float, float, int, int]:
    """What the plans through the rows of one scheme are compared by; the least is sent."""
    weight = reading.requests + reading.entities / ENTITIES_PER_REQUEST
    return (weight, reading.requests, reading.plan.access.rank, reading.plan.via)


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


def has_row(key: Key, row: IndexRow | None, population: Population) -> Floats:
    """How many rows each entity has under a key: of an index row none where what it is looked up by is missing, and one
    for each value of a list.

    An equality never matches a missing value, so no query would ever read such a row.
    """
    there, counts = row_mask(key, row, population), row_counts(key, population)
    if counts is not None:
        return (counts if there is None else counts * there).astype(np.float64)
    return np.ones(population.size) if there is None else there.astype(np.float64)


def entities_with_row(demand: Demand, row: IndexRow, population: Population, changed: Floats) -> Floats:
    """How many index rows of a kind the entities have that each instance changes."""
    there = has_row(row.key, row, population)
    if bool((there == 1).all()):
        return changed
    sampled = demand.instances.max(initial=-1) < population.rows  # what a log names is not all of an entity
    if sampled and float(demand.returned.max(initial=1.0)) <= 1.0:
        return np.asarray(changed * there[demand.instances])
    mine = there[: population.rows]
    levels = [float(count) for count in np.unique(mine[mine > 0])]
    if len(levels) > LENGTHS_MOST:
        levels = [float(mine[mine > 0].mean())]
    rows = np.zeros(len(changed))
    for before, level in pairwise([0.0, *levels]):  # so many more rows of each entity that has more than ``before``
        among = returned_among(demand, population, mine > before)
        rows += np.minimum(1.0, among / np.maximum(demand.returned, 1.0)) * (level - before)
    return np.asarray(changed * rows)


def _put_inserts(demand: Demand, scheme: KeyScheme, bench: Bench, loads: LoadMap) -> tuple[float, float, float]:
    """Put the rows that an insert writes on their partitions; (rows, entities of the capacity target, bytes) of one
    entity."""
    query, population = demand.query, bench.population
    weights = demand.weights * query.rate.sustained_per_s * query.entities_per_request
    written, by_bytes, stored = 0.0, 0.0, 0.0
    sizes, counts = row_bytes(scheme, bench), capacity_weights(scheme, bench)
    for (key, row), size, count in zip(scheme.each_key(), sizes, counts, strict=True):
        there = has_row(key, row, population)[demand.instances]
        load = weights * there * (count if bench.count_bytes else 1.0)
        moved = moved_on(key.partition, demand, population)
        kept_here = kept_share(demand, population, key.partition)
        loads.at_inserts(key.partition, demand.instances, load, kept=kept_here, moved=moved)
        if query.operation is Operation.UPSERT:
            own = kept_share(demand, population, (*key.partition, *key.row))
            loads.at_entities(key, demand.instances, load, kept=own)
        share = 1.0 if row is None else demand.mean(there)
        written, by_bytes, stored = written + share, by_bytes + share * count, stored + share * size
    return written, by_bytes, stored


def _insert_cost(
    demand: Demand,
    scheme: KeyScheme,
    bench: Bench,
    transactions: tuple[TransactionOutcome, ...],
    loads: LoadMap,
) -> ClassCost:
    query = demand.query
    declared = zip(transactions, bench.workload.transactions, strict=True)
    together = next(((outcome, group) for outcome, group in declared if query.name in group.together), None)
    each = group = query.entities_per_request
    written, by_bytes, stored = _put_inserts(demand, scheme, bench, loads)
    after = 0.0
    keys = list(scheme.each_key())
    for key, row in (keys[place[0]] for place in scheme.places()[1:]):
        share = demand.mean(has_row(key, row, bench.population)[demand.instances])
        # Rows of a group that fall together are one request, as far as it is known what the group has in common.
        one = each > 1 and falls_together(key.partition, together[1] if together else None, bench.population)
        after += min(1.0, share * each) if one else share * each
    # Requests of one entity or one declared group: those sent at once, those that follow, rows of each.
    first, kept = 1.0, 0.0 if together is None else together[0].share_kept
    if each > 1:
        # Those of sets that are not kept lie in as many partitions, as far as is known.
        whole = kept if atoms_of(scheme.main.partition) else 1.0
        first = whole * math.ceil(each / set_entities_most(scheme, bench)) + (1 - whole) * each
        group = each / first
    requests = first + after
    if each == 1 and together is not None and kept:
        outcome, of_set = together
        group = 1 / outcome.requests_each
        requests = outcome.requests_each + sum(
            _requests_elsewhere(place, scheme, of_set, bench) for place in scheme.places()[1:]
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
        group_entities=group * len(scheme.places()[0]),
    )


def falls_together(parts: tuple[Part, ...], declared: Transaction | None, population: Population) -> bool:
    return not atoms_of(parts) or (declared is not None and keeps_together(declared, parts, population))


def _requests_elsewhere(place: tuple[int, ...], scheme: KeyScheme, declared: Transaction, bench: Bench) -> float:
    """Requests for each entity of a set that write its index rows in one other partition.

    Rows of a set are written together where what the set has in common fixes their partition, else those of each entity
    by themselves.
    """
    row = scheme.index_rows[place[0] - 1]
    there = row_mask(row.key, row, bench.population)
    if keeps_together(declared, row.key.partition, bench.population):
        sizes = row_bytes(scheme, bench)
        most = group_most(sum(sizes[via] for via in place), len(place), bench.limits)
        return requests_each_row(declared, bench.population, there, most)
    return float(has_row(row.key, row, bench.population)[: bench.population.rows].mean())


def locates(plan: AccessPlan) -> bool:
    """Whether an update or delete must read before it can write."""
    return bool(plan.unknown)


def _attempts(demand: Demand, bench: Bench) -> Floats:
    """Attempts per commit of each instance: 1 but for a read-modify-write of a contended entity."""
    rates = entity_rates(bench).get(demand.query.name) if demand.query.read_modify_write else None
    return np.ones(len(demand.instances)) if rates is None else rates.attempts


def kept_together(name: str, bench: Bench, transactions: tuple[TransactionOutcome, ...]) -> float:
    """The share of a class's sets that have one PartitionKey: of the declared transaction that keeps most."""
    declared = zip(transactions, bench.workload.transactions, strict=True)
    return max((outcome.share_kept for outcome, each in declared if name in each.together), default=0.0)


CHANGES_KEY = "sets a property of the key: each update is a delete and an insert"


@dataclass(frozen=True, slots=True)
class _Changes:
    """The rows that an update or delete writes, for each instance: ``entities``, rows by key (0: the main row), which
    of them move to another key (a delete and an insert), and the requests to rows in other partitions."""

    entities: Floats
    rows: dict[int, Floats]
    moved: frozenset[int]
    requests_away: Floats


def _changes(demand: Demand, scheme: KeyScheme, population: Population) -> _Changes:
    """What a class changes under each key of a scheme."""
    query = demand.query
    sets = set(query.sets) if query.operation is Operation.UPDATE else set[str]()
    entities = np.maximum(demand.returned, 1.0) * query.entities_per_request
    written = rows_written(query, scheme)
    rows = {0: entities * written.pop(0)}
    away = np.zeros(len(entities))
    elsewhere = [place for place in scheme.places() if 0 not in place]
    for via, each in written.items():
        row = scheme.index_rows[via - 1]
        there = entities_with_row(demand, row, population, entities)
        rows[via] = there * each
        place = next((place for place in elsewhere if via in place), None)
        if place is not None:  # the rows of one partition are written in one request
            elsewhere.remove(place)
            away += there * (2 if set(part_properties(row.key.partition)) & sets else 1)
    moved = frozenset(via for via, each in rows_written(query, scheme).items() if each > 1)
    return _Changes(entities, rows, moved, away)


def _put_changes(changes: _Changes, demand: Demand, scheme: KeyScheme, bench: Bench, loads: LoadMap) -> None:
    """Put the rows that a class changes on the partitions that take them."""
    counts, population = capacity_weights(scheme, bench), bench.population
    weights = demand.weights * demand.query.rate.sustained_per_s
    alone = float(demand.returned.max(initial=1.0)) <= 1.0
    for via, (key, written) in enumerate(scheme.each_key()):
        if via not in changes.rows:
            continue
        # A lost race is a request, and the entity is counted; index rows elsewhere follow only the write that wins.
        tried = weights * _attempts(demand, bench) if via == 0 else weights
        load = tried * changes.rows[via] * (counts[via] if bench.count_bytes else 1.0)
        share_kept = kept_share(demand, population, key.partition)
        if alone or share_kept is not None or not _by_equality(demand):
            now = moved_on(key.partition, demand, population)
            loads.at_instances(key.partition, demand.instances, load, kept=share_kept, grows=not alone, moved=now)
        else:
            _at_changed(demand, key, written, population, load, loads)
        if alone:  # of a row that moves, one entity is removed and another one written
            own = kept_share(demand, population, (*key.partition, *key.row))
            loads.at_entities(key, demand.instances, load / (2 if via in changes.moved else 1), kept=own)


def _write_cost(
    demand: Demand, scheme: KeyScheme, located: Read, bench: Bench, loads: LoadMap, grouped: float
) -> ClassCost:
    """An update or delete: locate where the filter is not the whole key, then write every row of the entity.

    Of several entities in a request each is located and written, in one group transaction where they are kept together:
    a share of ``grouped`` is.
    """
    query, several = demand.query, demand.query.entities_per_request
    changes = _changes(demand, scheme, bench.population)
    _put_changes(changes, demand, scheme, bench, loads)
    sizes, counts = row_bytes(scheme, bench), capacity_weights(scheme, bench)
    notes = list(demand.notes)
    if 0 in changes.moved:
        moves = set(query.sets) & set(part_properties(scheme.main.partition))
        notes.append(f"{MOVES}, which no transaction holds together" if moves else CHANGES_KEY)
    attempts = _attempts(demand, bench)
    mean_attempts = demand.mean(attempts) if len(attempts) else 1.0
    reading = located if locates(located.plan) else None
    middle, high = spread(located.per_instance * several, demand.weights) if reading else (0.0, 0.0)
    locating = several * demand.mean(located.requests_each * attempts) if reading else 0.0
    reads = several * demand.mean(located.per_instance * attempts) if reading else 0.0
    each, after = demand.mean(changes.entities), demand.mean(changes.requests_away)
    rows_written = {via: demand.mean(rows) for via, rows in changes.rows.items()}
    # A row that moves to another partition is not deleted and inserted in one group transaction.
    first = 2 if 0 in changes.moved and set(part_properties(scheme.main.partition)) & set(query.sets) else 1
    sent = first * each * (1 - grouped * (1 - 1 / several))
    together = sum(rows for via, rows in rows_written.items() if via in scheme.places()[0])
    return ClassCost(
        name=query.name,
        operation=query.operation,
        plan=located.plan,
        rate_per_s=query.rate.mean_per_s,
        peak_per_s=query.rate.sustained_per_s,
        entities_read=reads,
        entities_read_max=reading.entities_max * several if reading else 0.0,
        entities_returned=demand.mean(demand.returned) * several,
        entities_written=sum(rows_written.values()),
        requests=locating + sent * mean_attempts + after,
        fan_out=located.fan_out,
        analytic=query.analytic,
        notes=tuple(notes),
        entities_changed=each,
        entities_by_bytes=(several * located.by_bytes * mean_attempts if reading else 0.0)
        + sum(rows * counts[via] for via, rows in rows_written.items()),
        bytes_written=sum(rows * sizes[via] for via, rows in rows_written.items()),
        round_trips=(reading.round_trips if reading else 0.0) + 1.0 + (1.0 if after else 0.0),
        continuations=reading.continuations if reading else 0.0,
        range_ends=reading.range_ends if reading else 0.0,
        requests_locate=locating,
        requests_write=sent,
        requests_after=after,
        group_entities=together / sent if sent else 1.0,
        entities_read_p50=middle,
        entities_read_p99=high,
        attempts=mean_attempts,
    )


def _by_equality(demand: Demand) -> bool:
    """Whether equalities alone say which entities a write changes."""
    wanted = demand.conditions
    return bool(wanted.equal or wanted.folded) and not (wanted.ranges or wanted.any_of or wanted.residual)


def _at_changed(
    demand: Demand, key: Key, row: IndexRow | None, population: Population, load: Floats, loads: LoadMap
) -> None:
    """The load of a write of many entities by one filter, alike on all rows that they have under a key."""
    atoms = demand.fixed_atoms(population)
    ids, size = population.groups(free_atoms(atoms, demand.constants))
    among = has_row(key, row, population)[: population.rows]
    constant = rows_of_constants(population, atoms, demand.constants)
    among = among if constant is None else among * constant
    group_load: Floats = np.bincount(ids[demand.instances], weights=load, minlength=size).astype(float)
    loads.at_rows(key.partition, ids, group_load, among)
