"""Requests on their way through a store that carries operations out: what is due, and what an answer leads to.

    arrive ──► stage of operations ──take──► sent by others ──answered──► next stage … ──► served
                   ▲                                          │
                   └──503, 500: again after a delay ◄──policy─┘──► lost

The course is that of ``pkadvisor.stress``. It reads no clock and asks no store: moments and answers are told.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import field
from typing import NamedTuple, Protocol

from pkadvisor.stress.requests.retry import GivenUp, RetryPolicy
from pkadvisor.stress.simulate.recorder import Recorder
from pkadvisor.table.store import Operation, Outcome
from pkadvisor.values import dataclass

Program = Generator[tuple["Operation", ...], tuple["Outcome", ...], None]
TURNED_AWAY = (500, 503)
"""Answers after which the policy is asked; every other one is taken."""


class Sends(Protocol):
    """What clients send: :class:`pkadvisor.stress.requests.programs.Programs`."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    def start(self, class_number: int, instance: int, request: int, at_ns: int) -> Program:
        """The program of one request: it yields stages and is sent their outcomes."""


class Due(NamedTuple):
    """An operation that is to be sent: its moment, whose it is, and which try; ``step`` counts through all stages."""

    at_ns: int
    request: int
    stage: int
    step: int
    tried: int
    operation: Operation
    class_number: int


@dataclass(slots=True)
class _Flight:
    """A request under way: its program, the operations of its stage with the answers that were accepted."""

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
    last_ns: int = 0
    lost: bool = False


class StoreRequests:
    """All requests of a run; what they come to is told to the recorder."""

    def __init__(self, programs: Sends, policy: RetryPolicy, recorder: Recorder) -> None:
        self._programs, self._policy, self._recorder = programs, policy, recorder
        self._due: list[tuple[int, int, int, int, int]] = []
        self._flights: dict[int, _Flight] = {}

    @property
    def due_ns(self) -> int | None:
        """When the next operation is sent; None where none is."""
        return self._due[0][0] if self._due else None

    @property
    def waiting(self) -> int:
        """Operations that are sent later, retries among them."""
        return len(self._due)

    def arrive(self, number: int, at_ns: int, class_number: int, instance: int) -> None:
        """A request arrives."""
        self._recorder.counts[class_number].requests += 1
        program = self._programs.start(class_number, instance, number, at_ns)
        self._flights[number] = _Flight(class_number, program, at_ns)
        self._advance(number, None, at_ns)

    def take(self) -> Due:
        """What is due next; ``answered`` is called with it once."""
        at_ns, number, stage, index, tried = heapq.heappop(self._due)
        flight = self._flights[number]
        operation = flight.operations[index - flight.first]
        return Due(at_ns, number, stage, index, tried, operation, flight.class_number)

    def answered(self, due: Due, outcome: Outcome, answered_ns: int, ready_ns: int) -> bool:
        """An answer came at a moment, what follows it is sent at ``ready_ns``; whether its request ended with it."""
        flight = self._flights[due.request]
        flight.answered_ns = max(flight.answered_ns, answered_ns)
        flight.last_ns = max(flight.last_ns, due.at_ns)
        if outcome.status in TURNED_AWAY:
            delay_ns = self._policy.delay_ns(due.tried, due.request, due.step, outcome.status)
            if delay_ns is not None:
                again = (answered_ns + delay_ns, due.request, due.stage, due.step, due.tried + 1)
                heapq.heappush(self._due, again)
                return False
            flight.lost = True
        else:
            flight.answers[due.step - flight.first] = outcome
            flight.ready_ns = max(flight.ready_ns, ready_ns)
        flight.pending -= 1
        if not flight.pending:
            flight.latency_ns += flight.answered_ns - flight.sent_ns
            self._stage_ended(due.request, flight)
        return due.request not in self._flights

    def check(self) -> None:
        """Whatever came is served, lost, or under way."""
        for class_number, counts in enumerate(self._recorder.counts):
            under_way = sum(flight.class_number == class_number for flight in self._flights.values())
            assert counts.requests == counts.served + counts.lost + under_way, "a request is somewhere"

    def _stage_ended(self, number: int, flight: _Flight) -> None:
        if flight.lost:
            flight.program.close()
            self._lose(number, flight)
            return
        answers = tuple(outcome for outcome in flight.answers if outcome is not None)
        assert len(answers) == len(flight.operations), "every step of a stage that ended was answered"
        flight.stage += 1
        flight.first += len(answers)
        self._advance(number, answers, flight.ready_ns)

    def _lose(self, number: int, flight: _Flight) -> None:
        del self._flights[number]
        self._recorder.counts[flight.class_number].lost += 1

    def _advance(self, number: int, answers: tuple[Outcome, ...] | None, at_ns: int) -> None:
        """The next stage of a request is sent, or it has had its last."""
        flight = self._flights[number]
        try:
            operations = next(flight.program) if answers is None else flight.program.send(answers)
        except StopIteration:
            del self._flights[number]
            if answers is None:
                self._recorder.counts[flight.class_number].served += 1
            else:
                self._recorder.served(flight.class_number, number, flight.latency_ns, flight.last_ns)
            return
        except GivenUp:
            self._lose(number, flight)
            return
        assert operations, "a stage has steps"
        flight.operations, flight.answers = operations, [None] * len(operations)
        flight.sent_ns, flight.pending, flight.ready_ns, flight.answered_ns = at_ns, len(operations), at_ns, at_ns
        for place in range(len(operations)):
            heapq.heappush(self._due, (at_ns, number, flight.stage, flight.first + place, 1))
