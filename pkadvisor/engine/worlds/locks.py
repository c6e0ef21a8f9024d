"""The plain lock of tasks of one node: one at a time, first come, first served.

Latches on keys, which a write takes by the hundred, are in ``partition/latches.py``.
"""

from __future__ import annotations

from collections import deque

from pkadvisor.engine.worlds.tasks import Future


class Lock:
    """``async with lock:``; a free lock costs no wait.

    It belongs to one node's memory: a crash of the node ends it together with everybody who waits.

        free ──enter──► held, nobody waits ──enter──► held, some wait ──leave──► held by the first that waited
          ▲                   │ leave
          └───────────────────┘
    """

    __slots__ = ("_held", "_waiting")

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[Future[None]] = deque()

    @property
    def free(self) -> bool:
        """Whether nobody holds it or waits for it."""
        return not self._held

    async def __aenter__(self) -> None:
        if not self._held:
            self._held = True
            return
        turn: Future[None] = Future()
        self._waiting.append(turn)
        await turn  # whoever left gave the lock on: it was never free in between

    async def __aexit__(self, *_: object) -> None:
        if self._waiting:
            self._waiting.popleft().resolve(None)
        else:
            self._held = False

    def check(self) -> None:
        """Asserts that nobody waits for a lock that is free, or for a turn that has come."""
        assert self._held or not self._waiting, "somebody waits for a lock that is free"
        assert not any(turn.done for turn in self._waiting), "whoever was woken still stands in the queue"
