"""Facts of the variable parts of keys that the rows at hand tell. Nothing without data."""

from __future__ import annotations

import unicodedata
from math import prod

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import EdmType, Part
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import Basis
from pkadvisor.remembered import remembered
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.facts.key_values import lengths_differ, texts_of
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import INSERTS, at_peak, follows_clock, rated, values_most
from pkadvisor.review.views.subjects import Subject

ARRIVALS_LEAST = 10
"""Entities from which their order of arrival is one."""


def distinct_texts(subject: Subject) -> pl.Series | None:
    """The distinct texts that a part writes or hashes, in order; None where they are hidden, or no texts."""
    population = subject.view.population
    return None if population is None else _distinct_texts(subject.place.part, population)


@remembered("review distinct")
def _distinct_texts(part: Part, population: Population) -> pl.Series | None:
    texts = texts_of(part, population)
    return None if texts is None else texts.drop_nulls().unique().sort()


TEXTS_LOOKED_AT = 1000
"""Distinct texts that tell in what form a property is written."""


def some_texts(subject: Subject) -> list[str]:
    """Some of the distinct texts that a part writes; none without data, and where they are hidden."""
    texts = distinct_texts(subject)
    return [] if texts is None else texts.head(TEXTS_LOOKED_AT).to_list()


# --- order ------------------------------------------------------------------------------------------------------------


def digits_vary(subject: Subject) -> bool | None:
    """Whether its numbers differ in digits.

    Whether its numbers differ in digits among the rows at hand; unknown for other parts.
    """
    name = subject.place.part.properties[0] if len(subject.place.part.properties) == 1 else ""
    edm = subject.view.types.get(name)
    if edm is None or not edm.numeric:
        return None
    return True if edm is EdmType.DOUBLE and subject.view.has_data else lengths_differ(name, subject.view)


def digits(subject: Subject) -> float | None:
    """Digits of the largest number that is padded.

    The digits of the largest whole number at hand.
    """
    population = subject.view.population
    name = subject.place.part.properties[0] if subject.place.part.padded_width else ""
    if population is None or not population.has(name) or not population.types[name].integer:
        return None
    return float(len(str(population.sizes(name).largest)))


def counter_inserts_per_s(subject: Subject) -> float | None:
    """Inserts that fetch it of one counter.

    Inserts a second at the peak that fetch the number from one counter: those of the busiest group that shares it.

    Unknown where a time stands beside it, since a group is then of one moment, and where nobody knows the groups.
    """
    view = subject.view
    if view.scheme is None:
        return None
    key = list(view.scheme.each_key())[subject.place.key.row][0]
    others = [p for p in variable((*key.partition, *key.row)) if p != subject.place.part]
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
    """Commits that one counter takes.

    The commits of one entity a second under If-Match: one read and one write after the other.
    """
    from pkadvisor.design.load.contention import contention

    return contention(0.0, subject.view.limits).commits_per_s_served


def rises_with_arrival(subject: Subject) -> bool | None:
    """Whether it rises from entity to entity.

    Whether each entity at hand has a greater number than the one before; unknown without an order of arrival.
    """
    population = subject.view.population
    name = subject.place.part.properties[0] if len(subject.place.part.properties) == 1 else ""
    if population is None or population.arrival is None or not population.has(name) or name in population.hashed:
        return None
    column = population.frame.get_column(name).head(population.rows).drop_nulls()
    if not column.dtype.is_integer() or len(column) < ARRIVALS_LEAST:
        return None
    return bool(column.is_sorted()) and column.n_unique() == len(column)


# --- text -------------------------------------------------------------------------------------------------------------


def _variants(subject: Subject) -> pl.Series | None:
    """The texts that another text equals but for upper and lower case."""
    texts = distinct_texts(subject)
    if texts is None:
        return None
    frame = texts.to_frame("t").with_columns(pl.col("t").str.to_lowercase().alias("l"))
    return frame.filter(pl.len().over("l") > 1).sort("l", "t").get_column("t")


def case_variants(subject: Subject) -> float | None:
    """Values that differ from another only by case."""
    column = _variants(subject)
    return None if column is None else float(len(column))


def case_example(subject: Subject) -> str | None:
    """Two such values.

    Two such texts.
    """
    column = _variants(subject)
    return None if column is None or not len(column) else f"'{column[0][:40]}' and '{column[1][:40]}'"


def not_normal(subject: Subject) -> float | None:
    """Values that are not in Unicode form NFC.

    Texts that are not in Unicode's composed form (NFC).
    """
    texts = distinct_texts(subject)
    if texts is None:
        return None
    return float(sum(not unicodedata.is_normalized("NFC", t) for t in texts.to_list() if not t.isascii()))


def beyond_ascii(subject: Subject) -> float | None:
    """Values with letters beyond ASCII."""
    texts = distinct_texts(subject)
    return None if texts is None else float(texts.str.contains(r"[^\x00-\x7f]").sum())


# --- missing ----------------------------------------------------------------------------------------------------------


def missing_share(subject: Subject) -> float | None:
    """Share of entities that lack its property.

    The share of entities without one of its properties; a list that is empty makes no row, and is not missing.
    """
    population = subject.view.population
    if population is None or subject.place.part.several is not None:
        return None
    shares = [1 - population.sizes(n).present for n in subject.place.part.properties if population.has(n)]
    return max(shares, default=None)


FACTS: tuple[Fact, ...] = (
    Fact("part.digits_vary", FactType.BOOL, "", digits_vary, Basis.COUNTED),
    Fact("part.counter_inserts_per_s", FactType.NUMBER, "inserts/s", counter_inserts_per_s, Basis.COUNTED),
    Fact("part.counter_commits_per_s", FactType.NUMBER, "commits/s", counter_commits_per_s, Basis.COUNTED),
    Fact("part.digits", FactType.NUMBER, "digits", digits, Basis.COUNTED),
    Fact("part.rises_with_arrival", FactType.BOOL, "", rises_with_arrival, Basis.COUNTED),
    Fact("part.case_variants", FactType.NUMBER, "values", case_variants, Basis.COUNTED),
    Fact("part.case_example", FactType.TEXT, "", case_example, Basis.COUNTED, from_data=True),
    Fact("part.not_normal", FactType.NUMBER, "values", not_normal, Basis.COUNTED),
    Fact("part.beyond_ascii", FactType.NUMBER, "values", beyond_ascii, Basis.COUNTED),
    Fact("part.missing_share", FactType.NUMBER, "share", missing_share, Basis.COUNTED),
)
