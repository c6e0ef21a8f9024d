"""Rule files: whatever is wrong in one is told with its place and a way out."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pkadvisor.errors import UsageError
from pkadvisor.resources import resource
from pkadvisor.review.rules.rule import load_rule, load_rules, without_cases
from pkadvisor.review.rules.rule_schema import rule_schema
from tests.review.support import findings

GOOD = '''\
id = "ACME001"
name = "too-many-tables"
title = "Too many tables"
scope = "design"
needs = ["design"]
measured = "design.tables"
limit = "3.0"
unit = "tables"
why = "We agreed on three."
fix = "merge {design.tables} of them"
links = [{title = "Wiki", url = "https://acme.example/wiki"}]
aliases = ["ACME000"]

[[level]]
severity = "warning"
when = """
design.tables > 3.0 &&
  design.tables < 9.0"""
message = "there are {measured} tables"

[[level]]
severity = "error"
when = "design.tables >= 9.0"
'''
SCHEMA = rule_schema()


def failure(text: str, folder: Path) -> UsageError:
    path = folder / "ACME001.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_rules([folder])
    assert caught.value.exit_code == 2
    assert 1 <= len(caught.value.lines()) <= 4
    return caught.value


def valid(content: Any) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(json.loads(json.dumps(content, default=str)))


def test_a_good_rule_of_a_team_stands_beside_ours(tmp_path: Path) -> None:
    (tmp_path / "rule.toml").write_text(GOOD)
    (rule,) = [r for r in load_rules([tmp_path]) if r.id == "ACME001"]
    assert [str(level.severity) for level in rule.levels] == ["warning", "error"]
    assert rule.levels[1].message == rule.levels[0].message
    assert rule.levels[0].when.value({"design.tables": 4.0}) is True
    assert rule.names() == ("design.tables",)


def test_a_level_has_a_fix_of_its_own_or_that_of_the_rule(tmp_path: Path) -> None:
    (tmp_path / "rule.toml").write_text(GOOD.replace('severity = "error"', 'severity = "error"\nfix = "at {limit}"'))
    (rule,) = [r for r in load_rules([tmp_path]) if r.id == "ACME001"]
    assert [level.fix for level in rule.levels] == [rule.fix, "at {limit}"]


def test_a_level_has_a_number_of_its_own_or_that_of_the_rule_of_which_it_speaks(tmp_path: Path) -> None:
    own = 'severity = "error"\nmeasured = "design.tables * 2.0"\nlimit = "6.0"\nunit = "halves"'
    other = '[[level]]\nseverity = "info"\nwhen = "design.requests_per_s > 1.0"\nmessage = "busy"\n'
    (tmp_path / "rule.toml").write_text(GOOD.replace('severity = "error"', own) + other)
    (rule,) = [r for r in load_rules([tmp_path]) if r.id == "ACME001"]
    values = [level.measured.value({"design.tables": 4.0}) if level.measured else None for level in rule.levels]
    assert values == [4, 8, None]
    assert [level.limit.value({}) if level.limit else None for level in rule.levels] == [3, 6, 3]
    assert [level.unit for level in rule.levels] == ["tables", "halves", "tables"]
    wrong = failure(GOOD.replace('severity = "error"', 'severity = "error"\nmeasured = "design.tabels"'), tmp_path)
    assert "design.tables" in "\n".join(wrong.lines())


def test_a_finding_has_the_fix_of_its_level(tmp_path: Path) -> None:
    design = """
schema: 1
tables:
  Events:
    partition_key: "{app}_{host}"
    row_key: "{id}"
    queries:
      - {name: errors, filter: "app eq '{app}' and level eq 'error'", rate: 5/s}
      - {name: of-host, filter: "app eq '{app}' and host eq '{host}' and level eq 'error'", rate: 5/s}
"""
    fixes = {f.subject: f.fix for f in findings(design, tmp_path) if f.rule == "PK202"}
    assert "index row with a PartitionKey of its own" in fixes["errors"]
    assert "index row in the same partition" in fixes["of-host"]


# (what is replaced, by what, where the caret stands, a part of the message, a part of the advice, whether the editor's
# schema refuses it too)
WRONG = [
    ('title = "', 'tilte = "', "tilte", "unknown key 'tilte'", "did you mean 'title'?", True),
    ('title = "Too many tables"', "title = 3", "title", "title must be text", "", True),
    ('title = "Too many tables"', 'title = " "', "title", "title is empty", "", True),
    ('title = "Too many tables"\n', "", "id", "the rule has no title", "add title", True),
    ('"ACME001"', '"acme 1"', "id", "not a rule id", "ACME001", True),
    ('"too-many-tables"', '"Too many"', "name", "not a rule name", "hyphens", True),
    ('scope = "design"', 'scope = "desing"', '"desing"', "'desing' is none of them", "did you mean 'design'?", True),
    ('["design"]', '["design", "dat"]', '"dat"', "'dat' is none of them", "did you mean 'data'?", True),
    ('["design"]', '["design", "design"]', '"design"]', "appears twice", "keep one", True),
    ('["design"]', '["design", 3]', "3]", "a list of texts", "", True),
    ('["design"]', '"design"', "needs", "needs must be a list", "", True),
    ('["ACME000"]', '["old one"]', '"old one"', "no id and no name", "", True),
    ('measured = "design.tables"', 'measured = "design.tabels"', "design.tabels", "no fact", "'design.tables'?", False),
    ('measured = "design.tables"', 'measured = "1.0 + true"', "+ true", "does not take", "rules facts", False),
    ('measured = "design.tables"', 'measured = "true"', "true", "not a number", "rules facts", False),
    ("merge {design.tables}", "merge {design.tabels}", "design.tabels}", "no fact", "did you mean", False),
    ("{measured} tables", "{meazured} tables", "meazured", "which is no fact", "'measured'?", False),
    ("{measured} tables", "{query.access}", "query.access", "no fact of a rule of scope design", "", False),
    ("  design.tables < 9.0", "  design.table < 9.0", "design.table <", "no fact 'design.table'", "s'?", False),
    ("  design.tables < 9.0", "  design.tables < 9", "< 9", "does not take", "written with a point: 2.0", False),
    ("  design.tables < 9.0", "  design.tables <", '"""\nmess', "unexpected end", "conditions are CEL", False),
    ("  design.tables < 9.0", "  design.tables = 9.0", "= 9.0", "unexpected '='", "conditions are CEL", False),
    ("  design.tables < 9.0", "  (design.tables < 9.0", '"""\nmess', "missing ')' at the end", "CEL", False),
    ('"ACME001"', '"PK999"', "id", "those of the bundled rules", "ACME001", False),
    ("design.tables >= 9.0", 'size(\\"\\") >= desing', "desing", "there is no fact 'desing'", "", False),
    ("design.tables >= 9.0", "design.tables + 1.0", "", "not true or false", "", False),
    ('severity = "error"', 'severity = "eror"', '"eror"', "'eror' is none of them", "did you mean 'error'?", True),
    ('severity = "error"', "", "level]]", "the level has no severity", "", True),
    ('severity = "error"', "severity = 3", "severity = 3", "severity must be text", "", True),
    ('severity = "error"', 'severty = "error"', "severty", "unknown key 'severty'", "did you mean 'severity'?", True),
    ('severity = "error"', 'severity = "error"\nfix = " "', "fix", "fix is empty", "", True),
    ('severity = "error"', 'severity = "error"\nfix = "a {tabel}"', "tabel", "no fact of a rule", "'table'?", False),
    ("design.tables >= 9.0", "table.key_change == 'rewrite'", "table.key_change", "comparison only", '"diff"', False),
    ("https://acme", "acme", "url", "not a web address", "https://", True),
    ('title = "Wiki", ', "", "{url", "a link is", "", True),
    ('needs = ["design"]', "builtin = true", "level]]", "has no levels", "", True),
]


@pytest.mark.parametrize(("old", "new", "place", "what", "fix", "by_schema"), WRONG, ids=[w[3] for w in WRONG])
def test_a_mistake_is_told_with_its_place(
    old: str, new: str, place: str, what: str, fix: str, by_schema: bool, tmp_path: Path
) -> None:
    good = GOOD.replace('scope = "design"', 'scope = "table"') if "table." in new else GOOD
    text = good.replace(old, new, 1) if old != 'severity = "error"' else good.replace(old, new)
    assert text != GOOD
    error = failure(text, tmp_path)
    assert what in error.what
    assert fix in error.fix
    found = re.fullmatch(r".*ACME001\.toml:(\d+):(\d+)", error.where)
    assert found
    rest = "\n".join(text.split("\n")[int(found[1]) - 1 :])[int(found[2]) - 1 :]
    assert rest.startswith(place)
    source, marks = error.excerpt.split("\n")
    assert source[marks.index("^") :].startswith(place.split("\n")[0][:3])
    assert valid(tomllib.loads(text)) is not by_schema


def test_a_rule_without_a_level_a_folder_without_a_rule_and_no_folder(tmp_path: Path) -> None:
    assert "no level" in failure(GOOD.partition("[[level]]")[0], tmp_path).what
    assert not valid(tomllib.loads(GOOD.partition("[[level]]")[0]))
    (tmp_path / "empty").mkdir()
    for folder, what in (("empty", "no rule in this folder"), ("missing", "no such folder")):
        with pytest.raises(UsageError, match=what):
            load_rules([tmp_path / folder])


def test_a_file_that_is_no_toml_too_large_or_no_text(tmp_path: Path) -> None:
    broken = failure(GOOD.replace("limit = ", "limit "), tmp_path)
    assert "is not TOML" in broken.what
    assert broken.where.endswith(":7:7")
    assert "too large" in failure(GOOD + "# " + "x" * (1 << 20), tmp_path).what
    (tmp_path / "ACME001.toml").write_bytes(b"id = '\xff'")
    with pytest.raises(UsageError, match="UTF-8"):
        load_rules([tmp_path])


@pytest.mark.parametrize(
    ("old", "new"),
    [('"too-many-tables"', '"query-scans-table"'), ('["ACME000"]', '["PK201"]')],
)
def test_an_id_or_name_that_is_taken(old: str, new: str, tmp_path: Path) -> None:
    error = failure(GOOD.replace(old, new), tmp_path)
    assert "is taken by PK201-query-scans-table.toml" in error.what
    assert error.where.endswith("ACME001.toml")


def test_what_is_left_out_for_speed_is_the_cases_alone() -> None:
    whole, quick = load_rules(), load_rules(cases=False)
    assert all(rule.cases for rule in whole if not rule.builtin)
    assert not any(rule.cases for rule in quick)
    plain = ("id", "name", "title", "scope", "needs", "unit", "ratchet", "place", "why", "bad", "good", "fix", "links")
    for a, b in zip(whole, quick, strict=True):
        assert [getattr(a, key) for key in plain] == [getattr(b, key) for key in plain]
        assert [(lv.severity, lv.when.text, lv.message) for lv in a.levels] == [
            (lv.severity, lv.when.text, lv.message) for lv in b.levels
        ]
    after = 'id = "X"\n[[fail]]\ndesign = ""\n[[level]]\nwhen = "true"\n'
    assert without_cases(after) == after
    assert without_cases(after.partition("[[level]]")[0]) == 'id = "X"\n'


def test_every_bundled_rule_keeps_to_the_published_schema() -> None:
    validator = Draft202012Validator(SCHEMA)
    Draft202012Validator.check_schema(SCHEMA)
    for path in sorted(resource("rules").glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        assert [e.message[:200] for e in validator.iter_errors(content)] == [], path.name
        assert load_rule(path).id == content["id"]
        assert path.name == f"{content['id']}-{content['name']}.toml"
    assert valid(tomllib.loads(GOOD))
