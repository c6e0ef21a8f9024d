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
    half_samples,
    largest_partition,
    partition_size,
    selectivity,
    share_high,
    share_low,
    spread,
    top_share,
    units_of,
)
from pkadvisor.table.edm import EdmType
from tests.design.coverage import KINDS, tallies, zipf
from tests.design.support import frame_of, population_of
from tests.tiers import LONG

WIDE = LONG == "proofs"
PLACES = 41
"""Populations times fractions."""
PROMISED = 0.93


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    found = tallies(60 if WIDE else 6, replicates=400 if WIDE else 150)
    enough = 2000 if WIDE else 5 * PLACES
    for kind in KINDS:
        assert found.stated[kind] >= enough, kind
        assert found.coverage(kind) >= PROMISED, (kind, found.coverage(kind))


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
    assert partition_size(groups, 3, whole, 6)[1].exact
    assert partition_size(groups, 3, whole, 6)[0] == pytest.approx((9 + 1 + 4) / 6)
    assert selectivity(groups == 2, whole)[1].exact
    for found in (
        top_share(groups, 3, None),
        partition_size(groups, 3, None, 60)[1],
        selectivity(groups == 2, None)[1],
    ):
        assert found.low is None
        assert found.high is None
        assert "slice" in found.note


def test_nothing_found_in_a_sample_is_bounded_by_bad_luck() -> None:
    """The rule of three: no hit among n rows still allows 3.7 of n; no two rows of one group allow as many pairs."""
    rows = 1000
    value, held = selectivity(np.zeros(rows, dtype=bool), alone(rows, 1e-6))
    assert value == 0
    assert held.low == 0
    assert held.high == pytest.approx(3.69 / rows, rel=0.01)
    total = 10**6
    value, held = partition_size(np.arange(rows), rows, alone(rows, rows / total), total)
    assert value == 1
    assert held.low == 1
    assert held.high is not None
    assert held.high - 1 == pytest.approx(3.69 * 2 * total / rows**2, rel=0.01)


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
    for estimate in (
        lambda units: top_share(groups, 12, units),
        lambda units: partition_size(groups, 12, units, 10**6)[1],
        lambda units: selectivity(groups == 3, units)[1],
    ):
        rows, keys = estimate(by_rows), estimate(by_keys)
        assert rows.low is not None and rows.high is not None
        assert keys.low is not None and keys.high is not None
        assert keys.high - keys.low > 3 * (rows.high - rows.low)


def test_few_or_very_unequal_units_give_no_interval() -> None:
    few = Units(np.repeat(np.arange(UNITS_MIN // 2), 10), UNITS_MIN // 2, 0.1)
    groups = np.arange(few.rows) % 3
    sizes = [5000, *[5] * 500]
    unequal = Units(np.repeat(np.arange(501), sizes), 501, 0.1)
    for units, of in ((few, groups), (unequal, np.arange(unequal.rows) % 3)):
        for found in (top_share(of, 3, units), partition_size(of, 3, units, 10**6)[1], selectivity(of == 1, units)[1]):
            assert (found.low, found.high) == (None, None)
            assert found.note


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


def test_half_samples_keep_half_and_repeat_by_seed() -> None:
    found = half_samples(101, 30, 4)
    assert found.sum(axis=1).tolist() == [50] * 30
    assert (found == half_samples(101, 30, 4)).all()
    assert (found != half_samples(101, 30, 5)).any()


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
    chosen = half_samples(4000, 400, 1)
    means = (chosen @ values) / 2000
    found = spread(float(values.mean()), means, kept=0.5, fraction=0.0, freedom=3999)
    error = values.std() / np.sqrt(4000)
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
