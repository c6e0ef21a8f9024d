"""Facts of the requests that a query takes: side by side, period after period, page after page."""

from __future__ import annotations

import math

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import KnownValue, number
from pkadvisor.review.facts.tables import entities, entities_of_all
from pkadvisor.review.views import reads
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.key_loads import mixed_in
from pkadvisor.review.views.partition_reads import found_most, mean_scanned
from pkadvisor.review.views.served import reads_the_table
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.windows import in_window, open_window
from pkadvisor.table.odata import comparison_count


def fan_out(subject: Subject) -> KnownValue | None:
    """Requests for its buckets and choices, without periods.

    Requests side by side: buckets and choices, without periods of time.
    """
    plan = subject.view.plan_of(subject.query)
    if plan is None:
        return None
    wanted = conditions(subject.query.filter)
    choices = math.prod(len(wanted.any_of[name]) for name in plan.choices if name in wanted.any_of)
    return KnownValue(float(plan.buckets * choices), Basis.DERIVED)


def partitions_chosen(subject: Subject) -> float | None:
    """Values of its 'or' that are in different partitions, each asked by a request of its own."""
    query, view = subject.item, subject.view
    plan = view.plan_of(query)
    if plan is None or view.scheme is None:
        return None
    halves = part_properties(list(view.scheme.each_key())[plan.via][0].partition)
    wanted = conditions(query.filter)
    return float(math.prod(len(wanted.any_of[n]) for n in plan.choices if n in wanted.any_of and n in halves))


def rows_chosen(subject: Subject) -> float | None:
    """Values of its 'or' that are in one partition, each asked by a request of its own."""
    fact, apart = fan_out(subject), partitions_chosen(subject)
    plan = subject.view.plan_of(subject.item)
    return None if fact is None or apart is None or plan is None else number(fact) / apart / plan.buckets


def requests_at_once(subject: Subject) -> KnownValue | None:
    """Those requests for all its periods.

    Requests for all buckets and choices of all its periods; of one period where it goes back through them.
    """
    fact, plan = fan_out(subject), subject.view.plan_of(subject.item)
    if fact is None or plan is None or plan.periods is None or plan.back:
        return fact
    spread = periods_spread(subject)
    return KnownValue(number(fact) * max(1.0, spread), fact.basis) if spread else fact


def requests_per_s(subject: Subject) -> float | None:
    """All those requests a second at the peak, of a class that is no analysis."""
    each = requests_at_once(subject)
    return None if each is None or subject.query.analytic else number(each) * subject.query.rate.sustained_per_s


def pointer_reads(subject: Subject) -> KnownValue | None:
    """The requests for the entities that pointers lead to: those of the data, else one for each that it finds at the
    most."""
    plan, cost = subject.view.plan_of(subject.query), subject.view.cost_of(subject.query)
    if plan is None or not plan.follows:
        return None
    if cost is not None and cost.plan is plan:
        return KnownValue(cost.requests - cost.continuations - cost.fan_out, Basis.ESTIMATED)
    most = found_most(subject.query, subject.view)
    return None if most is None else KnownValue(most, Basis.DERIVED)


def pointer_reads_per_s(subject: Subject) -> float | None:
    """Those requests a second at the peak, of a class that is no analysis."""
    each = pointer_reads(subject)
    return None if each is None or subject.query.analytic else number(each) * subject.query.rate.sustained_per_s


def periods_each(subject: Subject) -> float | None:
    """Periods, where each takes all those requests.

    The periods of which each takes all those requests; unknown for a single one.
    """
    fact, whole = fan_out(subject), requests_at_once(subject)
    if fact is None or whole is None or whole.value == fact.value:
        return None
    return number(whole) / number(fact)


def fan_out_of(subject: Subject) -> str | None:
    """What the requests differ in."""
    plan = subject.view.plan_of(subject.item)
    if plan is None:
        return None
    return " and ".join((*(f"bucket of {part}" for part in plan.fans), *(f"value of {n}" for n in plan.choices)))


def fan_out_buckets(subject: Subject) -> bool | None:
    """Whether they differ in buckets.

    Whether buckets are among what these requests differ in.
    """
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.buckets > 1


def periods(subject: Subject) -> float | None:
    """Partitions of time that it runs over.

    The periods that it runs over: no more of them than entities where one range over partitions finds them.
    """
    view, query = subject.view, subject.item
    count = reads.periods_of(view, query)
    if count is None:
        return None
    by_range = any(p.access is Access.PARTITION_RANGE_SCAN for p in view.plans_of(query))
    entities = in_window(view, query) if by_range else None
    return float(math.ceil(count if entities is None else min(count, max(1.0, entities))))


def periods_spread(subject: Subject) -> float | None:
    """The periods where each is in several partitions."""
    fact = fan_out(subject)
    return None if fact is None or fact.value == 1 else periods(subject)


def period_requests(subject: Subject) -> float | None:
    """The most requests for the periods in its key."""
    return reads.requests_for_periods(subject.view, subject.item)


def of_whole_periods(subject: Subject) -> bool:
    """Whether its partitions hold a period of all entities each: the PartitionKey is made of time alone.

    Whether a partition that it asks for holds a period of all entities: the PartitionKey is made of time alone.
    """
    plan, scheme = subject.view.plan_of(subject.item), subject.view.scheme
    if plan is None or scheme is None or plan.via:
        return False
    parts = variable(scheme.main.partition)
    return bool(parts) and all(part.period is not None for part in parts)


def by_period(subject: Subject) -> bool | None:
    """Whether it asks each period of a PartitionKey apart."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.periods is not None


def goes_back(subject: Subject) -> bool | None:
    """Whether it asks period after period, the newest first.

    Whether it asks period after period, the newest first, until it has enough.
    """
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.back


def back_unit(subject: Subject) -> str | None:
    """The day or shorter period that it can only go back by, one by one."""
    return subject.view.back_unit(subject.item)


def back_month(subject: Subject) -> float | None:
    """Requests that go back a month by those.

    Requests that go back a month, one after the other.
    """
    unit = back_unit(subject)
    return None if unit is None else PERIOD_S["month"] / PERIOD_S[unit]


def comparisons(subject: Subject) -> float | None:
    """Comparisons of one request.

    Comparisons of one request as it would have to be sent.
    """
    query = subject.query
    if query.filter is None:
        return 0.0
    plan = subject.view.plan_of(query)
    if plan is None or names_keys(query):
        return float(comparison_count(query.filter))
    return float(len(plan.terms) + sum(comparison_count(f) for f in (*plan.rest, *plan.client)))


def filter_comparisons(subject: Subject) -> float:
    """Comparisons of its filter as it stands."""
    return 0.0 if subject.query.filter is None else float(comparison_count(subject.query.filter))


def entities_read(subject: Subject) -> KnownValue | None:
    """Entities read for one query.

    Entities that the service reads for one query.
    """
    query = subject.query
    plan = subject.view.plan_of(query)
    cost = None if names_keys(query) else subject.view.cost_of(query)
    scans = plan is not None and plan.access is Access.TABLE_SCAN
    of_every_kind = scans and subject.view.section.kind and cost is not None and cost.plan and cost.plan.top is None
    mixed = plan is not None and bool(mixed_in(plan, subject.view))
    if cost is not None and (cost.plan is None or cost.plan is plan) and not of_every_kind and not mixed:
        return KnownValue(cost.entities_read, Basis.ESTIMATED)
    total = entities_of_all(subject.view) if scans else entities(subject)  # a scan of the table reads every kind
    window = in_window(subject.view, query) if cost is None else None
    if window is not None and window > subject.view.limits.page_entities:
        return KnownValue(window, Basis.DERIVED)
    if plan is None or total is None or plan.top is not None:
        return None
    requests = fan_out(subject)
    mean = None if cost is not None or requests is None else mean_scanned(query, subject.view)
    if mean is not None and requests is not None and mean > subject.view.limits.page_entities:
        # Of less than a page nobody knows how even it is.
        return KnownValue(mean * number(requests) / plan.buckets, Basis.DERIVED)
    whole = plan.access is Access.TABLE_SCAN or (plan.access is Access.PARTITION_SCAN and _one_partition(subject))
    return KnownValue(total, Basis.DERIVED) if whole else None


def read_at_least(subject: Subject) -> str | None:
    """At least, where its window is open to the present.

    The words ``at least`` where its window is open to the present and so holds more than it says.
    """
    fact = entities_read(subject)
    derived = fact is not None and fact.basis is Basis.DERIVED
    return "at least" if derived and open_window(subject.view, subject.query) else None


def _one_partition(subject: Subject) -> bool:
    """Whether every entity has the same PartitionKey, and each entity one row."""
    scheme = subject.view.scheme
    return scheme is not None and not scheme.index_rows and not variable(scheme.main.partition)


def entities_returned(subject: Subject) -> KnownValue | None:
    """Entities that one query is after."""
    cost = None if names_keys(subject.query) else subject.view.cost_of(subject.query)
    return None if cost is None else KnownValue(cost.entities_returned, Basis.ESTIMATED)


def entities_read_max(subject: Subject) -> KnownValue | None:
    """The most that one query reads."""
    query = subject.query
    cost = None if names_keys(query) else subject.view.cost_of(query)
    if cost is None or (cost.plan is not None and cost.plan is not subject.view.plan_of(query)):
        return None
    return KnownValue(cost.entities_read_max, Basis.ESTIMATED)


def pages(subject: Subject) -> KnownValue | None:
    """Answers of at most a page each that one query takes, one after the other."""
    fact = entities_read(subject)
    if fact is None:
        return None
    assert isinstance(fact.value, float)
    return KnownValue(float(max(1, math.ceil(fact.value / subject.view.limits.page_entities))), fact.basis)


def pages_in_turn(subject: Subject) -> KnownValue | None:
    """Those that wait for one another.

    The pages that wait for one another: requests to several partitions run side by side.
    """
    paged = pages(subject)
    if paged is None:
        return None
    return KnownValue(float(math.ceil(number(paged) / _side_by_side(subject))), paged.basis)


def _side_by_side(subject: Subject) -> float:
    """Requests that run at the same time: as many as there are, and no more than a client keeps in flight."""
    fact = requests_at_once(subject)
    return 1.0 if fact is None else max(1.0, min(number(fact), float(subject.view.limits.fan_out_parallel)))


def duration_s(subject: Subject) -> KnownValue | None:
    """Time to read it page after page.

    Seconds to read it all, page after page, at the limits' speed of a scan.
    """
    fact, paged = entities_read(subject), pages_in_turn(subject)
    if fact is None or paged is None:
        return None
    limits = subject.view.limits
    ms = number(paged) * limits.page_latency_ms + number(fact) / _side_by_side(subject) * limits.scan_ms_per_entity
    return KnownValue(ms / 1000, Basis.ESTIMATED)


def whole_of(subject: Subject) -> str | None:
    """What it reads from end to end: table or partition.

    What it reads from end to end, a table or a partition; unknown for a window of either.
    """
    plan = subject.view.plan_of(subject.item)
    if plan is None or plan.periods is not None:
        return None
    if reads_the_table(subject.view, plan):
        return "table"
    return "partition" if plan.access is Access.PARTITION_SCAN else None
