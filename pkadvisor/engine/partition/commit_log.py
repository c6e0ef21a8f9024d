"""The commit log of a range partition: records in the order of their sequence numbers, several in one append.

A record is ``[epoch, sequence, previous, kind, changes]`` in MessagePack; a block of the log stream holds an array of
records, whose checksum is the stream layer's. Every change of an entity group is in one record, so that the group is
there as a whole or not at all (SOSP 2011, 5.4.1). A record larger than a block goes as pieces in one atomic append.

Group commit: one append is under way at a time. Whoever comes meanwhile queues; when the append is durable its records
are applied in order, and the first in the queue leads the next append, with all that fit. Where an append takes no time
that others could use, as on files without syncs, the leader first lets those go on that are ready: they may be writers.

    nobody leads ──append──► one append under way ──durable, nobody waits──► nobody leads
                                 │      ▲ durable: the first that waits leads
                                 │      └──────┘
                                 └──error──► failed: no record is taken any more; those under way are uncertain

What the stream layer leaves behind is sorted out at replay (hardening; the paper is silent): a block may lie in the log
twice, records of an owner that was deposed may lie behind those of the next one, and a record that was never
acknowledged may be there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from struct import Struct as Layout
from typing import TypeAlias

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.metadata import RangeReadOnly, WriteUncertain
from pkadvisor.engine.rows import Change
from pkadvisor.engine.stream.access import Location, Streams
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import DataCorrupt, EngineError, World

WRITE, OWNER = 0, 1  # kinds: changes of rows; "from here on only this epoch or later ones write"

Apply: TypeAlias = Callable[[int, Sequence[Change]], None]
_PIECE = 0xC1  # the one byte that begins no MessagePack value
_PIECE_HEAD = Layout(">BHHQ")  # mark, index, count, sequence of the record
_BLOCK_MARGIN_BYTES = 64  # room for the stream layer's header of a block and for that of a piece
_RECORDS_PER_BLOCK_MAX = 65_535


class LogRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One record. ``previous`` is the sequence number before it: a hole shows at replay."""

    epoch: int
    sequence: int
    previous: int
    kind: int
    changes: list[tuple[bytes, bytes | None]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[LogRecord]).decode


def encode_record(epoch: int, sequence: int, previous: int, kind: int, changes: Sequence[Change]) -> bytes:
    """A record as bytes."""
    return _encode((epoch, sequence, previous, kind, changes))


def blocks_of(records: Sequence[bytes], sequence: int, block_bytes: int) -> list[bytes]:
    """The blocks of one append: one, or the pieces of a single large record of at most ``block_bytes`` each."""
    count = len(records)
    assert 0 < count <= _RECORDS_PER_BLOCK_MAX
    head = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    block = head + b"".join(records)
    if len(block) <= block_bytes:
        return [block]
    assert count == 1, "only a record that is too large alone is cut"
    room = block_bytes - _PIECE_HEAD.size
    starts = range(0, len(block), room)
    return [
        _PIECE_HEAD.pack(_PIECE, index, len(starts), sequence) + block[start : start + room]
        for index, start in enumerate(starts)
    ]


class _Waiting(Future[bool]):
    """A record that waits for the append under way: then it leads the next one (true), or was in it (false)."""

    __slots__ = ("changes", "data", "sequence")

    def __init__(self, sequence: int, changes: Sequence[Change], data: bytes) -> None:
        super().__init__()
        self.sequence, self.changes, self.data = sequence, changes, data


class CommitLog:
    """The open end of a log: gives out sequence numbers, appends, applies what is durable."""

    def __init__(
        self,
        streams: Streams,
        name: str,
        epoch: int,
        options: EngineOptions,
        sequence: int,
        apply: Apply,
        world: World | None = None,
    ) -> None:
        self.given = sequence
        """The last sequence number given out."""
        self.applied = sequence
        """The last sequence number that is durable and applied."""
        self.failed: EngineError | None = None
        self.last: Location | None = None
        """Where the last applied records begin."""
        self.bytes = 0
        """Bytes appended and replayed so far."""
        self.appends = 0
        self._streams, self._name, self._epoch, self._apply = streams, name, epoch, apply
        self._world = world
        self._records_max = min(options.group_commit_records, _RECORDS_PER_BLOCK_MAX)
        self._block_bytes = options.block_bytes_max - _BLOCK_MARGIN_BYTES
        self._queue: deque[_Waiting] = deque()
        self._led = False

    async def append(self, changes: Sequence[Change]) -> int:
        """Logs changes under the next sequence number; returns that number when they are durable and applied.

        Up to the first wait it runs straight through: the order of calls is that of the numbers.
        RangeReadOnly: nothing was logged. WriteUncertain: the record may be there after the next load.
        """
        if self.failed is not None:
            raise RangeReadOnly(f"{self._name}: the log has failed: {self.failed}")
        sequence = self.given + 1
        block = _encode(((self._epoch, sequence, self.given, WRITE, changes),))
        self.given = sequence
        world = self._world
        if not self._led and world is not None and world.others_ready():
            self._led = True
            await self._gather(world, _Waiting(sequence, changes, block[1:]))
        elif not self._led:
            self._led = True
            if len(block) <= self._block_bytes:  # the short way of one record in one block
                try:
                    (location,) = await self._streams.append(self._name, (block,), self._epoch)
                except EngineError as error:
                    self._fail(error, ())
                    raise WriteUncertain(f"{self._name}: {error}") from error
                assert sequence == self.applied + 1, "records are applied in the order of their numbers"
                self._apply(sequence, changes)
                self.applied, self.last = sequence, location
                self.appends += 1
                self.bytes += location.length
            else:
                await self._carry([_Waiting(sequence, changes, block[1:])])
            if self._queue:
                self._pass_lead()
            else:
                self._led = False
            return sequence
        else:
            turn = _Waiting(sequence, changes, block[1:])
            self._queue.append(turn)
            if not await turn:
                return sequence
        group = self._take()
        assert group[0].sequence == sequence, "the first of the queue leads its own group"
        await self._carry(group)
        self._pass_lead()
        for each in group[1:]:
            each.resolve(False)
        return sequence

    async def _gather(self, world: World, leader: _Waiting) -> None:
        """Lets others join who are ready. RangeReadOnly where the range was closed meanwhile: nothing is logged."""
        self._queue.append(leader)
        await world.pass_turn()
        if self.failed is not None:
            self._fail(self.failed, ())
            raise RangeReadOnly(f"{self._name}: the log has failed: {self.failed}")

    def _take(self) -> list[_Waiting]:
        """The records of the next append: the first in the queue, and those behind it that fit in its block."""
        queue, room = self._queue, self._block_bytes - 3
        count = 0
        for each in islice(queue, self._records_max):
            room -= len(each.data)
            if room < 0 and count:
                break
            count += 1
        return [queue.popleft() for _ in range(count)]

    async def _carry(self, group: list[_Waiting]) -> None:
        """Appends the records of a group, of which the first leads, and applies them."""
        blocks = blocks_of([each.data for each in group], group[0].sequence, self._block_bytes)
        try:
            locations = await self._streams.append(self._name, blocks, self._epoch)
        except EngineError as error:
            self._fail(error, group[1:])
            raise WriteUncertain(f"{self._name}: {error}") from error
        self.appends += 1
        for location in locations:
            self.bytes += location.length
        apply, applied = self._apply, self.applied
        for each in group:
            assert each.sequence == applied + 1, "records are applied in the order of their numbers"
            apply(each.sequence, each.changes)
            self.applied = applied = each.sequence
        self.last = locations[0]

    def _pass_lead(self) -> None:
        if self._queue:
            self._queue[0].resolve(True)
        else:
            self._led = False

    def _fail(self, error: EngineError, others: Sequence[_Waiting]) -> None:
        self.failed = error
        for each in others:
            each.fail(WriteUncertain(f"{self._name}: {error}"))
        queue, self._queue = self._queue, deque()
        for each in queue:
            each.fail(RangeReadOnly(f"{self._name}: the log has failed: {error}"))

    def fail(self, error: EngineError) -> None:
        """Takes no more records."""
        if self.failed is None:
            self.failed = error

    def check(self) -> None:
        """Asserts that numbers given out are applied, under way, or lost in a failure."""
        assert self.applied <= self.given
        assert self._led or not self._queue, "somebody waits and nobody leads"
        assert self.failed is not None or self._led or self.applied == self.given
        numbers = [each.sequence for each in self._queue]
        assert numbers == sorted(numbers)


class Replay:
    """Sorts out the blocks of a log at load: which records are applied, in what order.

    Feed it all blocks from the log's start on, in order. ``sequence`` starts at what checkpoints cover.
    """

    def __init__(self, covered: int, apply: Apply) -> None:
        self.sequence = covered
        self.epoch = 0
        self.last: Location | None = None
        self.bytes = 0
        self.applied = 0
        self.duplicates = 0
        self.stale = 0
        self._covered = covered
        self._apply = apply
        self._pieces: list[bytes] = []
        self._begin: Location | None = None

    def feed(self, location: Location, block: bytes) -> None:
        """Takes the next block. DataCorrupt where a record is missing: unavailable rather than wrong."""
        self.bytes += location.length
        if block[0] == _PIECE:
            _, index, count, _ = _PIECE_HEAD.unpack_from(block)
            if index == 0:
                self._pieces, self._begin = [], location
            elif index != len(self._pieces):
                return  # the rest of an append that was tried again
            self._pieces.append(block[_PIECE_HEAD.size :])
            if len(self._pieces) < count:
                return
            block, self._pieces = b"".join(self._pieces), []
            assert self._begin is not None
            location = self._begin
        try:
            records = _decode(block)
        except msgspec.MsgspecError as error:
            raise DataCorrupt(f"no record of a commit log at {location}: {error}") from error
        for record in records:
            self._take(record)
        self.last = location

    def _take(self, record: LogRecord) -> None:
        if record.epoch < self.epoch:
            self.stale += 1
            return
        self.epoch = record.epoch
        if record.kind == OWNER:
            return
        sequence = record.sequence
        if sequence <= self.sequence:
            if sequence > self._covered:
                self.duplicates += 1
            return
        if record.previous != self.sequence:
            raise DataCorrupt(
                f"the commit log goes from {self.sequence} to {sequence}, whose previous record is missing"
            )
        self._apply(sequence, record.changes)
        self.sequence = sequence
        self.applied += 1


async def replay(streams: Streams, name: str, start: Location | None, covered: int, apply: Apply) -> Replay:
    """Reads a log from ``start`` on and applies what checkpoints do not cover; what came of it."""
    replay = Replay(covered, apply)
    feed = replay.feed
    async for location, block in streams.records(name, start):
        feed(location, block)
    return replay
