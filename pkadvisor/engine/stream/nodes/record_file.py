"""A file of records, durable when ``append`` returns; writers that come together share a write.

A file may have a copy, which is written after it. Then no damage of one is taken for a torn write: a crash leaves one
torn at most, and the other ends before that write or with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from pkadvisor.engine.stream.records import Recovered, better, frame, parse, read_all
from pkadvisor.engine.worlds.tasks import Future, Lock
from pkadvisor.engine.worlds.world import DataCorrupt, Disk, DiskError, DiskFull, File, World


class RecordFile:
    """The writing end.

    idle ──append──► writing (who comes now queues up) ──durable──► idle, or writing the queue
                        │ the device refuses
                        ▼
                     broken: takes nothing more (after DiskFull, of which nothing was written, it goes on)

    ``busy``: a write is under way.
    """

    def __init__(self, world: World, node: str, file: File, writes: int, copy: File | None = None) -> None:
        self._world = world
        self._node = node
        self._file = file
        self._copy = copy
        self._writes = writes
        self._lags, self._syncs = file.lags, -1
        self.busy = False
        self._queue: list[tuple[bytes, bytes, Future[None]]] = []
        self._began_ns = 0
        self._idle: list[Future[None]] = []
        self.broken = False

    @classmethod
    async def open(
        cls, world: World, node: str, disk: Disk, name: str, copy_name: str = ""
    ) -> tuple[RecordFile, Recovered]:
        """The file with its records; what follows the last whole one is cut off unless it was damaged at rest."""
        file = await disk.open(name)
        recovered = parse(*await read_all(world, file))
        copy = None
        if copy_name:
            copy = await disk.open(copy_name)
            recovered = better(recovered, parse(*await read_all(world, copy)))
        elif not recovered.intact and not recovered.damaged_inside:
            await file.truncate(recovered.end)
        return cls(world, node, file, recovered.seen if copy else recovered.writes, copy), recovered

    @property
    def writes(self) -> int:
        """The number of the last write."""
        return self._writes

    def size(self) -> int:
        """Bytes in the file."""
        return self._file.size()

    def busy_since_ns(self) -> int | None:
        """Since when the write that is under way has been seen by others, by the node's clock; None where none is.

        Whoever looks first starts the clock: a write that nobody waits behind costs no look at it.
        """
        if not self.busy:
            return None
        if not self._began_ns:
            self._began_ns = self._world.clock_ns(self._node)
        return self._began_ns

    async def append(self, body: bytes, rest: bytes = b"") -> None:
        """Returns when the record is durable: ``body`` and ``rest``, in one.

        DiskError: it may or may not be there; DiskFull: it is not.
        """
        if self.broken:
            raise DiskError(f"{self._file.name}: refused before")
        if self.busy:
            future: Future[None] = Future()
            self._queue.append((body, rest, future))
            await future
            return
        self.busy = True
        self._count_write()
        try:
            framed = frame(body, self._writes, rest)
            await self._file.write_through(framed)
            if self._copy is not None:
                await self._copy.write_through(framed)
        except DiskError as error:
            self._refused(error)
            raise
        if self._queue:
            self._world.spawn(self._drain(), self._node)
        elif self._idle:
            self._rest()
        else:
            self.busy = False
            self._began_ns = 0

    def _count_write(self) -> None:
        """Numbers the next write. Of a file that lags, all that a crash may tear together has one number, or two: that
        of the last sync, and one more for what came after it."""
        if not self._lags:
            self._writes += 1
        elif self._syncs != self._file.syncs:
            self._syncs = self._file.syncs
            self._writes += 1

    async def idle(self) -> None:
        """Waits until nothing is being written."""
        while self.busy:
            future: Future[None] = Future()
            self._idle.append(future)
            await future

    def _rest(self) -> None:
        self.busy = False
        self._began_ns = 0
        idle, self._idle = self._idle, []
        for future in idle:
            future.resolve(None)

    async def _drain(self) -> None:
        while self._queue:
            batch, self._queue = self._queue, []
            self._began_ns = 0
            self._count_write()
            try:
                framed = b"".join([frame(body, self._writes, rest) for body, rest, _ in batch])
                await self._file.write_through(framed)
                if self._copy is not None:
                    await self._copy.write_through(framed)
            except DiskError as error:
                self._queue = batch + self._queue
                self._refused(error)
                return
            for _, _, future in batch:
                future.resolve(None)
        self._rest()

    def _refused(self, error: DiskError) -> None:
        self._rest()
        self.broken = self._copy is not None or not isinstance(error, DiskFull)
        queue, self._queue = self._queue, []
        for _, _, future in queue:
            future.fail(error)


# -- A state and the log of what changed it, in one file: each command is durable before it is true.


class StateLog:
    """The log of one state. ``snapshot`` gives the records that make the present state from nothing.

    ``copied``: it is kept twice, so that damage of one copy loses nothing (of a state of which there is no other).
    """

    def __init__(
        self,
        world: World,
        node: str,
        disk: Disk,
        name: str,
        snapshot: Callable[[], Iterable[bytes]],
        compact_bytes: int,
        copied: bool = False,
    ) -> None:
        self._world = world
        self._node = node
        self._disk = disk
        self._name = name
        self._copy_name = f"{name}.copy" if copied else ""
        self._snapshot = snapshot
        self._compact_bytes = compact_bytes
        self._limit = compact_bytes
        self._renewing = Lock()
        self._under_way = 0
        self._quiet: list[Future[None]] = []
        self._file: RecordFile

    async def open(self) -> Recovered:
        """What the file holds; ``renew`` it where it is ``uneven``, before anybody is told of it."""
        self._file, recovered = await RecordFile.open(self._world, self._node, self._disk, self._name, self._copy_name)
        self._limit = max(self._limit, 2 * self._file.size())
        return recovered

    async def commit(self, body: bytes, apply: Callable[[], None]) -> None:
        """Makes a record durable, then applies it. After a DiskError it is not true, but may be after a crash."""
        if not self._renewing.free or self._file.broken:
            async with self._renewing:
                if self._file.broken:
                    await self.renew()
        self._under_way += 1
        try:
            await self._file.append(body)
            apply()
        finally:
            self._under_way -= 1
            if not self._under_way and self._quiet:
                quiet, self._quiet = self._quiet, []
                for future in quiet:
                    future.resolve(None)
        if self._file.size() > self._limit and self._renewing.free:
            async with self._renewing:
                try:
                    await self.renew()
                except DiskError as error:
                    self._world.event("state not written anew", self._node, repr(error))
                    self._limit *= 2

    async def renew(self) -> None:
        """Writes the state anew, when what is under way has ended; nothing else is let in meanwhile."""
        while self._under_way:
            future: Future[None] = Future()
            self._quiet.append(future)
            await future
        self._world.event("state written anew", self._node, self._name)
        number = self._file.writes if self._copy_name else 0  # of two copies the later one is known by its numbers
        frames = [frame(body, number := number + 1) for body in self._snapshot()]
        whole = b"".join(frames)
        self._file.broken = True  # until the new one is there
        await self._disk.replace(self._name, whole)
        copy = None
        if self._copy_name:
            await self._disk.replace(self._copy_name, whole)
            copy = await self._disk.open(self._copy_name)
        self._file = RecordFile(self._world, self._node, await self._disk.open(self._name), number, copy)
        self._limit = max(self._compact_bytes, 4 * len(whole))


# -- What an extent node knows of its replicas, durable on its data device: a log of small records.


NAME = "catalog"
COMPACT_BYTES = 1 << 20


class Created(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """A replica of an extent begins here; the first of ``replicas`` is the primary. ``made`` is a number of its own."""

    extent: int
    replicas: tuple[str, ...]
    made: int = 0


class Flushed(msgspec.Struct, frozen=True, array_like=True, tag="f"):
    """So many bytes of open replicas are durable on the data device."""

    lengths: tuple[tuple[int, int], ...]


class Truncation(msgspec.Struct, frozen=True, array_like=True, tag="t"):
    """A replica is about to be cut to ``length`` on the data device, as a seal asks."""

    extent: int
    length: int


class Sealed(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A replica is complete on the data device and ends at ``length`` for ever."""

    extent: int
    length: int


class Deleted(msgspec.Struct, frozen=True, array_like=True, tag="d"):
    """A replica is gone."""

    extent: int


class Doubtful(msgspec.Struct, frozen=True, array_like=True, tag="u"):
    """The journal ended in bytes that do not match: torn by a crash, or damaged; these replicas may lack the end.

    ``damaged``: it was no crash, so what they lack was acknowledged.
    """

    extents: tuple[int, ...]
    damaged: bool = False


class JournalMade(msgspec.Struct, frozen=True, array_like=True, tag="j"):
    """The journal from now on."""

    journal: str


Entry: TypeAlias = Created | Flushed | Truncation | Sealed | Deleted | Doubtful | JournalMade

_DECODER = msgspec.msgpack.Decoder(Created | Flushed | Truncation | Sealed | Deleted | Doubtful | JournalMade)
_ENCODER = msgspec.msgpack.Encoder()


class CatalogReplica:
    """A replica as the catalog describes it."""

    __slots__ = ("damaged", "doubtful", "extent", "flushed", "made", "replicas", "sealed")

    def __init__(self, extent: int, replicas: tuple[str, ...], made: int) -> None:
        self.extent = extent
        self.replicas = replicas
        self.made = made
        self.flushed = 0
        self.sealed: int | None = None
        self.doubtful = self.damaged = False


class Catalog:
    """The catalog of one node."""

    def __init__(self, world: World, node: str, disk: Disk) -> None:
        self._node = node
        self._log = StateLog(world, node, disk, NAME, self._snapshot, COMPACT_BYTES)
        self.journal = ""
        self.replicas: dict[int, CatalogReplica] = {}

    async def open(self) -> bool:
        """Reads the catalog; whether all of it is there. DataCorrupt where it was surely damaged at rest: then the
        device counts as lost. What looks like a torn end may be a record that was acknowledged, and turned bad."""
        recovered = await self._log.open()
        if recovered.damaged_inside:
            raise DataCorrupt(f"{self._node}: the catalog of replicas is damaged")
        for body in recovered.bodies:
            self._apply(_DECODER.decode(body))
        return recovered.intact

    async def forget_all(self) -> None:
        """Begins an empty catalog in place of a damaged one."""
        self.replicas.clear()
        self.journal = ""
        await self._log.renew()

    async def note(self, entry: Entry) -> None:
        """Makes an entry durable, then true."""
        await self._log.commit(_ENCODER.encode(entry), lambda: self._apply(entry))

    def _apply(self, entry: Entry) -> None:
        if isinstance(entry, Created):
            self.replicas[entry.extent] = CatalogReplica(entry.extent, entry.replicas, entry.made)
        elif isinstance(entry, Flushed):
            for extent, length in entry.lengths:
                known = self.replicas.get(extent)
                if known is not None and known.sealed is None:  # notes of flushes may overtake one another
                    known.flushed = max(known.flushed, length)
        elif isinstance(entry, Truncation):
            self.replicas[entry.extent].flushed = entry.length
        elif isinstance(entry, Sealed):
            replica = self.replicas[entry.extent]
            replica.sealed = replica.flushed = entry.length
        elif isinstance(entry, Deleted):
            self.replicas.pop(entry.extent, None)
        elif isinstance(entry, Doubtful):
            for extent in entry.extents:
                if extent in self.replicas:
                    self.replicas[extent].doubtful = True
                    self.replicas[extent].damaged |= entry.damaged
        else:
            self.journal = entry.journal

    def _snapshot(self) -> Iterable[bytes]:
        return map(_ENCODER.encode, self._entries())

    def _entries(self) -> Iterable[Entry]:
        if self.journal:
            yield JournalMade(self.journal)
        for replica in self.replicas.values():
            yield Created(replica.extent, replica.replicas, replica.made)
            if replica.sealed is not None:
                yield Sealed(replica.extent, replica.sealed)
            elif replica.flushed:
                yield Flushed(((replica.extent, replica.flushed),))
            if replica.doubtful and replica.sealed is None:
                yield Doubtful((replica.extent,), replica.damaged)
