"""A load in real time on a store in memory: what is sent, retried, lost, stopped, audited and left behind."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from time import monotonic_ns, sleep

import pytest

from pkadvisor.engine.open_store import open_virtual
from pkadvisor.errors import AdvisorError, InputError, UsageError
from pkadvisor.limits import default_limits
from pkadvisor.stress.store import real_driver
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.stress.store.own_table import OwnTable, groups_of, table_name
from pkadvisor.stress.store.real_driver import GONE, INTERRUPTED, MOST, REFUSED, RealRun, run_real
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    CreateTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    ListTables,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
)
from tests.stress.small import MS, NEVER_AGAIN, SECOND, Listed, Waits, limits, space

TABLE = "things"
DURATION_NS = SECOND // 4


class Locked:
    """The engine for several threads, one after the other, each answer a little late; ``spoil`` may answer instead."""

    def __init__(self, spoil: Callable[[int, Operation], Outcome | None] = lambda number, operation: None) -> None:
        self.store = open_virtual(1)
        self.sent: list[Operation] = []
        self.most = self._under_way = self._clock_ms = 0
        self._spoil, self._lock = spoil, threading.Lock()
        self.store.execute(CreateTable(TABLE))

    def execute(self, operation: Operation, at_ms: float) -> Outcome:
        with self._lock:
            self.sent.append(operation)
            number = len(self.sent)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        sleep(0.0005)
        with self._lock:
            found = self._spoil(number, operation)
            self._clock_ms += 1
            outcome = found if found is not None else self.store.execute(operation, self._clock_ms)
        sleep(0.0005)
        with self._lock:
            self._under_way -= 1
        return outcome


class Changing:
    """Class 0 inserts or reads a key again, class 1 reads and writes one under If-Match until it succeeds."""

    classes = ("put and get", "change")

    def start(
        self, class_number: int, instance: int, request: int, at_ns: int
    ) -> Generator[tuple[Operation, ...], tuple[Outcome, ...], None]:
        if class_number == 0:
            key = EntityKey(f"{instance:06d}", f"{request}")
            yield (Insert(TABLE, Entity(key, {"n": Property(EdmType.INT32, request)})),)
            answers = yield (Get(TABLE, key), Query(TABLE, f"PartitionKey eq '{key.partition_key}'"))
            assert answers[0].entities[0].properties["n"].value == request
            return
        while True:
            (found,) = yield (Get(TABLE, EntityKey("000000", "shared")),)
            entity = found.entities[0]
            new = Entity(entity.key, {"n": Property(EdmType.INT32, int(entity.properties["n"].value) + 1)})
            (answer,) = yield (Update(TABLE, new, entity.etag),)
            if answer.status != 412:
                return


SHARED = Entity(EntityKey("000000", "shared"), {"n": Property(EdmType.INT32, 0)})


def load_of(count: int, kinds: int = 2) -> Listed:
    return Listed(
        tuple((i * DURATION_NS // count, i % kinds, i % 3) for i in range(count)), DURATION_NS, Changing.classes
    )


def ran(store: Locked, load: Listed, **given: object) -> RealRun:
    options = {"concurrency": 8, "operations_max": 10_000, "policy": NEVER_AGAIN} | given
    policy = options.pop("policy")
    return run_real(load, Changing(), store, space(3), limits(), policy, **options)  # type: ignore[arg-type]


def test_changes_at_once_are_all_made_and_nothing_is_wrong() -> None:
    store, auditor = Locked(), Auditor()
    store.store.execute(Insert(TABLE, SHARED))
    auditor.stored(TABLE, [SHARED])
    run = ran(store, load_of(80), auditor=auditor)
    put, change = run.result.classes.values()
    assert (put.requests, put.served, put.lost) == (40, 40, 0)
    assert (change.requests, change.served, change.lost) == (40, 40, 0)
    assert run.result.complete and not run.stopped
    assert auditor.violations == []
    assert run.operations == len(store.sent) == auditor.operations
    assert put.attempts == 120 and put.entities_written == 40
    assert change.attempts == 2 * (40 + change.conflicts)
    assert change.entities_written == 40
    found = store.store.execute(Get(TABLE, SHARED.key), 1e6).entities[0]
    assert found.properties["n"].value == 40, "no change was lost"
    assert 1 < store.most <= 8
    assert len(put.latencies_ns) == 40 and min(put.latencies_ns) > 2 * MS


def test_no_more_are_under_way_than_may_be_and_lateness_is_told() -> None:
    slow = Locked(lambda number, operation: sleep(0.02))
    run = ran(slow, load_of(60, 1), concurrency=2)
    assert slow.most == 2
    assert not run.kept_up and run.late_share > 0.5
    assert run.late_ns_max > 100 * MS
    assert run.result.complete, "late is not lost"
    # Waiting for a thread is part of what a request takes.
    (counts, _) = run.result.classes.values()
    assert max(counts.latencies_ns) >= run.late_ns_max


def test_refusals_are_sent_again_as_the_policy_says() -> None:
    def third(number: int, operation: Operation) -> Outcome | None:
        return Outcome(503, "ServerBusy") if number % 3 == 0 else None

    store = Locked(third)
    run = ran(store, load_of(30, 1), policy=Waits((MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS)))
    (counts, _) = run.result.classes.values()
    assert counts.served == 30 and counts.lost == 0
    assert sum(counts.throttled.values()) == len(store.sent) // 3
    assert counts.attempts == counts.accepted + sum(counts.throttled.values()) == len(store.sent)
    lost = ran(Locked(third), load_of(30, 1))
    (counts, _) = lost.result.classes.values()
    assert counts.lost > 0 and counts.served + counts.lost == 30


def test_an_uncertain_write_may_be_there_or_not() -> None:
    """500 after carrying out, 500 without: the next try is answered 409 or 204, and both are right."""
    store = Locked()

    def lost_answers(number: int, operation: Operation) -> Outcome | None:
        if isinstance(operation, Insert) and number % 2:
            if number % 4 == 1:
                store.store.execute(operation, number)
            return Outcome(500, "OperationTimedOut")
        return None

    store._spoil = lost_answers
    auditor = Auditor()
    run = ran(store, load_of(40, 1), policy=Waits((MS,) * 12), auditor=auditor)
    assert auditor.violations == []
    (counts, _) = run.result.classes.values()
    assert counts.timed_out > 0 and counts.served == 40


def test_a_wrong_answer_is_found() -> None:
    def stale(number: int, operation: Operation) -> Outcome | None:
        if isinstance(operation, Get):
            return Outcome(
                200,
                entities=(
                    Entity(operation.key, {"n": Property(EdmType.INT32, int(operation.key.row_key))}, etag="W/old"),
                ),
            )
        return None

    auditor = Auditor()
    ran(Locked(stale), load_of(10, 1), auditor=auditor)
    assert auditor.violations_total == 10
    assert "something that it never was" in auditor.violations[0]


def test_it_stops_where_it_may_send_no_more() -> None:
    store = Locked()
    run = ran(store, load_of(100, 1), operations_max=37)
    assert (run.stopped, run.operations, len(store.sent)) == (MOST, 37, 37)
    assert not run.result.complete
    assert sum(counts.attempts for counts in run.result.classes.values()) == 37


class AtOnce:
    """In place of threads: each answer is there as soon as its operation is sent."""

    def __init__(self, store: Locked, count: int) -> None:
        self.under_way, self._store, self._answers = 0, store, deque[real_driver._Answer]()

    def send(self, job: real_driver._Job) -> None:
        self.under_way += 1
        sent_ns = monotonic_ns()
        outcome = self._store.execute(job.due.operation, 0)
        self._answers.append(real_driver._Answer(job, sent_ns, monotonic_ns(), outcome))

    def answer(self, timeout_s: float) -> real_driver._Answer | None:
        if not self._answers:
            return None
        self.under_way -= 1
        return self._answers.popleft()

    def recall(self) -> int:
        return 0

    def close(self, patience_s: float) -> None:
        assert not self._answers, "nothing that was answered is forgotten"


def test_answers_that_are_there_when_the_end_comes_are_booked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_driver, "_Threads", AtOnce)
    load = Listed(tuple((0, 0, i % 3) for i in range(20)), DURATION_NS, Changing.classes)
    run = ran(Locked(), load, operations_max=7)
    assert (run.stopped, run.operations, len(run.attempts)) == (MOST, 7, 7)


def test_it_stops_where_nobody_answers_or_lets_it_in() -> None:
    gone = Locked(lambda number, operation: Outcome(503, "RequestNotSent") if number > 10 else None)
    run = ran(gone, load_of(100, 1))
    assert run.stopped == GONE and run.unanswered >= 20
    assert len(gone.sent) < 100
    refused = Locked(lambda number, operation: Outcome(403, "AuthenticationFailed") if number > 10 else None)
    run = ran(refused, load_of(100, 1))
    assert (run.stopped, run.why) == (REFUSED, "AuthenticationFailed")
    assert len(refused.sent) < 50 and not run.result.complete


def test_an_interruption_leaves_a_partial_result() -> None:
    def interrupted(number: int, operation: Operation) -> Outcome | None:
        if number == 20:
            raise KeyboardInterrupt
        return None

    store = Locked(interrupted)
    run = ran(store, load_of(100, 1))
    assert run.stopped == INTERRUPTED and not run.result.complete
    assert 19 <= sum(counts.attempts for counts in run.result.classes.values()) < 100


def test_what_breaks_a_thread_comes_out() -> None:
    def broken(number: int, operation: Operation) -> Outcome | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ran(Locked(broken), load_of(4, 1))


# ------------------------------------------------------------------------------------------------ a table of its own


def rows(count: int, partitions: int = 3) -> list[Entity]:
    return [
        Entity(EntityKey(f"{i % partitions:06d}", f"{i:05d}"), {"s": Property(EdmType.STRING, "x" * 100)})
        for i in range(count)
    ]


def test_groups_hold_each_row_once_and_are_as_large_as_they_may_be() -> None:
    given = rows(1000)
    groups = groups_of(TABLE, given, default_limits())
    assert sorted(w.entity.key for g in groups for w in g) == sorted(e.key for e in given)
    assert all(len({w.entity.key.partition_key for w in g}) == 1 and len(g) <= 100 for g in groups)
    assert len(groups) == 12
    heavy = [Entity(EntityKey("p", f"{i}"), {"s": Property(EdmType.STRING, "x" * 30_000)}) for i in range(100)]
    assert [len(g) for g in groups_of(TABLE, heavy, default_limits())] == [17, 17, 17, 17, 17, 15]


def test_a_table_of_its_own_is_made_filled_and_removed() -> None:
    store = Locked()
    table = OwnTable(store, "pkadvisorabc")
    table.create()
    table.load(groups_of("pkadvisorabc", rows(250), default_limits()), 4)
    assert len(store.store.execute(Query("pkadvisorabc"), 1e6).entities) == 250
    assert table.remove() and not table.there
    assert store.store.execute(ListTables(), 1e6).tables == (TABLE,)
    assert table.operations == len(store.sent)


def test_a_table_of_somebody_else_is_not_touched() -> None:
    store = Locked()
    table = OwnTable(store, TABLE)
    with pytest.raises(UsageError, match="exists already"):
        table.create()
    assert table.remove()
    assert store.sent == [Query(TABLE, top=1)], "it looks, and that is all"


@pytest.mark.parametrize(
    ("outcome", "error", "says"),
    [
        (Outcome(403, "AuthenticationFailed"), UsageError, "refuses the credentials .403 AuthenticationFailed."),
        (Outcome(401), UsageError, "refuses the credentials"),
        (Outcome(503, "RequestNotSent"), InputError, "the endpoint cannot be reached"),
        (Outcome(500, "NoAnswer"), InputError, "does not answer like a table service"),
        (Outcome(400, "InvalidUri"), InputError, "400 InvalidUri"),
    ],
)
def test_an_endpoint_that_does_not_let_us_in(outcome: Outcome, error: type[AdvisorError], says: str) -> None:
    store = Locked(lambda number, operation: outcome)
    table = OwnTable(store, "pkadvisorabc", pause=lambda seconds: None)
    with pytest.raises(error, match=says):
        table.create()
    assert not any(isinstance(operation, CreateTable) for operation in store.sent)
    assert table.remove()


def test_a_table_whose_making_was_not_answered_is_removed() -> None:
    """The answer is lost and comes as 409 the next time: it is ours, since it was not there before."""
    lost: Iterator[bool] = iter([True])

    def spoil(number: int, operation: Operation) -> Outcome | None:
        if isinstance(operation, CreateTable) and next(lost, False):
            store.store.execute(operation, number)
            return Outcome(500, "NoAnswer")
        return None

    store = Locked()
    store._spoil = spoil
    table = OwnTable(store, "pkadvisorabc", pause=lambda seconds: None)
    table.create()
    assert table.there and table.remove()
    assert store.store.execute(ListTables(), 1e6).tables == (TABLE,)


def test_rows_that_are_refused_end_the_loading() -> None:
    store = Locked(
        lambda number, operation: Outcome(413, "RequestBodyTooLarge") if isinstance(operation, Group) else None
    )
    table = OwnTable(store, "pkadvisorabc")
    table.create()
    with pytest.raises(InputError, match="413 RequestBodyTooLarge"):
        table.load(groups_of("pkadvisorabc", rows(5000), default_limits()), 1)
    assert len([o for o in store.sent if isinstance(o, Group | InsertOrReplace)]) < 10
    assert table.remove()


def test_names_are_drawn_from_seed_and_start() -> None:
    names = {table_name(seed, start) for seed in range(3) for start in ("2026-11-22T04:00:00", "2026-11-22T04:00:01")}
    assert len(names) == 6
    assert all(name.startswith("pkadvisor") and len(name) == 17 and name.isalpha() and name.islower() for name in names)
    assert table_name(1, "x") == table_name(1, "x")
