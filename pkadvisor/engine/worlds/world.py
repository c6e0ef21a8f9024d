"""The door to time, chance, disk and network: what a node of the engine may ask of the world around it.

Nothing else in ``engine/`` reads a clock, draws a random number or opens a file. Two worlds exist:
:class:`~pkadvisor.engine.worlds.simulator.Simulator` (virtual time, seeded chance, faults) and
:class:`~pkadvisor.engine.worlds.machine.Machine` (the real ones, one process).

A node is a name. Its services are objects whose coroutine methods other nodes may call; its disks survive its crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from enum import Enum
from random import Random
from typing import Any, Protocol, TypeVar

from pkadvisor.engine.worlds.tasks import Task

T = TypeVar("T")


class EngineError(Exception):
    """What can go wrong inside the engine; the tree of them:

    EngineError
    ├── Unreachable       the other node did not answer in time: the call may or may not have been carried out
    ├── DiskError         a device refused
    │   ├── DiskFull      no room: nothing was written
    │   └── ReadFailed    a read error of the device
    ├── DataCorrupt       a checksum does not match: the bytes were not returned
    ├── StreamError       see ``stream/access.py``
    ├── RangeError        see ``partition/metadata.py``
    ├── OwnershipError    see ``ownership_errors.py``
    ├── FormatError       files of a newer format version
    └── DirectoryInUse    another process holds the directory
    """


class Unreachable(EngineError):  # noqa: N818
    """The other node did not answer in time; the call may or may not have been carried out."""


class DiskError(EngineError):
    """A device refused."""


class DiskFull(DiskError):  # noqa: N818
    """No room on the device; nothing was written."""


class ReadFailed(DiskError):  # noqa: N818
    """The device reports a read error."""


class DataCorrupt(EngineError):  # noqa: N818
    """A checksum does not match; the bytes were not returned."""


class FormatError(EngineError):
    """A directory or record of a format version that this version does not read."""


class DirectoryInUse(EngineError):  # noqa: N818
    """Another process holds the directory, or this one does already."""


class File(Protocol):
    """One file of a disk. What was appended is visible to reads at once and durable after ``sync``."""

    name: str
    lags: bool
    """Whether ``sync`` returns before that, because whoever opened the store asked for it."""
    syncs: int
    """How often something was made durable; of files that lag only."""

    def size(self) -> int:
        """Bytes appended so far, durable or not."""

    async def append(self, data: bytes) -> int:
        """Writes at the end; the offset where it starts. DiskFull: nothing was written."""

    async def sync(self) -> None:
        """Returns when everything appended before is durable."""

    async def write_through(self, data: bytes) -> int:
        """``append``, then ``sync``, in one call."""

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end of the file. ReadFailed on a device error."""

    async def truncate(self, size: int) -> None:
        """Cuts the file; durable on return."""


class Disk(Protocol):
    """A device of one node. Names hold no directory; creation, deletion and replacement are durable on return."""

    async def open(self, name: str) -> File:
        """The file, created where it is missing."""

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""

    async def delete(self, name: str) -> None:
        """Removes a file; one that is missing is no error."""

    async def replace(self, name: str, data: bytes) -> None:
        """Writes a whole file in place of an older one: a crash leaves the old one or the new one."""

    def free_bytes(self) -> int:
        """Room left."""


class WriteRefusal(Enum):
    """Why a world takes no new data."""

    FULL = "full"
    READ_ONLY = "read only"


class World(Protocol):
    """Time, chance, disk, network."""

    def now_ns(self) -> int:
        """True time in ns since the world began. Nodes read ``clock_ns``: only checkers may know the truth."""

    def clock_ns(self, node: str) -> int:
        """A node's own monotonic clock in ns; clocks drift apart within a stated bound."""

    def ticks(self, node: str) -> int:
        """A node's time of day in 100-ns ticks since 0001-01-01 (for Timestamp)."""

    def random(self, purpose: str) -> Random:
        """A stream of chance of its own for each purpose: a new consumer does not shift the others."""

    def spawn(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> Task[T]:
        """Starts a task on a node."""

    async def sleep(self, duration_ns: int) -> None:
        """Waits, by true time."""

    async def pass_turn(self) -> None:
        """Lets every task run that is ready now, then goes on."""

    def others_ready(self) -> bool:
        """Whether tasks are ready and could not run meanwhile, as calls do not wait. False where calls wait."""

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]], node: str) -> list[T | EngineError]:
        """Runs all beside each other; for each its value, or the EngineError it raised. Other errors are raised."""

    def add_node(self, name: str, boot: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A node and what it does when it starts, the first time and after each crash; ``start`` starts it."""

    def start(self, name: str) -> Task[None]:
        """Starts a node that is down."""

    def register(self, node: str, service: str, instance: object) -> None:
        """Offers the coroutine methods of an object to other nodes under a name, until the node stops."""

    def call(self, source: str, target: str, service: str, method: str, *arguments: Any) -> Coroutine[Any, Any, Any]:
        """Calls a service on another node (or the same one). An EngineError of the service is raised here.

        Unreachable where no answer came in time: the call may have been carried out, once or more than once.
        """

    def disk(self, node: str, device: str) -> Disk:
        """A device of a node; it survives crashes of the node."""

    def writes_refused(self) -> WriteRefusal | None:
        """Why new data must be refused, if it must. FULL: what keeps the rest readable needs the room that is left."""

    def event(self, name: str, *facts: object) -> None:
        """Adds to the event log: what happened, for checkers, counts and the hash of a run."""
