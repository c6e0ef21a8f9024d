"""Designs that cannot be read, through the command: at most four lines on standard error, JSON, exit code 2."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.observe.design_file.declaration_yaml import Document

GOOD = """\
schema: 1
tables:
  Orders:
    partition_key: "{tenantId}"
    row_key: "{orderId}"
    queries:
      - {name: one, filter: "tenantId eq '{tenantId}' and orderId eq '{orderId}'", rate: 5/s}
"""
LAUGHS = 'a: &a ["x","x","x","x","x","x","x","x","x"]\n' + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)

BAD: dict[str, tuple[str | bytes, str]] = {
    "tab": ("schema: 1\ntables:\n\tX: {}\n", "bad.yaml:3:1: is not YAML"),
    "unclosed": ('schema: 1\ntables:\n  Abc: {partition_key: "a\n', "is not YAML"),
    "unknown-key": (GOOD.replace("partition_key", "partion_key"), "bad.yaml:4:5: unknown key 'partion_key'"),
    "key-twice": ("schema: 1\ntables:\n  Abc: {}\n  Abc: {}\n", "bad.yaml:4:3: the key 'Abc' appears twice"),
    "table-twice": ("schema: 1\ntables:\n  Abc: {}\n  ABC: {}\n", "are one table"),
    "name-twice": (GOOD + "      - {name: one, filter: \"a eq 'b'\", rate: 5/s}\n", "bad.yaml:8:16: the name 'one'"),
    "huge": (b"# x\n" * 600_000, "is larger than 2 MB"),
    "many-values": ("x: [" + "1," * 900_000 + "1]", "or 5,000 in one list"),
    "many-aliases": ("a: &a 1\nb: [" + "*a," * 600_000 + "1]", "or 5,000 in one list"),
    "cyclic": ("schema: 1\ntables: &a\n  Abc: *a\n", "an alias inside its own anchor"),
    "billion-laughs": (LAUGHS, "150,000 values once its aliases are expanded"),
    "deep-flow": ("[" * 900_000, "nests more than 64 levels"),
    "deep-block": ("".join(" " * i + "a:\n" for i in range(900)), "nests more than 64 levels"),
    "long-key": (GOOD.replace("{orderId}", "{orderId}" * 190_000, 1), "a key of 1,710,000 characters"),
    "latin-1": ("# é\n".encode("latin-1") + GOOD.encode(), "is not UTF-8 (byte 2)"),
    "utf-16": (GOOD.encode("utf-16"), "is not UTF-8"),
    "binary": (bytes(range(256)) * 20, "is not UTF-8"),
    "nul": (GOOD + "\0", "a character YAML does not allow (U+0000)"),
    "empty": ("", "the design file is empty"),
    "comment-only": ("# nothing\n", "the design file is empty"),
    "csv": ("PartitionKey,RowKey\na,b\n", "must be a mapping"),
    "several-documents": (GOOD + "---\n" + GOOD, "holds more than one YAML document"),
    "profile": ('{"document":"pkadvisor profile","schema_version":2,"tables":[]}', "this is a profile of pkadvisor"),
    "tag": ("schema: 1\ntables: !!python/object:os.system {}\n", "is not allowed here"),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, list[str]]:
    code = main(["review", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err.splitlines()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_design_is_told_in_four_lines_at_most(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, what = BAD[name]
    Path("bad.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, "bad.yaml", "--format", "json", "--quiet")
    assert code == 2
    error = json.loads(out)["designs"][0]["error"]
    assert what in f"{error['where']}: {error['what']}" and error["exit_code"] == 2
    assert 1 <= len(err) <= 4 and err[0] == f"error: {error['where']}: {error['what']}"
    assert all(len(line) <= 300 for line in err)


def test_a_hostile_file_is_given_up_while_it_is_read() -> None:
    """The bound stops the parser itself: what stands behind it is never looked at, not even for its syntax."""
    for text in ("x: [" + "1," * 30_000 + "}", "[" * 100 + "}"):
        with pytest.raises(Exception, match="more than"):
            Document("x.yaml", text)


def test_one_broken_design_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("schema: 1\n")
    Path("b.yaml").write_text(GOOD.replace("tenantId eq '{tenantId}' and orderId", "code"))
    Path("c.yaml").mkdir()
    code, out, err = run(capsys, "a.yaml", "b.yaml", "c.yaml", "d.yaml", "--format", "json")
    designs = json.loads(out)["designs"]
    assert code == 2
    assert [d["design"] for d in designs] == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    assert [d["error"] is None for d in designs] == [False, True, False, False]
    assert "PK201" in {f["rule"] for f in designs[1]["findings"]}
    assert [line.split(": ", 2)[1] for line in err if line.startswith("error: ")] == ["a.yaml:1:1", "c.yaml", "d.yaml"]
    assert "did you mean" in err[-2]
    assert err[-1].startswith("NOT REVIEWED: 3 designs")
    assert run(capsys, "b.yaml")[0] == 1


def test_globs_name_designs_once_and_must_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema").mkdir()
    for name in ("b", "a", "c[1]"):
        Path(f"schema/{name}.yaml").write_text(GOOD)
    code, out, _ = run(capsys, "schema/c[1].yaml", "schema/*.yaml", "--format", "json")
    names = [d["design"] for d in json.loads(out)["designs"]]
    assert (code, names) == (0, ["schema/c[1].yaml", "schema/a.yaml", "schema/b.yaml"])
    for pattern, what in (("nothing*.yaml", "no file matches"), ("", "an empty file name")):
        code, out, err = run(capsys, "schema/a.yaml", pattern)
        assert (code, out) == (2, "") and what in err[0]


def test_standard_input_is_a_design_with_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def given(content: bytes, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        document: dict[str, Any] = json.loads(run(capsys, "-", *arguments, "--format", "json")[1])
        return document

    bad = GOOD.replace("tenantId eq '{tenantId}' and orderId", "code")
    design = given(bad.encode(), "--stdin-name", "schema/orders.yaml")["designs"][0]
    assert design["design"] == "schema/orders.yaml"
    assert next(f for f in design["findings"] if f["rule"] == "PK201")["place"]["line"] == 7
    assert "is larger than 2 MB" in given(b"#" * 3_000_000)["designs"][0]["error"]["what"]
    assert "not UTF-8" in given(b"\xff")["designs"][0]["error"]["what"]


def test_a_design_in_json_is_a_design(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    query = {"name": "by-code", "filter": "code eq 'x'", "rate": "5/s"}
    table = {"partition_key": "{tenantId}", "row_key": "{orderId}", "queries": [query]}
    Path("d.json").write_text(json.dumps({"schema": 1, "tables": {"Orders": table}}, indent=1))
    code, out, _ = run(capsys, "d.json", "--format", "json")
    found = [f for f in json.loads(out)["designs"][0]["findings"] if f["rule"] == "PK201"]
    assert code == 1 and found[0]["place"]["excerpt"].strip().startswith('"filter"')


def test_a_design_given_as_a_profile_is_unusable_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.yaml").write_text(GOOD)
    code, out, err = run(capsys, "d.yaml", "--profile", "d.yaml")
    assert (code, out) == (3, "") and "this is not a profile" in err[0] and len(err) <= 4
