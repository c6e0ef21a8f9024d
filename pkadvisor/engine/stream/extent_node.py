"""An extent node: keeps replicas of extents; knows nothing of streams (SOSP 2011, 4.2 and 4.3).

    append ─► primary: offsets, checksums ─► journal of each of the three ─► acknowledged, in offset order
                                                 └─► data devices later, in large pieces

One round of an extent is under way at a time; what comes meanwhile goes with the next round. A replica that fails ends
appends to the extent: the client lets the stream manager seal it. So does a restart of a node [H]: an extent is open
only as long as the three processes live that opened it, and no bytes of an earlier life can be overtaken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from struct import Struct

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.blocks import check_whole, decode, encode
from pkadvisor.engine.stream.catalog import Catalog, Created, Cut, Deleted, Doubtful, Flushed, JournalMade, Sealed
from pkadvisor.engine.stream.device import Device
from pkadvisor.engine.stream.errors import ExtentSealed, NotThere, ReplicaFailed
from pkadvisor.engine.stream.record_file import RecordFile
from pkadvisor.engine.stream.replica import Replica
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, DiskFull, EngineError, ReadFailed, Unreachable, World

SERVICE = "extents"
PIECE_BYTES = 1 << 20
_PLACE = Struct("<QQ")
_pack_place = _PLACE.pack


def file_name(extent: int) -> str:
    """The file of a replica on a data device."""
    return f"{extent:016x}.extent"


class ExtentNode:
    """The service ``extents`` of one node. Its methods may be carried out twice."""

    def __init__(self, world: World, name: str, options: EngineOptions) -> None:
        self._world = world
        self.name = name
        self._options = options
        self._data = world.disk(name, "data")
        self._journals = world.disk(name, "journal")
        self._catalog = Catalog(world, name, self._data)
        self.device = Device(world, name, options)
        self._journal: RecordFile
        self._segment = 0
        self._segments: list[tuple[str, RecordFile | None]] = []
        self._rotating = False
        self._rotate_wanted = True
        self._rotate_at = options.journal_segment_bytes
        self.replicas: dict[int, Replica] = {}
        self.damaged: dict[int, None] = {}

    # ------------------------------------------------------------------------------------------------ start

    @classmethod
    async def boot(cls, world: World, name: str, options: EngineOptions) -> ExtentNode:
        """Starts the node from what its devices hold, and offers its service."""
        node = cls(world, name, options)
        await node._recover()
        world.register(name, SERVICE, node)
        return node

    async def _recover(self) -> None:
        catalog = self._catalog
        whole = False
        try:
            whole = await catalog.open()
        except DataCorrupt:
            self._world.event("catalog damaged", self.name)
            await catalog.forget_all()
        for extent, known in catalog.replicas.items():
            file = await self._data.open(file_name(extent))
            replica = self.replicas[extent] = Replica(extent, known.replicas, file)
            replica.length = replica.durable = replica.flushed = known.flushed
            replica.sealed, replica.uncertain, replica.made = known.sealed, known.doubtful, known.made
            replica.frozen = known.sealed is not None
            replica.closed = "" if replica.frozen else "the node was started again"
            if file.size() < known.flushed:
                self._world.event("data file shorter than flushed", self.name, extent)
                replica.lost = True
            elif file.size() > known.flushed:
                await file.truncate(known.flushed)
        for name in self._data.names():
            if name.endswith(".extent") and int(name[:16], 16) not in self.replicas:
                await self._data.delete(name)
        await self._replay()
        if not whole:  # what a lost record said was flushed may have left the journal
            await self._doubt(replica.extent for replica in self.replicas.values() if replica.sealed is None)
        await self._rotate()

    async def _doubt(self, extents: Iterable[int]) -> None:
        """Notes that replicas may lack acknowledged bytes."""
        if doubtful := tuple(extents):
            await self._catalog.note(Doubtful(doubtful))
            for extent in doubtful:
                self.replicas[extent].uncertain = True

    async def _replay(self) -> None:
        """Brings the open replicas to where the journal ends."""
        journal = self._catalog.journal
        names = [name for name in self._journals.names() if journal and name.startswith(f"{journal}.")]
        for name in self._journals.names():
            if name not in names:
                await self._journals.delete(name)
        still_open = [replica for replica in self.replicas.values() if replica.sealed is None]
        doubtful: dict[int, None] = {}
        if not names:
            if journal and still_open:
                self._world.event("journal lost", self.name, len(still_open))
            for replica in still_open:
                replica.lost = True
            journal = f"{self._world.random('journal names').getrandbits(64):016x}"
            first = f"{journal}.{0:08}"
            await self._journals.open(first)
            await self._catalog.note(JournalMade(journal))
            self._segments.append((first, None))
        for name in names:
            _, recovered = await RecordFile.open(self._world, self.name, self._journals, name)
            if not recovered.intact:
                self._world.event("journal ends in bytes that do not match", self.name, recovered.damaged_inside)
                doubtful.update((replica.extent, None) for replica in still_open)
            for body in recovered.bodies:
                extent, offset = _PLACE.unpack_from(body)
                found = self.replicas.get(extent)
                if found is None or found.sealed is not None or found.lost:
                    continue
                data = body[_PLACE.size :]
                if offset == found.length:
                    found.accept(data)
                    found.durable = found.length
                elif offset + len(data) > found.length:
                    doubtful[extent] = None
            self._segments.append((name, None))
            self._segment = int(name.rpartition(".")[2])
        await self._doubt(doubtful)

    # ------------------------------------------------------------------------------------------------ appends

    async def create(self, extent: int, replicas: tuple[str, ...]) -> None:
        """Opens an empty replica; the first of ``replicas`` is the primary. Doing it again does nothing."""
        known = self.replicas.get(extent)
        if known is None:
            file = await self._data.open(file_name(extent))
            known = self.replicas.get(extent)
        if known is not None:
            async with known.lock:  # the same request came twice: it is made when it is durable
                self._still_here(known)
            return
        replica = self.replicas[extent] = Replica(extent, replicas, file)
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

    async def append(self, extent: int, blocks: tuple[bytes, ...]) -> tuple[tuple[int, int], ...]:
        """Appends blocks, all or none, on all replicas: (offset, length with header) of each. For the primary only.

        ExtentSealed (also when the extent has reached its size), ReplicaFailed, DiskFull: seal and go on elsewhere.
        """
        replica = self._replica(extent)
        assert replica.replicas[0] == self.name, "appends go to the primary"
        if replica.appending:
            replica.require_open()
            future: Future[tuple[tuple[int, int], ...]] = Future()
            replica.queue.append((blocks, future))
            return await future
        replica.require_open()
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
        answers = await self._world.gather(
            [
                self._store(replica, data),
                *[self._replicate(node, replica.extent, offset, data) for node in replica.replicas[1:]],
            ],
            self.name,
        )
        for answer in answers:
            if answer is not None:
                replica.closed = replica.closed or "an append failed"
                if isinstance(answer, (DiskFull, ExtentSealed)):
                    raise answer
                raise ReplicaFailed(f"extent {replica.extent}: {answer!r}")
        assert replica.durable >= offset + len(data)

    async def _replicate(self, node: str, extent: int, offset: int, data: bytes) -> None:
        await self._world.call(self.name, node, SERVICE, "replicate", extent, offset, data)

    async def replicate(self, extent: int, offset: int, data: bytes) -> None:
        """Takes an append that the primary has placed; durable on return. ReplicaFailed where bytes before it lack."""
        replica = self._replica(extent)
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
        journal = self._journal
        try:
            if journal.busy and self._stalled(journal):
                raise DiskError(f"{self.name}: the journal is slow")
            await journal.append(_pack_place(replica.extent, offset), data)
        except DiskError as refused:
            self._world.event("journal refused", self.name, replica.extent)
            try:
                await self._flush(replica)
                if replica.flushed < offset + len(data):
                    raise refused
                await self._catalog.note(Flushed(((replica.extent, replica.flushed),)))
            except DiskError:
                replica.closed = replica.closed or "no device took an append"
                replica.landed()
                raise refused from None
        end = offset + len(data)
        if replica.durable < end:
            replica.durable = end
        replica.landed()
        if journal.size() >= self._rotate_at or journal.broken:
            await self._rotate_soon(journal)

    def _stalled(self, journal: RecordFile) -> bool:
        since_ns = journal.busy_since_ns()
        now_ns = self._world.clock_ns(self.name)
        return since_ns is not None and now_ns - since_ns > self._options.spindle_unserved_ns_max

    async def _rotate_soon(self, journal: RecordFile) -> None:
        """Beside the appends; by this one where the segment is twice as long as it should be and nobody had time."""
        if journal is not self._journal or self._rotating:
            return
        if not self._rotate_wanted:
            self._rotate_wanted = True
            self._world.spawn(self._rotate(), self.name)
        elif journal.size() >= self._rotate_at + self._options.journal_segment_bytes:
            await self._rotate()

    # ------------------------------------------------------------------------------------------------ data device

    async def _flush(self, replica: Replica) -> None:
        """Writes what is only in memory and the journal to the data device, in one piece."""
        async with replica.lock:
            here = self.replicas.get(replica.extent) is replica
            if here and replica.flushed < replica.length and replica.sealed is None and not replica.lost:
                await self._write_out(replica)

    async def _write_out(self, replica: Replica) -> None:
        """Adds what is in memory to the file. Its lock is held.

        A file of which a sync failed takes no more in this life of the node: another one takes its place.
        """
        end = replica.length
        more = b"".join(replica.chunks)
        if replica.refused:
            before = await self.device.read(replica.file, 0, replica.flushed) if replica.flushed else b""
            if len(before) < replica.flushed:
                raise ReadFailed(f"extent {replica.extent}: the file ends before {replica.flushed}")
            await self._data.replace(replica.file.name, before + more)
            replica.file = await self._data.open(replica.file.name)
            replica.refused = False
            self._world.event("file made anew", self.name, replica.extent)
        else:
            try:
                if replica.file.size() != replica.flushed:
                    await replica.file.truncate(replica.flushed)
                await self.device.write(replica.file, more)
            except DiskFull:
                raise
            except DiskError:
                replica.refused = True
                raise
        replica.flushed_to(end)

    async def _rotate(self) -> None:
        """Begins a new segment of the journal, flushes what the older ones hold, and deletes them."""
        if self._rotating or not self._rotate_wanted:
            return
        self._rotating = True
        try:
            name = f"{self._catalog.journal}.{self._segment + 1:08}"
            fresh, _ = await RecordFile.open(self._world, self.name, self._journals, name)
            self._segment += 1
            old, self._journal = list(self._segments), fresh
            self._segments.append((name, fresh))
            self._rotate_at = self._options.journal_segment_bytes
            await self._flush_all()
            for segment in old:
                if segment[1] is not None:
                    await segment[1].idle()
                await self._journals.delete(segment[0])
                self._segments.remove(segment)
        except DiskError as error:
            self._world.event("journal kept", self.name, repr(error))
            self._rotate_at += self._options.journal_segment_bytes
        self._rotating = self._rotate_wanted = False

    async def _flush_all(self) -> None:
        """Has all replicas on the data device, and in the catalog how much of them. DiskError: not of all.

        What was flushed before and could not be noted is noted too: its journal goes next.
        """
        refused: DiskError | None = None
        for replica in list(self.replicas.values()):
            if replica.offsets and not replica.lost:
                try:
                    await self._flush(replica)
                except DiskError as error:
                    replica.closed = replica.closed or "the data device refused"
                    refused = error
        known = self._catalog.replicas
        flushed = [
            (extent, replica.flushed)
            for extent, replica in self.replicas.items()
            if replica.sealed is None and extent in known and known[extent].flushed < replica.flushed
        ]
        if flushed:
            await self._catalog.note(Flushed(tuple(flushed)))
        if refused is not None:
            raise refused

    # ------------------------------------------------------------------------------------------------ sealing

    async def freeze(self, extent: int) -> tuple[int, bool]:
        """Ends appends for ever and tells the commit length, and whether it is certain; first step of a seal.

        After a crash that left torn bytes in the journal a length is uncertain: acknowledged bytes may lack [H].
        """
        replica = self._replica(extent)
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
                replica.sealed = length
                replica.uncertain = False
                replica.closed = ""
        assert replica.sealed == length, "a sealed length never changes"

    async def _bring_to(self, replica: Replica, length: int, sources: Sequence[str]) -> None:
        """Cuts or fills a replica, and has all of it on the data device. Its lock is held."""
        if replica.length > replica.durable:
            replica.cut(replica.durable)
        if replica.length > length:
            self._world.event("replica longer at seal", self.name, replica.extent)
            if replica.flushed > length:
                await self._catalog.note(Cut(replica.extent, length))
            replica.cut(length)
        elif replica.length < length:
            self._world.event("replica shorter at seal", self.name, replica.extent)
            replica.accept(await self._rest_of(replica, length, sources))
        if replica.flushed < length or replica.refused:
            await self._write_out(replica)
        elif replica.file.size() > replica.flushed:
            await replica.file.truncate(replica.flushed)
        assert replica.length == replica.flushed == length

    def _still_here(self, replica: Replica) -> None:
        """NotThere where the replica was deleted while somebody waited for its lock."""
        if self.replicas.get(replica.extent) is not replica:
            raise NotThere(f"extent {replica.extent} was deleted from {self.name}")

    async def _rest_of(self, replica: Replica, length: int, sources: Sequence[str]) -> bytes:
        """The bytes that the replica lacks, from the first source that has them undamaged."""
        failed: EngineError = Unreachable(f"extent {replica.extent}: nobody has it up to {length}")
        for source in sources:
            if source == self.name:
                continue
            parts: list[bytes] = []
            offset = replica.length
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
                check_whole(replica.extent, replica.length, data)
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

    def _replica(self, extent: int) -> Replica:
        replica = self.replicas.get(extent)
        if replica is None or replica.lost:
            raise NotThere(f"extent {extent} is not on {self.name}")
        return replica

    def check(self) -> None:
        """AssertionError where the replicas are not as they must be."""
        for replica in self.replicas.values():
            if not replica.lost:
                replica.check()
        self.device.check()


def _places(start: int, lengths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    if len(lengths) == 1:
        return ((start, lengths[0]),)
    places = []
    for length in lengths:
        places.append((start, length))
        start += length
    return tuple(places)
