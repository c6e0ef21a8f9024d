"""What a run has come to so far, window by window: counts by class, timelines, heat, the hottest key, latencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkadvisor.lazy import Bools, Ints
from pkadvisor.splitmix import mixed_each
from pkadvisor.stress.placement.run_result import WINDOW_NS, ClassCounts, MapEvent, RunResult
from pkadvisor.stress.placement.stamp_map import WindowCounts
from pkadvisor.stress.simulate import fluid_table as column
from pkadvisor.stress.simulate.fluid_pass import ACCEPTED, NOT_SENT, TIMED_OUT
from pkadvisor.stress.simulate.fluid_state import BOUNDS
from pkadvisor.stress.simulate.fluid_table import FluidTable
from pkadvisor.stress.simulate.heat_cells import heat_cells
from pkadvisor.stress.simulate.measures import SAMPLE, band_edges, heat_step, seconds
from pkadvisor.stress.simulate.wide_pages import Asked, Hottest, Span, hottest_rank, with_pages

CELLS = 1 << 24
"""(second, PartitionKey) pairs that are kept to tell the hottest key's timeline."""
FAINT = 64
"""Above ``CELLS``, keys that have less than 1/64 of the busiest one in a second count as 0 in it."""


class _Latencies:
    """``measures.Sample`` for arrays: the same requests, the same values."""

    def __init__(self) -> None:
        self._level = 0
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._held = 0

    def add(self, requests: Ints, values: Ints, second: int) -> None:
        if self._level:
            chosen = self._chosen(requests)
            requests, values = requests[chosen], values[chosen]
        self._parts.append((requests.copy(), values.copy(), np.full(len(requests), second)))
        self._held += len(requests)
        while self._held > SAMPLE:
            self._level += 1
            requests, values, seconds_ = self._all()
            chosen = self._chosen(requests)
            self._parts = [(requests[chosen], values[chosen], seconds_[chosen])]
            self._held = len(self._parts[0][0])

    def values(self) -> tuple[list[int], list[int]]:
        """The values and their seconds, by the numbers of their requests."""
        requests, values, seconds_ = self._all()
        order = np.argsort(requests)
        return values[order].tolist(), seconds_[order].tolist()

    def _all(self) -> tuple[Ints, Ints, Ints]:
        empty = np.empty(0, np.int64)
        parts = self._parts or [(empty, empty, empty)]
        requests, values, seconds_ = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return requests, values, seconds_

    def _chosen(self, requests: Ints) -> Bools:
        low = mixed_each(0, requests) & np.uint64((1 << self._level) - 1)
        chosen: Bools = low == 0
        return chosen


class Counts:
    """What a run has come to. ``rows`` are those of each PartitionKey; ``watched``: the map asks for counts."""

    def __init__(self, classes: Sequence[str], rows: Ints, duration_ns: int, watched: bool) -> None:
        size = len(rows)
        self._rows = rows
        self._classes, self._duration_ns, self._size = tuple(classes), duration_ns, size
        count = len(self._classes)
        self._codes = np.zeros((count, 9), np.int64)
        self._totals = np.zeros((4, count), np.int64)
        self._sums = np.zeros((4, count), np.int64)
        """By class: requests, served, lost, latency."""
        self._latencies = [_Latencies() for _ in self._classes]
        self._seconds = np.zeros((max(1, seconds(duration_ns)), 3), np.int64)
        self._used = seconds(duration_ns)
        self._edges = band_edges(size)
        self._step = heat_step(duration_ns)
        self._of_key = np.zeros(size, np.int64)
        self._second = np.zeros(size, np.int64)
        self._second_turned = np.zeros(size, np.int64)
        self._tries = np.zeros((2, size), np.int64)
        """By PartitionKey: attempts, and those of them that were answered 503."""
        self._wide: dict[Span, Asked] = {}
        self._table: FluidTable | None = None
        self._page_tries = np.zeros((2, 0), np.int64)
        """Of the second: attempts of pages over several PartitionKeys by step, and those that were answered 503."""
        self._now = -1
        self._kept: list[tuple[int, Ints, Ints, Ints]] = []
        self._cells = 0
        self._watched = watched
        self._since = np.zeros((4, size if watched else 0), np.int64)
        self._since_latency: dict[int, int] = {}
        self.requests_done = 0

    def arrive(self, classes: Ints) -> None:
        """Requests have come."""
        self._sums[0] += np.bincount(classes, minlength=len(self._classes))
        self.requests_done += len(classes)

    def serve(self, requests: Ints, classes: Ints, latency: Ints, second: int) -> None:
        """Requests have got all they wanted; their last attempts were sent in a second of the run."""
        count = len(self._classes)
        self._sums[1] += np.bincount(classes, minlength=count)
        if count == 1:
            self._sums[3] += latency.sum()
            self._latencies[0].add(requests, latency, second)
            return
        for number in range(count):
            chosen = classes == number
            if chosen.any():
                self._sums[3, number] += latency[chosen].sum()
                self._latencies[number].add(requests[chosen], latency[chosen], second)

    def serve_at_once(self, classes: Ints) -> None:
        """Requests had nothing to send: they have no latency."""
        self._sums[1] += np.bincount(classes, minlength=len(self._classes))

    def lose(self, classes: Ints) -> None:
        """Requests will never get it."""
        self._sums[2] += np.bincount(classes, minlength=len(self._classes))

    def attempts(
        self, at_ns: int, table: FluidTable, steps: Ints, classes: Ints, codes: Ints, latency: Ints, of_range: Ints,
        numbers: Sequence[int],
    ) -> None:  # fmt: skip
        """Attempts that were sent in the second of a moment."""
        count = len(self._classes)
        weights = table.weight[steps]
        by_code = np.bincount(classes * 9 + codes, minlength=9 * count).reshape(count, 9)
        self._codes += by_code
        accepted = codes == ACCEPTED
        every = bool(accepted.all())
        won, of_class = (weights, classes) if every else (weights[accepted], classes[accepted])
        for place, name in enumerate((column.PAGES, column.READ, column.WRITTEN)):
            if table.some[name]:
                amounts = table.weights[name][won]
                self._totals[place] += np.bincount(of_class, amounts, count).astype(np.int64)
        second = at_ns // WINDOW_NS
        if second >= len(self._seconds):
            self._seconds = np.concatenate([self._seconds, np.zeros((second + 1, 3), np.int64)])
        self._used = max(self._used, second + 1)
        codes_all = by_code.sum(axis=0)
        here = self._seconds[second]
        here[0] += codes_all[:NOT_SENT].sum()
        here[1] += codes_all[ACCEPTED]
        here[2] += codes_all[1:TIMED_OUT].sum()
        self._warm(second, table, steps, weights, None if every else (codes >= 1) & (codes < TIMED_OUT))
        if self._watched:
            lows = table.low[steps]
            np.add.at(self._since[0], lows, 1)
            if not every:
                np.add.at(self._since[1], lows[(codes >= 1) & (codes < TIMED_OUT)], 1)
            lows = lows if every else lows[accepted]
            np.add.at(self._since[2], lows, table.weights[column.EXAMINED][won])
            np.add.at(self._since[3], lows, table.weights[column.BYTES][won])
            answered = accepted | (codes == TIMED_OUT)
            sums = np.bincount(of_range[answered], latency[answered], len(numbers)).astype(np.int64)
            for place in np.flatnonzero(sums).tolist():
                number = numbers[place]
                self._since_latency[number] = self._since_latency.get(number, 0) + int(sums[place])

    def _warm(self, second: int, table: FluidTable, steps: Ints, weights: Ints, turned: Bools | None) -> None:
        if second != self._now:
            self._close_second()
            self._now = second
        offered, keys = table.weights[column.OFFERED][weights], table.partition[steps]
        if keys.size and keys.min() < 0:
            alone = keys >= 0
            self._pages(table, steps[~alone], None if turned is None else turned[~alone])
            keys, offered = keys[alone], offered[alone]
            turned = None if turned is None else turned[alone]
        np.add.at(self._second, keys, offered)
        np.add.at(self._tries[0], keys, 1)
        if turned is not None:
            np.add.at(self._second_turned, keys[turned], offered[turned])
            np.add.at(self._tries[1], keys[turned], 1)

    def _pages(self, table: FluidTable, steps: Ints, turned: Bools | None) -> None:
        """Attempts of pages over several PartitionKeys, by the step of the table, until the second ends."""
        if len(table.partition) > self._page_tries.shape[1]:
            more = np.zeros((2, len(table.partition) - self._page_tries.shape[1]), np.int64)
            self._page_tries = np.concatenate([self._page_tries, more], axis=1)
        self._table = table
        pages = table.weights[column.PAGES][table.weight[steps]] > 0
        np.add.at(self._page_tries[0], steps[pages], 1)
        if turned is not None:
            np.add.at(self._page_tries[1], steps[pages & turned], 1)

    def _close_pages(self) -> None:
        table, different = self._table, np.flatnonzero(self._page_tries[0])
        if table is None or not len(different):
            return
        lows, highs = table.low[different].tolist(), table.until[different].tolist()
        offered = table.weights[column.OFFERED][table.weight[different]].tolist()
        tries, lost = self._page_tries[:, different].tolist()
        for low, high, each, number, of_them in zip(lows, highs, offered, tries, lost, strict=True):
            asked = self._wide.setdefault((self._now, low, high), [0, 0, 0, 0])
            asked[0] += each * number
            asked[1] += each * of_them
            asked[2] += number
            asked[3] += of_them
        self._page_tries[:, different] = 0

    def _close_second(self) -> None:
        self._close_pages()
        second = self._second
        keys = np.flatnonzero(second)
        if not len(keys):
            return
        values, turned = second[keys], self._second_turned[keys]
        self._of_key[keys] += values
        second[keys] = self._second_turned[keys] = 0
        if self._cells + len(keys) > CELLS:
            strong = values * FAINT >= values.max()
            keys, values, turned = keys[strong], values[strong], turned[strong]
        self._cells += len(keys)
        self._kept.append((self._now, keys.astype(np.int32), values, turned))

    def take_window(self) -> WindowCounts:
        """What was counted since the last change of the map; counting begins anew."""
        since, self._since = self._since, np.zeros_like(self._since)
        latency, self._since_latency = self._since_latency, {}
        return WindowCounts(since[0], since[1], since[2], since[3], latency)

    def result(self, events: Sequence[MapEvent], complete: bool) -> RunResult:
        """The run as a value."""
        self._close_second()
        self._now = -1
        used = self._used
        hottest = hottest_rank(self._of_key, self._wide, self._rows)
        timeline = np.zeros((2, used), np.int64)
        for second, keys, values, turned in self._kept:
            place = np.searchsorted(keys, hottest)
            if place < len(keys) and keys[place] == hottest:
                timeline[:, second] += (values[place], turned[place])
        tries = self._tries[:, hottest].tolist() if hottest >= 0 else (0, 0)
        hot = with_pages(Hottest(hottest, timeline[0], timeline[1], *tries), self._wide, self._rows)
        parts = ((second, keys, values) for second, keys, values, _ in self._kept)
        heat = heat_cells(parts, self._wide, self._rows, self._edges, self._step, -(-used // self._step))
        classes: dict[str, ClassCounts] = {}
        for number, name in enumerate(self._classes):
            codes = self._codes[number].tolist()
            requests, served, lost, latency_sum = self._sums[:, number].tolist()
            pages, read, written, _ = self._totals[:, number].tolist()
            latencies, ended = self._latencies[number].values()
            classes[name] = ClassCounts(
                requests=requests,
                served=served,
                lost=lost,
                attempts=sum(codes[:NOT_SENT]),
                accepted=codes[ACCEPTED],
                timed_out=codes[TIMED_OUT],
                throttled={BOUNDS[i]: codes[i] for i in range(1, 7) if codes[i]},
                pages=pages,
                entities_read=read,
                entities_written=written,
                latency_ns_sum=latency_sum,
                latencies_ns=latencies,
                ended_s=ended,
            )
        return RunResult(
            duration_ns=self._duration_ns,
            classes=classes,
            offered=self._seconds[:used, 0].copy(),
            accepted=self._seconds[:used, 1].copy(),
            throttled=self._seconds[:used, 2].copy(),
            hottest=hottest,
            hottest_milli=hot.milli,
            hottest_throttled_milli=hot.throttled_milli,
            hottest_attempts=hot.attempts,
            hottest_throttled=hot.throttled,
            bands=self._edges,
            heat=heat,
            events=tuple(events),
            complete=complete,
        )
