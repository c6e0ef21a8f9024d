"""Sections of a stress test: what it comes to, the designs side by side, goals, and each query and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pkadvisor.numbers import plural
from pkadvisor.report.html.advice import keys_of
from pkadvisor.report.html.place import At, Context, Figure, Missing
from pkadvisor.report.html.tables import Cell, below, code, figure, mark, short, table, together, words
from pkadvisor.report.stress_words import REQUESTS, next_step

LEVELS = {
    "bears": ("SUSTAINS THE LOAD", "good"),
    "bursts": ("SUSTAINS THE LOAD, WITH RETRIES IN BURSTS", "warn"),
    "untested": ("NO VERDICT, INSERTS INTO ONE RANGE ARE NOT TESTED", "warn"),
    "fails": ("DOES NOT SUSTAIN THE LOAD", "bad"),
}
"""The headline of a design by how it takes the load, and its mood."""
REASONS = 4
SLOWER = 1.05
"""From so many times its latency on a query is called slower: the same load twice differs by less."""


def limit_of(document: At, name: str) -> At:
    """The value of a limit of the store."""
    node = document["limits"]["values"].find("name", name)
    return At(None, "limits.values")["value"] if node is None else node["value"]


def term_of(scheme: At, name: str) -> At | None:
    """The value of a term of a scheme's cost; None where it has no such term."""
    node = scheme["terms"].find("name", name)
    return None if node is None else node["value"]


def verdict(document: At, node: At) -> Context:
    """The word, the keys that were tried, what they come to beside those in use, and why."""
    if not len(node["designs"]):
        return Missing("Nothing was run to its end: the test was interrupted. Run it again.")
    word, mood = _headline(document, node)
    first, last = node["designs"][0], node["designs"][len(node["designs"]) - 1]
    before = first if len(node["designs"]) > 1 else None
    return {
        "word": word,
        "mood": mood,
        "label": last["label"].text,
        "keys": keys_of(last["scheme"].value),
        "was_label": before["label"].text if before else "",
        "was": keys_of(before["scheme"].value) if before else None,
        "tiles": _tiles(document, before, last),
        "counted": REQUESTS if node.path == document["tables"][0].path else None,
        "facts": _facts(node, before, last),
        "next_command": next_step(document.value).partition("   #")[0]
        if node.path == document["tables"][0].path
        else "",
    }


def _headline(document: At, node: At) -> tuple[str, str]:
    """How the design that is proposed takes the load, faults, cold start and goals among it."""
    outcome = node["verdict"]
    level, bears = outcome.maybe("level"), outcome["bears"].value is True
    known = level.text if level is not None and level.value is not None else "bears" if bears else "fails"
    word, mood = LEVELS.get(known, LEVELS["fails"])
    if document["settings"]["faults"]:
        word += " UNDER THESE FAULTS"
    if mood != "bad" and outcome["new_table_bears"].value is False:
        word, mood = f"{word} ONCE IT IS WARMED UP", "warn"
    missed = missed_goals(node)
    if missed:
        word += f"{' AND' if mood == 'bad' else ', BUT'} MISSES {plural(len(missed), 'GOAL').upper()}"
        mood = "bad"
    worse = outcome.maybe("keep_current")
    if worse is not None and worse.flag:
        return f"DO NOT CHANGE THE KEYS: THE NEW ONES SERVE LESS, {word}", "bad"
    failed = outcome.maybe("failed_predictions")
    if failed is not None and failed.number and mood == "good":
        mood = "warn"  # the sentences say which
    return word, mood


def missed_goals(node: At) -> list[At]:
    """The goals that the design which is proposed misses."""
    last = node["designs"][len(node["designs"]) - 1]["label"].text
    return [g for g in node["goals"] if any(m["label"].text == last and not m["met"].flag for m in g["designs"])]


def _tiles(document: At, before: At | None, last: At) -> list[dict[str, Any]]:
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
                "of": target.figure("amount") if of else None,
                "now": None if now is None else now.figure(form),
                "after": after.figure(form),
            }
        )
    return tiles


def _run(name: str) -> Callable[[At], At | None]:
    return lambda design: design["runs"][0][name]


def _hottest(design: At) -> At | None:
    node = design["runs"][0]["hottest"]
    return node["times_target"] if node else None


_TILES: tuple[tuple[str, str, bool, str, Callable[[At], At | None]], ...] = (
    ("Hottest partition", "with retries, of a partition's target of", True, "ratio", _hottest),
    ("Throttled (503)", "of attempts", False, "percent", _run("throttled_share")),
    ("Lost requests", "of requests, retries given up", False, "percent", _run("lost_share")),
    ("p99 latency", "retries included", False, "latency", _run("latency_ms_p99")),
    ("Breaks at", "the load of the worst minute", False, "breaks", lambda d: term_of(d["scheme"], "break factor")),
    ("Cost", "USD a month", False, "amount", lambda d: term_of(d["scheme"], "price")),
)


def _facts(node: At, before: At | None, last: At) -> list[tuple[str, str]]:
    """What was found, and what of the keys explains it."""
    facts = [("", sentence.text) for sentence in node["verdict"]["sentences"]]
    for design in (before, last):
        if design is not None:
            broken = list(design["scheme"]["violations"])[:REASONS]
            facts += [(design["label"].text, violation["message"].text) for violation in broken]
    return facts


# -- designs side by side ----------------------------------------------------------------------------------------------


def columns(node: At) -> list[tuple[str, At, At]]:
    """(head, design, run) of every run, in the order of the document."""
    return [(f"{d['label'].text}, {r['state'].text}", d, r) for d in node["designs"] for r in d["runs"]]


_OF_RUN: tuple[tuple[str, str, str], ...] = (
    ("offered, requests/s", "offered_requests_per_s", "amount"),
    ("served, requests/s", "served_requests_per_s", "amount"),
    ("attempts at the store", "attempts", "whole"),
    ("throttled (503), of attempts", "throttled_share", "percent"),
    ("timed out (500), attempts", "timed_out", "whole"),
    ("lost, of requests", "lost_share", "percent"),
    ("p50 latency", "latency_ms_p50", "latency"),
    ("p99 latency", "latency_ms_p99", "latency"),
    ("p99.9 latency", "latency_ms_p99.9", "latency"),
)
_OF_SCHEME = (
    ("operations at the store, /s mean", "requests", "amount"),
    ("entities counted, /s mean", "entities counted", "amount"),
    ("stored, bytes an entity", "stored", "amount"),
    ("breaks at, times the worst minute", "break factor", "breaks"),
    ("storage, USD a month", "price of storage", "amount"),
    ("operations, USD a month", "price of requests", "amount"),
    ("cost, USD a month", "price", "amount"),
)


def designs(document: At, node: At) -> Context:
    """The keys of each design and what each of its runs came to."""
    if not len(node["designs"]):
        return Missing("No design was run to its end.")
    runs = columns(node)
    rows: list[list[Cell]] = [
        [words(label), *(figure(run[name].figure(form)) for _, _, run in runs)] for label, name, form in _OF_RUN
    ]
    rows[4:4] = [
        [words("throttled by"), *(_turned(run) for _, _, run in runs)],
        [words("seconds with throttling"), *(_throttling(run) for _, _, run in runs)],
    ]
    rows.append([words("hottest partition, with retries"), *(_of_hottest(run) for _, _, run in runs)])
    rows.append([words("length of the run"), *(figure(run["duration_s"].figure("time")) for _, _, run in runs)])
    every = list(node["designs"])
    priced = [
        [words(label), *(_term(design, name, form) for design in every)]
        for label, name, form in _OF_SCHEME
        if any(term_of(design["scheme"], name) is not None for design in every)
    ]
    return {
        "designs": [{"label": d["label"].text, "keys": keys_of(d["scheme"].value)} for d in every],
        "runs": table(
            "Results of each run", ("Measure", *(head for head, _, _ in runs)), rows, numeric=range(1, len(runs) + 1)
        ),
        "costs": table(
            "What each design costs, by the model",
            ("Measure", *(d["label"].text for d in every)),
            priced,
            numeric=range(1, len(every) + 1),
        ),
        "quiet": [head for head, _, run in runs if not run["throttled"].number],
    }


def _throttling(run: At) -> Cell:
    """In how many seconds anything was turned away; a document of an older version does not tell."""
    node = run.maybe("throttling")
    if node is None:
        return words("–")
    if not node["seconds"].number:
        return figure(node["seconds"].figure("whole"))
    longest = (figure(node["longest_s"].figure("whole")), words("in a row at most"))
    return below(figure(node["seconds"].figure("whole")), together(*longest))


def _turned(run: At) -> Cell:
    """The targets that turned attempts away, the one with the most first."""
    by = run["throttled_by"]
    names = sorted(by.value or (), key=lambda name: (-by[name].number, name))
    return below(*(together(short(name), figure(by[name].figure("whole"))) for name in names)) or words("–")


def _of_hottest(run: At) -> Cell:
    """The key that is asked for most, and how near it comes to its target."""
    if not run["hottest"]:
        return words("none")
    hottest = run["hottest"]
    return below(figure(hottest["times_target"].figure("ratio")), code(hottest["partition_key"].text))


def _term(design: At, name: str, form: str) -> Cell:
    value = term_of(design["scheme"], name)
    return words("–") if value is None else figure(value.figure(form))


# -- goals -------------------------------------------------------------------------------------------------------------


def goals(document: At, node: At) -> Context:
    """Every goal with what each design comes to, the missed ones of the proposed design first."""
    if not node["goals"]:
        return Missing("No goal was asked for: add --slo p99=50ms, or a p99 to a query of the design file.")
    missed = {goal.path for goal in missed_goals(node)}
    every = sorted(node["goals"], key=lambda goal: goal.path not in missed)
    labels = [design["label"].text for design in node["designs"]]
    rows = [[words(_goal(g)), figure(_value(g["most"], g)), *(_held(g, label) for label in labels)] for g in every]
    return {
        "missed": len(missed),
        "count": len(every),
        "label": labels[-1] if labels else "",
        "goals": table("Goals, warmed up", ("Goal", "At most", *labels), rows, numeric=range(1, len(labels) + 2)),
    }


def _goal(goal: At) -> str:
    query = f" of {goal['query'].text}" if goal["query"] else " of all requests"
    return f"{goal['name'].text}{query}"


def _value(value: At, goal: At) -> Figure:
    return value.figure("latency" if goal["unit"].text == "ms" else "percent")


def _held(goal: At, label: str) -> Cell:
    node = goal["designs"].find("label", label)
    if node is None:
        return words("–")
    met = node["met"].flag
    return together(figure(_value(node["measured"], goal)), mark("met" if met else "missed", "good" if met else "bad"))


# -- queries and writes ------------------------------------------------------------------------------------------------


def queries(document: At, node: At) -> Context:
    """Each query and write under each design, warmed up; those that get worse first."""
    every = list(node["designs"])
    if not every:
        return Missing("No design was run to its end.")
    entries = [(name.text, [_class(design, name.text) for design in every]) for name in node["classes"]]
    entries.sort(key=lambda entry: not _slower(entry[1]))
    rows: list[list[Cell]] = []
    for name, of_design in entries:
        for design, entry in zip(every, of_design, strict=True):
            if entry is None:
                continue
            rows.append(_query(name, design, entry, of_design))
    heads = ("Query or write", "Keys", "How", "Offered/s", "p50", "p99", "p99.9", "Throttled", "Lost", "Change")
    return {
        "worse": [name for name, of_design in entries if _slower(of_design)],
        "count": len(entries),
        "compared": len(every) > 1,
        "queries": table("Queries and writes, warmed up", heads, rows, numeric=range(3, 9), sorts=True),
    }


def _class(design: At, name: str) -> At | None:
    return design["runs"][0]["classes"].find("name", name)


def _slower(of_design: list[At | None]) -> bool:
    """Whether a query is slower at p99 under the proposed keys than under those in use, or loses more requests."""
    first, last = of_design[0], of_design[-1]
    if first is None or last is None or len(of_design) < 2:
        return False
    before, after = first["latency_ms_p99"].value, last["latency_ms_p99"].value
    slower = before is not None and after is not None and after > SLOWER * before
    return slower or last["lost_share"].number > first["lost_share"].number


def _query(name: str, design: At, entry: At, of_design: list[At | None]) -> list[Cell]:
    last = entry is of_design[-1]
    cost = design["scheme"]["classes"].find("name", name)
    if not entry["requests"].number:
        gap = [words("–")] * 6
        return [words(name), words(design["label"].text), _access(cost), *gap, words("too rare to occur in this run")]
    return [
        words(name),
        words(design["label"].text),
        _access(cost),
        figure(entry["offered_requests_per_s"].figure("amount")),
        figure(entry["latency_ms_p50"].figure("latency")),
        figure(entry["latency_ms_p99"].figure("latency")),
        figure(entry["latency_ms_p99.9"].figure("latency")),
        figure(entry["throttled_share"].figure("percent")),
        figure(entry["lost_share"].figure("percent")),
        mark("worse", "bad") if last and _slower(of_design) else words(""),
    ]


def _access(cost: At | None) -> Cell:
    """How a query finds its entities under these keys."""
    if cost is None:
        return words("–")
    access = cost["access"].text if cost["access"] else "one entity by its key"
    via = cost["via"].text
    return words(access if via == "main" else f"{access} via {via}")
