"""How the load is spread, growth, what it rests on, cost: the page says what the document says."""

from __future__ import annotations

from typing import Any

import pytest

from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.outlook import SHOWN
from pkadvisor.report.html.page import render_html
from tests.report.pages import HTML, check_figures, parsed, text_of
from tests.report.support import result

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><b>\x1b\u202e"
NAMES = ("skew", "forecast", "sensitivity", "cost")


def drawn(document: dict[str, Any], *sections: str) -> Any:
    return parsed(render_html(document, HtmlOptions(sections=sections)))


def captions(tree: Any) -> list[str]:
    return ["".join(c.itertext()) for c in tree.iter(f"{HTML}caption")]


def findings(tree: Any) -> list[str]:
    return [svg.get("aria-label") for svg in tree.iter(f"{SVG}svg") if svg.get("role") == "img"]


@pytest.mark.parametrize("name", ["footrace", "microblog"])
@pytest.mark.parametrize("section", NAMES)
def test_every_number_of_a_section_is_that_of_the_document(name: str, section: str) -> None:
    tree = drawn(result(name), section)
    assert check_figures(tree) >= 10
    assert not [p for p in tree.iter(f"{HTML}p") if p.get("class") == "empty"]


@pytest.mark.parametrize("section", NAMES)
def test_what_is_not_known_is_one_line_that_says_what_to_give(section: str) -> None:
    document = result("footrace")
    document["tables"][0][section] = None
    (empty,) = [p for p in drawn(document, section).iter(f"{HTML}p") if p.get("class") == "empty"]
    assert "give data" in "".join(empty.itertext())


def test_one_partition_is_not_drawn_as_even() -> None:
    document = result("footrace")
    now = document["tables"][0]["skew"]["designs"][0]
    now |= {"partitions": 1, "partitions_at_hand": 1, "gini": 0, "lorenz": [[0, 0], [1, 1]]}
    tree = drawn(document, "skew")
    assert "The current keys: one partition takes the whole load" in text_of(tree)
    items = ["".join(li.itertext()) for li in tree.iter(f"{HTML}li") if "Gini" in "".join(li.itertext())]
    assert len(items) == 1 and items[0].startswith("The recommended keys: Gini")
    document["tables"][0]["skew"]["designs"][1] |= {"partitions_at_hand": 1}
    assert findings(drawn(document, "skew")) == []


def test_busiest_partitions_are_listed_in_full_and_as_text() -> None:
    document = result("footrace")
    document["tables"][0]["skew"]["designs"][0]["top"][0]["key"] = HOSTILE
    tree = drawn(document, "skew")
    keys = [code.text for code in tree.iter(f"{HTML}code")]
    wanted = [each["key"] for design in document["tables"][0]["skew"]["designs"] for each in design["top"]]
    assert keys == [key.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") for key in wanted]


def test_a_forecast_says_when_a_limit_is_passed() -> None:
    document = result("footrace")
    found = document["tables"][0]["forecast"]
    now, then = found["designs"]
    text = text_of(drawn(document, "forecast"))
    assert "The current keys: a limit is passed today (scans of one partition) past the limit." in text
    assert "no limit is passed within this growth; the first is at 10.9x of today's peak" in text
    then["break_factor"] = None
    assert "no limit is passed, however much it grows" in text_of(drawn(document, "forecast"))
    found["unit"] = "months"
    found["horizon_months"] = 24
    then |= {"crosses_at": 2.5, "break_factor": 3}
    tree = drawn(document, "forecast")
    assert "the first limit is passed in 2.5 months (the hottest partition)" in text_of(tree)
    titles = [t.text for t in tree.iter(f"{SVG}title")]
    assert "The recommended keys: over at 2.5" in titles
    assert "months from now" in ["".join(t.itertext()) for t in tree.iter(f"{SVG}text")]
    assert [t for t in titles if t.startswith("The current keys: over")] == [], "what is over today has no date"
    assert findings(tree)[0].startswith("The current keys: a limit is passed today") and now["points"]


def test_the_grid_has_a_word_for_every_case_and_the_recommended_keys_come_first() -> None:
    document = result("footrace")
    found = document["tables"][0]["sensitivity"]
    tree = drawn(document, "sensitivity")
    grids = [t for t in tree.iter(f"{HTML}table") if t.get("class") == "ch-grid"]
    assert len(grids) == 2
    for table, design in zip(grids, reversed(found["designs"]), strict=True):
        words = ["".join(td.itertext()) for td in table.iter(f"{HTML}td")]
        wanted = [cell for row in design["grid"] for cell in row]
        assert len(words) == len(wanted)
        assert all(
            word.startswith(SHOWN.get(cell["word"], cell["word"])) for word, cell in zip(words, wanted, strict=True)
        )
    assert [h.text for h in tree.iter(f"{HTML}h4")] == ["The recommended keys", "The current keys"]
    assert any("matters most" in finding for finding in findings(tree))


def test_an_assumption_that_binds_nothing_is_told_and_not_drawn() -> None:
    document = result("footrace")
    for design in document["tables"][0]["sensitivity"]["designs"]:
        for bar in design["bars"]:
            bar["half"] = None
    tree = drawn(document, "sensitivity")
    assert findings(tree) == []
    assert "never" in text_of(tree)


def test_a_bill_names_its_prices_and_adds_up() -> None:
    document = result("footrace")
    found = document["tables"][0]["cost"]
    tree = drawn(document, "cost")
    text = text_of(tree)
    for price in found["prices"]:
        assert price["name"] in text and price["source"] in text and price["date"] in text
    for design in found["designs"]:
        parts = [design[part] for part in ("storage", "writes", "reads", "scans", "expiry")]
        assert sum(parts) == pytest.approx(design["total"], rel=1e-5)
        assert sum(each["price"] for each in design["classes"]) == pytest.approx(
            design["writes"] + design["reads"] + design["scans"], rel=1e-4
        )
    assert "USD a month" in captions(tree)
