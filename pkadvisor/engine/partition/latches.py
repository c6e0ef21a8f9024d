"""Latches on keys: whoever writes a key waits for the writers of that key that came before.

A latch is free, or held with a queue of those who wait. It passes from hand to hand: a late comer never overtakes.

    free ──hold──► held, nobody waits ──hold──► held, some wait ──release──► held by the first that waited
      ▲                   │ release
      └───────────────────┘
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pkadvisor.engine.worlds.tasks import Future


class KeyLatches:
    """Latches of one range partition; memory only, forgotten in a crash."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[bytes, deque[Future[None]] | None] = {}

    def take(self, key: bytes) -> bool:
        """Takes a latch that is free, at once; False where somebody holds it."""
        if key in self._held:
            return False
        self._held[key] = None
        return True

    async def hold(self, keys: Sequence[bytes]) -> None:
        """Takes the latches of ``keys`` one after the other.

        All callers must name keys in ascending order and none twice: so no two of them wait for each other in a circle.
        """
        held = self._held
        if held.keys().isdisjoint(keys):
            held.update(dict.fromkeys(keys))
            return
        for key in keys:
            if key not in held:
                held[key] = None
                continue
            waiting = held[key]
            if waiting is None:
                waiting = held[key] = deque()
            turn: Future[None] = Future()
            waiting.append(turn)
            await turn

    def release(self, keys: Sequence[bytes]) -> None:
        """Gives latches back; each goes to whoever waits longest for it."""
        held = self._held
        for key in keys:
            waiting = held.pop(key)
            if waiting:
                held[key] = waiting
                waiting.popleft().resolve(None)

    def check(self) -> None:
        """Asserts that nobody waits for what is done."""
        for waiting in self._held.values():
            assert not any(turn.done for turn in waiting or ()), "whoever was woken still stands in the queue"

    def __len__(self) -> int:
        return len(self._held)
