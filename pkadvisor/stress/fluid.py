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
from typing import TYPE_CHECKING, Any

from pkadvisor.stress import fluid_table as column
from pkadvisor.stress.expanded import range_lows
from pkadvisor.stress.fluid_pass import ACCEPTED, NOT_SENT, TIMED_OUT
from pkadvisor.stress.fluid_table import Table
from pkadvisor.stress.measures import cut_short
from pkadvisor.stress.run_result import WINDOW_NS, MapEvent, RunResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.engine.capacity.capacity import Capacity
    from pkadvisor.stress.fluid_numpy import Window
    from pkadvisor.stress.fluid_state import State
    from pkadvisor.stress.load import Batch, Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.scripts import Scripts
    from pkadvisor.stress.stamp_map import StampMap

    Ints = NDArray[np.int64]
    Judge = Callable[[Window, Table, State], tuple[Ints, Ints]]
    Trace = list[tuple[int, int, int, int, int, int, int]]

MANY_REQUESTS = 1_000_000
"""From so many on, numba is worth its start, where it is installed."""


def run_fluid(
    load: Load,
    scripts: Scripts,
    capacity: Capacity,
    stamp_map: StampMap,
    policy: RetryPolicy,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    accelerate: bool | None = None,
) -> RunResult:
    """Runs a load against targets and queues; ``capacity`` and ``stamp_map`` are left as they are in the end.

    After Ctrl-C the result holds what was run by then and is not ``complete``.
    ``accelerate``: with numba (ImportError where it is missing), without it, or None for with it above
    ``MANY_REQUESTS`` if it is there; the integers are the same. ``trace`` gets (at_ns, request, stage, step, try,
    status, latency_ns) of each attempt. ``seed`` decides nothing here: chance lies in the load, the policy and
    ``capacity``.
    """
    return _Run(load, scripts, capacity, stamp_map, policy, trace, accelerate).run()


class _Arrivals:
    """The batches of a load, cut at moments."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self._batch: Batch | None = next(batches, None)
        self._place = 0

    def next_ns(self) -> int | None:
        """When the next request arrives."""
        return None if self._batch is None else int(self._batch.at_ns[self._place])

    def until(self, end_ns: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Requests before a moment: their numbers, moments, classes and instances."""
        import numpy as np

        found: list[tuple[Ints, Ints, Ints, Ints]] = []
        while (batch := self._batch) is not None:
            start = self._place
            stop = int(np.searchsorted(batch.at_ns, end_ns))
            if stop > start:
                part = slice(start, stop)
                numbers = np.arange(batch.first + start, batch.first + stop, dtype=np.int64)
                found.append((numbers, batch.at_ns[part], batch.classes[part], batch.instances[part]))
            if stop < len(batch):
                self._place = max(start, stop)
                break
            self._batch, self._place = next(self._batches, None), 0
        if len(found) == 1:
            return found[0]
        if not found:
            empty = np.empty(0, np.int64)
            return empty, empty, empty, empty
        numbers, moments, classes, instances = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return numbers, moments, classes, instances


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
        from pkadvisor.stress import fluid_numpy
        from pkadvisor.stress.fluid_counts import Counts
        from pkadvisor.stress.fluid_flights import Calendar
        from pkadvisor.stress.fluid_state import State

        self._load, self._scripts, self._capacity, self._map = load, scripts, capacity, stamp_map
        self._policy, self._trace = policy, trace
        size = len(scripts.space.keys)
        self._table = Table(scripts, capacity, range_lows(stamp_map.ranges))
        self._state = State(capacity, size)
        self._judge: Judge = fluid_numpy.judge
        self._take_map()
        options, slots = capacity.options, 1
        if policy.delay_ns_min is not None:
            shortest = policy.delay_ns_min + min(options.rejection_ns, options.operation_timeout_ns)
            slots = -(-WINDOW_NS // max(1, min(WINDOW_NS, shortest)))
        self._calendar = Calendar(slots)
        watched = stamp_map.next_change_ns() is not None
        self._counts = Counts(scripts.classes, size, load.duration_ns, watched)
        self._events: list[MapEvent] = []
        self._accelerate = accelerate
        if accelerate:
            self._use_numba()

    def run(self) -> RunResult:
        """From the first arrival to the last retry; after Ctrl-C what came of it by then."""
        self._reached = 0
        try:
            return self._run()
        except KeyboardInterrupt:
            return cut_short(self._counts.result(self._events, False), self._reached)

    def _run(self) -> RunResult:
        arrivals, duration = _Arrivals(self._load.batches()), self._load.duration_ns
        end = 0
        while True:
            due = min((at for at in (arrivals.next_ns(), self._calendar.next_ns()) if at is not None), default=None)
            change = self._map.next_change_ns()
            if change is not None and (change <= due if due is not None else change < duration):
                self._change(change)
                continue
            if due is None:
                break
            epoch = bisect_right(self._scripts.ends_ns, due)
            ends = [self._calendar.slot_end(due), *self._scripts.ends_ns[epoch : epoch + 1]]
            end = min(ends if change is None else [*ends, change])
            self._window(due, end, epoch, arrivals.until(end))
            self._reached = end
            if self._accelerate is None and self._counts.requests_done > MANY_REQUESTS:
                self._accelerate = False
                self._use_numba(optional=True)
        self._state.give_all(end)
        return self._counts.result(self._events, True)

    def _use_numba(self, *, optional: bool = False) -> None:
        try:
            import numba  # noqa: F401
        except ImportError:
            if not optional:
                raise
            return
        from pkadvisor.stress import fluid_numba

        if self._fits:
            self._judge = fluid_numba.judge

    def _take_map(self) -> None:
        from pkadvisor.stress import fluid_numpy

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

    def _window(self, start: int, end: int, epoch: int, arrived: tuple[Ints, Ints, Ints, Ints]) -> None:

        from pkadvisor.stress.fluid_flights import spread

        table, counts = self._table, self._counts
        requests, moments, classes, instances = arrived
        script = table.numbers(epoch, classes, instances)
        counts.arrive(classes)
        if table.empty:
            none = table.first[script] == table.end[script]
            if none.any():
                counts.serve_at_once(classes[none])
                requests, moments, script = requests[~none], moments[~none], script[~none]
        plan = spread(table, self._calendar.take(end), requests, moments, script, end)
        code, latency = self._judged(plan, start)
        sent = code != NOT_SENT
        every = bool(sent.all())
        rows, codes, took = (plan.row, code, latency) if every else (plan.row[sent], code[sent], latency[sent])
        owner = plan.owner if every else plan.owner[sent]
        if len(rows):
            of_range = self._state.range_of[table.columns[column.LOW][rows]]
            counts.attempts(
                start, table, rows, table.of_class[plan.script[owner]], codes, took, of_range, self._numbers
            )
            self._state.count(codes, rows, of_range, table)
        self._go_on(plan, code, latency)

    def _judged(self, plan: Any, start: int) -> tuple[Ints, Ints]:
        """Codes and latencies of the attempts of a plan, in its order; judged in the order of the store's tickets."""
        import numpy as np

        from pkadvisor.stress.fluid_numpy import Window

        count = len(plan.at)
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        capacity = self._capacity
        ticket = capacity.tally.arrived + self._state.attempts
        seed = capacity.times.seed
        if plan.in_order:
            window = Window(plan.at, plan.row, plan.owner, len(plan.request), ticket, seed)
            code, latency = self._judge(window, self._table, self._state)
            order = None
        else:
            packed = np.sort(((plan.at - start) << 33) | np.arange(count, dtype=np.int64))
            order = packed & ((1 << 33) - 1)
            window = Window(plan.at[order], plan.row[order], plan.owner[order], len(plan.request), ticket, seed)
            judged, took = self._judge(window, self._table, self._state)
            code, latency = np.empty_like(judged), np.empty_like(took)
            code[order], latency[order] = judged, took
        if self._trace is not None:
            self._note(plan, order, code, latency)
        return code, latency

    def _note(self, plan: Any, order: Ints | None, code: Ints, latency: Ints) -> None:
        assert self._trace is not None
        table = self._table
        status = {ACCEPTED: 200, TIMED_OUT: 500}
        for i in range(len(code)) if order is None else order.tolist():
            if code[i] == NOT_SENT:
                continue
            row, owner = plan.row[i], plan.owner[i]
            step = row - table.first[plan.script[owner]]
            stage, answer = table.rows[row, column.STAGE], status.get(int(code[i]), 503)
            note = (plan.at[i], plan.request[owner], stage, step, plan.tries[i], answer, latency[i])
            self._trace.append(tuple(map(int, note)))  # type: ignore[arg-type]

    def _go_on(self, plan: Any, code: Ints, latency: Ints) -> None:
        """Requests that are done are counted; the others become flights."""
        from pkadvisor.stress.fluid_flights import landed

        after = landed(self._table, plan, code, latency, self._delays)
        of_class = self._table.of_class
        if len(after.served):
            served = after.served
            self._counts.serve(plan.request[served], of_class[plan.script[served]], after.latency)
        if len(after.lost):
            self._counts.lose(of_class[plan.script[after.lost]])
        self._calendar.put(after.flights, after.attempts)

    def _delays(self, tried: Ints, requests: Ints, steps: Ints, status: Ints) -> Ints:
        """The policy's delays; −1 where it gives up."""
        import numpy as np

        policy = self._policy
        if policy.delay_ns_min is None:
            return np.full(len(tried), -1, np.int64)
        many = getattr(policy, "delays_ns", None)
        if many is not None:
            found: Ints = many(tried, requests, steps, status)
            return found
        each = zip(tried.tolist(), requests.tolist(), steps.tolist(), status.tolist(), strict=True)
        delays = (policy.delay_ns(*one) for one in each)
        return np.array([-1 if delay is None else delay for delay in delays], np.int64)
