"""Answers about queries that are found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.views import TableView

T = TypeVar("T")


def once(compute: Callable[[TableView, QueryClass], T]) -> Callable[[TableView, QueryClass], T]:
    """The same answer for the same query, found once."""
    by_view: WeakKeyDictionary[TableView, dict[str, T]] = WeakKeyDictionary()

    @wraps(compute)
    def answer(view: TableView, query: QueryClass) -> T:
        known = by_view.setdefault(view, {})
        if query.name not in known:
            known[query.name] = compute(view, query)
        return known[query.name]

    return answer
