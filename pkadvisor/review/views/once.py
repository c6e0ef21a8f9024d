"""Answers about queries that are found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.views import TableView

T = TypeVar("T")


def once(found: Callable[[TableView, QueryClass], T]) -> Callable[[TableView, QueryClass], T]:
    """The same answer for the same query, found once."""
    kept: WeakKeyDictionary[TableView, dict[str, T]] = WeakKeyDictionary()

    @wraps(found)
    def answer(view: TableView, query: QueryClass) -> T:
        known = kept.setdefault(view, {})
        if query.name not in known:
            known[query.name] = found(view, query)
        return known[query.name]

    return answer
