"""The law *counted*: on complete data every printed count of any scheme equals the truth.

What is held against the printed document, for every scheme that it prints (recommended, in use, runners-up, and those
drawn for the world): entities read (mean and greatest), entities returned, requests, requests to locate, entities
written, the hottest partition, sums over all classes, and that the printed requests bring every matching entity.

Conventions that the README states: an answer reads at least one entity; a page holds 1,000; a scan over several
partitions is charged one continuation; an index row is written where what it is looked up by is present; a class marked
``analytic`` is no part of the load. Printed numbers have six digits: ``DIGITS``.

Not held exactly, with the reason: a figure that notes an upper bound must only be one; where ``$top`` stops a request
whose rows the key does not select alone the document says *estimated* (see ``stops``); attempts of a read-modify-write
follow from assumed latencies and widen the figures by their share; ties under Zipf's law leave open which group is
asked for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.worlds.answers import Answers
from tests.worlds.law.complete import missing_rows
from tests.worlds.model import Asked, Kind, Scheme, World
from tests.worlds.requests import Plan, Requests, TooManyError, plan_of
from tests.worlds.rows import Layout, lay_out
from tests.worlds.running import Document, analyzed, scheme_of, schemes_of
from tests.worlds.truth import Broken, Counting
from tests.worlds.writes import Written, reads_entity, written_by

NAME = "counted"
DIGITS = 1.1e-5
"""Relative: half a unit of the sixth digit at worst, and sums of such figures."""
CONTENDED = 10.0
"""An entity that is asked for more often than the mean takes more attempts than the mean, up to so many times."""
UPPER = "upper bound"


class ClassTruth:
    """The true means of one class under one scheme."""

    def __init__(self, plan: Plan | None, layout: Layout, answers: Answers, written: Written) -> None:
        self.plan, self.answers, self.written = plan, answers, written
        self.read = self.returned = self.requests = self.sent = 0.0
        self.read_max = 0
        self.load: Counter[str] = Counter()
        self.counting = None if plan is None else Counting(Requests(plan, layout), answers)
        if self.counting is None:
            return
        for instance in answers.instances:
            found = self.counting.count(instance)
            weight = instance.weight
            self.read += weight * found.read
            self.read_max = max(self.read_max, found.read)
            self.returned += weight * found.returned
            self.requests += weight * found.requests
            self.sent += weight * found.sent
            for partition, entities in found.load.items():
                self.load[partition] += weight * entities


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Every figure of a world that is not the true one."""
    document = analyzed(world, folder)
    answers: dict[str, Answers] = {}
    for table in document["tables"]:
        kind = world.kind(table["kind"]) if table["kind"] else world.kinds[0]
        for printed in schemes_of(table):
            for found in judged(world, kind, printed, answers):
                found.keys = scheme_of(printed)
                yield found


def judged(world: World, kind: Kind, printed: Document, answers: dict[str, Answers]) -> Iterator[Broken]:
    """The figures of one printed scheme."""
    scheme = scheme_of(printed)
    layout = lay_out(kind, scheme)
    if not layout.unique:
        if not any(v["code"] == "not-unique" for v in printed["violations"]):
            yield Broken(NAME, "two rows share a key and nothing says so", scheme.text, "unique", "not unique")
        return
    if any(v["code"] == "not-unique" for v in printed["violations"]) and _main_unique(layout):
        yield Broken(NAME, "unique keys are called not unique", scheme.text, "not unique", "unique")
    truths: dict[str, tuple[Asked, ClassTruth, Document]] = {}
    uncounted = False
    for each in printed["classes"]:
        asked = next(a for a in world.asked if a.name == each["name"])
        mine = answers.setdefault(asked.name, Answers(asked, kind))
        if not mine.instances:  # nobody can ask: every entity of the draw misses a parameter
            uncounted = True
            continue
        plan = plan_of(asked, each) if each["filters"] else None
        try:
            truth = ClassTruth(
                plan, layout, mine, written_by(asked, layout, mine, plan, grouped=_grouped(world, asked))
            )
        except TooManyError:
            uncounted = True
            continue
        truths[asked.name] = (asked, truth, each)
        wrong = list(_class(asked, scheme, truth, each, layout))
        uncounted = uncounted or bool(wrong)  # a load that follows from a wrong figure tells nothing new
        yield from wrong
    if not uncounted:
        yield from _table(world, kind, scheme, truths, printed)


def _grouped(world: World, asked: Asked) -> bool:
    return any(asked.name in t.together for t in world.transactions)


def _main_unique(layout: Layout) -> bool:
    keys = [(r.partition, r.row) for r in layout.rows if r.via == 0]
    return len(set(keys)) == len(keys)


def close(printed: float, true: float, wider: float = 0.0) -> bool:
    """Whether a printed figure is the true one, to six digits."""
    return abs(printed - true) <= DIGITS * max(abs(true), 1e-6) + wider * abs(true)


def stops(plan: Plan) -> bool:
    """Whether ``$top`` ends a request that filters on its way: what it reads is printed as *estimated*."""
    return plan.top is not None and bool(plan.conditions)


def _class(asked: Asked, scheme: Scheme, truth: ClassTruth, printed: Document, layout: Layout) -> Iterator[Broken]:
    def wrong(what: str, name: str, true: float) -> Broken:
        return Broken(NAME, f"{asked.name}: {what}", scheme.text, printed[name], float(f"{true:.6g}"), truth.plan)

    bounded = any(UPPER in note for note in printed["notes"])
    wider = CONTENDED * abs(printed["attempts_per_commit"] - 1)
    if truth.plan is not None and truth.counting is not None:
        yield from missing_rows(asked, layout, truth.counting, scheme)
    if asked.operation == "query":
        plan = truth.plan
        assert plan is not None
        if truth.answers.tied:
            return
        if bounded:
            if printed["entities_returned"] < truth.returned * (1 - DIGITS):
                yield wrong("entities returned, an upper bound", "entities_returned", truth.returned)
        elif not close(printed["entities_returned"], truth.returned):
            yield wrong("entities returned", "entities_returned", truth.returned)
        if not stops(plan) and not (bounded and plan.follows):
            if not close(printed["entities_read"], truth.read):
                yield wrong("entities read", "entities_read", truth.read)
            if not close(printed["entities_read_max"], truth.read_max):
                yield wrong("entities read at most", "entities_read_max", truth.read_max)
            if not close(printed["requests"], truth.requests):
                yield wrong("requests", "requests", truth.requests)
        if not close(printed["fan_out"], truth.sent):
            yield wrong("fan-out", "fan_out", truth.sent)
        return
    found = truth.written
    if truth.plan is not None and truth.plan.follows != reads_entity(asked, layout, truth.plan):
        yield Broken(NAME, f"{asked.name}: reads the entity", scheme.text, truth.plan.follows, not truth.plan.follows)
        return
    if not close(printed["entities_written"], found.rows * asked.entities_per_request):
        yield wrong("entities written", "entities_written", found.rows * asked.entities_per_request)
    if truth.answers.tied or found.requests is None:
        return
    locating = truth.requests if found.located else 0.0
    if not close(printed["requests_locate"], locating, wider):
        yield wrong("requests to locate", "requests_locate", locating)
    if not close(printed["entities_read"], truth.read if found.located else 0.0, wider):
        yield wrong("entities read", "entities_read", truth.read if found.located else 0.0)
    if not close(printed["requests"], locating + found.requests, wider):
        yield wrong("requests", "requests", locating + found.requests)


# -- the table --------------------------------------------------------------------------------------------------------


def hours(world: World) -> list[dict[str, float]]:
    """Rates of all classes in each hour of the day: a class with declared hours has its peak only then."""
    out = []
    for hour in range(24):
        rates = {}
        for asked in world.asked:
            begin, end = asked.peak_at or (0, 24)
            inside = begin <= hour < end if begin < end else hour >= begin or hour < end
            rates[asked.name] = (asked.peak or asked.rate) if inside else asked.rate
        out.append(rates)
    return out


def _table(
    world: World, kind: Kind, scheme: Scheme, truths: dict[str, tuple[Asked, ClassTruth, Document]], printed: Document
) -> Iterator[Broken]:
    """Sums over the classes, and the hottest partition."""
    hot = printed["hot_partition"]
    if hot is None or any(skipped(t) for t in truths.values()):
        return
    best, at = 0.0, ""
    for rates in hours(world):
        load: Counter[str] = Counter()
        for asked, truth, _ in truths.values():
            if asked.analytic:
                continue
            reading = asked.operation == "query" or truth.written.located
            for partition, entities in truth.load.items() if reading else ():
                load[partition] += rates[asked.name] * entities
            for partition, entities in truth.written.load.items():
                load[partition] += rates[asked.name] * entities * asked.entities_per_request
        for partition, entities in load.items():
            if entities > best:
                best, at = entities, partition
    wider = max((CONTENDED * abs(e["attempts_per_commit"] - 1) for _, _, e in truths.values()), default=0.0)
    if not close(hot["entities_per_s_peak"], best, wider):
        yield Broken(
            NAME, "hottest partition", scheme.text,
            f"{hot['entities_per_s_peak']} at {hot['partition_key']!r}", f"{best:.6g} at {at!r}",
        )  # fmt: skip


def skipped(found: tuple[Asked, ClassTruth, Document]) -> bool:
    """Whether what one class puts on partitions is not known exactly (see the head of this module)."""
    _, truth, printed = found
    plan: Any = truth.plan
    estimated = plan is not None and (stops(plan) or (plan.follows and any(UPPER in n for n in printed["notes"])))
    return estimated or truth.answers.tied or truth.written.moves
