"""The tree against a plain sorted dictionary, with snapshots held over everything that may happen (P6, P7)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.checkpoint_writer import CombineTask
from pkadvisor.engine.lsm.tree import Tree, TreeCursor
from pkadvisor.engine.options import EngineOptions
from tests.engine.fakes import MemoryStreams
from tests.engine.lsm.straight import run
from tests.tiers import examples

# Everything small, so that few rows make many pages, nodes, checkpoints and tiers.
OPTIONS = replace(
    EngineOptions(), memory_table_bytes=400, page_bytes=40, index_fan_out=3, page_cache_bytes=2_000, combine_fan_in=2
)
KEYS = st.binary(min_size=1, max_size=2).map(lambda key: bytes(byte % 4 + 97 for byte in key))
VALUES = st.none() | st.binary(max_size=30)
CHANGES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=8)

Rows = dict[bytes, tuple[int, bytes]]


def between(rows: Rows, low: bytes, high: bytes | None) -> list[tuple[bytes, int, bytes]]:
    return [(key, *rows[key]) for key in sorted(rows) if key >= low and (high is None or key < high)]


class TreeMachine(RuleBasedStateMachine):
    """apply, freeze, checkpoint, combine, split, merge, restart in any order; reads and snapshots always agree."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = MemoryStreams()
        run(self.streams.create("data", 1))
        self.cache = PageCache(OPTIONS.page_cache_bytes)
        self.tree = Tree(self.streams, "data", 1, OPTIONS, cache=self.cache)
        self.rows: Rows = {}
        self.log: list[tuple[int, dict[bytes, bytes | None]]] = []  # what no installed checkpoint covers
        self.frozen: list[int] = []  # for each frozen table, oldest first, how much of the log it holds
        self.sequence = 0
        self.cursors: list[tuple[TreeCursor, list[tuple[bytes, int, bytes]]]] = []

    @rule(changes=CHANGES)
    def apply(self, changes: dict[bytes, bytes | None]) -> None:
        self.sequence += 1
        self.tree.apply(self.sequence, list(changes.items()))
        self.log.append((self.sequence, changes))
        for key, value in changes.items():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = (self.sequence, value)

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        assert run(self.tree.get(key)) == self.rows.get(key)

    @rule(low=KEYS | st.just(b""), high=st.none() | KEYS)
    def scan(self, low: bytes, high: bytes | None) -> None:
        cursor = self.tree.cursor(low, high, self.sequence)
        assert self.read(cursor) == between(self.rows, low, high)

    @rule(low=KEYS | st.just(b""), high=st.none() | KEYS, read=st.booleans())
    def hold_snapshot(self, low: bytes, high: bytes | None, read: bool) -> None:
        cursor, expected = self.tree.cursor(low, high, self.sequence), between(self.rows, low, high)
        if read:
            begun = run(cursor.next())
            assert begun == expected[: len(begun)]
            expected = expected[len(begun) :]
        self.cursors.append((cursor, expected))

    @precondition(lambda self: self.cursors)
    @rule(data=st.data())
    def finish_snapshot(self, data: st.DataObject) -> None:
        cursor, expected = self.cursors.pop(data.draw(st.integers(0, len(self.cursors) - 1)))
        assert self.read(cursor) == expected

    @precondition(lambda self: self.cursors)
    @rule()
    def drop_snapshot(self) -> None:
        self.cursors.pop(0)[0].close()

    @rule(changes=CHANGES)
    def apply_and_checkpoint(self, changes: dict[bytes, bytes | None]) -> None:
        """Several checkpoints soon, so that there is something to combine."""
        self.apply(changes)
        self.freeze()
        while self.frozen:
            self.checkpoint(None)

    @rule()
    def freeze(self) -> None:
        before = len(self.tree.memory_tables)
        self.tree.freeze()
        if len(self.tree.memory_tables) > before:
            self.frozen.append(len(self.log) - sum(self.frozen))

    @rule(meanwhile=st.none() | CHANGES)
    def checkpoint(self, meanwhile: dict[bytes, bytes | None] | None) -> None:
        checkpoint = run(self.tree.write_checkpoint())
        assert (checkpoint is None) == (not self.frozen)
        if meanwhile is not None:
            self.apply(meanwhile)
        if checkpoint is not None:
            after = self.tree.with_installed(checkpoint)
            self.tree.install(checkpoint)
            assert self.tree.checkpoints == after
            del self.log[: self.frozen.pop(0)]

    @rule(meanwhile=st.none() | CHANGES)
    def combine(self, meanwhile: dict[bytes, bytes | None] | None) -> None:
        task = self.tree.combine_task()
        if task is not None:
            self.combine_these(task, meanwhile)

    @precondition(lambda self: self.tree.checkpoints)
    @rule(data=st.data())
    def combine_any(self, data: st.DataObject) -> None:
        found = self.tree.checkpoints
        start = data.draw(st.integers(0, len(found) - 1))
        end = data.draw(st.integers(start + 1, len(found)))
        self.combine_these(CombineTask(found[start:end], end == len(found)), None)

    def combine_these(self, task: CombineTask, meanwhile: dict[bytes, bytes | None] | None) -> None:
        checkpoint = run(self.tree.combine(task))
        if meanwhile is not None:
            self.apply(meanwhile)
        after = self.tree.with_combined(task, checkpoint)
        self.tree.install_combined(task, checkpoint)
        assert self.tree.checkpoints == after
        assert not (task.bottom and checkpoint.tombstones), "the bottom combine leaves no tombstone"

    @rule()
    def restart(self) -> None:
        """Checkpoints and the log after them are the state (P6)."""
        self.tree = self.opened(self.tree.checkpoints, b"", None)
        self.cursors, self.frozen = [], []

    @rule(at=KEYS)
    def split_and_merge(self, at: bytes) -> None:
        """Both children see the parent's blocks and return only their own rows; put together they are the parent."""
        left, right = (self.opened(self.tree.checkpoints, *bounds) for bounds in ((b"", at), (at, None)))
        for child in (left, right):
            cursor = child.cursor(b"", None, self.sequence)
            assert self.read(cursor) == between(self.rows, child.low, child.high)
            assert run(child.get(at)) == (self.rows.get(at) if child is right else None)
            run(child.check())
        while (task := left.combine_task()) is not None:
            left.install_combined(task, run(left.combine(task)))
        self.tree = self.opened(left.checkpoints + right.checkpoints, b"", None)
        self.cursors, self.frozen = [], []

    def opened(self, checkpoints: tuple[object, ...], low: bytes, high: bytes | None) -> Tree:
        tree = run(Tree.open(self.streams, "data", 1, OPTIONS, checkpoints, low, high, cache=self.cache))  # type: ignore[arg-type]
        for sequence, changes in self.log:
            tree.apply(sequence, list(changes.items()))
        return tree

    def read(self, cursor: TreeCursor) -> list[tuple[bytes, int, bytes]]:
        found: list[tuple[bytes, int, bytes]] = []
        while rows := run(cursor.next()):
            found += rows
        return found

    @invariant()
    def sizes_hold(self) -> None:
        weight = sum(len(key) + len(value) for key, (_, value) in self.rows.items())
        assert self.tree.bytes_in(b"", None) >= weight
        middle = self.tree.halving_key(b"", None)
        if middle is not None:
            assert self.tree.bytes_in(b"", middle) > 0
            assert self.tree.bytes_in(middle, None) > 0
            assert self.tree.bytes_in(b"", middle) + self.tree.bytes_in(middle, None) == self.tree.bytes_in(b"", None)

    def teardown(self) -> None:
        for cursor, expected in self.cursors:
            assert self.read(cursor) == expected
        assert self.read(self.tree.cursor(b"", None, self.sequence)) == between(self.rows, b"", None)
        run(self.tree.check())
        assert not self.tree._pins, "closed cursors hold no extents"


TestTreeMachine = TreeMachine.TestCase
TestTreeMachine.settings = settings(max_examples=examples(50), stateful_step_count=30)
