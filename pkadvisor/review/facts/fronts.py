"""Facts of PartitionKeys: how the inserts of a moment spread over them, and what one partition of them takes."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.observe.workload import Basis
from pkadvisor.remembered import remembered
from pkadvisor.review.facts.base import Fact, KnownValue
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import (
    clock_part,
    follows_clock,
    inserts_per_s,
    kinds_of,
    load_per_s,
    partitions_most,
    rows_under,
)
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView


def _parts(subject: Subject) -> tuple[Part, ...]:
    return subject.key.parts


def constant(subject: Subject) -> bool:
    """Whether the key is the same for every row."""
    return not variable(_parts(subject))


def counts_once(subject: Subject) -> bool:
    """Whether it is a PartitionKey that no key before it has."""
    key = subject.key
    view = subject.view
    if not key.is_partition or view.scheme is None:
        return False
    keys = [k.partition for k, _ in view.scheme.each_key()]
    ends = _at_one_end(key.parts, view) if appends(key.parts, view) else kinds_of(view)
    kinds = [kind for kind in ends if kind is view or (kind.scheme and rows_under(key.parts, kind))]
    return keys.index(key.parts) == key.row and kinds[0] is view


def _counted_fronts(parts: tuple[Part, ...], view: TableView, *, least: bool = False) -> KnownValue | None:
    """Write fronts that are counted (or follow from the order of keys) in the data; None where they cannot be.

    Those that last, or the ``least`` there are for a while.
    """
    if view.bench is None or not variable(parts):
        return None
    from pkadvisor.design.rows.fronts import write_fronts

    rows = inserts_per_s(parts, view)
    entities = rows / rows_under(parts, view) if rows else None  # as the estimate asks, so that it is counted once
    counts = write_fronts(parts, view.bench.population, view.limits, entities)
    fronts = counts.least if least else counts.lasting(view.limits.lasting_s)
    if fronts is None or counts.basis not in (Basis.COUNTED, Basis.DERIVED):
        return None
    return KnownValue(float(fronts), counts.basis)


def write_fronts(subject: Subject) -> KnownValue | None:
    """Key ranges that the inserts of a moment reach under this PartitionKey."""
    return fronts_of(_parts(subject), subject.view)


def fronts_of(parts: tuple[Part, ...], view: TableView) -> KnownValue | None:
    """Counted with data; else 1 for a key that begins with a time, and what stands before the time where that is
    certain.

    None where a period that outlasts the reaction of the service is divided further: its partitions are split apart.
    """
    counted = _counted_fronts(parts, view)
    if counted is not None:
        return counted
    return None if _divided(parts, view) else _ends(parts, view)


def _ends(parts: tuple[Part, ...], view: TableView) -> KnownValue | None:
    """The ends of the key order that later rows go to, as long as no range of the latest period was cut."""
    clock = clock_part(parts, view)
    before = None if clock is None else partitions_most(clock[1], view)
    return None if before is None else KnownValue(before, Basis.DERIVED)


def _divided(parts: tuple[Part, ...], view: TableView) -> bool:
    """Whether parts that do not follow the clock stand right behind periods that last longer than a split takes."""
    clock = clock_part(parts, view)
    if clock is None:
        return False
    limits = view.limits
    reaction_s = limits.t_sustain_s + limits.t_eval_s + limits.t_move_s
    for part in variable(parts)[len(clock[1]) :]:
        if not follows_clock(part, view):
            return True
        if part.period is None or PERIOD_S[part.period.unit] <= reaction_s:
            return False
    return False


def least_fronts(subject: Subject) -> KnownValue | None:
    """The fewest key ranges that the inserts of a moment reach, for minutes at a time.

    The fewest key ranges for a while: just behind the beginning of a period no range of it was cut yet.
    """
    parts, view = _parts(subject), subject.view
    return _counted_fronts(parts, view, least=True) or _ends(parts, view)


def append_only(subject: Subject) -> bool:
    """Whether the key has a part that moves on with the inserts: a time, ticks, a sequence.

    Whether the inserts of a moment go to the end (or the beginning) of a key range and stay there.
    """
    return appends(_parts(subject), subject.view)


def appends(parts: tuple[Part, ...], view: TableView) -> bool:
    """A part follows the clock, or the data shows that later rows lie beyond all earlier ones."""
    return bool(variable(parts)) and (clock_part(parts, view) is not None or _moves_on(parts, view))


BEYOND = 0.95
"""Share of the later half of the inserts that lies beyond the earlier half in key order, where a key moves on."""


def _moves_on(parts: tuple[Part, ...], view: TableView) -> bool:
    if _counted_fronts(parts, view) is None:
        return False
    assert view.bench is not None
    return _later_half_beyond(parts, view.bench.population)


@remembered("moves on")
def _later_half_beyond(parts: tuple[Part, ...], population: Population) -> bool:
    """Whether rows that came later lie beyond all earlier ones in the order of the first part."""
    order = population.arrival_order()
    codes = population.key_order(variable(parts)[:1])
    if order is None or not codes or set(variable(parts)[0].properties) & set(population.hashed):
        return False
    early, late = np.array_split(codes[0][order], 2)
    return max(float((late > early.max()).mean()), float((late < early.min()).mean())) >= BEYOND


def rising_part(subject: Subject) -> str | None:
    """The part that moves on with the inserts."""
    parts, view = _parts(subject), subject.view
    if not appends(parts, view):
        return None
    clock = clock_part(parts, view)
    return str(clock[0] if clock is not None else variable(parts)[0])


def key_inserts_per_s(subject: Subject) -> float | None:
    """Rows inserted or upserted a second at the peak under this PartitionKey.

    Of all kinds of the table that go to its end, where nothing tells them apart.
    """
    return inserts_per_s(_parts(subject), *_at_one_end(_parts(subject), subject.view))


def _at_one_end(parts: tuple[Part, ...], view: TableView) -> tuple[TableView, ...]:
    """The kinds of a table whose inserts go to the same ends of its keys; with data each is counted by itself."""
    if view.has_data:
        return (view,)
    return tuple(kind for kind in kinds_of(view) if not kind.has_data and appends(parts, kind)) or (view,)


def key_load_per_s(subject: Subject) -> KnownValue | None:
    """Entities read and written a second at the peak under this PartitionKey, at the least.

    At the least, or the estimate's where the hottest partition is this one.
    """
    parts, view = _parts(subject), subject.view
    per_s = load_per_s(parts, *kinds_of(view))
    if per_s is None:
        return None
    hot = view.estimate.hot if view.has_data and len(kinds_of(view)) == 1 and view.estimate is not None else None
    if hot is not None and is_one_partition(parts, hot.partition_key):
        return KnownValue(hot.entities_per_s, Basis.ESTIMATED)
    return KnownValue(per_s, Basis.DECLARED)


def is_one_partition(parts: tuple[Part, ...], key: str | None) -> bool:
    """Whether a PartitionKey has no variable part, and is this one."""
    return key is not None and not variable(parts) and format_template(parts) == key


_TEXT, _NUMBER, _BOOL = FactType.TEXT, FactType.NUMBER, FactType.BOOL

FACTS: tuple[Fact, ...] = (
    Fact("key.constant", _BOOL, "", constant, may_be_unknown=False),
    Fact("key.counts_once", _BOOL, "", counts_once, Basis.DERIVED, may_be_unknown=False),
    Fact("key.append_only", _BOOL, "", append_only, Basis.DERIVED, may_be_unknown=False),
    Fact("key.rising_part", _TEXT, "", rising_part, Basis.DERIVED),
    Fact("key.write_fronts", _NUMBER, "key ranges", write_fronts, Basis.DERIVED),
    Fact("key.write_fronts_least", _NUMBER, "key ranges", least_fronts, Basis.DERIVED),
    Fact("key.insert_entities_per_s", _NUMBER, "entities/s", key_inserts_per_s),
    Fact("key.load_entities_per_s", _NUMBER, "entities/s", key_load_per_s),
)
