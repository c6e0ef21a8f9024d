"""Facts of the load: how often a table is written and read, and where it falls."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.review.expressions import FactType
from pkadvisor.review.facts.base import Fact, Known
from pkadvisor.review.subjects import Subject

WRITES_ROWS = (Operation.INSERT, Operation.UPSERT)


def insert_entities_per_s(subject: Subject) -> float | None:
    """New rows a second at the peak, index rows included; unknown where no insert is declared or logged."""
    classes = [c for c in subject.view.workload.classes if c.operation in WRITES_ROWS and c.rate.mean_per_s > 0]
    if not classes:
        return None
    rows = subject.view.scheme.rows_per_entity if subject.view.scheme else 1
    return rows * sum(c.rate.sustained_per_s * c.entities_per_request for c in classes)


def hottest_share(subject: Subject) -> Known | None:
    """The load of the hottest partition at the peak ÷ the target of a partition."""
    found = subject.view.estimate
    if found is None or found.hot is None:
        return None
    return Known(found.hot.entities_per_s / subject.view.limits.partition_entities_per_s, Basis.ESTIMATED)


FACTS: tuple[Fact, ...] = (
    Fact(
        "table.insert_entities_per_s",
        FactType.NUMBER,
        "entities/s",
        "Rows inserted or upserted a second at the peak, index rows included.",
        insert_entities_per_s,
    ),
    Fact(
        "table.hottest_partition_share",
        FactType.NUMBER,
        "share of the partition target",
        "Load of the hottest partition at the peak, in shares of the target of one partition.",
        hottest_share,
        Basis.ESTIMATED,
    ),
)
