"""A directory of the engine as it was at one moment: read where it lies, or copied, beside a process that writes to it.

    list and open every file ──► take all lengths twice, until they are alike ──► list again ──same──► the snapshot
            ▲                                             │ something was made, replaced or cut meanwhile
            └─────────────── a moment later ──────────────┘

Lengths that two passes find alike were all there between the passes: no file tells of something that another one lacks.
Between the two listings only journals and extents may grow, and only at their ends, so that the files are those of that
moment, too. The snapshot is what a crash of the owner then would have left, which holds all it acknowledged.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from statistics import mode
from typing import IO, NamedTuple

from pkadvisor.engine.worlds.durability import LaggingSyncs
from pkadvisor.engine.worlds.machine_disk import NEW, Beside, Descriptors, MachineDisk, sync_directory, translated
from pkadvisor.engine.worlds.world import DirectoryInUse, FormatError, ReadFailed, WriteRefusal

# ----------------------------------------------------------------------------------------------------------------------
# Devices of a store that is open to read: the files of a snapshot, with all that is written kept in memory.
#
# Whoever opens a store writes: a node cuts torn ends and empties its journal, an owner leaves his mark in the log.
# Here that costs memory, at most about what lies in the journals, and touches nothing on the disk.

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


ATTEMPTS = 200
PAUSE_S = 0.01
PASSES = 50
"""Pairs of passes over the lengths before the directory is listed anew."""
PIECE_BYTES = 1 << 20
OPEN_MAX = 400
"""Files that are held open; further extents are opened when they are read. An owner keeps one that it no longer needs
for ``garbage_grace_ns``."""


class FileStatus(NamedTuple):
    """What a listing says of a file."""

    inode: int
    size: int


def may_grow(name: str) -> bool:
    """Whether a file grows while an owner only appends entities: a journal, or an extent."""
    return "/journal/" in name or name.endswith(".extent")


def is_one_moment(before: Mapping[str, FileStatus], after: Mapping[str, FileStatus]) -> bool:
    """Whether what was read between two listings is of one moment (see above)."""
    return before.keys() == after.keys() and all(
        later.inode == before[name].inode
        and (later.size == before[name].size or (may_grow(name) and later.size > before[name].size))
        for name, later in after.items()
    )


class DirectorySnapshot:
    """The files by name below the directory (``node/device/file``), open. Nothing is written, no lock is taken.

    FormatError: no directory of the engine, or a newer one. DirectoryInUse: the owner never stands still long enough.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, FrozenFile] = {}
        if not (path / FORMAT_FILE).is_file():
            raise FormatError(f"{path} is no directory of the engine: it has no file {FORMAT_FILE!r}")
        try:
            check_format(path / FORMAT_FILE)
            for attempt in range(ATTEMPTS):
                if self._taken():
                    return
                time.sleep(PAUSE_S * (attempt > 0))
        except OSError as error:
            self.close()
            raise translated(path, error) from error
        raise DirectoryInUse(f"{path} changes too fast to be read beside its owner: try again when it writes less")

    def _taken(self) -> bool:
        """Tries once."""
        try:
            _listed(self.path, self._open)
            good = self._measured() and is_one_moment(self._statuses(), _listed(self.path))
        except FileNotFoundError:  # deleted between its listing and its opening
            good = False
        if not good:
            self.close()
        return good

    def _open(self, name: str, path: Path) -> os.stat_result:
        if name.endswith(".extent") and len(self.files) >= OPEN_MAX:
            status, descriptor = path.stat(), -1
        else:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            status = os.fstat(descriptor)
        self.files[name] = FrozenFile(path, status.st_ino, status.st_size, descriptor)
        return status

    def _measured(self) -> bool:
        """Takes the length of every file at one moment, if there is one between two writes of the owner."""
        for _ in range(PASSES):
            lengths = self._lengths_now()
            if lengths == self._lengths_now():
                for (name, file), size in zip(list(self.files.items()), lengths, strict=True):
                    self.files[name] = file._replace(size=size)
                return True
        return False

    def _lengths_now(self) -> list[int]:
        return [
            os.fstat(file.descriptor).st_size if file.descriptor >= 0 else file.path.stat().st_size
            for file in self.files.values()
        ]

    def _statuses(self) -> dict[str, FileStatus]:
        return {name: FileStatus(file.inode, file.size) for name, file in self.files.items()}

    def disk(self, node: str, device: str, *_: object) -> OverlayDisk:
        """A device of a node, of which all changes stay in memory."""
        prefix = f"{node}/{device}/"
        return OverlayDisk({name.removeprefix(prefix): f for name, f in self.files.items() if name.startswith(prefix)})

    def refusal(self) -> WriteRefusal:
        """It takes no new data."""
        return WriteRefusal.READ_ONLY

    def lengths(self) -> dict[str, int]:
        """The bytes of each file."""
        return {name: file.size for name, file in self.files.items()}

    def copy_to(self, target: Path) -> int:
        """Writes the files into an empty folder, durable on return; their bytes. A target that is broken off has no
        format file, and is no directory of the engine."""
        folders: dict[Path, None] = {target: None}
        written = 0
        for name, file in self.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.update(dict.fromkeys(path.parents[: len(Path(name).parts)]))
            written += _copy(file, path)
        for folder in folders:
            _sync(folder)
        (target / f"{FORMAT_FILE}{NEW}").write_bytes((self.path / FORMAT_FILE).read_bytes())
        _sync(target / f"{FORMAT_FILE}{NEW}")
        (target / f"{FORMAT_FILE}{NEW}").replace(target / FORMAT_FILE)
        _sync(target)
        return written

    def close(self) -> None:
        """Gives the descriptors back."""
        for file in self.files.values():
            if file.descriptor >= 0:
                os.close(file.descriptor)
        self.files.clear()


def _listed(path: Path, look: Callable[[str, Path], os.stat_result] | None = None) -> dict[str, FileStatus]:
    """Every file that counts, in the order of the names."""
    statuses = {}
    for name, file in files_below(path):
        status = file.stat() if look is None else look(name, file)
        statuses[name] = FileStatus(status.st_ino, status.st_size)
    return statuses


def _copy(file: FrozenFile, path: Path) -> int:
    with path.open("xb") as copy:
        offset = 0
        while offset < file.size:
            piece = file.read(offset, min(PIECE_BYTES, file.size - offset))
            if not piece:  # cut by its owner since: those bytes were acknowledged to nobody
                break
            copy.write(piece)
            offset += len(piece)
        copy.flush()
        os.fsync(copy.fileno())
    return offset


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def backup_directory(source: Path, target: Path) -> tuple[int, int]:
    """Copies what an engine's directory holds at this moment to a new or empty one: files and bytes written.

    The source may be open in this process or another one, or lie on a full disk. FormatError: no directory of the
    engine, or the target holds something, lies within the source or around it. DiskFull, DiskError: the target refuses;
    what was written there is removed.
    """
    here, there = source.resolve(), target.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise FormatError(f"a backup needs a directory of its own: {target} lies within {source}, or around it")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FormatError(f"{target} holds something already; a backup goes to a new or an empty directory")
    except OSError as error:
        raise translated(target, error) from error
    snapshot = DirectorySnapshot(source)
    try:
        target.mkdir(parents=True, exist_ok=True)
        return len(snapshot.files), snapshot.copy_to(target)
    except OSError as error:
        with suppress(OSError):
            _emptied(target)
        raise translated(target, error) from error
    finally:
        snapshot.close()


def _emptied(folder: Path) -> None:
    for parent, folders, names in os.walk(folder, topdown=False):
        for name in names:
            (Path(parent) / name).unlink()
        for name in folders:
            (Path(parent) / name).rmdir()


# -- The directory of a machine: one process at a time, and of a format version that this version reads.


FORMAT_VERSION = 1
FORMAT_FILE = "format"
LOCK_FILE = "lock"
RESERVE_BYTES_MAX = 64 << 20
RESERVE_SHARE = 0.6
"""Room that new data leaves free, at most so much of a small file system [A]: whoever opens a store writes out what
lies in journals alone, and that may be nearly all it holds."""
JOURNAL_DEVICE = "journal"
TITLE = "pkadvisor engine, format version "
TIMES = 3
"""How often the format file says it: what most lines say holds where a bit of one has turned."""


class MachineDirectory:
    """Held by one process from opening to ``close``, or its end."""

    def __init__(self, directory: Path, *, sync: bool) -> None:
        self.path, self._sync = directory, sync
        try:
            if directory.exists() and not directory.is_dir():
                raise FormatError(f"{directory} is a file; the engine keeps its data in a directory of its own")
            directory.mkdir(parents=True, exist_ok=True)
            names = sorted(path.name for path in directory.iterdir())
            is_new = FORMAT_FILE not in names
            if is_new and set(names) - {LOCK_FILE, f"{FORMAT_FILE}.new"}:
                raise FormatError(f"{directory} holds other files ({names[0]}, …) and is no directory of the engine")
            self._lock = _lock(directory / LOCK_FILE)
            try:
                self.reserve_bytes = min(RESERVE_BYTES_MAX, int(disk_usage(directory).total * RESERVE_SHARE))
                if is_new:
                    _write_format(directory, sync)
                check_format(directory / FORMAT_FILE)
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise translated(directory, error) from error

    def disk(
        self, node: str, device: str, descriptors: Descriptors, beside: Beside, lag: LaggingSyncs | None
    ) -> MachineDisk:
        """A device of a node; with ``lag`` journals are synced later."""
        path = self.path / node / device
        return MachineDisk(path, self._sync, descriptors, beside, lag, device == JOURNAL_DEVICE)

    def refusal(self) -> WriteRefusal | None:
        """FULL where the file system has less room than the reserve."""
        return WriteRefusal.FULL if disk_usage(self.path).free < self.reserve_bytes else None

    def lengths(self) -> dict[str, int]:
        """The bytes of each file."""
        return {name: path.stat().st_size for name, path in files_below(self.path)}

    def close(self) -> None:
        """Lets another process in."""
        self._lock.close()


def files_below(directory: Path) -> Iterator[tuple[str, Path]]:
    """The files of the devices by name (``node/device/file``), in order."""
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.parent != directory and not name.endswith(NEW):
                yield path.relative_to(directory).as_posix(), path


def _write_format(directory: Path, sync: bool) -> None:
    new = directory / f"{FORMAT_FILE}.new"
    with new.open("w", encoding="utf-8") as file:
        file.write(f"{TITLE}{FORMAT_VERSION}\n" * TIMES)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    new.replace(directory / FORMAT_FILE)
    sync_directory(directory, sync)


def check_format(path: Path) -> None:
    """FormatError: this version does not read the directory that this file describes."""
    text = path.read_bytes()[:200].decode("utf-8", "replace")
    versions = re.findall(rf"^{TITLE}([0-9]+)[ \r]*$", text, re.MULTILINE)
    if not versions:
        raise FormatError(f"{path} does not say which format version the directory has: {text.strip()[:60]!r}")
    version = mode(versions)
    if int(version) > FORMAT_VERSION:
        raise FormatError(
            f"{path.parent} was written in format version {version}; this version of pkadvisor reads versions up to "
            f"{FORMAT_VERSION}. Nothing was changed. Use a newer pkadvisor, or another directory"
        )


def _lock(path: Path) -> IO[bytes]:
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system: two processes are not kept apart
        pass
    except OSError as error:
        file.close()
        raise DirectoryInUse(f"{path.parent} is in use by another process, or twice by this one") from error
    return file
