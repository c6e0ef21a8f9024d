"""Files that never end, never begin, or lead nowhere; and pipes, which are files as good as any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pkadvisor import files
from pkadvisor.cli.main import main
from pkadvisor.errors import InputError
from pkadvisor.resources import resource

RACE = resource("samples", "footrace")
ROWS = (RACE / "registrations.csv").read_bytes()[:40_000].rpartition(b"\n")[0] + b"\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command in an empty folder, with a design and some data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(files, "WRITER_WAIT_S", 0.2)
    (tmp_path / "design.yaml").write_bytes((RACE / "design.yaml").read_bytes())
    (tmp_path / "data.csv").write_bytes(ROWS)

    def ran(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--isolated"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ran


def refused(err: str, says: str) -> None:
    """An error in at most four short lines."""
    lines = err.splitlines()
    assert lines[0].startswith("error: ")
    assert len(lines) <= 4
    assert max(map(len, lines)) <= 400
    assert says in err


READERS = {
    "data": ("analyze", "FILE"),
    "log": ("analyze", "--log", "FILE"),
    "design": ("review", "FILE"),
    "profile": ("analyze", "--profile", "FILE"),
    "result": ("report", "FILE"),
    "stress": ("review", "design.yaml", "--stress", "FILE"),
    "limits": ("analyze", "data.csv", "--design", "design.yaml", "--limits", "FILE"),
    "compared": ("compare", "FILE", "FILE"),
    "salt": ("profile", "data.csv", "--salt-file", "FILE"),
    "baseline": ("review", "design.yaml", "--baseline", "FILE"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["device", "pipe without a writer", "loop of links"])
def test_what_never_gives_a_file_is_refused_at_once(reader: str, kind: str, run: Run, tmp_path: Path) -> None:
    path = "/dev/zero"
    if kind == "pipe without a writer":
        os.mkfifo(tmp_path / "pipe")
        path = "pipe"
    elif kind == "loop of links":
        (tmp_path / "loop").symlink_to("pool")
        (tmp_path / "pool").symlink_to("loop")
        path = "loop"
    words = [word.replace("FILE", path) for word in READERS[reader]]
    begun = time.monotonic()
    code, _, err = run(*words)
    assert code in (2, 3), err
    refused(err, "this is a symbolic link to itself" if (kind, reader) == ("loop of links", "log") else path)
    if kind == "pipe without a writer":
        assert time.monotonic() - begun < 1.9 * files.WRITER_WAIT_S + 0.5, "the same pipe is waited for once"


@pytest.mark.parametrize("device", ["/dev/urandom", "/dev/null"])
def test_a_device_is_no_log(device: str, run: Run) -> None:
    code, _, err = run("analyze", "--log", device)
    assert code in (2, 3)
    refused(err, "empty" if device == "/dev/null" else "this is a device, not a file")


def test_a_pipe_is_read_as_the_file_would_be(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    told = run("profile", "Runs=data.csv")

    def write() -> None:
        with (tmp_path / "pipe").open("wb") as stream:
            stream.write(ROWS)

    writer = threading.Thread(target=write)
    writer.start()
    piped = run("profile", "Runs=pipe")
    writer.join()
    assert (told[0], piped[0]) == (0, 0), piped[2]
    assert json.loads(piped[1]) == json.loads(told[1])


def test_a_log_of_standard_input_has_the_same_name_in_every_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        json.dumps({"at": f"2026-11-05T10:00:{n:02}Z", "table": "Runs", "filter": f"PartitionKey eq 'runner-{n % 7}'"})
        for n in range(30)
    ]
    whole = "\n".join([*lines, "torn\n"]).encode()

    def piped(content: bytes, *words: str) -> tuple[int, str, str]:
        (tmp_path / "piped").write_bytes(content)
        with (tmp_path / "piped").open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            return run("analyze", *words)

    words = ("--log", "-", "--format", "json", "--max-bad-lines", "5%")
    once, again = (piped(whole, *words) for _ in range(2))
    assert once == again
    assert "the first: standard input:31: " in once[2]
    assert '"standard input"' in once[1]
    refused(piped(b"torn\n", "--log", "-", "--stdin-name", "web.log")[2], "web.log:1: this is not a query log")
    refused(piped(b"", "--log", "-")[2], "standard input: the file is empty")


def test_a_writer_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_WAIT_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    writer_end: list[int] = []
    opened = threading.Thread(target=lambda: writer_end.append(os.open(tmp_path / "pipe", os.O_WRONLY)))

    def write_late() -> None:
        opened.join()
        threading.Event().wait(0.3)
        os.write(writer_end[0], b"late")
        os.close(writer_end[0])

    late = threading.Thread(target=write_late)
    opened.start()
    late.start()
    assert files.read_bytes(tmp_path / "pipe", 100) == b"late"
    late.join()
    assert files.read_bytes(tmp_path / "pipe", 100) == b"late", "read a second time"
    with pytest.raises(OSError, match="larger"):
        files.read_bytes(tmp_path / "pipe", 3)


def test_names_without_end_are_refused_in_little_memory(run: Run, tmp_path: Path) -> None:
    import polars as pl

    lines = [json.dumps({f"p{i * 10 + j}": 1 for j in range(10)}) for i in range(3000)]
    (tmp_path / "names.jsonl").write_text("\n".join(lines))
    (tmp_path / "wide.csv").write_text(",".join(f"p{i}" for i in range(3000)) + "\n" + ",".join("1" * 3000) + "\n")
    (tmp_path / "deep.json").write_text(json.dumps([{"a": {f"p{i}": 1 for i in range(3000)}}]))
    pl.DataFrame({f"p{i}": [1] for i in range(1001)}).write_parquet(tmp_path / "wide.parquet")
    for name in ("names.jsonl", "wide.csv", "deep.json", "wide.parquet"):
        code, _, err = run("analyze", name)
        assert code == 3
        refused(err, f"{name}: there are more than 1,000 names of properties")


def test_many_names_that_are_seldom_used_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pkadvisor.observe.data import json_records
    from pkadvisor.observe.data.dataset import open_datasets

    rows = [{f"p{i % 90}": i, "n": i} for i in range(900)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def read() -> list[dict[str, int]]:
        (dataset,) = open_datasets([str(tmp_path / "a.jsonl")])
        found = [row for frame in dataset.batches() for row in frame.to_dicts()]
        return [{name: value for name, value in row.items() if value is not None} for row in found]

    assert read() == rows
    monkeypatch.setattr(json_records, "_CELLS_MAX", 500)
    assert read() == rows


def test_a_panic_of_the_parquet_reader_is_an_error_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import polars as pl

    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "a.parquet")

    def panic(self: pl.LazyFrame) -> pl.Schema:
        os.write(2, b"thread 'x' panicked at lib.rs:1\nstack backtrace:\n")
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl.LazyFrame, "collect_schema", panic)
    assert main(["analyze", str(tmp_path / "a.parquet"), "--isolated"]) == 3
    err = capfd.readouterr().err
    refused(err, "the Parquet file is damaged or cut short")
    assert "panicked" not in err


def test_what_is_written_while_parquet_is_read_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    from pkadvisor.observe.data.parquet import quiet_panics

    with quiet_panics(InputError):
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"


ABORTS = """
import os
from pkadvisor.errors import InputError
from pkadvisor.observe.data.parquet import quiet_panics
for _ in range(2):
    with quiet_panics(lambda printed: InputError("damaged (" + printed + ")", where="a\\x1b.parquet", fix="copy it")):
        if _:
            os.write(2, b"memory allocation failed\\n")
            os.abort()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an abort is no signal there")
def test_an_abort_of_the_parquet_reader_ends_in_words_and_exit_code_3() -> None:
    ran = subprocess.run([sys.executable, "-c", ABORTS], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr == "error: a?.parquet: damaged (memory allocation failed)\n  copy it\n"


@pytest.mark.parametrize("words", [("w" * 3000,), ("analyze", "w" * 3000), ("explain", "w" * 3000)])
def test_a_huge_word_is_not_echoed_whole(words: tuple[str, ...], run: Run) -> None:
    code, _, err = run(*words)
    assert code == 2
    refused(err, "www … (")
    assert "characters) … www" in err


def test_a_design_of_300_tables_is_read(run: Run, tmp_path: Path) -> None:
    one = """  Table%d:
    partition_key: "{tenant}"
    row_key: "{pad(order,8)}"
    properties: {tenant: string, order: int32, placed: datetime, note: {type: string, size: 12}}
    queries:
      - {name: one, filter: "tenant eq '{tenant}' and order eq {order}", rate: 5/s}
      - {name: since, filter: "tenant eq '{tenant}' and order ge {order}", rate: 1/s, top: 10}
      - {name: newest, filter: "tenant eq '{tenant}'", rate: 1/s, top: 10, order_by: [placed desc]}
    writes:
      - {name: place, operation: insert, rate: 2/s, peak: 5/s}
      - {name: change, operation: update, key: [tenant, order], sets: [note], rate: 2/s}
"""
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    path = tmp_path / "many.yaml"
    path.write_text("schema: 1\ntables:\n" + "".join(one % i for i in range(300)))
    assert len(load_declaration(path).tables) == 300


RULE = """id = "ACME001"
name = "nested"
title = "T"
scope = "table"
why = "w"
fix = "f"
[[level]]
severity = "error"
when = "%s"
message = "m"
"""


def test_a_rule_of_macros_in_macros_is_told_with_its_file(run: Run, tmp_path: Path) -> None:
    ten = "[1,2,3,4,5,6,7,8,9,10]"
    nested = "a + b + c + d + e + f > 0"
    for name in "fedcba":
        nested = f"{ten}.all({name}, {nested})"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "acme.toml").write_text(RULE % nested)
    code, _, err = run("review", "design.yaml", "--rules", "rules")
    assert code == 2
    refused(err, "acme.toml: this takes too many steps")


# -- profiles and documents ----------------------------------------------------------------------------------------


def _other_names(data: dict) -> None:  # type: ignore[type-arg]
    data["sample"]["columns"][0]["name"] = "other"


def _fewer(data: dict) -> None:  # type: ignore[type-arg]
    del data["properties"][1]


def _other_type(data: dict) -> None:  # type: ignore[type-arg]
    next(p for p in data["properties"] if p["type"] == "DateTime")["type"] = "Double"


def _no_rows(data: dict) -> None:  # type: ignore[type-arg]
    del data["rows"]


def _many(data: dict[str, Any]) -> None:
    for number in range(1000):
        data["properties"].append({**data["properties"][-1], "name": f"more{number}"})


MERGED = {
    _many: "tables.0.data: there are more than 1,000 names of properties",
    _other_names: "tables.0.data.sample: its columns are not the properties (event, other)",
    _fewer: "tables.0.data.sample: its columns are not the properties (distance)",
    _other_type: "tables.0.data.sample: the column registered_at does not hold values of the type Double",
    _no_rows: "tables.0.data.rows is missing",
}


@pytest.mark.parametrize("damage", MERGED, ids=lambda d: d.__name__)
def test_a_profile_whose_parts_disagree_is_told_with_the_place(
    damage: Callable[[object], None], run: Run, tmp_path: Path
) -> None:
    assert run("profile", "data.csv", "--out", "p.json")[0] == 0
    found = json.loads((tmp_path / "p.json").read_bytes())
    damage(found["tables"][0]["data"])
    (tmp_path / "p.json").write_text(json.dumps(found))
    code, _, err = run("analyze", "--profile", "p.json", "--design", "design.yaml")
    assert code == 3, err
    refused(err, MERGED[damage])


def test_rows_of_unequal_length_are_a_mistake_of_the_document(tmp_path: Path, run: Run) -> None:
    from tests.fuzz.corpus import corpus

    for name, place in (
        ("stress.json", "designs.0.runs.0.heat.rows.0.times_target"),
        ("result.json", "heat.designs.0.per_mille.0"),
        ("result.json", "heat.designs.0.rows"),
        ("result.json", "sensitivity.designs.0.grid.0"),
        ("result.json", "sensitivity.loads"),
        ("stress.json", "verdict.designs"),
        ("stress.json", "designs.0.runs"),
    ):
        found = json.loads(corpus()[name])
        part = found["tables"][0]
        for step in place.split("."):
            part = part[int(step) if step.isdigit() else step]
        del part[-1 if len(part) > 2 else 0 :]
        (tmp_path / "d.json").write_text(json.dumps(found))
        code, _, err = run("report", "d.json")
        assert code == 3, (place, err)
        refused(err, "d.json: is not whole: tables.0.")


NAMES_OF_SEVERAL = ("*", "^.*$", "^a$", "")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_names_that_stand_for_several_columns_are_names_like_others(suffix: str, tmp_path: Path) -> None:
    import polars as pl

    from pkadvisor.observe.data.dataset import open_datasets

    frame = pl.DataFrame({"a": ["x", "y"], **{name: [name + "1", name + "2"] for name in NAMES_OF_SEVERAL}})
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        path.write_text("a,*,^.*$,^a$,\nx,1,2,3,4\ny,5,6,7,8\n")
    elif suffix == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    (dataset,) = open_datasets([str(path)])
    (rows,) = dataset.batches()
    assert rows.columns[:4] == ["a", "x2a", "x5e.", "x5ea"]
    assert rows.get_column("a").to_list() == ["x", "y"]
    assert rows.height == 2
    assert rows.unique().height == 2
