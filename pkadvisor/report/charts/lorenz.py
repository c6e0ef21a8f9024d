"""How evenly a load is spread: the share of the load that the coldest share of the partitions takes."""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.numbers import amount
from pkadvisor.report.charts.frame import (
    LINE,
    Box,
    element,
    figure,
    joined,
    legend,
    path,
    stroke,
    swatch,
    text,
    text_width,
    x_axis,
    y_axis,
)
from pkadvisor.report.charts.scales import Axis, scale_of
from pkadvisor.values import dataclass

SIDE = 260
TOP = 26
SHARE_X = Axis("partitions, coldest first", unit="%", low=0, high=100)
SHARE_Y = Axis("share of the load", unit="%", low=0, high=100)


@dataclass(frozen=True, slots=True)
class Curve:
    """A design: points (share of partitions, share of load) from (0, 0) to (1, 1), both rising, and its Gini index."""

    name: str
    points: tuple[tuple[float, float], ...]
    gini: float
    look: int = 0


@dataclass(frozen=True, slots=True)
class Lorenz:
    """Curves of designs against the line on which every partition takes the same."""

    alt: str
    curves: tuple[Curve, ...]
    caption: str = ""


def draw(chart: Lorenz) -> Markup:
    """The curves in a square. ValueError without any."""
    if not chart.curves:
        raise ValueError("a Lorenz chart has at least one curve")
    y = scale_of(SHARE_Y, (), TOP + SIDE, TOP, ticks=4)
    left = max(text_width(tick.label) for tick in y.ticks) + 12
    box = Box(left, TOP, SIDE, SIDE)
    x = scale_of(SHARE_X, (), box.left, box.right, ticks=4)
    even = path([(box.left, box.bottom), (box.right, box.top)])
    parts = [
        y_axis(y, SHARE_Y, box),
        x_axis(x, SHARE_X, box),
        element("path", d=even, stroke="currentColor", stroke_opacity=0.6, stroke_dasharray="1 3", fill="none"),
        text(box.left + 8, box.top + LINE, "dotted: all partitions take the same load", class_="ch-halo"),
    ]
    for curve in chart.curves:
        places = [(x.at(100 * partitions), y.at(100 * load)) for partitions, load in curve.points]
        parts.append(element("path", d=path(places), stroke_linejoin="round", **stroke(curve.look)))
    names = legend((swatch(curve.look), f"{curve.name}: Gini {amount(curve.gini)}") for curve in chart.curves)
    return figure(
        "lorenz",
        chart.alt,
        joined(parts),
        width=box.right + 20,
        height=box.bottom + 40,
        caption=chart.caption,
        after=names,
        small=True,
    )
