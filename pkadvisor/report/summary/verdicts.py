"""The words of a verdict and of how sure it is, the same in every output."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from pkadvisor.documents.analysis_inputs import AnalysisLog
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisIndexRow
from pkadvisor.documents.analysis_table import AnalysisConfidence, AnalysisTable
from pkadvisor.documents.part import NAMES_NO_ROW_KEY
from pkadvisor.numbers import amount, percent

LENGTHS = ((3600, "h"), (60, "min"), (1, "s"))
"""Seconds of the units in which the first screen tells how long a log is: from two of them on."""
ADD_INDEX_ROW, CHANGE_QUERY = "add_index_row", "change_query"
# The headline of a table, and how it is to be taken: good, bad or warn.
HEADLINES = {
    "keep": ("KEEP THE KEY", "good"),
    "change": ("CHANGE THE KEY", "bad"),
    CHANGE_QUERY: ("KEEP THE KEY, CHANGE A QUERY", "warn"),
    ADD_INDEX_ROW: ("ADD AN INDEX ROW", "warn"),
    "choose": ("USE THIS KEY", "good"),
    "unsatisfied": ("NO KEY HOLDS EVERY CONSTRAINT", "bad"),
    "not_enough": ("NOT ENOUGH TO ADVISE", "bad"),
    "heat_only": ("HOT KEYS ONLY", "warn"),
}


def verdict_of(table: AnalysisTable) -> str:
    """The verdict as HEADLINES names it."""
    if table.verdict == "keep" and query_to_change(table):
        return CHANGE_QUERY
    return ADD_INDEX_ROW if table.verdict == "change" and adds_index_rows_only(table) else str(table.verdict)


def query_to_change(table: AnalysisTable) -> str:
    """The name of the query whose logged requests name less of the current keys than they should; empty without one."""
    warning = next((w for w in table.warnings or () if NAMES_NO_ROW_KEY in w), "")
    return warning.partition(NAMES_NO_ROW_KEY)[0].removeprefix("'")


def ranking_of(table: AnalysisTable) -> str | None:
    """What the ranking says beneath the verdict, named in the same way; None where keys could not be judged."""
    says: str | None = table.ranking_says
    return ADD_INDEX_ROW if says == "change" and adds_index_rows_only(table) else says


def adds_index_rows_only(table: AnalysisTable) -> bool:
    """Whether the recommended design is the current one with more index rows: no stored entity changes its key."""
    current, best = table.current, table.recommended
    if current is None or best is None:
        return False
    same_key = (current.partition_key, current.row_key) == (best.partition_key, best.row_key)
    return same_key and {_row(r) for r in current.index_rows} < {_row(r) for r in best.index_rows}


def _row(row: AnalysisIndexRow) -> tuple[str, str, str]:
    return row.partition_key, row.row_key, row.copy


def provisional(table: AnalysisTable) -> str:
    """What the figures below a verdict that the inputs do not carry are; empty where they do, or none are shown."""
    if table.verdict != "not_enough" or table.ranking_says is None:
        return ""
    return "no advice: the keys and figures below are what these inputs alone come to"


def doubt(table: AnalysisTable) -> str:
    """What stands directly below the verdict where it is not sure; empty where it is, where nobody is behind it, and
    where there is no verdict to be sure of."""
    confidence = table.confidence
    return "" if confidence is None or confidence.sure or table.why_not else sureness(confidence)


def give(table: AnalysisTable) -> str:
    """What to give next, as a sentence; empty where there is advice."""
    return f"give {table.next}" if table.next else ""


class OfTable(Protocol):
    """What a document says of one table, or of one kind of its entities."""

    @property
    def table(self) -> str: ...

    @property
    def kind(self) -> str | None: ...


def table_title(of: OfTable) -> str:
    """The name of a table, and of its kind of entity where it holds several."""
    return f"{of.table} · {of.kind}" if of.kind else of.table


OF_FILE = "of this file"
"""How a note on resamples begins where nobody says that the file is the whole table, or how it was drawn."""


def sureness(confidence: AnalysisConfidence) -> str:
    """How sure it is that the recommended scheme is ahead of the next best: high, medium, low or unknown, and why."""
    share = confidence.share
    if share is None:
        return f"unknown: {confidence.note}"
    if confidence.basis == "counted":
        counted = str(confidence.note).removeprefix("counted on ").replace(" (", ": ").removesuffix(")")
        return "high (every row was counted)" if confidence.sure else f"medium ({counted})"
    assumed = str(confidence.note).removeprefix(OF_FILE).removeprefix("; ")
    often = "all random redraws" if share == 1 else f"{percent(share)} of random redraws"
    if confidence.sure:
        return f"high (first in {often})"
    if confidence.rows_needed is None and assumed:
        return f"low (first in {often}, but {assumed})"
    if confidence.note == OF_FILE:
        return "medium (by redraws of this file)"
    more = (
        f"add {confidence.rows_needed:,} rows of {confidence.rows_of}"
        if confidence.rows_needed
        else "more rows do not help"
    )
    return f"low (first in {often}; {more})"


def condition(log: AnalysisLog | None) -> str:
    """On what the figures stand: ``10 min of log are typical``, or ``the load is as declared``."""
    if log is None or not log.covered_s:
        return "the load is as declared" if log is None else "the log is typical"
    size, unit = next((size, unit) for size, unit in LENGTHS if log.covered_s >= 2 * size or size == 1)
    return f"{amount(round(log.covered_s / size, 1))} {unit} of log are typical"


# -- What a summary says where no key holds every constraint.


REMEDY_BEHIND = {"hot-entity-contention": ": ", "account": "; ", "hot-range": "; "}
"""Constraints that no key helps with, and what stands in their messages before that which does."""
HELPS_BESIDES = {
    "hot-partition": "cache the reads, or read one of several copies",
    "scan-load": "ask for less at a time, or cache the answers",
}
"""What helps against a load that every key leaves that was tried: others may bear it."""


def remedy(table: AnalysisTable) -> str:
    """What helps where the best keys still miss one limit, which no key does; else empty."""
    ((code, message),) = missed.items() if len(missed := _missed(table)) == 1 else [("", "")]
    behind = REMEDY_BEHIND.get(code)
    return message.rpartition(behind)[2] if behind else HELPS_BESIDES.get(code, "")


def no_key_holds(table: AnalysisTable) -> str:
    """What helps where the best keys still miss one limit; else which constraints no key holds together."""
    helps = remedy(table)
    if helps:
        tried = "" if REMEDY_BEHIND.keys() & _missed(table).keys() else " tried"
        return f"No key{tried} helps: {helps}."
    conflicts = table.conflicts
    sentences = [c.sentence for c in conflicts[0].constraints] if conflicts else []
    if len(sentences) > 1:
        return f"No key holds {'both' if len(sentences) == 2 else 'all of these'}: {' and '.join(sentences)}."
    return f"No key holds this: {sentences[0]}." if sentences else ""


def without_tried(table: AnalysisTable) -> AnalysisFullScheme | None:
    """The best keys; where none holds, what they break without the advice to take other keys, which were tried."""
    best = table.recommended
    if best is None or table.verdict != "unsatisfied":
        return best
    cut = [v if v.code in REMEDY_BEHIND else replace(v, message=v.message.partition("; ")[0]) for v in best.violations]
    return replace(best, violations=cut)


def _missed(table: AnalysisTable) -> dict[str, str]:
    """By its code, what the message says of each constraint that the best keys break today."""
    best = table.recommended
    return {} if best is None else {v.code: v.message for v in best.violations if not v.assumed_growth}
