"""The order that a query wants, and how a key would have to run to bring it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Context, Pad, Part, ReversePad, ReverseTicks, Sortable, Ticks, Time
from pkadvisor.design.load.estimates import DEFAULT_HORIZON_FACTOR
from pkadvisor.design.load.widths import SPARE, calendar_digits, numbers_to_come
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.rows.counters import DIGITS_MAX
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.review.views.as_sent import AS_SENT, names_keys, over_properties
from pkadvisor.review.views.key_loads import declared_entities, digits_of_values, distinct_of, values_least
from pkadvisor.review.views.reads import once
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import KEYS, EdmType


@once
def order_unserved(view: TableView, query: QueryClass) -> str:
    """The wanted order where the answers do not come in it, as ``created desc``; empty where they do."""
    plan = _plan_in_order(view, query)
    if plan is None or not query.order_by or plan.order_served:
        return ""
    if plan.access is Access.POINT and (plan.back or not plan.several):  # one entity, or one of each period in order
        return ""
    return ", ".join(f"{o.property} desc" if o.descending else o.property for o in query.order_by)


def _plan_in_order(view: TableView, query: QueryClass) -> AccessPlan | None:
    """The plan that tells of the order. A filter that fixes PartitionKey itself is read as one over the properties that
    the PartitionKey is made of; where it goes on to the RowKey, nobody can say."""
    plan = view.plan_of(query)
    if plan is None or not names_keys(query) or all(o.property in KEYS for o in query.order_by):
        return plan
    over = _over_properties(view, query)
    plans = view.plans_under(over, view.scheme or AS_SENT) if over is not None else ()
    return plans[0] if plans else None


def _over_properties(view: TableView, query: QueryClass) -> QueryClass | None:
    """The query over properties that reads the partition which this one names by its key."""
    plan, scheme = view.plan_of(query), view.scheme
    return None if plan is None or scheme is None else over_properties(query, plan, scheme, view.types)


def sorted_form(part: Part, view: TableView) -> Part | None:
    """A number or a period of a time in a form that sorts; None of other parts, and of what has no such form."""
    if part.period is not None:
        tokens = [t for t in ("yyyy", "MM", "dd", "HH", "mm", "ss") if t in part.period.format]
        return Time(part.period.property, "".join(tokens)) if tokens else None
    name = part.plain_property
    if not name:
        return None
    if view.types.get(name) is EdmType.DOUBLE:
        return Sortable(name)
    width = digits_for(name, view)
    return None if width is None else Pad(name, width)


@once
def row_if_sorted(view: TableView, query: QueryClass) -> int | None:
    """The row (0 for the entity itself) through which a query would go if all numbers and times in keys sorted; None
    where it goes through that row as it is."""
    plans, scheme = view.plans_of(query), view.scheme
    if scheme is None or not plans or query.operation is not Operation.QUERY or names_keys(query):
        return None
    sorted_scheme = _sorted_keys(scheme, view)
    if sorted_scheme == scheme:
        return None
    via = view.plans_under(query, sorted_scheme)[0].via
    return None if via == plans[0].via else via


def _sorted_keys(scheme: KeyScheme, view: TableView) -> KeyScheme:
    def key(whole: Key) -> Key:
        return Key(*(tuple(sorted_form(p, view) or p for p in parts) for parts in (whole.partition, whole.row)))

    rows = tuple(replace(row, key=key(row.key)) for row in scheme.index_rows)
    return replace(scheme, main=key(scheme.main), index_rows=rows)


@once
def turned_part(view: TableView, query: QueryClass) -> str:
    """The key part that would bring the answers in the wanted order if it stood in the place of the one that runs the
    other way; empty where that alone does not help, and where a period runs that way already."""
    turn = _turn(view, query)
    return "" if turn is None or sorted_to(view, query) else str(turn[1])


@once
def sorted_to(view: TableView, query: QueryClass) -> str:
    """The period, such as day, up to which a RowKey brings the answers in the wanted order; empty where it does not."""
    turn = _turn(view, query)
    if turn is None or (period := turn[0].period) is None:
        return ""
    by = next(o for o in query.order_by if o.property == period.property)
    return period.unit if turn[0].order(Context(dict(view.types))) == (-1 if by.descending else 1) else ""


@once
def runs_backwards(view: TableView, query: QueryClass) -> str:
    """The property of which a key holds the text in the order against the wanted one, and that no part turns; empty
    where there is none."""
    plan = _plan_in_order(view, query)
    if plan is None or view.scheme is None or not order_unserved(view, query) or names_keys(query):
        return ""
    first = query.order_by[0].property
    if view.types.get(first) is not EdmType.STRING or not _reads_rows(plan):
        return ""
    turned = replace(query, order_by=tuple(replace(o, descending=not o.descending) for o in query.order_by))
    plans = view.plans_under(turned, view.scheme)
    served = any(p.via == plan.via and p.order_served and p.access.rank <= plan.access.rank for p in plans)
    return first if served else ""


def _reads_rows(plan: AccessPlan) -> bool:
    return plan.access in (Access.ROW_RANGE, Access.PARTITION_SCAN)


@once
def _turn(view: TableView, query: QueryClass) -> tuple[Part, Part] | None:
    """(a part of the RowKey, the one that would bring the answers in the wanted order in its place)."""
    plan = _plan_in_order(view, query)
    if plan is None or view.scheme is None or not order_unserved(view, query):
        return None
    over = _over_properties(view, query) if names_keys(query) else query
    if over is None:
        return None
    for position, part in enumerate(key := list(view.scheme.each_key())[plan.via][0].row):
        by = next((o for o in query.order_by if part.properties == (o.property,)), None)
        turned = _turned(part, view, descending=by.descending) if by is not None else None
        if turned is None:
            continue
        changed = (*key[:position], turned, *key[position + 1 :])
        plans = view.plans_under(over, _with_row(view.scheme, plan.via, changed))
        if any(p.via == plan.via and p.order_served and p.access.rank <= plan.access.rank for p in plans):
            return part, turned
    return None


@once
def against_turn(view: TableView, query: QueryClass) -> tuple[str, ...]:
    """Other queries that want the part as it is, or turned another way: served in order now, and no more then."""
    plan, turned = _plan_in_order(view, query), turned_part(view, query)
    if plan is None or view.scheme is None or not turned:
        return ()
    key = list(view.scheme.each_key())[plan.via][0].row
    changed = [_with_row(view.scheme, plan.via, row) for row in _rows_turned(key, turned, view)]
    out = []
    for other in view.workload.classes:
        now = _plan_in_order(view, other)
        if other.name == query.name or other.operation is not Operation.QUERY or now is None or now.via != plan.via:
            continue
        if not other.order_by:
            continue
        over = _over_properties(view, other) if names_keys(other) else other
        wanted = turned_part(view, other)
        if wanted and wanted != turned:
            out.append(other.name)
        elif over is not None and now.order_served and not order_unserved(view, other):
            then = [p for scheme in changed for p in view.plans_under(over, scheme)]
            if not any(p.order_served and p.access.rank <= now.access.rank for p in then):
                out.append(other.name)
    return tuple(out)


def _rows_turned(key: tuple[Part, ...], turned: str, view: TableView) -> Iterator[tuple[Part, ...]]:
    """The RowKey with the part turned that reads so."""
    for position, part in enumerate(key):
        for descending in (False, True):
            other = _turned(part, view, descending=descending) if part.properties else None
            if other is not None and str(other) == turned:
                yield (*key[:position], other, *key[position + 1 :])


def _turned(part: Part, view: TableView, *, descending: bool) -> Part | None:
    """A part of the same property that runs in the wanted direction."""
    name = part.properties[0]
    edm = view.types.get(name)
    if part.tells_time or edm is EdmType.DATETIME:
        return ReverseTicks(name) if descending else Ticks(name)
    if part.padded_width or (part.plain_property and edm in (EdmType.INT32, EdmType.INT64)):
        least = digits_of_values(None if view.has_data else values_least(name, view))
        used = part.padded_width if part.padded_width >= least else width_needed(name, least, view)
        width = used if part.padded_width else digits_for(name, view) or DIGITS_MAX[EdmType.INT64]
        return ReversePad(name, width) if descending else Pad(name, width)
    return None


def digits_for(name: str, view: TableView) -> int | None:
    """The digits that a whole number is padded to: as far as these are known, else those of its type."""
    width = DIGITS_MAX.get(view.types.get(name, EdmType.STRING))
    return None if width is None else digits_known(name, view) or width


def width_needed(name: str, least: int, view: TableView) -> int:
    """The digits to pad a number to that needs ``least`` at the least, as ``analyze`` counts them: with data those of
    the rows and of the entities to come, else those of all entities to come, since nobody says whether it begins anew
    for each PartitionKey."""
    if view.has_data:
        return max(least + SPARE, digits_known(name, view) or 0)
    growth, held = view.workload.growth, declared_entities(view)
    if name in distinct_of(view) or held is None:
        return least + SPARE
    factor = DEFAULT_HORIZON_FACTOR if growth is None else max(1.0, growth.factor)
    reach = numbers_to_come(int(held), 0, view.workload, factor)
    most = DIGITS_MAX.get(view.types.get(name, EdmType.INT64), DIGITS_MAX[EdmType.INT64])
    return max(least + SPARE, min(most, len(str(reach)) + SPARE))


def digits_known(name: str, view: TableView) -> int | None:
    """The digits that the data needs; without data those that keys of the table give it, or its name (a year: four)."""
    if view.has_data and view.population is not None and view.population.has(name):
        from pkadvisor.design.choice.key_building import digits

        return digits(view.population, name)
    used = [t.scheme for t in view.design.tables if t.scheme is not None and t.section.table == view.section.table]
    parts = [p for scheme in used for key, _ in scheme.each_key() for p in (*key.partition, *key.row)]
    padded = [p.padded_width for p in parts if p.padded_width and p.properties == (name,)]
    return max(padded, default=0) or calendar_digits(name) or None


def _with_row(scheme: KeyScheme, via: int, row: tuple[Part, ...]) -> KeyScheme:
    """The scheme with the RowKey of one of its rows changed."""
    if via == 0:
        return replace(scheme, main=replace(scheme.main, row=row))
    rows = list(scheme.index_rows)
    rows[via - 1] = replace(rows[via - 1], key=replace(rows[via - 1].key, row=row))
    return replace(scheme, index_rows=tuple(rows))
