"""Windows of time by a rate of inserts that is not the density of the data, and the grounds that each command shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from tests.design.evidence.test_grounds import STEP_S, Table, design, ground, judged, query
from tests.tiers import sizes

OFTEN = [{"name": "add", "operation": "insert", "rate": "600/h"}]
"""Ten times as many inserts as the data has entities."""


def of(table: Table, name: str = "last-hour") -> Table:
    """What the result says of a query."""
    return next(q for q in table["workload"] if q["name"] == name)


def of_recommended(table: Table, name: str = "last-hour") -> Table:
    return next(c for c in table["recommended"]["classes"] if c["name"] == name)


def test_windows_hold_rate_by_length_by_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, table = judged(tmp_path, capsys, design(writes=OFTEN))
    # The one that is asked for, once, and ten times the seven others that a device has in an hour.
    assert of(table)["window_by_rate"]["entities_returned"] == pytest.approx(1 + 10 * 7, rel=0.02)
    (note,) = of_recommended(table)["notes"]
    assert "at 10/min inserted such a window holds" in note and "times the" in note
    terms = {t["name"]: t for t in table["recommended"]["terms"]}
    assert {terms[n]["basis"] for n in ("entities counted", "entities read", "break factor")} == {"unknown"}
    assert terms["requests"]["basis"] != "unknown"
    assert (table["verdict"], table["confidence"]["sure"]) == ("not_enough", False)


def test_windows_longer_than_the_data_hold_what_comes_in_their_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = "device eq '{device}' and at ge datetime'{at-10d}' and at le datetime'{at}'"
    _, table = judged(tmp_path, capsys, design(queries=query("last-hour", filter=days)))
    of_a_device = 10 * 86_400 / STEP_S / 8
    assert of(table)["window_by_rate"]["entities_returned"] == pytest.approx(of_a_device, rel=0.05)


def test_what_further_inserts_bring_under_further_values_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "orders.jsonl"
    lines = ({"order": n // 2, "at": f"2026-03-02T{n // 60:02}:{n % 60:02}:00Z", "id": f"e{n:04}"} for n in range(400))
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = {
        "name": "of-order",
        "filter": "order eq {order} and at ge datetime'{at-1h}' and at le datetime'{at}'",
        "rate": "10/s",
        "draw": "entities",
    }
    table = {"partition_key": "{pad(order,6)}", "row_key": "{id}", "arrival": "at", "queries": [asked], "writes": OFTEN}
    path = tmp_path / "design.yaml"
    path.write_text(json.dumps({"schema": 1, "tables": {"Orders": table}}), encoding="utf-8")
    main(["analyze", str(data), "--design", str(path), "--format", "json", "-q"])
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    assert of(found, "of-order")["window_by_rate"] == {"entities_returned": None}
    assert "further inserts have further values of order" in " ".join(of_recommended(found, "of-order")["notes"])


def test_of_uneven_data_nobody_knows_which_density_is_that_of_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the entities came in the last eighth of the time: windows are scaled by neither density."""
    data, path = tmp_path / "things.jsonl", tmp_path / "design.yaml"
    minutes = [*range(0, 1400, 14), *range(1400, 1600, 2)]
    lines = (
        {"device": f"d{n % 4}", "at": f"2026-03-{2 + m // 1440:02}T{m // 60 % 24:02}:{m % 60:02}:00Z", "id": f"e{n:04}"}
        for n, m in enumerate(minutes)
    )
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    path.write_text(json.dumps({"schema": 1, "tables": {"Things": design(writes=OFTEN)}}), encoding="utf-8")
    main(["analyze", str(data), "--design", str(path), "--format", "json", "-q"])
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    assert of(found)["window_by_rate"] == {"entities_returned": None}
    assert "is not known, for they came unevenly" in " ".join(of_recommended(found)["notes"])


@pytest.mark.parametrize("rate", sizes(["50/h"], ["60/h", "50/h", "100/h"], "proofs"))
def test_windows_are_as_counted_where_rate_and_data_agree(
    rate: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writes = [{"name": "add", "operation": "insert", "rate": rate}]
    _, table = judged(tmp_path, capsys, design(writes=writes))
    assert [q["window_by_rate"] for q in table["workload"]] == [None] * len(table["workload"])
    assert of_recommended(table)["notes"] == []
    assert "unknown" not in {t["basis"] for t in table["recommended"]["terms"]}


@pytest.mark.parametrize("command", ["score", "compare", "review"])
def test_each_command_shows_what_its_figures_rest_on(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, table = judged(tmp_path, capsys, design(writes=OFTEN))
    data, path = (str(tmp_path / name) for name in ("things.jsonl", "design.yaml"))
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(f"# a design, and no result\n{text}", encoding="utf-8")
    args = {
        "score": ["score", data, "--design", path],
        "compare": ["compare", path, path, data],
        "review": ["review", path, "--data", data],
    }[command]
    page = tmp_path / "page.html"
    main([*args, "--format", "json", "-q", "--out", f"html={page}"])
    document = json.loads(capsys.readouterr().out)
    (found,) = document["designs"][0]["tables"] if command == "review" else document["tables"]
    grounds = [found["grounds"]] if command != "compare" else [found["grounds"]["old"], found["grounds"]["new"]]
    for each in grounds:
        assert [(g["name"], g["carries"]) for g in each] == [(g["name"], g["carries"]) for g in table["grounds"]]
        assert each[1]["sentence"] == ground(table, "density")["sentence"]
    main([*args, "-q", "--details"])
    text = " ".join(capsys.readouterr().out.split())
    assert "! rate of inserts in the data and in the workload: 1/min arrive" in text
    assert f"next: give {ground(table, 'density')['next']}" in text
    assert "is not enough" in page.read_text(encoding="utf-8")
