"""Planted mistakes are noticed: by a seed of the runs under faults, or by a scenario of their own."""

from __future__ import annotations

import pytest

from pkadvisor.engine.stream.access import ExtentSealed
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.stream.planted_stream_bugs import BUGS, Plant, seal_at_the_greatest_length
from tests.engine.stream.streams_history import SECOND, Stage, all_of
from tests.engine.stream.test_stream_faults import run
from tests.engine.worlds import simulated


@pytest.mark.parametrize(("plant", "seed"), BUGS.items(), ids=[plant.__name__ for plant in BUGS])
def test_a_planted_mistake_is_noticed(plant: Plant, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, EngineError)):
        run(seed, 12)


def test_a_seal_at_the_least_length_outlives_the_longest_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: the sealed length is one that more than one replica has."""
    with simulated(1) as world:
        stage_seal_of_two(world)
    seal_at_the_greatest_length(monkeypatch)
    with simulated(1) as world, pytest.raises((AssertionError, EngineError)):
        stage_seal_of_two(world)


def stage_seal_of_two(world: Simulator) -> None:
    """The primary and one more replica are reached; the primary is longer, and its disks go."""
    stage = Stage(world, count=3)

    async def script() -> None:
        layer = stage.layer
        await layer.start()
        client = stage.client("client-1")
        await client.create("s", 1)
        place = (await client.append("s", [b"acknowledged"], 1))[0]
        assert layer.manager is not None
        primary, *others = layer.manager.directory.extents[place.extent].replicas
        world.network.block([primary], others)
        world.spawn(client.append("s", [b"only on the primary"], 1), "client-1").when_done(lambda: None)
        await world.sleep(SECOND // 10)
        assert layer.extent_nodes[primary].replicas[place.extent].durable > place.length
        await stage.client("client-2").acquire("s", 2)
        world.crash(primary, lose_disks=True)
        world.network.heal()
        await world.sleep(3 * SECOND)
        found = await all_of(stage.client("client-2").records("s"))
        assert found[0] == (place, b"acknowledged")

    world.run(script(), "client-2", limit_ns=120 * SECOND)


def test_nothing_is_stored_once_a_length_was_told() -> None:
    """S2, S4: a freeze may come between the beginning of a round and what the primary does of it."""
    with simulated(1) as world:
        stage = Stage(world, count=3)

        async def script() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            place = (await client.append("s", [b"a"], 1))[0]
            assert stage.layer.manager is not None
            primary = stage.layer.extent_nodes[stage.layer.manager.directory.extents[place.extent].replicas[0]]
            assert await primary.freeze(place.extent) == (place.length, True)
            with pytest.raises(ExtentSealed):
                await primary._store(primary.replicas[place.extent], b"late")
            assert primary.replicas[place.extent].length == place.length

        world.run(script(), "client-1")
