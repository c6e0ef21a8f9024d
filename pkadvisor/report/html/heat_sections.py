"""The section of an analysis that shows where the load falls: current and recommended keys on one scale."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_table import AnalysisDesign, AnalysisHeatMap, AnalysisTable
from pkadvisor.numbers import amount, lasting, ratio
from pkadvisor.report.charts import heat_map
from pkadvisor.report.html.place import Context, Missing, Places

HEADS = {"current": "The current keys", "recommended": "The recommended keys"}
PER_MILLE = 1000


def heatmap(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """A map of each design, what it shows in words, and its rows."""
    node = table.heat
    if not node:
        why = table.why_no_heat
        reason = f": {why}" if why else ""
        return Missing(f"There is no heat map{reason}. Give data, and a log or rates in a design file.")
    return {
        "key": heat_map.key(node.target_per_s, node.unit),
        "span": _span(node),
        "heat": node,
        "maps": [(design, _chart(node, design, places), _one_template(design)) for design in node.designs],
        "heads": HEADS,
        "over": PER_MILLE,
    }


def _span(node: AnalysisHeatMap) -> str:
    """What the map shows from left to right."""
    if not node.step_s:
        return "the rows in their order, as no time is known"
    if not node.start:
        return "a day in UTC"
    return f"{_long(node)} from {node.start}"


def _long(node: AnalysisHeatMap) -> str:
    seconds = node.step_s * node.columns
    return lasting(seconds) if seconds < 172_800 else f"{amount(seconds / 86_400)} days"


def _chart(node: AnalysisHeatMap, design: AnalysisDesign, places: Places) -> Markup:
    rows = design.rows
    alt = f"{HEADS.get(design.design, design.design)}: {design.pattern.sentence}"
    templates = [row.template for row in rows]
    if design.hottest:
        alt += f"; the hottest partition reaches {ratio(design.hottest.per_mille / PER_MILLE)} of its target"
    return heat_map.draw(
        heat_map.HeatMap(
            alt=alt,
            per_mille=tuple(tuple(line) for line in design.per_mille),
            row_labels=tuple(row.label for row in rows),
            target=node.target_per_s,
            unit=node.unit,
            step_s=node.step_s,
            start=node.start if node.start else None,
            row_totals=tuple(design.row_per_s),
            column_totals=tuple(design.column_per_s),
            partitions=tuple(int(row.partitions) for row in rows),
            source=places.path(design, "per_mille"),
            labels_source=places.path(design, "rows"),
            time_label="" if node.start or not node.step_s else "time of day (UTC)",
            borders=tuple(n for n in range(1, len(rows)) if templates[n] != templates[n - 1]),
        )
    )


def _one_template(design: AnalysisDesign) -> str:
    """The PartitionKey of every row; empty where rows have different ones."""
    templates = {row.template for row in design.rows}
    return templates.pop() if len(templates) == 1 else ""
