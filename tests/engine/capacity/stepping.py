"""A row store whose every access is a step of its own, so that a test decides who goes on, who dies and who is late."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from typing import Any, TypeVar

from pkadvisor.engine.rows import Decide, Row
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.fakes import DictCursor, DictRows

T = TypeVar("T")


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield


class LostAnswer(EngineError):  # noqa: N818
    """The answer of a store did not arrive."""


class SteppedRows:
    """``DictRows`` that waits before each read and write; ``lose`` are numbers of writes whose answers get lost."""

    def __init__(self, rows: DictRows | None = None) -> None:
        self.inner = rows or DictRows()
        self.low, self.high = self.inner.low, self.inner.high
        self.writes = 0
        self.lose: set[int] = set()
        self.drop: set[int] = set()

    async def read(self, key: bytes) -> Row | None:
        await _Turn()
        return await self.inner.read(key)

    def cursor(self, low: bytes, high: bytes | None) -> DictCursor:
        return self.inner.cursor(low, high)

    async def write(self, keys: Sequence[bytes], decide: Decide) -> int:
        assert len(set(keys)) == len(keys), "a key is latched once"
        await _Turn()
        number, self.writes = self.writes, self.writes + 1
        if number in self.drop:
            raise LostAnswer("not carried out")
        sequence = await self.inner.write(keys, decide)
        if number in self.lose:
            raise LostAnswer("carried out")
        return sequence


class Stepper:
    """One coroutine, driven step by step."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine
        self.done = False
        self.value: Any = None
        self.error: EngineError | None = None
        self.steps = 0

    def step(self) -> bool:
        """Lets it go on to its next access; False when it has ended. EngineErrors end it and are kept."""
        if self.done:
            return False
        try:
            self.coroutine.send(None)
            self.steps += 1
        except StopIteration as stop:
            self.done, self.value = True, stop.value
        except EngineError as error:
            self.done, self.error = True, error
        return not self.done

    def die(self) -> None:
        """Ends it where it stands."""
        self.coroutine.close()
        self.done = True


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Drives a coroutine to its end; raises what it raises."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
