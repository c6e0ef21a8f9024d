"""The heat map: one absolute scale, every cell as given, what is over the target stands out."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.report.charts.heat_map import PALETTE, STEPS_PER_MILLE, HeatMap, draw, key, outline, step_of
from tests.report.charts.markup import HOSTILE, SVG, finding, inside, keeps_the_rules, parsed, picture, texts
from tests.report.png import decode
from tests.tiers import examples

SMALL = HeatMap(
    alt="one hot key takes all",
    per_mille=((0, 1, 5), (999, 1000, 1001), (20, 0, 0)),
    row_labels=("a", "b", "c"),
    target=2000,
    unit="entities/s",
    step_s=60,
    row_totals=(10, 4000, 7),
    column_totals=(1000, 2000, 3000),
    partitions=(40, 1, 1),
    source="tables.0.heat.designs.0.per_mille",
)
grids = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 3000), min_size=size[0], max_size=size[0]), min_size=size[1], max_size=size[1]
    )
)


def plain(rows: list[list[int]]) -> HeatMap:
    return HeatMap("x", tuple(map(tuple, rows)), tuple(f"k{n}" for n in range(len(rows))), 2000, "entities/s", 60)


@given(grids)
def test_the_picture_holds_every_cell_at_its_step(rows: list[list[int]]) -> None:
    cells, palette = decode(picture(draw(plain(rows))))
    assert palette == PALETTE
    assert [[step_of(v) for v in row] for row in rows] == [list(row) for row in cells]


def test_the_scale_is_absolute() -> None:
    assert [step_of(v) for v in (0, 1, 2, 4, 5, 999, 1000, 1999)] == [0, 1, 2, 2, 3, 9, 10, 10]
    assert [step_of(v) for v in (2000, 5000, 10_000, 99_999, 100_000, 10**9)] == [11, 12, 13, 13, 14, 14]
    assert step_of(STEPS_PER_MILLE[-1]) == len(PALETTE) - 1
    cold = decode(picture(draw(plain([[1, 2], [2, 1]]))))[0]
    assert cold == ((1, 2), (2, 1)), "little load stays dark, however little there is beside it"


@given(grids)
def test_the_outline_parts_marked_cells_from_all_others(rows: list[list[int]]) -> None:
    marked = [[value > 1000 for value in row] for row in rows]
    crossed: set[tuple[int, int, bool]] = set()
    for x, y, length, across in outline(marked):
        steps = {(x + n, y, True) if across else (x, y + n, False) for n in range(length)}
        assert not steps & crossed
        crossed |= steps
    height, width = len(rows), len(rows[0])

    def at(x: int, y: int) -> bool:
        return 0 <= x < width and 0 <= y < height and marked[y][x]

    wanted = {(x, y, True) for x in range(width) for y in range(height + 1) if at(x, y) != at(x, y - 1)}
    wanted |= {(x, y, False) for x in range(width + 1) for y in range(height) if at(x, y) != at(x - 1, y)}
    assert crossed == wanted


@given(st.integers(0, 2**32), st.integers(8, 60))
@settings(max_examples=examples(30))
def test_a_ragged_map_has_an_outline_of_bounded_length(seed: int, most: int) -> None:
    draws = random.Random(seed)
    marked = [[draws.random() < 0.4 for _ in range(23)] for _ in range(17)]
    lines = outline(marked, most)
    assert len(lines) <= most
    for x, y, length, across in lines:
        assert 0 <= x <= 23 and 0 <= y <= 17 and length > 0
        assert (x + length <= 23) if across else (y + length <= 17)


def test_over_the_target_is_outlined_and_at_it_is_not() -> None:
    def lines(chart: HeatMap) -> list[str]:
        return [n.attrib["d"] for n in parsed(draw(chart)).iter(f"{SVG}path") if n.get("class") == "ch-over"]

    (path,) = lines(SMALL)
    assert path.count("M") == 4, "one cell has four sides"
    assert lines(plain([[1000, 999], [0, 1]])) == []


def test_a_border_parts_rows_of_different_templates() -> None:
    def borders(chart: HeatMap) -> list[str]:
        return [n.attrib["d"] for n in parsed(draw(chart)).iter(f"{SVG}path") if n.get("class") == "ch-border"]

    svg = next(n for n in parsed(draw(SMALL)).iter(f"{SVG}svg") if "data-heat" in n.attrib)
    height, top = float(svg.attrib["data-cell-height"]), float(svg.attrib["data-y"])
    (path,) = borders(replace(SMALL, borders=(2,)))
    assert path.startswith(f"M{svg.attrib['data-x']} {top + 2 * height:g}h")
    assert borders(SMALL) == borders(replace(SMALL, borders=(0, 3))) == []


def test_margins_and_axis_say_what_they_are() -> None:
    drawn = texts(draw(SMALL))
    for wanted in (
        "42 partitions in key order",
        "all rows: at most 3,000 entities/s",
        "row mean",
        "to 4,000/s",
        "180 s",
    ):
        assert wanted in drawn, drawn
    dated = texts(draw(replace(SMALL, start="2026-11-21T23:59:00Z")))
    assert "22 Nov" in dated and "time (UTC)" in dated
    ordered = texts(draw(replace(SMALL, step_s=0)))
    assert "in their order, first to last, %" in ordered and "100" in ordered
    assert "time of day" in texts(draw(replace(SMALL, time_label="time of day")))
    bare = texts(draw(replace(SMALL, row_totals=(), column_totals=(), partitions=())))
    assert "row mean" not in bare and "3 rows of keys" in bare


def test_a_label_without_room_is_told_by_its_number_and_never_cut() -> None:
    long = "contoso_" + "x" * 1000
    drawn = texts(draw(replace(SMALL, row_labels=("a", long, "c"))))
    assert "#2" in drawn and not [t for t in drawn if t.startswith("contoso")]
    many = plain([[n] for n in range(96)])
    shown = [t for t in texts(draw(many)) if t.startswith("k")]
    assert shown[0] == "k0" and shown[-1] == "k95" and 10 <= len(shown) <= 24


def test_the_hottest_rows_are_labelled_whatever_else_has_no_room() -> None:
    rows = [[0] for _ in range(96)]
    rows[41], rows[42], rows[70] = [900], [1500], [700]
    chart = draw(plain(rows))
    shown = [t for t in texts(chart) if t.startswith("k")]
    assert {"k42", "k70", "k0", "k95"} <= set(shown) and "k41" not in shown
    places = [float(n.attrib["y"]) for n in parsed(chart).iter(f"{SVG}text") if (n.text or "").startswith("k")]
    assert all(b - a >= 14.9 for a, b in pairwise(places))


def test_the_page_s_script_finds_geometry_and_values() -> None:
    svg = next(n for n in parsed(draw(SMALL)).iter(f"{SVG}svg") if "data-heat" in n.attrib)
    image = next(svg.iter(f"{SVG}image"))
    for data, name in (("data-x", "x"), ("data-y", "y")):
        assert svg.attrib[data] == image.attrib[name]
    assert float(svg.attrib["data-cell-width"]) * 3 == pytest.approx(float(image.attrib["width"]), abs=0.01)
    assert float(svg.attrib["data-cell-height"]) * 3 == float(image.attrib["height"])
    assert svg.attrib["data-source"] == SMALL.source and svg.attrib["data-rows"] == "3"
    assert [n.attrib["visibility"] for n in svg.iter() if n.get("class") == "ch-cursor"] == ["hidden"]
    (say,) = [n for n in parsed(draw(SMALL)) if n.get("class") == "ch-say"]
    assert say.attrib["aria-live"] == "polite" and not (say.text or "")


def test_the_key_names_every_step_in_both_units() -> None:
    drawn = texts(key(2000, "entities/s"))
    assert [t for t in drawn if t.endswith("%")] == [
        *("0.1 %", "0.2 %", "0.5 %", "1 %", "2 %", "5 %", "10 %", "20 %", "50 %")
    ]
    assert [t for t in drawn if t.endswith("x")] == ["1x", "2x", "5x", "10x", "100x"]
    for wanted in ("2", "4", "10", "1,000", "2,000", "200k", "entities/s", "less"):
        assert wanted in drawn
    colours = [n.attrib["fill"] for n in parsed(key(2000, "entities/s")).iter(f"{SVG}rect")]
    assert colours == list(PALETTE)
    keeps_the_rules(key(500, HOSTILE))


@given(grids)
@settings(max_examples=examples(40))
def test_any_map_stays_on_its_picture(rows: list[list[int]]) -> None:
    totals = tuple(float(sum(row)) for row in rows)
    columns = tuple(float(sum(row[n] for row in rows)) for n in range(len(rows[0])))
    chart = draw(replace(plain(rows), row_totals=totals, column_totals=columns))
    keeps_the_rules(chart)
    inside(chart)
    assert chart == draw(replace(plain(rows), row_totals=totals, column_totals=columns))


def test_hostile_keys_are_text_and_the_finding_is_said() -> None:
    chart = draw(replace(SMALL, alt=f"hot: {HOSTILE}", row_labels=("<i>&", HOSTILE, "\x1b"), caption=HOSTILE))
    keeps_the_rules(chart)
    assert "<i>&" in texts(chart) and "\\x1b" in texts(chart)
    assert finding(chart).startswith("hot: </script><img")


def test_the_largest_map_is_small() -> None:
    draws = random.Random(5)
    rows = [[draws.choice((0, 3, 40, 700, 1200, 5000)) for _ in range(192)] for _ in range(96)]
    assert len(draw(plain(rows)).encode()) < 100_000


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"per_mille": ()}, "per_mille"),
        ({"per_mille": ((1, 2, 3), (1, 2), (1, 2, 3))}, "per_mille"),
        ({"row_labels": ("a",)}, "row_labels"),
        ({"row_totals": (1.0,)}, "row_totals"),
        ({"column_totals": (1.0,)}, "column_totals"),
        ({"partitions": (1,)}, "partitions"),
    ],
)
def test_a_map_that_does_not_fit_together_is_refused(change: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        replace(SMALL, **change)  # type: ignore[arg-type]
