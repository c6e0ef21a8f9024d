"""Intervals hold the truth as often as they say, and are silent where nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.samples.intervals import (
    UNITS_MIN,
    Units,
    largest_partition,
    share_high,
    share_low,
    spread,
    top_share,
    units_of,
)
from pkadvisor.table.edm import EdmType
from tests.design.coverage import tallies, zipf
from tests.design.support import frame_of, population_of
from tests.tiers import LONG

WIDE = LONG == "proofs"
PLACES = 41
"""Populations times fractions."""
PROMISED = 0.93


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    tally = tallies(60 if WIDE else 6)
    assert tally.stated >= (2000 if WIDE else 5 * PLACES)
    assert tally.coverage >= PROMISED, tally.coverage


def alone(rows: int, fraction: float) -> Units:
    return Units(np.arange(rows, dtype=np.int64), rows, fraction)


def test_bounds_of_a_share_are_those_of_clopper_and_pearson() -> None:
    exact = stats.binomtest(7, 50).proportion_ci(0.95, method="exact")
    assert float(share_low(7, 50, 0.025)) == pytest.approx(exact.low)
    assert float(share_high(7, 50, 0.025)) == pytest.approx(exact.high)
    assert float(share_low(0, 50, 0.025)) == 0
    assert float(share_high(50, 50, 0.025)) == 1


def test_what_was_read_whole_has_no_width_and_a_slice_has_no_interval() -> None:
    groups = np.array([0, 0, 0, 1, 2, 2])
    whole = alone(6, 1.0)
    assert top_share(groups, 3, whole).exact
    assert top_share(groups, 3, whole).low == 0.5
    of_slice = top_share(groups, 3, None)
    assert of_slice.low is None and of_slice.high is None
    assert "slice" in of_slice.note


def test_a_flat_population_is_not_flattered_by_the_luckiest_group() -> None:
    """Of 500 equal groups the largest in a sample looks half as large again; the interval still reaches the truth."""
    rng = np.random.default_rng(3)
    reached = 0
    for trial in range(60):
        groups = rng.integers(0, 500, 5000)
        found = top_share(groups, 500, alone(5000, 0.01), seed=trial)
        assert found.low is not None
        assert np.bincount(groups).max() / 5000 > 1.4 / 500
        reached += found.low <= 1 / 500
    assert reached >= 57


def test_rows_of_one_unit_count_once() -> None:
    """The same rows drawn as 200 keys of 50 tell less than as 10,000 rows."""
    rng = np.random.default_rng(2)
    tenant = np.repeat(np.arange(200), 50)
    groups = rng.choice(12, 200, p=zipf(12, 0.5))[tenant]
    by_rows, by_keys = alone(10_000, 0.01), Units(tenant, 200, 0.01)
    assert by_keys.effective == pytest.approx(200)
    rows, keys = top_share(groups, 12, by_rows), top_share(groups, 12, by_keys)
    assert rows.low is not None and rows.high is not None
    assert keys.low is not None and keys.high is not None
    assert keys.high - keys.low > 3 * (rows.high - rows.low)


def test_few_or_very_unequal_units_give_no_interval() -> None:
    few = Units(np.repeat(np.arange(UNITS_MIN // 2), 10), UNITS_MIN // 2, 0.1)
    groups = np.arange(few.rows) % 3
    sizes = [5000, *[5] * 500]
    unequal = Units(np.repeat(np.arange(501), sizes), 501, 0.1)
    for units, of in ((few, groups), (unequal, np.arange(unequal.rows) % 3)):
        open_ended = top_share(of, 3, units)
        assert (open_ended.low, open_ended.high) == (None, None)
        assert open_ended.note


def test_a_group_of_few_keys_has_no_bound_above() -> None:
    """Devices belong to tenants: a tenant that was not drawn may hold a busier device."""
    tenant = np.repeat(np.arange(300), 20)
    device = tenant * 2 + np.tile(np.arange(20) % 5 == 0, 300)
    found = top_share(device, 600, Units(tenant, 300, 0.05))
    assert found.high is None
    assert found.low is not None
    assert "not drawn" in found.note


def sampled(sampling: str, *, drawn_from: int | None = None, **options: object) -> Population:
    types = {"tenant": EdmType.STRING, "day": EdmType.INT32}
    rows = {"tenant": [f"t{i // 4}" for i in range(800)], "day": [i * 7 % 10 for i in range(800)]}
    return Population(
        frame_of(rows, types),
        types,
        total=8000,
        sampling=sampling,
        drawn_from=drawn_from,
        **options,  # type: ignore[arg-type]
    )


def test_the_unit_is_what_was_drawn() -> None:
    rows = units_of(sampled("random-rows"))
    assert rows is not None
    assert (rows.count, rows.fraction) == (800, 0.1)
    keys = units_of(sampled("random-keys", sampled_by=("tenant",)))
    assert keys is not None
    assert (keys.count, keys.fraction) == (200, 0.1)
    assert len(set(keys.ids[:4].tolist())) == 1
    assert units_of(sampled("slice", arrival="day")) is None
    whole = units_of(population_of({"a": [1, 2]}, {"a": EdmType.INT32}))
    assert whole is not None
    assert whole.fraction == 1


def test_equal_rows_were_drawn_together_where_the_hash_of_the_row_draws() -> None:
    types = {"a": EdmType.INT32}
    found = units_of(Population(frame_of({"a": [5, 3, 5, 9]}, types), types, total=40, drawn_from=40, complete=False))
    assert found is not None
    assert found.ids.tolist() == [0, 1, 0, 2]


def test_a_key_that_was_drawn_whole_bounds_the_largest_from_below_only() -> None:
    population = sampled("random-keys", sampled_by=("tenant",))
    found = largest_partition(population, (("p", "tenant"),))
    assert found.low == pytest.approx(4 / 8000)
    assert found.high is None
    assert "1.5%" in found.note
    crossing = largest_partition(population, (("p", "day"),))
    assert crossing.high is not None


@example(0.5, [1.0, 1.0, 2.0], 0.5, 0.0, 5.84676416357969e-251)
@given(
    st.floats(0.5, 1e6),
    st.lists(st.floats(0.5, 1e6), min_size=3, max_size=40),
    st.floats(0.05, 0.5),
    st.floats(0, 1),
    st.floats(0, 100),
)
def test_a_spread_holds_its_value_and_widens_with_what_is_open(
    value: float, replicates: list[float], kept: float, fraction: float, step: float
) -> None:
    def width(of: float, one: float) -> float:
        found = spread(value, np.array(replicates), kept=kept, fraction=of, freedom=500, step=one)
        assert found.low is not None and found.high is not None
        assert found.low <= value * (1 + 1e-9)
        assert found.high >= value * (1 - 1e-9)
        return found.high - found.low

    assert width(1.0, step) == 0
    assert width(fraction, step) >= width(fraction, 0.0) * (1 - 1e-6) - 1e-6


def test_a_spread_is_that_of_a_mean() -> None:
    """Half-samples of a mean give its textbook interval."""
    rng = np.random.default_rng(0)
    values = rng.exponential(10, 4000)
    means = np.array([rng.choice(values, 2000, replace=False).mean() for _ in range(400)])
    found = spread(float(values.mean()), means, kept=0.5, fraction=0.0, freedom=3999)
    error = values.std() / np.sqrt(4000)
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
