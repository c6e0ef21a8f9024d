"""Suppressions: where they count, what they must say, when they end, and that none is lost from sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.review.gate.suppressions import ConfiguredSuppression
from pkadvisor.review.views.findings import Severity
from pkadvisor.usecases.review import ignores
from tests.review.documents import typed
from tests.review.gate_support import DESIGN, TEXT, Folder, finding, told

GOOD = '# pkadvisor: ignore[ACME002] reason="one report a day"'


def at_line(number: int, comment: str, text: str = TEXT) -> str:
    """A design with a comment at the end of one of its lines."""
    lines = text.splitlines()
    lines[number - 1] += f"  {comment}"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(9, id="the query"),
        pytest.param(7, id="all queries"),
        pytest.param(3, id="the table"),
        pytest.param(2, id="all tables"),
    ],
)
def test_a_comment_is_about_its_entry_and_what_lies_below(folder: Folder, line: int) -> None:
    folder.write(DESIGN, at_line(line, GOOD))
    document = folder.review()
    let = finding(document, "ACME002")["suppressed"]
    assert let == {"reason": "one report a day", "until": None, "where": f"{DESIGN}:{line}"}
    assert document["outcome"] == "passed"
    assert document["summary"]["suppressed"] == 1
    assert told(document) == []


@pytest.mark.parametrize("line", [1, 4, 8])
def test_a_comment_at_another_entry_suppresses_nothing_and_is_unused(folder: Folder, line: int) -> None:
    folder.write(DESIGN, at_line(line, GOOD))
    document = folder.review()
    assert told(document) == ["ACME002:9", f"PK902:{line}"]
    assert document["exit_code"] == 1
    assert "but at line 9: nothing is suppressed" in finding(document, "PK902")["message"]


def test_a_comment_alone_is_about_the_entry_below_it(folder: Folder) -> None:
    lines = TEXT.splitlines()
    above = [*lines[:8], f"      {GOOD}", "      # weekly", "", *lines[8:]]
    folder.write(DESIGN, "\n".join(above))
    assert told(folder.review()) == []
    folder.write(DESIGN, "\n".join([*lines, f"      {GOOD}"]))
    assert told(folder.review()) == ["ACME002:9", "PK901:10"], "below the last entry there is nothing"


def test_a_comment_follows_the_node_over_several_lines(folder: Folder) -> None:
    text = TEXT.replace(
        """      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}
""",
        f"""      - name: by-status   {GOOD}
        filter: >-
          status eq
          '{{status}}'
        rate: 5/s
""",
    )
    folder.write(DESIGN, text)
    document = folder.review()
    assert told(document) == []
    assert finding(document, "ACME002")["suppressed"]["where"] == f"{DESIGN}:9"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(f"filter: >-\n          status eq 'x {GOOD}'", id="folded"),
        pytest.param(f"filter: |\n          status eq 'x\n          {GOOD}'", id="literal"),
        pytest.param(f"filter: \"status eq 'x {GOOD[:24]} {GOOD[25:31]}'\"", id="double quotes"),
        pytest.param("filter: 'status eq ''x # pkadvisor: ignore[ACME002] y'''", id="single quotes"),
        pytest.param("filter: \"status eq\n          'x # pkadvisor: ignore[ACME002] y'\"", id="quotes over two lines"),
    ],
)
def test_text_of_a_value_is_no_comment(folder: Folder, written: str) -> None:
    query = """      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}\n"""
    folder.write(DESIGN, TEXT.replace(query, f"      - name: by-status\n        {written}\n        rate: 5/s\n"))
    document = folder.review()
    assert [d["error"] for d in document["designs"]] == [None]
    assert told(document, ("ACME002", "PK901", "PK902")) == ["ACME002:9"]


def test_a_comment_behind_the_head_of_a_block_and_one_below_a_block_count(folder: Folder) -> None:
    query = """      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}\n"""
    folded = f"""\
      - rate: 5/s
        filter: >-  {GOOD}
          status eq 'x'
        {GOOD}
        name: by-status
"""
    folder.write(DESIGN, TEXT.replace(query, folded))
    assert told(folder.review()) == ["PK902:10"], "one is about a value, one stands above the name of the query"


@pytest.mark.parametrize(
    ("comment", "says", "fix"),
    [
        ("# pkadvisor: ignore", "names no rule", "ignore[PK101]"),
        ('# pkadvisor: ignore[] reason="x"', "names no rule", "ignore[PK101]"),
        ("# pkadvisor: ignore[ACME002]", "it has no reason", 'reason="…"'),
        ('# pkadvisor: ignore[ACME002] reason="  "', "it has no reason", 'reason="…"'),
        ("# pkadvisor: ignore[ACME002] reason=cheap", "no value in quotes", "reason="),
        ('# pkadvisor: ignore[ACME020] reason="x"', "no rule 'ACME020'", "did you mean 'ACME002'?"),
        ('# pkadvisor: ignore[PK9] reason="x"', "no rule 'PK9'", ""),
        ('# pkadvisor: ignore[ACME002, big-tabel] reason="x"', "no rule 'big-tabel'", "did you mean 'big-table'?"),
        ('# pkadvisor: ignore[ACME002] reason="x" until=2026-02-30', "'2026-02-30' is not a date", "YYYY-MM-DD"),
        ('# pkadvisor: ignore[ACME002] reason="x" until=31.12.2027', "is not a date", "YYYY-MM-DD"),
        (
            '# pkadvisor: ignore[ACME002] reason="x" untill=2027-01-01',
            "unknown key 'untill'",
            "did you mean 'until'?",
        ),
        ('# pkadvisor: ignore[ACME002] reason="x" for now', "'for now' does not belong", ""),
        ('# pkadvisor: ignore[PK903] reason="x"', "PK903 cannot be suppressed", ""),
        ('# pkadvisor ignore[ACME002] reason="x"', "begins with 'pkadvisor:'", ""),
        ('# pkadviser: ignore[ACME002] reason="x"', "begins with 'pkadvisor:'", ""),
        ('# pkadvisor: disable[ACME002] reason="x"', "the form is ignore[", 'ignore[ACME002] reason="'),
        ('# pkadvisor: ignored[ACME002] reason="x"', "the form is ignore[", 'ignore[ACME002] reason="'),
        ('# pkadvisor: ignore ACME002 scan reason="x"', "the form is ignore[", 'ignore[ACME002] reason="'),
        ('# pkadvisor: ignore append-only-partion reason="x"', "the form is ignore[", 'ignore[PK101] reason="'),
        ('# pkadvisor: ignore[ACMEO02] reason="x"', "no rule 'ACMEO02'", "did you mean 'ACME002'?"),
        ('# pkadvisor: ignore[PK1O1] reason="x"', "no rule 'PK1O1'", "did you mean 'PK101'?"),
        ('# pkadvisor: ignore[append-only-partion] reason="x"', "no rule 'app", "mean 'append-only-partition'?"),
    ],
)
def test_a_malformed_comment_is_an_error_at_its_place(folder: Folder, comment: str, says: str, fix: str) -> None:
    folder.write(DESIGN, at_line(9, comment))
    document = folder.review()
    assert set(told(document)) == {"ACME002:9", "PK901:9"}, "it suppresses nothing"
    found = finding(document, "PK901")
    assert says in found["message"]
    assert fix in found["fix"]
    place = found["place"]
    assert place["excerpt"][place["column"] - 1 : place["end_column"] - 1] == comment
    assert found["severity"] == "error"


def test_plain_words_about_the_program_are_no_suppression(folder: Folder) -> None:
    folder.write(DESIGN, at_line(9, "# pkadvisor reads this, see pkadvisor.toml"))
    assert told(folder.review()) == ["ACME002:9"]


def test_names_several_rules_and_several_comments_in_one(folder: Folder) -> None:
    big = TEXT.replace("500", "5_000")
    both = '# weekly # pkadvisor: ignore[scan , big-table] reason="see #14 and \\"notes\\"" until=2027-01-31'
    folder.write(DESIGN, at_line(3, both, big))
    document = folder.review()
    assert told(document) == []
    assert finding(document, "ACME001")["suppressed"]["reason"] == 'see #14 and "notes"'
    assert finding(document, "ACME001")["suppressed"]["until"] == "2027-01-31"
    two = f"{GOOD} # pkadvisor: ignore[ACME001] reason='small'"
    folder.write(DESIGN, at_line(3, two, big))
    document = folder.review()
    assert told(document) == []
    assert finding(document, "ACME001")["suppressed"]["reason"] == "small"


def test_the_last_day_counts_and_the_next_does_not(folder: Folder) -> None:
    folder.write(DESIGN, at_line(9, f"{GOOD} until=2026-11-21"))
    assert folder.review(today="2026-11-21")["outcome"] == "passed"
    document = folder.review(today="2026-11-22")
    assert told(document) == ["ACME002:9", "PK903:9"]
    assert document["exit_code"] == 1
    assert "2026-11-21" in finding(document, "PK903")["message"]
    assert "2026-11-22" not in str(document), "no output depends on the day it is made"


def test_what_was_not_asked_is_not_unused(folder: Folder) -> None:
    folder.write(DESIGN, at_line(4, '# pkadvisor: ignore[PK103, PK802, ACME001] reason="x"'))
    asked = folder.review(select=("PK103", "PK802", "PK9", "ACME002"))
    assert told(asked, ("PK902",)) == [], "one needs data, one a design to compare with, one was not selected"
    assert "ACME001" in finding(folder.review(select=("PK103", "PK802", "PK9", "ACME")), "PK902")["message"]


def test_a_suppression_of_the_configuration(folder: Folder) -> None:
    entry = ConfiguredSuppression(
        "scan", "a report", "schema/*.yaml", "tables.Orders.queries.by-*", "", "pkadvisor.toml:7"
    )
    document = folder.review(suppress=(entry,))
    assert told(document) == []
    assert finding(document, "ACME002")["suppressed"]["where"] == "pkadvisor.toml:7"
    table = ConfiguredSuppression("ACME002", "a report", target="tables.Orders")
    assert told(folder.review(suppress=(table,))) == []
    other = ConfiguredSuppression("ACME002", "a report", "schema/other.yaml")
    nowhere = folder.review(suppress=(other,))
    assert told(nowhere) == ["ACME002:9", "PK902:2"]
    assert "for schema/other.yaml, and there is no such design" in finding(nowhere, "PK902")["message"]
    assert told(folder.review(suppress=(other,), siblings=("schema/other.yaml",))) == ["ACME002:9"]
    folder.write("schema/other.yaml", TEXT)
    assert told(folder.review(suppress=(other,))) == ["ACME002:9"], "it is about no design of this run, so not unused"
    unused = ConfiguredSuppression("ACME002", "a report", target="tables.Order")
    document = folder.review(suppress=(unused,))
    assert told(document) == ["ACME002:9", "PK902:2"]
    assert finding(document, "PK902")["message"].endswith("; its findings are at: tables.Orders.queries.by-status")
    ended = ConfiguredSuppression("ACME002", "a report", until="2026-11-20")
    assert sorted(told(folder.review(suppress=(ended,)))) == ["ACME002:9", "PK903:2"]


@pytest.mark.parametrize("target", ["tables.Orders", "tables.Orders.row_key", "tables.*.row_key"])
def test_a_target_is_what_a_finding_is_about_or_what_it_points_at(folder: Folder, target: str) -> None:
    folder.write(DESIGN, TEXT.replace("500", "5_000"))
    assert "ACME001:5" in told(folder.review()), "about the table, at its row_key"
    assert finding(folder.review(), "ACME001")["place"]["path"] == "tables.Orders.row_key"
    entry = ConfiguredSuppression("ACME001", "so be it", target=target)
    assert told(folder.review(suppress=(entry,))) == ["ACME002:9"]
    below = ConfiguredSuppression("ACME001", "so be it", target="tables.Orders.row")
    assert "ACME001:5" in told(folder.review(suppress=(below,))), "no path ends within a name"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (ConfiguredSuppression("ACME200", "x"), "no rule 'ACME200'"),
        (ConfiguredSuppression("ACME002", " "), "gives no reason"),
        (ConfiguredSuppression("ACME002", "x", until="2027-13-01"), "is not a date"),
        (ConfiguredSuppression("PK901", "x"), "cannot be suppressed"),
    ],
)
def test_a_wrong_entry_of_the_configuration_stops_the_run(
    folder: Folder, entry: ConfiguredSuppression, says: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        folder.review(suppress=(entry,))
    assert caught.value.where == "pkadvisor.toml"


# -- written by the program --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_suppressions_are_added_and_all_else_keeps_its_bytes(folder: Folder, end: str) -> None:
    text = "\ufeff" + TEXT.replace("500", "500_000   # déjà vu").replace("\n", end).removesuffix(end)
    folder.write(DESIGN, text)
    ((path, content, count),) = ignores(typed(folder.review()), 'so "be" it, see #3')
    made = content.decode()
    comments = [line.partition("  # pkadvisor")[1:] for line in made.split(end)]
    assert (path, count) == (DESIGN, 2)
    assert end.join(line.partition("  # pkadvisor")[0] for line in made.split(end)) == text
    assert sum(bool(c[0]) for c in comments) == 2
    folder.write(DESIGN, made)
    document = folder.review()
    assert document["outcome"] == "passed"
    assert told(document) == []
    assert finding(document, "ACME002")["suppressed"]["reason"] == 'so "be" it, see #3'
    assert ignores(typed(document), "x") == []


def test_a_value_that_goes_on_below_gets_its_comment_above(folder: Folder) -> None:
    longer = TEXT.replace('"{orderId}"', '"{orderId}_\n      {day}"').replace("500", "500_000")
    folder.write(DESIGN, longer)
    ((_, content, count),) = ignores(typed(folder.review()), "archive")
    assert count == 2
    assert content.decode().splitlines()[4:6] == [
        '    # pkadvisor: ignore[ACME001] reason="archive"',
        '    row_key: "{orderId}_',
    ]
    folder.write(DESIGN, content.decode())
    assert told(folder.review()) == []


def test_a_query_is_suppressed_at_its_name_wherever_that_stands(folder: Folder) -> None:
    query = """      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}\n"""
    folder.write(
        DESIGN, TEXT.replace(query, "      - filter: status eq 'x'\n        rate: 5/s\n        name: by-status\n")
    )
    document = folder.review()
    assert told(document) == ["ACME002:11"]
    ((_, content, _),) = ignores(typed(document), "weekly")
    folder.write(DESIGN, content.decode())
    assert told(folder.review()) == []


def test_two_rules_of_one_line_stand_in_one_comment(folder: Folder) -> None:
    keys = "partition_key: '{a}', row_key: '{b}', entities_total: 500_000"
    one_line = f"{{{keys}, queries: [{{name: q, filter: c eq 1, rate: 1/s}}]}}"
    one_line = f"schema: 1\ntables:\n  Orders: {one_line}\n"
    folder.write(DESIGN, one_line)
    ((_, content, count),) = ignores(typed(folder.review()), "x")
    assert count == 2
    assert content.decode().count("ignore[ACME001, ACME002]") == 1


def test_json_takes_no_comment_and_a_reason_is_needed(folder: Folder) -> None:
    text = '{"schema": 1, "tables": {"Orders": {"partition_key": "{a}", "row_key": "{b}", "entities_total": 500000}}}'
    folder.write("schema/orders.json", text)
    document = folder.review("schema/orders.json")
    with pytest.raises(UsageError, match="JSON has no comments"):
        ignores(typed(document), "x")
    with pytest.raises(UsageError, match="needs a reason"):
        ignores(typed(folder.review()), " ")


SAMPLES = sorted((Path(__file__).parents[3] / "samples").glob("*/design*.yaml"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_whatever_is_found_in_a_sample_can_be_suppressed_where_it_is_shown(folder: Folder, path: Path) -> None:
    asked: dict[str, Any] = {"select": (), "rules": (), "fail_on": Severity.INFO}
    folder.write(DESIGN, path.read_text(encoding="utf-8"))
    document = folder.review(**asked)
    for _, content, _ in ignores(typed(document), "as it is"):
        folder.write(DESIGN, content.decode())
    after = folder.review(**asked)
    assert told(after) == [], "no comment is malformed, unused, or about something else"
    assert after["summary"]["suppressed"] == sum(document["summary"][s] for s in ("error", "warning", "info")) > 0
