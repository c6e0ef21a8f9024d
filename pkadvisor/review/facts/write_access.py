"""Facts of writes that find their entities: how the keys serve their filter, and what is read for it."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis, Operation, QueryClass
from pkadvisor.review.facts import queries, query_requests
from pkadvisor.review.facts.base import Fact, KnownValue
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject

FINDS = (Operation.UPDATE, Operation.DELETE)


def operation(subject: Subject) -> str:
    query: QueryClass = subject.item
    return str(query.operation)


def access(subject: Subject) -> str | None:
    """How it finds its entities; unknown for inserts and upserts, which name them by their whole key."""
    query: QueryClass = subject.item
    return queries.access(subject) if query.operation in FINDS and query.filter is not None else None


def cause(subject: Subject) -> str | None:
    return None if access(subject) is None else queries.cause(subject)


def beside_keys(subject: Subject) -> tuple[str, ...] | None:
    return None if access(subject) is None else queries.beside_keys(subject)


def filtered(subject: Subject) -> bool | None:
    return None if access(subject) is None else queries.filtered(subject)


def entities_read(subject: Subject) -> KnownValue | None:
    return None if access(subject) is None else query_requests.entities_read(subject)


def entities_changed(subject: Subject) -> KnownValue | None:
    """Entities that its filter keeps."""
    return None if access(subject) is None else query_requests.entities_returned(subject)


def pages(subject: Subject) -> KnownValue | None:
    return None if access(subject) is None else query_requests.pages(subject)


def rare(subject: Subject) -> bool:
    """Whether what it reads is no load, or it comes once an hour at most, as what cleans up does."""
    query: QueryClass = subject.item
    return 0 < query.rate.mean_per_s <= queries.RARE_PER_S * (1 + 1e-9) or queries.rare(subject)


N, B, T, TS = FactType.NUMBER, FactType.BOOL, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    Fact("write.operation", T, "", "insert, upsert, update or delete.", operation, may_be_unknown=False),
    Fact("write.access", T, "", "How an update or delete finds its entities.", access, Basis.DERIVED),
    Fact("write.cause", T, "", "Why the keys serve it no better: the first cause that applies, or none.", cause),
    Fact("write.beside_keys", TS, "", "Properties of its filter that the keys leave open.", beside_keys),
    Fact("write.filtered", B, "", "Whether entities are read that its filter then drops.", filtered),
    Fact("write.rate", N, "requests/s", "Its mean rate.", queries.rate_per_s),
    Fact("write.often", T, "", "Its mean rate in words: 19 times an hour.", queries.often),
    Fact("write.analytic", B, "", "Whether it is a batch job.", queries.analytic, may_be_unknown=False),
    Fact("write.entities_read", N, "entities", "Entities read to find those it changes.", entities_read),
    Fact("write.entities_changed", N, "entities", "Entities that its filter keeps.", entities_changed),
    Fact("write.pages", N, "pages", "Answers of at most a page that it reads.", pages, Basis.ESTIMATED),
    Fact(
        "write.small",
        B,
        "",
        "Whether the whole table is one page and little load.",
        queries.small,
        may_be_unknown=False,
    ),
    Fact(
        "write.bounded",
        B,
        "",
        "Whether the table is and stays few pages, within the targets.",
        queries.bounded,
        may_be_unknown=False,
    ),
    Fact("write.rare", B, "", "Whether it comes so seldom that it is no load.", rare, may_be_unknown=False),
)
