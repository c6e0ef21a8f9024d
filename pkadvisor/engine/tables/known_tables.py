"""The tables of an account as a front end sees them: find, create, delete, clear what was deleted.

The truth stands in the schema rows (``table_requests``). A front end that is the only one of its account may remember
which tables it saw alive; it forgets a name for good when it does not know what came of a creation or deletion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_messages import (
    Answer,
    ClearRequest,
    CreateTableRequest,
    DeleteTableRequest,
    ListTablesRequest,
    Request,
    TableClearedRequest,
    TableRequest,
    TableRow,
)
from pkadvisor.engine.tables.table_rules import TableError, TableLimits, check_table_name
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.edm import TICKS_PER_SECOND


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
