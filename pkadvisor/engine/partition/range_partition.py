"""A range partition: the rows of one key range, as one partition server serves them (SOSP 2011, 5.3 to 5.5).

    write:  latches of its keys ──► rows as they are now ──► decide ──► commit log ──► memory table ──► answer
    read:   memory table ──► checkpoints, newest first
    load:   metadata stream ──► checkpoints ──► replay of the commit log into the memory table

Streams: ``range/{number}/metadata``, ``/log``, ``/data``. Order of the durable steps of a checkpoint: pages and index
into the row-data stream, then the root into the metadata stream, then the covered extents of the log go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.checkpoint import Checkpoint
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.commit_log import OWNER, CommitLog, blocks_of, encode_record, replay
from pkadvisor.engine.partition.metadata import MetadataStream, RangeMissing, RangeRoot, read_roots, root_for
from pkadvisor.engine.partition.range_rows import SERVING, RangeRows
from pkadvisor.engine.stream.access import Location, StreamExists, StreamMissing, Streams
from pkadvisor.engine.tables.row_keys import partition_boundary
from pkadvisor.engine.worlds.world import EngineError, World


def stream_names(number: int) -> tuple[str, str, str]:
    """The names of a range's metadata, log and row-data streams."""
    return f"range/{number}/metadata", f"range/{number}/log", f"range/{number}/data"


class RangePartition(RangeRows):
    """The rows of [low, high), on one node, for one epoch of ownership. It is a ``RowStore``.

    Made by :meth:`create`, :meth:`load`, ``split_merge.split`` or ``split_merge.merge``.
    """

    # ------------------------------------------------------------------------------------------ birth and load

    @classmethod
    async def create(
        cls,
        world: World,
        node: str,
        streams: Streams,
        options: EngineOptions,
        number: int,
        low: bytes,
        high: bytes | None,
        epoch: int,
        cache: PageCache | None = None,
    ) -> RangePartition:
        """Makes a range with no rows. After a crash in the middle it may be called again, by the same or a later epoch.

        Fenced where a later owner has it already.
        """
        assert high is None or low < high, "a range holds at least one key"
        for name in stream_names(number):
            try:
                await streams.create(name, epoch)
            except StreamExists:
                await streams.acquire(name, epoch)
        return await open_range(
            world, node, streams, options, number, epoch, cache, RangeRoot(number, epoch, 0, low, high)
        )

    @classmethod
    async def load(
        cls,
        world: World,
        node: str,
        streams: Streams,
        options: EngineOptions,
        number: int,
        epoch: int,
        cache: PageCache | None = None,
    ) -> RangePartition:
        """Takes a range over and brings back its state: checkpoints, and the log since.

        A split or merge that was begun and did not happen is given up; one that happened is finished. The state is that
        of all acknowledged writes, in the order of their numbers; writes that were under way may be in it.
        RangeMissing: none of that number. Fenced: a later owner has it.
        """
        try:
            for name in stream_names(number):
                await streams.acquire(name, epoch)
        except StreamMissing as error:
            raise RangeMissing(f"range {number} is not there") from error
        return await open_range(world, node, streams, options, number, epoch, cache, None)

    # ------------------------------------------------------------------------------------------ checkpoints

    async def maintain(self) -> None:
        """Does what the thresholds ask for: a checkpoint, then combines one after the other.

        Errors of the streams are raised; what was not finished is begun again next time. Where new data is refused
        nothing is combined: that needs as much room again as it will free.
        """
        if self.wants_checkpoint():
            await self.checkpoint()
        while self.state is SERVING and self.tree.combine_task() is not None and not self.world.writes_refused():
            await self.combine()

    async def _maintain_quietly(self) -> None:
        try:
            await self.maintain()
        except EngineError as error:
            self.world.event("maintenance failed", self.number, type(error).__name__)
        self._maintaining = False
        self._relieve()

    async def checkpoint(self) -> Checkpoint | None:
        """Writes the memory table out, makes it part of the root, lets go of the log that it covers.

        None where there was nothing to write. RangeStopped, RangeReadOnly; errors of the row-data stream, after which
        everything is as before.
        """
        async with self._checkpointing:
            if self.state is not SERVING:
                self._refuse(self.low)
            if self._frozen is None:
                self._frozen = self.log.applied, self.log.last, self.log.bytes
                self.tree.freeze()
            sequence, start, log_bytes = self._frozen
            try:
                checkpoint = await self.tree.write_checkpoint()
            except EngineError as error:
                self._failed_if_fenced(error)
                raise
            if checkpoint is None:
                self._frozen = None
                return None
            await self.change_root(
                lambda root: replace(
                    root,
                    sequence=sequence,
                    log_start=root.log_start if start is None else start,
                    checkpoints=self.tree.with_installed(checkpoint),
                ),
                lambda: self.tree.install(checkpoint),
            )
            self._frozen = None
            self._covered_bytes = log_bytes
            self._relieve()
            self.world.event("checkpoint", self.number, sequence)
        await self._let_go()
        return checkpoint

    async def combine(self) -> Checkpoint | None:
        """Combines the checkpoints that the policy names into one; None where there is nothing to do.

        Deleted rows and rows outside of the range vanish when the oldest checkpoint takes part.
        """
        async with self._combining:
            if self.state is not SERVING:
                self._refuse(self.low)
            task = self.tree.combine_task()
            if task is None:
                return None
            try:
                checkpoint = await self.tree.combine(task)
            except EngineError as error:
                self._failed_if_fenced(error)
                raise
            await self.change_root(
                lambda root: replace(root, checkpoints=self.tree.with_combined(task, checkpoint)),
                lambda: self.tree.install_combined(task, checkpoint),
            )
            self.world.event("combine", self.number)
        await self._let_go()
        return checkpoint

    async def change_root(
        self, change: Callable[[RangeRoot], RangeRoot], installed: Callable[[], None] | None = None
    ) -> None:
        """Writes the next root, made from the one that holds; then ``installed`` is called before anybody else runs.

        Where the root cannot be written nobody knows which one holds: the range takes no more writes.
        """
        async with self.metadata.lock:
            if self.state is not SERVING:
                self._refuse(self.low)
            root = change(self.metadata.root)
            try:
                await self.metadata.append(root)
            except EngineError as error:
                self._failed(error)
                raise
            if installed is not None:
                installed()

    async def _let_go(self) -> None:
        """Lets go of the extents that the root no longer needs. It can be done again at any time."""
        root = self.metadata.root
        _, log, data = stream_names(self.number)
        try:
            if root.log_start is not None:
                await self.streams.drop_before(log, root.log_start)
            # Extents written by this range itself are numbered in the order in which they lie in the stream; what it
            # inherited lies before them.
            used = self.tree.extents()
            if used and not any(extent in root.inherited for extent in used):
                await self.streams.drop_before(data, Location(used[0], 0, 0))
        except EngineError as error:
            self.world.event("extents not let go", self.number, type(error).__name__)

    # ------------------------------------------------------------------------------------------ pause and stop

    async def prepare_offload(self) -> None:
        """First of the two checkpoints of a hand-over, while the range serves: the second one is short.

        Two of them after Bigtable (OSDI 2006, 6); the Azure paper tells of one (SOSP 2011, 5.5).
        """
        await self.checkpoint()

    async def empty_memory(self) -> None:
        """Checkpoints until nothing is left in memory. The range must be paused."""
        assert not self._writers
        while await self.checkpoint() is not None:
            pass

    async def stop(self) -> None:
        """Stops for a hand-over: no new writes, a last checkpoint, nothing served any more.

        Errors of the streams do not keep it from stopping: what is in the log is loaded by the next owner.
        """
        await self.pause()
        try:
            if self.state is SERVING:
                await self.empty_memory()
        except EngineError as error:
            self.world.event("stopped without a checkpoint", self.number, type(error).__name__)
        self.close("offloaded")
        self.unpause()

    # ------------------------------------------------------------------------------------------ what it tells

    def size_bytes(self) -> int:
        """Bytes of the rows in this range, estimated."""
        return self.tree.bytes_in(self.low, self.high)

    def statistics(self) -> Statistics:
        """What it holds."""
        return of_tree(self.tree, self.log.bytes - self._covered_bytes)

    def halving_key(self) -> bytes | None:
        """Where a split would halve the bytes: the first key of some PartitionKey. None: there is none."""
        middle = self.tree.halving_key(self.low, self.high)
        if middle is None:
            return None
        boundary = partition_boundary(middle)
        return boundary if boundary > self.low and (self.high is None or boundary < self.high) else None

    async def check(self) -> None:
        """Asserts what must hold between the parts, and in each of them."""
        self.log.check()
        self._latches.check()
        self.metadata.check()
        root = self.metadata.root
        assert (root.number, root.low, root.high) == (self.number, self.low, self.high)
        assert root.sequence <= self.log.applied
        assert root.checkpoints == self.tree.checkpoints, "the root names the checkpoints that are read"
        assert self._writers or not len(self._latches), "a latch without a writer"
        await self.tree.check()


async def open_range(
    world: World,
    node: str,
    streams: Streams,
    options: EngineOptions,
    number: int,
    epoch: int,
    cache: PageCache | None = None,
    first: RangeRoot | None = None,
) -> RangePartition:
    """Loads a range whose streams this epoch has acquired; where it has no root yet, with ``first``."""
    metadata_name, log_name, data_name = stream_names(number)
    cache = PageCache(options.page_cache_bytes) if cache is None else cache
    roots = await read_roots(streams, metadata_name)
    born = not roots and first is not None
    root, made = (first, True) if born and first is not None else root_for(number, roots, epoch)
    tree = await Tree.open(
        streams,
        data_name,
        epoch,
        options,
        root.checkpoints,
        root.low,
        root.high,
        cache=cache,
        pass_turn=world.pass_turn,
    )
    # Records before the owner's mark are older; a deposed owner's behind it are not applied (hardening of 1.5.3).
    if made:
        sequence, log_bytes = root.sequence, 0
    else:
        replayed = await replay(streams, log_name, root.log_start, root.sequence, tree.apply)
        sequence, log_bytes = replayed.sequence, replayed.bytes
        for name, count in (
            ("duplicate record replayed", replayed.duplicates),
            ("stale record not applied", replayed.stale),
            ("log replayed", replayed.applied),
        ):
            if count:
                world.event(name, number, count)
    mark = encode_record(epoch, sequence, sequence, OWNER, ())
    (marked,) = await streams.append(log_name, blocks_of([mark], sequence, options.block_bytes_max), epoch)
    if root.intent is not None:
        world.event("split or merge given up", number)
    if made and not born:
        world.event("range made of its parents", number)
    metadata = MetadataStream(streams, metadata_name, epoch, root)
    async with metadata.lock:
        log_start = marked if made else root.log_start
        await metadata.append(replace(root, intent=None, log_start=log_start, checkpoints=tree.checkpoints))
    log = CommitLog(streams, log_name, epoch, options, sequence, tree.apply, world)
    log.last, log.bytes = marked, log_bytes
    return RangePartition(world, node, streams, options, metadata, tree, log, cache)


# -- What a store holds and does, in numbers.


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Of an open store; those of ranges and servers add up. Bytes of files and journals are of the whole directory."""

    ranges: int = 0
    rows_estimated: int = 0
    """Entities and tables: exact while no row was written again or deleted since the last combine."""
    row_bytes: int = 0
    """Bytes of keys and values in the ranges, versions that are not combined yet among them."""
    checkpoints: int = 0
    checkpoint_bytes: int = 0
    """Bytes of the checkpoints as they are stored, on one replica."""
    memory_table_bytes: int = 0
    log_bytes: int = 0
    """Bytes of the write-ahead log that an opening would read, on one replica."""
    cache_bytes: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    files: int = 0
    file_bytes: int = 0
    journal_bytes: int = 0
    """Of ``file_bytes`` those in journals, which are written out to extents and then deleted."""


def total(parts: Iterable[Statistics]) -> Statistics:
    """The sum of each number."""
    rows = [msgspec.structs.astuple(part) for part in parts]
    return Statistics(**dict(zip(Statistics.__struct_fields__, map(sum, zip(*rows, strict=True)), strict=False)))


def of_tree(tree: Tree, log_bytes: int) -> Statistics:
    """Of one range."""
    rows = 0.0
    for checkpoint in tree.checkpoints:
        own_share = checkpoint.own_bytes / checkpoint.row_bytes if checkpoint.row_bytes else 1.0
        rows += (checkpoint.rows - 2 * checkpoint.tombstones) * min(1.0, own_share)
    for table in tree.memory_tables:
        deleted = sum(value is None for _, value in table.rows.values())
        rows += len(table.rows) - 2 * deleted
    return Statistics(
        ranges=1,
        rows_estimated=max(0, round(rows)),
        row_bytes=tree.bytes_in(tree.low, tree.high),
        checkpoints=len(tree.checkpoints),
        checkpoint_bytes=sum(checkpoint.stored_bytes for checkpoint in tree.checkpoints),
        memory_table_bytes=tree.memory_bytes,
        log_bytes=log_bytes,
    )
