"""Where replicas go, and where their bytes are before the data device has them."""

from __future__ import annotations

from random import Random

from pkadvisor.engine.stream.manager import NodeInfo, place
from pkadvisor.engine.stream.nodes.extent_store import file_name
from tests.engine.stream.streams_history import SECOND, Stage, all_of
from tests.engine.worlds import simulated


def test_replicas_stand_in_distinct_fault_and_upgrade_domains_by_room() -> None:
    """S6."""
    nodes = [NodeInfo(f"n{fault}{upgrade}", fault, upgrade) for fault in range(3) for upgrade in range(3)]
    by_name = {node.name: node for node in nodes}
    chance = Random(1)
    room = {node.name: 1 << 40 for node in nodes} | {"n00": 1 << 20}
    seen: dict[str, int] = {}
    for _ in range(500):
        found = place(nodes, room, 3, chance)
        assert found is not None
        assert len({by_name[name].fault_domain for name in found}) == 3
        assert len({by_name[name].upgrade_domain for name in found}) == 3
        for name in found:
            seen[name] = seen.get(name, 0) + 1
    assert len(seen) == 9
    assert seen["n00"] == min(seen.values()), "the node with the least room gets the fewest"
    assert place([NodeInfo("a", 0, 0), NodeInfo("b", 1, 1), NodeInfo("c", 0, 2)], {}, 3, chance) is None
    only = [NodeInfo("a", 0, 0), NodeInfo("b", 0, 1), NodeInfo("c", 1, 0), NodeInfo("d", 2, 2)]
    for _ in range(50):
        found = place(only, {}, 3, chance)
        assert found is not None, "a first choice that leads nowhere is taken back"
        assert sorted(found) == ["b", "c", "d"]


def test_what_is_only_in_the_journal_is_read_from_memory_and_outlives_a_power_cut() -> None:
    """S12."""
    with simulated(4) as world:
        stage = Stage(world, count=3)

        async def write() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            place = (await client.append("s", [b"in the journal"], 1))[0]
            for node in stage.layer.nodes:
                file = await world.disk(node.name, "data").open(file_name(place.extent))
                assert file.size() == 0
            assert await client.read(place) == b"in the journal"

        async def load() -> None:
            client = stage.client("client-2")
            await client.acquire("s", 2)
            assert [block for _, block in await all_of(client.records("s"))] == [b"in the journal"]

        world.run(write(), "client-1")
        world.power_cut("lost")
        world.start_all()
        world.run(load(), "client-2", limit_ns=60 * SECOND)
