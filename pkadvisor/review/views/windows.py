"""Windows of arrival times that queries want: how long they are, and how many entities come in them."""

from __future__ import annotations

import math

from pkadvisor.design.keys.conditions import Range, conditions
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.key_loads import arrives, declared_entities, distinct_of, inserted_mean_per_s
from pkadvisor.review.views.reads import bounding_period, once, span_s, to_now_s
from pkadvisor.review.views.views import TableView


@once
def in_window(view: TableView, query: QueryClass) -> float | None:
    """Entities that a query reads in its window of arrival times, at the least where that is open to the present: by
    the mean rate of the inserts and the declared values of what the keys fix beside the time, of whole periods where
    the key holds those; None where the keys do not bound the window, or nobody knows these."""
    plan, span, rate = view.plan_of(query), window_s(view, query), inserted_mean_per_s(view)
    if view.has_data or plan is None or span is None or rate is None or plan.via or plan.top is not None:
        return None
    if period := bounding_period(view, plan):
        span = max(span, PERIOD_S[period.unit])
    known = distinct_of(view)
    fixed = {name for atom in plan.equal_atoms for name in atom_properties(atom)}
    bounded = plan.periods.property if plan.periods is not None else ""
    if not fixed - {bounded} <= known.keys():
        return None
    entities = rate * span / math.prod(known[name] for name in fixed if name in known)
    return min(entities, declared_entities(view) or math.inf)


@once
def window_s(view: TableView, query: QueryClass) -> float | None:
    """Seconds of the window of arrival times that a query wants and the keys bound, at the least where it is open to
    the present; None where there is none."""
    span = _window(view, query)
    if span is None:
        return None
    return to_now_s(span) if span.high is None else span_s(span)


def open_window(view: TableView, query: QueryClass) -> bool:
    """Whether a query wants all that has come since a time before another: an hour and more by ``at ge {at-1h}``."""
    span = _window(view, query)
    return span is not None and to_now_s(span) is not None


def _window(view: TableView, query: QueryClass) -> Range | None:
    """The window of arrival times that a query wants and the keys bound; None where there is none, or several."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None or names_keys(query):
        return None
    bounded = set(atom_properties(plan.range_atom)) if plan.range_atom is not None else set[str]()
    bounded |= {plan.periods.property} if plan.periods is not None else set()
    spans = [span for name, span in conditions(query.filter).ranges.items() if name in bounded and arrives(name, view)]
    return spans[0] if len(spans) == 1 else None
