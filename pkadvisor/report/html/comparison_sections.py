"""Sections of a comparison: what the change comes to, every measure with its difference, and each query and write."""

from __future__ import annotations

import shlex
from typing import Any

from pkadvisor.numbers import plural
from pkadvisor.report.html.advice import grounds_of
from pkadvisor.report.html.place import At, Context, Missing
from pkadvisor.report.html.stress_method import files_table
from pkadvisor.report.html.tables import Cell, Table, figure, mark, table, together, words

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


def verdict(_: At, node: At) -> Context:
    """Which keys replace which, whether anything got worse, and what is broken or mended."""
    old, new = node["old"], node["new"]
    if not old or not new:
        where = "the newer file" if not old else "the older file"
        return Missing(f"This table is only in {where}: there is nothing to compare it with.")
    worse = [m for m in node["measures"] if m["worse"].flag]
    slower = [c for c in node["classes"] if c["worse"].flag]
    word, mood = _word(node, worse, slower)
    return {
        "word": word,
        "mood": mood,
        "old": old.text,
        "new": new.text,
        "same_keys": old.value == new.value,
        "tiles": _tiles(node),
        "added": [message.text for message in node["violations"]["added"]],
        "gone": [message.text for message in node["violations"]["gone"]],
        "causes": _causes(node),
        "worse": [m["name"].text for m in worse],
        "slower": [c["name"].text for c in slower],
        "rests_on": _rests_on(node),
    }


def _rests_on(node: At) -> list[tuple[str, list[dict[str, Any]]]]:
    """What the figures of either side rest on; once where both rest on the same."""
    sides = node.maybe("grounds")
    if sides is None:
        return []
    old, new = (grounds_of(sides[side]) for side in ("old", "new"))
    both = [("old and new", new)] if old == new else [("old", old), ("new", new)]
    return [(name, grounds) for name, grounds in both if grounds]


def _word(node: At, worse: list[At], slower: list[At]) -> tuple[str, str]:
    if slower:
        return "A QUERY OR WRITE COSTS MORE" if len(
            slower
        ) == 1 else f"{len(slower)} QUERIES OR WRITES COST MORE", "bad"
    if worse:
        return f"{plural(len(worse), 'measure')} got worse".upper(), "warn"
    if node["violations"]["added"]:
        return "NOTHING GOT WORSE, BUT A LIMIT IS BROKEN", "warn"
    if not changed(node) and not len(node["classes"]):
        return "NO DIFFERENCE", "good"
    return "NOTHING GOT WORSE", "good"


def changed(node: At) -> list[At]:
    """The measures that differ, the ones that got worse first."""
    moved = [m for m in node["measures"] if m["old"].value != m["new"].value]
    return sorted(moved, key=lambda measure: not measure["worse"].flag)


def _causes(node: At) -> list[tuple[str, str]]:
    """What each design runs into first."""
    causes = node.maybe("break_cause")
    if causes is None:
        return []
    return [(side, causes[side].text) for side in ("old", "new") if causes[side]]


def _tiles(node: At) -> list[dict[str, Any]]:
    tiles = []
    for label, name, form, unit in TILES:
        measure = node["measures"].find("name", name)
        if measure is None:
            continue
        tiles.append(
            {
                "label": label,
                "unit": unit,
                "old": measure["old"].figure(form),
                "new": measure["new"].figure(form),
                "change": _change(measure),
                "worse": measure["worse"].flag,
            }
        )
    return tiles


def _change(measure: At) -> Any:
    """The difference as a share of the older value; None where there is none."""
    change = measure.maybe("change")
    return None if change is None or change.value is None or not change.number else change.figure("signed")


# -- measures ----------------------------------------------------------------------------------------------------------


def measures(_: At, node: At) -> Context:
    """Every measure with its difference: what got worse first, what stayed the same folded."""
    if not node["old"] or not node["new"]:
        return Missing("This table is in one of the two only.")
    moved = changed(node)
    same = [m for m in node["measures"] if m["old"].value == m["new"].value]
    return {
        "worse": sum(1 for m in moved if m["worse"].flag),
        "moved": len(moved),
        "count": len(node["measures"]),
        "table": _measures("Measures that differ", moved),
        "same": _measures("Measures that are the same", same),
        "same_count": len(same),
    }


def _measures(caption: str, entries: list[At]) -> Table:
    rows = [
        (
            words(entry["name"].text),
            _value(entry, "old"),
            _value(entry, "new"),
            words(entry["unit"].text),
            figure(_change(entry)),
            mark("worse", "bad") if entry["worse"].flag else words(""),
        )
        for entry in entries
    ]
    heads = ("Measure", "Old", "New", "Unit", "Difference", "Verdict")
    return table(caption, heads, rows, numeric=(1, 2, 4), sorts=True)


def _value(entry: At, side: str) -> Cell:
    """A value; a factor that is never reached is no gap."""
    if entry[side].value is None and entry["name"].text not in LIMITLESS:
        return words("none")
    return figure(entry[side].figure("breaks" if entry["name"].text in LIMITLESS else "amount"))


# -- queries and writes ------------------------------------------------------------------------------------------------


def queries(_: At, node: At) -> Context:
    """Queries and writes that are served otherwise, the ones that cost more first."""
    if not node["old"] or not node["new"]:
        return Missing("This table is in one of the two only.")
    if not len(node["classes"]):
        return Missing("Every query and write is served the same way, at the same cost.")
    rows: list[list[Cell]] = []
    for entry in sorted(node["classes"], key=lambda each: not each["worse"].flag):
        rows += [_served(entry, side) for side in ("old", "new")]
    heads = ("Query or write", "Keys", "How", "Requests", "Entities counted", "Returned", "p99", "Rate", "Verdict")
    return {
        "worse": [entry["name"].text for entry in node["classes"] if entry["worse"].flag],
        "count": len(node["classes"]),
        "queries": table("Queries and writes", heads, rows, numeric=range(3, 8)),
    }


def _served(entry: At, side: str) -> list[Cell]:
    verdict_ = mark("worse", "bad") if side == "new" and entry["worse"].flag else words("")
    node = entry[side]
    if not node:
        gap = [words("–")] * 5
        return [words(entry["name"].text), words(side), words("not in its workload"), *gap, verdict_]
    access = node["access"].text if node["access"] else "one entity by its key"
    via = node["via"].text
    return [
        words(entry["name"].text),
        words(side),
        words(access if via == "main" else f"{access} via {via}"),
        figure(node["requests"].figure()),
        figure(node["entities"].figure()),
        figure(node["returned"].figure()),
        figure(node["latency_ms_p99"].figure("latency")),
        figure(node["rate_per_s"].figure("rate")),
        verdict_,
    ]


# -- method ------------------------------------------------------------------------------------------------------------


def method(document: At, _: At) -> Context:
    """What both are priced on, and where they declare something else."""
    workload = document["workload"]
    if not workload:
        return {"of": "", "differs": None, "count": 0}
    of = workload["of"].text
    differs = [(words(e["name"].text), _rate(e["old_per_s"]), _rate(e["new_per_s"])) for e in workload["differs"]]
    return {
        "of": "the log" if of == "log" else document[of].text,
        "count": len(differs),
        "differs": table(
            "Queries and writes that the two declare otherwise",
            ("Query or write", "Old", "New"),
            differs,
            numeric=(1, 2),
        ),
    }


def _rate(value: At) -> Cell:
    return words("none") if value.value is None else together(figure(value.figure("rate")))


def reproduce(document: At, _: At) -> Context:
    """The command, the version, and the files by their content."""
    tool, files = document["tool"], document.maybe("files")
    parts = ["advisor", "compare", document["old"].text, document["new"].text]
    if document["workload"] and files is not None:
        named = {role: [f["name"].text for f in files if f["role"].text == role] for role in ("data", "log", "profile")}
        parts += named["data"]
        parts += [piece for role in ("log", "profile") for name in named[role] for piece in (f"--{role}", name)]
    return {
        "command": shlex.join(parts),
        "version": f"{tool['name'].text} {tool['version'].text}",
        "schema": document["schema_version"].text,
        "files": files_table(files) if files is not None and len(files) else None,
    }
