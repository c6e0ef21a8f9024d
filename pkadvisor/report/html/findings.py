"""Sections on limits: what is broken or noteworthy, and when each limit is met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisRemark, AnalysisScheme, AnalysisViolation
from pkadvisor.documents.analysis_table import AnalysisConflict, AnalysisTable
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.summary.verdicts import without_tried

SEVERITIES = ("broken", "at growth", "note")
"""From the worst; the page sorts by it."""
MOODS = {"broken": "bad", "at growth": "warn", "note": ""}


class _Finding(NamedTuple):
    severity: str
    design: str
    what: AnalysisViolation | AnalysisRemark
    mood: str


def findings(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What does not hold, under the recommended and the current keys."""
    return findings_of(designs_of(table), table.conflicts)


def findings_of(designs: Sequence[tuple[str, AnalysisScheme]], conflicts: Sequence[AnalysisConflict] = ()) -> Context:
    """Broken constraints under each of some designs, the worst first."""
    rows: list[_Finding] = []
    for name, scheme in designs:
        listed: list[tuple[str, AnalysisViolation | AnalysisRemark]] = [
            ("at growth" if node.assumed_growth else "broken", node) for node in scheme.violations
        ]
        listed += [("note", remark) for remark in scheme.remarks]
        rows += [_Finding(severity, name, what, MOODS[severity]) for severity, what in listed]
    rows.sort(key=lambda row: SEVERITIES.index(row.severity))
    if not rows and not conflicts:
        return Missing("There is no finding: no constraint is broken, and there is no note.")
    counts = [(name, sum(row.severity == name for row in rows)) for name in SEVERITIES]
    counted = [(f"{name}s" if name == "note" and count > 1 else name, count) for name, count in counts if count]
    return {"rows": rows, "counts": counted, "conflicts": conflicts}


def designs_of(table: AnalysisTable) -> list[tuple[str, AnalysisFullScheme]]:
    """The recommended scheme and, unless it is the same, the current one."""
    best = without_tried(table)
    designs = [("recommended", best)] if best else []
    if table.current and table.ranking_says != "keep":
        designs.append(("current", table.current))
    return designs


def breaks(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """Each limit with the growth that meets it, the first to break first."""
    designs = designs_of(table)
    if not designs:
        return Missing("When it breaks is known of schemes that were priced: give a data set and a log or a design.")
    return breaks_of(designs)


def breaks_of(designs: Sequence[tuple[str, AnalysisScheme]]) -> Context:
    """Each limit of each design with the growth that meets it."""
    rows = [
        (name, node, node.factor is not None and node.factor < 1) for name, scheme in designs for node in scheme.breaks
    ]
    if not rows:
        return Missing("No limit is ever met: nothing that these requests use is bounded.")
    dated = any(node.months is not None for _, node, _ in rows)
    return {"rows": rows, "best": designs[0][1], "dated": dated, "growths": GROWTHS}


GROWTHS = {"rate": "load", "new_keys": "keys", "rows_per_key": "rows per key"}
