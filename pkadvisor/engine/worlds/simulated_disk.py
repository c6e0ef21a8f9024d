"""Disks of the simulator: files in memory that know which bytes are durable, and the ways in which devices fail.

    bytes of a file:   0 ─── durable ───► durable_bytes ─── written, not synced ───► size
                        survive a crash                     lost, torn, holed or kept, as chance or the crash point says

An operation other than an append takes effect at its end: a crash before it leaves the old state. An append is visible
at once. Every durable write is numbered by the world (``CrashPoint``).
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pkadvisor.engine.worlds.faults import Atlas, CrashPoint, DiskFaults, draw_ns, happens
from pkadvisor.engine.worlds.world import DiskError, DiskFull, ReadFailed


class DiskHost:
    """What a simulated disk needs of its world; without one nothing fails and no time passes."""

    atlas: Atlas | None = None

    def now_ns(self) -> int:
        """Virtual time."""
        return 0

    def random(self, purpose: str) -> Random:
        """A stream of chance, the same each time."""
        return Random(purpose)

    async def sleep(self, duration_ns: int) -> None:
        """Waits."""

    def event(self, name: str, *facts: object) -> None:
        """Notes."""

    async def alive(self, node: str) -> None:
        """Never returns to a task whose node has crashed."""

    def durable_write(self, node: str, device: str, kind: str, name: str) -> CrashPoint | None:
        """Numbers a durable write; the crash point that it hits."""
        return None

    async def crash_here(self, node: str, point: CrashPoint) -> None:
        """Carries out a crash point; never returns to a task of that node."""


SECTOR = 512


class SimulatedFile:
    """A file: its bytes, and how many of them a power cut would leave."""

    def __init__(self, name: str, disk: SimulatedDisk | None = None) -> None:
        self.name = name
        self.lags, self.syncs = False, 0
        self.content = bytearray()
        self.durable_bytes = 0
        self.gone = False
        self.sync_failed = False
        self._bad: list[tuple[int, int]] = []
        self._disk = disk or SimulatedDisk()

    def size(self) -> int:
        """Bytes appended so far."""
        return len(self.content)

    async def append(self, data: bytes) -> int:
        """Writes at the end. DiskFull: nothing was written; DiskError: the device is lost or refuses."""
        disk = self._disk
        await disk.begin(self, writing=True)
        if disk.faults.write_error_per_million and happens(disk.chance, disk.faults.write_error_per_million):
            disk.host.event("write error", disk.node, disk.device)
            raise DiskError(f"{self.name}: the device refuses the write")
        if disk.is_full(len(data)):
            disk.host.event("disk full", disk.node, disk.device)
            raise DiskFull(f"{self.name}: no room on {disk.node}/{disk.device}")
        start = len(self.content)
        point = disk.host.durable_write(disk.node, disk.device, "append", self.name)
        if point is not None:
            self.content += torn(data, point.tear)
            await disk.host.crash_here(disk.node, point)
        if disk.faults.misdirect_per_million and happens(disk.chance, disk.faults.misdirect_per_million):
            self._misdirect(data)
        else:
            self.content += data
        if disk.slow or disk.faults.timed:
            await disk.serve(len(data))
        return start

    async def sync(self) -> None:
        """Makes everything durable that was written when it was called.

        DiskError: what was written may be lost, and the file takes no more writes in this life of its node.
        """
        disk = self._disk
        await disk.begin(self, writing=True)
        size = len(self.content)
        point = disk.host.durable_write(disk.node, disk.device, "sync", self.name)
        if point is not None:
            await disk.host.crash_here(disk.node, point)
        if disk.slow or disk.faults.timed:
            await disk.serve(0)
        if self.gone or disk.failed:
            raise DiskError(f"{self.name}: the device failed before the bytes were durable")
        if disk.faults.sync_error_per_million and happens(disk.chance, disk.faults.sync_error_per_million):
            self.sync_failed = True
            disk.host.event("sync error", disk.node, disk.device)
            raise DiskError(f"{self.name}: a sync failed, and what it lost is not known")
        self.durable_bytes = max(self.durable_bytes, min(size, len(self.content)))

    async def write_through(self, data: bytes) -> int:
        """``append``, then ``sync``."""
        start = await self.append(data)
        await self.sync()
        return start

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end. ReadFailed on a read error."""
        disk = self._disk
        await disk.begin(self, reading=True)
        if disk.slow or disk.faults.timed:
            await disk.serve(length)
        end = min(offset + length, len(self.content))
        faults = disk.faults
        if end > offset and (faults.read_error_per_million or faults.flip_per_million):
            self._damage(offset, end)
        for low, high in self._bad:
            if low < end and offset < high:
                disk.host.event("read error", disk.node, disk.device)
                raise ReadFailed(f"{self.name}: bytes {low} to {high} cannot be read")
        return bytes(self.content[offset : offset + length])

    async def truncate(self, size: int) -> None:
        """Cuts the file; durable on return."""
        await self._disk.begin(self, writing=True)
        await self._disk.take_effect(self, "truncate", self.name)
        self._cut(size)
        await self._disk.took_effect()

    def _cut(self, size: int) -> None:
        del self.content[size:]
        self.durable_bytes = min(self.durable_bytes, len(self.content))
        self._bad = [(low, min(high, size)) for low, high in self._bad if low < size]

    # ------------------------------------------------------------------------------------------------ damage

    def flip(self, offset: int, bit: int = 0) -> None:
        """Turns a bit where it lies."""
        self.content[offset] ^= 1 << bit

    def spoil(self, start: int, end: int) -> None:
        """Makes bytes unreadable until the file is cut before them or goes."""
        self._bad.append((start, end))

    def _damage(self, start: int, end: int) -> None:
        disk = self._disk
        if happens(disk.chance, disk.faults.flip_per_million) and disk.may_damage(self.name, start, end):
            self.flip(disk.chance.randrange(start, end), disk.chance.getrandbits(3))
            disk.host.event("bit flipped", disk.node, disk.device, self.name)
        if happens(disk.chance, disk.faults.read_error_per_million) and disk.may_damage(self.name, start, end):
            at = disk.chance.randrange(start, end)
            if disk.faults.sticky_read_errors:
                self.spoil(at, at + 1)
            else:
                disk.host.event("read error", disk.node, disk.device)
                raise ReadFailed(f"{self.name}: bytes {start} to {end} were not read")

    def _misdirect(self, data: bytes) -> None:
        """Writes zeros where the data belong, and the data over other bytes of the device."""
        disk = self._disk
        start = len(self.content)
        others = [file for file in disk.files() if len(file.content) >= len(data) > 0]
        if not others or not disk.may_damage(self.name, start, start + len(data)):
            self.content += data
            return
        other = others[disk.chance.randrange(len(others))]
        at = disk.chance.randrange(len(other.content) - len(data) + 1)
        self.content += bytes(len(data))
        if disk.may_damage(other.name, at, at + len(data)):
            other.content[at : at + len(data)] = data
        disk.host.event("misdirected write", disk.node, disk.device, self.name)

    def power_off(self, chance: Random, tear: str) -> None:
        """Leaves what a crash leaves: durable bytes, and of the others what ``tear`` or chance says."""
        unsynced = len(self.content) - self.durable_bytes
        if unsynced and tear == "lost":
            self._cut(self.durable_bytes)
        elif unsynced and tear == "random":
            fate = chance.randrange(100)
            if fate < 35:
                self._cut(self.durable_bytes)
            elif fate < 80:
                self._cut(self.durable_bytes + chance.randrange(unsynced + 1))
            if fate >= 60:  # sectors reach the device in any order
                for sector in range(self.durable_bytes // SECTOR, len(self.content) // SECTOR + 1):
                    start, end = max(self.durable_bytes, sector * SECTOR), min(len(self.content), (sector + 1) * SECTOR)
                    if start < end and chance.getrandbits(2) == 0:
                        self.content[start:end] = bytes(end - start)
        self.durable_bytes = len(self.content)
        self.sync_failed = False


def torn(data: bytes, tear: str) -> bytes:
    """What a write leaves that was hit by a crash."""
    if tear == "header":
        return data[: min(len(data), 8) // 2]
    if tear == "body":
        return data[: len(data) // 2]
    if tear == "checksum":
        return data[:-1]
    return data  # kept; or written and not durable, for ``power_off`` to decide


class SimulatedDisk:
    """A device with files."""

    def __init__(
        self, host: DiskHost | None = None, node: str = "", device: str = "", faults: DiskFaults | None = None
    ) -> None:
        self.host: DiskHost = host or DiskHost()
        self.node, self.device = node, device
        self.faults = faults or DiskFaults()
        self.chance = self.host.random(f"disk {node}/{device}")
        self.failed = False
        self.slow = False
        self._extra_ns = 0
        self._slow_until_ns = 0
        self._busy_until_ns = 0
        self._files: dict[str, SimulatedFile] = {}

    async def open(self, name: str) -> SimulatedFile:
        """The file, created where it is missing."""
        await self.begin(None)
        file = self._files.get(name)
        if file is None:
            await self.take_effect(None, "create", name)
            file = self._files.setdefault(name, SimulatedFile(name, self))
            await self.took_effect()
        return file

    def names(self) -> tuple[str, ...]:
        """The files there are, sorted."""
        return tuple(sorted(self._files))

    async def delete(self, name: str) -> None:
        """Removes a file."""
        await self.begin(None)
        if name in self._files:
            await self.take_effect(None, "delete", name)
            file = self._files.pop(name, None)
            if file is not None:
                file.gone = True
            await self.took_effect()

    async def replace(self, name: str, data: bytes) -> None:
        """Writes a whole file in place of an older one. DiskFull: the older one is there."""
        await self.begin(None)
        if self.is_full(len(data)):
            raise DiskFull(f"{name}: no room on {self.node}/{self.device}")
        await self.take_effect(None, "replace", name, len(data))
        file = SimulatedFile(name, self)
        file.content += data
        file.durable_bytes = len(data)
        if name in self._files:
            self._files[name].gone = True
        self._files[name] = file
        await self.took_effect()

    def free_bytes(self) -> int:
        """Room left."""
        return max(0, self.faults.capacity_bytes - sum(len(file.content) for file in self._files.values()))

    # ------------------------------------------------------------------------------------------------ faults

    def set_faults(self, faults: DiskFaults) -> None:
        """Changes what the device does from now on."""
        self.faults = faults

    def fill(self) -> None:
        """Lets no byte fit any more, until ``set_faults`` or ``make_room``."""
        used = sum(len(file.content) for file in self._files.values())
        self.faults = replace(self.faults, capacity_bytes=min(used, self.faults.capacity_bytes))

    def make_room(self, capacity_bytes: int = 1 << 40) -> None:
        """Lets bytes fit again."""
        self.faults = replace(self.faults, capacity_bytes=capacity_bytes)

    def calm(self) -> None:
        """Lets nothing go wrong or take long from now on; what is bad stays bad."""
        self.slow, self.faults = False, self.faults.calm()
        self._busy_until_ns = 0

    def slow_down(self, extra_ns: int, for_ns: int) -> None:
        """Adds a time to every operation for a while: a slow spindle (2.3 s at the worst, SOSP 2011, 4.2)."""
        self.slow, self._extra_ns, self._slow_until_ns = True, extra_ns, self.host.now_ns() + for_ns

    def fail(self) -> None:
        """Loses the device: every operation fails until ``change``."""
        self.failed = True

    def change(self) -> None:
        """Puts an empty device in its place."""
        for file in self._files.values():
            file.gone = True
        self.failed, self._files = False, {}

    def files(self) -> tuple[SimulatedFile, ...]:
        """The files, by name."""
        return tuple(self._files[name] for name in sorted(self._files))

    def may_damage(self, name: str, start: int, end: int) -> bool:
        """Asks the atlas."""
        atlas = self.host.atlas
        return atlas is not None and atlas.may_damage(self.node, self.device, name, start, end)

    def power_off(self, tear: str) -> None:
        """What a crash leaves of every file."""
        chance = self.host.random(f"crash {self.node}/{self.device}")
        for file in self.files():
            file.power_off(chance, tear)
        self._busy_until_ns = 0

    # ------------------------------------------------------------------------------------------------ one operation

    async def begin(self, file: SimulatedFile | None, reading: bool = False, writing: bool = False) -> None:
        """Refuses what a dead task, a lost device or a file that is gone asks, and writes after a failed sync."""
        await self.host.alive(self.node)
        if writing and file is not None and file.sync_failed:
            raise DiskError(f"{file.name}: a sync failed before")
        if self.failed or (file is not None and file.gone):
            what = f"{self.node}/{self.device} is lost" if self.failed else f"{file and file.name} is gone"
            raise ReadFailed(what) if reading else DiskError(what)

    def is_full(self, more: int) -> bool:
        """Whether so many bytes more do not fit."""
        if self.faults.full_per_million and happens(self.chance, self.faults.full_per_million):
            return True
        return self.faults.capacity_bytes < 1 << 40 and self.free_bytes() < more

    async def take_effect(self, file: SimulatedFile | None, kind: str, name: str, length: int = 0) -> None:
        """All of an operation but its effect, which follows without a wait; then ``took_effect``."""
        await self.begin(file)
        if self.slow or self.faults.timed:
            await self.serve(length)
            await self.begin(file)
        self._point = self.host.durable_write(self.node, self.device, kind, name)
        if self._point is not None and self._point.tear not in ("kept", "checksum"):
            await self.host.crash_here(self.node, self._point)

    async def took_effect(self) -> None:
        """Comes after the effect: a crash point that keeps what was written comes here."""
        if self._point is not None:
            await self.host.crash_here(self.node, self._point)

    _point: CrashPoint | None = None

    async def serve(self, length: int) -> None:
        """Waits for the device: one operation after the other, as they came."""
        now = self.host.now_ns()
        faults = self.faults
        took = draw_ns(self.chance, faults.latency_ns_min, faults.latency_ns_mean) if faults.timed else 0
        took += faults.ns_per_kib * length >> 10
        if self.slow:
            if now < self._slow_until_ns:
                took += self._extra_ns
            else:
                self.slow = False
        self._busy_until_ns = max(self._busy_until_ns, now) + took
        if self._busy_until_ns > now:
            await self.host.sleep(self._busy_until_ns - now)
