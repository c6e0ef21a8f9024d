"""Parts that add up: a bar for each design, all on one scale, with what it comes to at its end.

A part is told by its letter, which stands in the bar where it has room, and by its colour; the legend names them.
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
    legend,
    text,
    text_width,
    tinted,
    x_axis,
)
from pkadvisor.report.charts.scales import Axis, AxisKind, Scale, scale_of
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


# -- What each assumption may change: a bar from the outcome at one end of its range to that at the other.


SWING = 18
SWING_GAP = 10
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


def draw_tornado(chart: Tornado) -> Markup:
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
        height = max(SWING, LINE * len(lines))
        first = top + (height - LINE * len(lines)) / 2 + 12
        parts += [text(left - 8, first + LINE * n, line, anchor="end") for n, line in enumerate(lines)]
        parts.append(_swing(chart, swing, x, top + (height - SWING) / 2))
        ends_named.append(_ends(chart, swing, x, top + (height - SWING) / 2))
        top += height + SWING_GAP
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


def _swing(chart: Tornado, swing: Swing, x: Scale, top: float) -> Markup:
    """The bar in two shades: from the outcome as assumed to that of the one end, and to that of the other."""
    base = x.at(chart.base)
    tooltip = (
        f"{swing.name}: {amount(swing.low)} {chart.unit} at {swing.low_label}, "
        f"{amount(swing.high)} {chart.unit} at {swing.high_label}"
    )
    ends = enumerate((x.at(swing.low), x.at(swing.high)))
    return joined(tinted(n, tooltip, x=min(base, end), y=top, width=abs(end - base), height=SWING) for n, end in ends)


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


# -- A word for each cell of two assumptions: a table, in which colour only repeats what the word says.


LEVELS = ("good", "warn", "bad", "none")


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """A verdict, how it is meant (``LEVELS``), and why in a few words."""

    word: str
    level: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class VerdictGrid:
    """Rows and columns with their values; ``corner`` says what they are: ``growth down, load across``."""

    alt: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[VerdictCell, ...], ...]

    def __post_init__(self) -> None:
        if len(self.cells) != len(self.rows) or any(len(row) != len(self.columns) for row in self.cells):
            raise ValueError(f"cells: {len(self.rows)} rows of {len(self.columns)}")
        for cell in (cell for row in self.cells for cell in row):
            if cell.level not in LEVELS:
                raise ValueError(f"level of a cell: {cell.level!r} is none of {', '.join(LEVELS)}")


def draw_grid(chart: VerdictGrid) -> Markup:
    """The table; its caption is the finding."""
    heads = [element("th", name, scope="col") for name in chart.columns]
    head = element("thead", element("tr", element("th", chart.corner, scope="col"), *heads))
    rows = [
        element("tr", element("th", name, scope="row"), *[_cell(cell) for cell in cells])
        for name, cells in zip(chart.rows, chart.cells, strict=True)
    ]
    table = element("table", element("caption", chart.alt), head, element("tbody", *rows), class_="ch-grid")
    region = element("div", table, class_="ch-scroll", tabindex="0", role="group", aria_label="Chart: grid")
    return element("figure", region, class_="chart grid")


def _cell(cell: VerdictCell) -> Markup:
    note = [element("span", cell.note)] if cell.note else []
    return element("td", cell.word, *note, class_=f"ch-{cell.level}")
