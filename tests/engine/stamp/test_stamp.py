"""A whole stamp: serves, fails over, splits, merges, moves; no zombie is believed (P1, P2, P4, P8, P10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.stamp import Layout, Stamp
from pkadvisor.engine.worlds.faults import NetworkFaults
from pkadvisor.engine.worlds.world import EngineError, Unreachable
from tests.engine.stamp.stamps import SMALL, Client, built, get, key_of, put
from tests.engine.worlds import machine, simulated


async def fill(stamp: Stamp, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        assert (await put(stamp, number, number)).ok


async def holds(stamp: Stamp, count: int) -> None:
    for number in range(count):
        assert await get(stamp, number) == number


def order(stamp: Stamp, action: SplitRange | MergeRanges | MoveRange) -> bool:
    leader = stamp.leader()
    assert leader is not None
    return stamp.world.run(leader.order(action))  # type: ignore[attr-defined, no-any-return]


def test_what_was_written_through_a_front_end_is_read_through_another_and_after_a_power_cut() -> None:
    with simulated(1) as world:
        stamp = built(world, front_ends=2)
        world.run(fill(stamp, 60))
        assert world.run(get(stamp, 7, front_end=1)) == 7
        assert world.run(get(stamp, 61)) is None
        world.power_cut()
        for task in world.start_all():
            world.run(task_of(task))
        world.run(stamp.until_settled(), limit_ns=60 * SECOND)
        world.run(holds(stamp, 60))
        world.run(stamp.check_all())


async def task_of(task: object) -> None:
    await task  # type: ignore[misc]


def test_the_same_stamp_stands_on_files_and_comes_back(tmp_path: Path) -> None:
    for round_ in range(3):
        with machine(tmp_path, sync=False) as world:
            stamp = Stamp(world, SMALL, Layout(servers=2))
            world.run(stamp.start())
            world.run(holds(stamp, 40 * round_))
            world.run(fill(stamp, 40, 40 * round_))
            world.run(stamp.check_all())


def test_a_lost_server_s_ranges_are_served_by_the_others_within_a_bound() -> None:
    """P10: detection (lease and drift), one heartbeat, one load."""
    with simulated(2) as world:
        stamp = built(world, servers=2)
        world.run(fill(stamp, 80))
        (owner,) = {entry.server for entry in stamp.map().entries}  # type: ignore[union-attr]
        world.crash(owner)
        lost_ns = world.now_ns()
        assert world.run(get(stamp, 3)) == 3
        bound_ns = SMALL.lease_ns + SMALL.clock_drift_ns_max + 2 * SMALL.heartbeat_ns + SECOND
        assert world.now_ns() - lost_ns <= bound_ns
        assert {entry.server for entry in stamp.map().entries} != {owner}  # type: ignore[union-attr]
        world.run(holds(stamp, 80))
        stamp.check()


def test_a_range_is_split_merged_and_moved_and_loses_nothing() -> None:
    with simulated(3) as world:
        stamp = built(world, servers=2)
        world.run(fill(stamp, 200))
        (entry,) = stamp.map().entries  # type: ignore[union-attr]
        assert order(stamp, SplitRange(entry.number, "size"))
        left, right = stamp.map().entries  # type: ignore[union-attr]
        assert left.high == right.low and left.high is not None and left.high.count(b"\0") == 3  # P5
        world.run(holds(stamp, 200))
        assert order(stamp, MoveRange(right.number, "server-1"))
        assert [e.server for e in stamp.map().entries] == ["server-0", "server-1"]  # type: ignore[union-attr]
        world.run(holds(stamp, 200))
        world.run(fill(stamp, 200))
        assert order(stamp, MergeRanges(left.number, right.number))
        assert len(stamp.map().entries) == 1  # type: ignore[union-attr]
        world.run(holds(stamp, 200))
        world.run(stamp.check_all())
        assert world.counts["map refreshed"] > 3, "a stale front end learns of it (P8)"


def test_a_check_goes_on_while_a_range_moves_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check waits for reads of pages, and the balancer does not wait for it."""
    with simulated(5) as world:
        stamp = built(world, servers=2, boundaries=(key_of(50)[:-2], key_of(90)[:-2]))
        first, second = [entry for entry in stamp.map().entries if entry.server == "server-0"]  # type: ignore[union-attr]
        check = RangePartition.check

        async def slow(part: RangePartition) -> None:
            await check(part)
            if part.number == first.number:
                assert await stamp.leader().order(MoveRange(second.number, "server-1"))  # type: ignore[union-attr]

        monkeypatch.setattr(RangePartition, "check", slow)
        world.run(stamp.check_all())
        assert stamp.servers["server-1"].serves()[-1][0] == second.number


def test_a_server_that_was_paused_beyond_its_lease_serves_nothing_when_it_wakes() -> None:
    """P2: its answer would be an old one."""
    with simulated(4) as world:
        stamp = built(world, servers=2, front_ends=2)
        world.run(fill(stamp, 20))
        assert world.run(get(stamp, 3, front_end=1)) == 3  # this front end keeps the old map
        world.pause("server-0")
        with pytest.raises(Unreachable):
            world.run(put(stamp, 3, 32))
        assert world.run(put(stamp, 3, 33)).ok
        stamp.check()
        world.resume("server-0")
        assert world.run(get(stamp, 3, front_end=1)) == 33
        stamp.check()
        assert world.counts["zombie rejected"] + world.counts["server lost its lease"] > 0


def test_a_manager_takes_over_and_the_deposed_one_changes_nothing() -> None:
    with simulated(5) as world:
        stamp = built(world, servers=2, managers=2)
        world.run(fill(stamp, 60))
        first = next(name for name, manager in stamp.managers.items() if manager.leads)
        world.pause(first)
        world.run_until(world.now_ns() + 2 * SMALL.lease_ns + SECOND)
        second = next(name for name, manager in stamp.managers.items() if manager.leads)
        assert second != first
        world.resume(first)
        world.run_until(world.now_ns() + SECOND)
        assert not stamp.managers[first].leads
        (entry,) = stamp.map().entries  # type: ignore[union-attr]
        assert order(stamp, SplitRange(entry.number, "size"))
        world.run(holds(stamp, 60))


@pytest.mark.parametrize("victim", ["server-0", "manager", "both"])
def test_a_crash_anywhere_in_a_split_or_merge_leaves_one_whole_map(victim: str) -> None:
    """P1, P4: the crash comes after more and more of it was done."""
    outcomes = set()
    for step in range(14):
        with simulated(step, network=network_of()) as world:
            stamp = built(world, servers=2, managers=2)
            world.run(fill(stamp, 60))
            (entry,) = stamp.map().entries  # type: ignore[union-attr]
            leader_name = next(name for name, manager in stamp.managers.items() if manager.leads)
            world.spawn(quietly(world.call("", leader_name, "map", "order", SplitRange(entry.number, "size"))))
            world.run_until(world.now_ns() + step * 3 * MS)
            names = {"server-0": ["server-0"], "manager": [leader_name], "both": ["server-0", leader_name]}[victim]
            for name in names:
                world.crash(name)
            world.run_until(world.now_ns() + SECOND * (step % 3))
            for name in names:
                world.start(name)
            world.run_until(world.now_ns() + SECOND)
            world.run(stamp.until_settled(), limit_ns=60 * SECOND)
            outcomes.add(len(stamp.map().entries))  # type: ignore[union-attr]
            world.run(holds(stamp, 60))
            world.run(stamp.check_all())
    assert outcomes == {1, 2}


def network_of() -> NetworkFaults:
    return NetworkFaults(delay_ns_min=100_000, delay_ns_mean=MS)


async def quietly(coroutine: object) -> None:
    try:
        await coroutine  # type: ignore[misc]
    except EngineError:
        return


def test_the_same_seed_gives_the_same_run() -> None:
    """M8."""

    def run() -> str:
        with simulated(9, network=network_of()) as world:
            stamp = built(world, servers=2)
            clients = [Client(stamp, range(20 * i, 20 * i + 20)) for i in range(3)]
            tasks = [world.spawn(client.work(40)) for client in clients]
            world.run_until(world.now_ns() + SECOND)
            world.crash("server-0")
            world.run_until(world.now_ns() + SECOND)
            world.start("server-0")
            for task in tasks:
                world.run(task_of(task))
            assert key_of(3) < key_of(30)
            return world.event_hash()

    assert run() == run()
