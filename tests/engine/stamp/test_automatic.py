"""What the manager does by itself under load: split, part, merge, leave a running tail alone (P9, P11)."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.worlds.faults import DiskFaults, NetworkFaults
from tests.engine.stamp.stamps import SMALL, built, get, put
from tests.engine.worlds import simulated

BUSY = replace(SMALL, range_requests_per_s=50, server_requests_per_s=200)


async def drive(stamp: Stamp, seconds: int, number: object, per_s: int = 60) -> None:
    for i in range(seconds * per_s):
        assert (await put(stamp, number(i), i)).ok  # type: ignore[operator]
        await stamp.world.sleep(SECOND // per_s)


def test_a_hot_range_is_split_its_children_part_and_idle_ones_merge_again() -> None:
    with simulated(1) as world:
        stamp = built(world, BUSY, servers=2)
        chance = world.random("keys")
        world.run(drive(stamp, 30, lambda _: chance.randrange(400)))
        assert len(stamp.map().entries) >= 2  # type: ignore[union-attr]
        assert {entry.server for entry in stamp.map().entries} == {"server-0", "server-1"}  # type: ignore[union-attr]
        assert world.counts["split"] <= 3
        stamp.check()
        world.run_until(world.now_ns() + 3 * BUSY.merge_after_ns)
        assert len(stamp.map().entries) == 2, "one for each server"  # type: ignore[union-attr]
        world.run(stamp.check_all())


def test_keys_that_grow_with_time_are_not_split_at_all() -> None:
    """P11."""
    with simulated(2) as world:
        stamp = built(world, BUSY, servers=2)
        world.run(drive(stamp, 30, lambda i: i))
        assert len(stamp.map().entries) == 1  # type: ignore[union-attr]
        assert world.run(get(stamp, 17)) == 17


def test_a_lost_server_that_returns_gets_ranges_again() -> None:
    with simulated(3) as world:
        stamp = built(world, BUSY, servers=2, boundaries=tuple(b"a\0t\0p%05d\0" % i for i in range(1, 6)))
        world.run_until(world.now_ns() + 10 * SECOND)
        world.crash("server-1")
        world.run_until(world.now_ns() + BUSY.lease_ns + 2 * SECOND)
        assert {entry.server for entry in stamp.map().entries} == {"server-0"}  # type: ignore[union-attr]
        world.start("server-1")
        world.run_until(world.now_ns() + 40 * SECOND)
        held = [entry.server for entry in stamp.map().entries]  # type: ignore[union-attr]
        assert held.count("server-0") == held.count("server-1") == 3
        stamp.check()


def test_a_stamp_at_rest_stays_at_rest() -> None:
    """P9, and a manager that changes nothing writes nothing."""
    with simulated(4) as world:
        stamp = built(world, BUSY, servers=2)
        version = stamp.map().version  # type: ignore[union-attr]
        world.run_until(world.now_ns() + 60 * SECOND + 500 * MS)
        assert stamp.map().version == version  # type: ignore[union-attr]


def test_p9_a_constant_load_splits_and_then_rests() -> None:
    """P9: the same traffic for two of the policy's hours: no key range is split and merged, and at last all rests."""
    with simulated(5) as world:
        stamp = built(world, BUSY, servers=2)
        chance = world.random("keys")
        load = world.spawn(drive(stamp, 120, lambda _: chance.randrange(400), per_s=60))
        versions: list[int] = []
        while not load.done:
            world.run_until(world.now_ns() + 10 * SECOND)
            stamp.check()
            versions.append(stamp.map().version)  # type: ignore[union-attr]
        load.result()
        assert world.counts["split"] in (1, 2, 3)
        assert world.counts["merge"] == 0, "what a load needs apart is not merged while it lasts"
        assert len(set(versions[len(versions) // 2 :])) == 1, "the second half of the time nothing changes"


def test_p10_a_hand_over_takes_no_longer_than_the_options_say() -> None:
    """P10: a planned move, split or merge under load leaves no key without an answer for more than ``move_ns``."""
    options = replace(EngineOptions(), evaluate_ns=3600 * SECOND)  # nobody but this test moves anything
    network, disks = NetworkFaults(MS, 3 * MS), DiskFaults(MS, 6 * MS)
    with simulated(6, network=network, disks=disks) as world:
        stamp = built(world, options, servers=2)
        longest_ns = 0

        async def ask(number: int) -> None:
            nonlocal longest_ns
            while working:
                began_ns = world.now_ns()
                assert (await put(stamp, number, 1)).ok
                assert await get(stamp, number) == 1
                longest_ns = max(longest_ns, world.now_ns() - began_ns)
                await world.sleep(50 * MS)

        async def order(action: SplitRange | MergeRanges | MoveRange) -> None:
            leader = stamp.leader()
            assert leader is not None and await leader.order(action)
            await world.sleep(5 * SECOND)

        working = True
        tasks = [world.spawn(ask(number)) for number in range(0, 200, 40)]
        world.run_until(world.now_ns() + SECOND)
        for turn in range(2):
            (entry,) = stamp.map().entries  # type: ignore[union-attr]
            world.run(order(MoveRange(entry.number, f"server-{1 - turn % 2}")), limit_ns=60 * SECOND)
            world.run(order(SplitRange(entry.number, "size")), limit_ns=60 * SECOND)
            left, right = stamp.map().entries  # type: ignore[union-attr]
            world.run(order(MoveRange(right.number, f"server-{turn % 2}")), limit_ns=60 * SECOND)
            world.run(order(MergeRanges(left.number, right.number)), limit_ns=60 * SECOND)
        working = False
        world.run_until(world.now_ns() + 30 * SECOND)
        for task in tasks:
            task.result()
        assert 0 < longest_ns <= options.move_ns // 2, "half of it, with devices of a few milliseconds"
        assert world.counts["map refreshed"] > 10


def test_p11_tails_beside_one_another_are_parted_and_none_is_split() -> None:
    """P11: four tails that grow with time lie apart, so splits between them help; three do, and no more come."""
    with simulated(7) as world:
        stamp = built(world, replace(BUSY, range_requests_per_s=25), servers=2)
        # Each tail keeps its place in the key space, and within it every key is a new one.
        world.run(drive(stamp, 90, lambda i: 200_000 * (i % 4) + 10 * (i // 4)))
        assert world.counts["split"] <= 3
        lows = [entry.low for entry in stamp.map().entries]  # type: ignore[union-attr]
        assert len(lows) == 1 + world.counts["split"]


def test_m3_the_load_that_a_server_reports_obeys_little_s_law() -> None:
    """M3: the mean number in service that it reports is what a clock at the door counts, and rate times latency."""
    with simulated(8, disks=DiskFaults(MS, 5 * MS)) as world:
        stamp = built(world, replace(BUSY, sustain_ns=3600 * SECOND))
        present = area = changed_ns = asked = answered = 0
        working = True

        def step(change: int) -> None:
            nonlocal present, area, changed_ns
            area += present * (world.now_ns() - changed_ns)
            present, changed_ns = present + change, world.now_ns()

        async def ask(number: int) -> None:
            nonlocal asked, answered
            chance = world.random(f"asker/{number}")
            while working:
                asked += 1
                step(1)
                assert (await put(stamp, number, asked)).ok
                step(-1)
                answered += 1
                await world.sleep(chance.randrange(40 * MS))

        tasks = [world.spawn(ask(number)) for number in range(0, 100, 10)]
        (hosted,) = stamp.servers["server-0"]._ranges.values()
        told = counted = product = 0
        for window in range(16):
            began_ns, seen, before = world.now_ns(), area, hosted.load
            while hosted.load is before:
                world.run_until(world.now_ns() + MS)
            step(0)
            if window:  # the first began before the traffic did
                load, past_ns = hosted.load, world.now_ns() - began_ns
                told, counted = told + load.pending_milli * past_ns, counted + 1_000 * (area - seen)
                product += load.requests_per_ks * load.latency_ns * past_ns // SECOND
        assert 20 * abs(told - counted) <= counted, "over many windows, as counted at the door"
        assert 20 * abs(told - product) <= told, "N = X R"
        working = False
        world.run_until(world.now_ns() + 5 * SECOND)
        for task in tasks:
            task.result()
        assert asked == answered > 500, "conservation: nothing is refused and nothing is left in flight"
