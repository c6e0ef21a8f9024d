"""Distinct counts from hashes of all rows: exact while small, within 2 % when not, the same however rows are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.data.sketches import DistinctSketch, K, sketched

rows = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["", "a", "b", None])), max_size=80)
SCHEMA = {"n": pl.Int64, "t": pl.String}
SETS = (("n",), ("t",), ("n", "t"), ())


def frame(found: list[tuple[int, str | None]]) -> pl.DataFrame:
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def sketches(*batches: pl.DataFrame, k: int = K) -> tuple[DistinctSketch, ...]:
    every = sketched(batches, {name: pl.col(name) for name in SCHEMA}, SETS, k)
    for found in every:
        found.check()
    return every


@given(rows)
def test_few_values_are_counted_exactly(found: list[tuple[int, str | None]]) -> None:
    numbers, texts, both, none = (s.estimate() for s in sketches(frame(found)))
    assert numbers == len({n for n, _ in found})
    assert texts == len({t for _, t in found})
    assert both == len(set(found))
    assert none == min(1, len(found))


@given(rows, rows, st.integers(3, 40))
def test_parts_merge_to_the_whole_in_any_order(
    first: list[tuple[int, str | None]], second: list[tuple[int, str | None]], k: int
) -> None:
    one, two = frame(first), frame(second)
    whole = sketches(pl.concat([one, two]), k=k)
    assert tuple(a.merge(b) for a, b in zip(sketches(one, k=k), sketches(two, k=k), strict=True)) == whole
    assert tuple(b.merge(a) for a, b in zip(sketches(one, k=k), sketches(two, k=k), strict=True)) == whole
    assert sketches(two, one, k=k) == whole
    assert sketches(pl.concat([two, one]).reverse(), k=k) == whole


def test_many_values_are_within_two_percent_and_intervals_hold() -> None:
    held = 0
    for start in range(8):
        values = np.arange(start * 10**7, start * 10**7 + 150_000)
        columns = {"v": pl.col("v"), "t": pl.format("d{}", pl.col("v"))}
        for found in sketched([pl.DataFrame({"v": values})], columns, [("v",), ("v", "t"), ("t",)]):
            assert found.estimate() == pytest.approx(150_000, rel=0.02)
            assert found.relative_error == pytest.approx(0.0055, abs=0.0001)
            low, high = found.interval()
            held += low <= 150_000 <= high
    assert held >= 0.9 * 24


def test_pairs_are_not_taken_for_other_pairs() -> None:
    """(1, 2) and (2, 1) are two, and equal values in both columns do not cancel."""
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": [2, 1, 3, 4]})
    (found,) = sketched([frame], {"a": pl.col("a"), "b": pl.col("b")}, [("a", "b")])
    assert found.estimate() == 4


def test_one_pass_over_a_data_set_counts_columns_sets_and_made_columns(tmp_path: Path) -> None:
    lines = [f"{i % 7},{i % 11},2026-01-{1 + i % 28:02}T00:00:00Z" for i in range(900)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,at", *lines]) + "\n")
    (dataset,) = open_datasets([str(tmp_path / "d.csv")])
    columns = {"a": pl.col("a"), "b": pl.col("b"), "week": (pl.col("at").dt.day() - 1) // 7}
    found = sketched(dataset.batches(), columns, [("a",), ("a", "b"), ("week",)])
    assert [s.estimate() for s in found] == [7, 77, 4]
