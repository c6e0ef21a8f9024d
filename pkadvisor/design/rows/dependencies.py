"""Properties that are functions of others, found in the data: one key then serves look-ups by either.

Only rules that an application can compute are looked for: the same text, padding, lower case, a prefix, the reverse, a
period or the ticks of a time. A rule counts where it holds for every entity at hand; that it holds for those to come
is for the application to know, and is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pkadvisor.design.keys.conditions import Dependency
from pkadvisor.design.keys.key_terms import serves_exactly
from pkadvisor.design.keys.transforms import (
    Context,
    Field,
    Lower,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReverseTicks,
    Ticks,
    Time,
)
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.design.rows.population import Population

ROWS_MIN = 20
DISTINCT_MIN = 3
"""Fewer rows or values than these agree by chance."""
FIRST_LOOK = 200
PERIODS = ("yyyy", "yyyyMM", "yyyy-MM", "yyyyMMdd", "yyyy-MM-dd", "yyyyMMddHH", "YYYY-Www")
TARGET_MAX_CHARACTERS = 64


def dependencies(population: Population) -> tuple[Dependency, ...]:
    """Every rule ``target = rule(source)`` that all rows at hand obey, each target and source once; kept in the
    population."""
    if "dependencies" not in population.memo:
        population.memo["dependencies"] = tuple(_found(population))
        _fill_ghosts(population)
    found: tuple[Dependency, ...] = population.memo["dependencies"]
    return found


def keep_dependencies(population: Population, known: Iterable[tuple[str, str, str]]) -> None:
    """Let a population whose values are hidden have the rules (target, source, rule) that were found before."""
    from pkadvisor.design.keys.template import parse_template

    out = [found for found in _found(population) if found.target not in population.hashed]
    for target, source, text in known:
        if population.has(target) and population.has(source) and {target, source} & population.hashed:
            (rule,) = parse_template(text)
            out.append(Dependency(target, source, rule, serves_exactly(rule, population.types)))
    population.memo["dependencies"] = tuple(out)


def _found(population: Population) -> Iterator[Dependency]:
    from pkadvisor.design.rows.values import polars_type

    if population.rows < ROWS_MIN:
        return
    types, frame = population.types, population.frame.head(population.rows)
    # Beside hidden parameters of a log, a column holds texts whatever its type.
    plain = [n for n in types if population.has(n) and frame.get_column(n).dtype == polars_type(types[n])]
    names = [n for n in plain if n not in population.hashed and n not in _SYSTEM]
    for target in names:
        if types[target] is not EdmType.STRING or not _short(frame.get_column(target)):
            continue
        width = _width(frame.get_column(target))
        for source in names:
            if source == target:
                continue
            for rule in _rules(source, types[source], width):
                if _holds(rule, target, source, population):
                    yield Dependency(target, source, rule, serves_exactly(rule, types))
                    break


_SYSTEM = ("PartitionKey", "RowKey", "Timestamp")


def _short(texts: pl.Series) -> bool:
    """Whether a text is short enough for a key, and varies enough to tell a rule from chance."""
    longest = texts.str.len_chars().max()
    if longest is None or int(longest) > TARGET_MAX_CHARACTERS:  # type: ignore[arg-type]
        return False
    return texts.n_unique() >= DISTINCT_MIN


def _width(texts: pl.Series) -> int:
    """The length that all texts have in common; 0 where they differ."""
    lengths = texts.drop_nulls().str.len_chars()
    return int(lengths[0]) if len(lengths) and lengths.n_unique() == 1 else 0


def _rules(source: str, edm: EdmType, width: int) -> Iterator[Part]:
    """Rules that might make a target of this width (0: any), the plainest first."""
    if edm is EdmType.DATETIME:
        yield from (Time(source, p) for p in PERIODS if len(p) == width)
        if width == 19:
            yield from (Ticks(source), ReverseTicks(source))
        return
    if edm in (EdmType.DOUBLE, EdmType.BINARY, EdmType.BOOLEAN):
        return
    yield Field(source)
    if edm.integer:
        if 1 <= width <= 38:
            yield Pad(source, width)
    elif edm is EdmType.STRING:
        yield Lower(source)
    if width:
        yield Prefix(source, width)
    yield Reverse(source)


def _holds(rule: Part, target: str, source: str, population: Population) -> bool:
    """Whether the rule gives the target in every row; both are missing together."""
    import polars as pl

    if rule.reads is not None and population.types[source] not in rule.reads:
        return False
    frame = population.frame.head(population.rows)
    context = Context(population.types)
    wanted = Field(target).expression(context)
    same = (rule.expression(context) == wanted).all()
    for rows in (frame.head(FIRST_LOOK), frame):
        if not rows.select(same).item():
            return False
    texts = frame.select(pl.col(source).n_unique()).item()
    return bool(texts >= DISTINCT_MIN)


def _fill_ghosts(population: Population) -> None:
    """Logged parameters get what the rules say of their other properties, so that they fall into their partitions."""
    import polars as pl

    if population.size == population.rows:
        return
    context = Context(population.types)
    ghost = pl.int_range(pl.len()) >= population.rows
    for found in population.memo["dependencies"]:
        if found.prefix:
            continue
        absent = ghost & pl.col(found.target).is_null() & pl.col(found.source).is_not_null()
        text = pl.when(absent).then(found.rule.expression(context)).otherwise(pl.col(found.target))
        population.frame = population.frame.with_columns(text.alias(found.target))


def sentences(population: Population) -> list[str]:
    """What was found, in words."""
    out = []
    for found in dependencies(population):
        rule = f"the text of {found.source}" if found.rule.plain_property else str(found.rule)[1:-1]
        tail = "one key serves look-ups by either" if found.both_ways else f"a key over {found.target} serves both"
        if found.prefix:
            tail = f"a key that begins with {found.source} serves look-ups by either"
        out.append(f"{found.target} is {rule} in all {population.rows:,} entities looked at: {tail}")
    return out
