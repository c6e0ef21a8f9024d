"""What the manager does by itself under load: split, part, merge, leave a running tail alone (P9, P11)."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.stamp import Stamp
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
