"""Which range of keys lies on which server, and when that changes: the partition map of a run without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.lazy import Ints
from pkadvisor.stress.placement.run_result import MapEvent
from pkadvisor.values import dataclass


class MapRange(NamedTuple):
    """The ranks [low, high) of a key space on a server. Numbers are never used again."""

    number: int
    low: int
    high: int
    server: str


@dataclass(frozen=True, slots=True, eq=False)
class WindowCounts:
    """What was counted since the last change, by rank: attempts, those turned away, entities examined, bytes.

    ``latency_ns`` is by range number: the sum over answered attempts.
    """

    requests: Ints
    throttled: Ints
    examined: Ints
    bytes_moved: Ints
    latency_ns: dict[int, int]


class StampMap(Protocol):
    """The map of a run. Between two changes it stays as it is."""

    @property
    def ranges(self) -> Sequence[MapRange]:
        """All ranges in key order, without hole or overlap."""

    def next_change_ns(self) -> int | None:
        """Until when nothing changes: a pass of the manager, the end of a hand-over, a fault. None: for ever."""

    def advance(self, now_ns: int, counts: WindowCounts, capacity: Capacity) -> list[MapEvent]:
        """Comes to the moment of the next change; tells ``capacity`` who takes whose place and who is away."""

    def check(self) -> None:
        """The ranges tile the key space."""


class FixedMap:
    """A map that never changes: a table that has been warmed up, or one range that nobody may split."""

    def __init__(self, ranges: Sequence[MapRange]) -> None:
        self._ranges = tuple(ranges)
        self.check()

    @property
    def ranges(self) -> Sequence[MapRange]:
        """All ranges in key order."""
        return self._ranges

    def next_change_ns(self) -> int | None:
        """Never."""
        return None

    def advance(self, now_ns: int, counts: WindowCounts, capacity: Capacity) -> list[MapEvent]:
        """It has no changes."""
        raise AssertionError("a fixed map does not change")

    def check(self) -> None:
        """The ranges tile the key space."""
        assert self._ranges and self._ranges[0].low == 0, "the first range begins at rank 0"
        for left, right in pairwise(self._ranges):
            assert left.low < left.high == right.low, "ranges with a hole or an overlap"
