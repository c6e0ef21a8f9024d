"""No recommended key shows a property that is declared secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.keys.scheme import parse_key
from pkadvisor.design.keys.template import shown_by


def analyzed(folder: Path, capsys: pytest.CaptureFixture[str], sensitive: str | None) -> tuple[int, dict[str, Any]]:
    """(exit code, the table of the result) of sessions that are asked for by their token, and kept under it."""
    rows = [{"session": f"s{n:04}", "token": f"t{n * 7919 % 1000:04}", "user": f"u{n % 40}"} for n in range(400)]
    data, path = folder / "sessions.jsonl", folder / "design.yaml"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    token: dict[str, str] = {"type": "string"} | ({"sensitive": sensitive} if sensitive else {})
    table = {
        "partition_key": "{token}",
        "row_key": "{session}",
        "properties": {"session": "string", "token": token, "user": "string"},
        "queries": [
            {"name": "by-token", "filter": "token eq '{token}'", "rate": "30/min", "draw": "entities"},
            {"name": "of-user", "filter": "user eq '{user}'", "rate": "20/s", "draw": "entities"},
        ],
    }
    path.write_text(json.dumps({"schema": 1, "tables": {"Sessions": table}}), encoding="utf-8")
    code = main(["analyze", str(data), "--design", str(path), "--format", "json", "-q"])
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    return code, found


@pytest.mark.parametrize(
    ("part", "shows"),
    [
        ("{token}", "value"),
        ("{reverse(token)}", "value"),
        ("{prefix(token,2)}", "group"),
        ("{prefix(token,8)}", "value"),
        ("{hash(token,16)}", "group"),
        ("{hash_prefix(token,16)}", "hash"),
        ("{time(at,'yyyyMM')}", "group"),
        ("{time(at,'yyyyMMdd')}", "value"),
    ],
)
def test_what_a_part_of_a_key_shows(part: str, shows: str) -> None:
    (parsed,) = parse_key(part, "", known=("token", "at")).partition
    assert shown_by(parsed) == shows


@pytest.mark.parametrize("sensitive", [None, "personal", "secret"])
def test_a_secret_is_in_no_recommended_key_but_as_a_hash(
    sensitive: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, table = analyzed(tmp_path, capsys, sensitive)
    best = table["recommended"]
    templates = [best["partition_key"], best["row_key"]]
    templates += [row[name] for row in best["index_rows"] for name in ("partition_key", "row_key")]
    assert code == 0
    assert any("{token}" in text for text in templates) == (sensitive != "secret")
    shown = [v["message"] for v in table["current"]["violations"] if v["code"] == "secret-shown"]
    assert bool(shown) == (sensitive == "secret")
    assert all("shows token, declared secret" in text for text in shown)
