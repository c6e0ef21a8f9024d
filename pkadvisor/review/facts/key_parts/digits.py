"""Facts of the digits of padded numbers: whether those to come fit."""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.rows.counters import DIGITS_MAX
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import DAY_S, Fact
from pkadvisor.review.facts.key_parts import values as values_at_hand
from pkadvisor.review.facts.key_parts.parts import part_of, whole_time
from pkadvisor.review.views import key_loads, names, order
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import (
    declared_entities,
    digits_of_values,
    distinct_of,
    inserted_mean_per_s,
    lasting_inserts_per_s,
    values_least,
)
from pkadvisor.review.views.subjects import Subject
from pkadvisor.table.edm import EdmType


def width(subject: Subject) -> float | None:
    """The digits to which it is padded."""
    part = part_of(subject)
    return float(part.padded_width) if part.padded_width else None


def digits_to_come(subject: Subject) -> float | None:
    """Digits that a padded number of entities needs for those declared and those of the growth.

    Unknown where nobody says how many.
    """
    least, counted = digits_of_values(values(subject)), entities_to_come(subject)
    of_all = 0 if counted is None or counts_within(subject) is not None else len(str(int(counted)))
    return float(max(of_all, least if least > part_of(subject).padded_width else 0)) or None


def values(subject: Subject) -> float | None:
    """The values that a padded number of the entities comes to have at the least, by what is declared.

    Declared values, or the entities to come that it alone tells apart.
    """
    return _enough(subject, _values)


def _values(subject: Subject, young: bool) -> float | None:
    part, place = part_of(subject), subject.item
    if not part.padded_width or place.key.row:
        return None
    return values_least(part.properties[0], subject.view, young=young)


def entities_to_come(subject: Subject) -> float | None:
    """Entities declared, and those that are expected within the growth.

    Those declared and those that are expected within the growth.

    Of numbers that are named as those of entities: each has its own. One that is no id may begin anew for each
    value of what stands before it in the key, and counts the mean of these: unknown for the parts of something that
    has a number itself and of which nobody says how many there are, such as the lines of an invoice, where it is
    declared how many values the number has, and behind a whole time, where it sorts only what comes at one moment.
    """
    return _enough(subject, _entities)


def _entities(subject: Subject, young: bool) -> float | None:
    part, view = part_of(subject), subject.view
    known = distinct_of(view)
    if not part.padded_width or not key_loads.numbers_entities(part.properties[0], view) or part.properties[0] in known:
        return None
    if any(whole_time(p, view) for p in subject.place.key.parts[: subject.place.position]):
        return None
    table, open_groups = view.section.kind or view.section.table, [n for n in _before(subject) if n not in known]
    if any(names.numbered(name, "") or names.part_of_aggregate(name, table) for name in open_groups):
        return None
    return key_loads.entities_to_come(part.properties[0], _before(subject), view, young=young)


def _enough(subject: Subject, count: Callable[[Subject, bool], float | None]) -> float | None:
    """A count without inserts that may not last, where it is too large for the padding; else with them."""
    lasting = count(subject, False)
    return lasting if digits_of_values(lasting) > part_of(subject).padded_width else count(subject, True)


def days_held(subject: Subject) -> float | None:
    """Days of the declared inserts that the declared entities are, where only inserts that may not last fill a padding.

    None where they are more than 30.
    """
    view, width_padded = subject.view, part_of(subject).padded_width
    held, rate = declared_entities(view), inserted_mean_per_s(view)
    if not width_padded or not held or not rate or lasting_inserts_per_s(view) is not None:
        return None
    lasting, young = (max(digits_of_values(c(subject, y)) for c in (_values, _entities)) for y in (False, True))
    return held / rate / DAY_S if lasting <= width_padded < young else None


def counts_within(subject: Subject) -> str | None:
    """A property within whose values a padded number may begin anew, and of which the number of values is missing.

    Unknown where it is an id, or the digits are enough for all entities of the table.
    """
    counted, known = entities_to_come(subject), distinct_of(subject.view)
    if counted is None or len(str(int(counted))) <= part_of(subject).padded_width:
        return None
    return next((name for name in _before(subject) if name not in known), None)


def counted_by(subject: Subject) -> str | None:
    """The properties for each of whose declared values these entities are counted."""
    before = _before(subject)
    return ", ".join(before) if before and {*before} <= distinct_of(subject.view).keys() else None


def _before(subject: Subject) -> tuple[str, ...]:
    """The properties before a number in the key for whose values it may begin anew; none for an id."""
    scheme, types = subject.view.scheme, subject.view.types
    place = subject.place
    own = part_of(subject).properties[0]
    if scheme is None or own.lower().endswith(("id", "key")):
        return ()
    whole = list(scheme.each_key())[place.key.row][0]
    before = place.key.parts[: place.position]
    parts = before if place.key.is_partition else (*whole.partition, *before)
    groups = dict.fromkeys(n for p in variable(parts) if p.hashing is None for n in p.properties)
    return tuple(n for n in groups if n != own and types.get(n) is not EdmType.DATETIME and not names.year(n))


def padded(subject: Subject) -> str | None:
    """The part in a form that sorts: padded to its digits, or to those of its type, from the year down."""
    part = part_of(subject)
    if part.padded_width:
        (name,), needed = part.properties, max(digits_to_come(subject) or 0.0, values_at_hand.digits(subject) or 0.0)
        width = order.width_needed(name, int(needed), subject.view) if needed else 0
        return f"{{{part.function}({name},{width})}}" if width else None
    form = order.sorted_form(part, subject.view)
    return None if form is None else str(form)


def padded_for_type(subject: Subject) -> str | None:
    """The type of which that holds every number."""
    name, edm = part_of(subject).plain_property, subject.view.types.get(part_of(subject).plain_property)
    return str(edm) if name and edm in DIGITS_MAX and order.digits_known(name, subject.view) is None else None


FACTS: tuple[Fact, ...] = (
    Fact("part.width", FactType.NUMBER, "digits", width),
    Fact("part.padded", FactType.TEXT, "", padded),
    Fact("part.padded_for_type", FactType.TEXT, "", padded_for_type),
    Fact("part.counts_within", FactType.TEXT, "", counts_within),
    Fact("part.counted_by", FactType.TEXT, "", counted_by),
    Fact("part.values_least", FactType.NUMBER, "values", values, Basis.DERIVED),
    Fact("part.digits_to_come", FactType.NUMBER, "digits", digits_to_come, Basis.DERIVED),
    Fact("part.days_held", FactType.NUMBER, "days", days_held, Basis.DERIVED),
    Fact("part.entities_to_come", FactType.NUMBER, "entities", entities_to_come, Basis.DERIVED),
)
