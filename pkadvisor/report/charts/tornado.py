"""What each assumption may change: a bar from the outcome at one end of its range to that at the other.

The longest bars are meant to come first; the order is the caller's. A line marks the outcome as assumed, another the
limit that must not be passed.
"""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.numbers import amount
from pkadvisor.report.charts.frame import (
    COLOURS,
    LINE,
    WIDTH,
    Box,
    coordinate,
    element,
    figure,
    folded,
    joined,
    text,
    text_width,
    tinted,
    x_axis,
)
from pkadvisor.report.charts.scales import Axis, AxisKind, Scale, scale_of
from pkadvisor.values import dataclass

BAR = 18
GAP = 10
TOP = 40
NAME_MAX = 230
ENDS = 8
LIMIT_REACH = 5


@dataclass(frozen=True, slots=True)
class Swing:
    """An assumption: the outcome at its one end and at its other, and what these ends are (``x0.5``, ``2 months``)."""

    name: str
    low: float
    high: float
    low_label: str
    high_label: str


@dataclass(frozen=True, slots=True)
class Tornado:
    """Bars around the outcome as assumed; ``unit`` is that of outcomes, ``name`` says what they are."""

    alt: str
    swings: tuple[Swing, ...]
    base: float
    unit: str
    limit: float | None = None
    limit_label: str = ""
    log: bool = False


def draw(chart: Tornado) -> Markup:
    """The bars from top to bottom as they come. ValueError without any."""
    if not chart.swings:
        raise ValueError("a tornado has at least one bar")
    names = [folded(swing.name, NAME_MAX) for swing in chart.swings]
    left = max(text_width(line) for lines in names for line in lines) + 14
    ends = max(text_width(label) for s in chart.swings for label in (s.low_label, s.high_label))
    ends = min(ends, 120) + ENDS + 4
    values = [v for s in chart.swings for v in (s.low, s.high)] + [chart.base]
    limit = chart.limit
    shown = limit is not None and limit <= LIMIT_REACH * max(values)
    if limit is not None and shown:
        values.append(limit)
    axis = Axis("", AxisKind.LOG if chart.log else AxisKind.LINEAR, chart.unit)
    x = scale_of(axis, values, left + ends, WIDTH - ends, ticks=6, from_zero=True)
    parts, ends_named, top = [], [], float(TOP)
    for swing, lines in zip(chart.swings, names, strict=True):
        height = max(BAR, LINE * len(lines))
        first = top + (height - LINE * len(lines)) / 2 + 12
        parts += [text(left - 8, first + LINE * n, line, anchor="end") for n, line in enumerate(lines)]
        parts.append(_bar(chart, swing, x, top + (height - BAR) / 2))
        ends_named.append(_ends(chart, swing, x, top + (height - BAR) / 2))
        top += height + GAP
    box = Box(x.start, TOP, x.end - x.start, top - TOP - 4)
    parts.append(x_axis(x, axis, box))
    parts.append(_line(chart.base, f"as assumed {amount(chart.base)}", x, box, None, TOP - 8))
    if limit is not None and shown:
        parts.append(_line(limit, chart.limit_label, x, box, "bad", TOP - 8 - LINE))
    elif limit is not None:
        parts.append(
            text(WIDTH - 4, TOP - 8 - LINE, f"{chart.limit_label} (beyond this chart)", anchor="end",
                 fill=COLOURS["bad"], class_="ch-bad ch-fill")
        )  # fmt: skip
    return figure("tornado", chart.alt, joined(parts + ends_named), width=WIDTH, height=box.bottom + 40)


def _bar(chart: Tornado, swing: Swing, x: Scale, top: float) -> Markup:
    """The bar in two shades: from the outcome as assumed to that of the one end, and to that of the other."""
    base = x.at(chart.base)
    tooltip = (
        f"{swing.name}: {amount(swing.low)} {chart.unit} at {swing.low_label}, "
        f"{amount(swing.high)} {chart.unit} at {swing.high_label}"
    )
    ends = enumerate((x.at(swing.low), x.at(swing.high)))
    return joined(tinted(n, tooltip, x=min(base, end), y=top, width=abs(end - base), height=BAR) for n, end in ends)


def _ends(chart: Tornado, swing: Swing, x: Scale, top: float) -> Markup:
    """What is assumed at either end of the bar."""
    at_low, at_high, base = x.at(swing.low), x.at(swing.high), x.at(chart.base)
    near, far = (swing.low_label, swing.high_label) if at_low <= at_high else (swing.high_label, swing.low_label)
    left, right = min(at_low, at_high, base), max(at_low, at_high, base)
    return text(left - 5, top + 13, near, anchor="end", class_="ch-halo") + text(
        right + 5, top + 13, far, class_="ch-halo"
    )


def _line(value: float, label: str, x: Scale, box: Box, kind: str | None, label_at: float) -> Markup:
    """A line down through all bars with its name above, kept within the picture."""
    at, half = x.at(value), text_width(label) / 2
    middle = max(half + 2, min(at, WIDTH - half - 2))
    return element(
        "path", d=f"M{coordinate(at)} {coordinate(label_at + 4)}V{coordinate(box.bottom)}", fill="none",
        stroke=COLOURS[kind] if kind else "currentColor", stroke_width=1.5,
        stroke_dasharray="4 3" if kind else None, class_=f"ch-{kind} ch-stroke" if kind else None,
    ) + text(
        middle, label_at, label, anchor="middle", fill=COLOURS[kind] if kind else None,
        class_=f"ch-{kind} ch-fill" if kind else None,
    )  # fmt: skip
