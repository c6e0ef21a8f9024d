"""Queries that look through many rows for few, in words."""

from __future__ import annotations

from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import amount, percent
from pkadvisor.report.summary.figures import brief, queries_of

SCANS = ("table scan", "partition-range scan")
MANY_ROWS = 100
"""Rows that one request reads in vain, from which on a scan of one partition is told."""


def reads_only_what_it_returns(query: AnalysisClassCost) -> bool:
    """Whether a query reads no row, or nearly none, that it does not return."""
    return bool(query.entities_read <= 1.05 * query.entities_returned + 0.005)


def still_scans(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """The query that reads most for nothing; where keys are kept, also the index row that would spare that."""
    scans = [c for c in queries_of(best) if _scans(c) and not reads_only_what_it_returns(c)]
    worst = max(scans, key=lambda c: c.rate_per_s * c.entities_read, default=None)
    if worst is None:
        return ""
    text = f"'{brief(worst.name)}' still {query_reads(worst)}"
    if table.ranking_says != "keep":
        return f"{text}."
    for scheme in table.alternatives:
        row = _sparing_row(scheme, best, worst)
        if row and _requests(scheme) > _requests(best):
            more = percent(_requests(scheme) / _requests(best) - 1)
            return f"{text}; an index row {row} spares that for {more} more requests."
    return f"{text}."


def _scans(query: AnalysisClassCost) -> bool:
    """Whether a query looks through several partitions, or through many rows of one in vain."""
    in_vain = query.entities_read - query.entities_returned
    return query.access in SCANS or (query.access == "partition scan" and in_vain >= MANY_ROWS)


def _sparing_row(scheme: AnalysisScheme, best: AnalysisScheme, query: AnalysisClassCost) -> str:
    """The RowKey of the row by which a scheme with index rows serves a query with what it returns, and its PartitionKey
    where that is not the one of the ``best`` keys; empty where there is none."""
    served = next((c for c in queries_of(scheme) if c.name == query.name), None)
    if served is None or not scheme.index_rows or not reads_only_what_it_returns(served):
        return ""
    rows = [(scheme.partition_key, scheme.row_key), *((row.partition_key, row.row_key) for row in scheme.index_rows)]
    partition, row = rows[0 if served.via == "main" else int(served.via.removeprefix("index row "))]
    return row if partition == best.partition_key else f"{partition} | {row}"


def query_reads(query: AnalysisClassCost) -> str:
    """What a query of a scheme reads for what it returns."""
    return f"reads {amount(query.entities_read)} rows to return {amount(query.entities_returned)}"


def _requests(scheme: AnalysisScheme) -> float:
    return next(float(goal.value or 0) for goal in scheme.goals if goal.goal == "requests")
