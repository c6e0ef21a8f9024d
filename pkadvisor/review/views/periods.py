"""How many periods of time a query asks for, or runs over."""

from __future__ import annotations

import math
import re

from pkadvisor.design.keys.conditions import Range, conditions
from pkadvisor.design.keys.scheme import KeyScheme, variable
from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.walk import walk
from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.once import once
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType, parse_datetime_ticks
from pkadvisor.table.odata import Parameter


def asked_apart(
    query: QueryClass, plan: AccessPlan | None, scheme: KeyScheme | None, types: dict[str, EdmType]
) -> tuple[PeriodPart, Range, int] | None:
    """(the period, its bounds, requests for each period) of a plan that asks each period between two bounds apart.

    None for any other plan, and where the period ends the key.
    """
    if plan is None or plan.periods is None or plan.back or scheme is None:
        return None
    wanted, parts = conditions(query.filter), list(scheme.each_key())[plan.via][0].partition
    if variable(parts)[-1] == plan.periods or plan.periods.property not in wanted.ranges:
        return None
    key_walk = walk(parts, wanted, types, through=plan.periods)
    each = math.prod(p.buckets_total for p in key_walk.buckets)
    for name in key_walk.choices:
        each *= len(wanted.any_of[name])
    return plan.periods, wanted.ranges[plan.periods.property], each


_STAMPS = (
    (re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T?(\d\d)"), "hour"),
    (re.compile(r"(\d{4})-?(\d\d)-?(\d\d)"), "day"),
    (re.compile(r"(\d{4})-?(\d\d)"), "month"),
)
"""Texts of periods that people write as keys: yyyyMMddHH, yyyy-MM-dd, yyyyMM."""


@once
def periods_of(view: TableView, query: QueryClass) -> float | None:
    """The partitions of time that a range of times runs over; None where the filter does not tell how many."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None or plan.access is Access.TABLE_SCAN:
        return None
    wanted = conditions(query.filter).ranges
    if plan.access is Access.PARTITION_RANGE_SCAN and plan.range_atom and plan.range_atom[0] == "p":
        span = wanted.get(plan.range_atom[1])
        return _stamps_between(span) if span is not None else None
    part = plan.periods or _leading_time(view, plan)
    if part is None or part.property not in wanted:
        return None
    seconds = span_s(wanted[part.property])
    if seconds is not None:
        return seconds / PERIOD_S[part.unit]
    cost = view.cost_of(query)
    return cost.fan_out / plan.buckets if cost is not None and plan.periods is not None and not plan.choices else None


def requests_for_periods(view: TableView, query: QueryClass) -> float | None:
    """The most requests of a query that asks each period between its bounds apart; None where that is not known."""
    asked = asked_apart(query, view.plan_of(query), view.scheme, view.types)
    seconds = span_s(asked[1]) if asked is not None else None
    if asked is None or seconds is None:
        return None
    return asked[2] * (math.ceil(seconds / PERIOD_S[asked[0].unit]) + 1.0)


def _leading_time(view: TableView, plan: AccessPlan) -> PeriodPart | None:
    """The period of a PartitionKey that a range scan of partitions is bounded by."""
    if view.scheme is None or plan.access is not Access.PARTITION_RANGE_SCAN or not plan.range_atom:
        return None
    key = list(view.scheme.each_key())[plan.via][0]
    if plan.range_atom[0] != "t":
        return None
    periods = (part.period for part in key.partition)
    return next((p for p in periods if p is not None and p.property == plan.range_atom[1]), None)


def periods_within(part: PeriodPart, span: Range) -> float | None:
    """The periods of a part between two bounds; None where the filter does not tell how many."""
    seconds = span_s(span)
    return None if seconds is None else seconds / PERIOD_S[part.unit]


def span_s(span: Range) -> float | None:
    """Seconds between two bounds: two constants, or one parameter with two offsets."""
    low, high = span.low, span.high
    if low is None or high is None:
        return None
    if isinstance(low, Parameter) and isinstance(high, Parameter):
        if low.name != high.name:
            return None
        return max(0.0, (high.offset_ticks - low.offset_ticks) / TICKS_PER_SECOND)
    if isinstance(low, Parameter) or isinstance(high, Parameter):
        return None
    if low.type is not EdmType.DATETIME or high.type is not EdmType.DATETIME:
        return None
    return max(0.0, (_ticks(high.value) - _ticks(low.value)) / TICKS_PER_SECOND)


def _ticks(value: object) -> int:
    return value if isinstance(value, int) else parse_datetime_ticks(str(value))


def _stamps_between(span: Range) -> float | None:
    """The periods between two constant texts that both read as the same kind of period."""
    from datetime import datetime

    texts = [o.value for o in (span.low, span.high) if o is not None and not isinstance(o, Parameter)]
    if len(texts) != 2 or not all(isinstance(t, str) for t in texts) or len(str(texts[0])) != len(str(texts[1])):
        return None
    for pattern, unit in _STAMPS:
        matches = [pattern.fullmatch(str(t)) for t in texts]
        if not all(matches):
            continue
        try:
            numbers = [[int(g) for g in m.groups()] for m in matches if m is not None]
            low, high = (datetime(n[0], n[1], n[2] if len(n) > 2 else 1, n[3] if len(n) > 3 else 0) for n in numbers)
        except ValueError:
            return None
        if unit == "month":
            return max(0.0, float(12 * (high.year - low.year) + high.month - low.month))
        return max(0.0, (high - low).total_seconds() / PERIOD_S[unit])
    return None
