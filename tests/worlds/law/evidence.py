"""The law *evidence*: a verdict is given where the evidence carries it, and nowhere else.

A world is made whole first: the data is complete, inserts come as densely as the data says, windows of time are shorter
than the data, every draw is stated, and a log (where there is one) holds what is declared. Then

* the whole world is not *not enough to advise*;
* one ground is contradicted, alone, by a factor of 3 to 100: it is *not enough to advise*, and the ground that does not
  carry is that one;
* something is taken away, and the verdict is no more certain than before.

Besides, rows of a whole world are lost, and the rate of inserts is kept: what a window of time holds by the rate is
what it held before, or not known where entities came far more densely at the end than before.

One ground and one removal are drawn for each world. ``--shares`` contradicts every ground of each world, and holds the
shares. Held by the law are single worlds: a world that breaks the law is a finding,
although the shares that are promised are at most 2 % and at least 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from random import Random
from typing import Any

from tests.worlds.law.log_lines import FORMATS, SUFFIX, Line, log_text
from tests.worlds.law.logs import declared, lines_of
from tests.worlds.model import Asked, Compare, Condition, Draw, Kind, Parameter, World
from tests.worlds.rows import lay_out
from tests.worlds.running import Document, ranked, scored
from tests.worlds.truth import Broken
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, INT32, STRING, Row, Value

NAME = "evidence"
COMPLETE = "complete"
COMPLETE_MOST, CONTRADICTED_LEAST = 0.02, 0.95
"""Share of complete worlds without advice, and of contradicted ones, that are promised."""
FACTORS = (3.0, 100.0)
RECENT = "recent"
TELLING = 0.7
"""Share of the logs that are cut down to reads by values, and to inserts where no identifier is read."""
VALUES = 4
"""Different values that a property has at the least, so that some of them may be moved away."""
TARGET = 2_000.0
"""Entities per second that a partition takes, as published."""
SECOND = 1_000_000
WITHOUT_ADVICE = ("not_enough", "heat_only")


@dataclass(frozen=True)
class Given:
    """A world with the log that is given beside it, if any."""

    world: World
    lines: tuple[Line, ...] = ()
    form: str = ""


# -- a world with complete evidence ------------------------------------------------------------------------------------


def span_us(kind: Kind) -> int:
    """From the first to the last arrival in microseconds; 0 where entities have no time of arrival."""
    name = kind.arrival if kind.arrival and kind.types.get(kind.arrival) == DATETIME else None
    moments = [v for row in kind.rows if isinstance(v := row.get(name), int)] if name else []
    return max(moments) - min(moments) if moments else 0


def time_of(kind: Kind) -> str:
    """The property that holds the time of arrival; empty where none does."""
    return kind.arrival if kind.arrival in kind.types else ""


def whole(world: World) -> World:
    """The world with complete evidence: draws stated, windows within the data, inserts as dense as the data."""
    kind = world.kinds[0]
    span = span_us(kind)
    asked = [_stated(_within(a, kind), span) for a in world.asked if a.operation not in ("upsert", "delete")]
    if span:
        asked = [replace(a, rate=len(kind.rows) * SECOND / span / a.entities_per_request, peak=None, peak_at=None)
                 if a.operation == "insert" else a for a in asked]  # fmt: skip
        asked += [_recent(kind, asked, span // 10)]
        if not any(a.operation == "insert" for a in asked):
            asked.append(Asked("insert", kind.name, "insert", None, len(kind.rows) * SECOND / span))
    return replace(world, asked=tuple(asked), kinds=(replace(kind, schemes=()),), transactions=())


def _recent(kind: Kind, asked: list[Asked], width: int) -> Asked:
    """A query for a window of time that reads as much as all other queries together, or more."""
    width, at = max(SECOND, width // SECOND * SECOND), str(kind.arrival)
    where: tuple[Condition, ...] = (
        Compare(at, "ge", Parameter(at, -width)),
        Compare(at, "le", Parameter(at)),
    )
    rate = max(1.0, 2 * fsum(a.rate for a in asked))
    return Asked(RECENT, kind.name, "query", where, rate, draw=Draw("entities"))


def _stated(asked: Asked, span: int) -> Asked:
    """With a draw that is said."""
    draw = asked.draw or Draw("entities")
    if draw.by == "newest":
        draw = replace(draw, window_s=max(1, min(draw.window_s, span // SECOND // 8)))
    return replace(asked, draw=draw) if asked.parameters() else asked


def _within(asked: Asked, kind: Kind) -> Asked:
    """With windows of time that are shorter than an eighth of what the data holds of it."""

    def shorter(condition: Condition) -> Condition:
        if not isinstance(condition, Compare) or kind.types[condition.name] != DATETIME:
            return condition
        operand = condition.operand
        if not isinstance(operand, Parameter) or not operand.offset:
            return condition
        values = [v for row in kind.rows if isinstance(v := row[condition.name], int)]
        most = max(SECOND, (max(values) - min(values)) // 8 // SECOND * SECOND) if values else SECOND
        size = min(abs(operand.offset), most)
        return replace(condition, operand=replace(operand, offset=size if operand.offset > 0 else -size))

    return asked if asked.where is None else replace(asked, where=tuple(shorter(c) for c in asked.where))


def logged(world: World, random: Random, folder: Path) -> Given | None:
    """A world whose declared workload stands in a log as well; None where a log cannot show it request by request."""
    form = random.choice(FORMATS)
    kind = world.kinds[0]
    mine = declared(replace(world, asked=tuple(_within(a, kind) for a in world.asked)), random, form)
    telling = [a for a in mine.asked if a.operation == "query" and foreign(a, mine.kinds[0])]
    if telling and Random(f"telling {world.seed}").random() < TELLING:
        new = any("id" in foreign(a, mine.kinds[0]) for a in telling)
        inserts = () if new else tuple(a for a in mine.asked if a.operation == "insert")
        mine = replace(mine, asked=(*telling, *inserts), transactions=mine.transactions if inserts else ())
    if len(mine.asked) < 2:
        return None
    layout = lay_out(mine.kinds[0], mine.current)  # type: ignore[arg-type]
    if not layout.unique:
        return None
    ((current,),) = scored(mine, folder / "declared").values()
    if any(len(c["filters"]) and c["fan_out"] != 1 for c in current["classes"]):
        return None
    lines = tuple(lines_of(mine, current, layout, random, form))
    return Given(mine, lines, form)


# -- one ground contradicted -------------------------------------------------------------------------------------------


def _rates(world: World, change: Callable[[Asked], Asked]) -> World:
    return replace(world, asked=tuple(change(a) for a in world.asked))


def _either(random: Random, factor: float) -> float:
    return factor if random.random() < 0.5 else 1 / factor


def density(given: Given, factor: float, random: Random) -> Given | None:
    """Inserts come more or less often than the data says."""
    if not span_us(given.world.kinds[0]):
        return None
    times = _either(random, factor)
    changed = _rates(given.world, lambda a: replace(a, rate=a.rate * times) if a.operation == "insert" else a)
    return replace(given, world=changed)


def times(given: Given, factor: float, random: Random) -> Given | None:
    """A window of time is longer than the data."""
    del random
    kind = given.world.kinds[0]
    if not (span := span_us(kind)):
        return None
    width = round(span * factor) // SECOND * SECOND
    low = Compare(str(kind.arrival), "ge", Parameter(str(kind.arrival), -width))
    asked = tuple(replace(a, where=(low, *a.conditions()[1:])) if a.name == RECENT else a for a in given.world.asked)
    return replace(given, world=replace(given.world, asked=asked))


def sampling(given: Given, factor: float, random: Random) -> Given | None:
    """The total of a complete table is not that of its rows."""
    rows = len(given.world.kinds[0].rows)
    total = max(1, round(rows * _either(random, factor)))
    extra = {**given.world.extra, "entities_total": total, "sampling": "complete"}
    return replace(given, world=replace(given.world, extra=extra))


def assumptions(given: Given, factor: float, random: Random) -> Given | None:
    """Nobody says whose values are asked for, at a load that a skewed draw could not bear.

    The rates are those at which Zipf's law puts ``factor`` times the target on the first of 64 partitions a row.
    """
    del random
    kind = given.world.kinds[0]
    asking = [a for a in given.world.asked if a.parameters() and not set(a.parameters()) & set(kind.several)]
    if not asking or given.lines:
        return None
    wanted = factor * TARGET * fsum(1 / n for n in range(1, 64 * len(kind.rows) + 1))
    times = wanted / fsum(a.rate for a in asking)

    def guessed(asked: Asked) -> Asked:
        more = times if asked in asking else 1.0
        return replace(asked, draw=None, rate=asked.rate * more, peak=None, peak_at=None)

    return replace(given, world=_rates(given.world, guessed))


def coverage(given: Given, factor: float, random: Random) -> Given | None:
    """The log shows more or fewer requests than are declared."""
    if not given.lines:
        return None
    times = _either(random, factor)
    return replace(given, world=_rates(given.world, lambda a: replace(a, rate=a.rate * times)))


def parameters(given: Given, factor: float, random: Random) -> Given | None:
    """Of the values that the log asks for, the data has one in ``factor`` or fewer."""
    del random
    kind, asked = given.world.kinds[0], given.world.asked
    reads = [a for a in asked if a.operation == "query"]
    # Who is inserted under an identifier that the data lacks is newer than the data, and no stranger.
    known = {"id"} if any(a.operation == "insert" for a in asked) else set()
    others = {name for a in reads for name in foreign(a, kind)} - known
    telling = fsum(a.rate for a in reads if not others.isdisjoint(foreign(a, kind)))
    if not given.lines or telling < 0.5 * fsum(a.rate for a in asked):
        return None
    kept = {name: _kept(kind, name, factor) for name in others}
    if any(not values for values in kept.values()):
        return None

    def changed(row: Row) -> Row:
        return {n: moved(v, kind.types[n]) if n in kept and v not in kept[n] else v for n, v in row.items()}

    rows = tuple(changed(row) for row in kind.rows)
    return replace(given, world=replace(given.world, kinds=(replace(kind, rows=rows),)))


def foreign(asked: Asked, kind: Kind) -> list[str]:
    """The properties of which a request names one value, and the data may have others instead."""
    fixed = [name for name in asked.equal() if kind.types[name] not in (BOOLEAN, DATETIME)]
    return [name for name in fixed if len({row[name] for row in kind.rows} - {None}) >= VALUES]


def _kept(kind: Kind, name: str, factor: float) -> set[Value | None]:
    """Rare values that together have one entity in ``factor``; the others are moved away."""
    counts: dict[Value | None, int] = {}
    for row in kind.rows:
        counts[row[name]] = counts.get(row[name], 0) + 1
    left, out = len(kind.rows) / factor, set[Value | None]()
    for value, count in sorted(counts.items(), key=lambda pair: (pair[1], str(pair[0]))):
        left -= count
        if left >= 0 and value is not None:
            out.add(value)
    return out | {None} if out else out


def moved(value: Value | None, edm: str) -> Value | None:
    """A value of a type of ``foreign`` that no entity of the world has."""
    if value is None:
        return None
    if edm == STRING:
        return f"elsewhere {value}"
    if edm == BINARY:
        assert isinstance(value, bytes)
        return b"elsewhere" + value
    if edm == GUID:
        return "f" * 8 + str(value)[8:]
    assert isinstance(value, int | float)
    if edm == DOUBLE:
        return float(value) + 1e12
    return int(value) // 3 - 1_234_567_891 if edm == INT32 else int(value) // 3 + 3 * 10**18


CONTRADICTED: tuple[tuple[str, Callable[[Given, float, Random], Given | None]], ...] = (
    ("parameters", parameters),
    ("density", density),
    ("times", times),
    ("coverage", coverage),
    ("sampling", sampling),
    ("assumptions", assumptions),
)
"""A name of a ground, and how it is contradicted by a factor; None where the world has nothing to contradict."""


# -- rows that are lost ------------------------------------------------------------------------------------------------

KEPT, ROWS_HELD, NEAR = 0.2, 8.0, 1.5
"""Share of rows that are kept; rows of a window, of those kept, from which a mean is told; and how near it must be."""
UNEVEN = 1.4
"""Times that the rate of arrivals in the newest quarter and in all of the time lie apart, from which on the rate by
which a window is to be told need not be known."""


def _thinned(given: Given, before: Document, folder: Path, random: Random) -> Iterator[Broken]:
    """A window of time holds by the rate what it holds in the data, when most rows of the data are lost."""
    kind = given.world.kinds[0]
    counted = next((c for c in before["recommended"]["classes"] if c["name"] == RECENT), None)
    if counted is None or KEPT * counted["entities_returned"] < ROWS_HELD:
        return
    rows = tuple(row for row in kind.rows if random.random() < KEPT)
    # A total beside fewer rows would say that some are lost.
    extra = {name: value for name, value in given.world.extra.items() if name != "entities_total"}
    world = replace(given.world, kinds=(replace(kind, rows=rows),), extra=extra)
    table = _told(replace(given, world=world), folder)
    asked = next((a for a in table["workload"] if a["name"] == RECENT), None)
    held = asked and asked["window_by_rate"] and asked["window_by_rate"]["entities_returned"]
    true = counted["entities_returned"]
    if asked and asked["window_by_rate"] and held is None and _uneven(rows, str(kind.arrival)):
        return
    if not held or not true / NEAR <= held <= true * NEAR:
        said = asked and asked["window_by_rate"]
        yield Broken(NAME, f"{RECENT}: entities of a window by the rate, of {len(rows)} rows kept", "", said, true)


def _uneven(rows: Sequence[Row], name: str) -> bool:
    """Whether entities came so unevenly that the newest quarter of the time says another rate than all of it."""
    moments = sorted(v for row in rows if isinstance(v := row[name], int))
    first, last = moments[0], moments[-1]
    newest = sum(m > last - (last - first) // 4 for m in moments) * 4 / len(moments)
    return max(newest, 1 / max(newest, 1e-9)) > UNEVEN


# -- something taken away ----------------------------------------------------------------------------------------------


def _some_rows(given: Given, random: Random) -> Given:
    """A part of the rows, drawn at random, as the design says."""
    kind = given.world.kinds[0]
    rows = tuple(row for row in kind.rows if random.random() < 0.4) or kind.rows[:1]
    extra = {**given.world.extra, "entities_total": len(kind.rows), "sampling": "random-rows"}
    return replace(given, world=replace(given.world, kinds=(replace(kind, rows=rows),), extra=extra))


REMOVED: tuple[tuple[str, Callable[[Given, Random], Given]], ...] = (
    ("draws", lambda g, _: replace(g, world=_rates(g.world, lambda a: replace(a, draw=None)))),
    ("the log", lambda g, _: replace(g, lines=())),
    ("arrival", lambda g, _: _unordered(g)),
    ("rows", _some_rows),
    ("how rows were drawn", lambda g, r: _unsaid(_some_rows(g, r))),
)


def _unordered(given: Given) -> Given:
    """Nobody says in what order entities came, and so nothing is drawn from the newest."""
    world = _rates(given.world, lambda a: replace(a, draw=None) if a.draw and a.draw.by == "newest" else a)
    return replace(given, world=replace(world, kinds=(replace(world.kinds[0], arrival=None),)))


def _unsaid(given: Given) -> Given:
    extra = {name: value for name, value in given.world.extra.items() if name != "sampling"}
    return replace(given, world=replace(given.world, extra=extra))


def certainty(table: Document) -> tuple[bool, bool]:
    """(there is advice, it is sure)."""
    sure = table["confidence"] is not None and table["confidence"]["sure"]
    return table["verdict"] not in WITHOUT_ADVICE, sure


# -- the law -----------------------------------------------------------------------------------------------------------


def drawn(world: World, folder: Path) -> tuple[Given, Random, float]:
    """A world with complete evidence, what else is drawn with it, and the factor of a contradiction."""
    random = Random(f"{NAME} {world.seed}")
    given = logged(world, random, folder) if random.random() < 0.4 else None
    given = given or Given(whole(world))
    # Rows of which nobody says whether they are all are less evidence than a sample of which everything is said.
    given = replace(given, world=replace(given.world, extra={**given.world.extra, "sampling": "complete"}))
    return given, random, FACTORS[0] * (FACTORS[1] / FACTORS[0]) ** random.random()


def judged(world: World, folder: Path) -> Iterator[tuple[str, str]]:
    """(complete or the name of a ground, what is wrong) of the whole world and of each contradiction that it allows;
    nothing is wrong where the first has a verdict, and the others have none for that ground."""
    if len(world.kinds) > 1:
        return
    given, random, factor = drawn(world, folder)
    whole_one = _told(given, folder / "whole")
    yield COMPLETE, "" if whole_one["verdict"] not in WITHOUT_ADVICE else str(_broken("whole", whole_one, "a verdict"))
    for name, contradict in CONTRADICTED:
        contradicted = contradict(given, factor, random)
        if contradicted is not None:
            table = _told(contradicted, folder / name)
            wrong = "" if _refused(table, name) else str(_broken(f"{name} {factor:.3g} times", table, "not_enough"))
            yield name, wrong


def _refused(table: Document, name: str) -> bool:
    """Whether there is no advice, and a ground is among the reasons."""
    weak = [g["name"] for g in table["grounds"] if not g["carries"]]
    return table["verdict"] == "not_enough" and name in weak


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """A whole world without a verdict, a contradicted one with one, and less evidence that makes more certain."""
    if len(world.kinds) > 1:
        return
    given, random, factor = drawn(world, folder)
    before = _told(given, folder / "whole")
    if before["verdict"] in WITHOUT_ADVICE:
        yield _broken("whole", before, "a verdict")
        return
    grounds = random.sample(CONTRADICTED, len(CONTRADICTED))
    grounds.sort(key=lambda ground: ground[0] != "parameters")  # of which few worlds have anything to contradict
    for name, contradict in grounds:
        contradicted = contradict(given, factor, random)
        if contradicted is None:
            continue
        table = _told(contradicted, folder / name)
        if not _refused(table, name):
            yield _broken(f"{name} contradicted {factor:.3g} times", table, "not_enough")
        elif not table["next"] or not table["why_not"]:
            yield Broken(NAME, f"{name} contradicted: what to give next", "", table["next"], "a sentence")
        break
    yield from _thinned(given, before, folder / "thinned", random)
    name, removed = random.choice(REMOVED)
    after = _told(removed(given, random), folder / "less")
    if certainty(after) > certainty(before):
        yield Broken(NAME, f"without {name}: certainty", "", certainty(after), certainty(before))


def _told(given: Given, folder: Path) -> Document:
    more: dict[str, Any] = {}
    if given.lines:
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"requests.{SUFFIX[given.form]}"
        place.write_text(log_text(given.lines, given.world.table, given.form), encoding="utf-8")
        more["logs"] = (str(place),)
    table: Document = ranked(given.world, folder, **more)["tables"][0]
    return table


def _broken(what: str, table: Document, wanted: str) -> Broken:
    weak = "; ".join(f"{g['name']}: {g['sentence']}" for g in table["grounds"] if not g["carries"])
    said = f"{table['verdict']} ({weak or table['why_not'] or 'every ground carries'})"
    return Broken(NAME, what, table["workload"][0]["name"] if table["workload"] else "", said, wanted)
