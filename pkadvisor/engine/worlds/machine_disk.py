"""Files of the operating system as the engine sees them: errors translated, descriptors bounded, nothing half done.

A file whose sync failed takes no more writes: the system may have dropped the bytes and forgotten it, so a second sync
that succeeds would prove nothing (Rebello et al., *Can Applications Recover from fsync Failures?*, 2020).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeAlias

from pkadvisor.engine.worlds.durability import LaggingSyncs
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DiskError, DiskFull, ReadFailed

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NEW = ".new"

Beside: TypeAlias = Callable[[Callable[[], None]], Future[None]]
"""Does something that takes time in a thread; the future is done, by the thread of the engine, when that has ended."""


class Descriptors:
    """How many files of a machine are open at a time: past the bound the one opened longest ago is closed.

    Its next use opens it again. That costs nothing per operation while there are fewer files than the bound.
    """

    def __init__(self, most: int) -> None:
        assert most >= 2, "a file that is copied and its copy are open together"
        self._most = most
        self._open: dict[MachineFile, None] = {}

    def opened(self, file: MachineFile) -> None:
        """Counts an opened file, and closes another where there are too many."""
        self._open[file] = None
        while len(self._open) > self._most:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.rest()

    def closed(self, file: MachineFile) -> None:
        """Counts a closed file."""
        self._open.pop(file, None)

    def count(self) -> int:
        """Open files."""
        return len(self._open)


class MachineFile:
    """A file of the operating system, appended to and read at positions.

    A sync goes on in a thread while other tasks run: what is appended meanwhile is not durable until the next one. Its
    descriptor stays open until it has ended.
    """

    __slots__ = (
        "_beside",
        "_descriptor",
        "_descriptors",
        "_dirty",
        "_failed",
        "_gone",
        "_lag",
        "_path",
        "_size",
        "_sync",
        "_syncing",
        "_to_rest",
        "lags",
        "name",
        "syncs",
    )

    def __init__(
        self,
        path: Path,
        sync: bool,
        descriptors: Descriptors,
        beside: Beside,
        lag: LaggingSyncs | None = None,
        lags: bool = False,
    ) -> None:
        self.name = path.name
        self.lags = lags and lag is not None
        self.syncs = 0
        self._lag = lag
        self._path = path
        self._sync = sync
        self._descriptors = descriptors
        self._beside = beside
        self._descriptor = -1
        self._dirty = False
        self._syncing: Future[None] | None = None
        self._to_rest = False
        self._gone = False
        self._failed = ""
        self._size = os.fstat(self._open(os.O_CREAT)).st_size

    def size(self) -> int:
        """Bytes appended so far."""
        return self._size

    async def append(self, data: bytes) -> int:
        """Writes at the end. DiskFull, DiskError: nothing was written."""
        return self._append(data)

    async def write_through(self, data: bytes) -> int:
        """``append``, then ``sync``."""
        if self._lag is not None and not self.lags:
            self._lag.settle()
        start = self._append(data)
        if self._sync:
            await self.sync()
        return start

    def _append(self, data: bytes) -> int:
        if self._failed:
            raise DiskError(self._failed)
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self._open()
        start = self._size
        length = len(data)
        try:
            written = os.write(descriptor, data)
            while written < length:
                written += os.write(descriptor, memoryview(data)[written:])
        except OSError as error:
            self._take_back(start, error)
        self._size = start + length
        self._dirty = True
        return start

    async def sync(self) -> None:
        """Makes everything durable, where the machine was asked to sync."""
        if self._failed:
            raise DiskError(self._failed)
        if not self._sync:
            return
        if self.lags and self._lag is not None:
            self._lag.appended(self)
            return
        while self._syncing is not None:  # it may have begun before the last append: the next one is for all who wait
            await self._syncing
            self._require_good()
        if self._dirty:
            await self._begun()
            self._require_good()

    def _begun(self) -> Future[None]:
        descriptor = self._descriptor if self._descriptor >= 0 else self._open()
        self._dirty = False
        self._syncing = syncing = self._beside(partial(self._sync_descriptor, descriptor))
        syncing.when_done(self._synced)
        return syncing

    def begin_sync(self) -> Future[None] | None:
        """Begins to sync what was appended; None where an earlier sync is under way."""
        if self._syncing is not None:
            return None
        if self._dirty and not self._failed:
            return self._begun()
        nothing: Future[None] = Future()
        nothing.resolve(None)
        return nothing

    def _require_good(self) -> None:
        if self._failed:
            raise DiskError(self._failed)

    def _sync_descriptor(self, descriptor: int) -> None:
        """In a thread: touches nothing but the descriptor, and ``_failed`` when it is lost anyway."""
        try:
            os.fdatasync(descriptor)
        except OSError as error:
            self._failed = self._failed or self._lost(error)

    def _synced(self) -> None:
        self._syncing = None
        self.syncs += 1
        if self._gone:
            os.close(self._descriptor)
            self._descriptor = -1
        elif self._to_rest:
            self._to_rest = False
            self.rest()

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end. ReadFailed on a device error."""
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self._open()
        try:
            return os.pread(descriptor, length, offset)
        except OSError as error:
            raise ReadFailed(f"{self._path}: {error.strerror}") from error

    async def truncate(self, size: int) -> None:
        """Cuts the file; durable on return."""
        if self._lag is not None:
            self._lag.settle()
        if self._failed:
            raise DiskError(self._failed)
        descriptor = self._descriptor if self._descriptor >= 0 else self._open()
        try:
            if size < self._size:
                os.ftruncate(descriptor, size)
        except OSError as error:
            raise DiskError(f"{self._path}: {error.strerror}") from error
        self._size = min(self._size, size)
        if self._sync:
            self._dirty = True
            self.make_durable()

    def rest(self) -> None:
        """Gives the descriptor back until the next use."""
        if self._descriptor < 0:
            return
        if self._syncing is not None:
            self._to_rest = True
            return
        if self._sync and self._dirty and not self._failed:
            try:
                self.make_durable()  # an error of the device would go unseen once nobody holds the file
            except DiskError as error:
                self._failed = str(error)
        os.close(self._descriptor)
        self._descriptor = -1

    def close(self, gone: bool = False) -> None:
        """Gives the descriptor back for good."""
        self._descriptors.closed(self)
        if self._lag is not None:
            self._lag.forget(self)
        if self._descriptor >= 0 and self._syncing is None:
            os.close(self._descriptor)
            self._descriptor = -1
        self._gone = True
        self._failed = f"{self._path} is {'gone' if gone else 'closed'}"

    def _open(self, flags: int = 0) -> int:
        if self._gone:
            raise ReadFailed(self._failed)
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | flags, 0o644)
        except OSError as error:
            raise DiskError(f"{self._path}: {error.strerror}") from error
        self._descriptors.opened(self)
        return self._descriptor

    def make_durable(self) -> None:
        """Syncs it now. DiskError."""
        descriptor = self._descriptor if self._descriptor >= 0 else self._open()
        try:
            os.fdatasync(descriptor)
        except OSError as error:
            self._failed = self._lost(error)
            raise DiskError(self._failed) from error
        self._dirty = False
        self.syncs += 1

    def _lost(self, error: OSError) -> str:
        return f"{self._path}: a sync failed ({error.strerror}), and what it lost is not known"

    def _take_back(self, size: int, error: OSError) -> NoReturn:
        """Removes what a failed write left."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as second:
            self._failed = f"{self._path}: a write failed and could not be taken back ({second.strerror})"
            raise DiskError(self._failed) from error
        kind = DiskFull if error.errno in NO_ROOM else DiskError
        raise kind(f"{self._path}: {error.strerror}") from error


class MachineDisk:
    """A directory."""

    def __init__(
        self,
        directory: Path,
        sync: bool,
        descriptors: Descriptors,
        beside: Beside,
        lag: LaggingSyncs | None = None,
        lags: bool = False,
    ) -> None:
        """``lags``: appends to its files return before they are on the device; ``lag`` knows them, and of all disks."""
        self._directory = directory
        self._lag, self._lags = lag, lags
        self._sync = sync
        self._descriptors = descriptors
        self._beside = beside
        self._files: dict[str, MachineFile] = {}
        try:
            missing = [path for path in (directory, *directory.parents) if not path.exists()]
            directory.mkdir(parents=True, exist_ok=True)
            for path in missing:
                sync_directory(path.parent, sync)
            for path in directory.glob(f"*{NEW}"):  # left by a crash within ``replace``: it never counted
                path.unlink()
        except OSError as error:
            raise translated(directory, error) from error

    async def open(self, name: str) -> MachineFile:
        """The file, created where it is missing."""
        file = self._files.get(name)
        if file is None:
            path = self._path(name)
            is_new = not path.exists()
            if is_new:
                self._settle()
            file = MachineFile(path, self._sync, self._descriptors, self._beside, self._lag, self._lags)
            self._files[name] = file
            if is_new:
                sync_directory(self._directory, self._sync)
        return file

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""
        return tuple(sorted(name for name in os.listdir(self._directory) if not name.endswith(NEW)))  # noqa: PTH208

    async def delete(self, name: str) -> None:
        """Removes a file."""
        self._settle()
        file = self._files.pop(name, None)
        if file is not None:
            file.close(gone=True)
        try:
            self._path(name).unlink(missing_ok=True)
            sync_directory(self._directory, self._sync)
        except OSError as error:
            raise translated(self._path(name), error) from error

    async def replace(self, name: str, data: bytes) -> None:
        """Writes a whole file in place of an older one: a crash, even of the machine, leaves the one or the other."""
        self._settle()
        path = self._path(name)
        new = self._directory / f"{name}{NEW}"
        try:
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                if self._sync:
                    os.fsync(file.fileno())
            new.replace(path)
            sync_directory(self._directory, self._sync)
        except OSError as error:
            raise translated(path, error) from error
        old = self._files.pop(name, None)
        if old is not None:
            old.close(gone=True)

    def _settle(self) -> None:
        if self._lag is not None:
            self._lag.settle()

    def free_bytes(self) -> int:
        """Room left."""
        status = os.statvfs(self._directory)
        return status.f_bavail * status.f_frsize

    def close(self) -> None:
        """Gives all descriptors back."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _path(self, name: str) -> Path:
        assert name and "/" not in name and "\\" not in name and not name.endswith(NEW), f"not a file name: {name!r}"
        return self._directory / name


def translated(path: Path, error: OSError) -> DiskError:
    """An error of the operating system as one of the engine."""
    return (DiskFull if error.errno in NO_ROOM else DiskError)(f"{path}: {error.strerror}")


def sync_directory(directory: Path, sync: bool) -> None:
    """Makes the names in a directory durable."""
    if not sync:
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
