"""Sections on how it is known: inputs, assumptions, limits, and how to run it again."""

from __future__ import annotations

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_table import AnalysisSearch, AnalysisTable
from pkadvisor.documents.score import ScoreDocument
from pkadvisor.report.html.advice import keys_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.stress_words import scheme_target


def method(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What was read, what is assumed, and every term of the cost with its source."""
    return {"gap": _gap(table.search)}


def _gap(search: AnalysisSearch | None) -> str:
    if not search:
        return ""
    if search.gap is None:
        return "a limit of the search was hit, and how far the best sets of index rows are is not known"
    return "" if search.gap == 0 else "a limit of the search was hit; the result tells the gap"


def account(document: AnalysisDocument, places: Places) -> Context | None:
    """What the log says of the whole account."""
    return {"log": document.log, "facts": FACTS} if document.log else None


FACTS = {
    "lines": "lines",
    "requests_attempted": "requests",
    "duplicates": "lines written twice",
    "throttled": "throttled requests",
    "retries": "retries",
    "pages": "further pages",
    "missing_hours": "hours missing",
}
"""What a log counts, in words."""


def together(document: AnalysisDocument, places: Places) -> Context | None:
    """The kinds of one table in one arrangement: their group transactions and shared partitions."""
    return {"tables": document.arrangements} if document.arrangements else None


def all_tables(document: AnalysisDocument | ScoreDocument, places: Places) -> Context | None:
    """The account's targets against the sum of all tables and kinds."""
    return {"account": document.account} if document.account else None


def limits(document: AnalysisDocument, places: Places) -> Context:
    """Every limit and price that was used, with its date and source: the template reads the document."""
    return {}


def reproduce(document: AnalysisDocument, places: Places) -> Context:
    """The exact command, the files it was run on, and what to do next with the result."""
    ranked = [(table.table, table.kind) for table in document.tables if table.recommended is not None]
    target = scheme_target(1, ranked) if ranked else ""
    return {"settings": document.settings, "files": document.inputs.files, "target": target}


def scheme(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The templates with example keys, the exact requests, and what the design gives up."""
    best = table.recommended
    if not best:
        return Missing("There is no scheme to show: see the verdict for what is missing.")
    return {"best": best, "keys": keys_of(best)}
