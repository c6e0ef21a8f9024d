"""Reading charts back: as XML, as pictures, and the rules that each of them keeps."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

from markupsafe import Markup

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><img src=x onerror=alert(1)>\"'\x1b[31m\u202egpj.\ud800 & =cmd()"
"""What may stand in a key value."""


def parsed(markup: Markup) -> ElementTree.Element:
    """The figure as a tree; fails where it is not well formed."""
    return ElementTree.fromstring(str(markup))


def words(markup: Markup) -> str:
    """All text of the figure, titles included."""
    return " ".join(text.strip() for text in parsed(markup).itertext() if text.strip())


def texts(markup: Markup) -> list[str]:
    """The texts that are drawn, in order."""
    return ["".join(node.itertext()) for node in parsed(markup).iter(f"{SVG}text")]


def finding(markup: Markup) -> str:
    """What a screen reader says of the picture."""
    (svg,) = [node for node in parsed(markup).iter(f"{SVG}svg") if node.get("role") == "img"]
    return svg.get("aria-label", "")


def keeps_the_rules(markup: Markup) -> None:
    """Well formed; no style, handler, script, id or address but a picture's data; every control character escaped."""
    tree = parsed(markup)
    for node in tree.iter():
        assert node.tag.rpartition("}")[2] not in ("script", "style", "foreignObject", "a")
        for name, value in node.attrib.items():
            assert name not in ("style", "id") and not name.startswith("on"), name
            assert "url(" not in value
            assert name != "href" or value.startswith("data:image/png;base64,")
            assert name in ("aria-label", "href") or ("nan" not in value.lower().split() and "inf" not in value.split())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", markup)
    str(markup).encode("utf-8")


def inside(markup: Markup) -> None:
    """Every point of every line lies on the picture, texts begin on it."""
    tree = parsed(markup)
    svg = next(tree.iter(f"{SVG}svg"))
    _, _, width, height = (float(n) for n in svg.get("viewBox", "").split())
    for node in svg.iter():
        for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if name in node.attrib and node.tag != f"{SVG}svg":
                assert -1 <= float(node.attrib[name]) <= most + 1, (node.tag, node.attrib)
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", node.get("d", "")):
            assert -2 <= float(x) <= width + 2 and -2 <= float(y) <= height + 2, node.attrib


def picture(markup: Markup) -> bytes:
    """The PNG of a map."""
    (image,) = list(parsed(markup).iter(f"{SVG}image"))
    return base64.b64decode(image.attrib["href"].removeprefix("data:image/png;base64,"), validate=True)
