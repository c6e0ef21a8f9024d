"""The law *growth*: what is recommended still works when the world has come to its horizon.

The horizon is that of the declared growth, else twelve months. Until then entities are inserted at the declared rate,
as it grows. Carried there are the entities that come last: counters have risen by what was inserted, times go on as
densely as the inserts come (at the resolution that the data has), identifiers are new, numbers of which most entities
have their own are drawn anew from the same range, and everything else is as it was. Held are, of the recommended keys:
no two entities share one, padded numbers have room, what is written to sort does, and up to the first date that is
printed (or the horizon) neither a partition nor the account is asked for more than its target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.worlds.enumerated import counts_up
from tests.worlds.key_text import Call, Part, Property, Writer, parse, properties
from tests.worlds.model import Growth, Kind, Scheme, World
from tests.worlds.rows import lay_out
from tests.worlds.running import Document, analyzed, scheme_of, scored
from tests.worlds.truth import Broken
from tests.worlds.values import GREATEST, GUID, INT32, INT64, Row, Value, units

NAME = "growth"
MONTHS = 12.0
MONTH_S = 2_629_746.0
"""Seconds in a month, the mean of the Gregorian calendar."""
CARRIED = 200
"""Entities of the horizon that are looked at."""
PADDED = ("pad", "reverse_pad")
SORTED = (*PADDED, "ticks", "reverse_ticks", "sortable", "reverse_sortable")
FALLING = ("reverse_pad", "reverse_ticks", "reverse_sortable")
BEFORE = 0.98
"""Share of the time to a printed date that is looked at: dates have three digits."""
TARGETS = ("entities/s", "requests/s")


def per_month(growth: Growth | None) -> float:
    """The factor by which what grows does so in a month."""
    if growth is None:
        return 1.0
    return float((1 + growth.percent / 100) ** (1 if growth.per == "month" else 1 / 12))


def months_of(world: World) -> float:
    """Months to the horizon."""
    return MONTHS if world.growth is None else float(world.growth.horizon_months)


def inserted(world: World) -> float:
    """Entities that come until the horizon."""
    rate = sum(a.rate * a.entities_per_request for a in world.asked if a.operation == "insert")
    factor = per_month(world.growth) if world.growth is not None and world.growth.of == "rate" else 1.0
    return sum(rate * factor**month * MONTH_S for month in range(round(months_of(world))))


def carried(world: World, random: Random) -> tuple[Row, ...] | None:
    """The last entities before the horizon; None where nothing is inserted, or a counter's type is full before."""
    kind, more = world.kinds[0], int(inserted(world))
    per_s = sum(a.rate * a.entities_per_request for a in world.asked if a.operation == "insert")
    count = min(CARRIED, more)
    if not count:
        return None
    moments = [v for row in kind.rows if isinstance(v := row.get("at"), int)]
    unit = next((u for u in (1_000_000, 1_000) if moments and all(m % u == 0 for m in moments)), 1)
    last = (max(moments) if moments else 0) + int(months_of(world) * MONTH_S * 1e6)
    out: list[Row] = []
    for n in range(count):
        row = {name: _anew(kind, name, value, random) for name, value in random.choice(kind.rows).items()}
        left = count - 1 - n
        if kind.types["id"] in (INT32, INT64):
            number = int(kind.rows[-1]["id"] or 0) + more - left if counts_up(kind, "id") else _far(kind, n, random)
            if number > GREATEST[kind.types["id"]]:
                return None
            row["id"] = number
            if "code" in row:
                row["code"] = f"{number:08}"
        else:
            row["id"] = f"{random.getrandbits(128):032x}" if kind.types["id"] == GUID else f"Z{more - left:04x}"
            if kind.types["id"] == GUID:
                digits = str(row["id"])
                row["id"] = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        if row.get("at") is not None:
            row["at"] = (last - int(left / per_s * 1e6)) // unit * unit
        out.append(row)
    return tuple(out)


def _anew(kind: Kind, name: str, value: Value | None, random: Random) -> Value | None:
    """A value of an entity to come: another number where most entities have one of their own."""
    if kind.types[name] not in (INT32, INT64) or value is None or name == "id":
        return value
    numbers = [v for row in kind.rows if isinstance(v := row[name], int)]
    return random.randint(min(numbers), max(numbers)) if 2 * len(set(numbers)) > len(numbers) else value


def _far(kind: Kind, number: int, random: Random) -> int:
    """A number among those of the data that none of them has."""
    taken = {row["id"] for row in kind.rows}
    greatest = max(int(v or 0) for v in taken)
    free = random.randrange(greatest)
    while free in taken:
        free = random.randrange(greatest)
    return free


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """What the recommended keys do not keep until the horizon."""
    if len(world.kinds) > 1 or "id" not in world.kinds[0].types:
        return
    document = analyzed(world, folder / "now")
    table = document["tables"][0]
    best = table["recommended"]
    scheme = scheme_of(best)
    later = carried(world, Random(f"{NAME} {world.seed}"))
    now = [v for v in best["violations"] if not v["assumed_growth"]]
    if later is not None and not now and "{seq(" not in scheme.text:
        yield from _keys(world, scheme, later)
    if not now and "{each(" not in scheme.text:  # candidates have no rows for each value of a list
        yield from _limits(world, best, scheme, folder)


def _keys(world: World, scheme: Scheme, later: tuple[Row, ...]) -> Iterator[Broken]:
    kind, current = world.kinds[0], world.current
    main = Scheme(scheme.partition, scheme.row)
    grown = replace(kind, rows=(*kind.rows, *later))
    if lay_out(kind, main).unique and not lay_out(grown, main).unique:
        yield Broken(NAME, "keys at the horizon", main.text, "two entities share one", "unique", keys=main)
    for text in (text for key in scheme.each_key() for text in key[:2]):
        kept = current is not None and text in (current.partition, current.row)
        for part in parse(text):
            # Nobody may ask for the order of keys in use.
            if not kept or _in_order(world).intersection(properties(part)):
                yield from _sorted(part, grown, scheme)


def _in_order(world: World) -> set[str]:
    """The properties that queries ask for by a range or in their order."""
    bounded = {c.name for asked in world.asked for c in asked.comparisons() if c.operator not in ("eq", "ne", "lower")}
    return bounded | {name for asked in world.asked for name, _ in asked.order_by}


def _sorted(part: Part, kind: Kind, scheme: Scheme) -> Iterator[Broken]:
    """Whether a part that is written to sort does, over the rows of now and of the horizon."""
    if not isinstance(part, Call) or part.name not in SORTED or not isinstance(part.arguments[0], Property):
        return
    name = part.arguments[0].name
    values = sorted({v for row in kind.rows if isinstance(v := row[name], int)})
    if not values or (part.name in FALLING and values[0] < 0):
        return
    written = "{" + part.name + "(" + ",".join((name, *(str(a) for a in part.arguments[1:]))) + ")}"
    if part.name in PADDED and values[-1] >= 10 ** int(str(part.arguments[1])):
        yield Broken(NAME, f"digits of {name} at the horizon", scheme.text, part.arguments[1], len(str(values[-1])))
        return
    writer = Writer(kind.types)
    texts = [units(writer.key(parse(written), {name: value})) for value in values]
    if texts != sorted(texts, reverse=part.name in FALLING):
        yield Broken(NAME, f"order of {written} at the horizon", scheme.text, "lost", "kept")


def _limits(world: World, best: Document, scheme: Scheme, folder: Path) -> Iterator[Broken]:
    """Whether a target is passed before the first date that is printed, where rates grow."""
    growth = world.growth
    if growth is None or growth.of != "rate":
        return
    dates = [b["months"] for b in best["breaks"] if b["months"] is not None]
    until = min([*dates, months_of(world)])
    times = per_month(growth) ** (BEFORE * until)
    if until <= 0:
        return
    asked = tuple(replace(a, rate=a.rate * times, peak=None if a.peak is None else a.peak * times) for a in world.asked)
    kind = replace(world.kinds[0], schemes=(scheme,))
    later = replace(world, asked=asked, kinds=(kind,), growth=None, current=None)
    ((found,),) = scored(later, folder / "later").values()
    for violation in found["violations"]:
        if violation["unit"] in TARGETS and not violation["assumed_growth"]:
            what = f"{violation['code']} in {BEFORE * until:.3g} of {until:.3g} months"
            yield Broken(NAME, what, scheme.text, violation["measured"], f"at most {violation['limit']}")
