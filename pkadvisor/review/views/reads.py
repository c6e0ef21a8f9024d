"""How a query finds its entities, so that two designs can be compared: the access, and the number of requests.

An access alone does not rank two ways: the first 50 rows of one partition in key order are one request that reads what
it answers, and a row range in each of an unknown number of periods is not better than that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from pkadvisor.design.keys.conditions import Range, conditions
from pkadvisor.design.keys.scheme import KeyScheme, variable
from pkadvisor.design.keys.transforms import PeriodPart
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.plan.access_plan import Access, AccessPlan, walk
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType, parse_datetime_ticks
from pkadvisor.table.odata import Parameter
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.load.estimates import ClassCost

# -- Answers about queries that are found once.


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


SAME = 0.01
"""Numbers of requests within this share of each other are the same."""


@dataclass(frozen=True, slots=True)
class QueryRead:
    """``requests`` side by side or one after the other, without further pages; None where their number is unknown, as
    in a walk back over periods, or in a scan, which stops at every border of a server."""

    access: Access
    requests: float | None
    in_order: bool = False
    """The first rows of whole partitions are asked for, in the order in which they lie there: nothing is read that is
    not answered."""
    periods: bool = False
    back: bool = False

    @property
    def rank(self) -> int:
        """0 is best; the first rows of a partition in order are as good as a range of rows."""
        return Access.ROW_RANGE.rank if self.in_order else self.access.rank

    @property
    def words(self) -> str:
        """``row range in each period, from the newest back``, ``row range, 721 requests``."""
        if self.in_order and self.requests == 1:
            return "one partition in order, 1 request"
        head = "partition in order" if self.in_order else str(self.access)
        if self.back:
            return f"{head} in each period, from the newest back"
        if self.periods and self.requests is None:
            return f"{head} in each of an unknown number of periods"
        many = self.requests is not None and self.requests > 1
        return f"{head}, {self.requests:,.4g} requests" if many else head


def read_of(view: TableView, query: QueryClass, under: TableView | None = None) -> QueryRead | None:
    """How the keys in use serve a query; with ``under``, the table of before with its load, how they would under
    the load of that table. None where it is not known."""
    plan, cost = view.plan_of(query), None
    if under is None:
        cost = None if names_keys(query) else view.cost_of(query)
    elif under.estimate_before is not None and not names_keys(query):
        cost = next((c for c in under.estimate_before.classes if c.name == query.name), None)
        plan = cost.plan if cost is not None and cost.plan is not None else plan
    return None if plan is None else _read(query, plan, cost)


def read_under(view: TableView, query: QueryClass, scheme: KeyScheme) -> QueryRead | None:
    """How other keys would serve a query, without data."""
    plans = view.plans_under(query, scheme)
    return _read(query, plans[0], None) if plans else None


def read_before(view: TableView, query: QueryClass) -> QueryRead | None:
    """How the keys of before serve a query of the same name; None where there was none, or no keys.

    The same filter is planned under the load of today, another one as the old design had it.
    """
    before = view.before
    old = next((c for c in before.workload.classes if c.name == query.name), None) if before is not None else None
    if before is None or before.scheme is None or old is None or old.operation is not query.operation:
        return None
    return read_of(before, old, view if old.filter == query.filter else None)


def _read(query: QueryClass, plan: AccessPlan, cost: ClassCost | None) -> QueryRead:
    whole = plan.access is Access.PARTITION_SCAN and plan.top is not None and not plan.rest and not plan.client
    requests = cost.fan_out if cost is not None and cost.plan is plan else _requests(query, plan)
    if plan.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        requests = None
    number = None if requests is None else float(requests)
    return QueryRead(plan.access, number, whole, plan.periods is not None, plan.back)


def _requests(query: QueryClass, plan: AccessPlan) -> float | None:
    """Requests of a plan without data: buckets, choices and periods."""
    if names_keys(query):
        return 1.0
    wanted = conditions(query.filter)
    count = float(plan.buckets * math.prod(len(wanted.any_of[n]) for n in plan.choices if n in wanted.any_of))
    if plan.periods is None:
        return count
    span = wanted.ranges.get(plan.periods.property)
    known = None if plan.back or span is None else periods_within(plan.periods, span)
    if known is None or span is None:
        return None
    moving = isinstance(span.low, Parameter)  # a range that moves touches one more at its ends
    return count * (math.ceil(known) + (1 if moving else 0))


def direction(before: QueryRead | None, after: QueryRead | None) -> str:
    """better, worse, same or unknown.

    A worse access is worse, and with the same access so are more requests or a number that nobody knows any more.
    Where the access speaks for one side and the number of requests for the other, nobody can tell; but a scan that
    passes over servers is worse than any number of requests that name their partitions.
    """
    if before is None or after is None:
        return "unknown"
    lost = after.rank - before.rank
    more = _more(before, after)
    if lost == 0:
        return "worse" if more > 0 else "better" if more < 0 else "same"
    worst = max(before.rank, after.rank)
    if worst <= Access.PARTITION_SCAN.rank and lost * more < 0:
        return "unknown"
    return "worse" if lost > 0 else "better"


def _more(before: QueryRead, after: QueryRead) -> int:
    """1 where there are more requests after than before, or their number is no longer known; -1, 0."""
    was, now = before.requests, after.requests
    if was is None or now is None:
        return int(now is None) - int(was is None)
    return 0 if abs(now - was) <= SAME * was else 1 if now > was else -1


def queries_of(view: TableView) -> tuple[QueryClass, ...]:
    """The queries of a table, those of the profile too."""
    return tuple(c for c in view.workload.classes if c.operation is Operation.QUERY)


# -- How many periods of time a query asks for, or runs over.


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
    return bounding_period(view, plan) if plan.access is Access.PARTITION_RANGE_SCAN else None


def bounding_period(view: TableView, plan: AccessPlan) -> PeriodPart | None:
    """The period that bounds what one request reads: of the RowKey, or of the PartitionKey in a scan of several."""
    if view.scheme is None or not plan.range_atom or plan.range_atom[0] != "t":
        return None
    key = list(view.scheme.each_key())[plan.via][0]
    parts = key.partition if plan.access is Access.PARTITION_RANGE_SCAN else key.row
    periods = (part.period for part in parts)
    return next((p for p in periods if p is not None and p.property == plan.range_atom[1]), None)


@once
def cut_at_ends(view: TableView, query: QueryClass) -> frozenset[str]:
    """The times by which a filter drops entities only at both ends of what is read: ranges of whole periods, each asked
    apart or bounded by a key, of which the period is no longer than half the range, or than a day where nobody says how
    long the range is."""
    plan = view.plan_of(query)
    if plan is None or query.filter is None:
        return frozenset()
    asked = {plan.periods.property} if plan.periods is not None else set[str]()
    part = bounding_period(view, plan)
    span = conditions(query.filter).ranges.get(part.property) if part is not None else None
    if part is None or span is None:
        return frozenset(asked)
    seconds = to_now_s(span) if span.high is None else span_s(span)
    longest = PERIOD_S["day"] if seconds is None else seconds / 2
    return frozenset(asked | ({part.property} if PERIOD_S[part.unit] <= longest else set()))


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


def to_now_s(span: Range) -> float | None:
    """Seconds at the least of a range that ends with the present and begins so long before a parameter; else None."""
    low = span.low
    if span.high is not None or not isinstance(low, Parameter) or low.offset_ticks >= 0:
        return None
    return -low.offset_ticks / TICKS_PER_SECOND


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
