"""Facts of index rows: whether their keys tell entities apart, and who goes through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, leading_text
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.caller import rows_written
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.lazy import np
from pkadvisor.observe.workload import Basis, Operation, QueryClass
from pkadvisor.review.facts.base import QUERY_NAMES, Fact, sure
from pkadvisor.review.facts.properties import erasure_query
from pkadvisor.review.facts.queries import RARE_PER_S
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import partitions_most
from pkadvisor.review.views.names import counter_of, numbered, stands_for_entity, unique
from pkadvisor.review.views.order import row_if_sorted
from pkadvisor.review.views.subjects import Scope, Subject, subjects_of_design
from pkadvisor.review.views.views import TableView
from pkadvisor.table.odata import And, Operator, Or, Parameter, comparisons, conjuncts

INSERTS = (Operation.INSERT, Operation.UPSERT)


def sharing_keys(view: TableView) -> tuple[TableView, ...]:
    """The kinds of a table that have the very keys of one of them: those of the table, or only it with its own."""
    return tuple(
        other
        for other in view.design.tables
        if other.section.table == view.section.table and other.keys_declared == view.keys_declared
    )


def first_kind(subject: Subject) -> bool:
    """Whether it is the first kind of entity with these keys.

    Kinds may share the keys and index rows of their table: what is true of all of them is told at the first.
    """
    return subject.view is sharing_keys(subject.view)[0]


def same_partition(subject: Subject) -> bool | None:
    """Whether it lies beside its entity."""
    scheme = subject.view.scheme
    return None if scheme is None else scheme.same_partition(subject.index_row)


def copy(subject: Subject) -> str:
    """full or pointer."""
    return subject.index_row.copy


def keys_possible(subject: Subject) -> float | None:
    """How many keys it can have, if bounded.

    Unknown where a part has no bound.
    """
    return partitions_most((*subject.index_row.key.partition, *subject.index_row.key.row), subject.view)


def changed_by(subject: Subject) -> tuple[str, ...]:
    """Updates that set what it holds.

    Of a full copy all, of a pointer those that move it or what it points at.
    """
    return tuple(c.name for c in _written_with(subject) if c.operation is Operation.UPDATE and c.sets)


def written_again_by(subject: Subject) -> tuple[str, ...]:
    """Writes of entities there are that write or delete it too: the old row may stay when they fail in between.

    An insert is none: it fails as a whole for its caller, who repeats it.
    """
    return tuple(c.name for c in _written_with(subject) if c.operation is not Operation.INSERT)


def _written_with(subject: Subject) -> list[QueryClass]:
    """Writes, but for rare ones, of the kinds that share the keys, which change the entity and its index row."""
    return [
        query
        for view in sharing_keys(subject.view)
        for query in view.workload.classes
        if query.operation.writes and not 0 < query.rate.mean_per_s <= RARE_PER_S * (1 + 1e-9)
        if view.scheme is not None and _number(subject.index_row, view.scheme) in rows_written(query, view.scheme)
    ]


def missing_target(subject: Subject) -> tuple[str, ...]:
    """Properties of the entity's RowKey that its key lacks.

    What makes the entity its own.

    A hash, a period or a beginning tells a property only where the entity's key has the same part. Nothing is
    missing where the key tells all by which an update or delete names one entity, or the id that is named as the
    entity's own, unless the data refute that.
    """
    scheme = subject.view.scheme
    if scheme is None:
        return ()
    main = scheme.main.row if part_properties(scheme.main.row) else scheme.main.partition
    own = (*scheme.main.partition, *scheme.main.row)
    parts = (*subject.index_row.key.partition, *subject.index_row.key.row)
    if any(part.assigned for part in (*own, *parts)):
        return ()
    located_by = {
        name for p in parts for name in p.properties if p.several is None and (p.injective or p.folds_case or p in own)
    }
    entity = subject.view.section.kind or subject.view.section.table
    alone = any(names <= located_by for names in _named_by_changes(subject.view)) or any(
        counter_of(n, entity) for n in located_by
    )
    if alone and not collisions(subject):
        return ()
    return tuple(n for n in part_properties(main) if n not in located_by)


def _named_by_changes(view: TableView) -> Iterator[set[str]]:
    """The properties by which updates and deletes name one entity: equalities alone, of what no update changes."""
    classes = [c for v in sharing_keys(view) for c in v.workload.classes]
    mutable = {name for each in classes for name in each.sets}
    for each in classes:
        if each.filter is None or each.operation not in (Operation.UPDATE, Operation.DELETE):
            continue
        wanted = conditions(each.filter)
        parameters = all(isinstance(o, Parameter) for o in wanted.equal.values())
        plain = wanted.equal and parameters and not (wanted.ranges or wanted.any_of or wanted.residual)
        if plain and not mutable & wanted.equal.keys():
            yield set(wanted.equal)


def overwritten(subject: Subject) -> bool:
    """Whether its index row lacks what tells entities apart.

    That is told at the row.
    """
    return subject.key.row > 0 and any(
        missing_target(s) and collisions(s) != 0
        for s in subjects_of_design(subject.design)
        if s.scope is Scope.INDEX_ROW
        and s.table is subject.table
        and subject.view.scheme is not None
        and s.item == subject.view.scheme.index_rows[subject.key.row - 1]
    )


def listed_by(subject: Subject) -> tuple[str, ...]:
    """Queries that want several entities of one key of it."""
    names = set(subject.index_row.key.properties)
    out = []
    for query in subject.view.workload.classes:
        if query.operation is not Operation.QUERY or query.filter is None or query.top == 1:
            continue
        wanted = conditions(query.filter)
        if names and names <= wanted.equal.keys() and (query.order_by or (query.top or 1) > 1):
            out.append(query.name)
    return tuple(out)


def read_over(subject: Subject) -> tuple[str, ...]:
    """Queries that read several rows of it: they fix the beginning of its key, and leave open what is not unique by
    its name, neither as the entity itself (``desk`` of Desks) nor as a number (``seat_no``). They go through it, or ask
    for what it has and the entity's key lacks."""
    row, view = subject.item, subject.view
    names, fixed_first = {*row.key.properties}, {*part_properties(row.key.partition)}
    scheme, entity = view.scheme, view.section.kind or view.section.table
    out = []
    for query in view.workload.classes if scheme is not None else ():
        if query.operation is not Operation.QUERY or query.filter is None or query.top == 1:
            continue
        wanted, plan = conditions(query.filter), view.plan_of(query)
        equal, ordered = {*wanted.equal}, {o.property for o in query.order_by}
        left = names - equal
        if (
            not left
            or not fixed_first <= equal
            or any(unique(n) or numbered(n, entity) or stands_for_entity(n, entity) for n in left)
        ):
            continue
        assert scheme is not None
        own = ((equal | {*wanted.ranges} | ordered) & names) - {*scheme.main.properties}
        through = plan is not None and plan.via == _number(row, scheme)
        if through or (own and (equal | {*wanted.ranges} | ordered) <= names):
            out.append(query.name)
    return tuple(out)


def kept_out(subject: Subject) -> tuple[str, ...]:
    """Queries that would go through it if its numbers and times sorted."""
    row, view = subject.item, subject.view
    if view.scheme is None:
        return ()
    via = _number(row, view.scheme)
    return tuple(c.name for v in sharing_keys(view) for c in v.workload.classes if row_if_sorted(v, c) == via)


def asks_for_one(subject: Subject) -> bool:
    """Whether a query looks up one entity by it.

    It fixes the whole key, and asks for one, or by what is unique by its name.
    """
    properties = set(subject.index_row.key.properties)
    return any(
        bool(properties)
        and query.operation is Operation.QUERY
        and query.filter is not None
        and properties <= conditions(query.filter).equal.keys()
        and (query.top == 1 or (query.top is None and any(unique(name) for name in properties)))
        for query in subject.view.workload.classes
    )


def collisions(subject: Subject) -> float | None:
    """Entities of the data whose index row has the key of another's.

    Unknown without data and for rows per value.
    """
    view, row = subject.view, subject.item
    if not view.has_data or view.bench is None or any(p.several for p in (*row.key.partition, *row.key.row)):
        return None
    from pkadvisor.design.cost.class_cost import has_row

    population = view.bench.population
    assert view.scheme is not None
    if population.surplus(atoms_of((*view.scheme.main.partition, *view.scheme.main.row))):
        return None  # entities that share their own key share every other
    there = has_row(row.key, row, population)[: population.rows] > 0
    ids, _ = population.groups(atoms_of((*row.key.partition, *row.key.row)))
    mine = ids[: population.rows][there]
    return float(len(mine) - len(np.unique(mine)))


def serves(subject: Subject) -> tuple[str, ...] | None:
    """Classes that it helps.

    Classes for which no other key is better in every way; unknown where no query is declared or logged.

    An index row belongs to all kinds that share the keys of a table: what any of them asks counts.
    """
    views = sharing_keys(subject.view)
    classes = [(v, c) for v in views for c in v.workload.classes]
    if not any(c.operation is Operation.QUERY for _, c in classes):
        return None
    served_queries, unsure = list[str](), False
    for view, query in classes:
        if view.scheme is None:
            continue
        via = _number(subject.index_row, view.scheme)
        if names_keys(query):
            aimed = _aimed_at(query, subject.index_row, view.scheme)
            unsure |= aimed is None
            helped = bool(aimed)
        else:
            helped = any(_helps(via, one, view, view.scheme) for one in (query, *_alternatives(query)))
        if helped:
            served_queries.append(query.name)
        served_queries += _erases(via, view)
    return None if unsure and not served_queries else tuple(dict.fromkeys(served_queries))


def _aimed_at(query: QueryClass, row: IndexRow, scheme: KeyScheme) -> bool | None:
    """Whether a filter over the keys themselves asks for texts that begin as the keys of the row do.

    None where nobody can say: the row begins with no text of its own, or the filter has a value in its place.
    """
    labels = {"RowKey": leading_text(row.key.row)}
    if not scheme.same_partition(row):
        labels["PartitionKey"] = leading_text(row.key.partition)
    labels = {name: label for name, label in labels.items() if label}
    if not labels:
        return None
    unsure = False
    for comparison in comparisons(query.filter) if query.filter is not None else ():
        label, operand = labels.get(comparison.property), comparison.operand
        if label is None:
            continue
        if isinstance(operand, Parameter):
            unsure = True
            continue
        text = str(operand.value)
        if text.startswith(label) or (comparison.operator is not Operator.EQ and label.startswith(text)):
            return True
    return None if unsure else False


def _number(row: IndexRow, scheme: KeyScheme) -> int:
    """The number of an index row, from 1, which plans call it by."""
    return 1 + next(i for i, other in enumerate(scheme.index_rows) if other == row)


def _helps(via: int, query: QueryClass, view: TableView, scheme: KeyScheme) -> bool:
    """Whether a class has a plan through a row that no key before it can equal in every way."""
    plans = view.plans_under(query, scheme)
    mine = [_merits(p) for p in plans if p.via == via and p.access is not Access.TABLE_SCAN]
    others = [_merits(p) for p in plans if p.via < via]
    return any(not any(_as_good(other, one) for other in others) for one in mine)


def _erases(via: int, view: TableView) -> list[str]:
    """Whether a row helps to find what must be erased."""
    query = erasure_query(view)
    return ["erasure"] if query is not None and view.scheme and _helps(via, query, view, view.scheme) else []


def _alternatives(query: QueryClass) -> Iterator[QueryClass]:
    """What a class would be if each alternative of an ``or`` were asked on its own, as it should."""
    if query.filter is None:
        return
    parts = tuple(conjuncts(query.filter))
    for i, part in enumerate(parts):
        for one in part.operands if isinstance(part, Or) else ():
            rest = (*parts[:i], one, *parts[i + 1 :])
            yield replace(query, filter=And(rest) if len(rest) > 1 else one)


def chosen_for(subject: Subject) -> tuple[str, ...] | None:
    """Classes that are cheapest through it.

    With data, classes whose cheapest plan goes through the row, or one of whose alternatives can.

    Unknown where a kind of the table cannot be priced.
    """
    views = sharing_keys(subject.view)
    if not all(v.has_data and v.estimate is not None for v in views):
        return None
    out = []
    for view in views:
        assert view.estimate is not None and view.scheme is not None
        via = _number(subject.index_row, view.scheme)
        out += [c.name for c in view.estimate.classes if c.plan is not None and c.plan.via == via]
        for query in view.workload.classes:
            if names_keys(query):
                aimed = _aimed_at(query, subject.index_row, view.scheme)
                if aimed is None:
                    return None
                if aimed:
                    out.append(query.name)
            elif any(_helps(via, one, view, view.scheme) for one in _alternatives(query)):
                out.append(query.name)
        out += _erases(via, view)
    return tuple(out)


def row_writes_per_s(subject: Subject) -> float | None:
    """Rows that inserts make a second, mean."""
    queries = [c for c in subject.view.workload.classes if c.operation in INSERTS]
    total = sum(c.rate.mean_per_s * c.entities_per_request for c in queries)
    return total if total > 0 else None


def _merits(plan: AccessPlan) -> tuple[float, ...]:
    """What makes one way to an answer better than another, smaller being better."""
    order = 0.0 if plan.order_served else 1.0
    asked = float(plan.buckets + (plan.periods is not None))
    return (float(plan.access.rank), asked, float(len(plan.unserved)), order)


def _as_good(other: tuple[float, ...], one: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(other, one, strict=True))


BOOL, NUMBER, TEXT, TEXTS = FactType.BOOL, FactType.NUMBER, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    sure("table.first_kind", BOOL, "", first_kind),
    sure("key.overwritten", BOOL, "", overwritten, Basis.DERIVED),
    Fact("index_row.same_partition", BOOL, "", same_partition, Basis.DERIVED),
    sure("index_row.copy", TEXT, "", copy),
    sure("index_row.missing_target", TEXTS, "", missing_target, basis=Basis.DERIVED),
    sure("index_row.listed_by", TEXTS, QUERY_NAMES, listed_by, basis=Basis.DERIVED),
    sure("index_row.read_over", TEXTS, QUERY_NAMES, read_over, basis=Basis.DERIVED),
    sure("index_row.kept_out", TEXTS, QUERY_NAMES, kept_out, basis=Basis.DERIVED),
    sure("index_row.asks_for_one", BOOL, "", asks_for_one, basis=Basis.DERIVED),
    Fact("index_row.collisions", NUMBER, "entities", collisions, Basis.COUNTED),
    Fact("index_row.keys_possible", NUMBER, "keys", keys_possible),
    sure("index_row.changed_by", TEXTS, QUERY_NAMES, changed_by),
    sure("index_row.written_again_by", TEXTS, QUERY_NAMES, written_again_by),
    Fact("index_row.serves", TEXTS, QUERY_NAMES, serves, Basis.DERIVED),
    Fact("index_row.chosen_for", TEXTS, QUERY_NAMES, chosen_for, Basis.ESTIMATED),
    Fact("index_row.writes_per_s", NUMBER, "rows/s", row_writes_per_s),
)
