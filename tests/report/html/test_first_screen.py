"""What a reader of the page meets first: the terminal's verdict, the access patterns, and then folded evidence."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.sections import SECTIONS
from pkadvisor.report.summary.figures import ROWS
from pkadvisor.report.summary.summary import summarize
from tests.report.pages import HTML, check_figures, parsed, text_of
from tests.report.support import result

HOSTILE = "</td><script>alert(1)</script>\u202e"
SHOWN = "</td><script>alert(1)</script>\\u202e"


def drawn(document: dict[str, Any], *sections: str) -> Any:
    return parsed(render_html(document, HtmlOptions(sections=sections)))


def cells(tree: Any, kind: str) -> list[list[str]]:
    """The texts of the rows of the table of a class."""
    (table,) = [t for t in tree.iter(f"{HTML}table") if t.get("class") == kind]
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in table.iter(f"{HTML}tr")]


@pytest.mark.parametrize("verdict", ["change", "keep", "choose", "unsatisfied", "not_enough"])
def test_the_first_section_is_the_summary_of_the_terminal(verdict: str) -> None:
    document = result("footrace")
    table = document["tables"][0]
    weak = verdict == "not_enough"
    table |= {"verdict": verdict, "ranking_says": "change" if weak else verdict}
    if weak:
        table["grounds"][1]["carries"] = False
        table |= {"why_not": "the data is far denser than the inserts", "next": "a log of a day"}
    summary = summarize(typed(document)).tables[0]
    tree = drawn(document, "verdict")
    text = text_of(tree)
    for sentence in (summary.headline, *(each.forms[0] for each in summary.prose)):
        assert " ".join(sentence.split()).lower() in text.lower()
    assert (summary.next_command in text) is not weak
    assert ("Give a log of a day." in text) is weak
    copied = [code for code in tree.iter(f"{HTML}code") if code.get("data-copy") is not None]
    keys = ["".join(code.itertext()) for code in copied]
    assert (table["recommended"]["row_key"] in keys) is not weak, "keys of a guess are not there to be copied"
    folds = [d for d in tree.iter(f"{HTML}details") if "Each of these must be enough" in "".join(d.itertext())]
    assert [d.get("open") is not None for d in folds] == [weak], "a red ground is open"
    assert text.count("✗") == int(weak) and f"{6 - weak} of 6 checks of the inputs hold" in text
    if weak:
        return
    wanted = {"keep": "Current keys", "unsatisfied": "Best keys found"}.get(verdict, "Recommended keys")
    assert next(tree.iter(f"{HTML}h4")).text == wanted
    head, *rows = cells(tree, "figures")
    assert head == ["", *(name.capitalize() for name, _ in summary.designs)]
    for row, found in zip(ROWS, rows, strict=True):
        assert found[0].lower() == row.label
        for cell, (_, figures) in zip(found[1:], summary.designs, strict=True):
            assert cell.startswith(row.show(figures)) and cell.partition(" past the limit")[
                1
            ] == " past the limit" * row.over(figures)


def test_a_figure_past_its_limit_is_marked_and_a_break_has_its_cause() -> None:
    rows = cells(drawn(result("footrace"), "verdict"), "figures")
    assert rows[1] == ["Hottest partition, peak", "5.14x its target past the limit", "0.09x its target"]
    assert rows[4] == [
        "Breaks at, x today's load",
        "now (from 0.19x on) past the limitpartition scans",
        "10.9xhottest partition",
    ]


def test_the_matrix_has_a_row_for_each_query_and_tells_the_worst_first() -> None:
    document = result("footrace")
    table = document["tables"][0]
    tree = drawn(document, "access")
    head, *rows = cells(tree, "matrix")
    assert head == ["Query", "Current", "Recommended", "Next best"]
    assert [re.split("[0-9]+/[hs]", row[0])[0] for row in rows] == [
        *("by-age", "by-bib", "register", "correct"),
        *("Cost a month with storage", "Breaks at, x today's load", "Keys"),
    ]
    assert [cell.partition("key")[2] for cell in rows[2][1:]] == ["1 row written", "2 rows written", "2 rows written"]
    assert all("USD" in cell and "req/s" in cell for cell in rows[4][1:]), "the next best keys have figures, too"
    assert rows[0][1] == "partition scan119 rows read per row returned (8,121 for 68.1)"
    assert rows[0][2] == "row range index row 11 row read per row returned"
    for design, at in ((table["current"], 1), (table["recommended"], 2), (table["alternatives"][0], 3)):
        by_name = {c["name"]: c for c in design["classes"]}
        for row, name in zip((*rows[:2], rows[3]), ("by-age", "by-bib", "correct"), strict=True):
            assert row[at].startswith(by_name[name]["access"])
        assert design["row_key"] in rows[-1][at]
    assert check_figures(tree) > 3


def test_a_cell_is_red_where_rows_are_read_for_nothing_and_green_where_none_is() -> None:
    document = result("footrace")
    table = document["tables"][0]
    (age,) = [c for c in table["current"]["classes"] if c["name"] == "by-age"]

    def mood(access: str, read: float, returned: float) -> tuple[str, str]:
        age.update(access=access, entities_read=read, entities_returned=returned)
        tree = drawn(document, "access")
        row = next(r for r in tree.iter(f"{HTML}tr") if "".join(r.itertext()).startswith("by-age"))
        cell = row.findall(f"{HTML}td")[0]
        return cell.get("class"), " ".join("".join(cell.itertext()).split())

    assert mood("point", 1, 1) == ("good", "point1 row read per row returned")
    assert mood("partition scan", 6, 2) == ("warn", "partition scan3 rows read per row returned (6 for 2)")
    assert mood("table scan", 2, 2) == ("warn", "table scan1 row read per row returned")
    assert mood("row range", 22, 2) == ("bad", "row range11 rows read per row returned (22 for 2)")
    assert mood("table scan", 50, 0) == ("bad", "table scan50 rows read, none returned")
    table["current"] = None
    head, *_ = cells(drawn(document, "access"), "matrix")
    assert head == ["Query", "Recommended", "Next best"]
    table["ranking_says"] = "keep"
    head, *_ = cells(drawn(document, "access"), "matrix")
    assert head == ["Query", "Current", "Next best"]


def test_three_sections_are_open_and_all_others_folded_as_evidence() -> None:
    tree = parsed(render_html(result("footrace")))
    parts = [s for s in tree.iter(f"{HTML}section") if s.get("class") == "part"]
    lists = [e for e in tree.iter(f"{HTML}div") if e.get("class") == "evidence"]
    folds = [fold for each in lists for fold in each.findall(f"{HTML}details")]
    folded = [part.get("id") for fold in folds for part in fold.iter(f"{HTML}section")]
    assert [p.get("id") for p in parts if p.get("id") not in folded] == ["verdict", "access", "heatmap"]
    assert all(fold.get("open") is None for fold in folds)
    known = {section.name for section in SECTIONS if section.document == "pkadvisor result"}
    assert set(folded) >= known - {"overview", "verdict", "access", "heatmap", "together", "sum", "account"}
    named = parsed(render_html(result("footrace"), HtmlOptions(sections=("cost",))))
    (fold,) = [d for d in named.iter(f"{HTML}details") if d.find(f"{HTML}section") is not None]
    assert fold.get("open") is not None, "a section that is asked for is not folded"


def test_of_several_tables_the_most_urgent_is_listed_first_with_a_link_to_it() -> None:
    document = result("footrace")
    (table,) = document["tables"]
    document["tables"] = [deepcopy(table) | {"table": "Kept", "verdict": "keep", "ranking_says": "keep"}, table]
    tree = drawn(document, "overview")
    links = [a for a in tree.iter(f"{HTML}a") if a.get("href", "").startswith("#table-")]
    assert [(a.text, a.get("href")) for a in links] == [("Registrations", "#table-2"), ("Kept", "#table-1")]
    assert not list(drawn(result("footrace"), "overview", "verdict").iterfind(".//*[@id='overview']"))


def test_hostile_text_is_text_in_every_new_place() -> None:
    document = result("footrace")
    table = document["tables"][0]
    for scheme in (table["recommended"], table["current"], table["alternatives"][0]):
        scheme["row_key"] = HOSTILE
        for entry in scheme["classes"]:
            entry["name"] = HOSTILE + entry["name"]
    table["grounds"][0] |= {"title": HOSTILE, "sentence": HOSTILE}
    table["warnings"] = [HOSTILE, f"second {HOSTILE}"]
    table["table"] = HOSTILE
    document["tables"].append(deepcopy(table) | {"kind": "other"})
    for section in ("overview", "verdict", "access"):
        tree = drawn(document, section)
        assert text_of(tree).count(SHOWN) > 2, section
        assert len(list(tree.iter(f"{HTML}script"))) == 2


def test_an_index_row_to_add_is_no_alarm_as_keys_to_change_are() -> None:
    word = [
        re.search('<p class="word ([a-z]+)">([^<]+)', render_html(result(n)).decode()) for n in ("orders", "footrace")
    ]
    assert [each and each.groups() for each in word] == [("warn", "ADD AN INDEX ROW"), ("bad", "CHANGE THE KEY")]
