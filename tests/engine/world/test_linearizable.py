"""The linearizability check itself: it accepts what has an order, and finds what has none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pkadvisor.engine.worlds.world import Unreachable
from tests.engine.linearizable import (
    LOST,
    EntityModel,
    History,
    Model,
    Operation,
    Register,
    Undecided,
    check,
    search,
    violations,
)
from tests.engine.worlds import simulated
from tests.tiers import examples


def history(*lines: tuple[str, Any, int, int | None, Any]) -> list[Operation]:
    """Operations as (client, call, called, returned, answer)."""
    return [Operation(client, "k", call, called, returned, answer) for client, call, called, returned, answer in lines]


def is_linearizable_slowly(operations: Sequence[Operation], model: Model) -> bool:
    """By the definition: some order of all known and some lost operations, true to real time and to the model."""
    known = [operation for operation in operations if operation.returned is not None]
    lost = [operation for operation in operations if operation.returned is None]
    for chosen in range(1 << len(lost)):
        taken = known + [operation for place, operation in enumerate(lost) if chosen >> place & 1]
        for order in permutations(taken):
            if any(
                later.returned is not None and later.returned < earlier.called
                for place, earlier in enumerate(order)
                for later in order[place + 1 :]
            ):
                continue
            states = [model.initial()]
            for operation in order:
                states = [n for state in states for n in model.step(state, operation.call, operation.answer)]
            if states:
                return True
    return False


CALLS = st.sampled_from([("read",), ("write", 1), ("write", 2), ("swap", 1, 2), ("swap", 2, 1), ("swap", None, 1)])


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Up to five operations that overlap in any way, with answers that may be right or wrong or lost."""
    count = draw(st.integers(1, 5))
    places = draw(st.permutations(range(2 * count)))
    operations = []
    for number in range(count):
        called, returned = sorted(places[2 * number : 2 * number + 2])
        call = draw(CALLS)
        answers = {"read": [None, 1, 2], "write": [None], "swap": [True, False]}[call[0]]
        if draw(st.integers(0, 4)) == 0:
            operations.append(Operation(f"c{number}", "k", call, called))
        else:
            answer = draw(st.sampled_from(answers))
            operations.append(Operation(f"c{number}", "k", call, called, returned, answer))
    return operations


NOT_YET = history(
    ("a", ("write", 2), 0, 1, None),
    ("b", ("write", 1), 2, 6, None),
    ("c", ("write", 2), 5, 9, None),
    ("d", ("swap", 1, 2), 7, 8, False),
)
"""The write of c changes nothing when it begins, and is needed after the one of b."""


@settings(max_examples=examples(1000), deadline=None)
@given(histories())
@example(NOT_YET)
def test_the_search_agrees_with_the_definition(operations: list[Operation]) -> None:
    assert (search(operations, Register()) is None) == is_linearizable_slowly(operations, Register())


def test_planted_violations_are_found() -> None:
    write, read = ("write", 1), ("read",)
    stale = history(("a", write, 1, 2, None), ("b", read, 3, 4, None))
    back = history(("a", write, 1, 9, None), ("b", read, 2, 3, 1), ("b", read, 4, 5, None))
    never = history(("a", write, 1, 2, None), ("b", read, 3, 4, 7))
    both = history(("a", ("swap", None, 1), 1, 3, True), ("b", ("swap", None, 2), 2, 4, True))
    revived = history(
        ("a", write, 1, None, LOST), ("b", read, 2, 3, 1), ("c", ("write", 2), 4, 5, None), ("b", read, 6, 7, 1)
    )
    for planted in (stale, back, never, both, revived):
        assert search(planted, Register()) is not None
    overlapping = history(("a", write, 1, 4, None), ("b", read, 2, 3, None), ("c", read, 5, 6, 1))
    late = history(("a", write, 1, None, LOST), ("b", read, 2, 3, None), ("b", read, 8, 9, 1))
    never_done = history(("a", write, 1, None, LOST), ("b", read, 2, 3, None))
    for right in (overlapping, late, never_done):
        assert search(right, Register()) is None


def test_a_violation_tells_which_answer_cannot_be_explained_and_what_was_known() -> None:
    found = search(history(("a", ("write", 1), 1, 2, None), ("b", ("read",), 3, 4, 7)), Register())
    assert found is not None
    assert found.operation.client == "b"
    assert found.states == (1,)
    assert "explains: [3, 4] b: 'k' ('read',) → 7" in str(found)
    assert "before:    [1, 2] a" in str(found)


def entity(*lines: tuple[Any, Any]) -> bool:
    """Whether calls and answers, one after the other, are right for an entity."""
    operations = [
        Operation("c", "k", call, 2 * place, None if answer is LOST else 2 * place + 1, answer)
        for place, (call, answer) in enumerate(lines)
    ]
    return search(operations, EntityModel()) is None


READ, MISSING = ("read", None, None), ("missing", None, None)


def test_T4_the_entity_model_knows_tags() -> None:  # noqa: N802
    insert = (("insert", "v", None), ("ok", None, "t1"))
    assert entity((READ, MISSING), insert, (READ, ("ok", "v", "t1")))
    assert not entity(insert, (READ, ("ok", "v", "t2")))
    assert not entity(insert, (READ, MISSING))
    assert entity(insert, (("insert", "w", None), ("exists", None, None)), (READ, ("ok", "v", "t1")))
    assert not entity(insert, insert)
    assert not entity((("insert", "w", None), ("exists", None, None)))
    update = (("update", "w", "t1"), ("ok", None, "t2"))
    assert entity(insert, update, (("update", "x", "t1"), ("changed", None, None)), (READ, ("ok", "w", "t2")))
    assert not entity(insert, update, (("update", "x", "t1"), ("ok", None, "t3"))), "two winners of one tag"
    assert not entity(insert, (("update", "x", "t1"), ("changed", None, None))), "a tag that holds is not refused"
    assert not entity(insert, (("update", "x", "*"), ("changed", None, None)))
    assert entity(insert, (("delete", None, "*"), ("ok", None, None)), (READ, MISSING))
    assert not entity(insert, (("delete", None, "t0"), ("ok", None, None)))
    assert entity((("delete", None, "*"), MISSING), (("update", "x", "*"), MISSING), (READ, MISSING))
    assert not entity(insert, (("delete", None, "*"), MISSING))


def test_T9_a_lost_answer_happened_once_or_not_at_all() -> None:  # noqa: N802
    lost = (("insert", "v", None), LOST)
    assert entity(lost, (READ, MISSING))
    assert entity(lost, (READ, ("ok", "v", "t1")), (READ, ("ok", "v", "t1")))
    assert not entity(lost, (READ, ("ok", "v", "t1")), (READ, ("ok", "v", "t2"))), "twice"
    assert not entity(lost, (READ, ("ok", "v", "t1")), (READ, MISSING))
    assert entity(lost, (("insert", "v", None), ("exists", None, None)), (READ, ("ok", "v", "t1")))
    insert = (("insert", "v", None), ("ok", None, "t1"))
    lost_update, lost_delete = (("update", "w", "t1"), LOST), (("delete", None, "t1"), LOST)
    for lost in (lost_update, lost_delete):
        assert entity(insert, lost, (READ, ("ok", "v", "t1")))
    assert entity(insert, lost_update, (READ, ("ok", "w", "t2")), (("update", "x", "t2"), ("ok", None, "t3")))
    assert entity(insert, lost_delete, (READ, MISSING))
    assert not entity(insert, lost_update, (READ, MISSING))


def long_history(seed: int, length: int, clients: int, lost_one_of: int) -> History:
    """A right history of one key: clients overlap all the time, and some answers are lost."""
    chance, record, value = Random(seed), History(), None
    under_way: list[tuple[Operation, bool]] = []
    for number in range(length):
        if len(under_way) == clients:
            operation, done = under_way.pop(chance.randrange(clients))
            if not done:
                value = operation.call[1] if operation.call[0] == "write" else value
                answer = value
            else:
                answer = operation.answer
            operation.answer = LOST
            if chance.randrange(lost_one_of):
                record.returned(operation, answer if operation.call[0] == "read" else None)
        call = ("read",) if chance.getrandbits(1) else ("write", number)
        operation = record.called("c", "k", call)
        done = chance.getrandbits(1) == 0
        if done:  # its moment is its call, else its return
            value = number if call[0] == "write" else value
            operation.answer = value
        under_way.append((operation, done))
    for operation, _ in under_way:
        operation.answer = LOST
    return record


@pytest.mark.parametrize(("length", "clients", "lost_one_of"), [(4_000, 5, 1_000), (400, 3, 20), (100, 8, 10)])
def test_long_histories_with_lost_answers_are_decided_and_one_wrong_answer_in_them_is_found(
    length: int, clients: int, lost_one_of: int
) -> None:
    record = long_history(1, length, clients, lost_one_of)
    assert check(record, Register()) == length
    reads = [operation for operation in record.operations if operation.call == ("read",) and operation.returned]
    wrong = reads[len(reads) // 2]
    wrong.answer = -1
    with pytest.raises(AssertionError, match="→ -1"):
        check(record, Register())


def test_keys_are_judged_apart_and_too_long_a_search_says_so() -> None:
    record = History()
    for key in "abc":
        record.returned(record.called("c", key, ("write", 1)), None)
        record.returned(record.called("c", key, ("read",)), None if key == "b" else 1)
    assert [violation.key for violation in violations(record, Register())] == ["b"]
    with pytest.raises(Undecided):
        search(long_history(2, 1_000, 5, 50).operations, Register(), steps_max=100)


class LeakyRegister:
    """A register on a node; planted: a swap looks, waits, and then writes."""

    def __init__(self, world: Any, leaky: bool) -> None:
        self._world, self._leaky, self._value = world, leaky, 0

    async def add(self, old: int) -> bool:
        if self._value != old:
            return False
        if self._leaky:
            await self._world.sleep(10)
        self._value = old + 1
        return True

    async def read(self) -> int:
        return self._value


@pytest.mark.parametrize("leaky", [False, True])
def test_a_service_that_looks_before_it_writes_is_caught_in_the_simulator(leaky: bool) -> None:
    caught = 0
    for seed in range(10):
        with simulated(seed) as world:
            record = History()
            world.register("s", "register", LeakyRegister(world, leaky))

            async def client(name: str, world: Any = world, record: History = record) -> None:
                for _ in range(5):
                    await world.sleep(world.random(name).randrange(20))
                    doing = world.call(name, "s", "register", "read")
                    value = await record.record(name, "r", ("read",), doing)
                    doing = world.call(name, "s", "register", "add", value)
                    await record.record(name, "r", ("swap", value, value + 1), doing)

            async def everybody(world: Any = world) -> None:
                await world.gather([client(f"c{i}") for i in range(4)], "")

            world.run(everybody())
            assert len(record.operations) == 40
            caught += bool(violations(record, Register(0)))
    assert caught == (10 if leaky else 0)


def test_the_recorder_takes_a_lost_answer_as_lost() -> None:
    with simulated() as world:
        record = History()

        async def silent() -> None:
            raise Unreachable("nobody there")

        assert world.run(record.record("c", "k", ("write", 1), silent())) is LOST
        assert record.operations[0].returned is None
        assert check(record, Register()) == 1
