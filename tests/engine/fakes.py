"""Plain stand-ins for the rooms below: streams in memory, rows in a sorted dictionary. Right, simple, no faults."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sortedcontainers import SortedDict

from pkadvisor.engine.rows import Decide, Row
from pkadvisor.engine.stream.access import Fenced, Location, MultiModify, NotThere, StreamExists, StreamMissing


class MemoryStreams:
    """``Streams`` in memory: each stream is a list of extents, each extent a list of blocks."""

    def __init__(self) -> None:
        self.extents: dict[int, list[bytes]] = {}
        self.streams: dict[str, list[int]] = {}
        self.owners: dict[str, int] = {}
        self.done: set[str] = set()

    def _check(self, name: str, epoch: int) -> None:
        if name not in self.streams:
            raise StreamMissing(name)
        if epoch < self.owners[name]:
            raise Fenced(name)

    def _new_extent(self, name: str) -> None:
        number = len(self.extents) + 1
        self.extents[number] = []
        self.streams[name].append(number)

    async def create(self, name: str, epoch: int) -> None:
        if name in self.streams:
            raise StreamExists(name)
        self.streams[name], self.owners[name] = [], epoch
        self._new_extent(name)

    async def acquire(self, name: str, epoch: int) -> None:
        self._check(name, epoch)
        self.owners[name] = epoch
        self._new_extent(name)

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        self._check(name, epoch)
        extent = self.streams[name][-1]
        held = self.extents[extent]
        held.extend(blocks)
        return [Location(extent, len(held) - len(blocks) + i, len(block)) for i, block in enumerate(blocks)]

    async def read(self, location: Location) -> bytes:
        held = self.extents.get(location.extent, [])
        if location.offset >= len(held):
            raise NotThere(str(location))
        return held[location.offset]

    async def records(self, name: str, start: Location | None = None) -> AsyncIterator[tuple[Location, bytes]]:
        if name not in self.streams:
            raise StreamMissing(name)
        begun = start is None
        for extent in list(self.streams[name]):
            begun = begun or (start is not None and extent == start.extent)
            for offset, block in enumerate(self.extents[extent] if begun else []):
                if start is not None and extent == start.extent and offset < start.offset:
                    continue
                yield Location(extent, offset, len(block)), block

    async def exists(self, name: str) -> bool:
        return name in self.streams

    async def delete(self, name: str) -> None:
        self.streams.pop(name, None)

    async def drop_before(self, name: str, start: Location) -> None:
        if name not in self.streams:
            raise StreamMissing(name)
        kept = self.streams[name]
        if start.extent in kept:
            self.streams[name] = kept[kept.index(start.extent) :]

    async def concatenate(self, target: str, sources: Sequence[str], epoch: int) -> None:
        self._check(target, epoch)
        for source in sources:
            self.streams[target] += self.streams[source]
        self._new_extent(target)

    async def multi_modify(self, change: MultiModify) -> None:
        if change.id in self.done:
            return
        for new in change.make:
            for source in new.sources:
                self._check(source, change.epoch)
        for new in change.make:
            self.streams[new.name] = list(dict.fromkeys(each for name in new.sources for each in self.streams[name]))
            self.owners[new.name] = new.epoch
            self._new_extent(new.name)
        for name in change.delete:
            self.streams.pop(name, None)
        self.done.add(change.id)


class DictCursor:
    """A cursor over a copy."""

    def __init__(self, rows: list[tuple[bytes, int, bytes]], batch: int) -> None:
        self._rows, self._batch = rows, batch

    async def next(self) -> list[tuple[bytes, int, bytes]]:
        found, self._rows = self._rows[: self._batch], self._rows[self._batch :]
        return found

    def close(self) -> None:
        self._rows = []


class DictRows:
    """``RowStore`` on a sorted dictionary."""

    def __init__(self, low: bytes = b"", high: bytes | None = None, batch: int = 7) -> None:
        self.low, self.high, self._batch = low, high, batch
        self.rows: SortedDict[bytes, Row] = SortedDict()
        self.sequence = 0

    async def read(self, key: bytes) -> Row | None:
        return self.rows.get(key)

    def cursor(self, low: bytes, high: bytes | None) -> DictCursor:
        keys = self.rows.irange(low, high, inclusive=(True, False))
        return DictCursor([(key, *self.rows[key]) for key in keys], self._batch)

    async def write(self, keys: Sequence[bytes], decide: Decide) -> int:
        sequence = self.sequence + 1
        changes = decide([self.rows.get(key) for key in keys], sequence)
        self.sequence = sequence
        for key, value in changes:
            assert key in keys, "a change of a key that was not asked for"
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = (sequence, value)
        return sequence
