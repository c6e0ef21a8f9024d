"""Inferred key shapes: the template expected of small tables, of real ones, and the proof against decode and encode."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from pkadvisor.design.keys.infer import Inference, KeyShape
from pkadvisor.design.keys.infer.shapes import Shape, classify
from pkadvisor.design.keys.scheme import key_expression, parse_key
from pkadvisor.design.keys.transforms import bucket
from pkadvisor.design.keys.transforms.periods import period_start
from pkadvisor.errors import UsageError
from pkadvisor.table.edm import TICKS_MAX, EdmType
from tests.design.keys.inference import infer_keys
from tests.design.support import ticks

if TYPE_CHECKING:
    import polars as pl

SAMPLES = Path(__file__).parents[3] / "samples"
SHARED = Path(os.environ.get("PKADVISOR_SHARED", Path(__file__).parents[4] / "shared")) / "data"
real = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here (PKADVISOR_SHARED)")

Keys = list[tuple[str, str]]
START = datetime(2015, 8, 17, 15, 4, 5, tzinfo=UTC)
RUNNERS = [(1234, "John", "M", 55), (77, "Ann", "F", 31), (401, "Bo", "M", 7), (12, "Eve", "F", 60)]
RACE = "2011 New York City Marathon__Full"
WORDS = ("RandyToVikings", "PatsWin", "SnowInMay", "Overtime", "Draft")


def found(inference: Inference) -> set[tuple[str, int]]:
    """The templates with the rows that each explains."""
    return {(str(k.key), k.explained) for k in inference.kinds}


def types_of(kind: KeyShape) -> dict[str, str]:
    return {name: str(edm) for name, edm in kind.types}


def moment_texts(pattern: str, hours: int = 31) -> Keys:
    return [("a", (START + timedelta(hours=hours * i, seconds=i)).strftime(pattern)) for i in range(20)]


def guid(number: int) -> str:
    return str(UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128))


CASES: dict[str, tuple[Keys, dict[str, int]]] = {
    "runners": (
        [(RACE, f"{bib}__{name}__{sex}__{age}") for bib, name, sex, age in RUNNERS],
        {f"{RACE} | {{r1}}__{{r2}}__{{r3}}__{{r4}}": 4},
    ),
    "two rows for each runner": (
        [
            key
            for bib, name, sex, age in RUNNERS
            for key in (
                (RACE, f"BIB:{bib:05d}__{name}__{sex}__{age}"),
                (RACE, f"AGE:{age:03d}__{bib}__{name}__{sex}"),
            )
        ],
        {
            f"{RACE} | BIB:{{pad(r1,5)}}__{{r2}}__{{r3}}__{{r4}}": 4,
            f"{RACE} | AGE:{{pad(r1,3)}}__{{r2}}__{{r3}}__{{r4}}": 4,
        },
    ),
    "compound key": (
        [("Sales", f"{n:06d}_{year}") for n in (123, 124, 7) for year in (2012, 2013)],
        {"Sales | {pad(r1,6)}_{time(r2,'yyyy')}": 6},
    ),
    "employees and departments": (
        [("Sales", f"EMPLOYEE_{n:06d}") for n in (123, 124, 9)]
        + [("Sales", f"DEPARTMENT_{d}") for d in ("SALES", "HR")],
        {"Sales | EMPLOYEE_{pad(r1,6)}": 3, "Sales | DEPARTMENT_{r1}": 2},
    ),
    "members and rentals": (
        [(f"m{m}", k) for m in (5, 71) for k in ("Member", "Rental_Titanic", "Rental_Rocky_II", f"Rental_Up{m}")],
        {"m{p1} | Rental_{r1}": 6, "m{p1} | Member": 2},
    ),
    "two indexes in partitions of their own": (
        [("empid_Sales", f"{n:06d}") for n in (223, 224, 7)]
        + [("email_Sales", f"{n}@contoso.com") for n in ("jonesj", "smith", "x")],
        {"empid_Sales | {pad(r1,6)}": 3, "email_Sales | {r1}": 3},
    ),
    "dates and topics": (
        [("Brady", f"201009{day};{w}") for day, w in zip((20, 21, 28, 29, 30), WORDS, strict=True)]
        + [("Brady", f"Sports;{w}") for w in WORDS],
        {"Brady | {time(r1,'yyyyMMdd')};{r2}": 5, "Brady | Sports;{r1}": 5},
    ),
    "diagnostics": (
        [(f"06362599{69 + i:02d}000000000", f"role___{i}___{j}x") for i in range(5) for j in range(3)],
        {"{ticks(p1)} | role___{r1}___{r2}": 15},
    ),
    "diagnostics with buckets": (
        [(f"{b:019d}___06362599{68 + i}000000000", f"x{i}y") for b in range(7) for i in range(3)],
        {"{pad(p1,19)}___{ticks(p2)} | {r1}": 21},
    ),
    "diagnostics with and without buckets": (
        [(f"{b:019d}___06362599{68 + i}000000000", f"x{i}y") for b in range(7) for i in range(3)]
        + [(f"06362599{70 + i}000000000", f"x{i}y") for i in range(9)],
        {"{pad(p1,19)}___{ticks(p2)} | {r1}": 21, "{ticks(p1)} | {r1}": 9},
    ),
    "application trace by the hour": (
        [(f"201508{17 + i}15", guid(i * 7 + 1)) for i in range(9)],
        {"{time(p1,'yyyyMMddHH')} | {r1}": 9},
    ),
    "ticks as .NET writes them": (
        [("web", f"{ticks(START) + i * 7_000_001}") for i in range(9)],
        {"web | {ticks(r1,18)}": 9},
    ),
    "log tail": (
        [("web", f"{TICKS_MAX - ticks(START) - i * 7_000_001:019d}") for i in range(9)],
        {"web | {reverse_ticks(r1)}": 9},
    ),
    "month of the time in the RowKey": (
        [
            (f"d{i % 3}_{t:%Y%m}", f"{TICKS_MAX - ticks(t):019d}")
            for i in range(20)
            for t in (START + timedelta(days=9 * i),)
        ],
        {"d{p1}_{time(p2,'yyyyMM')} | {reverse_ticks(p2)}": 20},
    ),
    "buckets of tenants": (
        [(f"tenant_{b:02d}", f"{n}") for b in range(8) for n in (9, 10, 11)],
        {"tenant_{pad(p1,2)} | {r1}": 24},
    ),
    "the same piece in both keys": (
        [(f"u{n}", f"{n}_{w}") for n, w in zip((5, 17, 4, 90, 33), WORDS, strict=True)],
        {"u{p1} | {p1}_{r1}": 5},
    ),
    "guids": ([("a", f"{guid(i)}_{guid(i + 50)}") for i in range(1, 9)], {"a | {r1}_{r2}": 8}),
    "guids between hyphens stay whole": ([("a", f"{guid(i)}-{i}") for i in range(1, 9)], {"a | {r1}": 8}),
    "years": ([("a", str(y)) for y in (1999, 2004, 2020)], {"a | {time(r1,'yyyy')}": 3}),
    "no years": ([("a", str(y)) for y in (1899, 2004, 2020)], {"a | {r1}": 3}),
    "no month 13": ([("a", y) for y in ("201513", "201512", "201601")], {"a | {r1}": 3}),
    "no 30 February": ([("a", y) for y in ("20150230", "20151201", "20160101")], {"a | {r1}": 3}),
    "ticks out of span": ([("a", f"{10**17 * i + 5:019d}") for i in (1, 2, 3)], {"a | {pad(r1,19)}": 3}),
    "below zero": ([("a", str(n)) for n in (-5, 7, 12, 0)], {"a | {r1}": 4}),
    "below zero behind a separator": (
        [("a", f"x{c}_{n}") for c, n in zip("bcd", (-5, 7, 12), strict=True)],
        {"a | {r1}_{r2}": 3},
    ),
    "padded below zero": ([("a", t) for t in ("-99958", "00042", "00001")], {"a | {pad(r1,5)}": 3}),
    "mixed widths": ([("a", t) for t in ("007", "1234", "05", "99")], {"a | {r1}": 4}),
    "one wider than the rest": ([("a", f"{n:03d}") for n in range(990, 1010)] + [("a", "005")], {"a | {r1}": 21}),
    "other digits": ([("a", t) for t in ("٠٠١", "٠٠٢", "٠٠٣")], {"a | {r1}": 3}),
    "letters before a number": ([("a", f"C{n:05d}") for n in (213, 15006, 2)], {"a | C{pad(r1,5)}": 3}),
    "letters that a value holds": (
        [("a", f"{w}_C{n}") for w, n in zip(("Chicago", "Celle", "Cork"), (9, 10, 12), strict=True)],
        {"a | {r1}_{r2}": 3},
    ),
    "separators inside values": (
        [("a", f"{w}_x") for w in ("b_c", "d", "e_f_g")],
        {"a | {r1}": 3},
    ),
    "a longer separator around values with the shorter": (
        [("a", f"b_{i}__{w}") for i, w in enumerate(WORDS)],
        {"a | b_{r1}__{r2}": 5},
    ),
    "a longer separator around the shorter": (
        [("a", f"{c}__{w}") for c, w in zip(("New_York", "Rome", "Oslo", "Bonn", "St_Ives"), WORDS, strict=True)],
        {"a | {r1}": 5},
    ),
    "missing values": ([("a", t) for t in ("007", "~-", "012")], {"a | {pad(r1,3)}": 3}),
    "escapes": ([("a", f"{n}_{t}") for n, t in ((5, "x~005Fy"), (6, "z"), (70, "~002F"))], {"a | {r1}_{r2}": 3}),
    "a state goes with its city": (
        [(s, f"{c}_{i}") for s, c in (("Ohio", "Akron"), ("Utah", "Provo"), ("Iowa", "Ames")) for i in range(8, 40)],
        {"{p1} | {r1}_{r2}": 96},
    ),
    "codes with and without letters are one kind": (
        [("a", f"{n}_{i}") for i, n in enumerate(("22423", "85123A", "POST", "47566", "22720", "M", "20725"))],
        {"a | {r1}_{r2}": 7},
    ),
    "constant": ([("a", "b")] * 3, {"a | b": 3}),
    "empty": ([("", "")], {"'' | ''": 1}),
    "empty and not": ([("", "b"), ("c", ""), ("", "")], {"{p1} | {r1}": 3}),
    "braces": ([("{a}", f"{{{n}}}") for n in (5, 6, 70)], {"{{a}} | {r1}": 3}),
    **{
        f"time as {pattern}": (moment_texts(strf, hours), {f"a | {{time(r1,'{pattern}')}}": 20})
        for pattern, strf, hours in (
            ("yyyyMM", "%Y%m", 800),
            ("yyyyMMdd", "%Y%m%d", 31),
            ("yyyy-MM-dd", "%Y-%m-%d", 31),
            ("yyyy-MM", "%Y-%m", 800),
            ("dd.MM.yyyy", "%d.%m.%Y", 31),
            ("yyyyMMddHHmm", "%Y%m%d%H%M", 31),
            ("yyyyMMddHHmmss", "%Y%m%d%H%M%S", 31),
            ("yyyyMMdd-HHmmss", "%Y%m%d-%H%M%S", 31),
            ("yyyyMMddHHmmssffffff", "%Y%m%d%H%M%S%f", 31),
            ("yyyy-MM-dd HH:mm:ss.ffffff", "%Y-%m-%d %H:%M:%S.%f", 31),
            ("yyyy-MM-dd HH:mm:ss", "%Y-%m-%d %H:%M:%S", 31),
            ("yyyy_MM_dd_HH", "%Y_%m_%d_%H", 31),
            ("YYYY-Www", "%G-W%V", 800),
            ("YYYYWww", "%GW%V", 800),
        )
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_template_of_a_small_table(name: str) -> None:
    keys, expected = CASES[name]
    inference = infer_keys(keys)
    if len(set(keys)) == len(keys):
        assert found(inference) == set(expected.items())
    assert {str(k.key): k.explained for k in inference.kinds} == expected
    assert inference.share == 1.0
    assert inference.rows == len(keys)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("runners", {"r1": "Int64", "r2": "String", "r3": "String", "r4": "Int64"}),
        ("guids", {"r1": "Guid", "r2": "Guid"}),
        ("guids between hyphens stay whole", {"r1": "String"}),
        ("below zero", {"r1": "Int64"}),
        ("below zero behind a separator", {"r1": "String", "r2": "Int64"}),
        ("mixed widths", {"r1": "String"}),
        ("one wider than the rest", {"r1": "String"}),
        ("other digits", {"r1": "String"}),
        ("no month 13", {"r1": "Int64"}),
        ("diagnostics with buckets", {"p1": "Int64", "p2": "DateTime", "r1": "String"}),
        ("letters that a value holds", {"r1": "String", "r2": "String"}),
    ],
)
def test_the_types_of_invented_properties(name: str, types: dict[str, str]) -> None:
    (kind,) = infer_keys(CASES[name][0]).kinds
    assert types_of(kind) == types
    assert kind.columns == ()


@pytest.mark.parametrize(
    ("texts", "shape"),
    [
        (["00123", "00007"], Shape("pad", EdmType.INT64, 5)),
        (["0" * 38, "1" * 38], Shape("pad", EdmType.STRING, 38)),
        (["0" * 39, "1" * 39], Shape()),
        (["9223372036854775807", "5"], Shape(edm=EdmType.INT64)),
        (["9223372036854775808", "5"], Shape()),
        (["true", "false"], Shape(edm=EdmType.BOOLEAN)),
        (["1.5", "-2.25"], Shape(edm=EdmType.DOUBLE)),
        (["1.50", "2.25"], Shape()),
        (["-0", "5"], Shape("pad", EdmType.INT64, 1)),
        (["2015-08-17T00:00:00.0000000Z"] * 2, Shape(edm=EdmType.DATETIME)),
        (["2015-02-30T00:00:00.0000000Z"] * 2, Shape()),
        ([guid(3), guid(4)], Shape(edm=EdmType.GUID)),
        *(
            ([f"2026-0{n}-11T20:{n}7:05Z"[:width] for n in (1, 2, 3)], Shape("time", EdmType.DATETIME, pattern=pattern))
            for width, pattern in ((20, "yyyy-MM-ddTHH:mm:ssZ"), (16, "yyyy-MM-ddTHH:mm"), (13, "yyyy-MM-ddTHH"))
        ),
        (["~-"], Shape()),
        ([""], Shape()),
    ],
)
def test_shapes_of_texts(texts: list[str], shape: Shape) -> None:
    assert classify(texts) == shape


def test_a_period_begins_where_the_calendar_says() -> None:
    assert period_start("201508", "yyyyMM") == datetime(2015, 8, 1, tzinfo=UTC)
    assert period_start("17.08.2015", "dd.MM.yyyy") == datetime(2015, 8, 17, tzinfo=UTC)
    assert period_start("20150230", "yyyyMMdd") is None
    assert period_start("2015083", "yyyyMMdd") is None
    assert period_start("٢٠١٥", "yyyy") is None


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            [(f"{t}_{b:02d}", f"{n}") for b in range(8) for n in (9, 10, 11) for t in WORDS],
            "p2 looks like a bucket of 8",
        ),
        ([(f"shard-{b:02d}", f"{n}") for b in range(8) for n in (9, 10, 11)], "p1 looks like a bucket of 8 values"),
        (CASES["diagnostics with buckets"][0], "p1 looks like a bucket of 7 values"),
        (CASES["mixed widths"][0], "r1 holds numbers of several widths with leading zeros"),
        ([("a", guid(i).upper()) for i in (1, 2, 3)], "Guids that are not in lower case"),
        (CASES["a longer separator around the shorter"][0], "RowKey is not cut at '_': values hold it"),
        ([("a", f"{n:019d}") for n in (636259968000000001, 636259968000000022)], "finer than a microsecond"),
        ([("a", f"2015-08-17T10:0{i}:00.5Z") for i in range(5)], "times in a form that no transform writes"),
        ([("a", "b")], "one key only"),
    ],
)
def test_what_is_said_beside_the_template(keys: Keys, words: str) -> None:
    (kind,) = infer_keys(keys).kinds
    assert words in " ".join(kind.notes)


def test_numbers_that_are_no_buckets_are_not_called_so() -> None:
    for keys in (
        CASES["letters before a number"][0],
        CASES["compound key"][0],
        [(f"{n:05d}", "x") for n in (1, 40_000)],
        [(f"tank-{n:03d}", f"{m}") for n in range(40) for m in range(9)],
        [(f"{n:03d}", f"{m}") for n in range(1, 41) for m in range(9)],
    ):
        assert not any("bucket" in note for kind in infer_keys(keys).kinds for note in kind.notes)


# --- columns lend their names


def table(
    partition: str, row: str, columns: Mapping[str, Sequence[object]], types: Mapping[str, EdmType]
) -> pl.DataFrame:
    """A table whose keys follow the templates."""
    from tests.design.support import frame_of

    frame = frame_of(columns, types)
    key = parse_key(partition, row)
    return frame.with_columns(
        PartitionKey=key_expression(key.partition, dict(types)), RowKey=key_expression(key.row, dict(types))
    )


COLUMNS: dict[str, tuple[Callable[[int], object], EdmType]] = {
    "bib": (lambda i: i * 37 % 1009, EdmType.INT64),
    "device": (lambda i: f"dev{i * 7 % 41}", EdmType.STRING),
    "group": (lambda i: f"{i % 9 * 10}-{i % 9 * 10 + 4}", EdmType.STRING),
    "at": (lambda i: START + timedelta(minutes=977 * i, microseconds=i), EdmType.DATETIME),
    "id": (lambda i: guid(i + 1), EdmType.GUID),
    "race": (lambda i: "Spring Run", EdmType.STRING),
    "zip": (lambda i: f"{i * 77 % 9000:05d}", EdmType.STRING),
    "odd (name)": (lambda i: i + 100_000, EdmType.INT64),
}
COLUMN_TYPES = {name: edm for name, (_, edm) in COLUMNS.items()}
COLUMN_VALUES = {name: [make(i) for i in range(400)] for name, (make, _) in COLUMNS.items()}


@pytest.mark.parametrize(
    ("partition", "row"),
    [
        ("{race}_{device}", "{pad(bib,4)}_{bib}"),
        ("{device}", "{reverse_pad(bib,6)}_{id}"),
        ("{device}_{time(at,'yyyyMM')}", "{reverse_ticks(at)}"),
        ("{time(at,'yyyyMMdd')}", "{ticks(at)}_{device}"),
        ("{device}", "{at}"),
        ("{race}", "{bib}_{group}_{device}"),
        ("{hash(device,16)}", "{device}_{pad(bib,5)}"),
        ("{device}_{hash(bib,8)}", "{id}"),
        ("x{hash(id,120)}", "{id}"),
        ("{zip}", "{id}"),
    ],
)
def test_columns_lend_their_names(partition: str, row: str) -> None:
    frame = table(partition, row, COLUMN_VALUES, COLUMN_TYPES)
    inference = infer_keys(frame, COLUMN_TYPES)
    (kind,) = inference.kinds
    assert str(kind.key) == f"{partition} | {row}"
    assert inference.share == 1.0
    assert set(kind.columns) == set(kind.key.properties)
    assert dict(kind.types) == {n: COLUMN_TYPES[n] for n in kind.key.properties}
    assert not kind.notes


def test_a_column_that_a_template_cannot_name_lends_nothing() -> None:
    frame = table(
        "{race}",
        "{bib}",
        {"race": ["a"] * 9, "bib": [i + 100 for i in range(9)]},
        {"race": EdmType.STRING, "bib": EdmType.INT64},
    )
    (kind,) = infer_keys(frame.rename({"bib": "odd (name)"})).kinds
    assert str(kind.key) == "a | {r1}"


def test_the_time_of_the_service_lends_nothing() -> None:
    """It is set when a row is written, so that no key can be made of it; a column of the same day can."""
    days = [datetime(2026, 3, 1 + n, 9, 30, tzinfo=UTC) for n in range(9)]
    frame = table("a", "{time(at,'yyyyMMdd')}", {"at": days}, {"at": EdmType.DATETIME})
    import polars as pl

    for columns, row in ((["Timestamp"], "{time(r1,'yyyyMMdd')}"), (["Timestamp", "at"], "{time(at,'yyyyMMdd')}")):
        named = frame.with_columns(pl.Series("Timestamp", days)).select("PartitionKey", "RowKey", *columns)
        (kind,) = infer_keys(named).kinds
        assert str(kind.key) == f"a | {row}"


def test_a_column_that_differs_here_and_there_lends_its_name_and_is_told() -> None:
    frame = table("{race}", "{id}", COLUMN_VALUES, COLUMN_TYPES)
    ids = [guid(1000) if i in (3, 77) else v for i, v in enumerate(COLUMN_VALUES["id"])]
    import polars as pl

    (kind,) = infer_keys(frame.with_columns(id=pl.Series(ids)), COLUMN_TYPES).kinds
    assert str(kind.key) == "{race} | {id}"
    assert kind.notes == ("the column id differs from the key in 2 of 400 rows looked at",)
    often = [guid(1000) if i % 50 == 0 else v for i, v in enumerate(COLUMN_VALUES["id"])]
    (kind,) = infer_keys(frame.with_columns(id=pl.Series(often)), COLUMN_TYPES).kinds
    assert str(kind.key) == "{race} | {r1}"


def test_a_copy_in_lower_case_is_no_part_of_the_key_however_few_differ() -> None:
    import polars as pl

    cities = ["Ost" if i == 7 else ("west", "north", "south")[i % 3] for i in range(300)]
    frame = table(
        "{city}", "{id}", {"city": cities, "id": list(range(300))}, {"city": EdmType.STRING, "id": EdmType.INT32}
    )
    (kind,) = infer_keys(frame.drop("city").with_columns(low=pl.Series([c.lower() for c in cities]))).kinds
    assert str(kind.key) == "{p1} | {id}"
    assert kind.notes == ()


def test_a_hash_of_a_piece_of_the_key_needs_no_column() -> None:
    keys = [(f"{bucket(d, 16):02d}", f"{d}_{i}") for i in range(60) for d in (f"dev{i * 7 % 41}x",)]
    inference = infer_keys(keys)
    assert found(inference) == {("{hash(r1,16)} | {r1}_{r2}", 60)}
    wrong = [(f"{(int(p) + (i == 7)) % 16:02d}", r) for i, (p, r) in enumerate(keys)]
    assert {str(k.key) for k in infer_keys(wrong).kinds} == {"{pad(p1,2)} | {r1}_{r2}"}


def test_invented_names_stay_clear_of_columns() -> None:
    import polars as pl

    frame = pl.DataFrame(
        {"PartitionKey": ["a", "b", "c"], "RowKey": ["x5", "x7", "x60"], "r1": [1, 2, 3], "p1": ["z"] * 3}
    )
    (kind,) = infer_keys(frame).kinds
    assert str(kind.key) == "{p2} | x{r2}"


def test_a_frame_needs_both_keys() -> None:
    import polars as pl

    with pytest.raises(UsageError, match="RowKey"):
        infer_keys(pl.DataFrame({"PartitionKey": ["a"]}))


@pytest.mark.parametrize(("name", "key"), [("Updated", "2026{p1}"), ("held", "{time(held,'yyyy')}{p1}")])
def test_no_period_is_that_of_the_last_change_where_there_is_only_one(name: str, key: str) -> None:
    """All keys of a year fit every time in it, and a key does not follow what each write changes."""
    import polars as pl

    moments = [datetime(2026, 3, 1 + n, 9, 30, tzinfo=UTC) for n in range(9)]
    frame = table("{time(at,'yyyy')}|{act}", "{r1}", {"at": moments, "act": list("abcdefghi"), "r1": ["x"] * 9}, {
        "at": EdmType.DATETIME, "act": EdmType.STRING, "r1": EdmType.STRING,
    })  # fmt: skip
    named = frame.select("PartitionKey", "RowKey").with_columns(pl.Series(name, moments))
    (kind,) = infer_keys(named).kinds
    assert str(kind.key).partition(" | ")[0].replace("|", "") == key
