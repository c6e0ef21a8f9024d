"""Hashes of values and rows: the same one by one as side by side, fixed for good, and spread."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.observe.data.sketches import MULTIPLIER, SLICE, WORDS_MAX, combined, mixed, presence, value_hashes

TEXTS = st.one_of(st.text(max_size=30), st.text(alphabet="ab€", min_size=100, max_size=150), st.just("x" * 128))
ALL = 2**64 - 1


def mix(number: int) -> int:
    number ^= number >> 32
    number = number * MULTIPLIER & ALL
    number ^= number >> 32
    number = number * MULTIPLIER & ALL
    return number ^ number >> 32


def plain(value: str | int, seed: int) -> int:
    """The hash as the module's text defines it, one value at a time."""
    first, second = (xxhash.xxh3_64_intdigest(word, seed) for word in (b"first", b"second"))
    if isinstance(value, int):
        number = (value + first) & ALL
    else:
        raw = value.encode()
        number = mix((len(raw) + first) & ALL)
        if len(raw) > 8 * WORDS_MAX:
            number = xxhash.xxh3_64_intdigest(raw, first)
        else:
            for at in range(0, len(raw), 8):
                number = mix((number + int.from_bytes(raw[at : at + 8], "little")) & ALL)
    return mix(mix(number) ^ second)


@given(st.lists(TEXTS, min_size=1, max_size=20), st.integers(0, ALL))
def test_texts_side_by_side_are_hashed_as_one_by_one(texts: list[str], seed: int) -> None:
    assert value_hashes(pl.Series(texts), seed).tolist() == [plain(text, seed) for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers(0, ALL))
def test_numbers_are_hashed_by_what_they_are(numbers: list[int], seed: int) -> None:
    assert value_hashes(pl.Series(numbers, dtype=pl.Int64), seed).tolist() == [plain(n, seed) for n in numbers]
    small = [n % 1000 for n in numbers]
    for dtype in (pl.Int32, pl.Int64, pl.Float64):
        assert value_hashes(pl.Series(small, dtype=dtype), seed).tolist() == [plain(n, seed) for n in small]


def row_hashes(frame: pl.DataFrame) -> np.ndarray:
    return combined({c.name: (value_hashes(c, 0), presence(c)) for c in frame.iter_columns()}, frame.height)


def test_hashes_are_the_same_for_good() -> None:
    moment = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    frame = pl.DataFrame({"a": ["tenant-00001", None], "b": [7, 8], "c": [1.5, None], "d": [moment, moment]})
    assert value_hashes(frame.get_column("a"))[0] == plain("tenant-00001", 0)
    assert [hex(h) for h in row_hashes(frame).tolist()] == PINNED


PINNED = ["0x95346fd4b9653c9b", "0xf8025a7a9e5f2a56"]


def test_a_slice_ends_where_it_ends() -> None:
    rows = 2 * SLICE + 5
    frame = pl.DataFrame({"a": [f"dev-{i % 977:06d}" for i in range(rows)], "n": pl.int_range(rows, eager=True)})
    whole = row_hashes(frame)
    assert whole[SLICE - 2 : SLICE + 2].tolist() == row_hashes(frame[SLICE - 2 : SLICE + 2]).tolist()
    assert whole[-1] == row_hashes(frame[-1])[0]
    assert len(np.unique(value_hashes(frame.get_column("a")))) == 977
    assert len(row_hashes(frame[:0])) == 0


def test_no_numbers_become_one_and_near_ones_are_spread() -> None:
    numbers = np.arange(1 << 16, dtype=np.uint64)
    for given_numbers in (numbers, numbers << np.uint64(48), numbers * np.uint64(1000)):
        out = mixed(given_numbers)
        assert len(np.unique(out)) == len(out)
        for shift in (0, 24, 48):
            held = np.bincount((out >> np.uint64(shift) & np.uint64(255)).astype(np.int64), minlength=256)
            # 255 degrees of freedom: a mean of 255 and a deviation of 22.6
            assert float(((held - 256) ** 2 / 256).sum()) == pytest.approx(255, abs=6 * 22.6)


def test_special_doubles_are_one_value_each() -> None:
    one, other, nan, also_nan, infinite = value_hashes(
        pl.Series([0.0, -0.0, float("nan"), -float("nan"), float("inf")])
    )
    assert one == other
    assert nan == also_nan
    assert len({int(one), int(nan), int(infinite)}) == 3
