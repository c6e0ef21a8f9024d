"""Facts of the variable parts of keys: how they sort, who changes them, what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Context, EdmType, Part
from pkadvisor.design.load.widths import named_like_identifier
from pkadvisor.design.rows.arrivals import SLOT_S
from pkadvisor.observe.workload import Basis, Operation, QueryClass
from pkadvisor.review.facts.base import DAY_S, QUERY_NAMES, Fact, entities_per_s, sure
from pkadvisor.review.facts.key_parts import values as values_at_hand
from pkadvisor.review.facts.sizes import declared_sizes
from pkadvisor.review.views import names
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import follows_clock, values_most
from pkadvisor.review.views.order import row_if_sorted
from pkadvisor.review.views.subjects import KeyPart, Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.odata import Parameter


def part_of(subject: Subject) -> Part:
    return subject.place.part


def function(subject: Subject) -> str:
    """The function of the part (pad, time, hash, …), or property."""
    return part_of(subject).function or "property"


def properties(subject: Subject) -> tuple[str, ...]:
    """The properties that it reads."""
    return part_of(subject).properties


def type_(subject: Subject) -> str | None:
    """The Edm type of its property.

    Unknown for parts of several, and where no type is declared.
    """
    types = [subject.view.types.get(name) for name in part_of(subject).properties]
    return str(types[0]) if len(types) == 1 and types[0] is not None else None


# --- order ------------------------------------------------------------------------------------------------------------


def number_unpadded(subject: Subject) -> bool | None:
    """Whether it is a number without padding.

    Years have four digits. Unknown where the type is.
    """
    part = part_of(subject)
    name = part.plain_property
    if not name:
        return False
    edm = subject.view.types.get(name)
    if edm is None:
        return None
    return edm.numeric and not (edm.integer and names.year(name))


def time_unsorted(subject: Subject) -> bool:
    """Whether it is a time whose text does not run from the year down.

    Whether it is a time whose text does not run from the year down: by its format, or, of a text, by its name, by
    the bounds that queries compare it with, such as '31.03.2026', or by the rows at hand.
    """
    part, name = part_of(subject), _text(subject)
    if name:
        texts = values_at_hand.some_texts(subject)
        of_rows = bool(texts) and all(_NOT_BY_YEAR.fullmatch(text) for text in texts)
        of_bounds = any(_NOT_BY_YEAR.fullmatch(bound) for bound in _bounds(name, subject))
        return names.date_form(name) == "last" or of_bounds or of_rows
    return part.period is not None and part.order(Context(subject.view.types)) == 0


def time_of_no_form(subject: Subject) -> bool:
    """Whether it is a date or time by its name, in a form that nobody tells.

    Whether it is a text that is a date or a time by its name, and nothing tells whether it begins with the year.
    """
    name = _text(subject)
    if not name or not names.time_of_no_form(name) or time_unsorted(subject) or year_short(subject):
        return False
    texts = [*_bounds(name, subject), *values_at_hand.some_texts(subject)]
    return not any(_BY_YEAR.match(text) for text in texts)


def year_short(subject: Subject) -> bool:
    """Whether it is a date with two digits for the year, the year first.

    Whether it is a text that tells two digits of the year first: by its name, its declared size, or the bounds that
    queries compare it with.
    """
    name = _text(subject)
    if not name:
        return False
    unit, size = names.period(name), declared_sizes(subject.view).get(name)
    dated = unit == "day" and any(_SHORT_DAY.fullmatch(bound) for bound in _bounds(name, subject))
    return names.date_form(name) == "short" or (size is not None and _SHORT_SIZES.get(unit) == size) or dated


def _text(subject: Subject) -> str:
    """The String property that the part writes as it stands; empty for another part."""
    name = part_of(subject).plain_property
    return name if name and subject.view.types.get(name, EdmType.STRING) is EdmType.STRING else ""


_NOT_BY_YEAR = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}( .*)?|\d{1,2}([./])\d{1,2}\3\d{2}( .*)?")
"""Dates as people write them, the day or the month first."""
_BY_YEAR = re.compile(r"(19|20)\d\d")
_SHORT_DAY = re.compile(r"\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_SHORT_SIZES = {"year": 2, "month": 4, "day": 6}
"""Characters of a period of time, digits alone, with two of them for the year."""


def _bounds(name: str, subject: Subject) -> Iterator[str]:
    """The constant texts between which queries want a property."""
    for query in subject.view.workload.classes:
        span = conditions(query.filter).ranges.get(name)
        for bound in () if span is None else (span.low, span.high):
            if bound is not None and not isinstance(bound, Parameter):
                yield str(bound.value)


def local_time(subject: Subject) -> bool:
    """Whether it tells the hour of a time that is named as local.

    Whether it tells the hour, or less, of a time that is named as one of the clock on the wall.
    """
    part = part_of(subject)
    if len(part.properties) != 1 or part.hashing is not None or not names.local_time(part.properties[0]):
        return False
    (name,), types = part.properties, subject.view.types
    is_time = types.get(name, EdmType.STRING) is EdmType.DATETIME or part.tells_time
    if not is_time and not (types.get(name, EdmType.STRING) is EdmType.STRING and names.moment(name)):
        return False
    return part.period is None or SLOT_S[part.period.unit] < DAY_S


def tells_apart(subject: Subject) -> bool:
    """Whether nothing else tells the entities of its PartitionKey apart.

    Whether nothing else tells the entities of its PartitionKey apart: no other part of the RowKey but those of a
    declared number of values, and no id in the PartitionKey.
    """
    place, view, own = subject.item, subject.view, part_of(subject).properties
    if view.scheme is None:
        return False
    key = list(view.scheme.each_key())[place.key.row][0]
    others = [p for p in variable(key.row) if p.properties != own]
    beside = [p for p in variable(key.partition) if p.properties != own]
    groups = all(p.hashing is not None or values_most(p, view) is not None for p in others)
    return groups and not any(p.injective and stands_alone(p, view) for p in beside)


def stands_alone(part: Part, view: TableView, *, within: bool = False) -> bool:
    """Whether a part may identify an entity by itself, as far as its name and type tell; ``within``: or as a number
    among those of another part (``requestNo`` of a merchant)."""
    numbers, table = names.numbered if within else names.counter_of, view.section.table
    return any(
        view.types.get(n) is EdmType.GUID or numbers(n, table) or n.lower() == "id" or names.stands_for_entity(n, table)
        for n in part.properties
    )


def calendar(subject: Subject) -> bool:
    """Whether it is named month, day, hour, minute or second.

    Whether it is a number of a calendar or clock, which varies in digits and has an order.
    """
    part = part_of(subject)
    return bool(part.plain_property) and names.calendar(part.plain_property)


def _through(subject: Subject) -> list[QueryClass]:
    """The queries that are read through the row of the part's key, or would be if its numbers and times sorted, and do
    not fix all of the part's properties.

    A scan of the table is read in no order that a key could give; only its own leading part would make it a range.
    """
    queries = []
    for query in subject.view.workload.classes:
        plan = subject.view.plan_of(query)
        if query.operation is not Operation.QUERY or plan is None:
            continue
        if subject.place.key.row not in (plan.via, row_if_sorted(subject.view, query)):
            continue
        if str(plan.access) == "table scan" and not leads_partition(subject):
            continue
        if not _fixed(subject.place.part, query):
            queries.append(query)
    return queries


def _fixed(part: Part, query: QueryClass) -> bool:
    equal = conditions(query.filter).equal
    return all(name in equal for name in part.properties)


def asked_in_order(subject: Subject) -> tuple[str, ...]:
    """Queries through this row that want a range or an order of its property."""
    wanted = set(part_of(subject).properties)
    through = [
        q.name
        for q in _through(subject)
        if wanted & {*conditions(q.filter).ranges} or wanted & {o.property for o in q.order_by}
    ]
    return tuple(dict.fromkeys((*through, *key_ranges(subject))))


def key_ranges(subject: Subject) -> tuple[str, ...]:
    """Queries whose filter over the key itself is a range of its numbers."""
    classes = subject.view.workload.classes
    return tuple(q.name for q in classes if q.operation is Operation.QUERY and _spans_digits(q, subject.item))


def _spans_digits(query: QueryClass, place: KeyPart) -> bool:
    """Whether a filter over the key itself is a range of numbers where the key has the part."""
    if variable(place.key.parts[: place.position]):
        return False
    before = "".join(p.constant or "" for p in place.key.parts[: place.position])
    span = conditions(query.filter).ranges.get("PartitionKey" if place.key.is_partition else "RowKey")
    if span is None or (place.key.row and not before):
        return False
    bounds = [str(o.value) for o in (span.low, span.high) if o is not None and not isinstance(o, Parameter)]
    return bool(bounds) and all(b.startswith(before) and b[len(before) : len(before) + 1].isdecimal() for b in bounds)


def scanned_for(subject: Subject) -> tuple[str, ...]:
    """Queries that read the table for a range or an order of its property.

    They read the table.
    """
    wanted = set(part_of(subject).properties)
    return tuple(
        q.name
        for q in subject.view.workload.classes
        if q.operation is Operation.QUERY
        and (p := subject.view.plan_of(q)) is not None
        and str(p.access) == "table scan"
        and wanted & {*conditions(q.filter).ranges, *(o.property for o in q.order_by)}
    )


def left_open(subject: Subject) -> bool | None:
    """Whether a query reads several of its values in their order.

    Unknown where no query is declared or logged.

    What stands before it must be fixed or a number too: behind an open text the order of the text decides, and behind
    a whole time it sorts only what comes at one moment.
    """
    if not any(q.operation is Operation.QUERY for q in subject.view.workload.classes):
        return None
    before = variable(subject.place.key.parts[: subject.place.position])
    if any(whole_time(p, subject.view) for p in before):
        return False
    for query in _through(subject):
        plan = subject.view.plan_of(query)
        scanned = plan is not None and str(plan.access) == "table scan"
        if not scanned and all(_fixed(p, query) or _counts(p, subject) for p in before):
            return True
    return False


def whole_time(part: Part, view: TableView) -> bool:
    """Whether a part is a time from which the whole time can be read."""
    return part.injective and len(part.properties) == 1 and view.types.get(part.properties[0]) is EdmType.DATETIME


def _counts(part: Part, subject: Subject) -> bool:
    """Whether a part is a number or a time."""
    types = {subject.view.types.get(n) for n in part.properties}
    return all(t is not None and (t.numeric or t is EdmType.DATETIME) for t in types)


# --- text -------------------------------------------------------------------------------------------------------------


def _as_typed(part: Part) -> bool:
    """Whether a text reaches the key in the case in which it was typed."""
    if part.text_source is not None:
        return not part.folds_case and _as_typed(part.text_source)
    return bool(part.plain_property) or part.several is not None


def _of_text(subject: Subject) -> bool:
    """Whether it is made of one property that may be text, in the case in which it was typed."""
    part = part_of(subject)
    types = {subject.view.types.get(n, EdmType.STRING) for n in part.properties}
    return len(part.properties) == 1 and types == {EdmType.STRING} and _as_typed(part)


def login(subject: Subject) -> bool:
    """Whether it is an e-mail address or a login in the case in which it was typed."""
    return _of_text(subject) and names.login(part_of(subject).properties[0])


def free_text(subject: Subject) -> bool:
    """Whether it is text that people write, in the case in which it was typed."""
    return _of_text(subject) and names.free_text(part_of(subject).properties[0])


def unstable_hash(subject: Subject) -> bool:
    """Whether its property is named as a language's own hash."""
    return any(names.unstable_hash(name) for name in part_of(subject).properties)


# --- what it is -------------------------------------------------------------------------------------------------------


def leads_partition(subject: Subject) -> bool:
    """Whether it is the first variable part of a PartitionKey."""
    place = subject.place
    first = variable(place.key.parts)[0]
    return place.key.is_partition and first == place.part


def whole_number(subject: Subject) -> bool:
    """Whether it is a whole number in its own order.

    Whether it is a whole number in its own order, or a number that the application gives out.
    """
    part = part_of(subject)
    if part.assigned:
        return True
    if part.text_source is not None or part.atom != ("p", *part.properties):
        return False
    edm = subject.view.types.get(part.properties[0])
    return edm.integer if edm is not None else bool(part.padded_width)


def counts_up(subject: Subject) -> bool:
    """Whether it is named as the running number of the table's entities.

    Whether it is the running number of the table's own entities, by its name.
    """
    part, section = part_of(subject), subject.view.section
    if part.assigned:
        return True
    tables = (section.table, *([section.kind] if section.kind else []))
    return whole_number(subject) and any(names.counter_of(part.properties[0], table) for table in tables)


def may_count_up(subject: Subject) -> bool:
    """Whether it is a whole-number id, and no time tells its entities apart.

    Whether it is named as an id and may be the running number of the entities: their RowKey holds no time, as that
    of many entities of one id does.
    """
    part, view = part_of(subject), subject.view
    if not whole_number(subject) or len(part.properties) != 1 or not named_like_identifier(part.properties[0]):
        return False
    row = list(view.scheme.each_key())[subject.place.key.row][0].row if view.scheme is not None else ()
    return not any(p.tells_time or p.rises_within or follows_clock(p, view) for p in variable(row))


# --- changes ----------------------------------------------------------------------------------------------------------


def _changing(subject: Subject) -> list[QueryClass]:
    mine = set(part_of(subject).properties)
    changes = (Operation.UPDATE, Operation.UPSERT)
    queries = [c for c in subject.view.workload.classes if c.operation in changes and mine & set(c.sets)]
    return [c for c in queries if not _told_before(set(c.sets), subject)]


def _told_before(changed: set[str], subject: Subject) -> bool:
    """Whether a change is told at an earlier part of the same row, or at the entity whose rows move with it."""
    place = subject.place
    scheme = subject.view.scheme
    if scheme is None:
        return False
    if place.key.row and changed & set(scheme.main.properties):
        return True
    key = list(scheme.each_key())[place.key.row][0]
    before = [] if place.key.is_partition else [*key.partition]
    before += place.key.parts[: place.position]
    return any(changed & set(p.properties) for p in before)


def changed_by(subject: Subject) -> tuple[str, ...]:
    """Updates and upserts that set its property."""
    return tuple(c.name for c in _changing(subject))


def changes_per_day(subject: Subject) -> float | None:
    """Entities of which they do."""
    per_s = entities_per_s(subject.view, _changing(subject))
    return None if per_s is None else DAY_S * per_s


FACTS: tuple[Fact, ...] = (
    Fact("part.function", FactType.TEXT, "", function, may_be_unknown=False),
    Fact("part.properties", FactType.TEXTS, "", properties, may_be_unknown=False),
    Fact("part.type", FactType.TEXT, "", type_),
    Fact("part.number_unpadded", FactType.BOOL, "", number_unpadded),
    sure("part.time_unsorted", FactType.BOOL, "", time_unsorted),
    sure("part.time_of_no_form", FactType.BOOL, "", time_of_no_form),
    sure("part.year_short", FactType.BOOL, "", year_short),
    sure("part.calendar", FactType.BOOL, "", calendar),
    Fact("part.asked_in_order", FactType.TEXTS, QUERY_NAMES, asked_in_order, may_be_unknown=False),
    Fact("part.key_ranges", FactType.TEXTS, QUERY_NAMES, key_ranges, may_be_unknown=False),
    Fact("part.scanned_for", FactType.TEXTS, QUERY_NAMES, scanned_for, may_be_unknown=False),
    Fact("part.left_open", FactType.BOOL, "", left_open),
    sure("part.local_time", FactType.BOOL, "", local_time),
    sure("part.tells_apart", FactType.BOOL, "", tells_apart),
    sure("part.login", FactType.BOOL, "", login),
    sure("part.free_text", FactType.BOOL, "", free_text),
    sure("part.unstable_hash", FactType.BOOL, "", unstable_hash),
    sure("part.leads_partition", FactType.BOOL, "", leads_partition),
    sure("part.whole_number", FactType.BOOL, "", whole_number),
    sure("part.counts_up", FactType.BOOL, "", counts_up),
    sure("part.may_count_up", FactType.BOOL, "", may_count_up),
    Fact("part.changed_by", FactType.TEXTS, QUERY_NAMES, changed_by, may_be_unknown=False),
    Fact("part.changes_per_day", FactType.NUMBER, "entities/day", changes_per_day, Basis.DERIVED),
)
