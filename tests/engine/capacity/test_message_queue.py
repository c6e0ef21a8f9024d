"""The durable queue against a plain model, under races, and with a crash at each of its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pkadvisor.engine.options import SECOND, EngineOptions
from pkadvisor.engine.tables.message_queue import Message, MessageMissing, MessageQueue, ReceiptMismatch
from tests.engine.capacity.stepping import LostAnswer, SteppedRows, Stepper, run
from tests.engine.fakes import DictRows

PREFIX = b"account\0queue\0work\0"


def queue(rows: DictRows | SteppedRows | None = None) -> MessageQueue:
    return MessageQueue(rows if rows is not None else DictRows(), PREFIX)


def test_an_item_is_hidden_then_seen_again_then_deleted() -> None:
    q = queue()
    run(q.put("a", b"do it", 5))
    assert run(q.get(4)) == []  # not yet visible
    (first,) = run(q.get(5))
    assert (first.name, first.body, first.dequeue_count, first.put_ns) == ("a", b"do it", 1, 5)
    assert first.visible_ns == 5 + EngineOptions().visibility_timeout_ns
    assert run(q.get(first.visible_ns - 1)) == []
    (second,) = run(q.get(first.visible_ns))
    assert second.dequeue_count == 2
    with pytest.raises(ReceiptMismatch):
        run(q.delete(first))  # the slow worker
    assert run(q.length()) == 1
    run(q.delete(second))
    with pytest.raises(MessageMissing):
        run(q.delete(second))
    assert run(q.length()) == 0
    run(q.check())


def test_putting_again_under_a_name_changes_nothing() -> None:
    q = queue()
    run(q.put("a", b"one", 0))
    (taken,) = run(q.get(0))
    run(q.put("a", b"two", 1))
    run(q.check())
    (again,) = run(q.get(taken.visible_ns))
    assert (again.body, again.dequeue_count) == (b"one", 2)


@pytest.mark.parametrize(("taken", "delay"), [(False, 0), (False, 7), (True, 0), (True, 7)])
def test_an_item_that_lived_its_time_is_not_in_the_way_of_a_new_one(taken: bool, delay: int) -> None:
    """Nobody came by to remove it: what is put under its name now must not go with it."""
    q = queue()
    run(q.put("a", b"old", 0, live_ns=10))
    held = run(q.get(0, hide_ns=5)) if taken else []
    run(q.put("a", b"new", 10, delay_ns=delay, live_ns=100))
    run(q.check())
    assert run(q.length()) == 1
    for message in held:
        with pytest.raises(ReceiptMismatch):
            run(q.delete(message))
    (found,) = run(q.get(10 + delay))
    assert (found.body, found.dequeue_count, found.put_ns) == (b"new", 1, 10)
    run(q.delete(found))
    run(q.check())


def test_an_update_keeps_the_progress_and_renews_the_receipt() -> None:
    q = queue()
    run(q.put("a", b"0", 0))
    (taken,) = run(q.get(0))
    later = run(q.update(taken, b"1", 10, 5))
    assert later == replace(taken, body=b"1", visible_ns=15, receipt=later.receipt)
    same = run(q.update(later, b"2", 10, 5))  # the same moment again
    with pytest.raises(ReceiptMismatch):
        run(q.update(later, b"3", 11, 5))
    run(q.check())
    assert run(q.get(14)) == []
    (seen,) = run(q.get(15))
    assert (seen.body, seen.dequeue_count) == (b"2", 2)
    assert seen.receipt not in (taken.receipt, later.receipt, same.receipt)


def test_items_come_in_the_order_of_becoming_visible_and_go_when_their_time_is_over() -> None:
    q = queue()
    run(q.put("late", b"", 0, delay_ns=20))
    run(q.put("early", b"", 0, delay_ns=10))
    run(q.put("short", b"", 0, live_ns=15))
    assert [m.name for m in run(q.get(12, most=9, hide_ns=1))] == ["short", "early"]
    assert [m.name for m in run(q.get(30, most=9))] == ["early", "late"]
    assert run(q.length()) == 2
    assert run(q.get(30, most=0)) == []


def test_queues_beside_each_other_do_not_meet() -> None:
    rows = DictRows()
    one, two = MessageQueue(rows, b"q\0one\0"), MessageQueue(rows, b"q\0two\0")
    run(one.put("a", b"1", 0))
    run(two.put("a", b"2", 0))
    assert [m.body for m in run(two.get(0, most=5))] == [b"2"]
    assert run(one.length()) == run(two.length()) == 1


def test_two_workers_at_once_never_take_the_same_item_twice() -> None:
    """All interleavings of two gets of one item: one gets it, whoever comes first."""
    for order in range(2**6):
        rows = SteppedRows()
        q = queue(rows)
        run(q.put("a", b"", 0))
        workers = [Stepper(q.get(0)), Stepper(q.get(0))]
        for bit in range(6):
            workers[order >> bit & 1].step()
        for worker in workers:
            while worker.step():
                pass
        assert sorted(len(worker.value) for worker in workers) == [0, 1]
        run(q.check())


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_crash_at_each_write_loses_no_item_and_delivers_it_again(carried_out: bool) -> None:
    """At least once: whichever write fails or loses its answer, the item is worked on before it is gone."""
    finished = False
    for broken in count():
        rows = SteppedRows()
        (rows.lose if carried_out else rows.drop).add(broken)
        q, now, worked = queue(rows), 0, 0
        while True:  # the client asks until it is answered; its name makes that safe
            try:
                run(q.put("a", b"x", now))
                break
            except LostAnswer:
                run(q.check())
        for _ in range(4):
            try:
                for message in run(q.get(now)):
                    worked += 1
                    run(q.delete(message))
            except LostAnswer:
                run(q.check())
            now += 40 * SECOND
        run(q.check())
        assert worked >= 1, broken
        assert worked <= 2, broken
        assert run(q.length()) == 0
        if rows.writes <= broken:
            finished = True
            break
    assert finished


# ------------------------------------------------------------------------------------------------ model


@dataclass
class Known:
    body: bytes
    visible_ns: int
    expires_ns: int
    dequeues: int
    receipt: int


class QueueMachine(RuleBasedStateMachine):
    """The queue does what a dictionary of items would."""

    @initialize(batch=st.integers(1, 4))
    def start(self, batch: int) -> None:
        self.queue, self.now = queue(DictRows(batch=batch)), 100
        self.known: dict[str, Known] = {}
        self.held: list[Message] = []

    @rule(name=st.sampled_from("abcdef"), body=st.binary(max_size=3), delay=st.integers(0, 9), live=st.integers(5, 60))
    def put(self, name: str, body: bytes, delay: int, live: int) -> None:
        run(self.queue.put(name, body, self.now, delay_ns=delay, live_ns=live))
        new = Known(body, self.now + delay, self.now + live, 0, 0)
        if self.known.setdefault(name, new).expires_ns <= self.now:
            self.known[name] = new

    @rule(most=st.integers(1, 4), hide=st.integers(1, 12))
    def get(self, most: int, hide: int) -> None:
        expected = []
        for name, item in sorted(self.known.items(), key=lambda each: (each[1].visible_ns, each[0])):
            if item.visible_ns > self.now or len(expected) == most:
                continue
            if item.expires_ns <= self.now:
                del self.known[name]
                continue
            item.dequeues += 1
            item.visible_ns = self.now + hide
            expected.append((name, item.body, item.dequeues, item.visible_ns))
        taken = run(self.queue.get(self.now, most=most, hide_ns=hide))
        assert [(m.name, m.body, m.dequeue_count, m.visible_ns) for m in taken] == expected
        for message in taken:
            self.known[message.name].receipt = message.receipt
        self.held += taken

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from(self.held))
        item = self.known.get(message.name)
        if item is None:
            with pytest.raises(MessageMissing):
                run(self.queue.delete(message))
        elif item.receipt != message.receipt:
            with pytest.raises(ReceiptMismatch):
                run(self.queue.delete(message))
        else:
            run(self.queue.delete(message))
            del self.known[message.name]

    @precondition(lambda self: self.held)
    @rule(data=st.data(), body=st.binary(max_size=3), hide=st.integers(0, 12))
    def update(self, data: st.DataObject, body: bytes, hide: int) -> None:
        message = data.draw(st.sampled_from(self.held))
        item = self.known.get(message.name)
        if item is None or item.receipt != message.receipt:
            with pytest.raises(MessageMissing if item is None else ReceiptMismatch):
                run(self.queue.update(message, body, self.now, hide))
            return
        later = run(self.queue.update(message, body, self.now, hide))
        item.body, item.visible_ns, item.receipt = body, self.now + hide, later.receipt
        self.held.append(later)

    @rule(passed=st.integers(0, 8))
    def wait(self, passed: int) -> None:
        self.now += passed

    @invariant()
    def agrees(self) -> None:
        run(self.queue.check())
        assert run(self.queue.length()) == len(self.known)


TestQueueMachine = QueueMachine.TestCase


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60))
def test_no_interleaving_of_workers_breaks_the_queue(schedule: list[tuple[int, bool]]) -> None:
    """Three workers that take and delete, stopped and killed anywhere: items are whole, and none is lost."""
    rows = SteppedRows()
    q = queue(rows)
    for name in "ab":
        run(q.put(name, name.encode(), 0))
    worked: list[str] = []
    now = [0]

    async def work() -> None:
        for message in await q.get(now[0], hide_ns=3):
            worked.append(message.name)
            try:
                await q.delete(message)
            except (MessageMissing, ReceiptMismatch):
                worked.append("late")

    workers = [Stepper(work()) for _ in range(3)]
    for which, dies in schedule:
        now[0] += 1
        if dies and not workers[which].done:
            workers[which].die()
        elif not workers[which].step():
            workers[which] = Stepper(work())
        run(q.check())
    for worker in workers:
        worker.die()
    now[0] += 10
    while run(q.length()):
        run(work())
        now[0] += 10
    assert {"a", "b"} <= set(worked)
