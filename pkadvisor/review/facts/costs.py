"""Facts of what a design costs: entities read for nothing, sizes, buckets, goals and budgets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.load.estimates import Budget, ClassCost
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.review.facts.base import QUERY_NAMES, Fact, KnownValue, sure
from pkadvisor.review.facts.ranges import unsure_requests_per_s
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import declared_total, entities_of
from pkadvisor.review.views.subjects import Scope, Subject, subjects_of_design
from pkadvisor.review.views.views import TableView

SECONDS_PER_DAY = 86_400


# --- reading for nothing ----------------------------------------------------------------------------------------------


def _reads(view: TableView) -> list[ClassCost]:
    """Queries that somebody waits for; none without an estimate."""
    if not view.has_data or view.estimate is None:
        return []
    class_costs = view.estimate.classes
    return [c for c in class_costs if c.operation is Operation.QUERY and not c.analytic and c.rate_per_s > 0]


def _returned(cost: ClassCost) -> float:
    """Entities asked for: a miss asks for one."""
    return max(1.0, cost.entities_returned)


def read_amplification(subject: Subject) -> float | None:
    """Entities read for one that is returned, over all queries by their rates."""
    class_costs = _reads(subject.view)
    if not class_costs:
        return None
    return sum(c.rate_per_s * c.entities_read for c in class_costs) / sum(
        c.rate_per_s * _returned(c) for c in class_costs
    )


def entities_read_per_s(subject: Subject) -> float | None:
    """Entities that queries read a second, mean."""
    class_costs = _reads(subject.view)
    return sum(c.rate_per_s * c.entities_read for c in class_costs) if class_costs else None


def most_wasteful_query(subject: Subject) -> str | None:
    """The query that reads most beyond what it returns."""
    class_costs = _reads(subject.view)
    if not class_costs:
        return None
    return max(class_costs, key=lambda c: (c.rate_per_s * (c.entities_read - _returned(c)), c.name)).name


def most_wasteful_told(subject: Subject) -> bool:
    """Whether that query is a scan that has a finding of its own."""
    name = most_wasteful_query(subject)
    cost = next((c for c in _reads(subject.view) if c.name == name), None)
    if cost is None or cost.plan is None:
        return False
    scans = (Access.PARTITION_SCAN, Access.PARTITION_RANGE_SCAN)
    large = cost.entities_read > subject.view.limits.page_entities
    return cost.plan.access is Access.TABLE_SCAN or (cost.plan.access in scans and large)


# --- buckets ----------------------------------------------------------------------------------------------------------


def buckets(subject: Subject) -> float | None:
    """Hash buckets of a PartitionKey."""
    part = subject.place.part
    return float(part.bucket_count) if part.bucket_count and subject.place.key.is_partition else None


def buckets_needed(subject: Subject) -> float | None:
    """Buckets that the load needs.

    The fewest buckets whose fullest one stays within its head-room at the peak after the growth.

    Unknown without data, for index rows, and where no count would do.
    """
    place = subject.place
    part, view = place.part, subject.view
    text, count = part.bucketed, part.bucket_count
    if text is None or count is None or not place.key.is_partition or place.key.row:
        return None
    (name,) = text.properties
    if not view.has_data or view.bench is None or view.estimate is None or not view.bench.population.has(name):
        return None
    from pkadvisor.design.cost.buckets import append_buckets, partition_buckets

    scheme, class_costs, inserts = view.estimate.scheme, view.estimate.classes, view.estimate.inserts_per_s_peak
    needs = [partition_buckets(text, scheme, view.bench, class_costs, count)]
    if part is variable(scheme.main.partition)[0] and inserts:
        other = append_buckets(text, scheme, view.bench, class_costs, inserts, count)
        if other is not None:
            needs.append(other)
        elif inserts * view.bench.horizon_factor > view.limits.headroom_warn_share * view.limits.range_entities_per_s:
            return None  # in which order they come is not known, and one range may not take them
    counts = [need.comfort for need in needs]
    return float(max(c for c in counts if c is not None)) if all(c is not None for c in counts) else None


def _fanning(subject: Subject) -> list[ClassCost]:
    return [
        c for c in _reads(subject.view) if c.plan is not None and c.plan.via == 0 and subject.place.part in c.plan.fans
    ]


def fanning_queries(subject: Subject) -> tuple[str, ...]:
    """Queries that ask each of its buckets."""
    return tuple(c.name for c in _fanning(subject))


def needless_requests_per_s(subject: Subject) -> float | None:
    """Requests that buckets beyond those needed cost.

    Full pages have to be read from few buckets too.
    """
    count, needed = buckets(subject), buckets_needed(subject)
    if count is None or needed is None:
        return None
    page = subject.view.limits.page_entities
    total = 0.0
    for cost in _fanning(subject):
        fewer = max(1.0, cost.fan_out * min(1.0, needed / count))
        enough = fewer * max(1, math.ceil(cost.entities_read / fewer / page))
        total += cost.rate_per_s * max(0.0, cost.requests - enough)
    return total


# --- tables and kinds -------------------------------------------------------------------------------------------------


def entities_all(subject: Subject) -> KnownValue | None:
    """Entities of the whole table.

    Declared, or those of complete data.
    """
    total = entities_of(subject.view)
    basis = Basis.DECLARED if declared_total(subject.view) else Basis.COUNTED
    return None if total is None else KnownValue(total, basis)


def query_requests_per_s(subject: Subject) -> float | None:
    """Queries a second, mean.

    Unknown where none is declared or logged.
    """
    queries = [c for c in subject.view.workload.classes if c.operation is Operation.QUERY and not c.analytic]
    return sum(c.rate.mean_per_s for c in queries) if queries else None


def changes_per_day(subject: Subject) -> float | None:
    """Entities changed a day, mean.

    Unknown where none is declared or logged.
    """
    queries = [c for c in subject.view.workload.classes if c.operation.writes]
    if not queries:
        return None
    return SECONDS_PER_DAY * sum(c.rate.mean_per_s * c.entities_per_request for c in queries)


def _rate(view: TableView) -> float:
    return sum(c.rate.sustained_per_s for c in view.workload.classes if not c.analytic)


def _kinds(subject: Subject) -> Iterator[TableView]:
    """Other kinds of the same table."""
    section = subject.view.section
    for view in subject.design.tables:
        if section.kind is not None and view.section.table == section.table and view.section.kind != section.kind:
            yield view


def quiet_kinds(subject: Subject) -> tuple[str, ...]:
    """Other kinds that nothing ties to this one."""
    view = subject.view
    declared = view.section.declared
    if declared is None or view.section.kind is None:
        return ()
    kind_of = {c.name: c.kind for c in declared.workload.classes}
    tied = {view.section.kind}
    sets = [{str(kind_of.get(name)) for name in t.together} for t in declared.workload.transactions]
    while more := {k for each in sets if each & tied for k in each} - tied:
        tied |= more
    return tuple(str(v.section.kind) for v in _kinds(subject) if v.section.kind not in tied and _rate(v) > 0)


def kind_requests_per_s(subject: Subject) -> float | None:
    """Requests of this kind at the peak.

    Unknown for a table of one kind.
    """
    return _rate(subject.view) if subject.view.section.kind is not None else None


def quiet_requests_per_s(subject: Subject) -> float | None:
    """Requests of the busiest other kind that nothing ties to this one, at the peak."""
    quiet = quiet_kinds(subject)
    return max((_rate(v) for v in _kinds(subject) if v.section.kind in quiet), default=None)


def kind(subject: Subject) -> str | None:
    """The kind of entity, in a table of several."""
    return subject.view.section.kind


# --- goals and budgets ------------------------------------------------------------------------------------------------


def latency_ms_p99(subject: Subject) -> float | None:
    """Estimated 99th percentile.

    Unknown without data and for analyses.
    """
    if not subject.view.has_data or subject.query.analytic:
        return None
    class_cost = subject.view.cost_of(subject.query)
    return None if class_cost is None else class_cost.latency_ms_p99


def latency_goal_ms_p99(subject: Subject) -> float | None:
    """The declared goal."""
    return subject.query.latency_goal_ms_p99


def budget_bound(subject: Subject) -> float:
    """The bound."""
    return subject.budget.limit


def budget_unit(subject: Subject) -> str:
    """Its unit."""
    return subject.budget.unit


def budget_value(subject: Subject) -> KnownValue | None:
    """The number that it bounds.

    Without data only what the design alone tells.
    """
    item = subject.budget
    view = subject.view
    if view.has_data and view.estimate is not None and view.bench is not None:
        from pkadvisor.design.cost.budgets import BOUNDS

        value = BOUNDS[item.key].value(view.estimate, view.bench)
        return None if _one_sided(view, item, value) else KnownValue(value, Basis.ESTIMATED)
    if view.scheme is None:
        return None
    if item.key == "index_rows":
        return KnownValue(float(len(view.scheme.index_rows)), Basis.DECLARED)
    if item.key == "full_scans_per_day" and view.workload.classes:
        scans = (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN)
        plans = [(c, view.plan_of(c)) for c in view.workload.classes]
        rate = sum(c.rate.mean_per_s for c, plan in plans if plan is not None and plan.access in scans)
        return KnownValue(rate * SECONDS_PER_DAY, Basis.DERIVED)
    return None


def unchecked(subject: Subject) -> tuple[str, ...]:
    """All bounds of the table that cannot be checked."""
    own = [s for s in subjects_of_design(subject.design) if s.scope is Scope.BUDGET and s.table is subject.table]
    items: list[Budget] = [s.item for s in own if budget_value(s) is None]
    return tuple(f"{item.key} of {item.limit:,.6g} ({item.unit})" for item in items)


def first_unchecked(subject: Subject) -> bool:
    """Whether it is the first of these.

    It tells of the others.
    """
    own = [s for s in subjects_of_design(subject.design) if s.scope is Scope.BUDGET and s.table is subject.table]
    return next((s for s in own if budget_value(s) is None), None) is subject


def why_unchecked(subject: Subject) -> str:
    """What it takes to check it."""
    view = subject.view
    if view.scheme is None:
        return "the design declares no keys"
    if not view.has_data:
        return "it takes a profile (--profile) or data (--data)"
    if view.bench is not None:
        batches = _names(unsure_requests_per_s(view))
        return f"no transaction says whether the entities of a batch of {batches} share a partition"
    return view.why_not_priced or "the table cannot be priced"


_BY_REQUESTS = ("requests_per_s", "requests_per_s_peak", "cost_month")


def _one_sided(view: TableView, item: Budget, value: float) -> bool:
    """Whether a value is only known to be no less (and is within the budget) or no more (and is beyond it)."""
    return item.key in _BY_REQUESTS and value > item.limit and bool(unsure_requests_per_s(view))


def _names(names: Iterable[str]) -> str:
    return " and ".join(f"'{name}'" for name in sorted(names))


BOOL, NUMBER, TEXT, TEXTS = FactType.BOOL, FactType.NUMBER, FactType.TEXT, FactType.TEXTS
FACTS: tuple[Fact, ...] = (
    Fact("table.read_amplification", NUMBER, "entities read per entity returned", read_amplification, Basis.ESTIMATED),
    Fact("table.entities_read_per_s", NUMBER, "entities/s", entities_read_per_s, Basis.ESTIMATED),
    Fact("table.most_wasteful_query", TEXT, "", most_wasteful_query, Basis.ESTIMATED),
    Fact("table.entities_all", NUMBER, "entities", entities_all),
    Fact("table.query_requests_per_s", NUMBER, "requests/s", query_requests_per_s),
    Fact("table.kind", TEXT, "", kind),
    Fact("table.kind_requests_per_s", NUMBER, "requests/s", kind_requests_per_s),
    Fact("table.quiet_requests_per_s", NUMBER, "requests/s", quiet_requests_per_s),
    Fact("table.changes_per_day", NUMBER, "entities/day", changes_per_day),
    sure("table.quiet_kinds", TEXTS, "", quiet_kinds),
    sure("table.most_wasteful_told", BOOL, "", most_wasteful_told),
    sure("part.fanning_queries", TEXTS, QUERY_NAMES, fanning_queries),
    sure("budget.bound", NUMBER, "", budget_bound),
    sure("budget.unit", TEXT, "", budget_unit),
    sure("budget.unchecked", TEXTS, "", unchecked),
    sure("budget.first_unchecked", BOOL, "", first_unchecked),
    sure("budget.why_unchecked", TEXT, "", why_unchecked),
    Fact("part.buckets", NUMBER, "buckets", buckets),
    Fact("part.buckets_needed", NUMBER, "buckets", buckets_needed, Basis.ESTIMATED),
    Fact("part.needless_requests_per_s", NUMBER, "requests/s", needless_requests_per_s, Basis.ESTIMATED),
    Fact("class.latency_ms_p99", NUMBER, "ms", latency_ms_p99, Basis.ESTIMATED),
    Fact("class.latency_goal_ms_p99", NUMBER, "ms", latency_goal_ms_p99),
    Fact("budget.value", NUMBER, "", budget_value),
)
