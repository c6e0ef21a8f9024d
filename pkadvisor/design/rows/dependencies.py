"""Properties that are functions of others, found in the data: one key then serves look-ups by either.

Only rules that an application can compute are looked for: the same text, padding, lower case, a prefix, the reverse, a
period or the ticks of a time. A rule counts where it holds for every entity at hand; that it holds for those to come
is for the application to know, and is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pkadvisor.design.keys.conditions import Dependency, NearRule, PropertyRules
from pkadvisor.design.keys.key_terms import serves_exactly
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import (
    SHORT_TICKS_DIGITS,
    TICKS_DIGITS,
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
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import polars_type, python_value
from pkadvisor.lazy import pl
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass

ROWS_MIN = 20
DISTINCT_MIN = 3
"""Fewer rows or values than these agree by chance."""
FIRST_LOOK = 200
PERIODS = ("yyyy", "yyyyMM", "yyyy-MM", "yyyyMMdd", "yyyy-MM-dd", "yyyyMMddHH", "YYYY-Www")
TARGET_MAX_CHARACTERS = 64


BROKEN_SHARE = 0.01
"""Rows that break a rule, as a share of all, up to which the rule is told as nearly one; it is not used."""
NAMED = 3
"""Rows that break a rule which are named."""


def _rules_of(population: Population) -> PropertyRules:
    if population.rules is None:
        rules = tuple(_found(population))
        kept = tuple(d for d in rules if isinstance(d, Dependency))
        population.rules = PropertyRules(kept, tuple(d for d in rules if isinstance(d, NearRule)))
        _fill_ghosts(population, kept)
    return population.rules


def dependencies(population: Population) -> tuple[Dependency, ...]:
    """Every rule ``target = rule(source)`` that all sampled rows obey, each target and source once; kept in the
    population."""
    return _rules_of(population).kept


def near_rules(population: Population) -> tuple[NearRule, ...]:
    """The rules that a few sampled rows break."""
    return _rules_of(population).near


def obeys(population: Population, dependency: Dependency) -> bool:
    """Whether all rows at hand obey a rule, however few they are."""
    return all(
        population.has(name) and name not in population.hashed for name in (dependency.target, dependency.source)
    ) and (
        _breaking(dependency.rule, dependency.target, population.frame.head(population.rows), Context(population.types))
        == []
    )


@dataclass(frozen=True, slots=True)
class Lent:
    """What the other kinds of a table say of the rules of one: those that it obeys as well and those that it breaks
    no more, and those of which it has the ``source`` or the ``target`` alone."""

    more: tuple[Dependency, ...] = ()
    dropped: tuple[Dependency, ...] = ()
    half: tuple[Dependency, ...] = ()


def lend(population: Population, lent: Lent) -> None:
    """Let a population have what the other kinds of its table say of rules, before anything is made of its own."""
    rules = _rules_of(population)
    kept = (*(d for d in rules.kept if d not in lent.dropped), *lent.more)
    population.rules = replace(rules, kept=kept, half=lent.half)
    _fill_ghosts(population, kept)


def half_rules(population: Population) -> tuple[Dependency, ...]:
    """The rules of the table of which a population has one property alone."""
    return _rules_of(population).half


def keep_dependencies(population: Population, known: Iterable[tuple[str, str, str]]) -> None:
    """Let a population whose values are hidden have the rules (target, source, rule) that were found before."""
    rules = _rules_of(population)
    out = list(rules.kept)
    for target, source, text in known:
        if population.has(target) and population.has(source) and {target, source} & population.hashed:
            (rule,) = parse_template(text)
            out.append(Dependency(target, source, rule, serves_exactly(rule, population.types)))
    population.rules = replace(rules, kept=tuple(out))


def in_one_way(parts: tuple[Part, ...], population: Population) -> tuple[Part, ...]:
    """Parts with each property that is a function of another written as that function: keys that always have the same
    text then have the same parts. Of properties with the same text the first by name stands for all."""
    rules: dict[str, Part] = {}
    for dependency in (*dependencies(population), *half_rules(population)):
        rules.setdefault(dependency.target, dependency.rule)

    def written(part: Part) -> Part:
        alike = []
        while (name := part.plain_property) and name not in alike and name in rules:
            alike.append(name)
            part = rules[name]
        return Field(min(alike)) if part.plain_property in alike else part

    return tuple(written(part) for part in parts)


def _found(population: Population) -> Iterator[Dependency | NearRule]:
    if population.rows < ROWS_MIN:
        return
    types, frame = population.types, population.frame.head(population.rows)
    # Beside hidden parameters of a log, a column holds texts whatever its type.
    plain = [n for n in types if population.has(n) and frame.get_column(n).dtype == polars_type(types[n])]
    names = [n for n in plain if n not in population.hashed and n not in SYSTEM_PROPERTIES]
    for target in names:
        if types[target] is not EdmType.STRING or not _short(frame.get_column(target)):
            continue
        width = _width(frame.get_column(target))
        for source in names:
            if source == target:
                continue
            near: NearRule | None = None
            for rule in _rules(source, types[source], width):
                broken = _broken_rows(rule, target, source, population)
                if broken == []:
                    near = None
                    yield Dependency(target, source, rule, serves_exactly(rule, types))
                    break
                if broken and near is None:
                    near = NearRule(target, rule, len(broken), tuple(row + 1 for row in broken[:NAMED]))
            if near is not None:
                yield near


def _short(texts: pl.Series) -> bool:
    """Whether a text is short enough for a key, and varies enough to tell a rule from chance."""
    longest = texts.str.len_chars().max()
    if longest is None or int(longest) > TARGET_MAX_CHARACTERS:  # type: ignore[arg-type]
        return False
    return texts.n_unique() >= DISTINCT_MIN


def _width(texts: pl.Series) -> int:
    """The length that the texts have in common, but for a few; 0 where they differ."""
    lengths = texts.drop_nulls().str.len_chars()
    if not len(lengths):
        return 0
    width = int(lengths.mode().min())  # type: ignore[arg-type]
    others = int((lengths != width).sum())
    return width if others <= BROKEN_SHARE * len(lengths) else 0


def _rules(source: str, edm: EdmType, width: int) -> Iterator[Part]:
    """Rules that might make a target of this width (0: any), the plainest first."""
    if edm is EdmType.DATETIME:
        yield from (Time(source, p) for p in PERIODS if len(p) == width)
        if width == SHORT_TICKS_DIGITS:
            yield Ticks(source, width)
        if width == TICKS_DIGITS:
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


def _broken_rows(rule: Part, target: str, source: str, population: Population) -> list[int] | None:
    """The rows in which a rule does not give the target (both are missing together); None where they are too many for a
    rule."""
    if rule.reads is not None and population.types[source] not in rule.reads:
        return None
    frame = population.frame.head(population.rows)
    context = Context(population.types)
    if _breaks_at_once(rule, target, source, frame, context):
        return None
    broken: list[int] = []
    for rows in (frame.head(FIRST_LOOK), frame):
        broken = _breaking(rule, target, rows, context)
        if len(broken) > max(1.0, BROKEN_SHARE * rows.height):
            return None
    texts = frame.select(pl.col(source).n_unique()).item()
    return broken if texts >= DISTINCT_MIN else None


def _breaks_at_once(rule: Part, target: str, source: str, frame: pl.DataFrame, context: Context) -> bool:
    """Whether a rule gives other texts in more of the first rows than it may in all that are looked at first."""
    most = max(1.0, BROKEN_SHARE * min(FIRST_LOOK, frame.height))
    first = frame.head(2 * math.ceil(most) + 2)
    broken = 0
    for held, value in zip(first.get_column(target).to_list(), first.get_column(source).to_list(), strict=True):
        if held is None or value is None:
            continue
        text = rule.encode({source: python_value(value, context.edm(source))}, context)
        broken += text != Field(target).encode({target: held}, context)
    return broken > most


def _breaking(rule: Part, target: str, rows: pl.DataFrame, context: Context) -> list[int]:
    """The places of the rows in which a rule does not give the target."""
    same = rule.expression(context) == Field(target).expression(context)
    broken: list[int] = rows.select((~same).fill_null(value=True).arg_true()).to_series().to_list()
    return broken


def _fill_ghosts(population: Population, rules: Iterable[Dependency]) -> None:
    """Logged parameters get what the rules say of their other properties, so that they fall into their partitions."""
    if population.size == population.rows:
        return
    context = Context(population.types)
    ghost = pl.int_range(pl.len()) >= population.rows
    for each in rules:
        source, target = pl.col(each.source), pl.col(each.target)
        text = pl.when(ghost & target.is_null() & source.is_not_null()).then(each.rule.expression(context))
        population.frame = population.frame.with_columns(text.otherwise(target).alias(each.target))
        if each.both_ways and not population.hashed & {each.source, each.target}:
            dtype = population.frame.schema[each.source]
            written = pl.when(ghost & source.is_null()).then(Field(each.target).expression(context))
            texts = population.frame.select(written.alias("text")).to_series()
            read = each.rule.decode_column(texts, context, dtype).alias("read")
            population.frame = population.frame.with_columns(pl.coalesce(source, read).alias(each.source))


def sentences(population: Population) -> list[str]:
    """What was found, in words."""
    out = []
    for dependency in dependencies(population):
        rule = f"the text of {dependency.source}" if dependency.rule.plain_property else str(dependency.rule)[1:-1]
        tail = (
            "one key serves look-ups by either"
            if dependency.both_ways
            else f"a key over {dependency.target} serves both"
        )
        if dependency.prefix:
            tail = f"a key that begins with {dependency.source} serves look-ups by either"
        out.append(f"{dependency.target} is {rule} in all {population.rows:,} entities looked at: {tail}")
    for almost in near_rules(population):
        rule = f"the text of {almost.rule.plain_property}" if almost.rule.plain_property else str(almost.rule)[1:-1]
        which = ", ".join(f"{row:,}" for row in almost.rows) + (" …" if almost.broken > len(almost.rows) else "")
        text = f"{almost.target} is {rule} in all but {almost.broken:,} of {population.rows:,} entities looked at"
        text += f" (row {which})" if population.rows >= population.total else ""
        out.append(f"{text}: no rule that a key could use")
    return out
