"""Facts of the variable parts of keys that the rows at hand tell. Nothing without data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from math import prod

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import EdmType, Part
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import Basis
from pkadvisor.remembered import remembered
from pkadvisor.review.facts.base import Fact, Found
from pkadvisor.review.facts.key_values import lengths_differ, texts_of
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import INSERTS, at_peak, follows_clock, rated, values_most
from pkadvisor.review.views.subjects import KeyPart, Subject

LOOKED_AT_MAX = 2_000
"""Distinct values of which the look is judged."""
ALIKE_SHARE = 0.5
"""Share of the values that must look like it."""
ARRIVALS_LEAST = 10
"""Entities from which their order of arrival is one."""


def _distinct(subject: Subject) -> pl.Series | None:
    """The distinct texts that a part writes or hashes, in order; None where they are hidden, or no texts."""
    place: KeyPart = subject.item
    population = subject.view.population
    return None if population is None else _distinct_texts(place.part, population)


@remembered("review distinct")
def _distinct_texts(part: Part, population: Population) -> pl.Series | None:
    texts = texts_of(part, population)
    return None if texts is None else texts.drop_nulls().unique().sort()


# --- order ------------------------------------------------------------------------------------------------------------


def digits_vary(subject: Subject) -> bool | None:
    """Whether its numbers differ in digits among the rows at hand; unknown for other parts."""
    place: KeyPart = subject.item
    name = place.part.properties[0] if len(place.part.properties) == 1 else ""
    edm = subject.view.types.get(name)
    if edm is None or not edm.numeric:
        return None
    return True if edm is EdmType.DOUBLE and subject.view.has_data else lengths_differ(name, subject.view)


def digits(subject: Subject) -> float | None:
    """The digits of the largest whole number at hand."""
    place: KeyPart = subject.item
    population = subject.view.population
    name = place.part.properties[0] if place.part.padded_width else ""
    if population is None or not population.has(name) or not population.types[name].integer:
        return None
    return float(len(str(population.sizes(name).largest)))


def counter_inserts_per_s(subject: Subject) -> float | None:
    """Inserts a second at the peak that fetch the number from one counter: those of the busiest group that shares it.

    Unknown where a time stands beside it, since a group is then of one moment, and where nobody knows the groups.
    """
    place: KeyPart = subject.item
    view = subject.view
    if view.scheme is None:
        return None
    key = list(view.scheme.each_key())[place.key.row][0]
    others = [p for p in variable((*key.partition, *key.row)) if p != place.part]
    if any(p.tells_time or p.rises_within or follows_clock(p, view) for p in others):
        return None
    peak = at_peak(
        view, {c.name: c.rate.sustained_per_s * c.entities_per_request for c in rated(view) if c.operation in INSERTS}
    )
    population = view.population
    if population is not None and all(population.has(n) for p in others for n in p.properties) and population.rows:
        counts = population.counts(atoms_of(others))
        return peak * float(counts.max(initial=0)) / population.rows
    groups = [values_most(p, view) for p in others]
    return None if None in groups else peak / prod(n for n in groups if n is not None)


def counter_commits_per_s(subject: Subject) -> float:
    """The commits of one entity a second under If-Match: one read and one write after the other."""
    from pkadvisor.design.load.contention import contention

    return contention(0.0, subject.view.limits).commits_per_s_max


def rises_with_arrival(subject: Subject) -> bool | None:
    """Whether each entity at hand has a greater number than the one before; unknown without an order of arrival."""
    place: KeyPart = subject.item
    population = subject.view.population
    name = place.part.properties[0] if len(place.part.properties) == 1 else ""
    if population is None or population.arrival is None or not population.has(name) or name in population.hashed:
        return None
    column = population.frame.get_column(name).head(population.rows).drop_nulls()
    if not column.dtype.is_integer() or len(column) < ARRIVALS_LEAST:
        return None
    return bool(column.is_sorted()) and column.n_unique() == len(column)


# --- text -------------------------------------------------------------------------------------------------------------


def _variants(subject: Subject) -> pl.Series | None:
    """The texts that another text equals but for upper and lower case."""
    texts = _distinct(subject)
    if texts is None:
        return None
    frame = texts.to_frame("t").with_columns(pl.col("t").str.to_lowercase().alias("l"))
    return frame.filter(pl.len().over("l") > 1).sort("l", "t").get_column("t")


def case_variants(subject: Subject) -> float | None:
    column = _variants(subject)
    return None if column is None else float(len(column))


def case_example(subject: Subject) -> str | None:
    """Two such texts."""
    column = _variants(subject)
    return None if column is None or not len(column) else f"'{column[0][:40]}' and '{column[1][:40]}'"


def not_normal(subject: Subject) -> float | None:
    """Texts that are not in Unicode's composed form (NFC)."""
    texts = _distinct(subject)
    if texts is None:
        return None
    return float(sum(not unicodedata.is_normalized("NFC", t) for t in texts.to_list() if not t.isascii()))


def beyond_ascii(subject: Subject) -> float | None:
    texts = _distinct(subject)
    return None if texts is None else float(texts.str.contains(r"[^\x00-\x7f]").sum())


# --- missing ----------------------------------------------------------------------------------------------------------


def missing_share(subject: Subject) -> float | None:
    """The share of entities without one of its properties; a list that is empty makes no row, and is not missing."""
    place: KeyPart = subject.item
    population = subject.view.population
    if population is None or place.part.several is not None:
        return None
    shares = [1 - population.sizes(n).present for n in place.part.properties if population.has(n)]
    return max(shares, default=None)


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
    place: KeyPart = subject.item
    population = subject.view.population
    name = place.part.properties[0] if len(place.part.properties) == 1 else ""
    if population is None or not population.has(name) or name in population.hashed:
        return None
    column = population.frame.get_column(name).head(population.rows)
    return column.drop_nulls().unique().sort().cast(pl.String) if column.dtype.is_integer() else None


def _alike(texts: pl.Series | None, looks: object) -> bool:
    """Whether most of the values look like it."""
    values = [] if texts is None else texts.head(LOOKED_AT_MAX).to_list()
    return bool(values) and sum(bool(looks(v)) for v in values) >= ALIKE_SHARE * len(values)  # type: ignore[operator]


def personal_values(subject: Subject) -> str | None:
    """What most of its values look like: e-mail addresses, telephone numbers; empty for none of them."""
    if _distinct(subject) is None:
        return None
    for what, looks in (
        ("e-mail addresses", _EMAIL.fullmatch),
        ("telephone numbers", _PHONE.fullmatch),
    ):
        if _alike(_distinct(subject), looks):
            return what
    return ""


def regulated_values(subject: Subject) -> str | None:
    """What most of its values are: numbers of payment cards, bank accounts or social security; empty for none."""
    texts = _distinct(subject)
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
    return None if _distinct(subject) is None else _alike(_distinct(subject), _KEYS.fullmatch)


def _fact(
    name: str, kind: FactType, unit: str, about: str, compute: Callable[[Subject], Found], *, from_data: bool = False
) -> Fact:
    return Fact(f"part.{name}", kind, unit, compute, Basis.COUNTED, about=about, from_data=from_data)


FACTS: tuple[Fact, ...] = (
    _fact("digits_vary", FactType.BOOL, "", "Whether its numbers differ in digits.", digits_vary),
    _fact(
        "counter_inserts_per_s",
        FactType.NUMBER,
        "inserts/s",
        "Inserts that fetch it of one counter.",
        counter_inserts_per_s,
    ),
    _fact(
        "counter_commits_per_s", FactType.NUMBER, "commits/s", "Commits that one counter takes.", counter_commits_per_s
    ),
    _fact("digits", FactType.NUMBER, "digits", "Digits of the largest number that is padded.", digits),
    _fact("rises_with_arrival", FactType.BOOL, "", "Whether it rises from entity to entity.", rises_with_arrival),
    _fact("case_variants", FactType.NUMBER, "values", "Values that differ from another only by case.", case_variants),
    _fact("case_example", FactType.TEXT, "", "Two such values.", case_example, from_data=True),
    _fact("not_normal", FactType.NUMBER, "values", "Values that are not in Unicode form NFC.", not_normal),
    _fact("beyond_ascii", FactType.NUMBER, "values", "Values with letters beyond ASCII.", beyond_ascii),
    _fact("missing_share", FactType.NUMBER, "share", "Share of entities that lack its property.", missing_share),
    _fact("personal_values", FactType.TEXT, "", "What its values look like, or empty.", personal_values),
    _fact("regulated_values", FactType.TEXT, "", "What regulated numbers its values are, or empty.", regulated_values),
    _fact("secret_values", FactType.BOOL, "", "Whether its values look like access keys or tokens.", secret_values),
)
