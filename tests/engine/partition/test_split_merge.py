"""Split and merge without crashes: where a range may be divided, what is refused, and what is never let go."""

from __future__ import annotations

import pytest

from pkadvisor.engine.partition.commit_log import WRITE, blocks_of, encode_record
from pkadvisor.engine.partition.metadata import RangeMissing, RangeRoot, RangeStopped, latest_roots
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.partition.range_rows import SERVING
from pkadvisor.engine.partition.split_merge import merge, split
from pkadvisor.engine.stream.access import LimitReached
from pkadvisor.engine.tables.row_keys import partition_boundary
from pkadvisor.engine.worlds.world import Unreachable
from tests.engine.partition.harness import NODE, Land, key, rows_of

MIDDLE = partition_boundary(key(2, 0))


def land_with_rows() -> Land:
    land = Land()
    land.streams.strict = True
    land.world.run(land.create())
    for turn in range(4):
        for partition in (1, 2, 3):
            land.world.run(land.write((key(partition, turn), b"%d" % turn)))
    return land


def test_a_range_is_never_divided_inside_a_partition_key():
    """P5."""
    land = land_with_rows()
    part = land.parts[0]
    for at in (key(2, 0), key(2, 3), MIDDLE + b"\x01", MIDDLE[:-1]):
        with pytest.raises(ValueError):
            land.world.run(split(part, at, 2, 3, 9))
    land.world.run(land.split(0, MIDDLE))
    for index, at in ((0, MIDDLE), (1, MIDDLE), (0, partition_boundary(key(3, 0)))):
        with pytest.raises(ValueError, match="inside its bounds"):
            land.world.run(split(land.parts[index], at, 8, 9, 9))
    land.world.run(land.verify())


def test_only_neighbours_merge():
    land = land_with_rows()
    land.world.run(land.split(0, MIDDLE))
    left, right = land.parts
    with pytest.raises(ValueError, match="neighbours"):
        land.world.run(merge(right, left, 9, 9))
    land.world.run(land.verify())


def test_parents_serve_nothing_once_their_children_exist():
    """P1, P2."""
    land = land_with_rows()
    parent = land.parts[0]
    land.world.run(land.split(0, MIDDLE))
    for part in (parent, *land.parts):
        if part is parent:
            with pytest.raises(RangeStopped):
                land.world.run(part.write([key(1, 1)], lambda rows, _: [(key(1, 1), b"late")]))
            with pytest.raises(RangeStopped):
                part.cursor(b"", None)
    with pytest.raises(RangeMissing):
        land.world.run(RangePartition.load(land.world, NODE, land.streams, land.options, 1, 99))


@pytest.mark.parametrize("what", ["split", "merge"])
def test_a_change_that_the_streams_refuse_leaves_the_parents_as_they_were(what: str):
    """P4: a refusal that is certain is no stop."""
    land = land_with_rows()
    land.world.run(land.split(0, MIDDLE))
    parts = list(land.parts)

    async def act() -> None:
        if what == "split":
            await split(parts[1], partition_boundary(key(3, 0)), 20, 21, land.next_epoch())
        else:
            await merge(*parts, 20, land.next_epoch())

    refuse_change(land, parts, LimitReached("streams"))
    with pytest.raises(LimitReached):
        land.world.run(act())
    assert [part.state for part in parts] == [SERVING, SERVING]
    land.world.run(land.write((key(1, 1), b"goes on")))
    land.world.run(land.write((key(3, 1), b"goes on")))
    land.world.run(land.verify())
    land.world.run(act())


def test_a_change_of_which_nobody_knows_whether_it_happened_stops_the_parent():
    """P4: unavailable, not wrong."""
    land = land_with_rows()
    part = land.parts[0]
    refuse_change(land, [part], Unreachable("no answer"))
    with pytest.raises(Unreachable):
        land.world.run(land.split(0, MIDDLE))
    with pytest.raises(RangeStopped):
        land.world.run(part.read(key(1, 1)))
    land.world.run(land.recover())
    assert [each.number for each in land.parts] == [1]


def refuse_change(land: Land, parts: list[RangePartition], error: Exception) -> None:
    """The next change of streams as one answers with an error."""
    streams = parts[0].streams
    carry_out = streams.multi_modify

    async def refuse(change: object) -> None:
        streams.multi_modify = carry_out  # type: ignore[method-assign]
        raise error

    streams.multi_modify = refuse  # type: ignore[method-assign, assignment]


def test_row_data_is_not_let_go_in_the_order_of_numbers_as_long_as_any_of_it_was_inherited():
    """S9, P4: after a merge the extents of a stream lie in no order of numbers."""
    land = land_with_rows()

    async def run() -> None:
        await land.split(0, MIDDLE)
        for index, partition in ((1, 3), (0, 1)):  # the right child writes before the left one
            for turn in range(3):
                await land.write((key(partition, turn), b"of the child"))
                await land.parts[index].checkpoint()
            await land.parts[index].maintain()  # nothing of the parent is left
            await land.recover()  # each goes on in extents of its own
        await land.merge(0)
        data, used = land.memory.streams[f"range/{land.parts[0].number}/data"], land.parts[0].tree.extents()
        places = [data.index(extent) for extent in used]
        assert places != sorted(places), "the case that this test is about"
        for turn in range(12):
            await land.write((key(turn % 3 + 1, 30 + turn), b"later"))
            await land.parts[0].checkpoint()
            land.parts[0].tree.cache.__init__(1 << 20)  # type: ignore[misc]
            await land.verify()
            await land.parts[0].maintain()
            await land.verify()
        await land.recover()
        assert not land.parts[0].metadata.root.inherited, "all was combined in the end"

    land.world.run(run())
    held = land.memory.streams[f"range/{land.parts[0].number}/data"]
    assert len(held) < 8, "what is no longer used is let go at last"


def test_a_record_that_a_deposed_owner_got_into_the_log_after_all_is_not_applied():
    """P2: the owner's mark in the log stands where sealing should have been enough."""
    land = land_with_rows()
    old = land.parts[0]
    land.world.run(land.recover())
    late = encode_record(old.epoch, old.sequence + 1, old.sequence, WRITE, [(key(1, 1), b"zombie")])
    land.memory.extents[land.memory.streams["range/1/log"][-1]].extend(blocks_of([late], old.sequence + 1, 9_999))
    land.world.run(land.recover())
    assert land.world.counts["stale record not applied"] == 1


def test_a_root_of_a_deposed_owner_or_an_older_one_again_does_not_hold():
    """P2, P6."""
    one, two, three = (RangeRoot(1, epoch, version, b"", None) for epoch, version in ((1, 1), (1, 2), (2, 3)))
    other = RangeRoot(2, 1, 1, b"", None)
    assert latest_roots([one, two, one, other]) == {1: two, 2: other}
    assert latest_roots([one, three, two, one]) == {1: three}


def test_many_splits_and_merges_keep_every_row_and_version():
    """P4."""
    land = land_with_rows()

    async def run() -> None:
        for turn in range(6):
            await land.split(0, partition_boundary(key(1 + turn % 2, 0)))
            await land.split(1, partition_boundary(key(3, 0)))
            await land.write((key(1, turn), b"t%d" % turn), (key(1, turn + 1), None))
            await land.write((key(3, turn), None))
            if turn % 2:
                await land.recover()
            await land.merge(turn % 2)
            await land.write((key(2, turn + 7), b"between"))
            await land.merge(0)
            await land.verify()
        assert len(await rows_of(*land.parts)) > 8

    land.world.run(run())
