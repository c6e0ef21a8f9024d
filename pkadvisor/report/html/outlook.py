"""Sections of an analysis on what is to come: growth, other loads, other assumptions."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_table import (
    AnalysisCostDesign,
    AnalysisDesign,
    AnalysisForecast,
    AnalysisForecastDesign,
    AnalysisGrid,
    AnalysisHeatMap,
    AnalysisSensitivity,
    AnalysisSensitivityDesign,
    AnalysisSkewDesign,
    AnalysisTable,
)
from pkadvisor.numbers import amount, lasting, percent, plural, ratio
from pkadvisor.report.charts import heat_map, lines, stacked_bar
from pkadvisor.report.charts.scales import Axis, AxisKind
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.summary.figures import figures_of

GROWTHS = {"new_keys": "new keys", "rate": "requests", "rows_per_key": "rows per key"}
LEVELS = {"keeps": "good", "over head-room": "warn", "over target": "bad"}
SHOWN = {"keeps": "within target", "over head-room": "near target"}
"""How a page calls a level of the document."""
WIDE = 20
"""From such a span of values on an axis is logarithmic."""


# -- forecast ---------------------------------------------------------------------------------------------------------


def forecast(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The hottest partition of each design over the growth, and when a limit is passed."""
    node = table.forecast
    if not node:
        return Missing("Growth changes nothing that is known: give data, and a log or rates in a design file.")
    months = node.unit == "months"
    of = {
        "head_of": head_of,
        "over_now": _over_now,
        "when_of": _when,
        "growth": GROWTHS.get(node.growth_of, node.growth_of),
    }
    return {"forecast": node, "months": months, "chart": _courses(node, node.designs, months), **of}


def _courses(node: AnalysisForecast, designs: list[AnalysisForecastDesign], months: bool) -> Markup:
    series = tuple(
        lines.Series(
            head_of(design),
            tuple((point.at, point.partition) for point in design.points),
            tuple(
                (point.at, point.low, point.high)
                for point in design.points
                if point.low is not None and point.high is not None
            ),
            look_of(design),
        )
        for design in designs
    )
    values = [y for s in series for _, y in s.points if y]
    wide = bool(values) and max(values) > WIDE * min(values)
    headroom = node.headroom_share
    marks = tuple(
        lines.Mark(design.crosses_at, f"{head_of(design)}: over", "bad")
        for design in designs
        if design.crosses_at is not None and not _over_now(design)
    )
    return lines.draw(
        lines.LineChart(
            alt="; ".join(f"{head_of(design)}: {_when(design, months)}" for design in designs),
            x=Axis("months from now") if months else Axis("growth", unit="times today's peak"),
            y=Axis("hottest partition", AxisKind.LOG if wide else AxisKind.LINEAR, "times its target"),
            series=series,
            limits=(lines.LimitLine(1, "target"), lines.LimitLine(headroom, f"{percent(headroom)} of the target")),
            marks=marks,
        )
    )


def _over_now(design: AnalysisForecastDesign) -> bool:
    points = design.points
    return bool(len(points)) and points[0].worst >= 1


def _when(design: AnalysisForecastDesign, months: bool) -> str:
    """When a design passes its first limit."""
    cause = design.cause
    if _over_now(design):
        return f"a limit is passed today ({design.points[0].cause})"
    crosses = design.crosses_at
    if crosses is not None:
        at = f"in {amount(crosses)} months" if months else f"at {ratio(crosses)} of today's peak"
        return f"the first limit is passed {at} ({cause})"
    first = design.break_factor
    if first is None:
        return "no limit is passed, however much it grows"
    return f"no limit is passed within this growth; the first is at {ratio(first)} of today's peak ({cause})"


# -- sensitivity ------------------------------------------------------------------------------------------------------


def sensitivity(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What other loads and other growth do to each design, and which assumptions matter."""
    node = table.sensitivity
    if not node:
        return Missing("What other loads would do is not known: give data, and a log or rates in a design file.")
    growth = GROWTHS.get(node.growth_of, node.growth_of)
    designs = [(design, _grid(node, design, growth), _bars(design)) for design in reversed(node.designs)]
    return {"designs": designs, "growths": GROWTHS, "head_of": head_of}


def _grid(node: AnalysisSensitivity, design: AnalysisSensitivityDesign, growth: str) -> Markup:
    words = [cell.word for row in design.grid for cell in row]
    keeps = words.count("keeps")
    return stacked_bar.draw_grid(
        stacked_bar.VerdictGrid(
            alt=f"{head_of(design)} keep every limit in {keeps} of {len(words)} cases; "
            "a number is the load in times of its limit",
            corner=f"load down, growth of {growth} across",
            columns=tuple("as now" if g == 1 else f"x {amount(g)}" for g in node.growths),
            rows=tuple("as now" if load == 1 else f"x {amount(load)}" for load in node.loads),
            cells=tuple(
                tuple(stacked_bar.VerdictCell(_shown(cell), LEVELS.get(cell.word, "none"), _note(cell)) for cell in row)
                for row in design.grid
            ),
        )
    )


def _shown(cell: AnalysisGrid) -> str:
    return SHOWN.get(cell.word, cell.word)


def _note(cell: AnalysisGrid) -> str:
    cause = f": {cell.cause}" if cell.cause else ""
    return f"{ratio(cell.times_limit)}{cause}"


def _bars(design: AnalysisSensitivityDesign) -> Markup | None:
    """The break factor with one assumption half and twice as large; None where there is nothing to draw."""
    base = design.break_factor
    swings = [
        stacked_bar.Swing(bar.name, bar.half, bar.twice, "half", "twice")
        for bar in design.bars
        if bar.half is not None and bar.twice is not None
    ]
    if base is None or not swings:
        return None
    values = [end for swing in swings for end in (swing.low, swing.high)] + [base]
    top = swings[0]
    return stacked_bar.draw_tornado(
        stacked_bar.Tornado(
            alt=f"{head_of(design)}: {top.name} matters most, the design breaks at "
            f"{ratio(top.low)} with half of it and at {ratio(top.high)} with twice as much",
            swings=tuple(swings),
            base=base,
            unit="times today's peak until it breaks",
            limit=1,
            limit_label="today's peak",
            log=min(values) > 0 and max(values) > WIDE * min(values),
        )
    )


# -- Sections of an analysis on how the load is shared out and what a month costs.


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
    return lines.draw_lorenz(
        lines.Lorenz(
            alt="; ".join(f"{head_of(design)}: {_finding(design)}" for design in designs),
            curves=tuple(
                lines.Curve(
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


# -- The section of an analysis that shows where the load falls: current and recommended keys on one scale.


PER_MILLE = 1000
SAME = 0.02
"""Shares by which two figures of one load may differ and still be the same."""


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
        "peaks": {design.design: _other_peak(node, design, table) for design in node.designs},
        "over": PER_MILLE,
    }


def _other_peak(node: AnalysisHeatMap, design: AnalysisDesign, table: AnalysisTable) -> str:
    """The load of the hottest partition as the table of before and after has it, where the map has another figure."""
    scheme = table.current if design.design == "current" else table.recommended
    hottest = None if scheme is None else figures_of(scheme, node.target_per_s).hottest_partition
    if hottest is None or not design.hottest:
        return ""
    shown, mapped = hottest, design.hottest.per_mille / PER_MILLE
    return "" if abs(shown - mapped) <= max(1 / PER_MILLE, SAME * shown) else f"{ratio(shown)} its target"


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
