"""``advisor report`` and the pages of the other commands: files, folders, and documents that are not what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.report.html.page import render_html
from tests.cli.support import Ask, stored

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    return stored("footrace", tmp_path / "result.json")


def test_a_page_of_a_stored_result_is_that_of_the_result(ask: Ask, document: dict[str, Any]) -> None:
    code, out, err = ask("report", "result.json", "--out", "html=deep/r.html")
    assert (code, out) == (0, "")
    assert err.startswith("wrote deep/r.html (") and err.count("\n") == 1
    assert Path("deep/r.html").read_bytes() == render_html(document)
    code, out, err = ask("report", "result.json", "-q")
    assert (code, err) == (0, "")
    assert out.encode() == render_html(document)


def test_a_folder_holds_the_page_its_files_and_the_whole_result(ask: Ask, document: dict[str, Any]) -> None:
    for _ in range(2):  # an existing folder is written again
        assert ask("report", "result.json", "--out", "html-dir=report")[0] == 0
    names = sorted(path.name for path in Path("report").iterdir())
    assert {"index.html", "report.css", "report.js", "result.json"} <= set(names)
    assert json.loads(Path("report/result.json").read_bytes()) == document
    page = Path("report/index.html").read_text()
    assert "<style" not in page
    assert "data:image" not in page
    assert page.count('.png"') == len([name for name in names if name.endswith(".png")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema_version="2.0"), "version 2.0"),
        (lambda d: d.update(document="pkadvisor poem"), "is not a result"),
        (lambda d: d["tables"][0].pop("verdict"), "tables.0.verdict is missing"),
        (lambda d: d["tables"][0].update(verdict="perhaps"), "tables.0.verdict"),
        (lambda d: d["tables"][0]["recommended"].update(score="high"), "score is not a number"),
        (lambda d: d["tables"][0]["recommended"].update(classes={}), "classes is not a list"),
        (lambda d: d.update(tables=None), "tables is not a list"),
        (lambda d: d["tables"][0]["confidence"].pop("basis"), "not whole"),
        (lambda d: d["limits"].update(values=[]), "is missing"),
        (lambda d: d["tables"][0]["recommended"]["terms"][0].update(value=10**400), "not whole"),
    ],
)
def test_a_document_of_another_shape_is_refused_in_two_lines(
    ask: Ask, document: dict[str, Any], change: Change, message: str
) -> None:
    change(document)
    Path("result.json").write_text(json.dumps(document))
    code, out, err = ask("report", "result.json", "--out", "html=r.html")
    assert (code, out) == (3, "")
    assert message in err
    assert "result.json" in err
    assert 1 <= len(err.splitlines()) <= 3
    assert not Path("r.html").exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"document": "pkadvisor result", "x": NaN}', "[" * 100_000, "\x00"]
)
def test_what_is_no_json_is_refused(ask: Ask, document: dict[str, Any], content: str) -> None:
    Path("result.json").write_text(content)
    code, _, err = ask("report", "result.json", "--out", "html=r.html")
    assert code == 3
    assert "result.json: is no" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.json", "--out", "html=r.html"), "nowhere.json"),
        (("result.json", "--out", "html=result.json"), "is an input"),
        (("result.json", "--out", "html=r", "--sections", "verdikt"), "did you mean 'verdict'"),
        (("result.json", "--out", "html=r", "--sections", " , "), "no section is named"),
        (("result.json", "--out", "html=r", "--max-size", "much"), "is not a size"),
        (("result.json", "--out", "html=r", "--max-size", "10kB"), "at least 60 kB"),
        (("result.json", "--out", "html-dir=-"), "cannot carry a folder"),
        (("result.json", "--out", "html-dir=result.json"), "is a file"),
        (("result.json", "--format", "html-dir"), "cannot carry a folder"),
        (("result.json", "--out", "pdf=r"), "formats: html, html-dir"),
        (("result.json", "--theme", "pink"), "pink"),
    ],
)
def test_wrong_usage_is_told(ask: Ask, document: dict[str, Any], arguments: tuple[str, ...], message: str) -> None:
    code, out, err = ask("report", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("r").exists()


@pytest.mark.long("proofs")
def test_a_large_document_is_reduced_and_the_page_says_where(ask: Ask, document: dict[str, Any]) -> None:
    table = document["tables"][0]
    entry = table["recommended"]["classes"][0]
    table["recommended"]["classes"] = [{**entry, "name": f"query {number}"} for number in range(3000)]
    table["notes"] = ["x" * 100_000]
    Path("result.json").write_text(json.dumps(document))
    assert ask("report", "result.json", "--out", "html=r.html", "--max-size", "400kB")[0] == 0
    page = Path("r.html").read_text()
    assert len(page.encode()) <= 400_000
    assert "tables[].recommended.classes: at most" in page
    assert "of 3,000 entries" in page
    assert "tables[].notes[]: texts cut to 4,096 characters" in page
    assert "query 2999" not in page
    assert ask("report", "result.json", "--out", "html=small.html", "--max-size", "60kB")[0] == 2
    assert ask("report", "result.json", "--out", "html=whole.html", "--max-size", "100MB")[0] == 0
    assert "query 2999" in Path("whole.html").read_text()


def test_credentials_do_not_get_onto_a_page(ask: Ask, document: dict[str, Any]) -> None:
    document["tables"][0]["notes"] = ["asked with AccountKey=abcdefghijklmnop;"]
    Path("result.json").write_text(json.dumps(document))
    assert ask("report", "result.json", "--out", "html=r.html", "--out", "html-dir=d")[0] == 0
    for path in (Path("r.html"), *Path("d").iterdir()):
        assert b"abcdefghijklmnop" not in path.read_bytes()
    assert "AccountKey=***" in Path("r.html").read_text()


def broken(*_: Any, **__: Any) -> bytes:
    raise KeyError("figure")


def test_a_bug_of_ours_is_not_the_fault_of_the_document(
    ask: Ask, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pkadvisor.cli.commands.report.write_page", broken)
    code, out, err = ask("report", "result.json", "--out", "html=r.html", "--debug")
    assert (code, out) == (4, "")
    assert "this is a bug in pkadvisor: KeyError" in err and "Traceback" in err and "not whole" not in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["tables"][0].pop("notes"), "tables.0.notes is missing"),
        (lambda d: d["tables"][0].update(kind=3), "tables.0.kind is not a string or null"),
        (lambda d: d["tables"][0]["recommended"].pop("score"), "tables.0.recommended.score is missing"),
        (lambda d: d["tables"][0].update(recommended=None), "tables.0.recommended is not an object"),
        (lambda d: d["tables"][0]["recommended"]["terms"][0].update(value=10**400), "terms.0.value is not a number"),
        (lambda d: d["tables"][0].update({"\ud83d": 0}), "a name in it holds half a surrogate pair"),
    ],
)
def test_a_document_that_cannot_be_drawn_is_told_where_it_leaves_its_schema(
    ask: Ask, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, change: Change, message: str
) -> None:
    monkeypatch.setattr("pkadvisor.cli.commands.report.write_page", broken)
    change(document)
    Path("result.json").write_text(json.dumps(document))
    code, out, err = ask("report", "result.json", "--out", "html=r.html")
    assert (code, out) == (3, "")
    assert "result.json: is not whole: " in err and message in err


def test_a_bug_in_the_words_of_a_review_is_one_as_well(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.review.documents import document as review

    path = tmp_path / "review.json"
    path.write_text(json.dumps(review()))
    monkeypatch.setattr("pkadvisor.report.review_words.counts", broken)
    monkeypatch.chdir(tmp_path)
    code, _, err = ask("report", "review.json", "--out", "html=r.html", "--debug")
    assert code == 4 and "this is a bug in pkadvisor: KeyError" in err
    path.write_text(json.dumps(review() | {"gate": None}))
    code, _, err = ask("report", "review.json", "--out", "html=r.html")
    assert code == 3 and "review.json: is not whole: gate is not an object" in err
