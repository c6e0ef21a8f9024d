"""Which rows at hand each request of a plan reads: runs of rows in the order of the key, for each instance of a class.

A plan sends one request for each bucket, each period and each value that the filter names. Where ``$top`` stops a
request, it has read its first rows, and the rows of other kinds that lie before the last of them in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pkadvisor.design.cost.scans import SEVERAL_PARTITIONS, begun_rows, bounds_of_others, lie_among, range_of_others
from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, leading_text
from pkadvisor.design.keys.transforms import Context
from pkadvisor.design.load.counting import pages_of
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.stop_early import PIECES_MOST, requests_apart
from pkadvisor.design.rows.asked.matching_rows import rows_of_constants
from pkadvisor.design.rows.demand import Demand, free_atoms, of_instances, picks
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, NDArray, np, pl
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

LOOK_UPS_MOST = 5_000_000
"""Instances times requests up to which the pages of each request are counted; beyond, requests are taken as alike."""


@dataclass(frozen=True, slots=True)
class RowRun:
    """Rows at hand in the order of a key; each instance reads those from its ``start`` to before its ``end``."""

    rows: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class _Pieces:
    """How rows at hand fall to the requests of a plan.

    ``keep`` are the rows that constants leave (None: all), ``ids`` and ``groups`` the group of each row that an
    instance names, ``piece`` the request that reads each row, ``numbers`` the requests that there are; ``apart`` says
    whether these are few enough to be told apart.
    """

    keep: Bools | None
    ids: Ints
    groups: int
    piece: Ints
    numbers: Ints
    apart: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The requests of one plan for one class over the rows at hand.

    ``most`` is how many rows each instance reads in all where ``$top`` stops requests that filter on their way.
    """

    plan: AccessPlan
    demand: Demand
    scheme: KeyScheme
    population: Population
    most: Ints | None = None

    @property
    def stops(self) -> bool:
        """Whether ``$top`` ends requests of which the key serves the whole filter: they read their first rows."""
        return self.plan.top is not None and not self.plan.unserved

    @property
    def in_order(self) -> bool:
        """Whether requests stop on their way over several partitions, by rows of other kinds."""
        return self.stops and self.plan.access in SEVERAL_PARTITIONS

    # -- runs ---------------------------------------------------------------------------------------------------------

    def runs(self, via: int) -> list[RowRun]:
        """The rows of one kind (0 the main key's, then the index rows') that each instance reads: apart for each value
        that the filter names and, where ``$top`` stops them, for each request."""
        if self.in_order:
            return self.ordered()[via]
        return list(self._between(self._bounds(via), self._rows_of(via), None, apart=self.stops))

    def on_the_way(self) -> Floats:
        """Rows of other kinds that each instance reads before its requests stop."""
        out = np.zeros(len(self.demand.instances))
        if not self.in_order:
            return out
        for via, runs in self.ordered().items():
            if via != self.plan.via:
                out += sum((run.end - run.start for run in runs), np.zeros(len(out)))
        return out * (self.population.total / max(1, self.population.rows))

    def further_pages(self, rows: dict[int, Floats], bench: Bench) -> Floats | None:
        """Pages beyond the first of all requests of each instance, which reads so many ``rows`` of each kind; None
        where the requests are too many to be looked at one by one."""
        total = np.asarray(sum(rows.values()))
        large = np.flatnonzero(pages_of(total, np.zeros(len(total)), bench) > 1)
        if not len(large):
            return np.zeros(len(total))
        if len(large) < len(total):  # what all requests of an instance read together fits a page
            asked = replace(self, demand=of_instances(self.demand, large))
            pages = asked.further_pages({via: each[large] for via, each in rows.items()}, bench)
            if pages is None:
                return None
            out = np.zeros(len(total))
            out[large] = pages
            return out
        first, number_of = self._asked_alike(rows.values())
        if self._sampled_requests() * len(first) * len(rows) > LOOK_UPS_MOST:
            return None
        if len(first) < len(number_of):
            asked = replace(self, demand=of_instances(self.demand, first))
            pages = asked.further_pages({via: each[first] for via, each in rows.items()}, bench)
            return None if pages is None else pages[number_of]
        counts = {via: self._rows_of_requests(via) for via in rows}
        scales = {via: rows[via] / np.maximum(counts[via].sum(axis=0), 1) for via in rows}
        read = np.sum([counts[via] * scales[via] for via in rows], axis=0)
        # Of a choice between parameters alone, every request is as that for the instance's own value.
        alike = self._alike
        further: Floats = np.maximum(pages_of(read / alike, np.zeros(len(first)), bench) - 1, 0).sum(axis=0) * alike
        return further

    def _rows_of_requests(self, via: int) -> Floats:
        """Rows at hand of one kind that each request (first axis) of each instance (second axis) reads, without
        ``$top``."""
        plan, among, instances = self._bounds(via), self._rows_of(via), self.demand.instances
        codes, size, low, high = self.demand.along(self.demand.bounded(plan.range_atom), self.population)
        out = []
        for by_constants, own in picks(self.demand, self.population, plan.equal_atoms):
            of = self._pieces(plan, by_constants)
            there = np.flatnonzero(among if of.keep is None else among & of.keep)
            placed = np.sort((of.piece[there] * of.groups + of.ids[there]) * (size + 1) + codes[there])
            first, asked = of.numbers[:, None] * (of.groups * (size + 1)), of.ids[instances] * (size + 1)
            begin, end = (_places(placed, first, asked + bound) for bound in (low, np.maximum(high, low)))
            out.append(np.where(own, end - begin, 0).astype(float))
        return np.concatenate(out)

    def _pieces(self, plan: AccessPlan, by_constants: frozenset[str], *, apart: bool = True) -> _Pieces:
        """The requests of a plan where some properties are compared with constants; one for all unless ``apart``."""
        demand, population = self.demand, self.population
        constants = demand.constants_and(by_constants)
        keep = rows_of_constants(population, plan.equal_atoms, constants)
        ids, groups = population.groups(free_atoms(plan.equal_atoms, constants))
        piece, count = population.groups(requests_apart(plan, constants) if apart else ())
        few = count <= PIECES_MOST
        if not few:
            piece, _ = population.groups(())
        numbers = np.unique(piece[: population.rows] if keep is None else piece[: population.rows][keep])
        return _Pieces(keep, ids, groups, piece, numbers, few)

    def of_alike(self, load: Floats) -> tuple[Reading, Floats]:
        """The requests of the instances that ask for different things, each with the load of all that ask alike."""
        first, number_of = self._asked_alike(() if self.most is None else (self.most,))
        most = None if self.most is None else self.most[first]
        asked = replace(self, demand=of_instances(self.demand, first), most=most)
        return asked, np.bincount(number_of, weights=load, minlength=len(first)).astype(float)

    def _asked_alike(self, values: Iterable[NDArray[Any]]) -> tuple[Ints, Ints]:
        """(the first instance of those whose requests are the same and that agree on some values, which of them each
        instance is like)."""
        first, numbers = self._named_alike()
        for column in values:
            if not np.array_equal(column[first][numbers], column):
                _, codes = np.unique(column, return_inverse=True)
                _, first, numbers = _numbered(numbers, codes)
        return first, numbers

    def _named_alike(self) -> tuple[Ints, Ints]:
        """(the first instance of those that name the same values and bounds, the number of each instance's)."""
        instances, bounds, memo = self.demand.instances, self.demand.bounds, self.population.memo
        plans = tuple(dict.fromkeys((self.plan.equal_atoms, range_of_others(self.plan).equal_atoms)))
        key = ("named alike", self.demand.asked, plans)
        known = memo.get(key)
        if known is not None and np.array_equal(known[0], instances):
            same: tuple[Ints, Ints] = known[1:]
            return same
        columns: list[NDArray[Any]] = [self.population.groups(atoms)[0][instances] for atoms in plans]
        columns += [np.unique(end, return_inverse=True)[1] for pair in bounds.values() for end in pair]
        first, numbers = np.zeros(min(1, len(instances)), dtype=np.int64), np.zeros(len(instances), dtype=np.int64)
        for column in columns:
            _, first, numbers = _numbered(numbers, column)
        memo[key] = instances, first, numbers
        return first, numbers

    def _sampled_requests(self) -> int:
        constants = {**self.demand.constants, **self.demand.mixed}
        _, count = self.population.groups(requests_apart(self.plan, constants))
        return count if count <= PIECES_MOST else LOOK_UPS_MOST + 1

    @property
    def _alike(self) -> int:
        known = {*self.demand.constants, *self.demand.mixed}
        any_of = self.demand.conditions.any_of
        return math.prod(len(any_of[name]) for name in self.plan.choices if name not in known)

    def _bounds(self, via: int) -> AccessPlan:
        if via == self.plan.via:
            return self.plan
        beside = bounds_of_others(self.plan, self._key(self.plan.via)[0], self._key(via)[0])
        return self.plan if beside is None else beside

    def _key(self, via: int) -> tuple[Key, IndexRow | None]:
        return list(self.scheme.each_key())[via]

    def _rows_of(self, via: int) -> Bools:
        """Which entities have a row of a kind where the requests look for it."""
        key, row = self._key(via)
        if self.plan.access is Access.TABLE_SCAN:
            return begun_rows(key, row, leading_text(self._key(self.plan.via)[0].partition), self.population)
        return begun_rows(key, row, "", self.population)

    def ordered(self) -> dict[int, list[RowRun]]:
        """The runs of every kind, those of other kinds up to the last own row that their request reads."""
        keys = list(self.scheme.each_key())
        mine = self.plan.via
        inside = {
            via: lie_among(self.plan, keys[mine][0], key, self.demand, self.population)
            for via, (key, _) in enumerate(keys)
            if via != mine
        }
        beside = [via for via, where in inside.items() if where is not None]
        ranks = dict(zip((mine, *beside), _ranks([keys[v][0] for v in (mine, *beside)], self.population), strict=True))
        own = list(self._between(self.plan, self._rows_of(mine), ranks[mine], apart=True))
        out = {mine: own}
        for via in beside:
            where = inside[via]
            assert where is not None
            bounds = bounds_of_others(self.plan, keys[mine][0], keys[via][0])
            if bounds is not None:
                runs = list(self._between(replace(bounds, top=None), self._rows_of(via), ranks[via], apart=True))
            else:
                runs = [_all_of(self._rows_of(via), ranks[via], where)] * len(own)
            stopped = []
            for run, other in zip(own, runs, strict=True):
                last = ranks[mine][run.rows[run.end - 1]] if len(run.rows) else run.end
                before = _below(ranks[via][other.rows], other.start, other.end, last)
                too_few = run.end - run.start < self._top_of_sample
                stopped.append(RowRun(other.rows, other.start, np.where(too_few, other.end, before)))
            out[via] = stopped
        return out

    @property
    def _top_of_sample(self) -> int:
        """How many rows at hand stand for ``$top`` of the table's."""
        population, top = self.population, self.plan.top
        assert top is not None
        if population.whole(self.plan.equal_atoms, self.plan.range_atom):
            return top
        return max(1, math.ceil(top * population.rows / max(1, population.total)))

    def _between(self, plan: AccessPlan, among: Bools, rank: Ints | None, *, apart: bool) -> Iterator[RowRun]:
        """Runs of the rows ``among`` those at hand that lie between the bounds, in the order of ``rank`` (None: of the
        key), cut off where ``$top`` stops them. ``apart``: one for each request, as far as these can be told."""
        codes, size, low, high = self.demand.along(self.demand.bounded(plan.range_atom), self.population)
        key = self._key(plan.via)[0]
        parts, over = (*key.partition, *key.row), plan.range_atom
        bounded = next((part for part in parts if part.atom == over), None)  # the first one that tells the property
        falls = bounded is not None and bounded.order(Context(self.population.types)) < 0
        if over is not None and over[1] in self.demand.bounds and falls:  # as the texts run
            codes, low, high = size - 1 - codes, size - high, size - low
        for by_constants, own in picks(self.demand, self.population, plan.equal_atoms):
            of = self._pieces(plan, by_constants, apart=apart)
            there = np.flatnonzero(among if of.keep is None else among & of.keep)
            most = self._most(plan, apart=of.apart)
            base = of.ids[self.demand.instances] * (size + 1)
            for number in of.numbers.tolist():  # of rows under every key the same requests
                mine = there[of.piece[there] == number] if len(of.numbers) > 1 else there
                placed = of.ids[mine] * (size + 1) + codes[mine]
                order = np.lexsort((*reversed(self._order(plan, parts, mine, rank)), placed))
                placed = placed[order]
                start = np.searchsorted(placed, base + low, side="left")
                end = np.maximum(np.searchsorted(placed, base + np.maximum(high, low), side="left"), start)
                end = np.where(own, np.minimum(end, start + most), start)
                yield RowRun(mine[order], start, end)

    def _most(self, plan: AccessPlan, *, apart: bool) -> Ints | int:
        """The rows that a request (``apart``) or all of them together read at most."""
        if plan.top is not None and self.stops and apart:
            return self._top_of_sample
        return self.population.rows if plan.top is None or self.most is None else self.most

    def _order(self, plan: AccessPlan, parts: Sequence[object], rows: Ints, rank: Ints | None) -> list[Ints]:
        if rank is not None:
            return [rank[rows]]
        return [o[rows] for o in self.population.key_order(parts)] if plan.top is not None else []  # type: ignore[arg-type]


def _numbered(numbers: Ints, codes: Ints) -> tuple[Ints, Ints, Ints]:
    """(the pairs of numbers and codes from zero on, the first place of each pair, the pair of each place)."""
    return np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_index=True, return_inverse=True)


def _places(placed: Ints, first: Ints, asked: Ints) -> Ints:
    """Where ``first`` (a column) plus each of ``asked`` would stand among sorted numbers. What is asked for often is
    looked for once, and in order, so that one place lies near the one before."""
    each, numbers = np.unique(asked, return_inverse=True)
    places: Ints = np.searchsorted(placed, first + each)[:, numbers]
    return places


def _all_of(among: Bools, rank: Ints, where: Bools) -> RowRun:
    """Every row of a kind, for the instances between whose bounds all of them lie."""
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(rank[rows], kind="stable")]
    return RowRun(rows, np.zeros(len(where), dtype=np.int64), np.where(where, len(rows), 0))


def _below(values: Ints, start: Ints, end: Ints, limit: Ints) -> Ints:
    """For each stretch of numbers that rise, the place behind the last one below its limit, by bisection."""
    low, high = start.copy(), np.maximum(end, start)
    while (left := low < high).any():
        middle = (low + high) // 2
        less = left & (values[np.minimum(middle, len(values) - 1)] < limit)
        low = np.where(less, middle + 1, low)
        high = np.where(left & ~less, middle, high)
    return low


@remembered("places in the table", of=lambda keys, _: tuple((key.partition, key.row) for key in keys))
def _ranks(keys: Sequence[Key], population: Population) -> list[Ints]:
    """For the rows of each key what tells their order in the table, by the text of PartitionKey and then of RowKey."""
    if population.taken_from is not None:
        whole, rows = population.taken_from
        return [ranks[rows] for ranks in _ranks(keys, whole)]
    texts = [
        key_texts(key.partition, key.row, population=population)
        .select(pl.concat_str("0", pl.lit("\0"), "1", ignore_nulls=True).alias("text"))
        .to_series()
        for key in keys
    ]
    return np.split(pl.concat(texts).rank("dense").to_numpy().astype(np.int64), len(keys))


def spread_over(runs: Sequence[RowRun], each: Floats, rows: int) -> Floats:
    """The load of each row at hand, where each instance puts ``each`` on every row of its runs."""
    out = np.zeros(rows)
    for run in runs:
        steps = np.bincount(run.start, weights=each, minlength=len(run.rows) + 1)
        steps = steps - np.bincount(run.end, weights=each, minlength=len(run.rows) + 1)
        out[run.rows] += np.maximum(np.cumsum(steps[: len(run.rows)]), 0.0)
    return out
