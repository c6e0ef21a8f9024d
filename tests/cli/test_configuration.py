"""Settings of a project: which file holds, what wins over what, and what is refused with its place."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pkadvisor.cli.configuration import discover
from pkadvisor.cli.settings_file import read_settings
from pkadvisor.cli.settings_schema import config_schema
from pkadvisor.errors import UsageError
from pkadvisor.limits import load_limits
from tests.cli.support import Ask

DESIGN = """\
schema: 1
tables:
  Orders:
    partition_key: "{tenantId}"
    row_key: "{orderId}"
    queries:
      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}
"""
FULL = """\
schema = 1
designs = ["schema/*.yaml"]
profile = "profile.json"
fail_on = "warning"
baseline = ".pkadvisor-baseline.json"
rules = ["schema/rules"]

[limits]
partition_entities_per_s = 1500
price_per_gb_month = {value = 0.05, source = "invoice"}

[budget]
cost_month = 500
throttled = "0.1%"

[review]
select = ["PK2", "PK301"]
ignore = ["PK203"]
severity = {PK201 = "warning"}

[[review.suppress]]
rule = "PK201"
path = "schema/*.yaml"
target = "tables.Orders"
reason = "twice a year"
until = 2027-03-31
"""
SCHEMA = config_schema()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a design that has one error; nothing of the environment configures."""
    for variable in list(os.environ):
        if variable.startswith("PKADVISOR_"):
            monkeypatch.delenv(variable)
    (tmp_path / ".git").mkdir()
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "orders.yaml").write_text(DESIGN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_nearest_file_up_to_the_root_of_the_repository_holds(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = "schema/orders.yaml"
    assert discover(design) is None
    (repository.parent / "pkadvisor.toml").write_text("nonsense")  # outside of the repository
    (repository / "pyproject.toml").write_text("[tool.other]\nx = 1\n[project]\ndependencies = ['pkadvisor']\n")
    try:
        assert discover(design) is None
        (repository / "pyproject.toml").write_text("[tool.pkadvisor]\n")
        assert discover(design) == Path("pyproject.toml")
        (repository / "pkadvisor.toml").write_text("")
        assert discover(design) == Path("pkadvisor.toml")
        (repository / "schema" / "pyproject.toml").write_text("[tool.pkadvisor]\n")
        assert discover(design) == Path("pkadvisor.toml")
        (repository / "schema" / "pkadvisor.toml").write_text("")
        assert discover(design) == Path("schema/pkadvisor.toml")
        assert discover() == Path("pkadvisor.toml")
        monkeypatch.chdir(repository / "schema")
        assert discover() == Path("pkadvisor.toml")
        (repository / "schema" / "pkadvisor.toml").unlink()
        assert discover() == Path("../pkadvisor.toml")
    finally:
        (repository.parent / "pkadvisor.toml").unlink()


def test_outside_of_a_repository_only_the_folder_itself_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pkadvisor.toml").write_text("")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert discover() is None
    monkeypatch.chdir(tmp_path)
    assert discover("below/design.yaml") == Path("pkadvisor.toml")


def test_everything_that_a_file_can_hold_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "pkadvisor.toml").write_text(FULL)
    monkeypatch.chdir(repository / "schema")
    found = read_settings(Path("../pkadvisor.toml"))
    assert found.designs == ("*.yaml",)
    assert found.design_files() == ("orders.yaml",)
    assert (found.profile, found.baseline) == (("../profile.json",), "../.pkadvisor-baseline.json")
    assert (found.fail_on, found.rules) == ("warning", ("rules",))
    limits = load_limits(*found.limits)
    assert limits.partition_entities_per_s == 1500
    assert (limits.of("price_per_gb_month").source, limits.price_per_gb_month) == ("invoice", 0.05)
    assert limits.of("partition_entities_per_s").source == "pkadvisor.toml"
    assert found.budgets_with(["throttled=1%"]) == ("cost_month=500.0", "throttled=1%")
    assert (found.select, found.ignore, found.severity) == (("PK2", "PK301"), ("PK203",), (("PK201", "warning"),))
    (entry,) = found.suppress
    assert (entry.rule, entry.path, entry.target) == ("PK201", "*.yaml", "tables.Orders")
    assert (entry.reason, entry.until, entry.where) == ("twice a year", "2027-03-31", "../pkadvisor.toml:21")


def test_a_pyproject_says_the_same_as_a_file_of_its_own(repository: Path) -> None:
    (repository / "pkadvisor.toml").write_text(FULL)
    section = FULL.replace("[[review", "[[tool.pkadvisor.review")
    section = re.sub(r"^\[(?=\w)", "[tool.pkadvisor.", section, flags=re.MULTILINE)
    (repository / "pyproject.toml").write_text("[tool.pkadvisor]\n" + section)
    own, other = (read_settings(Path(name)) for name in ("pkadvisor.toml", "pyproject.toml"))
    for key in ("designs", "profile", "fail_on", "baseline", "rules", "budget", "select", "ignore", "severity"):
        assert getattr(own, key) == getattr(other, key) != ()
    assert load_limits(*own.limits).partition_entities_per_s == load_limits(*other.limits).partition_entities_per_s
    assert other.where("budget") == "pyproject.toml:13"
    (repository / "pyproject.toml").write_text('[tool.pkadvisor]\n[tool.pkadvisor.review]\nselekt = ["PK1"]\n')
    with pytest.raises(UsageError) as caught:
        read_settings(Path("pyproject.toml"))
    assert caught.value.where == "pyproject.toml:3:1"


# (text, line and column, part of the message, part of the advice)
WRONG: list[tuple[str, str, str, str]] = [
    ('desings = ["a"]', "1:1", "unknown key 'desings'", "did you mean 'designs'?"),
    ('select = ["PK1"]', "1:1", "unknown key 'select'", "under [review]"),
    ("schema = 2", "1:1", "schema", "write schema = 1"),
    ("schema = true", "1:1", "schema", "write schema = 1"),
    ("designs = 3", "1:11", "text or a list of texts, not a number", ""),
    ("designs = ['a',\n  3]", "2:3", "designs must be text, not a number", ""),
    ("designs = ['']", "1:12", "not a path", ""),
    ("profile = {a = 1}", "1:11", "not a table", ""),
    ("fail_on = 'eror'", "1:11", "'eror' is none of them", "did you mean 'error'?"),
    ("fail_on = true", "1:11", "must be text, not true or false", ""),
    ("baseline = ['a']", "1:12", "baseline must be text", ""),
    ("[limits]\npartition_entitys_per_s = 1", "2:1", "unknown limit", "did you mean 'partition_entities_per_s'?"),
    ("[limits]\npage_entities = '3'", "2:1", "must be a number", ""),
    ("[limits.page_entities]\nvalue = 0", "2:1", "page_entities", "correct"),
    ("[budget]\ncost_moth = 3", "2:1", "no 'cost_moth' to bound", "did you mean 'cost_month'?"),
    ("[budget]\ncost_month = -3", "2:14", "not a bound", "number from 0"),
    ("[budget]\ncost_month = nan", "2:14", "not a bound", ""),
    ("[budget]\ncost_month = 'x'", "2:14", "not a bound", ""),
    ("budget = 3", "1:10", "a table, not a number", ""),
    ("[review]\nignor = []", "2:1", "unknown key 'ignor'", "did you mean 'ignore'?"),
    ("review.ignore = 'PK1'", "1:17", "a list of rules, not text", ""),
    ("[review.severity]\nPK1 = 'fatal'", "2:7", "'fatal' is none of them", "error, warning, info"),
    ("[[review.suppress]]\nrule = 'PK201'", "1:10", "has no reason", "says why"),
    ("[[review.suppress]]\nrule = 'PK201'\nreason = ' '", "3:1", "has no reason", ""),
    ("[[review.suppress]]\nreason = 'x'", "1:10", "has no rule", ""),
    ("[[review.suppress]]\nrule = 'PK201'\nreason = 'x'\nuntil = 'soon'", "4:9", "not a date", "2027-03-31"),
    ("[[review.suppress]]\nrule = 'PK201'\nreason = 'x'\nexpires = 2027-01-01", "4:1", "unknown key", "rule, path"),
    ("[review]\nsuppress = ['PK101']", "2:1", "must be sections", "[[review.suppress]]"),
]


@pytest.mark.parametrize(("text", "place", "what", "fix"), WRONG, ids=[w[0].replace("\n", " ") for w in WRONG])
def test_a_mistake_is_told_with_its_place_and_editors_see_it_too(
    text: str, place: str, what: str, fix: str, repository: Path, ask: Ask
) -> None:
    (repository / "pkadvisor.toml").write_text(text)
    code, out, err = ask("review", "schema/orders.yaml")
    assert (code, out) == (2, "")
    assert f"pkadvisor.toml:{place}: " in err
    assert what in err
    assert fix in err
    content = tomllib.loads(text)
    if "nan" not in text:
        assert not Draft202012Validator(SCHEMA).is_valid(json.loads(json.dumps(content, default=str)))


def test_the_schema_for_editors_accepts_what_is_read(repository: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for text in (FULL, "", "profile = ['a', 'b']\nlimits = 'l.toml'", "limits = ['a.toml']\nbudget = {p99_ms = 0.5}"):
        (repository / "pkadvisor.toml").write_text(text)
        read_settings(Path("pkadvisor.toml"))
        content = json.loads(json.dumps(tomllib.loads(text), default=str))
        assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(content)] == []


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ("select = ['PK2', 'PK777']", "2:18"),
        ("ignore = ['no-such-rule']", "2:11"),
        ("severity = {PK2O1 = 'info'}", "2:21"),
        ("[[review.suppress]]\nrule = 'PK778'\nreason = 'x'", "3:8"),
    ],
)
def test_a_rule_that_does_not_exist_is_told_with_its_place(
    section: str, place: str, repository: Path, ask: Ask
) -> None:
    (repository / "pkadvisor.toml").write_text(f"[review]\n{section}")
    code, _, err = ask("review", "schema/orders.yaml")
    assert code == 2
    assert f"pkadvisor.toml:{place}: there is no rule" in err


def test_option_wins_over_variable_over_file_over_default(
    repository: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def threshold(*more: str) -> Any:
        return json.loads(ask("review", "schema/orders.yaml", "--format", "json", *more)[1])["gate"]["fail_on"]

    assert threshold() == "error"
    (repository / "pkadvisor.toml").write_text("fail_on = 'warning'\n")
    assert threshold() == "warning"
    assert threshold("--isolated") == "error"
    monkeypatch.setenv("PKADVISOR_FAIL_ON", "info")
    assert threshold() == "info"
    assert threshold("--fail-on", "never") == "never"
    monkeypatch.delenv("PKADVISOR_FAIL_ON")
    (repository / "other.toml").write_text("fail_on = 'never'")
    monkeypatch.setenv("PKADVISOR_CONFIG", "other.toml")
    assert threshold() == "never"
    assert threshold("--config", "pkadvisor.toml") == "warning"


def test_a_review_without_designs_takes_those_of_the_project(repository: Path, ask: Ask) -> None:
    assert "name a design file" in ask("review")[2]
    (repository / "pkadvisor.toml").write_text("designs = ['schema/*.yaml']\n[review]\nseverity = {PK201 = 'info'}\n")
    code, out, _ = ask("review", "--format", "json")
    (design,) = json.loads(out)["designs"]
    assert (code, design["design"]) == (0, "schema/orders.yaml")
    assert [f["severity"] for f in design["findings"] if f["rule"] == "PK201"] == ["info"]
    (repository / "pkadvisor.toml").write_text("designs = ['schema/*.yml']")
    code, _, err = ask("review")
    assert code == 2
    assert "pkadvisor.toml:1:12: no file matches 'schema/*.yml'" in err


def test_config_show_tells_each_value_and_its_origin(
    repository: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "pkadvisor.toml").write_text(FULL)
    monkeypatch.setenv("PKADVISOR_FAIL_ON", "info")
    code, out, _ = ask("config", "show", "--format", "json")
    document = json.loads(out)
    rows = {row["key"]: (row["value"], row["origin"]) for row in document["settings"]}
    assert (code, document["file"]) == (0, "pkadvisor.toml")
    assert rows["fail_on"] == ("info", "PKADVISOR_FAIL_ON")
    assert rows["designs"] == (["schema/*.yaml"], "pkadvisor.toml:2")
    assert rows["review.severity"] == ({"PK201": "warning"}, "pkadvisor.toml:19")
    assert rows["limits"][0]["partition_entities_per_s"] == 1500
    assert rows["review.suppress"][0][0]["until"] == "2027-03-31"
    assert rows["seed"] == (0, "default")
    text = ask("config", "show")[1]
    assert "settings: pkadvisor.toml" in text
    assert re.search(r"^fail_on +info +\(PKADVISOR_FAIL_ON\)$", text, re.MULTILINE)
    assert all(
        origin == "default"
        for row in json.loads(ask("config", "show", "--isolated", "--format", "json")[1])["settings"]
        if (origin := row["origin"]) and row["key"] not in ("fail_on", "isolated")
    )


def test_files_that_cannot_be_settings(repository: Path, ask: Ask) -> None:
    for words, what in (
        (("--config", "none.toml"), "cannot read the settings: No such file"),
        (("--config", "schema"), "cannot read the settings"),
        (("--config", "schema/orders.yaml"), "is not TOML"),
        (("--config", "x.toml", "--isolated"), "exclude each other"),
    ):
        code, _, err = ask("config", "show", *words)
        assert (code, what in err) == (2, True), err
    (repository / "pyproject.toml").write_text("[tool.other]\n")
    assert "no section for pkadvisor" in ask("config", "show", "--config", "pyproject.toml")[2]


@pytest.mark.long("proofs")
def test_limits_and_budgets_of_a_project_hold_in_a_score(repository: Path, ask: Ask) -> None:
    line = ("score", "--sample", "footrace", "--sample-rows", "300", "--format", "json")
    before = json.loads(ask(*line)[1])["tables"][0]["schemes"][0]["scheme"]
    (repository / "pkadvisor.toml").write_text("[limits]\nprice_per_10k_transactions = 9\n[budget]\ncost_month = 0\n")
    code, out, _ = ask(*line)
    after = json.loads(out)["tables"][0]["schemes"][0]["scheme"]
    assert code == 1
    assert len(after["violations"]) == len(before["violations"]) + 1
    for more in (("--isolated",), ("--budget", "cost_month=1e12")):
        _, out, _ = ask(*line, *more)
        found = json.loads(out)["tables"][0]["schemes"][0]["scheme"]["violations"]
        assert found == before["violations"]
