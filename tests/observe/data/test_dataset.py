"""Data sets: every format gives the same typed rows, in file order, and says what it assumed or left out."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.observe.data import csv_records
from pkadvisor.observe.data.dataset import Dataset, open_datasets
from pkadvisor.table.edm import EdmType


def write(folder: Path, text: str | bytes, name: str = "data") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def load(folder: Path, text: str | bytes, name: str = "data") -> Dataset:
    (dataset,) = open_datasets([write(folder, text, name)])
    return dataset


def rows(dataset: Dataset, *columns: str) -> list[tuple[Any, ...]]:
    return [row for frame in dataset.batches(columns or None) for row in frame.rows()]


def edms(dataset: Dataset) -> dict[str, str]:
    return {c.name: str(c.edm) for c in dataset.columns}


def test_five_forms_of_one_file_give_the_same_rows(tmp_path: Path) -> None:
    text = b"k,v\n" + b"".join(b"%d,%d.5\n" % (i, i % 977) for i in range(300_000))
    forms = {
        "plain.csv": text,
        "a.csv.gz": gzip.compress(text, 1),
        "a.csv.zst": zstandard.compress(text),
        "a.csv.bz2": bz2.compress(text, 1),
        "a.csv.xz": lzma.compress(text, preset=0),
    }
    for name, data in forms.items():
        dataset = load(tmp_path, data, name)
        assert dataset.row_count == 300_000, name
        total = sum(frame["k"].cast(pl.Int64).sum() for frame in dataset.batches(["k"]))
        assert total == 300_000 * 299_999 // 2, name
        assert edms(dataset) == {"k": "Int32", "v": "Double"}


@pytest.mark.parametrize(
    ("values", "edm"),
    [
        (["0", "-7", "2147483647"], "Int32"),
        (["0", "2147483648"], "Int64"),
        (["1", "17850.0"], "Double"),
        (["1e-3", ".5"], "Double"),
        (["00123", "00124"], "String"),
        (["1", "007"], "String"),
        (["9223372036854775808", "1"], "String"),
        (["+5", "6"], "String"),
        (["true", "False"], "Boolean"),
        (["2010-12-01 08:26:00", "2010-12-01T08:26:00.1234567Z"], "DateTime"),
        (["2024-02-29", "2024-03-01T10:00+02:00"], "DateTime"),
        (["2023-02-29", "2023-03-01"], "String"),
        (["2023-02-28T24:00:00"], "String"),
        (["c9da6455-213d-42c9-9a79-3e9149a57833"], "Guid"),
        (["1", "true"], "String"),
        (["abc"], "String"),
        (["NA", "5"], "Int32"),
        (["–", "2024-01-01"], "DateTime"),
        (["NA", "north"], "String"),
        (["NA", "null"], "String"),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_types_of_texts(tmp_path: Path, values: list[str], edm: str, swap: bool) -> None:
    values = values[::-1] if swap else values
    dataset = load(tmp_path, "id,x\n" + "".join(f"r{i},{v}\n" for i, v in enumerate(values)))
    assert edms(dataset)["x"] == edm
    frame = pl.concat(dataset.batches())
    missing = sum(v in ("NA", "–") for v in values) if edm not in ("String",) else 0
    assert frame["x"].null_count() == missing == dataset.column("x").missing


def test_values_of_datetimes(tmp_path: Path) -> None:
    texts = [
        "2010-12-01 08:26:00",
        "2010-12-01T08:26:00.1234567Z",
        "2010-12-01T08:26:00-05:30",
        "2010-12-01T08:26+0100",
        "2010-12-01",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ]
    dataset = load(tmp_path, "a,t\n" + "".join(f"x,{t}\n" for t in texts))
    day = datetime(2010, 12, 1, tzinfo=UTC)
    assert [t for (t,) in rows(dataset, "t")] == [
        day.replace(hour=8, minute=26),
        day.replace(hour=8, minute=26, microsecond=123456),
        day.replace(hour=13, minute=56),
        day.replace(hour=7, minute=26),
        day,
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ]
    assert any("without a zone" in note for note in dataset.notes)


def test_the_last_row_counts_as_much_as_the_first(tmp_path: Path) -> None:
    dataset = load(tmp_path, "a,b\n" + "1,x\n" * 200_000 + "oops,x\n")
    column = dataset.column("a")
    assert (column.edm, column.types) == (EdmType.STRING, ((EdmType.INT32, 200_000), (EdmType.STRING, 1)))
    assert column.mixed
    assert rows(dataset, "a")[-1] == ("oops",)


def test_missing_quoted_empty_and_marked_values(tmp_path: Path) -> None:
    dataset = load(tmp_path, 'n,s,wind\n1,"",NA\n,,N\nNA,x,\n')
    assert rows(dataset) == [(1, "", "NA"), (None, None, "N"), (None, "x", None)]
    assert [(c.present, c.missing) for c in dataset.columns] == [(1, 2), (2, 1), (2, 1)]
    assert any("n (1)" in note for note in dataset.notes)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_delimiters_quotes_and_line_ends(tmp_path: Path, separator: str) -> None:
    text = io.StringIO()
    wanted = [("1", 'say "hi"'), ("2", f"a{separator}b"), ("3", "two\nlines")]
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows([("id", "text"), *wanted])
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert rows(load(tmp_path, text.getvalue().encode(encoding))) == [(int(a), b) for a, b in wanted]


def test_quotes_that_open_no_field_are_text(tmp_path: Path) -> None:
    dataset = load(tmp_path, 'id\tsize\n1\t5" pipe\n2\t3"\n3\t4"\n')
    assert rows(dataset, "size") == [('5" pipe',), ('3"',), ('4"',)]


CELL = st.text(st.sampled_from('ab,"\n\r;é–\x1b['), max_size=6).map(lambda s: "x" + s)


@settings(deadline=None)
@given(cells=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=25), block=st.integers(1, 60))
def test_rows_survive_any_block_size(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str, str]], block: int
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("one", "two", "three"), *cells])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_CSV_BLOCK_BYTES", block)
        dataset = load(tmp_path_factory.mktemp("d"), text.getvalue())
        assert dataset.row_count == len(cells)
        assert rows(dataset) == cells
        assert rows(dataset, "two") == [(b,) for _, b, _ in cells]


def test_batches_have_the_asked_size_and_order(tmp_path: Path) -> None:
    dataset = load(tmp_path, "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(1000)))
    frames = list(dataset.batches(["b", "a"], rows=300))
    assert [f.height for f in frames] == [300, 300, 300, 100]
    assert pl.concat(frames)["a"].to_list() == list(range(1000))
    assert frames[0].columns == ["b", "a"]
    with pytest.raises(UsageError, match="did you mean 'a'"):
        list(load(tmp_path, "a,bb\n1,2\n").batches(["A"]))


TYPED = (
    "PartitionKey\tRowKey\tTimestamp\tn\tn@type\tbig\tbig@type\tat\tat@type\tid\tid@type\n"
    "001\t7\t2025-09-22T09:45:35.2743359Z\t2\tInt32\t5\tEdm.Int64\t2025-09-22T09:45:35Z\tString\t\tGuid\n"
    "002\t\t2025-09-22T09:45:36Z\t4\t\t6\t\tx\t\tC9DA6455-213D-42C9-9A79-3E9149A57833\n"
    "003\t9\n"
)


def test_typed_csv_carries_types_on(tmp_path: Path) -> None:
    dataset = load(tmp_path, TYPED)
    assert dataset.format == "typed-csv"
    assert edms(dataset) == {
        "PartitionKey": "String",
        "RowKey": "String",
        "Timestamp": "DateTime",
        "n": "Int32",
        "big": "Int64",
        "at": "String",
        "id": "Guid",
    }
    assert rows(dataset, "PartitionKey", "RowKey", "n", "big", "at", "id") == [
        ("001", "7", 2, 5, "2025-09-22T09:45:35Z", None),
        ("002", "", 4, 6, "x", "c9da6455-213d-42c9-9a79-3e9149a57833"),
        ("003", "9", None, None, None, None),
    ]


def test_typed_csv_whose_first_rows_lack_the_property(tmp_path: Path) -> None:
    text = "PartitionKey,RowKey,v,v@type\na,1,,\na,2,3,\na,3,5,Edm.Double\na,4,7,\n"
    column = load(tmp_path, text).column("v")
    assert (column.edm, column.types) == (EdmType.DOUBLE, ((EdmType.DOUBLE, 3),))


def test_typed_csv_with_two_types_for_one_property(tmp_path: Path) -> None:
    text = "PartitionKey,RowKey,v,v@type\na,1,5,Int32\na,2,five,String\na,3,6,Edm.Int32\na,4,x,Int32\n"
    column = load(tmp_path, text).column("v")
    assert column.edm is EdmType.STRING
    assert column.types == ((EdmType.INT32, 2), (EdmType.STRING, 2))


OBJECTS: list[dict[str, Any]] = [
    {"PartitionKey": "p", "RowKey": "1", "n": 1, "x": 1.5, "b": True, "s": "12", "at": "2024-01-01T00:00:00Z"},
    {
        "PartitionKey": "p",
        "RowKey": "2",
        "n": 2**40,
        "x": 2,
        "o": {"city": "Köln", "geo": {"lat": 50.9}},
        "l": [1, "a"],
    },
    {"PartitionKey": "q", "RowKey": "3", "late": None, "s": "x\ud800y", "odata.etag": "W/1"},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_items_is_a_value_where_these_are_no_entities(tmp_path: Path, indent: int | None) -> None:
    orders = [{"items": [{"sku": "a", "n": 1}, 7], "total": 3}, {"items": [], "total": 4}]
    dataset = load(tmp_path, "\n".join(json.dumps(order, indent=indent) for order in orders))
    assert rows(dataset) == [('[{"sku":"a","n":1},7]', 3), ("[]", 4)]


@pytest.mark.parametrize("form", ["jsonl", "array", "rest", "pages", "pretty", "az", "az in one line"])
def test_json_in_every_form(tmp_path: Path, form: str) -> None:
    text = {
        "jsonl": "\n".join(json.dumps(o) for o in OBJECTS) + "\n",
        "array": json.dumps(OBJECTS),
        "rest": json.dumps({"odata.metadata": "http://x/$metadata#t", "value": OBJECTS}),
        "pages": "\n".join(json.dumps({"value": [o]}) for o in OBJECTS),
        "pretty": json.dumps({"value": OBJECTS}, indent=2),
        "az": json.dumps({"items": OBJECTS, "nextMarker": {}}, indent=2),
        "az in one line": json.dumps({"items": OBJECTS, "nextMarker": {}}),
    }[form]
    dataset = load(tmp_path, text)
    assert dataset.row_count == 3
    assert edms(dataset) == {
        "PartitionKey": "String",
        "RowKey": "String",
        "n": "Int64",
        "x": "Double",
        "b": "Boolean",
        "s": "String",
        "at": "DateTime",
        "o.city": "String",
        "o.geo.lat": "Double",
        "l": "String",
        "late": "String",
    }
    assert rows(dataset, "RowKey", "n", "x", "s", "o.city", "l") == [
        ("1", 1, 1.5, "12", None, None),
        ("2", 2**40, 2.0, None, "Köln", '[1,"a"]'),
        ("3", None, None, "x\\ud800y", None, None),
    ]
    assert any("1 lone surrogate" in note for note in dataset.notes)


def test_rest_annotations_rule_and_plain_strings_stay_strings(tmp_path: Path) -> None:
    entity = {
        "odata.etag": "W/x",
        "PartitionKey": "p",
        "RowKey": "r",
        "count@odata.type": "Edm.Int64",
        "count": "9007199254740993",
        "id@odata.type": "Edm.Guid",
        "id": "C9DA6455-213d-42c9-9a79-3e9149a57833",
        "raw@odata.type": "Edm.Binary",
        "raw": "AQI=",
        "ratio@odata.type": "Edm.Double",
        "ratio": "NaN",
        "looks": "2024-01-01T00:00:00Z",
        "Timestamp@odata.type": "Edm.DateTime",
        "Timestamp": "2024-01-01T00:00:00Z",
    }
    dataset = load(tmp_path, json.dumps({"value": [entity, {**entity, "ratio": 0.5, "ratio@odata.type": None}]}))
    assert edms(dataset) == {
        "PartitionKey": "String",
        "RowKey": "String",
        "count": "Int64",
        "id": "Guid",
        "raw": "Binary",
        "ratio": "Double",
        "looks": "String",
        "Timestamp": "DateTime",
    }
    assert rows(dataset, "count", "id", "raw")[0] == (2**53 + 1, "c9da6455-213d-42c9-9a79-3e9149a57833", b"\x01\x02")


def test_json_values_of_two_types_are_shown_as_such(tmp_path: Path) -> None:
    dataset = load(tmp_path, '{"v": 1}\n{"v": "1"}\n{"v": true}\n{"v": 2}\n')
    column = dataset.column("v")
    assert column.types == ((EdmType.INT32, 2), (EdmType.BOOLEAN, 1), (EdmType.STRING, 1))
    assert rows(dataset) == [("1",), ("1",), ("true",), ("2",)]


def test_json_numbers_beyond_64_bits_keep_their_digits(tmp_path: Path) -> None:
    dataset = load(tmp_path, '{"v": 1}\n{"v": 18446744073709551616}\n{"v": -9223372036854775808}\n')
    assert dataset.column("v").types == ((EdmType.INT32, 1), (EdmType.INT64, 1), (EdmType.STRING, 1))
    assert rows(dataset) == [("1",), ("18446744073709551616",), ("-9223372036854775808",)]


def test_large_json_arrays_are_streamed_over_chunk_edges(tmp_path: Path) -> None:
    objects = [{"i": i, "t": "ä" * (i % 50), "d": {"e": [i]}} for i in range(40_000)]
    dataset = load(tmp_path, json.dumps({"value": objects}, ensure_ascii=False))
    assert dataset.row_count == 40_000
    assert rows(dataset, "i", "t", "d.e") == [(o["i"], o["t"], f"[{i}]") for i, o in enumerate(objects)]


def test_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "PartitionKey": ["a", "b"],
            "small": pl.Series([1, None], dtype=pl.Int16),
            "wide": pl.Series([2**40, 1], dtype=pl.UInt64),
            "f": pl.Series([1.5, 2.5], dtype=pl.Float32),
            "day": [datetime(2024, 1, 1), datetime(2024, 1, 2)],
            "raw": [b"x", None],
            "where": [{"city": "Köln", "geo": {"lat": 1.0}}, {"city": None, "geo": None}],
            "tags": [["a", "b"], None],
            "code": ["7", "8"],
        }
    )
    frame.write_parquet(tmp_path / "x")
    (dataset,) = open_datasets([str(tmp_path / "x")])
    assert dataset.format == "parquet"
    assert edms(dataset) == {
        "PartitionKey": "String",
        "small": "Int32",
        "wide": "Int64",
        "f": "Double",
        "day": "DateTime",
        "raw": "Binary",
        "where.city": "String",
        "where.geo.lat": "Double",
        "tags": "String",
        "code": "String",
    }
    assert rows(dataset, "small", "day", "where.city", "tags") == [
        (1, datetime(2024, 1, 1, tzinfo=UTC), "Köln", '["a","b"]'),
        (None, datetime(2024, 1, 2, tzinfo=UTC), None, None),
    ]
