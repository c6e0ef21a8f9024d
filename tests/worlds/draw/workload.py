"""What is asked of the entities of a world: queries of every shape, writes, and what belongs together."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.worlds.draw.entities import DAY_US, Drawn, Shape
from tests.worlds.model import AnyOf, Asked, Compare, Condition, Constant, Draw, Negated, Parameter, Transaction
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, INT32, INT64, STRING, Value

ORDERED = (STRING, INT32, INT64, DOUBLE, DATETIME)
FOLDED = 0.15
"""Share of the equalities with texts of which the lower case alone is known."""
LOWER, UPPER = ("gt", "ge"), ("lt", "le")
SPANS_US = (3_600_000_000, DAY_US, 7 * DAY_US, 30 * DAY_US, 365 * DAY_US)


def _value(random: Random, drawn: Drawn, name: str) -> Value | None:
    """A value that some entity has."""
    values = [row[name] for row in random.sample(drawn.kind.rows, min(40, len(drawn.kind.rows)))]
    return next((v for v in values if v is not None), None)


def _equal(random: Random, drawn: Drawn, shape: Shape, *, constants: float = 0.15) -> Compare:
    value = _value(random, drawn, shape.name)
    if random.random() < constants and value is not None and shape.edm != BINARY:
        return Compare(shape.name, "eq", Constant(value))
    return Compare(shape.name, "eq", Parameter(shape.name))


def _range(random: Random, drawn: Drawn, shape: Shape) -> list[Condition]:
    """One or two bounds on a property."""
    name, edm = shape.name, shape.edm
    low, high = random.choice(LOWER), random.choice(UPPER)
    if edm == STRING:
        value = _value(random, drawn, name)
        start = str(value)[:1] if value else "a"
        if random.random() < 0.5 or not "!" <= start < "~":
            return [Compare(name, low, Parameter(name))]
        return [Compare(name, "ge", Constant(start)), Compare(name, "lt", Constant(chr(ord(start) + 1)))]
    if edm == DATETIME:
        span = random.choice(SPANS_US)
        first, last = Compare(name, low, Parameter(name, -span)), Compare(name, high, Parameter(name))
        if random.random() < 0.3:
            first, last = Compare(name, low, Parameter(name)), Compare(name, high, Parameter(name, span))
    elif edm == DOUBLE:
        first, last = Compare(name, low, Parameter(name)), Compare(name, high, Parameter(name))
        return [random.choice((first, last))]
    else:
        span = random.choice((1, 5, 100, 10_000))
        first, last = Compare(name, low, Parameter(name, -span)), Compare(name, high, Parameter(name, span))
        if random.random() < 0.3:
            first = Compare(name, low, Parameter(name))
    return random.choice(([first, last], [first, last], [first], [last]))


def _rate(random: Random) -> float:
    return random.choice((1 / 3600, 1 / 60, 0.5, 1.0, 3.0, 8.0, 20.0, 60.0, 150.0))


def draw_query(random: Random, drawn: Drawn, name: str) -> Asked:
    """One query."""
    groups, unique = drawn.of("group"), drawn.of("unique")
    ranged = [s for s in drawn.of("number", "arrival", "group") if s.edm in ORDERED]
    ordered = drawn.of("number", "arrival", "unique")
    where: list[Condition] = []
    order: list[tuple[str, bool]] = []
    top: int | None = None
    shape = random.choices(
        ("point", "group", "group range", "range", "newest", "all", "or", "two ors", "not", "ordered", "prefix"),
        (3, 4, 5, 3, 4, 1, 2, 1, 1, 2, 1),
    )[0]
    if shape == "point":
        where.append(_equal(random, drawn, random.choice(unique), constants=0.03))
        if groups and random.random() < 0.3:
            where.append(_equal(random, drawn, random.choice(groups), constants=0.0))
    elif shape in ("group", "group range", "newest", "not", "ordered"):
        for group in random.sample(groups, min(len(groups), random.choice((1, 1, 2)))):
            where.append(_equal(random, drawn, group))
    elif shape in ("or", "two ors"):
        for group in random.sample(groups, min(len(groups), 2)):
            others = [
                v for _ in range(2) if (v := _value(random, drawn, group.name)) is not None and group.edm != BINARY
            ]
            items = [Compare(group.name, "eq", Parameter(group.name))]
            items += [Compare(group.name, "eq", Constant(v)) for v in dict.fromkeys(others)]
            if group.edm != BOOLEAN and len(items) > 1:
                where.append(AnyOf(tuple(items)))
                if shape == "or":
                    break
        if shape == "two ors" and len(groups) > 1 and random.random() < 0.5:
            a, b = random.sample(groups, 2)
            where = [AnyOf((_equal(random, drawn, a, constants=1), _equal(random, drawn, b, constants=1)))]
    named = {
        c.name for each in where for c in (each.items if isinstance(each, AnyOf) else [each]) if isinstance(c, Compare)
    }
    if shape in ("group range", "range") and (left := [s for s in ranged if s.name not in named]):
        where += _range(random, drawn, random.choice(left))
    if shape == "prefix" and (texts := [s for s in (*groups, *unique) if s.edm == STRING]):
        where += _range(random, drawn, random.choice(texts))
    if shape == "not" and (left := [s for s in (*groups, *drawn.of("number")) if s.name not in named]):
        chosen = random.choice(left)
        if (value := _value(random, drawn, chosen.name)) is not None and chosen.edm not in (BINARY, GUID):
            test = Compare(chosen.name, "eq", Constant(value))
            where.append(Negated(test) if random.random() < 0.5 else replace(test, operator="ne"))
    if shape in ("newest", "ordered") and ordered:
        by = random.choice(ordered)
        order = [(by.name, random.random() < 0.6)]
        if random.random() < 0.3 and (more := [s for s in ordered if s.name != by.name]):
            order.append((random.choice(more).name, random.random() < 0.5))
        if by.role != "unique" and shape == "newest" and random.random() < 0.3 and by.name not in named:
            where += _range(random, drawn, by)
    if shape == "newest" or random.random() < 0.15:
        top = random.choice((1, 3, 10, 100, 1000))
    asked = Asked(name, drawn.kind.name, "query", tuple(where), _rate(random), order_by=tuple(order), top=top)
    if shape == "all" and random.random() < 0.6:
        asked = replace(asked, analytic=True)
    return _spiced(random, _folded(asked, drawn), drawn)


def _folded(asked: Asked, drawn: Drawn) -> Asked:
    """Now and then of a query the lower case of a text is known and no more; by a chance of its own, so that all else
    is drawn as without it."""
    random, out = Random(f"folded {drawn.kind.rows[:1]} {asked}"), list[Condition]()
    for each in asked.conditions():
        text = isinstance(each, Compare) and each.operator == "eq" and drawn.kind.types[each.name] == STRING
        named = text and isinstance(each, Compare) and isinstance(each.operand, Parameter)
        several = isinstance(each, Compare) and each.name in drawn.kind.several
        fold = named and not several and random.random() < FOLDED
        out.append(replace(each, operator="lower") if fold and isinstance(each, Compare) else each)
    return replace(asked, where=tuple(out))


def _spiced(random: Random, asked: Asked, drawn: Drawn) -> Asked:
    """Peaks, goals, and whose values fill the parameters."""
    if random.random() < 0.3:
        asked = replace(asked, peak=round(asked.rate * random.choice((1.5, 3, 10)), 9))
        if random.random() < 0.3:
            begin = random.randrange(20)
            asked = replace(asked, peak_at=(begin, begin + random.randint(1, 4)))
    if random.random() < 0.15:
        asked = replace(asked, p99_ms=random.choice((20, 50, 500, 5000)))
    names = asked.parameters()
    if not names or random.random() < 0.5:
        return asked
    always = all(row[n] is not None for row in drawn.kind.rows for n in names)
    way = random.choice(("entities", "distinct", "zipf", "weight", "newest"))
    if way == "distinct" and (always or len(names) == 1):
        return replace(asked, draw=Draw("distinct", names))
    if way == "zipf" and always:
        return replace(asked, draw=Draw("zipf", names, exponent=random.choice((0.5, 1.0, 1.1, 2.0))))
    if way == "weight" and drawn.of("weight"):
        return replace(asked, draw=Draw("weight", column="weight"))
    if way == "newest" and drawn.kind.arrival == "at":
        return replace(
            asked,
            draw=Draw(
                "newest", share=random.choice((0.2, 0.6, 1.0)), window_s=random.choice((3600, 86_400, 2_592_000))
            ),
        )
    return replace(asked, draw=Draw("entities"))


def draw_writes(random: Random, drawn: Drawn, label: str) -> list[Asked]:
    """Inserts nearly always; updates, upserts and deletes sometimes."""
    kind, out = drawn.kind, list[Asked]()
    unique, groups = drawn.of("unique"), drawn.of("group")
    changed = drawn.of("number", "plain", "group")
    if random.random() < 0.85:
        out.append(Asked(f"{label}-insert", kind.name, "insert", None, _rate(random)))
    if random.random() < 0.15:
        out.append(Asked(f"{label}-upsert", kind.name, "upsert", None, _rate(random)))
    for operation, chance in (("update", 0.5), ("delete", 0.3)):
        if random.random() >= chance:
            continue
        key = [random.choice(unique).name]
        if groups and random.random() < 0.4:
            key = [random.choice(groups).name, *key]
        elif groups and random.random() < 0.15:
            key = [random.choice(groups).name]
        where = tuple(Compare(name, "eq", Parameter(name)) for name in key)
        found = Asked(f"{label}-{operation}", kind.name, operation, where, _rate(random), by_key=tuple(key))
        if operation == "update":
            left = [s.name for s in changed if s.name not in key]
            found = replace(found, sets=tuple(random.sample(left, min(len(left), 1))))
            found = replace(found, read_modify_write=random.random() < 0.3)
        out.append(found)
    out = [replace(a, peak=a.rate * 4) if random.random() < 0.2 else a for a in out]
    return [
        replace(a, entities_per_request=random.choice((2, 20, 100)))
        if a.operation == "insert" and random.random() < 0.15
        else a
        for a in out
    ]


def draw_transactions(random: Random, kinds: list[Drawn], writes: list[Asked]) -> tuple[Transaction, ...]:
    """Perhaps one transaction of the inserts of one kind, grouped by one of its properties."""
    if random.random() > 0.25:
        return ()
    drawn = random.choice(kinds)
    mine = [w.name for w in writes if w.kind == drawn.kind.name and w.operation == "insert"]
    groups = [s.name for s in drawn.of("group") if all(row[s.name] is not None for row in drawn.kind.rows)]
    if not mine or not groups:
        return ()
    return (Transaction("together", tuple(mine), (random.choice(groups),), random.random() < 0.3),)
