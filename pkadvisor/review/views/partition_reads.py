"""What reads of several entities load a partition with by the design alone, and the fact that is missing to say it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.observe.workload import DrawBy, Operation, QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.drawn_loads import (
    asked_share,
    beside_main,
    drawn_to_one,
    in_one_partition,
    partition_names,
    ranked_by,
)
from pkadvisor.review.views.key_loads import (
    INSERTS,
    at_peak,
    declared_entities,
    distinct_of,
    follows_clock,
    highest_together,
    mixed_size,
    partitions_most,
    rated,
    read_first,
    reads_all,
    taken_beside,
    values_most,
    written_beside,
)
from pkadvisor.review.views.views import TableView
from pkadvisor.review.views.windows import in_window, window_s
from pkadvisor.table.edm import KEYS
from pkadvisor.table.odata import Parameter
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Unsized:
    """Reads of a whole partition whose size nobody declares: the query, its requests a second to one partition (at the
    least, or at the most), the entities from which these pass the target, and the facts that would tell."""

    query: str
    per_s: float
    at_least: bool
    entities: float
    fact: str


def drawn_most_per_s(view: TableView) -> float | None:
    """Entities a second at the peak that the draws ask of one partition if each request finds all that it wants."""
    asked = ((q, q.rate.sustained_per_s * asked_share(q, view)) for q in drawn_to_one(view))
    return highest_together(view, ((ranked_by(q), q, per_s * _wanted(q, view)) for q, per_s in asked))


def named_most_per_s(view: TableView) -> float | None:
    """Entities a second at the peak of the partition that filters name most by constants, if each request finds all
    that it wants: in a partition of mean size where it reads one whole."""
    named = named_partitions(view)
    return highest_together(view, ((name, q, q.rate.sustained_per_s * _wanted(q, view)) for q, name in named))


def even_per_s(view: TableView) -> float | None:
    """Entities a second of each partition if the declared entities and requests are spread evenly over the declared
    values; None where these are not declared, and where there is one partition."""
    loads = _even_loads(view)
    return at_peak(view, loads) if loads else None


def even_heaviest(view: TableView) -> str | None:
    """The class that makes more than half of that load; None where none does."""
    loads = _even_loads(view)
    return next((name for name, load in loads.items() if 2 * load > sum(loads.values())), None)


def even_rows(view: TableView) -> str | None:
    """The PartitionKey of the index rows that take that load; None where the entities take it."""
    row = _even(view)[0]
    return None if not row or view.scheme is None else format_template([*view.scheme.each_key()][row][0].partition)


def _even_loads(view: TableView) -> Mapping[str, float]:
    return _even(view)[1]


def _even(view: TableView) -> tuple[int, Mapping[str, float]]:
    """(the number of the index row, 0 for the entities, entities a second at the peak of each class in one of its
    partitions), where all are spread evenly; of those that lie in partitions of their own, the most loaded."""
    if view.scheme is None or view.has_data:
        return 0, {}
    loads = [_main_loads(view), *(_row_loads(view, row) for row in range(1, view.scheme.rows_per_entity))]
    return max(enumerate(loads), key=lambda each: at_peak(view, each[1]) if each[1] else 0.0)


def _row_loads(view: TableView, row: int) -> Mapping[str, float]:
    """Entities a second at the peak that classes read in one partition of an index row that has its own partitions."""
    assert view.scheme is not None
    parts = [*view.scheme.each_key()][row][0].partition
    count, size = partitions_most(parts, view), _mean_size(view, row)
    if parts == view.scheme.main.partition or count is None or size is None or any(p.several for p in parts):
        return {}
    plans = {q: p for q in rated(view) if q.operation is Operation.QUERY and (p := view.plan_of(q)) is not None}
    loads = {}
    for query, plan in plans.items():
        one = plan.via == row and plan.access is Access.PARTITION_SCAN and plan.buckets == 1
        if one and not plan.choices and plan.periods is None:
            first = plan.top if plan.top is not None and plan.order_served and not plan.unserved else None
            most = size + mixed_size(plan, view)
            read = float(first) if first is not None else most if reads_all(plan) else 1.0
            loads[query.name] = query.rate.sustained_per_s * min(max(1.0, most), read) / count
    return loads


def _main_loads(view: TableView) -> Mapping[str, float]:
    """Entities a second at the peak of each class in one partition of the entities, where all are spread evenly."""
    assert view.scheme is not None
    count, size = partitions_most(view.scheme.main.partition, view), _mean_size(view)
    loads = {}
    if count is not None and count > 1 and size is not None:
        for query, asked in _partitions_asked(view).items():
            plan = view.plan_of(query)
            mixed = mixed_size(plan, view) if plan is not None else 0.0
            most = max(1.0, size + mixed)  # a request for the first 50 finds no more than there are
            entities = min(most + (query.operation is not Operation.QUERY), _wanted(query, view))
            loads[query.name] = query.rate.sustained_per_s * entities * min(1.0, asked / count)
    windows = {q.name: load for q in rated(view) if q.name not in loads and (load := _window_load(q, view)) is not None}
    return loads | windows


def _partitions_asked(view: TableView) -> Mapping[QueryClass, int]:
    """Classes of which each request goes to some partitions of the main key, and to how many: one for each bucket."""
    one = dict.fromkeys(in_one_partition(view), 1)
    plans = {q: p for q in rated(view) if q.operation is Operation.QUERY and (p := view.plan_of(q)) is not None}
    scans = {
        q: p for q, p in plans.items() if p.access is Access.PARTITION_SCAN and p.buckets > 1 and beside_main(p, view)
    }
    return one | {q: p.buckets for q, p in scans.items() if not p.choices and p.periods is None}


def _window_load(query: QueryClass, view: TableView) -> float | None:
    """Entities a second at the peak that a query of a time window reads in each of the newest partitions, or in each
    partition where no time is in the PartitionKey; None where it is not known how many of them share the requests."""
    window, span = in_window(view, query), window_s(view, query)
    if window is None or span is None or view.scheme is None:
        return None
    parts = variable(view.scheme.main.partition)
    beside = [values_most(part, view) for part in parts if not follows_clock(part, view)]
    if None in beside:
        return None
    periods = [part.period for part in parts if follows_clock(part, view)]
    load = query.rate.sustained_per_s * window / math.prod(n for n in beside if n is not None)
    if not periods:
        return load
    if len(periods) > 1 or periods[0] is None or not (query.draw.stated and query.draw.by is DrawBy.NEWEST):
        return None
    newest = math.ceil((query.draw.window_s + span) / PERIOD_S[periods[0].unit]) + 1
    return load * query.draw.share / newest


def unsized(view: TableView, small: frozenset[str]) -> Unsized | None:
    """The reads of whole partitions that decide, where less than a page of entities passes the target.

    First those that certainly go to one partition; then those that may, of queries that no key serves well. ``small``
    names the queries whose partitions are small by design.
    """
    if view.has_data or view.scheme is None or _mean_size(view) is not None:
        return None
    queries = [q for q in _reading_whole(view) if q.name not in small]
    certain = {q.name: q.rate.sustained_per_s * _share(q, view) for q in queries}
    possible = {
        q.name: q.rate.sustained_per_s for q in queries if _drops_or_sorts(q, view) and not _spread_by_draw(q, view)
    }
    return _too_often(certain, view, at_least=True) or _too_often(possible, view, at_least=False)


def _too_often(loads: Mapping[str, float], view: TableView, *, at_least: bool) -> Unsized | None:
    assert view.scheme is not None
    if not loads:
        return None
    parts, target, total = view.scheme.main.partition, view.limits.partition_entities_per_s, declared_entities(view)
    query = max(loads, key=lambda name: (loads[name], name))
    per_s = loads[query] if variable(parts) else at_peak(view, loads)
    if per_s * min(view.limits.page_entities, total or math.inf) <= target:
        return None
    known = distinct_of(view)
    open_names = [n for p in variable(parts) for n in p.properties if n not in known]
    facts = [] if total else ["how many entities the table has (entities_total)"]
    facts += [f"how many values {open_names[0]} has (distinct)"] if open_names else []
    facts += [] if at_least or _stated(query, view) else [f"how '{query}' draws its values (draw)"]
    return Unsized(query, per_s, at_least, target / per_s, ", ".join(facts)) if facts else None


def _spread_by_draw(query: QueryClass, view: TableView) -> bool:
    """Whether a draw by entities, or by the values of the PartitionKey, asks even for a partition of a page too seldom
    to pass its target."""
    total, page, draw = declared_entities(view), view.limits.page_entities, query.draw
    by_value = draw.by is DrawBy.DISTINCT and {*partition_names(view)} <= {*draw.of}
    if total is None or not draw.stated or not (draw.by is DrawBy.ENTITIES or by_value):
        return False
    return query.rate.sustained_per_s * min(1.0, page / total) * page <= view.limits.partition_entities_per_s


def _stated(name: str, view: TableView) -> bool:
    return any(q.name == name and q.draw.stated for q in view.workload.classes)


def _drops_or_sorts(query: QueryClass, view: TableView) -> bool:
    """Whether a query reads entities for a condition or an order that the key does not serve."""
    plan = view.plan_of(query)
    return plan is not None and bool(plan.unserved or (query.order_by and not plan.order_served))


def _reading_whole(view: TableView) -> Sequence[QueryClass]:
    """Queries that read one partition of the main key to its end."""
    assert view.scheme is not None
    queries = in_one_partition(view) if variable(view.scheme.main.partition) else rated(view)
    return [q for q in queries if q.operation is Operation.QUERY and _whole(q, view)]


def mean_scanned(query: QueryClass, view: TableView) -> float | None:
    """Entities that one request for each choice reads on average by the declared entities and values, for a class that
    reads partitions to their end or all of one beginning of the RowKey."""
    plan = view.plan_of(query)
    if plan is None or view.has_data:
        return None
    if plan.access is Access.ROW_RANGE:
        return None if names_keys(query) else _range_size(plan, view)
    whole = plan.access is Access.PARTITION_SCAN and reads_all(plan)
    size = _mean_size(view, plan.via) if whole else None
    return None if size is None else (size + mixed_size(plan, view)) * plan.buckets


def _whole(query: QueryClass, view: TableView) -> bool:
    plan = view.plan_of(query)
    return plan is not None and beside_main(plan, view) and plan.access is not Access.ROW_RANGE and reads_all(plan)


def _share(query: QueryClass, view: TableView) -> float:
    """The least share of the requests of a class that goes to one partition; 0 where nobody knows."""
    assert view.scheme is not None
    count = partitions_most(view.scheme.main.partition, view)
    return max(asked_share(query, view), 1 / count if count else 0.0)


def _wanted(query: QueryClass, view: TableView) -> float:
    """Entities that one request counts where it finds all that it wants.

    An update or delete that does not know the key of its entity reads as a query does, to find it, and writes one.
    """
    plan = view.plan_of(query)
    if query.operation is Operation.QUERY:
        return _read(plan, view, query)
    read = _read(plan, view, query) if plan is not None and plan.unknown and query.operation not in INSERTS else 0.0
    return max(taken_beside(query, view), written_beside(query, view) + read)


def _read(plan: AccessPlan | None, view: TableView, query: QueryClass) -> float:
    """Entities that one request reads along its plan, those of its window of time among them; 1 where nobody declares
    how many there are."""
    if plan is None:
        return 1.0
    if plan.top is not None and plan.order_served and not plan.unserved:
        return float(plan.top)
    if plan.access is Access.ROW_RANGE:
        return max(1.0, _range_size(plan, view) or in_window(view, query) or 1.0)
    return max(1.0, (_mean_size(view) or 1.0) + mixed_size(plan, view)) if _whole(query, view) else 1.0


def found_most(query: QueryClass, view: TableView) -> float | None:
    """Entities that a query finds on average at the most: its first n, or all that have the values which its key fixes;
    None where nobody says how many these are."""
    matching = matching_mean(query, view)
    most = min(math.inf if matching is None else matching, query.top or math.inf)
    return None if math.isinf(most) else most


def matching_mean(query: QueryClass, view: TableView) -> float | None:
    """Entities on average that have the values which the key of a query fixes; None where nobody declares them."""
    plan, total, known = view.plan_of(query), declared_entities(view), distinct_of(view)
    fixed = {name for atom in plan.equal_atoms for name in atom_properties(atom)} if plan is not None else set[str]()
    if plan is None or not total or view.has_data or not fixed <= known.keys():
        return None
    return total / math.prod(known[name] for name in fixed)


def _range_size(plan: AccessPlan, view: TableView) -> float | None:
    """Entities on average, at the least, that agree on what the keys fix, where the request bounds nothing else."""
    total, known = declared_entities(view), distinct_of(view)
    fixed = {name for atom in plan.equal_atoms for name in atom_properties(atom)}
    if total is None or plan.range_atom is not None or plan.top is not None or not fixed <= known.keys():
        return None
    return total / math.prod(known[name] for name in fixed)


def _mean_size(view: TableView, row: int = 0) -> float | None:
    """Entities of a partition of the main key or of an index row, by the declared entities and values."""
    count = partitions_most([*view.scheme.each_key()][row][0].partition, view) if view.scheme is not None else None
    total = declared_entities(view)
    return None if total is None or count is None else total / count


# -- What falls on a partition or an entity that filters name by constants alone: certain without any data.


Named = tuple[tuple[str, str], ...]
"""The constants that a key is made of: (property, constant), or PartitionKey and RowKey themselves;
before them the template of the PartitionKey of index rows."""


def entity_per_s(view: TableView) -> float | None:
    """Reads and writes a second at the peak of the one entity that is named most; None where none is."""
    named = ((q, name) for q in rated(view) if (name := _entity(q, view)) is not None)
    each = ((name, q, q.rate.sustained_per_s * (1.0 + min(1.0, read_first(q, view)))) for q, name in named)
    return highest_together(view, each)


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
