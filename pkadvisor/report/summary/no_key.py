"""What a summary says where no key holds every constraint."""

from __future__ import annotations

from msgspec.structs import replace

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.documents.analysis_table import AnalysisTable

REMEDY_BEHIND = {"hot-entity-contention": ": ", "account": "; "}
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
