"""Facts of the parts of keys that tell of people or open a door, by the names and the values of their properties."""

from __future__ import annotations

import re
from collections.abc import Callable

from pkadvisor.design.keys.template import shown_by
from pkadvisor.design.rows.counters import DIGITS_MAX
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact, sure
from pkadvisor.review.facts.key_parts.parts import part_of
from pkadvisor.review.facts.key_parts.values import distinct_texts
from pkadvisor.review.facts.properties import sensitivity
from pkadvisor.review.views import names
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import distinct_of
from pkadvisor.review.views.subjects import Subject
from pkadvisor.table.edm import EdmType

LOOKED_AT_MAX = 2_000
"""Distinct values of which the look is judged."""
ALIKE_SHARE = 0.5
"""Share of the values that must look like it."""
_OF_PEOPLE = (EdmType.STRING, EdmType.DATETIME, EdmType.INT32, EdmType.INT64)
_TEXT = (EdmType.STRING,)


def shows(subject: Subject) -> str:
    """What a reader of the key learns: the value, a hash that stands for it, or a group of many values."""
    return shown_by(part_of(subject))


def declared_sensitive(subject: Subject) -> str:
    """secret or personal where the design says so, else empty."""
    declared = sensitivity(subject.view)
    kinds = {declared.get(name, "") for name in part_of(subject).properties}
    return "secret" if "secret" in kinds else "personal" if "personal" in kinds else ""


# --- what the names say -----------------------------------------------------------------------------------------------


def _names(subject: Subject, types: tuple[EdmType, ...]) -> list[str]:
    """Its properties of these types; one without a type may be a text."""
    return [n for n in part_of(subject).properties if subject.view.types.get(n, EdmType.STRING) in types]


def personal_name(subject: Subject) -> bool:
    """Whether its property is named as data on a person."""
    return any(names.personal(name) for name in _names(subject, _OF_PEOPLE))


def regulated_name(subject: Subject) -> bool:
    """Whether its property is named as a payment-card, account or identity number."""
    return any(names.regulated_digits(name) for name in _names(subject, _OF_PEOPLE))


def too_short_for_name(subject: Subject) -> bool:
    """Whether it has fewer digits than the payment-card, account or identity number that its name says."""
    most, named = characters_most(subject), _names(subject, _OF_PEOPLE)
    return most is not None and most < max((names.regulated_digits(name) for name in named), default=0)


def characters_most(subject: Subject) -> float | None:
    """The most characters of a value in it: by its padding, its type, or the data.

    Unknown for texts without data.
    """
    part, view, population = part_of(subject), subject.view, subject.view.population
    if len(part.properties) != 1:
        return None
    (name,) = part.properties
    edm, known = view.types.get(name), []
    if part.padded_width:
        known.append(part.padded_width)
    if edm in DIGITS_MAX:
        known.append(DIGITS_MAX[edm])
    if population is not None and population.has(name) and name not in population.hashed and population.rows:
        sizes = population.sizes(name)
        known += [len(str(sizes.largest))] if population.types[name].integer else []
        known += [int(sizes.characters_max)] if population.types[name] is EdmType.STRING else []
    return min(known, default=None)


def values_declared(subject: Subject) -> float | None:
    """Values that its only property is declared to have."""
    part = part_of(subject)
    return distinct_of(subject.view).get(part.properties[0]) if len(part.properties) == 1 else None


def secret_name(subject: Subject) -> bool:
    """Whether its property is named as a secret."""
    return any(names.secret(name) for name in _names(subject, _TEXT))


def token_name(subject: Subject) -> bool:
    """Whether its property is named as a token that lets its bearer in, and is not one of the words of a text."""
    return part_of(subject).several is None and any(names.token(name) for name in _names(subject, _TEXT))


def names_a_hash(subject: Subject) -> bool:
    """Whether its property is named as a hash."""
    return any(names.names_a_hash(name) for name in part_of(subject).properties)


# --- what the values look like ----------------------------------------------------------------------------------------

_EMAIL = re.compile(r"[A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_PHONE = re.compile(r"\+[1-9][0-9](?:[ ().-]?[0-9]){6,12}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_KEYS = re.compile(
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|.*AccountKey=.+|.*[?&]sig=.+|-----BEGIN .*"
    r"|(?:ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{20,}|AKIA[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{10,}",
    re.DOTALL,
)


def _iban(text: str) -> bool:
    """Whether a text is an IBAN whose check digits are right."""
    text = text.replace(" ", "")
    if not _IBAN.fullmatch(text):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


_CARD = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}"
)
"""The beginnings and lengths of the numbers that issuers of payment cards give out."""
_SSN = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")


def _card(text: str) -> bool:
    """Whether a text is the number of a payment card whose check digit (Luhn, ISO/IEC 7812-1) is right."""
    digits = re.sub(r"[ -]", "", text)
    if not digits.isascii() or not _CARD.fullmatch(digits):
        return False
    odd = sum(int(d) for d in digits[::-1][::2])
    even = sum(sum(divmod(2 * int(d), 10)) for d in digits[::-1][1::2])
    return (odd + even) % 10 == 0


def _whole_numbers(subject: Subject) -> pl.Series | None:
    """The distinct numbers that a part writes, as texts of digits; None where they are hidden, or no whole numbers."""
    population = subject.view.population
    name = subject.place.part.properties[0] if len(subject.place.part.properties) == 1 else ""
    if population is None or not population.has(name) or name in population.hashed:
        return None
    column = population.frame.get_column(name).head(population.rows)
    return column.drop_nulls().unique().sort().cast(pl.String) if column.dtype.is_integer() else None


def _alike(texts: pl.Series | None, looks: Callable[[str], object]) -> bool:
    """Whether most of the values look like it."""
    values = [] if texts is None else texts.head(LOOKED_AT_MAX).to_list()
    return bool(values) and sum(bool(looks(v)) for v in values) >= ALIKE_SHARE * len(values)


def personal_values(subject: Subject) -> str | None:
    """What most of its values look like: e-mail addresses, telephone numbers; empty for none of them."""
    if distinct_texts(subject) is None:
        return None
    for what, looks in (
        ("e-mail addresses", _EMAIL.fullmatch),
        ("telephone numbers", _PHONE.fullmatch),
    ):
        if _alike(distinct_texts(subject), looks):
            return what
    return ""


def regulated_values(subject: Subject) -> str | None:
    """What most of its values are: numbers of payment cards, bank accounts or social security; empty for none."""
    texts = distinct_texts(subject)
    texts = _whole_numbers(subject) if texts is None else texts
    if texts is None:
        return None
    for what, looks in (
        ("payment-card numbers", _card),
        ("bank account numbers (IBAN)", _iban),
        ("social security numbers", _SSN.fullmatch),
    ):
        if _alike(texts, looks):
            return what
    return ""


def secret_values(subject: Subject) -> bool | None:
    """Whether most of its values look like access tokens, access keys or connection strings."""
    return None if distinct_texts(subject) is None else _alike(distinct_texts(subject), _KEYS.fullmatch)


FACTS: tuple[Fact, ...] = (
    sure("part.shows", FactType.TEXT, "", shows),
    sure("part.declared_sensitive", FactType.TEXT, "", declared_sensitive),
    sure("part.personal_name", FactType.BOOL, "", personal_name),
    sure("part.regulated_name", FactType.BOOL, "", regulated_name),
    sure("part.too_short_for_name", FactType.BOOL, "", too_short_for_name),
    Fact("part.characters_most", FactType.NUMBER, "characters", characters_most),
    Fact("part.values_declared", FactType.NUMBER, "values", values_declared),
    sure("part.secret_name", FactType.BOOL, "", secret_name),
    sure("part.token_name", FactType.BOOL, "", token_name),
    sure("part.names_a_hash", FactType.BOOL, "", names_a_hash),
    Fact("part.personal_values", FactType.TEXT, "", personal_values, Basis.COUNTED),
    Fact("part.regulated_values", FactType.TEXT, "", regulated_values, Basis.COUNTED),
    Fact("part.secret_values", FactType.BOOL, "", secret_values, Basis.COUNTED),
)
