"""Sections on queries and writes: what each costs now and then, and the exact requests."""

from __future__ import annotations

from typing import Any

from pkadvisor.report.html.place import At, Context, Missing

SAME = 0.01
"""Less than this share is no difference."""
LEVELS = (
    ("requests", "more requests", "fewer requests"),
    ("entities_read", "reads more", "reads less"),
    ("latency_ms_p99", "slower", "faster"),
)
"""By what a query gets better or worse: the member, and what is said where it grew or fell."""


def queries(document: At, table: At) -> Context:
    """Each query and write, before and after; what gets worse first."""
    best, current = table["recommended"], table["current"]
    if not best:
        return _as_asked(table)
    before = current if current and table["ranking_says"].text != "keep" else None
    old = {entry["name"].text: entry for entry in before["classes"]} if before else {}
    rows = [row_of(entry, old.get(entry["name"].text)) for entry in best["classes"]]
    if not rows:
        return NOTHING_ASKED
    order = {"worse": 0, "mixed": 1, "same": 2, "": 2, "better": 3}
    rows.sort(key=lambda row: (order[row["word"]], row["sort"]))
    words = [row["word"] for row in rows]
    return {"rows": rows, "compared": bool(before), "worse": words.count("worse") + words.count("mixed")}


NOTHING_ASKED = Missing("No query or write is known: give a log, or declare queries in a design file.")


def _as_asked(table: At) -> Context:
    """The queries without any plan, where no scheme could be priced."""
    if not table["workload"]:
        return NOTHING_ASKED
    rows = [
        {
            "name": query["name"].text,
            "operation": query["operation"].text,
            "rate": query["rate_per_s"].figure("rate"),
            "filter": query["filter"].text if query["filter"] else "",
            "access": query["access_now"].text if query["access_now"] else "unknown",
        }
        for query in table["workload"]
    ]
    return {"rows": [], "asked": rows, "compared": False, "worse": 0}


def row_of(entry: At, old: At | None) -> dict[str, Any]:
    word, by = _judged(entry, old)
    return {
        "name": entry["name"].text,
        "operation": entry["operation"].text,
        "rate": entry["rate_per_s"].figure("rate"),
        "analytic": entry["analytic"].flag,
        "word": word,
        "by": ", ".join(by),
        "mood": {"worse": "bad", "mixed": "warn", "better": "good"}.get(word, ""),
        "before": _cost(old) if old is not None else None,
        "after": _cost(entry),
        "sort": -entry["rate_per_s"].number,
    }


def _cost(entry: At) -> dict[str, Any]:
    """What one request of a class takes under one design."""
    goal = entry["latency_goal_ms_p99"]
    p99 = entry["latency_ms_p99"]
    return {
        "access": entry["access"].text if entry["access"] else "one entity by its key",
        "via": entry["via"].text,
        "fan_out": entry["fan_out"].figure() if entry["fan_out"] and entry["fan_out"].number > 1.05 else None,
        "requests": entry["requests"].figure(),
        "read": entry["entities_read"].figure(),
        "returned": entry["entities_returned"].figure(),
        "written": entry["entities_written"].figure(),
        "p50": entry["latency_ms_p50"].figure("ms") if p99 else None,
        "p99": p99.figure("ms") if p99 else None,
        "goal": goal.figure("ms") if goal and p99 else None,
        "missed": bool(goal and p99) and p99.number > goal.number,
    }


def _judged(entry: At, old: At | None) -> tuple[str, list[str]]:
    """better, worse, mixed or same, and by what it is worse (or better)."""
    if old is None:
        return "", []
    worse: list[str] = []
    better: list[str] = []
    for member, more, fewer in LEVELS:
        if entry[member].value is None or old[member].value is None:
            continue
        now, before = entry[member].number, old[member].number
        if abs(now - before) > SAME * max(abs(now), abs(before)):
            (worse if now > before else better).append(more if now > before else fewer)
    if worse:
        return ("mixed" if better else "worse"), worse
    return ("better" if better else "same"), better


def requests(scheme: At) -> list[dict[str, Any]]:
    """The exact requests of each query and write under a scheme."""
    return [
        {
            "name": entry["name"].text,
            "via": entry["via"].text,
            "filters": [text.text for text in entry["filters"]],
            "top": entry["top"].figure("whole") if entry["top"].value is not None else None,
            "work": [text.text for text in entry["client_work"]],
            "notes": [text.text for text in entry["notes"]],
        }
        for entry in scheme["classes"]
        if entry["filters"] or entry["notes"]
    ]
