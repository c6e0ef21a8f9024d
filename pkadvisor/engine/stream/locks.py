"""A lock for tasks of one node: first come, first served; it dies with the node's memory."""

from __future__ import annotations

from collections import deque

from pkadvisor.engine.worlds.tasks import Future


class Lock:
    """``async with lock:``; free locks cost no wait."""

    __slots__ = ("_held", "_queue")

    def __init__(self) -> None:
        self._held = False
        self._queue: deque[Future[None]] = deque()

    @property
    def free(self) -> bool:
        """Whether nobody holds it or waits for it."""
        return not self._held

    async def __aenter__(self) -> None:
        if not self._held:
            self._held = True
            return
        future: Future[None] = Future()
        self._queue.append(future)
        await future  # whoever left gave the lock on: it was never free in between

    async def __aexit__(self, *_: object) -> None:
        if self._queue:
            self._queue.popleft().resolve(None)
        else:
            self._held = False
