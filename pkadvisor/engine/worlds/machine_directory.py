"""The directory of a machine: one process at a time, and of a format version that this version reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage
from typing import IO

from pkadvisor.engine.worlds.durability import LaggingSyncs
from pkadvisor.engine.worlds.machine_disk import NEW, Beside, Descriptors, MachineDisk, sync_directory, translated
from pkadvisor.engine.worlds.world import DirectoryInUse, FormatError, WriteRefusal

FORMAT_VERSION = 1
FORMAT_FILE = "format"
LOCK_FILE = "lock"
RESERVE_BYTES_MAX = 64 << 20
RESERVE_SHARE = 0.6
"""Room that new data leaves free, at most so much of a small file system [A]: whoever opens a store writes out what
lies in journals alone, and that may be nearly all it holds."""
JOURNAL_DEVICE = "journal"
TITLE = "pkadvisor engine, format version "


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
        file.write(f"{TITLE}{FORMAT_VERSION}\n")
        file.flush()
        if sync:
            os.fsync(file.fileno())
    new.replace(directory / FORMAT_FILE)
    sync_directory(directory, sync)


def check_format(path: Path) -> None:
    """FormatError: this version does not read the directory that this file describes."""
    text = path.read_bytes()[:200].decode("utf-8", "replace").strip()
    version = text.removeprefix(TITLE)
    if version == text or not (version.isascii() and version.isdigit()):
        raise FormatError(f"{path} does not say which format version the directory has: {text[:60]!r}")
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
