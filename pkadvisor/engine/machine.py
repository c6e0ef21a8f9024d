"""The real world: files, a clock and chance of this machine, all nodes in this process."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from pkadvisor.engine.tasks import Scheduler, Task
from pkadvisor.engine.world import DiskError, DiskFull, EngineError, ReadFailed, Unreachable

T = TypeVar("T")
TICKS_UNIX_EPOCH = 621_355_968_000_000_000


class MachineFile:
    """A file of the operating system, appended to and read at positions."""

    __slots__ = ("_descriptor", "_path", "_size", "_sync", "name")

    def __init__(self, path: Path, sync: bool) -> None:
        self.name = path.name
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._size = os.fstat(self._descriptor).st_size
        self._sync = sync

    def size(self) -> int:
        """Bytes appended so far."""
        return self._size

    async def append(self, data: bytes) -> int:
        """Writes at the end."""
        start = self._size
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            os.ftruncate(self._descriptor, start)
            raise DiskFull(f"{self.name}: {error.strerror}") from error
        self._size = start + len(data)
        return start

    async def sync(self) -> None:
        """Makes everything durable, where the machine was asked to sync."""
        if self._sync:
            os.fdatasync(self._descriptor)

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there."""
        try:
            return os.pread(self._descriptor, length, offset)
        except OSError as error:
            raise ReadFailed(f"{self.name}: {error.strerror}") from error

    async def truncate(self, size: int) -> None:
        """Cuts the file."""
        os.ftruncate(self._descriptor, size)
        if self._sync:
            os.fsync(self._descriptor)
        self._size = min(self._size, size)

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self._descriptor)


class MachineDisk:
    """A directory."""

    def __init__(self, directory: Path, sync: bool) -> None:
        self._directory = directory
        self._sync = sync
        self._open: dict[str, MachineFile] = {}
        directory.mkdir(parents=True, exist_ok=True)

    async def open(self, name: str) -> MachineFile:
        """The file, created where it is missing."""
        file = self._open.get(name)
        if file is None:
            file = self._open[name] = MachineFile(self._directory / name, self._sync)
            self._sync_directory()
        return file

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""
        return tuple(sorted(path.name for path in self._directory.iterdir() if not path.name.endswith(".new")))

    async def delete(self, name: str) -> None:
        """Removes a file."""
        file = self._open.pop(name, None)
        if file is not None:
            file.close()
        (self._directory / name).unlink(missing_ok=True)
        self._sync_directory()

    async def replace(self, name: str, data: bytes) -> None:
        """Writes a whole file in place of an older one."""
        new = self._directory / f"{name}.new"
        try:
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                if self._sync:
                    os.fsync(file.fileno())
        except OSError as error:
            raise DiskError(f"{name}: {error.strerror}") from error
        old = self._open.pop(name, None)
        if old is not None:
            old.close()
        new.replace(self._directory / name)
        self._sync_directory()

    def free_bytes(self) -> int:
        """Room left."""
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize

    def close(self) -> None:
        """Gives all descriptors back."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _sync_directory(self) -> None:
        if not self._sync:
            return
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Machine(Scheduler):
    """Real files below one directory (``directory/node/device/file``), the real clock, direct calls between nodes.

    ``sync`` says whether ``File.sync`` reaches the device; without it a crash of the process loses nothing, a power
    cut may.
    """

    def __init__(self, directory: Path, *, sync: bool = True, seed: int = 0) -> None:
        super().__init__()
        self._directory = directory
        self._sync = sync
        self._seed = seed
        self._began_ns = time.monotonic_ns()
        self._boots: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._services: dict[tuple[str, str], Any] = {}
        self._disks: dict[tuple[str, str], MachineDisk] = {}
        self._chance: dict[str, Random] = {}
        self.counts: Counter[str] = Counter()

    def now_ns(self) -> int:
        """Monotonic time since the start."""
        return time.monotonic_ns() - self._began_ns

    def clock_ns(self, node: str) -> int:
        """The same for every node of one process."""
        return time.monotonic_ns() - self._began_ns

    def ticks(self, node: str) -> int:
        """The time of day."""
        return TICKS_UNIX_EPOCH + time.time_ns() // 100

    def random(self, purpose: str) -> Random:
        """A stream of chance for each purpose."""
        return self._chance.setdefault(purpose, Random(f"{self._seed}/{purpose}"))

    def event(self, name: str, *facts: object) -> None:
        """Counts."""
        self.counts[name] += 1

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> T:
        """Runs a coroutine to its end; where it never waits, at once."""
        try:
            waited_for = coroutine.send(None)
        except StopIteration as stop:
            if self._ready or self._timers:
                self.turn()
            return stop.value  # type: ignore[no-any-return]
        task = Task(coroutine, node)
        self._alive[task] = None
        waited_for.when_done(lambda: self._make_ready(task))
        while not task.done:
            self.turn()
            due = self._due()
            if not task.done and not self._ready:
                assert due is not None, "nothing will ever happen again, and the task still waits"
                time.sleep(max(0, due - self.now_ns()) / 1e9)
        return task.result()

    def turn(self) -> None:
        """Runs what is ready and what is due."""
        self._run_ready()
        while (due := self._due()) is not None and due <= self.now_ns():
            self._fire()
            self._run_ready()
        if self.unhandled:
            raise self.unhandled.pop(0)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]], node: str) -> list[T | EngineError]:
        """Runs one after the other: on one thread nothing is won by more."""
        results: list[T | EngineError] = []
        for coroutine in coroutines:
            try:
                results.append(await coroutine)
            except EngineError as error:
                results.append(error)
        return results

    def add_node(self, name: str, boot: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A node and how it starts."""
        self._boots[name] = boot

    def start(self, name: str) -> Task[None]:
        """Starts a node."""
        return self.spawn(self._boots[name](), name)

    def register(self, node: str, service: str, instance: object) -> None:
        """Offers a service."""
        self._services[node, service] = instance

    def call(self, source: str, target: str, service: str, method: str, *arguments: Any) -> Awaitable[Any]:
        """Calls a service on another node: the method itself, with nothing between."""
        instance = self._services.get((target, service))
        if instance is None:
            raise Unreachable(f"{target} is down")
        return getattr(instance, method)(*arguments)  # type: ignore[no-any-return]

    def disk(self, node: str, device: str) -> MachineDisk:
        """A device of a node."""
        disk = self._disks.get((node, device))
        if disk is None:
            disk = self._disks[node, device] = MachineDisk(self._directory / node / device, self._sync)
        return disk

    def close(self) -> None:
        """Gives every descriptor back."""
        for disk in self._disks.values():
            disk.close()
