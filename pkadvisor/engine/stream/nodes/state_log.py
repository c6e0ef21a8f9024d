"""A state and the log of what changed it, in one file: each command is durable before it is true.

    whole ──commands──► long, or refused by the device ──state written anew, in one piece──► whole

A write that failed may be there or not. The state that is written anew before the next one lacks it, so it is not:
whoever asked was told an error and asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pkadvisor.engine.stream.nodes.record_file import RecordFile
from pkadvisor.engine.stream.records import Recovered, frame
from pkadvisor.engine.worlds.locks import Lock
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import Disk, DiskError, World


class StateLog:
    """The log of one state. ``snapshot`` gives the records that make the present state from nothing.

    ``copied``: it is kept twice, so that damage of one copy loses nothing (of a state of which there is no other).
    """

    def __init__(
        self,
        world: World,
        node: str,
        disk: Disk,
        name: str,
        snapshot: Callable[[], Iterable[bytes]],
        compact_bytes: int,
        copied: bool = False,
    ) -> None:
        self._world = world
        self._node = node
        self._disk = disk
        self._name = name
        self._copy_name = f"{name}.copy" if copied else ""
        self._snapshot = snapshot
        self._compact_bytes = compact_bytes
        self._limit = compact_bytes
        self._renewing = Lock()
        self._under_way = 0
        self._quiet: list[Future[None]] = []
        self._file: RecordFile

    async def open(self) -> Recovered:
        """What the file holds; ``renew`` it where it is ``uneven``, before anybody is told of it."""
        self._file, recovered = await RecordFile.open(self._world, self._node, self._disk, self._name, self._copy_name)
        self._limit = max(self._limit, 2 * self._file.size())
        return recovered

    async def commit(self, body: bytes, apply: Callable[[], None]) -> None:
        """Makes a record durable, then applies it. After a DiskError it is not true, but may be after a crash."""
        if not self._renewing.free or self._file.broken:
            async with self._renewing:
                if self._file.broken:
                    await self.renew()
        self._under_way += 1
        try:
            await self._file.append(body)
            apply()
        finally:
            self._under_way -= 1
            if not self._under_way and self._quiet:
                quiet, self._quiet = self._quiet, []
                for future in quiet:
                    future.resolve(None)
        if self._file.size() > self._limit and self._renewing.free:
            async with self._renewing:
                try:
                    await self.renew()
                except DiskError as error:
                    self._world.event("state not written anew", self._node, repr(error))
                    self._limit *= 2

    async def renew(self) -> None:
        """Writes the state anew, when what is under way has ended; nothing else is let in meanwhile."""
        while self._under_way:
            future: Future[None] = Future()
            self._quiet.append(future)
            await future
        self._world.event("state written anew", self._node, self._name)
        number = self._file.writes if self._copy_name else 0  # of two copies the later one is known by its numbers
        frames = [frame(body, number := number + 1) for body in self._snapshot()]
        whole = b"".join(frames)
        self._file.broken = True  # until the new one is there
        await self._disk.replace(self._name, whole)
        copy = None
        if self._copy_name:
            await self._disk.replace(self._copy_name, whole)
            copy = await self._disk.open(self._copy_name)
        self._file = RecordFile(self._world, self._node, await self._disk.open(self._name), number, copy)
        self._limit = max(self._compact_bytes, 4 * len(whole))
