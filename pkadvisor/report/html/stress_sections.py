"""Sections of a stress test: what it comes to, the designs side by side, goals, and each query and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pkadvisor.documents.analysis_scheme import AnalysisClassCost
from pkadvisor.documents.part import Part
from pkadvisor.documents.stress import StressDesign, StressDocument, StressTable, StressValue
from pkadvisor.documents.stress_run import StressClass, StressRun
from pkadvisor.errors import InputError
from pkadvisor.numbers import percent, plural
from pkadvisor.report.html.advice import keys_of, term_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.stress_words import REQUESTS, deployment, keys_stay, missed_goals, next_step, sampled_share

Named = TypeVar("Named", AnalysisClassCost, StressClass)

LEVELS = {
    "bears": ("SUSTAINS THE LOAD", "good"),
    "bursts": ("SUSTAINS THE LOAD, WITH RETRIES IN BURSTS", "warn"),
    "untested": ("NO VERDICT, THE RUN LEAVES OUT WHAT DECIDES", "warn"),
    "fails": ("DOES NOT SUSTAIN THE LOAD", "bad"),
}
"""The headline of a design by how it takes the load, and its mood."""
REASONS = 4
SLOWER = 1.05
"""From so many times its latency on a query is called slower: the same load twice differs by less."""


def limit_of(document: StressDocument, name: str) -> StressValue:
    """A limit of the store; InputError where the document does not hold it."""
    limit = next((limit for limit in document.limits.values if limit.name == name), None)
    if limit is None:
        what = f"is not whole: {name} is missing in limits.values"
        raise InputError(what, fix="made by another version? run it again")
    return limit


def verdict(document: StressDocument, node: StressTable, places: Places) -> Context:
    """The word, the keys that were tried, what they come to beside those in use, and why."""
    if not len(node.designs):
        return Missing("Nothing was run to its end: the test was interrupted. Run it again.")
    word, mood = _headline(document, node)
    first, last = node.designs[0], node.designs[-1]
    before = first if len(node.designs) > 1 else None
    return {
        "word": word,
        "mood": mood,
        "label": last.label,
        "keys": keys_of(last.scheme),
        "was_label": before.label if before else "",
        "was": keys_of(before.scheme) if before else None,
        "tiles": _tiles(document, before, last, places),
        "deployment": deployment(node),
        "counted": REQUESTS if node is document.tables[0] else None,
        "facts": _facts(node, before, last),
        "next_command": next_step(document).partition("   #")[0] if node is document.tables[0] else "",
    }


def _headline(document: StressDocument, node: StressTable) -> tuple[str, str]:
    """How the design that is proposed takes the load, faults, cold start and goals among it."""
    outcome = node.verdict
    word, mood = LEVELS[outcome.level or ("bears" if outcome.bears else "fails")]
    if (share := sampled_share(node)) < 1:
        word = word.replace("THE LOAD", f"THE {percent(share)} OF THE LOAD THAT IS OF PARTITIONS IN THE DATA")
    if document.settings.faults:
        word += " UNDER THESE FAULTS"
    if mood != "bad" and outcome.new_table_bears is False and not keys_stay(node):
        word, mood = f"{word} ONCE IT IS WARMED UP", "warn"
    missed = missed_goals(node)
    if missed:
        word += f"{' AND' if mood == 'bad' else ', BUT'} MISSES {plural(len(missed), 'GOAL').upper()}"
        mood = "bad"
    if outcome.keep_current:
        return f"DO NOT CHANGE THE KEYS: THE NEW ONES SERVE LESS, {word}", "bad"
    if outcome.failed_predictions and mood == "good":
        mood = "warn"  # the sentences say which
    return word, mood


def _tiles(
    document: StressDocument, before: StressDesign | None, last: StressDesign, places: Places
) -> list[dict[str, Any]]:
    """Figures of the keys in use and of those proposed, warmed up."""
    target = limit_of(document, "partition_entities_per_s")
    tiles = []
    for label, unit, of, form, take in _TILES:
        after = take(last)
        if after is None:
            continue
        now = take(before) if before is not None else None
        tiles.append(
            {
                "label": label,
                "unit": unit,
                "of": places.figure(target, "value") if of else None,
                "now": None if now is None else places.figure(*now, form),
                "after": places.figure(*after, form),
            }
        )
    return tiles


Taken = tuple[Part, str] | None
"""A part of the document and the member of it that holds a number."""


def _run(name: str) -> Callable[[StressDesign], Taken]:
    return lambda design: (design.runs[0], name)


def _hottest(design: StressDesign) -> Taken:
    hottest = design.runs[0].hottest
    return (hottest, "times_target") if hottest else None


def _term(name: str) -> Callable[[StressDesign], Taken]:
    def take(design: StressDesign) -> Taken:
        term = term_of(design.scheme, name)
        return (term, "value") if term else None

    return take


_TILES: tuple[tuple[str, str, bool, str, Callable[[StressDesign], Taken]], ...] = (
    ("Hottest partition", "simulated, with retries, of a partition's target of", True, "ratio", _hottest),
    ("Throttled (503)", "of attempts", False, "percent", _run("throttled_share")),
    ("Lost requests", "of requests, retries given up", False, "percent", _run("lost_share")),
    ("p99 latency", "retries included", False, "latency", _run("latency_ms_p99")),
    (
        "Breaks at",
        "today's load, as the limit that growth reaches first",
        False,
        "breaks",
        _term("smallest break factor"),
    ),
    ("Cost", "USD a month", False, "amount", _term("price")),
)


def _facts(node: StressTable, before: StressDesign | None, last: StressDesign) -> list[tuple[str, str]]:
    """What was found, and what of the keys explains it."""
    facts = [("", sentence) for sentence in node.verdict.sentences]
    for design in (before, last):
        if design is not None:
            broken = design.scheme.violations[:REASONS]
            # what would help is said of the keys that are proposed: they are the help for the others
            facts += [(design.label, v.message if design is last else v.message.partition("; ")[0]) for v in broken]
    return facts


# -- designs side by side ----------------------------------------------------------------------------------------------


def columns(node: StressTable) -> list[tuple[str, StressDesign, StressRun]]:
    """(head, design, run) of every run, in the order of the document."""
    return [(f"{d.label}, {r.state}", d, r) for d in node.designs for r in d.runs]


_OF_RUN: tuple[tuple[str, str, str], ...] = (
    ("offered, requests/s", "offered_requests_per_s", "amount"),
    ("served, requests/s", "served_requests_per_s", "amount"),
    ("attempts at the store", "attempts", "whole"),
    ("throttled (503) in this run, of attempts", "throttled_share", "percent"),
    ("conflicts (412), attempts", "conflicts", "whole"),
    ("timed out (500), attempts", "timed_out", "whole"),
    ("lost, of requests", "lost_share", "percent"),
    ("p50 latency", "latency_ms_p50", "latency"),
    ("p99 latency", "latency_ms_p99", "latency"),
    ("p99.9 latency", "latency_ms_p99_9", "latency"),
)
_OF_SCHEME = (
    ("operations at the store, /s mean", "requests", "amount"),
    ("entities counted, /s mean", "entities counted", "amount"),
    ("stored, bytes an entity", "stored", "amount"),
    ("breaks at, x today's load", "smallest break factor", "breaks"),
    ("storage, USD a month", "price of storage", "amount"),
    ("operations, USD a month", "price of requests", "amount"),
    ("cost, USD a month", "price", "amount"),
)


def designs(document: StressDocument, node: StressTable, places: Places) -> Context:
    """The keys of each design and what each of its runs came to."""
    if not len(node.designs):
        return Missing("No design was run to its end.")
    runs = columns(node)
    every = node.designs
    return {
        "designs": [{"label": d.label, "keys": keys_of(d.scheme)} for d in every],
        "runs": runs,
        "of_run": _OF_RUN,
        "costs": [
            (label, form, terms)
            for label, name, form in _OF_SCHEME
            if any(terms := [term_of(design.scheme, name) for design in every])
        ],
        "quiet": [head for head, _, run in runs if not run.throttled],
    }


# -- goals -------------------------------------------------------------------------------------------------------------


def goals(document: StressDocument, node: StressTable, places: Places) -> Context:
    """Every goal with what each design comes to, the missed ones of the proposed design first."""
    if not node.goals:
        return Missing("No goal was asked for: add --slo p99=50ms, or a p99 to a query of the design file.")
    missed = missed_goals(node)
    every = sorted(node.goals, key=lambda goal: goal not in missed)
    return {
        "missed": len(missed),
        "goals": every,
        "labels": [design.label for design in node.designs],
        "forms": FORM,
    }


FORM = {"ms": "latency", "share": "percent"}
"""How a goal of a unit is written."""


# -- queries and writes ------------------------------------------------------------------------------------------------


def queries(document: StressDocument, node: StressTable, places: Places) -> Context:
    """Each query and write under each design, warmed up; those that get worse first."""
    every = node.designs
    if not every:
        return Missing("No design was run to its end.")
    entries = [(name, [_named(design.runs[0].classes, name) for design in every]) for name in node.classes]
    entries.sort(key=lambda entry: not _slower(entry[1]))
    shown = [
        (name, design, entry, _named(design.scheme.classes, name), entry is of_design[-1] and _slower(of_design))
        for name, of_design in entries
        for design, entry in zip(every, of_design, strict=True)
        if entry is not None
    ]
    worse = [name for name, of_design in entries if _slower(of_design)]
    return {"worse": worse, "count": len(entries), "compared": len(every) > 1, "shown": shown}


def _named(classes: Sequence[Named], name: str) -> Named | None:
    return next((each for each in classes if each.name == name), None)


def _slower(of_design: list[StressClass | None]) -> bool:
    """Whether a query is slower at p99 under the proposed keys than under those in use, or loses more requests."""
    first, last = of_design[0], of_design[-1]
    if first is None or last is None or len(of_design) < 2:
        return False
    before, after = first.latency_ms_p99, last.latency_ms_p99
    slower = before is not None and after is not None and after > SLOWER * before
    return slower or last.lost_share > first.lost_share
