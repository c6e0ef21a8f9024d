"""A load on a store that takes real time: every operation is sent at its moment, by so many threads at most.

    arrivals ──► due (by moment) ──► threads ──► answers ──► next stage, or again after the policy's delay, or served
                     one thread keeps the books; the others do nothing but ask and wait

The course of a request is that of ``pkadvisor.stress`` with one difference: the next stage is sent after the answers in
truth. A request's latency counts from the moment at which it was due, so what a client that is late adds is in it; how
late operations went out is told beside it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic_ns
from typing import NamedTuple

from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.limits import Limits
from pkadvisor.stress.load.load import Load, arrivals_of
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.requests.retry import RetryPolicy
from pkadvisor.stress.requests.scripts import KeySpace, Step
from pkadvisor.stress.requests.steps import step_of
from pkadvisor.stress.simulate.recorder import Recorder
from pkadvisor.stress.store.auditor import Auditor, AuditTicket
from pkadvisor.stress.store.store_requests import TURNED_AWAY, Due, Sends, StoreRequests
from pkadvisor.table.store import Operation, Outcome, TableStore
from pkadvisor.values import dataclass

SECOND = 1_000_000_000
LATE_NS = 50_000_000
"""An operation that is sent this much after its moment is late."""
LATE_SHARE = 0.01
"""A client keeps up while no more of its operations are late."""
UNANSWERED_MOST = 20
"""Operations in a row without an answer after which nobody is taken to be there."""
PATIENCE_S = 5.0
"""How long answers are waited for after an interruption."""
_POLL_S = 0.5

MOST, GONE, REFUSED, INTERRUPTED = "max-transactions", "no-answer", "refused", "interrupted"
"""Why a run ended early."""


class Attempt(NamedTuple):
    """One operation that was sent: when (ns since the run began), what it was, what came of it."""

    sent_ns: int
    step: Step
    operation: Operation
    status: int
    latency_ns: int
    late_ns: int


@dataclass(frozen=True, slots=True)
class RealRun:
    """What came of it. ``operations`` were sent; ``stopped`` is empty or says why the run ended early.

    ``unanswered``: operations that got no answer at all; they count as turned away or as too late.
    """

    result: RunResult
    operations: int
    attempts: tuple[Attempt, ...]
    stopped: str
    why: str
    unanswered: int

    @property
    def late_share(self) -> float:
        """Share of operations that were sent late."""
        return sum(a.late_ns > LATE_NS for a in self.attempts) / len(self.attempts) if self.attempts else 0.0

    @property
    def late_ns_max(self) -> int:
        """How late the latest was sent."""
        return max((a.late_ns for a in self.attempts), default=0)

    @property
    def kept_up(self) -> bool:
        """Whether the load was sent as it should be."""
        return self.late_share <= LATE_SHARE


class _Job(NamedTuple):
    """An operation on its way."""

    due: Due
    ticket: AuditTicket | None


class _Answer(NamedTuple):
    """Its answer, between two readings of the clock; or what broke the thread that asked."""

    job: _Job
    sent_ns: int
    answered_ns: int
    outcome: Outcome | None
    broken: BaseException | None = None


class _Threads:
    """Threads that ask a store. ``send`` and ``answer`` are for one thread alone."""

    def __init__(self, store: TableStore, count: int) -> None:
        self.under_way = 0
        self._store = store
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def send(self, job: _Job) -> None:
        """A free thread, or the next that is, sends it."""
        self.under_way += 1
        self._jobs.put(job)

    def answer(self, timeout_s: float) -> _Answer | None:
        """The next answer; None where none comes in time."""
        try:
            received = self._answers.get(timeout=timeout_s) if timeout_s > 0 else self._answers.get_nowait()
        except queue.Empty:
            return None
        self.under_way -= 1
        if received.broken is not None:
            raise received.broken
        return received

    def recall(self) -> int:
        """Takes back what no thread has taken yet; how many those were."""
        count = 0
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
                count += 1
        self.under_way -= count
        return count

    def close(self, patience_s: float) -> None:
        """Lets the threads go; one that still waits for its answer ends with the program."""
        for _ in self._threads:
            self._jobs.put(None)
        end = monotonic_ns() + round(patience_s * SECOND)
        for thread in self._threads:
            thread.join(max(0.0, (end - monotonic_ns()) / SECOND))

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            sent_ns = monotonic_ns()
            try:
                outcome = self._store.execute(job.due.operation, 0)
            except BaseException as error:
                self._answers.put(_Answer(job, sent_ns, monotonic_ns(), None, error))
            else:
                self._answers.put(_Answer(job, sent_ns, monotonic_ns(), outcome))


class _Books:
    """Requests under way and what is due; no thread and no clock but the moments that it is told."""

    def __init__(
        self, programs: Sends, space: KeySpace, policy: RetryPolicy, recorder: Recorder, auditor: Auditor | None
    ) -> None:
        self.recorder = recorder
        self.attempts: list[Attempt] = []
        self.unanswered = self.in_a_row = 0
        self.refused = ""
        self.requests = StoreRequests(programs, policy, recorder)
        self._space, self._auditor = space, auditor

    def take(self) -> _Job:
        """What is due next, on its way now."""
        due = self.requests.take()
        return _Job(due, self._auditor.begin(due.operation) if self._auditor is not None else None)

    def answered(self, job: _Job, outcome: Outcome, sent_ns: int, answered_ns: int) -> None:
        """An answer came in."""
        if self._auditor is not None and job.ticket is not None:
            self._auditor.end(job.ticket, outcome)
        due = job.due
        step = step_of(due.operation, outcome, self._space)
        status = outcome.status if outcome.status in (*TURNED_AWAY, 412) else 200
        self.recorder.attempt(due.class_number, step, sent_ns, 0, (status, Bound.NONE, outcome.latency_ns))
        late_ns = max(0, sent_ns - due.at_ns)
        self.attempts.append(Attempt(sent_ns, step, due.operation, outcome.status, outcome.latency_ns, late_ns))
        self._look_at(outcome)
        if not self.refused:  # else the run ends: no program is asked what it makes of a closed door
            self.requests.answered(due, outcome, answered_ns, answered_ns)

    def check(self) -> None:
        """Every request is somewhere, and the answers are what they may be."""
        self.requests.check()
        if self._auditor is not None:
            self._auditor.check()

    def _look_at(self, outcome: Outcome) -> None:
        """Whether somebody is there and lets us in."""
        if outcome.code in ("RequestNotSent", "NoAnswer"):
            self.unanswered += 1
            self.in_a_row += 1
        else:
            self.in_a_row = 0
        if outcome.status in (401, 403):
            self.refused = outcome.code or f"HTTP {outcome.status}"


def run_real(
    load: Load,
    programs: Sends,
    store: TableStore,
    space: KeySpace,
    limits: Limits,
    policy: RetryPolicy,
    *,
    concurrency: int,
    operations_max: int,
    auditor: Auditor | None = None,
) -> RealRun:
    """Runs a load on a store that may be asked by ``concurrency`` threads at once, at most ``operations_max`` times.

    It returns early where that bound is reached, where nobody answers any more, where the endpoint no longer lets the
    client in (401, 403), and after Ctrl-C; what is under way then is neither served nor lost.
    """
    recorder = Recorder(programs.classes, space, limits, load.duration_ns)
    books = _Books(programs, space, policy, recorder, auditor)
    threads = _Threads(store, concurrency)
    stopped, sent = "", 0
    try:
        stopped = _drive(books, threads, arrivals_of(load), operations_max)
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    finally:
        threads.close(PATIENCE_S)
    books.check()
    sent = len(books.attempts) + threads.under_way
    return RealRun(
        result=recorder.result((), complete=not stopped),
        operations=sent,
        attempts=tuple(books.attempts),
        stopped=stopped,
        why=books.refused,
        unanswered=books.unanswered,
    )


def _drive(books: _Books, threads: _Threads, arrivals: Iterator[tuple[int, int, int, int]], operations_max: int) -> str:
    """Sends everything at its moment and waits for all answers; why it ended early, or an empty text."""
    origin = monotonic_ns()
    arrival, sent, stopped = next(arrivals, None), 0, ""
    try:
        while not stopped:
            now = monotonic_ns() - origin
            while arrival is not None and arrival[1] <= now:
                books.requests.arrive(*arrival)
                arrival = next(arrivals, None)
            while books.requests.due_ns is not None and books.requests.due_ns <= now and not stopped:
                if sent >= operations_max:
                    stopped = MOST
                else:
                    threads.send(books.take())
                    sent += 1
            waiting = [
                at for at in (arrival[1] if arrival is not None else None, books.requests.due_ns) if at is not None
            ]
            if not waiting and not threads.under_way:
                return stopped
            wait_s = min(_POLL_S, max(0, min(waiting) - now) / SECOND) if waiting else _POLL_S
            answer = threads.answer(wait_s)
            while answer is not None:
                why = _noted(books, answer, origin)  # every answer is booked, also one that comes after the end
                stopped = stopped or why
                answer = threads.answer(0)
    finally:
        if stopped != MOST:
            threads.recall()
        end = monotonic_ns() + round(PATIENCE_S * SECOND)
        while threads.under_way and monotonic_ns() < end:
            answer = threads.answer(_POLL_S)
            if answer is not None:
                _noted(books, answer, origin)
        threads.recall()
    return stopped


def _noted(books: _Books, answer: _Answer, origin: int) -> str:
    """Books an answer; why the run has to stop after it, or an empty text."""
    assert answer.outcome is not None
    books.answered(answer.job, answer.outcome, answer.sent_ns - origin, answer.answered_ns - origin)
    if books.refused:
        return REFUSED
    return GONE if books.in_a_row >= UNANSWERED_MOST else ""
