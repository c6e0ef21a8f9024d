"""The metadata stream of a range partition: its roots, one after the other; the last one that holds tells everything.

A root names the key range, the checkpoints, where the commit log starts and what split or merge was begun (SOSP 2011,
5.3.2 and 5.5). It is written whole each time: it is small, and no older record is needed to understand it.

    root ──checkpoint, combine, load──► root ──split or merge begins──► root with intent
                                         ▲                                │        │ MultiModify: the streams of this
                                         └──given up: it never happened───┘        ▼ range are now those of others
                                                                             root of a child (number of the child)

Whoever finds the intent under the *old* name knows that MultiModify did not happen; whoever finds it under the name of
a child knows that it did, and what the child's root must be. So a crash between the two needs no other witness.
Hardening: the paper names the "status of outstanding split and merge" only.

Latches on keys: whoever writes a key waits for the writers of that key that came before.

A latch is free, or held with a queue of those who wait. It passes from hand to hand: a late comer never overtakes.

    free ──hold──► held, nobody waits ──hold──► held, some wait ──release──► held by the first that waited
      ▲                   │ release
      └───────────────────┘
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from pkadvisor.engine.lsm.checkpoint import Checkpoint
from pkadvisor.engine.stream.access import Location, Streams
from pkadvisor.engine.worlds.tasks import Future, Lock
from pkadvisor.engine.worlds.world import DataCorrupt, EngineError, FormatError


class KeyLatches:
    """Latches of one range partition; memory only, forgotten in a crash."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[bytes, deque[Future[None]] | None] = {}

    def take(self, key: bytes) -> bool:
        """Takes a latch that is free, at once; False where somebody holds it."""
        if key in self._held:
            return False
        self._held[key] = None
        return True

    async def hold(self, keys: Sequence[bytes]) -> None:
        """Takes the latches of ``keys`` one after the other.

        All callers must name keys in ascending order and none twice: so no two of them wait for each other in a circle.
        """
        held = self._held
        if held.keys().isdisjoint(keys):
            held.update(dict.fromkeys(keys))
            return
        for key in keys:
            if key not in held:
                held[key] = None
                continue
            waiting = held[key]
            if waiting is None:
                waiting = held[key] = deque()
            turn: Future[None] = Future()
            waiting.append(turn)
            await turn

    def release(self, keys: Sequence[bytes]) -> None:
        """Gives latches back; each goes to whoever waits longest for it."""
        held = self._held
        for key in keys:
            waiting = held.pop(key)
            if waiting:
                held[key] = waiting
                waiting.popleft().resolve(None)

    def check(self) -> None:
        """Asserts that nobody waits for what is done."""
        for waiting in self._held.values():
            assert not any(turn.done for turn in waiting or ()), "whoever was woken still stands in the queue"

    def __len__(self) -> int:
        return len(self._held)


FORMAT: Final = 1


class SplitIntent(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A split was begun: [low, at) goes to ``left``, [at, high) to ``right``. All rows are in checkpoints."""

    at: bytes
    left: int
    right: int


class MergeIntent(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A merge was begun: ``left`` and ``right`` become ``into``. All rows are in checkpoints."""

    left: int
    right: int
    into: int


class RangeRoot(msgspec.Struct, frozen=True, array_like=True):
    """All that is needed to load a range.

    ``sequence`` is the last one that the checkpoints cover, ``log_start`` where the first later record may lie (None:
    at the beginning). ``checkpoints`` stand newest first. ``inherited`` are extents of row data that were there before
    this range was made by split or merge, and that are still in use.
    """

    number: int
    epoch: int
    version: int
    low: bytes
    high: bytes | None
    sequence: int = 0
    log_start: Location | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    inherited: tuple[int, ...] = ()
    intent: SplitIntent | MergeIntent | None = None


class _RangeRecord(msgspec.Struct, frozen=True, array_like=True):
    format: int
    root: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode_record = msgspec.msgpack.Decoder(_RangeRecord).decode
_decode_root = msgspec.msgpack.Decoder(RangeRoot).decode


def encode_root(root: RangeRoot) -> bytes:
    """A root as a block."""
    return _encode((FORMAT, root))


def decode_root(block: bytes) -> RangeRoot:
    """The root of a block. FormatError: a later version wrote it. DataCorrupt: it is none."""
    try:
        record = _decode_record(block)
        if record.format > FORMAT:
            raise FormatError(f"metadata of format {record.format}; this version reads up to {FORMAT}")
        return _decode_root(record.root)
    except msgspec.MsgspecError as error:
        raise DataCorrupt(f"no root of a range: {error}") from error


def latest_roots(roots: Iterable[RangeRoot]) -> dict[int, RangeRoot]:
    """The root that holds for each range number: the last one, by epoch and version.

    A root of an owner that was deposed, or one that lies there twice, changes nothing.
    """
    latest: dict[int, RangeRoot] = {}
    for root in roots:
        known = latest.get(root.number)
        if known is None or (root.epoch, root.version) > (known.epoch, known.version):
            latest[root.number] = root
    return latest


def _united(*groups: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({each for group in groups for each in group}))


def extents_of(root: RangeRoot) -> tuple[int, ...]:
    """The extents of row data that a root's checkpoints use."""
    return _united(*(checkpoint.extents for checkpoint in root.checkpoints))


def _clipped(checkpoint: Checkpoint, low: bytes, high: bytes | None) -> Checkpoint:
    low, high = checkpoint.clipped(low, high)
    return msgspec.structs.replace(checkpoint, low=low, high=high)


def split_roots(parent: RangeRoot, epoch: int) -> tuple[RangeRoot, RangeRoot]:
    """The roots of both children of a range whose root holds the intent to split."""
    intent = parent.intent
    assert isinstance(intent, SplitIntent)
    assert parent.low < intent.at and (parent.high is None or intent.at < parent.high)
    extents = extents_of(parent)

    def child(number: int, low: bytes, high: bytes | None) -> RangeRoot:
        believed = tuple(_clipped(checkpoint, low, high) for checkpoint in parent.checkpoints)
        return RangeRoot(number, epoch, 0, low, high, parent.sequence, None, believed, extents)

    return child(intent.left, parent.low, intent.at), child(intent.right, intent.at, parent.high)


def merge_root(left: RangeRoot, right: RangeRoot, epoch: int) -> RangeRoot:
    """The root of the range that two neighbours become, whose roots hold the intent to merge.

    Each checkpoint goes on being believed within its own bounds only: children of one parent hold the same old rows,
    and what the other has deleted since must not come back.
    """
    intent = left.intent
    assert isinstance(intent, MergeIntent) and intent == right.intent
    assert left.high is not None and left.high == right.low, "only neighbours merge"
    return RangeRoot(
        number=intent.into,
        epoch=epoch,
        version=0,
        low=left.low,
        high=right.high,
        sequence=max(left.sequence, right.sequence),
        checkpoints=tuple(
            _clipped(checkpoint, side.low, side.high) for side in (left, right) for checkpoint in side.checkpoints
        ),
        inherited=_united(extents_of(left), extents_of(right)),
    )


def root_for(number: int, roots: Iterable[RangeRoot], epoch: int) -> tuple[RangeRoot, bool]:
    """The root of a range from the blocks of its metadata stream; whether it was just made by split or merge.

    RangeMissing where no root belongs to it.
    """
    latest = latest_roots(roots)
    own = latest.get(number)
    if own is not None:
        return own, False
    for root in latest.values():
        intent = root.intent
        if isinstance(intent, SplitIntent) and number in (intent.left, intent.right):
            left, right = split_roots(root, epoch)
            return (left if number == intent.left else right), True
        if isinstance(intent, MergeIntent) and number == intent.into and {intent.left, intent.right} <= latest.keys():
            return merge_root(latest[intent.left], latest[intent.right], epoch), True
    raise RangeMissing(f"range {number} has no metadata")


class MetadataStream:
    """The open end of a metadata stream."""

    def __init__(self, streams: Streams, name: str, epoch: int, root: RangeRoot) -> None:
        self.root = root
        self._streams, self._name, self._epoch = streams, name, epoch
        self.lock = Lock()
        """For one change: roots are written one after the other, each from the one before."""
        self._extent = -1

    async def append(self, root: RangeRoot) -> None:
        """Writes the next root; on return it holds. The caller holds the lock."""
        assert not self.lock.free, "the stream is held while a root is written"
        used = extents_of(root)
        inherited = tuple(extent for extent in root.inherited if extent in used)
        root = msgspec.structs.replace(root, epoch=self._epoch, version=self.root.version + 1, inherited=inherited)
        (location,) = await self._streams.append(self._name, [encode_root(root)], self._epoch)
        self.root = root
        if location.extent != self._extent:
            with suppress(EngineError):  # the root holds; older extents can go another time
                await self._streams.drop_before(self._name, location)
                self._extent = location.extent

    def check(self) -> None:
        """Asserts that the root is this owner's, and names of the inherited extents only those that are in use."""
        root, used = self.root, extents_of(self.root)
        self.lock.check()
        assert root.epoch == self._epoch, "the root of another owner"
        assert root.high is None or root.low < root.high, "a range holds at least one key"
        assert all(extent in used for extent in root.inherited), "an inherited extent that nothing uses"


async def read_roots(streams: Streams, name: str) -> list[RangeRoot]:
    """All roots of a metadata stream, in order."""
    return [decode_root(block) async for _, block in streams.records(name)]


# -- What a range partition answers when it cannot.


class RangeError(EngineError):
    """The range partition cannot do it."""


class RangeMissing(RangeError):  # noqa: N818
    """No range of that number."""


class RangeStopped(RangeError):  # noqa: N818
    """This instance serves no more."""


class RangeReadOnly(RangeError):  # noqa: N818
    """The log takes no more records until the range is loaded again; nothing of this write was logged."""


class WriteUncertain(RangeError):  # noqa: N818
    """The record was under way when the log failed: it may be there after the next load, or not."""


class KeyOutside(RangeError):  # noqa: N818
    """The key lies outside of the range."""
