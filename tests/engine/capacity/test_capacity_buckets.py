"""Token buckets, fair shares and queues: M1, the fair part of M2, and first-come queues against Lindley's formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pkadvisor.engine.capacity.buckets import SECOND_NS, UNITS, FairBucket, Queue, TokenBucket, fair_shares, refilled

GAPS = st.lists(st.tuples(st.integers(0, 40_000_000), st.integers(1, 30_000)), min_size=1, max_size=60)


@given(GAPS, st.integers(1_000, 3_000_000), st.integers(0, 100_000_000))
def test_m1_no_window_admits_more_than_burst_and_rate(
    arrivals: list[tuple[int, int]], rate: int, burst_ns: int
) -> None:
    """M1 in all windows, with whole numbers: admitted ≤ b + r·Δ, and one debt of an operation dearer than the burst."""
    bucket = TokenBucket(rate, burst_ns)
    at, passed = 0, []
    for gap, cost in arrivals:
        at += gap
        level = refilled(bucket.level, at - bucket.at_ns, rate, bucket.burst)
        passes = bucket.has(cost, at)
        assert passes == (level >= min(cost * UNITS, bucket.burst))  # no rejection while tokens suffice
        if passes:
            bucket.take(cost)
            passed.append((at, cost * UNITS))
        bucket.check()
    for first in range(len(passed)):
        total = 0
        for moment, cost in passed[first:]:
            total += cost
            debt = max(0, cost - bucket.burst)  # of the last one
            assert total - debt <= bucket.burst + rate * (moment - passed[first][0])


def test_m1_a_steady_stream_at_the_rate_is_never_turned_away_and_one_above_it_is() -> None:
    """Exactly: a bucket of 2,000/s without saving takes one entity every 500,000 ns, and not one every 499,999 ns."""
    for gap, refused in ((500_000, 0), (499_999, 1)):
        bucket, turned = TokenBucket(2_000_000, 500_000), 0
        for i in range(1_000_000 // 500):
            if bucket.has(1000, i * gap):
                bucket.take(1000)
            else:
                turned += 1
        assert (turned > 0) == bool(refused)


def test_time_that_goes_back_gives_no_tokens() -> None:
    bucket = TokenBucket(1_000_000, SECOND_NS)
    bucket.advance(SECOND_NS)
    bucket.take(1_000_000)
    bucket.advance(0)
    assert bucket.level == 0
    bucket.advance(SECOND_NS)
    assert bucket.level == 0
    bucket.advance(SECOND_NS + 1)
    assert bucket.level == 1_000_000


def test_the_levels_of_the_largest_targets_fit_into_64_bits() -> None:
    assert TokenBucket(20_000_000, 400 * SECOND_NS).burst < 2**63
    assert TokenBucket(60_000_000 * 1000 // 1024, SECOND_NS).burst < 2**63


# ------------------------------------------------------------------------------------------------ shares


@given(st.lists(st.integers(0, 10_000), max_size=12), st.integers(0, 60_000))
@example([1, 1], 1)
def test_fair_shares_fill_like_water(wants: list[int], amount: int) -> None:
    shares = fair_shares(wants, amount)
    assert sum(shares) == min(amount, sum(wants))
    assert all(0 <= share <= want for share, want in zip(shares, wants, strict=True))
    short = [share for share, want in zip(shares, wants, strict=True) if share < want]
    if short:
        assert max(short) - min(short) <= 1
        assert all(share <= min(short) + 1 for share in shares)  # a unit is not divided
        assert all(share == want for share, want in zip(shares, wants, strict=True) if want < min(short))


def test_fair_shares_by_hand() -> None:
    assert fair_shares([100, 900, 5000], 2000) == [100, 900, 1000]
    assert fair_shares([10, 10, 10], 10) == [4, 3, 3]
    assert fair_shares([], 5) == []


@given(st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(1, 50)), max_size=80), st.integers(1, 5))
def test_m2_a_small_account_is_never_turned_away_because_of_its_neighbours(
    greedy: list[tuple[int, int]], neighbours: int
) -> None:
    """M2: at no more than an equal part of the rate, however the others behave."""
    rate, burst_ns = 10_000_000, SECOND_NS // 100
    bucket = FairBucket(rate, burst_ns)
    gap = 1000 * UNITS * (neighbours + 1) // rate + 1  # one entity in its equal part of the time
    events = []
    at = 0
    for i, (pause, cost) in enumerate(greedy):
        at += pause
        events.append((at, f"greedy {i % neighbours}", cost * 1000))
    events += [(moment, "small", 1000) for moment in range(0, at + 1, gap)]
    for name in range(neighbours):
        bucket.has(f"greedy {name}", 0, 0)
    for moment, name, cost in sorted(events):
        if bucket.has(name, cost, moment):
            bucket.take(name, cost)
        else:
            assert name != "small"
        bucket.check()


def test_m2_what_accounts_get_in_the_long_run_is_the_water_level() -> None:
    """Offered 100, 900 and 5,000 per second to a server of 2,000: 100, 900 and 1,000 get through."""
    bucket = FairBucket(2_000_000, SECOND_NS // 50)
    seconds, passed = 20, {"a": 0, "b": 0, "c": 0}
    events = sorted(
        (i * SECOND_NS // rate, name)
        for name, rate in (("a", 100), ("b", 900), ("c", 5000))
        for i in range(rate * seconds)
    )
    for moment, name in events:
        if bucket.has(name, 1000, moment):
            bucket.take(name, 1000)
            passed[name] += 1
    assert passed["a"] == 100 * seconds
    assert passed["b"] == 900 * seconds
    assert passed["c"] == pytest.approx(1000 * seconds, rel=0.01)


@given(GAPS)
def test_one_account_alone_has_a_plain_bucket(arrivals: list[tuple[int, int]]) -> None:
    fair, plain, at = FairBucket(900_000, 20_000_000), TokenBucket(900_000, 20_000_000), 0
    for gap, cost in arrivals:
        at += gap
        passes = plain.has(cost, at)
        assert fair.has("only", cost, at) == passes
        if passes:
            fair.take("only", cost)
            plain.take(cost)
        assert fair.levels["only"] == plain.level


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5_000_000), st.integers(1, 9_000)), max_size=60))
def test_m1_accounts_together_stay_within_the_rate_and_their_bursts(
    arrivals: list[tuple[str, int, int]],
) -> None:
    bucket, at, passed = FairBucket(700_000, 10_000_000), 0, []
    for name, gap, cost in arrivals:
        at += gap
        if bucket.has(name, cost, at):
            bucket.take(name, cost)
            passed.append((at, cost * UNITS))
        bucket.check()
    for first in range(len(passed)):
        total = 0
        for moment, cost in passed[first:]:
            total += cost
            debts = 3 * max(0, 9_000 * UNITS - bucket.burst)
            assert total <= 3 * bucket.burst + debts + bucket.rate * (moment - passed[first][0])


def test_what_cannot_be_divided_is_kept_for_the_next_division() -> None:
    """Three accounts in debt at 1 milli-entity per second and ns: nothing of 1,000 steps of 1 ns is lost."""
    bucket = FairBucket(1, 100)
    for name in "abc":
        bucket.has(name, 0, 0)
        bucket.take(name, 1)
    before = sum(bucket.levels.values())
    for moment in range(1, 1001):
        bucket.advance(moment)
        bucket.check()
    assert sum(bucket.levels.values()) + bucket.odd == before + 1000


# ------------------------------------------------------------------------------------------------ queues


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_500)), min_size=1, max_size=100))
def test_a_queue_is_lindleys_scan_integer_for_integer(jobs: list[tuple[int, int]]) -> None:
    """D_n = C_n + max over k ≤ n of (A_k − C_(k−1)), as arrays."""
    arrivals = np.cumsum([gap for gap, _ in jobs], dtype=np.int64)
    services = np.array([service for _, service in jobs], dtype=np.int64)
    done = np.cumsum(services)
    expected = np.maximum.accumulate(arrivals - (done - services)) + done
    queue = Queue()
    assert [queue.serve(int(a), int(s)) for a, s in zip(arrivals, services, strict=True)] == expected.tolist()
    assert queue.busy_ns == done[-1]
    assert queue.served == len(jobs)
