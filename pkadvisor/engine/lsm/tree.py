"""The log-structured merge tree of one range partition (SOSP 2011, 5.3; names of the paper).

    apply ─► memory table ──freeze──► frozen table ──write_checkpoint──► blocks of the row-data stream
                 │                        │                                   │ the owner makes the descriptor durable
    get, cursor ─┴── newest first ────────┴─► checkpoints, newest first ◄─────┴── install
                                                    │    ▲
                                       combine_task └────┴ combine, install_combined

A write that is applied was logged before; the tree itself logs nothing. What it needs to be opened again are the
descriptors of its checkpoints (``Checkpoint``), which the range partition keeps in its metadata stream, and the log
after the frozen point. The tree changes its lists only in the calls that do not wait, so that a reader that waits for a
page goes on with what it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress

from pkadvisor.engine.lsm.bloom import digest
from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.checkpoint import Checkpoint, CheckpointReader
from pkadvisor.engine.lsm.checkpoint_writer import CheckpointWriter, CombineTask, PassTurn, choose, combine
from pkadvisor.engine.lsm.memory_table import MemoryTable, Version
from pkadvisor.engine.lsm.walk import CheckpointSource, MemorySource, RowWalk, Source, live
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.rows import Change, Row
from pkadvisor.engine.stream.access import Location, NotThere, Streams

CHECKPOINT_ROWS = 512
"""Rows handed to the writer at once."""


class Tree:
    """Rows of [low, high): memory table, frozen tables, checkpoints. Not thread-safe; one owner applies."""

    def __init__(
        self,
        streams: Streams,
        data_stream: str,
        epoch: int,
        options: EngineOptions,
        *,
        cache: PageCache | None = None,
        low: bytes = b"",
        high: bytes | None = None,
        pass_turn: PassTurn | None = None,
    ) -> None:
        """An empty tree; ``cache`` is that of the server, or one of its own of ``options.page_cache_bytes``.

        ``pass_turn`` is what a long checkpoint or combine awaits now and then.
        """
        self._pass_turn = pass_turn
        self.low, self.high = low, high
        self.cache = cache if cache is not None else PageCache(options.page_cache_bytes)
        self.sequence = 0
        self._streams, self._data_stream, self._epoch, self._options = streams, data_stream, epoch, options
        self._bounded = low > b"" or high is not None
        self._active = MemoryTable()
        self._frozen: tuple[MemoryTable, ...] = ()  # newest first
        self._readers: tuple[CheckpointReader, ...] = ()  # newest first
        self._written: dict[Location, CheckpointReader] = {}  # finished, not installed
        self._writers: list[CheckpointWriter] = []
        self._pins: dict[tuple[CheckpointReader, ...], int] = {}  # checkpoints → open cursors that need them

    @staticmethod
    async def open(
        streams: Streams,
        data_stream: str,
        epoch: int,
        options: EngineOptions,
        checkpoints: Sequence[Checkpoint],
        low: bytes,
        high: bytes | None,
        *,
        cache: PageCache | None = None,
        pass_turn: PassTurn | None = None,
    ) -> Tree:
        """The tree of [low, high) over checkpoints, newest first. The log after them is then applied.

        After a split both children are given the parent's checkpoints; after a merge the parent is given those of one
        child and then those of the other. What lies outside the range is not believed; checkpoints that lie wholly
        outside are left out.
        """
        tree = Tree(streams, data_stream, epoch, options, cache=cache, low=low, high=high, pass_turn=pass_turn)
        readers = []
        for checkpoint in checkpoints:
            own_low, own_high = checkpoint.clipped(low, high)
            if own_high is None or own_low < own_high:
                readers.append(await CheckpointReader.open(streams, tree.cache, checkpoint, low, high))
            tree.sequence = max(tree.sequence, checkpoint.sequence)
        tree._readers = tuple(readers)
        return tree

    # ------------------------------------------------------------------------------------------------ rows

    def apply(self, sequence: int, changes: Sequence[Change]) -> None:
        """Takes the changes of a log record into the memory table; changes outside the range are passed over.

        A key stands once in ``changes``. Sequence numbers of a key never fall. While a cursor is open, they are above
        its own.
        """
        if self._bounded:
            low, high = self.low, self.high
            changes = [change for change in changes if change[0] >= low and (high is None or change[0] < high)]
        self._active.apply(sequence, changes)
        if sequence > self.sequence:
            self.sequence = sequence

    async def get(self, key: bytes) -> Row | None:
        """The row as last applied when the call began."""
        row: Version | None = self._active.rows.get(key)
        if row is None:
            for table in self._frozen:
                row = table.rows.get(key)
                if row is not None:
                    break
            else:
                row = await self._find(key)
        return row if row is not None and row[1] is not None else None  # type: ignore[return-value]

    async def get_all(self, keys: Sequence[bytes]) -> list[Row | None]:
        """The row of each key, of keys that nobody changes before the call ends.

        A key that is neither in memory nor in any Bloom filter costs no step of its own, and no filter is asked of a
        checkpoint whose keys all lie before or behind.
        """
        rows: list[Version | None] = list(map(self._active.rows.get, keys))
        lacking = [i for i, row in enumerate(rows) if row is None]
        for table in self._frozen:
            for i in lacking:
                rows[i] = table.rows.get(keys[i])
            lacking = [i for i in lacking if rows[i] is None]
        maybe: dict[int, None] = {}
        if lacking:
            absent = [keys[i] for i in lacking]
            low, high = min(absent), max(absent)
            hashes = list(map(digest, absent))
            for reader in self._readers:
                if reader.overlaps(low, high):
                    maybe.update(dict.fromkeys(compress(lacking, map(reader.maybe, hashes))))
        for i in maybe:
            rows[i] = await self._find(keys[i])
        return [None if row is None or row[1] is None else row for row in rows]  # type: ignore[misc]

    async def _find(self, key: bytes) -> Version | None:
        """The newest version in the checkpoints."""
        if self._bounded and (key < self.low or (self.high is not None and key >= self.high)):
            return None
        hashed = digest(key)
        while True:
            readers = self._readers
            try:
                for reader in readers:
                    row = await reader.find(key, hashed)
                    if row is not None:
                        return row
                return None
            except NotThere:
                # Combined away, and the extent is gone, while this read waited: the combined checkpoint has it.
                if readers is self._readers:
                    raise

    def cursor(self, low: bytes, high: bytes | None, sequence: int) -> TreeCursor:
        """Rows with ``low <= key < high`` as they are now; later changes, checkpoints and combines are not seen.

        ``sequence`` is the newest change committed and must not be older than what is applied. The cursor holds memory
        and extents until it is read to its end or closed.
        """
        assert sequence >= self.sequence, "a snapshot of the past: its rows may be gone"
        low = max(low, self.low)
        if high is None or (self.high is not None and self.high < high):
            high = self.high
        if high is not None and low >= high:
            return TreeCursor([], lambda: None)
        sequence = self.sequence
        table, readers = self._active, self._readers
        sources: list[Source] = [MemorySource(t, low, high, sequence) for t in (table, *self._frozen) if t.rows]
        for reader in readers:
            own_low, own_high = reader.checkpoint.clipped(low, high)
            if own_high is None or own_low < own_high:
                sources.append(CheckpointSource(reader, own_low, own_high))
        table.open_snapshot(sequence)
        pins = self._pins
        pins[readers] = pins.get(readers, 0) + 1

        def close() -> None:
            table.close_snapshot(sequence)
            pins[readers] -= 1
            if not pins[readers]:
                del pins[readers]

        return TreeCursor(sources, close)

    # ------------------------------------------------------------------------------------------------ checkpoints

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Descriptors of the checkpoints in use, newest first."""
        return tuple(reader.checkpoint for reader in self._readers)

    @property
    def memory_bytes(self) -> int:
        """Bytes that the memory table which takes changes needs; compare with ``options.memory_table_bytes``."""
        return self._active.memory_bytes

    @property
    def memory_tables(self) -> tuple[MemoryTable, ...]:
        """The table that takes changes, and the frozen ones that are not written yet."""
        return (self._active, *self._frozen)

    def freeze(self) -> bool:
        """Sets the memory table aside for a checkpoint and begins a new one; whether anything waits to be written.

        A checkpoint holds exactly the changes applied before the freeze: the log position of this moment is what the
        checkpoint covers. Several frozen tables may wait; they are written oldest first.
        """
        if self._active.rows:
            self._active.freeze()
            self._frozen = (self._active, *self._frozen)
            self._active = MemoryTable()
        return bool(self._frozen)

    async def write_checkpoint(self) -> Checkpoint | None:
        """Writes the oldest frozen table to the row-data stream; None where none waits.

        Errors of the streams (Fenced …) are raised, and the table waits on. It is read from memory until ``install``.
        """
        if not self._frozen:
            return None
        table = self._frozen[-1]
        bottom = not self._readers
        writer = self._writer(len(table.rows), table.row_bytes)
        try:
            keys = list(table.keys())
            for start in range(0, len(keys), CHECKPOINT_ROWS):
                part = keys[start : start + CHECKPOINT_ROWS]
                sequences, values = map(list, zip(*map(table.rows.__getitem__, part), strict=True))
                if bottom and None in values:
                    alive = [i for i, value in enumerate(values) if value is not None]
                    part, sequences, values = ([column[i] for i in alive] for column in (part, sequences, values))
                await writer.add(part, sequences, values)
            return await self._finish(writer, table.sequence)
        finally:
            self._writers.remove(writer)

    def with_installed(self, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
        """``checkpoints`` as they will be after ``install``, for the metadata record that comes before it."""
        return (checkpoint, *self.checkpoints)

    def install(self, checkpoint: Checkpoint) -> None:
        """Reads go to the checkpoint from now on, and the oldest frozen table is let go; its descriptor is durable."""
        reader = self._written.pop(checkpoint.root)
        assert self._frozen, "no frozen table stands behind this checkpoint"
        assert checkpoint.sequence == self._frozen[-1].sequence, "not the checkpoint of the oldest frozen table"
        self._frozen = self._frozen[:-1]
        self._readers = (reader, *self._readers)

    def combine_task(self) -> CombineTask | None:
        """What should be combined now, or None."""
        return choose(self.checkpoints, self._options.combine_fan_in, self._options.memory_table_bytes)

    async def combine(self, task: CombineTask) -> Checkpoint:
        """Writes one checkpoint in place of those of the task; reads go to the old ones until ``install_combined``."""
        start = self._position(task)
        readers = self._readers[start : start + len(task.checkpoints)]
        rows = sum(checkpoint.rows for checkpoint in task.checkpoints)
        writer = self._writer(rows, sum(checkpoint.own_bytes for checkpoint in task.checkpoints))
        try:
            await combine(readers, writer, bottom=task.bottom)
            return await self._finish(writer, max(checkpoint.sequence for checkpoint in task.checkpoints))
        finally:
            self._writers.remove(writer)

    def with_combined(self, task: CombineTask, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
        """``checkpoints`` as they will be after ``install_combined``, for the metadata record that comes before it."""
        start, checkpoints = self._position(task), self.checkpoints
        return (*checkpoints[:start], checkpoint, *checkpoints[start + len(task.checkpoints) :])

    def install_combined(self, task: CombineTask, checkpoint: Checkpoint) -> None:
        """Reads go to the combined checkpoint from now on; its descriptor is durable."""
        start, reader = self._position(task), self._written.pop(checkpoint.root)
        self._readers = (*self._readers[:start], reader, *self._readers[start + len(task.checkpoints) :])

    def _position(self, task: CombineTask) -> int:
        # After a merge of two children of one parent the same blocks stand twice, each believed in its own half.
        roots = [(reader.checkpoint.root, reader.low) for reader in self._readers]
        wanted = [(checkpoint.root, checkpoint.low) for checkpoint in task.checkpoints]
        start = roots.index(wanted[0])
        assert roots[start : start + len(wanted)] == wanted, "the checkpoints of the task no longer stand together"
        return start

    def _writer(self, rows: int, row_bytes: int) -> CheckpointWriter:
        writer = CheckpointWriter(
            self._streams, self._data_stream, self._epoch, self._options, rows, row_bytes, self._pass_turn
        )
        self._writers.append(writer)
        return writer

    async def _finish(self, writer: CheckpointWriter, sequence: int) -> Checkpoint:
        checkpoint, reader = await writer.finish(self.cache, self.low, self.high, sequence)
        self._written[checkpoint.root] = reader
        return checkpoint

    # ------------------------------------------------------------------------------------------------ sizes

    def extents(self) -> tuple[int, ...]:
        """Extents of the row-data stream that are in use, by checkpoints, ones being written, and open cursors."""
        out: dict[int, None] = {}
        for reader in (*chain.from_iterable(self._pins), *self._readers, *self._written.values()):
            out.update(dict.fromkeys(reader.checkpoint.extents))
        for writer in self._writers:
            out.update(writer.extents)
        return tuple(sorted(out))

    def bytes_in(self, low: bytes, high: bytes | None) -> int:
        """Bytes of keys and values in [low, high), own range only. Rows that a newer version hides still count until
        they are combined away, and a checkpoint's part is known to 1/512 of it."""
        whole = low <= self.low and (high is None or (self.high is not None and self.high <= high))
        total = sum(reader.bytes_in(max(low, self.low), high) for reader in self._readers)
        for table in (self._active, *self._frozen):
            total += table.row_bytes if whole else sum(weight for _, weight in table.samples(low, high))
        return total

    def halving_key(self, low: bytes, high: bytes | None) -> bytes | None:
        """A key that about halves the bytes in [low, high), with rows on both sides; None where one key holds all."""
        weights: dict[bytes, int] = {}
        for reader in self._readers:
            for key, weight in reader.samples(low, high):
                weights[key] = weights.get(key, 0) + weight
        for table in (self._active, *self._frozen):
            for key, weight in table.samples(low, high):
                weights[key] = weights.get(key, 0) + weight
        keys = sorted(weights)
        half, before = sum(weights.values()), 0
        for key in keys:
            if 2 * before >= half and key != keys[0]:
                return key
            before += weights[key]
        return keys[-1] if len(keys) > 1 else None

    # ------------------------------------------------------------------------------------------------ check

    async def check(self) -> None:
        """Everything that must hold, in memory and in all blocks: P7, order of versions, accounts, bounds."""
        newest: dict[bytes, int] = {}
        tables = (self._active, *self._frozen)
        assert not self._active.frozen
        assert all(table.frozen for table in self._frozen)
        for table in tables:
            table.check()
            assert table.sequence <= self.sequence
            for key, (sequence, _) in table.rows.items():
                assert key >= self.low, "a row below the range"
                assert self.high is None or key < self.high, "a row above the range"
                assert sequence <= newest.setdefault(key, sequence), "a frozen row is newer than one after it"
        for reader in self._readers:
            await reader.check()
            assert reader.low >= self.low
            assert self.high is None or (reader.high is not None and reader.high <= self.high)
            assert reader.checkpoint.sequence <= self.sequence
            source = CheckpointSource(reader, reader.low, reader.high, keep=False)
            while await source.fill():
                rows, part = source.rows, slice(source.at, source.end)
                for key, sequence in zip(rows.keys[part], rows.sequences[part], strict=True):
                    assert sequence <= newest.setdefault(key, sequence), "an older checkpoint has a newer row"
        self.cache.check()


class TreeCursor:
    """``Cursor`` of ``rows.py`` over memory tables and checkpoints as they were when it was made.

    One that is dropped unread is closed too: what it holds is memory only.
    """

    __slots__ = ("_release", "_walk")

    def __init__(self, sources: Sequence[Source], release: Callable[[], None]) -> None:
        self._walk: RowWalk | None = RowWalk(sources)
        self._release: Callable[[], None] | None = release

    async def next(self) -> list[tuple[bytes, int, bytes]]:
        """The next rows (key, sequence number, value), never empty but at the end."""
        while self._walk is not None:
            parts = await self._walk.next()
            if not parts:
                self.close()
                break
            rows = live(parts)
            if rows:
                return rows
        return []

    def close(self) -> None:
        """Gives the snapshot back; twice does nothing."""
        release, self._release, self._walk = self._release, None, None
        if release is not None:
            release()

    def __del__(self) -> None:
        self.close()
