"""Which tables there are: rows of the reserved table, in the same object tables as the entities.

A deletion is three durable steps, each safe to repeat: the table's row is marked (from here on nobody sees the table),
its rows are removed piece by piece, its row is marked as cleared. A crash between them leaves work for ``deleted``
pages of :class:`ListTablesRequest`; what a late write leaves behind belongs to a generation that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pkadvisor.engine.rows import Change, Row, RowStore
from pkadvisor.engine.tables.entity_codec import head
from pkadvisor.engine.tables.table_messages import (
    Answer,
    ClearRequest,
    CreateTableRequest,
    DeleteTableRequest,
    ListTablesRequest,
    TableClearedRequest,
    TableRequest,
    TableRow,
)
from pkadvisor.engine.tables.table_rules import TableError

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
