"""Records one after the other in a file, durable when ``append`` returns; writers that come together share a write.

    magic (4) | length (4) | number of the write (4) | crc32c of all others (4) | body

A crash may tear the last write, and only that: its number is the highest. A record that does not match although a
later write follows was damaged at rest. Both end in ``intact`` being false; the caller knows what it means.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from google_crc32c import extend, value

from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import Disk, DiskError, DiskFull, File, World

MAGIC = b"\xa5WAS"
_HEAD = Struct("<4sII")
_CHECKSUM = Struct("<I")
_pack_head, _pack_checksum = _HEAD.pack, _CHECKSUM.pack
FRAME_BYTES = _HEAD.size + _CHECKSUM.size


def frame(body: bytes, write: int) -> bytes:
    """A record as it lies in the file."""
    head = _pack_head(MAGIC, len(body), write)
    return head + _pack_checksum(extend(value(head), body)) + body


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a file held: bodies in order, where the last whole one ends, and what followed."""

    bodies: tuple[bytes, ...]
    end: int
    writes: int
    intact: bool
    damaged_inside: bool


def parse(data: bytes) -> Recovered:
    """Reads what a crash or a fault left; bodies stop at the first that does not match."""
    bodies: list[bytes] = []
    position = writes = 0
    while (found := _record_at(data, position)) is not None:
        body, write, end = found
        bodies.append(body)
        writes, position = write, end
    intact = position == len(data)
    inside = False
    search = position + 1
    while not intact and not inside and (search := data.find(MAGIC, search)) >= 0:
        later = _record_at(data, search)
        inside = later is not None and later[1] > writes + 1
        search += 1
    return Recovered(tuple(bodies), position, writes, intact, inside)


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

    def __init__(self, world: World, node: str, file: File, writes: int) -> None:
        self._world = world
        self._node = node
        self._file = file
        self._writes = writes
        self.busy = False
        self._queue: list[tuple[bytes, Future[None]]] = []
        self._began_ns = 0
        self._idle: list[Future[None]] = []
        self.broken = False

    @classmethod
    async def open(cls, world: World, node: str, disk: Disk, name: str) -> tuple[RecordFile, Recovered]:
        """The file with its records; what follows the last whole one is cut off unless it was damaged at rest."""
        file = await disk.open(name)
        recovered = parse(await file.read(0, file.size()))
        if not recovered.intact and not recovered.damaged_inside:
            await file.truncate(recovered.end)
        return cls(world, node, file, recovered.writes), recovered

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

    async def append(self, body: bytes) -> None:
        """Returns when the record is durable. DiskError: it may or may not be; DiskFull: it is not."""
        if self.broken:
            raise DiskError(f"{self._file.name}: refused before")
        if self.busy:
            future: Future[None] = Future()
            self._queue.append((body, future))
            await future
            return
        self.busy = True
        self._writes += 1
        try:
            await self._file.append(frame(body, self._writes))
            await self._file.sync()
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
                await self._file.append(b"".join([frame(body, self._writes) for body, _ in batch]))
                await self._file.sync()
            except DiskError as error:
                self._queue = batch + self._queue
                self._refused(error)
                return
            for _, future in batch:
                future.resolve(None)
        self._rest()

    def _refused(self, error: DiskError) -> None:
        self._rest()
        self.broken = not isinstance(error, DiskFull)
        queue, self._queue = self._queue, []
        for _, future in queue:
            future.fail(error)
