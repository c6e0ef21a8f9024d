"""The recipe: index rows of other partitions are never wrong and miss no row, whoever dies, pauses or comes late."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.options import SECOND, EngineOptions
from pkadvisor.engine.tables.eventual import Done, IndexedRow, IndexedRows, Item, Layout, Outcome, Worker
from pkadvisor.engine.tables.message_queue import Message, MessageQueue
from tests.engine.capacity.stepping import LostAnswer, SteppedRows, Stepper, run
from tests.engine.fakes import DictRows

VALUES, ENTITIES = ("red", "blue", "green"), ("x", "y")
LAYOUT = Layout(
    row_key=lambda entity: f"rows\0{entity}".encode(),
    index_key=lambda value, entity: f"index\0{value}\0{entity}".encode(),
    index_range=lambda value: (f"index\0{value}\0".encode(), f"index\0{value}\x01".encode()),
)


class Bench:
    """Two stores, one of them for the index, a queue beside the rows; and a look at what is there, without steps."""

    def __init__(self) -> None:
        self.rows, self.index = SteppedRows(), SteppedRows()
        self.queue = MessageQueue(self.rows, b"queue\0work\0")
        self.indexed = IndexedRows(self.rows, self.index, self.queue, LAYOUT)
        self.worker = Worker(self.queue, self.indexed.work)
        self.now = 0
        self.names = map(str, count())
        plain = MessageQueue(self.rows.inner, b"queue\0work\0")
        self.at_once = IndexedRows(self.rows.inner, self.index.inner, plain, LAYOUT)
        self.plain_queue = plain
        self.changes: dict[tuple[str, int], str] = {}

    def truth(self) -> dict[str, IndexedRow]:
        return {entity: row for entity in ENTITIES if (row := run(self.at_once.read(entity))).version}

    def look_ups_are_right(self) -> None:
        """At this instant: each look-up returns exactly the rows that have the value; no change was made twice."""
        truth = self.truth()
        for value in VALUES:
            expected = [entity for entity, row in truth.items() if row.value == value]
            assert [entity for entity, _ in run(self.at_once.look_up(value))] == expected, value
        for entity, row in truth.items():
            assert self.changes.setdefault((entity, row.version), row.changed_by) == row.changed_by
        assert len(set(self.changes.values())) == len(self.changes), "a change is made once"

    def index_is_exact(self) -> None:
        """No index row says more than the rows do."""
        truth = self.truth()
        valid = {LAYOUT.index_key(row.value, entity) for entity, row in truth.items() if row.value is not None}
        marked = {key for key, (_, mark) in self.index.inner.rows.items() if msgspec.msgpack.decode(mark)[1]}
        assert marked == valid

    async def change(self, entity: str, value: str | None) -> Outcome:
        before = await self.indexed.read(entity)
        item = Item(entity, before.version, before.value, value)
        return await self.indexed.change(next(self.names), item, self.now, delay_ns=5 * SECOND)

    def drain(self) -> None:
        for _ in range(1000):
            self.now += 2 * EngineOptions().visibility_timeout_ns
            if run(self.worker.turn(self.now)) is Done.NOTHING and not run(self.queue.length()):
                return
        raise AssertionError("the queue never became empty")


def test_a_change_moves_the_index_row_to_another_partition() -> None:
    bench = Bench()
    assert run(bench.change("x", "red")) is Outcome.DONE
    assert run(bench.change("x", "blue")) is Outcome.DONE
    bench.look_ups_are_right()
    bench.index_is_exact()
    assert [entity for entity, _ in run(bench.indexed.look_up("blue"))] == ["x"]
    assert run(bench.change("x", None)) is Outcome.DONE
    assert run(bench.change("x", "blue")) is Outcome.DONE  # again after it was removed
    bench.look_ups_are_right()
    bench.drain()
    bench.look_ups_are_right()
    bench.index_is_exact()
    assert run(bench.at_once.read("x")).version == 4
    assert sum(run(bench.indexed.sweep(value)) for value in VALUES) == 1  # the mark under red
    bench.index_is_exact()
    assert len(bench.index.inner.rows) == 1


def test_of_two_changes_of_one_version_one_wins_and_the_other_knows() -> None:
    bench = Bench()
    items = [Item("x", 0, None, value) for value in ("red", "blue")]
    assert run(bench.indexed.change("1", items[0], 0, delay_ns=0)) is Outcome.DONE
    assert run(bench.indexed.change("2", items[1], 0, delay_ns=0)) is Outcome.CONFLICT
    assert run(bench.indexed.change("1", items[0], 0, delay_ns=0)) is Outcome.DONE  # asked again: it is done
    bench.index_is_exact()
    assert run(bench.change("x", "green")) is Outcome.DONE
    assert run(bench.indexed.change("1", items[0], 0, delay_ns=0)) is Outcome.OVERTAKEN
    bench.drain()
    bench.look_ups_are_right()
    bench.index_is_exact()


def crashes() -> Iterator[tuple[str, str | None, str | None]]:
    yield from (("new", None, "red"), ("moved", "red", "blue"), ("same", "red", "red"), ("removed", "red", None))


@pytest.mark.parametrize(("kind", "old", "new"), list(crashes()))
@pytest.mark.parametrize("dies", ["client", "worker", "both"])
def test_a_crash_at_every_step_is_made_good_by_the_next_worker(
    kind: str, old: str | None, new: str | None, dies: str
) -> None:
    """Each access to a store is a place to die at; after each the look-ups are right, and at the end the index is."""
    reached = 0
    for at in count():
        bench = Bench()
        if old is not None:
            run(bench.change("x", old))
            bench.drain()
        client, died = Stepper(bench.change("x", new)), False
        for _ in range(at if dies != "worker" else 10**6):
            if not client.step():
                break
            bench.look_ups_are_right()
        asked = client.done or bool(run(bench.plain_queue.length()))
        if not client.done:
            client.die()
            died = True
        if dies != "client":
            bench.now += 3600 * SECOND
            worker = Stepper(bench.worker.turn(bench.now))
            for _ in range(at):
                if not worker.step():
                    break
                bench.look_ups_are_right()
            if not worker.done:
                worker.die()
                died = True
        bench.look_ups_are_right()
        bench.drain()
        bench.look_ups_are_right()
        bench.index_is_exact()
        # What was asked for has been done; what was not asked for leaves no trace.
        assert run(bench.at_once.read("x")).value == (new if asked else old)
        if not died:
            break
        reached = at
    assert reached >= 5, "the test has met the steps"


@pytest.mark.parametrize("carried_out", [False, True])
@pytest.mark.parametrize("store", ["rows", "index"])
def test_an_access_that_fails_or_loses_its_answer_leaves_the_work_to_another_turn(
    store: str, carried_out: bool
) -> None:
    for broken in range(12):
        bench = Bench()
        run(bench.change("x", "red"))
        bench.drain()
        failing = bench.rows if store == "rows" else bench.index
        (failing.lose if carried_out else failing.drop).add(failing.writes + broken)
        try:
            run(bench.change("x", "blue"))
            asked = True
        except LostAnswer:
            asked = bool(run(bench.plain_queue.length()))
        bench.look_ups_are_right()
        bench.now += 3600 * SECOND
        try:
            found = run(bench.worker.turn(bench.now))
        except LostAnswer:
            found = None  # the queue itself did not answer
        assert found in (Done.FINISHED, Done.LEFT, None) or not asked
        bench.look_ups_are_right()
        bench.drain()
        bench.index_is_exact()
        assert run(bench.at_once.read("x")).value == ("blue" if asked else "red")


@given(
    st.lists(
        st.tuples(st.sampled_from("cccwwwwdps"), st.integers(0, 4), st.sampled_from(ENTITIES), st.integers(0, 3)),
        max_size=120,
    )
)
def test_no_interleaving_of_clients_and_workers_makes_a_look_up_wrong(
    schedule: list[tuple[str, int, str, int]],
) -> None:
    """Clients, workers, deaths, long pauses in any order. Late ones wake up after everybody else has finished."""
    bench = Bench()
    actors: dict[int, Stepper] = {}
    late: list[Stepper] = []
    for what, which, entity, value in schedule:
        actor = actors.get(which)
        if actor is None or actor.done:
            wanted = (*VALUES, None)[value]
            new = bench.change(entity, wanted) if what == "c" else bench.worker.turn(bench.now)
            actors[which] = Stepper(new)
        elif what == "d":
            actors.pop(which).die()
        elif what == "p":
            late.append(actors.pop(which))
        elif what == "s":
            bench.now += EngineOptions().visibility_timeout_ns
        else:
            actor.step()
        bench.look_ups_are_right()
        run(bench.plain_queue.check())
    for actor in actors.values():
        actor.die()
    bench.drain()
    bench.look_ups_are_right()
    if not late:
        bench.index_is_exact()
    for zombie in late:
        while zombie.step():
            bench.look_ups_are_right()
    bench.drain()
    bench.look_ups_are_right()
    bench.index_is_exact()  # stamps made the late steps harmless
    for value in VALUES:
        run(bench.indexed.sweep(value))
    bench.look_ups_are_right()
    bench.index_is_exact()
    assert len(bench.index.inner.rows) == sum(row.value is not None for row in bench.truth().values())


def test_a_worker_that_wakes_up_late_at_any_step_changes_nothing() -> None:
    """It was paused in a change from red to blue; meanwhile another did the work, and the row became green, or red."""
    for then in ("green", "red"):
        for pause in range(12):
            bench = Bench()
            run(bench.change("x", "red"))
            bench.drain()
            zombie = Stepper(bench.change("x", "blue"))
            for _ in range(pause):
                zombie.step()
            bench.drain()
            run(bench.change("x", then))
            bench.drain()
            bench.index_is_exact()
            while zombie.step():
                bench.look_ups_are_right()
            if zombie.value is Outcome.DONE and pause < 3:
                continue  # it had not asked yet, so its change was a new one
            bench.look_ups_are_right()
            bench.index_is_exact()


def test_a_sweep_that_was_overtaken_takes_no_index_row_of_another_version() -> None:
    bench = Bench()
    run(bench.change("x", "red"))
    run(bench.change("x", "blue"))
    bench.drain()
    sweeper = Stepper(bench.indexed.sweep("red"))
    sweeper.step()  # it has seen the mark of a row that is blue, and asks the row
    sweeper.step()  # it has the row's answer and is about to take the mark away
    run(bench.change("x", "red"))
    while sweeper.step():
        pass
    bench.look_ups_are_right()
    bench.index_is_exact()


def test_a_sweep_beside_a_change_takes_nothing_that_is_needed() -> None:
    """All places of a change at which a sweep of the new and the old value may fall, and of the sweep at which it may
    be overtaken."""
    for first in range(12):
        for second in range(8):
            bench = Bench()
            run(bench.change("x", "red"))
            run(bench.change("x", "blue"))
            bench.drain()
            client = Stepper(bench.change("x", "red"))
            sweeper = Stepper(bench.indexed.sweep("red"))
            for _ in range(first):
                client.step()
                bench.look_ups_are_right()
            for _ in range(second):
                sweeper.step()
                bench.look_ups_are_right()
            for actor in (client, sweeper):
                while actor.step():
                    bench.look_ups_are_right()
            bench.drain()
            bench.look_ups_are_right()
            bench.index_is_exact()


# ------------------------------------------------------------------------------------------------ the worker


def test_an_item_that_never_succeeds_is_set_aside() -> None:
    rows = DictRows()
    queue, aside = MessageQueue(rows, b"q\0work\0"), MessageQueue(rows, b"q\0aside\0")
    tried: list[int] = []

    async def fail(message: Message) -> None:
        tried.append(message.dequeue_count)
        raise LostAnswer("always")

    worker = Worker(queue, fail, aside=aside, attempts_max=3)
    run(queue.put("a", b"body", 0))
    found = [run(worker.turn(i * 3600 * SECOND)) for i in range(5)]
    assert found == [Done.LEFT] * 3 + [Done.SET_ASIDE, Done.NOTHING]
    assert tried == [1, 2, 3]
    (kept,) = run(aside.get(5 * 3600 * SECOND))
    assert (kept.name, kept.body) == ("a", b"body")
    assert run(queue.length()) == 0


def test_a_fault_of_the_program_is_not_taken_for_one_of_the_store() -> None:
    queue = MessageQueue(DictRows(), b"q\0")

    async def broken(message: Message) -> None:
        raise ZeroDivisionError

    run(queue.put("a", b"", 0))
    with pytest.raises(ZeroDivisionError):
        run(Worker(queue, broken).turn(0))
    assert run(queue.length()) == 1


@pytest.mark.parametrize("crash", range(14))
def test_a_channel_is_deleted_with_all_its_messages_although_the_worker_dies(crash: int) -> None:
    """The recipe's own example: mark the channel invalid, delete its messages, delete it, delete the item."""
    rows = SteppedRows()
    queue = MessageQueue(rows, b"queue\0")
    for i in range(6):
        run(rows.inner.write((b"blogs\0c\0%d" % i,), lambda found, s, i=i: [(b"blogs\0c\0%d" % i, b"text")]))
    run(rows.inner.write((b"channels\0c",), lambda found, s: [(b"channels\0c", b"valid")]))

    async def put(key: bytes, value: bytes | None) -> None:
        await rows.write((key,), lambda found, s: [(key, value)] if found[0] is not None else [])

    async def delete_channel(message: Message) -> None:
        name = message.body
        await put(b"channels\0" + name, b"invalid")
        cursor = rows.cursor(b"blogs\0" + name + b"\0", b"blogs\0" + name + b"\x01")
        while batch := await cursor.next():
            for key, _, _ in batch:
                await put(key, None)
        await put(b"channels\0" + name, None)

    run(queue.put("delete c", b"c", 0))
    worker = Stepper(Worker(queue, delete_channel).turn(0))
    for _ in range(crash):
        worker.step()
        left = [key for key in rows.inner.rows if key.startswith(b"blogs")]
        channel = rows.inner.rows.get(b"channels\0c")
        assert len(left) == 6 or channel is None or channel[1] == b"invalid"
        assert channel is not None or not left
    worker.die()
    now = 0
    while run(queue.length()):
        now += 3600 * SECOND
        run(Worker(queue, delete_channel).turn(now))
    assert not [key for key in rows.inner.rows if key.startswith((b"blogs", b"channels"))]
