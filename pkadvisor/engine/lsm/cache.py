"""The page cache: decoded pages and index nodes of the row data, read-only, shared by the ranges of one server."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Protocol, TypeAlias

Place: TypeAlias = tuple[int, int, int]
"""A ``Location`` as a bare tuple."""


class Weighed(Protocol):
    """What knows how many bytes of memory it takes."""

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory."""


class PageCache:
    """The blocks used last, up to a number of bytes; the one used longest ago goes first.

    Blocks are immutable and a place is never written twice, so an entry cannot be stale.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.memory_bytes = 0
        self.hits = 0
        self.misses = 0
        self._held: OrderedDict[Place, Weighed] = OrderedDict()

    def get(self, place: Place) -> Any:
        """The block at a place, or None: a page or an index node, as whoever asks for the place knows."""
        page = self._held.get(place)
        if page is None:
            self.misses += 1
            return None
        self.hits += 1
        self._held.move_to_end(place)
        return page

    def put(self, place: Place, block: Weighed) -> None:
        """Holds a block and lets older ones go. A block larger than the cache is not held."""
        before = self._held.pop(place, None)
        if before is not None:
            self.memory_bytes -= before.memory_bytes
        if block.memory_bytes > self.bytes_max:
            return
        self._held[place] = block
        self.memory_bytes += block.memory_bytes
        while self.memory_bytes > self.bytes_max:
            _, gone = self._held.popitem(last=False)
            self.memory_bytes -= gone.memory_bytes

    def clear(self) -> None:
        """Lets everything go."""
        self._held.clear()
        self.memory_bytes = 0

    def check(self) -> None:
        """The bytes counted are those held, and within the bound."""
        assert self.memory_bytes == sum(block.memory_bytes for block in self._held.values())
        assert self.memory_bytes <= self.bytes_max
