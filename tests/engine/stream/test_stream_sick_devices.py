"""Devices that cannot read what they hold, or refuse for good: the node starts, and what it lacks comes from others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from pkadvisor.engine.options import MS
from pkadvisor.engine.stream.access import Location
from pkadvisor.engine.stream.manager import LOG, StreamManager
from pkadvisor.engine.stream.nodes.record_file import NAME as CATALOG
from pkadvisor.engine.stream.records import better, frame, parse
from pkadvisor.engine.worlds.simulated_disk import SimulatedFile
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt
from tests.engine.stream.streams_history import SECOND, TINY, Stage, all_of
from tests.engine.worlds import simulated

LARGE = replace(TINY, extent_bytes_target=1 << 20, journal_segment_bytes=1 << 20)


def staged(script: Callable[[Stage], Coroutine[Any, Any, None]], options: Any = LARGE, count: int = 3) -> Simulator:
    """Runs a script on a started stream layer."""
    with simulated(11) as world:
        stage = Stage(world, count, options)

        async def run() -> None:
            await stage.layer.start()
            await script(stage)

        world.run(run(), "judge", limit_ns=300 * SECOND)
        return world


def file_of(world: Simulator, node: str, device: str, name: str) -> SimulatedFile:
    return next(file for file in world.disk(node, device).files() if file.name.startswith(name))


def manager_of(stage: Stage) -> StreamManager:
    assert stage.layer.manager is not None
    return stage.layer.manager


async def written(stage: Stage, name: str = "s") -> Location:
    client = stage.client("client-1")
    await client.create(name, 1)
    return (await client.append(name, [b"acknowledged"], 1))[0]


@pytest.mark.parametrize(("device", "name"), [("data", CATALOG), ("journal", "")])
@pytest.mark.parametrize("end", [False, True])
def test_a_node_starts_although_some_of_its_bytes_cannot_be_read(device: str, name: str, end: bool) -> None:
    """S1, S8: what it lacks is lost to it, not answered shorter; it is filled from the others."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        node = manager_of(stage).directory.extents[place.extent].replicas[1]
        file = file_of(stage.world, node, device, name)
        at = file.size() - 1 if end else file.size() // 2
        stage.world.crash(node, "kept")
        file.spoil(at, at + 1)
        await stage.world.start(node)
        client = stage.client("client-2")
        await client.acquire("s", 2)
        assert await all_of(client.records("s")) == [(place, b"acknowledged")]
        for _ in range(20):
            await stage.world.sleep(SECOND)
            found = stage.layer.extent_nodes[node].replicas.get(place.extent)
            if found is not None and found.sealed == place.length:
                return
        raise AssertionError("S8: the copy was not made again")

    world = staged(script)
    assert world.counts["bytes that cannot be read"] == 1


def test_a_read_error_that_passes_loses_nothing() -> None:
    async def script(stage: Stage) -> None:
        place = await written(stage)
        node = manager_of(stage).directory.extents[place.extent].replicas[1]
        file = file_of(stage.world, node, "data", CATALOG)
        stage.world.crash(node, "kept")
        file.spoil(0, 1)
        stage.world.at(stage.world.now_ns() + 250 * MS, file._bad.clear)
        await stage.world.start(node)
        assert stage.layer.extent_nodes[node].replicas[place.extent].length == place.length
        assert not stage.layer.extent_nodes[node].replicas[place.extent].uncertain

    staged(script)


def test_a_catalog_that_seems_torn_makes_its_open_replicas_doubtful() -> None:
    """S1: the record that says what was flushed may be the one that turned bad, and its journal may be gone."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        node = manager_of(stage).directory.extents[place.extent].replicas[1]
        holder = stage.layer.extent_nodes[node]
        holder._rotate_wanted = True
        await holder._rotate()
        assert holder.replicas[place.extent].flushed == place.length
        stage.world.crash(node, "kept")
        catalog = file_of(stage.world, node, "data", CATALOG)
        catalog.flip(catalog.size() - 1)
        await stage.world.start(node)
        assert await stage.layer.extent_nodes[node].freeze(place.extent) == (0, False)
        await stage.client("client-2").acquire("s", 2)
        assert manager_of(stage).directory.extents[place.extent].sealed == place.length

    staged(script)


ALONE = replace(LARGE, replicas=1)


@pytest.mark.parametrize("after_a_start", [False, True])
def test_the_only_replica_does_not_answer_with_less_than_was_acknowledged(after_a_start: bool) -> None:
    """S1: its journal is damaged inside, which no crash does; it stays known after the journal has gone."""

    async def script(stage: Stage) -> None:
        client = stage.client("client-1")
        await client.create("s", 1)
        places = [(await client.append("s", [bytes(100)], 1))[0] for _ in range(6)]
        extent = places[0].extent
        (node,) = manager_of(stage).directory.extents[extent].replicas
        stage.world.crash(node, "kept")
        journal = file_of(stage.world, node, "journal", "")
        journal.flip(journal.size() // 2)
        await stage.world.start(node)
        if after_a_start:
            stage.world.crash(node, "kept")
            await stage.world.start(node)
        for _ in range(2):
            with pytest.raises(DataCorrupt, match="lost acknowledged bytes"):
                await stage.client("client-2").acquire("s", 2)
        assert manager_of(stage).directory.extents[extent].sealed is None

    assert staged(script, ALONE, 1).counts["acknowledged bytes lost"] == 2


def test_the_only_replica_answers_with_what_it_has_after_a_torn_write() -> None:
    """S1: the write that a crash tore was not acknowledged; the rest is there."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        (node,) = manager_of(stage).directory.extents[place.extent].replicas
        journal = file_of(stage.world, node, "journal", "")
        stage.world.crash(node, "kept")
        await journal.append(frame(bytes(100), 2)[:-1])
        await stage.world.start(node)
        assert await stage.layer.extent_nodes[node].freeze(place.extent) == (place.length, False)
        await stage.client("client-2").acquire("s", 2)
        assert await all_of(stage.client("client-2").records("s")) == [(place, b"acknowledged")]

    staged(script, ALONE, 1)


def test_no_damage_of_one_copy_of_the_managers_log_loses_a_command() -> None:
    """S4: least of all in the last record, which looks like a torn write."""

    async def script(stage: Stage) -> None:
        for number in range(3):
            await written(stage, f"s{number}")
        world, name = stage.world, stage.layer.manager_name
        before = manager_of(stage).directory
        size = file_of(world, name, "manager", LOG).size()
        for copy in (LOG, f"{LOG}.copy"):
            for at in (0, size // 3, size - 1):
                for spoil in (False, True):
                    world.crash(name, "kept")
                    file = next(file for file in world.disk(name, "manager").files() if file.name == copy)
                    at = min(at, file.size() - 1)
                    if spoil:
                        file.spoil(at, at + 1)
                    else:
                        file.flip(at)
                    await world.start(name)
                    assert manager_of(stage).directory == before
        world.crash(name, "kept")
        for file in world.disk(name, "manager").files():
            file.flip(file.size() - 1)
        with pytest.raises(DataCorrupt):
            await world.start(name)
        assert not world.is_up(name), "a node whose start is refused is down"

    assert staged(script).counts["copies of the log differed"] == 12


def test_two_copies_of_a_log_after_every_crash_and_any_damage_of_one() -> None:
    """All that was acknowledged is there, or it is said that it is not."""
    records = [frame(b"%d" % number, number) for number in range(1, 6)]
    whole = b"".join(records)
    bodies = tuple(b"%d" % number for number in range(1, 6))
    for length in range(len(whole) + 1):
        ends = [len(b"".join(records[:count])) for count in range(6)]
        count = max(number for number in range(6) if ends[number] <= length)
        # the copy is written after the record is whole
        for copy in (
            {ends[count], *range(ends[max(0, count - 1)], ends[count] + 1)} if length == ends[count] else [ends[count]]
        ):
            found = better(parse(whole[:length]), parse(whole[:copy]))
            assert not found.damaged_inside
            assert found.bodies == bodies[:count]
            assert found.uneven == (length != copy)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        for pair in ((bytes(damaged), whole), (whole, bytes(damaged))):
            found = better(parse(pair[0]), parse(pair[1]))
            assert (found.bodies, found.damaged_inside, found.uneven) == (bodies, False, True)
        assert better(parse(bytes(damaged)), parse(bytes(damaged))).damaged_inside
