"""Facts of the digits of padded numbers: whether those to come fit."""

from __future__ import annotations

import math

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.widths import lifetime_s, named_like_identifier
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.facts.parts import part_of
from pkadvisor.review.views import names
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import (
    declared_entities,
    digits_of_values,
    distinct_of,
    lasting_inserts_per_s,
    values_least,
)
from pkadvisor.review.views.subjects import KeyPart, Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import EdmType


def width(subject: Subject) -> float | None:
    """The digits to which it is padded."""
    part = part_of(subject)
    return float(part.padded_width) if part.padded_width else None


def digits_to_come(subject: Subject) -> float | None:
    """Digits that a padded number of entities needs for those declared and those of the growth.

    Unknown where nobody says how many.
    """
    least = digits_of_values(values(subject))
    if least > part_of(subject).padded_width:
        return float(least)
    counted = entities_to_come(subject)
    return None if counted is None or counts_within(subject) is not None else float(len(str(int(counted))))


def values(subject: Subject) -> float | None:
    """The values that a padded number of the entities has at the least."""
    part, place = part_of(subject), subject.item
    return values_least(part.properties[0], subject.view) if part.padded_width and place.key.row == 0 else None


def entities_to_come(subject: Subject) -> float | None:
    """Entities declared, and those that are expected within the growth.

    Those declared and those that are expected within the growth.

    Of numbers that are named as those of entities: each has its own. One that is no id may begin anew for each
    value of what stands before it in the key, and counts the mean of these: unknown for the parts of something that
    has a number itself and of which nobody says how many there are, such as the lines of an invoice, where it is
    declared how many values the number has, and behind a whole time, where it sorts only what comes at one moment.
    """
    part, view = part_of(subject), subject.view
    known = distinct_of(view)
    if not part.padded_width or not named_like_identifier(part.properties[0]) or part.properties[0] in known:
        return None
    place: KeyPart = subject.item
    if any(p.injective and _is_time(p, view) for p in place.key.parts[: place.position]):
        return None
    held, rate = declared_entities(view), lasting_inserts_per_s(view)
    total = (held or 0.0) + (0.0 if rate is None else rate * lifetime_s(view.workload))
    if any(name not in known and names.numbered(name, "") for name in _before(subject)):
        return None
    return total / math.prod(known.get(name, 1) for name in _before(subject)) or None


def _is_time(part: Part, view: TableView) -> bool:
    return len(part.properties) == 1 and view.types.get(part.properties[0]) is EdmType.DATETIME


def counts_within(subject: Subject) -> str | None:
    """A property within whose values a padded number may begin anew, and of which the number of values is missing.

    Unknown where it is an id, or the digits are enough for all entities of the table.
    """
    counted, known = entities_to_come(subject), distinct_of(subject.view)
    if counted is None or len(str(int(counted))) <= part_of(subject).padded_width:
        return None
    return next((name for name in _before(subject) if name not in known), None)


def _before(subject: Subject) -> tuple[str, ...]:
    """The properties before a number in the key for whose values it may begin anew; none for an id."""
    scheme, types = subject.view.scheme, subject.view.types
    place: KeyPart = subject.item
    own = part_of(subject).properties[0]
    if scheme is None or own.lower().endswith(("id", "key")):
        return ()
    whole = list(scheme.each_key())[place.key.row][0]
    before = place.key.parts[: place.position]
    parts = before if place.key.is_partition else (*whole.partition, *before)
    groups = dict.fromkeys(n for p in variable(parts) if p.hashing is None for n in p.properties)
    return tuple(n for n in groups if n != own and types.get(n) is not EdmType.DATETIME and not names.year(n))


FACTS: tuple[Fact, ...] = (
    Fact("part.width", FactType.NUMBER, "digits", width),
    Fact("part.counts_within", FactType.TEXT, "", counts_within),
    Fact("part.values_least", FactType.NUMBER, "values", values, Basis.DERIVED),
    Fact("part.digits_to_come", FactType.NUMBER, "digits", digits_to_come, Basis.DERIVED),
    Fact("part.entities_to_come", FactType.NUMBER, "entities", entities_to_come, Basis.DERIVED),
)
