"""Sections of a comparison: what the change comes to, every measure with its difference, and each query and write."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.documents.comparison import ComparisonClass, ComparisonDocument, ComparisonMeasure, ComparisonTable
from pkadvisor.numbers import plural
from pkadvisor.report.html.advice import grounds_of
from pkadvisor.report.html.place import Context, Missing, Places

TILES = (
    ("Hottest partition at the peak", "hottest partition at peak", "amount", "entities/s"),
    ("Slowest query against its goal", "latency against goal", "ratio", "the p99 that is wanted"),
    ("Throttled at the peak", "throttled at peak", "percent", "of attempts"),
    ("Breaks at", "smallest break factor", "breaks", "today's peak"),
    ("Entities counted", "entities counted", "amount", "entities/s"),
    ("Cost", "price", "amount", "USD a month"),
)
LIMITLESS = ("smallest break factor", "break factor", "horizon")
"""Measures of which null is no gap but no limit."""


def verdict(_: ComparisonDocument, node: ComparisonTable, places: Places) -> Context:
    """Which keys replace which, whether anything got worse, and what is broken or mended."""
    old, new = node.old, node.new
    if not old or not new:
        where = "the newer file" if not old else "the older file"
        return Missing(f"This table is only in {where}: there is nothing to compare it with.")
    worse = [m for m in node.measures if m.worse]
    slower = [c for c in node.classes if c.worse]
    word, mood = _word(node, worse, slower)
    return {
        "word": word,
        "mood": mood,
        "old": old,
        "new": new,
        "same_keys": old == new,
        "tiles": [(tile, m) for tile in TILES for m in node.measures if m.name == tile[1]],
        "added": node.violations.added,
        "gone": node.violations.gone,
        "causes": _causes(node),
        "worse": [m.name for m in worse],
        "slower": [c.name for c in slower],
        "rests_on": _rests_on(node),
    }


def _rests_on(node: ComparisonTable) -> list[tuple[str, list[dict[str, Any]]]]:
    """What the figures of either side rest on; once where both rest on the same."""
    old, new = (grounds_of(side) for side in (node.grounds.old, node.grounds.new))
    both = [("old and new", new)] if old == new else [("old", old), ("new", new)]
    return [(name, grounds) for name, grounds in both if grounds]


def _word(node: ComparisonTable, worse: list[ComparisonMeasure], slower: list[ComparisonClass]) -> tuple[str, str]:
    if slower:
        return "A QUERY OR WRITE COSTS MORE" if len(
            slower
        ) == 1 else f"{len(slower)} QUERIES OR WRITES COST MORE", "bad"
    if worse:
        return f"{plural(len(worse), 'measure')} got worse".upper(), "warn"
    if node.violations.added:
        return "NOTHING GOT WORSE, BUT A LIMIT IS BROKEN", "warn"
    if not changed(node) and not node.classes:
        return "NO DIFFERENCE", "good"
    return "NOTHING GOT WORSE", "good"


def changed(node: ComparisonTable) -> list[ComparisonMeasure]:
    """The measures that differ, the ones that got worse first."""
    moved = [m for m in node.measures if m.old != m.new]
    return sorted(moved, key=lambda measure: not measure.worse)


def _causes(node: ComparisonTable) -> list[tuple[str, str]]:
    """What each design runs into first."""
    causes = node.first_break_cause
    return [(side, cause) for side, cause in (("old", causes.old), ("new", causes.new)) if cause]


# -- measures ----------------------------------------------------------------------------------------------------------


def measures(_: ComparisonDocument, node: ComparisonTable, places: Places) -> Context:
    """Every measure with its difference: what got worse first, what stayed the same folded."""
    if not node.old or not node.new:
        return Missing("This table is in one of the two only.")
    moved = changed(node)
    same = [m for m in node.measures if m.old == m.new]
    return {
        "worse": sum(1 for m in moved if m.worse),
        "moved": moved,
        "count": len(node.measures),
        "same": same,
        "limitless": LIMITLESS,
    }


# -- queries and writes ------------------------------------------------------------------------------------------------


def queries(_: ComparisonDocument, node: ComparisonTable, places: Places) -> Context:
    """Queries and writes that are served otherwise, the ones that cost more first."""
    if not node.old or not node.new:
        return Missing("This table is in one of the two only.")
    if not node.classes:
        return Missing("Every query and write is served the same way, at the same cost.")
    return {
        "worse": [entry.name for entry in node.classes if entry.worse],
        "classes": sorted(node.classes, key=lambda each: not each.worse),
    }


# -- method ------------------------------------------------------------------------------------------------------------


def method(document: ComparisonDocument, places: Places) -> Context:
    """What both are priced on, and where they declare something else."""
    workload = document.workload
    of = {"log": "the log", "old": document.old, "new": document.new}[workload.of] if workload else ""
    return {"of": of, "differs": workload.differs if workload else []}


def reproduce(document: ComparisonDocument, places: Places) -> Context:
    """The command, the version, and the files by their content."""
    files = document.files
    parts = ["advisor", "compare", document.old, document.new]
    if document.workload:
        named = {role: [f.name for f in files if f.role == role] for role in ("data", "log", "profile")}
        parts += named["data"]
        parts += [piece for role in ("log", "profile") for name in named[role] for piece in (f"--{role}", name)]
    return {
        "command": shlex.join(parts),
        "files": files,
    }
