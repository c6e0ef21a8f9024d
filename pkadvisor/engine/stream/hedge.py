"""Asking several nodes for one thing: the first good answer, or the first enough of them.

    ask the first ──► good: done
         │ refused, unreachable, corrupt: ask more at once
         │ no answer for a while:         ask more beside it; whoever is first wins

A node that foresees that it cannot read in time refuses at once, and the client asks another one; of a coded extent all
fragments are asked and the first n that come are enough (SOSP 2011, 4.5). Asking beside a slow node without waiting for
its refusal is [H].
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pkadvisor.engine.tasks import Future
from pkadvisor.engine.world import EngineError, World

T = TypeVar("T")
Ask = Callable[[], Awaitable[T]]


class _Begun(Generic[T]):
    """A call that was begun by hand: it has its answer already, or goes on where it is awaited.

    A call that never waits costs no task and no timer that way.
    """

    __slots__ = ("_steps", "_waits_for", "answer", "done")

    def __init__(self, call: Awaitable[T]) -> None:
        self._steps = call.__await__()
        self._waits_for: Any = None
        self.done = False
        self.answer: T | None = None
        self._step()

    def _step(self) -> None:
        try:
            self._waits_for = next(self._steps)
        except StopIteration as stop:
            self.done, self.answer = True, stop.value
        else:
            self._waits_for.when_done(_nothing)  # it counts as awaited before a task takes it over

    def __await__(self) -> Generator[Any, None, T]:
        while not self.done:
            yield self._waits_for
            self._step()
        return self.answer  # type: ignore[return-value]


def _nothing() -> None:
    return


class _Race(Generic[T]):
    """Asks that run beside each other until enough have answered."""

    def __init__(
        self,
        world: World,
        node: str,
        asks: Mapping[int, Ask[T]],
        enough: Callable[[Mapping[int, T]], bool],
        more: int,
        hedge_ns: int,
    ) -> None:
        self._world, self._node, self._enough, self._hedge_ns, self._more = world, node, enough, hedge_ns, more
        self._left = list(asks.items())[::-1]
        self._running = 0
        self._last_error: EngineError | None = None
        self.answers: dict[int, T] = {}
        self.over: Future[None] = Future()

    def ask(self, count: int) -> None:
        """Asks so many more; those that answer without waiting are counted at once."""
        to_ask = count
        waiting = False
        while to_ask and self._left and not self.over.done:
            number, ask = self._left.pop()
            to_ask -= 1
            self._running += 1
            try:
                begun = _Begun(ask())
            except EngineError as error:
                self._ended(error)
                to_ask = max(to_ask, self._more)
                continue
            if begun.done:
                self._answered(number, begun)
                continue
            waiting = True
            self._world.spawn(self._wait(number, begun), self._node)
        if waiting and self._left and not self.over.done:
            self._world.spawn(self._hedge(len(self._left)), self._node)
        self._end_if_none_is_left()

    async def _wait(self, number: int, begun: _Begun[T]) -> None:
        try:
            await begun
        except EngineError as error:
            self._ended(error)
            self.ask(self._more)
        else:
            self._answered(number, begun)
            self._end_if_none_is_left()

    async def _hedge(self, left: int) -> None:
        await self._world.sleep(self._hedge_ns)
        if not self.over.done and len(self._left) == left:
            self._world.event("hedged read")
            self.ask(self._more)

    def _answered(self, number: int, begun: _Begun[T]) -> None:
        self._running -= 1
        if self.over.done:
            return
        self.answers[number] = begun.answer  # type: ignore[assignment]
        if self._enough(self.answers):
            self.over.resolve(None)

    def _ended(self, error: EngineError) -> None:
        self._running -= 1
        self._last_error = error

    def _end_if_none_is_left(self) -> None:
        if not self.over.done and not self._left and not self._running:
            self.over.resolve(None)

    @property
    def last_error(self) -> EngineError | None:
        """What the last that failed said."""
        return self._last_error


async def first_enough(
    world: World,
    node: str,
    asks: Mapping[int, Ask[T]],
    enough: Callable[[Mapping[int, T]], bool],
    *,
    at_first: int,
    hedge_ns: int,
) -> dict[int, T]:
    """Asks ``at_first`` of them, in order, and all the others when one fails or none was enough after ``hedge_ns``.

    What was answered when it was enough; fewer where all have ended and it never was: the caller says what that means.
    """
    race = _Race(world, node, asks, enough, len(asks), hedge_ns)
    race.ask(at_first)
    if not race.over.done:
        await race.over
    return dict(race.answers)


async def first_good(
    world: World, node: str, targets: Sequence[str], ask: Callable[[str], Awaitable[T]], *, hedge_ns: int
) -> T:
    """The first good answer: one target is asked, the next at once when it fails, or beside it after ``hedge_ns``.

    Raises what the last one said where none answers well. An answer that needs no wait costs little more than the call.
    """
    assert targets, "somebody must be asked"
    try:
        begun = _Begun(ask(targets[0]))
    except EngineError:
        if len(targets) == 1:
            raise
        begun = None
    if begun is not None and begun.done:
        return begun.answer  # type: ignore[return-value]
    asks: dict[int, Ask[T]] = {
        number: partial(ask, target) for number, target in enumerate(targets) if number or begun is not None
    }
    if begun is not None:
        asks[0] = partial(_handed_over, begun)
    race = _Race(world, node, asks, bool, 1, hedge_ns)
    race.ask(1)
    if not race.over.done:
        await race.over
    for answer in race.answers.values():
        return answer
    assert race.last_error is not None
    raise race.last_error


async def _handed_over(begun: _Begun[T]) -> T:
    return await begun
