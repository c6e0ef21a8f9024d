"""Devices of a store that is open to read: the files of a snapshot, with all that is written kept in memory.

Whoever opens a store writes: a node cuts torn ends and empties its journal, an owner leaves his mark in the log. Here
that costs memory, at most about what lies in the journals, and touches nothing on the disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pkadvisor.engine.worlds.world import ReadFailed

ROOM_BYTES = 1 << 40


class FrozenFile(NamedTuple):
    """A file as a snapshot has it: its first ``size`` bytes. An open descriptor (not -1) outlives the name."""

    path: Path
    inode: int
    size: int
    descriptor: int = -1

    def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer where it was cut since. FileNotFoundError where it was not open, and is gone."""
        if self.descriptor >= 0:
            return os.pread(self.descriptor, length, offset)
        with self.path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_ino != self.inode:
                raise FileNotFoundError(errno.ENOENT, "deleted by its owner since the store was opened", self.path)
            return os.pread(file.fileno(), length, offset)


class OverlayFile:
    """The first bytes of a frozen file, and what was appended behind them."""

    __slots__ = ("_below", "_frozen", "_more", "lags", "name", "syncs")

    def __init__(self, name: str, frozen: FrozenFile | None = None, data: bytes = b"") -> None:
        self.name = name
        self.lags, self.syncs = False, 0
        self._frozen, self._below = frozen, 0 if frozen is None else frozen.size
        self._more = bytearray(data)

    def size(self) -> int:
        """Bytes in it."""
        return self._below + len(self._more)

    async def append(self, data: bytes) -> int:
        """Adds at the end, in memory."""
        start = self.size()
        self._more += data
        return start

    async def write_through(self, data: bytes) -> int:
        """``append``."""
        return await self.append(data)

    async def sync(self) -> None:
        """Nothing is durable here."""

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end. ReadFailed on a device error."""
        below = b""
        if self._frozen is not None and offset < self._below:
            try:
                below = self._frozen.read(offset, min(length, self._below - offset))
            except OSError as error:
                raise ReadFailed(f"{self.name}: {error.strerror}") from error
            if len(below) == length or len(below) < self._below - offset:
                return below
        first = max(0, offset - self._below)
        return below + bytes(self._more[first : first + length - len(below)])

    async def truncate(self, size: int) -> None:
        """Cuts what is seen of it."""
        del self._more[max(0, size - self._below) :]
        self._below = min(self._below, size)


class OverlayDisk:
    """A directory of them."""

    def __init__(self, frozen: Mapping[str, FrozenFile]) -> None:
        self._files = {name: OverlayFile(name, file) for name, file in frozen.items() if "/" not in name}

    async def open(self, name: str) -> OverlayFile:
        """The file, created where it is missing."""
        return self._files.setdefault(name, OverlayFile(name))

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""
        return tuple(sorted(self._files))

    async def delete(self, name: str) -> None:
        """Removes a file from sight."""
        self._files.pop(name, None)

    async def replace(self, name: str, data: bytes) -> None:
        """Another file in place of an older one."""
        self._files[name] = OverlayFile(name, data=data)

    def free_bytes(self) -> int:
        """Room: nobody places anything here by it."""
        return ROOM_BYTES

    def close(self) -> None:
        """Forgets what was written."""
        self._files.clear()
