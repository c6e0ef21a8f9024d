"""Facts of writes: group transactions, index rows, and entities that many change at once."""

from __future__ import annotations

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.load.counting import keeps_together
from pkadvisor.design.plan.requests import repair_of
from pkadvisor.design.rows.sets.pairs import Guarantee
from pkadvisor.observe.workload import Basis, QueryClass, Transaction
from pkadvisor.review.facts.base import Fact, KnownValue, number, sure
from pkadvisor.review.facts.queries import UNEVEN
from pkadvisor.review.facts.sizes import request_bytes
from pkadvisor.review.views.drawn_loads import asked_entity_share
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import declared_entities
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.odata import Parameter


def consistency_stated(subject: Subject) -> bool:
    """Whether the design says how copies are kept right."""
    declared = subject.view.section.declared
    return bool(declared is not None and declared.consistency)


# --- transactions ---------------------------------------------------------------------------------------------------


def required(subject: Subject) -> bool:
    """Whether a design that breaks it is refused."""
    return subject.transaction.required


def together(subject: Subject) -> tuple[str, ...]:
    """The writes that belong together."""
    return subject.transaction.together


def group_by(subject: Subject) -> tuple[str, ...]:
    """What the entities of a set have in common."""
    return subject.transaction.group_by


def pair(subject: Subject) -> str | None:
    """The property of whose values two belong together."""
    return None if subject.transaction.pair is None else subject.transaction.pair.property


def pairs_in_one(subject: Subject) -> KnownValue | None:
    """Share of the pairs that the PartitionKey keeps in one partition by rule.

    Unknown without keys, and without data for a key that reads more than constants.
    """
    scheme = subject.view.scheme
    if subject.transaction.pair is None or scheme is None:
        return None
    if not part_properties(scheme.main.partition):
        return KnownValue(1.0, Basis.DERIVED)
    guaranteed = _guaranteed(subject)
    if guaranteed is None:  # two values of a property that leads the key are two PartitionKeys
        apart = any(p.injective and p.properties == (subject.transaction.pair.property,) for p in scheme.main.partition)
        return KnownValue(0.0, Basis.DERIVED) if apart else None
    return KnownValue(guaranteed.share, guaranteed.basis)


def _guaranteed(subject: Subject) -> Guarantee | None:
    estimate = subject.view.estimate if subject.view.has_data else None
    outcomes = estimate.transactions if estimate is not None else ()
    return next((t.guaranteed for t in outcomes if t.name == subject.item.name), None)


def repair(subject: Subject) -> str | None:
    """The rows that complete a pair in two partitions."""
    scheme, view = subject.view.scheme, subject.view
    steps = None if scheme is None else repair_of(subject.item, scheme, view.workload, view.limits)
    return None if steps is None else ", then ".join(steps.steps)


def open_properties(subject: Subject) -> tuple[str, ...] | None:
    """Properties of the PartitionKey in which the entities of a set may differ.

    With data those that its rows do not fix.

    Unknown without keys, for pairs, and for groups of a log, which were accepted.
    """
    transaction = subject.transaction
    if transaction.logged_entities is not None or transaction.pair is not None:
        return None
    out: list[str] = []
    for view in _views_of_set(subject):
        if view.scheme is None:
            return None
        partition = view.scheme.main.partition
        names = part_properties(p for p in partition if not set(p.properties) <= set(transaction.group_by))
        if names and view.has_data and view.bench is not None:
            names = () if keeps_together(transaction, partition, view.bench.population) else names
        out += (n for n in names if n not in transaction.group_by)
    return tuple(dict.fromkeys(out))


def kinds_apart(subject: Subject) -> str | None:
    """The kinds of a set and their PartitionKeys, where these differ.

    None where they are.
    """
    views = _views_of_set(subject)
    keys = {view.section.kind: view.raw_text(0, True) or "''" for view in views if view.scheme is not None}
    return ", ".join(f"{kind} under {key}" for kind, key in keys.items()) if len(set(keys.values())) > 1 else None


def _views_of_set(subject: Subject) -> tuple[TableView, ...]:
    """The table that a set writes, or each kind of it that has one of the writes."""
    declared = subject.view.section.declared
    if declared is None or subject.view.section.kind is None:
        return (subject.view,)
    kinds = {c.kind for c in declared.workload.classes if c.name in subject.item.together}
    beside = (v for v in subject.design.tables if v.section.table == subject.view.section.table)
    return tuple(v for v in beside if v.section.kind in kinds)


def one_partition(subject: Subject) -> bool | None:
    """Whether the entities of a set always share their PartitionKey.

    A number that counts up never is one.
    """
    names = open_properties(subject)
    if names is None:
        return None
    keys = [view.scheme.main.partition for view in _views_of_set(subject) if view.scheme is not None]
    return not names and kinds_apart(subject) is None and not any(p.assigned for key in keys for p in key)


def written_twice(subject: Subject) -> bool | None:
    """Whether each set is a single entity that several writes change.

    What it has in common is the entity's whole key.
    """
    transaction = subject.transaction
    scheme = subject.view.scheme
    if scheme is None:
        return None
    parts = (*scheme.main.partition, *scheme.main.row)
    named = bool(scheme.main.row) and not any(p.assigned for p in parts)
    kinds = [c.kind for c in subject.view.workload.classes if c.name in transaction.together]
    one_kind = len(kinds) == len(transaction.together) and len(set(kinds)) == 1
    return named and len(kinds) > 1 and one_kind and set(scheme.main.properties) <= set(transaction.group_by)


# --- batches --------------------------------------------------------------------------------------------------------


def batch_entities(subject: Subject) -> KnownValue | None:
    """Entities of its largest batch.

    As declared, or with data those of the largest set that the write belongs to.
    """
    if subject.query.entities_per_request > 1:
        return KnownValue(subject.query.entities_per_request, Basis.DECLARED)
    largest = max((n for t in _sets_of(subject) if (n := _largest_set(t, subject.view)) is not None), default=None)
    return None if largest is None else KnownValue(float(largest), Basis.COUNTED)


def batch_declared(subject: Subject) -> bool:
    """Whether the design says how many a request has."""
    return subject.query.entities_per_request > 1


def batch_set(subject: Subject) -> str | None:
    """The transaction that it belongs to."""
    return next((t.name for t in _sets_of(subject)), None)


def batch_required(subject: Subject) -> bool:
    """Whether its transaction must be one batch."""
    return any(t.required for t in _sets_of(subject))


def batch_rows(subject: Subject) -> KnownValue | None:
    """Rows of that batch, index rows beside them included.

    Entities with those of their index rows that lie beside them.
    """
    fact = batch_entities(subject)
    return None if fact is None else KnownValue(number(fact) * _rows_beside(subject.view), fact.basis)


def batch_bytes(subject: Subject) -> KnownValue | None:
    """Bytes of the properties in that batch, at least."""
    rows, each = batch_rows(subject), request_bytes(subject.view)
    if rows is None or each is None:
        return None
    copies = _full_beside(subject.view) / _rows_beside(subject.view)
    return KnownValue(number(rows) * copies * number(each), each.basis)


def batch_share(subject: Subject) -> float | None:
    """Rows or bytes of that batch, whichever is more, in shares of one group transaction.

    The larger of the two.
    """
    limits, rows, size = subject.view.limits, batch_rows(subject), batch_bytes(subject)
    if rows is None:
        return None
    by_rows = number(rows) / limits.group_transaction_entities
    by_bytes = number(size) / limits.group_transaction_bytes if size is not None else 0.0
    return max(by_rows, by_bytes)


def batch_entities_most(subject: Subject) -> float | None:
    """Entities that fit one group transaction by their bytes.

    Unknown without sizes.
    """
    each = request_bytes(subject.view)
    if each is None or not each.value:
        return None
    size = number(each) * _full_beside(subject.view)
    return float(max(1, int(subject.view.limits.group_transaction_bytes / size)))


def batched(subject: Subject) -> bool:
    """Whether it is sent in group transactions.

    Whether the write is part of batches: several entities a request, or a declared transaction.
    """
    return batch_declared(subject) or batch_set(subject) is not None


def write_entity_bytes(subject: Subject) -> KnownValue | None:
    """Bytes of one entity's properties in a request."""
    return request_bytes(subject.view)


def _sets_of(subject: Subject) -> list[Transaction]:
    """Transactions told at this write: those of which it is the first."""
    return [t for t in subject.view.workload.transactions if t.together[0] == subject.query.name and t.entities is None]


def _largest_set(transaction: Transaction, view: TableView) -> int | None:
    """Entities of the largest set in the data; unknown of pairs, and without what sets share."""
    if not view.has_data or view.bench is None or transaction.pair is not None:
        return None
    population = view.bench.population
    names = [p for p in transaction.group_by if population.has(p)]
    if len(names) < len(transaction.group_by):
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


# --- contended entities ---------------------------------------------------------------------------------------------


def read_modify_write(subject: Subject) -> bool:
    """Whether it reads, changes and writes."""
    return subject.query.read_modify_write


def hottest_entity_per_s(subject: Subject) -> KnownValue | None:
    """Updates a second of the entity that is changed most, at the peak.

    Without data it is known where the key or the filter names one entity, or, as the least that it can be, where
    the number of entities is declared, or a draw that prefers one.
    """
    query = subject.query
    view = subject.view
    if not query.read_modify_write or query.rate.mean_per_s <= 0:
        return None
    if view.has_data and view.bench is not None:
        from pkadvisor.design.cost.entity_rates import entity_rates

        rates = entity_rates(view.bench).get(query.name)
        if rates is not None:
            return KnownValue(rates.hottest_per_s, Basis.ESTIMATED)
    rate = query.rate.sustained_per_s
    if _one_entity(query, view):
        return KnownValue(rate, Basis.DECLARED)
    total = declared_entities(view)
    least = max(1 / total if total else 0.0, asked_entity_share(query, view))
    return KnownValue(rate * least, Basis.DERIVED) if least and query.filter is not None else None


def uneven_entity_per_s(subject: Subject) -> float | None:
    """The same if uneven, draw not said.

    The same where nobody says how the writes are drawn, if one entity takes ``UNEVEN`` times its even share.
    """
    query, view = subject.item, subject.view
    total = declared_entities(view)
    if not query.read_modify_write or query.draw.stated or view.has_data or not total or _one_entity(query, view):
        return None
    return float(query.rate.sustained_per_s * min(1.0, UNEVEN / total))


def commits_per_s_max(subject: Subject) -> float | None:
    """Commits of one entity that are served; of more, clients give some up.

    Only for writes that read.
    """
    if not read_modify_write(subject):
        return None
    from pkadvisor.design.load.contention import contention

    return contention(0.0, subject.view.limits).commits_per_s_served


def commits_per_s_comfortable(subject: Subject) -> float | None:
    """Commits of one entity at which few attempts fail."""
    if not read_modify_write(subject):
        return None
    from pkadvisor.design.load.contention import COMFORTABLE_LOAD, contention

    return COMFORTABLE_LOAD * contention(0.0, subject.view.limits).commits_per_s_max


def attempts_per_commit(subject: Subject) -> float | None:
    """Attempts that a commit takes.

    Unknown where no number of attempts commits them all.
    """
    fact = hottest_entity_per_s(subject)
    if fact is None:
        return None
    from pkadvisor.design.load.contention import contention

    return contention(number(fact), subject.view.limits).attempts_per_commit


def _one_entity(query: QueryClass, view: TableView) -> bool:
    """Whether every request is for the same entity: the key has no variable part, or the filter names constants."""
    scheme = view.scheme
    if scheme is None:
        return False
    parts = variable((*scheme.main.partition, *scheme.main.row))
    equal = conditions(query.filter).equal if query.filter is not None else {}
    names = part_properties(parts)
    if any(p.assigned for p in parts):
        return False
    return all(name in equal and not isinstance(equal[name], Parameter) for name in names)


BOOL, NUMBER, TEXT, TEXTS = FactType.BOOL, FactType.NUMBER, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    sure("table.consistency_stated", BOOL, "", consistency_stated),
    sure("transaction.required", BOOL, "", required),
    Fact("transaction.pair", TEXT, "", pair),
    Fact("transaction.pairs_in_one", NUMBER, "share", pairs_in_one, Basis.COUNTED),
    Fact("transaction.repair", TEXT, "", repair, Basis.DERIVED),
    sure("transaction.together", TEXTS, "", together),
    sure("transaction.group_by", TEXTS, "", group_by),
    Fact("transaction.open_properties", TEXTS, "", open_properties, Basis.DERIVED),
    Fact("transaction.kinds_apart", TEXT, "", kinds_apart, Basis.DERIVED),
    Fact("transaction.one_partition", BOOL, "", one_partition, Basis.DERIVED),
    Fact("transaction.written_twice", BOOL, "", written_twice, Basis.DERIVED),
    sure("write.batched", BOOL, "", batched),
    Fact("write.batch_entities", NUMBER, "entities", batch_entities),
    sure("write.batch_declared", BOOL, "", batch_declared),
    sure("write.batch_required", BOOL, "", batch_required),
    Fact("write.batch_set", TEXT, "", batch_set),
    Fact("write.batch_rows", NUMBER, "rows", batch_rows),
    Fact("write.batch_bytes", NUMBER, "bytes", batch_bytes),
    Fact("write.batch_share", NUMBER, "share", batch_share, Basis.DERIVED),
    Fact("write.batch_entities_most", NUMBER, "entities", batch_entities_most, Basis.DERIVED),
    Fact("write.entity_bytes", NUMBER, "bytes", write_entity_bytes),
    sure("write.read_modify_write", BOOL, "", read_modify_write),
    Fact("write.hottest_entity_per_s", NUMBER, "updates/s", hottest_entity_per_s),
    Fact("write.commits_per_s_max", NUMBER, "commits/s", commits_per_s_max, Basis.DERIVED),
    Fact("write.commits_per_s_comfortable", NUMBER, "commits/s", commits_per_s_comfortable, Basis.DERIVED),
    Fact("write.uneven_entity_per_s", NUMBER, "updates/s", uneven_entity_per_s),
    Fact("write.attempts_per_commit", NUMBER, "attempts", attempts_per_commit),
)
