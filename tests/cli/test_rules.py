"""The catalogue of rules, their pages, the facts, and completion in shells."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from pkadvisor.report.text.rule_page import plainly
from pkadvisor.review.facts import FACTS
from pkadvisor.review.rules.rule import Rule, load_rules
from tests.cli.support import Ask, Run

OWN = """\
id = "ACME001"
name = "too-many-tables"
title = "Too many tables"
scope = "design"
why = "We agreed on three."
fix = "merge {design.tables} of them"
aliases = ["ACME000"]
[[level]]
severity = "warning"
when = "design.tables > 3.0 && !(design.tables >= 9.0)"
message = "there are {design.tables} tables"
"""


def test_the_list_names_every_rule_and_json_carries_its_page(ask: Ask) -> None:
    assert "advisor rules list" in ask("rules", "list", "--help")[1]
    text = ask("rules", "list")[1]
    pages = {page["id"]: page for page in json.loads(ask("rules", "list", "--format", "json")[1])["rules"]}
    assert set(pages) == {rule.id for rule in load_rules()}
    for rule in load_rules():
        assert re.search(rf"^{rule.id} +{rule.name} ", text, re.MULTILINE)
        page = pages[rule.id]
        assert (page["fix"], page["bad"], len(page["levels"])) == (
            " ".join(rule.fix.split()),
            rule.bad,
            len(rule.levels),
        )
        assert [fact["name"] for fact in page["facts"]] == list(rule.names())


def test_rules_may_be_named_with_commas_between_them(ask: Ask) -> None:
    listed = json.loads(ask("rules", "list", "--select", "PK101, PK9", "--format", "json")[1])["rules"]
    ids = [page["id"] for page in listed]
    assert ids[0] == "PK101"
    assert len(ids) > 2
    assert all(i.startswith("PK9") for i in ids[1:])


def test_a_selection_and_one_that_is_empty(ask: Ask) -> None:
    found = json.loads(ask("rules", "list", "--select", "PK2", "--format", "json")[1])["rules"]
    assert found
    assert all(page["id"].startswith("PK2") for page in found)
    code, _, err = ask("rules", "list", "--select", "PK777")
    assert (code, "no rule 'PK777'" in err) == (2, True)


@pytest.mark.parametrize("rule", load_rules(), ids=lambda r: r.id)
def test_each_rule_has_a_page_under_its_id_and_its_name(rule: Rule, ask: Ask) -> None:
    by_id, by_name = ask("explain", rule.id.lower()), ask("rules", "explain", rule.name)
    assert by_id == by_name
    code, page, err = by_id
    assert (code, err) == (0, "")
    assert page.startswith(f"{rule.id} {rule.name}\n")
    wide = " ".join(page.split())
    for level in rule.levels:
        assert f" {level.severity} " in wide
    assert f"ignore[{rule.id}] reason=" in page
    places = [
        page.find(f"\n{heading}\n") for heading in ("Why", "Bad", "Good", "Fix", "When") if f"\n{heading}\n" in page
    ]
    assert places == sorted(places) and page.index("\nWhy\n") < page.index("\nFix\n")
    last = page.splitlines()[-1]
    assert last.startswith(f"  next: advisor review design.yaml --select {rule.id} ")
    for heading in ("When", "Why", "Fix", "To suppress a finding"):
        assert f"\n{heading}\n" in page
    for line in rule.bad.splitlines():
        assert line.rstrip() in page
    for link in rule.links:
        assert link.url in page


def test_rules_of_a_team_are_explained_too_by_older_ids_as_well(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "rule.toml").write_text(OWN)
    for word in ("ACME001", "acme000", "too-many-tables"):
        code, page, _ = ask("explain", word, "--rules", "own")
        assert (code, page.partition("\n")[0]) == (0, "ACME001 too-many-tables")
    assert "design.tables > 3.0 && !(design.tables >= 9.0)" in page, "as it is to be written"
    assert "merge <tables> of them" in page
    (tmp_path / "pkadvisor.toml").write_text("rules = ['own']")
    assert ask("explain", "ACME001")[0] == 0
    assert "ACME001" in ask("rules", "list")[1]


@pytest.mark.parametrize(
    ("word", "near"),
    [("PK2O1", "did you mean 'PK2"), ("PK29", "PK2"), ("query-scan-table", "query-scans-table"), ("PK", "")],
)
def test_an_unknown_rule_is_told_with_the_nearest(word: str, near: str, ask: Ask) -> None:
    code, out, err = ask("rules", "explain", word)
    assert (code, out) == (2, "")
    assert f"there is no rule '{word}'" in err
    assert near in err.splitlines()[1]


def test_the_beginning_of_ids_is_told_to_be_a_group(ask: Ask) -> None:
    code, _, err = ask("explain", "PK1")
    assert (code, "PK1 is a group: advisor rules list --select PK1" in err) == (2, True)


def test_a_rule_takes_no_data_and_other_targets_stay(ask: Ask) -> None:
    assert "without data" in ask("explain", "PK201", "data.csv")[2]
    assert "'schem' cannot be explained" in ask("explain", "schem")[2]
    assert "which rule?" in ask("explain", "--rules", "own")[2]


def test_facts_are_told_with_unit_and_meaning(ask: Ask) -> None:
    rows = {row["name"]: row for row in json.loads(ask("rules", "facts", "--format", "json")[1])["facts"]}
    text = ask("rules", "facts")[1]
    for fact in FACTS:
        assert (rows[fact.name]["unit"], rows[fact.name]["about"]) == (fact.unit, fact.about)
        assert f"  {fact.name} (" in text
    assert rows["limit.partition_entities_per_s"]["value"] == 2000
    assert "limit.partition_entities_per_s = 2,000 entities/s" in text


def test_conditions_in_words_leave_texts_alone() -> None:
    assert (
        plainly("a.b == 'x && y' &&\n !c.d || size(e.f) > 2.0")
        == "a.b is 'x && y' and not c.d or the number of e.f > 2"
    )
    assert plainly("a.b != 12.5 && a.b <= limit.page_entities") == "a.b is not 12.5 and a.b ≤ page_entities"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_is_a_script_on_standard_output(shell: str, ask: Ask) -> None:
    code, out, err = ask("completion", shell)
    assert (code, err) == (0, "")
    assert "_ADVISOR_COMPLETE" in out
    assert f"complete_{shell}" in out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("advisor explain PK20", {"PK201"}),
        ("advisor explain query-sc", {"query-scans-table"}),
        ("advisor review --select PK30", {"PK301"}),
        ("advisor rules explain forb", {"forbidden-characters"}),
        ("advisor analyze --sample foot", {"footrace"}),
        ("advisor samples write foot", {"footrace"}),
        ("advisor review --format js", {"json"}),
        ("advisor comple", {"completion"}),
        ("advisor rules li", {"list"}),
    ],
)
def test_a_shell_is_offered_what_fits(words: str, wanted: set[str], run: Run) -> None:
    count = str(len(words.split()) - 1)
    done = run(COMP_WORDS=words, COMP_CWORD=count, _ADVISOR_COMPLETE="complete_bash")
    assert (done.returncode, done.stderr) == (0, b"")
    assert wanted <= set(done.stdout.decode().split())


def test_bash_completes_a_word(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "done.sh").write_text(ask("completion", "bash")[1])
    checked = subprocess.run(["bash", "-n", "done.sh"], cwd=tmp_path, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")
