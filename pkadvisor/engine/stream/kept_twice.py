"""A small state in two files, each with a checksum: damage of one of them loses nothing."""

from __future__ import annotations

from pkadvisor.engine.stream.records import frame, parse, read_all
from pkadvisor.engine.worlds.world import Disk, World


class KeptTwice:
    """``name`` and ``name.copy`` on a device. Both are written each time, and numbered: the later one counts."""

    def __init__(self, world: World, disk: Disk, name: str) -> None:
        self._world, self._disk, self._names = world, disk, (name, f"{name}.copy")
        self._writes = 0
        self.damaged = False
        """Whether files are there, and ``read`` could make out none of them."""

    async def read(self) -> bytes | None:
        """What was written last; None where nothing is there that can be read."""
        names = [name for name in self._names if name in self._disk.names()]
        latest = None
        for name in names:
            found = parse(*await read_all(self._world, await self._disk.open(name)))
            if found.bodies and (latest is None or found.writes > self._writes):
                latest, self._writes = found.bodies[0], found.writes
        self.damaged = bool(names) and latest is None
        return latest

    async def write(self, body: bytes) -> None:
        """Replaces both, each at once and as a whole."""
        self._writes += 1  # of a write that failed too: its file may be there
        framed = frame(body, self._writes)
        for name in self._names:
            await self._disk.replace(name, framed)
