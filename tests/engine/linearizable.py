"""Histories of concurrent operations, and whether they are linearizable (T1).

A history is linearizable when every operation can be given one moment between its call and its return so that, carried
out at these moments one after the other, all answers are right (Herlihy & Wing 1990). It is so exactly when the history
of each key is (locality; P-compositionality, Horn & Kroening 2015), so keys are searched apart. An operation whose
answer was lost may have been carried out at any moment after its call, or never.

The search is that of Wing & Gong (1993), with the memory of configurations of Lowe (2017), just in time: an operation
is given its moment only when a return asks for it. A configuration is (place in the history, state, which of the
operations under way have had their moment), so a history costs what its concurrency costs and not what its length does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from pkadvisor.engine.worlds.world import Unreachable

State: TypeAlias = Hashable


class Lost:
    """The answer of an operation whose answer nobody heard."""

    def __repr__(self) -> str:
        return "?"


LOST = Lost()


class Model(Protocol):
    """What one key does, one operation after the other."""

    def initial(self) -> State:
        """The state before the first operation."""

    def step(self, state: State, call: Any, answer: Any) -> Iterable[State]:
        """The states that may follow when ``call`` is carried out and answers ``answer``; none where it cannot.

        With ``LOST`` the states after whatever the answer was.
        """

    def only_looks(self, call: Any, answer: Any) -> bool:
        """Whether a call with this answer leaves every state as it was, and not only one that it happens to meet."""


@dataclass(slots=True)
class Operation:
    """A call and its answer; places are those of the whole history, so that they order all clients' events."""

    client: str
    key: Hashable
    call: Any
    called: int
    returned: int | None = None
    answer: Any = LOST

    def __str__(self) -> str:
        until = "…" if self.returned is None else self.returned
        return f"[{self.called}, {until}] {self.client}: {self.key!r} {self.call!r} → {self.answer!r}"


@dataclass(slots=True)
class History:
    """Records operations as they are called and as they return."""

    operations: list[Operation] = field(default_factory=list)
    _events: int = 0

    def called(self, client: str, key: Hashable, call: Any) -> Operation:
        """An operation begins."""
        self._events += 1
        operation = Operation(client, key, call, self._events)
        self.operations.append(operation)
        return operation

    def returned(self, operation: Operation, answer: Any) -> None:
        """An operation has its answer. One that never returns has lost it."""
        assert operation.returned is None, "an operation returns once"
        self._events += 1
        operation.returned, operation.answer = self._events, answer

    async def record(
        self,
        client: str,
        key: Hashable,
        call: Any,
        doing: Awaitable[Any],
        answer: Callable[[Any], Any] = lambda value: value,
        lost: tuple[type[BaseException], ...] = (Unreachable,),
    ) -> Any:
        """Awaits an operation and records it; one of the errors in ``lost`` leaves open whether it happened.

        The value is what ``doing`` returned, ``LOST`` where the answer was lost.
        """
        operation = self.called(client, key, call)
        try:
            value = await doing
        except lost:
            return LOST
        self.returned(operation, answer(value))
        return value

    def by_key(self) -> dict[Hashable, list[Operation]]:
        """The operations of each key, in the order of their calls."""
        found: dict[Hashable, list[Operation]] = {}
        for operation in self.operations:
            found.setdefault(operation.key, []).append(operation)
        return found


@dataclass(frozen=True)
class Violation:
    """A key whose history has no order: the operation whose answer no order explains, and what was under way then."""

    key: Hashable
    operation: Operation
    states: tuple[State, ...]
    under_way: tuple[Operation, ...]
    before: tuple[Operation, ...]

    def __str__(self) -> str:
        lines = [f"no order of the operations on {self.key!r} explains: {self.operation}"]
        lines += [f"  possible states then: {', '.join(map(repr, self.states))}"]
        lines += [f"  under way: {operation}" for operation in self.under_way]
        lines += [f"  before:    {operation}" for operation in self.before]
        return "\n".join(lines)


class Undecided(Exception):  # noqa: N818
    """The search took more steps than it was allowed."""


def violations(history: History, model: Model, steps_max: int = 5_000_000) -> list[Violation]:
    """All keys whose histories are not linearizable. Undecided where a key takes too many steps."""
    found = [search(operations, model, steps_max) for operations in history.by_key().values()]
    return [violation for violation in found if violation is not None]


def check(history: History, model: Model, steps_max: int = 5_000_000) -> int:
    """Raises AssertionError with the first violation; returns how many operations were checked."""
    found = violations(history, model, steps_max)
    assert not found, str(found[0])
    return len(history.operations)


class _Return(NamedTuple):
    """A return of the history, and the other operations that are under way then, each with its bit."""

    operation: Operation
    bit: int
    known: tuple[tuple[Operation, int], ...]
    lost: tuple[tuple[Operation, int], ...]


Configuration: TypeAlias = tuple[State, int, int]
"""State, and which of the operations under way have had their moment: the known ones, and the lost ones."""


def _returns(operations: Sequence[Operation]) -> list[_Return]:
    """Bits are given again after a return, so that a mask is as long as the concurrency, not as the history."""
    events = [(operation.called, operation) for operation in operations]
    events += [(operation.returned, operation) for operation in operations if operation.returned is not None]
    events.sort(key=lambda event: event[0])
    known: dict[int, tuple[Operation, int]] = {}
    lost: list[tuple[Operation, int]] = []
    free: list[int] = []
    found: list[_Return] = []
    used = 0
    for place, operation in events:
        if operation.returned is None:
            lost.append((operation, 1 << len(lost)))
        elif place == operation.called:
            if not free:
                free.append(1 << used)
                used += 1
            known[operation.called] = (operation, free.pop())
        else:
            _, bit = known.pop(operation.called)
            found.append(_Return(operation, bit, tuple(known.values()), tuple(lost)))
            free.append(bit)
    return found


class _Visited:
    """Configurations of one place that were tried.

    One that has used up more of the lost operations than another, all else equal, can do nothing that the other cannot:
    it is not tried.
    """

    def __init__(self, left: list[int]) -> None:
        self._used: dict[tuple[State, int], list[int]] = {}
        self._left = left

    def is_new(self, configuration: Configuration) -> bool:
        """Whether it is worth a try; notes it."""
        state, known, lost = configuration
        found = self._used.setdefault((state, known), [])
        self._left[0] -= 1 + len(found)
        if self._left[0] < 0:
            raise Undecided("too many configurations")
        if any(other & lost == other for other in found):
            return False
        found.append(lost)
        return True

    def states(self) -> tuple[State, ...]:
        """The states, each once."""
        return tuple(dict.fromkeys(state for state, _ in self._used))


def _after(place: _Return, start: Configuration, model: Model, visited: _Visited) -> Iterator[Configuration]:
    """Configurations after a return, those first before which the fewest other operations had their moment.

    An operation under way that only looks has its moment as soon as its answer is right: that hinders nobody. A write
    of the value that is there does more: it may be needed later, after another write. Of lost operations that do the
    same the first called goes first.
    """
    operation, bit, known, lost = place

    def settled(state: State, had: int, used: int) -> Configuration:
        for other, other_bit in (*known, (operation, bit)):
            if had & other_bit or not model.only_looks(other.call, other.answer):
                continue
            if tuple(model.step(state, other.call, other.answer)) == (state,):
                had |= other_bit
        return state, had, used

    start = settled(*start)
    if start[1] & bit:  # it had its moment before
        yield start[0], start[1] & ~bit, start[2]
        return
    level = [start]
    while level:
        for state, had, used in level:
            for following in model.step(state, operation.call, operation.answer):
                yield following, had, used
        deeper: list[Configuration] = []
        for state, had, used in level:
            for other, other_bit in known:
                if not had & other_bit:
                    for following in model.step(state, other.call, other.answer):
                        deeper.append(settled(following, had | other_bit, used))
            tried: list[Any] = []
            for other, other_bit in lost:
                if not used & other_bit and other.call not in tried:
                    tried.append(other.call)
                    for following in model.step(state, other.call, LOST):
                        if following != state:
                            deeper.append(settled(following, had, used | other_bit))
        level = [configuration for configuration in deeper if visited.is_new(configuration)]
        for configuration in [each for each in level if each[1] & bit]:
            yield configuration[0], configuration[1] & ~bit, configuration[2]
        level = [each for each in level if not each[1] & bit]


def search(operations: Sequence[Operation], model: Model, steps_max: int = 5_000_000) -> Violation | None:
    """Looks for an order of one key's operations; None where there is one, else the answer that none explains."""
    returns = _returns(operations)
    left = [steps_max]
    visited = [_Visited(left) for _ in range(len(returns) + 1)]
    start: Configuration = (model.initial(), 0, 0)
    visited[0].is_new(start)
    ways = [_after(returns[0], start, model, visited[0])] if returns else []
    farthest, steps = 0, 0
    while ways:
        place = len(ways)
        configuration = next(ways[-1], None)
        if configuration is None:
            ways.pop()
            continue
        steps += 1
        if steps > steps_max:
            raise Undecided(f"{len(operations)} operations on {operations[0].key!r}: more than {steps_max} steps")
        if place == len(returns):
            return None
        if visited[place].is_new(configuration):
            farthest = max(farthest, place)
            ways.append(_after(returns[place], configuration, model, visited[place]))
    if not returns:
        return None
    last = returns[farthest]
    before = tuple(entry.operation for entry in returns[max(0, farthest - 8) : farthest])
    under_way = tuple(operation for operation, _ in (*last.known, *last.lost))
    return Violation(operations[0].key, last.operation, visited[farthest].states(), under_way, before)


# ------------------------------------------------------------------------------------------------ models


class Register:
    """A value: ("read",) → the value, ("write", value) → anything, ("swap", old, new) → whether it was old."""

    def __init__(self, value: Hashable = None) -> None:
        self._value = value

    def initial(self) -> State:
        """The value it begins with."""
        return self._value

    def step(self, state: State, call: Any, answer: Any) -> Iterable[State]:
        """One operation."""
        match call:
            case ("read",):
                return (state,) if answer is LOST or answer == state else ()
            case ("write", value):
                return (value,)
            case ("swap", old, new):
                done = state == old
                return ((new if done else state),) if answer is LOST or answer == done else ()
        raise AssertionError(f"no such call: {call!r}")

    def only_looks(self, call: Any, answer: Any) -> bool:
        """A read, and a swap that was not done."""
        return call[0] == "read" or (call[0] == "swap" and answer is False)


class Held(NamedTuple):
    """An entity that is there; its tag is None where the answer that told it was lost."""

    value: Hashable
    tag: str | None


class EntityModel:
    """One entity of a table (T1, T4, T9). Calls are (verb, value, tag), answers are (outcome, value, tag).

    read → ("ok", value, tag) | ("missing", None, None);            insert → ok with its new tag | "exists"
    put (insert or replace) → ok with a tag;                        delete, tag or "*" → ok | "missing" | "changed"
    update (replace), tag or "*" → ok with a tag | "missing" | "changed"

    A tag that nobody was told matches any, and is known from then on.
    """

    def initial(self) -> State:
        """No entity."""
        return None

    def step(self, state: State, call: Any, answer: Any) -> Iterable[State]:
        """One operation."""
        verb, value, expected = call
        held = state if isinstance(state, Held) else None
        if answer is LOST:
            return self._any_answer(held, verb, value, expected)
        outcome, answered, tag = answer
        if verb == "read":
            if held is None:
                return (None,) if outcome == "missing" else ()
            right = outcome == "ok" and answered == held.value and held.tag in (None, tag)
            return (Held(held.value, tag),) if right else ()
        if verb == "put":
            return (Held(value, tag),) if outcome == "ok" else ()
        if verb == "insert":
            if held is None:
                return (Held(value, tag),) if outcome == "ok" else ()
            return (held,) if outcome == "exists" else ()
        assert verb in ("update", "delete"), f"no such call: {call!r}"
        if held is None:
            return (None,) if outcome == "missing" else ()
        matches = expected == "*" or held.tag is None or held.tag == expected
        if outcome == "ok":
            after = None if verb == "delete" else Held(value, tag)
            return (after,) if matches else ()
        differs = expected != "*" and (held.tag is None or held.tag != expected)
        return (held,) if outcome == "changed" and differs else ()

    def only_looks(self, call: Any, answer: Any) -> bool:
        """A read, and whatever was refused."""
        return call[0] == "read" or answer[0] != "ok"

    @staticmethod
    def _any_answer(held: Held | None, verb: str, value: Hashable, expected: str | None) -> Iterable[State]:
        if verb == "read" or (verb == "insert" and held is not None):
            return (held,)
        if verb in ("put", "insert"):
            return (Held(value, None),)
        if held is None or (expected != "*" and held.tag is not None and held.tag != expected):
            return (held,)
        after = None if verb == "delete" else Held(value, None)
        return (after,) if expected == "*" or held.tag is not None else (after, held)
