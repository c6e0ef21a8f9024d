"""How a run is measured: what every way to run a load must do alike so that its result is the same to the integer."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.service_times import DRAWS, Kind, ServiceTimes
from pkadvisor.lazy import Ints, np
from pkadvisor.limits import Limits
from pkadvisor.splitmix import mixed
from pkadvisor.stress.placement.run_result import WINDOW_NS, RunResult
from pkadvisor.stress.requests.scripts import Step

ACCOUNT = "stress"
"""The account of a run, as ``Place`` names it: there is one."""
SAMPLE = 1 << 16
"""Latencies that are kept of a class, at most: its 99.9th percentile rests on 32 or more."""
HEAT_COLUMNS = 240
HEAT_BANDS = 64
"""A heat map is a picture: no finer than it can be drawn."""


def nominal_ns(times: ServiceTimes, step: Step) -> int:
    """What a step takes unhindered in the median: with the upper of the two draws in the middle."""
    trips = times.next_page if step.continued and step.kind != Kind.WRITE else times.unhindered[step.kind]
    trip = trips[DRAWS // 2]
    if step.kind == Kind.WRITE:
        return trip * times.work_milli(step.kind, step.entities, step.examined) // MILLI
    return trip + times.scan_ns * step.examined


def offered_milli(step: Step, limits: Limits) -> int:
    """What a step counts toward its targets, in thousandths of an entity; a page as if its rows were known before."""
    if step.kind == Kind.WRITE:
        return MILLI * step.entities
    if step.kind == Kind.PAGE:
        return max(MILLI, milli(limits.scan_weight) * step.examined)
    return MILLI


def entities_read(step: Step) -> int:
    """Entities that an accepted step read."""
    return step.examined if step.kind == Kind.PAGE else 1 if step.kind == Kind.READ else 0


def examined(step: Step) -> int:
    """Entities that a partition server counts an accepted step to have looked at (``hosted_range``)."""
    return step.entities if step.kind == Kind.WRITE else step.examined


def entities_written(step: Step) -> int:
    """Entities that an accepted step wrote."""
    return step.entities if step.kind == Kind.WRITE else 0


def seconds(duration_ns: int) -> int:
    """Windows of a timeline that covers a duration."""
    return -(-duration_ns // WINDOW_NS)


def heat_step(duration_ns: int) -> int:
    """Seconds in a column of the heat map of a run."""
    return max(1, -(-seconds(duration_ns) // HEAT_COLUMNS))


def band_edges(size: int) -> Ints:
    """The ranks at which the bands of a heat map of ``size`` PartitionKeys begin, and ``size``."""
    bands = min(size, HEAT_BANDS)
    return np.arange(bands + 1, dtype=np.int64) * size // bands


def sample_key(request: int) -> int:
    """64 well-mixed bits of the number of a request; it is in the sample of level l if the lowest l of them are 0."""
    return mixed(0, request)


class Sample:
    """Values of a sample of requests: all, then every second, fourth, … as they become more than ``SAMPLE``.

    What it holds in the end depends on what was added, never on the order. Vectorised code may add many at once: the
    level is the least at which no more than ``SAMPLE`` are left.
    """

    __slots__ = ("_kept", "level")

    def __init__(self) -> None:
        self.level = 0
        self._kept: dict[int, tuple[int, int]] = {}

    def add(self, request: int, value: int, second: int) -> None:
        """Adds the value of a request and the second of the run that it is of, or leaves them out."""
        if self._in(request):
            self._kept[request] = (value, second)
            while len(self._kept) > SAMPLE:
                self.level += 1
                self._kept = {number: latency for number, latency in self._kept.items() if self._in(number)}

    def values(self) -> list[int]:
        """The values, by the numbers of their requests."""
        return [self._kept[number][0] for number in sorted(self._kept)]

    def seconds(self) -> list[int]:
        """The seconds that the values are of, in their order."""
        return [self._kept[number][1] for number in sorted(self._kept)]

    def _in(self, request: int) -> bool:
        return not sample_key(request) & ((1 << self.level) - 1)


def cut_short(result: RunResult, reached_ns: int) -> RunResult:
    """A run that was interrupted, as long as it was: whole seconds, one at least, of what came before a moment."""
    before = seconds(result.duration_ns)
    length = max(1, min(before, reached_ns // WINDOW_NS))
    columns = -(-length // heat_step(result.duration_ns))
    return replace(
        result,
        duration_ns=min(result.duration_ns, length * WINDOW_NS),
        offered=result.offered[:length],
        accepted=result.accepted[:length],
        throttled=result.throttled[:length],
        hottest_milli=result.hottest_milli[:length],
        hottest_throttled_milli=result.hottest_throttled_milli[:length],
        heat=result.heat[:columns],
        events=tuple(event for event in result.events if event.at_ns <= reached_ns),
        complete=False,
    )
