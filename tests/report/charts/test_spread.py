"""Lorenz curves, tornados and grids of verdicts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from pkadvisor.report.charts import lines, stacked_bar
from pkadvisor.report.charts.lines import SIDE, Curve, Lorenz
from pkadvisor.report.charts.stacked_bar import Swing, Tornado, VerdictCell, VerdictGrid
from tests.report.charts.markup import HOSTILE, SVG, finding, inside, keeps_the_rules, parsed, texts, words
from tests.tiers import examples

SKEW = Lorenz(
    alt="1 % of the partitions take half of the load",
    curves=(
        Curve("recommended", ((0, 0), (0.5, 0.4), (1, 1)), 0.1),
        Curve("current", ((0, 0), (0.99, 0.5), (1, 1)), 0.49, look=1),
    ),
)


def curve(chart: Markup, look: int) -> list[tuple[float, float]]:
    svg = next(n for n in parsed(chart).iter(f"{SVG}svg") if n.get("role") == "img")
    (found,) = [n for n in svg.iter(f"{SVG}path") if n.get("class") == f"ch-{look} ch-stroke"]
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", found.attrib["d"])]


def test_curves_run_from_corner_to_corner_below_the_even_line() -> None:
    chart = lines.draw_lorenz(SKEW)
    keeps_the_rules(chart)
    inside(chart)
    (left, bottom), middle, (right, top) = curve(chart, 1)
    assert right - left == pytest.approx(SIDE, abs=0.02) and bottom - top == pytest.approx(SIDE, abs=0.02)
    assert middle == pytest.approx((left + 0.99 * SIDE, bottom - 0.5 * SIDE), abs=0.02)
    assert [li for li in words(chart).split("  ") if "Gini" in li]
    assert "recommended: Gini 0.1" in words(chart) and "current: Gini 0.49" in words(chart)
    assert finding(chart) == SKEW.alt and "dotted: all partitions take the same load" in texts(chart)
    with pytest.raises(ValueError, match="curve"):
        lines.draw_lorenz(replace(SKEW, curves=()))


SWINGS = Tornado(
    alt="the load of reads matters most",
    swings=(Swing("load of reads", 0.2, 1.4, "x0.5", "x4"), Swing("share of the hottest key", 0.5, 0.3, "1 %", "3 %")),
    base=0.4,
    unit="times target",
    limit=1,
    limit_label="partition target",
)


def test_bars_reach_from_the_outcome_as_assumed_to_those_of_their_ends() -> None:
    chart = stacked_bar.draw_tornado(SWINGS)
    keeps_the_rules(chart)
    inside(chart)
    bars = list(parsed(chart).iter(f"{SVG}rect"))
    spans = [(float(n.attrib["x"]), float(n.attrib["x"]) + float(n.attrib["width"])) for n in bars]
    base, unit = spans[0][1], (spans[0][1] - spans[0][0]) / 0.2
    wanted = [(-0.2, 0), (0, 1.0), (0, 0.1), (-0.1, 0)]
    assert [((a - base) / unit, (b - base) / unit) for a, b in spans] == [pytest.approx(w, abs=0.001) for w in wanted]
    told = [n[0].text for n in bars]
    assert told[0] == "load of reads: 0.2 times target at x0.5, 1.4 times target at x4"
    ends = {n.text: (float(n.attrib["x"]), n.get("text-anchor")) for n in parsed(chart).iter(f"{SVG}text")}
    assert ends["3 %"][0] < base < ends["1 %"][0], "an end is named where its outcome lies"
    assert "as assumed 0.4" in ends and "partition target" in ends


def test_a_limit_out_of_reach_is_told() -> None:
    chart = stacked_bar.draw_tornado(replace(SWINGS, limit=100))
    assert "partition target (beyond this chart)" in texts(chart) and "partition target" not in texts(chart)
    assert "0.5" in texts(chart), "the bars keep their scale"
    bare = stacked_bar.draw_tornado(replace(SWINGS, limit=None))
    assert not [t for t in texts(bare) if t.startswith("partition target")]


@given(
    st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=6),
    st.floats(0, 1e9),
    st.none() | st.floats(0, 1e9),
    st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
@example([("", 0.0, 1e-308)], 0.0, None, False)
def test_any_tornado_stays_on_its_picture(
    found: list[tuple[str, float, float]], base: float, limit: float | None, log: bool
) -> None:
    swings = tuple(Swing(name, low, high, "less", "more") for name, low, high in found)
    chart = stacked_bar.draw_tornado(Tornado("a", swings, base, "ms", limit, "goal", log))
    keeps_the_rules(chart)
    inside(chart)
    with pytest.raises(ValueError, match="bar"):
        stacked_bar.draw_tornado(Tornado("a", (), base, "ms"))


VERDICTS = VerdictGrid(
    alt="the current design holds up to twice the load",
    corner="growth down, load across",
    columns=("x1", "x5"),
    rows=("now", "+12 months"),
    cells=(
        (VerdictCell("keeps", "good"), VerdictCell("over target", "bad", "1.7x")),
        (VerdictCell("not known", "none"), VerdictCell("a", "warn")),
    ),
)


def test_a_grid_is_a_table_whose_words_say_it_without_colour() -> None:
    tree = parsed(stacked_bar.draw_grid(VERDICTS))
    assert (tree.findtext(".//caption") or "") == VERDICTS.alt
    assert [th.text for th in tree.iter("th") if th.get("scope") == "col"] == [VERDICTS.corner, "x1", "x5"]
    assert [th.text for th in tree.iter("th") if th.get("scope") == "row"] == ["now", "+12 months"]
    cells = [("".join(td.itertext()), td.get("class")) for td in tree.iter("td")]
    assert cells == [
        ("keeps", "ch-good"), ("over target1.7x", "ch-bad"), ("not known", "ch-none"), ("a", "ch-warn"),
    ]  # fmt: skip
    hostile = stacked_bar.draw_grid(replace(VERDICTS, alt=HOSTILE, corner=HOSTILE, columns=(HOSTILE, "b")))
    keeps_the_rules(hostile)
    assert HOSTILE.split("\x1b")[0] in words(hostile)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rows": ("now",)}, "1 rows of 2"),
        ({"columns": ("a", "b", "c")}, "2 rows of 3"),
        ({"cells": ((VerdictCell("a", "good"), VerdictCell("b", "fine")), VERDICTS.cells[1])}, "'fine'"),
    ],
)
def test_a_grid_that_does_not_fit_together_is_refused(change: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        replace(VERDICTS, **change)  # type: ignore[arg-type]
