"""The map tiles the key space after every change, and its stream gives it back (P1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.engine.ownership_errors import NotLeader
from pkadvisor.engine.partition.partition_map import (
    Change,
    MapStore,
    PartitionMap,
    RangeEntry,
    RangeRoutes,
    apply,
    first_map,
)
from pkadvisor.engine.stream.access import Fenced
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt
from tests.engine.fakes import MemoryStreams
from tests.engine.stamp.stamps import SMALL
from tests.tiers import examples


def split_at(before: PartitionMap, number: int, at: bytes) -> Change:
    entry = next(each for each in before.entries if each.number == number)
    first = before.next_number
    put = (RangeEntry(first, entry.low, at, "s"), RangeEntry(first + 1, at, entry.high, "s"))
    return Change(before.version + 1, (number,), put, next_number=first + 2)


def test_a_change_that_leaves_a_hole_or_an_overlap_is_refused() -> None:
    before = first_map((b"m",))
    for put in ((), (RangeEntry(3, b"", b"l"),), (RangeEntry(3, b"", b"n"),)):
        with pytest.raises(AssertionError):
            apply(before, Change(2, (1,), put, next_number=4))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=3), unique=True, max_size=12), st.binary(max_size=4), st.data())
def test_every_key_has_one_range_and_a_new_leader_reads_the_same_map(
    boundaries: list[bytes], key: bytes, data: st.DataObject
) -> None:
    streams, world = MemoryStreams(), Simulator()
    store = world.run(MapStore.open(streams, 1, SMALL, ()))
    for at in boundaries:
        entry = store.routes.find(at)
        if at != entry.low:
            world.run(store.change(lambda before, e=entry, a=at: split_at(before, e.number, a)))
    routes = store.routes
    assert [each.number for each in routes.map.entries if each.holds(key)] == [routes.find(key).number]
    if data.draw(st.booleans()):  # the last append lies there twice
        name = "partitions/map"
        streams.extents[streams.streams[name][-1]].append(streams.extents[streams.streams[name][-1]][-1])
    again = world.run(MapStore.open(streams, 2, SMALL, (b"other",)))
    assert again.routes.map == routes.map
    with pytest.raises(Fenced):
        world.run(store.change(lambda before: Change(before.version + 1)))
    with pytest.raises(NotLeader):
        world.run(store.change(lambda before: Change(before.version + 1)))
    world.close()


def test_a_map_that_is_lost_is_not_begun_anew_but_refused() -> None:
    """P1: a stamp that lost its map is unavailable, not empty; one that never wrote its first map begins."""
    streams, world = MemoryStreams(), Simulator()
    world.run(streams.create("partitions/map", 1))  # its leader crashed before the first snapshot
    world.run(MapStore.open(streams, 2, SMALL, ()))
    for extent in streams.streams["partitions/map"]:
        streams.extents[extent].clear()
    for _ in range(2):
        with pytest.raises(DataCorrupt):
            world.run(MapStore.open(streams, 3, SMALL, ()))
    del streams.streams["partitions/map"]
    with pytest.raises(DataCorrupt):
        world.run(MapStore.open(streams, 4, SMALL, ()))
    world.close()


def test_the_first_map_has_a_range_for_each_boundary_and_one() -> None:
    found = first_map((b"g", b"p"))
    assert [(each.low, each.high) for each in found.entries] == [(b"", b"g"), (b"g", b"p"), (b"p", None)]
    assert RangeRoutes(found).find(b"g").number == 2
