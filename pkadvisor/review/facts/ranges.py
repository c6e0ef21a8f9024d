"""Facts of what partitions share: ranges of neighbouring ones, the busiest of all, and the account."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.caller import requests_written
from pkadvisor.observe.workload import Basis, DrawBy, Operation, QueryClass
from pkadvisor.review.facts.base import Fact, KnownValue, number
from pkadvisor.review.facts.fronts import appends, fronts_of
from pkadvisor.review.facts.loads import hottest_share
from pkadvisor.review.views import key_loads
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.partition_reads import even_per_s
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.review.views.windows import in_window


def range_entities_per_s(subject: Subject) -> KnownValue | None:
    """Load of the busiest range of neighbouring partitions at the peak, where it is known.

    What one range of neighbouring partitions takes: read as a run by one class, or written and read where the
    newest rows are.
    """
    facts = [load for load in (_run(subject.view), _newest(subject.view)) if load is not None]
    return max(facts, key=number, default=None)


def _run(view: TableView) -> KnownValue | None:
    from pkadvisor.design.load.breaks import RUN

    estimate = view.estimate if view.has_data else None
    load = next((b for b in estimate.breaks if b.cause == RUN), None) if estimate is not None else None
    return None if load is None else KnownValue(load.measured, Basis.ESTIMATED)


def _newest(view: TableView) -> KnownValue | None:
    """Inserts and reads of the newest rows where the key has one end that they all lie at."""
    if view.scheme is None:
        return None
    parts = view.scheme.main.partition
    fronts = fronts_of(parts, view)
    if fronts is None or number(fronts) > 1 or not appends(parts, view) or not variable(parts):
        return None
    read = {
        c.name: c.rate.sustained_per_s * c.draw.share
        for c in key_loads.rated(view)
        if c.operation is Operation.QUERY and c.draw.by is DrawBy.NEWEST and (p := view.plan_of(c)) and p.via == 0
    }
    written = {
        c.name: c.rate.sustained_per_s * c.entities_per_request
        for c in key_loads.rated(view)
        if c.operation in key_loads.INSERTS
    }
    most = view.limits.headroom_share * view.limits.range_entities_per_s
    if not read or key_loads.at_peak(view, written) > most:
        return None  # the inserts alone are too many: that is for the key to say
    return KnownValue(key_loads.at_peak(view, {**read, **written}), Basis.DECLARED)


def range_reader(subject: Subject) -> str | None:
    """What loads the busiest range."""
    fact = range_entities_per_s(subject)
    if fact is None:
        return None
    run, view = _run(subject.view), subject.view
    if run is None or number(run) < number(fact):
        return "writes and reads of the newest rows"
    classes = view.estimate.classes if view.estimate is not None else ()
    runs = [c for c in classes if c.plan is not None and c.plan.access is Access.PARTITION_RANGE_SCAN]
    return f"'{runs[0].name}'" if len(runs) == 1 else "a query over neighbouring partitions"


def busiest_share(subject: Subject) -> float | None:
    """The highest known load of a partition or range at the peak, in shares of its target; may be a lower bound."""
    return max((share for share, _ in binding_shares(subject)), default=None)


def binding_shares(subject: Subject) -> tuple[tuple[float, str], ...]:
    """(load ÷ target, what takes it) for all that is known of partitions and ranges, lower bounds among them."""
    view, limits = subject.view, subject.view.limits
    out: list[tuple[float, str]] = []
    hot = hottest_share(subject) if view.has_data else None
    if hot is not None:
        out.append((number(hot), "the hottest partition"))
    even = even_per_s(view)
    if even is not None:
        out.append((even / limits.partition_entities_per_s, "each of the partitions"))
    for parts in dict.fromkeys(key.partition for key, _ in view.scheme.each_key()) if view.scheme else ():
        load, inserts = key_loads.load_per_s(parts, view), key_loads.inserts_per_s(parts, view)
        most, fronts = key_loads.partitions_most(parts, view), fronts_of(parts, view)
        if load is not None and most is not None:
            what = "the one partition" if most == 1 else f"each of the {most:,.0f} partitions"
            out.append((load / most / limits.partition_entities_per_s, what))
        if inserts is not None and fronts is not None and appends(parts, view):
            out.append((inserts / number(fronts) / limits.range_entities_per_s, "the range that takes the inserts"))
    return tuple(out)


def account_requests_per_s(subject: Subject) -> KnownValue | None:
    """Requests of all tables at the peak; without data at the least.

    A lower bound where there is no data.
    """
    asked, basis = [], Basis.DECLARED
    for view in subject.design.tables:
        with_data = view.has_data and view.estimate is not None
        basis = Basis.ESTIMATED if with_data else basis
        values = _by_class(view) if with_data else {c.name: _at_least(view, c) for c in key_loads.rated(view)}
        if values:
            asked.append((view, values))
    if not asked:
        return None
    if any(view.workload.minutes for view, _ in asked):
        return KnownValue(_by_minutes(asked), basis)
    pairs = [(c.rate, values[c.name]) for view, values in asked for c in view.workload.classes if c.name in values]
    return KnownValue(key_loads.together(pairs), basis)


def _by_minutes(asked: Sequence[tuple[TableView, dict[str, float]]]) -> float:
    """The sum in the minute of a log in which all tables together ask most."""
    from pkadvisor.design.choice.several_kinds.account import Asker, account_load_of
    from pkadvisor.design.load.breaks import ACCOUNT

    askers = [
        Asker(view.section.table, values, {c.name: c.rate for c in view.workload.classes}, view.workload.minutes)
        for view, values in asked
    ]
    return account_load_of(askers, ACCOUNT, "requests/s", asked[0][0].limits.account_requests_per_s).measured


def buckets_taken_full(subject: Subject) -> str | None:
    """The query that asks most buckets a second of which nobody declares how many are filled."""
    asked = {
        c.name: _at_least(view, c)
        for view in subject.design.tables
        if not (view.has_data or view.limits.account_counts_entities) and key_loads.declared_entities(view) is None
        for c in key_loads.rated(view)
        if (plan := view.plan_of(c)) is not None
        and any(key_loads.values_most(p, view) == p.buckets_total for p in plan.fans)
    }
    return max(asked, key=lambda name: (asked[name], name), default=None)


def _by_class(view: TableView) -> dict[str, float]:
    """The load of the account by one table's estimate at each class's peak, read as the limits say."""
    assert view.estimate is not None
    live = [c for c in view.estimate.classes if not c.analytic]
    if view.limits.account_counts_entities:
        return {c.name: c.peak_per_s * (c.entities_read + c.entities_written) for c in live}
    unsure = unsure_requests_per_s(view)
    return {c.name: max(0.0, c.peak_per_s * c.requests - unsure.get(c.name, 0.0)) for c in live}


def _at_least(view: TableView, query: QueryClass) -> float:
    return query.rate.sustained_per_s * _requests(view, query)


def unsure_requests_per_s(view: TableView) -> dict[str, float]:
    """Requests a second at the peak beyond one for each batch, of inserts that no transaction says anything about.

    The estimate takes the entities of such a batch to lie in as many partitions, which is the most there can be.
    """
    grouped = {name for transaction in view.workload.transactions for name in transaction.together}
    class_costs = view.estimate.classes if view.estimate is not None else ()
    each = {c.name: c.peak_per_s * (c.requests_write - 1) for c in class_costs if c.operation in key_loads.INSERTS}
    return {name: more for name, more in each.items() if more > 0 and name not in grouped}


def _requests(view: TableView, query: QueryClass) -> float:
    """Requests of one call of a class, at the least: those that write it, and those that read it first."""
    if view.limits.account_counts_entities:
        return query.entities_per_request + key_loads.read_first(query, view)
    if not query.operation.writes:
        return _reading(view, query)
    written = 1.0 if view.scheme is None else float(requests_written(query, view.scheme))
    return written + (_reading(view, query) if key_loads.read_first(query, view) else 0.0)


def _reading(view: TableView, query: QueryClass) -> float:
    """Requests that read, at the least: one for each bucket that declared values can fill (all, where nothing is
    declared), or the pages of its window of time where these are more; no more than the pages of the whole table."""
    plan = view.plan_of(query)
    if plan is None:
        return 1.0
    total = key_loads.declared_entities(view)
    pages = math.inf if total is None else math.ceil(total / view.limits.page_entities)
    filled = math.prod(min(p.buckets_total, key_loads.values_most(p, view) or math.inf) for p in plan.fans)
    of_window = (in_window(view, query) or 0.0) / view.limits.page_entities
    return float(max(1, min(max(filled, of_window), pages)))


_TEXT, _NUMBER = FactType.TEXT, FactType.NUMBER

FACTS: tuple[Fact, ...] = (
    Fact("table.range_entities_per_s", _NUMBER, "entities/s", range_entities_per_s),
    Fact("table.range_reader", _TEXT, "", range_reader, Basis.DERIVED),
    Fact("table.busiest_share", _NUMBER, "share of its target", busiest_share, Basis.DERIVED),
    Fact("design.requests_per_s", _NUMBER, "requests/s", account_requests_per_s),
    Fact("design.buckets_taken_full", _TEXT, "", buckets_taken_full),
)
