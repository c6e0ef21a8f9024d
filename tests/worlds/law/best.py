"""The law *best*: in small worlds no scheme of a brute enumeration beats the recommended one beyond a goal's tolerance.

Enumerated are main keys of up to three properties in all orders (padded, falling, periods, buckets, divided at each
place between PartitionKey and RowKey), then index rows beside the best main key one at a time, then pairs of the best
rows; of more than a bound some are drawn. One PartitionKey for all entities competes where the table stays small;
elsewhere it may win by the constraints alone, which is the other documented reason for it. All compete through
``--candidates``, so that their plans are the planner's; the one that wins is held against what is recommended without
them, by requests and entities that are counted here, and by what the documents of both say of the other goals. Goals
are taken in the documented order, latency left out, each with its documented tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from random import Random
from typing import TypeVar

from tests.worlds.answers import Answers
from tests.worlds.enumerated import ONE, beside, coming, index_rows, main_keys, one_partition
from tests.worlds.law.counted import ClassTruth, stops
from tests.worlds.model import Scheme, World
from tests.worlds.requests import TooManyError, plan_of
from tests.worlds.rows import Layout, all_apart, lay_out
from tests.worlds.running import Document, ranked, scheme_of, schemes_of
from tests.worlds.shrink import unused, without_property
from tests.worlds.truth import Broken
from tests.worlds.values import DATETIME
from tests.worlds.writes import written_by

NAME = "best"
T = TypeVar("T")
ROWS = 300
PROPERTIES = 4
MAINS = 120
SINGLES = 20
"""Main keys of one PartitionKey for all where the table does not stay small."""
SINGLE_ROWS = 40
PAIRED = 4
"""Index rows of which every pair is judged: the best of those that were judged one at a time."""
GOALS = (
    ("constraints", 0.0),
    ("room", 0.0),
    ("read in vain", 0.10),
    ("requests", 0.10),
    ("spread reads", 0.05),
    ("spare index rows", 0.0),
    ("break factor", 0.05),
    ("structures", 0.0),
    ("entities", 0.01),
    ("sorting", 0.0),
    ("storage", 0.01),
)
HOPELESS = 1_000.0
"""Times its limit, from which on nobody weighs by how much a load misses it."""
MISSED = 0.05
"""Where both schemes miss a constraint: by how much less one must miss it. A load over its target is the inverse of a
break factor, and has its tolerance."""
IN_VAIN = 2_000.0
"""Entities a second that may be read in vain."""
WORTH_REQUESTS = 1.5
"""Times the fewest requests that the end of reads in vain may cost."""
ROOM_WORTH = 3.0
"""Times the requests of a scheme at its target that room to plan for may cost; less of one with some of that room."""
SORTED_BYTES = 1.25
"""Times the stored bytes that keys in the wanted order may take."""
ENOUGH = 10.0
"""A break factor from which on more is no better."""


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """The enumerated scheme that beats the recommended one, if there is one."""
    small = judged(world)
    if small is None:
        return
    kind = small.kinds[0]
    random = Random(world.seed)
    before = ranked(small, folder / "alone")["tables"][0]["recommended"]
    if before is None:
        return
    stays_small, breaks = one_partition(small, kind), _value(before, "constraints") > 0
    counts = Counts(small)
    more = coming(small)
    mains = main_keys(kind, single=stays_small, coming=more)
    winners = compete(small, some(random, small, mains, MAINS), folder / "mains")
    yield from judge(counts, before, winners)
    if breaks and not stays_small:
        ones = [s for s in main_keys(kind, single=True, coming=more) if s.partition == ONE]
        found = compete(small, some(random, small, ones, SINGLES), folder / "one")
        yield from (b for b in judge(counts, before, found) if b.what == _lost_by("constraints"))
    advised = replace(scheme_of(before), index_rows=())
    for number, main in enumerate(dict.fromkeys([*map(scheme_of, winners[:1]), advised])):
        rows = {beside(main, (row,)).text: row for row in index_rows(kind, single=stays_small, coming=more)}
        singles = some(random, small, [beside(main, (row,)) for row in rows.values()], SINGLE_ROWS)
        if not singles:
            continue
        winners = compete(small, singles, folder / f"rows-{number}")
        yield from judge(counts, before, winners)
        best = [rows[text] for w in winners if (text := scheme_of(w).text) in rows][:PAIRED]
        pairs = some(random, small, [beside(main, pair) for pair in combinations(best, 2)], PAIRED * PAIRED)
        if pairs:
            yield from judge(counts, before, compete(small, pairs, folder / f"pairs-{number}"))


def judged(world: World) -> World | None:
    """The world without keys, goals of latency, secrets and what nothing names; None where it is too large for the
    law."""
    if len(world.kinds) > 1 or len(world.kinds[0].rows) > ROWS or "isolation" in world.extra:
        return None
    asked = tuple(replace(each, p99_ms=None) for each in world.asked)
    told = {name: {k: v for k, v in of.items() if k != "sensitive"} for name, of in world.kinds[0].told.items()}
    bare = replace(world, current=None, asked=asked, kinds=(replace(world.kinds[0], schemes=(), told=told),))
    for name in unused(bare, bare.kinds[0]):
        if name != "id" and len(bare.kinds[0].types) > PROPERTIES:
            bare = replace(bare, kinds=(without_property(bare.kinds[0], name),))
    return bare if len(bare.kinds[0].types) <= PROPERTIES else None


def drawn(random: Random, every: Iterable[T], most: int) -> list[T]:
    """So many of all at the most."""
    found = list(every)
    return random.sample(found, min(len(found), most))


def some(random: Random, world: World, every: Iterable[Scheme], most: int) -> list[Scheme]:
    """So many schemes at the most under which no two rows share a key."""
    kind = world.kinds[0]
    fit = (s for s in drawn(random, every, most * 3) if identifies(world, s) and all_apart(kind, s))
    return list(islice(fit, most))


def identifies(world: World, scheme: Scheme) -> bool:
    """Whether the main key tells entities apart without its times, since two things may happen at once, and without
    what updates change, since the next value may be another entity's."""
    kind, changing = world.kinds[0], {name for asked in world.asked for name in asked.sets}
    used = set(re.findall(r"\w+", f"{scheme.partition} {scheme.row}"))
    names = [name for name, edm in kind.types.items() if name in used - changing and edm != DATETIME]
    return len({tuple(row[name] for name in names) for row in kind.rows}) == len(kind.rows)


def compete(world: World, schemes: Sequence[Scheme], folder: Path) -> list[Document]:
    """What is printed of a table where these schemes alone compete, the recommended one first."""
    kind = replace(world.kinds[0], schemes=tuple(schemes))
    return schemes_of(ranked(replace(world, kinds=(kind,)), folder, search=False)["tables"][0])


def judge(counts: Counts, before: Document, winners: Sequence[Document]) -> Iterator[Broken]:
    """The goal at which the first of some schemes beats the recommended one."""
    after = winners[0]
    one, two = counts.values(before), counts.values(after)
    goal = beaten(one, two)
    if goal is not None:
        where = f"{two[goal]} of {scheme_of(after).text}"
        yield Broken(NAME, _lost_by(goal), scheme_of(before).text, one[goal], where)


def _lost_by(goal: str) -> str:
    return f"recommended keys, by {goal}"


def _value(scheme: Document, goal: str) -> float:
    value: float = next(g["value"] for g in scheme["goals"] if g["goal"] == goal)
    return value


def printed_goals(scheme: Document) -> dict[str, float]:
    """What the goals compare, as it is printed."""
    missed = sum(not violation["assumed_growth"] for violation in scheme["violations"])
    return {"missed": missed} | {goal: _value(scheme, goal) for goal, _ in GOALS}


class Counts:
    """What the goals compare for the schemes of one world; each scheme is counted once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answers = {a.name: Answers(a, world.kinds[0]) for a in world.asked}
        self._known: dict[str, dict[str, float]] = {}

    def values(self, printed: Document) -> dict[str, float]:
        """Requests and entities a second as they are counted here, the others as they are printed."""
        text = scheme_of(printed).text
        if text not in self._known:
            self._known[text] = self._counted(printed)
        return self._known[text]

    def _counted(self, printed: Document) -> dict[str, float]:
        layout, requests, entities = lay_out(self._world.kinds[0], scheme_of(printed)), 0.0, 0.0
        for each in printed["classes"]:
            answers = self._answers[each["name"]]
            if not answers.asked.analytic:
                sent, counted = _of_class(answers, each, layout)
                requests, entities = requests + answers.asked.rate * sent, entities + answers.asked.rate * counted
        found = printed_goals(printed)
        if any(transaction.group_by for transaction in self._world.transactions):
            requests = found["requests"]  # one for each group of writes, which no loop over single ones tells
        return {**found, "requests": requests, "entities": entities}


def _of_class(answers: Answers, printed: Document, layout: Layout) -> tuple[float, float]:
    """(requests, entities) of one request of a class; as printed where the truth is not told by loops: attempts under
    contention, sets of entities, ties under Zipf's law. So is what ``$top`` ends amid other rows: among which of them
    the rows wanted lie today is chance, and no reason to prefer a key."""
    told = printed["requests"], printed["entities_read"] + printed["entities_written"]
    asked = answers.asked
    if not answers.instances or answers.tied or asked.entities_per_request > 1 or asked.read_modify_write:
        return told
    plan = plan_of(asked, printed) if printed["filters"] else None
    if plan is not None and stops(plan):
        return told
    try:
        written = written_by(asked, layout, answers, plan, None)
        truth = ClassTruth(plan, layout, answers, written)
    except TooManyError:
        return told
    if asked.operation == "query":
        return truth.requests, truth.read
    if written.requests is None or printed["attempts_per_commit"] != 1:
        return told
    located = written.located
    return written.requests + located * truth.requests, written.rows + located * truth.read


def _spares(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether the first scheme has room for growth with fewer index rows."""
    lasts = one["break factor"] >= 0.55 * max(one["break factor"], other["break factor"])
    return lasts and one["room"] >= 1 and one["structures"] < other["structures"]


def _worth_of_room(short: dict[str, float]) -> float:
    """Times the requests of a scheme that lacks room which one with room may take in its place."""
    breaks = short["break factor"]
    planned = breaks / short["room"] if short["room"] else breaks
    lacking = min(1.0, max(0.0, (planned - breaks) / (planned - 1))) if planned > 1 else 1.0
    return 1 + (ROOM_WORTH - 1) * lacking**2


def _worth(better: dict[str, float], one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether the better of two schemes takes few enough requests for what it is better in."""
    return better["requests"] <= WORTH_REQUESTS * min(one["requests"], other["requests"])


def beaten(before: dict[str, float], after: dict[str, float]) -> str | None:
    """The goal at which the second scheme is better beyond its tolerance, the goals before it being equal within
    theirs."""
    for goal, tolerance in GOALS:
        one, two = before.get(goal, 0.0), after.get(goal, 0.0)
        if goal == "constraints" and min(one, two) > HOPELESS:
            return None
        if goal == "constraints" and min(one, two) > 1 and abs(one - two) > 1e-5 * max(one, two):
            return goal if two < one * (1 - MISSED) else None
        if goal == "constraints" and before.get("missed") != after.get("missed") and one > 0 < two:
            return None  # where all miss the worst of them alike, the next one decides
        if goal == "room" and (one >= 1) != (two >= 1):
            roomy, short = (before, after) if one >= 1 else (after, before)
            if roomy["requests"] <= short["requests"] * _worth_of_room(short):
                return goal if two >= 1 else None
        if goal == "spread reads":  # a share; that of a scheme without room takes nothing from one with room
            if before["room"] >= 1 and two > one + tolerance:
                return None
            if after["room"] >= 1 and one > two + tolerance:
                return goal
        if goal == "spare index rows":
            if _spares(before, after):
                return None
            if _spares(after, before):
                return goal
        if goal in ("room", "spread reads", "spare index rows"):
            continue
        if goal == "sorting" and one != two:
            sizes = [of.get("storage", 0.0) for of in ((before, after) if one < two else (after, before))]
            if sizes[0] > SORTED_BYTES * sizes[1] * (1 + 1e-5):
                continue
        if goal == "break factor":
            tolerance = 0.0 if max(one, two) >= ENOUGH else tolerance
            one, two = -min(one, ENOUGH), -min(two, ENOUGH)
        if goal == "read in vain":
            one, two = max(one, IN_VAIN), max(two, IN_VAIN)
            if not _worth(before if one < two else after, before, after):
                continue
        # A tolerance is a share of the better value: the smaller cost, the larger break factor.
        better, size = min(one, two), max(abs(one), abs(two))
        apart = tolerance * abs(better) + 1e-5 * size
        if abs(one - two) > apart:
            return goal if two < one else None
    return None
