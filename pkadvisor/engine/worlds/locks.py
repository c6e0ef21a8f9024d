"""The plain lock of tasks of one node, alone and by name: one at a time, first come, first served.

Latches on keys, which a write takes by the hundred, are in ``partition/latches.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from pkadvisor.engine.worlds.tasks import Future

N = TypeVar("N", str, int)


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


class Locks(Generic[N]):
    """``async with locks.hold(*names):``; locks that nobody holds or waits for take no memory.

    Those who hold several take them in the order of their names, so no two of them wait for each other in a circle.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[N, Lock] = {}

    def hold(self, *names: N) -> _Hold[N]:
        """Holds all of them, each once, from entry to exit."""
        return _Hold(self._held, sorted(dict.fromkeys(names)))

    def __len__(self) -> int:
        return len(self._held)

    def check(self) -> None:
        """Asserts that every lock that is kept is in use, and each lock's own."""
        for name, lock in self._held.items():
            assert not lock.free, f"the lock {name!r} is kept though nobody wants it"
            lock.check()


class _Hold(Generic[N]):
    """Several locks, taken in the order of ``names``."""

    __slots__ = ("_held", "_locks", "_names")

    def __init__(self, held: dict[N, Lock], names: Sequence[N]) -> None:
        self._held: dict[N, Lock] = held
        self._names: Sequence[N] = names
        self._locks: list[Lock] = []

    async def __aenter__(self) -> None:
        for name in self._names:
            lock = self._held.setdefault(name, Lock())
            await lock.__aenter__()
            self._locks.append(lock)

    async def __aexit__(self, *_: object) -> None:
        for name, lock in zip(self._names, self._locks, strict=True):
            await lock.__aexit__()
            if lock.free:
                del self._held[name]
