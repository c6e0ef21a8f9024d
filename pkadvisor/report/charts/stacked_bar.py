"""Parts that add up: a bar for each design, all on one scale, with what it comes to at its end.

A part is told by its letter, which stands in the bar where it has room, and by its colour; the legend names them.
"""

from __future__ import annotations

from markupsafe import Markup

from pkadvisor.numbers import amount
from pkadvisor.report.charts.frame import (
    LINE,
    WIDTH,
    Box,
    element,
    figure,
    folded,
    joined,
    legend,
    text,
    text_width,
    tinted,
    x_axis,
)
from pkadvisor.report.charts.scales import Axis, Scale, scale_of
from pkadvisor.values import dataclass

LETTERS = "ABCDEFGHIJ"
BAR = 22
GAP = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A design: its parts in the order of their names, and their total as it is told elsewhere."""

    label: str
    values: tuple[float, ...]
    total: float


@dataclass(frozen=True, slots=True)
class StackedBars:
    """Bars of the same parts, at most as many as there are letters."""

    alt: str
    parts: tuple[str, ...]
    bars: tuple[Bar, ...]
    unit: str

    def __post_init__(self) -> None:
        if not self.bars or not 1 <= len(self.parts) <= len(LETTERS):
            raise ValueError(f"at least one bar, and 1 to {len(LETTERS)} parts")
        for bar in self.bars:
            if len(bar.values) != len(self.parts) or min(bar.values) < 0:
                raise ValueError(f"{bar.label}: a value of at least 0 for each of {len(self.parts)} parts")


def draw(chart: StackedBars) -> Markup:
    """The bars, from top to bottom as they come."""
    totals = [f"{amount(bar.total)} {chart.unit}" for bar in chart.bars]
    room = max(text_width(total) for total in totals) + 14
    box = Box(8, 4, WIDTH - room - 8, 0)
    x = scale_of(Axis(""), [sum(bar.values) for bar in chart.bars], box.left, box.right, ticks=6, from_zero=True)
    parts, top = [], box.top
    for bar, total in zip(chart.bars, totals, strict=True):
        for line in folded(bar.label, WIDTH - 12) if bar.label else ():
            parts.append(text(box.left, top + 12, line))
            top += LINE
        parts += [_bar(chart, bar, x, top + 2), text(x.at(sum(bar.values)) + 8, top + 18, total, font_weight="600")]
        top += BAR + GAP
    foot = Box(box.left, box.top, box.width, top - box.top - 4)
    parts.append(x_axis(x, Axis("", unit=chart.unit), foot))
    used = [n for n in range(len(chart.parts)) if any(bar.values[n] for bar in chart.bars)]
    names = legend((_swatch(n), f"{LETTERS[n]} {chart.parts[n]}") for n in used)
    return figure("stacked bars", chart.alt, joined(parts), width=WIDTH, height=top + 34, after=names)


def _bar(chart: StackedBars, bar: Bar, x: Scale, top: float) -> Markup:
    out, sum_before = [], 0.0
    for number, value in enumerate(bar.values):
        left, right = x.at(sum_before), x.at(sum_before + value)
        sum_before += value
        if value <= 0:
            continue
        tooltip = f"{chart.parts[number]}: {amount(value)} {chart.unit}"
        out.append(tinted(number, tooltip, x=left, y=top, width=right - left, height=BAR))
        letter, full = LETTERS[number], f"{LETTERS[number]} {amount(value)}"
        label = full if text_width(full) + 8 <= right - left else letter if right - left >= 14 else ""
        if label:
            out.append(text((left + right) / 2, top + 15, label, anchor="middle"))
    return joined(out)


def _swatch(number: int) -> Markup:
    square = tinted(number, x=1, y=1, width=10, height=10)
    return element("svg", square, width=12, height=12, viewBox="0 0 12 12", aria_hidden="true", focusable="false")
