"""Sections on how it is known: inputs, assumptions, limits, and how to run it again."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pkadvisor.documents.analysis import AnalysisArranged, AnalysisDocument
from pkadvisor.documents.analysis_inputs import AnalysisData, AnalysisProperty
from pkadvisor.documents.analysis_scheme import AnalysisTerm
from pkadvisor.documents.analysis_table import AnalysisSearch, AnalysisTable
from pkadvisor.documents.score import ScoreDocument
from pkadvisor.report.html.advice import keys_of
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.queries import requests


def method(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What was read, what is assumed, and every term of the cost with its source."""
    best = table.recommended
    return {
        "data": _data(table.data, places) if table.data else None,
        "assumed": [*table.notes, *table.cannot_be_known],
        "examined": places.figure(table, "examined", "whole"),
        "gap": _gap(table.search),
        "terms": [_term(term, places) for term in best.terms] if best else [],
        "properties": [_property(node, places) for node in table.data.properties] if table.data else [],
    }


def _data(data: AnalysisData, places: Places) -> dict[str, Any]:
    return {
        "name": data.name,
        "format": data.format,
        "read": places.figure(data, "entities_read", "whole"),
        "total": places.figure(data, "entities_total", "whole"),
        "sampling": data.sampling,
        "notes": list(data.notes),
    }


def _gap(search: AnalysisSearch | None) -> str:
    if not search:
        return ""
    if search.gap is None:
        return "a limit of the search was hit, and how far the best sets of index rows are is not known"
    return "" if search.gap == 0 else "a limit of the search was hit; the result tells the gap"


def _term(term: AnalysisTerm, places: Places) -> dict[str, Any]:
    return {
        "name": term.name,
        "value": places.figure(term, "value"),
        "unit": term.unit,
        "basis": term.basis,
        "low": None if term.low is UNSET else places.figure(term, "low"),
        "high": None if term.high is UNSET else places.figure(term, "high"),
        "source": term.source,
    }


def _property(node: AnalysisProperty, places: Places) -> dict[str, Any]:
    return {
        "name": node.name,
        "type": node.type,
        "distinct": places.figure(node, "distinct", "whole"),
        "basis": node.distinct_basis,
        "missing": places.figure(node, "missing", "whole"),
        "mixed": ", ".join(kind.type for kind in node.types),
    }


def account(document: AnalysisDocument, places: Places) -> Context | None:
    """What the log says of the whole account."""
    log = document.log
    if not log:
        return None
    node = log.account
    return {
        "first": log.first or "unknown",
        "last": log.last or "unknown",
        "facts": [
            (label, places.figure(log, name, "whole"))
            for name, label in (
                ("lines", "lines"),
                ("requests_attempted", "requests"),
                ("duplicates", "lines written twice"),
                ("throttled", "throttled requests"),
                ("retries", "retries"),
                ("pages", "further pages"),
                ("missing_hours", "hours missing"),
            )
            if getattr(log, name)
        ],
        "skipped": [(node.reason, places.figure(node, "lines", "whole")) for node in log.skipped],
        "peak": places.figure(node, "peak_per_s") if node.peak_per_s else None,
        "limit": places.figure(node, "limit_per_s"),
        "share": places.figure(node, "peak_share", "percent"),
        "tables": [(table.table, places.figure(table, "share", "percent"), table.designed) for table in log.tables],
    }


def together(document: AnalysisDocument, places: Places) -> Context | None:
    """The kinds of one table in one arrangement: their group transactions and shared partitions."""
    if not document.arrangements:
        return None
    return {"tables": [_arranged(node, places) for node in document.arrangements]}


def all_tables(document: AnalysisDocument | ScoreDocument, places: Places) -> Context | None:
    """The account's targets against the sum of all tables and kinds."""
    node = document.account
    if not node:
        return None
    return {
        "loads": [
            {
                "cause": load.cause,
                "measured": places.figure(load, "measured"),
                "limit": places.figure(load, "limit"),
                "unit": load.unit,
                "factor": places.figure(load, "factor", "breaks"),
                "horizon": places.figure(load, "at_horizon"),
                "months": places.known(load, "months"),
                "over": load.factor is not None and load.factor < 1,
                "shares": [(share.name, places.figure(share, "per_s"), share.at_least) for share in load.shares],
            }
            for load in node.loads
        ],
        "broken": [(v.message, v.assumed_growth) for v in node.violations],
    }


def _arranged(node: AnalysisArranged, places: Places) -> dict[str, Any]:
    return {
        "table": node.table,
        "bonds": [
            {
                "name": bond.name,
                "writes": ", ".join(write for write in bond.writes),
                "kept": bond.kept,
                "why": bond.impossible_because or "",
            }
            for bond in node.transactions
        ],
        "ways": [
            {
                "label": "chosen" if number == 0 else f"rival {number}",
                "kept": ", ".join(name for name in way.kept) or "none",
                "schemes": [
                    (s.kind, f"{s.partition_key or chr(39) * 2} | {s.row_key or chr(39) * 2}") for s in way.schemes
                ],
                "requests": places.figure(way, "requests_per_s"),
                "entities": places.figure(way, "entities_per_s"),
                "hottest": places.figure(way, "hottest_partition_per_s"),
                "broken": [v.message for v in way.violations if not v.assumed_growth],
            }
            for number, way in enumerate([node.chosen, *node.rivals])
        ],
        "conflicts": [[each.sentence for each in conflict.constraints] for conflict in node.conflicts],
    }


def limits(document: AnalysisDocument, places: Places) -> Context:
    """Every limit and price that was used, with its date and source."""
    return {
        "store": document.limits.store,
        "rows": [
            {
                "name": entry.name,
                "value": places.figure(entry, "value", "exact"),
                "unit": entry.unit,
                "basis": entry.basis,
                "date": entry.date or "",
                "source": entry.source or "",
            }
            for entry in document.limits.values
        ],
    }


def reproduce(document: AnalysisDocument, places: Places) -> Context:
    """The exact command, the files it was run on, and what to do next with the result."""
    settings = document.settings
    files = document.inputs.files
    return {
        "command": settings.command if settings else "",
        "seed": places.figure(settings, "seed", "exact") if settings else None,
        "version": f"{document.tool.name} {document.tool.version}",
        "schema": document.schema_version,
        "redacted": document.redacted,
        "files": [
            {
                "role": node.role,
                "name": node.name,
                "bytes": places.figure(node, "bytes", "whole"),
                "digest": node.xxh3,
            }
            for node in files or ()
        ],
    }


def scheme(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The templates with example keys, the exact requests, and what the design gives up."""
    best = table.recommended
    if not best:
        return Missing("There is no scheme to show: see the verdict for what is missing.")
    return {
        "keys": keys_of(best),
        "pattern": best.pattern,
        "examples": [(each.partition_key, each.row_key) for each in best.examples],
        "index_examples": [(each.partition_key, each.row_key) for row in best.index_examples for each in row],
        "requests": requests(best, places),
        "transactions": [
            {
                "name": group.name,
                "kept": group.kept,
                "mean": places.figure(group, "mean_entities"),
                "over": places.figure(group, "sets_over_limit", "whole") if group.sets_over_limit else None,
            }
            for group in best.transactions
        ],
        "gives_up": list(table.gives_up),
    }
