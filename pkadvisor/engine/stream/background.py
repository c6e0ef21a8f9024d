"""What an extent node does beside appends and reads: keeps fragments, codes, scrubs, and tells how its copies are."""

from __future__ import annotations

from typing import NamedTuple

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.coding import Coordinator
from pkadvisor.engine.stream.nodes.extent_node import ExtentNode
from pkadvisor.engine.stream.nodes.fragments import FragmentKey, FragmentStore
from pkadvisor.engine.stream.nodes.scrub import Scrubber
from pkadvisor.engine.worlds.world import World

DEVICE = "data"


class Report(NamedTuple):
    """How the copies of a node are: (extent, durable bytes, sealed, made), which are damaged; fragments the same."""

    replicas: tuple[tuple[int, int, bool, int], ...]
    damaged: tuple[int, ...]
    fragments: tuple[tuple[FragmentKey, int], ...]
    damaged_fragments: tuple[FragmentKey, ...]
    free_bytes: int


class Background:
    """The service ``background`` of an extent node."""

    def __init__(self, node: ExtentNode, fragments: FragmentStore) -> None:
        self._node, self._fragments = node, fragments

    @classmethod
    async def boot(cls, world: World, node: ExtentNode, options: EngineOptions, *, for_ever: bool) -> Background:
        """Offers ``fragments``, ``coordinator``, ``scrub`` and ``background``; scrubs for ever where told."""
        name = node.name
        disk = world.disk(name, DEVICE)
        fragments = FragmentStore(world, name, disk, node.device)
        await fragments.recover()

        async def read_copy(source: str, extent: int, offset: int, length: int) -> bytes:
            data: bytes = await world.call(name, source, "extents", "read_bytes", extent, offset, length, True)
            return data

        scrubber = Scrubber(world, node, fragments, disk, options)
        background = cls(node, fragments)
        world.register(name, "fragments", fragments)
        world.register(name, "coordinator", Coordinator(world, name, read_copy))
        world.register(name, "scrub", scrubber)
        world.register(name, "background", background)
        if for_ever:
            world.spawn(scrubber.run(), name)
        return background

    def check(self) -> None:
        """AssertionError where the fragments are not as they must be. A coordinator and a scrubber remember nothing."""
        self._fragments.check()

    async def report(self) -> Report:
        """How the copies are."""
        return Report(
            await self._node.inventory(),
            tuple(sorted(self._node.damaged)),
            await self._fragments.held(),
            await self._fragments.damaged(),
            await self._node.room(),
        )
