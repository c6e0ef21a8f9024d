"""What falls on a partition or an entity that filters name by constants alone: certain without any data.

Loads are lower bounds: a read counts as one entity.
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.key_loads import highest_together, rated, taken_beside
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import KEYS
from pkadvisor.table.odata import Parameter

Named = tuple[tuple[str, str], ...]
"""The constants that a key is made of: (property, constant), or PartitionKey and RowKey themselves;
before them the template of the PartitionKey of index rows."""


def entity_per_s(view: TableView) -> float | None:
    """Requests a second at the peak for the one entity that is named most; None where none is."""
    named = ((q, name) for q in rated(view) if (name := _entity(q, view)) is not None)
    return highest_together(view, ((name, q, q.rate.sustained_per_s) for q, name in named))


def partition_per_s(view: TableView) -> float | None:
    """Requests a second at the peak to the one partition that is named most; None where none is."""
    named = named_partitions(view)
    return highest_together(view, ((name, q, q.rate.sustained_per_s * taken_beside(q, view)) for q, name in named))


def named_partitions(view: TableView) -> Sequence[tuple[QueryClass, Named]]:
    """Classes of which each request goes to the one partition that its constants name, and these."""
    return [(q, name) for q in rated(view) if (name := _partition(q, view)) is not None]


def _entity(query: QueryClass, view: TableView) -> Named | None:
    plan = _plan(query, view)
    if plan is None or plan.access is not Access.POINT or plan.via:
        return None
    if names_keys(query):
        return _constants(KEYS, query)
    assert view.scheme is not None
    return _of_parts((*view.scheme.main.partition, *view.scheme.main.row), query)


def _partition(query: QueryClass, view: TableView) -> Named | None:
    """The partition that a class names; those of index rows apart from those of the entities."""
    plan = _plan(query, view)
    if plan is None or plan.access not in (Access.POINT, Access.ROW_RANGE, Access.PARTITION_SCAN):
        return None
    if names_keys(query):
        return _constants(KEYS[:1], query)
    assert view.scheme is not None
    parts = [*view.scheme.each_key()][plan.via][0].partition
    beside = parts == view.scheme.main.partition
    if query.operation.writes and not beside:
        return None  # the index row only tells where the entity is
    named = _of_parts(parts, query)
    return named if named is None or beside else (("", format_template(parts)), *named)


def _plan(query: QueryClass, view: TableView) -> AccessPlan | None:
    """How a class finds its entities in one place; None where it does not, or where all lie in one partition anyway,
    which is for the key to say."""
    if view.scheme is None or not variable(view.scheme.main.partition):
        return None
    plan = view.plan_of(query) if query.filter is not None else None
    if plan is None or query.operation in (Operation.INSERT, Operation.UPSERT):
        return None
    return None if plan.buckets > 1 or plan.choices or plan.periods is not None else plan


def _of_parts(parts: tuple[Part, ...], query: QueryClass) -> Named | None:
    varying = variable(parts)
    if not varying or any(part.assigned for part in varying):
        return None
    return _constants(part_properties(varying), query)


def _constants(names: tuple[str, ...], query: QueryClass) -> Named | None:
    equal, out = conditions(query.filter).equal, []
    for name in names:
        operand = equal.get(name)
        if operand is None or isinstance(operand, Parameter):
            return None
        out.append((name, str(operand.value)))
    return tuple(out)
