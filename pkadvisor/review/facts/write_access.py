"""Facts of writes that find their entities: how the keys serve their filter, and what is read for it."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.review.facts import queries, query_requests
from pkadvisor.review.facts.base import Fact, KnownValue
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject

FINDS = (Operation.UPDATE, Operation.DELETE)


def operation(subject: Subject) -> str:
    """insert, upsert, update or delete."""
    return str(subject.query.operation)


def access(subject: Subject) -> str | None:
    """How an update or delete finds its entities.

    How it finds its entities; unknown for inserts and upserts, which name them by their whole key.
    """
    return queries.access(subject) if subject.query.operation in FINDS and subject.query.filter is not None else None


def cause(subject: Subject) -> str | None:
    """Why the keys serve it no better: the first cause that applies, or none."""
    return None if access(subject) is None else queries.cause(subject)


def beside_keys(subject: Subject) -> tuple[str, ...] | None:
    """Properties of its filter that the keys leave open."""
    return None if access(subject) is None else queries.beside_keys(subject)


def filtered(subject: Subject) -> bool | None:
    """Whether entities are read that its filter then drops."""
    return None if access(subject) is None else queries.filtered(subject)


def entities_read(subject: Subject) -> KnownValue | None:
    """Entities read to find those it changes."""
    return None if access(subject) is None else query_requests.entities_read(subject)


def entities_changed(subject: Subject) -> KnownValue | None:
    """Entities that its filter keeps."""
    return None if access(subject) is None else query_requests.entities_returned(subject)


def pages(subject: Subject) -> KnownValue | None:
    """Answers of at most a page that it reads."""
    return None if access(subject) is None else query_requests.pages(subject)


def duration_s(subject: Subject) -> KnownValue | None:
    """Time to read it page after page."""
    return None if access(subject) is None else query_requests.duration_s(subject)


def rare(subject: Subject) -> bool:
    """Whether it comes so seldom that it is no load."""
    return 0 < subject.query.rate.mean_per_s <= queries.RARE_PER_S * (1 + 1e-9) or queries.rare(subject)


N, B, T, TS = FactType.NUMBER, FactType.BOOL, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    Fact("write.operation", T, "", operation, may_be_unknown=False),
    Fact("write.access", T, "", access, Basis.DERIVED),
    Fact("write.cause", T, "", cause),
    Fact("write.beside_keys", TS, "", beside_keys),
    Fact("write.filtered", B, "", filtered),
    Fact("write.rate", N, "requests/s", queries.rate_per_s, about="Its mean rate."),
    Fact("write.often", T, "", queries.often, about="Its mean rate in words: 19 times an hour."),
    Fact("write.analytic", B, "", queries.analytic, about="Whether it is a batch job.", may_be_unknown=False),
    Fact("write.entities_read", N, "entities", entities_read),
    Fact("write.entities_changed", N, "entities", entities_changed),
    Fact("write.pages", N, "pages", pages, Basis.ESTIMATED),
    Fact("write.duration_s", N, "s", duration_s, Basis.ESTIMATED),
    Fact(
        "write.small",
        B,
        "",
        queries.small,
        about="Whether the whole table is one page and little load.",
        may_be_unknown=False,
    ),
    Fact(
        "write.bounded",
        B,
        "",
        queries.bounded,
        about="Whether the table is and stays few pages, within the targets.",
        may_be_unknown=False,
    ),
    Fact("write.rare", B, "", rare, may_be_unknown=False),
)
