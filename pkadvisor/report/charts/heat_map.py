"""Key space × time: how near to its target the busiest partition of each cell is.

The scale is absolute, thousandths of the target of a partition, and the same for every design: a map of another design
can be laid beside it, and a table with little load looks cold. The picture is a PNG of one pixel a cell; margins show
the totals of rows and columns, and a line goes around what is over the target.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from markupsafe import Markup

from pkadvisor.numbers import amount, percent
from pkadvisor.report.charts import png
from pkadvisor.report.charts.frame import (
    FAINT,
    LINE,
    WIDTH,
    Box,
    Value,
    coordinate,
    element,
    figure,
    joined,
    text,
    text_width,
    x_axis,
)
from pkadvisor.report.charts.scales import PLAIN_MAX, SUFFIXES, Axis, AxisKind, epoch_s, scale_of
from pkadvisor.report.charts.style import BELOW_TARGET, NOTHING, OVER_TARGET
from pkadvisor.values import dataclass

STEPS_PER_MILLE = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
"""From which share of the target a step of the scale begins; below the first there is next to nothing. From the target
on the steps are multiples of it: 1x, 2x, 5x, 10x, 100x."""
TARGET_PER_MILLE = 1000
PALETTE = (NOTHING, *BELOW_TARGET, *OVER_TARGET)
HEIGHT = 288
"""Of the picture, about; rows are all of one height."""
ROW_MAX = 28
LABELS_WIDTH = 250
HOTTEST_LABELLED = 5
TOTALS_WIDTH = 76
TOTALS_HEIGHT = 44


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A map, row by row from the lowest keys to the highest.

    ``per_mille``: the load of the busiest partition of a row in a column, in thousandths of ``target``. ``row_labels``,
    ``row_totals`` and ``partitions`` are of rows, ``column_totals`` of columns, in ``unit``; totals may be left out.
    ``start``: an ISO moment (UTC), or None where only the time since the start is known; ``step_s`` is 0 where columns
    follow an order without a clock. ``time_label`` names the axis of time where what it is by itself is not enough.
    ``source`` and ``labels_source``: where the values and the rows stand in the document that the page holds, for the
    page's script, and ``source_factor`` times such a value is thousandths. ``borders``: the rows, counted from 0, above
    which a line parts keys of one template from those of another.
    """

    alt: str
    per_mille: tuple[tuple[int, ...], ...]
    row_labels: tuple[str, ...]
    target: float
    unit: str
    step_s: float
    start: str | None = None
    row_totals: tuple[float, ...] = ()
    column_totals: tuple[float, ...] = ()
    partitions: tuple[int, ...] = ()
    source: str = ""
    labels_source: str = ""
    source_factor: float = 1
    caption: str = ""
    time_label: str = ""
    borders: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        rows, columns = len(self.per_mille), len(self.per_mille[0]) if self.per_mille else 0
        if not columns or any(len(row) != columns for row in self.per_mille):
            raise ValueError("per_mille: rows of one length, at least one cell each")
        for name, known, wanted in (
            ("row_labels", len(self.row_labels), rows),
            ("row_totals", len(self.row_totals) or rows, rows),
            ("partitions", len(self.partitions) or rows, rows),
            ("column_totals", len(self.column_totals) or columns, columns),
        ):
            if known != wanted:
                raise ValueError(f"{name}: {known} of {wanted}")


def step_of(per_mille: int) -> int:
    """The step of the scale: 0 for nothing, 10 from the target on, 14 from a hundred times the target on."""
    return bisect_right(STEPS_PER_MILLE, per_mille)


def picture(per_mille: Sequence[Sequence[int]]) -> bytes:
    """The cells as PNG."""
    return png.encode([[step_of(value) for value in row] for row in per_mille], PALETTE)


def draw(chart: HeatMap) -> Markup:
    """The map with its axes and margins."""
    rows, columns = len(chart.per_mille), len(chart.per_mille[0])
    named, room = _row_names(chart)
    totals = TOTALS_WIDTH if chart.row_totals else 16
    row_height = min(ROW_MAX, max(2, HEIGHT // rows))
    top = TOTALS_HEIGHT + 18 if chart.column_totals else 18
    box = Box(room, top, WIDTH - room - totals, rows * row_height)
    cell = box.width / columns
    parts = [
        text(2, 12, _rows_title(chart), font_weight="600"),
        element(
            "image", x=box.left, y=box.top, width=box.width, height=box.height, preserveAspectRatio="none",
            image_rendering="pixelated", class_="ch-picture", href=png.data_uri(picture(chart.per_mille)),
        ),
        element(
            "rect", x=box.left, y=box.top, width=box.width, height=box.height, fill="none", stroke="currentColor",
            stroke_opacity=0.5,
        ),
        _borders(chart, box, row_height),
        _over(chart, box, cell, row_height),
        _row_labels(chart, named, box, row_height),
        _time_axis(chart, box),
    ]  # fmt: skip
    if chart.row_totals:
        parts.append(_row_totals(chart, box, row_height))
    if chart.column_totals:
        parts.append(_column_totals(chart, box, cell))
    parts.append(_cursor(box, cell, row_height))
    return figure(
        "heat map",
        chart.alt,
        joined(parts),
        width=WIDTH,
        height=box.bottom + 40,
        caption=chart.caption,
        after=element("p", Markup(""), class_="ch-say", aria_live="polite"),
        data_heat="",
        data_x=box.left,
        data_y=box.top,
        data_cell_width=f"{cell:.6f}",
        data_cell_height=row_height,
        data_rows=rows,
        data_columns=columns,
        data_step=f"{chart.step_s:.6f}".rstrip("0").rstrip("."),
        data_start=chart.start,
        data_target=f"{chart.target:.6f}".rstrip("0").rstrip("."),
        data_unit=chart.unit,
        data_source=chart.source or None,
        data_labels=chart.labels_source or None,
        data_factor=chart.source_factor,
    )


def _cursor(box: Box, cell: float, row_height: float) -> Markup:
    """What the page's script moves: a frame, light within dark, that is seen on every step."""
    common: dict[str, Value] = {"width": cell, "height": row_height, "fill": "none"}
    common["vector_effect"] = "non-scaling-stroke"
    frames = element("rect", stroke="#000000", stroke_width=5, **common) + element(
        "rect", stroke="#ffffff", stroke_width=2, **common
    )
    return element("svg", frames, class_="ch-cursor", visibility="hidden", overflow="visible", x=box.left, y=box.top)


def _rows_title(chart: HeatMap) -> str:
    rows = len(chart.per_mille)
    if not chart.partitions:
        return f"{rows} row{'s' if rows > 1 else ''} of keys"
    count = sum(chart.partitions)
    return f"{count:,} partition{'s' if count > 1 else ''} in key order"


def _row_names(chart: HeatMap) -> tuple[list[str], float]:
    """Labels as they are drawn, and their room. One that does not fit is told by its number, none is cut."""
    named = [
        label if label and text_width(label) <= LABELS_WIDTH else f"#{number + 1}"
        for number, label in enumerate(chart.row_labels)
    ]
    return named, max(text_width(label) for label in named) + 12


def _row_labels(chart: HeatMap, named: Sequence[str], box: Box, row_height: float) -> Markup:
    """The labels of as many rows as have room: of the hottest ones first, then of the first and the last."""
    every = -(-LINE // row_height)
    by_heat = sorted(range(len(named)), key=lambda n: (-max(chart.per_mille[n]), n))
    chosen: list[int] = []
    for number in (*by_heat[:HOTTEST_LABELLED], 0, len(named) - 1, *range(len(named))):
        if all(abs(number - other) >= every for other in chosen):
            chosen.append(number)
    places = ((n, box.top + (n + 0.5) * row_height + 4) for n in sorted(chosen))
    return joined(text(box.left - 6, at, named[n], anchor="end") for n, at in places)


def _time_axis(chart: HeatMap, box: Box) -> Markup:
    span = len(chart.per_mille[0]) * chart.step_s
    start = epoch_s(chart.start) if chart.start is not None else None
    if not span:
        axis = Axis(chart.time_label or "in their order, first to last", unit="%", low=0, high=100)
    elif start is None:
        axis = Axis(chart.time_label or "time since the start", AxisKind.ELAPSED, low=0, high=span)
    else:
        axis = Axis(chart.time_label or "time (UTC)", AxisKind.TIME, low=start, high=start + span)
    return x_axis(scale_of(axis, (), box.left, box.right, ticks=int(box.width / 80)), axis, box)


def _borders(chart: HeatMap, box: Box, row_height: float) -> Markup:
    """Lines across, also seen on the lightest step; they reach into the labels."""
    rows = [n for n in chart.borders if 0 < n < len(chart.per_mille)]
    if not rows:
        return Markup("")
    d = "".join(f"M{coordinate(box.left)} {coordinate(box.top + n * row_height)}h{coordinate(box.width)}" for n in rows)
    ends = "".join(f"M{coordinate(box.left - 10)} {coordinate(box.top + n * row_height)}h10" for n in rows)
    return joined(
        [
            element("path", d=d, stroke="#000000", stroke_width=2),
            element("path", d=d, stroke="#ffffff", stroke_dasharray="4 4", class_="ch-border"),
            element("path", d=ends, stroke="currentColor"),
        ]
    )


def _over(chart: HeatMap, box: Box, cell: float, row_height: float) -> Markup:
    """A line around the cells over the target, light within dark, so that it is seen on every step."""
    over = [[value > TARGET_PER_MILLE for value in row] for row in chart.per_mille]
    lines = outline(over)
    if not lines:
        return Markup("")
    d = "".join(
        f"M{coordinate(box.left + x * cell)} {coordinate(box.top + y * row_height)}"
        + (f"h{coordinate(length * cell)}" if across else f"v{coordinate(length * row_height)}")
        for x, y, length, across in lines
    )
    common = {"d": d, "fill": "none", "stroke_linecap": "square"}
    return element("path", stroke="#ffffff", stroke_width=2.5, **common) + element(
        "path", stroke="#a1260d", stroke_width=1, class_="ch-over", **common
    )


def _row_totals(chart: HeatMap, box: Box, row_height: float) -> Markup:
    """A bar for each row, as long as its mean load; the longest is named."""
    most = max(chart.row_totals)
    left, width = box.right + 6, TOTALS_WIDTH - 14
    bars = "".join(
        f"M{coordinate(left)} {coordinate(box.top + n * row_height)}h{coordinate(width * total / most)}"
        f"v{coordinate(row_height)}H{coordinate(left)}z"
        for n, total in enumerate(chart.row_totals)
        if most > 0 and total > 0
    )
    foot = f"M{coordinate(left)} {coordinate(box.top)}v{coordinate(box.height)}"
    per = f"{_brief(most)}/s" if chart.unit.endswith("/s") else _brief(most)
    return joined(
        [
            element("path", d=bars or None, fill="currentColor", fill_opacity=0.55),
            element("path", d=foot, stroke="currentColor", stroke_opacity=FAINT),
            text(left, box.top - 5, "row mean"),
            text(WIDTH - 2, box.bottom + 32, f"to {per}", anchor="end"),
        ]
    )


def _column_totals(chart: HeatMap, box: Box, cell: float) -> Markup:
    """The load of all rows over time, above the map; its highest value is named."""
    most = max(chart.column_totals)
    foot, height = box.top - 5, TOTALS_HEIGHT - 12
    d = f"M{coordinate(box.left)} {coordinate(foot)}"
    for total in chart.column_totals:
        d += f"V{coordinate(foot - (height * total / most if most > 0 else 0))}h{coordinate(cell)}"
    d += f"V{coordinate(foot)}z"
    return element("path", d=d, fill="currentColor", fill_opacity=0.55) + text(
        box.right, 12, f"all rows: at most {amount(most)} {chart.unit}", anchor="end"
    )


# -- the key ----------------------------------------------------------------------------------------------------------


def key(target: float, unit: str) -> Markup:
    """The scale of every map of this target: each step from its share of the target, and what that is in ``unit``."""
    width = (WIDTH - 70) / len(PALETTE)
    parts = []
    for number, colour in enumerate(PALETTE):
        left = 60 + number * width
        parts.append(
            element(
                "rect", x=left, y=18, width=width, height=14, fill=colour, stroke="currentColor", stroke_opacity=0.4
            )
        )
        if number == 0:
            parts.append(text(left, 46, "less"))
            continue
        share = STEPS_PER_MILLE[number - 1] / TARGET_PER_MILLE
        parts.append(text(left, 46, f"{share:.0f}x" if share >= 1 else percent(share), anchor="middle"))
        parts.append(text(left, 12, _brief(target * share), anchor="middle"))
    parts.append(text(0, 12, unit))
    parts.append(text(0, 46, "of target"))
    finding = (
        f"Scale of the heat maps: steps from 0.1 % of the target of a partition, {amount(target)} {unit}, to 100 times "
        "it; cells over the target have an outline"
    )
    return figure(
        "scale", finding, joined(parts), width=WIDTH, height=52,
        caption="The load of the busiest partition of a cell in shares of its target. Blue to grey: below the target; "
        f"orange to white, with a red outline: over the target of {amount(target)} {unit}.",
    )  # fmt: skip


def _brief(load: float) -> str:
    """A load that fits above a step, and beside the title of the time axis."""
    unit, suffix = next(((u, s) for u, s in SUFFIXES if load >= max(u, PLAIN_MAX)), (1.0, ""))
    return f"{amount(load / unit)}{suffix}"


LINES_MAX = 3_000
"""Beyond these the line is drawn around blocks of cells, so that a ragged map does not swell the page."""

Segment = tuple[int, int, int, bool]
"""Where it begins (column, row), how long it is, and whether it runs across; in cells."""


def outline(marked: Sequence[Sequence[bool]], lines_max: int = LINES_MAX) -> list[Segment]:
    """Straight lines between marked cells and others, or the border: those across by row, then those down by column.

    Where there are more than ``lines_max``, the cells of a block of 2 × 2, 4 × 4, … count as marked if one of them is.
    """
    block = 1
    while True:
        lines = [
            (x * block, y * block, length * block, across) for x, y, length, across in _edges(_blocks(marked, block))
        ]
        if len(lines) <= lines_max:
            return _held(lines, len(marked[0]), len(marked))
        block *= 2


def _blocks(marked: Sequence[Sequence[bool]], size: int) -> list[list[bool]]:
    if size == 1:
        return [list(row) for row in marked]
    rows, columns = len(marked), len(marked[0])
    return [
        [any(any(row[x : x + size]) for row in marked[y : y + size]) for x in range(0, columns, size)]
        for y in range(0, rows, size)
    ]


def _edges(marked: list[list[bool]]) -> list[Segment]:
    rows, columns = len(marked), len(marked[0])
    out: list[Segment] = []
    nothing = [False] * columns
    for y in range(rows + 1):
        above, below = marked[y - 1] if y else nothing, marked[y] if y < rows else nothing
        out += [(x, y, length, True) for x, length in _runs([a != b for a, b in zip(above, below, strict=True)])]
    for x in range(columns + 1):
        sides = [(row[x - 1] if x else False) != (row[x] if x < columns else False) for row in marked]
        out += [(x, y, length, False) for y, length in _runs(sides)]
    return out


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Where runs of True begin, and how long they are."""
    out, begin = [], -1
    for number, flag in enumerate([*flags, False]):
        if flag and begin < 0:
            begin = number
        elif not flag and begin >= 0:
            out.append((begin, number - begin))
            begin = -1
    return out


def _held(lines: list[Segment], columns: int, rows: int) -> list[Segment]:
    """Blocks at the right and at the bottom may reach beyond the grid; their lines do not."""
    out = []
    for x, y, length, across in lines:
        x, y = min(x, columns), min(y, rows)
        length = min(length, columns - x if across else rows - y)
        out.append((x, y, length, across))
    return out
