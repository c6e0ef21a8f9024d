"""Elements: everything is escaped, and what a strict policy refuses cannot be written."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from pkadvisor.report.charts.frame import TINT, coordinate, element, path
from pkadvisor.report.charts.style import (
    BAD,
    BAD_DARK,
    BELOW_TARGET,
    GOOD,
    GOOD_DARK,
    LOOKS,
    NOTHING,
    OVER_TARGET,
    PAPER,
    PAPER_DARK,
)
from tests.report.charts.markup import HOSTILE, keeps_the_rules, parsed


def test_an_element_escapes_text_and_attributes_and_keeps_markup() -> None:
    inner = element("tspan", "<b>")
    found = element("text", inner, HOSTILE, x=1.5, class_="a", stroke_width=2, aria_label=HOSTILE, fill=None)
    keeps_the_rules(found)
    node = parsed(found)
    assert node.attrib.keys() == {"x", "class", "stroke-width", "aria-label"}
    assert node.attrib["aria-label"] == "".join(node.itertext()).removeprefix("<b>")
    assert "\\x1b[31m\\u202egpj.\\ud800" in node.attrib["aria-label"]
    assert [child.tag for child in node] == ["tspan"]


@given(st.text())
def test_any_text_comes_back_as_text(words: str) -> None:
    node = parsed(element("text", words, title=words))
    assert len(node) == 0 and node.get("title") == (node.text or "")
    if words.isprintable():
        assert (node.text or "") == words


@pytest.mark.parametrize("name", ["style", "onclick", "onload"])
def test_what_a_policy_refuses_cannot_be_written(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        element("rect", **{name: "x"})


@given(st.floats(allow_nan=False, allow_infinity=True))
def test_a_coordinate_has_two_digits_and_no_exponent(value: float) -> None:
    text = coordinate(value)
    assert re.fullmatch(r"-?\d+(\.\d{1,2})?", text) and text != "-0"
    assert abs(float(text) - max(-1e7, min(1e7, value))) <= 0.0051


def test_empty_elements_close_themselves_and_others_do_not() -> None:
    assert element("path", d="M0 0") == Markup('<path d="M0 0"/>')
    assert element("p", class_="say") == Markup('<p class="say"></p>')
    assert path([]) == "" and path([(0, 1), (2.345, 3)], closed=True) == "M0 1L2.35 3Z"


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_heat_rises_in_luminance_from_nothing_to_far_beyond_the_target() -> None:
    levels = [luminance(colour) for colour in (NOTHING, *BELOW_TARGET, *OVER_TARGET)]
    assert levels == sorted(set(levels))
    assert min(high - low for low, high in pairwise(levels)) > 0.005
    assert max(redness(c) for c in BELOW_TARGET) < 1.3 < min(redness(c) for c in OVER_TARGET[:-1])


def redness(colour: str) -> float:
    """Red in times of blue: what is over a target has another hue than what is not."""
    return int(colour[1:3], 16) / int(colour[5:7], 16)


def test_lines_are_seen_on_white_and_on_dark_paper_and_differ_by_dash() -> None:
    for look in LOOKS:
        assert contrast(look.light, PAPER) >= 3 and contrast(look.dark, PAPER_DARK) >= 3, look
    assert len({look.dash for look in LOOKS}) == len(LOOKS)
    for colour, paper in ((BAD, PAPER), (GOOD, PAPER), (BAD_DARK, PAPER_DARK), (GOOD_DARK, PAPER_DARK)):
        assert contrast(colour, paper) >= 4.5


def test_letters_are_read_on_the_tint_of_their_part() -> None:
    def blended(colour: str, paper: str) -> str:
        both = [(int(colour[n : n + 2], 16), int(paper[n : n + 2], 16)) for n in (1, 3, 5)]
        return "#" + "".join(f"{round(TINT * a + (1 - TINT) * b):02x}" for a, b in both)

    for look in LOOKS:
        assert contrast("#1a1a1a", blended(look.light, PAPER)) >= 4.5, look
        assert contrast("#e6e6e6", blended(look.dark, PAPER_DARK)) >= 4.5, look
