"""Keys of a log that the design's templates read as values which the data does not have: told before the verdict."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from pkadvisor.design.rows.strange_values import other_case, strange_requests
from pkadvisor.observe.workload import ForeignRequests, Workload
from pkadvisor.report.documents.values import Shown
from tests.cli.support import Run

START = datetime(2026, 11, 1, tzinfo=UTC)
YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)


def ticks(moment: datetime) -> int:
    return (moment - YEAR_1) // timedelta(microseconds=1) * 10


def write_readings(folder: Path, row_key: str) -> None:
    """200 readings, and a log of point reads whose RowKeys are plain ticks."""
    moments = [START + timedelta(minutes=7 * n) for n in range(200)]
    lines = ["device,at,value", *(f"d{n % 4},{m:%Y-%m-%dT%H:%M:%SZ},{n}" for n, m in enumerate(moments))]
    (folder / "readings.csv").write_text("\n".join(lines) + "\n")
    log = [
        {
            "table": "Readings",
            "at": f"{START + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}",
            "op": "query",
            "pk": f"d{n % 4}",
            "rk": f"{ticks(moments[n]):019d}",
        }
        for n in range(200)
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, log)) + "\n")
    design = f'schema: 1\ntables:\n  Readings:\n    partition_key: "{{device}}"\n    row_key: "{row_key}"\n'
    (folder / "design.yaml").write_text(design)


ARGUMENTS = ("analyze", "readings.csv", "--log", "log.jsonl", "--design", "design.yaml")


@pytest.mark.parametrize("row_key", ["{ticks(at)}", "{at}"])
def test_keys_that_fit_are_not_warned_of(run: Run, tmp_path: Path, row_key: str) -> None:
    write_readings(tmp_path, row_key)
    result = run(*ARGUMENTS, "--format", "json")
    if row_key == "{at}":  # ticks are no DateTime: no key fits, and nothing is read
        assert result.returncode == 2 and b"do not fit its keys" in result.stderr
    else:
        assert json.loads(result.stdout)["tables"][0]["warnings"] == []


def test_values_that_no_row_has_are_told_before_the_verdict(run: Run, tmp_path: Path) -> None:
    write_readings(tmp_path, "{reverse_ticks(at)}")
    (table,) = json.loads(run(*ARGUMENTS, "--format", "json").stdout)["tables"]
    (warning,) = table["warnings"]
    assert (
        warning.startswith("'query by at, device' asks in 100 % of its logged requests for values of at")
        and "are the keys read as they are made?" in warning
    )
    assert warning not in table["notes"]
    verdict = run(*ARGUMENTS).stdout.decode().splitlines()
    assert any(line.startswith("  Caveat: 'query by at, device' asks in 100 %") for line in verdict)
    lines = run(*ARGUMENTS, "--details").stdout.decode().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  ! 'query by at, device' asks in 100 %"))
    assert lines[at - 1] == "Details of Readings"
    hidden = run(*ARGUMENTS, "--redact", "keys", "--format", "json").stdout.decode()
    assert "such as '[key]'" in hidden


def test_a_sample_of_the_rows_is_asked_whether_the_values_lie_near_it(run: Run, tmp_path: Path) -> None:
    write_readings(tmp_path, "{reverse_ticks(at)}")
    lines = (tmp_path / "readings.csv").read_text().splitlines()
    (tmp_path / "readings.csv").write_text("\n".join([lines[0], *lines[1::9]]) + "\n")
    arguments = (*ARGUMENTS, "--entities-total", "200", "--format", "json")
    (table,) = json.loads(run(*arguments).stdout)["tables"]
    assert any("are not" in warning and "of at" in warning for warning in table["warnings"])
    write_readings(tmp_path, "{ticks(at)}")
    (tmp_path / "readings.csv").write_text("\n".join([lines[0], *lines[1::9]]) + "\n")
    (table,) = json.loads(run(*arguments).stdout)["tables"]
    assert table["warnings"] == []


def test_few_requests_for_what_is_gone_are_no_sign_of_other_keys(run: Run, tmp_path: Path) -> None:
    """Once in 201 requests an old day is purged: its times lie far from the data, and the keys are read rightly."""
    write_readings(tmp_path, "{ticks(at)}")
    old = START - timedelta(days=900)
    bounds = [f"{ticks(old + timedelta(days=n)):019d}" for n in range(2)]
    purge = f"PartitionKey eq 'd0' and RowKey ge '{bounds[0]}' and RowKey lt '{bounds[1]}'"
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write(json.dumps({"table": "Readings", "at": f"{START:%Y-%m-%dT%H:%M:%SZ}", "filter": purge}) + "\n")
    (table,) = json.loads(run(*ARGUMENTS, "--format", "json").stdout)["tables"]
    assert len(table["workload"]) == 2 and table["warnings"] == []


def test_a_logged_key_with_quotes_or_braces_is_hidden_whole() -> None:
    foreign = ForeignRequests(5, 10, "query", "Conor O'Brien", "{secret}")
    (sentence,) = strange_requests(Workload("T", (), foreign=foreign), None, 0)
    assert "Conor O’Brien" in sentence and "(secret)" in sentence
    hidden = Shown(redact=True).message(sentence)
    assert "Brien" not in hidden and "secret" not in hidden


def test_values_in_other_letters_are_no_other_table(run: Run, tmp_path: Path) -> None:
    """A log in lower case and an export in upper case: the keys of one find nothing in the other, and it says why."""
    ids = [f"AB{n:04X}" for n in range(60)]
    rows = ["PartitionKey,RowKey,value", *(f"p{n % 3},{one},{n}" for n, one in enumerate(ids))]
    (tmp_path / "items.csv").write_text("\n".join(rows) + "\n")
    asked = [
        {"table": "Items", "at": f"{START + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}", "pk": f"p{n % 3}", "rk": one}
        for n, one in enumerate(map(str.lower, ids))
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n")
    result = run("analyze", "items.csv", "--log", "log.jsonl", "--format", "json")
    (table,) = json.loads(result.stdout)["tables"]
    assert b"it has those of r1 in other letters, 'AB00" in result.stderr
    assert b"data and a log whose values have the same letters" in result.stderr
    assert "in other letters alone: 'ab00" in " ".join(table["warnings"])


@pytest.mark.parametrize("held", [["xyz", "ab"], ["abc", "ABD"], [None]])
def test_texts_that_differ_in_more_are_no_other_letters(held: list[str | None]) -> None:
    assert other_case(pl.Series(["abc", "def"]), pl.Series(held, dtype=pl.String)) is None


def test_the_day_that_runs_when_the_log_ends_is_asked_for_up_to_then(run: Run, tmp_path: Path) -> None:
    """An export of six hours of today, and a log that asks for a device's events of today."""
    begin = datetime(2026, 11, 2, tzinfo=UTC)
    moments = [begin + timedelta(seconds=36 * n) for n in range(600)]
    lines = ["PartitionKey,RowKey,device,at"]
    lines += [f"{m:%Y%m%d},{m:%H%M%S}000_d{n % 40},d{n % 40},{m:%Y-%m-%dT%H:%M:%SZ}" for n, m in enumerate(moments)]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    asked = [
        {
            "table": "Events",
            "at": f"{moments[-1] + timedelta(seconds=n / 2):%Y-%m-%dT%H:%M:%S.%fZ}",
            "filter": f"PartitionKey eq '20261102' and device eq 'd{n % 40}'",
        }
        for n in range(400)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n")
    ran = run("analyze", "events.csv", "--log", "log.jsonl", "--format", "json")
    (table,) = json.loads(ran.stdout)["tables"]
    assert table["verdict"] != "not_enough"
    assert "are not near the data" not in ran.stdout.decode()


@pytest.mark.parametrize(("first", "last", "told"), [(-400, 400, False), (-400, -300, True), (300, 400, True)])
def test_a_window_around_all_of_the_data_is_not_strange(
    run: Run, tmp_path: Path, first: int, last: int, told: bool
) -> None:
    """The month of a key that holds a day of data begins before it and ends behind it."""
    write_readings(tmp_path, "{ticks(at)}")
    bounds = [f"{ticks(START + timedelta(days=days)):019d}" for days in (first, last)]
    window = f"PartitionKey eq 'd0' and RowKey ge '{bounds[0]}' and RowKey lt '{bounds[1]}'"
    line = {"table": "Readings", "at": f"{START:%Y-%m-%dT%H:%M:%SZ}", "filter": window}
    (tmp_path / "log.jsonl").write_text(f"{json.dumps(line)}\n" * 300)
    (table,) = json.loads(run(*ARGUMENTS, "--format", "json").stdout)["tables"]
    assert any("values of at that are not near the data" in warning for warning in table["warnings"]) is told
