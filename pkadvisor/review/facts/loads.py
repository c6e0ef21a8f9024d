"""Facts of the load: how often a table is written and read, and where it falls."""

from __future__ import annotations

from pkadvisor.design.load.estimates import ClassCost
from pkadvisor.design.plan.caller import rows_written
from pkadvisor.observe.workload import Basis, QueryClass
from pkadvisor.review.facts.base import Fact, KnownValue, number
from pkadvisor.review.facts.fronts import is_one_partition
from pkadvisor.review.facts.queries import one_small_partition
from pkadvisor.review.views import drawn_loads, partition_reads
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.findings import often_text, rows_looked_at
from pkadvisor.review.views.key_loads import INSERTS, at_peak, rated, read_first
from pkadvisor.review.views.subjects import Scope, Subject, subjects_of_design
from pkadvisor.review.views.views import TableView


def insert_entities_per_s(subject: Subject) -> float | None:
    """Rows inserted or upserted a second at the peak, index rows included.

    Unknown where no insert is declared or logged.
    """
    view = subject.view
    rows = view.scheme.rows_per_entity if view.scheme else 1
    per_class = {
        c.name: rows * c.rate.sustained_per_s * c.entities_per_request for c in rated(view) if c.operation in INSERTS
    }
    return at_peak(view, per_class) if per_class else None


def load_entities_per_s(subject: Subject) -> KnownValue | None:
    """Entities read and written a second at the peak; without data at the least: a read counts as one.

    Entities a second of the whole table: with data those that the estimate counts, else at the least.
    """
    view = subject.view
    if view.has_data and view.estimate is not None:
        live = [c for c in view.estimate.classes if not c.analytic]
        each = {c.name: c.peak_per_s * (c.entities_read + c.entities_written) for c in live}
        return KnownValue(at_peak(view, each), Basis.ESTIMATED)
    per_s = least_load_entities_per_s(subject)
    return None if per_s is None else KnownValue(per_s, Basis.DECLARED)


def least_load_entities_per_s(subject: Subject) -> float | None:
    """Entities read and written a second at the peak if every read found its entity at once."""
    view = subject.view
    per_class = {c.name: c.rate.sustained_per_s * _entities_of(c, view) for c in rated(view)}
    return at_peak(view, per_class) if per_class else None


def _entities_of(query: QueryClass, view: TableView) -> float:
    rows = sum(rows_written(query, view.scheme).values()) if view.scheme and query.operation.writes else 1
    return query.entities_per_request * rows + read_first(query, view)


def _heaviest(subject: Subject) -> ClassCost | None:
    """The class that makes more than half of the load, every class at its peak; None where none does."""
    estimate = subject.view.estimate if subject.view.has_data else None
    live = [c for c in estimate.classes if not c.analytic] if estimate is not None else []
    loads = [c.peak_per_s * (c.entities_read + c.entities_written) for c in live]
    return next((c for c, load in zip(live, loads, strict=True) if 2 * load > sum(loads)), None)


def heaviest_class(subject: Subject) -> str | None:
    """The class that makes more than half of the entities read and written a second."""
    class_cost = _heaviest(subject)
    return class_cost.name if class_cost is not None else None


def heaviest_entities(subject: Subject) -> float | None:
    """Entities that one request of the heaviest class reads and writes."""
    class_cost = _heaviest(subject)
    return class_cost.entities_read + class_cost.entities_written if class_cost is not None else None


def writes(subject: Subject) -> bool:
    """Whether any class writes."""
    return any(c.operation.writes for c in subject.view.workload.classes)


def retry(subject: Subject) -> str | None:
    """The declared retry policy: none, fixed or exponential."""
    declared = subject.view.section.declared
    return declared.retry if declared is not None else None


# -- the hottest partition, with data ---------------------------------------------------------------------------------


def hottest_share(subject: Subject) -> KnownValue | None:
    """Load of the hottest partition at the peak, in shares of the target of one partition."""
    estimate = subject.view.estimate
    if estimate is None or estimate.hot is None:
        return None
    return KnownValue(estimate.hot.entities_per_s / subject.view.limits.partition_entities_per_s, Basis.ESTIMATED)


def estimated_from(subject: Subject) -> str | None:
    """The part of the rows that estimates rest on."""
    return rows_looked_at(subject.view.population)


def hottest_key(subject: Subject) -> str | None:
    """PartitionKey of the hottest partition.

    The template where no row at hand lies in it. None where a profile hides what keys are made of.
    """
    view = subject.view
    estimate = view.estimate
    if estimate is None or estimate.hot is None or view.bench is None:
        return None
    made_of = {name for key, _ in estimate.scheme.each_key() for part in key.partition for name in part.properties}
    return None if made_of & set(view.bench.population.hashed) else estimate.hot.partition_key


def hottest_load_share(subject: Subject) -> float | None:
    """Share of the table's load that the hottest partition takes.

    Of the load at hand, or of that of the whole table where that is less: a sample may lack other keys.
    """
    estimate, total = subject.view.estimate, load_entities_per_s(subject)
    if estimate is None or estimate.hot is None or total is None or not number(total):
        return None
    return min(estimate.hot.share, estimate.hot.entities_per_s / number(total))


def hottest_is_constant(subject: Subject) -> bool:
    """Whether the hottest partition is that of a constant PartitionKey."""
    estimate = subject.view.estimate
    if estimate is None or estimate.hot is None:
        return False
    return any(is_one_partition(key.partition, estimate.hot.partition_key) for key, _ in estimate.scheme.each_key())


def hottest_entity_share(subject: Subject) -> float | None:
    """Load of the hottest entity at the peak, in shares of the target of one partition.

    The load of the hottest entity that requests name by its whole key ÷ the target of a partition.

    Without data at the least, where constants name one.
    """
    loads = [load] if (load := partition_reads.entity_per_s(subject.view)) is not None else []
    if subject.view.has_data and subject.view.estimate is not None:
        from pkadvisor.design.load.breaks import ENTITY

        loads += [b.measured for b in subject.view.estimate.breaks if b.cause == ENTITY][:1]
    return max(loads) / subject.view.limits.partition_entities_per_s if loads else None


def named_partition_share(subject: Subject) -> float | None:
    """Requests at the peak for the one partition that filters name most by constants, in shares of its target."""
    load = partition_reads.partition_per_s(subject.view)
    return None if load is None else load / subject.view.limits.partition_entities_per_s


def drawn_partition_share(subject: Subject) -> float | None:
    """Requests at the peak for the partition that the declared draws ask for most, at the least, in shares of its
    target.
    """
    load = drawn_loads.drawn_partition_per_s(subject.view)
    return None if load is None else load / subject.view.limits.partition_entities_per_s


def undecided_per_s(subject: Subject) -> float | None:
    """Requests at the peak that go to one partition each, more than one takes, where nobody says how they spread."""
    missing = drawn_loads.missing_fact(subject.view)
    return None if missing is None else missing.per_s


def undecided_share(subject: Subject) -> float | None:
    """The share of that load with which one partition passes its target."""
    load = undecided_per_s(subject)
    return None if load is None else subject.view.limits.partition_entities_per_s / load


def undecided_for(subject: Subject) -> str | None:
    """The fact that is missing to say how they spread."""
    missing = drawn_loads.missing_fact(subject.view)
    return None if missing is None else missing.fact


def hottest_is_entity(subject: Subject) -> bool:
    """Whether one entity alone makes the hottest partition hot.

    Whether the hottest partition takes hardly more than its hottest entity: then no key helps it.
    """
    from pkadvisor.design.cost.heat_findings import ALONE

    partition, entity = hottest_share(subject), hottest_entity_share(subject)
    return partition is not None and entity is not None and number(partition) <= ALONE * entity


def skew(subject: Subject) -> float | None:
    """Load of the hottest partition in times of its fair share."""
    share, count = hottest_load_share(subject), hottest_partitions(subject)
    return share * count if share is not None and count is not None and count > 1 else None


def hottest_partitions(subject: Subject) -> float | None:
    """Partitions under the PartitionKey of the hottest one."""
    estimate = subject.view.estimate
    if estimate is None or estimate.hot is None:
        return None
    return float(
        estimate.hot.partitions if estimate.scheme.index_rows else max(estimate.partitions, estimate.hot.partitions)
    )


# -- reads of whole partitions without data: what the declared numbers say, and which of them is missing ---------------


def drawn_most_share(subject: Subject) -> float | None:
    """Entities at the peak that the declared draws ask of one partition if each request finds all that it wants, in
    shares of its target.
    """
    load = partition_reads.drawn_most_per_s(subject.view)
    return None if load is None else load / subject.view.limits.partition_entities_per_s


def named_most_share(subject: Subject) -> float | None:
    """Entities at the peak that filters ask of the one partition that they name most by constants, if each request
    finds all that it wants, in shares of its target.
    """
    load = partition_reads.named_most_per_s(subject.view)
    return None if load is None else load / subject.view.limits.partition_entities_per_s


def even_share(subject: Subject) -> float | None:
    """Load at the peak of each partition if the declared entities and requests are even, in shares of its target."""
    load = partition_reads.even_per_s(subject.view)
    return None if load is None else load / subject.view.limits.partition_entities_per_s


def _unsized(subject: Subject) -> partition_reads.Unsized | None:
    if subject.view.has_data:
        return None
    own = [s for s in subjects_of_design(subject.design) if s.scope is Scope.QUERY and s.table is subject.table]
    return partition_reads.unsized(subject.view, frozenset(s.name for s in own if one_small_partition(s)))


def unsized_query(subject: Subject) -> str | None:
    """A query that reads whole partitions of undeclared size."""
    return None if (unsized := _unsized(subject)) is None else unsized.query


def unsized_per_s(subject: Subject) -> float | None:
    """Requests of that query at the peak that go to one partition."""
    return None if (unsized := _unsized(subject)) is None else unsized.per_s


def even_heaviest(subject: Subject) -> str | None:
    """The class that makes more than half of it."""
    return partition_reads.even_heaviest(subject.view)


def even_rows(subject: Subject) -> str | None:
    """The PartitionKey of the index rows that take it."""
    return partition_reads.even_rows(subject.view)


def unsized_often(subject: Subject) -> str | None:
    """The same in words: at least or up to so many times a second."""
    if (unsized := _unsized(subject)) is None:
        return None
    return f"{'at least' if unsized.at_least else 'up to'} {often_text(unsized.per_s)}"


def unsized_entities(subject: Subject) -> float | None:
    """Entities of a partition from which these requests pass its target."""
    return None if (unsized := _unsized(subject)) is None else unsized.entities


def unsized_for(subject: Subject) -> str | None:
    """The facts that are missing to say how many it has."""
    return None if (unsized := _unsized(subject)) is None else unsized.fact


_TEXT, _NUMBER, _BOOL = FactType.TEXT, FactType.NUMBER, FactType.BOOL
_SHARE = "share of the partition target"

FACTS: tuple[Fact, ...] = (
    Fact("table.insert_entities_per_s", _NUMBER, "entities/s", insert_entities_per_s),
    Fact("table.load_entities_per_s", _NUMBER, "entities/s", load_entities_per_s),
    Fact("table.least_load_entities_per_s", _NUMBER, "entities/s", least_load_entities_per_s),
    Fact("table.heaviest_class", _TEXT, "", heaviest_class, Basis.ESTIMATED),
    Fact("table.heaviest_entities", _NUMBER, "entities", heaviest_entities, Basis.ESTIMATED),
    Fact("table.writes", _BOOL, "", writes, may_be_unknown=False),
    Fact("table.retry", _TEXT, "", retry),
    Fact("table.hottest_partition_share", _NUMBER, _SHARE, hottest_share, Basis.ESTIMATED),
    Fact("table.estimated_from", _TEXT, "", estimated_from),
    Fact("table.hottest_partition_key", _TEXT, "", hottest_key, Basis.ESTIMATED, from_data=True),
    Fact("table.hottest_load_share", _NUMBER, "share", hottest_load_share, Basis.ESTIMATED),
    Fact("table.hottest_is_constant", _BOOL, "", hottest_is_constant, Basis.ESTIMATED, may_be_unknown=False),
    Fact("table.hottest_entity_share", _NUMBER, _SHARE, hottest_entity_share, Basis.ESTIMATED),
    Fact("table.named_partition_share", _NUMBER, _SHARE, named_partition_share),
    Fact("table.drawn_partition_share", _NUMBER, _SHARE, drawn_partition_share, Basis.DERIVED),
    Fact("table.undecided_requests_per_s", _NUMBER, "requests/s", undecided_per_s),
    Fact("table.undecided_share", _NUMBER, "share", undecided_share, Basis.DERIVED),
    Fact("table.undecided_for", _TEXT, "", undecided_for),
    Fact("table.hottest_is_entity", _BOOL, "", hottest_is_entity, Basis.ESTIMATED, may_be_unknown=False),
    Fact("table.hottest_skew", _NUMBER, "times", skew, Basis.ESTIMATED),
    Fact("table.hottest_partitions", _NUMBER, "partitions", hottest_partitions, Basis.ESTIMATED),
    Fact("table.drawn_partition_most_share", _NUMBER, _SHARE, drawn_most_share, Basis.DERIVED),
    Fact("table.named_partition_most_share", _NUMBER, _SHARE, named_most_share, Basis.DERIVED),
    Fact("table.even_partition_share", _NUMBER, _SHARE, even_share, Basis.DERIVED),
    Fact("table.even_heaviest", _TEXT, "", even_heaviest, Basis.DERIVED),
    Fact("table.even_rows", _TEXT, "", even_rows, Basis.DERIVED),
    Fact("table.unsized_query", _TEXT, "", unsized_query),
    Fact("table.unsized_requests_per_s", _NUMBER, "requests/s", unsized_per_s),
    Fact("table.unsized_often", _TEXT, "", unsized_often),
    Fact("table.unsized_entities", _NUMBER, "entities", unsized_entities, Basis.DERIVED),
    Fact("table.unsized_for", _TEXT, "", unsized_for),
)
