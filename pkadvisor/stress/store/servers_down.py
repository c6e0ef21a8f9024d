"""A load on the embedded engine while servers of it stop and come back.

Where a server is down, operations wait until another one serves their range, and others go on meanwhile. So each
operation is a task of the simulated world here, where without faults one comes after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.stress.load.faults import ServerDown
from pkadvisor.stress.store.store_requests import Due, StoreRequests

Arrivals = Iterator[tuple[int, int, int, int]]


class Sending(Protocol):
    """A run of requests: ``driver.StoreRun``."""

    requests: StoreRequests

    async def attempt_beside_others(self, due: Due, at_ns: int, store: EmbeddedStore) -> None:
        """Sends what was taken at a moment, while other operations wait for a server."""


def drive_with_faults(
    run: Sending, store: EmbeddedStore, arrivals: Arrivals, begin_ns: int, faults: Sequence[ServerDown]
) -> None:
    """Until all that arrives is served or lost and every server is back that comes back."""
    drive = _Drive(run, store, begin_ns)
    store.run_all([drive.arriving(arrivals), *(drive.failing(fault) for fault in faults)])


class _Drive:
    def __init__(self, run: Sending, store: EmbeddedStore, begin_ns: int) -> None:
        assert isinstance(store.world, Simulator), "servers fail in virtual time"
        self._run, self._store, self._world, self._begin_ns = run, store, store.world, begin_ns
        self._under_way = 0

    async def arriving(self, arrivals: Arrivals) -> None:
        """Lets requests arrive, and waits for the last answer."""
        for number, at_ns, class_number, instance in arrivals:
            await self._until(at_ns)
            self._run.requests.arrive(number, at_ns, class_number, instance)
            self._send_all()
        while self._under_way:
            await self._world.sleep(SECOND)

    async def failing(self, fault: ServerDown) -> None:
        """Stops a server at its moment, and starts it when it comes back."""
        await self._until(fault.at_ns)
        self._world.crash(fault.server)
        if fault.back_ns is not None:
            await self._until(fault.back_ns)
            self._world.start(fault.server)

    @property
    def _now_ns(self) -> int:
        return round(self._store.now_ms() * MS) - self._begin_ns

    async def _until(self, at_ns: int) -> None:
        if at_ns > self._now_ns:
            await self._world.sleep(at_ns - self._now_ns)

    def _send_all(self) -> None:
        """Starts a task for everything that is due, now or later."""
        while self._run.requests.due_ns is not None:
            due = self._run.requests.take()
            self._under_way += 1
            self._world.spawn(self._send(due))

    async def _send(self, due: Due) -> None:
        await self._until(due.at_ns)
        await self._run.attempt_beside_others(due, self._now_ns, self._store)
        self._under_way -= 1
        self._send_all()
