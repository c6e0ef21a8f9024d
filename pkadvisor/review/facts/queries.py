"""Facts of queries: how the keys serve them, why no better, and what they read."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.observe.workload import Basis, GrowthOf
from pkadvisor.review.facts.base import QUERY_NAMES, Fact, number
from pkadvisor.review.facts.query_requests import (
    back_month,
    back_unit,
    by_period,
    comparisons,
    duration_s,
    entities_read,
    entities_read_max,
    entities_returned,
    fan_out,
    fan_out_buckets,
    fan_out_of,
    filter_comparisons,
    goes_back,
    of_whole_periods,
    pages,
    pages_in_turn,
    partitions_chosen,
    period_requests,
    periods,
    periods_each,
    periods_spread,
    pointer_reads,
    pointer_reads_per_s,
    read_at_least,
    requests_at_once,
    requests_per_s,
    rows_chosen,
    whole_of,
)
from pkadvisor.review.facts.tables import entities, entities_of_all
from pkadvisor.review.views import names, order, served
from pkadvisor.review.views.as_sent import names_keys
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.findings import often_text
from pkadvisor.review.views.key_loads import follows_clock, mixed_in, partitions_most
from pkadvisor.review.views.partition_reads import matching_mean, mean_scanned
from pkadvisor.review.views.reads import cut_at_ends
from pkadvisor.review.views.subjects import Scope, Subject, subjects_of_design
from pkadvisor.table.odata import properties


def access(subject: Subject) -> str | None:
    """How its requests find their entities."""
    plan = subject.view.plan_of(subject.query)
    return None if plan is None else str(plan.access)


def scans_table(subject: Subject) -> bool | None:
    """Whether it reads the whole table: it names no PartitionKey, or every bucket of one is read to its end."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else served.reads_the_table(subject.view, plan)


def rate_per_s(subject: Subject) -> float | None:
    """Its mean rate."""
    return subject.query.rate.mean_per_s if subject.query.rate.mean_per_s > 0 else None


def often(subject: Subject) -> str | None:
    """Its mean rate in words: 19 times an hour."""
    rate = rate_per_s(subject)
    return None if rate is None else often_text(rate)


def analytic(subject: Subject) -> bool:
    """Whether it is an export or analysis."""
    return subject.query.analytic


def as_sent(subject: Subject) -> bool:
    """Whether its filter names the keys themselves."""
    return bool(names_keys(subject.item))


def names_row_key(subject: Subject) -> bool:
    """Whether its filter names RowKey itself."""
    return "RowKey" in names_keys(subject.item)


def top(subject: Subject) -> float | None:
    """How many entities it asks for at most."""
    return None if subject.query.top is None else float(subject.query.top)


def stops_at(subject: Subject) -> float | None:
    """Entities that end a request before all is read."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None or plan.top is None else float(plan.top)


def cause(subject: Subject) -> str | None:
    """Why the keys serve it no better: the first cause that applies, or none."""
    reason = served.cause_of(subject.view, subject.item)
    return None if reason is None else str(reason)


def filtered(subject: Subject) -> bool | None:
    """Whether entities are read that its filter then drops."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else _drops(subject, plan)


def _drops(subject: Subject, plan: AccessPlan) -> bool:
    """Whether a filter drops rows, and not only at both ends of a range of periods."""
    ends = cut_at_ends(subject.view, subject.item)
    return any(not set(properties(f)) <= ends for f in (*plan.rest, *plan.client))


def other_kinds(subject: Subject) -> tuple[str, ...]:
    """Other kinds whose rows it reads as well: they lie in its partitions, and no label sets them apart."""
    plan = subject.view.plan_of(subject.item)
    if plan is None or names_keys(subject.item):
        return ()
    return tuple(dict.fromkeys(each.section.kind or "" for each in mixed_in(plan, subject.view)))


def beside_keys(subject: Subject) -> tuple[str, ...] | None:
    """Properties of its filter that the keys leave open."""
    plan = subject.view.plan_of(subject.item)
    if plan is None:
        return None
    ends = cut_at_ends(subject.view, subject.item)
    return tuple(name for name in plan.unserved if name not in ends) or plan.unserved


def or_parts(subject: Subject) -> float | None:
    """Parts of the 'or' that keeps the keys from serving it."""
    parts = served.or_parts(subject.view, subject.item)
    return None if parts is None else float(parts[1])


def or_part_access(subject: Subject) -> str | None:
    """How the worst part of that 'or' would be served alone."""
    parts = served.or_parts(subject.view, subject.item)
    return None if parts is None else "point read" if parts[2] is Access.POINT else str(parts[2])


def negated(subject: Subject) -> str:
    """The negated condition that keeps the keys from serving it."""
    return served.negated(subject.view, subject.item)


def order_unserved(subject: Subject) -> str | None:
    """The wanted order, if answers come in another."""
    return order.order_unserved(subject.view, subject.item) or None


def turned_part(subject: Subject) -> str | None:
    """The key part that would give that order."""
    return order.turned_part(subject.view, subject.item) or None


def sorted_to(subject: Subject) -> str | None:
    """The period up to which the keys bring that order: within one the client sorts."""
    return order.sorted_to(subject.view, subject.item) or None


def runs_backwards(subject: Subject) -> str | None:
    """The text that a RowKey holds in the order against the wanted one."""
    return order.runs_backwards(subject.view, subject.item) or None


def few_match(subject: Subject) -> bool:
    """Whether no more entities match on average than it asks for at most, so that all are wanted."""
    matching, wanted = matching_mean(subject.item, subject.view), subject.query.top
    return matching is not None and wanted is not None and matching <= wanted


def turned_where(subject: Subject) -> str | None:
    """The row whose RowKey that part belongs into."""
    if not order.turned_part(subject.view, subject.item):
        return None
    others = order.against_turn(subject.view, subject.item)
    if others:
        return f"an index row, and leave this row as it is: {', '.join(others)} would no longer come in order"
    return "this row or of an index row; a changed key means that every row is rewritten"


def small(subject: Subject) -> bool:
    """Whether the whole table is one page and little load."""
    total, limits = entities_of_all(subject.view), subject.view.limits
    if total is None or total > limits.page_entities:
        return False
    return subject.query.rate.sustained_per_s * total <= limits.headroom_share * limits.partition_entities_per_s


BOUNDED_PAGES = 10
"""Pages that a request can read one after the other without being an error where the load is within its targets."""


def bounded(subject: Subject) -> bool:
    """Whether the table is and stays few pages, within the targets.

    With data the targets are those of the priced keys, all requests together, as analyze judges them; without, the
    reads of this one alone.
    """
    view, query = subject.view, subject.item
    total, limits, growth = entities_of_all(view), view.limits, view.workload.growth
    if total is None:
        return False
    held = total * (growth.factor if growth is not None and growth.of is not GrowthOf.RATE else 1.0)
    if held > BOUNDED_PAGES * limits.page_entities:
        return False
    if view.has_data and view.estimate is not None:
        return all(each.load_at(1.0) <= each.limit for each in view.estimate.breaks)
    often = growth.factor if growth is not None and growth.of is GrowthOf.RATE else 1.0
    return bool(query.rate.sustained_per_s * often * held <= limits.headroom_share * limits.partition_entities_per_s)


UNEVEN = 10.0
"""Times its mean that the largest partition is taken to hold where nobody declares how uneven they are: assumed."""


FEW_PARTITIONS = 32
"""Of so few things of a few parts each nobody makes a table: their partitions are large."""


def entities_mean(subject: Subject) -> float | None:
    """Entities that it reads on average by the declared entities and values, also of less than a page."""
    return mean_scanned(subject.item, subject.view)


def one_small_partition(subject: Subject) -> bool:
    """Whether it reads one partition that is small by design.

    By declared numbers, ten times the mean is within a page; without them, the PartitionKey names one thing of many, of
    which the entities are the few parts, and no time makes them more and more.
    """
    view, query = subject.view, subject.item
    plan, scheme = view.plan_of(query), view.scheme
    if (
        plan is None
        or scheme is None
        or plan.access is not Access.PARTITION_SCAN
        or plan.via
        or plan.periods is not None
    ):
        return False
    requests = fan_out(subject)
    if view.has_data or requests is None or number(requests) > 1:
        return False
    total, partitions = entities_of_all(view), partitions_most(scheme.main.partition, view)
    if total is not None and partitions is not None:
        return UNEVEN * total / partitions <= view.limits.page_entities
    if partitions is not None and partitions <= FEW_PARTITIONS:
        return False
    if any(part.tells_time or part.rises_within or follows_clock(part, view) for part in variable(scheme.main.row)):
        return False
    entity = view.section.kind or view.section.table
    named = [n for part in variable(scheme.main.partition) if part.injective for n in part.properties]
    tables = (view.section.table, entity)
    return any(names.counter_of(n, t) or names.part_of_aggregate(n, t) for n in named for t in tables)


RARE_SHARE = 0.01
"""Reads below this share of a partition's target are no load to speak of."""
RARE_PER_S = 1 / 3600


def rare(subject: Subject) -> bool:
    """Whether it comes so seldom that it is no load.

    At most once an hour where nobody knows how much it reads.
    """
    rate, fact = subject.query.rate.mean_per_s, entities_read(subject)
    read = mean_scanned(subject.query, subject.view) if fact is None else number(fact)
    if rate <= 0:
        return False
    if read is None:
        return rate <= RARE_PER_S * (1 + 1e-9)
    return rate * read < RARE_SHARE * subject.view.limits.partition_entities_per_s


def dropping(subject: Subject) -> bool | None:
    """Whether whole partitions are read for what a filter keeps of them."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.access in served.SCANS and _drops(subject, plan)


EMPTY_SHARE = 0.5
"""Fewer entities than this for each page: at least every second page must be empty."""


def empty_paged(subject: Subject) -> tuple[str, ...]:
    """Queries most of whose pages must be empty.

    They return fewer entities than there are pages.
    """
    return tuple(q.name for q in _paged(subject) if (n := _returned(q)) is not None and n < EMPTY_SHARE * _pages(q))


def maybe_empty_paged(subject: Subject) -> tuple[str, ...]:
    """Queries whose pages may be empty, by all that is known.

    Queries that filter a table or partitions of more than a page, or of unknown size; none where all of them read
    the whole table for want of a key, which says more.
    """
    unsure = [q for q in _paged(subject) if _returned(q) is None]
    scans = all(scans_table(q) and cause(q) == served.Cause.NONE and not small(q) for q in unsure)
    return () if scans else tuple(q.name for q in unsure)


def _paged(subject: Subject) -> list[Subject]:
    own = [s for s in subjects_of_design(subject.design) if s.scope is Scope.QUERY and s.table is subject.table]
    droppers = [q for q in own if dropping(q) and not analytic(q) and cause(q) != served.Cause.FILTER]
    return [q for q in droppers if _pages(q) >= 2 or (entities(q) is None and access(q) == Access.TABLE_SCAN)]


def _pages(subject: Subject) -> float:
    fact = pages(subject)
    return float(fact.value) if fact is not None and isinstance(fact.value, float) else 0.0


def _returned(subject: Subject) -> float | None:
    fact = entities_returned(subject)
    return float(fact.value) if fact is not None and isinstance(fact.value, float) else None


def most_pages(subject: Subject) -> float | None:
    """The most pages that one of those takes."""
    return max((_pages(q) for q in _paged(subject)), default=0.0) or None


def row_key_left_out(subject: Subject) -> str:
    """The RowKey that its PartitionKey tells."""
    return served.row_key_known(subject.view, subject.item)


def row_key_meant(subject: Subject) -> str:
    """The RowKey whose properties it filters by instead."""
    return served.row_key_meant(subject.view, subject.item)


def unqueried_blocks(subject: Subject) -> tuple[str, ...]:
    """Queries that would be served better without it."""
    return served.blocked_by(subject.view, subject.item)


def names_timestamp(subject: Subject) -> bool:
    """Whether it filters on Timestamp."""
    return subject.query.filter is not None and "Timestamp" in properties(subject.query.filter)


N, B, T, TS = FactType.NUMBER, FactType.BOOL, FactType.TEXT, FactType.TEXTS

FACTS: tuple[Fact, ...] = (
    Fact("query.access", T, "", access),
    Fact("query.scans_table", B, "", scans_table),
    Fact("query.rate_per_s", N, "requests/s", rate_per_s),
    Fact("query.often", T, "", often),
    Fact("query.analytic", B, "", analytic, may_be_unknown=False),
    Fact("query.as_sent", B, "", as_sent, may_be_unknown=False),
    Fact("query.names_row_key", B, "", names_row_key, may_be_unknown=False),
    Fact("query.top", N, "entities", top),
    Fact("query.stops_at", N, "entities", stops_at),
    Fact("query.cause", T, "", cause),
    Fact("query.filtered", B, "", filtered),
    Fact("query.beside_keys", TS, "", beside_keys),
    Fact("query.other_kinds", TS, "", other_kinds, Basis.DERIVED, may_be_unknown=False),
    Fact("query.or_parts", N, "parts", or_parts),
    Fact("query.or_part_access", T, "", or_part_access),
    Fact("query.negated", T, "", negated),
    Fact("query.fan_out", N, "requests", fan_out),
    Fact("query.partitions_chosen", N, "partitions", partitions_chosen),
    Fact("query.rows_chosen", N, "values", rows_chosen),
    Fact("query.requests_at_once", N, "requests", requests_at_once),
    Fact("query.requests_per_s", N, "requests/s", requests_per_s, Basis.DERIVED),
    Fact("query.pointer_reads", N, "requests", pointer_reads),
    Fact("query.pointer_reads_per_s", N, "requests/s", pointer_reads_per_s),
    Fact("query.periods_each", N, "periods", periods_each),
    Fact("query.fan_out_of", T, "", fan_out_of),
    Fact("query.fan_out_buckets", B, "", fan_out_buckets),
    Fact("query.periods", N, "partitions", periods, Basis.DERIVED),
    Fact("query.periods_spread", N, "periods", periods_spread),
    Fact("query.period_requests", N, "requests", period_requests),
    Fact("query.by_period", B, "", by_period),
    Fact("query.of_whole_periods", B, "", of_whole_periods),
    Fact("query.goes_back", B, "", goes_back),
    Fact("query.back_unit", T, "", back_unit),
    Fact("query.back_month", N, "requests", back_month, Basis.DERIVED),
    Fact("query.comparisons", N, "comparisons", comparisons, Basis.DERIVED),
    Fact("query.filter_comparisons", N, "comparisons", filter_comparisons),
    Fact("query.entities_read", N, "entities", entities_read, Basis.ESTIMATED),
    Fact("query.read_at_least", T, "", read_at_least),
    Fact("query.entities_mean", N, "entities", entities_mean, Basis.DERIVED),
    Fact("query.entities_read_max", N, "entities", entities_read_max),
    Fact("query.entities_returned", N, "entities", entities_returned),
    Fact("query.pages", N, "pages", pages, Basis.ESTIMATED),
    Fact("query.pages_in_turn", N, "pages", pages_in_turn, Basis.ESTIMATED),
    Fact("query.whole_of", T, "", whole_of, Basis.DERIVED),
    Fact("query.duration_s", N, "s", duration_s, Basis.ESTIMATED),
    Fact("query.small", B, "", small, may_be_unknown=False),
    Fact("query.bounded", B, "", bounded, may_be_unknown=False),
    Fact("query.one_small_partition", B, "", one_small_partition, Basis.DERIVED, may_be_unknown=False),
    Fact("query.rare", B, "", rare, may_be_unknown=False),
    Fact("query.dropping", B, "", dropping),
    Fact("query.order_unserved", T, "", order_unserved),
    Fact("query.turned_part", T, "", turned_part),
    Fact("query.sorted_to", T, "", sorted_to, Basis.DERIVED),
    Fact("query.runs_backwards", T, "", runs_backwards, Basis.DERIVED),
    Fact("query.few_match", B, "", few_match, Basis.DERIVED, may_be_unknown=False),
    Fact("query.turned_where", T, "", turned_where, Basis.DERIVED),
    Fact("query.row_key_left_out", T, "", row_key_left_out),
    Fact("query.row_key_meant", T, "", row_key_meant),
    Fact("query.names_timestamp", B, "", names_timestamp, may_be_unknown=False),
    Fact("table.empty_paged", TS, QUERY_NAMES, empty_paged, may_be_unknown=False),
    Fact("table.maybe_empty_paged", TS, QUERY_NAMES, maybe_empty_paged, may_be_unknown=False),
    Fact("table.empty_pages_most", N, "pages", most_pages, Basis.ESTIMATED),
    Fact("part.unqueried_blocks", TS, QUERY_NAMES, unqueried_blocks),
)
