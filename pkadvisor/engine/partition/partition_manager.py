"""The partition manager: who serves which range, and what is split, merged and moved (SOSP 2011, 5.2 and 5.5).

Several may run; the one with the leader lock leads. It keeps nothing but the map (``partition_map``): a new leader
reads it, asks the servers what they serve, and goes on. Servers serve on while nobody leads.

    standby ──leader lock──► leading ──lease over, or the map cannot be written──► standby

With every heartbeat it mends: a range whose server lost its session, or does not serve it, gets a new epoch and is
loaded, on the same server if it lives, else on the one with the fewest ranges. With every pass (15 s) it balances.

A split or merge is made known in the map before it is begun (``pending``) and ends with a change of the map:

    map: B ──pending──► server splits: MultiModify is the commit point ──► map: C, D
                           │ server or leader lost
                           ▼
       load B at a later epoch: it is there ──► it never happened, pending ends
                                RangeMissing ──► load C and D, map: C, D
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import NotLeader
from pkadvisor.engine.partition.balancer import Action, Balancer, Policy
from pkadvisor.engine.partition.leadership import LeaderTerm
from pkadvisor.engine.partition.lock_service import Lease, LockService
from pkadvisor.engine.partition.partition_map import MapStore, PartitionMap
from pkadvisor.engine.partition.server_messages import MAP_SERVICE
from pkadvisor.engine.stream.access import Streams
from pkadvisor.engine.worlds.world import EngineError, World

LEADER = "manager"


class PartitionManager:
    """A manager on its node, leading or not."""

    def __init__(
        self,
        world: World,
        node: str,
        locks: str,
        streams: Streams,
        options: EngineOptions,
        boundaries: tuple[bytes, ...] = (),
        policy: Callable[[EngineOptions], Policy] = Balancer,
        capacity: Capacity | None = None,
    ) -> None:
        self._policy, self._capacity = policy, capacity
        self._world, self._node, self._locks, self._streams, self._options = world, node, locks, streams, options
        self._boundaries = boundaries
        self._lease = Lease(world, node, locks, LEADER, options)
        self._term: LeaderTerm | None = None

    async def boot(self) -> None:
        """Offers the map, and goes for the leader lock."""
        self._world.register(self._node, MAP_SERVICE, self)
        self._world.spawn(self._live(), self._node)

    async def map(self, known: int) -> PartitionMap | None:
        """The map, or None where the asker's version is the latest; NotLeader."""
        term = self._term
        if term is None or not self._lease.held():
            raise NotLeader(self._node)
        partition_map = term.store.routes.map
        return None if partition_map.version == known else partition_map

    async def order(self, action: Action) -> bool:
        """Carries out an action that somebody other than the policy wants; whether it was. NotLeader."""
        term = self._term
        if term is None or not self._lease.held():
            raise NotLeader(self._node)
        return await term.act(action)

    @property
    def leads(self) -> bool:
        """Whether this manager leads now."""
        return self._term is not None and self._lease.held()

    def present_map(self) -> PartitionMap | None:
        """The map of this manager's leadership; None where it does not lead."""
        return self._term.store.routes.map if self._term is not None else None

    async def _live(self) -> None:
        while True:
            try:
                epoch = await self._lease.acquire()
                self._world.spawn(self._lease.keep(), self._node)
                store = await MapStore.open(self._streams, epoch, self._options, self._boundaries)
                self._world.event("leader elected", self._node, epoch)
                self._term = LeaderTerm(
                    self._world,
                    self._node,
                    self._locks,
                    self._lease,
                    store,
                    self._options,
                    self._policy(self._options),
                    self._capacity,
                )
                await self._term.lead()
            except EngineError as error:
                self._world.event("not leading", self._node, type(error).__name__)
            if self._term is not None:
                self._term.end()
            self._term = None
            await self._lease.give_back()  # what the ended term still has under way must not pass for the next one's
            await self._world.sleep(self._options.heartbeat_ns)

    def check(self, locks: LockService | None) -> None:
        """The lease, and where it leads the map and what it remembers beside it."""
        self._lease.check(locks)
        if self._term is not None:
            self._term.check()
