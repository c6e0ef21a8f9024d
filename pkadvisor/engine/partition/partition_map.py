"""Which server owns which range of keys: an immutable map that tiles the key space, and what changes it.

[ "" … m )  range 3, server ps-1, epoch 7        a change replaces neighbours by ranges of the same extent,
[ m … None) range 4, server ps-2, epoch 9        so there is never a hole or an overlap
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import NotLeader, NotServing
from pkadvisor.engine.partition.server_messages import MAP_SERVICE, SERVICE
from pkadvisor.engine.stream.access import StreamExists, Streams
from pkadvisor.engine.tables.table_messages import Answer, Request
from pkadvisor.engine.tables.table_requests import is_write
from pkadvisor.engine.worlds.tasks import Lock
from pkadvisor.engine.worlds.world import DataCorrupt, EngineError, Unreachable, World


class RangeEntry(msgspec.Struct, frozen=True, array_like=True):
    """A range [low, high), its owner, and the owner's life (``session``, the epoch of its server lease).

    ``server`` is empty while nobody owns it. ``epoch`` grows with every owner; ``fresh`` marks a range whose streams
    may not have been made yet.
    """

    number: int
    low: bytes
    high: bytes | None
    server: str = ""
    session: int = 0
    epoch: int = 0
    fresh: bool = False

    def holds(self, key: bytes) -> bool:
        """Whether the key lies in the range."""
        return self.low <= key and (self.high is None or key < self.high)


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A split or merge that was begun: the ranges ``old`` become the ranges ``new`` at ``epoch``, or stay."""

    id: int
    old: tuple[int, ...]
    new: tuple[int, ...]
    epoch: int


class PartitionMap(msgspec.Struct, frozen=True, array_like=True):
    """The whole map at one version: entries by ``low``, what is pending, and the counters for numbers and epochs."""

    version: int
    entries: tuple[RangeEntry, ...]
    pending: tuple[Pending, ...] = ()
    next_number: int = 1
    next_epoch: int = 1

    def check(self) -> None:
        """P1: the ranges tile the key space; numbers are unique; counters are ahead."""
        assert self.entries, "an empty map"
        assert self.entries[0].low == b"", "a hole at the beginning"
        assert self.entries[-1].high is None, "a hole at the end"
        for left, right in zip(self.entries, self.entries[1:], strict=False):
            assert left.high == right.low, f"a hole or an overlap at {right.low!r}"
            assert left.low < right.low, "an empty range"
        numbers = [entry.number for entry in self.entries]
        assert len(set(numbers)) == len(numbers), "a number twice"
        assert max(numbers) < self.next_number, "a number from the future"
        assert max(entry.epoch for entry in self.entries) < self.next_epoch, "an epoch from the future"
        olds = [number for pending in self.pending for number in pending.old]
        assert len(set(olds)) == len(olds), "a range in two changes"
        assert set(olds) <= set(numbers), "a pending change of a range that is gone"
        for pending in self.pending:
            assert not set(pending.new) & set(numbers), "what a pending change makes is there already"
            assert max(*pending.new, pending.id) < self.next_number and pending.epoch < self.next_epoch


def first_map(boundaries: tuple[bytes, ...] = ()) -> PartitionMap:
    """The map of a new stamp: one range, or one more for each boundary."""
    lows: list[bytes] = [b"", *boundaries]
    highs: list[bytes | None] = [*boundaries, None]
    entries = tuple(
        RangeEntry(number, low, high, fresh=True)
        for number, (low, high) in enumerate(zip(lows, highs, strict=True), start=1)
    )
    partition_map = PartitionMap(1, entries, next_number=len(entries) + 1)
    partition_map.check()
    return partition_map


class Change(msgspec.Struct, frozen=True, array_like=True):
    """One durable step from a map to the next: what is put in place of which ranges, begun or ended."""

    version: int
    gone: tuple[int, ...] = ()
    put: tuple[RangeEntry, ...] = ()
    begun: tuple[Pending, ...] = ()
    ended: tuple[int, ...] = ()
    next_number: int = 0
    next_epoch: int = 0


def apply(before: PartitionMap, change: Change) -> PartitionMap:
    """The map after a change; the changed ranges cover what the gone ones did."""
    assert change.version == before.version + 1, "a change of another version"
    entries = tuple(sorted([e for e in before.entries if e.number not in change.gone] + list(change.put), key=_low))
    pending = tuple(p for p in before.pending if p.id not in change.ended) + change.begun
    after = PartitionMap(
        change.version,
        entries,
        pending,
        max(before.next_number, change.next_number),
        max(before.next_epoch, change.next_epoch),
    )
    after.check()
    return after


def _low(entry: RangeEntry) -> bytes:
    return entry.low


class RangeRoutes:
    """A copy of the map for look-ups, as front ends and the manager hold it."""

    def __init__(self, partition_map: PartitionMap) -> None:
        self.map = partition_map
        self._lows = [entry.low for entry in partition_map.entries]
        self.by_number = {entry.number: entry for entry in partition_map.entries}

    def find(self, key: bytes) -> RangeEntry:
        """The range that holds a key; O(log n)."""
        return self.map.entries[bisect_right(self._lows, key) - 1]

    def place(self, number: int) -> int:
        """The place of a range in key order."""
        return bisect_right(self._lows, self.by_number[number].low) - 1

    def check(self) -> None:
        """The map's own check, and that every look-up leads to the range that the map names."""
        self.map.check()
        assert self._lows == [entry.low for entry in self.map.entries], "what is searched is not the map"
        assert len(self.by_number) == len(self.map.entries), "a number names one range"


# -- The partition map as a stream: a snapshot, then changes; the leader's epoch owns it.


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


# -- A front end: knows from its copy of the map which server serves a key, and asks it (SOSP 2011, 5.2).


class FrontEnd:
    """Routes requests to the servers of their ranges; keeps nothing that it could not do without."""

    def __init__(self, world: World, node: str, managers: tuple[str, ...], options: EngineOptions) -> None:
        self._world, self._node, self._managers, self._options = world, node, managers, options
        self._routes: RangeRoutes | None = None
        # Its name, when it started, and chance: never that of another front end, nor of its own earlier life.
        self._sender = f"{node}/{world.ticks(node)}/{world.random(f'session/{node}').getrandbits(32)}"
        self._count = 0
        self._suspect = False
        """Whether a server was silent: then the map is asked for before the next request."""

    async def send(self, key: bytes, request: Request) -> Answer:
        """The answer of the range that holds ``key``; its ``low`` and ``high`` are the range's.

        Unreachable: no answer within the request's time; a write may have been carried out. NotServing: the time passed
        and it surely was not.
        """
        routes = self._routes
        if routes is not None and not self._suspect:
            entry = routes.find(key)
            if entry.server:
                try:
                    return await self._ask(entry, request)
                except EngineError as error:
                    self._uncertain(request, error)
        return await self._retry(key, request)

    def _ask(self, entry: RangeEntry, request: Request) -> Coroutine[Any, Any, Answer]:
        """Sends a message of its own number to the server of a range."""
        self._count += 1
        return self._world.call(
            self._node,
            entry.server,
            SERVICE,
            "handle",
            entry.number,
            entry.epoch,
            entry.session,
            self._sender,
            self._count,
            request,
        )

    def _uncertain(self, request: Request, error: EngineError) -> None:
        """Passes where the request may be sent again; raises Unreachable where it may have been carried out."""
        self._suspect = self._suspect or isinstance(error, Unreachable)
        if isinstance(error, NotServing) or not is_write(request):
            return
        self._world.event("write uncertain", type(error).__name__)
        raise Unreachable(f"the write may have been carried out: {error}") from error

    async def _retry(self, key: bytes, request: Request) -> Answer:
        world, node = self._world, self._node
        ends_ns = world.clock_ns(node) + self._options.operation_timeout_ns
        last: EngineError = NotServing("no map yet")
        first = True
        while world.clock_ns(node) < ends_ns:
            self._suspect = False
            if not await self._refresh() and not first:
                await world.sleep(self._options.route_retry_ns)
            first = False
            if self._routes is None:
                continue
            entry = self._routes.find(key)
            if not entry.server:
                continue
            try:
                return await self._ask(entry, request)
            except EngineError as error:
                self._uncertain(request, error)
                last = error
        world.event("request out of time", type(last).__name__)
        if isinstance(last, NotServing):
            raise last
        raise Unreachable(f"no server answered: {last}") from last

    async def _refresh(self) -> bool:
        """Whether a newer map came from the manager that leads."""
        known = 0 if self._routes is None else self._routes.map.version
        for manager in self._managers:
            try:
                partition_map: PartitionMap | None = await self._world.call(
                    self._node, manager, MAP_SERVICE, "map", known
                )
            except EngineError:
                continue
            # who answered is asked first the next time: a silent one costs a time-out
            self._managers = (manager, *(other for other in self._managers if other != manager))
            if partition_map is None or partition_map.version <= known:
                return False
            self._routes = RangeRoutes(partition_map)
            self._world.event("map refreshed", self._node, partition_map.version)
            return True
        return False

    @property
    def routes(self) -> RangeRoutes | None:
        """Its copy of the map."""
        return self._routes
