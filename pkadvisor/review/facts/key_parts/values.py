"""Facts of the variable parts of keys that the rows at hand tell. Nothing without data."""

from __future__ import annotations

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
    """Whether its numbers differ in digits among the rows at hand; unknown for other parts."""
    name = subject.place.part.properties[0] if len(subject.place.part.properties) == 1 else ""
    edm = subject.view.types.get(name)
    if edm is None or not edm.numeric:
        return None
    return True if edm is EdmType.DOUBLE and subject.view.has_data else lengths_differ(name, subject.view)


def digits(subject: Subject) -> float | None:
    """The digits of the largest whole number at hand."""
    population = subject.view.population
    name = subject.place.part.properties[0] if subject.place.part.padded_width else ""
    if population is None or not population.has(name) or not population.types[name].integer:
        return None
    return float(len(str(population.sizes(name).largest)))


def counter_inserts_per_s(subject: Subject) -> float | None:
    """Inserts a second at the peak that fetch the number from one counter: those of the busiest group that shares it.

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
    """The commits of one entity a second under If-Match: one read and one write after the other."""
    from pkadvisor.design.load.contention import contention

    return contention(0.0, subject.view.limits).commits_per_s_served


def rises_with_arrival(subject: Subject) -> bool | None:
    """Whether each entity at hand has a greater number than the one before; unknown without an order of arrival."""
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
    column = _variants(subject)
    return None if column is None else float(len(column))


def case_example(subject: Subject) -> str | None:
    """Two such texts."""
    column = _variants(subject)
    return None if column is None or not len(column) else f"'{column[0][:40]}' and '{column[1][:40]}'"


def not_normal(subject: Subject) -> float | None:
    """Texts that are not in Unicode's composed form (NFC)."""
    texts = distinct_texts(subject)
    if texts is None:
        return None
    return float(sum(not unicodedata.is_normalized("NFC", t) for t in texts.to_list() if not t.isascii()))


def beyond_ascii(subject: Subject) -> float | None:
    texts = distinct_texts(subject)
    return None if texts is None else float(texts.str.contains(r"[^\x00-\x7f]").sum())


# --- missing ----------------------------------------------------------------------------------------------------------


def missing_share(subject: Subject) -> float | None:
    """The share of entities without one of its properties; a list that is empty makes no row, and is not missing."""
    population = subject.view.population
    if population is None or subject.place.part.several is not None:
        return None
    shares = [1 - population.sizes(n).present for n in subject.place.part.properties if population.has(n)]
    return max(shares, default=None)


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
)
