"""Rules between properties (``code`` is ``pad(number,6)``) that hold for a table, whichever of its kinds show them.

A rule that all rows of one kind obey is lent to each kind that has both properties and obeys it too, however few its
rows are. A kind with one of the two properties writes the same text from that one. A rule that some rows of one kind
break is used in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pkadvisor.design.keys.conditions import NearRule
from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Field, Part
from pkadvisor.design.rows.dependencies import Lent, dependencies, half_rules, lend, near_rules, obeys
from pkadvisor.design.rows.population import Population


def with_rules_of_table(population: Population, others: Sequence[tuple[str, Population]]) -> list[str]:
    """Lend a kind the rules of the other kinds of its table, and drop its own that rows of theirs break; returns what
    to say of these."""
    own = dependencies(population)
    broken = {(near.target, str(near.rule)): (kind, near, rows) for kind, rows in others for near in near_rules(rows)}
    dropped = tuple(d for d in own if (d.target, str(d.rule)) in broken)
    known = {(d.target, d.source) for d in own} | {
        (near.target, *near.rule.properties) for near in near_rules(population)
    }
    more, half = [], []
    for _, rows in others:
        for dependency in dependencies(rows):
            if (dependency.target, dependency.source) in known or (dependency.target, str(dependency.rule)) in broken:
                continue
            known.add((dependency.target, dependency.source))
            names = [name for name in (dependency.target, dependency.source) if population.has(name)]
            if not names or any(population.types[name] != rows.types[name] for name in names):
                continue
            if len(names) == 1:
                half.append(dependency)
            elif obeys(population, dependency):
                more.append(dependency)
    lend(population, Lent(tuple(more), dropped, tuple(half)))
    return [_sentence(*broken[d.target, str(d.rule)]) for d in dropped]


def _sentence(kind: str, near: NearRule, rows: Population) -> str:
    which = ", ".join(f"{row:,}" for row in near.rows) + (" …" if near.broken > len(near.rows) else "")
    which_row = f" (row {which})" if rows.rows >= rows.total else ""
    rule = f"the text of {near.rule.plain_property}" if near.rule.plain_property else str(near.rule)[1:-1]
    return (
        f"{near.target} is {rule} in all entities of this kind looked at, but not in {near.broken:,} of {rows.rows:,} "
        f"of {kind}{which_row}: no rule that a key could use"
    )


def as_ruled(key: Key, population: Population) -> Iterator[Key]:
    """A key with its numbers written as a rule of the table writes them: by the text that holds them already, or to as
    many digits. Look-ups by either, and the other kinds, then share it."""
    for dependency in (*dependencies(population), *half_rules(population)):
        if dependency.prefix or not population.has(dependency.source):
            continue
        ways = [dependency.rule, *([Field(dependency.target)] if population.has(dependency.target) else [])]
        for way in ways:
            changed = tuple(_written(parts, dependency.source, way) for parts in (key.partition, key.row))
            if changed != (key.partition, key.row):
                yield Key(*changed)


def _written(parts: tuple[Part, ...], source: str, way: Part) -> tuple[Part, ...]:
    return tuple(way if part.padded_width and part.properties == (source,) else part for part in parts)
