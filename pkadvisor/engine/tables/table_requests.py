"""The work of a range for the table service: one request in, one answer out, on nothing but a :class:`RowStore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pkadvisor.engine.ownership_errors import NotServing
from pkadvisor.engine.rows import Change, Row, RowStore
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import Matches, compiled
from pkadvisor.engine.tables.entity_codec import (
    Body,
    StoredProperty,
    decode_properties,
    encode_properties,
    encode_value,
    entity_of,
    etag,
    head,
    known_properties,
    properties_of,
    unpack_head,
)
from pkadvisor.engine.tables.table_messages import (
    Answer,
    ClearRequest,
    CreateTableRequest,
    DeleteTableRequest,
    ListTablesRequest,
    PageRequest,
    ReadRequest,
    Request,
    RowWrite,
    TableClearedRequest,
    TableRequest,
    TableRow,
    WriteKind,
    WriteRequest,
)
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableError
from pkadvisor.table.accounting import ANSWER_BYTES, entity_bytes
from pkadvisor.table.edm import SYSTEM_PROPERTIES
from pkadvisor.table.store import Entity, EntityKey

# ----------------------------------------------------------------------------------------------------------------------
# Reads on one range: one entity, or one page of a query.
#
# A page is the state at one sequence number (invariant T3). It ends at ``top`` entities, before its weight would pass
# 4 MiB, before 5 s have passed, or where the range ends ("Query timeout and pagination"; SOSP 2011, 5.5 for the
# last). Where more may follow, ``next_key`` is the key of the first row that was not looked at, or where time is
# short the place behind the last one that was, or the end of the range: so a page may be empty and go on all the
# same, and an entity inserted between the last one returned and ``next_key`` is not seen.


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
    entity = entity_of(EntityKey(name.partition_key, name.row_key), sequence, value, request.select)
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
        "_request",
        "entities",
        "examined",
        "size_bytes",
        "weight",
    )

    def __init__(self, request: PageRequest, matches: Matches | None) -> None:
        self._request = request
        self._matches = matches
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
            name = row_keys.entity_key(key)
            properties = known_properties(value)
            if matches is not None and not matches(name, properties, ticks):
                continue
            properties = dict(properties)  # whoever gets them may do with them what he likes
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


# ----------------------------------------------------------------------------------------------------------------------
# Writes of entities on one range: preconditions, Timestamp and ETag, merge, groups.
#
# One request is one call of ``RowStore.write``: its preconditions are checked and its changes made while other
# writers of its keys wait, and it is one record of the commit log. So a group is atomic and isolated (invariant T2),
# and of two updates with the same ETag one wins (T4).

_NEEDS_ENTITY = (WriteKind.UPDATE, WriteKind.MERGE, WriteKind.DELETE)
_MAKES = (WriteKind.INSERT, WriteKind.INSERT_OR_REPLACE, WriteKind.INSERT_OR_MERGE)
_MERGES = (WriteKind.MERGE, WriteKind.INSERT_OR_MERGE)


async def carry_out_writes(rows: RowStore, request: WriteRequest, ticks: int) -> Answer:
    """Carries out a write or a group at the server's time of day. TableError: refused, nothing changed."""
    writes, generation = request.writes, request.generation
    etags: list[str] = []
    size_bytes = 0

    def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
        nonlocal size_bytes
        etags.clear()
        if len(writes) == 1:  # the same as below, by a shorter way
            write = writes[0]
            try:
                value, tag, size_bytes = _decided(write, rows[0], generation, ticks, sequence)
            except TableError as error:
                error.index = 0
                raise
            etags.append(tag)
            return [(write.key, value)]
        size_bytes = 0
        changes: list[Change] = []
        tag = etag(ticks, sequence)
        for index, (write, row) in enumerate(zip(writes, rows, strict=True)):
            body = write.body
            if row is None and body is not None and write.kind in _MAKES:
                changes.append((write.key, encode_value(generation, ticks, body)))
                etags.append(tag)
                size_bytes += body.size_bytes
                continue
            try:
                value, own, size = _decided(write, row, generation, ticks, sequence)
            except TableError as error:
                error.index = index
                raise
            changes.append((write.key, value))
            etags.append(own)
            size_bytes += size
        return changes

    sequence = await rows.write([write.key for write in writes], decide)
    return Answer(
        204,
        etags=tuple(etags),
        examined=len(writes),
        size_bytes=size_bytes,
        sequence=sequence,
        low=rows.low,
        high=rows.high,
    )


def _decided(
    write: RowWrite, row: Row | None, generation: int, ticks: int, sequence: int
) -> tuple[bytes | None, str, int]:
    """The new value (None: deleted), its ETag, its size; TableError where a precondition does not hold."""
    kind = write.kind
    old: bytes | None = None
    if row is not None:
        before = head(row[1])
        if before.generation > generation:
            raise TableError(404, "TableNotFound")  # the table that was meant is gone, another one has its name
        if before.generation == generation:
            old = row[1]
            if kind is WriteKind.INSERT:
                raise TableError(409, "EntityAlreadyExists")
            if write.if_match != "*" and write.if_match != etag(before.ticks, row[0]):
                raise TableError(412, "UpdateConditionNotSatisfied")
            ticks = max(ticks, before.ticks + 1)  # the Timestamp of an entity rises, whatever clocks do
    if old is None and kind in _NEEDS_ENTITY:
        raise TableError(404, "ResourceNotFound")
    if kind is WriteKind.DELETE:
        return None, "", 0
    body = write.body
    assert body is not None, "only a deletion has no body"
    if old is not None and kind in _MERGES:
        body = _merged(write.key, old, body)
    return encode_value(generation, ticks, body), etag(ticks, sequence), body.size_bytes


def _merged(key: bytes, old: bytes, new: Body) -> Body:
    """The old properties with the new ones over them; 400 TooManyProperties or EntityTooLarge."""
    properties: dict[str, StoredProperty] = properties_of(old)
    properties.update(decode_properties(new.encoded, new.format))
    if len(properties) + len(SYSTEM_PROPERTIES) > PUBLISHED.properties:
        raise TableError(400, "TooManyProperties")
    name = row_keys.decode_key(key)
    size = entity_bytes(Entity(EntityKey(name.partition_key, name.row_key), properties))
    if size > PUBLISHED.entity_bytes:
        raise TableError(400, "EntityTooLarge")
    return Body(*encode_properties(properties), size)


def is_write(request: Request) -> bool:
    """Whether the request may change rows: then it must not be carried out twice (``request.id``)."""
    return type(request) not in _READS


_READS = frozenset((ReadRequest, PageRequest, TableRequest, ListTablesRequest))


async def carry_out(
    rows: RowStore, request: Request, ticks: int, elapsed_ns: Callable[[], int] | None = None
) -> Answer:
    """Carries out a request on the rows of a range that holds ``request.key``.

    ``ticks`` is the server's time of day, ``elapsed_ns`` how long the request has been executing (None: no time passes
    while it does). What the service refuses is an answer with its status and code; what the rows raise is raised, and
    NotServing where the range does not hold the key.
    """
    key, high = request.key, rows.high
    if key < rows.low or (high is not None and key >= high):
        raise NotServing("the range does not hold the key")
    try:
        match request:
            case WriteRequest():
                return await carry_out_writes(rows, request, ticks)
            case ReadRequest():
                return await read_entity(rows, request)
            case PageRequest():
                return await read_page(rows, request, elapsed_ns)
            case TableRequest():
                return await read_table(rows, request, ticks)
            case CreateTableRequest():
                return await create_table(rows, request, ticks)
            case DeleteTableRequest():
                return await delete_table(rows, request, ticks)
            case TableClearedRequest():
                return await table_cleared(rows, request)
            case ListTablesRequest():
                return await list_tables(rows, request)
            case ClearRequest():
                return await clear_rows(rows, request)
    except TableError as error:
        return Answer(error.status, error.code, failed_index=error.index, examined=1, low=rows.low, high=rows.high)


# -- Which tables there are: rows of the reserved table, in the same object tables as the entities.


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TableRow).decode


async def read_table(rows: RowStore, request: TableRequest, ticks: int) -> Answer:
    """The generation of a table; 404 TableNotFound, 409 TableBeingDeleted for as long as its name is not free."""
    row = await rows.read(request.key)
    if row is None:
        raise TableError(404, "TableNotFound")
    table = _decode(row[1])
    if table.deleted_ticks:
        gone = table.cleared and not _waits(table, request.wait_ticks, ticks)
        raise TableError(404, "TableNotFound") if gone else TableError(409, "TableBeingDeleted")
    return Answer(generation=table.generation, examined=1, low=rows.low, high=rows.high)


async def create_table(rows: RowStore, request: CreateTableRequest, ticks: int) -> Answer:
    """Makes a table; 409 TableAlreadyExists or TableBeingDeleted. Its generation is the change's sequence number."""

    def decide(table: TableRow | None, sequence: int) -> TableRow:
        if table is not None and not table.deleted_ticks:
            raise TableError(409, "TableAlreadyExists")
        if table is not None and (_waits(table, request.wait_ticks, ticks) or not table.cleared):
            raise TableError(409, "TableBeingDeleted")
        return TableRow(request.name, sequence, ticks)

    return await _change(rows, request.key, decide, 201)


def _waits(table: TableRow, wait_ticks: int, ticks: int) -> bool:
    """Whether the deletion of a table was a short while ago."""
    return wait_ticks > max(0, ticks - table.deleted_ticks)


async def delete_table(rows: RowStore, request: DeleteTableRequest, ticks: int) -> Answer:
    """Marks a table as deleted; 404 TableNotFound, 409 TableBeingDeleted."""

    def decide(table: TableRow | None, sequence: int) -> TableRow:
        if table is None or table.generation != request.generation or table.cleared:
            raise TableError(404, "TableNotFound")
        if table.deleted_ticks:
            raise TableError(409, "TableBeingDeleted")
        return msgspec.structs.replace(table, deleted_ticks=max(ticks, table.created_ticks, 1))

    return await _change(rows, request.key, decide, 204)


async def table_cleared(rows: RowStore, request: TableClearedRequest) -> Answer:
    """Notes that a deleted table has no rows left; nothing where it is not that one any more."""

    def decide(table: TableRow | None, sequence: int) -> TableRow | None:
        if table is None or table.generation != request.generation or not table.deleted_ticks:
            return table
        return msgspec.structs.replace(table, cleared=True)

    return await _change(rows, request.key, decide, 204)


async def list_tables(rows: RowStore, request: ListTablesRequest) -> Answer:
    """One page of tables, in the order of their names in lower case; cut like a page of entities."""
    high = request.high if rows.high is None else min(request.high, rows.high)
    cursor = rows.cursor(max(request.key, rows.low), high)
    out: list[TableRow] = []
    examined, next_key = 0, None if high == request.high else high
    while next_key in (None, high) and (batch := await cursor.next()):
        for key, _, value in batch:
            if len(out) == request.top:
                next_key = key
                break
            examined += 1
            table = _decode(value)
            if (not table.cleared and table.deleted_ticks > 0) if request.deleted else not table.deleted_ticks:
                out.append(table)
    cursor.close()
    return Answer(tables=tuple(out), next_key=next_key, examined=examined, low=rows.low, high=rows.high)


async def clear_rows(rows: RowStore, request: ClearRequest) -> Answer:
    """Removes some rows of a deleted table; ``next_key`` says where to go on."""
    high = request.high if rows.high is None else min(request.high, rows.high)
    cursor = rows.cursor(max(request.key, rows.low), high)
    keys: list[bytes] = []
    next_key = None if high == request.high else high
    while len(keys) <= request.rows_max and (batch := await cursor.next()):
        keys += [key for key, _, _ in batch]
    cursor.close()
    if len(keys) > request.rows_max:
        next_key = keys[request.rows_max]
        del keys[request.rows_max :]

    def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
        # read again: a table of the same name may have been made since
        return [
            (key, None)
            for key, row in zip(keys, rows, strict=True)
            if row is not None and head(row[1]).generation <= request.generation
        ]

    if keys:
        await rows.write(keys, decide)
    return Answer(204, next_key=next_key, examined=len(keys), low=rows.low, high=rows.high)


async def _change(
    rows: RowStore, key: bytes, decide_table: Callable[[TableRow | None, int], TableRow | None], status: int
) -> Answer:
    after: TableRow | None = None

    def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
        nonlocal after
        before = None if rows[0] is None else _decode(rows[0][1])
        after = decide_table(before, sequence)
        return [(key, _encode(after))] if after is not None and after != before else []

    sequence = await rows.write([key], decide)
    generation = 0 if after is None else after.generation
    return Answer(status, generation=generation, examined=1, sequence=sequence, low=rows.low, high=rows.high)
