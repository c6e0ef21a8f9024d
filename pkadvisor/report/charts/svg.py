"""Elements of SVG and HTML in which everything is escaped.

Only presentation attributes are written, so that a picture stands where a policy refuses style sheets, and nothing that
such a policy would report.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from pkadvisor.report.escapes import clean

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
