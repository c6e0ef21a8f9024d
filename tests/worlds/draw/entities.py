"""The entities of a world: properties of every type, with skew, dependencies, missing values and hostile text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.worlds.model import Kind
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, INT32, INT64, STRING, Row, Value  # fmt: skip

HOSTILE = (
    "a/b", "x_y", "~", "~-", "~002F", "o'clock", "{brace}", "}{", "50%", "a b", "  ", "\\", "#1", "who?", "é", "日本",
    "😀", "-", "|", ";", "007", "1e5", "true", "null", "\t", "\u00a0", "ﬀ", "A", "a", "Z", "_", "`", "\uffff", "\ue000",
    "12", "2026-01-01", "x,y", 'say "hi"', "PartitionKey", "datetime'x'",
)  # fmt: skip
WORDS = ("north", "south", "east", "west", "red", "green", "blue", "Ost", "alpha", "beta", "gamma", "delta")
ROWS_BASE = 1_700_000_000_000_000
"""A moment of November 2023, in microseconds."""
DAY_US = 86_400_000_000

Maker = Callable[[int, Row], "Value | None"]


@dataclass(frozen=True)
class Shape:
    """What a property is for: ``unique``, ``group``, ``number``, ``time``, ``arrival`` or ``plain``."""

    name: str
    edm: str
    role: str
    distinct: int = 0


@dataclass(frozen=True)
class Drawn:
    """A kind without schemes, and what its properties are for."""

    kind: Kind
    shapes: tuple[Shape, ...]

    def of(self, *roles: str) -> list[Shape]:
        """The properties with some roles."""
        return [s for s in self.shapes if s.role in roles]


def _skewed(random: Random, count: int, exponent: float) -> Callable[[], int]:
    """Numbers below ``count``: the first ones more often where the exponent is above zero."""
    weights = [(n + 1) ** -exponent for n in range(count)]
    total, at, sums = sum(weights), 0.0, list[float]()
    for weight in weights:
        at += weight / total
        sums.append(at)

    def pick() -> int:
        x = random.random()
        return next((n for n, edge in enumerate(sums) if x <= edge), count - 1)

    return pick


def _texts(random: Random, count: int, *, hostile: bool) -> list[str]:
    style = random.choice(("word", "dash", "digits", "long", "mixed"))
    out: list[str] = []
    for n in range(count):
        text = {
            "word": f"{WORDS[n % len(WORDS)]}{n // len(WORDS) or ''}",
            "dash": f"dev-{n + 1}",
            "digits": f"{n:03}",
            "long": f"{WORDS[n % len(WORDS)]} street {n} " + "x" * random.randrange(40),
            "mixed": f"{random.choice('ABCxyz')}{n}{random.choice(WORDS)}",
        }[style]
        out.append(text)
    if hostile:
        sampled = random.sample(HOSTILE, min(len(HOSTILE), max(1, count // 3)))
        for text in sampled:
            at = random.randrange(count)
            # The manual says that their order beside each other is not the service's.
            out[at] = "ö" if text > "\uffff" and any("\ue000" <= other[:1] <= "\uffff" for other in sampled) else text
    return list(dict.fromkeys(out))


def _group_values(random: Random, edm: str, count: int, *, hostile: bool) -> list[Value]:
    """The distinct values of a property over which entities are grouped."""
    if edm == STRING:
        return list[Value](_texts(random, count, hostile=hostile))
    if edm == BOOLEAN:
        return [True, False]
    if edm == GUID:
        return [_guid(random) for _ in range(count)]
    if edm == BINARY:
        return [bytes(random.randrange(256) for _ in range(random.randrange(1, 6))) for _ in range(count)]
    if edm == DOUBLE:
        numbers = [0.1, -0.5, 1.0, 1e-5, 1.5e16, 2.25, -3.75, 100.0, 0.0]
        return list[Value](dict.fromkeys((*numbers[:count], *(round(random.uniform(-9, 99), 2) for _ in range(count)))))
    if edm == DATETIME:
        return [ROWS_BASE + random.randrange(300) * DAY_US for _ in range(count)]
    spread = random.choice((10, 1000, 2**31 - 1 if edm == INT32 else 2**62))
    low = -spread if random.random() < 0.3 else 0
    return list[Value](dict.fromkeys(random.randint(low, spread) for _ in range(count)))


def _guid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _arrivals(random: Random, count: int) -> list[int]:
    """Times that rise: evenly, in bursts, or over years; sometimes several at one moment."""
    span = random.choice((3_600, 86_400, 30 * 86_400, 400 * 86_400, 3 * 365 * 86_400))
    unit = random.choice((1, 1_000, 1_000_000))
    if random.random() < 0.3:  # bursts
        heads = [random.uniform(0, span) for _ in range(max(2, count // 40))]
        found = [random.choice(heads) + random.expovariate(200 / span) for _ in range(count)]
    else:
        found = [random.uniform(0, span) for _ in range(count)]
    base = ROWS_BASE + random.randrange(700) * DAY_US
    return [base + int(at * 1_000_000) // unit * unit for at in sorted(found)]


def draw_kind(random: Random, name: str, rows: int, form: str) -> Drawn:
    """One kind of entity with two to eight properties."""
    hostile = form in ("jsonl", "rest") and random.random() < 0.6
    shapes: list[Shape] = []
    makers: dict[str, Maker] = {}

    def add(shape: Shape, maker: Maker, missing: float = 0.0) -> None:
        shapes.append(shape)
        makers[shape.name] = (
            maker if not missing else lambda n, row: None if random.random() < missing else maker(n, row)
        )

    _unique(random, add, rows)
    for n in range(random.randint(1, 3)):
        binary = form != "csv"  # plain CSV cannot tell bytes from text
        edm = random.choices(
            (STRING, INT32, INT64, BOOLEAN, GUID, DOUBLE, BINARY, DATETIME), (8, 3, 2, 2, 1, 1, binary, 1)
        )[0]
        count = random.choice((2, 3, 5, 12, 40))
        values = _group_values(random, edm, count, hostile=hostile)
        pick = _skewed(random, len(values), random.choice((0.0, 0.0, 0.7, 1.2, 2.0)))
        missing = random.choice((0.0, 0.0, 0.0, 0.02, 0.3))
        label = ("city", "team", "status")[n]
        add(Shape(label, edm, "group", len(values)), lambda _, __, v=values, p=pick: v[p()], missing)  # type: ignore[misc]
    if random.random() < 0.75:
        moments = _arrivals(random, rows)
        add(Shape("at", DATETIME, "arrival"), lambda n, _: moments[n])
    if random.random() < 0.5:
        edm = random.choice((INT32, INT64))
        top = random.choice((9, 120, 99_999, 2**31 - 1 if edm == INT32 else 2**63 - 1))
        low = random.choice((0, 0, 1, -top - 1))
        add(Shape("score", edm, "number"), lambda *_: random.randint(low, top), random.choice((0.0, 0.0, 0.1)))
    if random.random() < 0.25:
        add(
            Shape("price", DOUBLE, "number"),
            lambda *_: random.choice((0.0, -0.0, round(random.uniform(-50, 900), 3), random.uniform(0, 1e9))),
            random.choice((0.0, 0.1)),
        )
    _dependent(random, add, shapes, form)
    if random.random() < 0.3:
        texts = _texts(random, 30, hostile=hostile)
        add(Shape("note", STRING, "plain"), lambda *_: random.choice(texts) * random.randint(1, 8), 0.2)
    if random.random() < 0.2 and form != "csv":
        add(Shape("blob", BINARY, "plain"), lambda *_: random.randbytes(random.randrange(1, 200)), 0.1)
    if random.random() < 0.15:
        add(Shape("weight", INT32, "weight"), lambda *_: random.choice((0, 1, 1, 2, 50)))
    if random.random() < 0.15:
        add(Shape("größe", random.choice((INT32, DOUBLE)), "plain"), lambda n, _: n % 7)
    made: list[Row] = []
    for n in range(rows):
        row: Row = {}
        for shape in shapes:
            value = makers[shape.name](n, row)
            if shape.edm == DOUBLE and isinstance(value, int):
                value = float(value)
            if form not in ("jsonl", "rest") and isinstance(value, str) and not value.strip():
                value = "blank"  # CSV has no empty text
            row[shape.name] = value
        made.append(row)
    timed = any(s.role == "arrival" for s in shapes)
    arrival = random.choice(("at", "at", "file_order", None)) if timed else random.choice(("file_order", None))
    return Drawn(Kind(name, {s.name: s.edm for s in shapes}, tuple(made), arrival), tuple(shapes))


def _unique(random: Random, add: Callable[[Shape, Maker], None], rows: int) -> None:
    """A property whose values tell every entity from all others."""
    way = random.choice(("count", "count", "far", "guid", "text"))
    if way == "guid":
        add(Shape("id", GUID, "unique", rows), lambda *_: _guid(random))
    elif way == "text":
        add(Shape("id", STRING, "unique", rows), lambda n, _: f"{'ABC'[n % 3]}{n:04x}")
    elif way == "far":
        numbers = random.sample(range(10**12), rows)
        add(Shape("id", INT64, "unique", rows), lambda n, _: numbers[n])
    else:
        first = random.choice((0, 1, 1000, -20))
        add(Shape("id", random.choice((INT32, INT64)), "unique", rows), lambda n, _: n + first)


def _dependent(random: Random, add: Callable[[Shape, Maker], None], shapes: list[Shape], form: str) -> None:
    """Properties that follow from others: a padded number, a prefix, lower case, one group within another."""
    texts = [s for s in shapes if s.edm == STRING and s.role == "group"]
    unique = shapes[0]
    if unique.edm in (INT32, INT64) and random.random() < 0.2 and form != "csv":  # digits alone are a number there
        add(Shape("code", STRING, "unique", unique.distinct), lambda _, row: f"{row['id']:08}")
    if texts and random.random() < 0.3:
        source = random.choice(texts).name
        add(Shape("area", STRING, "group", 5), lambda _, row: None if row[source] is None else str(row[source])[:2])
    elif texts and random.random() < 0.2:
        source = random.choice(texts).name
        add(Shape("low", STRING, "group", 5), lambda _, row: None if row[source] is None else _lower(str(row[source])))


def _lower(text: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
