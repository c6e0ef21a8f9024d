"""Records one after the other in a file: their frame, and what of them a crash or a fault left.

    magic (4) | length (4) | number of the write (4) | crc32c of all others (4) | body

A crash may tear the last write, and only that: its number is the highest, which writes that were not synced share. A
record that does not match although a later write follows was damaged at rest, and so was one that cannot be read. Both
end in ``intact`` being false; the caller knows what it means.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct

from google_crc32c import extend, value

from pkadvisor.engine.options import MS
from pkadvisor.engine.worlds.world import File, ReadFailed, World
from pkadvisor.values import dataclass

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
    while (record := _record_at(data, position)) is not None:
        body, write, end = record
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
    best = max(first, second, key=lambda part: (part.writes, part.end))
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
