"""A whole stamp in a world: extent nodes, stream manager, lock service, partition servers, managers, front ends.

    stamp = Stamp(world, options, Layout(servers=2))
    world.run(stamp.start())
    answer = world.run(stamp.front_end().send(key, request))

In the paper a partition server and an extent node share a machine; here each is a node, so that each can fail alone.
The same stamp stands in a ``Simulator`` and in a ``Machine``.
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.engine.partition.balancer import Balancer, Policy
from pkadvisor.engine.partition.lock_service import LockService
from pkadvisor.engine.partition.partition_manager import PartitionManager
from pkadvisor.engine.partition.partition_map import FrontEnd, PartitionMap
from pkadvisor.engine.partition.partition_server import PartitionServer
from pkadvisor.engine.partition.range_partition import Statistics, total
from pkadvisor.engine.stream.topology import lay_out
from pkadvisor.engine.worlds.world import World
from pkadvisor.values import dataclass

LOCKS = "locks"


@dataclass(frozen=True, slots=True)
class Layout:
    """How many nodes of each kind; ``boundaries`` divide the key space of a new stamp into ranges."""

    extent_nodes: int = 3
    fault_domains: int | None = None
    servers: int = 1
    managers: int = 1
    front_ends: int = 1
    boundaries: tuple[bytes, ...] = ()

    def server_names(self) -> tuple[str, ...]:
        """The partition servers."""
        return tuple(f"server-{number}" for number in range(self.servers))

    def manager_names(self) -> tuple[str, ...]:
        """The partition managers."""
        return tuple(f"manager-{number}" for number in range(self.managers))

    def front_end_names(self) -> tuple[str, ...]:
        """The front ends."""
        return tuple(f"front-end-{number}" for number in range(self.front_ends))


class Stamp:
    """The nodes of a stamp; the dictionaries hold the objects of their present lives.

    ``capacity``, one object for the whole stamp, judges requests: 503, 500, latency. Without it nothing is throttled
    and nothing takes longer than the world does. Without ``background`` nobody mends, codes or scrubs what is stored.
    """

    def __init__(
        self,
        world: World,
        options: EngineOptions,
        layout: Layout | None = None,
        policy: Callable[[EngineOptions], Policy] = Balancer,
        capacity: Capacity | None = None,
        background: bool = True,
    ) -> None:
        self._policy, self._background = policy, background
        self.world, self.options, self.layout = world, options, layout or Layout()
        self.capacity = capacity
        self.streams = lay_out(
            world,
            options,
            count=self.layout.extent_nodes,
            fault_domains=self.layout.fault_domains,
            upgrade_domains=self.layout.fault_domains,
            manager="stream-manager",
            poll=background,
        )
        self.locks: LockService | None = None
        self.servers: dict[str, PartitionServer] = {}
        self.managers: dict[str, PartitionManager] = {}
        self.front_ends: dict[str, FrontEnd] = {}
        world.add_node(LOCKS, self._boot_locks)
        for name in self.layout.server_names():
            self._add_server(name)
        for name in self.layout.manager_names():
            self._add_manager(name)
        for name in self.layout.front_end_names():
            self._add_front_end(name)

    async def _boot_locks(self) -> None:
        locks = LockService(self.world, LOCKS, self.options)
        await locks.boot()
        self.locks = locks  # until then checkers see what the former life knew

    def _add_server(self, name: str) -> None:
        async def boot() -> None:
            streams = self.streams.client(name)
            server = PartitionServer(self.world, name, LOCKS, streams, self.options, self.capacity)
            self.servers[name] = server
            await server.boot()

        self.world.add_node(name, boot)

    def _add_manager(self, name: str) -> None:
        async def boot() -> None:
            streams, boundaries = self.streams.client(name), self.layout.boundaries
            manager = PartitionManager(
                self.world, name, LOCKS, streams, self.options, boundaries, self._policy, self.capacity
            )
            self.managers[name] = manager
            await manager.boot()

        self.world.add_node(name, boot)

    def _add_front_end(self, name: str) -> None:
        async def boot() -> None:
            self.front_ends[name] = FrontEnd(self.world, name, self.layout.manager_names(), self.options)

        self.world.add_node(name, boot)

    # ------------------------------------------------------------------------------------------ life

    async def start(self) -> None:
        """Starts every node, and returns when every range is served."""
        await self.streams.start()
        if not self._background and self.streams.manager is not None:
            await self.streams.manager.poll()  # what was sealed as its node crashed cannot be read before
        await self.world.start(LOCKS)
        for name in self.layout.server_names():
            await self.world.start(name)
        await self._until_leased()
        for name in (*self.layout.manager_names(), *self.layout.front_end_names()):
            await self.world.start(name)
        await self.until_settled()

    async def _until_leased(self) -> None:
        while not all(server.leased for server in self.servers.values()):
            await self.world.sleep(MS)

    async def until_settled(self) -> None:
        """Returns when somebody leads, every range is served by its owner, and no split or merge is under way."""
        while not self.settled():
            await self.world.sleep(max(MS, self.options.heartbeat_ns // 256))

    def settled(self) -> bool:
        """Whether somebody leads, every range is served by its owner, and no split or merge is under way."""
        partition_map = self.map()
        if partition_map is None or partition_map.pending:
            return False
        served = {(name, *each) for name, server in self.servers.items() for each in server.serves()}
        return all((entry.server, entry.number, entry.epoch) in served for entry in partition_map.entries)

    def map(self) -> PartitionMap | None:
        """The map of the manager that leads; None while nobody does."""
        for manager in self.managers.values():
            if manager.leads:
                return manager.present_map()
        return None

    def leader(self) -> PartitionManager | None:
        """The manager that leads."""
        return next((manager for manager in self.managers.values() if manager.leads), None)

    def front_end(self, number: int = 0) -> FrontEnd:
        """A front end, through which requests go."""
        return self.front_ends[f"front-end-{number}"]

    def statistics(self) -> Statistics:
        """What all servers hold."""
        return total([Statistics(), *(server.statistics() for server in self.servers.values())])

    # ------------------------------------------------------------------------------------------ checks

    def check(self) -> None:
        """What must hold at every instant: P1 of every map, P2 between all servers, and each structure's own."""
        self.streams.check()
        if self.capacity is not None:
            self.capacity.check()
        if self.locks is not None:
            self.locks.check()
        for manager in self.managers.values():
            manager.check(self.locks)
        for front_end in self.front_ends.values():
            if front_end.routes is not None:
                front_end.routes.check()
        owners: dict[int, str] = {}
        for name, server in self.servers.items():
            server.check_now(self.locks)
            for number, _ in server.serves():
                assert number not in owners, f"range {number} is served by {owners[number]} and by {name} (P2)"
                owners[number] = name

    async def check_all(self) -> None:
        """``check``, and whatever takes reading: for quiet moments."""
        self.check()
        for server in self.servers.values():
            await server.check()
