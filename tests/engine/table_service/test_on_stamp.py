"""The service on whole stamps: concurrent clients, a network that delays, drops and repeats, ranges that split."""

from __future__ import annotations

from contextlib import suppress

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.partition.balancer import SplitRange
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.faults import NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError, Unreachable
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    Operation,
    Outcome,
    Query,
    Update,
)
from tests.engine.linearizable import LOST, EntityModel, History, check
from tests.engine.stamp.stamps import built
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, do, entity, keys, pages
from tests.engine.worlds import simulated

CALM = NetworkFaults(delay_ns_min=MS // 10, delay_ns_mean=2 * MS)
ROUGH = NetworkFaults(
    delay_ns_min=MS // 10, delay_ns_mean=5 * MS, drop_per_million=1_000, duplicate_per_million=100_000
)
ANSWERS = {0: "ok", 409: "exists", 404: "missing", 412: "changed"}


def services(stamp: Stamp, count: int = 2) -> list[TableService]:
    return [TableService(stamp.front_end(i), ACCOUNT, limits=NO_WAIT) for i in range(count)]


def boundary(partition_key: str) -> bytes:
    return row_keys.partition_prefix(ACCOUNT, "tab", partition_key)


async def known(service: TableService, operation: Operation) -> Outcome:
    """The outcome; Unreachable where nobody can say what came of it."""
    outcome = await service.execute(operation)
    if outcome.status >= 500:
        raise Unreachable(outcome.code)
    return outcome


async def until_ok(service: TableService, operation: Operation) -> None:
    for _ in range(50):
        outcome = await service.execute(operation)
        if outcome.ok or outcome.code == "TableAlreadyExists":
            return
    raise AssertionError(outcome)


@pytest.mark.parametrize("seed", range(6))
def test_entities_are_linearizable_from_any_front_end_t1_t4_t8(seed: int) -> None:
    """T1, T4 (of two updates with one tag one wins), T8: whatever the network does, and while a range splits."""
    with simulated(seed, network=CALM) as world:
        stamp = built(world, front_ends=2, servers=2, boundaries=(boundary("m"),))
        doors = services(stamp)
        world.run(until_ok(doors[0], CreateTable("tab")))
        if seed % 2:
            world.network.faults = ROUGH
        history, values = History(), iter(range(10**6))
        tags: dict[EntityKey, str] = {}

        async def client(number: int) -> None:
            chance = world.random(f"client/{number}")
            for _ in range(20):
                key = EntityKey(chance.choice("az"), chance.choice("12"))
                verb = chance.choice(["read", "put", "insert", "update", "delete"])
                value, tag = next(values), "*"
                if verb in ("update", "delete") and chance.randrange(3):
                    tag = tags.get(key, "*")
                operation: Operation
                match verb:
                    case "read":
                        operation = Get("tab", key)
                    case "put":
                        operation = InsertOrReplace("tab", entity(*key, v=value))
                    case "insert":
                        operation = Insert("tab", entity(*key, v=value))
                    case "update":
                        operation = Update("tab", entity(*key, v=value), tag)
                    case _:
                        operation = Delete("tab", key, tag)

                def answer(outcome: Outcome) -> tuple[str, object, str | None]:
                    what = ANSWERS[0 if outcome.ok else outcome.status]
                    if outcome.entities:
                        (found,) = outcome.entities
                        return what, found.properties["v"].value, found.etag
                    return what, None, outcome.etags[0] if outcome.ok and outcome.etags[0] else None

                call = (verb, None if verb in ("read", "delete") else value, tag)
                found = await history.record(f"c{number}", key, call, known(doors[number % 2], operation), answer)
                if found is not LOST and found.ok and (told := answer(found)[2]):
                    tags[key] = told
                await world.sleep(chance.randrange(4 * MS))

        async def all_clients() -> None:
            await world.gather([client(number) for number in range(4)], "clients")

        task = world.spawn(all_clients(), "clients")
        world.run_until(world.now_ns() + 30 * MS)
        if seed % 3 == 0:
            world.spawn(split(stamp), "clients")
        world.run(ended(task), limit_ns=3600 * SECOND)
        assert check(history, EntityModel()) == 80
        assert world.counts["message doubled"] >= 10 * (seed % 2)


async def split(stamp: Stamp) -> None:
    leader = stamp.leader()
    if leader is not None:
        with suppress(EngineError):
            await leader.order(SplitRange(2, "load"))


async def ended(task: object) -> None:
    await task  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(3))
def test_no_page_shows_a_part_of_a_group_nor_misses_what_was_acknowledged_t2_t3(seed: int) -> None:
    """T2: all of a group or none; T3: a page is the partition at one moment, after each write acked before it began."""
    with simulated(seed, network=CALM) as world:
        stamp = built(world, front_ends=2, servers=2)
        doors = services(stamp)
        world.run(until_ok(doors[0], CreateTable("tab")))
        acked, seen = -1, 0

        async def writer() -> None:
            nonlocal acked
            for value in range(15):
                writes = tuple(InsertOrReplace("tab", entity("p", str(row), v=value)) for row in range(5))
                assert (await doors[0].execute(Group(writes))).ok
                acked = value

        async def reader() -> None:
            nonlocal seen
            chance = world.random("reader")
            while acked < 14:
                least = acked
                outcome = await doors[1].execute(Query("tab", "PartitionKey eq 'p'"))
                assert outcome.ok
                values = [e.properties["v"].value for e in outcome.entities]
                assert len(values) in (0, 5) and len(set(values)) <= 1
                assert (values or [-1])[0] >= least  # type: ignore[operator]
                seen += 1
                await world.sleep(chance.randrange(3 * MS))

        async def both() -> None:
            for found in await world.gather([writer(), reader(), reader()], "clients"):
                assert found is None, found

        world.run(both(), limit_ns=600 * SECOND)
        assert seen > 10


def test_of_two_racing_updates_with_one_tag_exactly_one_wins_t4() -> None:
    with simulated(5, network=CALM) as world:
        stamp = built(world, front_ends=2, servers=2)
        doors = services(stamp)
        world.run(until_ok(doors[0], CreateTable("tab")))
        (tag,) = world.run(doors[0].execute(Insert("tab", entity(v=0)))).etags
        for round_ in range(10):

            async def race(round_: int = round_, tag: str = tag) -> list[object]:
                updates = [doors[i % 2].execute(Update("tab", entity(v=10 * round_ + i), tag)) for i in range(4)]
                return await world.gather(updates, "clients")  # type: ignore[return-value]

            outcomes = world.run(race())
            assert sorted(o.status for o in outcomes) == [204, 412, 412, 412]  # type: ignore[attr-defined]
            (won,) = [i for i, o in enumerate(outcomes) if o.ok]  # type: ignore[attr-defined]
            (found,) = world.run(doors[0].execute(Get("tab", EntityKey("p", "r")))).entities
            assert found.properties["v"].value == 10 * round_ + won
            tag = found.etag


def test_a_store_on_a_stamp_pages_across_ranges_and_servers_t5() -> None:
    """T5 and T6 on real ranges: key order, each entity once, an empty range gives an empty page with a token."""
    with simulated(3) as world:
        boundaries = tuple(boundary(p) for p in ("b", "c", "ca", "d"))
        stamp = built(world, servers=2, boundaries=boundaries)
        store = EmbeddedStore(world, services(stamp, 1)[0])
        assert do_ok(store, CreateTable("tab"))
        for i in range(40):
            assert do_ok(store, Insert("tab", entity("abcde"[i % 5], f"{i:02}")))
        found = pages(store, Query("tab", top=5))
        assert keys(found) == sorted(("abcde"[i % 5], f"{i:02}") for i in range(40))
        assert any(not page.entities and page.continuation for page in found)


def do_ok(store: EmbeddedStore, operation: Operation) -> bool:
    return do(store, operation).ok


def test_an_operation_takes_the_time_of_the_world() -> None:
    with simulated(4, network=NetworkFaults(delay_ns_min=3 * MS, delay_ns_mean=3 * MS)) as world:
        stamp = built(world)
        store = EmbeddedStore(world, services(stamp, 1)[0])
        assert do(store, CreateTable("tab")).ok
        at_ms = 60_000.0
        outcome = store.execute(Insert("tab", entity()), at_ms)
        assert 6 * MS <= outcome.latency_ns < SECOND
        assert isinstance(world, Simulator)
