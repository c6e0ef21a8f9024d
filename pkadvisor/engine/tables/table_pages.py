"""Reads on one range: one entity, or one page of a query.

A page is the state at one sequence number (invariant T3). It ends at ``top`` entities, before its weight would pass
4 MiB, before 5 s have passed, or where the range ends ("Query timeout and pagination"; SOSP 2011, 5.5 for the last).
Where more may follow, ``next_key`` is the key of the first row that was not looked at, or where time is short the place
behind the last one that was, or the end of the range: so a page may be empty and go on all the same, and an entity
inserted between the last one returned and ``next_key`` is not seen.
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.engine.rows import RowStore
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import Matches, compiled
from pkadvisor.engine.tables.entity_codec import entity_of, etag, head, properties_of, unpack_head
from pkadvisor.engine.tables.table_messages import Answer, PageRequest, ReadRequest
from pkadvisor.engine.tables.table_rules import TableError
from pkadvisor.table.accounting import ANSWER_BYTES, entity_bytes
from pkadvisor.table.store import Entity, Key


async def read_entity(rows: RowStore, request: ReadRequest) -> Answer:
    """One entity; 404 ResourceNotFound."""
    row = await rows.read(request.key)
    if row is None:
        raise TableError(404, "ResourceNotFound")
    sequence, value = row
    front = head(value)
    if front.generation != request.generation:
        gone = front.generation > request.generation
        raise TableError(404, "TableNotFound" if gone else "ResourceNotFound")
    name = row_keys.decode_key(request.key)
    entity = entity_of(Key(name.partition_key, name.row_key), sequence, value, request.select)
    size = entity_bytes(entity) if request.select else front.size_bytes
    return Answer(entities=(entity,), examined=1, size_bytes=size, low=rows.low, high=rows.high)


async def read_page(rows: RowStore, request: PageRequest, elapsed_ns: Callable[[], int] | None) -> Answer:
    """One page of a query. ``elapsed_ns`` says how long the request has been executing; None: no time passes.

    Rows come in batches, a page of the store each. The next one is taken for as long as the last: a query that would
    pass its time with it ends before, but never before the first.
    """
    page = _Page(request, compiled(request.filter))
    high = request.high if rows.high is None else min(request.high, rows.high)
    cursor = rows.cursor(max(request.key, rows.low), high)
    next_key = None if high == request.high else high
    before_ns = 0 if elapsed_ns is None else elapsed_ns()
    while batch := await cursor.next():
        stopped = page.take(batch)
        if stopped is not None:
            next_key = stopped
            break
        if elapsed_ns is not None:
            now_ns = elapsed_ns()
            if 2 * now_ns - before_ns >= request.duration_ns_max:
                behind = batch[-1][0] + b"\0"
                next_key = behind if behind < high else next_key
                break
            before_ns = now_ns
    cursor.close()
    return Answer(
        entities=tuple(page.entities),
        next_key=next_key,
        examined=page.examined,
        size_bytes=page.size_bytes,
        low=rows.low,
        high=rows.high,
    )


class _Page:
    """A page that is being filled."""

    __slots__ = (
        "_matches",
        "_partition",
        "_partition_key",
        "_request",
        "entities",
        "examined",
        "size_bytes",
        "weight",
    )

    def __init__(self, request: PageRequest, matches: Matches | None) -> None:
        self._request = request
        self._matches = matches
        self._partition = b""
        self._partition_key = ""
        self.entities: list[Entity] = []
        self.examined = 0
        self.size_bytes = 0
        self.weight = 0

    def take(self, batch: list[tuple[bytes, int, bytes]]) -> bytes | None:
        """Looks at rows; the key of the first that has no place on the page any more, or None."""
        request, matches, entities = self._request, self._matches, self.entities
        generation, top, select = request.generation, request.top, request.select
        examined_max = request.examined_max
        for key, sequence, value in batch:
            if len(entities) >= top:
                return key
            if examined_max is not None and self.examined >= examined_max:
                return key
            _, row_generation, ticks, size = unpack_head(value)
            if row_generation != generation:
                continue
            self.examined += 1
            name = self._key(key)
            properties = properties_of(value)
            if matches is not None and not matches(name, properties, ticks):
                continue
            if select:
                properties = {chosen: properties[chosen] for chosen in select if chosen in properties}
                size = entity_bytes(Entity(name, properties))
            if entities and self.weight + size + ANSWER_BYTES > request.bytes_max:
                self.examined -= 1
                return key
            self.weight += size + ANSWER_BYTES
            self.size_bytes += size
            entities.append(Entity(name, properties, ticks, etag(ticks, sequence)))
        return None

    def _key(self, key: bytes) -> Key:
        if not key.startswith(self._partition) or not self._partition:
            self._partition = row_keys.partition_boundary(key)
            self._partition_key = row_keys.decode_key(key).partition_key
        return Key(self._partition_key, row_keys.decode_part(key[len(self._partition) :]))
