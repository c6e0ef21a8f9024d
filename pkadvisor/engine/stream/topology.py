"""A stream layer in a world: one manager node and extent nodes in fault and upgrade domains."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.engine.stream.background import Background
from pkadvisor.engine.stream.caretaker import Caretaker
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.manager import NodeInfo, StreamManager
from pkadvisor.engine.stream.nodes.extent_node import ExtentNode
from pkadvisor.engine.worlds.world import DiskError, World
from pkadvisor.values import dataclass

T = TypeVar("T")
STARTS = 5
START_PAUSE_NS = 200 * MS


@dataclass(slots=True)
class StreamLayer:
    """The nodes of a stream layer; ``extent_nodes`` and ``manager`` are the objects of the present life, for checks."""

    world: World
    options: EngineOptions
    manager_name: str
    nodes: tuple[NodeInfo, ...]
    manager: StreamManager | None
    extent_nodes: dict[str, ExtentNode]
    caretaker: Caretaker | None = None

    async def start(self) -> None:
        """Starts every node, and returns when all of them serve."""
        for name in (*[node.name for node in self.nodes], self.manager_name):
            await self.world.start(name)

    def client(self, node: str) -> StreamClient:
        """Streams as a node sees them."""
        return StreamClient(self.world, node, self.manager_name, self.options)

    def check(self) -> None:
        """Checks every structure of the present life."""
        if self.manager is not None:
            self.manager.check()
        if self.caretaker is not None:
            self.caretaker.check()
        for node in self.extent_nodes.values():
            node.check()


def lay_out(
    world: World,
    options: EngineOptions,
    *,
    count: int = 3,
    fault_domains: int | None = None,
    upgrade_domains: int | None = None,
    manager: str = "manager",
    poll: bool = True,
) -> StreamLayer:
    """Adds the nodes to a world; ``await layer.start()`` starts them.

    Node i stands in fault domain i modulo ``fault_domains`` and upgrade domain i modulo ``upgrade_domains`` (as many as
    nodes where not said). Without ``poll`` nobody brings back who was away, until ``manager.poll`` is called.
    """
    nodes = tuple(
        NodeInfo(f"extent-node-{number}", number % (fault_domains or count), number % (upgrade_domains or count))
        for number in range(count)
    )
    layer = StreamLayer(world, options, manager, nodes, None, {})

    async def again(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A start that a device refuses is tried again, a few times."""
        for _ in range(STARTS - 1):
            try:
                return await start()
            except DiskError as error:
                world.event("start refused by a device", repr(error))
                await world.sleep(START_PAUSE_NS)
        return await start()

    async def boot_manager() -> None:
        layer.manager = await again(lambda: StreamManager.boot(world, manager, nodes, options))
        if poll:
            world.spawn(layer.manager.poll_for_ever(), manager)
        layer.caretaker = await Caretaker.boot(world, layer.manager, options, for_ever=poll)

    def add(name: str) -> None:
        async def boot() -> None:
            layer.extent_nodes[name] = node = await again(lambda: ExtentNode.boot(world, name, options))
            await Background.boot(world, node, options, for_ever=poll)

        world.add_node(name, boot)

    for node in nodes:
        add(node.name)
    world.add_node(manager, boot_manager)
    return layer
