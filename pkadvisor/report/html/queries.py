"""Sections on queries and writes: what each costs now and then."""

from __future__ import annotations

from typing import NamedTuple

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import amount
from pkadvisor.report.html.advice import keys_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.summary.figures import SCANS, read_per_returned, reads_only_what_it_returns

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


# -- The access patterns of an analysis as a matrix: how each query finds its rows under each design.


WASTE = 10.0
"""From so many rows read for each that is returned on, a cell is bad."""


def access(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context | None:
    """Queries down, designs across; the query that reads most rows first. None where no keys were tried."""
    columns = _columns(table)
    if not columns:
        return None
    classes = [{entry.name: entry for entry in scheme.classes} for _, scheme in columns]
    names = [name for name in dict.fromkeys(name for column in classes for name in column) if _reads(classes, name)]
    names.sort(key=lambda name: -_read_per_s(next(column[name] for column in classes if name in column)))
    return {
        "columns": [(label, keys_of(scheme)) for label, scheme in columns],
        "rows": [[column.get(name) for column in classes] for name in names],
        "found": _found,
    }


def _columns(table: AnalysisTable) -> list[tuple[str, AnalysisScheme]]:
    """The designs that are compared: the current one, the recommended one, the next best."""
    best, current = table.recommended, table.current
    if not best:
        return []
    if table.ranking_says == "keep":
        schemes = [("Current", best)]
    else:
        label = "Recommended" if table.verdict in ("change", "choose") else "Best found"
        schemes = [*([("Current", current)] if current else []), (label, best)]
    rivals = list(table.alternatives)
    return [*schemes, *([("Next best", rivals[0])] if rivals else [])]


def _reads(classes: list[dict[str, AnalysisClassCost]], name: str) -> bool:
    """Whether a class is a query, or a write that must find its rows first under one of the designs."""
    nodes = [column[name] for column in classes if name in column]
    if nodes[0].operation == "query":
        return True
    return any(entry.access and entry.access != "point" for entry in nodes)


def _read_per_s(entry: AnalysisClassCost) -> float:
    return entry.rate_per_s * entry.entities_read


def _found(entry: AnalysisClassCost) -> tuple[str, str, str | None]:
    """How a query finds its rows: the access, its mood, and how many rows it reads for each that it returns."""
    access, times = entry.access or "point", read_per_returned(entry)
    return access, _mood(entry, access, times), None if times is None else amount(times)


def _mood(entry: AnalysisClassCost, access: str, times: float | None) -> str:
    if times is None or times > WASTE:
        return "bad"
    if access in SCANS or not reads_only_what_it_returns(entry):
        return "warn"
    return "good"
