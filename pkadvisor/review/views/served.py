"""Why a query reads more than it needs: the one cause that stands before the others, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, variable
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import AS_SENT, SYSTEM_TYPES, names_keys
from pkadvisor.review.views.key_loads import kinds_of, reads_all
from pkadvisor.review.views.reads import asked_apart, once, periods_of
from pkadvisor.review.views.subjects import KeyPart
from pkadvisor.review.views.unmet import unmet
from pkadvisor.review.views.views import TableView
from pkadvisor.table import odata
from pkadvisor.table.edm import KEYS, EdmType

PERIODS_MANY = 16
"""More partitions of time than this for one query are many: a day of hours and a month of days are."""
SCANS = (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN, Access.PARTITION_SCAN)
SLIP_LETTERS = 4
"""Below so many letters, names that differ in one are often two names."""
LONG_LETTERS = 6
"""From so many letters on, names that differ in one are one name, even where both are used."""
TRIED_MAX = 16
"""Conditions of one filter that are looked at one by one: the service takes no longer filters."""


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


@once
def cause_of(view: TableView, query: QueryClass) -> Cause | None:
    """The cause; None where no plan is known."""
    plan = view.plan_of(query)
    if plan is None:
        return None
    if known_to_be_none(view, query) or wrong_types(view, query) or unmet(view, query):
        return Cause.FILTER
    if parts := or_parts(view, query):
        return Cause.OR_ROWS if parts[0] else Cause.OR_PARTITIONS
    if negated(view, query):
        return Cause.NEGATION
    named = odata.properties(query.filter) if query.filter is not None else ()
    if "Timestamp" in named and "Timestamp" in plan.unserved and plan.access in SCANS:
        return Cause.TIMESTAMP
    if (periods_of(view, query) or 0) > PERIODS_MANY:
        return Cause.PERIODS
    if asked_apart(query, plan, view.scheme, view.types) is not None:
        return Cause.EACH_PERIOD
    if row_key_known(view, query):
        return Cause.ROW_KEY
    if row_key_meant(view, query):
        return Cause.ROW_KEY_MEANT
    return Cause.TOLD if told_by_partition(view, query) else Cause.NONE


def reads_the_table(view: TableView, plan: AccessPlan) -> bool:
    """Whether a plan reads every row: a scan of the table, or of every partition of a PartitionKey made of buckets."""
    if plan.access is Access.TABLE_SCAN or view.scheme is None:
        return plan.access is Access.TABLE_SCAN
    parts = variable(list(view.scheme.each_key())[plan.via][0].partition)
    every = bool(parts) and all(part in plan.fans for part in parts) and not plan.choices
    return every and plan.access is Access.PARTITION_SCAN and reads_all(plan)


TOLD_DIGITS = 8
"""Digits of a hash, 32 bits, under which a partition hardly has a second value."""


@once
def told_by_partition(view: TableView, query: QueryClass) -> bool:
    """Whether all that a partition is filtered by is what its PartitionKey holds but for the case or as a long hash:
    there is hardly a row in it that the filter drops."""
    plan = view.plan_of(query)
    if plan is None or view.scheme is None or plan.access is not Access.PARTITION_SCAN or names_keys(query):
        return False
    known = {
        name
        for part in list(view.scheme.each_key())[plan.via][0].partition
        if part.folds_case or (part.hashing is not None and part.hashing.buckets_total >= 16**TOLD_DIGITS)
        for name in part.properties
    }
    left = (*plan.rest, *plan.client)
    equal = conditions(query.filter).equal
    return bool(left) and all(set(odata.properties(f)) <= known & equal.keys() for f in left)


# --- or, not, ne ------------------------------------------------------------------------------------------------------


@once
def or_parts(view: TableView, query: QueryClass) -> tuple[bool, int, Access] | None:
    """(whether the partition is fixed all the same, parts of the ``or``, the worst access of one part asked alone).

    None where no ``or`` is to blame: the planner asks its values apart, or the parts alone would be served no better.
    """
    plan = view.plan_of(query)
    if plan is None or query.filter is None:
        return None
    every = odata.conjuncts(query.filter)
    for whole in every[:TRIED_MAX]:
        if not isinstance(whole, odata.Or) or (
            set(odata.properties(whole)) <= set(plan.choices) and not names_keys(query)
        ):
            continue
        others = tuple(p for p in every if p is not whole)
        unlike = {_shape(part): part for part in whole.operands}
        alone = [_access(view, query, (*others, *odata.conjuncts(part))) for part in unlike.values()]
        worst = max(alone, key=lambda a: a.rank)
        if worst.rank < plan.access.rank:
            return plan.access is Access.PARTITION_SCAN, len(whole.operands), worst
    return None


@once
def negated(view: TableView, query: QueryClass) -> str:
    """The negated condition without which the keys would serve the filter better; empty where there is none."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None:
        return ""
    every = odata.conjuncts(query.filter)
    for part in every[:TRIED_MAX]:
        if isinstance(part, odata.Not):
            turned: odata.Filter = part.operand
        elif isinstance(part, odata.Comparison) and part.operator is odata.Operator.NE:
            turned = replace(part, operator=odata.Operator.EQ)
        else:
            continue
        others = tuple(p for p in every if p is not part)
        if _access(view, query, (*others, *odata.conjuncts(turned))).rank < plan.access.rank:
            return odata.format_filter(part)
    return ""


def _shape(filter_: odata.Filter) -> str:
    """A filter without its constants: what keys serve does not hang on them."""
    match filter_:
        case odata.Comparison():
            return f"{filter_.property} {filter_.operator}"
        case odata.Not():
            return f"not ({_shape(filter_.operand)})"
        case odata.And() | odata.Or():
            word = "and" if isinstance(filter_, odata.And) else "or"
            return f"({f' {word} '.join(_shape(o) for o in filter_.operands)})"


def _access(view: TableView, query: QueryClass, parts: tuple[odata.Filter, ...]) -> Access:
    """How a filter of these conditions would be served, all else equal."""
    changed = replace(query, filter=parts[0] if len(parts) == 1 else odata.And(parts))
    if names_keys(query) and not names_keys(changed):
        return Access.TABLE_SCAN
    plans = view.plans_under(changed, view.scheme or AS_SENT)
    return plans[0].access if plans else Access.TABLE_SCAN


# --- names and types --------------------------------------------------------------------------------------------------


def known_properties(view: TableView) -> dict[str, EdmType]:
    """Declared properties, those of the data, and those that every entity has."""
    return {**view.types, **SYSTEM_TYPES}


def key_properties(view: TableView) -> tuple[str, ...]:
    """The properties that the keys in use name."""
    if view.scheme is None:
        return ()
    return tuple(dict.fromkeys(n for key, _ in view.scheme.each_key() for n in key.properties))


@once
def unknown_properties(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Properties that a query names and nobody knows.

    Without data a list of properties need not be complete: names that differ from a known one in case only are told,
    and all others where the list has every property of the keys, and so looks complete.
    """
    named = (
        *(odata.properties(query.filter) if query.filter is not None else ()),
        *(o.property for o in query.order_by),
    )
    keys = key_properties(view)
    strange = [n for n in dict.fromkeys(named) if n not in known_properties(view) and n not in keys]
    complete = view.has_data or (bool(keys) and set(keys) <= set(view.types))
    return tuple(n for n in strange if complete or miscased(n, view))


def known_to_be_none(view: TableView, query: QueryClass) -> bool:
    """Whether some of these are certainly no property: the data has none of the name, or the name in another case.

    Others may be missing in the list alone, and then the filter reads what it reads.
    """
    return any(view.has_data or miscased(name, view) for name in unknown_properties(view, query))


def miscased(name: str, view: TableView) -> str:
    """The known name that differs in case only; empty where there is none."""
    folded = {k.casefold(): k for k in (*view.types, *key_properties(view), *KEYS)}
    declared = folded.get(name.casefold(), "")
    return "" if declared == name else declared


def misspelt(name: str, view: TableView) -> str:
    """The declared name that a name in a key is but for a slip; empty where there is none.

    A slip is another case, or one letter too many, too few or two that changed places, where no query and no key names
    the declared one and no query names the other. Where queries name the declared one, both names are long, and the
    slip is not at their beginning, where other words differ (mail, email).
    """
    if cased := next((other for other in view.types if other.casefold() == name.casefold()), ""):
        return cased
    asked = {n for q in view.workload.classes if q.filter is not None for n in odata.properties(q.filter)}
    spare = set(view.types) - set(key_properties(view)) if name not in asked else ()
    slips = sorted(other for other in spare if _one_slip(name, other))
    return next((other for other in slips if other not in asked or _long_alike(name, other)), "")


def _one_slip(name: str, other: str) -> bool:
    """Whether one letter is missing in one of two names, a plural's aside, or two neighbours changed places."""
    short, long = sorted((name, other), key=len)
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < SLIP_LETTERS or not long[at : at + 1].isalpha():
        return False
    if len(short) == len(long):
        return short == long[:at] + long[at : at + 2][::-1] + long[at + 2 :]
    return short == long[:at] + long[at + 1 :] and not (at == len(short) and long.endswith("s"))


def _long_alike(name: str, other: str) -> bool:
    """Whether two names are long and begin with the same letter."""
    return min(len(name), len(other)) >= LONG_LETTERS and name[0] == other[0]


def used_as(name: str, view: TableView) -> str:
    """The name that queries or writes use for a declared property which nothing uses, where nobody declares that name
    and the one is the other but for a slip; empty where there is none."""
    own = kinds_of(view)
    asked = {n for each in own for q in each.workload.classes for n in _named_by(q)}
    used = asked.union(*(key_properties(each) for each in own), *(_named_beside(each) for each in own))
    if name in used:
        return ""
    told = {n for q in view.workload.classes for n in unknown_properties(view, q)}
    strange = asked - set(known_properties(view)) - told
    return next((n for n in sorted(strange) if n.casefold() == name.casefold() or _one_slip(n, name)), "")


def _named_by(query: QueryClass) -> Iterator[str]:
    """The properties that a class names."""
    yield from odata.properties(query.filter) if query.filter is not None else ()
    yield from (order.property for order in query.order_by)
    yield from query.sets
    yield from query.draw.of


def _named_beside(view: TableView) -> Iterator[str]:
    """The properties that a table names beside its classes and keys."""
    workload, declared = view.workload, view.section.own_declaration
    yield from (n for n in (workload.isolation, workload.erase_by, declared and declared.arrival) if n)
    yield from (n for t in workload.transactions for n in t.group_by)


def close_to(name: str, view: TableView) -> str:
    """The property that an unknown name was probably meant to be; empty where none is close."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(view.types), n=1, cutoff=0.8)
    return miscased(name, view) or misspelt(name, view) or (matches[0] if matches else "")


@once
def wrong_types(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Comparisons with a constant of another type than the property's, in words."""
    types = known_properties(view)
    if query.filter is None:
        return ()
    return tuple(
        f"{c.property} is {types[c.property]}, and {odata.format_filter(c)} compares it with {c.operand.type}"
        for c in odata.mismatches(query.filter, types)
    )


_CURLY = ("\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f")
"""Quotation marks that a word processor writes, single and double."""


def quoted_twice(query: QueryClass) -> tuple[str, ...]:
    """Constants that begin and end with such marks within the quotes of the filter, so that the marks are text."""
    compared = odata.comparisons(query.filter) if query.filter is not None else ()
    texts = [str(c.operand.value) for c in compared if not isinstance(c.operand, odata.Parameter)]
    return tuple(t for t in texts if len(t) > 1 and any(t[0] in marks and t[-1] in marks for marks in _CURLY))


# --- keys -------------------------------------------------------------------------------------------------------------


@once
def row_key_known(view: TableView, query: QueryClass) -> str:
    """The RowKey that a filter leaves out although its PartitionKey tells it; empty where it does not."""
    plan = view.plan_of(query)
    if plan is None or plan.access is not Access.PARTITION_SCAN or view.scheme is None or len(view.scheme.index_rows):
        return ""
    named = names_keys(query)
    if named != ("PartitionKey",):
        return ""
    main = view.scheme.main
    exact = {name for part in main.partition if part.injective for name in part.properties}
    if any(p.assigned for p in main.row) or not set(_names(main.row)) <= exact:
        return ""
    return view.raw_text(0, False) or "''"


@once
def row_key_meant(view: TableView, query: QueryClass) -> str:
    """The RowKey whose properties a filter beside a PartitionKey fixes, all of them; empty where it does not."""
    plan = view.plan_of(query)
    if plan is None or view.scheme is None or plan.access is not Access.PARTITION_SCAN:
        return ""
    row = view.scheme.main.row
    names = set(_names(row))
    if names_keys(query) != ("PartitionKey",) or not names or any(p.assigned for p in row):
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
    if scheme is None or key.row != 0 or part.hashing is not None or part.assigned:
        return ()
    varying = variable(key.parts)
    if key.is_partition and (part.period is not None or len(varying) == 1):
        return ()
    if not key.is_partition and varying[-1] is part:
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
    names = {n for n in (workload.isolation, workload.erase_by) if n}
    for query in workload.classes:
        names |= {c.property for c in odata.comparisons(query.filter)} if query.filter is not None else set()
        names |= {o.property for o in query.order_by}
    for transaction in workload.transactions:
        names |= set(transaction.group_by) | ({transaction.pair.property} if transaction.pair else set())
    return names
