"""The time that ``init`` takes for that of arrival: one that lies ahead, such as a due time or an expiry, is none."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pkadvisor.cli.main import main

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def arrival(folder: Path, *, ahead_h: int, name: str, log: bool = True) -> str:
    """What ``init`` writes of jobs whose keys tell a time up to so many hours ahead of their insert, and whose property
    of this name tells one that is as far ahead of the last insert."""
    rows, lines = ["PartitionKey,RowKey,note" + (f",{name}" if name else "")], []
    for n in range(80):
        at = BEGIN + timedelta(seconds=n)
        told = at + timedelta(hours=ahead_h) * (n * 37 % 80) / 80
        key = f"b{n % 4}", f"{told:%Y%m%d%H%M%S}_{n:03}" if not name else f"j{n:03}"
        other = BEGIN + timedelta(minutes=2, hours=ahead_h) if ahead_h else BEGIN - timedelta(minutes=n)
        rows.append(f"{key[0]},{key[1]},x{n % 5}" + (f",{other:%FT%TZ}" if name else ""))
        lines.append({"table": "Jobs", "op": "insert", "pk": key[0], "rk": key[1], "at": f"{at:%FT%TZ}"})
    (folder / "jobs.csv").write_text("\n".join(rows) + "\n")
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = ["init", "d", "--from", "jobs.csv", "--yes", "-q", *(["--log", "log.jsonl"] if log else [])]
    assert main(given) == 0
    found = re.search(r"^ +arrival: (\w+)", Path("d/design.yaml").read_text(), re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize(("ahead_h", "name", "log", "expected"), [
    (0, "", True, "r1"),
    (24, "", True, ""),
    (0, "at", True, "at"),
    (24, "at", True, ""),
    (24, "at", False, "at"),  # nothing tells when the data was exported
    (0, "expiresAt", False, ""),
    (0, "updatedAt", True, ""),  # each change writes it again
])  # fmt: skip
def test_a_time_that_lies_ahead_or_is_written_again_is_none_of_arrival(
    ahead_h: int, name: str, log: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert arrival(tmp_path, ahead_h=ahead_h, name=name, log=log) == expected


def growth(folder: Path, column: str, months: list[int], op: str) -> str:
    """What ``init`` writes of growth for entities of so many a month, and a log with such writes."""
    lines = [f"PartitionKey,RowKey,{column},note"]
    for month, count in enumerate(months, 1):
        lines += [f"p{n % 7},r{month:02}{n:05},2026-{month:02}-11T08:00:{n % 60:02}Z,x" for n in range(count)]
    (folder / "jobs.csv").write_text("\n".join(lines) + "\n")
    keys = ((n, f"p{n % 7}", f"r02{n:05}") for n in range(70))
    asked = (
        {"table": "Jobs", "op": op, "pk": pk, "rk": rk, "at": f"2026-08-01T00:00:{n % 60:02}Z"} for n, pk, rk in keys
    )
    (folder / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    assert main(["init", "d", "--from", "jobs.csv", "--log", "log.jsonl", "--yes", "-q"]) == 0
    told = re.search(r"^ +(# )?growth: \{rate: ([^,]+),.*", Path("d/design.yaml").read_text(), re.MULTILINE)
    assert told is not None
    return told[2] if told[1] is None else ""


@pytest.mark.parametrize(("column", "months", "op", "expected"), [
    ("createdAt", [9, 1400, 1705, 1815, 9], "merge", "10.0 %/month"),
    ("Timestamp", [9, 1400, 1705, 1815, 9], "insert", "10.0 %/month"),
    ("createdAt", [9, 1400, 1550, 1500, 9], "insert", ""),  # 50 a day: months differ by their days
    ("createdAt", [9, 100, 110, 121, 9], "insert", ""),  # chance
    ("createdAt", [9, 1400, 3100, 900, 1550, 3000, 1240, 9], "insert", ""),  # seasons
    ("Timestamp", [9, 1400, 1705, 1815, 9], "merge", ""),  # each change writes it again
    ("Timestamp", [9, 1400, 1705, 1815, 9], "upsert", ""),
    ("createdAt", [9, 20, 200, 400, 9], "insert", ""),  # too few to tell
    ("createdAt", [9, 100, 200, 400, 9], "insert", ""),  # too steep to go on for a year
])  # fmt: skip
def test_growth_is_that_of_entities_that_come_and_not_of_their_changes(
    column: str, months: list[int], op: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert growth(tmp_path, column, months, op) == expected
