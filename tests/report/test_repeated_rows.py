"""Rows that repeat another in every property: the advice asks whether they are copies before it numbers entities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from pkadvisor.documents.schema_errors import typed
from pkadvisor.report.summary import sentences

DESIGN = {
    "partition_key": "points",
    "row_key": "{tx}",
    "properties": {"member": "string", "tx": "string", "points": "int32"},
    "queries": [{"name": "statement", "filter": "member eq '{member}'", "rate": "30/s", "draw": "entities"}],
    "writes": [{"name": "earn", "operation": "insert", "rate": "1/min"}],
}


@pytest.mark.parametrize(("changed", "asked"), [((), True), ((3,), False)])
def test_repeated_rows_are_asked_for_before_entities_are_numbered(
    changed: tuple[int, ...], asked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of 400 rows are repeated; where one of them differs in a property, the keys need a number in any case."""
    rows = [{"member": f"m{n % 40}", "tx": f"t{n:05}", "points": n % 7} for n in range(400)]
    again = [row | ({"points": 99} if n in changed else {}) for n, row in enumerate(rows[:5])]
    data, design = tmp_path / "points.jsonl", tmp_path / "design.yaml"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows + again), encoding="utf-8")
    design.write_text(json.dumps({"schema": 1, "tables": {"Points": DESIGN}}), encoding="utf-8")
    main(["analyze", str(data), "--design", str(design), "--format", "json", "-q"])
    result = json.loads(capsys.readouterr().out)
    (table,) = result["tables"]
    assert "{seq(" in table["recommended"]["row_key"]
    questions = [text for text in table["cannot_be_known"] if "alike in every property" in text]
    assert [text.partition(": ")[2].partition(";")[0] for text in questions] == (
        ["5 of the 405 rows looked at repeat another"] if asked else []
    )
    checks = [text for label, text in sentences.cautions(typed(result).tables[0], logged=False) if label == "Check"]
    question = "can two entities be alike in every property? 5 of the 405 rows looked at repeat another"
    assert [text.startswith(question) for text in checks] == [asked]
