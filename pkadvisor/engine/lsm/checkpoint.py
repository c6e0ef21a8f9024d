"""A checkpoint: rows of a range in key order as blocks of its row-data stream, with index and Bloom filter.

    root ─┬─► index node ─┬─► page of rows        index_fan_out pages per node; the root holds one key per node
          │               └─► page …              pages and nodes come through the page cache
          ├─► index node …
          └─► parts of the Bloom filter           held in memory while the checkpoint is in use, and so is the root

Blocks are appended in the order pages, nodes, filter, root: the place of the root says all, and the range's metadata
stream holds it (SOSP 2011, 5.3.1 and 5.3.2; format, fan-out and sizes are assumptions of ours).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

import msgspec

from pkadvisor.engine.lsm import page as blocks
from pkadvisor.engine.lsm.bloom import SCHEME, Filter, NoFilter, digest
from pkadvisor.engine.lsm.cache import PageCache, Place
from pkadvisor.engine.lsm.memory_table import Version
from pkadvisor.engine.lsm.page import IndexNode, RowPage
from pkadvisor.engine.stream.access import Location, Streams


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
        root = blocks.unpack(blocks.ROOT, await streams.read(checkpoint.root), ROOT_DECODER)
        bloom: Filter = NoFilter()
        if root.filter_scheme == SCHEME:
            parts = [await streams.read(Location(*place)) for place in root.filter_places]
            bloom = Filter.from_bytes(b"".join(blocks.unpack_bytes(blocks.FILTER, part) for part in parts))
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
        return self._filter.memory_bytes + keys * 2 * blocks.ENTRY_OVERHEAD

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
        node = blocks.unpack_node(await self._streams.read(Location(*place)), self._node_keys[number])
        self._cache.put(place, node)
        return node

    def cached_page(self, place: Place) -> RowPage | None:
        """The page at a place, if the cache has it."""
        page: RowPage | None = self._cache.get(place)
        return page

    async def load_page(self, place: Place, first: bytes, *, keep: bool = True) -> RowPage:
        """The page at a place, from its block; ``keep`` false: it does not displace what the cache holds."""
        page = blocks.unpack_page(await self._streams.read(Location(*place)), first)
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
