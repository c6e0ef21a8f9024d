"""Profile files that are damaged or are none, and numbers without end in whole ones."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.cli.main import main
from pkadvisor.documents.profile import ProfileColumn
from pkadvisor.errors import InputError
from pkadvisor.observe.profile.profile_file import load_document
from tests.observe.profile.test_profile_file import save
from tests.report.support import profile_text

# -- refusing --------------------------------------------------------------------------------------------------------


def damaged() -> dict[str, Any]:
    """Name → what is done to the plain document."""

    def without(*path: str | int) -> Any:
        def change(found: Any) -> None:
            for step in path[:-1]:
                found = found[step]
            del found[path[-1]]

        return change

    def put(value: Any, *path: str | int) -> Any:
        def change(found: Any) -> None:
            for step in path[:-1]:
                found = found[step]
            found[path[-1]] = value

        return change

    data = ("tables", 0, "data")
    first = (*data, "properties", 0)
    column = (*data, "sample", "columns", 0)
    query = ("tables", 0, "workload", "classes", 0)
    return {
        "no tables": without("tables"),
        "tables of text": put("x", "tables"),
        "table of text": put(["x"], "tables"),
        "no key check": without("key_check"),
        "rows of text": put("5", *data, "rows"),
        "too many rows": put(1, *data, "rows"),
        "a negative count": put(-5, *first, "present"),
        "an unknown type": put("Int128", *first, "type"),
        "half a number": put(base64.b64encode(b"abc").decode(), *first, "distinct", "hashes"),
        "no base64": put("@@@", *data, "sample", "hash"),
        "unordered hashes": put(base64.b64encode(b"\xff" * 8 + b"\0" * 8).decode(), *first, "distinct", "hashes"),
        "a place beyond the values": put([], *column, "values"),
        "values of another type": put([[1]] * 400, *column, "values"),
        "fewer rows in a column": put("AAE=", *column, "places"),
        "an unknown dtype": put("decimal", *column, "dtype"),
        "a filter that is none": put("a eq", *query, "filter"),
        "an unknown operation": put("drop", *query, "operation"),
        "a negative rate": put(-1.0, *query, "mean_per_s"),
        "a peak below the mean": put(0.0, *query, "peak_per_s"),
        "covered since when": put("long", "tables", 0, "covered_s"),
    }


@pytest.mark.parametrize("what", damaged())
def test_a_damaged_profile_is_exit_3(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(profile_text("microblog"))
    damaged()[what](document)
    path = save(tmp_path, json.dumps(document))
    assert main(["analyze", "--profile", path]) == 3, capsys.readouterr().err
    err = capsys.readouterr().err
    assert err.startswith("error: p.json: the profile is damaged: ")
    assert len(err.splitlines()) == 2
    assert "advisor profile" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a profile"),
        (b"{}", "not a profile"),
        (b"[1]", "not a profile"),
        (b"\xff\xfe\x00", "not a profile"),
        (b"[" * 100_000, "not a profile"),
        (b'{"document":"pkadvisor result"}', "pkadvisor result"),
        (b'{"document":"pkadvisor profile"}', "version None"),
        (b'{"document":"pkadvisor profile","schema_version":3}', "version 3"),
        (b'{"document":"pkadvisor profile","schema_version":1', "not a profile"),
        (b"a,b\n1,2\n", "not a profile"),
    ],
)
def test_what_is_no_profile_is_exit_3(
    content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.json").write_bytes(content)
    assert main(["analyze", "--profile", str(tmp_path / "p.json")]) == 3
    err = capsys.readouterr().err
    assert says in err
    assert "p.json" in err
    assert "advisor profile DATA" in err
    assert 1 <= len(err.splitlines()) <= 4


@given(st.integers(0, 10**9), st.sampled_from([b"", b"0", b"]", b'"', b"-", b"null"]))
def test_no_damage_is_a_bug(place: int, put: bytes) -> None:
    import tempfile

    raw = profile_text("documents").encode()
    at = place % len(raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.json"
        path.write_bytes(raw[:at] + put + raw[at + 1 :])
        try:
            load_document(str(path))
        except InputError as error:
            assert 1 <= len(error.lines()) <= 4


def test_a_large_sample_and_numbers_without_end_are_kept(tmp_path: Path) -> None:
    rows = 70_000
    values = [float("nan"), float("inf"), -float("inf"), 1.5]
    lines = [json.dumps({"name": f"n{i}", "x": values[i % 4] if i % 4 > 2 else i + 0.5}) for i in range(rows)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    (tmp_path / "d.yaml").write_text(
        'schema: 1\ntables:\n  Things:\n    queries: [{name: q, filter: "x gt {x}", rate: 1/s}]\n'
    )
    out = str(tmp_path / "p.json")
    words = [str(tmp_path / "t.jsonl"), "--design", str(tmp_path / "d.yaml"), "--out", out, "-q"]
    assert main(["profile", *words, "--sample-rows", "100000"]) == 0
    data = load_document(out).tables[0].data
    assert data is not None
    assert data.sample.height == rows
    assert data.sample.get_column("name").n_unique() == rows
    assert data.hashed == {"name"}
    assert data.sample.get_column("x").to_list()[:4] == [0.5, 1.5, 2.5, 1.5]


@pytest.mark.parametrize("values", [[1.5, float("inf")], [float("nan"), None, -float("inf"), 0.0]])
def test_shown_numbers_without_end_survive(values: list[float | None]) -> None:
    from pkadvisor.observe.profile.profile_json import columns_of, frame_of

    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    text = msgspec.json.encode(columns_of(frame))
    assert frame_of(msgspec.json.decode(text, type=list[ProfileColumn])).equals(frame, null_equal=True)


@pytest.mark.parametrize("halves", [1, 2])
def test_inserts_move_on_through_the_keys_of_a_profile_as_in_its_log(halves: int, tmp_path: Path) -> None:
    """Ten minutes with an insert a second, all into the partition of the minute."""
    keys = [(f"20260302{1000 + n // 60}", f"e{n:04}") for n in range(600)]
    rows = [f"{pk},{rk}\n" for pk, rk in keys]
    lines = [
        json.dumps({"table": "Events", "op": "insert", "at": 1_772_445_600 + n, "pk": pk, "rk": rk}) + "\n"
        for n, (pk, rk) in enumerate(keys)
    ]
    keys_of = 'partition_key: "{minute}", row_key: "{id}", key_parts: {minute: string, id: string}'
    (tmp_path / "d.yaml").write_text(f"schema: 1\ntables:\n  Events: {{{keys_of}}}\n")
    profiles = []
    for half in range(halves):
        data, log = tmp_path / f"{half}.csv", tmp_path / f"{half}.jsonl"
        data.write_text("".join(["PartitionKey,RowKey\n", *rows[half::halves]]))
        log.write_text("".join(lines[half::halves]))
        profiles.append(str(tmp_path / f"{half}.json"))
        given = [str(data), "--log", str(log), "--design", str(tmp_path / "d.yaml")]
        assert main(["profile", *given, "-q", "--out", profiles[-1]]) == 0
    asked = [word for path in profiles for word in ("--profile", path)]
    out = tmp_path / "r.json"
    assert main(["analyze", *asked, "--design", str(tmp_path / "d.yaml"), "-q", "--out", f"json={out}"]) == 0
    (table,) = json.loads(out.read_text())["tables"]
    assert table["current"]["hot_partition"]["share"] == 1
