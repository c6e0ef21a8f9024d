"""Promises of a range's rows, each compared with the plainest reader: one that reads the log of changes (P7)."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from pkadvisor.engine.lsm.bloom import Filter
from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.rows import Row
from tests.engine.fakes import MemoryStreams
from tests.engine.lsm.straight import run
from tests.engine.lsm.test_lsm_parts import checkpointed

OPTIONS = replace(EngineOptions(), page_bytes=120, index_fan_out=3, combine_fan_in=4)


def key(number: int) -> bytes:
    return b"k%04d" % number


def grown(seed: int, cache: PageCache | None = None) -> tuple[MemoryStreams, Tree, dict[bytes, Row | None]]:
    """Four checkpoints, a frozen table and the active one, over one another in the same keys; what each key must be."""
    streams, chance = MemoryStreams(), Random(seed)
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, OPTIONS, cache=cache)
    truth: dict[bytes, Row | None] = {}
    for sequence in range(1, 61):
        names = sorted({key(chance.randrange(60)) for _ in range(8)})
        changes = [(name, None if chance.randrange(5) == 0 else b"%d of %b" % (sequence, name)) for name in names]
        tree.apply(sequence, changes)
        for name, value in changes:
            truth[name] = None if value is None else (sequence, value)
        if sequence % 10 == 0 and sequence < 50:
            checkpointed(tree)
        elif sequence == 50:
            tree.freeze()
    assert len(tree.checkpoints) == 4 and len(tree.memory_tables) > 1 and tree.memory_bytes
    return streams, tree, truth


@pytest.mark.parametrize("seed", range(5))
def test_p7_the_memory_table_wins_over_checkpoints_and_newer_ones_over_older(seed: int) -> None:
    """P7: the active table, the frozen one, then checkpoints from the newest on; a deletion is an answer too."""
    _, tree, truth = grown(seed)
    for number in range(60):
        assert run(tree.get(key(number))) == truth.get(key(number))
    walked: dict[bytes, Row] = {}
    cursor = tree.cursor(b"", None, 60)
    while batch := run(cursor.next()):
        walked.update({name: (sequence, value) for name, sequence, value in batch})
    assert walked == {name: row for name, row in truth.items() if row is not None}


@pytest.mark.parametrize("bytes_max", [0, 500, 1 << 20], ids=["no cache", "a few pages", "all pages"])
def test_p7_a_cached_page_is_the_stored_page_and_the_index_leads_to_the_right_one(bytes_max: int) -> None:
    """P7: every key, present, deleted or absent, is the same however much is cached, the first time and again."""
    cache = PageCache(bytes_max)
    _, tree, truth = grown(7, cache)
    for _ in range(3):
        for number in range(-1, 62):
            assert run(tree.get(key(number) if number >= 0 else b"")) == truth.get(key(number) if number >= 0 else b"")
            cache.check()
    run(tree.check())
    assert bool(cache.hits) == bool(bytes_max)


def test_all_of_many_keys_are_found_where_each_of_them_is() -> None:
    """A group reads its keys at once: the same rows from memory, a frozen table and checkpoints, tombstones too."""
    _, tree, truth = grown(7)
    for number in range(0, 40, 3):
        tree.apply(tree.sequence + 1, [(key(number), b"frozen"), (key(number + 1), None)])
    tree.freeze()
    for number in range(0, 40, 5):
        tree.apply(tree.sequence + 1, [(key(number), None), (key(number + 1), b"fresh")])
    names = [key(number) for number in range(62)]
    one_by_one = [run(tree.get(name)) for name in names]
    assert run(tree.get_all(names)) == one_by_one
    assert run(tree.get_all(names[::-1])) == one_by_one[::-1]
    assert {truth.get(name) for name in names[45:]} == set(one_by_one[45:])
    values = {None if row is None else row[1] for row in one_by_one}
    assert values > {None, b"frozen", b"fresh"}, "every place has rows of its own"


def test_p7_two_ranges_share_a_cache_and_never_see_each_other_s_pages() -> None:
    """P7: the cache of a server knows a page by its place, and a place is written once."""
    cache, streams = PageCache(1 << 20), MemoryStreams()
    trees = []
    for name in ("left", "right"):
        run(streams.create(name, 1))
        tree = Tree(streams, name, 1, OPTIONS, cache=cache)
        tree.apply(1, [(key(number), b"%b %d" % (name.encode(), number)) for number in range(40)])
        checkpointed(tree)
        trees.append((name, tree))
    for number in range(40):
        for name, tree in trees:
            assert run(tree.get(key(number))) == (1, b"%b %d" % (name.encode(), number))


def test_p7_a_filter_that_denied_what_is_there_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """P7: the reader believes the filter, so a filter must be right; this is what a wrong one would do."""
    _, tree, truth = grown(3)
    lost = next(name for name, row in truth.items() if row is not None and 10 < row[0] <= 40)
    monkeypatch.setattr(Filter, "maybe", lambda self, hashed: False)
    assert run(tree.get(lost)) is None
    with pytest.raises(AssertionError):
        run(tree.check())
