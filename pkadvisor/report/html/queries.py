"""Sections on queries and writes: what each costs now and then."""

from __future__ import annotations

from typing import NamedTuple

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
    """Each query and write, before and after; what gets worse first. Where no scheme could be priced, the queries
    without any plan."""
    best, current = table.recommended, table.current
    before = current if current and table.ranking_says != "keep" else None
    rows = rows_of(best, before) if best else []
    asked = [] if best else table.workload or []
    if not rows and not asked:
        return Missing("No query or write is known: give a log, or declare queries in a design file.")
    order = {"worse": 0, "mixed": 1, "same": 2, "": 2, "better": 3}
    rows.sort(key=lambda row: (order[row.word], -row.after.rate_per_s))
    words = [row.word for row in rows]
    worse = words.count("worse") + words.count("mixed")
    return {"rows": rows, "asked": asked, "compared": bool(before), "worse": worse}


class QueryRow(NamedTuple):
    """A query or write under the keys of a section, and under the keys before, with what got better or worse."""

    after: AnalysisClassCost
    before: AnalysisClassCost | None
    word: str
    by: list[str]

    @property
    def mood(self) -> str:
        return {"worse": "bad", "mixed": "warn", "better": "good"}.get(self.word, "")


def rows_of(scheme: AnalysisScheme, before: AnalysisScheme | None = None) -> list[QueryRow]:
    """The queries and writes of a scheme beside those of an older one."""
    old = {entry.name: entry for entry in before.classes} if before else {}
    return [QueryRow(entry, old.get(entry.name), *_judged(entry, old.get(entry.name))) for entry in scheme.classes]


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
