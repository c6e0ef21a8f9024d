"""The maps of the page: every cell, row and word is that of the document."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from pkadvisor.report.charts.heat_map import step_of
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from tests.report.pages import HTML, at_path, check_figures, embedded, parsed
from tests.report.png import decode
from tests.report.support import result

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><b>\x1b\u202e"


def drawn(document: dict[str, Any]) -> Any:
    return parsed(render_html(document, HtmlOptions(sections=("heatmap",))))


def maps(tree: Any) -> list[Any]:
    return [svg for svg in tree.iter(f"{SVG}svg") if "data-heat" in svg.attrib]


@pytest.mark.parametrize("name", ["footrace", "microblog"])
def test_pictures_and_rows_are_those_of_the_document(name: str) -> None:
    tree = drawn(result(name))
    document = embedded(tree)
    heats = [table["heat"]["designs"] for table in document["tables"] if table["heat"]]
    designs = [design for found in heats for design in found]
    assert len(maps(tree)) == len(designs) > 1
    tables = [t for t in tree.iter(f"{HTML}table") if "rows of the map" in "".join(t.find(f"{HTML}caption").itertext())]
    for svg, design, rows in zip(maps(tree), designs, tables, strict=True):
        (image,) = list(svg.iter(f"{SVG}image"))
        cells, _ = decode(base64.b64decode(image.get("href").partition(",")[2]))
        assert [list(row) for row in cells] == [[step_of(v) for v in row] for row in design["per_mille"]]
        assert at_path(document, svg.get("data-source")) == design["per_mille"]
        assert at_path(document, svg.get("data-labels")) == design["rows"]
        assert design["pattern"]["sentence"] in svg.get("aria-label")
        keys = [code.text for code in rows.iter(f"{HTML}code")]
        for row in design["rows"]:
            assert row["from_key"] in keys and row["to_key"] in keys and row["template"] in keys
    assert check_figures(tree) >= sum(3 * len(design["rows"]) for design in designs)


def test_over_the_target_is_said_and_drawn_and_a_cold_design_is_neither() -> None:
    page = render_html(result("footrace"), HtmlOptions(sections=("heatmap",))).decode()
    now, then = page.split("<h4>The recommended keys</h4>")
    assert ">over its target</em>" in now and 'class="ch-over"' in now and "5.14x" in now
    assert ">over its target</em>" not in then and 'class="ch-over"' not in then


def test_keys_of_different_templates_are_parted() -> None:
    document = result("footrace")
    design = document["tables"][0]["heat"]["designs"][0]
    assert [n for n in maps(drawn(document))[0].iter() if n.get("class") == "ch-border"] == []
    for row in design["rows"][2:]:
        row["template"] = "B:{bib}"
    (border,) = [n for n in maps(drawn(document))[0].iter() if n.get("class") == "ch-border"]
    assert border.get("d").count("M") == 1


def test_hostile_keys_of_a_map_are_text() -> None:
    document = result("footrace")
    design = document["tables"][0]["heat"]["designs"][0]
    design["rows"][0] |= {"from_key": HOSTILE, "label": HOSTILE}
    design["hottest"]["key"] = HOSTILE
    tree = drawn(document)
    assert [code.text for code in tree.iter(f"{HTML}code")].count("</script><b>\\x1b\\u202e") >= 2
    assert "</script><b>\\x1b\\u202e" in ["".join(t.itertext()) for t in maps(tree)[0].iter(f"{SVG}text")]


def test_no_map_says_why_and_what_to_give() -> None:
    document = result("footrace")
    document["tables"][0] |= {"heat": None, "why_no_heat": "no rate of any class is known"}
    tree = drawn(document)
    assert not maps(tree)
    (empty,) = [p for p in tree.iter(f"{HTML}p") if p.get("class") == "empty"]
    assert "no rate of any class is known. Give data" in "".join(empty.itertext())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": None}, ("a day in UTC", "time of day (UTC)")),
        ({"start": None, "step_s": 0}, ("in their order, as no time is known", "in their order, first to last, %")),
        ({"step_s": 86_400}, ("100 days from 2022", "Nov 2022")),
    ],
)
def test_what_time_is_shown_is_said(change: dict[str, Any], words: tuple[str, str]) -> None:
    document = result("footrace")
    document["tables"][0]["heat"] |= change
    page = render_html(document, HtmlOptions(sections=("heatmap",))).decode()
    for word in words:
        assert word in page


def test_a_map_that_differs_from_the_table_of_figures_says_by_what() -> None:
    document = result("footrace")
    assert "table of before and after says" not in render_html(document, HtmlOptions(sections=("heatmap",))).decode()
    document["tables"][0]["current"]["hot_partition"]["entities_per_s_peak"] = 2_500
    page = render_html(document, HtmlOptions(sections=("heatmap",))).decode()
    now, then = page.split("<h4>The recommended keys</h4>")
    assert "The table of before and after says 1.25x its target" in now and "before and after says" not in then
