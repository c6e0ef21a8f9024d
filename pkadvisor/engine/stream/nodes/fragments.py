"""Fragments of coded extents on one extent node: written piece by piece, each piece under its own checksum.

    file = piece, piece, … ; piece = header (what it is, where it belongs, how long, checksum), bytes

All pieces but the last have the same length, so that a position says where its piece lies. How long a fragment is says
how far the coding has come: another coordinator goes on from there.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

import google_crc32c

from pkadvisor.engine.stream.errors import NotThere
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, Disk, File, ReadFailed, World

_HEADER = Struct("<4sQQHIQI")  # mark, key, position, length; then the checksum over all
_CHECKSUM = Struct("<I")
_MARK = b"FRG1"
HEADER_BYTES = _HEADER.size + _CHECKSUM.size


class FragmentKey(NamedTuple):
    """The ``number``-th fragment of an extent, in pieces of so many bytes.

    Each attempt to code an extent has fragments of its own.
    """

    extent: int
    attempt: int
    number: int
    piece_bytes: int


def _file_name(key: FragmentKey) -> str:
    return "-".join(("fragment", *map(str, key)))


def _key_of(name: str) -> FragmentKey | None:
    kind, *numbers = name.split("-")
    if kind != "fragment" or len(numbers) != 4:
        return None
    return FragmentKey(*map(int, numbers))


class FragmentStore:
    """The service ``fragments`` of an extent node."""

    def __init__(self, world: World, node: str, disk: Disk, device: Device) -> None:
        self._world, self._node, self._disk, self._device = world, node, disk, device
        self._files: dict[FragmentKey, File] = {}
        self._sizes: dict[FragmentKey, int] = {}
        self._busy: dict[FragmentKey, Future[None]] = {}
        self._damaged: dict[FragmentKey, None] = {}

    async def recover(self) -> None:
        """Finds what is there and cuts the last piece of each fragment where it was torn: it was never acknowledged."""
        for name in self._disk.names():
            key = _key_of(name)
            if key is None:
                continue
            file = self._files[key] = await self._disk.open(name)
            step = HEADER_BYTES + key.piece_bytes
            pieces, rest = divmod(file.size(), step)
            size = pieces * key.piece_bytes + max(0, rest - HEADER_BYTES)
            self._sizes[key] = size
            last = (size - 1) // key.piece_bytes * key.piece_bytes if size else 0
            if 0 < rest <= HEADER_BYTES:
                last = size
            elif not size or await self._is_whole(key, last):
                continue
            self._damaged.pop(key, None)
            await file.truncate(last // key.piece_bytes * step)
            self._sizes[key] = last
            self._world.event("torn fragment cut", key.extent, key.number)

    async def write(self, key: FragmentKey, position: int, data: bytes) -> int:
        """Adds a piece, durable on return; how long the fragment is then. A piece that is there already is passed over.

        NotThere: pieces before it are missing.
        """
        key = FragmentKey(*key)
        assert position % key.piece_bytes == 0 and 0 < len(data) <= key.piece_bytes, "one whole piece"
        while (other := self._busy.get(key)) is not None:
            await other
        mine = self._busy[key] = Future[None]()
        try:
            file = self._files.get(key)
            if file is None:
                file = self._files[key] = await self._disk.open(_file_name(key))
                self._sizes.setdefault(key, 0)
            size = self._sizes[key]
            if position + len(data) <= size:
                return size
            if position != size:
                raise NotThere(f"{_file_name(key)} has {size} bytes, not {position}")
            offset = _offset(key, position)
            if file.size() > offset:  # a piece whose sync failed
                await file.truncate(offset)
            await self._device.write(file, _framed(key, position, data))
            self._sizes[key] = size + len(data)
            return size + len(data)
        finally:
            if self._busy.get(key) is mine:
                del self._busy[key]
            mine.resolve(None)

    async def read(self, key: FragmentKey, start: int, end: int) -> bytes:
        """The bytes from start to end. NotThere: it is shorter. DataCorrupt: a piece is not as it was written."""
        key = FragmentKey(*key)
        if end > self._sizes.get(key, -1):
            raise NotThere(f"{_file_name(key)}: {start}…{end}")
        if end <= start:
            return b""
        first = start // key.piece_bytes * key.piece_bytes
        parts = [await self._piece(key, position) for position in range(first, end, key.piece_bytes)]
        return b"".join(parts)[start - first : end - first]

    async def size(self, key: FragmentKey) -> int:
        """How much of it is there, 0 for none."""
        return self._sizes.get(FragmentKey(*key), 0)

    async def held(self) -> tuple[tuple[FragmentKey, int], ...]:
        """Every fragment and how much of it is there, in order."""
        return tuple(sorted(self._sizes.items()))

    async def damaged(self) -> tuple[FragmentKey, ...]:
        """Those in which a read found wrong bytes; they are to be deleted and rebuilt."""
        return tuple(sorted(self._damaged))

    async def delete(self, key: FragmentKey) -> None:
        """Removes a fragment; one that is missing is no error."""
        key = FragmentKey(*key)
        while (other := self._busy.get(key)) is not None:
            await other
        self._sizes.pop(key, None)
        self._damaged.pop(key, None)
        if self._files.pop(key, None) is not None:
            await self._disk.delete(_file_name(key))

    async def verify(self, key: FragmentKey) -> bool:
        """Reads all of it: whether every checksum is right."""
        return not await self.bad_pieces(key)

    async def bad_pieces(self, key: FragmentKey) -> tuple[int, ...]:
        """Reads all of it: where the pieces begin that are not as they were written, or cannot be read."""
        key = FragmentKey(*key)
        size = self._sizes.get(key, 0)
        bad = tuple([p for p in range(0, size, key.piece_bytes) if not await self._is_whole(key, p)])
        if not bad:  # what could not be read once was read now
            self._damaged.pop(key, None)
        elif key in self._sizes:
            self._damaged[key] = None
        return bad

    async def mend(self, key: FragmentKey, pieces: tuple[tuple[int, bytes], ...]) -> None:
        """Puts pieces in place of bad ones: the whole file is replaced, or nothing."""
        key = FragmentKey(*key)
        while (other := self._busy.get(key)) is not None:
            await other
        mine = self._busy[key] = Future[None]()
        try:
            if key not in self._sizes:
                raise NotThere(f"{self._node}: {_file_name(key)}")
            file, size = self._files[key], self._sizes[key]
            anew = dict(pieces)
            parts = []
            for position in range(0, size, key.piece_bytes):  # what is bad may not even be read
                length = min(key.piece_bytes, size - position)
                data = anew.get(position)
                if data is None:
                    parts.append(await self._device.read(file, _offset(key, position), HEADER_BYTES + length))
                else:
                    assert len(data) == length, "a piece for a piece"
                    parts.append(_framed(key, position, data))
            self._files[key] = await self._device.replace(self._disk, _file_name(key), b"".join(parts))
            self._damaged.pop(key, None)
            self._world.event("fragment mended", self._node, *key)
        finally:
            if self._busy.get(key) is mine:
                del self._busy[key]
            mine.resolve(None)

    async def _is_whole(self, key: FragmentKey, position: int) -> bool:
        try:
            await self._piece(key, position)
        except (DataCorrupt, ReadFailed):
            return False
        return True

    async def _piece(self, key: FragmentKey, position: int) -> bytes:
        if key not in self._sizes:  # deleted since somebody began to read it
            raise NotThere(f"{self._node}: {_file_name(key)}")
        length = min(key.piece_bytes, self._sizes[key] - position)
        offset = _offset(key, position)
        piece = await self._device.read(self._files[key], offset, HEADER_BYTES + length)
        header, data = piece[: _HEADER.size], piece[HEADER_BYTES:]
        expected = _HEADER.pack(_MARK, *key, position, length)
        stored = piece[_HEADER.size : HEADER_BYTES]
        if header != expected or len(data) != length or stored != _CHECKSUM.pack(_checksum(header, data)):
            self._damaged[key] = None
            self._world.event("corrupt fragment", self._node, *key)
            raise DataCorrupt(f"{self._node}: {_file_name(key)} at {position}")
        return data

    def check(self) -> None:
        """Sizes and files belong together."""
        assert self._sizes.keys() <= self._files.keys()
        assert not any(busy.done for busy in self._busy.values()), "who waits for a fragment waits for nobody"


def _offset(key: FragmentKey, position: int) -> int:
    """Where a piece lies in the file."""
    return position // key.piece_bytes * (HEADER_BYTES + key.piece_bytes)


def _framed(key: FragmentKey, position: int, data: bytes) -> bytes:
    header = _HEADER.pack(_MARK, *key, position, len(data))
    return header + _CHECKSUM.pack(_checksum(header, data)) + data


def _checksum(header: bytes, data: bytes) -> int:
    return int(google_crc32c.extend(google_crc32c.value(header), data))
