"""Writes, seals and deletes that a device refused, or that came late: each is made good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pkadvisor.engine.options import MS
from pkadvisor.engine.stream.access import Location, MultiModify, NewStream, TooSlow
from pkadvisor.engine.stream.blocks import encode
from pkadvisor.engine.stream.nodes.extent_node import MAKING_MAX, ExtentNode
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DiskError, EngineError
from tests.engine.stream.streams_history import SECOND, Stage
from tests.engine.stream.test_stream_sick_devices import file_of, manager_of, staged, written


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
    """S8: only the copy that is too many goes."""

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
