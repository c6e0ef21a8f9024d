"""Facts of what a filter or a key says wrongly: names that nobody knows, other types, texts that no key is."""

from __future__ import annotations

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.transforms import FORBIDDEN
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views import served
from pkadvisor.review.views.as_sent import SYSTEM_TYPES, names_keys
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.unmet import unmet
from pkadvisor.table.odata import Parameter


def unknown_properties(subject: Subject) -> tuple[str, ...]:
    """Properties it names that nobody knows."""
    return served.unknown_properties(subject.view, subject.item)


def meant(subject: Subject) -> str | None:
    """The property that an unknown one probably stands for."""
    for name in unknown_properties(subject):
        if close := served.close_to(name, subject.view):
            return close
    return None


def miscased(subject: Subject) -> bool:
    """Whether an unknown one differs from a known one in case only."""
    return any(served.miscased(name, subject.view) for name in unknown_properties(subject))


def wrong_types(subject: Subject) -> tuple[str, ...]:
    """Its comparisons with a constant of another type."""
    return served.wrong_types(subject.view, subject.item)


def quoted_twice(subject: Subject) -> tuple[str, ...]:
    """Its constants in typographic marks inside quotes."""
    return served.quoted_twice(subject.item)


def no_keys(subject: Subject) -> tuple[str, ...]:
    """Its constants that no key can be."""
    equal = conditions(subject.query.filter).equal
    texts = [
        o.value for n in names_keys(subject.query) if (o := equal.get(n)) is not None and not isinstance(o, Parameter)
    ]
    return tuple(f"'{text}'" for text in texts if isinstance(text, str) and FORBIDDEN & set(text))


UNMET_TOLD = 3
"""Conditions that a sentence can name: an ``or`` may have one for each bucket."""


def unmet_conditions(subject: Subject) -> tuple[str, ...]:
    """Its conditions on the keys that no key of the design meets, the first three."""
    return tuple(each.conditions for each in unmet(subject.view, subject.item)[:UNMET_TOLD])


def keys_there_are(subject: Subject) -> tuple[str, ...]:
    """The templates of the keys that do not meet them."""
    return tuple(dict.fromkeys(t for each in unmet(subject.view, subject.item) for t in each.templates))


def kinds_met(subject: Subject) -> tuple[str, ...]:
    """The other kinds of entity whose keys alone meet its conditions."""
    return tuple(dict.fromkeys(f"'{kind}'" for each in unmet(subject.view, subject.item) for kind in each.kinds))


def part_unknown(subject: Subject) -> tuple[str, ...]:
    """Properties of the part that nobody knows."""
    view = subject.view
    strange = [n for n in subject.place.part.properties if n not in view.types and n not in SYSTEM_TYPES]
    return tuple(n for n in strange if view.has_data or served.misspelt(n, view))


def part_meant(subject: Subject) -> str | None:
    """The property that an unknown one probably stands for."""
    return next((f for n in part_unknown(subject) if (f := served.close_to(n, subject.view))), None)


B, T, TS = FactType.BOOL, FactType.TEXT, FactType.TEXTS

FACTS: tuple[Fact, ...] = (
    Fact("query.unknown_properties", TS, "", unknown_properties),
    Fact("query.meant", T, "", meant),
    Fact("query.miscased", B, "", miscased, may_be_unknown=False),
    Fact("query.wrong_types", TS, "", wrong_types),
    Fact("query.quoted_twice", TS, "", quoted_twice),
    Fact("query.no_keys", TS, "", no_keys, may_be_unknown=False),
    Fact("query.unmet_conditions", TS, "", unmet_conditions, may_be_unknown=False),
    Fact("query.keys_there_are", TS, "", keys_there_are, may_be_unknown=False),
    Fact("query.kinds_met", TS, "", kinds_met, may_be_unknown=False),
    Fact("part.unknown_properties", TS, "", part_unknown),
    Fact("part.meant", T, "", part_meant),
)
