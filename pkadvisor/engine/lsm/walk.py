"""A walk in key order over memory tables and checkpoints as one; the newest version of each key wins.

Sources hand out rows in chunks (a page, some rows of memory). A round takes from all of them the rows up to the
smallest last key of a chunk, so that each source is read once and no row costs a comparison with every source.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pkadvisor.engine.lsm.checkpoint import CheckpointReader
from pkadvisor.engine.lsm.memory_table import MemoryTable

MEMORY_ROWS = 32
"""Rows of a memory table in a chunk."""


@dataclass(slots=True)
class Chunk:
    """Rows in key order as columns, of which those before ``start`` are used up; a value None is a tombstone."""

    keys: list[bytes]
    sequences: list[int]
    values: list[bytes | None]
    tombstones: bool
    start: int = 0


class Source(Protocol):
    """Rows of one table or checkpoint within bounds."""

    async def next(self) -> Chunk | None:
        """The next rows, never none of them but at the end: None."""


class MemorySource:
    """What a snapshot at ``sequence`` sees of a memory table."""

    __slots__ = ("_after", "_ended", "_from", "_high", "_sequence", "_table")

    def __init__(self, table: MemoryTable, low: bytes, high: bytes | None, sequence: int) -> None:
        self._table, self._from, self._high, self._sequence = table, low, high, sequence
        self._after = self._ended = False

    async def next(self) -> Chunk | None:
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
        values = [version[1] for version in versions]
        return Chunk(keys, [version[0] for version in versions], values, None in values)


class CheckpointSource:
    """Rows of a checkpoint within bounds, page by page."""

    __slots__ = ("_high", "_keep", "_low", "_page", "_reader")

    def __init__(self, reader: CheckpointReader, low: bytes, high: bytes | None, *, keep: bool = True) -> None:
        self._reader, self._keep = reader, keep
        self._low: bytes | None
        self._low, self._high = reader.checkpoint.clipped(low, high)
        self._page = -1

    async def next(self) -> Chunk | None:
        """The rows of the next page."""
        reader = self._reader
        if self._page < 0 and self._low is not None:
            self._page = await reader.page_of(self._low)
        while self._page < reader.root.pages:
            page = await reader.page(self._page, keep=self._keep)
            self._page += 1
            keys = page.keys
            start = 0 if self._low is None else bisect_left(keys, self._low)
            end = len(keys)
            if self._high is not None and keys[-1] >= self._high:
                end = bisect_left(keys, self._high)
                self._page = reader.root.pages
            if start < end:
                self._low = None
                tombstones, values = page.tombstones > 0, page.values(start, end)
                if end - start == len(keys):
                    return Chunk(keys, page.sequences, values, tombstones)
                return Chunk(keys[start:end], page.sequences[start:end], values, tombstones)
        return None


@dataclass(slots=True)
class _Lane:
    source: Source
    chunk: Chunk | None = None


@dataclass(slots=True)
class Walk:
    """Sources, newest first, as one; tombstones are among the rows."""

    sources: Sequence[Source]
    _lanes: list[_Lane] = field(init=False)

    def __post_init__(self) -> None:
        self._lanes = [_Lane(source) for source in reversed(self.sources)]

    async def next(self) -> Chunk | None:
        """The next rows, at least one; None at the end."""
        lanes = self._lanes
        ended = False
        for lane in lanes:
            if lane.chunk is None:
                lane.chunk = await lane.source.next()
                ended = ended or lane.chunk is None
        if ended:
            lanes = self._lanes = [lane for lane in lanes if lane.chunk is not None]
        if not lanes:
            return None
        if len(lanes) == 1:
            chunk, lanes[0].chunk = lanes[0].chunk, None
            assert chunk is not None
            return _slice(chunk, chunk.start, len(chunk.keys))
        return _round(lanes)


def _round(lanes: list[_Lane]) -> Chunk:
    """Takes from each lane the rows up to the smallest last key; lanes come oldest first."""
    limit = min(lane.chunk.keys[-1] for lane in lanes if lane.chunk is not None)
    parts: list[tuple[Chunk, int, int]] = []
    for lane in lanes:
        chunk = lane.chunk
        assert chunk is not None
        start, end = chunk.start, bisect_right(chunk.keys, limit, chunk.start)
        if end > start:
            parts.append((chunk, start, end))
            chunk.start = end
            if end == len(chunk.keys):
                lane.chunk = None
    if len(parts) == 1:
        return _slice(*parts[0])
    merged: dict[bytes, tuple[int, bytes | None]] = {}
    for chunk, start, end in parts:
        merged.update(
            zip(
                chunk.keys[start:end],
                zip(chunk.sequences[start:end], chunk.values[start:end], strict=True),
                strict=True,
            )
        )
    keys = sorted(merged)
    versions = [merged[key] for key in keys]
    return Chunk(
        keys,
        [version[0] for version in versions],
        [version[1] for version in versions],
        any(chunk.tombstones for chunk, _, _ in parts),
    )


def _slice(chunk: Chunk, start: int, end: int) -> Chunk:
    if start == 0 and end == len(chunk.keys):
        return Chunk(chunk.keys, chunk.sequences, chunk.values, chunk.tombstones)
    return Chunk(chunk.keys[start:end], chunk.sequences[start:end], chunk.values[start:end], chunk.tombstones)
