"""A plain-dict table that says which outcomes are permissible: what a store answered is compared with it.

Of each key it keeps the versions that the entity may have now, usually one; ``None`` stands for "not there". An answer
that is uncertain (500 of a write) leaves two; writes under way at once leave every order of them open. A query is right
when every entity in it is one that may be there and satisfies the filter, its pages ascend, and nothing is missing that
was there, unchanged, from the first page to the last.

    operation ──begin──► under way ──end(outcome)──► permissible, or a violation in words
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, NamedTuple

from pkadvisor.stress.store.audited_rows import (
    ABSENT,
    AuditedRow,
    AuditedRows,
    Possible,
    Properties,
    Version,
    WantedRow,
    wanted,
)
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
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
from pkadvisor.values import dataclass

VIOLATIONS_KEPT = 20


@dataclass(slots=True)
class _Chain:
    """Pages of one query so far: the change count at its beginning, what it brought."""

    begun: int
    keys: list[EntityKey] = field(default_factory=list)


class AuditTicket(NamedTuple):
    """An operation under way: the change count when it was sent, what it writes and where."""

    operation: Operation
    begun: int
    writes: tuple[Write, ...]
    rows: tuple[AuditedRow, ...]


class Auditor:
    """The model of the tables of one account, all of them empty at first."""

    def __init__(self) -> None:
        self.operations = 0
        self.violations_total = 0
        self.violations: list[str] = []
        self._changes = 0
        self._tables: dict[str, AuditedRows] = {}
        self._chains: dict[tuple[str, str, str], _Chain] = {}

    # ------------------------------------------------------------------------------------------ from outside

    def begin(self, operation: Operation) -> AuditTicket:
        """An operation is sent."""
        writes = _writes(operation)
        rows = tuple([self._row(write.table, _key(write)) for write in writes])
        for row in rows:
            row.overlapped = row.overlapped or row.writing > 0
            row.writing += 1
        return AuditTicket(operation, self._changes, writes, rows)

    def end(self, ticket: AuditTicket, outcome: Outcome) -> bool:
        """It was answered; whether that is permissible."""
        self.operations += 1
        operation = ticket.operation
        before = self.violations_total
        refused = outcome.status == 503
        match operation:
            case CreateTable() | DeleteTable() | ListTables():
                self._table_operation(operation, outcome)
            case Get():
                if not refused and not outcome.uncertain:
                    self._got(operation, outcome, ticket.begun)
            case Query():
                if not refused and not outcome.uncertain:
                    self._page(operation, outcome, ticket.begun)
            case _:
                self._written(ticket, outcome)
        for row in ticket.rows:
            row.writing -= 1
            row.overlapped = row.overlapped and row.writing > 0
            if not row.writing:
                row.applied.clear()
        return self.violations_total == before

    def audited(self, operation: Operation, outcome: Outcome) -> bool:
        """An operation and its answer when nothing else was under way."""
        return self.end(self.begin(operation), outcome)

    def stored(self, table: str, entities: Iterable[Entity]) -> None:
        """Entities that are there before anything is audited."""
        self._rows(table).store(entities)

    def check(self) -> None:
        """Every key has a possible version, and nobody writes after everything was answered."""
        for rows in self._tables.values():
            for row in rows:
                assert row.possible, f"{row.key} can be nothing at all"
                assert row.writing >= 0, "answered more often than sent"

    # ------------------------------------------------------------------------------------------ reads

    def _got(self, operation: Get, outcome: Outcome, begun: int) -> None:
        row = self._row(operation.table, operation.key)
        if row.writing or row.touched > begun:
            return  # whichever of the writes it saw that were under way meanwhile
        if outcome.status == 404:
            if None not in row.possible:
                self._wrong(f"404 for {operation.key}, which is there")
        elif outcome.status != 200 or len(outcome.entities) != 1:
            self._wrong(f"{outcome.status} {outcome.code} for a read of {operation.key}")
        elif not self._may_be(row, outcome.entities[0], operation.select):
            self._wrong(f"{operation.key} is read as something that it never was")

    def _page(self, operation: Query, outcome: Outcome, begun: int) -> None:
        name = (operation.table, operation.filter, operation.continuation)
        chain = self._chains.pop(name, None) if operation.continuation else _Chain(begun)
        if chain is None:
            return  # goes on where somebody else began
        chain.begun = min(chain.begun, begun)  # two that ask the same at once may have changed places
        if outcome.status != 200:
            self._wrong(f"{outcome.status} {outcome.code} for the query {operation.filter!r}")
            return
        wants, rows = wanted(operation.filter), self._rows(operation.table)
        last = rows.row(chain.keys[-1]).place if chain.keys else None
        for entity in outcome.entities:
            row = rows.row(entity.key)
            if last is not None and row.place <= last:
                self._wrong(f"{entity.key} comes again or out of order in {operation.filter!r}")
            last = row.place
            if not row.writing and row.touched <= begun:
                if not self._may_be(row, entity, operation.select):
                    self._wrong(f"{entity.key} comes as something that it never was")
                elif not wants.timed and not wants.may_hold(row):
                    self._wrong(f"{entity.key} does not satisfy {operation.filter!r}")
            chain.keys.append(entity.key)
        full = operation.top is not None and len(outcome.entities) >= operation.top
        if outcome.continuation and not full:
            self._chains[operation.table, operation.filter, outcome.continuation] = chain
            return
        if outcome.continuation:
            self._chains[operation.table, operation.filter, outcome.continuation] = _Chain(chain.begun, chain.keys)
        if not wants.timed and (not full or last is not None):
            self._complete(operation, chain, wants, rows.between(wants, last if full else None))

    def _complete(self, operation: Query, chain: _Chain, wants: WantedRow, rows: Iterable[AuditedRow]) -> None:
        """Nothing is missing that was there all the time; of an answer cut off by ``$top`` up to its last entity."""
        came, begun = set(chain.keys), chain.begun
        for row in rows:
            if row.key in came or row.touched > begun or row.writing or len(row.possible) != 1:
                continue
            (version,) = row.possible
            if version is not None and wants.holds(row.key, version):
                self._wrong(f"{row.key} is missing from {operation.filter!r}")

    @staticmethod
    def _may_be(row: AuditedRow, entity: Entity, select: tuple[str, ...]) -> bool:
        for version in row.possible:
            if version is None:
                continue
            known = version.properties
            if select:
                known = {name: value for name, value in known.items() if name in select}
            if known == entity.properties and (not version.etag or not entity.etag or version.etag == entity.etag):
                return True
        return False

    # ------------------------------------------------------------------------------------------ writes

    def _written(self, ticket: AuditTicket, outcome: Outcome) -> None:
        operation, writes, rows = ticket.operation, ticket.writes, ticket.rows
        if outcome.status == 503:
            return
        if outcome.uncertain:
            for write, row in zip(writes, rows, strict=True):
                self._set(row, (*row.possible, *_after(write, row.possible, "")))
            return
        if outcome.ok:
            etags = (*outcome.etags, *[""] * (len(writes) - len(outcome.etags)))
            for write, row, etag in zip(writes, rows, etags, strict=True):
                self._applied(write, row, etag)
            return
        index = outcome.failed_index if isinstance(operation, Group) else 0
        if index is None or not 0 <= index < len(writes):
            self._wrong(f"{outcome.status} {outcome.code} for a write of {_key(writes[0])}")
            return
        self._failed(writes[index], rows[index], outcome)

    def _applied(self, write: Write, row: AuditedRow, etag: str) -> None:
        if row.writing <= 1 and not row.overlapped:
            after = _after(write, row.possible, etag)
            if not after:
                self._wrong(f"{type(write).__name__} of {row.key} succeeded, and must not")
            self._set(row, after)
            return
        # Answers of writes under way at once come in any order: one may stand on another that is not answered yet.
        row.applied.append((write, etag))
        possible, before = row.possible, 0
        while len(possible) > before:
            before = len(possible)
            possible = _distinct((*possible, *(v for one, tag in row.applied for v in _after(one, possible, tag))))
        self._set(row, possible)

    def _failed(self, write: Write, row: AuditedRow, outcome: Outcome) -> None:
        """A refusal says something of what is there; nothing has changed."""
        if row.overlapped or row.writing > 1:
            return
        there = tuple(version for version in row.possible if version is not None)
        match outcome.status:
            case 409 if isinstance(write, Insert):
                left: Possible = there
            case 404 if isinstance(write, Update | Merge | Delete):
                left = tuple(version for version in row.possible if version is None)
            case 412 if isinstance(write, Update | Merge | Delete) and write.if_match != "*":
                left = tuple(v for v in there if not v.etag or v.etag != write.if_match)
            case _:
                left = ()
        if not left:
            self._wrong(f"{outcome.status} {outcome.code} for {type(write).__name__} of {row.key}, without a reason")
            return
        row.possible = left

    def _set(self, row: AuditedRow, possible: Possible) -> None:
        self._changes += 1
        row.touched = self._changes
        row.possible = _distinct(possible) or row.possible

    # ------------------------------------------------------------------------------------------ tables

    def _table_operation(self, operation: CreateTable | DeleteTable | ListTables, outcome: Outcome) -> None:
        if isinstance(operation, DeleteTable) and outcome.ok:
            self._tables.pop(operation.table, None)
        elif isinstance(operation, CreateTable) and outcome.ok:
            self._tables.setdefault(operation.table, AuditedRows())

    def _rows(self, table: str) -> AuditedRows:
        rows = self._tables.get(table)
        if rows is None:
            rows = self._tables[table] = AuditedRows()
        return rows

    def _row(self, table: str, key: EntityKey) -> AuditedRow:
        return self._rows(table).row(key)

    def _wrong(self, what: str) -> None:
        self.violations_total += 1
        if len(self.violations) < VIOLATIONS_KEPT:
            self.violations.append(what)


def _writes(operation: Operation) -> tuple[Write, ...]:
    if isinstance(operation, Group):
        return operation.writes
    if isinstance(operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge | Delete):
        return (operation,)
    return ()


def _key(write: Write) -> EntityKey:
    return write.key if isinstance(write, Delete) else write.entity.key


def _after(write: Write, possible: Possible, etag: str) -> Possible:
    """What may be there after a write that succeeded; nothing where it cannot have."""
    match write:
        case Insert():
            return (Version(write.entity.properties, etag),) if None in possible else ()
        case InsertOrReplace():
            return (Version(write.entity.properties, etag),)
        case InsertOrMerge():
            return tuple(Version(_merged(v, write.entity), etag) for v in possible)
    there = [v for v in possible if v is not None]
    if write.if_match != "*":
        there = [v for v in there if not v.etag or v.etag == write.if_match]
    match write:
        case Delete():
            return ABSENT if there else ()
        case Update():
            return (Version(write.entity.properties, etag),) if there else ()
    return tuple(Version(_merged(v, write.entity), etag) for v in there)


def _merged(version: Version | None, entity: Entity) -> Properties:
    return entity.properties if version is None else {**version.properties, **entity.properties}


def _distinct(possible: Possible) -> Possible:
    return tuple({_identity(version): version for version in possible}.values()) if len(possible) > 1 else possible


def _identity(version: Version | None) -> Any:
    if version is None:
        return None
    return tuple(sorted((name, str(p.type), repr(p.value)) for name, p in version.properties.items())), version.etag
