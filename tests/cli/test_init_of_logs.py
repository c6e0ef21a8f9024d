"""What 'init' writes of data and a log that were made apart: times, ranges, tables by month, keys of another log."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.support import Ask


def drawn(ask: Ask, folder: Path, data: str, lines: list[dict[str, Any]]) -> str:
    """The design of a data file and the lines of a log."""
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ask("init", "--from", data, "--log", "log.jsonl", "--yes")[0] == 0
    return (folder / "design.yaml").read_text()


@pytest.mark.parametrize(("every", "arrives"), [(timedelta(days=180), False), (timedelta(minutes=2), True)])
def test_a_time_at_which_no_entity_of_the_log_comes_is_no_arrival(
    ask: Ask, tmp_path: Path, every: timedelta, arrives: bool
) -> None:
    """Two plants a year were collected, and the log inserts one a minute."""
    rows = [f"s{n},{datetime(2026, 11, 30) - (400 - n) * every:%Y-%m-%dT%H:%M:%S}Z\n" for n in range(400)]
    (tmp_path / "sheets.csv").write_text("sheet,collected\n" + "".join(rows))
    asked = [
        {"table": "sheets", "at": f"2026-12-01T10:{n:02}:00Z", "op": op, "filter": f"sheet eq 's{n}'"}
        for n in range(60)
        for op in ("insert", "query")
    ]
    assert ("\n    arrival: collected" in drawn(ask, tmp_path, "sheets.csv", asked)) == arrives


def test_a_range_of_texts_is_one_that_rows_can_meet(ask: Ask, tmp_path: Path) -> None:
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}{n * n % 97:02}" for n in range(600)]
    (tmp_path / "words.csv").write_text("word,count\n" + "".join(f"{w},{n}\n" for n, w in enumerate(words)))
    asked = [
        {"table": "words", "at": n, "op": "query", "filter": f"word ge '{w}' and word lt '{w[0]}{w[1]}~'"}
        for n, w in enumerate(words[:60])
    ]
    (table,) = YAML(typ="safe", pure=True).load(drawn(ask, tmp_path, "words.csv", asked))["tables"].values()
    assert table["queries"][0]["filter"] == "word ge '{word}' and word lt '{word.or2}'"


def test_tables_by_month_with_the_same_keys_are_said_to_be_one(ask: Ask, tmp_path: Path) -> None:
    for month in ("09", "10", "11"):
        keys = [f"g{n % 7},{n:05},{n}\n" for n in range(60)]
        (tmp_path / f"Scans2026{month}.csv").write_text("PartitionKey,RowKey,weight\n" + "".join(keys))
    others = [f"g{n % 7},x{n},{n}\n" for n in range(60)]
    (tmp_path / "Visits202611.csv").write_text("PartitionKey,RowKey,weight\n" + "".join(others))
    files = [f"Scans2026{month}.csv" for month in ("09", "10", "11")]
    asked = [
        {"table": name, "at": n, "op": "query", "pk": f"g{n % 7}", "rk": f"x{n}" if name[0] == "V" else f"{n:05}"}
        for n in range(40)
        for name in ("Scans202609", "Scans202610", "Scans202611", "Visits202611")
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    assert ask("init", "--from", *files, "Visits202611.csv", "--log", "log.jsonl", "--yes")[0] == 0
    (line,) = [line for line in (tmp_path / "design.yaml").read_text().splitlines() if "by month" in line]
    assert line.startswith("# Scans202609, Scans202610 and Scans202611 have the same keys: they look like one table by")


def test_keys_of_another_log_are_counted_among_those_that_name_both_keys(ask: Ask, tmp_path: Path) -> None:
    rows = [f"p{n % 7},OBS{n:06},{n}\n" for n in range(100)]
    (tmp_path / "data.csv").write_text("PartitionKey,RowKey,seen\n" + "".join(rows))
    asked = [{"table": "data", "at": n, "op": "query", "pk": f"p{n % 7}", "rk": f"{n:x}-{n}"} for n in range(60)]
    asked += [
        {"table": "data", "at": n, "op": "query", "pk": f"p{n % 7}", "filter": f"PartitionKey eq 'p{n % 7}'"}
        for n in range(40)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    code, _, err = ask("analyze", "data.csv", "--log", "log.jsonl")
    assert code == 2
    assert "60 of 60 logged keys of data look otherwise" in err


def test_keys_of_more_inserts_than_are_looked_at_stand_for_all(ask: Ask, tmp_path: Path) -> None:
    """Of 7,000 inserts 5,000 are looked at: a partition of the table has more rows than the keys at hand."""
    lines = [{"table": "Passes", "op": "insert", "pk": f"gate-{n % 7}", "rk": f"{n:06}"} for n in range(7_000)]
    shown = (json.dumps({"at": 1_780_000_000 + n // 10} | line) for n, line in enumerate(lines))
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in shown))
    code, _, error = ask("init", str(tmp_path), "--log", str(tmp_path / "log.jsonl"), "--yes")
    assert code == 0, error
    text = (tmp_path / "design.yaml").read_text()
    assert "entities_total: 7000  # counted" in text and "sampling: random-rows  # 5,000 of the 7,000 inserts" in text


def test_an_order_by_what_the_data_does_not_have_is_left_out_and_said(ask: Ask, tmp_path: Path) -> None:
    """What 'init' wrote of it is what 'analyze' reads."""
    rows = [json.dumps({"sheet": f"s{n}", "finder": f"f{n % 9}", "found": {"on": n}}) for n in range(300)]
    (tmp_path / "sheets.jsonl").write_text("\n".join(rows) + "\n")
    asked: list[dict[str, Any]] = [
        {"table": "sheets", "at": f"2026-12-01T10:{n:02}:{s:02}Z", "filter": f"finder eq 'f{(n + s) % 9}'",
         "order_by": ["found desc"]}
        for n in range(60)
        for s in (0, 30)
    ]  # fmt: skip
    design = drawn(ask, tmp_path, "sheets.jsonl", asked)
    assert "the log orders by found, which the data does not have" in design
    assert ask("analyze")[0] == 0
