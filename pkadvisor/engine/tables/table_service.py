"""The Table service of one account: operations in, outcomes out; what it asks of ranges goes through a router.

    operation ──check──► request ──Router.send──► answer ──► outcome
                 └──────────── refused: status, code, the service's sentence

A front end holds no state but what it may forget: which tables it has seen, and which deleted ones it still has to
clear. So several front ends may serve one account (invariant T8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from pkadvisor.engine.ownership_errors import OwnershipError
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import compiled, key_range
from pkadvisor.engine.tables.continuation import decode_token, encode_token
from pkadvisor.engine.tables.entity_codec import Body
from pkadvisor.engine.tables.group_checks import plain_group
from pkadvisor.engine.tables.table_messages import (
    Answer,
    ListTablesRequest,
    PageRequest,
    ReadRequest,
    Router,
    RowWrite,
    Tables,
    WriteKind,
    WriteRequest,
)
from pkadvisor.engine.tables.table_rules import (
    MESSAGES,
    PUBLISHED,
    TableError,
    TableLimits,
    check_if_match,
    check_key,
    checked_body,
)
from pkadvisor.engine.worlds.world import EngineError, Unreachable
from pkadvisor.table.edm import utf16_key
from pkadvisor.table.odata import FilterLimitError, FilterSyntaxError
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    ListTables,
    Merge,
    Operation,
    Outcome,
    Query,
    Update,
    Write,
)


class TableService:
    """The Table service of one account, as one front end offers it.

    ``sole``: no other front end serves the account, so that this one may remember which tables there are. ``ids``
    number the requests; two front ends, and one before and after a crash, must not use the same ones.
    """

    def __init__(
        self,
        router: Router,
        account: str = "devstoreaccount1",
        *,
        limits: TableLimits = PUBLISHED,
        sole: bool = False,
        ids: Iterator[int] | None = None,
    ) -> None:
        self._router = router
        self._account = account
        self._limits = limits
        self._ids = count(1) if ids is None else ids
        self.tables = Tables(router, account, limits, self._ids, sole)

    async def execute(self, operation: Operation) -> Outcome:
        """Carries out an operation. What goes wrong inside is 500 or 503, never an exception.

        500 OperationTimedOut and InternalError: a write may have been carried out. 503 ServerBusy and 507
        InsufficientStorage: it was not.
        """
        try:
            if type(operation) in _KINDS:
                return await self._write((operation,), 204)  # type: ignore[arg-type]
            return await self._execute(operation)
        except TableError as error:
            return _refused(error.status, error.code, error.index)
        except (FilterSyntaxError, FilterLimitError):
            return _refused(400, "InvalidInput")
        except OwnershipError:
            return _refused(503, "ServerBusy")
        except Unreachable:
            return _refused(500, "OperationTimedOut")
        except EngineError:
            return _refused(500, "InternalError")

    async def maintain(self) -> None:
        """Removes the rows of deleted tables; an EngineError leaves them for the next time."""
        await self.tables.clear_deleted()

    def check(self) -> None:
        """Asserts what must be true of what is remembered."""
        self.tables.check()

    async def _execute(self, operation: Operation) -> Outcome:
        match operation:
            case Get():
                return await self._get(operation)
            case Query():
                return await self._query(operation)
            case Group():
                return await self._group(operation)
            case CreateTable():
                return _outcome(await self.tables.create(operation.table), 204)
            case DeleteTable():
                return _outcome(await self.tables.delete(operation.table), 204)
            case ListTables():
                return await self._list_tables(operation)
            case _:
                return await self._write((operation,), 204)

    # ------------------------------------------------------------------------------------------------ writes

    async def _write(
        self, writes: Sequence[Write], status: int, plain: tuple[list[RowWrite], int] | None = None
    ) -> Outcome:
        """Writes what is checked here, or was already and is ``plain``: rows and the bytes of all entities."""
        table = writes[0].table
        known = self.tables.known(table)
        if known is None:
            self.tables.check_name(table)
            prefix = row_keys.table_prefix(self._account, table)
        else:
            prefix = known[1]
        group = status == 202
        rows, size_bytes = self._rows(writes, prefix, group) if plain is None else plain
        if group and size_bytes > self._limits.group_bytes:
            raise TableError(413, "RequestBodyTooLarge")
        if known is None:
            try:
                known = await self.tables.find(table)
            except TableError as error:
                error.index = 0 if group else None  # the first write is the first to miss its table
                raise
        request = WriteRequest(known[0], tuple(rows), next(self._ids))
        answer = await self._router.send(rows[0].key, request)
        if not answer.ok:
            self.tables.doubt(table, answer)
            return _outcome(answer, status) if group else _refused(answer.status, answer.code, None, answer)
        return Outcome(status, etags=answer.etags, examined=answer.examined, latency_ns=answer.latency_ns)

    def _rows(self, writes: Sequence[Write], prefix: bytes, group: bool) -> tuple[list[RowWrite], int]:
        """What is written of each row, checked one by one, and the bytes of all entities."""
        rows: list[RowWrite] = []
        partition_key, partition = None, b""
        size_bytes = 0
        for index, write in enumerate(writes):
            try:
                kind, key, body, if_match = self._checked(write)
            except TableError as error:
                error.index = index if group else None
                raise
            if key.partition_key is not partition_key:
                partition_key = key.partition_key
                part = partition_key.encode() if partition_key.isascii() else row_keys.encode_part(partition_key)
                partition = b"%b%b\0" % (prefix, part)
            row_key = key.row_key
            part = row_key.encode() if row_key.isascii() else row_keys.encode_part(row_key)
            rows.append(RowWrite(kind, partition + part, body, if_match))
            if body is not None:
                size_bytes += body.size_bytes
        return rows, size_bytes

    def _checked(self, write: Write) -> tuple[WriteKind, EntityKey, Body | None, str]:
        kind = _KINDS[type(write)]
        limits = self._limits
        if kind is _DELETE:
            key, body = write.key, None  # type: ignore[union-attr]
            check_key(key, limits)
        else:
            entity = write.entity  # type: ignore[union-attr]
            key = entity.key
            check_key(key, limits)
            body = checked_body(entity, limits)
            if kind in _UNCONDITIONAL:
                return kind, key, body, "*"
        if_match: str = write.if_match  # type: ignore[union-attr]
        if if_match != "*":
            check_if_match(if_match)
        return kind, key, body, if_match

    async def _group(self, group: Group) -> Outcome:
        """Checks what a group is, then writes it (Performing Entity Group Transactions)."""
        writes = group.writes
        if not writes or len(writes) > self._limits.group_entities:
            raise TableError(400, "InvalidInput")
        plain = self._plain(writes)
        if plain is None:
            self._check_group(writes)
        return await self._write(writes, 202, plain)

    def _plain(self, writes: Sequence[Write]) -> tuple[list[RowWrite], int] | None:
        """The rows of a group that is right beyond doubt."""
        table = writes[0].table
        try:
            self.tables.check_name(table)
        except TableError:
            return None
        return plain_group(writes, row_keys.table_prefix(self._account, table)) if self._limits is PUBLISHED else None

    def _check_group(self, writes: Sequence[Write]) -> None:
        seen: set[str | bytes] = set()
        first = writes[0]
        table, partition_key = first.table.lower(), _key(first).partition_key
        for index, write in enumerate(writes):
            if write.table != first.table and write.table.lower() != table:
                raise TableError(400, "InvalidInput", index)
            written, row_key = write.key if isinstance(write, Delete) else write.entity.key
            if written != partition_key:
                raise TableError(400, "CommandsInBatchActOnDifferentPartitions", index)
            units: str | bytes = row_key
            if type(row_key) is str and not row_key.isascii():
                units = utf16_key(row_key)  # two surrogates are the character that they stand for
            if units in seen:
                raise TableError(400, "InvalidDuplicateRow", index)
            seen.add(units)

    # ------------------------------------------------------------------------------------------------ reads

    async def _get(self, get: Get) -> Outcome:
        generation, prefix = await self.tables.find(get.table)
        try:
            check_key(get.key, self._limits)
        except TableError:
            raise TableError(404, "ResourceNotFound") from None  # no entity has such a key
        key = b"%b%b\0%b" % (prefix, *map(row_keys.encode_part, get.key))
        answer = await self._router.send(key, ReadRequest(generation, key, self._select(get.select), next(self._ids)))
        self.tables.doubt(get.table, answer)
        return _outcome(answer, 200)

    async def _query(self, query: Query) -> Outcome:
        self.tables.check_name(query.table)
        compiled(query.filter)  # refused here rather than far away
        low, high = key_range(self._account, query.table, query.filter)
        prefix = row_keys.table_prefix(self._account, query.table)
        if query.continuation:
            low = max(low, decode_token(prefix, query.continuation))
        top = self._top(query.top)
        select = self._select(query.select)
        generation, _ = await self.tables.find(query.table)
        if low >= high or not top:
            return Outcome(200)
        limits = self._limits
        request = PageRequest(
            generation,
            low,
            high,
            query.filter,
            select,
            top,
            limits.page_bytes,
            limits.page_ns,
            limits.page_examined,
            next(self._ids),
            bool(query.continuation),
        )
        answer = await self._router.send(low, request)
        next_key = answer.next_key
        return _outcome(answer, 200, "" if next_key is None else encode_token(prefix, next_key))

    async def _list_tables(self, listing: ListTables) -> Outcome:
        prefix = row_keys.table_prefix(self._account, row_keys.SCHEMA_TABLE)
        low = decode_token(prefix, listing.continuation) if listing.continuation else prefix
        high = row_keys.prefix_end(prefix)
        assert high is not None, "a prefix ends with its separator"
        top = self._top(listing.top)
        if not top:
            return Outcome(200)
        request = ListTablesRequest(low, high, top, id=next(self._ids))
        answer = await self._router.send(low, request)
        next_key = answer.next_key
        return _outcome(answer, 200, "" if next_key is None else encode_token(prefix, next_key))

    def _top(self, top: int | None) -> int:
        """``$top`` is at most 1,000 (Writing LINQ queries against the Table service).

        0 asks for no entities: they are none, and there is no next page (the service: Azure/Azurite issue 1428).
        """
        if top is None:
            return self._limits.page_entities
        if type(top) is not int or not 0 <= top <= self._limits.page_entities:
            raise TableError(400, "InvalidInput")
        return top

    def _select(self, select: tuple[str, ...]) -> tuple[str, ...]:
        if len(select) > self._limits.select_properties:
            raise TableError(400, "InvalidInput")
        return () if "*" in select else select


_DELETE = WriteKind.DELETE
_UNCONDITIONAL = (WriteKind.INSERT, WriteKind.INSERT_OR_REPLACE, WriteKind.INSERT_OR_MERGE)
_KINDS: dict[type, WriteKind] = {
    Insert: WriteKind.INSERT,
    Update: WriteKind.UPDATE,
    Merge: WriteKind.MERGE,
    InsertOrReplace: WriteKind.INSERT_OR_REPLACE,
    InsertOrMerge: WriteKind.INSERT_OR_MERGE,
    Delete: WriteKind.DELETE,
}


def _key(write: Write) -> EntityKey:
    return write.key if isinstance(write, Delete) else write.entity.key


def _outcome(answer: Answer, status: int, continuation: str = "") -> Outcome:
    """What an answer says to the client; ``status`` where it is a success."""
    if not answer.ok:
        return _refused(answer.status, answer.code, answer.failed_index, answer)
    return Outcome(
        status,
        entities=answer.entities,
        tables=tuple(table.name for table in answer.tables),
        continuation=continuation,
        etags=answer.etags,
        examined=answer.examined,
        returned_bytes=answer.size_bytes,
        latency_ns=answer.latency_ns,
    )


def _refused(status: int, code: str, index: int | None = None, answer: Answer | None = None) -> Outcome:
    message = MESSAGES.get(code, "")
    return Outcome(
        status,
        code,
        message if index is None else f"{index}:{message}",
        failed_index=index,
        examined=0 if answer is None else answer.examined,
        latency_ns=0 if answer is None else answer.latency_ns,
    )
