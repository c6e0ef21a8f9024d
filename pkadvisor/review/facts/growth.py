"""Facts of time: what grows until it breaks, what is never deleted, and what deleting costs."""

from __future__ import annotations

import math
import re

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, variable
from pkadvisor.design.keys.transforms import Part
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.design_file.units import DAY_S
from pkadvisor.observe.workload import Basis, DrawBy, GrowthOf, Operation, QueryClass
from pkadvisor.review.facts.base import Fact, KnownValue, number, sure
from pkadvisor.review.facts.ranges import binding_shares
from pkadvisor.review.facts.tables import partition_entities, partitions, partitions_closed
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import (
    arrival_of,
    clock_part,
    declared_entities,
    follows_clock,
    inserted_mean_per_s,
    lasting_inserts_per_s,
    partitions_most,
    rated,
    reads_all,
    values_most,
)
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import EdmType

YEAR_S = 12 * MONTH_S
_PERIOD_S = {"week": 7 * DAY_S, "month": MONTH_S, "year": YEAR_S}
"""The periods that are called coarse."""
_OF_PERIOD = re.compile(r".*[A-Za-z](?:19|20)\d\d(?:\d\d){0,3}")
"""Names of tables that are of one period: Telemetry202611."""


# -- growth --------------------------------------------------------------------------------------------------------


def growth_of(subject: Subject) -> str | None:
    """What is declared to grow: new_keys, rate or rows_per_key."""
    growth = subject.view.workload.growth
    return str(growth.of) if growth is not None else None


def growth_factor(subject: Subject) -> float | None:
    """Declared growth, over all of its time.

    Growth over the declared horizon; unknown where none is declared.
    """
    growth = subject.view.workload.growth
    return growth.factor if growth is not None else None


def horizon_months(subject: Subject) -> float | None:
    """How far the declared growth looks ahead."""
    growth = subject.view.workload.growth
    return growth.horizon_months if growth is not None else None


def _first_break(subject: Subject) -> tuple[float, float, str] | None:
    """(months from now, load at the horizon ÷ target, what breaks) of what breaks first within the declared horizon."""
    view = subject.view
    growth = view.workload.growth
    if growth is None:
        return None
    out: list[tuple[float, float, str]] = []
    if view.has_data and view.estimate is not None:
        for each in view.estimate.breaks:
            months = each.months(growth)
            if each.resource in ("entity", "partition", "range") and each.unit == "entities/s" and months:
                out.append((months, each.load_at(growth.factor) / each.limit, each.cause))
    elif growth.of in (GrowthOf.RATE, GrowthOf.NEW_KEYS) and growth.factor_per_month > 1:
        for share, what in binding_shares(subject):
            if 0 < share < 1 and share * growth.factor > 1:
                months = -math.log(share) / math.log(growth.factor_per_month)
                out.append((months, share * growth.factor, what))
    return min(out, default=None)


def months_to_break(subject: Subject) -> float | None:
    """Months until a partition or a range passes its target; known only within the time of the declared growth."""
    first = _first_break(subject)
    return first[0] if first is not None else None


def horizon_share(subject: Subject) -> float | None:
    """Load after the growth of what breaks first, as a share of its target."""
    first = _first_break(subject)
    return first[1] if first is not None else None


def breaks_first(subject: Subject) -> str | None:
    """What passes its target first.

    What breaks first, as the subject of a sentence in the singular.
    """
    first = _first_break(subject)
    return {"scans of one partition": "a partition that is scanned"}.get(first[2], first[2]) if first else None


# -- partitions that fill ----------------------------------------------------------------------------------------------


def partition_entities_per_year(subject: Subject) -> float | None:
    """Entities that a partition gains in a year, where nothing is ever deleted and no new partition takes over.

    By the declared inserts, which growth of the rows per key raises, or by that growth of what a partition holds.
    """
    view, growth = subject.view, subject.view.workload.growth
    if not _kept_for_ever(view):
        return None
    per_month = growth.factor_per_month if growth is not None and growth.of is GrowthOf.ROWS_PER_KEY else 1.0
    gains = [_inserted_each(subject, 12, per_month)]
    held = partition_entities(subject) if per_month > 1 and not _new_partitions_follow(view) else None
    if held is not None:
        gains.append(number(held) * (per_month**12 - 1))
    return max((gain for gain in gains if gain is not None), default=None)


def _inserted_each(subject: Subject, months: float, per_month: float) -> float | None:
    """Entities that inserts add to each partition within some months, their rate growing; None where others follow."""
    rate, count = lasting_inserts_per_s(subject.view), partitions(subject)
    if rate is None or count is None or not _closed(subject.view):
        return None
    mean_factor = (per_month**months - 1) / (months * math.log(per_month)) if per_month > 1 else 1.0
    return rate * months * MONTH_S * mean_factor / number(count)


def partitions_fill_for_ever(subject: Subject) -> bool:
    """Whether no entity ever leaves a partition, and no new partition takes over from those that there are."""
    return _kept_for_ever(subject.view) and _closed(subject.view)


def _closed(view: TableView) -> bool:
    return view.scheme is not None and partitions_closed(view.scheme.main.partition, view)


def _kept_for_ever(view: TableView) -> bool:
    """Whether nothing says that entities expire or are deleted."""
    deletes = any(c.operation is Operation.DELETE for c in view.workload.classes)
    return view.workload.retention_s is None and not deletes


def inserted_per_year(subject: Subject) -> float | None:
    """Entities that inserts add a year, if none goes."""
    rate = inserted_mean_per_s(subject.view) if _kept_for_ever(subject.view) else None
    return None if rate is None else rate * YEAR_S


def _new_partitions_follow(view: TableView) -> bool:
    """Whether a time in the PartitionKey begins another partition before one has grown for long."""
    parts = variable(view.scheme.main.partition) if view.scheme is not None else ()
    return any(part.tells_time for part in parts)


def scanned_whole(subject: Subject) -> str | None:
    """The most frequent query that reads whole partitions."""
    view = subject.view
    queries = [
        c
        for c in rated(view)
        if c.operation is Operation.QUERY and (p := view.plan_of(c)) is not None and p.via == 0 and reads_all(p)
    ]
    return max(queries, key=lambda c: c.rate.mean_per_s).name if queries else None


def coarse_period(subject: Subject) -> str | None:
    """What the PartitionKey divides by, where that is nothing finer than a week or a closed set of values."""
    unit = _coarsest(subject.view)
    return None if unit is None else f"a {unit}" if unit in _PERIOD_S else "a closed set of values"


def _coarsest(view: TableView) -> str | None:
    """week, month or year where the PartitionKey divides entities by nothing finer; values where there can be no more
    of them; None for other keys."""
    parts = variable(view.scheme.main.partition) if view.scheme is not None else ()
    periods = [period for part in parts if (period := part.period) is not None]
    if not parts or any(p.period is None and values_most(p, view) is None for p in parts):
        return None
    if not periods:
        return "values"
    units = {period.unit for period in periods}
    return next((u for u in _PERIOD_S if u in units), None) if units <= set(_PERIOD_S) else None


def partition_entities_at_horizon(subject: Subject) -> float | None:
    """Entities of one partition when the declared growth is over, under a coarse key or where rows per key grow.

    Where partitions fill for ever, as many more as the declared inserts bring until then.
    """
    view, unit = subject.view, _coarsest(subject.view)
    growth = view.workload.growth
    if growth is None or view.scheme is None:
        return None
    if partitions_fill_for_ever(subject):
        known = partition_entities(subject)
        today = 0.0 if known is None else number(known)
        factor = 1.0 if growth.of is GrowthOf.RATE else growth.factor
        inserted = _inserted_each(subject, growth.horizon_months, growth.factor_per_month)
        return max(today * factor, today + (inserted or 0.0)) or None
    if growth.of is GrowthOf.ROWS_PER_KEY and unit in (None, "values"):
        known = partition_entities(subject)
        return None if known is None else number(known) * growth.factor
    if unit is None:
        return None
    parts = variable(view.scheme.main.partition)
    among = math.prod(values_most(p, view) or 1.0 for p in parts if p.period is None)
    rate = lasting_inserts_per_s(view)
    held = declared_entities(view) if unit == "values" else None if rate is None else rate * _PERIOD_S[unit]
    return None if held is None else held / among * growth.factor


# -- entities that expire --------------------------------------------------------------------------------------------


def retention_days(subject: Subject) -> float | None:
    """How long an entity is kept."""
    retention_s = subject.view.workload.retention_s
    return retention_s / DAY_S if retention_s is not None else None


def expiry(subject: Subject) -> str | None:
    """How expired entities can go: tables (of a period, dropped whole), ranges (of rows in each partition) or scan.

    'tables' (a table per period is dropped), 'ranges' (a row range of each partition) or 'scan'; None without a
    retention, without keys, for a table that is of one period itself, and for one page.
    """
    view = subject.view
    entities = entities_kept(subject)
    if entities is not None and entities <= view.limits.page_entities:
        return None
    if view.workload.retention_s is None or view.scheme is None or _OF_PERIOD.fullmatch(view.section.table):
        return None
    if view.has_data and view.estimate is not None and view.estimate.retention is not None:
        tables = view.estimate.retention.cut
    else:
        tables = _by_period(view.scheme.main.partition, view) or not _blind(view)
    if tables:
        return "tables"
    return "ranges" if _oldest_first(view.scheme.main, view) else "scan"


def _oldest_first(main: Key, view: TableView) -> bool:
    """Whether the RowKey begins with the age of an entity."""
    row = variable(main.row)
    return bool(row) and follows_clock(row[0], view)


def partitions_by_period(subject: Subject) -> bool:
    """Whether the PartitionKey tells of what time its entities are, so that expired ones fill whole partitions."""
    scheme = subject.view.scheme
    return scheme is not None and _by_period(scheme.main.partition, subject.view)


def _by_period(parts: tuple[Part, ...], view: TableView) -> bool:
    """Whether a key holds the time of arrival, at any place; any time where nobody says which one that is."""
    arrival = arrival_of(view)
    return clock_part(parts, view) is not None or any(p.tells_time and arrival in (None, *p.properties) for p in parts)


def _blind(view: TableView) -> list[str]:
    """Queries that do not tell which period they are about, the first in the file first; 'none' where no property
    holds the arrival."""
    arrival = arrival_of(view)
    moments = [arrival] if arrival else [n for n, edm in view.types.items() if edm is EdmType.DATETIME]
    unnamed = [[c.name for c in view.workload.classes if not _names(c, name)] for name in moments]
    return min(unnamed, key=len, default=["no class"])


def _names(query: QueryClass, name: str) -> bool:
    """Whether a class names a time: by its filter or by asking for the newest; inserts and analysis always do."""
    if query.analytic or (query.filter is None and query.operation.writes):
        return True
    wanted = conditions(query.filter)
    newest = query.top is not None and bool(query.order_by) and query.order_by[0].property == name
    return name in wanted.equal or name in wanted.any_of or name in wanted.ranges or newest


def entities_kept(subject: Subject) -> float | None:
    """Entities held at a time.

    Declared, else what arrives within the retention.
    """
    view = subject.view
    rate, retention_s = inserted_mean_per_s(view), view.workload.retention_s
    return declared_entities(view) or (rate * retention_s if rate is not None and retention_s is not None else None)


def sweep_s(subject: Subject) -> KnownValue | None:
    """Time in which one round finds all expired rows: a scan of all rows, page after page, or a request for each
    PartitionKey where it is known how many there are and the RowKey begins with the age."""
    view, limits = subject.view, subject.view.limits
    entities = entities_kept(subject)
    if entities is None:
        return None
    rows = entities * (view.scheme.rows_per_entity if view.scheme else 1)
    page_ms = limits.page_latency_ms + limits.page_entities * limits.scan_ms_per_entity
    scan_ms = rows / limits.page_entities * page_ms
    main = view.scheme.main if view.scheme else None
    partitions = partitions_most(main.partition, view) if main and _oldest_first(main, view) else None
    visit_ms = math.inf if partitions is None else partitions * limits.page_latency_ms
    return KnownValue(min(scan_ms, visit_ms) / 1000, Basis.ESTIMATED)


def days_held(subject: Subject) -> float | None:
    """Days of the declared inserts that the declared entities are, where the retention is more than twice that.

    None where they are what the retention keeps, or more than half of it.
    """
    view = subject.view
    retention_s, held, rate = view.workload.retention_s, declared_entities(view), inserted_mean_per_s(view)
    if retention_s is None or held is None or not rate or held / rate > retention_s / 2:
        return None
    return held / rate / DAY_S


def expired_rows_per_s(subject: Subject) -> float | None:
    """Rows that expire a second, on average.

    By the declared mean rate of the inserts, else by what the table holds.
    """
    view = subject.view
    retention_s = view.workload.retention_s
    if retention_s is None or view.scheme is None:
        return None
    held = declared_entities(view)
    rate = inserted_mean_per_s(view)
    rate = held / retention_s if rate is None and held is not None else rate
    return None if rate is None else rate * view.scheme.rows_per_entity


# -- old entities ------------------------------------------------------------------------------------------------------


def newest_read_share(subject: Subject) -> float | None:
    """Share of the reads that go to a declared newest window."""
    reads = [c for c in rated(subject.view) if c.operation is Operation.QUERY]
    total = sum(c.rate.mean_per_s for c in reads)
    if not total or not any(c.draw.by is DrawBy.NEWEST for c in reads):
        return None
    return sum(c.rate.mean_per_s * c.draw.share for c in reads if c.draw.by is DrawBy.NEWEST) / total


def window_days(subject: Subject) -> float | None:
    """The longest window that is declared as the newest."""
    windows_s = [c.draw.window_s for c in rated(subject.view) if c.draw.by is DrawBy.NEWEST]
    return max(windows_s) / DAY_S if windows_s else None


def windows_kept(subject: Subject) -> float | None:
    """How many newest windows the table holds.

    By its retention, else by how long its entities took to arrive.
    """
    view, days = subject.view, window_days(subject)
    retention_s = view.workload.retention_s
    if retention_s is None:
        rate, held = inserted_mean_per_s(view), declared_entities(view)
        retention_s = held / rate if rate and held else None
    return retention_s / DAY_S / days if retention_s is not None and days else None


_TEXT, _NUMBER = FactType.TEXT, FactType.NUMBER

FACTS: tuple[Fact, ...] = (
    Fact("table.growth_of", _TEXT, "", growth_of),
    Fact("table.growth_factor", _NUMBER, "times", growth_factor),
    Fact("table.horizon_months", _NUMBER, "months", horizon_months),
    Fact("table.months_to_break", _NUMBER, "months", months_to_break, Basis.DERIVED),
    Fact("table.horizon_share", _NUMBER, "share of its target", horizon_share, Basis.DERIVED),
    Fact("table.breaks_first", _TEXT, "", breaks_first, Basis.DERIVED),
    Fact("table.partition_entities_per_year", _NUMBER, "entities", partition_entities_per_year, Basis.DERIVED),
    sure("table.partitions_fill_for_ever", FactType.BOOL, "", partitions_fill_for_ever, Basis.DERIVED),
    Fact("table.inserted_per_year", _NUMBER, "entities", inserted_per_year),
    Fact("table.scanned_whole", _TEXT, "", scanned_whole),
    Fact("table.coarse_period", _TEXT, "", coarse_period, Basis.DERIVED),
    Fact("table.partition_entities_at_horizon", _NUMBER, "entities", partition_entities_at_horizon, Basis.DERIVED),
    Fact("table.retention_days", _NUMBER, "days", retention_days),
    Fact("table.expiry", _TEXT, "", expiry, Basis.DERIVED),
    Fact("table.partitions_by_period", FactType.BOOL, "", partitions_by_period, Basis.DERIVED),
    Fact("table.entities_kept", _NUMBER, "entities", entities_kept),
    Fact("table.sweep_s", _NUMBER, "s", sweep_s),
    Fact("table.days_held", _NUMBER, "days", days_held, Basis.DERIVED),
    Fact("table.expired_rows_per_s", _NUMBER, "rows/s", expired_rows_per_s),
    Fact("table.newest_read_share", _NUMBER, "share", newest_read_share),
    Fact("table.window_days", _NUMBER, "days", window_days),
    Fact("table.windows_kept", _NUMBER, "windows", windows_kept, Basis.DERIVED),
)
