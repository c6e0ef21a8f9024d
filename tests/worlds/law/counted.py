"""The law *counted*: on complete data every printed count of any scheme equals the truth.

What is compared with the printed document, for every scheme that it prints (recommended, in use, runners-up, and those
drawn for the world): entities read (mean and greatest), entities returned, requests, requests to locate, entities
written, the hottest partition, sums over all classes, and that the printed requests bring every matching entity.

Conventions that the manual states: an answer reads at least one entity; a page holds 1,000; a scan over several
partitions is charged one continuation; an index row is written where what it is looked up by is present; a class marked
``analytic`` is no part of the load. Printed numbers have six digits: ``DIGITS``.

Not held exactly, with the reason: a figure that notes an upper bound must only be one; where ``$top`` stops a request
whose rows the key does not select alone the document says *estimated* (see ``stops``); attempts of a read-modify-write
follow from assumed latencies and widen the figures by their share; ties under Zipf's law leave open which group is
asked for more. The account serves all kinds, the others at their recommended keys, and at those in use beside keys in
use: where the requests of one of them cannot be counted, the account's load is not held; what transactions over several
kinds save enters it as printed, and beside keys in use nothing is held where there are such. Loads of several kinds on
one partition are held by cases (``tests/cli/test_kind_keys.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.worlds.answers import Answers
from tests.worlds.law.complete import missing_rows
from tests.worlds.law.totals import Figures, breaks, load_of, terms, worst
from tests.worlds.model import Asked, Kind, Scheme, World
from tests.worlds.other_kinds import OtherRows
from tests.worlds.requests import Plan, Requests, TooManyError, plan_of
from tests.worlds.rows import Layout, lay_out
from tests.worlds.running import Document, analyzed, scheme_of, schemes_of
from tests.worlds.sets import declared, pairs_together
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

    def __init__(
        self,
        plan: Plan | None,
        layout: Layout,
        answers: Answers,
        written: Written,
        others: OtherRows | None = None,
    ) -> None:
        self.plan, self.answers, self.written = plan, answers, written
        self.read = self.returned = self.requests = self.sent = 0.0
        self.read_max = 0
        self.load: Counter[str] = Counter()
        self.counting = None if plan is None else Counting(Requests(plan, layout), answers, others)
        if self.counting is None:
            return
        runs = Counter[tuple[int, int]]()
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
            for run in found.runs:
                runs[run] += weight  # type: ignore[assignment]
        self.load.update(self.counting.spread(runs))


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Every figure of a world that is not the true one."""
    document = analyzed(world, folder)
    yield from _shared_keys(world, document)
    answers: dict[str, Answers] = {}
    recommended, in_use = (Others(world, document, answers, in_use=today) for today in (False, True))
    for table in document["tables"]:
        kind = world.kind(table["kind"]) if table["kind"] else world.kinds[0]
        for printed in schemes_of(table):
            others = in_use if printed is table["current"] else recommended
            for found in judged(world, kind, printed, answers, others):
                found.keys = scheme_of(printed)
                yield found


def _shared_keys(world: World, document: Document) -> Iterator[Broken]:
    """That keys in use which rows of two kinds have are told, and no others."""
    layouts = {k.name: lay_out(k, k.current) for k in world.kinds if k.current is not None}
    keys = {name: {(r.partition, r.row) for r in layout.rows} for name, layout in layouts.items()}
    for table in document["tables"] if len(layouts) == len(world.kinds) else ():
        name = str(table["kind"])
        if not all(layout.unique for layout in layouts.values()) or table["current"] is None:
            continue
        shared = any(keys[name] & other for kind, other in keys.items() if kind != name)
        told = any(v["code"] == "not-unique" for v in table["current"]["violations"])
        if shared != told:
            yield Broken(NAME, f"keys of {name} that rows of other kinds have", layouts[name].scheme.text, told, shared)


class Others:
    """What the other kinds ask of the account beside a scheme of one kind: each at its recommended keys, or ``in_use``
    at those that it has."""

    def __init__(self, world: World, document: Document, answers: dict[str, Answers], *, in_use: bool = False) -> None:
        self._world, self._answers = world, answers
        self._unknown = in_use and bool(document["arrangements"])
        self._keys = {
            t["kind"]: (t["current"] if in_use else None) or t["recommended"] for t in document["tables"] if t["kind"]
        }
        loads = document["account"]["loads"] if document["account"] else []
        self.saved_per_s: float = sum(a["saved_per_s"] for a in loads if a["cause"] == "the account's requests")
        """As printed: what group transactions over several kinds save is not counted here."""
        self._figures: dict[str, list[Figures] | None] = {}

    def beside(self, kind: Kind) -> list[Figures] | None:
        """The classes of all other kinds; None where those of one cannot be told."""
        out: list[Figures] = []
        if self._unknown:
            return None
        for other in self._world.kinds:
            if other.name != kind.name:
                if other.name not in self._figures:
                    self._figures[other.name] = self._of(other)
                found = self._figures[other.name]
                if found is None:
                    return None
                out += found
        return out

    def shares(self, kind: Kind, scheme: Scheme) -> bool:
        """Whether rows of another kind lie under a PartitionKey of a scheme, at keys in use or recommended ones."""
        theirs = {
            key[0]
            for other in self._world.kinds
            if other.name != kind.name
            for keys in (other.current, scheme_of(self._keys[other.name]) if self._keys.get(other.name) else None)
            for key in (keys.each_key() if keys is not None else ())
        }
        return bool(theirs & {key[0] for key in scheme.each_key()})

    def _of(self, kind: Kind) -> list[Figures] | None:
        printed = self._keys.get(kind.name)
        layout = lay_out(kind, scheme_of(printed)) if printed is not None else None
        if printed is None or layout is None or not layout.unique:
            return None
        out = []
        for each in printed["classes"]:
            counted = _truth(self._world, kind, each, layout, self._answers)
            if counted is None:
                return None
            out.append(_figures(*counted, each))
        return out


def _truth(
    world: World, kind: Kind, printed: Document, layout: Layout, answers: dict[str, Answers]
) -> tuple[Asked, ClassTruth] | None:
    """The truth of one printed class; None where nobody can ask (every entity of the draw misses a parameter) or the
    requests are too many to follow."""
    asked = next(a for a in world.asked if a.name == printed["name"])
    mine = answers.setdefault(asked.name, Answers(asked, kind))
    if not mine.instances:
        return None
    plan = plan_of(asked, printed) if printed["filters"] else None
    try:
        written = written_by(asked, layout, mine, plan, declared(asked, world))
        return asked, ClassTruth(plan, layout, mine, written, OtherRows(world, kind))
    except TooManyError:
        return None


def judged(
    world: World, kind: Kind, printed: Document, answers: dict[str, Answers], others: Others
) -> Iterator[Broken]:
    """The figures of one printed scheme."""
    scheme = scheme_of(printed)
    layout = lay_out(kind, scheme)
    if not layout.unique:
        if not any(v["code"] == "not-unique" for v in printed["violations"]):
            yield Broken(NAME, "two rows share a key and nothing says so", scheme.text, "unique", "not unique")
        return
    kinds_share = any(k.current is not None for k in world.kinds)  # see ``_shared_keys``
    if any(v["code"] == "not-unique" for v in printed["violations"]) and _main_unique(layout) and not kinds_share:
        yield Broken(NAME, "unique keys are called not unique", scheme.text, "not unique", "unique")
    truths: dict[str, tuple[Asked, ClassTruth, Document]] = {}
    uncounted = False
    for each in printed["classes"]:
        counted = _truth(world, kind, each, layout, answers)
        if counted is None:
            uncounted = True
            continue
        asked, truth = counted
        truths[asked.name] = (asked, truth, each)
        wrong = list(_class(asked, scheme, truth, each, layout))
        uncounted = uncounted or bool(wrong)  # a load that follows from a wrong figure tells nothing new
        yield from wrong
    yield from _pairs(world, kind, printed, scheme)
    if not uncounted:
        yield from _table(world, kind, scheme, truths, printed, layout, others)


def _pairs(world: World, kind: Kind, printed: Document, scheme: Scheme) -> Iterator[Broken]:
    """The share of the pairs that the PartitionKey keeps in one partition, and that a required one is refused."""
    written = {a.name for a in world.asked if a.kind == kind.name}
    mine = [t for t in world.transactions if t.pair and set(t.together) <= written]
    shares = {t.name: s for t in mine if (s := pairs_together(kind, t, scheme.partition)) is not None}
    if not shares:
        return
    shown = next((t["value"] for t in printed["terms"] if t["name"] == "pairs in one partition"), None)
    if shown is None or not close(shown, 100 * min(shares.values())):
        yield Broken(NAME, "pairs in one partition", scheme.text, shown, 100 * min(shares.values()))
    refused = any(v["code"] == "transaction-broken" for v in printed["violations"])
    apart = any(t.required and shares.get(t.name, 1.0) < 1 for t in mine)
    if apart != refused:
        yield Broken(NAME, "a required pair in two partitions is refused", scheme.text, refused, apart)


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
    if truth.answers.tied:
        return
    if not close(printed["entities_written"], found.rows * asked.entities_per_request):
        yield wrong("entities written", "entities_written", found.rows * asked.entities_per_request)
    if found.requests is None:
        return
    locating = truth.requests if found.located else 0.0
    if not close(printed["requests_locate"], locating, wider):
        yield wrong("requests to locate", "requests_locate", locating)
    if not close(printed["entities_read"], truth.read if found.located else 0.0, wider):
        yield wrong("entities read", "entities_read", truth.read if found.located else 0.0)
    if not close(printed["requests"], locating + found.requests, wider):
        yield wrong("requests", "requests", locating + found.requests)


# -- the table --------------------------------------------------------------------------------------------------------


def _figures(asked: Asked, truth: ClassTruth, printed: Document) -> Figures:
    """What a class adds to the sums: the truth where it is held, else what is printed."""
    plan, written = truth.plan, truth.written
    values = {
        "requests": printed["requests"],
        "requests to locate": printed["requests_locate"],
        "entities read": printed["entities_read"],
        "entities written": printed["entities_written"],
    }
    reads = asked.operation == "query" or written.located
    held = written.requests is not None and printed["attempts_per_commit"] == 1 and not truth.answers.tied
    if held and not (plan is not None and stops(plan)) and not any(UPPER in n for n in printed["notes"]):
        locating = truth.requests if written.located else 0.0
        values = {
            "requests": truth.requests if asked.operation == "query" else locating + (written.requests or 0.0),
            "requests to locate": locating,
            "entities read": truth.read if reads else 0.0,
            "entities written": written.rows * asked.entities_per_request,
        }
    grows = plan is not None and plan.access != "point" and not (plan.top is not None and not plan.conditions)
    several = truth.answers.most > 1 and asked.operation in ("update", "delete")
    load = {p: n * asked.entities_per_request for p, n in written.load.items()}
    return Figures(asked, values, truth.load if reads else {}, load, (grows, several))


def _table(
    world: World,
    kind: Kind,
    scheme: Scheme,
    truths: dict[str, tuple[Asked, ClassTruth, Document]],
    printed: Document,
    layout: Layout,
    others: Others,
) -> Iterator[Broken]:
    """Sums over the classes, the hottest partition, and what follows from them."""
    figures = [_figures(*found) for found in truths.values()]
    wider = max((CONTENDED * abs(e["attempts_per_commit"] - 1) for _, _, e in truths.values()), default=0.0)

    def wrong(what: str, shown: object, true: object) -> Broken:
        return Broken(NAME, what, scheme.text, shown, true)

    for name, shown, true in terms(printed, layout, figures, world):
        if not close(shown, true):
            yield wrong(name, shown, float(f"{true:.6g}"))
    hot = printed["hot_partition"]
    if hot is None or any(skipped(t) for t in truths.values()) or others.shares(kind, scheme):
        return
    best, at = worst(figures, world, lambda still, grown: still + grown)
    if not close(hot["entities_per_s_peak"], best, wider):
        yield wrong(
            "hottest partition", f"{hot['entities_per_s_peak']} at {hot['partition_key']!r}", f"{best:.6g} at {at!r}"
        )
        return
    if wider == 0 and not any(f.values["requests"] == 0 for f in figures):
        mine = load_of(figures, world, hot["partition_key"])
        if not close(mine, best):
            yield wrong("hottest partition, by name", hot["partition_key"], at)
    for name, shown, true in breaks(printed, figures, world, others.beside(kind), others.saved_per_s):
        if not close(shown, true, wider):
            yield wrong(name, shown, float(f"{true:.6g}"))


def skipped(found: tuple[Asked, ClassTruth, Document]) -> bool:
    """Whether what one class puts on partitions is not known exactly (see the head of this module)."""
    _, truth, printed = found
    plan: Any = truth.plan
    estimated = plan is not None and (stops(plan) or (plan.follows and any(UPPER in n for n in printed["notes"])))
    return estimated or truth.answers.tied or truth.written.moves
