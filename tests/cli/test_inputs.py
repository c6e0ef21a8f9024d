"""Which word of a command line is data and which is a log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.cli.inputs import spread_logs
from pkadvisor.cli.main import main
from tests.cli.support import Ask


def test_every_flag_is_known_to_the_reader_of_logs() -> None:
    """An option without a value that is missing from FLAGS would swallow the word after it."""
    import typer.main

    from pkadvisor.cli.app import app
    from pkadvisor.cli.inputs import FLAGS

    group = typer.main.get_command(app)
    flags = {
        name
        for command in ("analyze", "explain", "profile", "stress")
        for parameter in group.commands[command].params  # type: ignore[attr-defined]
        if getattr(parameter, "is_flag", False)
        for name in parameter.opts
    }
    assert flags == set(FLAGS) - {"-h", "--help"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # a glob that the shell resolved
        ("analyze d.csv --log a.log b.log c.log", "analyze d.csv --log a.log --log b.log --log c.log"),
        ("analyze --log a.log b.log --design d.yaml", "analyze --log a.log --log b.log --design d.yaml"),
        ("analyze d.csv --log a.log.gz b.log.gz", "analyze d.csv --log a.log.gz --log b.log.gz"),
        ("profile --profile p.json --log a b.jsonl", "profile --profile p.json --log a --log b.jsonl"),
        ("analyze d.csv --log a.csv b.csv --log x y -q", "analyze d.csv --log a.csv --log b.csv --log x --log y -q"),
        ("analyze --log a.2026-01.jsonl a.2026-02.jsonl", "analyze --log a.2026-01.jsonl --log a.2026-02.jsonl"),
        # data after a log
        ("analyze --log a.log.gz d.csv.gz", "analyze --log a.log.gz d.csv.gz"),
        ("analyze --log a.log d.csv", "analyze --log a.log d.csv"),
        ("analyze --log a.log -q d.csv", "analyze --log a.log -q d.csv"),
        ("analyze --log a.log -", "analyze --log a.log -"),
        ("analyze d.csv --log a.log Kind=b.log", "analyze d.csv --log a.log Kind=b.log"),
        ("analyze --log a.log -- b.csv", "analyze --log a.log -- b.csv"),
        ("analyze --log=a.log d.csv", "analyze --log=a.log d.csv"),
        ("analyze --log a.log --top 3 d.csv", "analyze --log a.log --top 3 d.csv"),
        # not this command's business
        ("samples write a b", "samples write a b"),
        ("analyze --log", "analyze --log"),
    ],
)
def test_files_after_a_log(line: str, expected: str) -> None:
    assert spread_logs(line.split()) == expected.split()


@given(st.lists(st.sampled_from(["--log", "a.log", "b.csv", "-", "--", "-q", "--design", "k=v", "--log=x"])))
def test_no_word_is_lost_or_reordered(words: list[str]) -> None:
    spread = spread_logs(["analyze", *words])
    remaining = iter(spread)
    assert all(word in remaining for word in ["analyze", *words])
    assert len(spread) - len(words) - 1 == spread.count("--log") - words.count("--log")


def _loans(folder: Path, operation: str = "QueryEntities") -> tuple[str, str]:
    """An export of loans with keys ``BR<branch> | <number>``, and a log that asks for their items in quotes."""
    rows = [f"BR{n % 7:02},{n:06},{3_100_000_000 + n % 300},{n}" for n in range(900)]
    (folder / "loans.csv").write_text("PartitionKey,RowKey,Item,Days\n" + "\n".join(rows) + "\n")
    lines = []
    for n in range(400):
        asked = f"PartitionKey%20eq%20'BR{n % 7:02}'%20and%20Item%20eq%20'{3_100_000_000 + n % 300}'"
        record = {
            "time": f"2026-09-01T08:{n // 60:02}:{n % 60:02}.0000000Z",
            "category": "StorageRead",
            "operationName": operation if n % 2 else "QueryEntities",
            "statusCode": 200,
            "statusText": "Success",
            "durationMs": 9,
            "correlationId": f"{n:032x}",
            "properties": {"accountName": "lib", "serviceType": "table", "objectKey": "/lib/Loans"},
            "uri": f"https://lib.table.core.windows.net:443/Loans?$filter={asked}",
            "resourceType": "Microsoft.Storage/storageAccounts/tableServices",
        }
        lines.append(json.dumps(record))
    (folder / "loans.jsonl").write_text("\n".join(lines) + "\n")
    return str(folder / "loans.csv"), str(folder / "loans.jsonl")


def test_digits_that_a_log_compares_in_quotes_are_text(ask: Ask, tmp_path: Path) -> None:
    data, log = _loans(tmp_path)
    assert ask("init", str(tmp_path / "p"), "--from", data, "--log", log, "--yes")[0] == 0
    design = (tmp_path / "p" / "design.yaml").read_text()
    assert "Item: string" in design
    assert "Days: int32" in design
    assert "Item eq '{Item}'" in design


def test_a_log_of_operations_that_nobody_knows_is_refused(ask: Ask, tmp_path: Path) -> None:
    data, log = _loans(tmp_path, "GetEntity")
    code, _, err = ask("analyze", data, "--log", log)
    assert code == 3
    assert "200 of 400 log lines cannot be read" in err
    assert "unknown operation" in err


def test_keys_with_parts_are_compared_as_the_old_design_reads_them(ask: Ask, tmp_path: Path) -> None:
    data, log = _loans(tmp_path)
    assert ask("init", str(tmp_path / "p"), "--from", data, "--log", log, "--yes")[0] == 0
    old = tmp_path / "p" / "design.yaml"
    text = old.read_text()
    (now,) = re.findall(r'partition_key: ("[^"]*")', text)
    new = tmp_path / "p" / "new.yaml"
    new.write_text(text.replace(now, '"{Item}_{pad(p1,2)}"'))
    code, out, err = ask("compare", str(old), str(new), data, "--log", log)
    assert (code, err) == (0, "")
    assert "{Item}_{pad(p1,2)} | " in out


def test_a_profile_with_a_design_names_it_in_the_next_command(
    ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, log = _loans(tmp_path)
    assert ask("init", ".", "--from", data, "--log", log, "--yes")[0] == 0
    assert main(["profile", data, "--design", "design.yaml", "--out", "p.json"]) == 0
    assert capsys.readouterr().err.endswith("next: advisor analyze --profile p.json --design design.yaml\n")
