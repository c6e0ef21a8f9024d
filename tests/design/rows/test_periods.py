"""Numbers of periods: of columns and of bounds, which polars and NumPy count each in its own way."""

import numpy as np
import polars as pl
import pytest

from pkadvisor.design.rows.values import MOMENT_LEAST, MOMENT_MOST, period_index, period_of_moments


@pytest.mark.parametrize("unit", ["year", "month", "week", "day", "hour", "minute", "second"])
def test_a_bound_lies_in_the_period_of_a_column_with_the_same_time(unit: str) -> None:
    rng = np.random.default_rng(0)
    wide, near = rng.integers(int(MOMENT_LEAST), int(MOMENT_MOST), 2_000), rng.integers(-(10**14), 10**14, 2_000)
    moments = np.concatenate([wide, near, [-1_000_001, -1, 0, 1, int(MOMENT_LEAST), int(MOMENT_MOST)]])
    column = pl.Series(moments).cast(pl.Datetime("us", "UTC"))
    assert period_of_moments(moments.astype(float), unit).tolist() == period_index(column, unit).tolist()


def test_a_range_without_ends_reaches_over_all_moments() -> None:
    ends = period_of_moments(np.array([-np.inf, np.inf]), "year")
    assert ends.tolist() == [68, 9892]
    assert period_of_moments(np.array([np.inf]), "day", open_end=86_400e6).tolist() == [1]
