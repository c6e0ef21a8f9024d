"""Sections of an analysis on how the load is shared out and what a month costs."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.charts import lorenz, stacked_bar
from pkadvisor.report.html.place import At, Context, Missing

HEADS = {"current": "The current keys", "recommended": "The recommended keys"}
LOOKS = {"recommended": 0, "current": 1}
PARTS = ("storage", "writes", "reads", "scans", "expiry")


def head_of(design: At) -> str:
    """Whose keys these are."""
    return HEADS.get(design["design"].text, design["design"].text)


def look_of(design: At) -> int:
    """The look of a design's lines, the same in every chart."""
    return LOOKS.get(design["design"].text, 2)


# -- how the load is shared out ---------------------------------------------------------------------------------------


def skew(document: At, table: At) -> Context:
    """A Lorenz curve of each design, its busiest partitions, the sizes of partitions."""
    node = table.maybe("skew")
    if not node:
        return Missing("How the load is spread is not known: give data, and a log or rates in a design file.")
    designs = list(node["designs"])
    return {"chart": _curves(designs), "designs": [_shares(design) for design in designs]}


def _curves(designs: list[At]) -> Markup | None:
    """The curves of designs with more than one partition; None where there are none."""
    drawn = [design for design in designs if design["partitions_at_hand"].number > 1]
    if not drawn:
        return None
    return lorenz.draw(
        lorenz.Lorenz(
            alt="; ".join(f"{head_of(design)}: {_finding(design)}" for design in designs),
            curves=tuple(
                lorenz.Curve(
                    head_of(design),
                    tuple((point[0].number, point[1].number) for point in design["lorenz"]),
                    design["gini"].number,
                    look_of(design),
                )
                for design in drawn
            ),
        )
    )


def _finding(design: At) -> str:
    if design["partitions_at_hand"].number <= 1:
        return "one partition takes the whole load"
    top = design["top"]
    if not top:
        return "no partition has load"
    busiest = percent(top[0]["share"].number)
    return f"the busiest of {plural(int(design['partitions_at_hand'].number), 'partition')} takes {busiest} of the load"


def _shares(design: At) -> dict[str, Any]:
    sizes = design["rows_per_partition"]
    return {
        "head": head_of(design),
        "finding": _finding(design),
        "gini": design["gini"].figure("amount"),
        "alone": design["partitions_at_hand"].number <= 1,
        "partitions": design["partitions"].figure("whole"),
        "p50": sizes["p50"].figure("amount"),
        "p99": sizes["p99"].figure("amount"),
        "largest": sizes["largest"].figure("amount"),
        "basis": sizes["basis"].text,
        "top": [
            {
                "key": each["key"].text,
                "share": each["share"].figure("percent"),
                "peak": each["entities_per_s_peak"].figure("amount"),
                "growing": each["grows_with_rows_per_s"].figure("amount"),
                "rows": each["rows"].figure("whole"),
            }
            for each in design["top"]
        ],
    }


# -- what a month costs -----------------------------------------------------------------------------------------------


def cost(document: At, table: At) -> Context:
    """The bill of each design by what is paid for, by query, and the prices."""
    node = table.maybe("cost")
    if not node:
        return Missing("What a month costs is not known: give data, and a log or rates in a design file.")
    designs, unit = list(node["designs"]), f"{node['currency'].text} a {node['per'].text}"
    return {
        "unit": unit,
        "chart": _bill(designs, unit),
        "parts": PARTS,
        "rows": [
            {
                "head": head_of(design),
                "parts": [design[part].figure("amount") for part in PARTS],
                "total": design["total"].figure("amount"),
            }
            for design in designs
        ],
        "classes": [_classes(design) for design in designs],
        "prices": [
            {
                "name": price["name"].text,
                "value": price["value"].figure("exact"),
                "unit": price["unit"].text,
                "basis": price["basis"].text,
                "date": price["date"].text or "–",
                "source": price["source"].text,
            }
            for price in node["prices"]
        ],
    }


def _bill(designs: list[At], unit: str) -> Markup:
    totals = ", ".join(f"{head_of(design)} {amount(design['total'].number)}" for design in designs)
    return stacked_bar.draw(
        stacked_bar.StackedBars(
            alt=f"{unit}: {totals}",
            parts=PARTS,
            bars=tuple(
                stacked_bar.Bar(head_of(design), tuple(design[part].number for part in PARTS), design["total"].number)
                for design in designs
            ),
            unit=unit,
        )
    )


def _classes(design: At) -> dict[str, Any]:
    return {
        "head": head_of(design),
        "rows": [
            {
                "name": each["name"].text,
                "kind": each["kind"].text,
                "rate": each["requests_per_s"].figure("amount"),
                "price": each["price"].figure("amount"),
            }
            for each in design["classes"]
        ],
    }
