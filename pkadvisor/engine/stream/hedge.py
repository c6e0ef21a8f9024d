"""Asking several nodes for one thing: the first good answer.

    ask the first ──► good: done
         │ refused, unreachable, corrupt: ask more at once
         │ no answer for a while:         ask more beside it; whoever is first wins

A node that foresees that it cannot read in time refuses at once, and the client asks another one
(SOSP 2011, 4.5). Asking beside a slow node without waiting for its refusal is [H].
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import EngineError, World

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
    """Asks that run beside each other until one has answered."""

    def __init__(self, world: World, node: str, asks: Sequence[Ask[T]], hedge_ns: int) -> None:
        self._world, self._node, self._hedge_ns = world, node, hedge_ns
        self._left = list(asks)[::-1]
        self._running = 0
        self.last_error: EngineError | None = None
        self.answers: list[T] = []
        self.over: Future[None] = Future()

    def ask(self) -> None:
        """Asks the next one; one that answers without waiting is counted at once, and one more asked where it fails."""
        while self._left:
            ask = self._left.pop()
            self._running += 1
            try:
                begun = _Begun(ask())
            except EngineError as error:
                self._ended(error)
                continue
            if begun.done:
                self._answered(begun)
            else:
                self._world.spawn(self._wait(begun), self._node)
                if self._left:
                    self._world.spawn(self._hedge(len(self._left)), self._node)
            break
        self._end_if_none_is_left()

    async def _wait(self, begun: _Begun[T]) -> None:
        try:
            await begun
        except EngineError as error:
            self._ended(error)
            if not self.over.done:
                self.ask()
        else:
            self._answered(begun)
            self._end_if_none_is_left()

    async def _hedge(self, left: int) -> None:
        await self._world.sleep(self._hedge_ns)
        if not self.over.done and len(self._left) == left:
            self._world.event("hedged read")
            self.ask()

    def _answered(self, begun: _Begun[T]) -> None:
        self._running -= 1
        if not self.over.done:
            self.answers.append(begun.answer)  # type: ignore[arg-type]
            self.over.resolve(None)

    def _ended(self, error: EngineError) -> None:
        self._running -= 1
        self.last_error = error

    def _end_if_none_is_left(self) -> None:
        if not self.over.done and not self._left and not self._running:
            self.over.resolve(None)


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
    asks: list[Ask[T]] = [partial(ask, target) for target in targets[1:]]
    if begun is not None:
        asks.insert(0, partial(_handed_over, begun))
    race = _Race(world, node, asks, hedge_ns)
    race.ask()
    if not race.over.done:
        await race.over
    for answer in race.answers:
        return answer
    assert race.last_error is not None
    raise race.last_error


async def _handed_over(begun: _Begun[T]) -> T:
    return await begun
