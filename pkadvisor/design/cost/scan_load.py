"""Where the load of a scan falls: on the rows that it reads, and on partitions that it names in vain."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pkadvisor.design.cost.empty_requests import empty_requests
from pkadvisor.design.cost.scan_runs import Reading, RowRun, spread_over
from pkadvisor.design.cost.scans import (
    SEVERAL_PARTITIONS,
    begun_rows,
    bounds_of_others,
    missing_in_range,
    row_counts,
    rows_scanned,
)
from pkadvisor.design.keys.scheme import Key, KeyScheme, leading_text
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.stop_early import periods_of, walk_back
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np


def load_of_rows(
    read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats, rate_per_s: Floats
) -> Iterator[tuple[tuple[Part, ...], Floats]]:
    """(a PartitionKey template, entities per second for each row at hand) for each kind of row that a request scans.

    ``load`` is that of each instance. It falls on the rows between its bounds, alike on each of them; where ``$top``
    stops a request, on the first of them in the order of the key. A request for a bucket in which nothing lies counts
    as one entity (``rate_per_s`` requests of each instance).
    """
    plan = read.plan
    reading = _reading(read, demand, scheme, population)
    key = list(scheme.each_key())[plan.via][0]
    if plan.several:
        load = np.minimum(load, rate_per_s * read.scanned)
        yield key.partition, empty_requests(reading, key, rate_per_s)
    if reading.in_order:
        yield from _up_to_the_last(reading, load)
        return
    counts = rows_scanned(plan, demand, scheme, population)
    scanned = sum(counts.values(), np.zeros(len(load)))
    if plan.access is Access.TABLE_SCAN and plan.top is None:  # rows of other kinds lie in partitions of their own
        scanned = np.maximum(scanned, read.rows)
    total = np.maximum(scanned, 1e-300)
    for via, (other, row) in enumerate(scheme.each_key()):
        if via not in counts:
            continue
        share = np.where(scanned > 0, load * counts[via] / total, load if via == plan.via else 0.0)
        if not share.any():
            continue
        bounds = plan if via == plan.via else bounds_of_others(plan, key, other)
        if plan.access is Access.TABLE_SCAN or bounds is None:
            label = leading_text(key.partition) if plan.access is Access.TABLE_SCAN else ""
            among = begun_rows(other, row, label, population).astype(np.float64)
            if (of_lists := row_counts(other, population)) is not None:  # an entity has as many rows as values
                among *= of_lists[: population.rows]
            yield other.partition, among * (float(share.sum()) / max(1.0, float(among.sum())))
            continue
        without = missing_in_range(bounds, other, row, demand, population)
        if without.any():
            part = load * without / total
            yield other.partition, _at_lacking(bounds, demand, population, part, begun_rows(other, row, "", population))
            share = share - part
        yield other.partition, _on_runs(reading, via, share)


def _reading(read: Read, demand: Demand, scheme: KeyScheme, population: Population) -> Reading:
    rows = read.rows * population.rows / max(1, population.total)
    return Reading(read.plan, demand, scheme, population, np.ceil(rows).astype(np.int64))


def _up_to_the_last(reading: Reading, load: Floats) -> Iterator[tuple[tuple[Part, ...], Floats]]:
    """The load of requests that ``$top`` stops on their way over several partitions, alike on all rows they read."""
    keys = list(reading.scheme.each_key())
    runs = reading.ordered()
    read = sum((run.end - run.start for each in runs.values() for run in each), np.zeros(len(load)))
    for via, each in runs.items():
        yield keys[via][0].partition, spread_over(each, load / np.maximum(read, 1), reading.population.rows)


def load_led_to(read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats) -> Floats:
    """The load of each entity at hand that pointers lead to."""
    if read.plan.back:
        return _on_the_way_back(read.plan, demand, population, load)
    reading = _reading(read, demand, scheme, population)
    return _on_runs(reading, read.plan.via, load)


def _at_lacking(plan: AccessPlan, demand: Demand, population: Population, load: Floats, among: Bools) -> Floats:
    """The load of the entities without the property that a range of texts bounds, alike on those of each instance."""
    assert plan.range_atom is not None
    lacking = among & (population.coded(plan.range_atom[1]).codes[: population.rows] == 0)
    keep = rows_of_constants(population, plan.equal_atoms, demand.constants)
    lacking = lacking if keep is None else lacking & keep
    ids, count = population.groups(free_atoms(plan.equal_atoms, demand.constants))
    mine = ids[: population.rows]
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    rows_of_group = np.bincount(mine[lacking], minlength=count)
    return np.asarray(np.where(lacking, (of_group / np.maximum(rows_of_group, 1))[mine], 0.0))


def _on_runs(reading: Reading, via: int, load: Floats) -> Floats:
    """The load of each row at hand, where each instance loads the rows that its requests read alike."""
    reading, load = reading.of_alike(load)
    runs = reading.runs(via)
    rows = np.asarray(sum((run.end - run.start for run in runs), np.zeros(len(load))))
    out = spread_over(runs, load / np.maximum(rows, 1), reading.population.rows)
    if reading.plan.access not in SEVERAL_PARTITIONS and not reading.plan.several:
        key = list(reading.scheme.each_key())[reading.plan.via][0]
        nothing = np.where(rows > 0, 0.0, load)
        out += _found_nothing(reading.plan, key, reading.demand, reading.population, nothing)
    return out


def _found_nothing(plan: AccessPlan, key: Key, demand: Demand, population: Population, load: Floats) -> Floats:
    """The load of requests that find nothing: it falls on the partition that they name, put on one row of it."""
    out = np.zeros(population.rows)
    if not load.any():
        return out
    atoms = [atom for atom in atoms_of(key.partition) if atom in plan.equal_atoms]
    keep = rows_of_constants(population, atoms, demand.constants)
    there = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
    ids, count = population.groups(free_atoms(atoms, demand.constants))
    groups, first = np.unique(ids[there], return_index=True)
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    out[there[first]] = of_group[groups]
    return out


# -- going back period by period --------------------------------------------------------------------------------------


def load_going_back(
    read: Read, demand: Demand, key: Key, population: Population, load: Floats, rate_per_s: Floats
) -> Floats:
    """Entities per second of each row at hand; ``load`` and ``rate_per_s`` (of requests) are those of each instance.

    The newest periods are asked by everybody, the older ones only by those who have not found enough.
    A request for a period that holds nothing of what an instance names counts as one entity, put on the first row at
    hand of the partition.
    """
    load = np.minimum(load, rate_per_s * read.scanned)
    in_vain = _asked_in_vain(read, demand, key, population, rate_per_s)
    return _on_the_way_back(read.plan, demand, population, load) + in_vain


def _on_the_way_back(plan: AccessPlan, demand: Demand, population: Population, load: Floats) -> Floats:
    """The load of each instance, alike on all rows at hand that it reads period by period."""
    way = walk_back(plan, demand, population)
    runs = [RowRun(way.line.rows, *way.first), RowRun(way.line.rows[way.brought], *way.further)]
    rows_at_hand = np.asarray(sum(run.end - run.start for run in runs))
    return spread_over(runs, load / np.maximum(rows_at_hand, 1), population.rows)


def _asked_in_vain(read: Read, demand: Demand, key: Key, population: Population, rate_per_s: Floats) -> Floats:
    """The requests of each partition at hand that find nothing, put on its first row."""
    plan = read.plan
    assert plan.periods is not None
    way = walk_back(plan, demand, population)
    line = way.line
    atoms = atoms_of(key.partition)
    partition, count = population.groups(atoms)
    first = np.unique(partition[: population.rows], return_index=True)[1]
    fixed = [atom for atom in atoms if atom != plan.periods.atom]
    named, _ = population.groups(free_atoms(fixed, demand.constants))
    lie = rows_of_constants(population, fixed, demand.constants)
    periods = periods_of(plan.periods, population)
    asked = named[demand.instances], way.newest, way.oldest, rate_per_s
    reached = _reached(*asked, at=named[first], period=periods[first])
    if lie is not None:
        reached = np.where(lie[first], reached, 0.0)
    apart, _ = population.groups([fan.atom for fan in plan.fans if fan.atom])
    pieces = np.stack([partition[line.rows], line.groups, line.periods, apart[line.rows]])
    pieces = _columns_once(pieces)
    begin, end = way.places
    some = np.flatnonzero(end > begin)
    newest, oldest = line.periods[begin[some]], line.periods[end[some] - 1]
    answers = _reached(line.asked[some], newest, oldest, rate_per_s[some], at=pieces[1], period=pieces[2])
    answered = np.bincount(pieces[0], weights=answers, minlength=count)
    requests = reached * math.prod(fan.buckets_total for fan in plan.fans)
    out = np.zeros(population.rows)
    out[first] = np.maximum(requests - answered[partition[first]], 0.0)
    return out


def _columns_once(columns: Ints) -> Ints:
    """The distinct columns in their order: by one number for each, which sorts far faster than the columns, if it
    holds them."""
    if not columns.size:
        return columns
    low = columns.min(axis=1)
    spans = [int(span) for span in columns.max(axis=1) - low + 1]
    if math.prod(spans) > np.iinfo(np.int64).max:
        return np.unique(columns, axis=1)
    number = np.zeros(columns.shape[1], dtype=np.int64)
    for row, least, span in zip(columns, low, spans, strict=True):
        number = number * span + (row - least)
    return columns[:, np.unique(number, return_index=True)[1]]


def _reached(groups: Ints, newest: Ints, oldest: Ints, rate_per_s: Floats, *, at: Ints, period: Ints) -> Floats:
    """For each of some groups and periods (``at``, ``period``), the rate of the instances of the group that reach the
    period, which is between the newest and the oldest that they ask."""
    least = int(min(oldest.min(initial=0), period.min(initial=0)))
    span = int(max(newest.max(initial=0), period.max(initial=0))) - least + 2

    def rate_from(moments: Ints, above: Ints) -> Floats:
        """The rate of the instances of each group of which a moment is ``above`` or later."""
        placed = groups * span + (moments - least)
        order = np.argsort(placed, kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(rate_per_s[order])])
        low, high = (np.searchsorted(placed[order], at * span + end) for end in (above - least, span))
        return np.asarray(sums[high] - sums[low])

    return rate_from(newest, period) - rate_from(oldest, period + 1)
