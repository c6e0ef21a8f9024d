"""The load of a design over its keys and over time: what a heat map draws.

A row is a band of neighbouring partitions, a column a stretch of time. Each class puts its load where ``LoadMap`` puts
it, at the rate that it has in that moment. Inserts follow the sampled rows in their order of arrival: what is inserted
at a moment falls on the partitions that take rows then, so that a key that grows with time shows as a moving front.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pkadvisor.design.cost.class_cost import has_row
from pkadvisor.design.cost.plan_reads import kept_share
from pkadvisor.design.keys.key_bands import bands_of
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.counting import capacity_weights
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.heat_clock import HeatClock
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.design.rows.insert_lives import Lives, lives_of
from pkadvisor.design.rows.list_values import instances_under, list_part, list_rows, under
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.observe.workload import Operation
from pkadvisor.values import dataclass

ROWS_MAX = 96
"""Rows of a heat map, of all PartitionKey templates together."""
ROWS_LEAST = 8
"""Rows that each template has at least, where it has so many partitions."""
LOOKED_AT = 24
"""Partitions of a band that are compared with every moment: those with the highest bounds."""
MOMENTS_MANY = 500
"""… fewer where a map has more moments than this."""
LOOKED_AT_MANY = 8


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring partitions of one PartitionKey template: data rows that lie in the first and in the last."""

    template: tuple[Part, ...]
    first_row: int
    last_row: int
    partitions: int


@dataclass(frozen=True, slots=True, eq=False)
class HeatGrid:
    """A heat map: ``peaks`` and ``means`` have a row for each band and a column for each stretch of time.

    ``peaks``: the load of the busiest partition of a cell at its worst moment, in times of its target; or that of
    the partitions that begin there, which lie in one range until the service has split it, in times of the range's.
    ``means``: entities/s of all partitions of a band, on average over the column; ``inserts`` is what inserts have in
    it. ``totals``: entities/s of the table in each column.
    """

    bands: tuple[Band, ...]
    peaks: Floats
    means: Floats
    inserts: Floats
    totals: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Inserts:
    """What one class inserts under one template: ``per_s`` entities/s at its peak.

    ``groups``, ``places`` (in the order of arrival) and ``weights`` are those of its rows; ``lives`` is when it falls
    on which group. ``low`` and ``high`` are the first and last place that each column shows. ``kept``: what share of a
    group's load stays on it in the whole table, of which a sample is at hand.
    """

    column: int
    per_s: float
    groups: Ints
    places: Ints
    weights: Floats
    rows: int
    lives: Lives
    low: Floats
    high: Floats
    kept: float

    def columns_of(self, lives: Lives) -> tuple[Ints, Ints]:
        """The first and the last column in which each group of some lives takes inserts."""
        start = np.searchsorted(self.high, lives.first, side="left")
        stop = np.searchsorted(self.low, lives.last, side="right") - 1
        last = len(self.low) - 1
        return np.clip(start, 0, last), np.clip(stop, 0, last)

    def by_band(self, rows: Bools | None, band_of: Ints, bands: int) -> Floats:
        """The share of the inserts that falls on each band in each column, of those rows that ``rows`` names."""
        rows = np.ones(len(self.groups), dtype=bool) if rows is None else rows
        of_band = band_of[self.groups[rows]]
        lives = lives_of(of_band, bands, self.places[rows], self.weights[rows], self.rows)
        start, stop = self.columns_of(lives)
        at = np.arange(len(self.low))
        per_band: Floats = lives.share[:, None] * ((at >= start[:, None]) & (at <= stop[:, None]))
        return per_band


def grid_of(estimate: CostEstimate, bench: Bench, loads: LoadMap, clock: HeatClock) -> HeatGrid:
    """The map of one design; ``loads`` is its LoadMap with every class put down."""
    templates = tuple(loads.templates())
    moving = {d.query.name: d for d in bench.demands if moves(d, bench)}
    columns = loads.columns
    static = {
        p: {c: v for c, v in loads.by_class(p).items() if c not in {columns[n] for n in moving}} for p in templates
    }
    inserts = {
        p: [i for d in moving.values() for i in _inserts(p, d, estimate, bench, clock, columns)] for p in templates
    }
    per_s = _per_s(estimate, columns)
    weights = {p: _weights(p, static[p], inserts[p], bench) for p in templates}
    rows = _rows_each([len(w) for w in weights.values()], [float(w.sum()) for w in weights.values()])
    scale = _scale(per_s, static)
    bands: list[Band] = []
    empty = np.zeros((0, clock.columns))
    peaks, means, inserted = [empty], [empty], [empty]
    for parts, most in zip(templates, rows, strict=True):
        order, first_rows = _ordered(parts, bench, weights[parts])
        if not len(order):
            continue
        edges = bands_of(weights[parts][order], most)
        count = len(edges) - 1
        band_of = np.zeros(len(first_rows), dtype=np.int64)  # a group that is left out has no load to put anywhere
        band_of[order] = np.repeat(np.arange(count), np.diff(edges))
        there = under(parts, bench.population).counts(atoms_of(parts))[order] > 0
        for low, high in pairwise(edges.tolist()):
            first, last = int(first_rows[order[low]]), int(first_rows[order[high - 1]])
            bands.append(Band(parts, first, last, max(1, int(there[low:high].sum()))))
        peaks.append(_peaks(parts, static[parts], inserts[parts], band_of, count, bench, clock))
        inserted.append(_inserted(inserts[parts], band_of, count, clock))
        means.append(_stays(static[parts], band_of, count, scale, clock) + inserted[-1])
    column_means = clock.column_means()
    totals = np.zeros(clock.columns)
    for column, value in sorted(per_s.items()):
        totals += column_means[:, column] * value
    return HeatGrid(tuple(bands), np.concatenate(peaks), np.concatenate(means), np.concatenate(inserted), totals)


def moves(demand: Demand, bench: Bench) -> bool:
    """Whether a class inserts entities whose order of arrival is known: from the rows at hand, or from a log."""
    query = demand.query
    inserts = query.operation in (Operation.INSERT, Operation.UPSERT) and query.filter is None and not query.analytic
    return inserts and _places(demand, bench) is not None


def _places(demand: Demand, bench: Bench) -> Ints | None:
    """The place of each instance in the order of arrival; None where nobody knows it."""
    population, instances = bench.population, demand.instances
    name, order = population.arrival, population.arrival_order()
    if order is None or name in population.hashed or len(instances) < 3:
        return None
    if int(instances[-1]) < population.rows:
        places = np.empty(population.rows, dtype=np.int64)
        places[order] = np.arange(population.rows)
        of_instances: Ints = places[instances]
        return of_instances
    if name is None or not population.has(name) or population.frame.get_column(name)[instances.tolist()].null_count():
        return None
    ranked = np.argsort(population.coded(name).codes[instances], kind="stable")
    of_log = np.empty(len(instances), dtype=np.int64)
    of_log[ranked] = np.arange(len(instances))
    return of_log


def _per_s(estimate: CostEstimate, columns: Mapping[str, int]) -> dict[int, float]:
    """Entities per second that each class reads and writes at its peak."""
    return {
        columns[c.name]: c.peak_per_s * (c.entities_read + c.entities_written)
        for c in estimate.classes
        if not c.analytic and c.name in columns
    }


def _scale(per_s: Mapping[int, float], static: Mapping[tuple[Part, ...], Mapping[int, Floats]]) -> dict[int, float]:
    """What the loads of the keys at hand are multiplied by, so that bands hold what the keys between them take too."""
    put: dict[int, float] = {}
    for vectors in static.values():
        for column, vector in vectors.items():
            put[column] = put.get(column, 0.0) + float(vector.sum())
    return {column: per_s.get(column, 0.0) / load for column, load in put.items() if load > 0}


# -- inserts -----------------------------------------------------------------------------------------------------------


def _inserts(
    parts: tuple[Part, ...],
    demand: Demand,
    estimate: CostEstimate,
    bench: Bench,
    clock: HeatClock,
    columns: Mapping[str, int],
) -> list[_Inserts]:
    """A class's inserts under one template, once for each key of the scheme that has it."""

    population, query = bench.population, demand.query
    places = _places(demand, bench)
    assert places is not None
    atoms = atoms_of(parts)
    ids, size = under(parts, population).groups(atoms)
    several = list_part(parts)
    groups = ids[demand.instances] if several is None else ids[instances_under(parts, population, demand.instances)]
    logged = int(demand.instances[-1]) >= population.rows
    rows = len(places) if logged else population.rows
    low, high = _column_places(clock, columns[query.name], rows, None if logged else population.arrival_order())
    share = kept_share(demand, population, parts)
    rest = population.without_arrival(atoms)
    factor = under(parts, population).share_factor(rest) if share is None else share
    factor = 1.0 if logged and share is None else factor  # a log names every key as often as it comes
    out = []
    counts = capacity_weights(estimate.scheme, bench)
    for (key, row), count in zip(estimate.scheme.each_key(), counts, strict=True):
        if key.partition != parts:
            continue
        there = demand.weights * has_row(key, row, population)[demand.instances]
        if several is not None:  # a row for each value, of one weight
            of = list_rows(several, population).of(demand.instances)[1]
            there, at = demand.weights[of], places[of]
        else:
            at = places
        written = float(there.sum())
        if written <= 0:
            continue
        weights = there / written
        per_s = query.rate.sustained_per_s * query.entities_per_request * written
        out.append(
            _Inserts(
                column=columns[query.name],
                per_s=per_s * (count if bench.count_bytes else 1.0),
                groups=groups,
                places=at,
                weights=weights,
                rows=rows,
                lives=_bounded(lives_of(groups, size, at, weights, rows), groups, per_s, demand, bench),
                low=low,
                high=high,
                kept=factor,
            )
        )
    return out


def _bounded(lives: Lives, groups: Ints, per_s: float, demand: Demand, bench: Bench) -> Lives:
    """Lives of partitions that take no more in a second than the entities that they have: a target is per second."""
    if demand.query.operation is not Operation.INSERT or per_s <= 0:
        return lives
    population = bench.population
    rows = np.bincount(groups, minlength=len(lives.share)) * (population.total / max(1, population.rows))
    return replace(lives, share=np.minimum(lives.share, rows / per_s))


def _column_places(clock: HeatClock, column: int, rows: int, order: Ints | None) -> tuple[Floats, Floats]:
    """For each column the first and the last place (in the order of arrival) that is inserted in it; both ascend.

    ``order``: the data rows as they arrived, where they may lie at their own time.
    """
    if order is not None and clock.arrival_columns is not None:
        at = clock.arrival_columns[order]
        low = np.searchsorted(at, np.arange(clock.columns), side="left").astype(np.float64)
        high = np.searchsorted(at, np.arange(clock.columns), side="right").astype(np.float64) - 1
        # Where nothing arrived the last arrival before goes on.
        return np.minimum(low, np.maximum(high, 0.0)), np.maximum(high, 0.0)
    sent = clock.column_means()[:, column]
    total = float(sent.sum())
    done = np.cumsum(sent) / total if total > 0 else np.arange(1, clock.columns + 1) / clock.columns
    before = np.concatenate([[0.0], done[:-1]])
    return before * (rows - 1), done * (rows - 1)


# -- rows --------------------------------------------------------------------------------------------------------------


def _ordered(parts: tuple[Part, ...], bench: Bench, weights: Floats) -> tuple[Ints, Ints]:
    """(groups of a template in the order of their keys, the first row of each group).

    Without keys that only a log names and that take no load.
    """
    population = under(parts, bench.population)
    atoms = atoms_of(parts)
    ids, size = population.groups(atoms)
    first = np.full(size, population.size, dtype=np.int64)
    np.minimum.at(first, ids, np.arange(population.size, dtype=np.int64))
    keys = [codes[first] for codes in population.key_order(parts)]
    order = np.lexsort(tuple(reversed(keys))) if keys else np.arange(size)
    shown = (population.counts(atoms) > 0) | (weights > 0)
    return order[shown[order]].astype(np.int64), first


def _weights(
    parts: tuple[Part, ...], static: Mapping[int, Floats], inserts: Sequence[_Inserts], bench: Bench
) -> Floats:
    """What each group weighs when bands are cut: its load at the peak of every class, inserts over the whole time."""
    _, size = under(parts, bench.population).groups(atoms_of(parts))
    total = np.zeros(size)
    for _, vector in sorted(static.items()):
        total += vector
    for each in inserts:
        total += each.per_s * np.bincount(each.groups, weights=each.weights, minlength=size)
    return total


def _rows_each(partitions: Sequence[int], loads: Sequence[float]) -> list[int]:
    """The rows that each template gets: some for all, the rest by their loads."""
    least = [min(n, ROWS_LEAST) for n in partitions]
    free = ROWS_MAX - sum(least)
    total = sum(loads)
    if free <= 0 or total <= 0:
        return [max(1, n) for n in least]
    more = [int(free * load / total) for load in loads]
    more[loads.index(max(loads))] += free - sum(more)
    return [max(1, a + b) for a, b in zip(least, more, strict=True)]


# -- cells -------------------------------------------------------------------------------------------------------------


def _peaks(
    parts: tuple[Part, ...],
    static: Mapping[int, Floats],
    inserts: Sequence[_Inserts],
    band_of: Ints,
    bands: int,
    bench: Bench,
    clock: HeatClock,
) -> Floats:
    """The highest load of a partition, or of the partitions that begin, in each cell; in times of its target."""
    limits = bench.limits
    highest = clock.peaks.max(axis=0)
    bound = np.zeros(len(band_of))
    for column, vector in sorted(static.items()):
        bound += highest[column] * vector
    for each in inserts:
        bound += highest[each.column] * each.per_s * each.kept * each.lives.share
    groups = _highest(bound, band_of, LOOKED_AT_MANY if len(clock.peaks) > MOMENTS_MANY else LOOKED_AT)
    first = np.flatnonzero(np.diff(band_of[groups], prepend=-1))
    starts = np.flatnonzero(np.diff(clock.column_of, prepend=-1))
    alive = [each.columns_of(each.lives) for each in inserts]
    begun = [_begun(parts, each, band_of, bands, bench) for each in inserts]
    out = np.zeros((bands, clock.columns))
    for start, stop in zip(starts, [*starts[1:], len(clock.column_of)], strict=True):
        column, rates = int(clock.column_of[start]), clock.peaks[start:stop]
        load, ranges = np.zeros((len(rates), len(groups))), np.zeros((len(rates), bands))
        for of_class, vector in sorted(static.items()):
            load += rates[:, of_class, None] * vector[groups]
        for each, (low, high), together in zip(inserts, alive, begun, strict=True):
            there = (low[groups] <= column) & (high[groups] >= column)
            load += rates[:, each.column, None] * (each.per_s * each.kept * each.lives.share[groups] * there)
            ranges += rates[:, each.column, None] * (each.per_s * together[:, column])
        busiest = np.maximum.reduceat(load.max(axis=0), first) / limits.partition_entities_per_s
        out[:, column] = np.maximum(busiest, ranges.max(axis=0) / limits.range_entities_per_s)
    return out


def _highest(bound: Floats, band_of: Ints, most: int) -> Ints:
    """The groups of each band that can take most, band by band."""
    order = np.lexsort((np.arange(len(bound)), -bound, band_of))
    starts = np.flatnonzero(np.diff(band_of[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    highest: Ints = order[place < most]
    return highest


def _begun(parts: tuple[Part, ...], inserts: _Inserts, band_of: Ints, bands: int, bench: Bench) -> Floats:
    """The share of the inserts that the partitions which begin in a band take together, in each column.

    No range takes more than the write fronts say: neighbours in a band that lie apart for the service are not one.
    """
    fronts = write_fronts(parts, bench.population, bench.limits, inserts.per_s or None)
    brief = inserts.lives.brief[inserts.groups]
    if not brief.any():
        return np.zeros((bands, len(inserts.low)))
    lasting = fronts.lasting(bench.limits.lasting_s)
    begun: Floats = np.minimum(inserts.by_band(brief, band_of, bands), 1.0 / lasting if lasting else 1.0)
    return begun


def _stays(
    static: Mapping[int, Floats], band_of: Ints, bands: int, scale: Mapping[int, float], clock: HeatClock
) -> Floats:
    """Entities/s of each band without inserts, on average over each column; of a sample they stand for all keys
    between."""
    rates = clock.column_means()
    out = np.zeros((bands, clock.columns))
    for column, vector in sorted(static.items()):
        load = np.bincount(band_of, weights=vector, minlength=bands) * scale.get(column, 1.0)
        out += load[:, None] * rates[None, :, column]
    return out


def _inserted(inserts: Sequence[_Inserts], band_of: Ints, bands: int, clock: HeatClock) -> Floats:
    """Entities/s that inserts put on each band, on average over each column."""
    rates = clock.column_means()
    out = np.zeros((bands, clock.columns))
    for each in inserts:
        out += each.by_band(None, band_of, bands) * (each.per_s * rates[None, :, each.column])
    return out
