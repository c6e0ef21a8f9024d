"""Series over one axis: lines, bands around them, limits across and marks down.

Every line is named where it ends, or in a legend where names are long; few points are shown as points, and one point
is a chart too. Where a value is not known the line has a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from pkadvisor.numbers import amount
from pkadvisor.report.charts import frame  # fmt: skip
from pkadvisor.report.charts.scales import Axis, AxisKind, Scale, moment_label, scale_of
from pkadvisor.values import dataclass

HEIGHT = 260
POINTS_SHOWN = 30
"""Up to so many points are drawn as points."""
LIMIT_REACH = 5
"""A limit beyond this many times the highest value is told, not drawn: the lines would lie flat on the axis."""
TIE_AT, PIECE, NAME_AT = 10, 20, 36
"""Right of the chart: where the tie from a line to its name ends, how long the piece of the line is that stands before
the name, and where the name begins."""
MARK_ROOM = 18
MARK_LABELS_MAX = 6


@dataclass(frozen=True, slots=True)
class Series:
    """Points in order of x, None where y is not known; a band of (x, low, high) around them; a look from 0 to 7."""

    name: str
    points: tuple[tuple[float, float | None], ...]
    band: tuple[tuple[float, float, float], ...] = ()
    look: int = 0


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A line across at a value of y: a target, a goal."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A line down at a value of x: something that happened, or the point that matters. ``kind``: event, bad or good."""

    x: float
    label: str
    kind: str = "event"


@dataclass(frozen=True, slots=True)
class LineChart:
    """Series on a pair of axes."""

    alt: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    limits: tuple[LimitLine, ...] = ()
    marks: tuple[Mark, ...] = ()


def draw(chart: LineChart) -> Markup:
    """The chart. ValueError without any series."""
    if not chart.series:
        raise ValueError("a chart of lines has at least one series")
    direct = names_fit(chart.series, HEIGHT)
    headroom = 26 + (frame.LINE if chart.marks else 0)
    box = frame.Box(0, headroom, frame.WIDTH, HEIGHT - headroom - 40)
    y = y_scale(chart.y, chart.series, chart.limits, box)
    left = frame.left_room(y)
    right = names_room(chart.series) if direct else 12
    box = frame.Box(left, box.top, frame.WIDTH - left - right, box.height)
    x = x_scale(chart.x, chart.series, chart.marks, box)
    parts = [
        frame.y_axis(y, chart.y, box),
        frame.x_axis(x, chart.x, box),
        marks_down(chart.marks, x, chart.x, box.top - 8, box.bottom),
        plot(chart.series, chart.limits, x, y, chart.x, chart.y, box, named=direct),
    ]
    return frame.figure(
        "lines",
        chart.alt,
        frame.joined(parts),
        width=frame.WIDTH,
        height=HEIGHT,
        after=None if direct else frame.legend((frame.swatch(s.look), s.name) for s in chart.series),
        data_lines="",
        data_x=box.left,
        data_width=box.width,
        data_low=f"{x.low:.6f}",
        data_high=f"{x.high:.6f}",
    )


# -- parts that a timeline has too ------------------------------------------------------------------------------------


def y_scale(axis: Axis, series: Sequence[Series], limits: Sequence[LimitLine], box: frame.Box) -> Scale:
    """The scale of the values, from the bottom up, reaching limits that are near."""
    values = [y for s in series for _, y in s.points if y is not None]
    values += [v for s in series for _, low, high in s.band for v in (low, high)]
    most = max(values, default=0.0)
    values += [limit.value for limit in limits if not values or most <= 0 or limit.value <= LIMIT_REACH * most]
    ticks = max(3, int(box.height / 36))
    return scale_of(axis, values, box.bottom, box.top, ticks=ticks, from_zero=True)


def x_scale(axis: Axis, series: Sequence[Series], marks: Sequence[Mark], box: frame.Box) -> Scale:
    """The scale of all points and marks; a linear one is not widened to whole steps."""
    values = [x for s in series for x, _ in s.points] + [x for s in series for x, _, _ in s.band]
    values += [mark.x for mark in marks]
    if axis.kind is AxisKind.LINEAR and values:
        low = axis.low if axis.low is not None else min(values)
        high = axis.high if axis.high is not None else max(values)
        axis = Axis(axis.label, axis.kind, axis.unit, low, high if high > low else None)
    return scale_of(axis, values, box.left, box.right, ticks=max(2, int(box.width / 80)))


def names_fit(series: Sequence[Series], height: float) -> bool:
    """Whether names stand beside their lines."""
    return len(series) * frame.LINE <= height and all(frame.text_width(s.name) <= frame.DIRECT_MAX for s in series)


def names_room(series: Sequence[Series]) -> float:
    """The room that names need beside the chart, each with a piece of its line."""
    return max(frame.text_width(s.name) for s in series) + (NAME_AT + 4 if any(s.name for s in series) else 12)


def plot(
    series: Sequence[Series],
    limits: Sequence[LimitLine],
    x: Scale,
    y: Scale,
    x_of: Axis,
    y_of: Axis,
    box: frame.Box,
    *,
    named: bool,
) -> Markup:
    """Bands, limits, then lines and their points and names."""
    parts = [_band(s, x, y) for s in series if s.band]
    parts += [_limit(limit, y, box) for limit in limits if y.low <= limit.value <= y.high]
    for s in series:
        parts += [
            frame.element("path", d=frame.path(run), stroke_linejoin="round", **frame.stroke(s.look))
            for run in runs(s, x, y)
        ]
        if len(s.points) <= POINTS_SHOWN:
            parts += [
                frame.point(
                    x.at(at), y.at(value), s.look, f"{s.name}: {shown(value, y_of)} at {where(at, x_of)}".lstrip(": ")
                )
                for at, value in s.points
                if value is not None
            ]
    parts += _limit_names(limits, y, box)
    if named:
        parts.append(_names(series, x, y, box))
    return frame.joined(parts)


def runs(series: Series, x: Scale, y: Scale) -> list[list[tuple[float, float]]]:
    """Positions of the points between gaps; a point between two gaps is drawn as a short line."""
    out: list[list[tuple[float, float]]] = [[]]
    for at, value in series.points:
        if value is None:
            out.append([])
        else:
            out[-1].append((x.at(at), y.at(value)))
    alone = len(series.points) > POINTS_SHOWN
    return [
        run if len(run) > 1 else [(run[0][0] - 1, run[0][1]), (run[0][0] + 1, run[0][1])]
        for run in out
        if len(run) > 1 or (run and alone)
    ]


def shown(value: float, axis: Axis) -> str:
    """A value with its unit."""
    return f"{amount(value)} {axis.unit}".rstrip()


def where(value: float, axis: Axis) -> str:
    """A place on the x axis in words."""
    if axis.kind is AxisKind.TIME:
        return moment_label(value)
    return f"{amount(value)} s" if axis.kind is AxisKind.ELAPSED else shown(value, axis)


def _band(series: Series, x: Scale, y: Scale) -> Markup:
    upper = [(x.at(at), y.at(high)) for at, _, high in series.band]
    lower = [(x.at(at), y.at(low)) for at, low, _ in reversed(series.band)]
    return frame.element("path", d=frame.path(upper + lower, closed=True), **frame.fill(series.look, 0.18))


def _limit(limit: LimitLine, y: Scale, box: frame.Box) -> Markup:
    d = f"M{frame.coordinate(box.left)} {frame.coordinate(y.at(limit.value))}h{frame.coordinate(box.width)}"
    return frame.element(
        "path", d=d, stroke=frame.COLOURS["bad"], class_="ch-bad ch-stroke", stroke_width=1.5, stroke_dasharray="4 3",
        fill="none",
    )  # fmt: skip


def _limit_names(limits: Sequence[LimitLine], y: Scale, box: frame.Box) -> list[Markup]:
    """The names above their lines at the left, moved apart; of a limit beyond the chart at the edge, where it is told
    so."""
    words, wanted = [], []
    for limit in limits:
        at = y.at(limit.value)
        if limit.value > y.high:
            words.append(f"{limit.label} (above this chart)")
            wanted.append(box.top + frame.LINE)
        elif limit.value < y.low:
            words.append(f"{limit.label} (below this chart)")
            wanted.append(box.bottom - 5)
        else:
            words.append(limit.label)
            wanted.append(at - 5 if at - 5 - frame.LINE > box.top - 8 else at + frame.LINE)
    more: dict[str, frame.Value] = {
        "class_": "ch-bad ch-fill ch-halo",
        "fill": frame.COLOURS["bad"],
        "font_weight": "600",
    }
    places = frame.apart(wanted, frame.LINE, box.top + 4, box.bottom - 3)
    return [frame.text(box.left + 6, place, word, **more) for word, place in zip(words, places, strict=True)]


def _names(series: Sequence[Series], x: Scale, y: Scale, box: frame.Box) -> Markup:
    """Names beside the last points, moved apart, each after a piece of its line."""
    ends = []
    for s in series:
        last = next((p for p in reversed(s.points) if p[1] is not None), None)
        if last is not None and last[1] is not None and s.name:
            ends.append((s, x.at(last[0]), y.at(last[1])))
    places = frame.apart([at for _, _, at in ends], frame.LINE, box.top, box.bottom)
    parts = []
    for (s, end, at), place in zip(ends, places, strict=True):
        if end < box.right - 2 or abs(place - at) > 2:
            tie = frame.path([(end + 3, at), (box.right + TIE_AT - 2, place)])
            parts.append(
                frame.element(
                    "path", d=tie, stroke="currentColor", stroke_opacity=0.5, stroke_dasharray="1 4", fill="none"
                )
            )
        piece = frame.path([(box.right + TIE_AT, place), (box.right + TIE_AT + PIECE, place)])
        look = frame.stroke(s.look) | {"class_": f"ch-{s.look % 8} ch-stroke ch-piece"}
        parts.append(frame.element("path", d=piece, **look))
        parts.append(frame.text(box.right + NAME_AT, place + 4, s.name, class_="ch-name"))
    return frame.joined(parts)


def marks_down(marks: Sequence[Mark], x: Scale, x_of: Axis, top: float, bottom: float) -> Markup:
    """Lines down; named above where all names have room, else numbered in their order as far as there is room."""
    ordered = sorted(marks, key=lambda mark: mark.x)
    parts = []
    for mark in ordered:
        at = frame.coordinate(x.at(mark.x))
        colour = frame.COLOURS.get(mark.kind)
        parts.append(
            frame.element(
                "path", frame.element("title", f"{mark.label} at {where(mark.x, x_of)}"),
                d=f"M{at} {frame.coordinate(top)}V{frame.coordinate(bottom)}", stroke=colour or "currentColor",
                class_=f"ch-{mark.kind} ch-stroke" if colour else None, stroke_opacity=None if colour else 0.55,
                stroke_dasharray=None if colour else "1 3", fill="none",
            )
        )  # fmt: skip
    spans = [_span(mark, x) for mark in ordered]
    free = all(right + 6 <= left for (_, right), (left, _) in pairwise(spans))
    if len(ordered) <= MARK_LABELS_MAX and free:
        parts += [
            frame.text((left + right) / 2, top - 4, mark.label, anchor="middle", **_ink(mark))
            for mark, (left, right) in zip(ordered, spans, strict=True)
        ]
        return frame.joined(parts)
    for first, last in _groups([x.at(mark.x) for mark in ordered]):
        numbers = f"{first + 1}" if first == last else f"{first + 1}–{last + 1}"
        middle = (x.at(ordered[first].x) + x.at(ordered[last].x)) / 2
        parts.append(frame.text(middle, top - 4, numbers, anchor="middle", **_ink(ordered[first])))
    return frame.joined(parts)


def _groups(places: Sequence[float]) -> list[tuple[int, int]]:
    """The first and the last of marks so near to each other that their numbers share one place."""
    out: list[tuple[int, int]] = []
    for number, at in enumerate(places):
        if out and at - places[out[-1][1]] < MARK_ROOM + 12 * (out[-1][0] != out[-1][1]):
            out[-1] = (out[-1][0], number)
        else:
            out.append((number, number))
    return out


def _span(mark: Mark, x: Scale) -> tuple[float, float]:
    """From where to where the name of a mark reaches: centred, but within the chart."""
    width = frame.text_width(mark.label)
    left = max(x.start, min(x.at(mark.x) - width / 2, x.end - width))
    return left, left + width


def _ink(mark: Mark) -> dict[str, frame.Value]:
    colour = frame.COLOURS.get(mark.kind)
    return {"fill": colour, "class_": f"ch-{mark.kind} ch-fill"} if colour else {}


# -- How evenly a load is spread: the share of the load that the coldest share of the partitions takes.


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


def draw_lorenz(chart: Lorenz) -> Markup:
    """The curves in a square. ValueError without any."""
    if not chart.curves:
        raise ValueError("a Lorenz chart has at least one curve")
    y = scale_of(SHARE_Y, (), TOP + SIDE, TOP, ticks=4)
    left = max(frame.text_width(tick.label) for tick in y.ticks) + 12
    box = frame.Box(left, TOP, SIDE, SIDE)
    x = scale_of(SHARE_X, (), box.left, box.right, ticks=4)
    even = frame.path([(box.left, box.bottom), (box.right, box.top)])
    parts = [
        frame.y_axis(y, SHARE_Y, box),
        frame.x_axis(x, SHARE_X, box),
        frame.element("path", d=even, stroke="currentColor", stroke_opacity=0.6, stroke_dasharray="1 3", fill="none"),
        frame.text(box.left + 8, box.top + frame.LINE, "dotted: all partitions take the same load", class_="ch-halo"),
    ]
    for curve in chart.curves:
        places = [(x.at(100 * partitions), y.at(100 * load)) for partitions, load in curve.points]
        parts.append(frame.element("path", d=frame.path(places), stroke_linejoin="round", **frame.stroke(curve.look)))
    names = frame.legend(
        (frame.swatch(curve.look), f"{curve.name}: Gini {amount(curve.gini)}") for curve in chart.curves
    )
    return frame.figure(
        "lorenz",
        chart.alt,
        frame.joined(parts),
        width=box.right + 20,
        height=box.bottom + 40,
        after=names,
        small=True,
    )
