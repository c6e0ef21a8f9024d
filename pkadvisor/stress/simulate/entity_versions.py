"""Versions of entities that are read, changed and written under If-Match: which write is answered 412."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable

from pkadvisor.splitmix import mixed
from pkadvisor.stress.simulate.course import Flight

_AGAIN = 0x616761696E


class EntityVersions:
    """Versions of entities under If-Match. ``entity`` names what a class with parameters updates; None: nothing.

    A write takes its turn when it arrives and is there for readers when it is answered, as behind a latch that is held
    from the check to the append. So two commits of an entity are a read and a write apart, as the cost model says.
    """

    def __init__(
        self,
        entity: Callable[[int, int], Hashable | None],
        *,
        again_ns: int = 0,
        seed: int = 0,
    ) -> None:
        self._entity = entity
        self._again_ns, self._seed, self._conflicts = again_ns, mixed(seed ^ _AGAIN, 0), 0
        self._latest: dict[Hashable, int] = {}
        self._there: dict[Hashable, deque[tuple[int, int]]] = {}

    def read(self, flight: Flight, at_ns: int) -> int:
        """The version that a read at a moment sees. Moments come in order."""
        entity = self._entity(flight.class_number, flight.instance)
        there = self._there.get(entity)
        if entity is None or there is None:
            return 0
        while len(there) > 1 and there[1][0] <= at_ns:
            there.popleft()
        return there[0][1]

    def write(self, flight: Flight, answered_ns: int) -> bool:
        """Whether the version it saw is the last that took its turn; then its own is."""
        entity = self._entity(flight.class_number, flight.instance)
        if entity is None:
            return True
        latest = self._latest.get(entity, 0)
        if flight.seen != latest:
            return False
        self._latest[entity] = latest + 1
        there = self._there.setdefault(entity, deque([(-1, 0)]))
        there.append((answered_ns, latest + 1))
        return True

    def again_ns(self, flight: Flight) -> int:
        """How long the client of a request waits after a 412 before it reads again."""
        self._conflicts += 1
        return exponential(self._again_ns, mixed(mixed(self._seed, flight.number), self._conflicts))


def exponential(mean_ns: int, bits: int) -> int:
    """A value of the exponential distribution from 64 random bits."""
    return int(-math.log(((bits >> 11) + 1) / (1 << 53)) * mean_ns)
