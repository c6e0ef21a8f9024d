"""What an extent node does beside appends and reads: scrubs, and tells how its copies are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import NotThere
from pkadvisor.engine.stream.blocks import whole_appends
from pkadvisor.engine.stream.nodes.extent_node import SERVICE, ExtentNode
from pkadvisor.engine.stream.nodes.extent_store import Replica, file_name
from pkadvisor.engine.worlds.world import DataCorrupt, Disk, EngineError, ReadFailed, World

# ----------------------------------------------------------------------------------------------------------------------
# Scrub: every few days each sealed replica is read whole, and what does not match is made good.
#
#     sealed replica ──read, every checksum──► whole ──► the next one
#                              │ a block does not match
#                              ▼
#                           damaged ─► its appends that do not match come from other replicas ─► file replaced ──► whole
#                                                │ nobody has them: reported, and the file stays as it is
#
# Checksums are verified by every read, and every few days by a scrub (SOSP 2011, 4.1). What is mended is mended
# append by append: of three replicas each of which has a bad block somewhere else, all three come out whole.

PAUSE_NS = 1_000_000  # between pieces: others come first [H]


class Scrubber:
    """The service ``scrub`` of an extent node."""

    def __init__(self, world: World, node: ExtentNode, disk: Disk, options: EngineOptions) -> None:
        self._world, self._node, self._options = world, node, options
        self._data = disk

    async def run(self) -> None:
        """Reads everything once in each scrub period, evenly spread."""
        while True:
            names: list[int] = [extent for extent, replica in sorted(self._node.replicas.items()) if replica.sealed]
            pause = self._options.scrub_period_ns // (len(names) + 1)
            for extent in names:
                await self._world.sleep(pause)
                with suppress(NotThere):  # deleted meanwhile
                    await self.verify(extent)
            await self._world.sleep(pause)

    async def verify(self, extent: int) -> bool:
        """Reads a sealed replica whole; whether it is as it was written. NotThere: it is not here, or open."""
        replica = self._sealed(extent)
        whole = await self._first_bad(replica, 0) is None
        if not whole and extent not in self._node.damaged:
            self._world.event("corrupt replica", self._node.name, extent)
            self._node.damaged[extent] = None
        return whole

    async def damaged(self) -> tuple[int, ...]:
        """The replicas in which a read or the scrub found wrong bytes, in order."""
        return tuple(sorted(self._node.damaged))

    async def mend(self, extent: int, sources: Sequence[str]) -> None:
        """Makes a damaged sealed replica whole from others. DataCorrupt: some bytes are good nowhere; all stays."""
        replica = self._sealed(extent)
        length = replica.sealed or 0
        parts: list[bytes] = []
        position = 0
        async with replica.lock:
            if self._node.replicas.get(extent) is not replica:
                raise NotThere(f"extent {extent} was deleted")
            while (bad := await self._first_bad(replica, position)) is not None:
                if bad > position:
                    parts.append(await replica.bytes_at(position, bad - position))
                parts.append(await self._good_append(extent, bad, length, sources))
                position = bad + len(parts[-1])
            if parts:
                if position < length:
                    parts.append(await replica.bytes_at(position, length - position))
                replica.file = await self._node.device.replace(self._data, file_name(extent), b"".join(parts))
                self._world.event("replica mended", self._node.name, extent)
        self._node.damaged.pop(extent, None)

    def _sealed(self, extent: int) -> Replica:
        replica = self._node.replicas.get(extent)
        if replica is None or replica.sealed is None or replica.lost:
            raise NotThere(f"{self._node.name} has no sealed replica of extent {extent}")
        return replica

    async def _first_bad(self, replica: Replica, position: int) -> int | None:
        """Where the first append begins that is not whole; None where all are."""
        length = replica.sealed or 0
        while position < length:
            try:
                whole = await whole_appends(replica.extent, position, length, replica.bytes_at)
            except (NotThere, ReadFailed):
                return position
            if not whole:
                return position
            position += len(whole)
            if position < length:
                await self._world.sleep(PAUSE_NS)
        return None

    async def _good_append(self, extent: int, position: int, length: int, sources: Sequence[str]) -> bytes:
        """The appends from there on that some other replica has whole; at least one."""
        for source in sources:
            if source == self._node.name:
                continue

            async def read(offset: int, size: int, source: str = source) -> bytes:
                arguments = (extent, offset, size, True)
                data: bytes = await self._world.call(self._node.name, source, SERVICE, "read_bytes", *arguments)
                return data

            try:
                whole = await whole_appends(extent, position, length, read)
            except EngineError:
                continue
            if whole:
                return whole
        raise DataCorrupt(f"extent {extent}: no replica has what lies at {position}")


DEVICE = "data"


class Report(NamedTuple):
    """How the copies of a node are: (extent, durable bytes, sealed, made), and which are damaged."""

    replicas: tuple[tuple[int, int, bool, int], ...]
    damaged: tuple[int, ...]
    free_bytes: int


class Background:
    """The service ``background`` of an extent node."""

    def __init__(self, node: ExtentNode) -> None:
        self._node = node

    @classmethod
    async def boot(cls, world: World, node: ExtentNode, options: EngineOptions, *, for_ever: bool) -> Background:
        """Offers ``scrub`` and ``background``; scrubs for ever where told."""
        name = node.name
        scrubber = Scrubber(world, node, world.disk(name, DEVICE), options)
        background = cls(node)
        world.register(name, "scrub", scrubber)
        world.register(name, "background", background)
        if for_ever:
            world.spawn(scrubber.run(), name)
        return background

    async def report(self) -> Report:
        """How the copies are."""
        return Report(
            await self._node.inventory(),
            tuple(sorted(self._node.damaged)),
            await self._node.room(),
        )
