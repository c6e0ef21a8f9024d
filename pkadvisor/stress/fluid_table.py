"""The scripts of a run as arrays: one row for each step, with all that ``Capacity`` would work out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.capacity import KIB
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.expanded import cut_stage, row_sums
from pkadvisor.stress.flat_scripts import HIGH, KIND, OF_PARTITION, FlatScripts, in_order, raw_of, runs
from pkadvisor.stress.flat_scripts import LOW as SPAN_LOW
from pkadvisor.stress.scripts import SEVERAL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.engine.capacity.capacity import Capacity
    from pkadvisor.stress.scripts import Scripts

    Ints = NDArray[np.int64]

# Columns of a row that say how a step is judged; ``fluid_pass`` reads them by number.
STAGE, PARTITION, LOW, COST, MORE, MOVED, ACCOUNT_COST, ACCOUNT_MORE = range(8)
ON_SERVER, ON_RANGE, TRIP, EFFORT, SCAN = range(8, 13)
# Columns of which the pass knows nothing.
NOMINAL, OFFERED, EXAMINED, BYTES, READ, WRITTEN, PAGES, STARTS, UNTIL = range(13, 22)
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
        flat = self._flat = FlatScripts.of(scripts)
        several = flat.raw[:, OF_PARTITION] == SEVERAL
        spanning = several & (flat.raw[:, KIND] == Kind.PAGE) & (flat.raw[:, HIGH] > flat.raw[:, SPAN_LOW] + 1)
        self._spanning: Ints = np.flatnonzero(spanning)
        """The rows of ``flat`` that a range end may cut, and of which stage each is."""
        self._stage_of: Ints = np.repeat(np.arange(len(flat.stages)), flat.sizes)[self._spanning]
        each = [number * len(flat.lengths) + mine for epoch in flat.numbers for number, mine in enumerate(epoch)]
        sizes = np.array([len(mine) for mine in each], np.int64)
        self._base = (sizes.cumsum() - sizes).reshape(len(flat.numbers), -1)
        every = np.concatenate(each)
        classes = max(map(len, flat.numbers))
        distinct, place = in_order(every, classes * len(flat.lengths))  # what many parameters share is made once
        self._place = place[every]
        """By epoch, class and parameters which of the scripts that are kept."""
        self._class, self._plain = np.divmod(distinct, max(1, len(flat.lengths)))
        """Of those their classes, and their numbers in ``flat``."""
        self._lows = tuple(lows)
        self.columns: Ints = np.empty((WIDTH, 0), np.int64)
        """Rows column by column; ``some`` says which columns are not all 0."""
        self._judged: Ints | None = None
        self.tuples: dict[int, tuple[int, ...]] = {}
        """Rows that were asked for by ``as_tuple``."""
        self.first: Ints = np.empty(0, np.int64)
        self.end, self.stages, self.of_class = self.first, self.first, self.first
        self.next_stage: Ints = np.empty(0, np.int64)
        """For each row where the next stage of its script begins, or the script ends."""
        self.current: Ints = np.arange(len(self._plain), dtype=np.int64)
        self.largest: tuple[int, ...] = (0, 0, 0)
        """The most that a step counts toward partitions, ranges and servers; of a range's bandwidth; of the account."""
        self._append(self._under_map(self._plain), self._class)

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
        found: Ints = self.current[self._place[self._base[epoch, classes] + instances]]
        return found

    def follow(self, lows: Sequence[int]) -> None:
        """The map has changed: pages that it cuts at other ranks are made anew, for requests that arrive from now."""
        import numpy as np

        changed = np.array(sorted(set(lows) ^ set(self._lows)), np.int64)
        self._lows = tuple(lows)
        flat = self._flat
        after = np.searchsorted(changed, flat.raw[self._spanning, SPAN_LOW], side="right")
        cut = after < np.searchsorted(changed, flat.raw[self._spanning, HIGH])
        stages = np.zeros(len(flat.stages), np.bool_)
        stages[self._stage_of[cut]] = True
        lengths = flat.lengths[self._plain]
        of_script = np.repeat(np.arange(len(self._plain)), lengths)
        hit = np.unique(of_script[stages[flat.stages_of(self._plain)]])
        if not len(hit):
            return
        start = len(self.first)
        self._append(self._under_map(self._plain[hit]), self._class[hit])
        self.current[hit] = np.arange(start, start + len(hit), dtype=np.int64)

    def _under_map(self, scripts: Ints) -> _Flat:
        """Some scripts as rows, their pages cut where ranges end (``expanded.parts``)."""
        import numpy as np

        flat, lows = self._flat, self._lows
        which, lengths = flat.stages_of(scripts), flat.lengths[scripts]
        edges = np.array(lows, np.int64)
        after = np.searchsorted(edges, flat.raw[self._spanning, SPAN_LOW], side="right")
        cut = after < np.searchsorted(edges, flat.raw[self._spanning, HIGH])
        raw, first, sizes = flat.raw, flat.first, flat.sizes
        if cut.any():
            asked = np.zeros(len(flat.stages), np.bool_)
            asked[which] = True
            stages = np.unique(self._stage_of[cut])
            stages = stages[asked[stages]]
            made = [cut_stage(flat.stages[stage], self._sums, lows) for stage in stages.tolist()]
            counts = np.ones(len(flat.stages), np.int64)
            counts[stages] = [len(each) for each in made]
            begins = np.arange(len(flat.stages))
            begins[stages] = len(flat.stages) + counts[stages].cumsum() - counts[stages]
            new = [stage for each in made for stage in each]
            new_sizes = np.fromiter(map(len, new), np.int64, len(new))
            first = np.concatenate([first, len(raw) + new_sizes.cumsum() - new_sizes])
            sizes, raw = np.concatenate([sizes, new_sizes]), np.concatenate([raw, raw_of(new)])
            grown = np.r_[0, counts[which].cumsum()]
            ends = lengths.cumsum()
            lengths = grown[ends] - grown[ends - lengths]
            which = runs(begins[which], counts[which])
        rows = runs(first[which], sizes[which])
        ends = lengths.cumsum()
        number = np.arange(len(which)) - np.repeat(ends - lengths, lengths)
        sums = np.r_[0, sizes[which].cumsum()]
        used, place = in_order(rows, len(raw))
        return _Flat(
            raw[used], place[rows], np.repeat(number, sizes[which]), sums[ends] - sums[ends - lengths], lengths
        )

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
        out[WRITTEN], out[PAGES], out[STARTS], out[UNTIL] = np.where(write, entities, 0), page, 0, raw[:, HIGH]
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
