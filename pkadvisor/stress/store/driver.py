"""A load on a table store with real rows: every operation is carried out, and what it answers can be audited.

The course of a request is that of ``pkadvisor.stress``; here its steps are operations and their answers, so that a
page is followed by its own token and an update carries the ETag that was read. A store in virtual time gets each
operation at its moment, one after the other in the order of their tickets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pkadvisor.engine.capacity.capacity import Bound, Capacity
from pkadvisor.engine.capacity.service_times import ServiceTimes
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.limits import Limits
from pkadvisor.stress.load.faults import ServerDown
from pkadvisor.stress.load.load import Load, arrivals_of
from pkadvisor.stress.placement.run_result import ClassCounts, RunResult
from pkadvisor.stress.requests.retry import RETRIES, RetryPolicy
from pkadvisor.stress.requests.scripts import KeySpace
from pkadvisor.stress.requests.steps import step_of
from pkadvisor.stress.simulate.measures import nominal_ns
from pkadvisor.stress.simulate.recorder import Recorder
from pkadvisor.stress.store.auditor import Auditor, AuditTicket
from pkadvisor.stress.store.late_commits import LateCommits
from pkadvisor.stress.store.servers_down import drive_with_faults
from pkadvisor.stress.store.store_requests import TURNED_AWAY, Due, Sends, StoreRequests
from pkadvisor.table.store import Operation, Outcome, TableStore

READ_PER_OPERATION = 30
"""Entities that the engine reads in the time of an operation: measured."""


def effort_of(operations: int, counts: Iterable[ClassCounts]) -> int:
    """What operations cost the engine, as operations that read nothing."""
    return operations + sum(c.entities_read for c in counts) // READ_PER_OPERATION


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
    ) -> None:
        self.recorder = Recorder(programs.classes, space, limits, duration_ns)
        self.operations = 0
        self.requests = StoreRequests(programs, policy, self.recorder)
        self._store, self._space = store, space
        self._capacity, self._begin_ns, self._auditor = capacity, begin_ns, auditor
        self._commits = LateCommits()
        self._times = capacity.times if capacity is not None else ServiceTimes(limits, EngineOptions())

    @property
    def effort(self) -> int:
        """Operations so far, and those that wait with the retries that they may need; entities that were read take as
        long as an operation for each ``READ_PER_OPERATION``."""
        return effort_of(self.operations + (1 + RETRIES) * self.requests.waiting, self.recorder.counts)

    def attempt(self) -> int | None:
        """Sends what is due next and looks at the answer; when the request that ended with it was answered."""
        due = self.requests.take()
        ticket, before = self._begun(due.operation)
        outcome = self._store.execute(due.operation, (self._begin_ns + due.at_ns) / MS)
        return self._ended(due, due.at_ns, ticket, before, outcome)

    async def attempt_beside_others(self, due: Due, at_ns: int, store: EmbeddedStore) -> None:
        """Sends what was taken at a moment, while other operations wait for a server."""
        ticket, before = self._begun(due.operation)
        outcome = await store.carry_out(due.operation)
        self._ended(due, at_ns, ticket, before, outcome)

    def check(self) -> None:
        """Every request is somewhere, and the answers are what they may be."""
        self.requests.check()
        if self._auditor is not None:
            self._auditor.check()

    # ------------------------------------------------------------------------------------------ inside

    def _begun(self, operation: Operation) -> tuple[AuditTicket | None, dict[Bound, int]]:
        """What is told of an operation before it is sent: to the auditor, and what was turned away by then."""
        ticket = self._auditor.begin(operation) if self._auditor is not None else None
        return ticket, dict(self._capacity.tally.rejected) if self._capacity is not None else {}

    def _ended(
        self, due: Due, at_ns: int, ticket: AuditTicket | None, before: dict[Bound, int], outcome: Outcome
    ) -> int | None:
        """Counts an answer, and goes on; when the request that ended with it was answered."""
        self.operations += 1
        if self._auditor is not None and ticket is not None:
            self._auditor.end(ticket, outcome)
        bound = Bound.NONE
        if outcome.status == 503 and self._capacity is not None:
            after = self._capacity.tally.rejected
            bound = next((b for b in Bound if after.get(b, 0) > before.get(b, 0)), Bound.NONE)
        step = step_of(due.operation, outcome, self._space)
        status = outcome.status if outcome.status in (*TURNED_AWAY, 412) else 200
        self.recorder.attempt(due.class_number, step, at_ns, 0, (status, bound, outcome.latency_ns))
        outcome = self._commits.seen(due.operation, outcome, at_ns)
        answered_ns = at_ns + outcome.latency_ns
        ended = self.requests.answered(due, outcome, answered_ns, at_ns + nominal_ns(self._times, step))
        return answered_ns if ended else None


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
    effort_max: int | None = None,
    faults: Sequence[ServerDown] = (),
) -> tuple[RunResult, int]:
    """Runs a load on a store; (what came of it, operations carried out).

    No more requests come once they took an effort of ``effort_max``. Under ``faults``, each of a server with a name,
    operations wait for a server beside each other (``servers_down``); the store is then the embedded engine.

    ``capacity`` is the store's own, where it has one: it says what turned an operation away. The run is not complete
    where it was interrupted (Ctrl-C); what is under way then is neither served nor lost.
    """
    run = StoreRun(
        programs, store, space, limits, policy, load.duration_ns,
        capacity=capacity, begin_ns=begin_ns, auditor=auditor,
    )  # fmt: skip
    complete = True
    try:
        if faults:
            assert isinstance(store, EmbeddedStore), "only servers of the engine fail"
            drive_with_faults(run, store, arrivals_of(load), begin_ns, faults)
        else:
            _drive(run, arrivals_of(load), effort_max)
    except KeyboardInterrupt:
        complete = False
    run.check()
    return run.recorder.result((), complete), run.operations


def _drive(run: StoreRun, arrivals: Iterator[tuple[int, int, int, int]], effort_max: int | None) -> None:
    arrival = next(arrivals, None)
    while arrival is not None or run.requests.due_ns is not None:
        if effort_max is not None and arrival is not None and run.effort >= effort_max:
            arrival = None
            continue
        due_ns = run.requests.due_ns
        if arrival is not None and (due_ns is None or arrival[1] <= due_ns):
            run.requests.arrive(*arrival)
            arrival = next(arrivals, None)
        else:
            run.attempt()
