"""Block characters: a line never hides a value, a map keeps its hot keys, keys are whole at every width."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from pkadvisor.documents.analysis_table import AnalysisHeatMap
from pkadvisor.report.text.page import ASCII_SHADES, SHADES, Page, heat_lines, sparkline, write_heat

grids = st.tuples(st.integers(1, 40), st.integers(1, 30)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 250_000), min_size=size[0], max_size=size[0]), min_size=size[1], max_size=size[1]
    )
)


def test_a_line_goes_from_empty_to_full_and_is_never_empty_above_nothing() -> None:
    assert sparkline([0, 0.01, 0.5, 1, 7], 1, 10, ascii_only=False) == "| ▁▄██|"
    assert sparkline([0, 0.01, 0.5, 1, 7], 1, 10, ascii_only=True) == "| .=@@|"
    assert sparkline([1, 0, 1, 0, 1], 1, 3, ascii_only=True) == "|==@|", "means of two, the last one alone"
    assert sparkline([], 1, 3, ascii_only=True) == "||"


@given(grids, st.integers(1, 50), st.integers(1, 12), st.booleans())
def test_a_map_shows_the_hottest_of_what_it_takes_together(
    rows: list[list[int]], room: int, most: int, ascii_only: bool
) -> None:
    lines = heat_lines(rows, room, rows=most, ascii_only=ascii_only)
    assert len(lines) == min(most, len(rows))
    assert [n for line in lines for n in range(line.first, line.last + 1)] == list(range(len(rows)))
    shades = ASCII_SHADES if ascii_only else SHADES
    for line in lines:
        values = [v for row in rows[line.first : line.last + 1] for v in row]
        assert line.per_mille_max == max(values)
        cells = line.cells[1:-1]
        assert 1 <= len(cells) <= room and set(cells) <= set(shades)
        hottest = max(values)
        wanted = sum(hottest >= step for step in (10, 100, 500, 1000, 2000, 5000, 10_000, 100_000))
        assert max(shades.index(cell) for cell in cells) == wanted


def test_a_hot_key_keeps_its_line_and_cold_ones_share_one() -> None:
    rows = [[3, 2], [4, 4], [1, 900], [2, 2], [5, 5], [5, 4], [1200, 1200], [0, 0]]
    lines = heat_lines(rows, 10, rows=5, ascii_only=False)
    assert [(line.first, line.last, line.cells) for line in lines] == [
        (0, 1, "|  |"), (2, 2, "| ▓|"), (3, 5, "|  |"), (6, 6, "|██|"), (7, 7, "|  |"),
    ]  # fmt: skip


def test_keys_of_different_templates_share_a_line_only_where_they_must() -> None:
    rows = [[900], [800], [1], [2]]
    lines = heat_lines(rows, 10, rows=3, ascii_only=True, groups=["a", "a", "a", "b"])
    assert [(line.first, line.last) for line in lines] == [(0, 0), (1, 2), (3, 3)]
    assert len(heat_lines(rows, 10, rows=1, ascii_only=True, groups=["a", "a", "b", "c"])) == 1


PATTERN = {"name": "append", "share": 1, "count": 1}


def heat(per_mille: list[list[int]], **more: Any) -> dict[str, Any]:
    rows = [
        {
            "from_key": f"k{n:02}\x1b",
            "to_key": f"k{n:02}z",
            "partitions": 1 + 9 * (n % 2),
            "template": "{k}",
            "label": f"device {n:02} · a",
        }
        for n in range(len(per_mille))
    ]
    design = {
        "design": "current",
        "rows": rows,
        "per_mille": per_mille,
        "row_per_s": [],
        "column_per_s": [],
        "hottest": None,
        "pattern": PATTERN | {"sentence": "a diagonal: keys rise with time"},
        "inserts_pattern": PATTERN | {"sentence": "the same"},
        **more,
    }
    return {
        "basis": "declared",
        "note": "as declared",
        "unit": "entities/s",
        "target_per_s": 2000,
        "step_s": 600,
        "start": "2026-11-22T00:00:00Z",
        "columns": len(per_mille[0]),
        "designs": [design],
    }


def shown(found: dict[str, Any] | None, width: int = 100, ascii_only: bool = False) -> str:
    page = Page(width, color=False, ascii_only=ascii_only)
    write_heat(page, convert(found, AnalysisHeatMap | None))
    return "\n".join(page.lines)


DIAGONAL = [[900 if x // 2 == y else 0 for x in range(12)] for y in range(6)]


def test_the_page_names_pattern_scale_and_span() -> None:
    text = shown(heat(DIAGONAL))
    assert text.splitlines()[:3] == [
        "Where the load falls under the current keys",
        "  a diagonal: keys rise with time",
        "  |▓▓          |  0.90x device 00 · a",
    ]
    assert "|  ▓▓        |  0.90x k01\\x1b..k01z (10 partitions)" in text
    assert "░ from 1 %, ▒ 10 %, ▓ 50 % of a partition's target of 2,000 entities/s" in " ".join(text.split())
    assert "from left to right: 2 h from 2026-11-22T00:00:00Z" in " ".join(text.split())
    assert "the same" not in text, "a pattern is named once"
    other = shown(
        heat(DIAGONAL, inserts_pattern=PATTERN | {"name": "even", "sentence": "all alike"}, design="recommended")
    )
    assert "  inserts: all alike" in other and "the recommended keys" in other


def test_a_map_goes_on_beyond_the_target_and_begins_with_the_hottest_keys() -> None:
    peaks = (20, 1500, 2500, 7000, 20_000, 300_000)
    lines = shown(heat([[peak] * 12 for peak in peaks])).splitlines()
    assert [line.split("|")[1][0] for line in lines if "|" in line] == list("CX52█░")
    assert "█ 1x, 2 2x, 5 5x, X 10x, C 100x of a partition's target" in " ".join(" ".join(lines).split())
    ascii_only = shown(heat([[1500] * 12]), ascii_only=True)
    assert "|@@@@@@|" in ascii_only and "@ 1x of a partition's target" in " ".join(ascii_only.split())


def test_time_without_a_clock_and_long_times_are_said() -> None:
    assert "(no time is known)" in shown(heat(DIAGONAL) | {"step_s": 0})
    assert "from left to right: 60 days from 2026" in " ".join(shown(heat(DIAGONAL) | {"step_s": 5 * 86_400}).split())
    assert " ".join(shown(heat(DIAGONAL) | {"start": None}).split()).endswith("from left to right: 2 h")


def test_where_time_changes_nothing_a_few_cells_do() -> None:
    flat = shown(heat([[700] * 40, [20] * 40]))
    assert "|▓▓▓▓▓▓▓▓▓▓|  0.70x" in flat and "|░░░░░░░░░░|  0.02x" in flat


def test_a_cold_table_is_a_sentence() -> None:
    text = shown(heat([[9, 0], [1, 2]]))
    assert "no partition reaches 1 % of its target of 2,000 entities/s" in text and "|" not in text
    assert shown(None) == ""


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_keys_are_whole_and_lines_fit_at_every_width(width: int, ascii_only: bool) -> None:
    found = heat([[n * 100 + x for x in range(60)] for n in range(8)])
    long = "contoso_" + "x" * 300
    found["designs"][0]["rows"][2] |= {"from_key": long, "label": long}
    text = shown(found, width, ascii_only)
    squeezed = "".join(text.split())
    assert long in squeezed and "k01\\x1b..k01z" in squeezed
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    if ascii_only:
        assert text.isascii()
    else:
        assert "device04·a" in squeezed


def test_a_line_of_one_partition_is_called_by_its_key_as_several_are_and_ticks_by_their_date() -> None:
    found = heat([[900] * 12] * 3)
    keys = {"org-000": "000", "a_0639079848000000000": "a · 2026-03-02", "all": "all"}
    found["designs"][0]["rows"] = [
        {"from_key": key, "to_key": key, "partitions": 1, "template": "{k}", "label": label}
        for key, label in keys.items()
    ]
    named = [line.rsplit("x ", 1)[-1] for line in shown(found).splitlines() if line.startswith("  |")]
    assert named == ["org-000", "a · 2026-03-02", "all"]
