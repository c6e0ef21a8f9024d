"""The text page: whole at every width, harmless, and the same as the pages kept in ``golden``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.documents.analysis_scheme import AnalysisLostGoal
from pkadvisor.documents.schema_errors import typed
from pkadvisor.numbers import amount, breaks, percent, plural, rate, ratio
from pkadvisor.report.escapes import clean, fold
from pkadvisor.report.summary.figures import lost
from pkadvisor.report.text.verdict_page import render_text
from tests.report.support import SAMPLES, result

GOLDEN = Path(__file__).parents[1] / "golden"
WIDTHS = (40, 60, 80, 120)
CODES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "a\x1b[2J\x1b]0;t\x07[red]x[/red]\u202eb\u2066\nc\r\u2028\x9b31m\x7f\U000e0041 é😀"


def page(found: dict[str, Any], width: int = 80, **more: Any) -> str:
    """The page with its details."""
    choices = {"width": width, "color": False, "ascii_only": False, "details": True, **more}
    return render_text(typed(found), **choices)


def squeezed(text: str) -> str:
    """Without line ends, indentation and blanks."""
    return re.sub(r"\s+", "", text)


def must_be_whole(found: dict[str, Any]) -> Iterator[str]:
    """Everything that somebody copies from the page."""
    for table in found["tables"]:
        best = table["recommended"]
        schemes = [best, table["current"], *table["alternatives"]] if table["verdict"] != "keep" else [best]
        for scheme in filter(None, schemes):
            yield from (scheme["partition_key"], scheme["row_key"])
            for row in scheme["index_rows"]:
                yield row["row_key"]
                if row["partition_key"] != scheme["partition_key"]:
                    yield row["partition_key"]
        if best:
            yield from best["examples"][0].values()
            for example in best["index_examples"]:
                yield from example[0].values()
            for entry in best["classes"]:
                yield entry["name"]
                yield from entry["filters"]
            for group in best["transactions"]:
                yield group["name"]
        yield from table["gives_up"]
        yield from table["cannot_be_known"]
        yield from table["notes"]
        for kind in ("reads", "writes") if table["heat_in_log"] else ():
            yield from (entry["partition_key"] for entry in table["heat_in_log"][kind]["top"][:3])


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_and_nothing_is_wider_than_the_page(name: str, width: int) -> None:
    found = result(name)
    text = page(found, width)
    flat = squeezed(text)
    lost = [words for words in must_be_whole(found) if squeezed(words) not in flat]
    assert lost == []
    wide = [line for line in text.splitlines() if len(line) > width and not line.startswith("  next: advisor")]
    assert wide == []
    assert text.endswith("\n")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_colour_changes_nothing_but_colour(name: str) -> None:
    found = result(name)
    plain, coloured = page(found), page(found, color=True)
    assert CODES.sub("", coloured) == plain
    assert coloured != plain
    assert "\x1b" not in plain
    for line in coloured.splitlines():  # a page that is cut between lines leaves no colour behind
        assert line.count("\x1b[0m") * 2 == line.count("\x1b[")


@pytest.mark.parametrize("name", SAMPLES)
def test_ascii_is_ascii_and_says_the_same(name: str) -> None:
    found = result(name)
    text = page(found, ascii_only=True, verbose=True)
    assert text.isascii()
    assert [words for words in must_be_whole(found) if words.isascii() and squeezed(words) not in squeezed(text)] == []


def spoiled(node: Any) -> Any:
    """The result with hostile text in every text that could come from data."""
    if isinstance(node, dict):
        return {k: v if k in CHOICES or (k == "name" and "sentence" in node) else spoiled(v) for k, v in node.items()}
    if isinstance(node, list):
        return [spoiled(v) for v in node]
    return f"{node}{HOSTILE}" if isinstance(node, str) else node


CHOICES = {
    *("document", "schema_version", "tool", "limits", "terms", "verdict", "ranking_says", "access", "access_now"),
    *("operation", "copy", "consistency", "outcome", "basis", "unit", "code", "turn", "design", "sampling", "rows_of"),
    *("resource", "growth_of", "type", "distinct_basis", "rate_basis", "parameters", "parameters_basis", "role"),
    *("per", "kind", "of", "word", "via"),
}
"""Members that hold one of a few words, or whose names are looked up; all others may hold anything."""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("color", [False, True])
def test_hostile_text_anywhere_reaches_the_page_as_escapes_only(width: int, color: bool) -> None:
    for name in ("microblog", "footrace"):
        found = spoiled(result(name))
        text = page(found, width, color=color, verbose=True)
        if color:
            text = CODES.sub("", text)
        assert [ch for ch in text if not ch.isprintable() and ch != "\n"] == []
        flat = squeezed(text)
        assert r"a\x1b[2J\x1b]0;t\x07[red]x[/red]\u202eb\u2066\x0ac\x0d\u2028\x9b31m\x7f\U000e0041é😀" in flat
        assert page(found, width, ascii_only=True, verbose=True).isascii()


def test_an_ascii_page_does_not_rewrite_keys() -> None:
    found = result("footrace")
    found["tables"][0]["recommended"]["examples"][0]["partition_key"] = "a…b→c–d"
    assert "a\\u2026b\\u2192c\\u2013d" in page(found, ascii_only=True)
    assert "a…b→c–d" in page(found)


def test_the_page_is_a_function_of_the_result_and_leaves_it_alone() -> None:
    found = result("orders")
    before = json.dumps(found)
    assert page(found) == page(found)
    assert json.dumps(found) == before


def test_a_key_without_text_and_a_query_without_filter_are_said() -> None:
    found = result("footrace")
    best = found["tables"][0]["recommended"]
    best["row_key"] = ""
    best["classes"][0]["filters"] = [""]
    text = page(found)
    assert "  RowKey         ''" in text
    assert "(no $filter: every entity)" in text


def test_a_goal_lost_by_little_shows_what_decides() -> None:
    found = result("footrace")
    found["tables"][0]["alternatives"][0]["loses"] = {"goal": "storage", "unit": "x", "value": 33.31, "winner": 33.27}
    assert "storage, 33.31 against 33.27 (x)" in " ".join(page(found, 200).split())


def test_goals_over_index_rows_are_told_as_such() -> None:
    """Documents call that goal structures, and the rows of which it counts one twice eventual."""
    text = " ".join(page(result("microblog"), 200).split())
    assert "structures" not in text and "eventual" not in text
    more = AnalysisLostGoal(goal="structures", unit="eventual, all", value=2, winner=0)
    assert lost(more) == "index rows, 2 against 0 (one in another partition, written later, counts twice)"
    late = "share of reads through eventually consistent rows"
    behind = AnalysisLostGoal(goal="structures", unit=late, value=0.4, winner=0.1)
    assert lost(behind) == "index rows, 0.4 against 0.1 (share of reads through those written later)"


def test_a_break_factor_without_limit_is_said_in_words() -> None:
    found = result("footrace")
    found["tables"][0]["recommended"]["breaks"] = []
    text = page(found)
    assert re.search(r"breaks at, x today's load +now: partition scans +never\n", text)
    assert "When it breaks" not in text
    assert "None" not in text
    assert "no limitx" not in text


def test_a_table_without_data_shows_what_the_log_says(tmp_path: Path) -> None:
    from pkadvisor.progress import SilentProgress
    from tests.plain import analyze
    from tests.report.support import request

    log = tmp_path / "few.jsonl"  # too few keys to show how they are made
    log.write_text(
        "".join(f'{{"table": "Blogs", "at": {9e8 + n}, "pk": "c{n % 2}", "rk": "r{n}"}}\n' for n in range(9))
    )
    found = analyze(request("microblog", data=(), logs=(str(log),), design=None), SilentProgress())
    text = page(found)
    assert found["tables"][0]["recommended"] is None
    assert "Hot keys in the log" in text
    for query in found["tables"][0]["workload"]:
        assert query["name"] in text
        assert query["access_now"] is None or query["access_now"] in text


def test_a_log_alone_says_what_it_leaves_out() -> None:
    from pkadvisor.progress import SilentProgress
    from tests.plain import analyze
    from tests.report.support import request

    found = analyze(request("microblog", data=(), design=None), SilentProgress())
    text = " ".join(page(found).split())
    assert "KEEP THE KEY Blogs" in text
    assert "only the keys that the log names are known" in text
    assert not found["tables"][0]["confidence"]["sure"]
    assert "Confidence: unknown (the data is a slice: what lies outside may differ)" in text
    assert "'query by rating' is left out of the cost: nothing is known of rating; give an export of the table" in text


def test_other_tables_of_a_log_are_listed_with_their_share() -> None:
    found = result("microblog")
    found["log"]["tables"].append({"table": "Users", "share": 0.00001, "designed": False})
    text = page(found)
    assert re.search(r"<0\.01 % +Users  \(no design\)", text)
    assert "(no design)" not in page(result("microblog"))


@pytest.mark.parametrize(("part", "width"), [("", 40), ("", 80), ("details-", 80)])
@pytest.mark.parametrize("name", ["footrace", "microblog"])
def test_pages_are_as_kept(name: str, part: str, width: int) -> None:
    """PKADVISOR_GOLDEN=write makes the pages anew."""
    kept = GOLDEN / f"{name}-{part}{width}.txt"
    shown = page(result(name), width, details=bool(part), inputs=f"--sample {name}")
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


def test_money_and_latency_stand_on_the_page_and_every_term_with_its_source_behind_verbose() -> None:
    found = result("footrace")
    best = found["tables"][0]["recommended"]
    text = " ".join(page(found, 200).split())
    price = next(t for t in best["terms"] if t["name"] == "price")
    assert f"recommended {amount(price['value'])} USD: requests" in text
    first = next(c for c in best["classes"] if c["name"] == "by-bib")
    assert first["latency_goal_ms_p99"] == 50
    assert f"p99 {amount(first['latency_ms_p99'])} ms (goal 50)" in text
    full = " ".join(page(found, 400, verbose=True).split())
    for term in best["terms"]:
        assert f"{term['name']} " in full
        assert f"({term['basis']}" in full
        assert f"); {term['source']}" in full or not term["source"]
    points = [c["score_points"] for c in best["classes"]]
    assert sum(points) == pytest.approx(best["score"], abs=0.06)
    assert f"{amount(first['score_points'])} points" in full


def test_an_interval_is_shown_where_a_term_has_one() -> None:
    found = result("footrace")
    term = found["tables"][0]["recommended"]["terms"][0]
    term |= {"low": 70, "high": 92.5}
    text = " ".join(page(found, 400, verbose=True).split())
    assert f"({term['basis']}, 70 to 92.5); {term['source']}" in text


def test_analytic_classes_come_last_and_are_called_so() -> None:
    found = result("documents")
    lines = [line.split("  ") for line in page(found, 200).splitlines() if "  analytic  " in line]
    assert [parts[1] for parts in lines] == ["changed-before"]
    for entry in found["tables"][0]["recommended"]["classes"]:
        assert (entry["score_points"] is None) == entry["analytic"] == (entry["latency_goal_ms_p99"] is None)


# -- pieces ------------------------------------------------------------------------------------------------------------


@given(st.text(alphabet="ab {}_'|", max_size=200), st.integers(12, 60))
def test_folding_loses_nothing(text: str, room: int) -> None:
    pieces = fold(text, room)
    assert squeezed("".join(pieces)) == squeezed(text)
    assert all(len(piece) <= room for piece in pieces)


@given(st.text())
def test_clean_text_is_printable(text: str) -> None:
    assert clean(text).isprintable()
    if text.isprintable():
        assert clean(text) == text


@given(st.floats(0, 1e15))
def test_numbers_have_no_exponents(value: float) -> None:
    for shown in (amount(value), ratio(value), percent(min(1.0, value)), breaks(value)):
        assert not re.search(r"e[+-]?\d", shown), shown


def test_numbers_are_told_as_people_tell_them() -> None:
    assert [ratio(v) for v in (0, 0.004, 0.25, 1, 25.03, 25040.35)] == [
        "0x",
        "<0.01x",
        "0.25x",
        "1x",
        "25x",
        "over 1,000x",
    ]
    assert [rate(v) for v in (0, 60, 0.02, 1 / 3600, 1 / 86400, None)] == [
        "0/s",
        "60/s",
        "1.2/min",
        "1/h",
        "1/day",
        "unknown",
    ]
    assert [percent(v) for v in (0, 0.00001, 0.306, 1)] == ["0 %", "<0.01 %", "30.6 %", "100 %"]
    assert (plural(1, "index row"), plural(2, "index row")) == ("1 index row", "2 index rows")
    assert (amount(1234.5), amount(0.0123), amount(0.00002), breaks(None)) == ("1,234", "0.0123", "<0.0001", "never")
