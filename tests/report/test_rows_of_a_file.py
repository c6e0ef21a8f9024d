"""What a file shows where nobody says that it is the whole table: counts of its rows, and keys that tell them apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main

ROWS = 200
DESIGN: dict[str, Any] = {
    "properties": {"member": "string", "visit": "string"},
    "queries": [
        {"name": "of-member", "filter": "member eq '{member}'", "rate": "30/s", "draw": "entities"},
        {"name": "one", "filter": "visit eq '{visit}'", "rate": "9/s", "draw": "entities"},
    ],
}
OF_FILE = f"counted on this file ({ROWS} rows)"


@pytest.mark.parametrize(
    ("said", "asked", "confidence"),
    [
        ({}, f"unique in {ROWS} rows of this file: is (member, visit) unique in the table?", OF_FILE),
        (
            {"entities_total": 9000, "sampling": "random-rows"},
            f"unique in {ROWS} sampled rows: is (member, visit) unique in the table?",
            "",
        ),
        ({"sampling": "complete"}, None, "every row was counted"),
    ],
)
def test_what_a_file_shows_is_not_told_of_its_table(
    said: dict[str, Any], asked: str | None, confidence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, design = tmp_path / "visits.jsonl", tmp_path / "design.yaml"
    data.write_text("".join(json.dumps({"member": f"m{n % 9}", "visit": f"v{n:04}"}) + "\n" for n in range(ROWS)))
    design.write_text(json.dumps({"schema": 1, "tables": {"Visits": DESIGN | said}}))
    main(["analyze", str(data), "--design", str(design), "--format", "json", "-q"])
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    first = table["cannot_be_known"][0]
    assert first.startswith("unique in") == (asked is not None)
    assert asked is None or first.startswith(asked)
    assert table["confidence"]["note"] == confidence
    assert not (said == {} and table["confidence"]["sure"])


@pytest.mark.parametrize(("said", "note", "sure"), [({}, "of this file", False), ({"sampling": "complete"}, "", True)])
def test_resamples_are_those_of_the_file_where_nobody_says_that_it_is_the_table(
    said: dict[str, Any], note: str, sure: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, log, design = tmp_path / "visits.jsonl", tmp_path / "log.jsonl", tmp_path / "design.yaml"
    data.write_text("".join(json.dumps({"member": f"m{n % 9}", "visit": f"v{n:04}"}) + "\n" for n in range(ROWS)))
    asked = [{"table": "Visits", "at": 60 + n, "filter": f"member eq 'm{n % 9}'"} for n in range(120)]
    log.write_text("".join(json.dumps(line) + "\n" for line in asked))
    design.write_text(json.dumps({"schema": 1, "tables": {"Visits": {"properties": DESIGN["properties"]} | said}}))
    given = ["--log", str(log), "--log-fraction", "50%", "--design", str(design)]
    main(["analyze", str(data), *given, "--format", "json", "-q"])
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    confidence = table["confidence"]
    assert (confidence["basis"], confidence["note"], confidence["sure"]) == ("estimated", note, sure)
