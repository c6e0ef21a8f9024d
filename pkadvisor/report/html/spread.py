"""Sections of an analysis on how the load is shared out and what a month costs."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_table import (
    AnalysisCostDesign,
    AnalysisForecastDesign,
    AnalysisSensitivityDesign,
    AnalysisSkewDesign,
    AnalysisTable,
)
from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.charts import lorenz, stacked_bar
from pkadvisor.report.html.place import Context, Missing, Places

HEADS = {"current": "The current keys", "recommended": "The recommended keys"}
LOOKS = {"recommended": 0, "current": 1}
PARTS = ("storage", "writes", "reads", "scans", "expiry")


DesignFigures = AnalysisSkewDesign | AnalysisCostDesign | AnalysisForecastDesign | AnalysisSensitivityDesign
"""What is known of one of the two designs."""


def head_of(design: DesignFigures) -> str:
    """Whose keys these are."""
    return HEADS.get(design.design, design.design)


def look_of(design: DesignFigures) -> int:
    """The look of a design's lines, the same in every chart."""
    return LOOKS.get(design.design, 2)


# -- how the load is shared out ---------------------------------------------------------------------------------------


def skew(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """A Lorenz curve of each design, its busiest partitions, the sizes of partitions."""
    node = table.skew
    if not node:
        return Missing("How the load is spread is not known: give data, and a log or rates in a design file.")
    return {"chart": _curves(node.designs), "designs": node.designs, "head_of": head_of, "finding_of": _finding}


def _curves(designs: list[AnalysisSkewDesign]) -> Markup | None:
    """The curves of designs with more than one partition; None where there are none."""
    drawn = [design for design in designs if design.partitions_at_hand > 1]
    if not drawn:
        return None
    return lorenz.draw(
        lorenz.Lorenz(
            alt="; ".join(f"{head_of(design)}: {_finding(design)}" for design in designs),
            curves=tuple(
                lorenz.Curve(
                    head_of(design),
                    tuple((point[0], point[1]) for point in design.lorenz),
                    design.gini,
                    look_of(design),
                )
                for design in drawn
            ),
        )
    )


def _finding(design: AnalysisSkewDesign) -> str:
    if design.partitions_at_hand <= 1:
        return "one partition takes the whole load"
    top = design.top
    if not top:
        return "no partition has load"
    busiest = percent(top[0].share)
    return f"the busiest of {plural(int(design.partitions_at_hand), 'partition')} takes {busiest} of the load"


# -- what a month costs -----------------------------------------------------------------------------------------------


def cost(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The bill of each design by what is paid for, by query, and the prices."""
    node = table.cost
    if not node:
        return Missing("What a month costs is not known: give data, and a log or rates in a design file.")
    unit = f"{node.currency} a {node.per}"
    return {"unit": unit, "chart": _bill(node.designs, unit), "parts": PARTS, "cost": node, "head_of": head_of}


def _bill(designs: list[AnalysisCostDesign], unit: str) -> Markup:
    totals = ", ".join(f"{head_of(design)} {amount(design.total)}" for design in designs)
    return stacked_bar.draw(
        stacked_bar.StackedBars(
            alt=f"{unit}: {totals}",
            parts=PARTS,
            bars=tuple(
                stacked_bar.Bar(head_of(design), tuple(getattr(design, part) for part in PARTS), design.total)
                for design in designs
            ),
            unit=unit,
        )
    )
