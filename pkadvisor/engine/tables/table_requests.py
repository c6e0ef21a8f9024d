"""The work of a range for the table service: one request in, one answer out, on nothing but a :class:`RowStore`."""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.engine.ownership_errors import NotServing
from pkadvisor.engine.rows import RowStore
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
from pkadvisor.engine.tables.table_pages import read_entity, read_page
from pkadvisor.engine.tables.table_rules import TableError
from pkadvisor.engine.tables.table_schema import (
    clear_rows,
    create_table,
    delete_table,
    list_tables,
    read_table,
    table_cleared,
)
from pkadvisor.engine.tables.table_writes import carry_out_writes

__all__ = [
    "Answer",
    "ClearRequest",
    "CreateTableRequest",
    "DeleteTableRequest",
    "ListTablesRequest",
    "PageRequest",
    "ReadRequest",
    "Request",
    "RowWrite",
    "TableClearedRequest",
    "TableRequest",
    "TableRow",
    "WriteKind",
    "WriteRequest",
    "carry_out",
    "is_write",
]


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
