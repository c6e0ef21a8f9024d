"""The check of a stamp notices what is wrong in a part of it, wherever it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.partition.leadership import Term
from pkadvisor.engine.partition.partition_map import Pending
from pkadvisor.engine.stamp import Stamp
from tests.engine.stamp.stamps import SMALL, built, put
from tests.engine.worlds import simulated


def term(stamp: Stamp) -> Term:
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


def wait_for_what_is_not_to_be_coded(stamp: Stamp) -> None:
    assert stamp.streams.caretaker is not None
    stamp.streams.caretaker._waited[1] = 1


def code_an_open_extent(stamp: Stamp) -> None:
    assert stamp.streams.manager is not None
    next(iter(stamp.streams.manager.directory.extents.values())).coded = "rs-2-1"


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
        (wait_for_what_is_not_to_be_coded, "not to be"),
        (code_an_open_extent, "only what is sealed is coded"),
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
