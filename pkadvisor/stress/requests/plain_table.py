"""A table that answers as the engine does and changes nothing: rows in key order, filters over columns of codes.

What the engine would examine, return, weigh and where a page would end is worked out by searching and adding up, so
that a scan of a table takes microseconds. Writes are judged by the rows that were there before the run.

A page ends as in ``engine/tables/table_pages.py``: at ``$top`` entities, after so many that were examined, before its
weight would pass 4 MiB, or with the key range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import tree_range
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableLimits
from pkadvisor.lazy import Bools, Ints, np
from pkadvisor.limits import Limits
from pkadvisor.table.accounting import ANSWER_BYTES, entity_bytes, property_bytes, utf16_units, value_length
from pkadvisor.table.edm import KEYS, EdmType, TypedValue, utf16_key
from pkadvisor.table.odata import And, Comparison, Filter, Not, Operator, Or, conjuncts, parse_filter
from pkadvisor.table.store import (
    Delete,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    Merge,
    Operation,
    Outcome,
    Query,
    Update,
    Write,
)
from pkadvisor.values import dataclass

ACCOUNT = "a"
ETAG = 'W/"1"'
KEPT = 4096
"""Answers to filters that are kept: the pages of one query ask for the same."""


def page_limits(limits: Limits) -> TableLimits:
    """The page rules that runs and scripts share: those of the cost model.

    A page ends after ``limits.page_entities`` *examined* entities. What is published says so of entities returned, and
    lets a page scan for five seconds; the model assumes the worse, and a run must count as it was predicted.
    """
    return replace(PUBLISHED, page_examined=limits.page_entities, page_bytes=limits.page_bytes)


class Asked(NamedTuple):
    """One operation as ``Capacity`` weighs it; ``key`` routes it, ``high`` is the first key behind what it reads.

    ``several``: a page that may go over several PartitionKeys. ``answered`` is the number of entities returned.
    """

    kind: Kind
    key: bytes
    high: bytes
    several: bool
    entities: int
    examined: int
    bytes_moved: int
    continued: bool = False
    answered: int = 0


@dataclass(slots=True, eq=False)
class _Column:
    """The values of one property and type: codes that rise with the value, -1 where a row has none."""

    codes: Ints
    values: list[Any]


@dataclass(slots=True, eq=False)
class _Matching:
    """The rows of a filter: those examined [low, high), those wanted among them, their weights added up."""

    low: int
    high: int
    low_key: bytes
    high_key: bytes
    at: list[int] | range
    weights: Ints


class PlainTable:
    """Rows of one table (see the top of this file)."""

    def __init__(self, table: str, rows: Iterable[Entity], limits: TableLimits) -> None:
        self.table, self.limits = table, limits
        self._prefix = row_keys.table_prefix(ACCOUNT, table)
        keyed = sorted(((self.key(row.key), row) for row in rows), key=lambda pair: pair[0])
        self.keys = [key for key, _ in keyed]
        self.rows = [row for _, row in keyed]
        self._at = {row.key: n for n, row in enumerate(self.rows)}
        weigh = _Weights()
        self._sizes = np.array([weigh.of(row) for row in self.rows], dtype=np.int64)
        self._summed = np.concatenate([[0], np.cumsum(self._sizes + ANSWER_BYTES)])
        self._columns: dict[tuple[str, EdmType], _Column | None] = {}
        self._by_name: set[str] = {name for row in self.rows for name in row.properties}
        self._found: dict[str, _Matching] = {}

    # -- keys ----------------------------------------------------------------------------------------------------

    def partition(self, partition_key: str) -> bytes:
        """What the keys of a partition begin with."""
        return b"%b%b\0" % (self._prefix, row_keys.encode_part(partition_key))

    def key(self, key: EntityKey) -> bytes:
        """The place of a row."""
        return self.partition(key.partition_key) + row_keys.encode_part(key.row_key)

    def partition_of(self, key: bytes) -> bytes:
        """What the keys of a key's partition begin with; the key itself where it names none."""
        return boundary(key, len(self._prefix)) or key

    def partition_key(self, prefix: bytes) -> str:
        """The PartitionKey of what the keys of its partition begin with."""
        return row_keys.decode_part(prefix[len(self._prefix) : -1])

    # -- operations ----------------------------------------------------------------------------------------------

    def answer(self, operation: Operation) -> tuple[Outcome, Asked]:
        """What the store answers, and what the operation weighs there."""
        match operation:
            case Get():
                return self._get(operation)
            case Query():
                return self._page(operation)
            case Group():
                return self._write(operation.writes, 202)
            case Insert() | Update() | Merge() | Delete():
                return self._write((operation,), 204)
        return self._write((operation,), 204)  # type: ignore[arg-type]

    def _get(self, get: Get) -> tuple[Outcome, Asked]:
        key = self.key(get.key)
        at = self._at.get(get.key)
        size = 0 if at is None else int(self._sizes[at])
        asked = Asked(Kind.READ, key, key + b"\0", False, 1, 1, size)
        if at is None:
            return Outcome(404, "ResourceNotFound", examined=1), asked
        return Outcome(200, entities=(self._tagged(at),), examined=1, returned_bytes=size), asked

    def _write(self, writes: tuple[Write, ...], status: int) -> tuple[Outcome, Asked]:
        size = 0
        code = ""
        for write in writes:
            key = write.key if isinstance(write, Delete) else write.entity.key
            at = self._at.get(key)
            if isinstance(write, Insert) and at is not None:
                status, code = 409, "EntityAlreadyExists"
            elif isinstance(write, Update | Merge | Delete) and at is None:
                status, code = 404, "ResourceNotFound"
            elif isinstance(write, Merge) and at is not None:
                size += entity_bytes(Entity(key, {**self.rows[at].properties, **write.entity.properties}))
            elif not isinstance(write, Delete):
                size += entity_bytes(write.entity)
            if code:
                break
        first = writes[0]
        route = self.key(first.key if isinstance(first, Delete) else first.entity.key)
        asked = Asked(Kind.WRITE, route, route + b"\0", False, len(writes), 0, 0 if code else size)
        return Outcome(status, code, etags=() if code else (ETAG,) * len(writes), examined=len(writes)), asked

    def _page(self, query: Query) -> tuple[Outcome, Asked]:
        matching = self.matching(query.filter)
        start = int(query.continuation) if query.continuation else matching.low
        first, last, end = self._bounds(matching, start, query.top)
        asked = self._asked(matching, start, first, last, end, bool(query.continuation))
        return Outcome(
            200,
            entities=tuple(map(self._tagged, matching.at[first:last])),
            continuation=str(end) if end < matching.high else "",
            examined=asked.examined,
            returned_bytes=asked.bytes_moved,
        ), asked

    def chain(self, text: str, conditions: Sequence[Filter], top: int | None) -> list[Asked]:
        """The pages that answer a filter, one after the other, until ``top`` entities were returned."""
        matching = self.matching(text, conditions)
        out: list[Asked] = []
        start, got = matching.low, 0
        while True:
            wanted = None if top is None else min(top - got, self.limits.page_entities)
            first, last, end = self._bounds(matching, start, wanted)
            out.append(self._asked(matching, start, first, last, end, bool(out)))
            got += last - first
            if end >= matching.high or (top is not None and got >= top):
                return out
            start = end

    def scan(self, text: str, conditions: Sequence[Filter]) -> Asked:
        """All that answers a filter, as if it went on one page."""
        matching = self.matching(text, conditions)
        return self._asked(matching, matching.low, 0, len(matching.at), matching.high, False)

    def _bounds(self, matching: _Matching, start: int, top: int | None) -> tuple[int, int, int]:
        """(first match, match behind the last one, row behind the last one examined) of a page from a row on."""
        limits, at, weights = self.limits, matching.at, matching.weights
        wanted = limits.page_entities if top is None else top
        first = bisect_left(at, start)
        end = matching.high
        if limits.page_examined is not None:
            end = min(end, start + limits.page_examined)
        last = bisect_left(at, end, first)
        if last - first >= wanted:
            last = first + wanted
            end = min(end, at[last - 1] + 1)
        if first < last and weights[last] - weights[first] > limits.page_bytes:
            # A page takes its first entity whatever it weighs, and none that would pass the limit.
            last = max(first + 1, int(weights.searchsorted(weights[first] + limits.page_bytes, "right")) - 1)
            if last < len(at):
                end = min(end, at[last])
        return first, last, end

    def _asked(self, matching: _Matching, start: int, first: int, last: int, end: int, continued: bool) -> Asked:
        """What a page weighs that examines rows from ``start`` to before ``end``."""
        size = int(matching.weights[last] - matching.weights[first]) - ANSWER_BYTES * (last - first)
        key = self.keys[start] if continued else matching.low_key
        behind = self.keys[end] if end < matching.high else matching.high_key
        first_place = boundary(key, len(self._prefix))
        closed = None if first_place is None else row_keys.prefix_end(first_place)
        several = closed is None or matching.high_key > closed
        return Asked(Kind.PAGE, key, behind, several, 1, end - start, size, continued, last - first)

    def _tagged(self, at: int) -> Entity:
        row = self.rows[at]
        if not row.etag:
            row = self.rows[at] = Entity(row.key, row.properties, 1, ETAG)
        return row

    # -- filters -------------------------------------------------------------------------------------------------

    def matching(self, text: str, conditions: Sequence[Filter] = ()) -> _Matching:
        """The rows that a filter wants, and between which keys they are looked for.

        ``conditions`` are what the text says, joined by ``and``; without them it is read.
        """
        matching = self._found.get(text)
        if matching is None:
            if not conditions and text.strip():
                conditions = conjuncts(parse_filter(text))
            if len(self._found) >= KEPT:
                self._found.clear()
            matching = self._found[text] = self._look(conditions)
        return matching

    def _look(self, joined: Sequence[Filter]) -> _Matching:
        tree = None if not joined else joined[0] if len(joined) == 1 else And(tuple(joined))
        joined = () if tree is None else conjuncts(tree)
        low_key, high_key = tree_range(ACCOUNT, self.table, tree)
        low, high = bisect_left(self.keys, low_key), bisect_left(self.keys, high_key)
        one = any(map(_names_partition, joined))
        rest = [c for c in joined if not _by_range(c, one)]
        if not rest or low >= high:
            return _Matching(low, high, low_key, high_key, range(low, high), self._summed[low : high + 1])
        where = slice(low, high)
        mask = self._mask(rest[0], where)
        for condition in rest[1:]:
            mask = mask & self._mask(condition, where)
        at = np.flatnonzero(mask) + low
        summed = np.concatenate([[0], np.cumsum(self._sizes[at] + ANSWER_BYTES)])
        return _Matching(low, high, low_key, high_key, at.tolist(), summed)

    def _mask(self, tree: Filter, where: slice) -> Bools:
        """Which rows of a slice a condition is true of, as ``filters.evaluate`` says."""
        match tree:
            case Comparison():
                return self._compared(tree, where)
            case Not():
                return ~self._mask(tree.operand, where)
            case And() | Or():
                masks = [self._mask(operand, where) for operand in tree.operands]
                mask = masks[0]
                for other in masks[1:]:
                    mask = mask & other if isinstance(tree, And) else mask | other
                return mask

    def _compared(self, tree: Comparison, where: slice) -> Bools:
        constant = tree.operand
        assert isinstance(constant, TypedValue), "parameters are bound before a filter is sent"
        column = self._column(tree.property, constant.type)
        if column is None:
            return np.zeros(where.stop - where.start, dtype=bool)
        codes, value = column.codes[where], _order(constant.type, constant.value)
        low, high = bisect_left(column.values, value), bisect_right(column.values, value)
        match tree.operator:
            case Operator.EQ:
                return codes == low if high > low else np.zeros(len(codes), dtype=bool)
            case Operator.NE:
                return (codes >= 0) & ((codes < low) | (codes >= high))
            case Operator.GT:
                return codes >= high
            case Operator.GE:
                return codes >= low
            case Operator.LT:
                return (codes >= 0) & (codes < low)
            case Operator.LE:
                return (codes >= 0) & (codes < high)

    def _column(self, name: str, edm: EdmType) -> _Column | None:
        """The codes of a property where it has a type; None where no row has it."""
        if (name, edm) not in self._columns:
            sort_keys: list[Any] = []
            if name in KEYS:
                place = KEYS.index(name)
                sort_keys = [utf16_key(row.key[place]) if edm is EdmType.STRING else None for row in self.rows]
            elif name in self._by_name:
                for row in self.rows:
                    p = row.properties.get(name)
                    sort_keys.append(None if p is None or p.type is not edm else _order(edm, p.value))
            values = sorted({v for v in sort_keys if v is not None and v == v})
            codes = {value: code for code, value in enumerate(values)}
            column = None
            if values:
                column = _Column(np.array([codes.get(v, -1) for v in sort_keys], dtype=np.int64), values)
            self._columns[name, edm] = column
        return self._columns[name, edm]


def boundary(key: bytes, table_bytes: int) -> bytes | None:
    """What the keys of a key's partition begin with; None where it names no partition."""
    end = key.find(0, table_bytes)
    return None if end < 0 else key[: end + 1]


def _by_range(condition: Filter, one_partition: bool) -> bool:
    """Whether the key range of a filter says all that a condition says (``compiled_filter.key_range``)."""
    if not isinstance(condition, Comparison) or condition.operator is Operator.NE:
        return False
    if not isinstance(condition.operand, TypedValue) or condition.operand.type is not EdmType.STRING:
        return False
    return condition.property == "PartitionKey" or (condition.property == "RowKey" and one_partition)


def _names_partition(condition: Filter) -> bool:
    """Whether a condition leaves one PartitionKey, so that comparisons of the RowKey bound the rows too."""
    return (
        isinstance(condition, Comparison)
        and condition.property == "PartitionKey"
        and condition.operator is Operator.EQ
        and isinstance(condition.operand, TypedValue)
        and condition.operand.type is EdmType.STRING
    )


def _order(edm: EdmType, value: object) -> Any:
    """What values of one type compare by."""
    return utf16_key(value) if edm is EdmType.STRING and isinstance(value, str) else value


class _Weights:
    """Sizes of rows: properties that several rows share are weighed once."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, EdmType], int] = {}
        self._last: Mapping[str, Any] = {}
        self._size = 0

    def of(self, row: Entity) -> int:
        """As ``accounting.entity_bytes``."""
        properties = row.properties
        if properties is not self._last:
            size = 0
            for name, (edm, value) in properties.items():
                fixed = self._names.get((name, edm))
                if fixed is None:
                    fixed = self._names[name, edm] = property_bytes(utf16_units(name), edm)
                size += fixed
                if edm is EdmType.STRING:
                    size += 2 * value_length(value)
                elif edm is EdmType.BINARY:
                    size += value_length(value)
            self._last, self._size = properties, size
        return 4 + 2 * (utf16_units(row.key.partition_key) + utf16_units(row.key.row_key)) + self._size
