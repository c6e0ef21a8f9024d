"""Why a query reads more than it needs: the one cause that stands before the others, and what would help."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from pkadvisor.design.conditions import Range, conditions
from pkadvisor.design.plan import Access, AccessPlan
from pkadvisor.design.scheme import Key, KeyScheme
from pkadvisor.design.transforms import (
    Field,
    Hashed,
    HashPrefix,
    Literal,
    Lower,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Sequence,
    Ticks,
    Time,
)
from pkadvisor.design.transforms.periods import time_unit
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.as_sent import AS_SENT, KEY_NAMES, SYSTEM_TYPES, names_keys
from pkadvisor.review.each_period import asked_apart
from pkadvisor.review.subjects import KeyPart
from pkadvisor.review.views import TableView
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType, parse_datetime_ticks
from pkadvisor.table.odata import (
    And,
    Comparison,
    Filter,
    Not,
    Operator,
    Or,
    Parameter,
    comparisons,
    conjuncts,
    format_filter,
    mismatches,
    properties,
)

T = TypeVar("T")
PERIODS_MANY = 16
"""More partitions of time than this for one query are many: a day of hours and a month of days are."""
INT32_DIGITS, INT64_DIGITS = 10, 19
"""Digits that hold every number of the type."""
SCANS = (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN, Access.PARTITION_SCAN)


TRIED_MAX = 16
"""Conditions of one filter that are looked at one by one: the service takes no longer filters."""


def _once(found: Callable[[TableView, QueryClass], T]) -> Callable[[TableView, QueryClass], T]:
    """The same answer for the same query, found once."""
    kept: WeakKeyDictionary[TableView, dict[str, T]] = WeakKeyDictionary()

    @wraps(found)
    def answer(view: TableView, query: QueryClass) -> T:
        known = kept.setdefault(view, {})
        if query.name not in known:
            known[query.name] = found(view, query)
        return known[query.name]

    return answer


class Cause(StrEnum):
    """Why the keys do not serve a filter better; only the first that applies is told."""

    FILTER = "filter that never holds"
    OR_PARTITIONS = "or across partitions"
    OR_ROWS = "or on row key"
    NEGATION = "negation"
    TIMESTAMP = "timestamp"
    PERIODS = "periods"
    EACH_PERIOD = "each period"
    ROW_KEY = "row key left out"
    ROW_KEY_MEANT = "row key by its properties"
    TOLD = "told by the partition"
    NONE = "none"


@_once
def cause_of(view: TableView, query: QueryClass) -> Cause | None:
    """The cause; None where no plan is known."""
    plan = view.plan_of(query)
    if plan is None:
        return None
    if unknown_properties(view, query) or wrong_types(view, query):
        return Cause.FILTER
    if parts := or_parts(view, query):
        return Cause.OR_ROWS if parts[0] else Cause.OR_PARTITIONS
    if negated(view, query):
        return Cause.NEGATION
    named = properties(query.filter) if query.filter is not None else ()
    if "Timestamp" in named and "Timestamp" in plan.unserved and plan.access in SCANS:
        return Cause.TIMESTAMP
    if (periods_of(view, query) or 0) > PERIODS_MANY:
        return Cause.PERIODS
    if query.name in view.uncounted:
        return Cause.EACH_PERIOD
    if row_key_known(view, query):
        return Cause.ROW_KEY
    if row_key_meant(view, query):
        return Cause.ROW_KEY_MEANT
    return Cause.TOLD if told_by_partition(view, query) else Cause.NONE


TOLD_DIGITS = 8
"""Digits of a hash, 32 bits, under which a partition hardly has a second value."""


@_once
def told_by_partition(view: TableView, query: QueryClass) -> bool:
    """Whether all that a partition is filtered by is what its PartitionKey holds but for the case or as a long hash:
    there is hardly a row in it that the filter drops."""
    plan = view.plan_of(query)
    if plan is None or view.scheme is None or plan.access is not Access.PARTITION_SCAN or names_keys(query):
        return False
    told = {
        name
        for part in list(view.scheme.each_key())[plan.via][0].partition
        if isinstance(part, Lower) or (isinstance(part, HashPrefix) and part.digits >= TOLD_DIGITS)
        for name in part.properties
    }
    left = (*plan.rest, *plan.client)
    equal = conditions(query.filter).equal
    return bool(left) and all(set(properties(f)) <= told & equal.keys() for f in left)


# --- or, not, ne ------------------------------------------------------------------------------------------------------


@_once
def or_parts(view: TableView, query: QueryClass) -> tuple[bool, int, Access] | None:
    """(whether the partition is fixed all the same, parts of the ``or``, the worst access of one part asked alone).

    None where no ``or`` is to blame: the planner asks its values apart, or the parts alone would be served no better.
    """
    plan = view.plan_of(query)
    if plan is None or query.filter is None:
        return None
    every = conjuncts(query.filter)
    for whole in every[:TRIED_MAX]:
        if not isinstance(whole, Or) or (set(properties(whole)) <= set(plan.choices) and not names_keys(query)):
            continue
        others = tuple(p for p in every if p is not whole)
        unlike = {_shape(part): part for part in whole.operands}
        alone = [_access(view, query, (*others, *conjuncts(part))) for part in unlike.values()]
        worst = max(alone, key=lambda a: a.rank)
        if worst.rank < plan.access.rank:
            return plan.access is Access.PARTITION_SCAN, len(whole.operands), worst
    return None


@_once
def negated(view: TableView, query: QueryClass) -> str:
    """The negated condition without which the keys would serve the filter better; empty where there is none."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None:
        return ""
    every = conjuncts(query.filter)
    for part in every[:TRIED_MAX]:
        if isinstance(part, Not):
            turned: Filter = part.operand
        elif isinstance(part, Comparison) and part.operator is Operator.NE:
            turned = replace(part, operator=Operator.EQ)
        else:
            continue
        others = tuple(p for p in every if p is not part)
        if _access(view, query, (*others, *conjuncts(turned))).rank < plan.access.rank:
            return format_filter(part)
    return ""


def _shape(filter_: Filter) -> str:
    """A filter without its constants: what keys serve does not hang on them."""
    match filter_:
        case Comparison():
            return f"{filter_.property} {filter_.operator}"
        case Not():
            return f"not ({_shape(filter_.operand)})"
        case And() | Or():
            word = "and" if isinstance(filter_, And) else "or"
            return f"({f' {word} '.join(_shape(o) for o in filter_.operands)})"


def _access(view: TableView, query: QueryClass, parts: tuple[Filter, ...]) -> Access:
    """How a filter of these conditions would be served, all else equal."""
    changed = replace(query, filter=parts[0] if len(parts) == 1 else And(parts))
    if names_keys(query) and not names_keys(changed):
        return Access.TABLE_SCAN
    found = view.plans_under(changed, view.scheme or AS_SENT)
    return found[0].access if found else Access.TABLE_SCAN


# --- names and types --------------------------------------------------------------------------------------------------


def known_properties(view: TableView) -> dict[str, EdmType]:
    """Declared properties, those of the data, and those that every entity has."""
    return {**view.types, **SYSTEM_TYPES}


def key_properties(view: TableView) -> tuple[str, ...]:
    """The properties that the keys in use name."""
    if view.scheme is None:
        return ()
    return tuple(dict.fromkeys(n for key, _ in view.scheme.each_key() for n in key.properties))


@_once
def unknown_properties(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Properties that a query names and nobody knows.

    Without data a list of properties need not be complete: names that differ from a known one in case only are told,
    and all others where the list has every property of the keys, and so looks complete.
    """
    named = (*(properties(query.filter) if query.filter is not None else ()), *(o.property for o in query.order_by))
    keys = key_properties(view)
    strange = [n for n in dict.fromkeys(named) if n not in known_properties(view) and n not in keys]
    complete = view.has_data or (bool(keys) and set(keys) <= set(view.types))
    return tuple(n for n in strange if complete or miscased(n, view))


def miscased(name: str, view: TableView) -> str:
    """The known name that differs in case only; empty where there is none."""
    folded = {k.casefold(): k for k in (*view.types, *key_properties(view), *KEY_NAMES)}
    found = folded.get(name.casefold(), "")
    return "" if found == name else found


def close_to(name: str, view: TableView) -> str:
    """The property that an unknown name was probably meant to be; empty where none is close."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(view.types), n=1, cutoff=0.8)
    return miscased(name, view) or (found[0] if found else "")


@_once
def wrong_types(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Comparisons with a constant of another type than the property's, in words."""
    types = known_properties(view)
    if query.filter is None:
        return ()
    return tuple(
        f"{c.property} is {types[c.property]}, and {format_filter(c)} compares it with {c.operand.type}"
        for c in mismatches(query.filter, types)
    )


# --- periods ----------------------------------------------------------------------------------------------------------

PERIOD_S = {"year": 31_536_000, "month": 2_592_000, "week": 604_800, "day": 86_400, "hour": 3600, "minute": 60}
_STAMPS = (
    (re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T?(\d\d)"), "hour"),
    (re.compile(r"(\d{4})-?(\d\d)-?(\d\d)"), "day"),
    (re.compile(r"(\d{4})-?(\d\d)"), "month"),
)
"""Texts of periods that people write as keys: yyyyMMddHH, yyyy-MM-dd, yyyyMM."""


@_once
def periods_of(view: TableView, query: QueryClass) -> float | None:
    """The partitions of time that a range of times runs over; None where the filter does not tell how many."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None or plan.access is Access.TABLE_SCAN:
        return None
    wanted = conditions(query.filter).ranges
    if plan.access is Access.PARTITION_RANGE_SCAN and plan.range_atom and plan.range_atom[0] == "p":
        span = wanted.get(plan.range_atom[1])
        return _stamps_between(span) if span is not None else None
    part = plan.periods or _leading_time(view, plan)
    if part is None or part.property not in wanted:
        return None
    seconds = _span_s(wanted[part.property])
    if seconds is not None:
        return seconds / PERIOD_S.get(time_unit(part.format), 1)
    cost = view.cost_of(query)
    return cost.fan_out / plan.buckets if cost is not None and plan.periods is not None and not plan.choices else None


def requests_for_periods(view: TableView, query: QueryClass) -> float | None:
    """The most requests of a query that asks each period between its bounds apart; None where that is not known."""
    found = asked_apart(query, view.scheme, view.types) if query.name in view.uncounted and view.scheme else None
    seconds = _span_s(found[1]) if found is not None else None
    if found is None or seconds is None:
        return None
    return found[2] * (math.ceil(seconds / PERIOD_S.get(time_unit(found[0].format), 1)) + 1.0)


def _leading_time(view: TableView, plan: AccessPlan) -> Time | None:
    """The period of a PartitionKey that a range scan of partitions is bounded by."""
    if view.scheme is None or plan.access is not Access.PARTITION_RANGE_SCAN or not plan.range_atom:
        return None
    key = list(view.scheme.each_key())[plan.via][0]
    if plan.range_atom[0] != "t":
        return None
    return next((p for p in key.partition if isinstance(p, Time) and p.property == plan.range_atom[1]), None)


def periods_within(part: Time, span: Range) -> float | None:
    """The periods of a part between two bounds; None where the filter does not tell how many."""
    seconds = _span_s(span)
    return None if seconds is None else seconds / PERIOD_S.get(time_unit(part.format), 1)


def _span_s(span: Range) -> float | None:
    """Seconds between two bounds: two constants, or one parameter with two offsets."""
    low, high = span.low, span.high
    if low is None or high is None:
        return None
    if isinstance(low, Parameter) and isinstance(high, Parameter):
        if low.name != high.name:
            return None
        return max(0.0, (high.offset_ticks - low.offset_ticks) / TICKS_PER_SECOND)
    if isinstance(low, Parameter) or isinstance(high, Parameter):
        return None
    if low.type is not EdmType.DATETIME or high.type is not EdmType.DATETIME:
        return None
    return max(0.0, (_ticks(high.value) - _ticks(low.value)) / TICKS_PER_SECOND)


def _ticks(value: object) -> int:
    return value if isinstance(value, int) else parse_datetime_ticks(str(value))


def _stamps_between(span: Range) -> float | None:
    """The periods between two constant texts that both read as the same kind of period."""
    from datetime import datetime

    texts = [o.value for o in (span.low, span.high) if o is not None and not isinstance(o, Parameter)]
    if len(texts) != 2 or not all(isinstance(t, str) for t in texts) or len(str(texts[0])) != len(str(texts[1])):
        return None
    for pattern, unit in _STAMPS:
        found = [pattern.fullmatch(str(t)) for t in texts]
        if not all(found):
            continue
        try:
            numbers = [[int(g) for g in m.groups()] for m in found if m is not None]
            low, high = (datetime(n[0], n[1], n[2] if len(n) > 2 else 1, n[3] if len(n) > 3 else 0) for n in numbers)
        except ValueError:
            return None
        if unit == "month":
            return max(0.0, float(12 * (high.year - low.year) + high.month - low.month))
        return max(0.0, (high - low).total_seconds() / PERIOD_S[unit])
    return None


# --- order ------------------------------------------------------------------------------------------------------------


@_once
def order_unserved(view: TableView, query: QueryClass) -> str:
    """The wanted order where the answers do not come in it, as ``created desc``; empty where they do."""
    plan = _plan_in_order(view, query)
    if plan is None or not query.order_by or plan.order_served:
        return ""
    if plan.access is Access.POINT and (plan.back or not plan.several):  # one entity, or one of each period in order
        return ""
    return ", ".join(f"{o.property} desc" if o.descending else o.property for o in query.order_by)


def _plan_in_order(view: TableView, query: QueryClass) -> AccessPlan | None:
    """The plan that tells of the order. A filter that fixes PartitionKey itself is read as one over the properties that
    the PartitionKey is made of; where it goes on to the RowKey, nobody can say."""
    plan = view.plan_of(query)
    if plan is None or not names_keys(query) or all(o.property in KEY_NAMES for o in query.order_by):
        return plan
    over = _over_properties(view, query)
    found = view.plans_under(over, view.scheme or AS_SENT) if over is not None else ()
    return found[0] if found else None


def _over_properties(view: TableView, query: QueryClass) -> QueryClass | None:
    """The query over properties that reads the partition which this one names by its key."""
    plan, scheme = view.plan_of(query), view.scheme
    if plan is None or scheme is None or plan.access is not Access.PARTITION_SCAN or scheme.index_rows:
        return None
    names = tuple(dict.fromkeys(_names(scheme.main.partition)))
    fixed = tuple(Comparison(n, Operator.EQ, Parameter(n, view.types.get(n))) for n in names)
    return replace(query, filter=fixed[0] if len(fixed) == 1 else And(fixed) if fixed else None)


@_once
def turned_part(view: TableView, query: QueryClass) -> str:
    """The key part that would bring the answers in the wanted order if it stood in the place of the one that runs the
    other way; empty where that alone does not help."""
    plan = _plan_in_order(view, query)
    if plan is None or view.scheme is None or not order_unserved(view, query):
        return ""
    over = _over_properties(view, query) if names_keys(query) else query
    if over is None:
        return ""
    for position, part in enumerate(key := list(view.scheme.each_key())[plan.via][0].row):
        by = next((o for o in query.order_by if part.properties == (o.property,)), None)
        turned = _turned(part, view, descending=by.descending) if by is not None else None
        if turned is None:
            continue
        changed = (*key[:position], turned, *key[position + 1 :])
        found = view.plans_under(over, _with_row(view.scheme, plan.via, changed))
        if any(p.via == plan.via and p.order_served and p.access.rank <= plan.access.rank for p in found):
            return str(turned)
    return ""


@_once
def against_turn(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Other queries that want the part as it is, or turned another way: served in order now, and no more then."""
    plan, turned = _plan_in_order(view, query), turned_part(view, query)
    if plan is None or view.scheme is None or not turned:
        return ()
    key = list(view.scheme.each_key())[plan.via][0].row
    changed = [_with_row(view.scheme, plan.via, row) for row in _rows_turned(key, turned, view)]
    found = []
    for other in view.workload.classes:
        now = _plan_in_order(view, other)
        if other.name == query.name or other.operation is not Operation.QUERY or now is None or now.via != plan.via:
            continue
        if not other.order_by:
            continue
        over = _over_properties(view, other) if names_keys(other) else other
        wanted = turned_part(view, other)
        if wanted and wanted != turned:
            found.append(other.name)
        elif over is not None and now.order_served and not order_unserved(view, other):
            then = [p for scheme in changed for p in view.plans_under(over, scheme)]
            if not any(p.order_served and p.access.rank <= now.access.rank for p in then):
                found.append(other.name)
    return tuple(found)


def _rows_turned(key: tuple[Part, ...], turned: str, view: TableView) -> Iterator[tuple[Part, ...]]:
    """The RowKey with the part turned that reads so."""
    for position, part in enumerate(key):
        for descending in (False, True):
            other = _turned(part, view, descending=descending) if part.properties else None
            if other is not None and str(other) == turned:
                yield (*key[:position], other, *key[position + 1 :])


def _turned(part: Part, view: TableView, *, descending: bool) -> Part | None:
    """A part of the same property that runs in the wanted direction."""
    name = part.properties[0]
    edm = view.types.get(name)
    if isinstance(part, Time | Ticks | ReverseTicks) or edm is EdmType.DATETIME:
        return ReverseTicks(name) if descending else Ticks(name)
    if isinstance(part, Pad | ReversePad) or (isinstance(part, Field) and edm in (EdmType.INT32, EdmType.INT64)):
        width = part.width if isinstance(part, Pad | ReversePad) else digits_for(name, view) or INT64_DIGITS
        return ReversePad(name, width) if descending else Pad(name, width)
    return None


def digits_for(name: str, view: TableView) -> int | None:
    """The digits that a whole number is padded to: those that the data needs, else those of its type."""
    width = {EdmType.INT32: INT32_DIGITS, EdmType.INT64: INT64_DIGITS}.get(view.types.get(name, EdmType.STRING))
    if width is None or not view.has_data or view.population is None or not view.population.has(name):
        return width
    from pkadvisor.design.candidates import digits

    return digits(view.population, name)


def _with_row(scheme: KeyScheme, via: int, row: tuple[Part, ...]) -> KeyScheme:
    """The scheme with the RowKey of one of its rows changed."""
    if via == 0:
        return replace(scheme, main=replace(scheme.main, row=row))
    rows = list(scheme.index_rows)
    rows[via - 1] = replace(rows[via - 1], key=replace(rows[via - 1].key, row=row))
    return replace(scheme, index_rows=tuple(rows))


# --- keys -------------------------------------------------------------------------------------------------------------


@_once
def row_key_known(view: TableView, query: QueryClass) -> str:
    """The RowKey that a filter leaves out although its PartitionKey tells it; empty where it does not."""
    plan = view.plan_of(query)
    if plan is None or plan.access is not Access.PARTITION_SCAN or view.scheme is None or len(view.scheme.index_rows):
        return ""
    named = names_keys(query)
    if named != ("PartitionKey",):
        return ""
    main = view.scheme.main
    exact = {n for p in main.partition if p.injective and not isinstance(p, Literal | Sequence) for n in p.properties}
    if any(isinstance(p, Sequence) for p in main.row) or not set(_names(main.row)) <= exact:
        return ""
    return view.raw_text(0, False) or "''"


@_once
def row_key_meant(view: TableView, query: QueryClass) -> str:
    """The RowKey whose properties a filter beside a PartitionKey fixes, all of them; empty where it does not."""
    plan = view.plan_of(query)
    if plan is None or view.scheme is None or plan.access is not Access.PARTITION_SCAN:
        return ""
    row = view.scheme.main.row
    names = set(_names(row))
    if names_keys(query) != ("PartitionKey",) or not names or any(isinstance(p, Sequence) for p in row):
        return ""
    return view.raw_text(0, False) if names <= conditions(query.filter).equal.keys() else ""


def _names(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        yield from part.properties


def blocked_by(view: TableView, place: KeyPart) -> tuple[str, ...]:
    """Queries that the keys would serve better without a part that nobody asks for.

    Empty for a part that spreads or tells rows apart: buckets, numbers among equals, periods of a PartitionKey, all
    that a PartitionKey is made of, the last part of a RowKey.
    """
    part, key, scheme = place.part, place.key, view.scheme
    if scheme is None or key.row != 0 or isinstance(part, Hashed | Sequence):
        return ()
    variable = [p for p in key.parts if not isinstance(p, Literal)]
    if key.is_partition and (isinstance(part, Time) or len(variable) == 1):
        return ()
    if not key.is_partition and variable[-1] is part:
        return ()
    if set(part.properties) & _asked_for(view):
        return ()
    left = tuple(p for p in key.parts if p is not part)
    main = Key(left, scheme.main.row) if key.is_partition else Key(scheme.main.partition, left)
    without = replace(scheme, main=main)
    better = []
    for query in view.workload.classes:
        if query.operation is not Operation.QUERY or query.filter is None or names_keys(query):
            continue
        now, then = view.plans_under(query, scheme), view.plans_under(query, without)
        if now and then and then[0].access.rank < now[0].access.rank:
            better.append(query.name)
    return tuple(better)


def _asked_for(view: TableView) -> set[str]:
    """Properties that anything but storing hangs on."""
    workload = view.workload
    found = {n for n in (workload.isolation, workload.erase_by) if n}
    for query in workload.classes:
        found |= {c.property for c in comparisons(query.filter)} if query.filter is not None else set()
        found |= {o.property for o in query.order_by}
    for transaction in workload.transactions:
        found |= set(transaction.group_by)
    return found


__all__ = [
    "KEY_NAMES",
    "PERIODS_MANY",
    "PERIOD_S",
    "SCANS",
    "Cause",
    "against_turn",
    "blocked_by",
    "cause_of",
    "close_to",
    "miscased",
    "negated",
    "or_parts",
    "order_unserved",
    "periods_of",
    "periods_within",
    "requests_for_periods",
    "row_key_known",
    "row_key_meant",
    "told_by_partition",
    "turned_part",
    "unknown_properties",
    "wrong_types",
]
