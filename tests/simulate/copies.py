"""Whether every extent that a stream holds has all its good copies again, read from the devices (S8)."""

from __future__ import annotations

from typing import Any

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.stream.directory import ExtentInfo
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError

WHOLE_NS = 120 * SECOND
"""By when all copies must be good: two scrub periods of the slowest swarm, and as many turns as repair may need."""


async def until_copies_are_good(world: Simulator, stamp: Stamp) -> None:
    """AssertionError where a copy is still missing or damaged when the time is over."""
    until = world.now_ns() + WHOLE_NS
    while lacking := await _lacking(world, stamp):
        assert world.now_ns() < until, f"S8: copies are still missing or damaged: {lacking}"
        await world.sleep(stamp.options.poll_period_ns)
    world.event("all copies are good")


async def _lacking(world: Simulator, stamp: Stamp) -> list[tuple[int, str]]:
    """Extents, and nodes of copies that are not good."""
    manager = stamp.streams.manager
    if manager is None:
        return [(0, stamp.streams.manager_name)]
    return [
        (extent, node)
        for extent, info in list(manager.directory.extents.items())
        if info.references
        for node in info.replicas
        if not await _good(world, node, extent, info)
    ]


async def _good(world: Simulator, node: str, extent: int, info: ExtentInfo) -> bool:
    async def ask(service: str, method: str, what: Any) -> Any:
        return await world.call("judge", node, service, method, what)

    try:
        length = await ask("extents", "commit_length", extent)
        return info.sealed is None or (length == info.sealed and bool(await ask("scrub", "verify", extent)))
    except EngineError:
        return False
