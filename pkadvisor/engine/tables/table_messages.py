"""What a front end asks of the range that holds a key, and what comes back: immutable values that cross the network.

Each request goes to the range of its ``key``. ``id`` tells one request from another: 0 where nobody counts them; a
message that arrives twice arrives with the same id. ``generation`` is that of the table (``entity_codec``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from pkadvisor.engine.tables.entity_codec import Body
from pkadvisor.table.store import Entity


class WriteKind(IntEnum):
    """What a write does where the entity is there, and where it is not."""

    INSERT = 0
    UPDATE = 1
    MERGE = 2
    INSERT_OR_REPLACE = 3
    INSERT_OR_MERGE = 4
    DELETE = 5


class RowWrite(msgspec.Struct, frozen=True, gc=False):
    """One write. ``body`` is None for a deletion only; ``if_match`` an ETag or ``*``."""

    kind: WriteKind
    key: bytes
    body: Body | None
    if_match: str = "*"


class WriteRequest(msgspec.Struct, frozen=True):
    """One write, or an entity group transaction: all or none. The keys differ and lie in one partition."""

    generation: int
    writes: tuple[RowWrite, ...]
    id: int = 0

    @property
    def key(self) -> bytes:
        """Where it goes."""
        return self.writes[0].key


class ReadRequest(msgspec.Struct, frozen=True):
    """One entity by its key."""

    generation: int
    key: bytes
    select: tuple[str, ...] = ()
    id: int = 0


class PageRequest(msgspec.Struct, frozen=True):
    """One page of the rows with ``key <= row key < high`` of one table, of which a ``$filter`` is true."""

    generation: int
    key: bytes
    high: bytes
    filter: str = ""
    select: tuple[str, ...] = ()
    top: int = 1000
    bytes_max: int = 4 << 20
    duration_ns_max: int = 5_000_000_000
    examined_max: int | None = None
    """Entities read at most: what the execution time allows where reading takes no real time."""
    id: int = 0
    continued: bool = False
    """Whether it goes on where an earlier page of the same query ended."""


class TableRequest(msgspec.Struct, frozen=True):
    """Whether a table is there, and its generation. ``key`` is that of its row in the schema.

    For ``wait_ticks`` after its deletion a table is being deleted, also where its rows are gone already.
    """

    key: bytes
    id: int = 0
    wait_ticks: int = 0


class CreateTableRequest(msgspec.Struct, frozen=True):
    """Makes a table; the name of a deleted one is free again after ``wait_ticks`` and when its rows are gone."""

    key: bytes
    name: str
    wait_ticks: int
    id: int = 0


class DeleteTableRequest(msgspec.Struct, frozen=True):
    """Marks a table as deleted: from here on nobody sees it.

    With a ``generation`` only that one, and the same request again changes nothing: it may arrive twice.
    """

    key: bytes
    generation: int
    id: int = 0


class TableClearedRequest(msgspec.Struct, frozen=True):
    """Notes that no rows of a deleted table are left."""

    key: bytes
    generation: int
    id: int = 0


class ListTablesRequest(msgspec.Struct, frozen=True):
    """One page of the names of tables; ``deleted``: of those whose rows are still to be removed instead."""

    key: bytes
    high: bytes
    top: int = 1000
    deleted: bool = False
    id: int = 0


class ClearRequest(msgspec.Struct, frozen=True):
    """Removes up to ``rows_max`` rows of a deleted table with ``key <= row key < high``."""

    key: bytes
    high: bytes
    generation: int
    rows_max: int = 256
    id: int = 0


Request: TypeAlias = (
    WriteRequest
    | ReadRequest
    | PageRequest
    | TableRequest
    | CreateTableRequest
    | DeleteTableRequest
    | TableClearedRequest
    | ListTablesRequest
    | ClearRequest
)


class TableRow(msgspec.Struct, frozen=True, array_like=True):
    """The row of a table in the schema; ``deleted_ticks`` is 0 while it lives.

    (none) ──create──► live ──delete──► deleted ──cleared──► deleted, cleared ──create, after the wait──► live
    """

    name: str
    generation: int
    created_ticks: int
    deleted_ticks: int = 0
    cleared: bool = False
    format: int = 1


class Answer(msgspec.Struct, frozen=True):
    """What the range answered.

    ``next_key`` is where the next page begins, None where there is none: the key of the first row not looked at, or the
    end of the range where the query goes on beyond it. ``low`` and ``high`` are the served range, ``sequence`` the
    sequence number of a write. ``examined`` counts entities read or written; ``size_bytes`` is the weight of what was
    returned or written, by the published capacity formula; ``latency_ns`` the time in queues and service that a server
    counted without waiting.
    """

    status: int = 200
    code: str = ""
    failed_index: int | None = None
    entities: tuple[Entity, ...] = ()
    tables: tuple[TableRow, ...] = ()
    etags: tuple[str, ...] = ()
    generation: int = 0
    next_key: bytes | None = None
    examined: int = 0
    size_bytes: int = 0
    sequence: int = 0
    latency_ns: int = 0
    low: bytes = b""
    high: bytes | None = None

    @property
    def ok(self) -> bool:
        """Whether it was carried out."""
        return self.status < 400
