"""A front end: knows from its copy of the map which server serves a key, and asks it (SOSP 2011, 5.2).

look up ──► call the server ──► answer
   ▲            │ NotServing: nothing was carried out        │ no answer in time
   └─ newer map ┘ (waits a little where there is none)       ▼
                                         a read is tried again; a write is uncertain: Unreachable

A write that reaches a later life of its server than the map knows of is uncertain too [H]: a copy of it may have
reached the earlier one. So the first write of a front end after a server began anew may be answered 500.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import NotServing
from pkadvisor.engine.partition.partition_map import PartitionMap, RangeEntry, RangeRoutes
from pkadvisor.engine.partition.server_messages import MAP_SERVICE, SERVICE
from pkadvisor.engine.tables.table_messages import Answer, Request
from pkadvisor.engine.tables.table_requests import is_write
from pkadvisor.engine.worlds.world import EngineError, Unreachable, World


class FrontEnd:
    """Routes requests to the servers of their ranges; keeps nothing that it could not do without."""

    def __init__(self, world: World, node: str, managers: tuple[str, ...], options: EngineOptions) -> None:
        self._world, self._node, self._managers, self._options = world, node, managers, options
        self._routes: RangeRoutes | None = None
        # Its name, when it started, and chance: never that of another front end, nor of its own earlier life.
        self._sender = f"{node}/{world.ticks(node)}/{world.random(f'session/{node}').getrandbits(32)}"
        self._count = 0
        self._suspect = False
        """Whether a server was silent: then the map is asked for before the next request."""

    async def send(self, key: bytes, request: Request) -> Answer:
        """The answer of the range that holds ``key``; its ``low`` and ``high`` are the range's.

        Unreachable: no answer within the request's time; a write may have been carried out. NotServing: the time passed
        and it surely was not.
        """
        routes = self._routes
        if routes is not None and not self._suspect:
            entry = routes.find(key)
            if entry.server:
                try:
                    return await self._ask(entry, request)
                except EngineError as error:
                    self._uncertain(request, error)
        return await self._retry(key, request)

    def _ask(self, entry: RangeEntry, request: Request) -> Coroutine[Any, Any, Answer]:
        """Sends a message of its own number to the server of a range."""
        self._count += 1
        return self._world.call(
            self._node,
            entry.server,
            SERVICE,
            "handle",
            entry.number,
            entry.epoch,
            entry.session,
            self._sender,
            self._count,
            request,
        )

    def _uncertain(self, request: Request, error: EngineError) -> None:
        """Passes where the request may be sent again; raises Unreachable where it may have been carried out."""
        self._suspect = self._suspect or isinstance(error, Unreachable)
        if isinstance(error, NotServing) or not is_write(request):
            return
        self._world.event("write uncertain", type(error).__name__)
        raise Unreachable(f"the write may have been carried out: {error}") from error

    async def _retry(self, key: bytes, request: Request) -> Answer:
        world, node = self._world, self._node
        ends_ns = world.clock_ns(node) + self._options.operation_timeout_ns
        last: EngineError = NotServing("no map yet")
        first = True
        while world.clock_ns(node) < ends_ns:
            self._suspect = False
            if not await self._refresh() and not first:
                await world.sleep(self._options.route_retry_ns)
            first = False
            if self._routes is None:
                continue
            entry = self._routes.find(key)
            if not entry.server:
                continue
            try:
                return await self._ask(entry, request)
            except EngineError as error:
                self._uncertain(request, error)
                last = error
        world.event("request out of time", type(last).__name__)
        if isinstance(last, NotServing):
            raise last
        raise Unreachable(f"no server answered: {last}") from last

    async def _refresh(self) -> bool:
        """Whether a newer map came from the manager that leads."""
        known = 0 if self._routes is None else self._routes.map.version
        for manager in self._managers:
            try:
                partition_map: PartitionMap | None = await self._world.call(
                    self._node, manager, MAP_SERVICE, "map", known
                )
            except EngineError:
                continue
            # who answered is asked first the next time: a silent one costs a time-out
            self._managers = (manager, *(other for other in self._managers if other != manager))
            if partition_map is None or partition_map.version <= known:
                return False
            self._routes = RangeRoutes(partition_map)
            self._world.event("map refreshed", self._node, partition_map.version)
            return True
        return False

    @property
    def routes(self) -> RangeRoutes | None:
        """Its copy of the map."""
        return self._routes
