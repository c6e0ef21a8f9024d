"""Facts of key strings that the rows at hand tell: characters, separators, duplicates, groups. Nothing without data."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import Key, variable
from pkadvisor.design.keys.transforms import Context, EdmType, Part, part_properties
from pkadvisor.design.load.keyfacts import collision, key_surplus, longest, rows_overwritten
from pkadvisor.design.rows.arrivals import Instant, group_sizes, regular_among
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import pl
from pkadvisor.observe.workload import Basis
from pkadvisor.remembered import remembered
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import KeyString, Subject
from pkadvisor.review.views.views import TableView

ROWS_PER_GROUP_LEAST = 2.0
"""Entities per group from which a sample tells groups from single entities."""


@remembered("review texts")
def texts_of(part: Part, population: Population) -> pl.Series | None:
    """The texts that a part writes or hashes, before any escape, row by row; None where they are hidden, or no text."""
    if not (part.plain_property or part.text_source or part.changes_text) or not part.properties:
        return None  # each: a list holds several texts
    if any(not population.has(n) or n in population.hashed for n in part.properties):
        return None
    if any(population.types.get(n) is not EdmType.STRING for n in part.properties):
        return None
    written = part.text_source if part.hashing is not None and part.text_source is not None else part
    plain = written.plain_expression(Context(population.types))
    return population.frame.head(population.rows).select(plain.alias("t")).to_series()


def lengths_differ(name: str, view: TableView) -> bool | None:
    """Whether the texts of a String, or the digits of a whole number, differ in length; None where nobody can tell."""
    population = view.population
    if population is None or not population.has(name):
        return None
    edm = population.types.get(name)
    if edm is EdmType.STRING:
        sizes = population.sizes(name)
        return abs(sizes.characters_mean - sizes.characters_max) > 1e-9
    column = population.frame.get_column(name).head(population.rows).drop_nulls()
    if edm is None or not edm.integer or name in population.hashed or not len(column):
        return None
    least, most = int(column.min()), int(column.max())  # type: ignore[arg-type]
    return len(str(least)) != len(str(max(most, population.sizes(name).largest)))


def longest_units(parts: tuple[Part, ...], view: TableView) -> float | None:
    """The longest key that the data allows, in UTF-16 code units."""
    population = view.population
    names = [(p, n) for p in parts for n in p.properties]
    if population is None or any(not population.has(n) for _, n in names):
        return None
    if any(n in population.hashed and p.changes_text for p, n in names):
        return None
    return float(longest(parts, population))


# --- characters -------------------------------------------------------------------------------------------------------


def _written(key: KeyString, population: Population) -> list[tuple[Part, pl.Series]]:
    """The parts that write texts of the data into a key, with these texts."""
    columns = [(p, texts_of(p, population)) for p in key.parts if p.plain_property or p.changes_text]
    return [(p, texts) for p, texts in columns if texts is not None]


def _escaped(subject: Subject) -> dict[str, int] | None:
    from pkadvisor.design.cost.key_findings import FORBIDDEN_PATTERN

    population = subject.view.population
    written = _written(subject.key, population) if population is not None else []
    if not written:
        return None
    counts = {str(p): int(texts.str.contains(FORBIDDEN_PATTERN).sum() or 0) for p, texts in written}
    return {part: count for part, count in counts.items() if count}


def _most(counts: dict[str, int] | None) -> float | None:
    return None if counts is None else float(max(counts.values(), default=0))


def entities_escaped(subject: Subject) -> float | None:
    """Entities with a value in the key that holds a character which the service refuses.

    Entities at hand with a value in this key that holds a forbidden character: the most of any part.
    """
    return _most(_escaped(subject))


def escaped_parts(subject: Subject) -> tuple[str, ...] | None:
    """The parts with such values."""
    counts = _escaped(subject)
    return None if counts is None else tuple(counts)


def _separated(subject: Subject) -> dict[str, int] | None:
    """Entities whose values hold a text that stands between the parts, by part; those of one length are told by it."""
    key = subject.key
    population = subject.view.population
    written = _written(key, population) if population is not None else []
    between = [
        part.constant
        for i, part in enumerate(key.parts)
        if part.constant is not None and variable(key.parts[:i]) and variable(key.parts[i + 1 :])
    ]
    if not written or not between:
        return None if not written else {}
    counts = {}
    for part, texts in written:
        if texts.str.len_chars().n_unique() > 1:
            counts[str(part)] = sum(int(texts.str.contains(t, literal=True).sum() or 0) for t in between)
    return {part: count for part, count in counts.items() if count}


def separator_parts(subject: Subject) -> tuple[str, ...] | None:
    """The parts with such values."""
    counts = _separated(subject)
    return None if counts is None else tuple(counts)


def separator_before_end(subject: Subject) -> bool | None:
    """Whether such a part has another behind it.

    Whether a part that holds the separator has another after it.
    """
    counts = _separated(subject)
    before_last = [str(part) for part in variable(subject.key.parts)[:-1]]
    return None if counts is None else any(part in before_last for part in counts)


def entities_with_separator(subject: Subject) -> float | None:
    """Entities with a value in the key that holds a text which separates its parts."""
    return _most(_separated(subject))


# --- uniqueness -------------------------------------------------------------------------------------------------------


def _key(subject: Subject) -> tuple[Key, Population] | None:
    """The whole key of a RowKey with the rows that tell of it; None where they do not."""
    view, population = subject.view, subject.view.population
    if subject.key.is_partition or population is None or view.scheme is None:
        return None
    whole = list(view.scheme.each_key())[subject.key.row][0]
    if any(p.several for p in (*whole.partition, *whole.row)):
        return None
    return (whole, population) if all(population.has(n) for n in whole.properties) else None


def duplicates(subject: Subject) -> float | None:
    """Entities whose key another entity already has.

    Rows at hand whose key another row already has; of an index row also those that overwrite another row.
    """
    sampled = _key(subject)
    if sampled is None:
        return None
    key, population = sampled
    if population.hashed & {*key.properties}:
        surplus = population.surplus(atoms_of((*key.partition, *key.row)))
    else:
        surplus = key_surplus(key, population)
    scheme, row = subject.view.scheme, subject.item.row
    if not surplus and row and scheme is not None and not _has_each(scheme.each_key()):
        surplus = rows_overwritten(scheme, row, population)
    return float(surplus)


def _has_each(keys: object) -> bool:
    return any(p.several for key, _ in keys for p in (*key.partition, *key.row))  # type: ignore[attr-defined]


def duplicate_example(subject: Subject) -> str | None:
    """Such a key.

    A key that several entities at hand have.
    """
    sampled = _key(subject)
    if sampled is None or sampled[1].hashed & {*sampled[0].properties}:
        return None
    keys = collision(sampled[0], sampled[1])[1]
    return " | ".join(keys) if keys else None


def groups_of(
    others: tuple[Part, ...], time: Instant, rate_per_s: float, view: TableView
) -> list[tuple[float, float]] | None:
    """(how many, inserts a second of each) of the groups that share a time, where these parts make them.

    None where the rows at hand do not tell: where nearly each is a group of its own, so that a sample cannot tell a
    group from an entity, and where entities come so regularly that chance says nothing.
    """
    population = view.population
    names = set(part_properties(others)) | {time.name}
    if population is None or not all(population.has(n) for n in names) or not population.rows:
        return None
    atoms = atoms_of(others)
    groups = group_sizes(atoms, population)
    count = sum(many for many, _ in groups)
    if count * ROWS_PER_GROUP_LEAST > population.rows or regular_among(groups, (*atoms, time.atom), time, population):
        return None
    scale = population.groups_total(atoms) / count
    return [(n * scale, rate_per_s * entities / population.rows / scale) for n, entities in groups]


FACTS: tuple[Fact, ...] = (
    Fact("key.entities_escaped", FactType.NUMBER, "entities", entities_escaped, Basis.COUNTED),
    Fact("key.escaped_parts", FactType.TEXTS, "", escaped_parts, Basis.COUNTED),
    Fact("key.entities_with_separator", FactType.NUMBER, "entities", entities_with_separator, Basis.COUNTED),
    Fact("key.separator_parts", FactType.TEXTS, "", separator_parts, Basis.COUNTED),
    Fact("key.separator_before_end", FactType.BOOL, "", separator_before_end, Basis.COUNTED),
    Fact("key.duplicates", FactType.NUMBER, "entities", duplicates, Basis.COUNTED),
    Fact("key.duplicate_example", FactType.TEXT, "", duplicate_example, Basis.COUNTED, from_data=True),
)
