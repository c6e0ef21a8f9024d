"""Facts of writes: group transactions, index rows, and entities that many change at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pkadvisor.design.conditions import conditions
from pkadvisor.design.plan import Access, AccessPlan
from pkadvisor.design.transforms import Each, Literal, Lower, Part, Sequence
from pkadvisor.observe.workload import Basis, Operation, QueryClass, Transaction
from pkadvisor.review.expressions import FactType
from pkadvisor.review.facts.base import Fact, Known
from pkadvisor.review.facts.sizes import request_bytes
from pkadvisor.review.subjects import Subject, TableView
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.scheme import IndexRow

INSERTS = (Operation.INSERT, Operation.UPSERT)


def consistency_stated(subject: Subject) -> bool:
    declared = subject.view.section.declared
    return bool(declared is not None and declared.consistency)


# --- transactions ---------------------------------------------------------------------------------------------------


def required(subject: Subject) -> bool:
    found: Transaction = subject.item
    return found.required


def together(subject: Subject) -> tuple[str, ...]:
    found: Transaction = subject.item
    return found.together


def group_by(subject: Subject) -> tuple[str, ...]:
    found: Transaction = subject.item
    return found.group_by


def open_properties(subject: Subject) -> tuple[str, ...] | None:
    """Properties of the PartitionKey in which entities of one set may differ; with data those that its rows do not fix.

    Unknown without keys, and for groups of a log, which were accepted.
    """
    found: Transaction = subject.item
    scheme = subject.view.scheme
    if scheme is None or found.logged_entities is not None:
        return None
    names = _properties(p for p in scheme.main.partition if not set(p.properties) <= set(found.group_by))
    estimate = subject.view.estimate if subject.view.has_data else None
    outcome = next((t for t in estimate.transactions if t.name == found.name), None) if estimate else None
    return () if outcome is not None and outcome.kept else tuple(n for n in names if n not in found.group_by)


def one_partition(subject: Subject) -> bool | None:
    """Whether all entities of a set have one PartitionKey; a number that counts up never is one."""
    names = open_properties(subject)
    scheme = subject.view.scheme
    if names is None or scheme is None:
        return None
    return not names and not any(isinstance(p, Sequence) for p in scheme.main.partition)


def written_twice(subject: Subject) -> bool | None:
    """Whether a set is one entity that several of its writes change: what it has in common is the entity's whole
    key."""
    found: Transaction = subject.item
    scheme = subject.view.scheme
    if scheme is None:
        return None
    parts = (*scheme.main.partition, *scheme.main.row)
    named = bool(scheme.main.row) and not any(isinstance(p, Sequence) for p in parts)
    kinds = {c.kind for c in subject.view.workload.classes if c.name in found.together}
    return named and len(found.together) > 1 and len(kinds) == 1 and set(scheme.main.properties) <= set(found.group_by)


# --- batches --------------------------------------------------------------------------------------------------------


def batch_entities(subject: Subject) -> Known | None:
    """Entities of one batch: as declared, or with data those of the largest set that the write belongs to."""
    query: QueryClass = subject.item
    if query.entities_per_request > 1:
        return Known(query.entities_per_request, Basis.DECLARED)
    largest = max((n for t in _sets_of(subject) if (n := _largest_set(t, subject.view)) is not None), default=None)
    return None if largest is None else Known(float(largest), Basis.COUNTED)


def batch_declared(subject: Subject) -> bool:
    query: QueryClass = subject.item
    return query.entities_per_request > 1


def batch_set(subject: Subject) -> str | None:
    """The declared transaction that the write belongs to."""
    return next((t.name for t in _sets_of(subject)), None)


def batch_required(subject: Subject) -> bool:
    return any(t.required for t in _sets_of(subject))


def batch_rows(subject: Subject) -> Known | None:
    """Rows of one batch: entities with those of their index rows that lie beside them."""
    found = batch_entities(subject)
    return None if found is None else Known(float(found.value) * _rows_beside(subject.view), found.basis)  # type: ignore[arg-type]


def batch_bytes(subject: Subject) -> Known | None:
    """Bytes of the properties in one batch, at least."""
    rows, each = batch_rows(subject), request_bytes(subject.view)
    if rows is None or each is None:
        return None
    copies = _full_beside(subject.view) / _rows_beside(subject.view)
    return Known(float(rows.value) * copies * float(each.value), each.basis)  # type: ignore[arg-type]


def batch_share(subject: Subject) -> float | None:
    """Rows and bytes of a batch in shares of what one group transaction takes: the larger of the two."""
    limits, rows, size = subject.view.limits, batch_rows(subject), batch_bytes(subject)
    if rows is None:
        return None
    by_rows = float(rows.value) / limits.group_transaction_entities  # type: ignore[arg-type]
    by_bytes = float(size.value) / limits.group_transaction_bytes if size is not None else 0.0  # type: ignore[arg-type]
    return max(by_rows, by_bytes)


def batch_entities_most(subject: Subject) -> float | None:
    """Entities that one group transaction can take by their bytes; unknown without sizes."""
    each = request_bytes(subject.view)
    if each is None or not each.value:
        return None
    size = float(each.value) * _full_beside(subject.view)  # type: ignore[arg-type]
    return float(max(1, int(subject.view.limits.group_transaction_bytes / size)))


def batched(subject: Subject) -> bool:
    """Whether the write is part of batches: several entities a request, or a declared transaction."""
    return batch_declared(subject) or batch_set(subject) is not None


def write_entity_bytes(subject: Subject) -> Known | None:
    return request_bytes(subject.view)


def _sets_of(subject: Subject) -> list[Transaction]:
    """Transactions told at this write: those of which it is the first."""
    query: QueryClass = subject.item
    return [t for t in subject.view.workload.transactions if t.together[0] == query.name and t.logged_entities is None]


def _largest_set(found: Transaction, view: TableView) -> int | None:
    """Entities of the largest set in the data; unknown where it holds none of what sets have in common."""
    if not view.has_data or view.bench is None:
        return None
    population = view.bench.population
    names = [p for p in found.group_by if population.has(p)]
    if len(names) < len(found.group_by):
        return None
    exact = population.exact(names)
    counts = population.counts([("p", p) for p in names]) if exact is None else exact.sizes
    return int(counts.max(initial=0)) or None


def _rows_beside(view: TableView) -> int:
    """Rows of an entity that change in one group transaction with it."""
    scheme = view.scheme
    return 1 if scheme is None else 1 + sum(scheme.same_partition(row) for row in scheme.index_rows)


def _full_beside(view: TableView) -> int:
    scheme = view.scheme
    if scheme is None:
        return 1
    return 1 + sum(scheme.same_partition(row) and row.copy == "full" for row in scheme.index_rows)


# --- index rows -----------------------------------------------------------------------------------------------------


def same_partition(subject: Subject) -> bool | None:
    row: IndexRow = subject.item
    scheme = subject.view.scheme
    return None if scheme is None else scheme.same_partition(row)


def copy(subject: Subject) -> str:
    row: IndexRow = subject.item
    return row.copy


def missing_target(subject: Subject) -> tuple[str, ...]:
    """Properties of the entity's RowKey that nothing in the index row's key tells: what makes the entity its own.

    A hash, a period or a beginning tells a property only where the entity's key has the same part.
    """
    row: IndexRow = subject.item
    scheme = subject.view.scheme
    if scheme is None:
        return ()
    main = scheme.main.row if _properties(scheme.main.row) else scheme.main.partition
    own = (*scheme.main.partition, *scheme.main.row)
    parts = (*row.key.partition, *row.key.row)
    if any(isinstance(p, Sequence) for p in (*own, *parts)):
        return ()
    told = {
        name
        for p in parts
        for name in p.properties
        if not isinstance(p, Each) and (p.injective or isinstance(p, Lower) or p in own)
    }
    # An identifier made to be unique in the world is as good as the whole key.
    if any(subject.view.types.get(name) is EdmType.GUID for name in told & {*scheme.main.properties}):
        return ()
    return tuple(n for n in _properties(main) if n not in told)


def listed_by(subject: Subject) -> tuple[str, ...]:
    """Queries that name everything the index row's key is made of, and yet want several entities of it."""
    row: IndexRow = subject.item
    names = set(row.key.properties)
    found = []
    for query in subject.view.workload.classes:
        if query.operation is not Operation.QUERY or query.filter is None or query.top == 1:
            continue
        wanted = conditions(query.filter)
        if names and names <= wanted.equal.keys() and (query.order_by or (query.top or 1) > 1):
            found.append(query.name)
    return tuple(found)


def collisions(subject: Subject) -> float | None:
    """Entities of the data whose index row has the key of another's; unknown without data and for rows per value."""
    view, row = subject.view, subject.item
    if not view.has_data or view.bench is None or any(isinstance(p, Each) for p in (*row.key.partition, *row.key.row)):
        return None
    import numpy as np

    from pkadvisor.design.class_cost import has_row
    from pkadvisor.design.population import atoms_of

    population = view.bench.population
    assert view.scheme is not None
    if population.surplus(atoms_of((*view.scheme.main.partition, *view.scheme.main.row))):
        return None  # entities that share their own key share every other
    there = has_row(row.key, row, population)[: population.rows] > 0
    ids, _ = population.groups(atoms_of((*row.key.partition, *row.key.row)))
    mine = ids[: population.rows][there]
    return float(len(mine) - len(np.unique(mine)))


def serves(subject: Subject) -> tuple[str, ...] | None:
    """Classes for which no other key is better in every way; unknown where no query is declared or logged.

    An index row belongs to all kinds of a table: what any of them asks counts.
    """
    row: IndexRow = subject.item
    views = [t for t in subject.design.tables if t.section.table == subject.view.section.table]
    classes = [(v, c) for v in views for c in v.workload.classes]
    if not any(c.operation is Operation.QUERY for _, c in classes):
        return None
    found = []
    for view, query in classes:
        if view.scheme is None:
            continue
        plans = view.plans_under(query, view.scheme)
        via = 1 + next(i for i, other in enumerate(view.scheme.index_rows) if other == row)
        mine = [_merits(p) for p in plans if p.via == via and p.access is not Access.TABLE_SCAN]
        others = [_merits(p) for p in plans if p.via < via]
        if any(not any(_as_good(other, one) for other in others) for one in mine):
            found.append(query.name)
    return tuple(dict.fromkeys(found))


def chosen_for(subject: Subject) -> tuple[str, ...] | None:
    """With data, classes whose cheapest plan goes through the row; unknown where a kind of the table cannot be
    priced."""
    row: IndexRow = subject.item
    views = [t for t in subject.design.tables if t.section.table == subject.view.section.table]
    if not all(v.has_data and v.estimate is not None for v in views):
        return None
    found = []
    for view in views:
        assert view.estimate is not None and view.scheme is not None
        via = 1 + next(i for i, other in enumerate(view.scheme.index_rows) if other == row)
        found += [c.name for c in view.estimate.classes if c.plan is not None and c.plan.via == via]
    return tuple(found)


def row_writes_per_s(subject: Subject) -> float | None:
    """Index rows that inserts alone make a second, mean."""
    found = [c for c in subject.view.workload.classes if c.operation in INSERTS]
    total = sum(c.rate.mean_per_s * c.entities_per_request for c in found)
    return total if total > 0 else None


def _merits(found: AccessPlan) -> tuple[float, ...]:
    """What makes one way to an answer better than another, smaller being better."""
    order = 0.0 if found.order_served else 1.0
    asked = float(found.buckets + (found.periods is not None))
    return (float(found.access.rank), asked, float(len(found.unserved)), order)


def _as_good(other: tuple[float, ...], one: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(other, one, strict=True))


# --- contended entities ---------------------------------------------------------------------------------------------


def read_modify_write(subject: Subject) -> bool:
    query: QueryClass = subject.item
    return query.read_modify_write


def hottest_entity_per_s(subject: Subject) -> Known | None:
    """Read-modify-writes a second of the entity that is changed most, at the peak.

    Without data it is known where the key or the filter names one entity, or, as the least that it can be, where the
    number of entities is declared.
    """
    query: QueryClass = subject.item
    view = subject.view
    if not query.read_modify_write or query.rate.mean_per_s <= 0:
        return None
    if view.has_data and view.bench is not None:
        from pkadvisor.design.entity_rates import entity_rates

        found = entity_rates(view.bench).get(query.name)
        if found is not None:
            return Known(found.hottest_per_s, Basis.ESTIMATED)
    rate = query.rate.sustained_per_s
    if _one_entity(query, view):
        return Known(rate, Basis.DECLARED)
    total = _declared_entities(view)
    return Known(rate / total, Basis.DERIVED) if total and query.filter is not None else None


def commits_per_s_max(subject: Subject) -> float | None:
    """Commits of one entity a second, each after the read that follows the commit before; only for writes that read."""
    if not read_modify_write(subject):
        return None
    from pkadvisor.design.contention import contention

    return contention(0.0, subject.view.limits).commits_per_s_max


def commits_per_s_comfortable(subject: Subject) -> float | None:
    most = commits_per_s_max(subject)
    if most is None:
        return None
    from pkadvisor.design.contention import COMFORTABLE_LOAD

    return COMFORTABLE_LOAD * most


def attempts_per_commit(subject: Subject) -> float | None:
    """Unknown where no number of attempts commits them all."""
    found = hottest_entity_per_s(subject)
    if found is None:
        return None
    from pkadvisor.design.contention import contention

    return contention(float(found.value), subject.view.limits).attempts_per_commit  # type: ignore[arg-type]


def _one_entity(query: QueryClass, view: TableView) -> bool:
    """Whether every request is for the same entity: the key has no variable part, or the filter names constants."""
    from pkadvisor.table.odata import Parameter

    scheme = view.scheme
    if scheme is None:
        return False
    parts = [p for p in (*scheme.main.partition, *scheme.main.row) if not isinstance(p, Literal)]
    equal = conditions(query.filter).equal if query.filter is not None else {}
    names = _properties(parts)
    if any(isinstance(p, Sequence) for p in parts):
        return False
    return all(name in equal and not isinstance(equal[name], Parameter) for name in names)


def _declared_entities(view: TableView) -> int | None:
    declared = view.section.declared
    if declared is None:
        return None
    kind = next((k for k in declared.kinds if k.name == view.section.kind), None)
    return kind.entities_total if kind is not None else declared.entities_total


def _properties(parts: Iterable[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.properties))


def _sure(name: str, type_: FactType, unit: str, about: str, compute: object, **more: object) -> Fact:
    """A fact that is always known."""
    return Fact(name, type_, unit, about, compute, may_be_unknown=False, **more)  # type: ignore[arg-type]


BOOL, NUMBER, TEXT, TEXTS = FactType.BOOL, FactType.NUMBER, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    _sure(
        "table.consistency_stated", BOOL, "", "Whether the design says how copies are kept right.", consistency_stated
    ),
    _sure("transaction.required", BOOL, "", "Whether a design that breaks it is refused.", required),
    _sure("transaction.together", TEXTS, "", "The writes that belong together.", together),
    _sure("transaction.group_by", TEXTS, "", "What the entities of a set have in common.", group_by),
    Fact(
        "transaction.open_properties",
        TEXTS,
        "",
        "Properties of the PartitionKey in which the entities of a set may differ.",
        open_properties,
        Basis.DERIVED,
    ),
    Fact(
        "transaction.one_partition",
        BOOL,
        "",
        "Whether the entities of a set always share their PartitionKey.",
        one_partition,
        Basis.DERIVED,
    ),
    Fact(
        "transaction.written_twice",
        BOOL,
        "",
        "Whether each set is a single entity that several writes change.",
        written_twice,
        Basis.DERIVED,
    ),
    _sure("write.batched", BOOL, "", "Whether it is sent in group transactions.", batched),
    Fact("write.batch_entities", NUMBER, "entities", "Entities of its largest batch.", batch_entities),
    _sure("write.batch_declared", BOOL, "", "Whether the design says how many a request has.", batch_declared),
    _sure("write.batch_required", BOOL, "", "Whether its transaction must be one batch.", batch_required),
    Fact("write.batch_set", TEXT, "", "The transaction that it belongs to.", batch_set),
    Fact("write.batch_rows", NUMBER, "rows", "Rows of that batch, index rows beside them included.", batch_rows),
    Fact("write.batch_bytes", NUMBER, "bytes", "Bytes of the properties in that batch, at least.", batch_bytes),
    Fact(
        "write.batch_share",
        NUMBER,
        "share",
        "Rows or bytes of that batch, whichever is more, in shares of one group transaction.",
        batch_share,
        Basis.DERIVED,
    ),
    Fact(
        "write.batch_entities_most",
        NUMBER,
        "entities",
        "Entities that fit one group transaction by their bytes.",
        batch_entities_most,
        Basis.DERIVED,
    ),
    Fact("write.entity_bytes", NUMBER, "bytes", "Bytes of one entity's properties in a request.", write_entity_bytes),
    Fact("index_row.same_partition", BOOL, "", "Whether it lies beside its entity.", same_partition, Basis.DERIVED),
    _sure("index_row.copy", TEXT, "", "full or pointer.", copy),
    _sure(
        "index_row.missing_target",
        TEXTS,
        "",
        "Properties of the entity's RowKey that its key lacks.",
        missing_target,
        basis=Basis.DERIVED,
    ),
    _sure(
        "index_row.listed_by",
        TEXTS,
        "",
        "Queries that want several entities of one key of it.",
        listed_by,
        basis=Basis.DERIVED,
    ),
    Fact(
        "index_row.collisions",
        NUMBER,
        "entities",
        "Entities of the data whose index row has the key of another's.",
        collisions,
        Basis.COUNTED,
    ),
    Fact("index_row.serves", TEXTS, "", "Classes that it helps.", serves, Basis.DERIVED),
    Fact("index_row.chosen_for", TEXTS, "", "Classes that are cheapest through it.", chosen_for, Basis.ESTIMATED),
    Fact("index_row.writes_per_s", NUMBER, "rows/s", "Rows that inserts make a second, mean.", row_writes_per_s),
    _sure("write.read_modify_write", BOOL, "", "Whether it reads, changes and writes.", read_modify_write),
    Fact(
        "write.hottest_entity_per_s",
        NUMBER,
        "updates/s",
        "Updates a second of the entity that is changed most, at the peak.",
        hottest_entity_per_s,
    ),
    Fact(
        "write.commits_per_s_max",
        NUMBER,
        "commits/s",
        "Commits that one entity can take.",
        commits_per_s_max,
        Basis.DERIVED,
    ),
    Fact(
        "write.commits_per_s_comfortable",
        NUMBER,
        "commits/s",
        "Commits of one entity at which few attempts fail.",
        commits_per_s_comfortable,
        Basis.DERIVED,
    ),
    Fact("write.attempts_per_commit", NUMBER, "attempts", "Attempts that a commit takes.", attempts_per_commit),
)
