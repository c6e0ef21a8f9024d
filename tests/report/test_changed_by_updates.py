"""Updates of which nobody says what they change: whether that moves rows is asked, and not taken for settled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.documents.schema_errors import typed
from pkadvisor.report.summary.summary import summarize

ASKED = "whether updates ('touch') change owner or state, which the recommended keys hold: each change moves a row"
QUERIES = [
    {"name": "of-owner", "filter": "owner eq '{owner}' and state eq '{state}'", "rate": "40/s", "draw": "entities"},
    {"name": "one", "filter": "id eq '{id}'", "rate": "40/s", "draw": "entities"},
]


@pytest.mark.parametrize(
    ("more", "asked"),
    [({}, True), ({"sets": ["note"]}, False), ({"operation": "delete"}, False)],
)
def test_what_updates_change_is_asked_where_the_keys_hold_it(
    more: dict[str, Any], asked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, design = tmp_path / "tickets.jsonl", tmp_path / "design.yaml"
    rows = [
        {"id": f"t{n}", "owner": f"o{n % 30}" if n % 10 else None, "state": f"s{n % 7 % 2}", "note": "x"}
        for n in range(1_000)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    touch = {"name": "touch", "operation": "update", "key": ["id"], "rate": "5/s", "draw": "entities"} | more
    keys = {"partition_key": "all", "row_key": "{id}", "sampling": "complete"}
    table = keys | {"queries": QUERIES, "writes": [touch]}
    design.write_text(json.dumps({"schema": 1, "tables": {"Tickets": table}}))
    assert main(["analyze", str(data), "--design", str(design), "--format", "json", "-q"]) == 0
    result = json.loads(capsys.readouterr().out)
    (row,) = result["tables"][0]["gives_up"]  # a full copy is written at every write, where there is one
    assert row.startswith("every write also writes") and "10 % of the entities that lack owner have none" in row
    said = [text for text in result["tables"][0]["cannot_be_known"] if text.startswith("whether updates")]
    assert said == ([f"{ASKED}; declare `sets`"] if asked else [])
    question = ("Check", "does 'touch' change owner or state? Each change moves a row.")
    assert (question in summarize(typed(result)).tables[0].cautions) == asked
