"""Blocks of the row-data stream: pages of rows, nodes of the index, roots of checkpoints, parts of Bloom filters.

Each block begins with two bytes that say what it is and in which version; pages, nodes and roots are msgpack under
zstandard. The stream layer holds the checksum; here it is checked that a block is the one that was meant.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
import zstandard

from pkadvisor.engine.lsm.cache import Place
from pkadvisor.engine.worlds.world import DataCorrupt, FormatError

PAGE = b"P2"
NODE = b"I1"
ROOT = b"R1"
FILTER = b"F1"

ZSTD_LEVEL = 1
RAW_BYTES_MAX = 64 << 20
"""No page, node or part of a filter is near this: a header that says more was damaged, and is not believed."""
ENTRY_OVERHEAD = 140
"""Bytes of memory that a decoded row takes beyond key and value [A: measured with CPython 3.11]."""

T = TypeVar("T")

_HEAD = struct.Struct("<I")
_ARRAY_HEAD = struct.Struct(">BI")  # of an array of msgpack
_encoder = msgspec.msgpack.Encoder()
_decode_page = msgspec.msgpack.Decoder(tuple[int, list[bytes], list[int], list[int]])
_decode_values = msgspec.msgpack.Decoder(list[bytes | None]).decode
_decode_value: Callable[[bytes], bytes | None] = msgspec.msgpack.Decoder(bytes | None).decode
_decode_node = msgspec.msgpack.Decoder(tuple[list[bytes], list[tuple[int, int, int]]])
_compress = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=False).compress
_decompress = zstandard.ZstdDecompressor().decompress


class RowPage:
    """Rows in key order, as columns. Values lie packed until they are asked for.

    So reading one row does not cost all values; many are decoded at half of what cutting out each would cost.
    """

    __slots__ = ("_ends", "_raw", "_start", "keys", "memory_bytes", "sequences", "tombstones")

    def __init__(
        self, keys: list[bytes], sequences: list[int], ends: list[int], tombstones: int, raw: bytes, start: int
    ) -> None:
        """``ends``: where the first value begins, then where each ends, counted from ``start`` in ``raw``."""
        self.keys, self.sequences, self.tombstones = keys, sequences, tombstones
        self._ends, self._raw, self._start = ends, raw, start
        self.memory_bytes = len(raw) + ENTRY_OVERHEAD * len(keys)

    def value(self, row: int) -> bytes | None:
        """The value of a row; None is a tombstone. DataCorrupt."""
        start, ends = self._start, self._ends
        try:
            return _decode_value(self._raw[start + ends[row] : start + ends[row + 1]])
        except msgspec.DecodeError as error:
            raise DataCorrupt(f"a value cannot be decoded: {error}") from error

    def values(self, first: int, end: int) -> list[bytes | None]:
        """The values of rows ``first`` to before ``end``. DataCorrupt."""
        start, ends = self._start, self._ends
        packed = memoryview(self._raw)[start + ends[first] : start + ends[end]]
        try:
            return _decode_values(b"".join((_ARRAY_HEAD.pack(0xDD, end - first), packed)))
        except msgspec.DecodeError as error:
            raise DataCorrupt(f"values of a page cannot be decoded: {error}") from error


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
    packed = memoryview(block)[2:]
    try:
        if zstandard.frame_content_size(packed) > RAW_BYTES_MAX:
            raise DataCorrupt(f"a block of kind {kind!r} that says it holds more than {RAW_BYTES_MAX:,} bytes")
        return _decompress(packed)
    except zstandard.ZstdError as error:
        raise DataCorrupt(f"a block of kind {kind!r} cannot be unpacked: {error}") from error


def unpack(kind: bytes, block: bytes, decoder: msgspec.msgpack.Decoder[T]) -> T:
    """A decoded block; errors as those of ``unpack_bytes``."""
    try:
        return decoder.decode(unpack_bytes(kind, block))
    except msgspec.DecodeError as error:
        raise DataCorrupt(f"a block of kind {kind!r} cannot be decoded: {error}") from error


def pack_page(keys: list[bytes], sequences: list[int], values: list[bytes | None], tombstones: int) -> bytes:
    """A page as a block: length of the head, head (tombstones, keys, sequence numbers, ends of values), values."""
    packed = _encoder.encode(values)
    widths = [1 if value is None else len(value) + _width(len(value)) for value in values]
    ends = list(accumulate(widths, initial=len(packed) - sum(widths)))  # from where the values begin
    head = _encoder.encode((tombstones, keys, sequences, ends))
    return pack_bytes(PAGE, b"".join((_HEAD.pack(len(head)), head, packed)))


def _width(length: int) -> int:
    """How many bytes msgpack puts before so many."""
    return 2 if length < 1 << 8 else 3 if length < 1 << 16 else 5


def unpack_page(block: bytes, first: bytes) -> RowPage:
    """The page of a block; DataCorrupt where it does not begin with the key that the index says."""
    raw = unpack_bytes(PAGE, block)
    try:
        start = _HEAD.size + _HEAD.unpack_from(raw)[0]
        tombstones, keys, sequences, ends = _decode_page.decode(memoryview(raw)[_HEAD.size : start])
    except (msgspec.DecodeError, struct.error) as error:
        raise DataCorrupt(f"a page cannot be decoded: {error}") from error
    if not keys or keys[0] != first:
        raise DataCorrupt(f"a page begins with {keys[:1]!r}, the index says {first!r}")
    if not len(keys) == len(sequences) == len(ends) - 1 or start + ends[-1] != len(raw):
        raise DataCorrupt("the head of a page does not fit its values")
    return RowPage(keys, sequences, ends, tombstones, raw, start)


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
