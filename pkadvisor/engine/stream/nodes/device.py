"""What may be given to a device now: some disks lock out what is not sequential for seconds (SOSP 2011, 4.6.1).

asked ──► dispatched ──► served
  │ more than 100 ms of work is expected before it, or something dispatched is unserved for more than 200 ms
  ▼
waits its turn; a read that has a deadline is refused at once instead (TooSlow), and asks another replica
"""

from __future__ import annotations

from collections import deque

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import TooSlow
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import Disk, File, World

_KIB = 1024
_NS_PER_KIB = 10_000  # 100 MB/s, a disk of the paper's time [A]; what is observed corrects the rest


class Device:
    """The queue in front of one device of a node."""

    __slots__ = ("_dispatched", "_node", "_number", "_operation_ns", "_options", "_pending_ns", "_waiting", "_world")

    def __init__(self, world: World, node: str, options: EngineOptions) -> None:
        self._world = world
        self._node = node
        self._options = options
        self._dispatched: dict[int, tuple[int, int]] = {}
        self._number = 0
        self._pending_ns = 0
        self._operation_ns = 0
        self._waiting: deque[tuple[int, Future[int]]] = deque()

    async def read(self, file: File, offset: int, length: int, deadline_ns: int = 0) -> bytes:
        """Reads in turn. TooSlow, at once, where it cannot be served within ``deadline_ns`` (0: no deadline)."""
        number = self._dispatch(length, deadline_ns)
        if not number:
            number = await self._turn(length)
        try:
            return await file.read(offset, length)
        finally:
            self._served(number)

    async def write(self, file: File, data: bytes) -> None:
        """Appends in turn; durable on return."""
        number = self._dispatch(len(data), 0)
        if not number:
            number = await self._turn(len(data))
        try:
            await file.append(data)
            await file.sync()
        finally:
            self._served(number)

    async def replace(self, disk: Disk, name: str, data: bytes) -> File:
        """Writes a whole file in place of an older one, in turn; the new one."""
        number = self._dispatch(len(data), 0)
        if not number:
            number = await self._turn(len(data))
        try:
            await disk.replace(name, data)
            return await disk.open(name)
        finally:
            self._served(number)

    def expected_ns(self, length: int) -> int:
        """How long an operation should take by itself."""
        return self._operation_ns + length * _NS_PER_KIB // _KIB

    def closed(self, now_ns: int) -> bool:
        """Whether nothing may be dispatched now."""
        if not self._dispatched:
            return False
        oldest_ns = next(iter(self._dispatched.values()))[0]
        return (
            self._pending_ns > self._options.spindle_pending_ns_max
            or now_ns - oldest_ns > self._options.spindle_unserved_ns_max
        )

    def _dispatch(self, length: int, deadline_ns: int) -> int:
        """The number of the operation, or 0 where it must wait."""
        now_ns = self._world.clock_ns(self._node)
        expected_ns = self.expected_ns(length)
        if not self._dispatched and not self._waiting:
            return self._start(now_ns, expected_ns)
        shut = bool(self._waiting) or self.closed(now_ns)
        if deadline_ns and (shut or self._pending_ns + expected_ns > deadline_ns) and self._dispatched:
            self._world.event("read refused as too slow", self._node)
            raise TooSlow(f"{self._node}: {self._pending_ns} ns of work is before it")
        if shut:
            return 0
        return self._start(now_ns, expected_ns)

    async def _turn(self, length: int) -> int:
        future: Future[int] = Future()
        self._waiting.append((length, future))
        self._world.event("waits for a slow device", self._node)
        return await future

    def _start(self, now_ns: int, expected_ns: int) -> int:
        self._number += 1
        self._dispatched[self._number] = (now_ns, expected_ns)
        self._pending_ns += expected_ns
        return self._number

    def _served(self, number: int) -> None:
        began_ns, expected_ns = self._dispatched.pop(number)
        self._pending_ns -= expected_ns
        now_ns = self._world.clock_ns(self._node)
        if not self._dispatched:  # alone on the device: what it took is what it takes
            self._operation_ns = max(0, self._operation_ns + (now_ns - began_ns - expected_ns) // 8)
        while self._waiting and not self.closed(now_ns):
            length, future = self._waiting.popleft()
            future.resolve(self._start(now_ns, self.expected_ns(length)))

    def check(self) -> None:
        """AssertionError where the sums are wrong."""
        assert self._pending_ns == sum(expected_ns for _, expected_ns in self._dispatched.values())
        assert not self._waiting or self._dispatched, "who waits waits for somebody"
