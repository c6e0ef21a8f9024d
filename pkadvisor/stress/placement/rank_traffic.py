"""Where in the key space a range gets its traffic, from exact counts by rank: ``partition.traffic`` without a sketch.

The engine keeps some sixty buckets and a sample of keys; a run without rows knows the count of each PartitionKey. The
questions and their answers are the same: the boundary that halves the traffic, with older traffic fading; whether that
boundary still divides the traffic as it did a while ago (if not, the load runs away, as with keys that only grow).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.balancer import PPM, RangeLoad
from pkadvisor.engine.partition.hosted_range import REQUEST_CPU_NS, ROW_CPU_NS
from pkadvisor.engine.partition.traffic import UNIT, USEFUL_SHARE
from pkadvisor.lazy import Ints, np
from pkadvisor.stress.placement.stamp_map import MapRange

SECOND_NS = 1_000_000_000


def halving_rank(counts: Ints) -> int | None:
    """The place before which about half of the counts lie: the first of the best, where something is; None: no place.

    Never 0, since a division there divides nothing.
    """
    places = np.flatnonzero(counts[1:]) + 1
    if not len(places):
        return None
    sums = np.cumsum(counts)
    off = np.abs(2 * sums[places - 1] - sums[-1])
    return int(places[np.argmin(off)])


class RankTraffic:
    """Traffic of the ranks [low, high) of a range. ``half_life_ns`` and ``horizon_ns`` as in ``TrafficProfile``."""

    def __init__(self, low: int, high: int, *, half_life_ns: int, horizon_ns: int) -> None:
        assert low < high, "a range holds a PartitionKey"
        self.low, self.high = low, high
        self._half_life_ns, self._horizon_ns = half_life_ns, horizon_ns
        self._faded: Ints = np.zeros(high - low, dtype=np.int64)
        self.last: Ints = self._faded
        """Requests by rank in the last whole window."""
        self._references: deque[tuple[int, int]] = deque()
        self._rolled_ns: int | None = None

    def roll(self, now_ns: int, window: Ints) -> None:
        """Ends a window, in which the ranks got so many requests."""
        past_ns = 0 if self._rolled_ns is None else now_ns - self._rolled_ns
        self._rolled_ns = now_ns
        self.last = window
        self._faded = self._faded + window * UNIT
        reference = self.reference()
        if reference is not None:
            self._references.append((now_ns, reference))
        while len(self._references) > 1 and self._references[1][0] <= now_ns - self._horizon_ns:
            self._references.popleft()
        kept_ppm = max(0, self._half_life_ns * 2 - past_ns) * PPM // (self._half_life_ns * 2)
        self._faded = self._faded * kept_ppm // PPM

    def reference(self) -> int | None:
        """The rank at which the traffic of now and before, fading, is halved best."""
        place = halving_rank(self._faded)
        return None if place is None else self.low + place

    def running(self) -> bool:
        """Whether the load has run away from where it was halved a horizon ago, or that is not known yet."""
        if not self._references or self._rolled_ns is None:
            return True
        at_ns, rank = self._references[0]
        return at_ns > self._rolled_ns - self._horizon_ns or not self._divides(rank)

    def split_rank(self) -> int | None:
        """Where a split would divide the load of now and, as far as the past tells, of later; else None."""
        rank = self.reference()
        return None if rank is None or self.running() or not self._divides(rank) else rank

    def check(self) -> None:
        """Nothing outside of the range, nothing negative."""
        assert len(self._faded) == self.high - self.low and not (self._faded < 0).any(), "counts of its ranks"
        assert all(self.low < rank < self.high for _, rank in self._references), "a reference inside"

    def _divides(self, rank: int) -> bool:
        left, whole = int(self.last[: rank - self.low].sum()), int(self.last.sum())
        return whole > 0 and USEFUL_SHARE * min(left, whole - left) >= whole


class HostedRanks:
    """A range on its server, with what is counted of it since its window began: ``HostedRange`` without rows."""

    def __init__(self, place: MapRange, options: EngineOptions, now_ns: int, requests: int = 0) -> None:
        self.number, self.low, self.high, self.server = place
        half_life_ns, horizon_ns = options.traffic_half_life_ns, options.sustain_ns
        self.traffic = RankTraffic(self.low, self.high, half_life_ns=half_life_ns, horizon_ns=horizon_ns)
        self.began_ns = now_ns
        self.latency_ns = 0
        self.requests = requests
        """In the last whole window; until there is one, its part of what those had that it came of."""

    @property
    def place(self) -> MapRange:
        """Where it is."""
        return MapRange(self.number, self.low, self.high, self.server)

    @property
    def span(self) -> slice:
        """Its part of an array by rank."""
        return slice(self.low, self.high)

    def roll(self, now_ns: int, window: Sequence[Ints], size_bytes: int) -> RangeLoad:
        """Ends its window: the seven metrics. ``window``: requests, throttled, examined, bytes by rank; emptied."""
        past_ns = max(1, now_ns - self.began_ns)
        requests, throttled, examined, moved = (int(counted[self.span].sum()) for counted in window)
        served, latency_ns = requests - throttled, self.latency_ns
        self.traffic.roll(now_ns, window[0][self.span].copy())
        self.empty(now_ns, window)
        self.requests = requests
        return RangeLoad(
            self.number,
            self.server,
            requests_per_ks=requests * 1000 * SECOND_NS // past_ns,
            pending_milli=latency_ns * 1000 // past_ns,
            throttled_ppm=throttled * PPM // max(1, requests),
            cpu_ppm=(served * REQUEST_CPU_NS + examined * ROW_CPU_NS) * PPM // past_ns,
            bytes_per_s=moved * SECOND_NS // past_ns,
            latency_ns=latency_ns // max(1, served),
            size_bytes=size_bytes,
            splittable=self.traffic.split_rank() is not None,
        )

    def empty(self, now_ns: int, window: Sequence[Ints]) -> None:
        """Its window begins now."""
        for counted in window:
            counted[self.span] = 0
        self.began_ns, self.latency_ns = now_ns, 0
