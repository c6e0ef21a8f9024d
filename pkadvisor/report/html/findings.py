"""Sections on limits: what is broken or noteworthy, and when each limit is met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisConflict, AnalysisTable
from pkadvisor.report.html.place import Context, Figure, Missing, Places

SEVERITIES = ("broken", "at growth", "note")
"""From the worst; the page sorts by it."""
MOODS = {"broken": "bad", "at growth": "warn", "note": ""}


class _Finding(NamedTuple):
    severity: str
    design: str
    code: str
    message: str
    measured: Figure | None = None
    limit: Figure | None = None
    unit: str = ""

    @property
    def mood(self) -> str:
        return MOODS[self.severity]


def findings(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What does not hold, under the recommended and the current keys."""
    return findings_of(designs_of(table), [_conflict(node, places) for node in table.conflicts], places)


def findings_of(
    designs: Sequence[tuple[str, AnalysisScheme]], conflicts: list[dict[str, Any]], places: Places
) -> Context:
    """Broken constraints under each of some designs, the worst first."""
    rows: list[_Finding] = []
    for name, scheme in designs:
        for node in scheme.violations:
            severity = "at growth" if node.assumed_growth else "broken"
            measured, limit = places.known(node, "measured"), places.known(node, "limit")
            rows.append(_Finding(severity, name, node.code, node.message, measured, limit, node.unit))
        rows += [_Finding("note", name, remark.code, remark.message) for remark in scheme.remarks]
    rows.sort(key=lambda row: SEVERITIES.index(row.severity))
    if not rows and not conflicts:
        return Missing("There is no finding: no constraint is broken, and there is no note.")
    counts = [(name, sum(row.severity == name for row in rows)) for name in SEVERITIES]
    counted = [(f"{name}s" if name == "note" and count > 1 else name, count) for name, count in counts if count]
    return {"rows": rows, "counts": counted, "conflicts": conflicts}


def _conflict(node: AnalysisConflict, places: Places) -> dict[str, Any]:
    """Constraints that no key holds together, and what each way out costs."""
    constraints = [each.sentence for each in node.constraints]
    return {
        "constraints": constraints,
        "ways": [
            {
                "dropped": way.dropped.sentence,
                "partition_key": way.scheme.partition_key or "''",
                "row_key": way.scheme.row_key or "''",
                "requests": places.figure(way, "requests_per_s"),
                "entities": places.figure(way, "entities_per_s"),
            }
            for way in node.relaxed
        ]
        if len(constraints) > 1
        else [],
    }


def designs_of(table: AnalysisTable) -> list[tuple[str, AnalysisFullScheme]]:
    """The recommended scheme and, unless it is the same, the current one."""
    designs = [("recommended", table.recommended)] if table.recommended else []
    if table.current and table.ranking_says != "keep":
        designs.append(("current", table.current))
    return designs


def breaks(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """Each limit with the growth that meets it, the first to break first."""
    designs = designs_of(table)
    if not designs:
        return Missing("When it breaks is known of schemes that were priced: give a data set and a log or a design.")
    return breaks_of(designs, places)


def breaks_of(designs: Sequence[tuple[str, AnalysisScheme]], places: Places) -> Context:
    """Each limit of each design with the growth that meets it."""
    rows = [
        {
            "design": name,
            "cause": node.cause,
            "measured": places.figure(node, "measured"),
            "limit": places.figure(node, "limit"),
            "unit": node.unit,
            "factor": places.figure(node, "factor", "breaks"),
            "headroom": places.figure(node, "factor_headroom", "breaks"),
            "growth": " or ".join(GROWTHS.get(kind, kind) for kind in node.growth_of),
            "months": places.known(node, "months"),
            "over": node.factor is not None and node.factor < 1,
        }
        for name, scheme in designs
        for node in scheme.breaks
    ]
    if not rows:
        return Missing("No limit is ever met: nothing that these requests use is bounded.")
    best = designs[0][1]
    return {
        "rows": rows,
        "cause": best.break_cause,
        "saturation": places.figure(best.saturation, "requests_per_s") if best.saturation else None,
        "dated": any(row["months"] for row in rows),
    }


GROWTHS = {"rate": "load", "new_keys": "keys", "rows_per_key": "rows per key"}
