"""Sections of an analysis on how the load is shared out and what a month costs."""

from __future__ import annotations

from typing import Any

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
    designs = list(node.designs)
    return {"chart": _curves(designs), "designs": [_shares(design, places) for design in designs]}


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


def _shares(design: AnalysisSkewDesign, places: Places) -> dict[str, Any]:
    sizes = design.rows_per_partition
    return {
        "head": head_of(design),
        "finding": _finding(design),
        "gini": places.figure(design, "gini", "amount"),
        "alone": design.partitions_at_hand <= 1,
        "partitions": places.figure(design, "partitions", "whole"),
        "p50": places.figure(sizes, "p50", "amount"),
        "p99": places.figure(sizes, "p99", "amount"),
        "largest": places.figure(sizes, "largest", "amount"),
        "basis": sizes.basis,
        "top": [
            {
                "key": each.key,
                "share": places.figure(each, "share", "percent"),
                "peak": places.figure(each, "entities_per_s_peak", "amount"),
                "growing": places.figure(each, "grows_with_rows_per_s", "amount"),
                "rows": places.figure(each, "rows", "whole"),
            }
            for each in design.top
        ],
    }


# -- what a month costs -----------------------------------------------------------------------------------------------


def cost(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The bill of each design by what is paid for, by query, and the prices."""
    node = table.cost
    if not node:
        return Missing("What a month costs is not known: give data, and a log or rates in a design file.")
    designs, unit = list(node.designs), f"{node.currency} a {node.per}"
    return {
        "unit": unit,
        "chart": _bill(designs, unit),
        "parts": PARTS,
        "rows": [
            {
                "head": head_of(design),
                "parts": [places.figure(design, part, "amount") for part in PARTS],
                "total": places.figure(design, "total", "amount"),
            }
            for design in designs
        ],
        "classes": [_classes(design, places) for design in designs],
        "prices": [
            {
                "name": price.name,
                "value": places.figure(price, "value", "exact"),
                "unit": price.unit,
                "basis": price.basis,
                "date": price.date or "–",
                "source": price.source,
            }
            for price in node.prices
        ],
    }


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


def _classes(design: AnalysisCostDesign, places: Places) -> dict[str, Any]:
    return {
        "head": head_of(design),
        "rows": [
            {
                "name": each.name,
                "kind": each.kind,
                "rate": places.figure(each, "requests_per_s", "amount"),
                "price": places.figure(each, "price", "amount"),
            }
            for each in design.classes
        ],
    }
