"""What charts have in common: the figure around them, axes, labels that do not overlap, legends.

Elements of SVG and HTML in which everything is escaped.

Only presentation attributes are written, so that a picture stands where a policy refuses style sheets, and nothing that
such a policy would report.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from pkadvisor.report.charts.scales import Axis, Scale
from pkadvisor.report.charts.style import BAD, FONT_PX, GOOD, WARN, look_of
from pkadvisor.report.escapes import clean, fold
from pkadvisor.values import dataclass

Value = str | float | int | None
VOID = frozenset({"circle", "image", "line", "path", "polygon", "polyline", "rect"})
"""Elements that may stand without content, and then close themselves."""
COORDINATE_MAX = 1e7


def element(name: str, *children: str | Markup, **attributes: Value) -> Markup:
    """``<name …>children</name>``. Children that are not markup are text; an attribute that is None is left out.

    ``class_`` is written as ``class``, other underscores as hyphens. ValueError on ``style`` and on event handlers.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        if attribute == "style" or attribute.startswith("on"):
            raise ValueError(f"a chart holds no {attribute}=")
        shown = clean(value) if isinstance(value, str) else coordinate(value)
        parts.append(f' {attribute}="{escape(shown)}"')
    if not children and name in VOID:
        return Markup("".join(parts) + "/>")
    parts.append(">")
    parts += [child if isinstance(child, Markup) else escape(clean(child)) for child in children]
    parts.append(f"</{name}>")
    return Markup("".join(parts))


def joined(parts: Iterable[Markup]) -> Markup:
    """Elements one after another."""
    return Markup("").join(parts)


def coordinate(value: float) -> str:
    """A position or a length at a hundredth of a unit, without an exponent; beyond ``COORDINATE_MAX`` it is held."""
    held = min(max(float(value), -COORDINATE_MAX), COORDINATE_MAX)
    text = f"{held:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def path(points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
    """The ``d`` of a line through the points."""
    steps = [f"{coordinate(x)} {coordinate(y)}" for x, y in points]
    return ("M" + "L".join(steps) + ("Z" if closed else "")) if steps else ""


WIDTH = 720
"""Of a chart that fills the page, in its own units."""
LINE = 15
"""From one line of text to the next."""
DIRECT_MAX = 190
"""Names up to this width stand beside their line, longer ones in a legend."""
COLOURS = {"bad": BAD, "good": GOOD, "warn": WARN}
TINT = 0.45
"""Opacity of an area with text on it."""
FAINT = 0.22
"""Opacity of a grid line."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where the values of a chart are drawn."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height


def figure(
    kind: str,
    alt: str,
    picture: Markup,
    *,
    width: float,
    height: float,
    caption: str = "",
    after: Markup | None = None,
    small: bool = False,
    **data: Value,
) -> Markup:
    """The ``<figure>``: a region that scrolls on narrow screens, the picture with its finding, what stands below."""
    svg = element(
        "svg",
        picture,
        xmlns="http://www.w3.org/2000/svg",
        class_="ch-small" if small else None,
        width=width,
        height=height,
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        role="img",
        aria_label=alt,
        font_family="system-ui, sans-serif",
        font_size=FONT_PX,
        fill="currentColor",
        **data,
    )
    region = element("div", svg, class_="ch-scroll", tabindex="0", role="group", aria_label=f"Chart: {kind}")
    below = [after] if after is not None else []
    if caption:
        below.append(element("figcaption", caption))
    return element("figure", region, *below, class_=f"chart {kind.split()[0]}")


def tinted(number: int, tooltip: str = "", **place: float) -> Markup:
    """A rectangle in a look's colour, thinned so that text on it keeps the page's colour and its contrast."""
    title = [element("title", tooltip)] if tooltip else []
    looks = {**fill(number, TINT), "class_": f"ch-{number % 8} ch-fill ch-stroke"}
    return element("rect", *title, **place, stroke=look_of(number).light, **looks)


# -- text -------------------------------------------------------------------------------------------------------------


def text_width(text: str, size: float = FONT_PX) -> float:
    """How wide a text is drawn at most, nearly: fonts differ, so it is taken wide."""
    units = 0.0
    for char in clean(text):
        if unicodedata.east_asian_width(char) in ("W", "F"):
            units += 1.05
        elif char in "mwMW@%—…":
            units += 0.92
        elif char.isupper() or char in "_{}+=<>":
            units += 0.7
        elif char in "iljtfr.,:;|'!()[] ":
            units += 0.36
        else:
            units += 0.61
    return units * size


def text(x: float, y: float, words: str, *, anchor: Value = None, **more: Value) -> Markup:
    """A line of text from x on; or with x at its ``middle`` or ``end``."""
    return element("text", words, x=x, y=y, text_anchor=anchor, **more)


def folded(words: str, width: float, size: float = FONT_PX) -> list[str]:
    """The lines of a text of which none is wider; nothing is lost."""
    words = clean(words)
    if text_width(words, size) <= width:
        return [words]
    widest = max((text_width(char, size) for char in set(words)), default=size)
    room = max(4, int(width / widest), int(len(words) * width / text_width(words, size) * 0.9))
    lines = fold(words, room, conditions=False)
    while room > 4 and any(text_width(line, size) > width for line in lines):
        room -= 1
        lines = fold(words, room, conditions=False)
    return lines


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as near to those wanted as they can be, at least ``gap`` apart, in the same order, within the bounds
    as far as they fit."""
    order = sorted(range(len(wanted)), key=lambda n: (wanted[n], n))
    if not order:
        return []
    # Blocks of labels that touch each other move as one, to the mean of what their labels want.
    blocks: list[tuple[list[int], float]] = []
    for number in order:
        members, sum_of = [number], wanted[number]
        while blocks:
            before, sum_before = blocks[-1]
            end = sum_before / len(before) + gap * (len(before) - 1) / 2
            if end + gap <= sum_of / len(members) - gap * (len(members) - 1) / 2:
                break
            blocks.pop()
            members, sum_of = before + members, sum_of + sum_before
        blocks.append((members, sum_of))
    out = [0.0] * len(wanted)
    at = low
    for members, sum_of in blocks:
        first = max(at, sum_of / len(members) - gap * (len(members) - 1) / 2)
        for place, number in enumerate(members):
            out[number] = first + gap * place
        at = first + gap * len(members)
    limit = high
    for number in reversed(order):
        out[number] = max(min(out[number], limit), low) if limit >= low else out[number]
        limit = out[number] - gap
    return out


# -- axes -------------------------------------------------------------------------------------------------------------


def y_axis(scale: Scale, axis: Axis, box: Box, *, titled: bool = True) -> Markup:
    """Grid lines with their values on the left, and above them what is counted."""
    lines = "".join(
        f"M{coordinate(box.left)} {coordinate(scale.at(t.value))}h{coordinate(box.width)}" for t in scale.ticks
    )
    parts = [element("path", d=lines, stroke="currentColor", stroke_opacity=FAINT, fill="none")]
    parts += [text(box.left - 6, scale.at(t.value) + 4, t.label, anchor="end") for t in scale.ticks]
    if titled:
        parts.append(text(2, box.top - 8, axis_title(axis), font_weight="600"))
    return joined(parts)


def x_axis(scale: Scale, axis: Axis, box: Box, *, titled: bool = True, valued: bool = True) -> Markup:
    """The line below, its ticks with their values where they have room, and what is counted."""
    marks = f"M{coordinate(box.left)} {coordinate(box.bottom)}h{coordinate(box.width)}"
    marks += "".join(f"M{coordinate(scale.at(t.value))} {coordinate(box.bottom)}v4" for t in scale.ticks)
    parts = [element("path", d=marks, stroke="currentColor", stroke_opacity=0.6, fill="none")]
    free = -1e9
    for tick in scale.ticks if valued else ():
        at, half = scale.at(tick.value), text_width(tick.label) / 2
        if at - half < free:
            continue
        parts.append(text(at, box.bottom + 16, tick.label, anchor="middle"))
        free = at + half + 4
    if titled:
        parts.append(text(box.right, box.bottom + 32, axis_title(axis), anchor="end", font_weight="600"))
    return joined(parts)


def axis_title(axis: Axis) -> str:
    """What an axis counts, with its unit."""
    return f"{axis.label}, {axis.unit}" if axis.unit and axis.label else axis.label or axis.unit


def left_room(scale: Scale) -> float:
    """The room that the values of a y axis need."""
    return max([text_width(tick.label) for tick in scale.ticks], default=0.0) + 12


# -- legends ----------------------------------------------------------------------------------------------------------


def swatch(look: int) -> Markup:
    """A piece of a line as it is drawn in the chart."""
    line = element("path", d="M0 6h28", **stroke(look))
    return element("svg", line, width=28, height=12, viewBox="0 0 28 12", aria_hidden="true", focusable="false")


def legend(entries: Iterable[tuple[Markup, str]]) -> Markup:
    """Swatches with their names, below the picture."""
    return element("ul", *[element("li", mark, name) for mark, name in entries], class_="ch-legend")


def stroke(look: int) -> dict[str, Value]:
    """The attributes of a line of a look."""
    style = look_of(look)
    return {
        "stroke": style.light,
        "class_": f"ch-{look % 8} ch-stroke",
        "stroke_width": 2,
        "stroke_dasharray": style.dash,
        "fill": "none",
    }


def fill(look: int, opacity: float | None = None) -> dict[str, Value]:
    """The attributes of an area of a look."""
    return {"fill": look_of(look).light, "class_": f"ch-{look % 8} ch-fill", "fill_opacity": opacity}


def point(x: float, y: float, look: int, title: str = "", size: float = 3.5) -> Markup:
    """A point whose shape tells its series: circle, square, triangle, diamond."""
    name = [element("title", title)] if title else []
    shape = look % 4
    if shape == 0:
        return element("circle", *name, cx=x, cy=y, r=size, **fill(look))
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
        3: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    }[shape]
    return element(
        "path", *name, d=path([(x + size * dx, y + size * dy) for dx, dy in corners], closed=True), **fill(look)
    )
