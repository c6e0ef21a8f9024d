"""Writes a checkpoint: rows come in key order and leave as blocks of the row-data stream."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from itertools import accumulate
from operator import add
from typing import TypeAlias

from pkadvisor.engine.lsm import checkpoint as blocks
from pkadvisor.engine.lsm.bloom import SCHEME, Filter
from pkadvisor.engine.lsm.cache import PageCache, Place
from pkadvisor.engine.lsm.checkpoint import Checkpoint, CheckpointReader, Root
from pkadvisor.engine.lsm.walk import CheckpointSource, RowWalk, columns
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import Location, Streams
from pkadvisor.values import dataclass

PassTurn: TypeAlias = Callable[[], Awaitable[None]]
"""Lets others run, then goes on (``World.pass_turn``)."""

SAMPLES = 512
"""About so many keys of a checkpoint are remembered with the bytes before them, for sizes and halving keys."""

APPEND_BYTES = 1 << 20
"""Blocks are collected to so many bytes before they are appended, all or none."""


TURN_BYTES = 256 << 10
"""Bytes of rows that are written before others have their turn."""


class CheckpointWriter:
    """One checkpoint in the making: ``add`` … ``add`` ──finish──► checkpoint. Abandoned, it leaves unused blocks."""

    def __init__(
        self,
        streams: Streams,
        stream: str,
        epoch: int,
        options: EngineOptions,
        rows_max: int,
        bytes_max: int,
        pass_turn: PassTurn | None = None,
    ) -> None:
        """``rows_max`` and ``bytes_max`` bound what will be added: the filter and the samples are laid out for it.

        ``pass_turn`` is awaited after every ``TURN_BYTES``, so that a long checkpoint keeps nobody waiting.
        """
        self._pass_turn = pass_turn
        self._worked_bytes = 0
        self._streams, self._stream, self._epoch, self._options = streams, stream, epoch, options
        self._filter = Filter.empty(rows_max, options.bloom_bits_per_key)
        self._keys: list[bytes] = []
        self._sequences: list[int] = []
        self._values: list[bytes | None] = []
        self._page_bytes = 0
        self._unsent: list[bytes] = []
        self._unsent_keys: list[bytes] = []
        self._unsent_bytes = 0
        self._page_keys: list[bytes] = []
        self._page_places: list[Place] = []
        self._sample_keys: list[bytes] = []
        self._sample_before: list[int] = []
        self._sample_step = max(bytes_max // SAMPLES, 1)
        self._sample_next = 0
        self._last = b""
        self._rows = self._tombstones = self._row_bytes = self._stored_bytes = self._sequence = 0
        self.extents: dict[int, None] = {}

    async def add(self, keys: list[bytes], sequences: list[int], values: list[bytes | None]) -> None:
        """Rows beyond all that were added before, in key order; None is a tombstone."""
        if not keys:
            return
        assert not self._rows or self._last < keys[0], "rows come in key order"
        self._filter.add(keys)
        self._rows += len(keys)
        self._last = keys[-1]
        self._sequence = max(self._sequence, max(sequences))
        tombstones = values.count(None)
        self._tombstones += tombstones
        present = [value or b"" for value in values] if tombstones else values
        before = self._row_bytes
        ends = list(accumulate(map(add, map(len, keys), map(len, present)), initial=before))  # type: ignore[arg-type]
        self._take_samples(keys, ends)
        start, page_max = 0, self._options.page_bytes
        while (end := bisect_left(ends, ends[start] + page_max - self._page_bytes, start + 1)) < len(ends):
            self._page_bytes += ends[end] - ends[start]
            self._extend(keys, sequences, values, start, end)
            start = end
            self._worked_bytes += self._page_bytes
            self._cut_page()
            if self._unsent_bytes >= APPEND_BYTES:
                await self._send()
            if self._pass_turn is not None and self._worked_bytes >= TURN_BYTES:
                self._worked_bytes = 0
                await self._pass_turn()
        self._page_bytes += ends[-1] - ends[start]
        self._extend(keys, sequences, values, start, len(keys))

    async def finish(
        self, cache: PageCache, low: bytes, high: bytes | None, sequence: int
    ) -> tuple[Checkpoint, CheckpointReader]:
        """Writes what is left, index, filter and root. ``sequence``: the newest change that the checkpoint covers."""
        assert self._sequence <= sequence, "a row is newer than the checkpoint"
        if self._keys:
            self._cut_page()
        if self._unsent:
            await self._send()
        fan_out = self._options.index_fan_out
        starts = range(0, len(self._page_keys), fan_out)
        nodes = [blocks.pack_node(self._page_keys[i : i + fan_out], self._page_places[i : i + fan_out]) for i in starts]
        stored = self._filter.to_bytes()
        part = min(APPEND_BYTES, self._options.block_bytes_max) - len(blocks.FILTER) - 4096
        parts = [blocks.pack_bytes(blocks.FILTER, stored[i : i + part]) for i in range(0, len(stored), part)]
        root = Root(
            fan_out=fan_out,
            node_keys=[self._page_keys[i] for i in starts],
            node_places=await self._append(nodes),
            pages=len(self._page_keys),
            last_key=self._last,
            sample_keys=self._sample_keys,
            sample_before=self._sample_before,
            filter_places=await self._append(parts),
            filter_scheme=SCHEME,
        )
        (place,) = await self._append([blocks.pack(blocks.ROOT, root)])
        checkpoint = Checkpoint(
            root=Location(*place),
            low=low,
            high=high,
            rows=self._rows,
            tombstones=self._tombstones,
            row_bytes=self._row_bytes,
            own_bytes=self._row_bytes,
            stored_bytes=self._stored_bytes,
            sequence=sequence,
            extents=tuple(sorted(self.extents)),
        )
        return checkpoint, CheckpointReader(self._streams, cache, checkpoint, root, self._filter)

    # ------------------------------------------------------------------------------------------------ pages

    def _extend(
        self, keys: list[bytes], sequences: list[int], values: list[bytes | None], start: int, end: int
    ) -> None:
        self._keys += keys[start:end]
        self._sequences += sequences[start:end]
        self._values += values[start:end]

    def _take_samples(self, keys: list[bytes], ends: list[int]) -> None:
        """``ends``: the bytes before each row, and after the last one."""
        at = 0
        while (at := bisect_left(ends, self._sample_next, at)) < len(keys):
            self._sample_keys.append(keys[at])
            self._sample_before.append(ends[at])
            self._sample_next = ends[at] + self._sample_step
            at += 1
        self._row_bytes = ends[-1]

    def _cut_page(self) -> None:
        tombstones = self._values.count(None)
        block = blocks.pack_page(self._keys, self._sequences, self._values, tombstones)
        self._unsent.append(block)
        self._unsent_keys.append(self._keys[0])
        self._unsent_bytes += len(block)
        self._keys, self._sequences, self._values, self._page_bytes = [], [], [], 0

    async def _send(self) -> None:
        sent, keys, self._unsent, self._unsent_keys = self._unsent, self._unsent_keys, [], []
        self._unsent_bytes = 0
        self._page_places += await self._append(sent)
        self._page_keys += keys

    async def _append(self, parts: list[bytes]) -> list[Place]:
        """Appends blocks, about ``APPEND_BYTES`` at a time; where they lie."""
        places: list[Place] = []
        batch: list[bytes] = []
        size = 0
        for i, part in enumerate(parts):
            batch.append(part)
            size += len(part)
            if size >= APPEND_BYTES or i == len(parts) - 1 or size + len(parts[i + 1]) > self._options.block_bytes_max:
                for location in await self._streams.append(self._stream, batch, self._epoch):
                    places.append((location.extent, location.offset, location.length))
                    self.extents[location.extent] = None
                self._stored_bytes += size
                batch, size = [], 0
        return places


# -- Which checkpoints to combine, and the combining: several become one, in which overwritten rows are gone.


FOREIGN_PERCENT = 25
"""A checkpoint that holds so many percent of foreign bytes (the other half of a split) is written anew [A]."""


@dataclass(frozen=True, slots=True)
class CombineTask:
    """Checkpoints that lie next to each other in age, newest first. ``bottom``: none is older, so tombstones go."""

    checkpoints: tuple[Checkpoint, ...]
    bottom: bool


def choose(checkpoints: Sequence[Checkpoint], fan_in: int, unit_bytes: int) -> CombineTask | None:
    """What to combine next, or None. Checkpoints newest first; ``unit_bytes`` is the size of the smallest tier."""
    tiers = [tier(checkpoint.row_bytes, fan_in, unit_bytes) for checkpoint in checkpoints]
    for level in sorted(dict.fromkeys(tiers)):
        start = 0
        while start < len(tiers):
            end = start
            while end < len(tiers) and tiers[end] <= level:
                end += 1
            if tiers[start:end].count(level) >= fan_in:
                return CombineTask(tuple(checkpoints[start:end]), end == len(tiers))
            start = end + 1
    for i, checkpoint in enumerate(checkpoints):
        foreign = checkpoint.row_bytes - checkpoint.own_bytes
        if foreign * 100 > checkpoint.row_bytes * FOREIGN_PERCENT:
            return CombineTask((checkpoint,), i == len(checkpoints) - 1)
    return None


def tier(row_bytes: int, fan_in: int, unit_bytes: int) -> int:
    """0 up to ``unit_bytes``, 1 up to ``fan_in`` times that, and so on."""
    level, limit = 0, unit_bytes
    while row_bytes > limit:
        level, limit = level + 1, limit * max(fan_in, 2)
    return level


async def combine(readers: Sequence[CheckpointReader], writer: CheckpointWriter, *, bottom: bool) -> None:
    """Adds the newest version of each row of the checkpoints (newest first) to a new one; foreign rows and, at the
    bottom, tombstones stay behind."""
    walk = RowWalk([CheckpointSource(reader, reader.low, reader.high, keep=False) for reader in readers])
    while parts := await walk.next():
        keys, sequences, values = columns(parts)
        if bottom and any(rows.tombstones for rows, _, _ in parts):
            present = [i for i, value in enumerate(values) if value is not None]
            keys, sequences, values = (
                [keys[i] for i in present],
                [sequences[i] for i in present],
                [values[i] for i in present],
            )
        await writer.add(keys, sequences, values)
