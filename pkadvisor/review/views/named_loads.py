"""What falls on a partition or an entity that filters name by constants alone: certain without any data.

Loads are lower bounds: a read counts as one entity.
"""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.key_loads import highest_together, rated, taken_beside
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import KEYS
from pkadvisor.table.odata import Operand, Parameter

Named = tuple[tuple[str, str], ...]
"""The constants that a key is made of: (property, constant), or PartitionKey and RowKey themselves."""


def entity_per_s(view: TableView) -> float | None:
    """Requests a second at the peak for the one entity that is named most; None where none is."""
    return _most(view, whole=True)


def partition_per_s(view: TableView) -> float | None:
    """Requests a second at the peak to the one partition that is named most; None where none is."""
    return _most(view, whole=False)


def _most(view: TableView, *, whole: bool) -> float | None:
    if view.scheme is None or not variable(view.scheme.main.partition):
        return None  # what lies in one partition anyway is for the key to say
    named = ((q, name) for q in rated(view) if (name := _named(q, view, whole=whole)) is not None)
    loads = ((name, q, q.rate.sustained_per_s * (1.0 if whole else taken_beside(q, view))) for q, name in named)
    return highest_together(view, loads)


def _named(query: QueryClass, view: TableView, *, whole: bool) -> Named | None:
    plan = view.plan_of(query) if query.filter is not None else None
    if plan is None or view.scheme is None or query.operation in (Operation.INSERT, Operation.UPSERT):
        return None
    inside = (Access.POINT,) if whole else (Access.POINT, Access.ROW_RANGE, Access.PARTITION_SCAN)
    if plan.access not in inside or plan.via or plan.buckets > 1 or plan.choices or plan.periods is not None:
        return None
    equal = conditions(query.filter).equal
    if names_keys(query):
        return _constants(KEYS if whole else KEYS[:1], equal)
    main = view.scheme.main
    parts: tuple[Part, ...] = variable((*main.partition, *main.row) if whole else main.partition)
    if any(part.assigned for part in parts):
        return None
    return _constants(part_properties(parts), equal)


def _constants(names: tuple[str, ...], equal: Mapping[str, Operand]) -> Named | None:
    out = []
    for name in names:
        operand = equal.get(name)
        if operand is None or isinstance(operand, Parameter):
            return None
        out.append((name, str(operand.value)))
    return tuple(out)
