"""What one attempt after the other amounts to: counts by class, timelines, heat, the hottest PartitionKey."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.placement.run_result import WINDOW_NS, ClassCounts, MapEvent, RunResult
from pkadvisor.stress.placement.stamp_map import WindowCounts
from pkadvisor.stress.requests.scripts import KeySpace, Step
from pkadvisor.stress.simulate.heat_cells import heat_cells
from pkadvisor.stress.simulate.measures import (
    Sample,
    band_edges,
    entities_read,
    entities_written,
    examined,
    heat_step,
    offered_milli,
    seconds,
)
from pkadvisor.stress.simulate.wide_pages import Asked, Hottest, Span, hottest_rank, with_pages


class Recorder:
    """The counts of a run that goes on. Timelines grow with it; moments never go back by more than they like."""

    def __init__(self, classes: Sequence[str], space: KeySpace, limits: Limits, duration_ns: int) -> None:
        self.counts = [ClassCounts() for _ in classes]
        self.ranks, self._rows = len(space.keys), space.rows
        self._classes, self._limits, self._duration_ns = tuple(classes), limits, duration_ns
        self._samples = [Sample() for _ in classes]
        self._offered: dict[int, int] = {}
        self._accepted: dict[int, int] = {}
        self._throttled: dict[int, int] = {}
        self._by_rank: dict[int, dict[int, int]] = {}
        """Offered milli-entities by PartitionKey and second."""
        self._turned: dict[int, dict[int, int]] = {}
        """What of them was answered 503."""
        self._tries: dict[int, list[int]] = {}
        """Attempts by PartitionKey, and how many of them were answered 503."""
        self._wide: dict[Span, Asked] = {}
        self.window = WindowTally()

    def attempt(self, class_number: int, step: Step, at_ns: int, number: int, answer: tuple[int, Bound, int]) -> None:
        """Counts an attempt on the range ``number``; its answer is (status, what turned it away, latency in ns)."""
        status, bound, latency_ns = answer
        counts, second = self.counts[class_number], at_ns // WINDOW_NS
        counts.attempts += 1
        _add(self._offered, second, 1)
        weight = offered_milli(step, self._limits)
        if step.partition >= 0:
            _add(self._by_rank.setdefault(step.partition, {}), second, weight)
            tries = self._tries.setdefault(step.partition, [0, 0])
            tries[0] += 1
            if status == 503:
                tries[1] += 1
                _add(self._turned.setdefault(step.partition, {}), second, weight)
        elif step.kind == Kind.PAGE:
            asked = self._wide.setdefault((second, step.low, step.high), [0, 0, 0, 0])
            asked[0] += weight
            asked[2] += 1
            if status == 503:
                asked[1] += weight
                asked[3] += 1
        self.window.attempt(step, number, status, latency_ns)
        if status == 503:
            counts.throttled[bound] = counts.throttled.get(bound, 0) + 1
            _add(self._throttled, second, 1)
        elif status == 500:
            counts.timed_out += 1
        else:
            counts.accepted += 1
            counts.pages += step.kind == Kind.PAGE
            counts.entities_read += entities_read(step)
            if status == 412:
                counts.conflicts += 1
            else:
                counts.entities_written += entities_written(step)
            _add(self._accepted, second, 1)

    def served(self, class_number: int, request: int, latency_ns: int, at_ns: int) -> None:
        """A request of which every stage was accepted, the last attempt being sent at a moment."""
        counts = self.counts[class_number]
        counts.served += 1
        counts.latency_ns_sum += latency_ns
        self._samples[class_number].add(request, latency_ns, at_ns // WINDOW_NS)

    def result(self, events: Sequence[MapEvent], complete: bool = True) -> RunResult:
        """The run as it is now."""
        for counts, sample in zip(self.counts, self._samples, strict=True):
            counts.latencies_ns, counts.ended_s = sample.values(), sample.seconds()
        length = max(seconds(self._duration_ns), max(self._offered, default=-1) + 1)
        own = np.zeros(self.ranks, dtype=np.int64)
        for rank, by_second in self._by_rank.items():
            own[rank] = sum(by_second.values())
        hottest = hottest_rank(own, self._wide, self._rows)
        edges = band_edges(self.ranks)
        step = heat_step(self._duration_ns)
        parts = (
            (second, np.array([rank]), np.array([weight]))
            for rank, by_second in self._by_rank.items()
            for second, weight in by_second.items()
        )
        heat = heat_cells(parts, self._wide, self._rows, edges, step, -(-length // step))
        named, turned = self._by_rank.get(hottest, {}), self._turned.get(hottest, {})
        line = _timelines(length, self._offered, self._accepted, self._throttled, named, turned)
        hot = Hottest(hottest, line[3], line[4], *self._tries.get(hottest, [0, 0]))
        hot = with_pages(hot, self._wide, self._rows)
        return RunResult(
            duration_ns=self._duration_ns,
            classes=dict(zip(self._classes, self.counts, strict=True)),
            offered=line[0],
            accepted=line[1],
            throttled=line[2],
            hottest=hottest,
            hottest_milli=hot.milli,
            hottest_throttled_milli=hot.throttled_milli,
            hottest_attempts=hot.attempts,
            hottest_throttled=hot.throttled,
            bands=edges,
            heat=heat,
            events=tuple(events),
            complete=complete,
        )


class WindowTally:
    """What a map is told at its next change: counted as a partition server counts (``hosted_range``)."""

    __slots__ = ("bytes_moved", "examined", "latency_ns", "requests", "throttled")

    def __init__(self) -> None:
        self.requests: dict[int, int] = {}
        self.throttled: dict[int, int] = {}
        self.examined: dict[int, int] = {}
        self.bytes_moved: dict[int, int] = {}
        self.latency_ns: dict[int, int] = {}

    def attempt(self, step: Step, number: int, status: int, latency_ns: int) -> None:
        """Counts an attempt. What came too late moved nothing: its answer is empty."""
        _add(self.requests, step.low, 1)
        if status == 503:
            _add(self.throttled, step.low, 1)
            return
        _add(self.latency_ns, number, latency_ns)
        if status != 500:
            _add(self.examined, step.low, examined(step))
            _add(self.bytes_moved, step.low, step.bytes_moved)

    def take(self, size: int) -> WindowCounts:
        """The counts since the last time, for a key space of so many ranks."""

        def taken(counted: dict[int, int]) -> Ints:
            array = np.zeros(size, dtype=np.int64)
            array[list(counted)] = list(counted.values())
            counted.clear()
            return array

        latency_ns, self.latency_ns = self.latency_ns, {}
        return WindowCounts(
            taken(self.requests), taken(self.throttled), taken(self.examined), taken(self.bytes_moved), latency_ns
        )


def _add(counted: dict[int, int], key: int, amount: int) -> None:
    counted[key] = counted.get(key, 0) + amount


def _timelines(length: int, *counted: dict[int, int]) -> list[Ints]:
    lines = [np.zeros(length, dtype=np.int64) for _ in counted]
    for line, values in zip(lines, counted, strict=True):
        for second, amount in values.items():
            line[second] = amount
    return lines
