"""The embedded engine as a :class:`~pkadvisor.table.store.TableStore`, on real files or in virtual time.

    entity = Entity(Key("customer 7", "order 1"), {"total": Property(EdmType.INT64, 250)})

    with open_directory("shop.engine") as store:                     # one replica, every write synced
        store.execute(CreateTable("orders"))                         # 409 where it is there; an outcome, no exception
        (etag,) = store.execute(Insert("orders", entity)).etags
        store.execute(Merge("orders", changed, if_match=etag))       # 412 where somebody was faster
        query = Query("orders", "PartitionKey eq 'customer 7' and total ge 100L")
        while True:                                                  # a page may be empty and still go on
            page = store.execute(query)
            ...                                                      # page.ok, page.entities
            if not page.continuation:
                break
            query = replace(query, continuation=page.continuation)   # dataclasses.replace

    with open_virtual(seed=7, limits=default_limits()) as store:     # simulated, with targets, queues and 503
        store.execute(CreateTable("orders"))
        outcome = store.execute(Get("orders", key), at_ms=1_500)

Operations, entities and outcomes are those of ``pkadvisor.table.store``, types those of ``pkadvisor.table.edm``.

``execute`` is one operation after the other, each at its own moment: an *open loop*. Many under way at once are
coroutines that await ``perform``, and ``run_all`` runs them beside each other::

    async def client(number: int) -> None:                           # a closed loop: the next comes after the answer
        for operation in operations(number):
            outcome = await store.perform(operation)
            await store.sleep_ms(think_ms)

    store.run_all(client(number) for number in range(64))
    outcomes = store.perform_all(inserts)                            # all arrive now; the log takes them in groups

On files those that are under way together share appends and syncs (*group commit*): 256 inserts cost a few syncs, not
256. In virtual time ``perform`` returns when the answer would have come, queues included.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from msgspec.structs import force_setattr

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.partition.range_partition import Statistics, total
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableLimits
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Task
from pkadvisor.table.store import Operation, Outcome

T = TypeVar("T")
MS = 1_000_000


class EmbeddedStore:
    """A table store in this process, of one account. ``at_ms`` counts from its making; real time goes its own way.

    ``latency_ns`` of an outcome is the world's time from arrival to answer, plus what servers counted for queues and
    service without waiting. What goes wrong inside is an outcome of 500 or 503, never an exception. One thread uses it;
    while that does not, a thread of the store does what is due on files.

    ValueError: it, or the store of another account on the same stamp, has been closed.
    """

    def __init__(
        self,
        world: Machine | Simulator,
        service: TableService,
        node: str = "front-end-0",
        stamp: Stamp | None = None,
        table_limits: TableLimits = PUBLISHED,
    ) -> None:
        self.world = world
        self.service = service
        self.stamp = stamp
        """The stamp under it, for orders (split, merge, move), its map and its checks."""
        self._node = node
        self._limits = table_limits
        self._began_ns = world.now_ns()
        self._virtual = world if isinstance(world, Simulator) else None

    def __enter__(self) -> EmbeddedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the world under it, for all accounts: files are given back. What was acknowledged is on disk already."""
        self.world.close()

    @property
    def capacity(self) -> Capacity | None:
        """What judges requests; None where nothing does."""
        return None if self.stamp is None else self.stamp.capacity

    def of_account(self, account: str) -> EmbeddedStore:
        """A store of another account on the same stamp, in the same time; one for each account."""
        assert self.stamp is not None, "only a store on a stamp has neighbours"
        service = TableService(self.stamp.front_end(), account, limits=self._limits, sole=True)
        other = EmbeddedStore(self.world, service, self._node, self.stamp, self._limits)
        other._began_ns = self._began_ns
        return other

    # ------------------------------------------------------------------------------------------ one at a time

    def execute(self, operation: Operation, at_ms: float = 0.0) -> Outcome:
        """The operation arrives at ``at_ms``, or when the one before has ended; what came of it.

        On files it arrives now, whatever ``at_ms`` is. In virtual time the operation before has ended when servers have
        counted its time: they do not wait for it, so that arrivals overlap as they do in truth.
        """
        world, service = self.world, self.service
        if self._virtual is not None:
            self._virtual.run_until(self._began_ns + round(at_ms * MS))
        start_ns = world.now_ns()
        outcome = world.run(service.execute(operation), self._node)
        waited_ns = world.now_ns() - start_ns
        if service.tables.clearing:
            world.run(service.maintain(), self._node)
        return _later(outcome, outcome.latency_ns + waited_ns) if waited_ns else outcome

    # ------------------------------------------------------------------------------------------ many at once

    async def perform(self, operation: Operation) -> Outcome:
        """The operation arrives now; returns when its answer would have come. Only within :meth:`run_all`."""
        world, service = self.world, self.service
        start_ns = world.now_ns()
        outcome = await service.execute(operation)
        if self._virtual is not None and outcome.latency_ns:
            await world.sleep(outcome.latency_ns)
            counted_ns = 0
        else:
            counted_ns = outcome.latency_ns
        latency_ns = world.now_ns() - start_ns + counted_ns
        if service.tables.clearing:
            await service.maintain()
        return _later(outcome, latency_ns)

    async def carry_out(self, operation: Operation) -> Outcome:
        """As :meth:`perform`, but returns as soon as it is carried out: the time that servers counted is to come."""
        start_ns = self.world.now_ns()
        outcome = await self.service.execute(operation)
        return _later(outcome, outcome.latency_ns + self.world.now_ns() - start_ns)

    async def sleep_ms(self, duration_ms: float) -> None:
        """Waits, in the time of the world. Only within :meth:`run_all`."""
        await self.world.sleep(round(duration_ms * MS))

    def now_ms(self) -> float:
        """Time since the store was made."""
        return (self.world.now_ns() - self._began_ns) / MS

    def run_all(self, coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Runs clients beside each other to their ends, and the world with them; what they return, in their order.

        What one of them raises is raised here, after all have ended.
        """
        world, node = self.world, self._node

        async def everybody() -> list[Task[T]]:
            tasks = [world.spawn(coroutine, node) for coroutine in coroutines]
            for task in tasks:
                task.when_done(_nothing)
            for task in tasks:
                if not task.done:
                    await _ended(task)
            return tasks

        return [task.result() for task in world.run(everybody(), node)]

    def perform_all(self, operations: Iterable[Operation]) -> list[Outcome]:
        """All arrive now and are under way at once; their outcomes in the order given."""
        return self.run_all([self.perform(operation) for operation in operations])

    def statistics(self) -> Statistics:
        """What it holds and does, for all accounts: rows, bytes, ranges, cache, files, journals."""
        return self.world.run(self._statistics(), self._node)

    async def _statistics(self) -> Statistics:
        assert self.stamp is not None, "only a store on a stamp has files"
        lengths = self.world.lengths()
        journals = sum(length for name, length in lengths.items() if "/journal/" in name)
        own = Statistics(files=len(lengths), file_bytes=sum(lengths.values()), journal_bytes=journals)
        return total([own, self.stamp.statistics()])

    def check(self) -> None:
        """Asserts what must hold of the stamp and everything in it; reads all of it."""
        self.service.check()
        if self.stamp is not None:
            self.world.run(self.stamp.check_all(), self._node)


async def _ended(task: Task[Any]) -> None:
    try:
        await task
    except Exception:  # it is raised where the result is asked for
        return


def _nothing() -> None:
    """Waits for nothing."""


def _later(outcome: Outcome, latency_ns: int) -> Outcome:
    """The outcome with another latency. It is new, nobody else has seen it, and a second one would cost as much."""
    force_setattr(outcome, "latency_ns", latency_ns)
    return outcome
