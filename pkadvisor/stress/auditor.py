"""A plain-dict table that says which outcomes are permissible: what a store answered is held against it.

Of each key it keeps the versions that the entity may have now, usually one; ``None`` stands for "not there". An answer
that is uncertain (500 of a write) leaves two; writes under way at once leave every order of them open. A query is right
when every entity in it is one that may be there and satisfies the filter, its pages ascend, and nothing is missing that
was there, unchanged, from the first page to the last.

    operation ──begin──► under way ──end(outcome)──► permissible, or a violation in words
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from pkadvisor.table.edm import EdmType, Literal, utf16_key
from pkadvisor.table.odata import Comparison, Filter, conjuncts, evaluate, parse_filter, properties
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Key,
    ListTables,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)

VIOLATIONS_KEPT = 20
Properties = Mapping[str, Property]


class Version(NamedTuple):
    """What an entity may be: its properties, and its ETag where an answer told it (empty: not known)."""

    properties: Properties
    etag: str


Possible = tuple[Version | None, ...]
_ABSENT: Possible = (None,)


@dataclass(slots=True)
class _Row:
    """A key with what may stand there. ``touched`` is the count of changes when it last may have changed."""

    key: Key
    possible: Possible = _ABSENT
    touched: int = 0
    writing: int = 0
    """Writes of it that are under way."""
    overlapped: bool = False
    verdicts: dict[str, bool] = field(default_factory=dict)
    """Whether its version satisfies a filter, as long as there is only one."""


@dataclass(slots=True)
class _Chain:
    """Pages of one query so far: the change count at its beginning, what it brought."""

    begun: int
    keys: list[Key] = field(default_factory=list)


class Ticket(NamedTuple):
    """An operation under way: the change count when it was sent."""

    operation: Operation
    begun: int


class Auditor:
    """The model of the tables of one account, all of them empty at first."""

    def __init__(self) -> None:
        self.operations = 0
        self.violations_total = 0
        self.violations: list[str] = []
        self._changes = 0
        self._tables: dict[str, SortedDict[tuple[bytes, bytes], _Row]] = {}
        self._chains: dict[tuple[str, str, str], _Chain] = {}

    # ------------------------------------------------------------------------------------------ from outside

    def begin(self, operation: Operation) -> Ticket:
        """An operation is sent."""
        for write in _writes(operation):
            row = self._row(write.table, _key(write))
            row.overlapped = row.overlapped or row.writing > 0
            row.writing += 1
        return Ticket(operation, self._changes)

    def end(self, ticket: Ticket, outcome: Outcome) -> bool:
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
                self._written(operation, outcome)
        for write in _writes(operation):
            row = self._row(write.table, _key(write))
            row.writing -= 1
            row.overlapped = row.overlapped and row.writing > 0
        return self.violations_total == before

    def audited(self, operation: Operation, outcome: Outcome) -> bool:
        """An operation and its answer when nothing else was under way."""
        return self.end(self.begin(operation), outcome)

    def stored(self, table: str, entities: Iterable[Entity]) -> None:
        """Entities that are there before anything is audited."""
        for entity in entities:
            self._row(table, entity.key).possible = (Version(entity.properties, entity.etag),)

    def check(self) -> None:
        """Every key has a possible version, and nobody writes after everything was answered."""
        for rows in self._tables.values():
            for row in rows.values():
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
        tree = _tree(operation.filter)
        last = _order(chain.keys[-1]) if chain.keys else None
        for entity in outcome.entities:
            place = _order(entity.key)
            if last is not None and place <= last:
                self._wrong(f"{entity.key} comes again or out of order in {operation.filter!r}")
            last = place
            row = self._row(operation.table, entity.key)
            still = not row.writing and row.touched <= begun
            if still and not self._may_be(row, entity, operation.select):
                self._wrong(f"{entity.key} comes as something that it never was")
            elif (
                still
                and tree is not None
                and not _timed(operation.filter)
                and not any(version is not None and _holds(tree, row.key, version) for version in row.possible)
            ):
                self._wrong(f"{entity.key} does not satisfy {operation.filter!r}")
            chain.keys.append(entity.key)
        full = operation.top is not None and len(outcome.entities) >= operation.top
        if outcome.continuation and not full:
            self._chains[operation.table, operation.filter, outcome.continuation] = chain
            return
        if outcome.continuation:
            self._chains[operation.table, operation.filter, outcome.continuation] = _Chain(chain.begun, chain.keys)
        self._complete(operation, chain, tree, upto=last if full else None, whole=not full)

    def _complete(
        self, operation: Query, chain: _Chain, tree: Filter | None, upto: tuple[bytes, bytes] | None, whole: bool
    ) -> None:
        """Nothing is missing that was there all the time; of an answer cut off by ``$top`` up to its last entity."""
        if (not whole and upto is None) or _timed(operation.filter):
            return
        came, text = set(chain.keys), operation.filter
        for row in self._within(operation.table, tree, upto):
            if row.touched > chain.begun or row.writing or len(row.possible) != 1 or row.key in came:
                continue
            (version,) = row.possible
            if version is None:
                continue
            holds = row.verdicts.get(text)
            if holds is None:
                holds = row.verdicts[text] = tree is None or _holds(tree, row.key, version)
            if holds:
                self._wrong(f"{row.key} is missing from {text!r}")

    def _within(self, table: str, tree: Filter | None, upto: tuple[bytes, bytes] | None) -> Iterable[_Row]:
        """The rows that the comparisons of the PartitionKey leave."""
        rows = self._tables.get(table)
        if rows is None:
            return ()
        low: tuple[bytes, bytes] = (b"", b"")
        high: tuple[bytes, bytes] | None = upto
        for part in conjuncts(tree) if tree is not None else ():
            if not isinstance(part, Comparison) or part.property != "PartitionKey":
                continue
            assert isinstance(part.operand, Literal)
            key = utf16_key(str(part.operand.value))
            if part.operator in ("eq", "ge", "gt"):
                low = max(low, (key, b""))
            if part.operator in ("eq", "le"):
                high = min(high or (key + b"\0\0", b""), (key + b"\0\0", b""))
            if part.operator == "lt":
                high = min(high or (key, b""), (key, b""))
        start = rows.bisect_left(low)
        end = len(rows) if high is None else rows.bisect_right(high)
        return (rows.peekitem(place)[1] for place in range(start, end))

    @staticmethod
    def _may_be(row: _Row, entity: Entity, select: tuple[str, ...]) -> bool:
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

    def _written(self, operation: Operation, outcome: Outcome) -> None:
        writes = list(_writes(operation))
        rows = [self._row(write.table, _key(write)) for write in writes]
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

    def _applied(self, write: Write, row: _Row, etag: str) -> None:
        after = _after(write, row.possible, etag)
        if not after and not row.overlapped and row.writing <= 1:
            self._wrong(f"{type(write).__name__} of {row.key} succeeded, and must not")
        self._set(row, after if row.writing <= 1 and not row.overlapped else (*row.possible, *after))

    def _failed(self, write: Write, row: _Row, outcome: Outcome) -> None:
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

    def _set(self, row: _Row, possible: Possible) -> None:
        self._changes += 1
        row.touched = self._changes
        row.verdicts.clear()
        row.possible = tuple({_identity(version): version for version in possible}.values()) or row.possible

    # ------------------------------------------------------------------------------------------ tables

    def _table_operation(self, operation: CreateTable | DeleteTable | ListTables, outcome: Outcome) -> None:
        if isinstance(operation, DeleteTable) and outcome.ok:
            self._tables.pop(operation.table, None)
        elif isinstance(operation, CreateTable) and outcome.ok:
            self._tables.setdefault(operation.table, SortedDict())

    def _row(self, table: str, key: Key) -> _Row:
        rows = self._tables.get(table)
        if rows is None:
            rows = self._tables[table] = SortedDict()
        place = _order(key)
        row: _Row | None = rows.get(place)
        if row is None:
            row = rows[place] = _Row(key)
        return row

    def _wrong(self, what: str) -> None:
        self.violations_total += 1
        if len(self.violations) < VIOLATIONS_KEPT:
            self.violations.append(what)


def _order(key: Key) -> tuple[bytes, bytes]:
    return utf16_key(key.partition_key), utf16_key(key.row_key)


def _writes(operation: Operation) -> tuple[Write, ...]:
    if isinstance(operation, Group):
        return operation.writes
    if isinstance(operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge | Delete):
        return (operation,)
    return ()


def _key(write: Write) -> Key:
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
            return _ABSENT if there else ()
        case Update():
            return (Version(write.entity.properties, etag),) if there else ()
    return tuple(Version(_merged(v, write.entity), etag) for v in there)


def _merged(version: Version | None, entity: Entity) -> Properties:
    return entity.properties if version is None else {**version.properties, **entity.properties}


def _identity(version: Version | None) -> Any:
    if version is None:
        return None
    return tuple(sorted((name, str(p.type), repr(p.value)) for name, p in version.properties.items())), version.etag


@lru_cache(maxsize=4096)
def _tree(text: str) -> Filter | None:
    return parse_filter(text) if text.strip() else None


@lru_cache(maxsize=4096)
def _timed(text: str) -> bool:
    """Whether a filter asks for Timestamp: that is the store's own, so what satisfies it is not known here."""
    tree = _tree(text)
    return tree is not None and "Timestamp" in properties(tree)


def _holds(tree: Filter, key: Key, version: Version) -> bool:
    """Whether a version satisfies a filter."""
    literals = {name: Literal(p.type, p.value) for name, p in version.properties.items()}
    literals["PartitionKey"] = Literal(EdmType.STRING, key.partition_key)
    literals["RowKey"] = Literal(EdmType.STRING, key.row_key)
    return evaluate(tree, literals)
