"""Facts of queries: how the keys serve them, why no better, and what they read."""

from __future__ import annotations

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import FORBIDDEN
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.observe.workload import Basis, GrowthOf, QueryClass
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
    pages,
    pages_in_turn,
    partitions_chosen,
    period_requests,
    periods,
    periods_each,
    periods_spread,
    pointer_reads,
    pointer_reads_per_s,
    requests_at_once,
    requests_per_s,
    rows_chosen,
    whole_of,
)
from pkadvisor.review.facts.tables import entities, entities_of_all
from pkadvisor.review.views import names, order, served
from pkadvisor.review.views.as_sent import SYSTEM_TYPES, names_keys
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import follows_clock, partitions_most
from pkadvisor.review.views.listing import subjects_of_design
from pkadvisor.review.views.partition_reads import mean_scanned
from pkadvisor.review.views.subjects import KeyPart, Scope, Subject
from pkadvisor.review.views.wording import often_text
from pkadvisor.table.odata import Parameter, properties


def access(subject: Subject) -> str | None:
    """The access kind: point, row range, partition scan, partition-range scan, table scan."""
    query: QueryClass = subject.item
    plan = subject.view.plan_of(query)
    return None if plan is None else str(plan.access)


def rate_per_s(subject: Subject) -> float | None:
    query: QueryClass = subject.item
    return query.rate.mean_per_s if query.rate.mean_per_s > 0 else None


def often(subject: Subject) -> str | None:
    """Its mean rate in the unit that people count it in."""
    rate = rate_per_s(subject)
    return None if rate is None else often_text(rate)


def analytic(subject: Subject) -> bool:
    query: QueryClass = subject.item
    return query.analytic


def as_sent(subject: Subject) -> bool:
    return bool(names_keys(subject.item))


def names_row_key(subject: Subject) -> bool:
    return "RowKey" in names_keys(subject.item)


def top(subject: Subject) -> float | None:
    query: QueryClass = subject.item
    return None if query.top is None else float(query.top)


def stops_at(subject: Subject) -> float | None:
    """The entities after which a request stops: its answers come in the wanted order, and nobody sorts them."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None or plan.top is None else float(plan.top)


def cause(subject: Subject) -> str | None:
    reason = served.cause_of(subject.view, subject.item)
    return None if reason is None else str(reason)


def filtered(subject: Subject) -> bool | None:
    """Whether rows are read that the filter then drops."""
    query: QueryClass = subject.item
    plan = subject.view.plan_of(query)
    return None if plan is None else _drops(plan)


def _drops(plan: AccessPlan) -> bool:
    """Whether a filter drops rows, and not only at both ends of a range of periods that are asked one by one."""
    ends = {plan.periods.property} if plan.periods is not None else set[str]()
    return any(not set(properties(f)) <= ends for f in (*plan.rest, *plan.client))


def beside_keys(subject: Subject) -> tuple[str, ...] | None:
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.unserved


def or_parts(subject: Subject) -> float | None:
    parts = served.or_parts(subject.view, subject.item)
    return None if parts is None else float(parts[1])


def or_part_access(subject: Subject) -> str | None:
    parts = served.or_parts(subject.view, subject.item)
    return None if parts is None else "point read" if parts[2] is Access.POINT else str(parts[2])


def negated(subject: Subject) -> str:
    return served.negated(subject.view, subject.item)


def order_unserved(subject: Subject) -> str | None:
    return order.order_unserved(subject.view, subject.item) or None


def turned_part(subject: Subject) -> str | None:
    return order.turned_part(subject.view, subject.item) or None


def turned_where(subject: Subject) -> str | None:
    """Where to put that part: beside the row that there is if others want that one as it stands."""
    if not order.turned_part(subject.view, subject.item):
        return None
    others = order.against_turn(subject.view, subject.item)
    if others:
        return f"an index row, and leave this row as it is: {', '.join(others)} would no longer come in order"
    return "this row or of an index row; a changed key means that every row is rewritten"


def small(subject: Subject) -> bool:
    """Whether even the whole table is one page, and reading it that often is no load."""
    query: QueryClass = subject.item
    total, limits = entities_of_all(subject.view), subject.view.limits
    if total is None or total > limits.page_entities:
        return False
    return query.rate.sustained_per_s * total <= limits.headroom_share * limits.partition_entities_per_s


BOUNDED_PAGES = 10
"""Pages that a request can read one after the other without being an error where the load is within its targets."""


def bounded(subject: Subject) -> bool:
    """Whether the whole table, with its declared growth, stays within a few pages, and its load within the targets.

    With data the targets are those of the priced keys, all requests together; without, the reads of this one alone.
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


def one_small_partition(subject: Subject) -> bool:
    """Whether it reads one partition that is small by design, where no data tells how large it is.

    By declared numbers, ten times the mean is within a page; without them, the PartitionKey names one thing, of which
    the entities are the few parts, and no time makes them more and more.
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
    """Whether it comes so seldom that what it reads is no load; at most once an hour where nobody knows how much."""
    query: QueryClass = subject.item
    rate, fact = query.rate.mean_per_s, entities_read(subject)
    read = mean_scanned(query, subject.view) if fact is None else number(fact)
    if rate <= 0:
        return False
    if read is None:
        return rate <= RARE_PER_S * (1 + 1e-9)
    return rate * read < RARE_SHARE * subject.view.limits.partition_entities_per_s


def dropping(subject: Subject) -> bool | None:
    """Whether whole partitions are read for what a filter keeps of them."""
    plan = subject.view.plan_of(subject.item)
    return None if plan is None else plan.access in served.SCANS and _drops(plan)


EMPTY_SHARE = 0.5
"""Fewer entities than this for each page: at least every second page must be empty."""


def empty_paged(subject: Subject) -> tuple[str, ...]:
    """Queries most of whose pages must be empty: they return fewer entities than there are pages."""
    return tuple(q.name for q in _paged(subject) if (n := _returned(q)) is not None and n < EMPTY_SHARE * _pages(q))


def maybe_empty_paged(subject: Subject) -> tuple[str, ...]:
    """Queries that filter a table or partitions of more than a page, or of unknown size; none where all of them read
    the whole table for want of a key, which says more."""
    unsure = [q for q in _paged(subject) if _returned(q) is None]
    scans = all(access(q) == Access.TABLE_SCAN and cause(q) == served.Cause.NONE and not small(q) for q in unsure)
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
    """The most pages that one of those queries takes."""
    return max((_pages(q) for q in _paged(subject)), default=0.0) or None


def unknown_properties(subject: Subject) -> tuple[str, ...]:
    return served.unknown_properties(subject.view, subject.item)


def meant(subject: Subject) -> str | None:
    """The known property that an unknown one probably stands for."""
    for name in unknown_properties(subject):
        if close := served.close_to(name, subject.view):
            return close
    return None


def miscased(subject: Subject) -> bool:
    return any(served.miscased(name, subject.view) for name in unknown_properties(subject))


def wrong_types(subject: Subject) -> tuple[str, ...]:
    return served.wrong_types(subject.view, subject.item)


def quoted_twice(subject: Subject) -> tuple[str, ...]:
    return served.quoted_twice(subject.item)


def no_keys(subject: Subject) -> tuple[str, ...]:
    """Constants that its keys must equal and no key can: characters in them are refused."""
    query: QueryClass = subject.item
    equal = conditions(query.filter).equal
    texts = [o.value for n in names_keys(query) if (o := equal.get(n)) is not None and not isinstance(o, Parameter)]
    return tuple(f"'{text}'" for text in texts if isinstance(text, str) and FORBIDDEN & set(text))


def row_key_left_out(subject: Subject) -> str:
    return served.row_key_known(subject.view, subject.item)


def row_key_meant(subject: Subject) -> str:
    return served.row_key_meant(subject.view, subject.item)


def unqueried_blocks(subject: Subject) -> tuple[str, ...]:
    return served.blocked_by(subject.view, subject.item)


def part_unknown(subject: Subject) -> tuple[str, ...]:
    """Properties of the part that the data does not have, or that are a declared one but for a slip."""
    place: KeyPart = subject.item
    view = subject.view
    strange = [n for n in place.part.properties if n not in view.types and n not in SYSTEM_TYPES]
    return tuple(n for n in strange if view.has_data or served.misspelt(n, view))


def part_meant(subject: Subject) -> str | None:
    return next((f for n in part_unknown(subject) if (f := served.close_to(n, subject.view))), None)


def names_timestamp(subject: Subject) -> bool:
    query: QueryClass = subject.item
    return query.filter is not None and "Timestamp" in properties(query.filter)


N, B, T, TS = FactType.NUMBER, FactType.BOOL, FactType.TEXT, FactType.TEXTS

FACTS: tuple[Fact, ...] = (
    Fact("query.access", T, "", "How its requests find their entities.", access),
    Fact("query.rate_per_s", N, "requests/s", "Its mean rate.", rate_per_s),
    Fact("query.often", T, "", "Its mean rate in words: 19 times an hour.", often),
    Fact("query.analytic", B, "", "Whether it is an export or analysis.", analytic, may_be_unknown=False),
    Fact("query.as_sent", B, "", "Whether its filter names the keys themselves.", as_sent, may_be_unknown=False),
    Fact("query.names_row_key", B, "", "Whether its filter names RowKey itself.", names_row_key, may_be_unknown=False),
    Fact("query.top", N, "entities", "How many entities it asks for at most.", top),
    Fact("query.stops_at", N, "entities", "Entities that end a request before all is read.", stops_at),
    Fact("query.cause", T, "", "Why the keys serve it no better: the first cause that applies, or none.", cause),
    Fact("query.filtered", B, "", "Whether entities are read that its filter then drops.", filtered),
    Fact("query.beside_keys", TS, "", "Properties of its filter that the keys leave open.", beside_keys),
    Fact("query.or_parts", N, "parts", "Parts of the 'or' that keeps the keys from serving it.", or_parts),
    Fact("query.or_part_access", T, "", "How the worst part of that 'or' would be served alone.", or_part_access),
    Fact("query.negated", T, "", "The negated condition that keeps the keys from serving it.", negated),
    Fact("query.fan_out", N, "requests", "Requests for its buckets and choices, without periods.", fan_out),
    Fact("query.partitions_chosen", N, "partitions", "Values of its 'or' in partitions apart.", partitions_chosen),
    Fact("query.rows_chosen", N, "values", "Values of its 'or' in one partition, asked apart.", rows_chosen),
    Fact("query.requests_at_once", N, "requests", "Those requests for all its periods.", requests_at_once),
    Fact("query.requests_per_s", N, "requests/s", "All of them a second at the peak.", requests_per_s, Basis.DERIVED),
    Fact("query.pointer_reads", N, "requests", "The most that it sends for what pointers lead to.", pointer_reads),
    Fact("query.pointer_reads_per_s", N, "requests/s", "Those a second at the peak.", pointer_reads_per_s),
    Fact("query.periods_each", N, "periods", "Periods, where each takes all those requests.", periods_each),
    Fact("query.fan_out_of", T, "", "What these requests differ in.", fan_out_of),
    Fact("query.fan_out_buckets", B, "", "Whether they differ in buckets.", fan_out_buckets),
    Fact("query.periods", N, "partitions", "Partitions of time that it runs over.", periods, Basis.DERIVED),
    Fact("query.periods_spread", N, "periods", "Those periods, where each is in several partitions.", periods_spread),
    Fact("query.period_requests", N, "requests", "The most requests for the periods in its key.", period_requests),
    Fact("query.by_period", B, "", "Whether it asks each period of a PartitionKey apart.", by_period),
    Fact("query.goes_back", B, "", "Whether it asks period after period, the newest first.", goes_back),
    Fact("query.back_unit", T, "", "The day or shorter period that it can only go back by, one by one.", back_unit),
    Fact("query.back_month", N, "requests", "Requests that go back a month by those.", back_month, Basis.DERIVED),
    Fact("query.comparisons", N, "comparisons", "Comparisons of one request.", comparisons, Basis.DERIVED),
    Fact("query.filter_comparisons", N, "comparisons", "Those of its filter as it stands.", filter_comparisons),
    Fact("query.entities_read", N, "entities", "Entities read for one query.", entities_read, Basis.ESTIMATED),
    Fact("query.entities_read_max", N, "entities", "The most that one query reads.", entities_read_max),
    Fact("query.entities_returned", N, "entities", "Entities that one query is after.", entities_returned),
    Fact("query.pages", N, "pages", "Answers of at most a page each, one after the other.", pages, Basis.ESTIMATED),
    Fact("query.pages_in_turn", N, "pages", "Those that wait for one another.", pages_in_turn, Basis.ESTIMATED),
    Fact("query.whole_of", T, "", "What it reads from end to end: table or partition.", whole_of, Basis.DERIVED),
    Fact("query.duration_s", N, "s", "Time to read it page after page.", duration_s, Basis.ESTIMATED),
    Fact("query.small", B, "", "Whether the whole table is one page and little load.", small, may_be_unknown=False),
    Fact(
        "query.bounded",
        B,
        "",
        "Whether the table is and stays few pages, within the targets.",
        bounded,
        may_be_unknown=False,
    ),
    Fact(
        "query.one_small_partition",
        B,
        "",
        "Whether it reads one partition that is small by design.",
        one_small_partition,
        Basis.DERIVED,
        may_be_unknown=False,
    ),
    Fact("query.rare", B, "", "Whether it comes so seldom that it is no load.", rare, may_be_unknown=False),
    Fact("query.dropping", B, "", "Whether whole partitions are read for what a filter keeps of them.", dropping),
    Fact("query.order_unserved", T, "", "The wanted order, if answers come in another.", order_unserved),
    Fact("query.turned_part", T, "", "The key part that would give that order.", turned_part),
    Fact("query.turned_where", T, "", "The row whose RowKey that part belongs into.", turned_where, Basis.DERIVED),
    Fact("query.unknown_properties", TS, "", "Properties it names that nobody knows.", unknown_properties),
    Fact("query.meant", T, "", "The property that an unknown one probably stands for.", meant),
    Fact(
        "query.miscased",
        B,
        "",
        "Whether an unknown one differs from a known one in case only.",
        miscased,
        may_be_unknown=False,
    ),
    Fact("query.wrong_types", TS, "", "Its comparisons with a constant of another type.", wrong_types),
    Fact("query.quoted_twice", TS, "", "Its constants in typographic marks inside quotes.", quoted_twice),
    Fact("query.no_keys", TS, "", "Its constants that no key can be.", no_keys, may_be_unknown=False),
    Fact("query.row_key_left_out", T, "", "The RowKey that its PartitionKey tells.", row_key_left_out),
    Fact("query.row_key_meant", T, "", "The RowKey whose properties it filters by instead.", row_key_meant),
    Fact("query.names_timestamp", B, "", "Whether it filters on Timestamp.", names_timestamp, may_be_unknown=False),
    Fact(
        "table.empty_paged",
        TS,
        QUERY_NAMES,
        "Queries most of whose pages must be empty.",
        empty_paged,
        may_be_unknown=False,
    ),
    Fact(
        "table.maybe_empty_paged",
        TS,
        QUERY_NAMES,
        "Queries whose pages may be empty, by all that is known.",
        maybe_empty_paged,
        may_be_unknown=False,
    ),
    Fact("table.empty_pages_most", N, "pages", "The most pages that one of those takes.", most_pages, Basis.ESTIMATED),
    Fact("part.unqueried_blocks", TS, QUERY_NAMES, "Queries that would be served better without it.", unqueried_blocks),
    Fact("part.unknown_properties", TS, "", "Properties of the part that nobody knows.", part_unknown),
    Fact("part.meant", T, "", "The property that an unknown one probably stands for.", part_meant),
)
