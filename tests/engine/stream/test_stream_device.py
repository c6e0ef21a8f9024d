"""S11: nothing is dispatched to a device that is behind; a read with a deadline is refused at once."""

from __future__ import annotations

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import TooSlow
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.worlds.faults import DiskFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import File
from tests.engine.stream.streams_history import MS, SECOND, Stage
from tests.engine.worlds import simulated

OPTIONS = EngineOptions()


class HeldFile:
    """A file whose reads are served when the test says so."""

    name = "held"

    def __init__(self, world: Simulator) -> None:
        self.world = world
        self.dispatched: list[tuple[int, Future[bytes]]] = []

    async def read(self, offset: int, length: int) -> bytes:
        future: Future[bytes] = Future()
        self.dispatched.append((self.world.now_ns(), future))
        return await future


def test_nothing_is_dispatched_behind_a_request_unserved_for_200_ms() -> None:
    """S11."""
    with simulated(1) as world:
        device, file = Device(world, "n", OPTIONS), HeldFile(world)
        reads = [world.spawn(device.read(_as_file(file), 0, 10), "n")]
        world.run_until(200 * MS)
        reads.append(world.spawn(device.read(_as_file(file), 0, 10), "n"))
        world.run_until(201 * MS)
        assert len(file.dispatched) == 2, "200 ms are allowed"
        reads.append(world.spawn(device.read(_as_file(file), 0, 10), "n"))
        world.run_until(900 * MS)
        assert len(file.dispatched) == 2
        began = world.now_ns()
        with pytest.raises(TooSlow):
            world.run(device.read(_as_file(file), 0, 10, 50 * MS), "n")
        assert world.now_ns() == began, "a refusal comes at once"
        file.dispatched[0][1].resolve(b"a")
        file.dispatched[1][1].resolve(b"b")
        world.run_until(901 * MS)
        assert len(file.dispatched) == 3
        file.dispatched[2][1].resolve(b"c")
        world.run_until(902 * MS)
        assert [read.result() for read in reads] == [b"a", b"b", b"c"]
        device.check()


def test_nothing_is_dispatched_behind_100_ms_of_expected_work() -> None:
    """S11."""
    with simulated(1) as world:
        device, file = Device(world, "n", OPTIONS), HeldFile(world)
        piece = 4 << 20  # 40 ms at the assumed rate
        for _ in range(5):
            world.spawn(device.read(_as_file(file), 0, piece), "n")
        world.run_until(MS)
        assert len(file.dispatched) == 3, "120 ms are before the fourth"
        with pytest.raises(TooSlow):
            world.run(device.read(_as_file(file), 0, 1, 10 * MS), "n")
        file.dispatched[0][1].resolve(b"")
        world.run_until(2 * MS)
        assert len(file.dispatched) == 4
        for _, future in file.dispatched[1:]:
            future.resolve(b"")
        world.run_until(3 * MS)
        assert len(file.dispatched) == 5


def test_a_slow_spindle_is_read_around_and_a_stuck_journal_is_written_around() -> None:
    """S11: other replicas answer; and appends that come behind a stuck journal write go to the data device."""
    with simulated(2, disks=DiskFaults(latency_ns_min=MS, latency_ns_mean=MS)) as world:
        stage = Stage(world, count=3)

        async def script() -> None:
            await stage.layer.start()
            client = stage.client("client-1")
            for name in ("s", "t"):
                await client.create(name, 1)
            place = (await client.append("s", [b"x" * 300], 1))[0]
            await client.append("t", [b"t"], 1)
            await client.acquire("s", 2)  # sealed: only the data devices have it
            first = stage.layer.manager and stage.layer.manager.directory.extents[place.extent].replicas[0]
            assert first is not None
            world.disk(first, "data").slow_down(2_300 * MS, 30 * SECOND)
            waiting = world.spawn(client.read(place), "client-1")
            await world.sleep(250 * MS)
            began = world.now_ns()
            assert await client.read(place) == b"x" * 300
            assert world.now_ns() - began < 50 * MS
            assert await waiting == b"x" * 300
            slow = stage.layer.nodes[1].name
            world.disk(slow, "data").slow_down(0, 0)
            world.disk(slow, "journal").slow_down(2_300 * MS, 1)
            stuck = world.spawn(stage.layer.extent_nodes[slow]._journal.append(b"stuck"), slow)
            await world.sleep(1)
            stuck_journal = stage.layer.extent_nodes[slow]._journal
            stuck_journal.busy_since_ns()
            await world.sleep(250 * MS)
            began = world.now_ns()
            await client.append("t", [b"u"], 1)
            assert world.now_ns() - began < 100 * MS
            assert not stuck.done
            await stuck

        world.run(script(), "client-1")
        assert world.counts["read refused as too slow"] >= 1
        assert world.counts["journal refused"] == 1
        stage.layer.check()


def _as_file(held: HeldFile) -> File:
    return held  # type: ignore[return-value]
