"""Simulated disks: what is synced survives, what is not may be lost or torn; faults are told, never silent."""

from __future__ import annotations

from typing import Any

import pytest

from pkadvisor.engine.worlds.faults import DiskFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Killed
from pkadvisor.engine.worlds.world import DiskError, DiskFull, ReadFailed
from tests.engine.worlds import NodesAtlas, crash_states, simulated

SECOND = 1_000_000_000
SYNCED = b"s" * 1_000
UNSYNCED = b"u" * 3_000


async def write_both(world: Simulator) -> None:
    file = await world.disk("n", "d").open("f")
    await file.append(SYNCED)
    await file.sync()
    await file.append(UNSYNCED)


async def whole(world: Simulator, name: str = "f") -> bytes:
    file = await world.disk("n", "d").open(name)
    return await file.read(0, file.size())


def test_synced_bytes_survive_every_crash_and_the_others_in_every_way() -> None:
    kinds: dict[str, int] = {}
    for seed in range(200):
        with simulated(seed) as world:
            world.run(write_both(world))
            world.crash("n")
            left = world.run(whole(world))
            assert left[: len(SYNCED)] == SYNCED
            rest = left[len(SYNCED) :]
            kind = {0: "lost", len(UNSYNCED): "whole"}.get(len(rest), "part")
            kinds["holes" if b"\0" in rest else kind] = kinds.get("holes" if b"\0" in rest else kind, 0) + 1
            assert set(rest) <= {0, ord("u")}
    assert set(kinds) == {"lost", "part", "whole", "holes"}
    assert min(kinds.values()) >= 10


@pytest.mark.parametrize(("tear", "left"), [("lost", 0), ("kept", 3_000)])
def test_a_crash_can_be_told_what_to_leave(tear: str, left: int) -> None:
    with simulated() as world:
        world.run(write_both(world))
        world.crash("n", tear)
        assert len(world.run(whole(world))) == 1_000 + left
        world.crash("n", "lost")
        assert len(world.run(whole(world))) == 1_000 + left, "what a crash left is durable"


def test_a_crash_may_lose_the_disks_too() -> None:
    with simulated() as world:
        world.run(write_both(world))
        world.crash("n", lose_disks=True)
        assert world.disk("n", "d").names() == ()


async def steps(world: Simulator, told: list[Any]) -> None:
    """A few durable writes; notes after each what must be found."""
    disk = world.disk("n", "d")
    file = await disk.open("f")
    for record in (b"one-----", b"two-----"):
        await file.append(record)
        await file.sync()
        told.append(("f", file.size()))
    await disk.replace("root", b"old root")
    told.append(("root", b"old root"))
    await disk.replace("root", b"new root")
    told.append(("root", b"new root"))
    await file.truncate(8)
    told.append(("cut", 8))
    await disk.delete("root")
    told.append(("root", None))


def test_every_durable_write_is_a_crash_point_and_each_leaves_the_old_or_the_new() -> None:
    seen: dict[int, set[tuple[int, bytes | None]]] = {}
    for state in crash_states(steps):
        world, told = state.world, state.told
        assert (state.number == 0) == (len(told) == 6)
        root = world.run(whole(world, "root")) if "root" in world.disk("n", "d").names() else None
        log = world.run(whole(world))
        assert root in (None, b"old root", b"new root")
        assert b"one-----two-----".startswith(log)
        if ("cut", 8) in told:
            assert log == b"one-----"
        elif ("f", 16) in told:
            assert log in (b"one-----two-----", b"one-----")
        elif told:
            assert log.startswith(b"one-----")
        if ("root", None) in told:
            assert root is None
        elif ("root", b"new root") in told:
            assert root in (b"new root", None)
        elif ("root", b"old root") in told:
            assert root in (b"old root", b"new root")
        seen.setdefault(state.number, set()).add((len(log), root))
    assert sorted(seen) == list(range(10)), "creation, 2 × (append, sync), 2 replacements, truncation, deletion"
    assert seen[2] == {(0, None), (4, None), (7, None), (8, None)}, "all tears of the first append"
    assert seen[6] == {(16, None), (16, b"old root")}, "a replacement is never torn"
    assert seen[7] == {(16, b"old root"), (16, b"new root")}
    assert seen[8] == {(16, b"new root"), (8, b"new root")}


def test_the_crash_point_ends_the_node_that_writes_and_no_more() -> None:
    with simulated() as world:
        trace: list[str] = []

        def boot(name: str) -> Any:
            async def run() -> None:
                file = await world.disk(name, "d").open("f")
                for number in range(3):
                    await file.append(b"12345678")
                    trace.append(f"{name}{number}")
                    await world.sleep(1)

            return run

        for name in ("m", "n"):
            world.add_node(name, boot(name))
        world.crash_at(4, "body")  # creations, then the append of each
        world.start_all()
        world.run_until(10)
        assert trace == ["m0", "m1", "m2"]
        assert world.is_up("m") and not world.is_up("n")
        assert len(world.run(world.disk("n", "d").open("f")).content) == 4


def test_whoever_touches_the_disk_of_a_node_that_crashes_is_told() -> None:
    with simulated() as world:
        world.crash_at(2, "lost")
        with pytest.raises(Killed):
            world.run(write_both(world))


def test_a_full_disk_writes_nothing_and_reads_go_on() -> None:
    with simulated(disks=DiskFaults(capacity_bytes=5_000)) as world:
        world.run(write_both(world))
        assert world.disk("n", "d").free_bytes() == 1_000
        file = world.run(world.disk("n", "d").open("f"))
        with pytest.raises(DiskFull):
            world.run(file.append(b"x" * 1_001))
        with pytest.raises(DiskFull):
            world.run(world.disk("n", "d").replace("g", b"x" * 1_001))
        assert file.size() == 4_000
        assert world.run(whole(world)) == SYNCED + UNSYNCED
        world.disk("n", "d").fill()
        with pytest.raises(DiskFull):
            world.run(file.append(b"x"))
        world.disk("n", "d").make_room()
        world.run(file.append(b"x"))
        assert file.size() == 4_001


def test_a_lost_device_refuses_everything_until_it_is_changed() -> None:
    with simulated() as world:
        world.run(write_both(world))
        disk = world.disk("n", "d")
        file = world.run(disk.open("f"))
        disk.fail()
        for refused in (file.append(b"x"), file.sync(), file.truncate(0), disk.open("g"), disk.replace("g", b"")):
            with pytest.raises(DiskError):
                world.run(refused)
        with pytest.raises(ReadFailed):
            world.run(file.read(0, 1))
        disk.change()
        assert disk.names() == ()
        with pytest.raises(DiskError, match="gone"):
            world.run(file.append(b"x"))


def test_a_failed_sync_proves_nothing_and_ends_the_writing_until_the_node_starts_again() -> None:
    lengths = set()
    for seed in range(20):
        with simulated(seed) as world:
            world.run(write_both(world))
            disk = world.disk("n", "d")
            disk.set_faults(DiskFaults(sync_error_per_million=1_000_000))
            file = world.run(disk.open("f"))
            with pytest.raises(DiskError, match="what it lost is not known"):
                world.run(file.sync())
            disk.set_faults(DiskFaults())
            for refused in (file.sync(), file.append(b"x"), file.truncate(0)):
                with pytest.raises(DiskError, match="failed before"):
                    world.run(refused)
            assert world.run(whole(world)) == SYNCED + UNSYNCED
            world.crash("n")
            lengths.add(file.size())
            world.run(file.append(b"x"))
            world.run(file.sync())
    assert min(lengths) == 1_000 and max(lengths) == 4_000


def test_damage_is_done_only_where_the_atlas_allows_it_and_lasts() -> None:
    faults = DiskFaults(flip_per_million=1_000_000)
    for allowed in (False, True):
        with simulated(disks=faults, atlas=NodesAtlas(["n"] if allowed else ["m"])) as world:
            world.run(write_both(world))
            read = world.run(whole(world))
            turned = [a ^ b for a, b in zip(read, SYNCED + UNSYNCED, strict=True) if a != b]
            assert [bits.bit_count() for bits in turned] == ([1] if allowed else [])
            assert world.counts["bit flipped"] == len(turned)


def test_a_read_error_stays_where_it_is() -> None:
    with simulated(disks=DiskFaults(read_error_per_million=1_000_000), atlas=NodesAtlas(["n"])) as world:
        world.run(write_both(world))
        file = world.run(world.disk("n", "d").open("f"))
        with pytest.raises(ReadFailed):
            world.run(file.read(100, 10))
        world.disk("n", "d").set_faults(DiskFaults())
        with pytest.raises(ReadFailed):
            world.run(file.read(0, 4_000))
        assert world.run(file.read(0, 100)) == SYNCED[:100]
        world.run(file.truncate(100))
        world.run(file.append(b"u"))
        assert world.run(file.read(99, 2)) == b"su"


def test_a_misdirected_write_leaves_zeros_and_harms_other_bytes() -> None:
    with simulated(atlas=NodesAtlas(["n"], ["d"])) as world:
        world.run(write_both(world))
        world.disk("n", "d").set_faults(DiskFaults(misdirect_per_million=1_000_000))
        file = world.run(world.disk("n", "d").open("f"))
        world.run(file.append(b"!!!!"))
        read = world.run(whole(world))
        assert read[-4:] == bytes(4)
        assert b"!!!!" in read[:-4]
        assert world.counts["misdirected write"] == 1


def test_a_device_serves_one_operation_after_the_other_and_a_slow_spindle_takes_its_time() -> None:
    with simulated(disks=DiskFaults(latency_ns_min=1_000_000, latency_ns_mean=1_000_000, ns_per_kib=1_024)) as world:

        async def both() -> None:
            file = await world.disk("n", "d").open("f")
            await world.gather([file.append(b"x" * 1_000), file.append(b"y" * 1_000)], "n")

        world.run(both())
        assert world.now_ns() == 3 * 1_000_000 + 2 * 1_000
        world.disk("n", "d").slow_down(2_300_000_000, SECOND)
        world.run(whole(world))
        assert world.now_ns() == 3_002_000 + 2_300_000_000 + 1_000_000 + 2_000


def test_a_crash_while_the_device_syncs_may_keep_or_lose_the_bytes() -> None:
    kept = set()
    for seed in range(20):
        with simulated(seed, disks=DiskFaults(latency_ns_min=1_000, latency_ns_mean=1_000)) as world:

            async def boot(world: Simulator = world) -> None:
                await write_both(world)

            world.add_node("n", boot)
            world.start("n")
            world.run_until(2_500)  # created, appended; the sync is on its way
            world.crash("n")
            kept.add(len(world.run(whole(world))))
    assert {0, 1_000} <= kept
