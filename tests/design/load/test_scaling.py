"""Skew, append-only keys and warm-up: the published table, and splits that buy nothing or something."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.load.scaling import (
    harmonic,
    rate_max,
    usable_partitions,
    warm_up_s,
    zipf_top_share,
)
from pkadvisor.limits import default_limits

LIMITS = default_limits()
UNBOUNDED = replace(LIMITS, account_requests_per_s=1e12)

# (Zipf exponent, keys, requests/s at 2,000 per partition before the account's 20,000): derived from the targets.
SKEW = [
    (0.5, 100, 37_179),
    (0.8, 100, 16_269),
    (0.8, 10_000, 54_221),
    (0.99, 100, 10_589),
    (0.99, 10_000, 20_449),
    (0.99, 1_000_000, 30_784),
    (1.2, 100, 7_206),
    (1.2, 10_000, 9_598),
    (1.2, 1_000_000, 10_552),
]


@pytest.mark.parametrize(("exponent", "keys", "requests"), SKEW)
def test_skew_table(exponent: float, keys: int, requests: float) -> None:
    top = zipf_top_share(exponent, keys)
    assert rate_max(top, UNBOUNDED) == pytest.approx(requests, abs=1)
    assert rate_max(top, LIMITS) == pytest.approx(min(20_000, requests), abs=1)


def test_one_key_is_one_partition_and_flat_keys_are_all_usable() -> None:
    assert usable_partitions(zipf_top_share(1.2, 1)) == 1
    assert usable_partitions(zipf_top_share(0, 5000)) == pytest.approx(5000)
    # Over 32 tenants Zipf 1.2 leaves about three.
    assert usable_partitions(zipf_top_share(1.2, 32)) == pytest.approx(3.1, abs=0.1)


@given(st.floats(0, 3) | st.just(1.0), st.integers(1, 20_000))
def test_harmonic_equals_the_sum(exponent: float, n: int) -> None:
    assert harmonic(n, exponent) == pytest.approx(sum(i**-exponent for i in range(1, n + 1)), rel=1e-9)


@given(st.floats(0, 3), st.integers(1, 10**7), st.integers(1, 10**7), st.floats(0, 1))
def test_more_skew_or_fewer_keys_never_raise_the_limit(exponent: float, keys: int, others: int, more: float) -> None:
    few, many = sorted((keys, others))
    assert usable_partitions(zipf_top_share(exponent, few)) <= usable_partitions(zipf_top_share(exponent, many)) + 1e-9
    assert rate_max(zipf_top_share(exponent + more, many), UNBOUNDED) <= rate_max(
        zipf_top_share(exponent, many), UNBOUNDED
    ) * (1 + 1e-9)


def test_warm_up_of_buckets() -> None:
    # 300 s of load, 15 s a pass with 4 splits, 10 s for the last move.
    assert [warm_up_s(b, LIMITS) for b in (1, 2, 3, 8, 16, 33, 64)] == [0, 325, 340, 355, 370, 430, 550]
    assert warm_up_s(64, replace(LIMITS, splits_per_pass=1000)) == 300 + 6 * 15 + 10
    with pytest.raises(ValueError, match="at least one"):
        warm_up_s(0, LIMITS)


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_more_buckets_never_warm_up_faster(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert warm_up_s(few, LIMITS) <= warm_up_s(many, LIMITS)
