"""Clients in a closed loop on the engine with its rows, and on its capacity alone: the same counts."""

from __future__ import annotations

import itertools

import pytest

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_virtual
from pkadvisor.limits import Limits
from pkadvisor.stress.simulate.clients import Clients, run_clients
from pkadvisor.table.store import (
    CreateTable,
    Entity,
    EntityKey,
    Group,
    InsertOrReplace,
    Operation,
    Outcome,
)
from tests.stress.small import MS, NEVER_AGAIN, SECOND, Waits, fixed, limits, one_class, script, space, write

KEY = EntityKey("000000", "row")
ROW = InsertOrReplace("rows", Entity(KEY, {}))


class OnEngine:
    """Clients as coroutines in the engine's own time; what they count of their answers."""

    def __init__(self, store: EmbeddedStore, seconds: int, think_ns: int, again_ns: int = 0) -> None:
        self.store, self.think_ns, self.again_ns = store, think_ns, again_ns
        self.accepted = self.refused = self.conflicts = self.served = 0
        assert store.execute(CreateTable("rows")).status == 204
        assert store.execute(ROW).ok
        self.ends_ms = store.now_ms() + 1000 * seconds

    async def send(self, operation: Operation) -> Outcome:
        """Sends until it is accepted."""
        while True:
            outcome = await self.store.perform(operation)
            if outcome.status != 503:
                self.accepted += 1
                self.conflicts += outcome.status == 412
                return outcome
            self.refused += 1
            await self.store.sleep_ms(self.again_ns / MS)

    async def writing(self, rows: int) -> None:
        """Groups, one after the other."""
        writes = tuple(InsertOrReplace("rows", Entity(EntityKey("000000", str(row)), {})) for row in range(rows))
        await self.store.sleep_ms(self.think_ns / MS)
        while self.store.now_ms() < self.ends_ms:
            assert (await self.send(Group(writes) if rows > 1 else writes[0])).ok
            self.served += 1
            await self.store.sleep_ms(self.think_ns / MS)


@pytest.mark.parametrize(
    ("clients", "rows", "think_ns", "values"),
    [
        (12, 1, 5 * MS, limits()),
        (40, 20, 20 * MS, limits(burst_s=0.1)),
    ],
)
def test_closed_loops_agree_within_one_percent(clients: int, rows: int, think_ns: int, values: Limits) -> None:
    seconds, again_ns = 4, 40 * MS
    found = run_clients(
        Clients(clients, think_ns),
        itertools.repeat((0, 0)),
        one_class(space(1), [script([write(0, rows)])]),
        Capacity(values),
        fixed(0, 1),
        Waits((again_ns,) * 1000) if rows > 1 else NEVER_AGAIN,
        duration_ns=seconds * SECOND,
    ).classes["c"]
    with open_virtual(limits=values) as store:
        engine = OnEngine(store, seconds, think_ns, again_ns)
        store.run_all([engine.writing(rows) for _ in range(clients)])
        store.check()
    throttled = sum(found.throttled.values())
    assert engine.served == pytest.approx(found.served, rel=0.01)
    assert (throttled > 100) == (rows > 1)
    assert engine.refused == pytest.approx(throttled, rel=0.02)
