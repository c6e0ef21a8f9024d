"""The access patterns of an analysis as a matrix: how each query finds its rows under each design."""

from __future__ import annotations

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import amount
from pkadvisor.report.html.advice import keys_of
from pkadvisor.report.html.place import Context, Places
from pkadvisor.report.summary.figures import read_per_returned, reads_only_what_it_returns
from pkadvisor.report.summary.scans import SCANS

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
