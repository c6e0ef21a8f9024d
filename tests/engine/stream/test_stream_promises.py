"""Promises of the stream layer, watched from outside while many do things at once."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import Location, TooSlow
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.worlds.faults import DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import File
from tests.engine.stream.streams_history import MS, SECOND, Stage
from tests.engine.worlds import simulated

SLOW = {"network": NetworkFaults(MS // 10, 2 * MS), "disks": DiskFaults(MS // 10, MS)}


async def begun(stage: Stage) -> None:
    await stage.layer.start()
    await stage.client("client-1").create("s", 1)


@pytest.mark.parametrize("seed", range(3))
def test_s2_all_three_replicas_hold_what_is_acknowledged(seed: int) -> None:
    """S2: at the moment of the acknowledgement, durably; and no seal lies before it."""
    with simulated(seed, **SLOW) as world:
        stage = Stage(world, count=5)
        nodes, ends = stage.layer.extent_nodes, dict[int, int]()

        async def write() -> None:
            client = stage.client("client-1")
            chance = world.random("sizes")
            for _ in range(12):
                for place in await client.append("s", [bytes(chance.randrange(200))] * chance.randrange(1, 4), 1):
                    ends[place.extent] = max(ends.get(place.extent, 0), place.offset + place.length)
                    manager = stage.layer.manager
                    assert manager is not None
                    for name in manager.directory.extents[place.extent].replicas:
                        assert nodes[name].replicas[place.extent].durable >= place.offset + place.length

        async def writers() -> None:
            assert await world.gather([write() for _ in range(4)], "client-1") == [None] * 4

        world.run(begun(stage), "client-1")
        world.run(writers(), "client-1", limit_ns=60 * SECOND)
        world.run(stage.client("client-1").acquire("s", 2), "client-1")
        directory = stage.layer.manager.directory  # type: ignore[union-attr]
        assert len(ends) >= 2
        assert all(ends[extent] <= (directory.extents[extent].sealed or 0) for extent in ends)


@pytest.mark.parametrize("seed", range(3))
def test_s5_concurrent_appends_are_acknowledged_in_the_order_of_their_offsets(seed: int) -> None:
    """S5: within an extent each acknowledgement begins where the one before it ended (no message overtakes here)."""
    with simulated(seed, disks=DiskFaults(MS // 10, MS)) as world:
        stage = Stage(world, count=3, options=EngineOptions())
        told: list[tuple[Location, ...]] = []

        async def write(number: int) -> None:
            client, chance = stage.client("client-1"), world.random(f"writer/{number}")
            for _ in range(10):
                blocks = [b"x" * chance.randrange(1, 300) for _ in range(chance.randrange(1, 4))]
                told.append(tuple(await client.append("s", blocks, 1)))

        async def writers() -> None:
            assert await world.gather([write(number) for number in range(6)], "client-1") == [None] * 6

        world.run(begun(stage), "client-1")
        world.run(writers(), "client-1", limit_ns=60 * SECOND)
        end = 0
        for places in told:
            for place in places:
                assert (place.extent, place.offset) == (told[0][0].extent, end)
                end += place.length
        assert len(told) == 60


def test_s3_a_seal_is_decided_once_however_often_it_is_asked_for() -> None:
    """S3: many ask at once while a writer appends; all are told one length, also after a restart."""
    with simulated(3, **SLOW) as world:
        stage = Stage(world, count=3)
        world.run(begun(stage), "client-1")
        place = world.run(stage.client("client-1").append("s", [b"first"], 1), "client-1")[0]

        async def write() -> None:
            await stage.client("client-1").append("s", [b"second"], 1)

        async def seals() -> list[object]:
            manager = stage.layer.manager
            assert manager is not None
            world.spawn(write(), "client-1").when_done(lambda: None)
            await world.sleep(MS)
            return list(await world.gather([manager.seal(place.extent) for _ in range(5)], "manager"))

        lengths = world.run(seals(), "manager", limit_ns=60 * SECOND)
        (length,) = set(lengths)
        assert isinstance(length, int) and length >= place.offset + place.length
        world.power_cut("lost")
        for task in world.start_all():
            task.when_done(lambda: None)
        world.run_until(world.now_ns() + SECOND)
        assert world.run(stage.layer.manager.seal(place.extent), "manager") == length  # type: ignore[union-attr]
        for node in stage.layer.extent_nodes.values():
            assert node.replicas[place.extent].sealed == length


class Watched:
    """A file that takes its time, and holds the rule against everything it is given."""

    name = "watched"

    def __init__(self, world: Simulator, device: Device, options: EngineOptions, chance: Random) -> None:
        self.world, self.device, self.options, self.chance = world, device, options, chance
        self.under_way: dict[int, tuple[int, int]] = {}
        self.given = self.late = 0

    async def read(self, offset: int, length: int) -> bytes:
        now_ns, options = self.world.now_ns(), self.options
        assert sum(expected for _, expected in self.under_way.values()) <= options.spindle_pending_ns_max
        assert all(now_ns - since <= options.spindle_unserved_ns_max for since, _ in self.under_way.values())
        self.given += 1
        number = self.given
        self.under_way[number] = now_ns, self.device.expected_ns(length)
        stuck = self.chance.randrange(8) == 0
        self.late += stuck
        await self.world.sleep((1_000 if stuck else self.chance.randrange(1, 60)) * MS)
        del self.under_way[number]
        return bytes(length)


@pytest.mark.parametrize("seed", range(5))
def test_s11_no_device_is_given_anything_while_it_is_behind(seed: int) -> None:
    """S11: 100 ms of expected work, 200 ms unserved; a refusal takes no time, and whoever waits is served in turn."""
    options, chance = EngineOptions(), Random(seed)
    with simulated(seed) as world:
        device = Device(world, "n", options)
        file = Watched(world, device, options, chance)
        served: list[int] = []
        refused = 0

        async def read(number: int, deadline_ns: int) -> None:
            nonlocal refused
            began = world.now_ns()
            try:
                await device.read(as_file(file), 0, chance.randrange(1 << 20), deadline_ns)
            except TooSlow:
                assert world.now_ns() == began, "at once"
                refused += 1
                return
            served.append(number)

        for number in range(200):
            deadline_ns = chance.choice((0, 0, 10 * MS, 100 * MS))
            world.spawn(read(number, deadline_ns), "n").when_done(lambda: None)
            world.run_until(world.now_ns() + chance.randrange(20) * MS)
            device.check()
        world.run_until(world.now_ns() + 600 * SECOND)
        assert len(served) + refused == 200 and len(set(served)) == len(served)
        assert refused > 10 and file.late > 5 and file.given == len(served)


def as_file(watched: Watched) -> File:
    return watched  # type: ignore[return-value]


def test_s12_what_is_only_in_the_journal_is_read_from_every_replica_before_and_after() -> None:
    """S12: before the data devices have a byte of it, and after a power cut that leaves the journals alone."""
    with simulated(4) as world:
        stage = Stage(world, count=3)
        world.run(begun(stage), "client-1")
        blocks = [b"%d" % number * 50 for number in range(5)]
        places = world.run(stage.client("client-1").append("s", blocks, 1), "client-1")

        async def everywhere(in_the_journal: bool) -> None:
            for node in stage.layer.extent_nodes.values():
                file = await world.disk(node.name, "data").open(file_name(places[0].extent))
                assert (file.size() == 0) == in_the_journal
                for place, block in zip(places, blocks, strict=True):
                    found: bytes = await world.call(
                        "judge", node.name, "extents", "read", place.extent, place.offset, place.length
                    )
                    assert found == block

        world.run(everywhere(in_the_journal=True), "judge")
        world.power_cut("lost")
        for task in world.start_all():
            task.when_done(lambda: None)
        world.run_until(world.now_ns() + SECOND // 10)
        world.run(everywhere(in_the_journal=False), "judge")  # a start writes what it replays to the data device
