"""Sections of an analysis on what is to come: growth, other loads, other assumptions."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.report.charts import grid, lines, tornado
from pkadvisor.report.charts.scales import Axis, AxisKind
from pkadvisor.report.html.place import At, Context, Missing
from pkadvisor.report.html.spread import head_of, look_of

GROWTHS = {"new_keys": "new keys", "rate": "requests", "rows_per_key": "rows per key"}
LEVELS = {"keeps": "good", "over head-room": "warn", "over target": "bad"}
SHOWN = {"keeps": "within target", "over head-room": "near target"}
"""How a page calls a level of the document."""
WIDE = 20
"""From such a span of values on an axis is logarithmic."""


# -- forecast ---------------------------------------------------------------------------------------------------------


def forecast(document: At, table: At) -> Context:
    """The hottest partition of each design over the growth, and when a limit is passed."""
    node = table.maybe("forecast")
    if not node:
        return Missing("Growth changes nothing that is known: give data, and a log or rates in a design file.")
    designs, months = list(node["designs"]), node["unit"].text == "months"
    return {
        "note": node["note"].text,
        "growth_of": GROWTHS.get(node["growth_of"].text, node["growth_of"].text),
        "basis": node["basis"].text,
        "months": months,
        "horizon": node["horizon_months"].figure("amount") if months else node["horizon_factor"].figure("ratio"),
        "chart": _courses(node, designs, months),
        "designs": [_course(design, months) for design in designs],
        "headroom": node["headroom_share"].figure("percent"),
    }


def _courses(node: At, designs: list[At], months: bool) -> Markup:
    series = tuple(
        lines.Series(
            head_of(design),
            tuple((point["at"].number, point["partition"].number) for point in design["points"]),
            tuple(
                (point["at"].number, point["low"].number, point["high"].number)
                for point in design["points"]
                if point["low"].value is not None and point["high"].value is not None
            ),
            look_of(design),
        )
        for design in designs
    )
    values = [y for s in series for _, y in s.points if y]
    wide = bool(values) and max(values) > WIDE * min(values)
    headroom = node["headroom_share"].number
    marks = tuple(
        lines.Mark(design["crosses_at"].number, f"{head_of(design)}: over", "bad")
        for design in designs
        if design["crosses_at"].value is not None and not _over_now(design)
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


def _over_now(design: At) -> bool:
    points = design["points"]
    return bool(len(points)) and points[0]["worst"].number >= 1


def _when(design: At, months: bool) -> str:
    """When a design passes its first limit."""
    cause = design["cause"].text
    if _over_now(design):
        return f"a limit is passed today ({design['points'][0]['cause'].text})"
    crosses = design["crosses_at"].value
    if crosses is not None:
        at = f"in {amount(crosses)} months" if months else f"at {ratio(crosses)} of today's peak"
        return f"the first limit is passed {at} ({cause})"
    first = design["break_factor"].value
    if first is None:
        return "no limit is passed, however much it grows"
    return f"no limit is passed within this growth; the first is at {ratio(first)} of today's peak ({cause})"


def _course(design: At, months: bool) -> dict[str, Any]:
    return {
        "head": head_of(design),
        "when": _when(design, months),
        "over": _over_now(design),
        "points": [
            {
                "at": point["at"].figure("amount") if months else point["at"].figure("ratio"),
                "partition": point["partition"].figure("ratio"),
                "low": point["low"].figure("ratio") if point["low"].value is not None else None,
                "high": point["high"].figure("ratio") if point["high"].value is not None else None,
                "worst": point["worst"].figure("ratio"),
                "cause": point["cause"].text if point["cause"] else "–",
                "entities": point["entities"].figure("whole") if point["entities"].value is not None else None,
                "bytes": point["bytes"].figure("whole") if point["bytes"].value is not None else None,
            }
            for point in design["points"]
        ],
    }


# -- sensitivity ------------------------------------------------------------------------------------------------------


def sensitivity(document: At, table: At) -> Context:
    """What other loads and other growth do to each design, and which assumptions matter."""
    node = table.maybe("sensitivity")
    if not node:
        return Missing("What other loads would do is not known: give data, and a log or rates in a design file.")
    growth = GROWTHS.get(node["growth_of"].text, node["growth_of"].text)
    return {
        "growth_of": growth,
        "designs": [
            {
                "head": head_of(design),
                "grid": _grid(node, design, growth),
                "bars": _bars(design),
                "assumptions": [
                    {
                        "name": bar["name"].text,
                        "value": bar["value"].figure("amount"),
                        "unit": bar["unit"].text,
                        "basis": bar["basis"].text,
                        "half": bar["half"].figure("breaks"),
                        "twice": bar["twice"].figure("breaks"),
                    }
                    for bar in design["bars"]
                ],
                "unmoved": [name.text for name in design["unmoved"]],
                "break_even": [
                    {"of": GROWTHS.get(each["of"].text, each["of"].text), "factor": each["factor"].figure("breaks")}
                    for each in design["break_even"]
                ],
                "factor": design["break_factor"].figure("breaks"),
            }
            for design in reversed(list(node["designs"]))
        ],
    }


def _grid(node: At, design: At, growth: str) -> Markup:
    loads = [load.number for load in node["loads"]]
    words = [cell["word"].text for row in design["grid"] for cell in row]
    keeps = words.count("keeps")
    return grid.draw(
        grid.VerdictGrid(
            alt=f"{head_of(design)} keep every limit in {keeps} of {len(words)} cases; "
            "a number is the load in times of its limit",
            corner=f"load down, growth of {growth} across",
            columns=tuple("as now" if g.number == 1 else f"x {amount(g.number)}" for g in node["growths"]),
            rows=tuple("as now" if load == 1 else f"x {amount(load)}" for load in loads),
            cells=tuple(
                tuple(
                    grid.VerdictCell(_shown(cell), LEVELS.get(cell["word"].text, "none"), _note(cell)) for cell in row
                )
                for row in design["grid"]
            ),
        )
    )


def _shown(cell: At) -> str:
    return SHOWN.get(cell["word"].text, cell["word"].text)


def _note(cell: At) -> str:
    cause = f": {cell['cause'].text}" if cell["cause"] else ""
    return f"{ratio(cell['times_limit'].number)}{cause}"


def _bars(design: At) -> Markup | None:
    """The break factor with one assumption half and twice as large; None where there is nothing to draw."""
    base = design["break_factor"].value
    drawn = [bar for bar in design["bars"] if bar["half"].value is not None and bar["twice"].value is not None]
    if base is None or not drawn:
        return None
    values = [bar[end].number for bar in drawn for end in ("half", "twice")] + [base]
    top = drawn[0]
    return tornado.draw(
        tornado.Tornado(
            alt=f"{head_of(design)}: {top['name'].text} matters most, the design breaks at "
            f"{ratio(top['half'].number)} with half of it and at {ratio(top['twice'].number)} with twice as much",
            swings=tuple(
                tornado.Swing(bar["name"].text, bar["half"].number, bar["twice"].number, "half", "twice")
                for bar in drawn
            ),
            base=base,
            unit="times today's peak until it breaks",
            limit=1,
            limit_label="today's peak",
            log=min(values) > 0 and max(values) > WIDE * min(values),
        )
    )
