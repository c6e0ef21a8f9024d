"""The stream layer without faults: what is appended is read, extents are shared, limits hold, restarts lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import (
    Fenced,
    LimitReached,
    Location,
    MultiModify,
    NewStream,
    NotThere,
    StreamExists,
    StreamMissing,
)
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.topology import StreamLayer, lay_out
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator

SMALL = EngineOptions(extent_bytes_target=2_000, journal_segment_bytes=3_000, streams_max=5, block_bytes_max=900)
Script = Callable[[StreamLayer, StreamClient], Coroutine[Any, Any, None]]


def carry_out(
    world: Simulator | Machine, script: Script, options: EngineOptions = SMALL, count: int = 4
) -> StreamLayer:
    layer = lay_out(world, options, count=count, poll=False)

    async def run() -> None:
        await layer.start()
        await script(layer, layer.client("client"))

    world.run(run(), "client")
    layer.check()
    return layer


@pytest.fixture(params=["simulator", "machine"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Simulator | Machine:
    if request.param == "simulator":
        return Simulator(7)
    machine = Machine(tmp_path, sync=False)
    request.addfinalizer(machine.close)
    return machine


async def records(client: StreamClient, name: str, start: Location | None = None) -> list[tuple[Location, bytes]]:
    return [found async for found in client.records(name, start)]


def blocks_of(number: int) -> list[bytes]:
    return [f"{number}/{part}".encode() * (number % 17) for part in range(1 + number % 3)]


def test_appended_blocks_are_read_at_their_locations_and_in_order(world: Simulator | Machine) -> None:
    async def script(layer: StreamLayer, client: StreamClient) -> None:
        await client.create("s", 1)
        expected: list[tuple[Location, bytes]] = []
        for number in range(300):
            blocks = blocks_of(number)
            places = await client.append("s", blocks, 1)
            expected += zip(places, blocks, strict=True)
        for place, block in expected:
            assert await client.read(place) == block
        assert await records(client, "s") == expected
        assert await records(client, "s", expected[170][0]) == expected[170:]
        other = layer.client("other")
        assert await records(other, "s") == expected
        assert await other.read(expected[5][0]) == expected[5][1]
        assert len({place.extent for place, _ in expected}) > 5

    carry_out(world, script)


def test_an_owner_fences_the_one_before(world: Simulator | Machine) -> None:
    async def script(layer: StreamLayer, old: StreamClient) -> None:
        await old.create("s", 1)
        first = await old.append("s", [b"a"], 1)
        new = layer.client("new")
        await new.acquire("s", 2)
        with pytest.raises(Fenced):
            await old.append("s", [b"late"], 1)
        with pytest.raises(Fenced):
            await old.acquire("s", 1)
        second = await new.append("s", [b"b"], 2)
        assert second[0].extent != first[0].extent
        assert [block for _, block in await records(old, "s")] == [b"a", b"b"]

    carry_out(world, script)


def test_multi_modify_makes_streams_of_the_same_extents_once(world: Simulator | Machine) -> None:
    async def script(layer: StreamLayer, client: StreamClient) -> None:
        await client.create("parent", 1)
        place = (await client.append("parent", [b"before"], 1))[0]
        change = MultiModify(
            "split-1", 1, (NewStream("left", ("parent",), 2), NewStream("right", ("parent",), 3)), ("parent",)
        )
        await client.multi_modify(change)
        await client.multi_modify(change)
        assert not await client.exists("parent")
        with pytest.raises(StreamMissing):
            await client.append("parent", [b"late"], 1)
        await client.append("left", [b"l"], 2)
        await client.append("right", [b"r"], 3)
        with pytest.raises(Fenced):
            await client.append("left", [b"x"], 1)
        assert [block for _, block in await records(client, "left")] == [b"before", b"l"]
        assert [block for _, block in await records(client, "right")] == [b"before", b"r"]
        assert await client.read(place) == b"before"
        assert layer.manager is not None
        assert layer.manager.directory.extents[place.extent].references == 2
        with pytest.raises(Fenced):
            await client.multi_modify(MultiModify("stale", 1, (NewStream("z", ("left",), 9),)))

    carry_out(world, script)


def test_concatenate_moves_pointers_and_drop_before_lets_them_go(world: Simulator | Machine) -> None:
    async def script(layer: StreamLayer, client: StreamClient) -> None:
        for name in ("a", "b"):
            await client.create(name, 1)
            await client.append(name, [name.encode()], 1)
        await client.concatenate("a", ["b"], 1)
        last = (await client.append("a", [b"c"], 1))[0]
        assert [block for _, block in await records(client, "a")] == [b"a", b"b", b"c"]
        await client.drop_before("a", last)
        assert [block for _, block in await records(client, "a")] == [b"c"]
        await client.delete("b")
        await client.delete("b")
        assert layer.manager is not None
        assert len(layer.manager.directory.unreferenced()) == 2

    carry_out(world, script)


def test_limits_have_their_errors(world: Simulator | Machine) -> None:
    async def script(layer: StreamLayer, client: StreamClient) -> None:
        for number in range(5):
            await client.create(f"s{number}", 1)
        with pytest.raises(LimitReached):
            await client.create("one more", 1)
        with pytest.raises(StreamExists):
            await client.create("s1", 1)
        with pytest.raises(StreamMissing):
            await client.append("nowhere", [b""], 1)
        with pytest.raises(LimitReached):
            await client.append("s1", [bytes(901)], 1)
        with pytest.raises(NotThere):
            await client.read(Location(77, 0, 9))

    carry_out(world, script)


def test_files_hold_everything_after_a_restart(tmp_path: Path) -> None:
    expected: list[tuple[Location, bytes]] = []
    for life in range(1, 6):
        machine = Machine(tmp_path, sync=False)

        async def script(layer: StreamLayer, client: StreamClient, life: int = life) -> None:
            if life == 1:
                await client.create("s", 1)
            else:
                assert await client.exists("s")
                await client.acquire("s", life)
            assert await records(client, "s") == expected
            for number in range(10 * life):
                blocks = blocks_of(number)
                expected.extend(zip(await client.append("s", blocks, life), blocks, strict=True))

        carry_out(machine, script)
        machine.close()
    assert len(expected) > 100
