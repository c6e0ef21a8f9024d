"""A run without rows: open-loop traffic as arrays, window by window, with the integers of one attempt at a time.

Virtual time is cut where something could act back on itself: at every change of the map, where keys with a period in
them change, at whole seconds, and so often in a second that no answer is followed by a retry in the same window. Inside
a window the map stands still and nobody sends again, so all that could be sent is known at its start::

    arrivals ──┐                                                         ┌─► served, lost
               ├─► attempts, each at its nominal moment ──► judged ──────┤
    flights ───┘        (what follows a failure is not sent)             └─► flights: retries, later stages

A *flight* is a request between windows: its stage, the attempts that are still to be made, its latency so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.lazy import Ints
from pkadvisor.stress.load.load import Batch, Load
from pkadvisor.stress.placement.run_result import WINDOW_NS, MapEvent, RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.expanded import range_lows
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import Scripts
from pkadvisor.stress.simulate import fluid_numba, fluid_numpy
from pkadvisor.stress.simulate.fluid_counts import Counts
from pkadvisor.stress.simulate.fluid_flights import Calendar, Plan, landed, spread
from pkadvisor.stress.simulate.fluid_pass import ACCEPTED, NOT_SENT, TIMED_OUT
from pkadvisor.stress.simulate.fluid_state import State
from pkadvisor.stress.simulate.fluid_table import FluidTable
from pkadvisor.stress.simulate.fluid_window import Window
from pkadvisor.stress.simulate.measures import cut_short

Judge = Callable[[Window, FluidTable, State], tuple[Ints, Ints]]
Trace = list[tuple[int, int, int, int, int, int, int]]
Requests = tuple[Ints, Ints, Ints, Ints]
"Their numbers, moments, classes and instances."

MANY_REQUESTS = 1_000_000
"""From so many on, numba is worth its start, where it is installed."""

WASTED = 2
"""Planned attempts for each one that is sent, from which on windows are made shorter."""
LITTLE = 800
"""Attempts that take no longer than the work that every window makes."""
SHORTEST_NS = 1_000_000


def run_fluid(
    load: Load,
    scripts: Scripts,
    capacity: Capacity,
    stamp_map: StampMap,
    policy: RetryPolicy,
    *,
    trace: Trace | None = None,
    accelerate: bool | None = None,
) -> RunResult:
    """Runs a load against targets and queues; ``capacity`` and ``stamp_map`` are left as they are in the end.

    ``accelerate``: with numba (ImportError where it is missing), without it, or None for with it above
    ``MANY_REQUESTS`` if it is there; the integers are the same. ``trace`` gets (at_ns, request, stage, step, try,
    status, latency_ns) of each attempt. Chance lies in the load, the policy and ``capacity``. After Ctrl-C the result
    holds what was run by then and is not ``complete``.
    """
    return _Run(load, scripts, capacity, stamp_map, policy, trace, accelerate).run()


class _Run:
    """One run. Nothing of it is used twice."""

    def __init__(
        self,
        load: Load,
        scripts: Scripts,
        capacity: Capacity,
        stamp_map: StampMap,
        policy: RetryPolicy,
        trace: Trace | None,
        accelerate: bool | None,
    ) -> None:
        self._load, self._scripts, self._capacity, self._map = load, scripts, capacity, stamp_map
        self._policy, self._trace = policy, trace
        self._arrivals, self._reach_ns, self._now_ns = PendingRequests(load.batches()), WINDOW_NS, 0
        self._span_ns = WINDOW_NS
        size = len(scripts.space.keys)
        self._table = FluidTable(scripts, capacity, range_lows(stamp_map.ranges))
        self._state = State(capacity, size)
        self._judge: Judge = fluid_numpy.judge
        self._take_map()
        options, slots = capacity.options, 1
        if policy.delay_ns_min is not None:
            shortest = policy.delay_ns_min + min(options.rejection_ns, options.operation_timeout_ns)
            slots = -(-WINDOW_NS // max(1, min(WINDOW_NS, shortest)))
        self._calendar = Calendar(slots)
        watched = stamp_map.next_change_ns() is not None
        self._counts = Counts(scripts.classes, scripts.space.rows, load.duration_ns, watched)
        self._events: list[MapEvent] = []
        self._accelerate = accelerate
        if accelerate:
            self._use_numba()

    def run(self) -> RunResult:
        """From the first arrival to the last retry; after Ctrl-C what came of it by then."""
        try:
            while self._go():
                pass
        except KeyboardInterrupt:
            self._state.give_all(self._now_ns)
            return cut_short(self._counts.result(self._events, False), self._now_ns)
        self._state.give_all(self._now_ns)
        return self._counts.result(self._events, True)

    def _go(self) -> bool:
        """The next change of the map or the next window; whether there was one."""
        moments = (self._arrivals.next_ns(), self._calendar.next_ns())
        due = min((at for at in moments if at is not None), default=None)
        change = self._map.next_change_ns()
        if change is not None and (change <= due if due is not None else change < self._load.duration_ns):
            self._change(change)
            return True
        if due is None:
            return False
        epoch = bisect_right(self._scripts.ends_ns, due)
        ends = [(due // WINDOW_NS + 1) * WINDOW_NS, *self._scripts.ends_ns[epoch : epoch + 1]]
        self._now_ns = self._window(due, min(ends if change is None else [*ends, change]), epoch)
        if self._accelerate is None and self._counts.requests_done > MANY_REQUESTS:
            self._accelerate = False
            self._use_numba(optional=True)
        return True

    def _use_numba(self, *, optional: bool = False) -> None:
        try:
            import numba  # noqa: F401
        except ImportError:
            if not optional:
                raise
            return
        if self._fits:
            self._judge = fluid_numba.judge

    def _take_map(self) -> None:
        self._state.take(self._map.ranges)
        self._numbers = tuple(each.number for each in self._map.ranges)
        self._fits = self._state.fit(self._table)
        if not self._fits:
            self._judge = fluid_numpy.one_by_one

    def _change(self, at_ns: int) -> None:
        """The map comes to its next change; buckets and queues are those of the ranges and servers that it has then."""
        self._state.give()
        self._events += self._map.advance(at_ns, self._counts.take_window(), self._capacity)
        self._table.follow(range_lows(self._map.ranges))
        self._take_map()

    # ------------------------------------------------------------------------------------------ one window

    def _window(self, start: int, latest: int, epoch: int) -> int:
        """Goes on from a moment, at most to the latest; where it came to.

        No retry falls into a window of one slot. A longer one is tried where the last ones had no failure, or none for
        a while, and judged again, shorter, where a failure could be followed by its retry.
        """
        latest = min(latest, start + self._span_ns)
        sure = min(latest, self._calendar.slot_end(start))
        end = min(latest, max(sure, start + self._reach_ns))
        while True:
            arrived, taken = self._arrivals.until(end), self._calendar.take(end)
            before = self._state.levels() if end > sure else None
            plan, at_once = self._planned(arrived, taken, epoch, end)
            code, latency, order = self._judged(plan, start)
            again = self._earliest_retry(plan, code, latency)
            if before is None or again is None or again >= end:
                break
            self._state.go_back(before)
            self._arrivals.give_back(arrived)
            self._calendar.put(*taken)
            sure = end = max(sure, again)
        self._reach_ns = end - start if again is not None else 2 * (end - start)
        self._span(len(code), int(np.count_nonzero(code != NOT_SENT)), end - start)
        self._counts.arrive(arrived[2])
        self._counts.serve_at_once(at_once)
        if self._trace is not None:
            self._note(plan, order, code, latency)
        self._account(plan, start, code, latency)
        self._go_on(plan, start, code, latency)
        return end

    def _span(self, planned: int, sent: int, took_ns: int) -> None:
        """How long the next window may be: what follows a failure is planned in vain."""
        if planned > WASTED * (sent + LITTLE):
            self._span_ns = max(SHORTEST_NS, took_ns // 2)
        elif 2 * planned < WASTED * (sent + LITTLE):
            self._span_ns = min(WINDOW_NS, 2 * self._span_ns)

    def _planned(self, arrived: Requests, taken: tuple[Ints, Ints], epoch: int, end: int) -> tuple[Plan, Ints]:
        """What could be sent before a moment, and the classes of requests that have nothing to send."""
        table = self._table
        requests, moments, classes, instances = arrived
        script = table.numbers(epoch, classes, instances)
        none = table.first[script] == table.end[script]
        if table.empty and none.any():
            requests, moments, script = requests[~none], moments[~none], script[~none]
        return spread(table, taken, requests, moments, script, end), classes[none]

    def _earliest_retry(self, plan: Plan, code: Ints, latency: Ints) -> int | None:
        """Before this no failure is followed by a retry; None without a failure, or without a retry."""
        shortest = self._policy.delay_ns_min
        if shortest is None:
            return None
        bad = (code != ACCEPTED) & (code != NOT_SENT)
        return int((plan.at[bad] + latency[bad]).min()) + shortest if bad.any() else None

    def _account(self, plan: Plan, start: int, code: Ints, latency: Ints) -> None:
        """Counts the attempts of a window that were sent."""
        table, sent, rows, owner = self._table, code != NOT_SENT, plan.row, plan.owner
        if not sent.all():
            rows, owner, code, latency = rows[sent], owner[sent], code[sent], latency[sent]
        if not len(rows):
            return
        steps, classes = table.step[rows], table.of_class[plan.script[owner]]
        of_range = self._state.range_of[table.low[steps]]
        self._counts.attempts(start, table, steps, classes, code, latency, of_range, self._numbers)
        self._state.count(code, table.weight[steps], of_range, table)

    def _judged(self, plan: Plan, start: int) -> tuple[Ints, Ints, Ints | None]:
        """Codes and latencies of the attempts of a plan, in its order; and the order of the store's tickets."""
        count = len(plan.at)
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64), None
        capacity, order = self._capacity, None
        at, row, owner = plan.at, plan.row, plan.owner
        if not plan.in_order:
            packed = np.sort(((at - start) << 33) | np.arange(count, dtype=np.int64))
            order = packed & ((1 << 33) - 1)
            at, row, owner = at[order], row[order], owner[order]
        ticket = capacity.tally.arrived + self._state.attempts
        window = Window.of(at, row, owner, len(plan.request), ticket, capacity.times.seed, self._table, self._state)
        judged, took = self._judge(window, self._table, self._state)
        if order is None:
            return judged, took, None
        code, latency = np.empty_like(judged), np.empty_like(took)
        code[order], latency[order] = judged, took
        return code, latency, order

    def _note(self, plan: Plan, order: Ints | None, code: Ints, latency: Ints) -> None:
        assert self._trace is not None
        table = self._table
        status = {ACCEPTED: 200, TIMED_OUT: 500}
        for i in range(len(code)) if order is None else order.tolist():
            if code[i] == NOT_SENT:
                continue
            row, owner = plan.row[i], plan.owner[i]
            step = row - table.first[plan.script[owner]]
            stage, answer = table.stage[row], status.get(int(code[i]), 503)
            note = (plan.at[i], plan.request[owner], stage, step, plan.tries[i], answer, latency[i])
            self._trace.append(tuple(map(int, note)))  # type: ignore[arg-type]

    def _go_on(self, plan: Plan, start: int, code: Ints, latency: Ints) -> None:
        """Requests that are done are counted; the others become flights."""
        after = landed(self._table, plan, code, latency, self._delays)
        of_class = self._table.of_class
        if len(after.served):
            served = after.served
            self._counts.serve(plan.request[served], of_class[plan.script[served]], after.latency, start // WINDOW_NS)
        if len(after.lost):
            self._counts.lose(of_class[plan.script[after.lost]])
        self._calendar.put(after.flights, after.attempts)

    def _delays(self, tried: Ints, requests: Ints, steps: Ints, status: Ints) -> Ints:
        """The policy's delays; −1 where it gives up."""
        policy = self._policy
        if policy.delay_ns_min is None:
            return np.full(len(tried), -1, np.int64)
        many = getattr(policy, "delays_ns", None)
        if many is not None:
            waits: Ints = many(tried, requests, steps, status)
            return waits
        each = zip(tried.tolist(), requests.tolist(), steps.tolist(), status.tolist(), strict=True)
        delays = (policy.delay_ns(*one) for one in each)
        return np.array([-1 if delay is None else delay for delay in delays], np.int64)


class PendingRequests:
    """Requests in their order; what was taken too early can be given back."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self._parts: list[Requests] = []
        self._read()

    def next_ns(self) -> int | None:
        """When the next request arrives."""
        return int(self._parts[0][1][0]) if self._parts else None

    def until(self, end_ns: int) -> Requests:
        """Takes the requests before a moment."""
        out: list[Requests] = []
        while self._parts:
            part = self._parts.pop(0)
            stop = int(np.searchsorted(part[1], end_ns))
            if stop < len(part[1]):
                self._parts.insert(0, _cut(part, slice(stop, None)))
                part = _cut(part, slice(stop))
            elif not self._parts:
                self._read()
            if not stop:
                break
            out.append(part)
        if len(out) == 1:
            return out[0]
        if not out:
            empty = np.empty(0, np.int64)
            return empty, empty, empty, empty
        numbers, moments, classes, instances = (np.concatenate(parts) for parts in zip(*out, strict=True))
        return numbers, moments, classes, instances

    def give_back(self, requests: Requests) -> None:
        """Puts the requests that were taken last before all others."""
        if len(requests[0]):
            self._parts.insert(0, requests)

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is not None:
            numbers = np.arange(batch.first, batch.first + len(batch), dtype=np.int64)
            self._parts.append((numbers, batch.at_ns, batch.classes, batch.instances))


def _cut(requests: Requests, part: slice) -> Requests:
    numbers, moments, classes, instances = requests
    return numbers[part], moments[part], classes[part], instances[part]
