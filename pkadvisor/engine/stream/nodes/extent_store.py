"""What an extent node keeps: replicas, their catalog, the journal in front of the data device, and how it starts.

    append ─► journal segment ──when it is long──► replicas to the data device ─► noted in the catalog ─► segment goes

A start reads the catalog, and then the journal, which completes the open replicas.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from struct import Struct

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import ExtentSealed, NotThere, ReplicaFailed
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.stream.nodes.record_file import Catalog, Doubtful, Flushed, JournalMade, RecordFile
from pkadvisor.engine.worlds.tasks import Future, Lock
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, DiskFull, File, ReadFailed, World

PLACE = Struct("<QQ")
"""What stands before the bytes of an append in the journal: extent, offset."""


WRITE_BYTES = 2 << 20
"""About so much is written to the data device before others have their turn."""


def file_name(extent: int) -> str:
    """The file of a replica on a data device."""
    return f"{extent:016x}.extent"


class ExtentStore:
    """The replicas of one node, durable on its devices."""

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
        self._making = 0
        """Replicas that are being made."""

    # ------------------------------------------------------------------------------------------------ start

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
            replica = self.replicas[extent] = Replica(extent, known.replicas, file, self.device)
            replica.length = replica.durable = replica.flushed = known.flushed
            replica.sealed, replica.made = known.sealed, known.made
            replica.uncertain, replica.damaged = known.doubtful, known.damaged
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

    async def _doubt(self, extents: Iterable[int], *, damaged: bool = False) -> None:
        """Notes that replicas may lack acknowledged bytes; ``damaged``: that they do."""
        if doubtful := tuple(extents):
            await self._catalog.note(Doubtful(doubtful, damaged))
            for extent in doubtful:
                self.replicas[extent].uncertain = True
                self.replicas[extent].damaged |= damaged

    async def _replay(self) -> None:
        """Brings the open replicas to where the journal ends."""
        journal = self._catalog.journal
        names = [name for name in self._journals.names() if journal and name.startswith(f"{journal}.")]
        for name in self._journals.names():
            if name not in names:
                await self._journals.delete(name)
        still_open = [replica for replica in self.replicas.values() if replica.sealed is None]
        doubtful: dict[int, None] = {}
        damaged: dict[int, None] = {}
        if not names:
            if journal and still_open:
                self._world.event("journal lost", self.name, len(still_open))
            for replica in still_open:
                replica.lost = True
            # Before the new journal has a name: with it they would count as complete at the start after this one.
            await self._doubt(replica.extent for replica in still_open)
            journal = f"{self._world.random('journal names').getrandbits(64):016x}"
            first = f"{journal}.{0:08}"
            await self._journals.open(first)
            await self._catalog.note(JournalMade(journal))
            self._segments.append((first, None))
        for name in names:
            _, recovered = await RecordFile.open(self._world, self.name, self._journals, name)
            if not recovered.intact:
                self._world.event("journal ends in bytes that do not match", self.name, recovered.damaged_inside)
                found_so = damaged if recovered.damaged_inside else doubtful
                found_so.update((replica.extent, None) for replica in still_open)
            for body in recovered.bodies:
                extent, offset = PLACE.unpack_from(body)
                held = self.replicas.get(extent)
                if held is None or held.sealed is not None or held.lost:
                    continue
                data = body[PLACE.size :]
                if offset == held.length:
                    held.accept(data)
                    held.durable = held.length
                elif offset > held.length:  # what lay before it was acknowledged
                    damaged[extent] = None
                elif offset + len(data) > held.length:
                    doubtful[extent] = None
            self._segments.append((name, None))
            self._segment = int(name.rpartition(".")[2])
        await self._doubt(doubtful)
        await self._doubt(damaged, damaged=True)

    # ------------------------------------------------------------------------------------------------ data device

    async def _rotate_soon(self, journal: RecordFile) -> None:
        """Beside the appends; by this one where the segment is twice as long as it should be and nobody had time."""
        if journal is not self._journal or self._rotating:
            return
        if not self._rotate_wanted:
            self._rotate_wanted = True
            self._world.spawn(self._rotate(), self.name)
        elif journal.size() >= self._rotate_at + self._options.journal_segment_bytes:
            await self._rotate()

    async def _flush(self, replica: Replica) -> None:
        """Writes what is only in memory and the journal to the data device, in one piece."""
        async with replica.lock:
            here = self.replicas.get(replica.extent) is replica
            if here and replica.flushed < replica.length and replica.sealed is None and not replica.lost:
                await self._write_out(replica)

    async def _write_out(self, replica: Replica) -> None:
        """Adds what is in memory to the file, a piece at a time. Its lock is held.

        A file of which a sync failed takes no more in this life of the node: another one takes its place.
        """
        end = replica.length
        while replica.flushed < end:
            await self._write_piece(replica)
            if replica.flushed < end:
                await self._world.pass_turn()

    async def _write_piece(self, replica: Replica) -> None:
        count = bisect_left(replica.offsets, replica.flushed + WRITE_BYTES)
        more = b"".join(replica.chunks[:count])
        end = replica.flushed + len(more)
        if replica.refused:
            before = await self.device.read(replica.file, 0, replica.flushed) if replica.flushed else b""
            if len(before) < replica.flushed:
                raise ReadFailed(f"extent {replica.extent}: the file ends before {replica.flushed}")
            replica.file = await self.device.replace(self._data, replica.file.name, before + more)
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
            for extent, length in flushed:
                held = self.replicas.get(extent)
                if held is not None and held.flushed >= length:  # else it was cut meanwhile
                    held.durable = max(held.durable, length)
        if refused is not None:
            raise refused

    # ------------------------------------------------------------------------------------------------ looking up

    def _replica(self, extent: int) -> Replica:
        replica = self.replicas.get(extent)
        if replica is None or replica.lost:
            raise NotThere(f"extent {extent} is not on {self.name}")
        return replica

    def _still_here(self, replica: Replica) -> None:
        """NotThere where the replica was deleted while somebody waited for its lock."""
        if self.replicas.get(replica.extent) is not replica:
            raise NotThere(f"extent {replica.extent} was deleted from {self.name}")

    def check(self) -> None:
        """AssertionError where the replicas are not as they must be."""
        for replica in self.replicas.values():
            if not replica.lost:
                replica.check()
        self.device.check()


# -- One replica of an extent on one node: what of it is in memory, in the journal, on the data device.


class Replica:
    """State of one replica. ``closed`` says why it takes no appends; ``refused``: its file takes none either.

    ``made`` tells it from an earlier copy of the same extent on this node. ``uncertain``: after a start, it may lack
    acknowledged bytes; ``damaged``: it surely does, for its journal did not end as a crash ends it.
    """

    __slots__ = (
        "appending",
        "chunks",
        "closed",
        "damaged",
        "device",
        "durable",
        "extent",
        "file",
        "flushed",
        "frozen",
        "in_flight",
        "length",
        "lock",
        "lost",
        "made",
        "offsets",
        "queue",
        "refused",
        "replicas",
        "sealed",
        "uncertain",
        "waiting",
    )

    def __init__(self, extent: int, replicas: tuple[str, ...], file: File, device: Device) -> None:
        self.extent = extent
        self.replicas = replicas
        self.file = file
        self.device = device
        self.length = self.durable = self.flushed = 0
        self.offsets: list[int] = []
        self.chunks: list[bytes] = []
        self.frozen = False
        self.sealed: int | None = None
        self.closed = ""
        self.lost = False
        self.refused = False
        self.made = 0
        self.uncertain = self.damaged = False
        self.in_flight = 0
        self.waiting: list[Future[None]] = []
        self.lock = Lock()
        self.appending = False
        self.queue: list[tuple[tuple[bytes, ...], Future[tuple[tuple[int, int], ...]]]] = []

    def require_open(self) -> None:
        """ExtentSealed or ReplicaFailed where it takes no appends."""
        if self.frozen:
            raise ExtentSealed(f"extent {self.extent}")
        if self.closed:
            raise ReplicaFailed(f"extent {self.extent}: {self.closed}")

    def accept(self, data: bytes) -> None:
        """Takes the bytes of whole appends at its end, into memory."""
        self.offsets.append(self.length)
        self.chunks.append(data)
        self.length += len(data)

    def held(self, offset: int, length: int) -> bytes | None:
        """A block that is in memory."""
        if offset < self.flushed:
            return None
        at = bisect_right(self.offsets, offset) - 1
        if at < 0:
            return None
        start = offset - self.offsets[at]
        chunk = self.chunks[at]
        if start + length > len(chunk):
            return None
        return chunk if length == len(chunk) else chunk[start : start + length]

    async def bytes_at(self, offset: int, length: int) -> bytes:
        """Bytes as accepted, from memory and the data device. NotThere where they end before."""
        end = offset + length
        if end > self.length:
            raise NotThere(f"extent {self.extent}: {end} is beyond its end {self.length}")
        parts: list[bytes] = []
        while offset < end:
            if offset < self.flushed:
                part = await self.device.read(self.file, offset, min(end, self.flushed) - offset)
                if not part:
                    raise NotThere(f"extent {self.extent}: the file ends before {offset}")
            else:
                at = bisect_right(self.offsets, offset) - 1
                start = offset - self.offsets[at]
                part = self.chunks[at][start : start + end - offset]
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def landed(self) -> None:
        """An append that was on its way is durable, or failed."""
        self.in_flight -= 1
        if self.waiting:
            self.wake()

    def wake(self) -> None:
        """Lets those look again who wait until nothing is on its way."""
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            future.resolve(None)

    async def settled(self) -> None:
        """Waits until nothing is on its way."""
        while self.in_flight:
            future: Future[None] = Future()
            self.waiting.append(future)
            await future

    def cut(self, length: int) -> None:
        """Drops what lies beyond in memory; nothing may be on its way."""
        assert not self.in_flight, "an append that is on its way cannot be cut"
        while self.offsets and self.offsets[-1] >= length:
            self.offsets.pop()
            self.chunks.pop()
        if self.offsets and self.offsets[-1] + len(self.chunks[-1]) > length:
            self.chunks[-1] = self.chunks[-1][: length - self.offsets[-1]]
        self.length = length
        self.durable = min(self.durable, length)
        self.flushed = min(self.flushed, length)

    def flushed_to(self, length: int) -> None:
        """The data device has it up to here: memory lets go of it. It is durable when the catalog says so, too."""
        gone = len(self.offsets) if self.length <= length else max(0, bisect_right(self.offsets, length) - 1)
        del self.offsets[:gone], self.chunks[:gone]
        self.flushed = length

    def check(self) -> None:
        """AssertionError where the parts do not fit together."""
        assert 0 <= self.flushed <= self.length
        assert 0 <= self.durable <= self.length
        expected = self.flushed
        for offset, chunk in zip(self.offsets, self.chunks, strict=True):
            assert offset == expected, "chunks in memory follow one another from what is flushed"
            expected += len(chunk)
        assert expected == self.length
        if self.sealed is not None:
            assert self.frozen
            assert self.flushed == self.durable == self.length == self.sealed
            assert not self.in_flight
