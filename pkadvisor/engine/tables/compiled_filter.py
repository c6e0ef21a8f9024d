"""``$filter`` as a closure over a stored entity, and the key range that it bounds.

The closure says what ``filters.evaluate`` says, which is the definition; it only says it faster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from pkadvisor.engine.tables import row_keys
from pkadvisor.table.edm import KEYS, EdmType, TypedValue, utf16_key
from pkadvisor.table.odata import And, Comparison, Filter, Not, Operator, Or, conjuncts, parse_filter
from pkadvisor.table.store import EntityKey, Property

Matches: TypeAlias = Callable[[EntityKey, Mapping[str, Property], int], bool]
"""Whether the entity with this key, these properties and this Timestamp in ticks is wanted."""

_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
}


@lru_cache(maxsize=4096)
def compiled(text: str) -> Matches | None:
    """The closure of a filter text; None for the empty text, which wants everything. Raises FilterSyntaxError."""
    return compile_filter(parse_filter(text)) if text.strip() else None


def compile_filter(tree: Filter) -> Matches:
    """The closure of a filter without parameters."""
    match tree:
        case Comparison():
            return _comparison(tree)
        case Not():
            inner = compile_filter(tree.operand)
            return lambda key, properties, ticks: not inner(key, properties, ticks)
        case And() | Or():
            parts = tuple(compile_filter(operand) for operand in tree.operands)
            if len(parts) == 2:
                return _pair(parts[0], parts[1], isinstance(tree, And))
            gathered = all if isinstance(tree, And) else any
            return lambda key, properties, ticks: gathered([part(key, properties, ticks) for part in parts])


def _pair(first: Matches, second: Matches, both: bool) -> Matches:
    if both:
        return lambda key, properties, ticks: first(key, properties, ticks) and second(key, properties, ticks)
    return lambda key, properties, ticks: first(key, properties, ticks) or second(key, properties, ticks)


def _comparison(tree: Comparison) -> Matches:
    constant, name = tree.operand, tree.property
    if not isinstance(constant, TypedValue):
        raise ValueError(f"parameter {constant.name} is not bound")
    edm, value, compare = constant.type, constant.value, _COMPARE[tree.operator]
    if isinstance(value, str) and tree.operator not in (Operator.EQ, Operator.NE) and not _below_surrogates(value):
        compare, value = _by_utf16(compare), utf16_key(value)
    if name in KEYS:
        if edm is not EdmType.STRING:
            return lambda key, properties, ticks: False
        place = 0 if name == "PartitionKey" else 1
        return lambda key, properties, ticks: compare(key[place], value)
    if name == "Timestamp":
        if edm is not EdmType.DATETIME:
            return lambda key, properties, ticks: False
        return lambda key, properties, ticks: compare(ticks, value)

    def holds(key: EntityKey, properties: Mapping[str, Property], ticks: int) -> bool:
        actual = properties.get(name)
        return actual is not None and actual[0] is edm and compare(actual[1], value)

    return holds


def _below_surrogates(text: str) -> bool:
    """Whether every text compares with this one by code point as it does by UTF-16 code unit."""
    return text.isascii() or max(text) < "\ud800"


def _by_utf16(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda text, key: compare(utf16_key(text), key)


# ------------------------------------------------------------------------------------------------ key range


@lru_cache(maxsize=4096)
def key_range(account: str, table: str, text: str) -> tuple[bytes, bytes]:
    """The rows of a table that the service looks at for a filter: ``low <= key < high``.

    A PartitionKey bounds it where comparisons joined by ``and`` at the top say so, a RowKey only within one partition;
    ``or`` and ``not`` bound nothing (azure-tables 3.1; "Designing a scalable partitioning strategy"). An empty range
    where nothing can match. Raises FilterSyntaxError, FilterLimitError.
    """
    return tree_range(account, table, parse_filter(text) if text.strip() else None)


def tree_range(account: str, table: str, tree: Filter | None) -> tuple[bytes, bytes]:
    """As :func:`key_range` for a filter that was parsed before; None wants everything."""
    whole = row_keys.table_prefix(account, table)
    end = row_keys.prefix_end(whole)
    assert end is not None, "a prefix ends with its separator"
    if tree is None:
        return whole, end
    # A partition is what begins with prefix + PartitionKey + 0x00, so what lies behind it begins with … 0x01.
    low, high = _bounded(whole, end, tree, "PartitionKey", (b"\0", b"\1"))
    if len(low) > len(whole) and low[-1:] == b"\0" and high == low[:-1] + b"\1":
        # An entity is prefix + RowKey, and what lies behind it is at least that with 0x00.
        low, high = _bounded(low, high, tree, "RowKey", (b"", b"\0"))
    return low, max(low, high)


def _bounded(low: bytes, high: bytes, tree: Filter, name: str, ends: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """The range narrowed by comparisons of one key; ``ends`` follow it where its place begins and ends."""
    prefix = low
    for part in conjuncts(tree):
        if not isinstance(part, Comparison) or part.property != name or part.operator is Operator.NE:
            continue
        constant = part.operand
        if not isinstance(constant, TypedValue) or not isinstance(constant.value, str):
            continue
        if constant.type is not EdmType.STRING:
            continue
        text, zero, _ = constant.value.partition("\0")
        begin, behind = (prefix + row_keys.encode_part(text) + end for end in ends)
        match part.operator:
            case Operator.EQ:
                low, high = max(low, behind if zero else begin), min(high, behind)
            case Operator.GT | Operator.GE:
                low = max(low, begin if part.operator is Operator.GE and not zero else behind)
            case Operator.LT | Operator.LE:
                high = min(high, begin if part.operator is Operator.LT and not zero else behind)
    return low, high
