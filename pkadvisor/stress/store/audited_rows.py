"""What an auditor knows of one table: rows in key order with what may stand there, and what a filter wants of them.

Filters are closures of this module's own, so that a fault in the engine's filters does not hide itself.
"""

from __future__ import annotations

import operator as ops
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sortedcontainers import SortedKeyList

from pkadvisor.table.edm import KEYS, EdmType, TypedValue, utf16_key
from pkadvisor.table.odata import And, Comparison, Filter, Not, Operator, conjuncts, parse_filter, properties
from pkadvisor.table.store import Entity, EntityKey, Property, Write
from pkadvisor.values import dataclass

Properties: TypeAlias = Mapping[str, Property]
Place: TypeAlias = tuple[bytes, bytes]
Truth: TypeAlias = Callable[[EntityKey, Properties], bool]


class Version(NamedTuple):
    """What an entity may be: its properties, and its ETag where an answer told it (empty: not known)."""

    properties: Properties
    etag: str


Possible: TypeAlias = tuple[Version | None, ...]
ABSENT: Possible = (None,)


@dataclass(slots=True, eq=False)
class AuditedRow:
    """A key with what may stand there. ``touched`` is the count of changes when it last may have changed.

    ``writing`` writes of it are under way; ``overlapped`` where they were several at once.
    """

    key: EntityKey
    place: Place
    possible: Possible = ABSENT
    touched: int = 0
    writing: int = 0
    overlapped: bool = False
    applied: list[tuple[Write, str]] = field(default_factory=list)
    """Writes under way at once that succeeded, each with the ETag that it was answered."""


@dataclass(frozen=True, slots=True)
class WantedRow:
    """What a filter wants: a row between two places (both may be rows) of which ``truth`` says that it holds.

    ``timed``: it asks for Timestamp, which is the store's own, so what satisfies it is not known here.
    """

    truth: Truth | None
    timed: bool
    low: Place
    high: Place | None

    def holds(self, key: EntityKey, version: Version) -> bool:
        """Whether a version satisfies the filter."""
        return self.truth is None or self.truth(key, version.properties)

    def may_hold(self, row: AuditedRow) -> bool:
        """Whether what may stand under a key satisfies the filter."""
        if len(row.possible) == 1:  # of most rows it is known what stands there
            version = row.possible[0]
            return version is not None and self.holds(row.key, version)
        return any(version is not None and self.holds(row.key, version) for version in row.possible)


class AuditedRows:
    """The rows of one table, by key and in key order."""

    def __init__(self) -> None:
        self._by_key: dict[EntityKey, AuditedRow] = {}
        self._ordered: SortedKeyList = SortedKeyList(key=_place_of)

    def __iter__(self) -> Iterator[AuditedRow]:
        return iter(self._ordered)

    def row(self, key: EntityKey) -> AuditedRow:
        """The row of a key; made where it is new."""
        row = self._by_key.get(key)
        if row is None:
            row = self._by_key[key] = AuditedRow(key, (utf16_key(key.partition_key), utf16_key(key.row_key)))
            self._ordered.add(row)
        return row

    def store(self, entities: Iterable[Entity]) -> None:
        """Puts many entities in, as they are."""
        new: list[AuditedRow] = []
        for entity in entities:
            key = entity.key
            row = self._by_key.get(key)
            if row is None:
                row = self._by_key[key] = AuditedRow(key, (utf16_key(key.partition_key), utf16_key(key.row_key)))
                new.append(row)
            row.possible = (Version(entity.properties, entity.etag),)
        self._ordered.update(new)

    def between(self, wanted: WantedRow, upto: Place | None) -> Iterator[AuditedRow]:
        """The rows that a filter's keys leave, up to a place."""
        high = wanted.high if upto is None or (wanted.high is not None and wanted.high < upto) else upto
        start = self._ordered.bisect_key_left(wanted.low)
        end = len(self._ordered) if high is None else self._ordered.bisect_key_right(high)
        rows: Iterator[AuditedRow] = self._ordered.islice(start, max(start, end))
        return rows


def _place_of(row: AuditedRow) -> Place:
    return row.place


# ------------------------------------------------------------------------------------------------ filters


@lru_cache(maxsize=4096)
def wanted(text: str) -> WantedRow:
    """What a filter text wants; everything where it is empty. Raises FilterSyntaxError, FilterLimitError."""
    if not text.strip():
        return WantedRow(None, False, (b"", b""), None)
    tree = parse_filter(text)
    low, high = _bounds(tree)
    return WantedRow(_truth(tree), "Timestamp" in properties(tree), low, high)


def _bounds(tree: Filter) -> tuple[Place, Place | None]:
    """The least and the greatest place that comparisons of the keys, joined by ``and``, leave."""
    low, high = _ends(tree, "PartitionKey")
    if high is None:
        return (low, b""), None
    if low != high:
        return (low, b""), (high + b"\0\0", b"")  # behind every row of the greatest partition
    first, last = _ends(tree, "RowKey")
    return (low, first), ((high + b"\0\0", b"") if last is None else (high, last))


def _ends(tree: Filter, name: str) -> tuple[bytes, bytes | None]:
    """The least and the greatest key that comparisons of one key leave; None where nothing bounds it above."""
    low, high = b"", None
    for operator, key in _compared(tree, name):
        if operator in (Operator.EQ, Operator.GE, Operator.GT):
            low = max(low, key)
        if operator in (Operator.EQ, Operator.LE, Operator.LT):
            high = key if high is None else min(high, key)
    return low, high


def _compared(tree: Filter, name: str) -> Iterator[tuple[Operator, bytes]]:
    """The comparisons of a key that must hold."""
    for part in conjuncts(tree):
        if not isinstance(part, Comparison) or part.property != name or part.operator is Operator.NE:
            continue
        if isinstance(part.operand, TypedValue) and part.operand.type is EdmType.STRING:
            yield part.operator, utf16_key(str(part.operand.value))


def _truth(tree: Filter) -> Truth:
    """What ``filters.evaluate`` says of a filter, as a closure over an entity's key and properties."""
    if isinstance(tree, Comparison):
        return _comparison(tree)
    if isinstance(tree, Not):
        inner = _truth(tree.operand)
        return lambda key, row: not inner(key, row)
    first, *others = map(_truth, tree.operands)
    for other in others:
        first = _joined(first, other, isinstance(tree, And))
    return first


def _joined(first: Truth, second: Truth, both: bool) -> Truth:
    if both:
        return lambda key, row: first(key, row) and second(key, row)
    return lambda key, row: first(key, row) or second(key, row)


_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: ops.eq,
    Operator.NE: ops.ne,
    Operator.GT: ops.gt,
    Operator.GE: ops.ge,
    Operator.LT: ops.lt,
    Operator.LE: ops.le,
}


def _comparison(tree: Comparison) -> Truth:
    constant, name, compare = tree.operand, tree.property, _COMPARE[tree.operator]
    assert isinstance(constant, TypedValue), "parameters are bound before a filter is sent"
    edm, value = constant.type, constant.value
    ordered = isinstance(value, str) and tree.operator not in (Operator.EQ, Operator.NE)
    against: Any = utf16_key(value) if ordered and isinstance(value, str) else value
    if name in KEYS:
        at = 0 if name == "PartitionKey" else 1
        if edm is not EdmType.STRING:
            return lambda key, row: False
        if ordered:
            return lambda key, row: compare(utf16_key(key[at]), against)
        return lambda key, row: compare(key[at], against)

    def holds(key: EntityKey, of_row: Properties) -> bool:
        actual = of_row.get(name)
        if actual is None or actual[0] is not edm:
            return False
        own = actual[1]
        return compare(utf16_key(own) if ordered and isinstance(own, str) else own, against)

    return holds
