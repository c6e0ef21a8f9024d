"""Filters that name PartitionKey and RowKey themselves: what applications send, reviewed as it stands.

Over properties, the planner writes the requests, and makes several of an ``or``. A filter over the keys is one request:
the keys are its properties, and an ``or`` over them reads what the service reads for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.keys.conditions import Conditions, Range, conditions
from pkadvisor.design.keys.key_terms import KeysThemselves
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Field, Literal, Part, part_properties
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import And, Comparison, Operator, Or, Parameter, conjuncts, properties

if TYPE_CHECKING:
    pass

SYSTEM_TYPES = {"PartitionKey": EdmType.STRING, "RowKey": EdmType.STRING, "Timestamp": EdmType.DATETIME}
"""The properties that every entity has."""
AS_SENT = KeyScheme(Key((Field("PartitionKey"),), (Field("RowKey"),)), (), "as sent")


def names_keys(query: QueryClass) -> tuple[str, ...]:
    """Those of PartitionKey and RowKey that the filter of a class names itself."""
    return tuple(n for n in (properties(query.filter) if query.filter is not None else ()) if n in KEYS)


def plan_as_sent(query: QueryClass, types: Mapping[str, EdmType]) -> tuple[AccessPlan, ...]:
    """The one request that such a filter is; Timestamp and every other property are no part of the keys."""
    return plan(query, _conditions(query), AS_SENT, {**types, **SYSTEM_TYPES}, KeysThemselves())


def over_properties(
    query: QueryClass, plan: AccessPlan, scheme: KeyScheme, types: Mapping[str, EdmType]
) -> QueryClass | None:
    """The query over properties that reads the partition which this one names by its key."""
    if plan.access is not Access.PARTITION_SCAN or scheme.index_rows:
        return None
    names = part_properties(scheme.main.partition)
    fixed = tuple(Comparison(n, Operator.EQ, Parameter(n, types.get(n))) for n in names)
    return replace(query, filter=fixed[0] if len(fixed) == 1 else And(fixed) if fixed else None)


def _conditions(query: QueryClass) -> Conditions:
    """The conditions, with no choice among keys: nobody makes several requests of it."""
    row_conditions = conditions(query.filter)
    assert query.filter is not None
    whole = [p for p in conjuncts(query.filter) if isinstance(p, Or) and set(properties(p)) <= set(KEYS)]
    any_of = {name: operands for name, operands in row_conditions.any_of.items() if name not in KEYS}
    return replace(row_conditions, any_of=any_of, residual=tuple(dict.fromkeys((*row_conditions.residual, *whole))))


# -- Ranges over a text whose first characters are part of a PartitionKey: where they lie.


def beginnings_known(scheme: KeyScheme, ranges: Mapping[str, Range]) -> KeyScheme:
    """The scheme with the beginnings of texts in its PartitionKeys as a range over such a text finds them.

    Where both bounds begin with the same characters, so does all between them; else the beginnings lie in a range.
    """

    def known(part: Part) -> Part:
        source = part.text_source.plain_property if part.text_source is not None else ""
        if part.first_characters is None or source not in ranges:
            return part
        text = shared_beginning(ranges[source], part.first_characters)
        return Literal(text) if text else Field(source)

    def changed(key: Key) -> Key:
        return Key(tuple(known(p) for p in key.partition), key.row)

    rows = tuple(replace(row, key=changed(row.key)) for row in scheme.index_rows)
    return replace(scheme, main=changed(scheme.main), index_rows=rows)


def shared_beginning(span: Range, count: int) -> str:
    """The first ``count`` characters of every text in a range of constants; empty where they may differ."""
    texts = [str(o.value) for o in (span.low, span.high) if o is not None and not isinstance(o, Parameter)]
    if len(texts) != 2 or len(texts[0]) < count:
        return ""
    low, high = texts[0][:count], texts[1]
    following = low[:-1] + chr(ord(low[-1]) + 1)
    return low if high[:count] == low or (high == following and not span.high_inclusive) else ""
