"""The partition map as a stream: a snapshot, then changes; the leader's epoch owns it.

The paper keeps it in the PartitionMap table (SOSP 2011, 5.2). Here it is a stream of its own [H], so that the stream
layer fences a deposed leader: it can append nothing any more.

    acquire ──► read all ──► write a snapshot ──► change, change, … ──every n changes──► write a snapshot
                                                     │ an append fails
                                                     ▼ lead no longer: what the stream holds is read anew
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import NotLeader
from pkadvisor.engine.partition.partition_map import Change, PartitionMap, RangeRoutes, apply, first_map
from pkadvisor.engine.stream.access import Streams
from pkadvisor.engine.stream.errors import StreamExists
from pkadvisor.engine.worlds.locks import Lock
from pkadvisor.engine.worlds.world import DataCorrupt, EngineError

STREAM: Final = "partitions/map"
MADE: Final = "partitions/made"
"""A stream that is there since the first snapshot was durable: from then on an empty map is a lost one."""


class _MapRecord(msgspec.Struct, frozen=True, array_like=True):
    whole: PartitionMap | None = None
    change: Change | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_MapRecord).decode


class MapStore:
    """The map of one leadership. After an error it takes no more changes."""

    def __init__(self, streams: Streams, epoch: int, options: EngineOptions, stored_map: PartitionMap) -> None:
        self._streams, self._epoch, self._options = streams, epoch, options
        self._lock = Lock()
        self._since_snapshot = 0
        self.failed = False
        self.routes = RangeRoutes(stored_map)

    @classmethod
    async def open(
        cls, streams: Streams, epoch: int, options: EngineOptions, boundaries: tuple[bytes, ...]
    ) -> MapStore:
        """Takes the map over; makes the first one where there was none. Fenced: a later leader has it.

        DataCorrupt where there was one: a stamp is not begun anew over the rows of another.
        """
        if await streams.exists(STREAM):
            await streams.acquire(STREAM, epoch)
        else:
            await streams.create(STREAM, epoch)
        partition_map: PartitionMap | None = None
        empty = True
        async for _, block in streams.records(STREAM):
            partition_map, empty = _follow(partition_map, _decode(block)), False
        if partition_map is None and not empty:
            raise DataCorrupt("the partition map has changes and no snapshot")
        made = await streams.exists(MADE)
        if partition_map is None and made:
            raise DataCorrupt("the partition map is lost")
        store = cls(streams, epoch, options, partition_map or first_map(boundaries))
        await store._snapshot()
        if not made:
            with suppress(StreamExists):
                await streams.create(MADE, epoch)
        return store

    async def change(self, build: Callable[[PartitionMap], Change]) -> PartitionMap:
        """Makes a change durable, then visible. ``build`` sees the map as it is when its turn comes.

        NotLeader where this leadership is over. Where an append fails nobody knows whether the change holds: the
        leadership ends.
        """
        async with self._lock:
            if self.failed:
                raise NotLeader("this leadership is over")
            change = build(self.routes.map)
            after = apply(self.routes.map, change)
            try:
                await self._streams.append(STREAM, [_encode(_MapRecord(change=change))], self._epoch)
            except EngineError:
                self.failed = True
                raise
            self.routes = RangeRoutes(after)
            self._since_snapshot += 1
            if self._since_snapshot >= self._options.map_snapshot_changes:
                await self._snapshot()
            return after

    def check(self) -> None:
        """P1 of the map; and what a new leader must read after the last snapshot is bounded."""
        self._lock.check()
        self.routes.check()
        assert self._since_snapshot <= max(1, self._options.map_snapshot_changes), "a snapshot is overdue"

    async def _snapshot(self) -> None:
        try:
            (location,) = await self._streams.append(STREAM, [_encode(_MapRecord(whole=self.routes.map))], self._epoch)
            self._since_snapshot = 0
            await self._streams.drop_before(STREAM, location)
        except EngineError:
            self.failed = True
            raise


def _follow(partition_map: PartitionMap | None, record: _MapRecord) -> PartitionMap | None:
    """The map after one more record; one that lies there twice, or before the first snapshot, changes nothing.

    Changes before it are left where the extent that holds the snapshot began with them. DataCorrupt: one is missing.
    """
    if record.whole is not None:
        return record.whole if partition_map is None or record.whole.version >= partition_map.version else partition_map
    change = record.change
    if change is None or partition_map is None or change.version <= partition_map.version:
        return partition_map
    if change.version != partition_map.version + 1:
        raise DataCorrupt("the partition map misses a change")
    return apply(partition_map, change)
