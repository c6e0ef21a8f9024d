"""The map to which a table comes under a load: what a new table warms up to, and a warmed-up run begins with.

    loads by window and rank ──greedy splits──► ranges ──longest processing time first──► servers

The heaviest range is divided at the boundary of PartitionKeys that halves its load, until each is at most head-room ×
target, or one PartitionKey, or an *append tail*, whose load no boundary divides for long: the keys behind it are no
longer used, those before it not yet. Then each range goes to the server with the least load, the heaviest first, which
is at most 4/3 − 1/(3M) of the best (Graham, *Bounds on multiprocessing timing anomalies*, 1969).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from pkadvisor.engine.capacity.buckets import milli
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.traffic import USEFUL_SHARE
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.load.load import Load
from pkadvisor.stress.placement.stamp_map import MapRange
from pkadvisor.stress.requests.expanded import row_sums
from pkadvisor.stress.requests.flat_scripts import HIGH, LOW, OF_PARTITION, FlatScripts, in_order, offered
from pkadvisor.stress.requests.scripts import SEVERAL, Scripts

WINDOWS = 8
SECOND_NS = 1_000_000_000


def counted_load(load: Load, scripts: Scripts, limits: Limits, windows: int = WINDOWS) -> Ints:
    """What a load counts toward targets, in milli-entities/s, by window of the run and by rank.

    A page over several PartitionKeys counts at each in proportion to its rows. Retries and later stages count when
    their request arrives.
    """
    duration_ns = load.duration_ns
    firsts = np.concatenate([[0], np.cumsum([len(of_class) for of_class in scripts.epochs[0]])])
    width = int(firsts[-1])
    ends = np.array(scripts.ends_ns, dtype=np.int64)
    spread = _Spread(scripts, limits, windows)
    asked, present = np.zeros(windows * width, dtype=np.int64), 0  # requests of the present epoch, by window and script
    for batch in load.batches():
        places = batch.at_ns * windows // duration_ns * width + firsts[batch.classes] + batch.instances
        epochs = np.searchsorted(ends, batch.at_ns, side="right")
        for epoch in np.unique(epochs).tolist():
            if epoch != present:
                spread.add(present, asked.reshape(windows, width))
                asked[:], present = 0, epoch
            np.add.at(asked, places[epochs == epoch], 1)
    spread.add(present, asked.reshape(windows, width))
    return np.rint(spread.found() * (windows * SECOND_NS) / duration_ns).astype(np.int64)


class _Spread:
    """Puts the steps of scripts where they count."""

    def __init__(self, scripts: Scripts, limits: Limits, windows: int) -> None:
        space = scripts.space
        self._flat, self._rows, self._limits = FlatScripts.of(scripts), space.rows, limits
        self._sums = np.array(row_sums(space), dtype=np.int64)
        self._points = np.zeros((len(space.keys), windows))
        self._slopes = np.zeros((len(space.keys) + 1, windows))

    def add(self, epoch: int, asked: Ints) -> None:
        """The scripts of an epoch, and how often each was asked for, by window."""
        flat = self._flat
        chosen = np.flatnonzero(asked.any(axis=0))
        scripts = np.concatenate(flat.numbers[epoch])[chosen]
        which = flat.stages_of(scripts)
        if not len(which):
            return
        stages, place = in_order(which, len(flat.stages))
        of_script = np.repeat(chosen, flat.lengths[scripts])
        times = [np.bincount(place[which], window[of_script], len(stages)).astype(np.int64) for window in asked]
        raw = flat.raw[flat.rows_of(stages)]
        numbers = np.repeat(np.arange(len(stages)), flat.sizes[stages])
        lows, highs, several = raw[:, LOW], raw[:, HIGH], raw[:, OF_PARTITION] == SEVERAL
        each = offered(raw, self._limits)
        weights = np.stack(times)[:, numbers].T * each[:, None]
        rows = self._sums[highs] - self._sums[lows]
        wide = several & (rows > 0)
        np.add.at(self._points, lows[~wide], weights[~wide])
        slopes = weights[wide] / rows[wide, None]
        np.add.at(self._slopes, lows[wide], slopes)
        np.subtract.at(self._slopes, highs[wide], slopes)

    def found(self) -> Floats:
        """What everything counts, by window and rank."""
        sloping = np.maximum(0.0, np.cumsum(self._slopes[:-1], axis=0)) * self._rows[:, None]
        loads: Floats = np.ascontiguousarray((self._points + sloping).T)
        return loads


def dividing_rank(loads: Ints) -> int | None:
    """The place that halves a load best, of those that divide it in most windows; None: it is one key, or it runs away.

    ``loads``: by window and rank. A place divides a window well where each side has at least one part in eight of it,
    as the manager asks; where no place does, one that leaves something to each side parts a hot key from others. It is
    a key that the first window asks for: a table that is warm when a run begins was not divided at keys to come.
    """
    busy = loads[loads.any(axis=1)]
    if not len(busy):
        return None
    places = np.flatnonzero(busy[0, 1:]) + 1
    left = np.cumsum(busy, axis=1)
    whole, below = left[:, -1:], left[:, places - 1]
    lesser = np.minimum(below, whole - below)
    for divides in (USEFUL_SHARE * lesser >= whole, lesser > 0):
        lasting = 2 * divides.sum(axis=0) > len(busy)
        if lasting.any():
            off = np.abs(2 * below.sum(axis=0) - whole.sum())[lasting]
            return int(places[lasting][np.argmin(off)])
    return None


def warm_map(
    loads: Ints, limits: Limits, servers: Sequence[str], options: EngineOptions | None = None
) -> tuple[MapRange, ...]:
    """The converged map of a load (``counted_load``, by window and rank) on servers, in key order, numbered from 1.

    A range is as heavy as in its heaviest window. There are never more than ``ranges_per_server_max`` for each server.
    """
    options = options or EngineOptions()
    target = milli(limits.headroom_share * limits.range_entities_per_s)
    size = loads.shape[1]

    def weight(low: int, high: int) -> int:
        return int(loads[:, low:high].sum(axis=1).max())

    heavy = [(-weight(0, size), 0, size)]
    done: list[tuple[int, int, int]] = []
    while heavy and len(heavy) + len(done) < options.ranges_per_server_max * len(servers):
        negative, low, high = heapq.heappop(heavy)
        at = dividing_rank(loads[:, low:high]) if -negative > target else None
        if at is None:
            done.append((negative, low, high))
            continue
        for part in ((low, low + at), (low + at, high)):
            heapq.heappush(heavy, (-weight(*part), *part))
    held = [(0, server) for server in sorted(servers)]
    heapq.heapify(held)
    placed: list[tuple[int, int, str]] = []
    for negative, low, high in sorted([*heavy, *done]):
        carried, server = heapq.heappop(held)
        placed.append((low, high, server))
        heapq.heappush(held, (carried - negative, server))
    return tuple(MapRange(number + 1, *each) for number, each in enumerate(sorted(placed)))
