"""Classes of requests as a design file declares them, with what a log measured of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from pkadvisor.design.draft.tables import DraftKind, DraftTable
from pkadvisor.design.rows.decode import observe
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.design.rows.kind_traffic import traffic_of_entities, traffic_of_kind, traffic_of_name
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import TableTraffic
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import Operation, QueryClass, Rate
from pkadvisor.table.edm import KEYS, QUOTES, EdmType, TypedValue
from pkadvisor.table.filters import FURTHER, And, Comparison, Filter, Not, Or, Parameter, comparisons, entity_number
from pkadvisor.table.odata import conjuncts, format_filter
from pkadvisor.values import dataclass

_UNITS: Final = (("s", 1), ("min", 60), ("h", 3600), ("day", 86_400))
_SPANS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class DraftClass:
    """One class as a design declares it; ``filter`` is its text, ``keys`` what an update or delete names."""

    query: QueryClass
    filter: str
    keys: tuple[str, ...]
    kind: str | None
    notes: tuple[str, ...] = ()
    order_logged: bool = False
    """Whether the log tells orders; else that of a class is the order of the current keys."""


def draft_classes(table: DraftTable) -> list[DraftClass]:
    """The classes of a table's log, kind by kind, under names that are unique in the table."""
    if table.traffic is None:
        return []
    out: list[DraftClass] = []
    names: set[str] = set()
    for kind in table.kinds or (None,):
        for one in _of_kind(table, kind):
            name, number = one.query.name[:60], 2
            while name in names:
                name, number = f"{one.query.name[:56]} ({number})", number + 1
            names.add(name)
            out.append(replace(one, query=replace(one.query, name=name)))
    return out


def _of_kind(table: DraftTable, kind: DraftKind | None) -> list[DraftClass]:
    assert table.traffic is not None
    types: dict[str, EdmType] = dict(table.data.types) if table.data is not None else {}
    traffic = table.traffic
    types = _logged_types(traffic) | types
    if kind is not None:
        by_name = {k.name or "": _types(k, types) for k in table.kinds if k is not kind}
        traffic = traffic_of_name(traffic, kind.name or "", _types(kind, types), by_name)
        types |= kind.types
        others = [(k.scheme, k.types) for k in table.kinds if k is not kind]
        traffic = traffic_of_kind(traffic, (kind.scheme, types), others) if others else traffic
        traffic = traffic_of_entities(traffic, kind.scheme, types)
    alone = len(table.kinds) < 2
    scheme = kind.scheme if kind is not None else None
    seen = observe(traffic, scheme, types, None, one_kind=alone, data=table.data).workload
    few = _of_few_values(table.data)
    return [
        _class(query, seen.instances.get(query.name), types, few, kind, traffic)
        for query in seen.classes
        if query.rate.mean_per_s > 0
    ]


def _logged_types(traffic: TableTraffic) -> dict[str, EdmType]:
    """The types of properties as the constants of the filters show them: whole numbers of both sizes are Int64, numbers
    of both kinds Double, and other mixtures are left out."""
    shown = _compared_types([traffic])
    out = {}
    for name, edms in shown.items():
        if len(edms) == 1 or all(edm.numeric for edm in edms):
            out[name] = next(edm for edm in (EdmType.DOUBLE, EdmType.INT64, *edms) if edm in edms)
    return out


def _compared_types(tables: Iterable[TableTraffic]) -> dict[str, set[EdmType]]:
    """The types of the values that logged filters compare each property with."""
    shown: dict[str, set[EdmType]] = {}
    for one in (each for table in tables for each in table.classes):
        for comparison in comparisons(one.filter) if one.filter is not None else ():
            if isinstance(comparison.operand, Parameter) and comparison.operand.type is not None:
                shown.setdefault(comparison.property, set()).add(comparison.operand.type)
    return shown


def quoted_properties(tables: Iterable[TableTraffic]) -> frozenset[str]:
    """The properties that every logged filter compares with a text in quotes: they are texts, though all are digits."""
    return frozenset(name for name, edms in _compared_types(tables).items() if edms == {EdmType.STRING}) - {*KEYS}


def _types(kind: DraftKind, types: Mapping[str, EdmType]) -> dict[str, EdmType]:
    """The types of the properties that rows of a kind have."""
    return {name: edm for name, edm in types.items() if name not in kind.without} | dict(kind.types)


def _class(
    query: QueryClass,
    instances: pl.DataFrame | None,
    types: Mapping[str, EdmType],
    few: Collection[str],
    kind: DraftKind | None,
    traffic: TableTraffic,
) -> DraftClass:
    notes: list[str] = []
    text, keys = "", tuple[str, ...]()
    if query.filter is not None:
        keys = tuple(dict.fromkeys(c.property for c in conjuncts(query.filter) if isinstance(c, Comparison)))
        named = _placeholders(query.filter, instances, types, few, notes)
        text = format_filter(named, parameters=True)
    ordered = any(c.order_by for c in traffic.classes)
    unknown = [order.property for order in query.order_by if order.property not in types]
    if unknown:
        query = replace(query, order_by=())
        notes.append(f"the log orders by {', '.join(unknown)}, which the data does not have: the order is left out")
    of_report = query.operation is Operation.QUERY and query.rate.mean_per_s < REPORT_PER_S * 1.5
    query = replace(query, analytic=query.analytic or of_report)
    return DraftClass(query, text, keys, kind.name if kind is not None else None, tuple(notes), ordered)


def _placeholders(
    tree: Filter, instances: pl.DataFrame | None, types: Mapping[str, EdmType], few: Collection[str], notes: list[str]
) -> Filter:
    """A logged filter with the placeholders of a design: an upper bound is a lower one and the usual width, and what
    all requests compare with alike is that value."""
    if isinstance(tree, And | Or):
        return type(tree)(tuple(_placeholders(part, instances, types, few, notes) for part in tree.operands))
    if isinstance(tree, Not):
        return Not(_placeholders(tree.operand, instances, types, few, notes))
    assert isinstance(tree, Comparison)
    if not isinstance(tree.operand, Parameter):
        return tree
    edm = types.get(tree.property, EdmType.STRING)
    if tree.property in few and (constant := _constant(tree.operand.name, instances, edm)) is not None:
        notes.append(f"every logged request names this value of {tree.property}; {{{tree.property}}} stands for any")
        return replace(tree, operand=constant)
    further = tree.operand.name.removeprefix(entity_number(tree.operand.name)[0])
    shown = Parameter(tree.property + further, edm if edm in QUOTES else None)
    if tree.operand.name.endswith(HIGH):
        width = _usual_width(tree.property, instances)
        if width and edm is EdmType.DATETIME:
            seconds, unit = _span(width / 1e6)
            shown = Parameter(tree.property, edm, offset_ticks=seconds * 10_000_000)
            notes.append(f"the range of {tree.property} is usually {seconds // dict(_SPANS)[unit]} {unit} wide")
        elif width and edm.numeric:
            size = max(1, round(width)) if edm.integer else float(f"{width:.3g}")
            shown = Parameter(tree.property, offset=int(size) if size == int(size) else size)
            notes.append(f"the range of {tree.property} is usually {shown.offset} wide")
        else:
            # A range from a value to the same value is one that no row meets.
            shown = Parameter(f"{tree.property}{FURTHER}2", shown.type)
            notes.append(
                f"where the range of {tree.property} ends differs: the value of another entity stands for it, and "
                "'advisor analyze' takes it from the log"
            )
    return replace(tree, operand=shown)


def _of_few_values(data: DataProfile | None) -> frozenset[str]:
    """Properties whose values can be constants of a program: flags, states, limits. No identifier, nobody's name."""
    if data is None:
        return frozenset()
    known = (p for p in data.properties if p.column.edm in _CONSTANTS and p.column.name not in data.hashed)
    return frozenset(
        p.column.name for p in known if p.column.edm is not EdmType.STRING or p.distinct.estimate() <= _VALUES_MAX
    )


REPORT_PER_S: Final = 1 / 86_400
"""Requests a second of a query up to which it is taken for a report or an export, for which nobody waits: one a day."""
_CONSTANTS: Final = (EdmType.STRING, EdmType.BOOLEAN, EdmType.INT32, EdmType.INT64, EdmType.DOUBLE)
_VALUES_MAX: Final = 30
_REQUESTS_MIN: Final = 20


def _constant(name: str, instances: pl.DataFrame | None, edm: EdmType) -> TypedValue | None:
    """The one value of a parameter in 20 requests and more."""
    if instances is None or name not in instances.columns or instances.height < _REQUESTS_MIN:
        return None
    values = instances.get_column(name)
    try:
        return TypedValue(edm, values[0]) if values.n_unique() == 1 else None
    except ValueError:  # a number of another type, or what is no value
        return None


def _span(seconds: float) -> tuple[int, str]:
    """Whole seconds that a design can write with one unit, near a number of them."""
    unit, size = next(((u, s) for u, s in _SPANS if seconds >= s), _SPANS[-1])
    return max(1, round(seconds / size)) * size, unit


def _usual_width(name: str, instances: pl.DataFrame | None) -> float:
    """The median width of a logged range, in µs of times; 0 where one end is open or the values are no numbers."""
    if instances is None or not {name + LOW, name + HIGH} <= set(instances.columns):
        return 0.0
    low, high = instances.get_column(name + LOW), instances.get_column(name + HIGH)
    if low.dtype == pl.String:
        return 0.0
    if isinstance(low.dtype, pl.Datetime):
        low, high = low.dt.epoch("us"), high.dt.epoch("us")
    width = (high - low).median()
    return float(width) if isinstance(width, int | float) and width > 0 else 0.0


def rate_text(per_s: float) -> str:
    """A rate as a design writes it, with four digits."""
    unit, seconds = next(((u, s) for u, s in _UNITS if per_s * s >= 1), _UNITS[-1])
    return f"{float(f'{per_s * seconds:.4g}'):.10g}/{unit}"


def rate_of(rate: Rate) -> tuple[str, str]:
    """(mean, busiest minute) of a class; the second is empty where it says nothing more."""
    mean, peak = rate_text(rate.mean_per_s), rate_text(rate.sustained_per_s)
    return mean, peak if rate.sustained_per_s > 1.01 * rate.mean_per_s else ""


def is_query(one: DraftClass) -> bool:
    """Whether a class stands under ``queries``."""
    return one.query.operation is Operation.QUERY
