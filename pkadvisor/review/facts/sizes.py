"""Facts of sizes: how large entities and their properties are, as declared or as measured."""

from __future__ import annotations

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import Basis, Operation, QueryClass
from pkadvisor.review.facts.base import QUERY_NAMES, Fact, KnownValue, number, sure
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table import accounting
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType

LISTS = (Access.ROW_RANGE, Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
VALUE_BYTES_MAX = 65_536
"""Bytes of one String (two for a UTF-16 code unit) or Binary: 64 KiB, as the data model of the Table service says."""
JSON_BYTES = 6
"""Quotes, colon, comma and the shortest value of a property in a request."""


def declared_sizes(view: TableView) -> dict[str, int]:
    """Declared mean sizes by property: characters of texts, bytes of binaries."""
    return dict(own.sizes) if (own := view.section.own_declaration) else {}


def lengths(view: TableView) -> dict[str, tuple[float, Basis]]:
    """Mean characters or bytes of a value by property, over all rows: declared, else measured; others are left out."""
    out: dict[str, tuple[float, Basis]] = {}
    data = view.section.data
    for each in data.properties if data is not None else ():
        edm = each.column.edm
        if data is not None and edm in (EdmType.STRING, EdmType.BINARY):
            per_row = each.characters / max(1, data.rows)
            out[each.column.name] = (per_row / (2 if edm is EdmType.BINARY else 1), Basis.COUNTED)
    return {**out, **{name: (float(size), Basis.DECLARED) for name, size in declared_sizes(view).items()}}


def names(view: TableView) -> tuple[str, ...]:
    """Properties of an entity beside the service's own."""
    return tuple(n for n in dict.fromkeys((*view.types, *declared_sizes(view))) if n not in SYSTEM_PROPERTIES)


def request_bytes(view: TableView) -> KnownValue | None:
    """The least bytes of one entity in a request: a character takes one byte at least, a binary four for three.

    Unknown where neither the design nor the data gives a size.
    """
    by_property = lengths(view)
    if not by_property:
        return None
    total = 0.0
    for name in names(view):
        size = by_property.get(name, (0.0, Basis.UNKNOWN))[0]
        total += len(name) + JSON_BYTES + size * (4 / 3 if view.types.get(name) is EdmType.BINARY else 1)
    return KnownValue(total, _basis(by_property))


def entity_bytes(view: TableView) -> KnownValue | None:
    """Stored bytes of one entity without its keys (capacity formula of 2010): the largest of the data, or the mean of
    declared sizes where that is more. Unknown where nobody gives a size."""
    by_property = lengths(view)
    if not by_property:
        return None
    total = 0.0
    for name in names(view):
        edm = view.types.get(name, EdmType.STRING)
        size = by_property.get(name, (0.0, Basis.UNKNOWN))[0]
        total += accounting.property_bytes(len(name), edm) + size * (2 if edm is EdmType.STRING else 1)
    if view.has_data and view.bench is not None and view.scheme is not None:
        from pkadvisor.design.cost.upkeep import largest_bytes

        largest = largest_bytes(view.scheme, view.bench)
        if largest > total:
            return KnownValue(largest, Basis.COUNTED)
    return KnownValue(total, _basis(by_property))


def _basis(by_property: dict[str, tuple[float, Basis]]) -> Basis:
    return Basis.DECLARED if any(basis is Basis.DECLARED for _, basis in by_property.values()) else Basis.COUNTED


def entity_bytes_most(subject: Subject) -> KnownValue | None:
    """Stored bytes of an entity without its keys."""
    return entity_bytes(subject.view)


def properties(subject: Subject) -> KnownValue | None:
    """Properties of an entity, the service's own too.

    Properties of one entity with those of the service: as declared, or with data those of the fullest row.
    """
    view = subject.view
    declared = names(view)
    if not declared:
        return None
    data = view.section.data
    if data is None or len(declared) + len(SYSTEM_PROPERTIES) <= view.limits.properties * view.limits.headroom_share:
        basis = Basis.DECLARED if data is None else Basis.COUNTED
        return KnownValue(float(len(declared) + len(SYSTEM_PROPERTIES)), basis)
    columns = [pl.col(n).is_not_null() for n in data.types if n not in SYSTEM_PROPERTIES and n in data.sample.columns]
    fullest = data.sample.select(pl.sum_horizontal(columns).max()).item() if columns else None
    return None if fullest is None else KnownValue(float(fullest) + len(SYSTEM_PROPERTIES), Basis.COUNTED)


def _largest_value(view: TableView) -> tuple[float, str, Basis] | None:
    """Stored bytes of the largest value, its property, and where that is known from: as declared, or in the data."""
    out = []
    for name, size in declared_sizes(view).items():
        factor = 2 if view.types.get(name, EdmType.STRING) is EdmType.STRING else 1
        out.append((float(factor * size), name, Basis.DECLARED))
    data = view.section.data
    for each in data.properties if data is not None else ():
        if each.column.edm in (EdmType.STRING, EdmType.BINARY) and each.column.name not in SYSTEM_PROPERTIES:
            factor_measured = 2 if each.column.edm is EdmType.STRING else 0.5  # of a Binary, hexadecimal digits
            out.append((factor_measured * each.characters_max, each.column.name, Basis.COUNTED))
    return max(out, default=None)


def largest_value_bytes(subject: Subject) -> KnownValue | None:
    """Stored bytes of the largest value."""
    largest = _largest_value(subject.view)
    return None if largest is None else KnownValue(largest[0], largest[2])


def largest_value(subject: Subject) -> str | None:
    """The property that has it."""
    largest = _largest_value(subject.view)
    return None if largest is None else largest[1]


def fullness(subject: Subject) -> float | None:
    """Bytes or properties of an entity, or bytes of a value: what is nearest to what the service stores."""
    limits, size, count = subject.view.limits, entity_bytes_most(subject), properties(subject)
    value = largest_value_bytes(subject)
    shares = [
        number(fact) / limit
        for fact, limit in ((size, limits.entity_bytes), (count, limits.properties), (value, VALUE_BYTES_MAX))
        if fact is not None
    ]
    return max(shares, default=None)


def property_bytes(subject: Subject) -> KnownValue | None:
    """Mean characters or bytes of a value."""
    length = lengths(subject.view).get(subject.property_.name)
    return None if length is None else KnownValue(*length)


def listed_by(subject: Subject) -> tuple[str, ...]:
    """Lists that carry it and never ask about it.

    Queries that list entities and neither filter nor sort by the property; analyses are none of them.
    """
    view = subject.view
    out = []
    for query in view.workload.classes:
        if query.operation is not Operation.QUERY or query.analytic or query.rate.mean_per_s <= 0 or query.top == 1:
            continue
        plan = view.plan_of(query)
        if plan is None or plan.access not in LISTS or subject.property_.name in _named(query):
            continue
        out.append(query.name)
    return tuple(out)


def copies(subject: Subject) -> float | None:
    """Full index rows that hold it once more.

    Unknown where there are none.
    """
    scheme = subject.view.scheme
    count = sum(row.copy == "full" for row in scheme.index_rows) if scheme is not None else 0
    return float(count) if count else None


def page_entities(subject: Subject) -> float | None:
    """Entities that one page can hold."""
    size, limits = property_bytes(subject), subject.view.limits
    if size is None or not size.value:
        return None
    return float(min(limits.page_entities, int(limits.page_bytes / number(size))))


def _named(query: QueryClass) -> set[str]:
    filtered = conditions(query.filter).properties if query.filter is not None else ()
    return {*filtered, *(o.property for o in query.order_by)}


BOOL, NUMBER, TEXT, TEXTS = FactType.BOOL, FactType.NUMBER, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    Fact("table.largest_value_bytes", NUMBER, "bytes", largest_value_bytes),
    Fact("table.largest_value", TEXT, "", largest_value),
    Fact("table.entity_bytes", NUMBER, "bytes", entity_bytes_most),
    Fact("table.properties", NUMBER, "properties", properties),
    Fact("table.entity_fullness", NUMBER, "share", fullness, Basis.DERIVED),
    Fact("property.bytes", NUMBER, "bytes", property_bytes),
    Fact("property.copies", NUMBER, "rows", copies),
    Fact("property.page_entities", NUMBER, "entities", page_entities, Basis.DERIVED),
    sure("property.listed_by", TEXTS, QUERY_NAMES, listed_by),
)
