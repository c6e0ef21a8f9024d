"""Facts of queries: how the keys serve them."""

from __future__ import annotations

from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.expressions import FactType
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.subjects import Subject


def access(subject: Subject) -> str | None:
    """The access kind: point, row range, partition scan, partition-range scan, table scan."""
    query: QueryClass = subject.item
    plan = subject.view.plan_of(query)
    return None if plan is None else str(plan.access)


def rate_per_s(subject: Subject) -> float | None:
    query: QueryClass = subject.item
    return query.rate.mean_per_s if query.rate.mean_per_s > 0 else None


def analytic(subject: Subject) -> bool:
    query: QueryClass = subject.item
    return query.analytic


FACTS: tuple[Fact, ...] = (
    Fact("query.access", FactType.TEXT, "", "How its requests find their entities.", access),
    Fact("query.rate_per_s", FactType.NUMBER, "requests/s", "Its mean rate.", rate_per_s),
    Fact("query.analytic", FactType.BOOL, "", "Whether it is an export or analysis.", analytic, may_be_unknown=False),
)
