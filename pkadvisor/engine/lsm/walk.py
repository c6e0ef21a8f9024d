"""A walk in key order over memory tables and checkpoints as one; the newest version of each key wins.

Sources hand out rows in blocks (a page, some rows of memory). A round takes from all of them the rows up to the
smallest last key of a block, so that each source is read once and no row costs a comparison with every source. Values
are cut out of a page only when their round comes: those of rows that nobody reaches are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from pkadvisor.engine.lsm.checkpoint import CheckpointReader
from pkadvisor.engine.lsm.memory_table import MemoryTable

MEMORY_ROWS = 32
"""Rows of a memory table in a block."""


class Rows(Protocol):
    """A block of rows in key order, as columns."""

    keys: list[bytes]
    sequences: list[int]

    @property
    def tombstones(self) -> int:
        """How many rows are tombstones, or at least whether any is."""

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``; None is a tombstone."""


Part: TypeAlias = tuple[Rows, int, int]
"""Rows of a block: the first, and the one before which they end."""


class Source(Protocol):
    """Rows of one table or checkpoint within bounds."""

    async def next(self) -> Part | None:
        """The next rows, never none of them but at the end: None."""


class MemoryRows:
    """Some rows of a memory table."""

    __slots__ = ("_values", "keys", "sequences", "tombstones")

    def __init__(self, keys: list[bytes], sequences: list[int], values: list[bytes | None]) -> None:
        self.keys, self.sequences, self._values = keys, sequences, values
        self.tombstones = values.count(None)

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``."""
        return self._values[first:end]


class MemorySource:
    """What a snapshot at ``sequence`` sees of a memory table."""

    __slots__ = ("_after", "_ended", "_from", "_high", "_sequence", "_table")

    def __init__(self, table: MemoryTable, low: bytes, high: bytes | None, sequence: int) -> None:
        self._table, self._from, self._high, self._sequence = table, low, high, sequence
        self._after = self._ended = False

    async def next(self) -> Part | None:
        """The next rows."""
        if self._ended:
            return None
        keys, versions, goes_on = self._table.walk(
            self._from, self._high, self._sequence, MEMORY_ROWS, after=self._after
        )
        if goes_on is None:
            self._ended = True
        else:
            self._from, self._after = goes_on, True
        if not keys:
            return None
        rows = MemoryRows(keys, [version[0] for version in versions], [version[1] for version in versions])
        return rows, 0, len(keys)


class CheckpointSource:
    """Rows of a checkpoint within bounds, page by page."""

    __slots__ = ("_high", "_keep", "_low", "_page", "_reader")

    def __init__(self, reader: CheckpointReader, low: bytes, high: bytes | None, *, keep: bool = True) -> None:
        self._reader, self._keep = reader, keep
        self._low: bytes | None
        self._low, self._high = reader.checkpoint.clipped(low, high)
        self._page = -1

    async def next(self) -> Part | None:
        """The rows of the next page."""
        reader, low, high = self._reader, self._low, self._high
        if self._page < 0 and low is not None:
            self._page = await reader.page_of(low)
        while self._page < reader.root.pages:
            page = await reader.page(self._page, keep=self._keep)
            self._page += 1
            keys = page.keys
            start = 0 if low is None else bisect_left(keys, low)
            end = len(keys)
            if high is not None and keys[-1] >= high:
                end = bisect_left(keys, high)
                self._page = reader.root.pages
            if start < end:
                self._low = None
                return page, start, end
        return None


class _Lane:
    """A source, and the rows of it that are at hand: all are used up when ``at`` is ``end``."""

    __slots__ = ("at", "end", "last", "rows", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: Rows
        self.at = self.end = 0
        self.last = b""

    async def fill(self) -> bool:
        """Takes the next rows; False where the source has ended."""
        part = await self.source.next()
        if part is None:
            return False
        self.rows, self.at, self.end = part
        self.last = self.rows.keys[self.end - 1]
        return True


class Walk:
    """Sources, newest first, as one; tombstones are among the rows."""

    __slots__ = ("_lanes",)

    def __init__(self, sources: Sequence[Source]) -> None:
        self._lanes = [_Lane(source) for source in reversed(sources)]

    async def next(self) -> list[Part]:
        """The next rows, at least one: the parts of a round, oldest first, for ``merged`` or ``columns``; none of them
        at the end. No key of a later round is before one of this."""
        lanes = self._lanes
        for lane in lanes:
            if lane.at == lane.end and not await lane.fill():
                self._lanes = [other for other in self._lanes if other is not lane]
        lanes = self._lanes
        if len(lanes) == 1:
            (lane,) = lanes
            start, lane.at = lane.at, lane.end
            return [(lane.rows, start, lane.end)]
        if not lanes:
            return []
        limit = min([lane.last for lane in lanes])
        parts: list[Part] = []
        for lane in lanes:
            start = lane.at
            end = lane.end if lane.last == limit else bisect_right(lane.rows.keys, limit, start, lane.end)
            if end > start:
                parts.append((lane.rows, start, end))
                lane.at = end
        return parts


def merged(parts: Sequence[Part]) -> list[tuple[bytes, int, bytes | None]]:
    """The rows of a round (key, sequence number, value), the newest version of each."""
    if len(parts) == 1:
        ((rows, start, end),) = parts
        return list(zip(rows.keys[start:end], rows.sequences[start:end], rows.values(start, end), strict=True))
    found: dict[bytes, tuple[bytes, int, bytes | None]] = {}
    for rows, start, end in parts:
        keys = rows.keys[start:end]
        found.update(zip(keys, zip(keys, rows.sequences[start:end], rows.values(start, end)), strict=True))
    return [found[key] for key in sorted(found)]


def columns(parts: Sequence[Part]) -> tuple[list[bytes], list[int], list[bytes | None]]:
    """The rows of a round as keys, sequence numbers and values, the newest version of each."""
    if len(parts) == 1:
        ((rows, start, end),) = parts
        return rows.keys[start:end], rows.sequences[start:end], rows.values(start, end)
    keys, sequences, values = zip(*merged(parts), strict=True)
    return list(keys), list(sequences), list(values)
