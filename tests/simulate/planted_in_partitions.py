"""Mistakes of the partition layer: ownership, log, checkpoints, splits, routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pkadvisor.engine.lsm import checkpoint_writer
from pkadvisor.engine.lsm import tree as tree_module
from pkadvisor.engine.lsm.bloom import Filter, digest
from pkadvisor.engine.lsm.checkpoint import Checkpoint, CheckpointReader
from pkadvisor.engine.lsm.memory_table import Version
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.partition.commit_log import OWNER, CommitLog, LogRecord, Replay
from pkadvisor.engine.partition.hosted_range import AnsweredWrites
from pkadvisor.engine.partition.lock_service import Lease, LockService
from pkadvisor.engine.partition.metadata import KeyLatches
from pkadvisor.engine.partition.partition_map import FrontEnd
from pkadvisor.engine.partition.partition_server import PartitionServer
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.rows import Change, Row
from pkadvisor.engine.stream.directory import ModifyStreams
from pkadvisor.engine.stream.manager import StreamManager
from pkadvisor.engine.tables.table_messages import Request
from pkadvisor.engine.worlds.world import DataCorrupt, EngineError, Unreachable

# ------------------------------------------------------------------------------------------------ ownership


def serve_after_the_lease(patch: pytest.MonkeyPatch) -> None:
    """A lease that was had once is never over for its holder."""
    patch.setattr(Lease, "held", lambda self: self.ends_ns > 0)
    right = PartitionServer.handle

    async def handle(self: PartitionServer, *arguments: Any) -> Any:
        self._lease.ends_ns = max(self._lease.ends_ns, self._world.clock_ns(self._node) + 1)
        return await right(self, *arguments)

    patch.setattr(PartitionServer, "handle", handle)


def lapse_without_the_drift_of_clocks(patch: pytest.MonkeyPatch) -> None:
    """The lock service gives a lease to the next one while its holder still counts on it."""
    patch.setattr(LockService, "_lapse_ns", lambda self: self._world.clock_ns(self._node) + self._options.lease_ns // 8)


def lease_from_the_answer(patch: pytest.MonkeyPatch) -> None:
    """A lease runs from when its holder hears of it, and not from when it was asked for."""
    acquired, renewed = Lease.acquire, Lease.renew

    async def acquire(self: Lease) -> int:
        epoch = await acquired(self)
        self.ends_ns = self._world.clock_ns(self._node) + self._length_ns
        return epoch

    async def renew(self: Lease) -> None:
        epoch = self.epoch
        await renewed(self)
        if epoch and epoch == self.epoch:
            self.ends_ns = max(self.ends_ns, self._world.clock_ns(self._node) + self._length_ns)

    patch.setattr(Lease, "acquire", acquire)
    patch.setattr(Lease, "renew", renew)


# ------------------------------------------------------------------------------------------------ log


def take_records_twice(patch: pytest.MonkeyPatch) -> None:
    """Replay knows no duplicates: a record that it has is one too many."""

    def take(self: Replay, record: LogRecord) -> None:
        if record.epoch < self.epoch or record.kind == OWNER:
            self.epoch = max(self.epoch, record.epoch)
            return
        if record.previous != self.sequence:
            raise DataCorrupt(f"the commit log goes from {self.sequence} to {record.sequence}")
        self._apply(record.sequence, record.changes)
        self.epoch, self.sequence, self.applied = record.epoch, record.sequence, self.applied + 1

    patch.setattr(Replay, "_take", take)


def answer_before_the_log_is_durable(patch: pytest.MonkeyPatch) -> None:
    """A write is applied and answered while its record is on its way."""
    right = CommitLog.append

    async def append(self: CommitLog, changes: Sequence[Change]) -> int:
        number = self.given + 1
        task = self._streams._world.spawn(right(self, changes), self._streams._node)  # type: ignore[attr-defined]
        task.when_done(lambda: None)
        await self._streams._world.pass_turn()  # type: ignore[attr-defined]
        return number

    patch.setattr(CommitLog, "append", append)


def drop_the_log_before_the_root(patch: pytest.MonkeyPatch) -> None:
    """The log goes as soon as the pages are written; the root that says so comes later."""
    right = RangePartition.change_root

    async def change_root(self: RangePartition, change: Any, installed: Any = None) -> None:
        root = change(self.metadata.root)
        if root.log_start is not None and root.log_start != self.metadata.root.log_start:
            await self.streams.drop_before(f"range/{self.number}/log", root.log_start)
            await self.world.sleep(200_000_000)
        await right(self, change, installed)

    patch.setattr(RangePartition, "change_root", change_root)


# ------------------------------------------------------------------------------------------------ tree


def deny_rows_in_the_filter(patch: pytest.MonkeyPatch) -> None:
    """The Bloom filter misses some keys."""

    def add(self: Filter, keys: list[bytes]) -> None:
        self._bits.update(hashed for hashed in map(digest, keys) if hashed % 16)

    patch.setattr(Filter, "add", add)
    patch.setattr(CheckpointReader, "check", _unchecked)


async def _unchecked(_self: object) -> None:
    """So that clients must see the mistake, not a checker."""


def checkpoints_before_memory(patch: pytest.MonkeyPatch) -> None:
    """A read looks into the checkpoints first."""

    async def get(self: Tree, key: bytes) -> Row | None:
        row: Version | None = await self._find(key)
        for table in (self._active, *self._frozen):
            row = row or table.rows.get(key)
        return row if row is not None and row[1] is not None else None  # type: ignore[return-value]

    patch.setattr(Tree, "get", get)


def forget_the_frozen_table(patch: pytest.MonkeyPatch) -> None:
    """While a checkpoint is written, its rows are nowhere."""

    async def get(self: Tree, key: bytes) -> Row | None:
        row: Version | None = self._active.rows.get(key) or await self._find(key)
        return row if row is not None and row[1] is not None else None  # type: ignore[return-value]

    patch.setattr(Tree, "get", get)


def show_the_foreign_half(patch: pytest.MonkeyPatch) -> None:
    """After a split both halves show all rows."""
    patch.setattr(Checkpoint, "clipped", lambda self, low, high: (self.low, self.high))
    patch.setattr(CheckpointReader, "check", _unchecked)


def range_without_its_first_place(patch: pytest.MonkeyPatch) -> None:
    """A range begins behind its boundary: the empty RowKey may stand there."""
    right = Tree.get

    async def get(self: Tree, key: bytes) -> Row | None:
        return None if self.low and key == self.low else await right(self, key)

    patch.setattr(Tree, "get", get)


def drop_tombstones_too_early(patch: pytest.MonkeyPatch) -> None:
    """Every combine treats its checkpoints as the oldest."""
    right = checkpoint_writer.combine

    async def combine(readers: Any, writer: Any, *, bottom: bool) -> None:
        await right(readers, writer, bottom=True)

    patch.setattr(tree_module, "combine", combine)


def checkpoint_without_tombstones(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint leaves out the deleted rows, whatever lies below it."""
    right = Tree.write_checkpoint

    async def write_checkpoint(self: Tree) -> Any:
        readers, self._readers = self._readers, ()
        try:
            return await right(self)
        finally:
            self._readers = readers

    patch.setattr(Tree, "write_checkpoint", write_checkpoint)


# ------------------------------------------------------------------------------------------------ split, routes


def forget_to_seal_at_the_split(patch: pytest.MonkeyPatch) -> None:
    """The last extents stay open in both children."""

    async def multi_modify(self: StreamManager, change: Any) -> None:
        if change.id not in self.directory.done:
            await self.commit(ModifyStreams(change))

    patch.setattr(StreamManager, "multi_modify", multi_modify)
    patch.setattr(StreamManager, "check", lambda _self: None)


def split_among_writers(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the writers when a range is divided."""

    async def pause(self: RangePartition) -> None:
        await self._pausing.hold((b"pause",))

    patch.setattr(RangePartition, "pause", pause)


def split_without_emptying_memory(patch: pytest.MonkeyPatch) -> None:
    """Rows that came after the first checkpoint of a split stay behind in the log of the parent."""

    async def empty_memory(self: RangePartition) -> None:
        if self.metadata.root.sequence != self.log.applied:
            self.metadata.root = self.metadata.root.__class__(
                *[
                    self.log.applied if name == "sequence" else getattr(self.metadata.root, name)
                    for name in self.metadata.root.__struct_fields__
                ]
            )

    patch.setattr(RangePartition, "empty_memory", empty_memory)


def never_refresh_the_map(patch: pytest.MonkeyPatch) -> None:
    """A front end keeps the first map that it got."""
    right = FrontEnd._refresh

    async def refresh(self: FrontEnd) -> bool:
        return False if self._routes is not None else await right(self)

    patch.setattr(FrontEnd, "_refresh", refresh)


def write_again_after_silence(patch: pytest.MonkeyPatch) -> None:
    """A front end repeats a write whose answer did not come."""

    def uncertain(self: FrontEnd, request: Request, error: EngineError) -> None:
        self._suspect = self._suspect or isinstance(error, Unreachable)

    patch.setattr(FrontEnd, "_uncertain", uncertain)


def carry_out_a_message_twice(patch: pytest.MonkeyPatch) -> None:
    """A server does not remember which messages came."""
    patch.setattr(AnsweredWrites, "begin", lambda self, message: False)


def no_latches(patch: pytest.MonkeyPatch) -> None:
    """Writers of one key do not wait for one another."""

    async def hold(self: KeyLatches, keys: Sequence[bytes]) -> None:
        if len(keys[0]) < 12:  # those of the background work of a range stay
            await right(self, keys)

    right, free = KeyLatches.hold, KeyLatches.release

    def release(self: KeyLatches, keys: Sequence[bytes]) -> None:
        if len(keys[0]) < 12:
            free(self, keys)

    patch.setattr(KeyLatches, "take", lambda self, key: True)
    patch.setattr(KeyLatches, "hold", hold)
    patch.setattr(KeyLatches, "release", release)
