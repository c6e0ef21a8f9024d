"""A checkpoint: rows of a range in key order as blocks of its row-data stream, with index and Bloom filter.

    root ─┬─► index node ─┬─► page of rows        index_fan_out pages per node; the root holds one key per node
          │               └─► page …              pages and nodes come through the page cache
          ├─► index node …
          └─► parts of the Bloom filter           held in memory while the checkpoint is in use, and so is the root

Blocks are appended in the order pages, nodes, filter, root: the place of the root says all, and the range's metadata
stream holds it (SOSP 2011, 5.3.1 and 5.3.2; format, fan-out and sizes are assumptions of ours).
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
import zstandard

from pkadvisor.engine.lsm.bloom import SCHEME, Filter, NoFilter, digest
from pkadvisor.engine.lsm.cache import PageCache, Place
from pkadvisor.engine.lsm.memory_table import Version
from pkadvisor.engine.stream.access import Location, Streams
from pkadvisor.engine.worlds.world import DataCorrupt, FormatError


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """What the metadata stream holds of a checkpoint; small, and encodable by msgspec.

    ``low`` and ``high`` bound what is believed of it: after a split both halves hold the same blocks, and each believes
    its own half. ``own_bytes`` are the bytes of keys and values between them, to about 1/512 of ``row_bytes``, which
    count all. ``sequence`` is the newest change in it; ``extents`` hold its blocks.
    """

    root: Location
    low: bytes
    high: bytes | None
    rows: int
    tombstones: int
    row_bytes: int
    own_bytes: int
    stored_bytes: int
    sequence: int
    extents: tuple[int, ...]

    def clipped(self, low: bytes, high: bytes | None) -> tuple[bytes, bytes | None]:
        """The part of [low, high) that is believed of it; it may be empty."""
        if high is None or (self.high is not None and self.high < high):
            high = self.high
        return max(low, self.low), high


class Root(msgspec.Struct, array_like=True):
    """The root of a checkpoint: its index nodes, where its filter lies, and how its bytes are spread over its keys.

    ``sample_before[i]`` are the bytes of all rows before ``sample_keys[i]``.
    """

    fan_out: int
    node_keys: list[bytes]
    node_places: list[tuple[int, int, int]]
    pages: int
    last_key: bytes
    sample_keys: list[bytes]
    sample_before: list[int]
    filter_places: list[tuple[int, int, int]]
    filter_scheme: int


ROOT_DECODER = msgspec.msgpack.Decoder(Root)


class CheckpointReader:
    """A checkpoint in use. What it holds in memory never changes."""

    __slots__ = (
        "_cache",
        "_fan_out",
        "_filter",
        "_node_keys",
        "_node_places",
        "_streams",
        "checkpoint",
        "high",
        "low",
        "root",
    )

    def __init__(self, streams: Streams, cache: PageCache, checkpoint: Checkpoint, root: Root, bloom: Filter) -> None:
        self._streams, self._cache, self._filter = streams, cache, bloom
        self.checkpoint, self.root = checkpoint, root
        self.low, self.high = checkpoint.low, checkpoint.high
        self._node_keys, self._node_places, self._fan_out = root.node_keys, root.node_places, root.fan_out

    @staticmethod
    async def open(
        streams: Streams, cache: PageCache, checkpoint: Checkpoint, low: bytes, high: bytes | None
    ) -> CheckpointReader:
        """Reads root and filter. The checkpoint is believed within [low, high) and its own bounds."""
        root = unpack(ROOT, await streams.read(checkpoint.root), ROOT_DECODER)
        bloom: Filter = NoFilter()
        if root.filter_scheme == SCHEME:
            parts = [await streams.read(Location(*place)) for place in root.filter_places]
            bloom = Filter.from_bytes(b"".join(unpack_bytes(FILTER, part) for part in parts))
        low, high = checkpoint.clipped(low, high)
        clipped = msgspec.structs.replace(checkpoint, low=low, high=high)
        reader = CheckpointReader(streams, cache, clipped, root, bloom)
        own = reader.bytes_in(low, high)
        reader.checkpoint = msgspec.structs.replace(clipped, own_bytes=own)
        return reader

    @property
    def memory_bytes(self) -> int:
        """Bytes that filter and root take in memory."""
        keys = len(self.root.node_keys) + len(self.root.sample_keys)
        return self._filter.memory_bytes + keys * 2 * ENTRY_OVERHEAD

    # ------------------------------------------------------------------------------------------------ rows

    @property
    def maybe(self) -> Callable[[int], bool]:
        """Says of ``bloom.digest(key)`` whether the row may be here."""
        return self._filter.maybe

    def overlaps(self, low: bytes, high: bytes) -> bool:
        """Whether rows from ``low`` to ``high``, both included, may be here by their order alone."""
        keys = self._node_keys
        return bool(keys) and keys[0] <= high and low <= self.root.last_key

    async def find(self, key: bytes, hashed: int) -> Version | None:
        """The row's version here; ``hashed`` is ``bloom.digest(key)``."""
        if not self._filter.maybe(hashed) or key < self.low or (self.high is not None and key >= self.high):
            return None
        number = bisect_right(self._node_keys, key) - 1
        if number < 0:
            return None
        place = self._node_places[number]
        node: IndexNode = self._cache.get(place) or await self.load_node(number)
        keys = node.keys
        slot = bisect_right(keys, key) - 1
        place = node.places[slot]
        page: RowPage = self._cache.get(place) or await self.load_page(place, keys[slot])
        keys = page.keys
        i = bisect_left(keys, key)
        if i == len(keys) or keys[i] != key:
            return None
        return page.sequences[i], page.value(i)

    async def page_of(self, key: bytes) -> int:
        """The number of the page where a row of this key would lie."""
        number = bisect_right(self._node_keys, key) - 1
        if number < 0:
            return 0
        node = await self._node(number)
        return number * self._fan_out + bisect_right(node.keys, key) - 1

    async def page(self, number: int, *, keep: bool = True) -> RowPage:
        """A page by its number; ``keep`` false: it does not displace what the cache holds."""
        node = await self._node(number // self._fan_out)
        slot = number % self._fan_out
        place = node.places[slot]
        return self.cached_page(place) or await self.load_page(place, node.keys[slot], keep=keep)

    async def _node(self, number: int) -> IndexNode:
        return self.cached_node(number) or await self.load_node(number)

    # ------------------------------------------------------------------------------------------------ blocks

    @property
    def nodes(self) -> int:
        """How many index nodes there are."""
        return len(self._node_keys)

    def node_of(self, key: bytes) -> int:
        """The number of the index node below which a row of this key would lie, or the first row beyond it."""
        return max(bisect_right(self._node_keys, key) - 1, 0)

    def cached_node(self, number: int) -> IndexNode | None:
        """An index node, if the cache has it."""
        node: IndexNode | None = self._cache.get(self._node_places[number])
        return node

    async def load_node(self, number: int) -> IndexNode:
        """An index node, from its block."""
        place = self._node_places[number]
        node = unpack_node(await self._streams.read(Location(*place)), self._node_keys[number])
        self._cache.put(place, node)
        return node

    def cached_page(self, place: Place) -> RowPage | None:
        """The page at a place, if the cache has it."""
        page: RowPage | None = self._cache.get(place)
        return page

    async def load_page(self, place: Place, first: bytes, *, keep: bool = True) -> RowPage:
        """The page at a place, from its block; ``keep`` false: it does not displace what the cache holds."""
        page = unpack_page(await self._streams.read(Location(*place)), first)
        if keep:
            self._cache.put(place, page)
        return page

    # ------------------------------------------------------------------------------------------------ bytes

    def bytes_in(self, low: bytes, high: bytes | None) -> int:
        """Bytes of keys and values in [low, high) and its own bounds, to about 1/512 of all."""
        low, high = self.checkpoint.clipped(low, high)
        if high is not None and high <= low:
            return 0
        return self._bytes_before(high) - self._bytes_before(low)

    def _bytes_before(self, key: bytes | None) -> int:
        total = self.checkpoint.row_bytes
        if key is None or not self.root.sample_keys:
            return total
        i = bisect_left(self.root.sample_keys, key)
        return self.root.sample_before[i] if i < len(self.root.sample_keys) else total

    def samples(self, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, int]]:
        """Keys in [low, high) and its own bounds, each with the bytes from it to the next."""
        low, high = self.checkpoint.clipped(low, high)
        keys, before = self.root.sample_keys, [*self.root.sample_before, self.checkpoint.row_bytes]
        end = len(keys) if high is None else bisect_left(keys, high)
        for i in range(bisect_left(keys, low), end):
            yield keys[i], before[i + 1] - before[i]

    # ------------------------------------------------------------------------------------------------ check

    async def check(self) -> None:
        """Order, index, filter and accounts of the whole checkpoint hold (P7); reads all of it."""
        rows = tombstones = row_bytes = newest = 0
        last: bytes | None = None
        for number in range(self.root.pages):
            page = await self.page(number, keep=False)
            assert all(a < b for a, b in zip(page.keys, page.keys[1:], strict=False)), "keys of a page out of order"
            assert last is None or last < page.keys[0], "pages out of order"
            values = page.values(0, len(page.keys))
            assert values.count(None) == page.tombstones, "tombstones are not what was counted"
            assert all(map(self._filter.maybe, map(digest, page.keys))), "the Bloom filter denies a row that is there"
            assert await self.page_of(page.keys[0]) == await self.page_of(page.keys[-1]) == number, "index is wrong"
            rows, tombstones, last = rows + len(page.keys), tombstones + page.tombstones, page.keys[-1]
            row_bytes += sum(map(len, page.keys)) + sum(len(value or b"") for value in values)
            assert values == [page.value(row) for row in range(len(values))]
            newest = max(newest, *page.sequences)
        stated = self.checkpoint
        assert (rows, tombstones, row_bytes) == (stated.rows, stated.tombstones, stated.row_bytes), "accounts are wrong"
        assert newest <= stated.sequence, "a row is newer than its checkpoint"
        assert (last or b"") == self.root.last_key


# -- Blocks of the row-data stream: pages of rows, nodes of the index, roots of checkpoints, parts of Bloom filters.


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
