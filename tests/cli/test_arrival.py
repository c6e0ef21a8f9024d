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
        other = BEGIN + timedelta(minutes=2, hours=ahead_h) if ahead_h else BEGIN - timedelta(hours=n)
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
