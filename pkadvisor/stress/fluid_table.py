"""The scripts of a run as arrays: one row for each step, with all that ``Capacity`` would work out of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.capacity import KIB
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.expanded import expanded, row_sums, spanning
from pkadvisor.stress.scripts import SEVERAL
from pkadvisor.stress.shared_stages import shared_stages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.engine.capacity.capacity import Capacity
    from pkadvisor.stress.scripts import Script, Scripts, Stage

    Ints = NDArray[np.int64]

# Columns of a row that say how a step is judged; ``fluid_pass`` reads them by number.
STAGE, PARTITION, LOW, COST, MORE, MOVED, ACCOUNT_COST, ACCOUNT_MORE = range(8)
ON_SERVER, ON_RANGE, TRIP, EFFORT, SCAN = range(8, 13)
# Columns of which the pass knows nothing.
NOMINAL, OFFERED, EXAMINED, BYTES, READ, WRITTEN, PAGES, STARTS, HIGH = range(13, 22)
JUDGED = NOMINAL
WIDTH = 22
"""``TRIP`` is the row of ``trips``; ``STARTS`` is when the stage is sent after the request arrived, unhindered."""

KEPT = 100_000
"""Rows that are kept as tuples, at most."""


class Table:
    """Rows of steps; a script is a run of them. Scripts that a new map cuts otherwise get new rows, old ones stay.

    ``first[s]``, ``end[s]`` are the rows of script ``s``, ``stages[s]`` how many stages it has, ``of_class[s]`` its
    class. ``numbers(epoch, classes, instances)`` finds scripts. ``alone``: every script is one step; ``empty``: some
    script sends nothing.
    """

    def __init__(self, scripts: Scripts, capacity: Capacity, lows: Sequence[int]) -> None:
        import numpy as np

        self._capacity = capacity
        self._sums = row_sums(scripts.space)
        times = capacity.times
        self.trips: Ints = np.array([*times.unhindered[:2], times.next_page], np.int64)
        self.flat_trips: list[int] = self.trips.ravel().tolist()
        self._plain: list[Script] = []
        """Scripts as they were recorded; number i of them is what ``current[i]`` stands for under the map."""
        self._base: list[Ints] = []
        classes: list[int] = []
        places: list[int] = []
        known: dict[tuple[int, int], int] = {}
        for epoch in scripts.epochs:
            base = []
            for number, of_class in enumerate(epoch):
                base.append(len(places))
                for script in of_class:
                    key = number, id(script)  # what many parameters have in common is made once
                    place = known.get(key)
                    if place is None:
                        place = known[key] = len(self._plain)
                        self._plain.append(script)
                        classes.append(number)
                    places.append(place)
            self._base.append(np.array(base, np.int64))
        self._place = np.array(places, np.int64)
        """By epoch, class and parameters which of ``_plain``."""
        self._class = np.array(classes, np.int64)
        self._lows = tuple(lows)
        self.columns: Ints = np.empty((WIDTH, 0), np.int64)
        """Rows column by column; ``some`` says which columns are not all 0."""
        self._judged: Ints | None = None
        self.tuples: dict[int, tuple[int, ...]] = {}
        """Rows that were asked for by ``as_tuple``."""
        self.first: Ints = np.empty(0, np.int64)
        self.end, self.stages, self.of_class = self.first, self.first, self.first
        made = list(self._plain)
        self._spanning: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        flat = _flat(made)
        raw = flat.raw
        cut = (raw[:, 1] == SEVERAL) & (raw[:, 0] == Kind.PAGE) & (raw[:, 3] > raw[:, 2] + 1)
        if cut.any():
            hit = np.unique(np.repeat(np.arange(len(made)), flat.counts)[cut[flat.which]]).tolist()
            kept: dict[int, tuple[Stage, ...]] = {}
            for i in hit:
                self._spanning.append((i, spanning(made[i])))
                made[i] = expanded(made[i], self._sums, self._lows, kept)
            flat = _flat(made)
        self.next_stage: Ints = np.empty(0, np.int64)
        """For each row where the next stage of its script begins, or the script ends."""
        self.current: Ints = np.arange(len(made), dtype=np.int64)
        self.largest: tuple[int, ...] = (0, 0, 0)
        """The most that a step counts toward partitions, ranges and servers; of a range's bandwidth; of the account."""
        self._append(flat, self._class)

    @property
    def judged(self) -> Ints:
        """The columns that say how a step is judged, row by row."""
        import numpy as np

        if self._judged is None:
            self._judged = np.ascontiguousarray(self.columns[:JUDGED].T)
        return self._judged

    def as_tuple(self, row: int) -> tuple[int, ...]:
        """How the step of a row is judged."""
        if len(self.tuples) >= KEPT:
            self.tuples.clear()
        found: tuple[int, ...] = tuple(self.columns[:JUDGED, row].tolist())
        self.tuples[row] = found
        return found

    def numbers(self, epoch: int, classes: Ints, instances: Ints) -> Ints:
        """The scripts of requests that arrive now."""
        found: Ints = self.current[self._place[self._base[epoch][classes] + instances]]
        return found

    def follow(self, lows: Sequence[int]) -> None:
        """The map has changed: pages that it cuts at other ranks are made anew, for requests that arrive from now."""
        import numpy as np

        changed = sorted(set(lows) ^ set(self._lows))
        self._lows = tuple(lows)
        if not changed or not self._spanning:
            return
        hit = [i for i, spans in self._spanning if any(low < at < high for low, high in spans for at in changed)]
        if not hit:
            return
        start = len(self.first)
        kept: dict[int, tuple[Stage, ...]] = {}
        made = [expanded(self._plain[i], self._sums, self._lows, kept) for i in hit]
        self._append(_flat(made), self._class[hit])
        self.current[hit] = np.arange(start, start + len(hit), dtype=np.int64)

    def _append(self, flat: _Flat, classes: Ints) -> None:
        import numpy as np

        counts = flat.counts
        distinct = self._columns(flat.raw)
        made = np.take(distinct, flat.which, axis=1)
        made[STAGE] = flat.stage
        counted = (distinct[COST] + distinct[MORE], distinct[MOVED], distinct[ACCOUNT_COST] + distinct[ACCOUNT_MORE])
        most = [int(each.max(initial=0)) for each in counted]
        self.largest = tuple(map(max, self.largest, most))
        ends = counts.cumsum()
        start = self.columns.shape[1]
        following = self._starts(made, ends - counts, ends)
        self.next_stage = np.concatenate([self.next_stage, start + following])
        self.columns = np.concatenate([self.columns, made], axis=1) if start else made
        self._judged = None
        self.some: list[bool] = [bool(each.any()) for each in self.columns]
        self.first = np.concatenate([self.first, start + ends - counts])
        self.end = np.concatenate([self.end, start + ends])
        self.stages = np.concatenate([self.stages, flat.stages])
        self.of_class = np.concatenate([self.of_class, classes])
        self.alone = bool((self.end - self.first == 1).all())
        self.empty = bool((self.end == self.first).any())

    def _columns(self, raw: Ints) -> Ints:
        """The columns of steps, out of (kind, partition, low, high, entities, examined, bytes, continued)."""
        import numpy as np

        times, limits = self._capacity.times, self._capacity.limits
        kind, entities, examined = raw[:, 0], raw[:, 4], raw[:, 5]
        write, page = kind == Kind.WRITE, kind == Kind.PAGE
        out = np.empty((WIDTH, len(raw)), np.int64)
        out[STAGE], out[PARTITION], out[LOW] = 0, raw[:, 1], raw[:, 2]
        cost = np.where(write, MILLI * entities, MILLI)
        counted = np.where(page, np.maximum(MILLI, milli(limits.scan_weight) * examined), cost)
        out[COST], out[MORE], out[OFFERED] = cost, counted - cost, counted
        out[MOVED] = -(-raw[:, 6] * MILLI // KIB)
        by_entities = bool(limits.account_counts_entities)
        out[ACCOUNT_COST] = cost if by_entities else MILLI
        out[ACCOUNT_MORE] = out[MORE] if by_entities else 0
        sizes, place = np.unique(entities, return_inverse=True)
        of_size = np.array([times.work_milli(Kind.WRITE, int(size), 0) for size in sizes], np.int64)
        read = np.where(page, np.maximum(MILLI, times.scan_work * examined), MILLI)
        effort = np.where(write, of_size[place] if len(sizes) else 0, read)
        out[ON_SERVER], out[ON_RANGE] = effort * times.server_ns // MILLI, effort * times.range_ns // MILLI
        out[TRIP] = np.where(write, 1, np.where(raw[:, 7] > 0, 2, 0))
        out[EFFORT] = np.where(write, effort, MILLI)
        out[SCAN] = np.where(write, 0, times.scan_ns * examined)
        middle = self.trips[:, self.trips.shape[1] // 2]
        out[NOMINAL] = middle[out[TRIP]] * out[EFFORT] // MILLI + out[SCAN]
        out[EXAMINED], out[BYTES] = np.where(write, entities, examined), raw[:, 6]
        out[READ] = np.where(page, examined, np.where(write, 0, 1))
        out[WRITTEN], out[PAGES], out[STARTS], out[HIGH] = np.where(write, entities, 0), page, 0, raw[:, 3]
        return out

    @staticmethod
    def _starts(made: Ints, first: Ints, end: Ints) -> Ints:
        """Writes when each stage is sent unhindered, the sum of the longest nominal times before; where stages end."""
        import numpy as np

        if not made.shape[1]:
            return np.empty(0, np.int64)
        script = np.repeat(np.arange(len(first)), end - first)
        stage = made[STAGE]
        begins = np.flatnonzero(np.r_[True, (script[1:] != script[:-1]) | (stage[1:] != stage[:-1])])
        longest = np.maximum.reduceat(made[NOMINAL], begins)
        before = longest.cumsum() - longest
        of_first = np.searchsorted(begins, first[script[begins]])
        ends = np.r_[begins[1:], made.shape[1]]
        made[STARTS] = np.repeat(before - before[of_first], ends - begins)
        return np.repeat(ends, ends - begins)


class _Flat(NamedTuple):
    """Scripts as rows. ``raw`` are the fields of the steps of distinct stages; row i is ``raw[which[i]]``, of stage
    ``stage[i]`` of its script. A script has ``counts`` rows and ``stages`` stages."""

    raw: Ints
    which: Ints
    stage: Ints
    counts: Ints
    stages: Ints


def _flat(scripts: Sequence[Script]) -> _Flat:
    """The steps of scripts; a stage that several scripts share is taken apart once."""
    import numpy as np

    distinct, which, stages = shared_stages(scripts)
    sizes = np.fromiter(map(len, distinct), np.int64, len(distinct))
    begins = sizes.cumsum() - sizes
    steps = list(chain.from_iterable(distinct))
    raw = np.fromiter(chain.from_iterable(steps), np.int64, 8 * len(steps)).reshape(-1, 8)
    lengths = sizes[which]
    ends = stages.cumsum()
    number = np.arange(len(lengths)) - np.repeat(ends - stages, stages)
    before = lengths.cumsum() - lengths
    index = np.arange(int(lengths.sum())) + np.repeat(begins[which] - before, lengths)
    sums = np.r_[0, lengths.cumsum()]
    return _Flat(raw, index, np.repeat(number, lengths), sums[ends] - sums[ends - stages], stages)
