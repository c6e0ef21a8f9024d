"""Devices that cannot read what they hold, or refuse for good: the node starts, and what it lacks comes from others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from pkadvisor.engine.options import MS
from pkadvisor.engine.stream.access import Location, MultiModify, NewStream
from pkadvisor.engine.stream.blocks import encode
from pkadvisor.engine.stream.errors import TooSlow
from pkadvisor.engine.stream.manager import LOG, StreamManager
from pkadvisor.engine.stream.nodes.catalog import NAME as CATALOG
from pkadvisor.engine.stream.nodes.extent_node import ExtentNode
from pkadvisor.engine.stream.nodes.extent_sealing import MAKING_MAX
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.stream.records import better, frame, parse
from pkadvisor.engine.worlds.simulated_disk import SimulatedFile
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, EngineError
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


def test_a_file_whose_sync_failed_is_made_anew_when_the_extent_is_sealed() -> None:
    """S8: it takes no more writes in this life of its node, which may be long."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        manager = manager_of(stage)
        node = manager.directory.extents[place.extent].replicas[1]
        file = file_of(stage.world, node, "data", file_name(place.extent))
        file.sync_failed = True
        with pytest.raises(EngineError):
            await stage.layer.extent_nodes[node]._flush(stage.layer.extent_nodes[node].replicas[place.extent])
        await stage.client("client-2").acquire("s", 2)
        await manager.poll()
        replica = stage.layer.extent_nodes[node].replicas[place.extent]
        assert replica.sealed == place.length
        assert replica.file is not file
        assert await replica.bytes_at(0, place.length) == await (
            stage.layer.extent_nodes[manager.directory.extents[place.extent].replicas[0]].replicas[place.extent]
        ).bytes_at(0, place.length)

    staged(script)


def test_what_was_flushed_and_could_not_be_noted_is_noted_before_the_journal_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S1: else the node would come back with less, and be sure of it."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        node = manager_of(stage).directory.extents[place.extent].replicas[1]
        holder = stage.layer.extent_nodes[node]
        right = holder._catalog.note

        async def refuse(entry: Any) -> None:
            raise DiskError("no")

        holder._rotate_wanted = True
        monkeypatch.setattr(holder._catalog, "note", refuse)
        await holder._rotate()
        monkeypatch.setattr(holder._catalog, "note", right)
        assert holder.replicas[place.extent].flushed == place.length
        holder._rotate_wanted = True
        await holder._rotate()
        stage.world.crash(node, "lost")
        await stage.world.start(node)
        assert await stage.layer.extent_nodes[node].freeze(place.extent) == (place.length, True)

    staged(script)


def test_no_length_is_told_that_a_start_would_not_find_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: bytes on the data device alone count when the catalog says so."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        node = manager_of(stage).directory.extents[place.extent].replicas[1]
        holder = stage.layer.extent_nodes[node]
        replica = holder.replicas[place.extent]
        right = holder._catalog.note

        async def refuse(entry: Any) -> None:
            raise DiskError("no")

        holder._journal.broken = True
        monkeypatch.setattr(holder._catalog, "note", refuse)
        data, _ = encode(place.extent, place.length, (b"not acknowledged",))
        with pytest.raises(DiskError):
            await holder.replicate(place.extent, place.length, data)
        monkeypatch.setattr(holder._catalog, "note", right)
        assert replica.flushed == place.length + len(data)
        assert await holder.freeze(place.extent) == (place.length, True)
        await holder.seal(place.extent, place.length, ())
        assert await replica.bytes_at(0, replica.length) == await replica.device.read(replica.file, 0, place.length)
        assert replica.file.size() == place.length
        stage.world.crash(node, "lost")
        await stage.world.start(node)
        assert stage.layer.extent_nodes[node].replicas[place.extent].sealed == place.length

    staged(script)


def test_a_create_that_failed_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(stage: Stage) -> None:
        node = stage.layer.extent_nodes["extent-node-0"]

        async def refuse(entry: Any) -> None:
            raise DiskError("no")

        with monkeypatch.context() as patch:
            patch.setattr(node._catalog, "note", refuse)
            with pytest.raises(DiskError):
                await node.create(77, ("extent-node-0",))
        assert 77 not in node.replicas
        assert file_name(77) not in stage.world.disk("extent-node-0", "data").names()
        await node.create(77, ("extent-node-0",))
        assert node.replicas[77].closed == ""

    staged(script)


@pytest.mark.parametrize("fails", [False, True])
def test_a_node_that_is_still_making_many_replicas_refuses_more_at_once(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """S8: a slow disk gets no queue that outlasts its slowness. What was refused leaves nothing behind."""

    async def script(stage: Stage) -> None:
        world, node = stage.world, stage.layer.extent_nodes["extent-node-0"]
        right, slow = node._catalog.note, Future[None]()

        async def wait(entry: Any) -> None:
            await slow
            if fails:
                raise DiskError("no")
            await right(entry)

        monkeypatch.setattr(node._catalog, "note", wait)
        tasks = [world.spawn(node.create(77 + number, (node.name,)), node.name) for number in range(MAKING_MAX)]
        for task in tasks:
            task.when_done(lambda: None)
        await world.sleep(SECOND)
        began = world.now_ns()
        for extent in (99, 100):
            with pytest.raises(TooSlow):
                await node.create(extent, (node.name,))
            assert extent not in node.replicas
            assert file_name(extent) not in world.disk(node.name, "data").names()
        assert world.now_ns() == began
        again = world.spawn(node.create(77, (node.name,)), node.name)  # the same request again waits for the first
        again.when_done(lambda: None)
        slow.resolve(None)
        for task in (*tasks, again):
            while not task.done:
                await world.sleep(MS)
            assert (task.error is None) is not fails
        monkeypatch.setattr(node._catalog, "note", right)
        for extent in (77, 99, 100):
            await node.create(extent, (node.name,))
            assert node.replicas[extent].closed == ""

    staged(script)


def test_an_extent_goes_to_other_nodes_than_one_that_is_still_making_many() -> None:
    """S4: the writer does not wait for it."""

    async def script(stage: Stage) -> None:
        await written(stage)
        manager = manager_of(stage)
        (slow, *_) = manager.directory.extents[1].replicas
        stage.layer.extent_nodes[slow]._making = MAKING_MAX
        for number in range(5):
            place = await written(stage, f"t{number}")
            assert slow not in manager.directory.extents[place.extent].replicas

    staged(script, count=5)


def spoil_what_is_flushed(stage: Stage, node: str, extent: int) -> None:
    holder = stage.layer.extent_nodes[node]
    holder.replicas[extent].refused = True
    file = file_of(stage.world, node, "data", file_name(extent))
    file.spoil(0, holder.replicas[extent].flushed)


async def half_flushed(stage: Stage) -> tuple[Location, str]:
    """An extent with blocks on the data device of a node and others in its journal only; where it ends."""
    place = await written(stage)
    node = manager_of(stage).directory.extents[place.extent].replicas[1]
    holder = stage.layer.extent_nodes[node]
    holder._rotate_wanted = True
    await holder._rotate()
    (later,) = await stage.client("client-1").append("s", [b"acknowledged later"], 1)
    assert later.extent == place.extent
    assert 0 < holder.replicas[place.extent].flushed < holder.replicas[place.extent].length
    return later, node


def test_a_replica_that_cannot_be_read_any_more_is_made_anew_from_others_when_it_is_sealed() -> None:
    """S8: it takes no writes and gives no reads, so nobody could complete it but the others."""

    async def script(stage: Stage) -> None:
        later, node = await half_flushed(stage)
        extent, end = later.extent, later.offset + later.length
        spoil_what_is_flushed(stage, node, extent)
        assert await manager_of(stage).seal(extent) == end
        for start_again in (False, True):
            if start_again:
                stage.world.crash(node, "lost")
                await stage.world.start(node)
            found = [stage.layer.extent_nodes[name].replicas[extent] for name in stage.layer.extent_nodes]
            assert [replica.sealed for replica in found] == [end] * 3
            assert len({await replica.bytes_at(0, end) for replica in found}) == 1
            assert not any(replica.refused for replica in found)
            stage.layer.check()

    assert staged(script).counts["replica made anew"] == 1


@pytest.mark.parametrize("tear", ["lost", "header", "body", "kept"])
def test_a_seal_of_what_cannot_be_read_is_done_again_after_a_crash_at_any_durable_write(tear: str) -> None:
    """S1, S3: the file in place of the other takes nothing away that the catalog or the journal counts on."""
    anew_before_crash: list[int] = []
    hit = True

    async def script(stage: Stage) -> None:
        nonlocal hit
        world = stage.world
        later, node = await half_flushed(stage)
        extent, end = later.extent, later.offset + later.length
        spoil_what_is_flushed(stage, node, extent)
        world.crash_at(world.durable_writes + 1 + len(anew_before_crash), tear)
        world.spawn(manager_of(stage).seal(extent), stage.layer.manager_name).when_done(lambda: None)
        await world.sleep(SECOND)
        hit = world.counts["crash point"] == 1
        anew = world.counts["replica made anew"]
        for name in (node, *stage.layer.extent_nodes, stage.layer.manager_name):
            if not world.is_up(name):
                await world.start(name)
        assert await manager_of(stage).seal(extent) == end
        await manager_of(stage).poll()
        holders = stage.layer.extent_nodes.values()
        assert [holder.replicas[extent].sealed for holder in holders] == [end] * 3
        readable = [holder for holder in holders if holder.name != node or anew]  # scrub mends what it can read no more
        assert len({await holder.replicas[extent].bytes_at(0, end) for holder in readable}) == 1
        stage.layer.check()
        anew_before_crash.append(anew)

    while hit:
        staged(script)
    assert {*anew_before_crash[:-1]} == {0, 1}


def test_a_delete_that_comes_late_does_not_remove_a_newer_copy() -> None:
    """S13."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        manager = manager_of(stage)
        await manager.seal(place.extent)
        info = manager.directory.extents[place.extent]
        name = info.replicas[1]
        node: ExtentNode = stage.layer.extent_nodes[name]
        ((_, _, _, made),) = [found for found in await node.inventory() if found[0] == place.extent]
        await node.delete(place.extent, made)
        assert place.extent not in node.replicas
        await node.fetch(place.extent, place.length, info.replicas, info.replicas)
        await node.delete(place.extent, made)
        assert node.replicas[place.extent].sealed == place.length
        stage.world.crash(name)
        await stage.world.start(name)
        await stage.layer.extent_nodes[name].delete(place.extent, made)
        assert stage.layer.extent_nodes[name].replicas[place.extent].sealed == place.length

    staged(script)


def test_an_extent_whose_command_failed_is_let_go_when_the_next_one_is_durable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S9: until then a crash could make it true; its replicas stay so long, and no longer."""

    async def script(stage: Stage) -> None:
        await written(stage)
        manager = manager_of(stage)
        right = manager._log.commit

        async def refuse(body: bytes, apply: Callable[[], None]) -> None:
            raise DiskError("no")

        with monkeypatch.context() as patch:
            patch.setattr(manager._log, "commit", refuse)
            manager._next_number = min(manager._next_number, manager.directory.reserved_below - 1)
            with pytest.raises(DiskError):
                await manager._add_extent("s")
        assert manager._log.commit == right
        (extent,) = manager.making
        await manager.poll()
        assert any(extent in node.replicas for node in stage.layer.extent_nodes.values())
        await stage.client("client-1").create("t", 1)
        assert not manager.making
        await manager.poll()
        assert not any(extent in node.replicas for node in stage.layer.extent_nodes.values())

    staged(script)


def test_an_extent_that_comes_to_a_merged_stream_from_both_sides_is_counted_as_it_is_listed() -> None:
    """S9: references are counted for each place in each stream."""

    async def script(stage: Stage) -> None:
        place = await written(stage)
        client, manager = stage.client("client-1"), manager_of(stage)
        made = (NewStream("left", ("s",), 2), NewStream("right", ("s",), 2))
        await client.multi_modify(MultiModify("split", 2, made, ("s",)))
        assert manager.directory.extents[place.extent].references == 2
        merged = NewStream("both", ("left", "right"), 3)
        await client.multi_modify(MultiModify("merge", 3, (merged,), ("left", "right")))
        listed = manager.directory.streams["both"].extents.count(place.extent)
        assert manager.directory.extents[place.extent].references == listed >= 1
        later = (await client.append("both", [b"later"], 3))[0]
        await client.drop_before("both", later)
        assert manager.directory.extents[place.extent].references == 0
        manager.check()

    staged(script)
