"""Records one after the other in a file, durable when ``append`` returns; writers that come together share a write.

    magic (4) | length (4) | number of the write (4) | crc32c of all others (4) | body

A crash may tear the last write, and only that: its number is the highest. A record that does not match although a
later write follows was damaged at rest, and so was one that cannot be read. Both end in ``intact`` being false; the
caller knows what it means.

A file may have a copy, which is written after it. Then no damage of one is taken for a torn write: a crash leaves one
torn at most, and the other ends before that write or with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from struct import Struct

from google_crc32c import extend, value

from pkadvisor.engine.options import MS
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import Disk, DiskError, DiskFull, File, ReadFailed, World

MAGIC = b"\xa5WAS"
_HEAD = Struct("<4sII")
_CHECKSUM = Struct("<I")
_pack_head, _pack_checksum = _HEAD.pack, _CHECKSUM.pack
FRAME_BYTES = _HEAD.size + _CHECKSUM.size
READ_TRIES = 4
READ_PAUSE_NS = 100 * MS
SECTOR_BYTES = 512


def frame(body: bytes, write: int, rest: bytes = b"") -> bytes:
    """A record as it lies in the file; its body is ``body`` and ``rest``, which are not put together before."""
    head = _pack_head(MAGIC, len(body) + len(rest), write)
    checksum = extend(value(head), body)
    if not rest:
        return b"".join((head, _pack_checksum(checksum), body))
    return b"".join((head, _pack_checksum(extend(checksum, rest)), body, rest))


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a file held: bodies in order, where the last whole one ends, and what followed.

    ``seen`` is the highest number of a write of which anything whole is there. ``uneven``: the copy holds something
    else, and both must be written anew.
    """

    bodies: tuple[bytes, ...]
    end: int
    writes: int
    intact: bool
    damaged_inside: bool
    seen: int = 0
    uneven: bool = False


def parse(data: bytes, unreadable: bool = False) -> Recovered:
    """Reads what a crash or a fault left; bodies stop at the first that does not match."""
    bodies: list[bytes] = []
    position = writes = 0
    while (found := _record_at(data, position)) is not None:
        body, write, end = found
        bodies.append(body)
        writes, position = write, end
    intact = position == len(data)
    seen = writes
    search = position + 1
    while not intact and (search := data.find(MAGIC, search)) >= 0:
        later = _record_at(data, search)
        if later is not None:
            seen = max(seen, later[1])
        search = search + 1 if later is None else later[2]
    inside = not intact and (unreadable or seen > writes + 1)
    return Recovered(tuple(bodies), position, writes, intact, inside, seen)


def better(first: Recovered, second: Recovered) -> Recovered:
    """What two copies held: all of it as long as one of them is undamaged (both written in turn, this one first)."""
    best = max(first, second, key=lambda found: (found.writes, found.end))
    seen = max(first.seen, second.seen)
    lost = seen > best.writes + 1 or not (first.intact or second.intact)
    uneven = not (first.intact and second.intact and first.end == second.end)
    return replace(best, damaged_inside=lost, seen=seen, uneven=uneven)


async def read_all(world: World, file: File) -> tuple[bytes, bool]:
    """All bytes, and whether some could not be read, however often it was tried: zeros stand in their place."""
    size = file.size()
    for attempt in range(READ_TRIES):
        try:
            return await file.read(0, size), False
        except ReadFailed:
            await world.sleep(READ_PAUSE_NS << attempt)
    parts, unreadable = [], False
    for start in range(0, size, SECTOR_BYTES):
        length = min(SECTOR_BYTES, size - start)
        for _ in range(READ_TRIES):
            try:
                parts.append(await file.read(start, length))
                break
            except ReadFailed:
                continue
        else:
            parts.append(bytes(length))
            unreadable = True
    if unreadable:
        world.event("bytes that cannot be read", file.name)
    return b"".join(parts), unreadable


def _record_at(data: bytes, position: int) -> tuple[bytes, int, int] | None:
    start = position + FRAME_BYTES
    if start > len(data):
        return None
    magic, length, write = _HEAD.unpack_from(data, position)
    if magic != MAGIC or start + length > len(data):
        return None
    body = data[start : start + length]
    (checksum,) = _CHECKSUM.unpack_from(data, position + _HEAD.size)
    if extend(value(data[position : position + _HEAD.size]), body) != checksum:
        return None
    return body, write, start + length


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
        self._writes += 1
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
            self._writes += 1
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
