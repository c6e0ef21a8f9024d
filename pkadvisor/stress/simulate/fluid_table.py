"""The scripts of a run as arrays, with all that ``Capacity`` would work out of a step.

    script ──► rows ──step──► where it goes (partition, low, until) ──weight──► what it costs (``weights``)

Many rows are the same step, and many steps cost the same, so the tables that an attempt is looked up in stay small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.capacity import KIB, Capacity
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Ints, np
from pkadvisor.stress.requests import flat_scripts as field
from pkadvisor.stress.requests.expanded import cut_stage, paged, row_sums
from pkadvisor.stress.requests.flat_scripts import FlatScripts, in_order, raw_of, runs
from pkadvisor.stress.requests.scans import Scans
from pkadvisor.stress.requests.scripts import Scripts, Stage

# Columns of ``weights`` that say how an attempt is judged; ``fluid_pass`` reads them by number.
COST, MORE, MOVED, ACCOUNT_COST, ACCOUNT_MORE, ON_SERVER, ON_RANGE, TRIP, EFFORT, SCAN = range(10)
# Columns of which the pass knows nothing.
NOMINAL, OFFERED, EXAMINED, BYTES, READ, WRITTEN, PAGES = range(10, 17)
JUDGED = NOMINAL
WIDTH = 17
"""``TRIP`` is the row of ``trips``."""
WEIGHED = (field.KIND, field.ENTITIES, field.EXAMINED, field.BYTES, field.CONTINUED)
"""What a step costs depends on these of its fields."""
KEPT = 100_000
"""Weights that are kept as tuples, at most."""


class FluidTable:
    """A script is a run of rows. Scripts that a new map cuts otherwise get new rows, old ones stay.

    ``first[s]``, ``end[s]`` are the rows of script ``s``, ``of_class[s]`` its class. ``numbers(epoch, classes,
    instances)`` finds scripts. ``alone``: every script is one step; ``empty``: some script sends nothing.

    Row ``r`` is the step ``step[r]`` in the stage ``stage[r]`` of its script, which is sent ``starts[r]`` ns after the
    request arrived, unhindered; the next stage begins at row ``next_stage[r]``, or the script ends there. Step ``t``
    goes to ``partition[t]`` (a rank or ``SEVERAL``), to the range of rank ``low[t]``, its pages end at rank
    ``until[t]``; it costs ``weights[:, weight[t]]``.
    """

    def __init__(self, scripts: Scripts, capacity: Capacity, lows: Sequence[int]) -> None:
        self._capacity = capacity
        self._sums = row_sums(scripts.space)
        times = capacity.times
        self.trips: Ints = np.array([*times.unhindered[:2], times.next_page], np.int64)
        self.flat_trips: list[int] = self.trips.ravel().tolist()
        flat = self._flat = FlatScripts.of(scripts)
        self._scans = Scans.of(flat)
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
        none: Ints = np.empty(0, np.int64)
        self.step, self.stage, self.starts, self.next_stage = none, none, none, none
        self.partition, self.low, self.until, self.weight = none, none, none, none
        self.weights: Ints = np.empty((WIDTH, 0), np.int64)
        self.some: list[bool] = [False] * WIDTH
        """Which columns of ``weights`` are not all 0."""
        self._judged: Ints | None = None
        self.tuples: dict[int, tuple[int, ...]] = {}
        """Weights that were asked for by ``as_tuple``."""
        self.first, self.end, self.of_class = none, none, none
        self.current: Ints = np.arange(len(self._plain), dtype=np.int64)
        self.largest: tuple[int, ...] = (0, 0, 0)
        """The most that a step counts toward partitions, ranges and servers; of a range's bandwidth; of the account."""
        self._append(self._under_map(self._plain), self._class)

    @property
    def judged(self) -> Ints:
        """The columns that say how an attempt is judged, weight by weight."""
        if self._judged is None:
            self._judged = np.ascontiguousarray(self.weights[:JUDGED].T)
        return self._judged

    def as_tuple(self, weight: int) -> tuple[int, ...]:
        """How an attempt of a weight is judged."""
        if len(self.tuples) >= KEPT:
            self.tuples.clear()
        figures: tuple[int, ...] = tuple(self.weights[:JUDGED, weight].tolist())
        self.tuples[weight] = figures
        return figures

    def nominal_ns(self, rows: Ints) -> Ints:
        """How long the steps of some rows take, unhindered and without chance."""
        nominal: Ints = self.weights[NOMINAL][self.weight[self.step[rows]]]
        return nominal

    def numbers(self, epoch: int, classes: Ints, instances: Ints) -> Ints:
        """The scripts of requests that arrive now."""
        script_numbers: Ints = self.current[self._place[self._base[epoch, classes] + instances]]
        return script_numbers

    def follow(self, lows: Sequence[int]) -> None:
        """The map has changed: pages that it cuts at other ranks are made anew, for requests that arrive from now."""
        changed = np.array(sorted(set(lows) ^ set(self._lows)), np.int64)
        self._lows = tuple(lows)
        flat = self._flat
        stages = np.zeros(len(flat.stages), np.bool_)
        stages[self._scans.cut_by(changed)] = True
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
        flat, lows = self._flat, self._lows
        which, lengths = flat.stages_of(scripts), flat.lengths[scripts]
        cut = self._scans.cut_by(np.array(lows, np.int64))
        raw, first, sizes = flat.raw, flat.first, flat.sizes
        if len(cut):
            asked = np.zeros(len(flat.stages), np.bool_)
            asked[which] = True
            stages = cut[asked[cut]]
            stages, made = self._cut(stages)
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
        return _Flat(raw[used], place[rows], np.repeat(number, sizes[which]), sums[ends] - sums[ends - lengths])

    def _cut(self, cut: Ints) -> tuple[Ints, list[tuple[Stage, ...]]]:
        """(stages that the map cuts, with those that go on where they end; what each of them becomes)."""
        flat, page = self._flat, self._capacity.limits.page_entities
        made: dict[int, tuple[Stage, ...]] = {}
        for stage in cut.tolist():
            following = self._scans.following.get(stage)
            if following is None:
                made[stage] = cut_stage(flat.stages[stage], self._sums, self._lows, page)
                continue
            pages = paged([flat.stages[each][0] for each in (stage, *following)], self._sums, self._lows, page)
            made[stage] = ((next(pages),),)
            if following[0] not in made:  # scans that differ in their first page alone share the others
                made.update(dict.fromkeys(following, ()))
                made[following[0]] = tuple((step,) for step in pages)
        return np.array(list(made), np.int64), list(made.values())

    def _append(self, flat: _Flat, classes: Ints) -> None:
        raw, counts = flat.raw, flat.counts
        kinds, weight = _weighed(raw)
        made = self._weights(kinds)
        step = flat.which + len(self.partition)
        self.partition, self.low, self.until = (
            np.concatenate([before, raw[:, name]])
            for before, name in ((self.partition, field.OF_PARTITION), (self.low, field.LOW), (self.until, field.HIGH))
        )
        self.weight = np.concatenate([self.weight, weight + self.weights.shape[1]])
        self.weights = np.concatenate([self.weights, made], axis=1)
        self._judged = None
        self.some = [bool(each.any()) for each in self.weights]
        counted = (made[COST] + made[MORE], made[MOVED], made[ACCOUNT_COST] + made[ACCOUNT_MORE])
        most = [int(each.max(initial=0)) for each in counted]
        self.largest = tuple(map(max, self.largest, most))
        ends, start = counts.cumsum(), len(self.step)
        starts, following = _starts(made[NOMINAL][weight][flat.which], flat.stage, ends - counts, ends)
        self.step = np.concatenate([self.step, step])
        self.stage = np.concatenate([self.stage, flat.stage])
        self.starts = np.concatenate([self.starts, starts])
        self.next_stage = np.concatenate([self.next_stage, start + following])
        self.first = np.concatenate([self.first, start + ends - counts])
        self.end = np.concatenate([self.end, start + ends])
        self.of_class = np.concatenate([self.of_class, classes])
        self.alone = bool((self.end - self.first == 1).all())
        self.empty = bool((self.end == self.first).any())

    def _weights(self, raw: Ints) -> Ints:
        """The columns of ``weights`` for steps of these fields."""
        times, limits = self._capacity.times, self._capacity.limits
        kind, entities, examined, moved = (raw[:, name] for name in WEIGHED[:4])
        write, page = kind == Kind.WRITE, kind == Kind.PAGE
        out = np.empty((WIDTH, len(raw)), np.int64)
        cost = np.where(write, MILLI * entities, MILLI)
        counted = np.where(page, np.maximum(MILLI, milli(limits.scan_weight) * examined), cost)
        out[COST], out[MORE], out[OFFERED] = cost, counted - cost, counted
        out[MOVED] = -(-moved * MILLI // KIB)
        by_entities = bool(limits.account_counts_entities)
        out[ACCOUNT_COST] = cost if by_entities else MILLI
        out[ACCOUNT_MORE] = out[MORE] if by_entities else 0
        sizes, place = np.unique(entities, return_inverse=True)
        of_size = np.array([times.work_milli(Kind.WRITE, int(size), 0) for size in sizes], np.int64)
        read = np.where(page, np.maximum(MILLI, times.scan_work * examined), MILLI)
        effort = np.where(write, of_size[place] if len(sizes) else 0, read)
        out[ON_SERVER], out[ON_RANGE] = effort * times.server_ns // MILLI, effort * times.range_ns // MILLI
        out[TRIP] = np.where(write, 1, np.where(raw[:, field.CONTINUED] > 0, 2, 0))
        out[EFFORT] = np.where(write, effort, MILLI)
        out[SCAN] = np.where(write, 0, times.scan_ns * examined)
        middle = self.trips[:, self.trips.shape[1] // 2]
        out[NOMINAL] = middle[out[TRIP]] * out[EFFORT] // MILLI + out[SCAN]
        out[EXAMINED], out[BYTES] = np.where(write, entities, examined), moved
        out[READ] = np.where(page, examined, np.where(write, 0, 1))
        out[WRITTEN], out[PAGES] = np.where(write, entities, 0), page
        return out


def _weighed(raw: Ints) -> tuple[Ints, Ints]:
    """(a row of fields for each weight that is there, the weight of each step).

    Steps of equal fields get one weight where these fit into one whole number, else each its own.
    """
    key, span = np.zeros(len(raw), np.int64), 1
    for name in WEIGHED:
        most = int(raw[:, name].max(initial=0)) + 1
        span *= most
        if span >= 1 << 62:
            return raw, np.arange(len(raw), dtype=np.int64)
        key = key * most + raw[:, name]
    _, where, place = np.unique(key, return_index=True, return_inverse=True)
    return raw[where], place.astype(np.int64)


def _starts(nominal: Ints, stage: Ints, first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For each row when its stage is sent unhindered, the sum of the longest nominal times before; where it ends."""
    if not len(nominal):
        return nominal, nominal
    script = np.repeat(np.arange(len(first)), end - first)
    begins = np.flatnonzero(np.r_[True, (script[1:] != script[:-1]) | (stage[1:] != stage[:-1])])
    longest = np.maximum.reduceat(nominal, begins)
    before = longest.cumsum() - longest
    of_first = np.searchsorted(begins, first[script[begins]])
    ends = np.r_[begins[1:], len(nominal)]
    return np.repeat(before - before[of_first], ends - begins), np.repeat(ends, ends - begins)


class _Flat(NamedTuple):
    """Scripts as rows. ``raw`` are the fields of the steps of distinct stages; row i is ``raw[which[i]]``, of stage
    ``stage[i]`` of its script. A script has ``counts`` rows."""

    raw: Ints
    which: Ints
    stage: Ints
    counts: Ints
