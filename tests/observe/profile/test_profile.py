"""Profiles of data: what they say, and that parts merge to the whole whatever the cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.observe.data.dataset import Column, open_datasets
from pkadvisor.observe.data.sketches import DistinctSketch, combined, presence, value_hashes
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import (
    POSITION,
    ProfileFold,
    bounded,
    canonical_column,
    merge_data,
    profile_dataset,
    row_bytes,
)
from pkadvisor.observe.profile.profile_file import ProfileDocument
from pkadvisor.observe.profile.table_profiles import TableProfile
from pkadvisor.table.edm import EdmType
from tests.report.support import written
from tests.tiers import examples

ROWS = 3000
MOST = 40
START = datetime(2026, 1, 1, tzinfo=UTC)


def rows_frame(rows: int = ROWS) -> pl.DataFrame:
    """Rows of every canonical type, with gaps, twins and more distinct values than a sketch holds."""
    return pl.DataFrame(
        {
            "name": [None if i % 7 == 0 else f"n{i % 1500}" for i in range(rows)],
            "group": [f"g{i % 11}" for i in range(rows)],
            "bib": pl.Series([i * i % 997 for i in range(rows)], dtype=pl.Int32),
            "total": [None if i % 5 == 0 else i % 13 / 4 for i in range(rows)],
            "ok": [i % 3 == 0 for i in range(rows)],
            "at": pl.Series([START + timedelta(minutes=i % 400) for i in range(rows)], dtype=pl.Datetime("us", "UTC")),
            "raw": [bytes([i % 256]) for i in range(rows)],
        }
    )


EDMS = {
    "name": EdmType.STRING,
    "group": EdmType.STRING,
    "bib": EdmType.INT32,
    "total": EdmType.DOUBLE,
    "ok": EdmType.BOOLEAN,
    "at": EdmType.DATETIME,
    "raw": EdmType.BINARY,
}


def columns_of(frame: pl.DataFrame) -> tuple[Column, ...]:
    def column(name: str) -> Column:
        missing = frame.get_column(name).null_count()
        present = frame.height - missing
        types = ((EDMS[name], present),) if present else ()
        return Column(name, EDMS[name], present, missing, types)

    return tuple(column(name) for name in frame.columns)


def fold(frame: pl.DataFrame, most: int = MOST, batch: int = 100) -> DataProfile:
    taken = ProfileFold(columns_of(frame), most)
    for start in range(0, frame.height, batch):
        taken.add(frame.slice(start, batch))
    return taken.result("data", None, "csv", ())


def text_of(data: DataProfile) -> str:
    document = ProfileDocument((TableProfile("T", None, data, None, 0.0),))
    return written(document.hidden(b""))


FRAME = rows_frame()
WHOLE = text_of(fold(FRAME))


def test_a_profile_counts_what_is_there() -> None:
    data = fold(FRAME)
    assert data.rows == ROWS
    assert not data.complete
    assert MOST - 5 <= data.sample.height <= MOST
    name, bib = data.property("name"), data.property("bib")
    assert name.column.missing == FRAME.get_column("name").null_count()
    assert name.characters == FRAME.get_column("name").str.len_chars().sum()
    assert (name.characters_max, bib.largest) == (5, 996)
    exact = FRAME.get_column("name").n_unique() - 1
    assert name.distinct.estimate() == exact
    few = replace(name.distinct.cut(512), counted=None)
    assert abs(few.estimate() - exact) < 4 * few.relative_error * exact
    assert few.relative_error > 0
    assert bib.distinct.estimate() == FRAME.get_column("bib").n_unique()
    assert bib.distinct.relative_error == 0
    assert data.sample.get_column(POSITION).is_sorted()
    for row in data.sample.iter_rows(named=True):
        original = FRAME.row(row[POSITION], named=True)
        assert {k: row[k] for k in original} == original


@settings(max_examples=examples(25))
@given(cuts=st.lists(st.integers(1, ROWS - 1), unique=True, min_size=1, max_size=9), data=st.data())
def test_parts_merged_in_any_grouping_are_the_whole_byte_for_byte(cuts: list[int], data: st.DataObject) -> None:
    edges = [0, *sorted(cuts), ROWS]
    parts = [fold(FRAME.slice(a, b - a)) for a, b in pairwise(edges)]
    while len(parts) > 1:
        place = data.draw(st.integers(0, len(parts) - 2))
        parts[place : place + 2] = [merge_data(parts[place], parts[place + 1])]
    assert text_of(parts[0]) == WHOLE


def test_ten_parts_with_many_twins_and_a_tiny_sample_are_the_whole() -> None:
    frame = FRAME.select("group", "ok")
    assert frame.n_unique() < 60
    whole = text_of(fold(frame, most=500))
    parts = [fold(frame.slice(i * 300, 300), most=500, batch=70) for i in range(10)]
    assert text_of(reduce(merge_data, parts)) == whole
    right = parts[-1]
    for part in reversed(parts[:-1]):
        right = merge_data(part, right)
    assert text_of(right) == whole


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 59))
def test_a_cut_before_the_end_leaves_the_same_rows(hashes: list[int], most: int, early: int) -> None:
    def rows(values: list[int]) -> pl.DataFrame:
        return pl.DataFrame({"#hash": pl.Series(values, dtype=pl.UInt64)})

    once = bounded(rows(hashes), None, most)
    kept, threshold = bounded(rows(hashes[:early]), None, most)
    rest = [h for h in hashes[early:] if threshold is None or h < threshold]
    twice = bounded(rows([*kept.get_column("#hash").to_list(), *rest]), threshold, most)
    assert twice[1] == once[1]
    assert twice[0].equals(once[0])
    assert once[0].height <= most


@settings(max_examples=examples(15))
@given(
    order=st.permutations(range(30)),
    batch=st.integers(7, 900),
    most=st.integers(1, 400),
    wide=st.integers(1, 2500),
    most_bytes=st.integers(1, 500_000),
)
def test_the_wide_sample_does_not_depend_on_order_or_parts(
    order: list[int], batch: int, most: int, wide: int, most_bytes: int
) -> None:
    def taken(frame: pl.DataFrame, batch: int) -> DataProfile:
        fold = ProfileFold(columns_of(frame), most, wide_rows_max=wide, wide_bytes_max=most_bytes)
        for start in range(0, frame.height, batch):
            fold.add(frame.slice(start, batch))
        return fold.result("data", None, "csv", ())

    one = taken(FRAME, ROWS)
    other = taken(pl.concat([FRAME.slice(100 * i, 100) for i in order]), batch)
    assert (one.wide is None) == (other.wide is None)
    if wide <= most:
        assert one.wide is None
    assert one.sample.get_column("#hash").sort().equals(other.sample.get_column("#hash").sort())
    if one.wide is not None and other.wide is not None:
        assert one.wide.drop(POSITION).sort("#hash").equals(other.wide.drop(POSITION).sort("#hash"))
        assert one.sample.height < one.wide.height <= wide
        assert row_bytes(one.wide.drop(POSITION, "#hash")).sum() <= most_bytes
        assert one.wide.height > 0.9 * min(wide, most_bytes / 140) - 20  # a row takes 112 bytes and some
        assert one.wide.filter(pl.col("#hash") < one.threshold).equals(one.sample)


def test_a_property_that_only_some_parts_have_is_merged_and_hidden() -> None:
    more = FRAME.slice(1500)
    less = FRAME.slice(0, 1500).drop("name", "total")
    merged = merge_data(fold(less), fold(more))
    name = merged.property("name").column
    assert name.present + name.missing == ROWS
    assert name.missing == 1500 + more.get_column("name").null_count()
    hidden = ProfileDocument((TableProfile("T", None, merged, None, 0.0),)).hidden(b"")
    one, other = (ProfileDocument((TableProfile("T", None, fold(f), None, 0.0),)).hidden(b"") for f in (less, more))
    data, first, second = hidden.tables[0].data, one.tables[0].data, other.tables[0].data
    assert data is not None
    assert first is not None
    assert second is not None
    again = merge_data(first, second)
    assert again.hashed == data.hashed
    assert again.sample.select("name", "bib").equals(data.sample.select("name", "bib"))


def test_a_row_is_the_same_row_beside_further_properties() -> None:
    def hashes(frame: pl.DataFrame, seed: int = 0) -> list[int]:
        parts = {c.name: (value_hashes(c, seed), presence(c)) for c in frame.iter_columns()}
        return combined(parts, frame.height).tolist()

    one = pl.DataFrame({"a": ["x"], "b": ["y"]})
    more = pl.DataFrame({"b": ["y"], "c": pl.Series([None], dtype=pl.String), "a": ["x"]})
    assert hashes(one) == hashes(more)
    assert hashes(one) != hashes(pl.DataFrame({"a": ["y"], "b": ["x"]}))
    assert hashes(one) != hashes(one, seed=1)
    empty = pl.DataFrame({"a": pl.Series([None], dtype=pl.String)})
    assert hashes(empty) != hashes(pl.DataFrame({"a": [""]}))


def test_numbers_are_the_same_in_every_numeric_type_and_texts_where_types_disagree() -> None:
    whole = pl.DataFrame({"n": pl.Series([1, 2], dtype=pl.Int32)})
    split = pl.DataFrame({"n": [1.0, 2.5]})
    assert canonical_column(whole, "n", EdmType.INT32).to_list() == ["1", "2"]
    assert canonical_column(split, "n", EdmType.DOUBLE).to_list() == ["1", "2.5"]

    def of(frame: pl.DataFrame, edm: EdmType) -> DataProfile:
        taken = ProfileFold((Column("n", edm, frame.height, 0, ((edm, frame.height),)),), 10)
        taken.add(frame)
        return taken.result("d", None, "csv", ())

    numbers = merge_data(of(whole, EdmType.INT32), of(split, EdmType.DOUBLE))
    assert numbers.property("n").column.edm is EdmType.DOUBLE
    assert numbers.property("n").distinct.estimate() == 3
    mixed = merge_data(of(whole, EdmType.INT32), of(pl.DataFrame({"n": [True]}), EdmType.BOOLEAN))
    assert mixed.property("n").column.edm is EdmType.STRING
    assert mixed.sample.get_column("n").to_list() == ["1", "2", "true"]


def test_profiles_of_different_kinds_or_openness_do_not_merge() -> None:
    data = fold(FRAME.head(10))
    shown = ProfileDocument((TableProfile("T", None, data, None, 0.0),)).hidden(b"", frozenset({"bib"})).tables[0].data
    closed = ProfileDocument((TableProfile("T", None, data, None, 0.0),)).hidden(b"").tables[0].data
    assert shown is not None
    assert closed is not None
    with pytest.raises(ValueError, match="'bib'"):
        merge_data(shown, closed)
    with pytest.raises(ValueError, match="kinds"):
        merge_data(data, replace(data, kind="Order"))


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_a_merged_sketch_is_the_sketch_of_the_union(first: int, second: int) -> None:
    step = 2**64 // 5003

    def sketch(low: int, high: int) -> DistinctSketch:
        return DistinctSketch(tuple(sorted(i * 2903 % 5003 * step for i in range(low, high)))[:512], 512)

    low, high = sorted((first, second))
    merged = sketch(0, high).merge(sketch(low, 5000))
    merged.check()
    assert merged == sketch(0, 5000)
    assert merged.estimate() == pytest.approx(5000, rel=0.02)
    assert merged.merge(DistinctSketch((), 3)) == merged.cut(3) == DistinctSketch(merged.hashes[:3], 3)


def test_a_sketch_cut_from_one_that_held_all_values_counts_them() -> None:
    whole = DistinctSketch(tuple(range(100)), 512)
    cut = whole.cut(10)
    cut.check()
    assert (cut.exact, cut.cut(5).exact, cut.relative_error) == (100, 100, 0.0)
    assert cut.merge(DistinctSketch(())).exact is None


def test_a_data_set_read_in_one_pass_is_the_fold_of_its_rows(tmp_path: Path) -> None:
    lines = [f"a{i % 5},{i}\n" for i in range(500)]
    (tmp_path / "x.csv").write_text("name,n\n" + "".join(lines))
    (dataset,) = open_datasets([str(tmp_path / "x.csv")])
    heard: list[int] = []
    data = profile_dataset(dataset, 50, advance=heard.append)
    assert (data.rows, sum(heard)) == (500, 500)
    assert data.property("n").largest == 499
    assert data.threshold is not None
    assert data.sample.get_column("#hash").max() < data.threshold  # type: ignore[operator]


def test_rows_that_are_kept_do_not_keep_the_texts_of_those_that_go() -> None:
    """60 MB go by in batches of which a sample of 100 rows is drawn: polars would keep the texts of each batch."""
    columns = (Column("text", EdmType.STRING, 15_000, 0, ()),)
    fold = ProfileFold(columns, 100, 0)
    numbers = pl.DataFrame({"n": range(500)})
    before = resident_mb()
    for batch in range(30):
        fold.add(numbers.select((pl.col("n") + 500 * batch).cast(pl.String).str.pad_start(4_000, "x").alias("text")))
    assert fold.result("t", None, "csv", ()).sample.height == 100
    assert resident_mb() - before < 30


def resident_mb() -> float:
    """Memory of this process that no file backs."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1000
