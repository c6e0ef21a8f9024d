"""Blocks of the row-data stream: pages of rows, nodes of the index, roots of checkpoints, parts of Bloom filters.

Each block begins with two bytes that say what it is and in which version; pages, nodes and roots are msgpack under
zstandard. The stream layer holds the checksum; here it is checked that a block is the one that was meant.
"""

from __future__ import annotations

import struct
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import msgspec
import zstandard

from pkadvisor.engine.lsm.cache import Place
from pkadvisor.engine.worlds.world import DataCorrupt, FormatError

PAGE = b"P1"
NODE = b"I1"
ROOT = b"R1"
FILTER = b"F1"

ZSTD_LEVEL = 1
ENTRY_OVERHEAD = 130
"""Bytes of memory that a decoded row takes beyond key and value [A: measured with CPython 3.11]."""

T = TypeVar("T")

_HEAD = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()
_decode_page = msgspec.msgpack.Decoder(tuple[list[bytes], list[int], list[int], list[int]])
_decode_node = msgspec.msgpack.Decoder(tuple[list[bytes], list[tuple[int, int, int]]])
_compress = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=False).compress
_decompress = zstandard.ZstdDecompressor().decompress


class Page:
    """Rows in key order. Keys are objects; values lie as one run of bytes and are cut out when they are asked for, so
    that reading one row of a page does not cost all of its values."""

    __slots__ = ("_deleted", "_ends", "_raw", "_start", "keys", "memory_bytes", "sequences", "tombstones")

    def __init__(
        self, keys: list[bytes], sequences: list[int], ends: list[int], deleted: list[int], raw: bytes, start: int
    ) -> None:
        """``ends``: 0, then where each value ends, counted from ``start`` in ``raw``; ``deleted``: tombstones."""
        self.keys, self.sequences = keys, sequences
        self._ends, self._deleted, self._raw, self._start = ends, deleted, raw, start
        self.tombstones = len(deleted)
        self.memory_bytes = len(raw) + ENTRY_OVERHEAD * len(keys)

    def value(self, row: int) -> bytes | None:
        """The value of a row; None is a tombstone."""
        if self._deleted and row in self._deleted:
            return None
        start, ends = self._start, self._ends
        return self._raw[start + ends[row] : start + ends[row + 1]]

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``."""
        raw, start = self._raw, self._start
        bounds = [start + at for at in self._ends[first : end + 1]]
        found: list[bytes | None] = [raw[a:b] for a, b in pairwise(bounds)]
        for row in self._deleted:
            if first <= row < end:
                found[row - first] = None
        return found


class IndexNode:
    """The first key and the place of each of some pages that lie after one another in key order."""

    __slots__ = ("keys", "memory_bytes", "places")

    def __init__(self, keys: list[bytes], places: list[Place], raw_bytes: int) -> None:
        self.keys, self.places = keys, places
        self.memory_bytes = raw_bytes + 2 * ENTRY_OVERHEAD * len(keys)


def pack(kind: bytes, value: Any) -> bytes:
    """A block of a kind."""
    return pack_bytes(kind, _encoder.encode(value))


def pack_bytes(kind: bytes, raw: bytes) -> bytes:
    """A block of a kind, of bytes that have a form of their own."""
    return kind + _compress(raw)


def unpack_bytes(kind: bytes, block: bytes) -> bytes:
    """What is in a block that must be of a kind; DataCorrupt where it is not, FormatError where it is newer."""
    if block[:2] != kind:
        if block[:1] == kind[:1]:
            raise FormatError(f"a row-data block of format {block[:2]!r}; this version reads {kind!r}")
        raise DataCorrupt(f"a block of kind {block[:2]!r} where {kind!r} should be")
    try:
        return _decompress(memoryview(block)[2:])
    except zstandard.ZstdError as error:
        raise DataCorrupt(f"a block of kind {kind!r} cannot be unpacked: {error}") from error


def unpack(kind: bytes, block: bytes, decoder: msgspec.msgpack.Decoder[T]) -> T:
    """A decoded block; errors as those of ``unpack_bytes``."""
    try:
        return decoder.decode(unpack_bytes(kind, block))
    except msgspec.DecodeError as error:
        raise DataCorrupt(f"a block of kind {kind!r} cannot be decoded: {error}") from error


def pack_page(keys: list[bytes], sequences: list[int], values: list[bytes | None], tombstones: int) -> bytes:
    """A page as a block: length of the head, head (keys, sequence numbers, ends of values, tombstones), values."""
    deleted = [row for row, value in enumerate(values) if value is None] if tombstones else []
    present: list[bytes] = [value or b"" for value in values] if tombstones else values  # type: ignore[assignment]
    ends = list(accumulate(map(len, present), initial=0))
    head = _encoder.encode((keys, sequences, ends, deleted))
    return pack_bytes(PAGE, b"".join((_HEAD.pack(len(head)), head, *present)))


def unpack_page(block: bytes, first: bytes) -> Page:
    """The page of a block; DataCorrupt where it does not begin with the key that the index says."""
    raw = unpack_bytes(PAGE, block)
    try:
        start = _HEAD.size + _HEAD.unpack_from(raw)[0]
        keys, sequences, ends, deleted = _decode_page.decode(memoryview(raw)[_HEAD.size : start])
    except (msgspec.DecodeError, struct.error) as error:
        raise DataCorrupt(f"a page cannot be decoded: {error}") from error
    if not keys or keys[0] != first:
        raise DataCorrupt(f"a page begins with {keys[:1]!r}, the index says {first!r}")
    if not len(keys) == len(sequences) == len(ends) - 1 or start + ends[-1] != len(raw):
        raise DataCorrupt("the head of a page does not fit its values")
    return Page(keys, sequences, ends, deleted, raw, start)


def pack_node(keys: list[bytes], places: list[Place]) -> bytes:
    """An index node as a block."""
    return pack(NODE, (keys, places))


def unpack_node(block: bytes, first: bytes) -> IndexNode:
    """The index node of a block; DataCorrupt where it does not begin with the key that the root says."""
    raw = unpack_bytes(NODE, block)
    try:
        keys, places = _decode_node.decode(raw)
    except msgspec.DecodeError as error:
        raise DataCorrupt(f"an index node cannot be decoded: {error}") from error
    if not keys or keys[0] != first or len(keys) != len(places):
        raise DataCorrupt(f"an index node begins with {keys[:1]!r}, the root says {first!r}")
    return IndexNode(keys, places, len(raw))
