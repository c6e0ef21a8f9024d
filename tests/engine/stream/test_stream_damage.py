"""Flipped bits, lost devices, full devices: unavailable at worst, never wrong, never less than was acknowledged."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.engine.stream.access import Location
from pkadvisor.engine.stream.blocks import HEADER_BYTES, check_whole, decode, encode, scan
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.stream.records import frame, parse
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt, DiskFull
from tests.engine.stream.streams_history import SECOND, Stage, all_of
from tests.engine.worlds import simulated


def flip(world: Simulator, node: str, device: str, name: str, at: int, mask: int = 4) -> None:
    for file in world.disk(node, device).files():
        if file.name == name:
            file.content[at] ^= mask


def test_every_flipped_bit_of_a_block_is_found() -> None:
    """S7: header and body, and the right bytes at a wrong place."""
    data, lengths = encode(7, 96, (b"hello", b""))
    assert lengths == [HEADER_BYTES + 5, HEADER_BYTES]
    assert decode(7, 96, data[:13]) == b"hello"
    for at in range(13):
        for bit in range(8):
            damaged = bytearray(data[:13])
            damaged[at] ^= 1 << bit
            with pytest.raises(DataCorrupt):
                decode(7, 96, bytes(damaged))
    for extent, offset in ((8, 96), (7, 95)):
        with pytest.raises(DataCorrupt):
            decode(extent, offset, data[:13])
    assert scan(7, 96, data) == ([(96, 13), (109, 8)], 21)
    for length in range(21):
        assert scan(7, 96, data[:length]) == ([], 0), "an append lacks its last block: it was never there (S5)"
        if length:
            with pytest.raises(DataCorrupt):
                check_whole(7, 96, data[:length])


def test_torn_records_are_told_from_damaged_ones() -> None:
    whole = b"".join(frame(body, number) for number, body in enumerate((b"a", b"bb", b"", b"dddd"), 1))
    assert parse(whole).bodies == (b"a", b"bb", b"", b"dddd")
    assert parse(whole).intact
    for length in range(len(whole)):
        found = parse(whole[:length])
        assert found.bodies == (b"a", b"bb", b"", b"dddd")[: len(found.bodies)]
        assert found.intact == (found.end == length)
        assert not found.damaged_inside
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        found = parse(bytes(damaged))
        assert not found.intact
        assert found.damaged_inside == (len(found.bodies) < 3), "only the last write may have been torn"


def test_a_damaged_block_is_read_from_another_replica() -> None:
    """S7."""
    with simulated(3) as world:
        stage = Stage(world, count=3)

        async def script() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            place = (await client.append("s", [b"precious"], 1))[0]
            await client.acquire("s", 2)
            manager = stage.layer.manager
            assert manager is not None
            replicas = manager.directory.extents[place.extent].replicas
            for node in replicas[:2]:
                flip(world, node, "data", file_name(place.extent), place.offset + HEADER_BYTES)
            assert await client.read(place) == b"precious"
            assert [block async for _, block in client.records("s")] == [b"precious"]
            flip(world, replicas[2], "data", file_name(place.extent), place.offset + 2)
            with pytest.raises(DataCorrupt):
                await client.read(place)
            with pytest.raises(DataCorrupt):
                await all_of(client.records("s"))

        world.run(script(), "client-1")


def test_s8_a_copy_is_not_made_of_damaged_bytes() -> None:
    """The first source has turned bad: the copy comes from the next, and there is none where all are bad."""
    with simulated(3) as world:
        stage = Stage(world, count=4)

        async def script() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            place = (await client.append("s", [b"precious"], 1))[0]
            await client.acquire("s", 2)
            assert stage.layer.manager is not None
            info = stage.layer.manager.directory.extents[place.extent]
            (free,) = {node.name for node in stage.layer.nodes} - set(info.replicas)
            node, sources = stage.layer.extent_nodes[free], info.replicas[:2]
            assert info.sealed is not None
            flip(world, sources[0], "data", file_name(place.extent), place.offset + HEADER_BYTES)
            await node.fetch(place.extent, info.sealed, (free,), sources)
            assert await node.read(place.extent, place.offset, place.length) == b"precious"
            flip(world, sources[1], "data", file_name(place.extent), place.offset + HEADER_BYTES)
            await node.delete(place.extent, node.replicas[place.extent].made)
            with pytest.raises(DataCorrupt):
                await node.fetch(place.extent, info.sealed, (free,), sources)

        world.run(script(), "client-1")


@pytest.mark.parametrize(
    "damage", ["flip the last record", "flip the first record", "lose the journal", "lose the data"]
)
@pytest.mark.parametrize("starts", [1, 2])
def test_a_node_that_lost_acknowledged_bytes_does_not_shorten_a_seal(damage: str, starts: int) -> None:
    """S1, S2: the node comes back with less than was acknowledged and knows it, ever after; the others decide."""
    with simulated(4) as world:
        stage = Stage(world, count=3)

        async def write() -> list[Location]:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            return [(await client.append("s", [b"block %d" % number], 1))[0] for number in range(5)]

        async def load(places: list[Location]) -> None:
            client = stage.client("client-2")
            await client.acquire("s", 2)
            found = await all_of(client.records("s"))
            assert [place for place, _ in found] == places
            assert await stage.client("client-1").read(places[4]) == b"block 4"

        places = world.run(write(), "client-1")
        victim = stage.layer.nodes[1].name
        journal = next(file for file in world.disk(victim, "journal").files() if file.size())
        world.crash(victim)
        if damage == "flip the last record":
            flip(world, victim, "journal", journal.name, journal.size() - 3)
        elif damage == "flip the first record":
            flip(world, victim, "journal", journal.name, 20)
        else:
            world.disk(victim, damage.rpartition(" ")[2]).change()
        for _ in range(starts):
            world.crash(victim)
            world.run(_started(world, victim))
        world.run(load(places), "client-2", limit_ns=60 * SECOND)
        world.run_until(world.now_ns() + 3 * SECOND)
        stage.layer.check()


def test_a_power_cut_with_one_damaged_journal_loses_nothing_acknowledged() -> None:
    """S1, S12: one node's journal ends in damage, the others are whole; then all of them are torn and one damaged."""
    for torn in (False, True):
        with simulated(5) as world:
            stage = Stage(world, count=3)

            async def write(stage: Stage = stage) -> None:
                await stage.layer.start()
                client = stage.client("client-1")
                await stage.create(client, "s")
                for _ in range(4):
                    await stage.append(client, "s", 1, Random(1))

            world.run(write(), "client-1")
            world.power_cut("lost")
            for number, node in enumerate(stage.layer.nodes):
                for file in world.disk(node.name, "journal").files():
                    if file.size() and number == 2:
                        file.content[file.size() - 2] ^= 8
                    elif file.size() and torn:
                        file.content += b"\xa5WAS torn"
                        file.durable_bytes = file.size()
            world.start_all()
            world.run(stage.judge(), "judge", limit_ns=60 * SECOND)


def test_a_full_device_fails_cleanly_and_reads_go_on() -> None:
    with simulated(6) as world:
        stage = Stage(world, count=3)

        async def script() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            await client.create("s", 1)
            place = (await client.append("s", [b"before"], 1))[0]
            disks = [world.disk(node.name, device) for node in stage.layer.nodes for device in ("data", "journal")]
            for disk in disks:
                disk.fill()
            with pytest.raises(DiskFull):
                await client.append("s", [b"no room"], 1)
            assert await client.read(place) == b"before"
            for disk in disks:
                disk.make_room()
            await world.sleep(SECOND)
            await client.append("s", [b"after"], 1)
            blocks = [block async for _, block in client.records("s")]
            assert blocks[0] == b"before"
            assert blocks[-1] == b"after"

        world.run(script(), "client-1", limit_ns=600 * SECOND)


async def _started(world: Simulator, node: str) -> None:
    await world.start(node)
