"""An export from before the log: what the log inserts itself is there, though the data lacks it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.evidence.given import FOUND
from pkadvisor.design.rows.logged.known_entities import sampled_share, without_inserted
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Operation, QueryClass, Rate, Workload

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
OLD, NEW = 300, 120


def write(folder: Path, *, inserts: bool, user: str = "u", first: int = OLD) -> None:
    """Sessions of 20 users, and a log in which others are opened, read and changed; the data has other users where
    their names begin otherwise, and the sessions of the log where these count from below its last."""
    rows = [f"{user}{n % 20:02},s{n:05},{n % 7}" for n in range(OLD)]
    (folder / "sessions.csv").write_text("\n".join(["PartitionKey,RowKey,state", *rows]) + "\n")
    lines = []
    for n in range(NEW):
        key = {"table": "Sessions", "pk": f"u{n % 20:02}", "rk": f"s{first + n:05}"}
        for place, op in enumerate(["insert", "query", "merge"][not inserts :]):
            lines.append({**key, "op": op, "at": f"{BEGIN + timedelta(seconds=n, milliseconds=place):%FT%T.%fZ}"})
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("inserts", [True, False])
def test_what_the_log_inserts_is_no_stranger(inserts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, inserts=inserts)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--from", "sessions.csv", "--log", "log.jsonl", "--yes", "-q"]) == 0
    assert "random-rows" not in Path("design.yaml").read_text()  # no key of the log tells a sample
    assert main(["analyze", "-q", "--out", "json=r.json"]) == (0 if inserts else 1)
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    (share,) = [g["measured"] for g in table["grounds"] if g["name"] == "parameters"]
    assert (table["verdict"], share >= FOUND) == (("keep", True) if inserts else ("not_enough", False))
    missing = [note for note in (*table["notes"], *table["warnings"]) if "not in the data" in note]
    assert bool(missing) != inserts


def test_what_the_data_has_under_another_key_is_no_newer_entity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log opens sessions that the data has, of users that it has not: they are of different tables."""
    write(tmp_path, inserts=True, user="w", first=0)
    monkeypatch.chdir(tmp_path)
    types = {"user": "string", "session": "string", "state": "int32"}
    table = {"sampling": "complete", "partition_key": "{user}", "row_key": "{session}", "properties": types}
    Path("design.yaml").write_text(json.dumps({"schema": 1, "tables": {"Sessions": table}}))
    data = Path("sessions.csv").read_text().replace("PartitionKey,RowKey", "user,session")
    Path("sessions.csv").write_text(data)
    given = ["sessions.csv", "--log", "log.jsonl", "--design", "design.yaml"]
    assert main(["analyze", "-q", *given, "--out", "json=r.json"]) == 1
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    (ground,) = [g for g in table["grounds"] if g["name"] == "parameters"]
    assert (table["verdict"], ground["carries"], ground["measured"]) == ("not_enough", False, 0)


def test_a_sample_of_the_inserts_stands_for_all() -> None:
    """Of 10 absent values 3 are among the fourth of the inserts that is at hand: all of them are taken for inserted."""
    add = QueryClass("add", Operation.INSERT, None, Rate(1.0, 1.0))
    frame = pl.DataFrame({"id": [f"n{n}" for n in range(3)]})
    workload = Workload("T", (add,), instances={"add": frame}, minutes={"add": MinuteSeries((0,), (12,))})
    absent = pl.Series("id", [f"n{n}" for n in range(10)])
    assert sampled_share(workload, ["add"]) == pytest.approx(1 / 4)
    assert without_inserted(absent, "id", workload).len() == 0
    few = Workload("T", (add,), instances={"add": frame}, minutes={"add": MinuteSeries((0,), (6,))})
    assert without_inserted(absent, "id", few).to_list() == [f"n{n}" for n in range(3, 7)]
