"""An extent node: keeps replicas of extents; knows nothing of streams (SOSP 2011, 4.2 and 4.3).

    append ─► primary: offsets, checksums ─► journal of each of the three ─► acknowledged, in offset order
                                                 └─► data devices later, in large pieces

One round of an extent is under way at a time; what comes meanwhile goes with the next round. A replica that fails ends
appends to the extent: the client lets the stream manager seal it. So does a restart of a node [H]: an extent is open
only as long as the three processes live that opened it, and no bytes of an earlier life can be overtaken.

Replicas come and go: made empty, sealed at a decided length, copied from others, deleted (SOSP 2011, 4.3.2).

open ──freeze: no more appends, the commit length is told──► frozen ──seal at n: cut or filled──► sealed
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import ExtentSealed, NotThere, ReplicaFailed, TooSlow
from pkadvisor.engine.stream.blocks import check_whole, decode, encode
from pkadvisor.engine.stream.nodes.extent_store import PLACE, ExtentStore, Replica, file_name
from pkadvisor.engine.stream.nodes.record_file import Created, Deleted, Flushed, RecordFile, Sealed, Truncation
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, DiskFull, EngineError, ReadFailed, Unreachable, World

SERVICE = "extents"
MAKING_MAX = 8
"""Replicas that a node makes at once: assumed."""
PIECE_BYTES = 1 << 20


class ExtentSealing(ExtentStore):
    """Making, sealing, copying and deleting replicas on one node."""

    async def create(self, extent: int, replicas: tuple[str, ...]) -> None:
        """Opens an empty replica; the first of ``replicas`` is the primary. Doing it again does nothing.

        TooSlow, at once, where so many are still being made that this one would only wait behind them: whoever asks
        takes other nodes, and a slow disk does not get a queue that outlasts its slowness.
        """
        known = self.replicas.get(extent)
        if known is not None:
            await self._until_made(known)
            return
        if self._making >= MAKING_MAX:
            raise TooSlow(f"{self.name} is still making {MAKING_MAX} replicas")
        self._making += 1
        try:
            await self._make(extent, replicas)
        finally:
            self._making -= 1

    async def _make(self, extent: int, replicas: tuple[str, ...]) -> None:
        file = await self._data.open(file_name(extent))
        known = self.replicas.get(extent)
        if known is not None:
            await self._until_made(known)
            return
        replica = self.replicas[extent] = Replica(extent, replicas, file, self.device)
        replica.made = self._world.random("copies").getrandbits(63)
        replica.closed = "not yet made"
        async with replica.lock:
            try:
                await self._catalog.note(Created(extent, replicas, replica.made))
            except DiskError:
                with suppress(DiskError):  # what stays goes at the next start
                    await self._data.delete(file_name(extent))
                del self.replicas[extent]
                raise
            replica.closed = ""

    async def _until_made(self, known: Replica) -> None:
        """The same request came twice: it is made when it is durable."""
        async with known.lock:
            self._still_here(known)

    async def freeze(self, extent: int) -> tuple[int, bool]:
        """Ends appends for ever and tells the commit length, and whether it is certain; first step of a seal.

        After a crash that left torn bytes in the journal a length is uncertain: acknowledged bytes may lack [H].
        DataCorrupt: they do, and no other replica has them.
        """
        replica = self._replica(extent)
        if replica.damaged and len(replica.replicas) == 1:
            self._world.event("acknowledged bytes lost", self.name, extent)
            raise DataCorrupt(f"extent {extent}: {self.name}, which has the only replica, lost acknowledged bytes")
        replica.frozen = True
        await replica.settled()
        return replica.durable, not replica.uncertain

    async def seal(self, extent: int, length: int, sources: tuple[str, ...]) -> None:
        """Makes the replica exactly ``length`` bytes: cuts a longer one, fills a shorter one from ``sources``."""
        replica = self._replica(extent)
        replica.frozen = True
        await replica.settled()
        async with replica.lock:
            self._still_here(replica)
            if replica.sealed is None:
                await self._bring_to(replica, length, sources)
                await self._catalog.note(Sealed(extent, length))
                replica.sealed = replica.durable = length
                replica.uncertain = replica.damaged = False
                replica.closed = ""
        assert replica.sealed == length, "a sealed length never changes"

    async def _bring_to(self, replica: Replica, length: int, sources: Sequence[str]) -> None:
        """Cuts or fills a replica, and has all of it on the data device. Its lock is held."""
        end = min(replica.durable, length)
        if replica.durable > length:
            self._world.event("replica longer at seal", self.name, replica.extent)
        if replica.length > end:
            if replica.flushed > end:
                await self._catalog.note(Truncation(replica.extent, end))
            replica.cut(end)
        if replica.length < length:
            self._world.event("replica shorter at seal", self.name, replica.extent)
            replica.accept(await self._rest_of(replica, replica.length, length, sources))
        if replica.flushed < length or replica.refused:
            try:
                await self._write_out(replica)
            except (ReadFailed, DataCorrupt):  # what it has cannot be read any more: all of it comes from others
                await self._make_anew(replica, await self._rest_of(replica, 0, length, sources))
        elif replica.file.size() > replica.flushed:
            await replica.file.truncate(replica.flushed)
        assert replica.length == replica.flushed == length

    async def _make_anew(self, replica: Replica, data: bytes) -> None:
        """Puts a file in place of the replica's. Up to any moment of a crash there are the bytes that were there."""
        replica.file = await self.device.replace(self._data, replica.file.name, data)
        replica.refused = False
        replica.length = len(data)
        replica.flushed_to(replica.length)
        self._world.event("replica made anew", self.name, replica.extent)

    async def _rest_of(self, replica: Replica, begin: int, length: int, sources: Sequence[str]) -> bytes:
        """The bytes of a replica from ``begin`` on, from the first source that has them undamaged."""
        failed: EngineError = Unreachable(f"extent {replica.extent}: nobody has it up to {length}")
        for source in sources:
            if source == self.name:
                continue
            parts: list[bytes] = []
            offset = begin
            try:
                while offset < length:
                    piece = min(PIECE_BYTES, length - offset)
                    parts.append(
                        await self._world.call(
                            self.name, source, SERVICE, "read_bytes", replica.extent, offset, piece, False
                        )
                    )
                    offset += len(parts[-1])
                data = b"".join(parts)
                check_whole(replica.extent, begin, data)
                return data
            except EngineError as error:
                failed = error
        raise failed

    async def fetch(self, extent: int, length: int, replicas: tuple[str, ...], sources: tuple[str, ...]) -> None:
        """Makes a sealed replica here as a copy of others (re-replication). Doing it again does nothing.

        One that is lost, or is not of the sealed length, goes first.
        """
        replica = self.replicas.get(extent)
        if replica is not None and (replica.lost or replica.sealed not in (None, length)):
            await self.delete(extent, replica.made)
        await self.create(extent, replicas)
        await self.seal(extent, length, sources)

    async def delete(self, extent: int, made: int) -> None:
        """Removes the replica that was made as ``made``; a missing one is no error.

        A later copy of the same extent is another one: a request that comes late does not remove it.
        """
        replica = self.replicas.get(extent)
        if replica is None or replica.made != made:
            return
        replica.frozen = True
        await replica.settled()
        async with replica.lock:
            if self.replicas.get(extent) is replica:
                await self._catalog.note(Deleted(extent))
                del self.replicas[extent]
                self.damaged.pop(extent, None)
                await self._data.delete(file_name(extent))


_pack_place = PLACE.pack


class ExtentNode(ExtentSealing):
    """The service ``extents`` of one node. Its methods may be carried out twice."""

    @classmethod
    async def boot(cls, world: World, name: str, options: EngineOptions) -> ExtentNode:
        """Starts the node from what its devices hold, and offers its service."""
        node = cls(world, name, options)
        await node._recover()
        world.register(name, SERVICE, node)
        return node

    # ------------------------------------------------------------------------------------------------ appends

    async def append(self, extent: int, blocks: tuple[bytes, ...]) -> tuple[tuple[int, int], ...]:
        """Appends blocks, all or none, on all replicas: (offset, length with header) of each. For the primary only.

        ExtentSealed (also when the extent has reached its size), ReplicaFailed, DiskFull: seal and go on elsewhere.
        """
        replica = self._replica(extent)
        assert replica.replicas[0] == self.name, "appends go to the primary"
        if replica.frozen or replica.closed:
            replica.require_open()
        if replica.appending:
            future: Future[tuple[tuple[int, int], ...]] = Future()
            replica.queue.append((blocks, future))
            return await future
        if replica.length >= self._options.extent_bytes_target:
            raise ExtentSealed(f"extent {extent} is full")
        replica.appending = True
        start = replica.length
        data, lengths = encode(extent, start, blocks)
        try:
            await self._round(replica, data)
        except EngineError as error:
            replica.appending = False
            self._refuse(replica, error)
            raise
        if replica.queue:
            self._world.spawn(self._more_rounds(replica), self.name)
        else:
            replica.appending = False
        return _places(start, lengths)

    async def _more_rounds(self, replica: Replica) -> None:
        while replica.queue:
            queue, replica.queue = replica.queue, []
            parts: list[bytes] = []
            placed: list[tuple[tuple[int, int], ...]] = []
            end = replica.length
            for blocks, _ in queue:
                data, lengths = encode(replica.extent, end, blocks)
                parts.append(data)
                placed.append(_places(end, lengths))
                end += len(data)
            try:
                replica.require_open()
                await self._round(replica, b"".join(parts))
            except EngineError as error:
                replica.queue = queue + replica.queue
                self._refuse(replica, error)
                break
            for (_, future), places in zip(queue, placed, strict=True):
                future.resolve(places)
        replica.appending = False

    def _refuse(self, replica: Replica, error: EngineError) -> None:
        replica.closed = replica.closed or "an append failed"
        queue, replica.queue = replica.queue, []
        for _, future in queue:
            future.fail(error)

    async def _round(self, replica: Replica, data: bytes) -> None:
        """Makes bytes durable on all replicas. Any that fails ends appends to this extent."""
        offset = replica.length
        if len(replica.replicas) == 1:
            await self._store(replica, data)
            return
        world, name, extent = self._world, self.name, replica.extent
        others = [world.call(name, node, SERVICE, "replicate", extent, offset, data) for node in replica.replicas[1:]]
        parts = [self._store(replica, data), *others]
        for answer in await world.gather(parts, name):
            if answer is not None:
                replica.closed = replica.closed or "an append failed"
                if isinstance(answer, (DiskFull, ExtentSealed)):
                    raise answer
                raise ReplicaFailed(f"extent {replica.extent}: {answer!r}")
        assert replica.durable >= offset + len(data)

    async def replicate(self, extent: int, offset: int, data: bytes) -> None:
        """Takes an append that the primary has placed; durable on return. ReplicaFailed where bytes before it lack."""
        replica = self._replica(extent)
        if replica.frozen or replica.closed:
            replica.require_open()
        if offset > replica.length:
            raise ReplicaFailed(f"extent {extent}: {offset} is beyond its end {replica.length}")
        if offset < replica.length:
            if await replica.bytes_at(offset, len(data)) != data:
                raise ReplicaFailed(f"extent {extent}: other bytes lie at {offset}")
            await replica.settled()
            replica.require_open()
            if replica.durable < offset + len(data):
                raise ReplicaFailed(f"extent {extent}: {offset} is not durable")
            return
        check_whole(extent, offset, data)
        await self._store(replica, data)

    async def _store(self, replica: Replica, data: bytes) -> None:
        """Makes bytes durable here: in the journal, or on the data device where the journal refuses or is stuck."""
        if replica.frozen or replica.closed:  # a freeze may have come between the round and this part of it
            replica.require_open()
        offset = replica.length
        replica.accept(data)
        replica.in_flight += 1
        end = replica.length
        journal = self._journal
        if end - offset >= self._options.journal_append_bytes_max and await self._store_on_data(replica, end):
            replica.landed()
            return
        try:
            if journal.busy and self._stalled(journal):
                raise DiskError(f"{self.name}: the journal is slow")
            await journal.append(_pack_place(replica.extent, offset), data)
        except DiskError:
            self._world.event("journal refused", self.name, replica.extent)
            if not await self._store_on_data(replica, end):
                replica.closed = replica.closed or "no device took an append"
                replica.landed()
                raise
        if replica.durable < end:
            replica.durable = end
        replica.in_flight -= 1
        if replica.waiting:
            replica.wake()
        if journal.size() >= self._rotate_at or journal.broken:
            await self._rotate_soon(journal)

    async def _store_on_data(self, replica: Replica, end: int) -> bool:
        """Makes all of a replica durable on the data device alone; False where that refuses.

        What is large already is not written twice: of the two devices the first that has it is enough (SOSP 2011, 4.8).
        It is durable only when the catalog says so, for a start of the node cuts off what lies beyond.
        """
        try:
            async with replica.lock:
                if replica.flushed < end:
                    await self._write_out(replica)
                length = replica.flushed
                await self._catalog.note(Flushed(((replica.extent, length),)))
        except DiskError as error:
            self._world.event("data device refused", self.name, repr(error))
            return False
        replica.durable = max(replica.durable, length)
        return True

    def _stalled(self, journal: RecordFile) -> bool:
        since_ns = journal.busy_since_ns()
        now_ns = self._world.clock_ns(self.name)
        return since_ns is not None and now_ns - since_ns > self._options.spindle_unserved_ns_max

    # ------------------------------------------------------------------------------------------------ reads

    async def read(self, extent: int, offset: int, length: int, deadline_ns: int = 0) -> bytes:
        """The block at a place, checked. NotThere, DataCorrupt, ReadFailed.

        TooSlow, at once, where the device cannot serve it within the deadline (0: none).
        """
        replica = self._replica(extent)
        data = replica.held(offset, length)
        if data is None:
            if offset + length > replica.length:
                raise NotThere(f"extent {extent}: {offset} + {length} is beyond its end {replica.length}")
            data = await self.device.read(replica.file, offset, length, deadline_ns)
        try:
            return decode(extent, offset, data)
        except DataCorrupt:
            self._world.event("damaged block", self.name, extent, offset)
            if replica.sealed is not None:
                self.damaged[extent] = None
            raise

    async def read_bytes(self, extent: int, offset: int, length: int, sealed_only: bool) -> bytes:
        """Durable bytes of a replica as they are, for loads and copies; whoever reads them checks them."""
        replica = self._replica(extent)
        if sealed_only and replica.sealed is None:
            raise NotThere(f"extent {extent} is not sealed here")
        if offset + length > replica.durable:
            raise NotThere(f"extent {extent}: {offset} + {length} is beyond {replica.durable}")
        return await replica.bytes_at(offset, length)

    async def commit_length(self, extent: int) -> int:
        """The end of the last durable append."""
        return self._replica(extent).durable

    async def inventory(self) -> tuple[tuple[int, int, bool, int], ...]:
        """Extent, durable bytes, whether it is sealed, and which copy it is, of all replicas that are of use."""
        return tuple(
            (extent, replica.durable, replica.sealed is not None, replica.made)
            for extent, replica in sorted(self.replicas.items())
            if not replica.lost
        )

    async def room(self) -> int:
        """Free bytes on the data device."""
        return self._data.free_bytes()


def _places(start: int, lengths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    if len(lengths) == 1:
        return ((start, lengths[0]),)
    places = []
    for length in lengths:
        places.append((start, length))
        start += length
    return tuple(places)
