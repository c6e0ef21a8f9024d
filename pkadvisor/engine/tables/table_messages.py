"""What a front end asks of the range that holds a key, and what comes back: immutable values that cross the network.

Each request goes to the range of its ``key``. ``id`` tells one request from another: 0 where nobody counts them; a
message that arrives twice arrives with the same id. ``generation`` is that of the table (``entity_codec``).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Protocol, TypeAlias

import msgspec

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.entity_codec import Body
from pkadvisor.engine.tables.table_rules import TableError, TableLimits, check_table_name
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.edm import TICKS_PER_SECOND
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


# -- The tables of an account as a front end sees them: find, create, delete, clear what was deleted.


class Router(Protocol):
    """The way to the ranges."""

    async def send(self, key: bytes, request: Request) -> Answer:
        """Has the range that holds ``key`` carry out a request, and gives its answer.

        NotServing: no server took it within the request's time, nothing was carried out. Unreachable: a write may have
        been carried out; a router must not send a write again after that.
        """


class Tables:
    """Tables of one account."""

    def __init__(self, router: Router, account: str, limits: TableLimits, ids: Iterator[int], sole: bool) -> None:
        self._router = router
        self._account = account
        self._wait_ticks = limits.table_delete_ns * TICKS_PER_SECOND // SECOND
        self._ids = ids
        self._sole = sole
        self._known: dict[str, tuple[int, bytes]] = {}
        self._never: set[str] = set()  # asked only whether a name is in it: no order matters
        self._changes = 0
        self._under_way = 0
        self.clearing = True
        """Whether deleted tables may have rows left: true at the start, for what an earlier front end left."""

    def check_name(self, name: str) -> None:
        """400 InvalidResourceName for what is no name of a table."""
        if name not in self._known:
            check_table_name(name)

    def known(self, name: str) -> tuple[int, bytes] | None:
        """Generation and key prefix of a table that was found before."""
        return self._known.get(name)

    async def find(self, name: str) -> tuple[int, bytes]:
        """Generation and key prefix of a table; TableError where it is not there, or is being deleted."""
        known = self._known.get(name)
        if known is not None:
            return known
        check_table_name(name)
        changes, key = self._changes, row_keys.schema_key(self._account, name)
        answer = await self._router.send(key, TableRequest(key, next(self._ids), self._wait_ticks))
        if not answer.ok:
            raise TableError(answer.status, answer.code)
        place = answer.generation, row_keys.table_prefix(self._account, name)
        quiet = changes == self._changes and not self._under_way
        if self._sole and quiet and name.lower() not in self._never:
            self._known[name] = place
        return place

    def doubt(self, name: str, answer: Answer) -> None:
        """Forgets a table of which a range says that it is gone."""
        if answer.code == "TableNotFound":
            self._forget(name)

    async def create(self, name: str) -> Answer:
        """Makes a table. A name whose deletion was interrupted is cleared first."""
        check_table_name(name)
        key = row_keys.schema_key(self._account, name)
        wait_ticks = self._wait_ticks
        answer = await self._change(name, CreateTableRequest(key, name, wait_ticks, next(self._ids)))
        if answer.code == "TableBeingDeleted":
            self.clearing = True
            await self.clear_deleted()
            answer = await self._change(name, CreateTableRequest(key, name, wait_ticks, next(self._ids)))
        return answer

    async def delete(self, name: str) -> Answer:
        """Deletes a table: nobody sees it from here on. ``clear_deleted`` removes its rows."""
        generation, _ = await self.find(name)
        key = row_keys.schema_key(self._account, name)
        self.clearing = True
        return await self._change(name, DeleteTableRequest(key, generation, next(self._ids)))

    async def clear_deleted(self) -> None:
        """Removes the rows of all tables marked as deleted; an EngineError leaves the rest for another time."""
        if not self.clearing:
            return
        self.clearing = False
        try:
            for table in await self._deleted():
                await self._clear(table)
        except EngineError:
            self.clearing = True

    def check(self) -> None:
        """Asserts what must be true."""
        assert self._sole or not self._known, "only the one front end remembers tables"
        assert not any(name.lower() in self._never for name in self._known), "a doubtful name is remembered"

    async def _deleted(self) -> list[TableRow]:
        prefix = row_keys.table_prefix(self._account, row_keys.SCHEMA_TABLE)
        low, high = prefix, row_keys.prefix_end(prefix)
        assert high is not None, "a prefix ends with its separator"
        out: list[TableRow] = []
        while True:
            request = ListTablesRequest(low, high, deleted=True, id=next(self._ids))
            answer = _must(await self._router.send(low, request))
            out += answer.tables
            if answer.next_key is None:
                return out
            low = answer.next_key

    async def _clear(self, table: TableRow) -> None:
        low = row_keys.table_prefix(self._account, table.name)
        high = row_keys.prefix_end(low)
        assert high is not None, "a prefix ends with its separator"
        while True:
            answer = _must(await self._router.send(low, ClearRequest(low, high, table.generation, id=next(self._ids))))
            if answer.next_key is None:
                break
            low = answer.next_key
        key = row_keys.schema_key(self._account, table.name)
        _must(await self._router.send(key, TableClearedRequest(key, table.generation, next(self._ids))))

    async def _change(self, name: str, request: CreateTableRequest | DeleteTableRequest) -> Answer:
        self._forget(name)
        self._changes += 1
        self._under_way += 1
        try:
            return await self._router.send(request.key, request)
        except EngineError:
            self._never.add(name.lower())  # it may still be carried out, at any time
            raise
        finally:
            self._under_way -= 1

    def _forget(self, name: str) -> None:
        low = name.lower()
        for known in [known for known in self._known if known.lower() == low]:
            del self._known[known]


def _must(answer: Answer) -> Answer:
    """An answer that is no refusal: a server that is busy now is tried another time."""
    if not answer.ok:
        raise EngineError(f"{answer.status} {answer.code}")
    return answer
