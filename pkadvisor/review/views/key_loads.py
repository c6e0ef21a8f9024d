"""What a design bears that is known from the file alone: which keys follow the clock, which never get new partitions,
and what their partitions take at the least.

Loads are lower bounds: a read counts as one entity unless it certainly reads more. All are at the worst moment of the
day that the declared peaks allow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pkadvisor.design.choice.sections import declared_values
from pkadvisor.design.keys.key_terms import KeysThemselves
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.design.keys.transforms.periods import tokens
from pkadvisor.design.load.widths import lifetime_s, named_like_identifier, named_like_measure
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.caller import rows_beside, rows_written
from pkadvisor.design.plan.other_kinds import takes_in
from pkadvisor.observe.design_file.declaration import ARRIVAL_FILE_ORDER, ARRIVAL_TIMESTAMP
from pkadvisor.observe.workload import GrowthOf, Operation, QueryClass, Rate
from pkadvisor.review.views.names import counter_of, period, stands_for_entity, words
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.review.views.views import TableView

_DATES = {"year": (4, 1), "month": (6, 12), "week": (6, 53), "day": (8, 31), "hour": (10, 24)}
"""Characters that a text of such a period of time has at the least, and how many there are in the one above it."""
INSERTS = (Operation.INSERT, Operation.UPSERT)
_CYCLES = ("mm", "ss")
"""Time tokens that come round within the hour: a key that begins with one spreads its writes."""
_OTHER_MOMENTS = re.compile(
    "birth|birthday|birthdate|born|dob|due|expiry|expires|expiration|expiring|valid|deadline|scheduled|schedule|until|"
    "departure|checkin|checkout|appointment|effective|planned|holiday|target"
)
"""Words in the names of times that say nothing of when a row is written."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


# -- keys ---------------------------------------------------------------------------------------------------------


def arrival_of(view: TableView) -> str | None:
    """The property that is declared to hold the time of arrival; None where none is."""
    own = view.section.own_declaration
    arrival = own.arrival if own else None
    return None if arrival in (None, ARRIVAL_FILE_ORDER, ARRIVAL_TIMESTAMP) else str(arrival)


def follows_clock(part: Part, view: TableView) -> bool:
    """Whether the text of a part moves on (or back) as rows are inserted, as far as the design file tells.

    A time does where it is the declared arrival; where none is declared, unless its name says that it is another moment
    (a birthday, a due date). A number does where it is declared as the arrival.
    """
    if part.assigned:
        return True
    if part.tells_time:
        cycles = part.period is not None and tokens(part.period.format)[0] in _CYCLES
        return not cycles and _is_arrival(part.properties[0], view)
    if part.beginning is not None:
        return follows_clock(part.beginning, view)
    if part.text_source is not None or part.several is not None or part.atom != ("p", *part.properties):
        return False
    return arrives(part.properties[0], view) or tells_date(part.properties[0], view)


def tells_date(name: str, view: TableView) -> bool:
    """Whether a String holds the date, or the year, month, week or hour, in which an entity comes: by its name, which
    is that of the period alone (``day``, no ``stay_day``), by a declared size that a date has (``20260304``), and by
    more declared values than there are days of the week or of a month."""
    own = view.section.own_declaration
    size, cycle = _DATES.get(period(name), (math.inf, math.inf)) if len(words(name)) == 1 else (math.inf, math.inf)
    if view.types.get(name) is not EdmType.STRING or own is None or dict(own.sizes).get(name, 0) < size:
        return False
    return distinct_of(view).get(name, math.inf) > cycle


def arrives(name: str, view: TableView) -> bool:
    """Whether a property holds the time of arrival, as far as the design file tells."""
    return name == arrival_of(view) or (view.types.get(name) is EdmType.DATETIME and _is_arrival(name, view))


def _is_arrival(name: str, view: TableView) -> bool:
    arrival = arrival_of(view)
    if arrival is not None:
        return name == arrival
    return not any(_OTHER_MOMENTS.fullmatch(word.lower()) for word in _WORD.findall(name))


def clock_part(parts: tuple[Part, ...], view: TableView) -> tuple[Part, tuple[Part, ...]] | None:
    """(the first part of a key that follows the clock, the variable parts before it); None where none does."""
    transforms = variable(parts)
    for i, part in enumerate(transforms):
        if follows_clock(part, view):
            return part, transforms[:i]
    return None


def declared_total(view: TableView) -> float | None:
    """Entities that the design declares for a kind, else for its table."""
    declared, kind = view.section.declared, view.section.declared_kind
    total = (kind.entities_total if kind else None) or (declared.entities_total if declared else None)
    return float(total) if total else None


def entities_of(view: TableView) -> float | None:
    """Entities of a table or kind: declared, or those of complete data; None where neither is there."""
    if total := declared_total(view):
        return total
    declared, data = view.section.declared, view.section.data
    if data is None or (declared is not None and str(declared.sampling) != "complete"):
        return None
    return float(data.rows)


def values_most(part: Part, view: TableView) -> float | None:
    """How many texts a part can have at the most, where that is certain: of a truth value, of a hash, and of properties
    that are declared to have so many values, fewer than there are entities: new entities bring others where each has
    one of its own."""
    if part.plain_property and view.types.get(part.plain_property) is EdmType.BOOLEAN:
        return 2.0
    buckets = math.inf if part.hashing is None else float(part.hashing.buckets_total)
    entities = entities_of(view) or math.inf
    known = {name: count for name, count in distinct_of(view).items() if count < entities}
    if part.properties and not part.assigned and all(name in known for name in part.properties):
        return min(buckets, float(math.prod(known[name] for name in dict.fromkeys(part.properties))))
    return None if part.hashing is None else buckets


def distinct_of(view: TableView) -> dict[str, int]:
    """How many values the properties of a table or kind are declared to have at the most."""
    return declared_values(view.section)


def values_least(name: str, view: TableView, *, young: bool = False) -> float | None:
    """How many values a property of the main key comes to have at the least: those that are declared, or the entities
    to come of one value of everything else in both keys, which it alone tells apart; None where other parts may.

    ``young`` as of ``entities_to_come``.
    """
    known = distinct_of(view)
    if view.scheme is None or name not in view.scheme.main.properties:
        return float(known.get(name, 0)) or None
    others = tuple(n for n in view.scheme.main.properties if n != name)
    alone = entities_to_come(name, others, view, young=young) if known.keys() >= {*others} else None
    return max(float(known.get(name, 0)), alone or 0.0) or None


def entities_to_come(name: str, groups: tuple[str, ...], view: TableView, *, young: bool) -> float | None:
    """Entities of each value of ``groups``, on average, that a number tells apart until the declared growth is over:
    those held, which the growth multiplies, or those held and those inserted; None where neither is declared.

    New keys are new groups only where the number of groups is not declared: declared values do not become more, so that
    each has more entities. A group without a declared number of values counts as one. Inserts are not counted where a
    number may be given out again, nor, unless ``young``, at a rate that would have brought all that is held within
    ``YOUNG_S``.
    """
    growth, known = view.workload.growth, distinct_of(view)
    held, many = declared_entities(view) or 0.0, float(math.prod(known.get(n, 1) for n in groups))
    fixed = growth is None or growth.of is not GrowthOf.NEW_KEYS or {*groups} <= known.keys()
    factor = growth.factor if growth is not None and growth.of is not GrowthOf.RATE and fixed else 1.0
    rate = inserted_mean_per_s(view) if young else lasting_inserts_per_s(view)
    if rate is None or not _given_out_once(name, view) or (groups and name in known):
        rate = 0.0
    return max(held * max(1.0, factor), held + rate * lifetime_s(view.workload)) / many or None


def _given_out_once(name: str, view: TableView) -> bool:
    """Whether a number stays that of one entity: nothing is deleted, or it is named as the number of an entity."""
    deleted = any(c.operation is Operation.DELETE for c in view.workload.classes)
    return not (deleted or view.workload.retention_s) or numbers_entities(name, view)


def numbers_entities(name: str, view: TableView) -> bool:
    """Whether a number is named as that of an entity: ``orderId``, ``parcel_no``, ``parcel`` of Parcels; not ``score``
    of Scores, which is a measure."""
    tables = [t for t in (view.section.table, view.section.kind) if t]
    of_table = any(counter_of(name, table) or stands_for_entity(name, table) for table in tables)
    return named_like_identifier(name) or (of_table and not named_like_measure(name))


def digits_of_values(count: float | None) -> int:
    """The digits that so many numbers need at the least; 0 where nobody knows how many there are."""
    return 0 if count is None else len(str(max(0, math.ceil(count) - 1)))


def partitions_most(parts: tuple[Part, ...], view: TableView) -> float | None:
    """How many texts a key can have at the most, or both keys together; None where that is not certain.

    A part that follows from properties that the key holds as they are adds none: ``{tenant}_{hash(tenant,32)}``.
    """
    transforms = variable(parts)
    whole = {part.properties: part for part in transforms if part.injective and part.properties}
    known = {name for names in whole for name in names}
    other = {p for p in transforms if p not in whole.values() and not (p.properties and set(p.properties) <= known)}
    each = [values_most(part, view) for part in (*whole.values(), *other)]
    return None if None in each else float(math.prod(n for n in each if n is not None))


# -- loads --------------------------------------------------------------------------------------------------------


def rated(view: TableView) -> tuple[QueryClass, ...]:
    """Classes whose rate is known, without those for analysis."""
    return tuple(c for c in view.workload.classes if c.rate.mean_per_s > 0 and not c.analytic)


def kinds_of(view: TableView) -> tuple[TableView, ...]:
    """This and the other kinds of entity in the same table, in file order."""
    return tuple(t for t in view.design.tables if t.section.table == view.section.table)


def together(items: Sequence[tuple[Rate, float]]) -> float:
    """The highest sum of values that are reached at their own peaks, over the hours of the day that are declared."""
    starts = sorted({rate.peak_at[0] for rate, _ in items if rate.peak_at is not None})
    return max((sum(v * _share(rate, at) for rate, v in items) for at in starts or [0]), default=0.0)


def _share(rate: Rate, minute: int) -> float:
    """The share of its peak that a class reaches in a minute of the day."""
    if rate.peak_at is None or rate.sustained_per_s <= 0:
        return 1.0
    start, stop = rate.peak_at
    inside = start <= minute < stop if start < stop else minute >= start or minute < stop
    return 1.0 if inside else rate.mean_per_s / rate.sustained_per_s


def highest_together(view: TableView, loads: Iterable[tuple[Hashable, QueryClass, float]]) -> float | None:
    """The highest load at the peak of classes that fall together, of (where, class, load); None where there is none."""
    together: dict[Hashable, dict[str, float]] = {}
    for where, query, per_s in loads:
        together.setdefault(where, {})[query.name] = per_s
    return max((at_peak(view, per_class) for per_class in together.values()), default=None)


def at_peak(view: TableView, values: Mapping[str, float]) -> float:
    """The highest sum of values of classes at their peaks: by their minutes in a log, else by declared hours."""
    if view.workload.minutes:
        from pkadvisor.design.rows.schedule import make_schedule

        return make_schedule(view.workload.classes, view.workload.minutes).peak(values)
    return together([(c.rate, values[c.name]) for c in view.workload.classes if c.name in values])


def rows_under(parts: tuple[Part, ...], view: TableView) -> int:
    """Rows that an entity has under one PartitionKey template."""
    return sum(key.partition == parts for key, _ in view.scheme.each_key()) if view.scheme else 1


def inserts_per_s(parts: tuple[Part, ...], *views: TableView) -> float | None:
    """Rows inserted or upserted a second at the peak under a PartitionKey template, over some kinds of a table; None
    where no rate is known."""
    return _peak_over([(view, _inserts(parts, view)) for view in views])


def _inserts(parts: tuple[Part, ...], view: TableView) -> dict[str, float]:
    rows = rows_under(parts, view)
    return {
        c.name: rows * c.rate.sustained_per_s * c.entities_per_request for c in rated(view) if c.operation in INSERTS
    }


def load_per_s(parts: tuple[Part, ...], *views: TableView) -> float | None:
    """Entities a second at the peak under one PartitionKey template, at the least, over some kinds of a table; None
    where no rate is known."""
    whole = not variable(parts)
    return _peak_over(
        [
            (view, {c.name: c.rate.sustained_per_s * _entities(c, parts, view, whole) for c in rated(view)})
            for view in views
            if view.scheme is not None
        ]
    )


def _peak_over(rates_by_view: Sequence[tuple[TableView, Mapping[str, float]]]) -> float | None:
    """The highest sum over several kinds; where a log tells the minutes of one, each at its own peak."""
    if not any(values for _, values in rates_by_view):
        return None
    if len(rates_by_view) == 1 or any(view.workload.minutes for view, _ in rates_by_view):
        return sum(at_peak(view, values) for view, values in rates_by_view)
    classes = [(c, values) for view, values in rates_by_view for c in view.workload.classes]
    return together([(c.rate, values[c.name]) for c, values in classes if c.name in values])


def _entities(query: QueryClass, parts: tuple[Part, ...], view: TableView, whole: bool) -> float:
    """Entities that one request of a class reads and writes under a PartitionKey template, at the least."""
    return _written_under(query, parts, view) + _read_under(query, parts, view, whole)


def _written_under(query: QueryClass, parts: tuple[Part, ...], view: TableView) -> float:
    assert view.scheme is not None
    keys = tuple(view.scheme.each_key())
    written = rows_written(query, view.scheme) if query.operation.writes else {}
    return query.entities_per_request * sum(n for via, n in written.items() if keys[via][0].partition == parts)


def _read_under(query: QueryClass, parts: tuple[Part, ...], view: TableView, whole: bool) -> float:
    """What it reads there: by its plan, and the entity behind an index row that a write finds it by."""
    assert view.scheme is not None
    plan, writes = view.plan_of(query), query.operation.writes
    first = read_first(query, view) if writes else 1.0
    if plan is None or not first:
        return 0.0
    read = first if writes and plan.via and plan.follows and view.scheme.main.partition == parts else 0.0
    if [*view.scheme.each_key()][plan.via][0].partition != parts:
        return read
    total = (declared_entities(view) or 1.0) if whole and plan.via == 0 else 1.0
    total += mixed_size(plan, view) if whole else 0.0
    return read + max(first, total if reads_all(plan) else min(total, plan.top or 1.0))


def read_first(query: QueryClass, view: TableView) -> float:
    """Entities that an update or delete reads before it writes, at the least: those that a read-modify-write changes,
    and one where it does not know all that it needs. An upsert knows its entity."""
    plan = view.plan_of(query) if query.operation in (Operation.UPDATE, Operation.DELETE) else None
    if plan is None or not plan.unknown:
        return 0.0
    return query.entities_per_request if query.read_modify_write else 1.0


def written_beside(query: QueryClass, view: TableView) -> float:
    """Rows that one request writes in the partition of the entities that it names; of a query, the entities it reads,
    at the least."""
    if view.scheme is None or not query.operation.writes:
        return query.entities_per_request
    return query.entities_per_request * rows_beside(query, view.scheme)


def taken_beside(query: QueryClass, view: TableView) -> float:
    """Entities that one request reads and writes in the partition of the entities that it names, at the least."""
    plan = view.plan_of(query) if query.operation.writes else None
    elsewhere = plan is not None and plan.via and not plan.follows and not _beside(plan, view)
    return written_beside(query, view) + (0.0 if elsewhere else read_first(query, view))


def _beside(plan: AccessPlan, view: TableView) -> bool:
    keys = [*view.scheme.each_key()] if view.scheme is not None else []
    return bool(keys) and keys[plan.via][0].partition == keys[0][0].partition


def reads_all(plan: AccessPlan) -> bool:
    """Whether a plan reads whole partitions, and does not stop when it has its rows."""
    stops = plan.top is not None and plan.order_served and not plan.unserved
    return plan.access in (Access.PARTITION_SCAN, Access.TABLE_SCAN) and not stops


def mixed_in(plan: AccessPlan, view: TableView) -> tuple[TableView, ...]:
    """The other kinds of which a read of whole partitions reads rows, once for each key under which it does."""
    if view.scheme is None:
        return ()
    key, context = [*view.scheme.each_key()][plan.via][0], Context(dict(view.types))
    return tuple(
        other
        for other in kinds_of(view)
        if other is not view and other.scheme is not None
        for theirs, _ in other.scheme.each_key()
        if takes_in(plan.access, key, theirs, context, KeysThemselves())
    )


def mixed_size(plan: AccessPlan, view: TableView) -> float:
    """Rows of other kinds on average in one partition that a plan reads whole, as far as they are declared."""
    mixed = mixed_in(plan, view)
    if not mixed:
        return 0.0
    assert view.scheme is not None
    parts = [*view.scheme.each_key()][plan.via][0].partition
    sizes = ((entities_of(other), partitions_most(parts, other)) for other in mixed)
    return sum(held / count for held, count in sizes if held is not None and count is not None)


def declared_entities(view: TableView) -> float | None:
    """Entities of the table (or of the kind) as the design declares them."""
    declared = view.section.declared
    if declared is None:
        return None
    kind = view.section.declared_kind
    total = (kind.entities_total if kind else None) or (None if declared.kinds else declared.entities_total)
    return float(total) if total else None


def inserted_mean_per_s(view: TableView) -> float | None:
    """New entities a second on average: inserts alone, since an upsert may replace; None where none are known."""
    queries = [c for c in rated(view) if c.operation is Operation.INSERT]
    return sum(c.rate.mean_per_s * c.entities_per_request for c in queries) if queries else None


YOUNG_S = 30 * 86_400.0
"""A rate that would have filled the table within so little time is one of a rush, not of a year."""


def lasting_inserts_per_s(view: TableView) -> float | None:
    """New entities a second over a long time; None where the declared rate can only be one of a rush."""
    rate, held = inserted_mean_per_s(view), declared_entities(view)
    return None if rate is None or (held is not None and held < rate * YOUNG_S) else rate
