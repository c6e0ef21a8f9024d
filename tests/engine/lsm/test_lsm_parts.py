"""Pages, filters, cache, memory table and the choice of what to combine, each for itself."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pkadvisor.engine.lsm import checkpoint as blocks
from pkadvisor.engine.lsm import memory_table
from pkadvisor.engine.lsm.bloom import SCHEME, Filter, digest
from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.checkpoint import ROOT_DECODER, Checkpoint
from pkadvisor.engine.lsm.checkpoint_writer import CombineTask, choose, tier
from pkadvisor.engine.lsm.memory_table import MemoryTable
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import Location
from pkadvisor.engine.worlds.world import DataCorrupt, FormatError
from tests.engine.fakes import MemoryStreams
from tests.engine.lsm.straight import run

OPTIONS = replace(EngineOptions(), page_bytes=200, index_fan_out=4)


def filled(rows: int, options: EngineOptions = OPTIONS) -> tuple[MemoryStreams, Tree]:
    """A tree with one checkpoint of rows ``k00000`` … of 40 bytes."""
    streams = MemoryStreams()
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, options)
    tree.apply(1, [(b"k%05d" % i, b"%040d" % i) for i in range(rows)])
    checkpointed(tree)
    return streams, tree


def checkpointed(tree: Tree) -> Checkpoint:
    tree.freeze()
    checkpoint = run(tree.write_checkpoint())
    assert checkpoint is not None
    tree.install(checkpoint)
    return checkpoint


def reopened(streams: MemoryStreams, tree: Tree, low: bytes = b"", high: bytes | None = None) -> Tree:
    return run(Tree.open(streams, "data", 1, OPTIONS, tree.checkpoints, low, high))


# ------------------------------------------------------------------------------------------------ pages


@given(st.dictionaries(st.binary(min_size=1), st.none() | st.binary(), min_size=1), st.integers(0, 2**62))
def test_a_page_gives_back_what_was_packed(rows: dict[bytes, bytes | None], sequence: int) -> None:
    keys = sorted(rows)
    values = [rows[key] for key in keys]
    block = blocks.pack_page(keys, [sequence] * len(keys), values, values.count(None))
    page = blocks.unpack_page(block, keys[0])
    assert (page.keys, page.sequences, page.tombstones) == (keys, [sequence] * len(keys), values.count(None))
    assert [page.value(i) for i in range(len(keys))] == values
    for first in range(len(keys)):
        assert page.values(first, len(keys)) == values[first:]
        assert page.values(0, first) == values[:first]


@pytest.mark.parametrize("length", [0, 1, 255, 256, 65_535, 65_536])
@pytest.mark.parametrize("rows", [1, 15, 16, 17])
def test_values_of_any_length_are_found_in_a_page_by_themselves(length: int, rows: int) -> None:
    keys = [b"%02d" % row for row in range(rows)]
    values: list[bytes | None] = [bytes([row]) * length for row in range(rows)]
    values[rows // 2] = None
    page = blocks.unpack_page(blocks.pack_page(keys, list(range(rows)), values, 1), keys[0])
    assert [page.value(row) for row in range(rows)] == values


def test_a_block_that_is_not_the_one_meant_is_refused() -> None:
    block = blocks.pack_page([b"a", b"b"], [1, 2], [b"x", None], 1)
    with pytest.raises(DataCorrupt, match="the index says"):
        blocks.unpack_page(block, b"b")
    with pytest.raises(DataCorrupt, match="kind"):
        blocks.unpack_node(block, b"a")
    with pytest.raises(FormatError, match="P2"):
        blocks.unpack_page(b"P3" + block[2:], b"a")
    for end in range(2, len(block)):
        with pytest.raises(DataCorrupt):
            blocks.unpack_page(block[:end], b"a")


@given(st.integers(2, 60), st.integers(0, 255))
@example(6, 192)  # the header says 72 GB
def test_a_changed_byte_in_a_block_never_comes_as_another_error(position: int, byte: int) -> None:
    """The stream's checksum finds changed bytes; should one pass, nothing but DataCorrupt may come of the form."""
    block = bytearray(blocks.pack_page([b"a", b"b"], [1, 2], [b"xyz" * 9, b"y"], 0))
    block[min(position, len(block) - 1)] = byte
    try:
        page = blocks.unpack_page(bytes(block), b"a")
        each = [page.value(row) for row in range(len(page.keys))]
        values = page.values(0, len(page.keys))
    except DataCorrupt:
        return
    assert len(page.keys) == len(page.sequences) == len(each) == len(values)


# ------------------------------------------------------------------------------------------------ Bloom filter


@given(st.lists(st.binary(), max_size=200))
def test_a_filter_never_denies_a_key_that_is_there(keys: list[bytes]) -> None:
    """P7."""
    bloom = Filter.empty(len(keys), 10)
    bloom.add(keys)
    again = Filter.from_bytes(bloom.to_bytes())
    assert all(bloom.maybe(digest(key)) and again.maybe(digest(key)) for key in keys)


def test_a_filter_is_rarely_wrong_about_absent_keys() -> None:
    bloom = Filter.empty(10_000, 10)
    bloom.add([b"%d" % i for i in range(10_000)])
    wrong = sum(bloom.maybe(digest(b"absent %d" % i)) for i in range(10_000))
    assert 30 <= wrong <= 150, "about 0.8 % at ten bits a key"


def test_digests_are_the_same_in_every_process() -> None:
    assert (digest(b"k00000"), SCHEME) == (0x52CE279F96182513, 578665981)


def test_a_filter_of_another_scheme_is_not_believed() -> None:
    streams, tree = filled(50)
    root = tree.checkpoints[0].root
    held = blocks.unpack(blocks.ROOT, run(streams.read(root)), ROOT_DECODER)
    assert held.filter_scheme == SCHEME
    # Such a filter denies everything: its bits lie elsewhere.
    held.filter_scheme = SCHEME + 1
    streams.extents[root.extent][root.offset] = blocks.pack(blocks.ROOT, held)
    place = Location(*held.filter_places[0])
    streams.extents[place.extent][place.offset] = blocks.pack_bytes(blocks.FILTER, Filter.empty(50, 10).to_bytes())
    assert run(reopened(streams, tree).get(b"k00007")) == (1, b"%040d" % 7)


# ------------------------------------------------------------------------------------------------ cache


class Block:
    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes


def test_the_cache_keeps_what_was_used_last_within_its_bytes() -> None:
    cache = PageCache(100)
    places = [(1, i, 1) for i in range(5)]
    for place in places[:2]:
        cache.put(place, Block(40))
    assert cache.get(places[0]) is not None
    cache.put(places[2], Block(40))
    assert cache.get(places[1]) is None, "the one used longest ago goes"
    assert cache.get(places[0]) is not None
    cache.put(places[3], Block(101))
    assert cache.get(places[3]) is None, "larger than the cache"
    assert cache.memory_bytes == 80
    cache.check()


def test_a_combine_does_not_displace_what_readers_use() -> None:
    _, tree = filled(200)
    tree.apply(2, [(b"k00003", b"new")])
    checkpointed(tree)
    before = tree.cache.memory_bytes
    task = CombineTask(tree.checkpoints, True)
    tree.install_combined(task, run(tree.combine(task)))
    nodes = 14 * 2 * blocks.ENTRY_OVERHEAD * 4
    assert tree.cache.memory_bytes - before < nodes, "index nodes only"
    assert run(tree.get(b"k00003")) == (2, b"new")


# ------------------------------------------------------------------------------------------------ memory table


def test_older_versions_live_as_long_as_a_snapshot_sees_them() -> None:
    table = MemoryTable()
    table.apply(1, [(b"a", b"1")])
    table.open_snapshot(1)
    table.apply(2, [(b"a", b"2"), (b"b", b"2")])
    table.apply(3, [(b"a", b"3")])
    table.open_snapshot(3)
    table.apply(4, [(b"a", None)])
    table.check()
    assert [table.version_at(b"a", at) for at in (1, 3, 4)] == [(1, b"1"), (3, b"3"), (4, None)]
    assert table.version_at(b"b", 1) is None
    assert table.walk(b"", None, 1, 10, after=False) == ([b"a"], [(1, b"1")], None)
    held = table.memory_bytes
    table.close_snapshot(1)
    table.apply(5, [(b"a", b"5")])
    assert table.version_at(b"a", 3) == (3, b"3")
    table.close_snapshot(3)
    assert table.memory_bytes < held, "nobody sees older versions any more"
    table.check()


def test_a_change_that_an_open_snapshot_would_see_is_refused() -> None:
    table = MemoryTable()
    table.open_snapshot(5)
    with pytest.raises(AssertionError):
        table.apply(5, [(b"a", b"1")])


def test_the_keys_of_a_full_table_are_sorted_as_they_come_and_not_all_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Key(bytes):
        def __lt__(self, other: bytes) -> bool:
            nonlocal compared
            compared += 1
            return bytes(self) < bytes(other)

    monkeypatch.setattr(memory_table, "RUN_KEYS", 128)
    table, compared = MemoryTable(), 0
    keys = [Key(b"%06d" % (number * 7919 % 2048)) for number in range(2048)]
    for number, key in enumerate(keys):
        table.apply(number, [(key, b"")])
    compared = 0
    assert list(table.keys()) == sorted(map(bytes, keys))
    assert compared < 5 * len(keys), "16 runs are merged: one comparison in 4 steps for each key, and where lists end"


def test_memory_is_counted_as_it_is_taken() -> None:
    table = MemoryTable()
    gc.collect()  # what earlier tests left would be freed meanwhile, and its tuples used again
    # Python keeps up to 2,000 tuples of each length for the next ones; what is taken from there is not traced.
    kept_busy = [(i,) * length for length in range(1, 20) for i in range(2_000)]
    tracemalloc.start()
    for i in range(5_000):
        table.apply(i, [(b"%030d" % (i * 7919 % 5_000), b"v" * 100 + b"%020d" % i)])
    table.keys()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept_busy) == 38_000
    assert 0.8 * taken < table.memory_bytes < 1.25 * taken


# ------------------------------------------------------------------------------------------------ combine


def made(*sizes: int, own: dict[int, int] | None = None) -> list[Checkpoint]:
    return [
        Checkpoint(Location(1, i, 1), b"", None, 1, 0, size, (own or {}).get(i, size), size, 1, (1,))
        for i, size in enumerate(sizes)
    ]


def test_tiers_grow_by_the_fan_in() -> None:
    assert [tier(size, 4, 100) for size in (0, 100, 101, 400, 401, 1_600, 1_601)] == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ((), None),
        ((90, 90, 90), None),
        ((90, 90, 90, 90), (0, 4, True)),
        ((90, 90, 90, 90, 350), (0, 4, False)),
        ((90, 350, 350, 350, 350), (0, 5, True)),  # younger small ones go along
        ((90, 350, 90, 350, 90), None),
        ((350, 90, 90, 90, 90, 1_500), (1, 5, False)),
        ((1_500, 90, 90, 90), None),
    ],
)
def test_as_many_of_a_tier_as_the_fan_in_are_combined(
    sizes: tuple[int, ...], chosen: tuple[int, int, bool] | None
) -> None:
    checkpoints = made(*sizes)
    task = choose(checkpoints, 4, 100)
    if chosen is None:
        assert task is None
    else:
        start, end, bottom = chosen
        assert task is not None
        assert (task.checkpoints, task.bottom) == (tuple(checkpoints[start:end]), bottom)


@given(st.integers(2, 5), st.integers(1, 400))
def test_reads_meet_fewer_checkpoints_than_the_fan_in_of_each_tier(fan_in: int, flushes: int) -> None:
    checkpoints: list[Checkpoint] = []
    written = 0
    for _ in range(flushes):
        checkpoints = made(100, *(checkpoint.row_bytes for checkpoint in checkpoints))
        while (task := choose(checkpoints, fan_in, 100)) is not None:
            start = checkpoints.index(task.checkpoints[0])
            size = sum(checkpoint.row_bytes for checkpoint in task.checkpoints)
            written += size
            sizes = [checkpoint.row_bytes for checkpoint in checkpoints]
            checkpoints = made(*sizes[:start], size, *sizes[start + len(task.checkpoints) :])
    tiers = 1 + tier(100 * flushes, fan_in, 100)
    assert len(checkpoints) <= (fan_in - 1) * tiers
    assert written <= 100 * flushes * tiers, "a row is rewritten once per tier"


def test_a_checkpoint_that_is_mostly_foreign_is_written_anew() -> None:
    assert choose(made(90, 350, own={1: 200}), 4, 100) is not None
    assert choose(made(90, 350, own={1: 300}), 4, 100) is None
    streams, tree = filled(1_000)
    half = reopened(streams, tree, b"k00500")
    whole = tree.bytes_in(b"", None)
    assert abs(half.bytes_in(b"", None) - whole // 2) <= whole // 100
    task = half.combine_task()
    assert task is not None
    half.install_combined(task, run(half.combine(task)))
    (own,) = half.checkpoints
    assert (own.rows, own.row_bytes, own.own_bytes) == (500, 500 * 46, 500 * 46)
    assert half.combine_task() is None
    assert run(half.get(b"k00499")) is None
    assert run(half.get(b"k00500")) == (1, b"%040d" % 500)
    run(half.check())


def test_a_deleted_row_stays_deleted_when_halves_are_put_together_again() -> None:
    """The left half dropped its tombstone at its bottom; the parent's blocks, which the right half still holds, have
    the row. They are believed only for the right half's keys."""
    streams, parent = filled(10)
    left, right = reopened(streams, parent, b"", b"k00005"), reopened(streams, parent, b"k00005")
    left.apply(2, [(b"k00001", None)])
    checkpointed(left)
    task = CombineTask(left.checkpoints, True)
    left.install_combined(task, run(left.combine(task)))
    assert left.checkpoints[0].tombstones == 0
    for checkpoints in (left.checkpoints + right.checkpoints, right.checkpoints + left.checkpoints):
        merged = run(Tree.open(streams, "data", 1, OPTIONS, checkpoints, b"", None))
        assert run(merged.get(b"k00001")) is None
        cursor, found = merged.cursor(b"", None, 9), []
        while rows := run(cursor.next()):
            found += [key for key, _, _ in rows]
        assert found == [b"k%05d" % i for i in range(10) if i != 1]
        assert run(merged.get(b"k00007")) is not None
        run(merged.check())


def test_a_tombstone_stays_until_nothing_older_is_left_below_it() -> None:
    _, tree = filled(10)
    tree.apply(2, [(b"k00001", None)])
    assert checkpointed(tree).tombstones == 1
    task = CombineTask(tree.checkpoints[:1], False)
    tree.install_combined(task, run(tree.combine(task)))
    assert [checkpoint.tombstones for checkpoint in tree.checkpoints] == [1, 0]
    assert run(tree.get(b"k00001")) is None
    task = CombineTask(tree.checkpoints, True)
    tree.install_combined(task, run(tree.combine(task)))
    assert [(checkpoint.rows, checkpoint.tombstones) for checkpoint in tree.checkpoints] == [(9, 0)]
    assert run(tree.get(b"k00001")) is None


# ------------------------------------------------------------------------------------------------ sizes


def test_the_halving_key_halves_the_bytes_of_memory_and_checkpoints_together() -> None:
    _, tree = filled(2_000)
    tree.apply(2, [(b"m%05d" % i, b"%040d" % i) for i in range(2_000)])
    for low, high in ((b"", None), (b"k01000", None), (b"", b"m01000")):
        middle = tree.halving_key(low, high)
        assert middle is not None
        lower, all_bytes = tree.bytes_in(low, middle), tree.bytes_in(low, high)
        assert abs(2 * lower - all_bytes) <= all_bytes // 50
    assert tree.halving_key(b"k00003", b"k00004") is None
    assert Tree(MemoryStreams(), "data", 1, OPTIONS).halving_key(b"", None) is None


def test_rows_larger_than_a_page_and_filters_larger_than_a_block_are_kept() -> None:
    options = replace(OPTIONS, block_bytes_max=10_000, page_bytes=1_000)
    streams = MemoryStreams()
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, options)
    rows = [(b"%06d" % i, b"v") for i in range(20_000)] + [(b"x", bytes(range(256)) * 30)]
    tree.apply(1, rows)
    checkpointed(tree)
    assert max(len(block) for extent in streams.extents.values() for block in extent) <= 10_000
    again = reopened(streams, tree)
    assert run(again.get(b"x")) == (1, bytes(range(256)) * 30)
    assert run(again.get(b"019999")) == (1, b"v")
    run(again.check())


def test_a_descriptor_survives_its_encoding() -> None:
    _, tree = filled(3)
    (checkpoint,) = tree.checkpoints
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(checkpoint), type=Checkpoint) == checkpoint
    assert len(msgspec.msgpack.encode(checkpoint)) < 64


def test_several_frozen_tables_are_written_oldest_first_and_the_newest_wins() -> None:
    streams, tree = filled(3)
    for sequence in (2, 3):
        tree.apply(sequence, [(b"k00001", b"%d" % sequence)])
        assert tree.freeze()
    tree.apply(4, [(b"k00002", b"4")])
    for sequence in (2, 3):
        checkpoint = run(tree.write_checkpoint())
        assert checkpoint is not None
        assert checkpoint.sequence == sequence
        tree.install(checkpoint)
        assert run(tree.get(b"k00001")) == (3, b"3")
        run(tree.check())
    assert run(tree.write_checkpoint()) is None
    assert [checkpoint.sequence for checkpoint in tree.checkpoints] == [3, 2, 1]
    assert run(reopened(streams, tree).get(b"k00002")) == (1, b"%040d" % 2), "what is not in a checkpoint is in the log"


def test_a_child_passes_over_changes_of_the_other_half_in_a_log_that_both_replay() -> None:
    streams, parent = filled(10)
    left, right = reopened(streams, parent, b"", b"k00005"), reopened(streams, parent, b"k00005")
    for child in (left, right):
        child.apply(2, [(b"k00001", b"l"), (b"k00005", b"r")])
        run(child.check())
    assert (run(left.get(b"k00001")), run(left.get(b"k00005"))) == ((2, b"l"), None)
    assert (run(right.get(b"k00001")), run(right.get(b"k00005"))) == (None, (2, b"r"))
