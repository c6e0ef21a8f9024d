"""Names and declared types of columns, several files, and values that look like something else."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pkadvisor.errors import InputError
from pkadvisor.observe.data import csv_records
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.data.declared_types import in_declared_types
from pkadvisor.table.edm import EdmType
from tests.observe.data.test_dataset import TYPED, edms, load, rows, write
from tests.tiers import examples


def test_several_files_are_one_set_and_kinds_are_apart(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,x\n", "part-1.csv")
    write(tmp_path, gzip.compress(b'{"b": "y", "c": 2.5}\n'), "part-2.csv")
    other = write(tmp_path, "z;y\n1;2\n", "other.csv")
    people, orders = open_datasets([f"Person={tmp_path}/part-*.csv", f"Order={other}"])
    assert (people.kind, people.row_count, people.format) == ("Person", 2, "csv, jsonl")
    assert rows(people) == [(1, "x", None), (None, "y", 2.5)]
    assert [(c.present, c.missing) for c in people.columns] == [(1, 1), (2, 0), (1, 1)]
    assert (orders.kind, edms(orders)) == ("Order", {"z": "Int32", "y": "Int32"})


def test_a_folder_with_an_equals_sign_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "year=2024").mkdir()
    write(tmp_path / "year=2024", "a,b\n1,2\n", "x.csv")
    monkeypatch.chdir(tmp_path)
    assert [d.kind for d in open_datasets(["year=2024/x.csv"])] == [None]
    assert [d.kind for d in open_datasets(["year=2024/*.csv"])] == [None]


def test_names_of_columns(tmp_path: Path) -> None:
    dataset = load(tmp_path, "Partitionkey,rowkey,etag,a,a,,x\x1b[31m\n1,2,e,3,4,5,6\n")
    assert [c.name for c in dataset.columns] == ["PartitionKey", "RowKey", "a", "a_2", "column_6", "x_x1b_31m"]
    assert rows(dataset) == [("1", "2", 3, 4, 5, 6)]
    assert len(dataset.notes) == 5


def test_an_etag_beside_the_keys_is_no_property(tmp_path: Path) -> None:
    """`az storage entity query` and Storage Explorer write it; a table without keys may have one of its own."""
    entity = {"PartitionKey": "p", "RowKey": "r", "etag": "W/x", "a": 1}
    keyless = {"etag": "W/x", "a": 1}
    assert list(edms(load(tmp_path, json.dumps([entity])))) == ["PartitionKey", "RowKey", "a"]
    assert list(edms(load(tmp_path, json.dumps([keyless])))) == ["etag", "a"]
    pl.DataFrame([entity]).write_parquet(tmp_path / "x.parquet")
    (dataset,) = open_datasets([str(tmp_path / "x.parquet")])
    assert list(edms(dataset)) == ["PartitionKey", "RowKey", "a"]


def test_hostile_key_values_pass_untouched(tmp_path: Path) -> None:
    values = ["a/b", "a\\b", "a#b?", "\x1b[31mred", "[bold]x[/bold]", "tab\tin", "bell\x07", "\x00nul", "&#x27;"]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("PartitionKey", "v"), *((v, v) for v in values)])
    assert rows(load(tmp_path, text.getvalue())) == [(v, v) for v in values]
    lines = "".join(json.dumps({"v": v}) + "\n" for v in values)
    assert rows(load(tmp_path, lines)) == [(v,) for v in values]


@pytest.mark.parametrize("start", ["x^", "x\x01", "\ufeffx", "#", "PAR", "{", "'"])
def test_rows_that_begin_like_something_else(tmp_path: Path, start: str) -> None:
    """polars takes text that begins with x^ for compressed data."""
    text = "a,b\n" + f"{start}one,1\n" * 3
    assert rows(load(tmp_path, text)) == [(f"{start}one", 1)] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_CSV_BLOCK_BYTES", 4)
        assert rows(load(tmp_path, text)) == [(f"{start}one", 1)] * 3


@settings(deadline=None, max_examples=examples(60))
@given(
    lines=st.lists(
        st.lists(st.text(st.sampled_from('x^",\n;1 '), max_size=4), min_size=1, max_size=4).map(",".join), max_size=12
    )
)
@example([',\n\n,1;"^,1x,"11\n'])
@example(['1",', ",", '",\n,', ",", ","])
def test_any_text_gives_rows_or_an_error_and_both_passes_agree(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), "one,two\n" + "\n".join(lines))
    try:
        (dataset,) = open_datasets([path], max_bad_share=1.0)
    except InputError:
        return
    assert len(rows(dataset)) == dataset.row_count == len(rows(dataset, "two"))


def test_a_list_named_value_is_a_property(tmp_path: Path) -> None:
    assert rows(load(tmp_path, '{"value": [1, 2]}\n{"value": [3]}\n')) == [("[1,2]",), ("[3]",)]


def test_columns_are_read_under_names_that_a_property_may_have(tmp_path: Path) -> None:
    header = "Airport Name,Cost Total $,Cost Total %,2nd,content-type,größe\u00a0m²,ключ\n"
    dataset = load(tmp_path, header + "a,1,2,3,4,5,6\n")
    names = ["Airport_Name", "Cost_Total", "Cost_Total_2", "_2nd", "content_type", "größe_m", "ключ"]
    assert [c.name for c in dataset.columns] == names
    assert "Airport Name as Airport_Name, Cost Total $ as Cost_Total" in dataset.notes[0]
    assert rows(dataset) == [("a", 1, 2, 3, 4, 5, 6)]


def test_names_hold_no_control_characters(tmp_path: Path) -> None:
    dataset = load(tmp_path, json.dumps([{"größe\u00a0m²": 1, "a b": 2, "x\ny": 3, "\ud800": 4, "\u202e": 5}]))
    assert [c.name for c in dataset.columns] == ["größe_m", "a_b", "x_ny", "ud800", "u202e"]
    assert rows(dataset) == [(1, 2, 3, 4, 5)]


def test_a_pipe_is_read_twice_all_the_same(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=pipe.write_text, args=("a,b\n1,2\n",))
    feeder.start()
    (dataset,) = open_datasets([str(pipe)])
    feeder.join()
    assert rows(dataset) == [(1, 2)]


def test_results_do_not_depend_on_time_zone_or_hash_seed(tmp_path: Path) -> None:
    path = write(tmp_path, TYPED)
    code = (
        "import sys\nfrom pkadvisor.observe.data import dataset, kinds\nassert 'polars' not in sys.modules\n"
        f"d, = dataset.open_datasets([{path!r}])\n"
        "print(d.columns, d.notes, [f.rows() for f in d.batches()])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TZ": zone, "PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": threads, "LC_ALL": "C"},
            capture_output=True,
            check=True,
        ).stdout
        for zone, seed, threads in (("UTC", "1", "1"), ("Asia/Tokyo", "2", "2"))
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("declared", "found", "values"),
    [
        (EdmType.INT64, EdmType.INT64, [(1,), (2,)]),
        (EdmType.DOUBLE, EdmType.DOUBLE, [(1.0,), (2.0,)]),
        (EdmType.INT32, EdmType.INT32, [(1,), (2,)]),
        (EdmType.DATETIME, EdmType.INT32, [(1,), (2,)]),
    ],
)
def test_small_numbers_are_of_the_declared_type_where_it_holds_them(
    tmp_path: Path, declared: EdmType, found: EdmType, values: list[tuple[object]]
) -> None:
    dataset = in_declared_types(load(tmp_path, "id,name\n1,a\n2,b\n"), {"id": declared, "other": EdmType.INT64})
    assert [column.edm for column in dataset.columns] == [found, EdmType.STRING]
    assert rows(dataset, "id") == values


def test_a_declared_string_keeps_the_text_that_looks_like_another_type(tmp_path: Path) -> None:
    """1.10 is no number where the design says so; markers stay missing, as the note says."""
    given = "firmware,day,code,on\n1.10,2024-01-01,007e1,True\n1.9,2024-01-02,NA,false\n"
    plain = load(tmp_path, given)
    assert EdmType.STRING not in {column.edm for column in plain.columns if column.name != "code"}
    dataset = in_declared_types(plain, dict.fromkeys(("firmware", "day", "on"), EdmType.STRING))
    held = [column for column in dataset.columns if column.name != "code"]
    assert {column.edm for column in held} == {EdmType.STRING}
    assert [column.types for column in held] == [((EdmType.STRING, 2),)] * 3
    assert not any(column.zoneless for column in dataset.columns)
    assert rows(dataset, "firmware", "day", "on") == [("1.10", "2024-01-01", "True"), ("1.9", "2024-01-02", "false")]
    assert any("without a zone" in note for note in plain.notes)
    assert not any("without a zone" in note for note in dataset.notes)


def test_markers_stay_missing_in_a_declared_string(tmp_path: Path) -> None:
    dataset = load(tmp_path, "firmware,at,later\n1.10,2024-01-01,2024-01-01\nNA,2024-01-02,2024-01-03\n")
    dataset = in_declared_types(dataset, {"firmware": EdmType.STRING, "at": EdmType.STRING})
    assert rows(dataset, "firmware") == [("1.10",), (None,)]
    assert dataset.column("firmware").missing == 1
    assert [note for note in dataset.notes if "zone" in note] == ["times without a zone are read as UTC: later"]


def test_a_type_that_the_file_states_is_no_string(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n', encoding="utf-8")
    (dataset,) = open_datasets([str(tmp_path / "d.jsonl")])
    assert in_declared_types(dataset, {"n": EdmType.STRING}).column("n").edm is EdmType.INT32


@pytest.mark.parametrize(
    ("text", "edm", "values"),
    [
        (["007", "042", "7"], EdmType.INT32, [7, 42, 7]),
        (["007", "042", "9000000000"], EdmType.INT64, [7, 42, 9_000_000_000]),
        (["1", "2.5", "03"], EdmType.DOUBLE, [1.0, 2.5, 3.0]),
        (["1", "2", "3.5"], EdmType.INT32, [1, 2, None]),
        (["1", "2", "3000000000"], EdmType.INT32, [1, 2, None]),
        (["true", "FALSE", "maybe"], EdmType.BOOLEAN, [True, False, None]),
        (
            ["0b8f6e3a-51f7-4b6e-8c0d-0e6c0c6f2d11", "0B8F6E3A-51F7-4B6E-8C0D-0E6C0C6F2D12", "none"],
            EdmType.GUID,
            ["0b8f6e3a-51f7-4b6e-8c0d-0e6c0c6f2d11", "0b8f6e3a-51f7-4b6e-8c0d-0e6c0c6f2d12", None],
        ),
        (["007", "042", "NA"], EdmType.INT64, [7, 42, None]),
        (["1.10", "12", "x"], EdmType.STRING, ["1.10", "12", "x"]),
    ],
)
def test_a_declared_type_wins_and_what_does_not_fit_is_missing(
    tmp_path: Path, text: list[str], edm: EdmType, values: list[object]
) -> None:
    dataset = in_declared_types(
        load(tmp_path, "id,n\n" + "".join(f"{n},{t}\n" for n, t in enumerate(text))), {"n": edm}
    )
    assert dataset.column("n").edm is edm
    assert dataset.column("n").missing == values.count(None)
    assert [value for (value,) in rows(dataset, "n")] == values
    told = [note for note in dataset.notes if note.startswith("n is declared as")]
    if None in values and text[-1] != "NA":  # a marker is missing in any type
        assert told == [
            f"n is declared as {edm}: 1 of 3 values do not fit, the first in row 3; they are taken as missing"
        ]
    else:
        assert told == []


def test_a_declared_type_wins_over_texts_of_a_parquet_file(tmp_path: Path) -> None:
    texts = ["2026-11-01T11:56:12.066187Z", "2026-11-01T13:00:00+01:00", "soon"]
    pl.DataFrame({"at": texts}).write_parquet(tmp_path / "x.parquet")
    (dataset,) = open_datasets([str(tmp_path / "x.parquet")])
    assert dataset.column("at").edm is EdmType.STRING
    dataset = in_declared_types(dataset, {"at": EdmType.DATETIME})
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert rows(dataset, "at") == [(datetime(2026, 11, 1, 11, 56, 12, 66187, tzinfo=UTC),), (noon,), (None,)]
    told = "at is declared as DateTime: 1 of 3 values do not fit, the first in row 3; they are taken as missing"
    assert told in dataset.notes


def test_a_declaration_that_few_values_fit_is_told_and_not_taken(tmp_path: Path) -> None:
    dataset = in_declared_types(load(tmp_path, "id,n\n0,red\n1,7\n2,blue\n"), {"n": EdmType.INT32})
    assert dataset.column("n").edm is EdmType.STRING
    told = "n is declared as Int32: 2 of 3 values do not fit, the first in row 1; it is read as String"
    assert told in dataset.notes


def test_digits_with_leading_zeros_are_text_where_nothing_is_declared(tmp_path: Path) -> None:
    dataset = load(tmp_path, "id,zip\n0,01234\n1,98765\n")
    assert dataset.column("zip").edm is EdmType.STRING
    assert [value for (value,) in rows(dataset, "zip")] == ["01234", "98765"]


@pytest.mark.parametrize(("text", "edm"), [("0b8f6e3a", EdmType.GUID), ("0B8F6E3A", EdmType.STRING)])
def test_guids_that_are_not_written_in_lower_case_stay_text(tmp_path: Path, text: str, edm: EdmType) -> None:
    """A Guid has no case, and keys that hold such texts have."""
    lines = "".join(f"{n},{text}-51f7-4b6e-8c0d-0e6c0c6f2d{n:02}\n" for n in range(20))
    assert load(tmp_path, "id,n\n" + lines).column("n").edm is edm
