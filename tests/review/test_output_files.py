"""Where a review goes: files and streams, several formats at once, the same exit code whatever is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml

from pkadvisor.cli.commands.review_output import in_repository
from pkadvisor.cli.console import without_secrets
from pkadvisor.cli.main import main
from pkadvisor.cli.shared import ReviewFormat
from pkadvisor.observe.workload import Basis
from pkadvisor.report.documents.review_result import hidden_message
from pkadvisor.review.views.findings import FilePlace, Finding, Severity, ShownFact
from tests.review.documents import complaints
from tests.review.test_outputs import SMALL, standard

Ask = Callable[..., tuple[int, str, str]]
PRINTED = [name for name in ReviewFormat if name is not ReviewFormat.html_dir]
"""A folder is no format of standard output."""
GOOD = SMALL.replace("{tenantId}/{year}", "{tenantId}").replace("status eq '{status}'", "tenantId eq '{tenantId}'")


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Runs a review in a folder with a bad, a good and a broken design: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for variable in ("PKADVISOR_FORMAT", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "bad.yaml").write_text(SMALL)
    (tmp_path / "schema" / "good.yaml").write_text(GOOD)
    (tmp_path / "schema" / "broken.yaml").write_text("schema: 1\ntables:\n  A: {partitionkey: x}\n")

    def invoke(*words: str) -> tuple[int, str, str]:
        code = main(["review", "--select", "PK201", "--select", "PK301", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


BAD = "schema/bad.yaml"


def test_every_format_is_written_at_once_and_before_the_gate_fails(ask: Ask, tmp_path: Path) -> None:
    outs = [word for f in ReviewFormat for word in ("--out", f"{f}=made/review.{f}")]
    code, page, told = ask(BAD, *outs)
    assert code == 1
    assert page.splitlines()[0] == "GATE FAILED: 2 errors (fail-on: error)"
    assert page.splitlines()[-1] == "  next: advisor explain PK301   # fix PK301 in schema/bad.yaml:5 first"
    made = {f: (tmp_path / "made" / f"review.{f}").read_text() for f in PRINTED}
    assert told.count("wrote made/review.") == len(made) + 1 == 11
    assert (tmp_path / "made" / "review.html-dir" / "index.html").read_text().count("PK301") > 1
    assert made[ReviewFormat.html].startswith("<!doctype html>")
    document = json.loads(made[ReviewFormat.json])
    assert complaints(document) == []
    assert list(standard().iter_errors(json.loads(made[ReviewFormat.sarif]))) == []
    assert JUnitXml.fromstring(made[ReviewFormat.junit].encode()).failures == 2
    assert [issue["check_name"] for issue in json.loads(made[ReviewFormat.gitlab])] == ["PK301", "PK201"]
    assert made[ReviewFormat.text] == page
    assert made[ReviewFormat.markdown].startswith("<!-- pkadvisor:review -->\n### Partition-key review: FAILED")
    for name in (ReviewFormat.concise, ReviewFormat.github, ReviewFormat.azure):
        assert made[name].count("PK301") == 1


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize(
    ("words", "code"),
    [((BAD,), 1), ((BAD, "--fail-on", "never"), 0), (("schema/good.yaml",), 0), ((BAD, "schema/broken.yaml"), 2)],
)
def test_the_exit_code_does_not_depend_on_the_format(ask: Ask, name: str, words: tuple[str, ...], code: int) -> None:
    found, page, told = ask(*words, "--format", name, "--quiet")
    assert found == code
    assert told.startswith("error: schema/broken.yaml") == (code == 2)
    assert told or code != 2
    assert len(told.splitlines()) <= 4
    assert "\x1b" not in page
    assert ask(*words, "--format", name, "--quiet")[1] == page


def test_concise_lines_have_their_verdict_on_standard_error(ask: Ask) -> None:
    _, page, told = ask(BAD, "--format", "concise")
    found = re.findall(r"^schema/bad\.yaml:(\d+):(\d+): (PK\d+) error ", page, re.M)
    assert [rule for _, _, rule in found] == ["PK301", "PK201"]
    lines = SMALL.split("\n")
    assert lines[int(found[0][0]) - 1][int(found[0][1]) - 1 :] == '"{tenantId}/{year}"'
    assert "name: by-status" in lines[int(found[1][0]) - 1]
    assert told == "GATE FAILED: 2 errors (fail-on: error)\n"
    assert ask("schema/good.yaml", "--format", "concise", "-q") == (0, "", "")


def test_a_design_that_cannot_be_read_is_told_beside_machine_formats(ask: Ask) -> None:
    _, page, told = ask("schema/broken.yaml", "--format", "sarif")
    assert not json.loads(page)["runs"][0]["invocations"][0]["executionSuccessful"]
    assert told.startswith("error: schema/broken.yaml")
    assert "NOT REVIEWED" in told


def test_why_a_design_cannot_be_read_is_told_once_on_a_terminal_and_whole_in_a_file(ask: Ask, tmp_path: Path) -> None:
    assert ask("schema/broken.yaml", "--out", "text=whole.txt", "-q")[1] == "", "the page is in the file"
    _, page, told = ask("schema/broken.yaml", "--out", "text=whole.txt")
    what = told.splitlines()[1].partition(": ")[2]
    assert "schema/broken.yaml cannot be reviewed" in page
    assert what not in page
    assert what in " ".join((tmp_path / "whole.txt").read_text().split())


def test_md_is_markdown_and_standard_output_may_be_named(ask: Ask, tmp_path: Path) -> None:
    code, page, _ = ask(BAD, "--out", "md=-", "--out", "md=pr.md")
    assert code == 1
    assert page == (tmp_path / "pr.md").read_text()
    assert page.startswith("<!-- pkadvisor:review -->")


def test_annotations_go_to_standard_error_beside_another_format(ask: Ask) -> None:
    _, page, told = ask(BAD, "--format", "json", "--annotate", "-q")
    json.loads(page)
    assert [line.split(",")[0] for line in told.splitlines()] == [f"::error file={BAD}"] * 2
    assert ask(BAD, "--format", "github", "--annotate", "-q")[2] == ""


def test_azure_uploads_the_summary_that_was_written(ask: Ask, tmp_path: Path) -> None:
    _, page, _ = ask(BAD, "--format", "azure", "--out", "md=pr.md", "-q")
    assert page.splitlines()[-1] == f"##vso[task.uploadsummary]{tmp_path.resolve() / 'pr.md'}"
    assert (tmp_path / "pr.md").exists()
    assert "uploadsummary" not in ask(BAD, "--format", "azure", "-q")[1]


def test_outputs_are_checked_before_the_work(ask: Ask, tmp_path: Path) -> None:
    for words, said in (
        (("--out", f"sarif={BAD}"), "is an input and is not overwritten"),
        (("--out", "sarf=x"), "did you mean 'sarif'"),
        (("--out", "sarif"), "the ending of 'sarif' names no format"),
        (("--out", "sarif="), "for example: --out sarif=FILE"),
        (("--out", BAD), "the ending of"),
        (("--out", "json=-", "--format", "sarif"), "cannot carry sarif and json"),
        (("--if-changed", "often"), "is not a share"),
    ):
        code, page, told = ask(BAD, *words)
        assert (code, page) == (2, "")
        assert said in told
    assert (tmp_path / BAD).read_text() == SMALL


def test_the_ending_of_a_file_names_its_format(ask: Ask, tmp_path: Path) -> None:
    ask(BAD, "--out", "review.html", "--out", "review.md", "--out", "review.xml", "--out", "review.txt", "-q")
    begins = {path.suffix: path.read_text().lstrip()[:5] for path in tmp_path.glob("review.*")}
    assert (begins[".html"], begins[".xml"], ".txt" in begins) == ("<!doc", "<?xml", True)
    assert ask(BAD, "--format", "markdown", "-q")[1] == (tmp_path / "review.md").read_text()


def test_formats_of_a_review_are_no_formats_of_other_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--sample", "footrace", "--format", "sarif"]) == 2
    told = capsys.readouterr().err
    assert "sarif" in told
    assert "json" in told
    assert main(["analyze", "--sample", "footrace", "--out", "sarif=x"]) == 2
    assert "formats: text, json" in capsys.readouterr().err


def test_paths_are_those_of_the_repository(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path / "schema")
    (tmp_path / "schema" / "link.yaml").symlink_to("bad.yaml")
    for typed in ("bad.yaml", "./bad.yaml", "../schema/bad.yaml", str(tmp_path / BAD), "link.yaml"):
        assert in_repository(typed) == BAD
    _, page, _ = ask("./bad.yaml", "--format", "sarif", "-q")
    uris = re.findall(r'"uri": "([^"]*)"', page)
    assert set(uris) == {BAD}
    assert str(tmp_path) not in page


def test_paths_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert in_repository("a/b.yaml") == "a/b.yaml"
    assert in_repository("../elsewhere/b.yaml") == "b.yaml"


@pytest.mark.parametrize("name", PRINTED)
def test_a_credential_in_a_design_reaches_no_format(ask: Ask, tmp_path: Path, name: str) -> None:
    secret = "Zm9v/YmFy+" * 8
    key = f'"{{tenantId}}/AccountKey={secret}=="'
    (tmp_path / BAD).write_text(SMALL.replace('"{tenantId}/{year}"', key))
    _, page, told = ask(BAD, "--format", name, "--annotate")
    assert "PK301" in page
    for piece in (secret, secret[-20:], "Zm9v"):
        assert piece not in page + told


def test_credentials_are_hidden_in_every_text_of_a_document() -> None:
    found = without_secrets({"a": ["x", {"b": "AccountKey=abc;x"}], "n": 1, "none": None})
    assert found == {"a": ["x", {"b": "AccountKey=***;x"}], "n": 1, "none": None}


def test_values_of_the_data_are_hidden_in_messages_and_the_words_stay() -> None:
    def shown(value: str | tuple[str, ...], *, from_data: bool = True) -> ShownFact:
        return ShownFact("x", value, "", Basis.COUNTED, from_data)

    place = FilePlace(1, 1, 1, 2, "x")
    named = dict(rule="PK1", name="n", design="d", table="t", kind=None, scope="key", subject="s", path="p")  # noqa: C408
    message = "'a' and 'contoso' and 'contoso_0b' are a part of all"
    facts = (shown(("contoso", "contoso_0b")), shown("a"), shown("part", from_data=False))
    found = Finding(severity=Severity.ERROR, message=message, place=place, facts=facts, **named)  # type: ignore[arg-type]
    assert hidden_message(found) == "'(hidden)' and '(hidden)' and '(hidden)' are (hidden) part of all"


def test_hidden_keys_are_hidden_in_every_format(ask: Ask, tmp_path: Path) -> None:
    rows = "".join(f"contoso-secret,{i}\n" for i in range(60)) + "other,1\n"
    (tmp_path / "data.csv").write_text("tenant,id\n" + rows)
    (tmp_path / "schema" / "hot.yaml").write_text(
        'schema: 1\ntables:\n  Orders:\n    partition_key: "{tenant}"\n    row_key: "{id}"\n    queries:\n'
        "      - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 9000/s}\n"
    )
    for name in PRINTED:
        words = ("--data", "data.csv", "--select", "PK1", "--redact", "keys", "--verbose", "--format", str(name))
        code, page, told = ask("schema/hot.yaml", *words)
        assert code == 1
        assert "PK103" in page
        assert "contoso-secret" not in page + told


def test_a_real_comparison_keeps_to_the_schema_and_is_in_every_format(ask: Ask, tmp_path: Path) -> None:
    """The shape of a comparison is that of the code that compares, not only of documents made by hand."""
    old = (
        'schema: 1\ntables:\n  Orders:\n    partition_key: "{tenant}"\n    row_key: "{pad(id,6)}"\n    queries:\n'
        "      - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 900/s}\n"
    )
    (tmp_path / "old.yaml").write_text(old)
    (tmp_path / "new.yaml").write_text(old.replace('"{tenant}"', '"{status}"').replace("900/s", "950/s"))
    rows = "".join(f"t{i % 7},{i},s{i % 3}\n" for i in range(60))
    (tmp_path / "data.csv").write_text(f"tenant,id,status\n{rows}")
    words = ("new.yaml", "--against", "old.yaml", "--data", "data.csv", "--select", "PK8", "--today", "2026-11-21")
    outs = [word for f in ReviewFormat for word in ("--out", f"{f}=out.{f}")]
    code, page, _ = ask(*words, *outs)
    assert code == 1
    document = json.loads((tmp_path / "out.json").read_text())
    assert complaints(document) == []
    assert document["designs"][0]["diff"]["keys"][0]["class"] == "rewrite"
    assert list(standard().iter_errors(json.loads((tmp_path / "out.sarif").read_text()))) == []
    for told in (page, (tmp_path / "out.markdown").read_text()):
        assert "keys changed, entities to rewrite: 60 entities" in told
        assert re.search(r"one\b.*point.*(partition|table).*scan", told)
        assert "peak partition load" in told
        assert "load changed" in told


def test_of_a_file_that_is_not_there_no_line_is_named(tmp_path: Path, ask: Ask) -> None:
    code, page, _ = ask(str(tmp_path / "none.yaml"))
    assert code == 2 and ":1:1" not in page
    assert " ".join(page.split()).endswith("none.yaml, which cannot be read: there is no such file")
