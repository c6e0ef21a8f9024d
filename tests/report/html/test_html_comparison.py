"""The page of a comparison: what got worse first, with its difference, and what both were priced on."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pkadvisor.documents.comparison import ComparisonDocument
from pkadvisor.progress import SilentProgress
from pkadvisor.report.html.comparison_sections import changed, measures, method, queries, reproduce, verdict
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.resources import resource
from pkadvisor.usecases.compare import compare_designs
from tests.report.documents.test_schemas import complaints
from tests.report.pages import HTML, check_figures, embedded, parsed, rows_of, text_of
from tests.report.support import request

RACE = str(resource("samples", "footrace", "design.yaml"))
BIB_ONLY = str(resource("samples", "footrace", "design-bib-only.yaml"))


@cache
def _made(folder: Path) -> str:
    text = Path(RACE).read_text("utf-8")
    text = text.replace('"{event}__{distance}"', '"{event}"').replace('"{bib}__{initials}__{gender}__{age}"', '"{bib}"')
    (folder / "other.yaml").write_text(text, "utf-8")
    return json.dumps(compared(str(folder / "other.yaml")))


def compared(other: str) -> dict[str, Any]:
    document = compare_designs(request("footrace", design=None), RACE, other, SilentProgress())
    made: dict[str, Any] = msgspec.to_builtins(document)
    return made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture
def found(folder: Path) -> dict[str, Any]:
    """The race's design against one with coarser keys; a copy of its own for every test."""
    made: dict[str, Any] = json.loads(_made(folder))
    return made


def read(found: dict[str, Any]) -> ComparisonDocument:
    return msgspec.convert(found, ComparisonDocument)


def about(section: Callable[..., Context], found: dict[str, Any]) -> Any:
    value = read(found)
    places = Places(value)
    shown = section(value, places) if section in (method, reproduce) else section(value, value.tables[0], places)
    assert not isinstance(shown, Missing), shown.reason
    return shown


def shown(found: dict[str, Any], *sections: str) -> str:
    return text_of(parsed(render_html(found, HtmlOptions(sections=sections))))


@pytest.mark.long("proofs")
def test_every_number_of_the_page_is_that_of_the_document(found: dict[str, Any]) -> None:
    assert complaints(found, "comparison") == []
    tree = parsed(render_html(found))
    assert embedded(tree) == found
    assert check_figures(tree) > 60


def test_a_difference_is_a_share_of_the_older_value(found: dict[str, Any]) -> None:
    moved = [m for m in found["tables"][0]["measures"] if m["change"]]
    assert len(moved) > 5
    for measure in moved:
        assert measure["change"] == pytest.approx((measure["new"] - measure["old"]) / abs(measure["old"]), rel=1e-4)


def test_what_got_worse_stands_first_and_is_marked(found: dict[str, Any]) -> None:
    worse = {m["name"] for m in found["tables"][0]["measures"] if m["worse"]}
    better = [m["name"] for m in found["tables"][0]["measures"] if not m["worse"] and m["old"] != m["new"]]
    assert worse
    assert better
    assert about(measures, found)["worse"] == len(worse)
    rows = rows_of(parsed(render_html(found)), "Measures that differ")
    assert {row[0] for row in rows[: len(worse)]} == worse
    assert [row[5] for row in rows] == ["worse"] * len(worse) + [""] * len(better)


def test_a_larger_rate_that_the_skew_allows_is_no_loss(found: dict[str, Any]) -> None:
    (rate,) = [m for m in found["tables"][0]["measures"] if m["name"] == "rate that the skew allows"]
    assert rate["worse"] == (rate["new"] < rate["old"])
    assert rate["new"] != rate["old"]


def test_the_headline_counts_what_got_worse(found: dict[str, Any]) -> None:
    table = found["tables"][0]
    for entry in table["classes"]:
        entry["worse"] = entry["name"] == "by-age"
    assert about(verdict, found)["word"] == "A QUERY OR WRITE COSTS MORE"
    for entry in table["classes"]:
        entry["worse"] = False
    count = sum(m["worse"] for m in table["measures"])
    assert about(verdict, found)["word"] == f"{count} MEASURES GOT WORSE"
    for measure in table["measures"]:
        measure["worse"] = False
    assert table["violations"]["added"]
    assert about(verdict, found)["word"] == "NOTHING GOT WORSE, BUT A LIMIT IS BROKEN"
    assert about(verdict, found)["mood"] == "warn"
    table["violations"]["added"] = []
    assert about(verdict, found)["word"] == "NOTHING GOT WORSE"
    for measure in table["measures"]:
        measure["old"] = measure["new"]
    table["classes"] = []
    assert about(verdict, found)["word"] == "NO DIFFERENCE"
    assert changed(read(found).tables[0]) == []
    value = read(found)
    assert isinstance(queries(value, value.tables[0], Places(value)), Missing)


def test_queries_that_cost_more_stand_first(found: dict[str, Any]) -> None:
    for entry in found["tables"][0]["classes"]:
        entry["worse"] = entry["name"] == "register"
    rows = rows_of(parsed(render_html(found)), "Queries and writes")
    assert [rows[0][0], rows[0][8], rows[1][8]] == ["register", "", "worse"]


def test_a_query_of_one_side_only_has_a_gap_on_the_other(found: dict[str, Any]) -> None:
    found["tables"][0]["classes"][0]["old"] = None
    assert "not in its workload" in shown(found, "queries")


def test_a_limit_that_is_never_reached_is_no_gap(found: dict[str, Any]) -> None:
    (factor,) = [m for m in found["tables"][0]["measures"] if m["name"] == "break factor"]
    factor["new"] = factor["change"] = None
    (row,) = [row for row in rows_of(parsed(render_html(found)), "Measures that differ") if row[0] == "break factor"]
    assert row[2] == "never"


def test_a_table_of_one_side_only_says_so(found: dict[str, Any]) -> None:
    found["tables"][0]["old"] = None
    assert "only in the newer file" in shown(found, "verdict")


def test_other_workloads_are_told(folder: Path) -> None:
    found = compared(BIB_ONLY)
    context = about(method, found)
    assert (context["of"], len(context["differs"])) == ("design-bib-only.yaml", 1)
    assert "The two declare different workloads" in shown(found, "method")
    assert "NO DIFFERENCE" in shown(found, "verdict")


def test_the_command_names_both_files_and_the_data(found: dict[str, Any]) -> None:
    context = about(reproduce, found)
    assert context["command"] == "advisor compare design.yaml other.yaml registrations.csv"
    assert [row[1] for row in rows_of(parsed(render_html(found)), "Files")] == ["old", "new", "data"]
    del found["files"]
    assert "does not name the files" in shown(found, "reproduce")


@pytest.mark.parametrize("hostile", ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202ex"])
def test_hostile_keys_are_text(found: dict[str, Any], hostile: str) -> None:
    table = found["tables"][0]
    table["old"] = table["new"] = found["old"] = hostile
    table["violations"]["added"] = [hostile]
    table["measures"][0]["name"] = table["classes"][0]["name"] = hostile
    tree = parsed(render_html(found))
    assert embedded(tree) == found
    assert not list(tree.iter(f"{HTML}img"))
    assert len(list(tree.iter(f"{HTML}script"))) == 2
    assert hostile.replace("\u202e", "\\u202e") in text_of(tree)
