"""The check of a stamp notices what is wrong in a part of it, wherever it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.partition.leadership import LeaderTerm
from pkadvisor.engine.partition.partition_map import Pending
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.stream.access import NotThere
from tests.engine.stamp.stamps import SMALL, built, put
from tests.engine.worlds import simulated


def term(stamp: Stamp) -> LeaderTerm:
    found = stamp.managers["manager-0"]._term
    assert found is not None
    return found


def lengthen_a_lease(stamp: Stamp) -> None:
    stamp.servers["server-0"]._lease.ends_ns += 1 + SMALL.lease_ns


def hold_under_another_epoch(stamp: Stamp) -> None:
    stamp.servers["server-0"]._lease.epoch += 100


def hold_what_the_service_forgot(stamp: Stamp) -> None:
    assert stamp.locks is not None
    del stamp.locks._holdings["manager"]


def show_the_root_of_another_owner(stamp: Stamp) -> None:
    (hosted,) = stamp.servers["server-0"]._ranges.values()
    hosted.partition.metadata.root = replace(hosted.partition.metadata.root, epoch=99)


def put_off_a_snapshot_of_the_map(stamp: Stamp) -> None:
    term(stamp).store._since_snapshot = SMALL.map_snapshot_changes + 1


def remember_a_range_that_is_gone(stamp: Stamp) -> None:
    term(stamp)._freed[99] = 0


def merge_ranges_of_two_servers(stamp: Stamp) -> None:
    routes = term(stamp).store.routes
    left, right = routes.map.entries
    routes.map = replace(routes.map, pending=(Pending(1, (left.number, right.number), (0,), 0),))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lengthen_a_lease, "longer than it was granted"),
        (hold_under_another_epoch, "held twice"),
        (hold_what_the_service_forgot, "does not know"),
        (show_the_root_of_another_owner, "root of another owner"),
        (put_off_a_snapshot_of_the_map, "snapshot is overdue"),
        (remember_a_range_that_is_gone, "range that is gone"),
        (merge_ranges_of_two_servers, "are being changed"),
    ],
)
def test_the_check_of_a_stamp_notices(spoil: Callable[[Stamp], None], said: str) -> None:
    with simulated(7) as world:
        boundaries = (b"m",) if spoil is merge_ranges_of_two_servers else ()
        stamp = built(world, servers=2 if boundaries else 1, boundaries=boundaries)
        world.run(put(stamp, 1, 1), limit_ns=10 * SECOND)
        stamp.check()
        spoil(stamp)
        with pytest.raises(AssertionError, match=said):
            stamp.check()


@pytest.mark.parametrize("while_checked", [False, True])
def test_only_what_a_server_answers_for_must_be_there(monkeypatch: pytest.MonkeyPatch, while_checked: bool) -> None:
    """P2: the extents of a range that another server has by now may be collected."""
    with simulated(8) as world:
        stamp = built(world, servers=2)
        world.run(put(stamp, 1, 1), limit_ns=10 * SECOND)
        (old,) = (name for name, server in stamp.servers.items() if server.serves())
        (new,) = stamp.servers.keys() - {old}

        async def gone(partition: RangePartition) -> None:
            assert while_checked or partition in found[new]
            if while_checked and partition in found[old]:
                await lose()
            raise NotThere("no such extent")

        async def lose() -> None:
            world.network.block([old], [name for name in world.nodes() if name != old])
            await world.sleep(2 * SMALL.lease_ns + SECOND)
            found[new] = [hosted.partition for hosted in stamp.servers[new]._ranges.values()]

        found = {old: [hosted.partition for hosted in stamp.servers[old]._ranges.values()], new: []}
        if not while_checked:
            world.run(lose(), limit_ns=60 * SECOND)
        monkeypatch.setattr(RangePartition, "check", gone)
        world.run(stamp.servers[old].check(), limit_ns=60 * SECOND)
        assert stamp.servers[old]._ranges, "it has not heard yet that it lost them"
        assert found[new], "another one has them"
        with pytest.raises(NotThere):
            world.run(stamp.servers[new].check(), limit_ns=60 * SECOND)
