"""One at a time, in the order of arrival."""

from __future__ import annotations

from collections import deque
from types import TracebackType

from pkadvisor.engine.tasks import Future


class Mutex:
    """``async with mutex``: who comes first goes first; nobody waits where nobody is inside.

    It belongs to one node's memory: a crash of the node ends it together with everybody who waits.
    """

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[Future[None]] = deque()

    @property
    def held(self) -> bool:
        """Whether somebody is inside."""
        return self._held

    async def __aenter__(self) -> None:
        if not self._held:
            self._held = True
            return
        turn: Future[None] = Future()
        self._waiting.append(turn)
        await turn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waiting:
            self._waiting.popleft().resolve(None)  # handed over: it stays held
        else:
            self._held = False
