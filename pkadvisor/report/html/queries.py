"""Sections on queries and writes: what each costs now and then, and the exact requests."""

from __future__ import annotations

from typing import Any

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.report.html.place import Context, Missing, Places

SAME = 0.01
"""Less than this share is no difference."""
LEVELS = (
    ("requests", "more requests", "fewer requests"),
    ("entities_read", "reads more", "reads less"),
    ("latency_ms_p99", "slower", "faster"),
)
"""By what a query gets better or worse: the member, and what is said where it grew or fell."""


def queries(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """Each query and write, before and after; what gets worse first."""
    best, current = table.recommended, table.current
    if not best:
        return _as_asked(table, places)
    before = current if current and table.ranking_says != "keep" else None
    old = {entry.name: entry for entry in before.classes} if before else {}
    rows = [row_of(entry, old.get(entry.name), places) for entry in best.classes]
    if not rows:
        return NOTHING_ASKED
    order = {"worse": 0, "mixed": 1, "same": 2, "": 2, "better": 3}
    rows.sort(key=lambda row: (order[row["word"]], row["sort"]))
    words = [row["word"] for row in rows]
    return {"rows": rows, "compared": bool(before), "worse": words.count("worse") + words.count("mixed")}


NOTHING_ASKED = Missing("No query or write is known: give a log, or declare queries in a design file.")


def _as_asked(table: AnalysisTable, places: Places) -> Context:
    """The queries without any plan, where no scheme could be priced."""
    if not table.workload:
        return NOTHING_ASKED
    rows = [
        {
            "name": query.name,
            "operation": query.operation,
            "rate": places.figure(query, "rate_per_s", "rate"),
            "filter": query.filter or "",
            "access": query.access_now or "unknown",
        }
        for query in table.workload
    ]
    return {"rows": [], "asked": rows, "compared": False, "worse": 0}


def row_of(entry: AnalysisClassCost, old: AnalysisClassCost | None, places: Places) -> dict[str, Any]:
    word, by = _judged(entry, old)
    return {
        "name": entry.name,
        "operation": entry.operation,
        "rate": places.figure(entry, "rate_per_s", "rate"),
        "analytic": entry.analytic,
        "word": word,
        "by": ", ".join(by),
        "mood": {"worse": "bad", "mixed": "warn", "better": "good"}.get(word, ""),
        "before": _cost(old, places) if old is not None else None,
        "after": _cost(entry, places),
        "sort": -entry.rate_per_s,
    }


def _cost(entry: AnalysisClassCost, places: Places) -> dict[str, Any]:
    """What one request of a class takes under one design."""
    goal = entry.latency_goal_ms_p99
    return {
        "access": entry.access or "one entity by its key",
        "via": entry.via,
        "fan_out": places.figure(entry, "fan_out") if entry.fan_out and entry.fan_out > 1.05 else None,
        "requests": places.figure(entry, "requests"),
        "read": places.figure(entry, "entities_read"),
        "returned": places.figure(entry, "entities_returned"),
        "written": places.figure(entry, "entities_written"),
        "p50": places.figure(entry, "latency_ms_p50", "ms"),
        "p99": places.figure(entry, "latency_ms_p99", "ms"),
        "goal": places.known(entry, "latency_goal_ms_p99", "ms"),
        "missed": goal is not None and entry.latency_ms_p99 > goal,
    }


def _judged(entry: AnalysisClassCost, old: AnalysisClassCost | None) -> tuple[str, list[str]]:
    """better, worse, mixed or same, and by what it is worse (or better)."""
    if old is None:
        return "", []
    worse: list[str] = []
    better: list[str] = []
    for member, more, fewer in LEVELS:
        now, before = getattr(entry, member), getattr(old, member)
        if abs(now - before) > SAME * max(abs(now), abs(before)):
            (worse if now > before else better).append(more if now > before else fewer)
    if worse:
        return ("mixed" if better else "worse"), worse
    return ("better" if better else "same"), better


def requests(scheme: AnalysisScheme, places: Places) -> list[dict[str, Any]]:
    """The exact requests of each query and write under a scheme."""
    return [
        {
            "name": entry.name,
            "via": entry.via,
            "filters": list(entry.filters),
            "top": places.known(entry, "top", "whole"),
            "work": list(entry.client_work),
            "notes": list(entry.notes),
        }
        for entry in scheme.classes
        if entry.filters or entry.notes
    ]
