"""A load on a table store with real rows: every operation is carried out, and what it answers can be audited.

The course of a request is that of ``pkadvisor.stress``; here its steps are operations and their answers, so that a
page is followed by its own token and an update carries the ETag that was read. A store in virtual time gets each
operation at its moment, one after the other in the order of their tickets.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pkadvisor.engine.capacity.capacity import Bound, Capacity
from pkadvisor.engine.capacity.service_times import ServiceTimes
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.stress.course import Traced
from pkadvisor.stress.measures import nominal_ns
from pkadvisor.stress.recorder import Recorder
from pkadvisor.stress.steps import step_of

if TYPE_CHECKING:
    from pkadvisor.limits import Limits
    from pkadvisor.stress.auditor import Auditor
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stress.scripts import KeySpace
    from pkadvisor.table.store import Operation, Outcome, TableStore

Program = Generator[tuple["Operation", ...], tuple["Outcome", ...], None]


class Sends(Protocol):
    """What clients send: :class:`pkadvisor.stress.programs.Programs`."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    def start(self, class_number: int, instance: int, request: int, at_ns: int) -> Program:
        """The program of one request: it yields stages and is sent their outcomes."""


@dataclass(slots=True)
class _Flight:
    """A request under way: its program, the operations of its stage with the answers that were accepted."""

    number: int
    class_number: int
    program: Program
    sent_ns: int
    stage: int = 0
    first: int = 0
    operations: tuple[Operation, ...] = ()
    answers: list[Outcome | None] = field(default_factory=list)
    pending: int = 0
    ready_ns: int = 0
    answered_ns: int = 0
    latency_ns: int = 0
    lost: bool = False


class StoreRun:
    """Requests on their way through a store, from outside. ``begin_ns`` is when the run begins in the store's time."""

    def __init__(
        self,
        programs: Sends,
        store: TableStore,
        space: KeySpace,
        limits: Limits,
        policy: RetryPolicy,
        duration_ns: int,
        *,
        capacity: Capacity | None = None,
        begin_ns: int = 0,
        auditor: Auditor | None = None,
        trace: list[Traced] | None = None,
    ) -> None:
        self.recorder = Recorder(programs.classes, space, limits, duration_ns)
        self.operations = 0
        self._programs, self._store, self._space, self._policy = programs, store, space, policy
        self._capacity, self._begin_ns, self._auditor, self._trace = capacity, begin_ns, auditor, trace
        self._times = capacity.times if capacity is not None else ServiceTimes(limits, EngineOptions())
        self._due: list[tuple[int, int, int, int, int]] = []
        self._flights: dict[int, _Flight] = {}

    @property
    def due_ns(self) -> int | None:
        """When the next operation is sent; None where none is."""
        return self._due[0][0] if self._due else None

    @property
    def read(self) -> int:
        """Entities that were read so far."""
        return sum(counts.entities_read for counts in self.recorder.counts)

    def arrive(self, number: int, at_ns: int, class_number: int, instance: int) -> None:
        """A request arrives."""
        self.recorder.counts[class_number].requests += 1
        program = self._programs.start(class_number, instance, number, at_ns)
        flight = self._flights[number] = _Flight(number, class_number, program, at_ns)
        self._advance(flight, None, at_ns)

    def attempt(self) -> None:
        """Sends what is due next and looks at the answer."""
        at_ns, number, stage, index, tried = heapq.heappop(self._due)
        flight = self._flights[number]
        place = index - flight.first
        operation = flight.operations[place]
        outcome, bound = self._sent(operation, at_ns)
        step = step_of(operation, outcome, self._space)
        refused = outcome.status in (500, 503)
        status = outcome.status if refused else 200
        self.recorder.attempt(flight.class_number, step, at_ns, 0, (status, bound, outcome.latency_ns))
        if self._trace is not None:
            self._trace.append((at_ns, number, stage, index, tried, status, outcome.latency_ns))
        answered_ns = at_ns + outcome.latency_ns
        flight.answered_ns = max(flight.answered_ns, answered_ns)
        if refused:
            delay_ns = self._policy.delay_ns(tried, number, index, status)
            if delay_ns is not None:
                heapq.heappush(self._due, (answered_ns + delay_ns, number, stage, index, tried + 1))
                return
            flight.lost = True
        else:
            flight.answers[place] = outcome
            flight.ready_ns = max(flight.ready_ns, at_ns + nominal_ns(self._times, step))
        flight.pending -= 1
        if not flight.pending:
            flight.latency_ns += flight.answered_ns - flight.sent_ns
            self._stage_ended(flight)

    def check(self) -> None:
        """Whatever came is served, lost, or under way."""
        for class_number, counts in enumerate(self.recorder.counts):
            under_way = sum(flight.class_number == class_number for flight in self._flights.values())
            assert counts.requests == counts.served + counts.lost + under_way, "a request is somewhere"
        if self._auditor is not None:
            self._auditor.check()

    # ------------------------------------------------------------------------------------------ inside

    def _sent(self, operation: Operation, at_ns: int) -> tuple[Outcome, Bound]:
        ticket = self._auditor.begin(operation) if self._auditor is not None else None
        before = dict(self._capacity.tally.rejected) if self._capacity is not None else {}
        outcome = self._store.execute(operation, (self._begin_ns + at_ns) / MS)
        self.operations += 1
        if self._auditor is not None and ticket is not None:
            self._auditor.end(ticket, outcome)
        bound = Bound.NONE
        if outcome.status == 503 and self._capacity is not None:
            after = self._capacity.tally.rejected
            bound = next((b for b in Bound if after.get(b, 0) > before.get(b, 0)), Bound.NONE)
        return outcome, bound

    def _stage_ended(self, flight: _Flight) -> None:
        if flight.lost:
            flight.program.close()
            del self._flights[flight.number]
            self.recorder.counts[flight.class_number].lost += 1
            return
        answers = tuple(outcome for outcome in flight.answers if outcome is not None)
        assert len(answers) == len(flight.operations), "every step of a stage that ended was answered"
        flight.stage += 1
        flight.first += len(answers)
        self._advance(flight, answers, flight.ready_ns)

    def _advance(self, flight: _Flight, answers: tuple[Outcome, ...] | None, at_ns: int) -> None:
        """The next stage of a request is sent, or it has had its last."""
        try:
            operations = next(flight.program) if answers is None else flight.program.send(answers)
        except StopIteration:
            del self._flights[flight.number]
            if answers is None:
                self.recorder.counts[flight.class_number].served += 1
            else:
                self.recorder.served(flight.class_number, flight.number, flight.latency_ns)
            return
        assert operations, "a stage has steps"
        flight.operations, flight.answers = operations, [None] * len(operations)
        flight.sent_ns, flight.pending, flight.ready_ns, flight.answered_ns = at_ns, len(operations), at_ns, at_ns
        for place in range(len(operations)):
            heapq.heappush(self._due, (at_ns, flight.number, flight.stage, flight.first + place, 1))


def run_store(
    load: Load,
    programs: Sends,
    store: TableStore,
    space: KeySpace,
    limits: Limits,
    policy: RetryPolicy,
    *,
    capacity: Capacity | None = None,
    begin_ns: int = 0,
    auditor: Auditor | None = None,
    requests_max: int | None = None,
    read_max: int | None = None,
    trace: list[Traced] | None = None,
) -> tuple[RunResult, int]:
    """Runs a load, or its first ``requests_max`` requests, on a store; (what came of it, operations carried out).

    No more requests come once ``read_max`` entities were read (those that scans examined included).

    ``capacity`` is the store's own, where it has one: it says what turned an operation away. The run is not complete
    where it was interrupted (Ctrl-C); what is under way then is neither served nor lost.
    """
    run = StoreRun(
        programs, store, space, limits, policy, load.duration_ns,
        capacity=capacity, begin_ns=begin_ns, auditor=auditor, trace=trace,
    )  # fmt: skip
    complete = True
    try:
        _drive(run, _arrivals(load, requests_max), read_max)
    except KeyboardInterrupt:
        complete = False
    run.check()
    return run.recorder.result((), complete), run.operations


def _drive(run: StoreRun, arrivals: Iterator[tuple[int, int, int, int]], read_max: int | None) -> None:
    arrival = next(arrivals, None)
    while arrival is not None or run.due_ns is not None:
        if read_max is not None and arrival is not None and run.read >= read_max:
            arrival = None
            continue
        due_ns = run.due_ns
        if arrival is not None and (due_ns is None or arrival[1] <= due_ns):
            run.arrive(*arrival)
            arrival = next(arrivals, None)
        else:
            run.attempt()


def _arrivals(load: Load, most: int | None) -> Iterator[tuple[int, int, int, int]]:
    """Number, moment, class and parameters of each request."""
    for batch in load.batches():
        columns: Sequence[list[int]] = (batch.at_ns.tolist(), batch.classes.tolist(), batch.instances.tolist())
        for place, (at_ns, class_number, instance) in enumerate(zip(*columns, strict=True)):
            if most is not None and batch.first + place >= most:
                return
            yield batch.first + place, at_ns, class_number, instance
