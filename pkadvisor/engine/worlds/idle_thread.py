"""The thread that keeps a store on real files going while nobody calls it: leases, combines, syncs that are due.

The engine runs on one thread at a time, and callers come first: this one works only when no call has come for
``IDLE_S``, and looks before each piece of work whether one waits.

    asleep ──a timer is due, or a caller left work──► no call for IDLE_S ──► works, a piece at a time ──┐
       ▲  ▲                                              │ a call came                                  │
       │  └──────────────────────────────────────────────┘                                              │
       └───────────────────────────────nothing is due, or a call comes──────────────────────────────────┘
"""

from __future__ import annotations

from threading import Event, RLock, Thread
from typing import Protocol
from weakref import ref

IDLE_S = 0.02
"""Without a call for so long the store is idle [A]."""


class IdleWorld(Protocol):
    """Whom the thread keeps going."""

    calls: int
    """How many calls have begun."""
    calling: bool
    """Whether one is under way, or waits for its turn."""

    def advance(self) -> float | None:
        """Does a piece of what is ready or due; seconds until there is more, None where nothing will ever be due."""

    def now_ns(self) -> int:
        """Its time."""


class IdleThread:
    """Begins at once. It holds no reference to whom it serves: it ends with that, or when it is told to."""

    def __init__(self, served: IdleWorld) -> None:
        self.turn = RLock()
        """Whoever runs the engine holds it."""
        self.wakes_ns = 0
        """When it works next, by the time of whom it serves: what is due before must wake it."""
        self._wake, self._ending = Event(), False
        self._thread = Thread(target=self._live, args=(ref(served),), name="engine-idle", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Has it look soon."""
        self.wakes_ns = 0
        self._wake.set()

    def end(self) -> None:
        """Ends it, and returns when it has ended."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def _live(self, served: ref[IdleWorld]) -> None:
        seen, wait_s = -1, 0.0
        while True:
            self._wake.wait(wait_s)
            self._wake.clear()
            world = served()
            if self._ending or world is None:
                return
            seen, wait_s = self._look(world, seen)
            world = None

    def _look(self, world: IdleWorld, seen: int) -> tuple[int, float]:
        """The count of calls that it saw, and how long to sleep; works where none has come since the last look."""
        calls = world.calls
        if calls != seen or world.calling or not self.turn.acquire(timeout=IDLE_S):
            return calls, IDLE_S
        try:
            wait_s = world.advance()
            wait_s = 1.0 if wait_s is None else min(wait_s, 1.0)
            self.wakes_ns = world.now_ns() + round(wait_s * 1e9)
            return calls, wait_s
        finally:
            self.turn.release()
