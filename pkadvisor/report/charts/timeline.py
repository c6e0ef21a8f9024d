"""Several panels on one time axis: what happened at the same moment stands at the same place, marks run through all."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.report.charts import lines
from pkadvisor.report.charts.frame import WIDTH, Box, figure, joined, left_room, legend, swatch, text, x_axis, y_axis
from pkadvisor.report.charts.scales import Axis
from pkadvisor.values import dataclass

GAP = 34
"""Between panels: the room of the next one's title."""
TOP, MARKS_ROOM = 26, 14
FOOT = 40


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over the shared axis."""

    name: str
    y: Axis
    series: tuple[lines.Series, ...]
    limits: tuple[lines.LimitLine, ...] = ()
    height: float = 110


@dataclass(frozen=True, slots=True)
class Timeline:
    """Panels from top to bottom, and marks through all of them."""

    alt: str
    x: Axis
    panels: tuple[Panel, ...]
    marks: tuple[lines.Mark, ...] = ()
    caption: str = ""


def draw(chart: Timeline) -> Markup:
    """The panels. ValueError where there are none, or one is empty."""
    if not chart.panels or any(not panel.series for panel in chart.panels):
        raise ValueError("a timeline has panels, and each has at least one series")
    direct = [lines.names_fit(panel.series, panel.height) for panel in chart.panels]
    right = max((lines.names_room(p.series) for p, fits in zip(chart.panels, direct, strict=True) if fits), default=12)
    tops, at = [], float(TOP + (MARKS_ROOM if chart.marks else 0))
    for panel in chart.panels:
        tops.append(at)
        at += panel.height + GAP
    bottom = at - GAP
    sizes = [Box(0, top, WIDTH, panel.height) for top, panel in zip(tops, chart.panels, strict=True)]
    heights = [lines.y_scale(p.y, p.series, p.limits, size) for p, size in zip(chart.panels, sizes, strict=True)]
    left = max(left_room(scale) for scale in heights)
    shared = Box(left, tops[0], WIDTH - left - right, bottom - tops[0])
    x = lines.x_scale(chart.x, [s for panel in chart.panels for s in panel.series], chart.marks, shared)
    parts = [lines.marks_down(chart.marks, x, chart.x, 14, bottom)]
    for number, (panel, y, top) in enumerate(zip(chart.panels, heights, tops, strict=True)):
        box = Box(left, top, shared.width, panel.height)
        last = number == len(chart.panels) - 1
        title = f"{panel.name}, {panel.y.unit}" if panel.y.unit else panel.name
        parts += [
            y_axis(y, panel.y, box, titled=False),
            text(2, top - 9, title, font_weight="600", class_="ch-halo"),
            x_axis(x, chart.x, box, titled=last, valued=last),
            lines.plot(panel.series, panel.limits, x, y, chart.x, panel.y, box, named=direct[number]),
        ]
    named_below = {
        s.name: s.look for panel, fits in zip(chart.panels, direct, strict=True) if not fits for s in panel.series
    }
    below = legend((swatch(look), name) for name, look in named_below.items() if name) if any(named_below) else None
    return figure(
        "timeline",
        chart.alt,
        joined(parts),
        width=WIDTH,
        height=bottom + FOOT,
        caption=chart.caption,
        after=below,
        data_timeline="",
        data_x=left,
        data_width=shared.width,
        data_low=f"{x.low:.6f}",
        data_high=f"{x.high:.6f}",
    )
