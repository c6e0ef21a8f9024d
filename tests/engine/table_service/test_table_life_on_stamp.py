"""A table deleted and made again while clients write and ranges come and go: nothing old is seen, nothing is lost."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import NamedTuple

import pytest

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.faults import NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.store import (
    CreateTable,
    DeleteTable,
    Entity,
    EntityKey,
    Group,
    Insert,
    InsertOrReplace,
    Operation,
    Outcome,
    Query,
)
from tests.engine.stamp.stamps import built
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, entity
from tests.engine.table_service.test_on_stamp import CALM, ROUGH, boundary
from tests.engine.worlds import simulated

SLOW = NetworkFaults(delay_ns_min=MS // 10, delay_ns_mean=20 * MS)
"""Writes are under way for so long that some come when their table and its rows are gone."""
GONE = ("TableNotFound", "TableBeingDeleted")


class Written(NamedTuple):
    """A write: when it was called and answered, and whether it was acknowledged."""

    called_ns: int
    returned_ns: int
    ok: bool


class Life:
    """One table, its clients, and what they were told; values are numbers of their own."""

    def __init__(self, world: Simulator, stamp: Stamp) -> None:
        self.world, self.stamp = world, stamp
        self.doors = [TableService(stamp.front_end(i), ACCOUNT, limits=NO_WAIT, ids=count(i + 1, 2)) for i in range(2)]
        self.written: dict[int, Written] = {}
        self.over = False
        self.judged = 0

    async def until_ok(self, door: int, operation: Operation, *enough: str) -> Outcome:
        for _ in range(100):
            outcome = await self.doors[door].execute(operation)
            if outcome.ok or outcome.code in enough:
                return outcome
            await self.world.sleep(20 * MS)
        raise AssertionError(f"{operation}: {outcome}")

    async def write(self, number: int) -> None:
        world, chance, door = self.world, self.world.random(f"writer/{number}"), self.doors[number % 2]
        while not self.over:
            value = len(self.written) + 1
            self.written[value] = Written(world.now_ns(), 1 << 62, False)
            key, called_ns = EntityKey(chance.choice("abyz"), f"{value}"), world.now_ns()
            operation: Operation = Insert("tab", entity(*key, v=value))
            if chance.randrange(3) == 0:
                both = (
                    InsertOrReplace("tab", entity(*key, v=value)),
                    Insert("TAB", entity(key[0], f"{value}x", v=value)),
                )
                operation = Group(both)
            outcome = await door.execute(operation)
            assert outcome.ok or outcome.uncertain or outcome.status == 503 or outcome.code in GONE, outcome
            self.written[value] = Written(called_ns, world.now_ns(), outcome.ok)
            await world.sleep(chance.randrange(3 * MS))

    async def stir(self) -> None:
        chance, stamp = self.world.random("stir"), self.stamp
        while not self.over:
            leader, found = stamp.leader(), stamp.map()
            if leader is not None and found is not None and found.entries:
                place = chance.randrange(len(found.entries))
                entry = found.entries[place]
                action: SplitRange | MergeRanges | MoveRange = SplitRange(entry.number, "size")
                match chance.randrange(3):
                    case 0:
                        action = MoveRange(entry.number, chance.choice(stamp.layout.server_names()))
                    case 1 if place + 1 < len(found.entries):
                        action = MergeRanges(entry.number, found.entries[place + 1].number)
                with suppress(EngineError):
                    await leader.order(action)
            await self.world.sleep(chance.randrange(100 * MS))

    async def read(self, door: int) -> list[Entity]:
        found: list[Entity] = []
        token = ""
        while True:
            outcome = await self.until_ok(door, Query("Tab", continuation=token))
            found += outcome.entities
            token = outcome.continuation
            if not token:
                return found

    async def live(self, rounds: int) -> None:
        """Deletes the table and makes it again, at changing doors; looks at it before each deletion."""
        world, chance = self.world, self.world.random("life")
        await self.until_ok(0, CreateTable("tab"), "TableAlreadyExists")
        made_ns, deleted_ns = world.now_ns(), 0
        tasks = [world.spawn(self.write(i), "clients") for i in range(4)]
        tasks.append(world.spawn(self.stir(), "clients"))
        for turn in range(rounds):
            await world.sleep(chance.randrange(100, 400) * MS)
            asked_ns = world.now_ns()
            self.judge(await self.read(turn % 2), made_ns, deleted_ns, asked_ns)
            deleted_ns = world.now_ns()
            await self.until_ok(turn % 2, DeleteTable("tab"), *GONE)
            await self.until_ok(1 - turn % 2, CreateTable("tab"), "TableAlreadyExists")
            made_ns = world.now_ns()
        self.over = True
        for task in tasks:
            await task

    def judge(self, found: list[Entity], made_ns: int, deleted_ns: int, asked_ns: int) -> None:
        seen: dict[object, int] = {}
        for each in found:
            value = each.properties["v"].value
            seen[value] = seen.get(value, 0) + 1
            assert self.written[value].returned_ns >= deleted_ns, "an entity of the table that was deleted"  # type: ignore[index]
        for value, write in self.written.items():
            if write.ok and write.called_ns >= made_ns and write.returned_ns <= asked_ns:
                assert value in seen, "T8: an acknowledged write is lost"
                self.judged += 1


@pytest.mark.parametrize("seed", range(3))
def test_a_table_that_comes_again_shows_nothing_old_and_loses_nothing_t8(seed: int) -> None:
    """T8, and the promise of generations: also where messages are dropped, repeated, or late."""
    with simulated(seed, network=CALM) as world:
        stamp = built(world, front_ends=2, servers=3, boundaries=(boundary("m"),))
        life = Life(world, stamp)
        world.network.faults = (SLOW, ROUGH)[seed % 2]
        world.run(life.live(4), limit_ns=600 * SECOND)
        assert life.judged
        assert world.counts["range loaded"] > 2
