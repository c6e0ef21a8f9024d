"""Facts of key strings as their templates tell them: length, separators, order, how many keys there can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, isolating_lead, variable
from pkadvisor.design.keys.transforms import FORBIDDEN, Context, EdmType, Part
from pkadvisor.design.rows.arrivals import SLOT_S, Instant, resolution, taken
from pkadvisor.observe.workload import Basis, Operation
from pkadvisor.review.facts import key_values
from pkadvisor.review.facts.base import DAY_S, QUERY_NAMES, Fact, KnownValue, entities_per_s, sure
from pkadvisor.review.facts.key_parts.parts import stands_alone
from pkadvisor.review.facts.sizes import declared_sizes
from pkadvisor.review.views import names
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.holes import texts_outside
from pkadvisor.review.views.key_loads import INSERTS, declared_entities, partitions_most, tells_date
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView

GROUPS_MOST = 1_000_000.0
"""Values among which a rate is taken to be spread where nobody says how many there are: assumed, and many."""
CERTAIN = 2.0
"""Entities of a group in one period, on average, from which no regularity keeps them apart."""


def is_partition(subject: Subject) -> bool:
    """Whether it is a PartitionKey, not a RowKey."""
    return subject.key.is_partition


def is_index_row(subject: Subject) -> bool:
    """Whether it is a key of an index row, not of the entity itself."""
    return subject.key.row > 0


def forbidden_characters(subject: Subject) -> tuple[str, ...]:
    """Characters in the text of the template that the service refuses in keys."""
    return tuple(f"U+{ord(c):04X}" for c in sorted(set(texts_outside(subject.key.text)) & FORBIDDEN))


def slashed_parts(subject: Subject) -> tuple[str, ...]:
    """Parts that write a text as it stands, but for its case, of which the name says that it holds a ``/``."""
    types = subject.view.types
    texts = [p for p in subject.key.parts if len(p.properties) == 1 and (p.plain_property or p.folds_case)]
    texts = [p for p in texts if p.hashing is None and types.get(p.properties[0], EdmType.STRING) is EdmType.STRING]
    return tuple(str(p) for p in texts if names.slashed(p.properties[0]))


def whole_key(subject: Subject) -> Key:
    """The PartitionKey and RowKey of which the subject is one."""
    scheme, key = subject.view.scheme, subject.item
    assert scheme is not None
    whole: Key = list(scheme.each_key())[key.row][0]
    return whole


# --- length -----------------------------------------------------------------------------------------------------------


def units(subject: Subject) -> KnownValue | None:
    """With data the length of the longest key, without it the mean length that declared sizes make at least.

    With data the longest key, in UTF-16 code units; without, the least mean that declared sizes leave possible.
    """
    longest = key_values.longest_units(subject.key.parts, subject.view)
    if longest is not None:
        return KnownValue(longest, Basis.COUNTED)
    return KnownValue(float(sum(_least(part, subject.view) for part in subject.key.parts)), Basis.DECLARED)


def units_longest(subject: Subject) -> bool:
    """Whether the length is that of the longest key, and no mean.

    Whether that is the longest key, and no mean.
    """
    return key_values.longest_units(subject.item.parts, subject.view) is not None


def _least(part: Part, view: TableView) -> int:
    """Characters that a part has at least, on average."""
    if part.constant is not None:
        return len(part.constant.encode("utf-16-le", "surrogatepass")) // 2
    length = part.usual_length(Context(dict(view.types)))
    if length is not None:
        return length
    if part.text_source is not None:
        least = _least(part.text_source, view)
        return least if part.first_characters is None else min(part.first_characters, least)
    name = part.plain_property
    if not name:
        return 0
    edm = view.types.get(name)
    fixed = {EdmType.DATETIME: 28, EdmType.GUID: 36, EdmType.BOOLEAN: 4}
    if edm in fixed:
        return fixed[edm]
    if edm is not None and edm.numeric:
        return 1
    return declared_sizes(view).get(name, 0) * (2 if edm is EdmType.BINARY else 1)


# --- uniqueness -------------------------------------------------------------------------------------------------------


def keys_possible(subject: Subject) -> float | None:
    """How many keys there can be, where that is bounded.

    How many keys the templates can make at all; unknown where a part has no bound.
    """
    if is_partition(subject):
        return None
    key = whole_key(subject)
    return partitions_most((*key.partition, *key.row), subject.view)


def hash_collisions(subject: Subject) -> float | None:
    """Declared entities that get the key of another by chance, where only a hash tells them apart.

    Entities that get the key of another where only a hash tells them apart: n² ÷ 2 keys (birthday problem).

    Unknown for index rows, where the data tells, and where the other parts are enough for all declared entities.
    """
    possible, entities = keys_possible(subject), declared_entities(subject.view)
    if possible is None or entities is None or subject.view.has_data or subject.item.row:
        return None
    parts = tuple(variable_parts(whole_key(subject)))
    injective = tuple(part for part in parts if part.injective)
    named = {name for part in injective for name in part.properties}
    if all(part.hashing is None or set(part.properties) <= named for part in parts):
        return None
    enough = partitions_most(injective, subject.view)
    return None if enough is None or enough >= entities else entities**2 / (2 * possible)


def variable_parts(key: Key) -> Iterator[Part]:
    yield from variable((*key.partition, *key.row))


def inserts_per_day(subject: Subject) -> float | None:
    """Entities inserted a day on average.

    Entities inserted a day on average; unknown where no insert is declared or logged.
    """
    per_s = _rate_per_s(subject.view, Operation.INSERT)
    return per_s * DAY_S if per_s else None


def only_upserted(subject: Subject) -> bool:
    """Whether entities are upserted and never inserted."""
    operations = {c.operation for c in subject.view.workload.classes}
    return Operation.UPSERT in operations and Operation.INSERT not in operations


def freed(subject: Subject) -> bool:
    """Whether entities are deleted, so that their keys can be used again."""
    return any(c.operation is Operation.DELETE for c in subject.view.workload.classes)


def asked_for_several(subject: Subject) -> tuple[str, ...]:
    """Queries that fix the whole main key and still want an order or several entities."""
    if is_partition(subject) or is_index_row(subject):
        return ()
    key = whole_key(subject)
    if not key.properties or any(p.assigned for p in variable_parts(key)):
        return ()
    out = []
    for query in subject.view.workload.classes:
        wanted = conditions(query.filter)
        fixed = {*key.properties} <= {*wanted.equal}
        several = any(o.property not in wanted.equal for o in query.order_by) or (query.top or 0) > 1
        chosen = id_left_out(subject) and {*wanted.properties} - {*key.properties}
        if query.operation is Operation.QUERY and fixed and (several or chosen):
            out.append(query.name)
    return tuple(out)


def id_left_out(subject: Subject) -> str:
    """The property that is named as the entity itself and in no part of its key; empty where a time, a number that
    the application assigns or another value of one entity alone is in the key."""
    view, tables = subject.view, [t for t in (subject.view.section.table, subject.view.section.kind) if t]
    if is_partition(subject) or is_index_row(subject):
        return ""

    def own(name: str) -> bool:
        return any(names.stands_for_entity(name, table) or names.counter_of(name, table) for table in tables)

    key = whole_key(subject)
    if any(part.assigned or part.several or part.tells_time for part in variable_parts(key)):
        return ""
    single = (EdmType.DATETIME, EdmType.GUID)
    if any(own(name) or names.unique(name) or view.types.get(name) in single for name in key.properties):
        return ""
    return next((name for name in view.declared_types if own(name)), "")


def _rate_per_s(view: TableView, *operations: Operation) -> float | None:
    return entities_per_s(view, (c for c in view.workload.classes if c.operation in operations))


def finest_time(subject: Subject) -> Instant | None:
    """The finest time of a RowKey and its PartitionKey, where entities of one group are told apart by nothing else.

    Of the time at which entities come alone. With data it is no finer than the values at hand; without, a time that is
    written whole has ticks of 100 ns.
    """
    if is_partition(subject):
        return None
    parts = tuple(variable_parts(whole_key(subject)))
    times = [part for part in parts if _written_time(part, subject.view)]
    if not times or any(p.assigned or p.several for p in parts):
        return None
    (name,) = times[0].properties
    if any(t.properties != (name,) for t in times) or not is_arrival(name, subject.view):
        return None
    if any(name in p.properties for p in parts if p not in times):
        return None
    population = subject.view.population
    known = population is not None and population.has(name) and population.types.get(name) is EdmType.DATETIME
    least = "tick of 100 ns" if population is None or not known else resolution(name, population)
    unit = min((_unit(part) for part in times), key=SLOT_S.__getitem__)
    return Instant(name, max(unit, least, key=SLOT_S.__getitem__))


def _written_time(part: Part, view: TableView) -> bool:
    """Whether a part is a moment or a period of a time, in whichever form."""
    if part.period is not None or part.tells_time or part.rises_within:
        return True
    return part.injective and len(part.properties) == 1 and view.types.get(part.properties[0]) is EdmType.DATETIME


def _unit(part: Part) -> str:
    """The unit within which a time in a key tells nothing apart."""
    if part.period is not None:
        return part.period.unit
    return part.clock_unit or "tick of 100 ns"


def is_arrival(name: str, view: TableView) -> bool:
    declared, kind = view.section.declared, view.section.declared_kind
    arrival = (kind.arrival if kind else None) or (declared.arrival if declared else None)
    if arrival in view.types:
        return arrival == name
    return names.moment_of_arrival(name)


def collisions_per_day(groups: Iterable[tuple[float, float]], slot_s: float) -> float:
    """Entities a day that find their key taken, where entities come independently of each other.

    ``groups`` are (how many, inserts a second of each): entities of different groups never share a key. Within a group
    the entities of a period of ``slot_s`` seconds do: with µ expected in a period, all but the first collide, which are
    µ - 1 + exp(-µ) (the birthday problem for arrivals at random).
    """
    return sum(many * taken(rate * slot_s) for many, rate in groups) * 86_400.0 / slot_s


def collisions(subject: Subject) -> KnownValue | None:
    """Entities a day that find their key taken, where only a time tells them apart.

    Entities a day that are expected to find their key taken, where a time must tell them apart; unknown without
    rates, and where the groups that share a time are not known.
    """
    time = finest_time(subject)
    rate = _rate_per_s(subject.view, *INSERTS)
    if time is None or rate is None:
        return None
    others = _beside(subject, time)
    if subject.view.has_data:
        sizes = key_values.groups_of(others, time, rate, subject.view)
        return None if sizes is None else KnownValue(collisions_per_day(sizes, time.seconds), Basis.ESTIMATED)
    groups = partitions_most(others, subject.view)
    if groups is None:
        return None
    writes = [c for c in subject.view.workload.classes if c.operation in INSERTS]
    peak = sum(c.rate.sustained_per_s * c.entities_per_request for c in writes)
    most = max(rate, peak if time.seconds <= 1 else 0.0)  # a peak lasts for a second at the least
    regular = most / groups * time.seconds <= CERTAIN and not _without_date(subject)
    if regular and any(part.hashing is None for part in others):
        return None  # values that come at regular times may still keep apart
    return KnownValue(_shared_per_day(subject, groups, rate), Basis.DERIVED)


def _shared_per_day(subject: Subject, groups: float, rate: float) -> float:
    """Entities a day that find their key taken where the rate is spread over so many groups: by those of the same
    instant, or by any that there are where the key holds the time of the day without its date."""
    time, view = finest_time(subject), subject.view
    assert time is not None
    if not _without_date(subject):
        return collisions_per_day([(groups, rate / groups)], time.seconds)
    held = declared_entities(view) or rate * min(view.workload.retention_s or SLOT_S["year"], SLOT_S["year"])
    return rate * DAY_S * min(1.0, held / groups / (DAY_S / time.seconds))


def _without_date(subject: Subject) -> bool:
    """Whether all that a key holds of its time is the time of the day, and no text beside it is a date."""
    parts, view = [*variable_parts(whole_key(subject))], subject.view
    times = [part for part in parts if _written_time(part, view)]
    dated = any(tells_date(name, view) for part in parts if part.injective for name in part.properties)
    return bool(times) and not dated and all(part.rises_within for part in times)


def collisions_spread(subject: Subject) -> float | None:
    """The same where nobody says how many values share the rate, even if they are as many as key.groups_most.

    As ``collisions`` where nobody says how many groups share the rate: even if they are as many as ``groups_most``;
    unknown where the data tells, where an upsert is meant to find the row of its minute, hour or day, and where the
    time is named as such a period, of which an entity may be one.
    """
    time = finest_time(subject)
    rate = _rate_per_s(subject.view, *INSERTS)
    groups = groups_most(subject)
    if time is None or rate is None or groups is None or subject.view.has_data or collisions(subject) is not None:
        return None
    beside = _beside(subject, time)
    if only_upserted(subject) and time.seconds > 1:
        return None
    if SLOT_S.get(names.period(time.name), 0.0) >= time.seconds and rate / groups * time.seconds <= CERTAIN:
        return None
    if any(part.injective and stands_alone(part, subject.view, within=len(beside) > 1) for part in beside):
        return None
    return _shared_per_day(subject, groups, rate)


def spread_share(subject: Subject) -> float | None:
    """The same as a share of the entities that come."""
    shared, rate = collisions_spread(subject), _rate_per_s(subject.view, *INSERTS)
    return shared / (rate * DAY_S) if shared is not None and rate else None


def reports_regularly(subject: Subject) -> bool:
    """Whether machines make them, fewer than one in two periods.

    Whether entities come from machines, by the names beside the time, each less often than every other period of
    it: at regular times they keep apart.
    """
    time, view = finest_time(subject), subject.view
    rate = _rate_per_s(view, *INSERTS)
    if time is None or not rate:
        return False
    beside = _beside(subject, time)
    groups = partitions_most(beside, view)
    named = any(names.machine(name) for part in beside for name in part.properties)
    return named and groups is not None and rate / groups * time.seconds <= 0.5


def groups_most(subject: Subject) -> float | None:
    """Values among which the rate may be spread.

    How many values the parts beside a time have at the most: as declared, no more than entities, else many.
    """
    time, view = finest_time(subject), subject.view
    if time is None:
        return None
    return min(partitions_most(_beside(subject, time), view) or GROUPS_MOST, declared_entities(view) or GROUPS_MOST)


def beside_time(subject: Subject) -> str | None:
    """The parts of the key beside its time.

    The parts of a key beside its time.
    """
    time = finest_time(subject)
    return None if time is None else " and ".join(str(part) for part in _beside(subject, time))


def _beside(subject: Subject, time: Instant) -> tuple[Part, ...]:
    parts = dict.fromkeys(variable_parts(whole_key(subject)))
    return tuple(part for part in parts if part.properties != (time.name,))


def time_resolution(subject: Subject) -> str | None:
    """The unit of time (tick, second, minute, …) that must tell entities apart."""
    time = finest_time(subject)
    return None if time is None else f"{time.unit} within the day" if _without_date(subject) else time.unit


# --- isolation --------------------------------------------------------------------------------------------------------


def isolation(subject: Subject) -> str | None:
    """The property that must lead every PartitionKey."""
    name: str | None = subject.view.workload.isolation
    return name


def isolation_leads(subject: Subject) -> bool | None:
    """Whether that property leads this PartitionKey.

    Whether a PartitionKey begins with what must be kept apart, an index row's as the main rows' does.

    A text and a hash or period of the property alone may stand before it. Unknown for a RowKey, and where nothing must
    be kept apart.
    """
    name, key = subject.view.workload.isolation, subject.item
    if name is None or not key.is_partition:
        return None
    lead, scheme = isolating_lead(key.parts, name), subject.view.scheme
    range_of_keys = None if scheme is None else isolating_lead(scheme.main.partition, name)
    return lead is not None and range_of_keys in (None, lead)


FACTS: tuple[Fact, ...] = (
    sure("key.is_partition", FactType.BOOL, "", is_partition),
    sure("key.is_index_row", FactType.BOOL, "", is_index_row),
    sure("key.units_longest", FactType.BOOL, "", units_longest),
    Fact("key.slashed_parts", FactType.TEXTS, "", slashed_parts, may_be_unknown=False),
    Fact("key.forbidden_characters", FactType.TEXTS, "", forbidden_characters, may_be_unknown=False),
    Fact("key.units", FactType.NUMBER, "UTF-16 code units", units),
    Fact("key.keys_possible", FactType.NUMBER, "keys", keys_possible),
    Fact("key.hash_collisions", FactType.NUMBER, "entities", hash_collisions, Basis.ESTIMATED),
    Fact("key.inserts_per_day", FactType.NUMBER, "entities/day", inserts_per_day),
    sure("key.freed", FactType.BOOL, "", freed),
    Fact("key.asked_for_several", FactType.TEXTS, QUERY_NAMES, asked_for_several, may_be_unknown=False),
    Fact("key.id_left_out", FactType.TEXT, "", id_left_out, Basis.DERIVED, may_be_unknown=False),
    sure("key.only_upserted", FactType.BOOL, "", only_upserted),
    Fact("key.collisions_per_day", FactType.NUMBER, "entities/day", collisions, Basis.ESTIMATED),
    Fact("key.collisions_spread", FactType.NUMBER, "entities/day", collisions_spread, Basis.ASSUMED),
    Fact("key.spread_share", FactType.NUMBER, "share", spread_share),
    sure("key.reports_regularly", FactType.BOOL, "", reports_regularly),
    Fact("key.groups_most", FactType.NUMBER, "values", groups_most),
    Fact("key.beside_time", FactType.TEXT, "", beside_time),
    Fact("key.time_resolution", FactType.TEXT, "", time_resolution),
    Fact("key.isolation", FactType.TEXT, "", isolation),
    Fact("key.isolation_leads", FactType.BOOL, "", isolation_leads),
    *key_values.FACTS,
)
