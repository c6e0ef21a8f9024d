"""The scripts of a run as arrays: one row for each step, with all that ``Capacity`` would work out of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.capacity import KIB
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.expanded import expanded, row_sums, spanning
from pkadvisor.stress.scripts import SEVERAL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.engine.capacity.capacity import Capacity
    from pkadvisor.stress.scripts import Script, Scripts

    Ints = NDArray[np.int64]

# Columns of a row that say how a step is judged; ``fluid_pass`` reads them by number.
STAGE, PARTITION, LOW, COST, MORE, MOVED, ACCOUNT_COST, ACCOUNT_MORE = range(8)
ON_SERVER, ON_RANGE, TRIP, EFFORT, SCAN = range(8, 13)
# Columns of which the pass knows nothing.
NOMINAL, OFFERED, EXAMINED, BYTES, READ, WRITTEN, PAGES, STARTS = range(13, 21)
JUDGED = NOMINAL
WIDTH = 21
"""``TRIP`` is the row of ``trips``; ``STARTS`` is when the stage is sent after the request arrived, unhindered."""


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
        for epoch in scripts.epochs:
            base = []
            for number, of_class in enumerate(epoch):
                base.append(len(self._plain))
                self._plain += of_class
                classes += [number] * len(of_class)
            self._base.append(np.array(base, np.int64))
        self._class = np.array(classes, np.int64)
        self._lows = tuple(lows)
        self.rows: Ints = np.empty((0, WIDTH), np.int64)
        self.columns: Ints = np.empty((WIDTH, 0), np.int64)
        """The same, column by column; ``some`` says which of them are not all 0."""
        self.first: Ints = np.empty(0, np.int64)
        self.end, self.stages, self.of_class = self.first, self.first, self.first
        made = list(self._plain)
        self._spanning: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        raw, counts, _ = _flat(made)
        cut = (raw[:, 1] == SEVERAL) & (raw[:, 0] == Kind.PAGE) & (raw[:, 3] > raw[:, 2] + 1)
        for i in np.unique(np.repeat(np.arange(len(made)), counts)[cut]).tolist():
            self._spanning.append((i, spanning(made[i])))
            made[i] = expanded(made[i], self._sums, self._lows)
        self.next_stage: Ints = np.empty(0, np.int64)
        """For each row where the next stage of its script begins, or the script ends."""
        self.current: Ints = np.arange(len(made), dtype=np.int64)
        self._append(made, self._class)

    def numbers(self, epoch: int, classes: Ints, instances: Ints) -> Ints:
        """The scripts of requests that arrive now."""
        found: Ints = self.current[self._base[epoch][classes] + instances]
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
        self._append([expanded(self._plain[i], self._sums, self._lows) for i in hit], self._class[hit])
        self.current[hit] = np.arange(start, start + len(hit), dtype=np.int64)

    def _append(self, scripts: Sequence[Script], classes: Ints) -> None:
        import numpy as np

        raw, counts, stages = _flat(scripts)
        made = self._rows(raw)
        ends = counts.cumsum()
        start = len(self.rows)
        following = self._starts(made, ends - counts, ends)
        self.next_stage = np.concatenate([self.next_stage, start + following])
        self.rows = np.concatenate([self.rows, made])
        self.columns = np.ascontiguousarray(self.rows.T)
        self.some: list[bool] = (self.rows != 0).any(axis=0).tolist()
        self.first = np.concatenate([self.first, start + ends - counts])
        self.end = np.concatenate([self.end, start + ends])
        self.stages = np.concatenate([self.stages, stages])
        self.of_class = np.concatenate([self.of_class, classes])
        self.alone = bool((self.end - self.first == 1).all())
        self.empty = bool((self.end == self.first).any())

    def _rows(self, raw: Ints) -> Ints:
        """The columns, out of (kind, partition, low, high, entities, examined, bytes, continued, stage)."""
        import numpy as np

        times, limits = self._capacity.times, self._capacity.limits
        kind, entities, examined = raw[:, 0], raw[:, 4], raw[:, 5]
        write, page = kind == Kind.WRITE, kind == Kind.PAGE
        out = np.empty((len(raw), WIDTH), np.int64)
        out[:, STAGE], out[:, PARTITION], out[:, LOW] = raw[:, 8], raw[:, 1], raw[:, 2]
        cost = np.where(write, MILLI * entities, MILLI)
        counted = np.where(page, np.maximum(MILLI, milli(limits.scan_weight) * examined), cost)
        out[:, COST], out[:, MORE], out[:, OFFERED] = cost, counted - cost, counted
        out[:, MOVED] = -(-raw[:, 6] * MILLI // KIB)
        by_entities = bool(limits.account_counts_entities)
        out[:, ACCOUNT_COST] = cost if by_entities else MILLI
        out[:, ACCOUNT_MORE] = out[:, MORE] if by_entities else 0
        sizes, place = np.unique(entities, return_inverse=True)
        of_size = np.array([times.work_milli(Kind.WRITE, int(size), 0) for size in sizes], np.int64)
        read = np.where(page, np.maximum(MILLI, times.scan_work * examined), MILLI)
        effort = np.where(write, of_size[place] if len(sizes) else 0, read)
        out[:, ON_SERVER], out[:, ON_RANGE] = effort * times.server_ns // MILLI, effort * times.range_ns // MILLI
        out[:, TRIP] = np.where(write, 1, np.where(raw[:, 7] > 0, 2, 0))
        out[:, EFFORT] = np.where(write, effort, MILLI)
        out[:, SCAN] = np.where(write, 0, times.scan_ns * examined)
        middle = self.trips[:, self.trips.shape[1] // 2]
        out[:, NOMINAL] = middle[out[:, TRIP]] * out[:, EFFORT] // MILLI + out[:, SCAN]
        out[:, EXAMINED], out[:, BYTES] = np.where(write, entities, examined), raw[:, 6]
        out[:, READ] = np.where(page, examined, np.where(write, 0, 1))
        out[:, WRITTEN], out[:, PAGES], out[:, STARTS] = np.where(write, entities, 0), page, 0
        return out

    @staticmethod
    def _starts(made: Ints, first: Ints, end: Ints) -> Ints:
        """Writes when each stage is sent unhindered, the sum of the longest nominal times before; where stages end."""
        import numpy as np

        if not len(made):
            return np.empty(0, np.int64)
        script = np.repeat(np.arange(len(first)), end - first)
        stage = made[:, STAGE]
        begins = np.flatnonzero(np.r_[True, (script[1:] != script[:-1]) | (stage[1:] != stage[:-1])])
        longest = np.maximum.reduceat(made[:, NOMINAL], begins)
        before = longest.cumsum() - longest
        of_first = np.searchsorted(begins, first[script[begins]])
        ends = np.r_[begins[1:], len(made)]
        made[:, STARTS] = np.repeat(before - before[of_first], ends - begins)
        return np.repeat(ends, ends - begins)


def _flat(scripts: Sequence[Script]) -> tuple[Ints, Ints, Ints]:
    """The steps of scripts as rows of their fields and their stage; how many steps, and stages, each script has."""
    import numpy as np

    stages = np.array([len(script.stages) for script in scripts], np.int64)
    lengths = np.array([len(stage) for script in scripts for stage in script.stages], np.int64)
    steps = [step for script in scripts for stage in script.stages for step in stage]
    raw = np.empty((len(steps), 9), np.int64)
    raw[:, :8] = np.fromiter(chain.from_iterable(steps), np.int64, 8 * len(steps)).reshape(-1, 8)
    ends = stages.cumsum()
    number = np.arange(len(lengths)) - np.repeat(ends - stages, stages)
    raw[:, 8] = np.repeat(number, lengths)
    sums = np.r_[0, lengths.cumsum()]
    return raw, sums[ends] - sums[ends - stages], stages
