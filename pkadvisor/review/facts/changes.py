"""Facts of a change: what the keys were before, and how they served each query."""

from __future__ import annotations

from collections import Counter

from pkadvisor.observe.workload import Operation
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.reads import direction, read_before, read_of
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView

NONE = "none"
ADDITIVE = "additive"
REWRITE = "rewrite"


def key_change(view: TableView) -> str | None:
    """none, additive (only index rows come or go) or rewrite (each entity gets other keys); None without keys on one
    of the sides; without any on both nothing changed."""
    old = view.before.scheme if view.before is not None else None
    if old is None and view.scheme is None and view.before is not None:
        return NONE
    if old is None or view.scheme is None:
        return None
    if (old.main.partition, old.main.row) != (view.scheme.main.partition, view.scheme.main.row):
        return REWRITE
    return NONE if Counter(map(str, index_rows(view.before))) == Counter(map(str, index_rows(view))) else ADDITIVE


def index_rows(view: TableView | None) -> tuple[str, ...]:
    """The index rows of a table as texts."""
    scheme = view.scheme if view is not None else None
    return tuple(f"{row.key} ({row.copy})" for row in scheme.index_rows) if scheme is not None else ()


def query_access_before(subject: Subject) -> str | None:
    """How the keys of before found the entities of the query of this name."""
    reading = read_before(subject.view, subject.query) if subject.query.operation is Operation.QUERY else None
    return None if reading is None else str(reading.access)


def query_requests_before(subject: Subject) -> float | None:
    """Requests that one query of this name took before, further pages aside; unknown where it went back by periods."""
    reading = read_before(subject.view, subject.query) if subject.query.operation is Operation.QUERY else None
    return None if reading is None else reading.requests


def access_lost(subject: Subject) -> float | None:
    """Steps from point to row range, partition scan, partition-range scan and table scan that the query lost. The first
    rows of a partition in its order are as good as a row range.

    How many kinds of access worse it is served than before; 0 where it is not worse, or nobody can tell.
    """
    was, now = read_before(subject.view, subject.query), read_of(subject.view, subject.query)
    if was is None or now is None:
        return None
    return float(max(0, now.rank - was.rank)) if direction(was, now) == "worse" and was.access != now.access else 0.0


def table_key_change(subject: Subject) -> str | None:
    """What the change does to the keys: none, additive (index rows only) or rewrite."""
    return key_change(subject.view)


def keys_before(subject: Subject) -> str | None:
    """PartitionKey | RowKey before the change."""
    scheme = subject.view.before.scheme if subject.view.before is not None else None
    return None if scheme is None else str(scheme.main)


def keys_now(subject: Subject) -> str | None:
    """PartitionKey | RowKey of the design."""
    scheme = subject.view.scheme
    return None if scheme is None else str(scheme.main)


FACTS: tuple[Fact, ...] = (
    Fact("table.key_change", FactType.TEXT, "", table_key_change, needs_diff=True),
    Fact("table.keys_before", FactType.TEXT, "", keys_before, needs_diff=True),
    Fact("table.keys", FactType.TEXT, "", keys_now),
    Fact("query.access_before", FactType.TEXT, "", query_access_before, needs_diff=True),
    Fact("query.requests_before", FactType.NUMBER, "requests", query_requests_before, needs_diff=True),
    Fact("query.access_lost", FactType.NUMBER, "steps", access_lost, needs_diff=True),
)
