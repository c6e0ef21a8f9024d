"""A walk in key order over memory tables and checkpoints as one; the newest version of each key wins.

Sources hand out rows in blocks (a page, some rows of memory). A round takes from all of them the rows up to the
smallest last key of a block, so that each source is read once and no row costs a comparison with every source. Values
are cut out of a page only when their round comes: those of rows that nobody reaches are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Protocol, TypeAlias

from pkadvisor.engine.lsm.checkpoint import CheckpointReader, IndexNode, RowPage
from pkadvisor.engine.lsm.memory_table import MemoryTable

_KEY = itemgetter(0)
MEMORY_ROWS = 32
"""Rows of a memory table in a block."""


class RowBlock(Protocol):
    """A block of rows in key order, as columns."""

    keys: list[bytes]
    sequences: list[int]
    tombstones: int
    """How many rows are tombstones."""

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``; None is a tombstone."""


Part: TypeAlias = tuple[RowBlock, int, int]
"""Rows of a block: the first, and the one before which they end."""


class Source(Protocol):
    """Rows of one table or checkpoint within bounds, and those of them at hand: all used up when ``at`` is ``end``."""

    rows: RowBlock
    at: int
    end: int
    last: bytes
    """The key before ``end``."""

    async def fill(self) -> bool:
        """Takes the next rows, at least one; False where there are none any more."""


class MemoryRows:
    """Some rows of a memory table."""

    __slots__ = ("_values", "keys", "sequences", "tombstones")

    def __init__(self, keys: list[bytes], sequences: list[int], values: list[bytes | None]) -> None:
        self.keys, self.sequences, self._values = keys, sequences, values
        self.tombstones = values.count(None)

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``."""
        return self._values[first:end]


class PageRows:
    """Rows of a page from ``first`` to before ``end``; their values are decoded once, when the first is asked for."""

    __slots__ = ("_end", "_first", "_page", "_values", "keys", "sequences", "tombstones")

    def __init__(self, page: RowPage, first: int, end: int) -> None:
        self.keys, self.sequences, self.tombstones = page.keys, page.sequences, page.tombstones
        self._page, self._first, self._end = page, first, end
        self._values: list[bytes | None] = []

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``."""
        start = self._first
        if not self._values:
            self._values = self._page.values(start, self._end)
        return self._values[first - start : end - start]


class MemorySource:
    """What a snapshot at ``sequence`` sees of a memory table."""

    __slots__ = ("_after", "_ended", "_from", "_high", "_sequence", "_table", "at", "end", "last", "rows")

    rows: RowBlock

    def __init__(self, table: MemoryTable, low: bytes, high: bytes | None, sequence: int) -> None:
        self._table, self._from, self._high, self._sequence = table, low, high, sequence
        self._after = self._ended = False
        self.at = self.end = 0
        self.last = b""

    async def fill(self) -> bool:
        """Takes the next rows."""
        if self._ended:
            return False
        keys, versions, goes_on = self._table.walk(
            self._from, self._high, self._sequence, MEMORY_ROWS, after=self._after
        )
        if goes_on is None:
            self._ended = True
        else:
            self._from, self._after = goes_on, True
        if not keys:
            return False
        self.rows = MemoryRows(keys, [version[0] for version in versions], [version[1] for version in versions])
        self.at, self.end, self.last = 0, len(keys), keys[-1]
        return True


class CheckpointSource:
    """Rows of a checkpoint within bounds, page by page."""

    __slots__ = ("_high", "_keep", "_low", "_node", "_number", "_reader", "_slot", "at", "end", "last", "rows")

    rows: RowBlock

    def __init__(self, reader: CheckpointReader, low: bytes, high: bytes | None, *, keep: bool = True) -> None:
        """Bounds within those of the reader. ``keep`` false: what is read does not displace what the cache holds."""
        self._reader, self._keep = reader, keep
        self._low: bytes | None = low
        self._high = high
        self._node: IndexNode | None = None
        self._number = self._slot = 0
        self.at = self.end = 0
        self.last = b""

    async def fill(self) -> bool:
        """Takes the rows of the next page."""
        reader, low, high = self._reader, self._low, self._high
        while True:
            node = self._node
            if node is None:
                if low is not None:
                    self._number = reader.node_of(low)
                if self._number >= reader.nodes:
                    return False
                self._node = node = reader.cached_node(self._number) or await reader.load_node(self._number)
                self._slot = 0 if low is None else max(bisect_right(node.keys, low) - 1, 0)
            slot = self._slot
            place = node.places[slot]
            page = reader.cached_page(place) or await reader.load_page(place, node.keys[slot], keep=self._keep)
            self._slot = slot = slot + 1
            if slot == len(node.places):
                self._node, self._number = None, self._number + 1
            keys = page.keys
            start, end = 0, len(keys)
            self.last = last = keys[-1]
            if low is not None:
                start = bisect_left(keys, low)
                self._low = low = None
            if high is not None and last >= high:
                end = bisect_left(keys, high)
                self._node, self._number = None, reader.nodes
                self.last = keys[end - 1]
            if start < end:
                self.rows, self.at, self.end = PageRows(page, start, end), start, end
                return True


class RowWalk:
    """Sources, newest first, as one; tombstones are among the rows."""

    __slots__ = ("_sources",)

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)

    async def next(self) -> list[Part]:
        """The next rows, at least one: the parts of a round, newest first, for ``merged`` or ``columns``; none of them
        at the end. No key of a later round is before one of this."""
        sources = self._sources
        ended = False
        for source in sources:
            if source.at == source.end and not await source.fill():
                ended = True
        if ended:
            sources = self._sources = [source for source in sources if source.at < source.end]
        if len(sources) < 2:
            if not sources:
                return []
            (source,) = sources
            start, source.at = source.at, source.end
            return [(source.rows, start, source.end)]
        limit = min([source.last for source in sources])
        parts: list[Part] = []
        for source in sources:
            start, rows = source.at, source.rows
            end = source.end if source.last == limit else bisect_right(rows.keys, limit, start, source.end)
            if end > start:
                parts.append((rows, start, end))
                source.at = end
        return parts


def columns(parts: Sequence[Part]) -> tuple[list[bytes], list[int], list[bytes | None]]:
    """The rows of a round as keys, sequence numbers and values, the newest version of each."""
    rows, start, end = parts[0]
    if len(parts) == 1:
        return rows.keys[start:end], rows.sequences[start:end], rows.values(start, end)
    keys, sequences, values = zip(*merged(parts), strict=True)
    return list(keys), list(sequences), list(values)


def merged(parts: Sequence[Part]) -> list[tuple[bytes, int, bytes | None]]:
    """The rows of a round (key, sequence number, value), the newest version of each."""
    keys: list[bytes] = []
    sequences: list[int] = []
    values: list[bytes | None] = []
    for rows, start, end in parts:
        keys += rows.keys[start:end]
        sequences += rows.sequences[start:end]
        values += rows.values(start, end)
    all_rows = list(zip(keys, sequences, values, strict=True))
    if len(parts) == 1:
        return all_rows
    if len(set(keys)) < len(keys):
        all_rows = list(dict(zip(reversed(keys), reversed(all_rows), strict=True)).values())
    all_rows.sort(key=_KEY)
    return all_rows


def live(parts: Sequence[Part]) -> list[tuple[bytes, int, bytes]]:
    """The rows of a round that are there; none where all of them are tombstones."""
    merged_rows = merged(parts)
    for rows, _, _ in parts:
        if rows.tombstones:
            merged_rows = [row for row in merged_rows if row[2] is not None]
            break
    return merged_rows  # type: ignore[return-value]
