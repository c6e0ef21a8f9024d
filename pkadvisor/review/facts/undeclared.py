"""Facts of reads of whole partitions without data: what the declared numbers say, and which of them is missing."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.facts.queries import one_small_partition
from pkadvisor.review.views import partition_reads
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.listing import subjects_of_design
from pkadvisor.review.views.subjects import Scope, Subject
from pkadvisor.review.views.wording import often_text


def drawn_most_share(subject: Subject) -> float | None:
    """Entities at the peak that the declared draws ask of one partition if each request finds all that it wants, in
    shares of its target.
    """
    load = partition_reads.drawn_most_per_s(subject.view)
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


_TEXT, _NUMBER, _SHARE = FactType.TEXT, FactType.NUMBER, "share of the partition target"

FACTS: tuple[Fact, ...] = (
    Fact("table.drawn_partition_most_share", _NUMBER, _SHARE, drawn_most_share, Basis.DERIVED),
    Fact("table.even_partition_share", _NUMBER, _SHARE, even_share, Basis.DERIVED),
    Fact("table.even_heaviest", _TEXT, "", even_heaviest, Basis.DERIVED),
    Fact("table.even_rows", _TEXT, "", even_rows, Basis.DERIVED),
    Fact("table.unsized_query", _TEXT, "", unsized_query),
    Fact("table.unsized_requests_per_s", _NUMBER, "requests/s", unsized_per_s),
    Fact("table.unsized_often", _TEXT, "", unsized_often),
    Fact("table.unsized_entities", _NUMBER, "entities", unsized_entities, Basis.DERIVED),
    Fact("table.unsized_for", _TEXT, "", unsized_for),
)
