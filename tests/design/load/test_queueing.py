"""Queueing laws against published measurements, hand-computed values and small exact simulations."""

from __future__ import annotations

import heapq
import math
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pkadvisor.design.load.latency import (
    LogNormal,
    at_each,
    expected_maximum,
    quantile_of_sum,
    rounds,
)
from pkadvisor.design.load.queueing import (
    chained_equilibrium,
    rejected_share,
    retry_equilibrium,
    waiting_mean,
    waiting_quantile,
)
from pkadvisor.limits import default_limits
from pkadvisor.table.accounting import group_cost

LIMITS = default_limits()
SPEEDUP, GROUP = LIMITS.group_transaction_speedup, LIMITS.group_transaction_entities


# --- group transactions -----------------------------------------------------------------------------------------


def test_groups_of_100_are_three_times_as_fast_and_20_have_nearly_all_of_it() -> None:
    """SOSP 2011, section 6 (three times), and flat from about 20 in figures 5 to 7 of a talk of 2010."""
    per_entity = [3.062 * group_cost(k, SPEEDUP, GROUP) / k for k in (1, 10, 20, 50, 100)]
    assert per_entity == pytest.approx([3.06, 1.21, 1.10, 1.04, 1.02], abs=0.006)


@given(st.floats(1, 100), st.floats(0, 100), st.floats(0.1, 300))
def test_a_group_costs_more_than_one_write_and_less_than_all(entities: float, more: float, speedup: float) -> None:
    cost, larger = group_cost(entities, speedup, GROUP), group_cost(entities + more, speedup, GROUP)
    assert 1 <= cost <= entities * (1 + 1e-9)
    assert cost <= larger
    assert group_cost(1, speedup, GROUP) == pytest.approx(1)
    if 1 <= speedup < GROUP:
        assert GROUP / group_cost(GROUP, speedup, GROUP) == pytest.approx(speedup)


# --- throttling and retries -------------------------------------------------------------------------------------


def simulated_retries(offered: float, capacity: float, retries: int, seconds: float, seed: int) -> tuple[float, ...]:
    """(share of attempts rejected, operations lost, attempts per operation, served/s) at a token bucket.

    Poisson operations; waits double from 50 ms and vary, so that the equilibrium is reached within the first second.
    """
    dice = random.Random(seed)
    queue: list[tuple[float, int, bool]] = []
    at = 0.0
    while at < seconds:
        at += dice.expovariate(offered)
        queue.append((at, 0, at > 3))  # those of the first seconds only fill the bucket of retries
    heapq.heapify(queue)
    tokens, last, burst = 0.0, 0.0, capacity * 0.01
    operations = attempts = rejected = lost = served = 0
    while queue:
        at, tried, counted = heapq.heappop(queue)
        tokens, last = min(burst, tokens + capacity * (at - last)), at
        attempts += counted
        operations += counted and tried == 0
        if tokens >= 1:
            tokens -= 1
            served += counted
        else:
            rejected += counted
            if tried < retries:
                wait = 0.05 * 2**tried * dice.uniform(0.5, 1.5)
                heapq.heappush(queue, (at + wait, tried + 1, counted))
            else:
                lost += counted
    return rejected / attempts, lost / operations, attempts / operations, served / (seconds - 3)


def test_retry_equilibrium_of_2600_against_2000() -> None:
    found = retry_equilibrium(2600, 2000, 3)
    assert found.rejected_share == pytest.approx(0.693, abs=0.0005)
    assert found.lost_share == pytest.approx(0.231, abs=0.0005)
    assert found.amplification == pytest.approx(2.51, abs=0.005)
    rejected, lost, amplification, served = simulated_retries(2600, 2000, 3, 23, seed=1)
    assert rejected == pytest.approx(found.rejected_share, abs=0.015)
    assert lost == pytest.approx(found.lost_share, abs=0.015)
    assert amplification == pytest.approx(found.amplification, rel=0.03)
    assert served == pytest.approx(found.goodput, rel=0.03)


@pytest.mark.parametrize(("offered", "retries"), [(2600.0, 0), (5000.0, 1), (2100.0, 5)])
def test_retry_equilibrium_elsewhere(offered: float, retries: int) -> None:
    found = retry_equilibrium(offered, 2000, retries)
    rejected, lost, amplification, _ = simulated_retries(offered, 2000, retries, 23, seed=2)
    assert (rejected, lost) == pytest.approx((found.rejected_share, found.lost_share), abs=0.03)
    assert amplification == pytest.approx(found.amplification, rel=0.06)


@given(st.floats(0, 1e9), st.floats(1e-3, 1e9), st.integers(0, 20))
def test_retries_multiply_requests_and_never_what_is_served(offered: float, capacity: float, retries: int) -> None:
    found, bare = retry_equilibrium(offered, capacity, retries), retry_equilibrium(offered, capacity, 0)
    assert found.goodput == bare.goodput == min(offered, capacity)
    assert found.lost_share == bare.lost_share == rejected_share(offered, capacity)
    assert found.lost_share <= found.rejected_share <= 1
    assert 1 - 1e-9 <= found.amplification <= retries + 1 + 1e-9
    # Attempts that are served make up the goodput.
    served = offered * found.amplification * (1 - found.rejected_share)
    if found.rejected_share < 0.999:
        assert served == pytest.approx(found.goodput, rel=1e-6, abs=1e-9)


def test_token_bucket_without_retries() -> None:
    assert rejected_share(4000, 2000) == 0.5
    assert rejected_share(2000, 2000) == rejected_share(0, 2000) == 0


# --- waiting ----------------------------------------------------------------------------------------------------


def lindley(service: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Waiting times of Poisson arrivals at one server, first come first served, exactly (Lindley 1952)."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, len(service))
    steps = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps[1:])])
    return np.asarray(steps - np.minimum.accumulate(steps))


@pytest.mark.parametrize(("cs2", "tail_within"), [(0.0, 0.08), (1.0, 0.06), (4.0, 0.35)])
def test_waiting_at_80_percent_against_lindley(cs2: float, tail_within: float) -> None:
    """Service of 0.5 ms; the mean is exact, the tail that of heavy traffic, so rough where service varies much."""
    n, dice = 2_000_000, np.random.default_rng(3)
    if cs2 == 0:
        service = np.full(n, 0.5)
    elif cs2 == 1:
        service = dice.exponential(0.5, n)
    else:  # two exponential phases with balanced means
        often = 0.5 * (1 + math.sqrt((cs2 - 1) / (cs2 + 1)))
        means = np.where(dice.random(n) < often, 0.25 / often, 0.25 / (1 - often))
        service = dice.exponential(1.0, n) * means
    waits = lindley(service, rate=0.8 / 0.5, seed=4)
    assert waiting_mean(0.8, 0.5, cs2) == pytest.approx((1 + cs2) / 2 * 2)
    assert waits.mean() == pytest.approx(waiting_mean(0.8, 0.5, cs2), rel=0.05)
    assert np.quantile(waits, 0.99) == pytest.approx(waiting_quantile(0.99, 0.8, 0.5, cs2), rel=tail_within)


@given(st.floats(0, 2), st.floats(0, 2), st.floats(0, 10), st.floats(0.01, 0.999))
def test_waiting_grows_with_load_and_with_variation(load: float, more: float, cs2: float, p: float) -> None:
    for wait in (waiting_mean, lambda *args: waiting_quantile(p, *args)):
        assert 0 <= wait(load, 0.5, cs2) <= wait(load + more, 0.5, cs2)
        assert wait(load, 0.5, cs2) <= wait(load, 0.5, cs2 + more)
    assert waiting_mean(0, 0.5, cs2) == 0
    assert waiting_mean(1, 0.5, cs2) == waiting_quantile(p, 1, 0.5, cs2) == math.inf


# --- round trips --------------------------------------------------------------------------------------------------

# Log-normal, median 10 ms, sigma 0.5: requests sent at once, expected slowest, its 99th percentile (ms, to 0.1).
SLOWEST = [(1, 11.3, 32.0), (4, 17.8, 40.7), (16, 25.1, 50.2), (64, 33.2, 60.6), (100, 35.9, 64.2)]
TRIP = LogNormal(10, 0.5)


@pytest.mark.parametrize(("n", "mean", "p99"), SLOWEST)
def test_slowest_of_n(n: int, mean: float, p99: float) -> None:
    assert expected_maximum(TRIP, n) == pytest.approx(mean, abs=0.05)
    assert TRIP.quantile(at_each(0.99, n)) == pytest.approx(p99, abs=0.1)
    slowest = 10 * np.exp(0.5 * np.random.default_rng(n).standard_normal((60_000, n)).max(axis=1))
    assert expected_maximum(TRIP, n) == pytest.approx(slowest.mean(), rel=0.01)
    assert TRIP.quantile(at_each(0.5, n)) == pytest.approx(np.median(slowest), rel=0.01)
    if n > 1:  # the shortcut that is 8 to 15 % low
        assert TRIP.quantile(n / (n + 1)) < 0.95 * expected_maximum(TRIP, n)


@given(st.floats(0.01, 1e3), st.floats(0, 1.5), st.floats(1, 1e5), st.floats(1, 10))
def test_more_requests_are_never_faster(median: float, sigma: float, n: float, times: float) -> None:
    trip = LogNormal(median, sigma)
    assert expected_maximum(trip, n) <= expected_maximum(trip, n * times) * (1 + 1e-7)
    assert trip.quantile(at_each(0.99, n)) <= trip.quantile(at_each(0.99, n * times))
    assert expected_maximum(trip, 1) == pytest.approx(trip.mean, rel=1e-6)


def test_one_slow_server_in_a_hundred_is_met_by_most_fan_outs() -> None:
    """Dean and Barroso (2013): with 1 % slow answers, 63 % of requests to 100 servers are slow."""
    assert at_each(1 - 0.634, 100) == pytest.approx(0.99, abs=0.0001)


def test_a_log_normal_through_two_quantiles() -> None:
    trip = LogNormal.through(3.5, 11.3)
    assert (trip.quantile(0.5), trip.quantile(0.99)) == pytest.approx((3.5, 11.3))
    assert trip.mean == pytest.approx(4.0, abs=0.05)
    assert LogNormal.through(5, 5).quantile(0.99) == 5
    with pytest.raises(ValueError, match="positive median"):
        LogNormal(0, 1)


@pytest.mark.parametrize(
    "trips", [((1.0, TRIP),), ((2.0, TRIP),), ((10.0, TRIP),), ((1.0, TRIP), (4.0, LogNormal(3, 0.8)))]
)
@pytest.mark.parametrize(("p", "within"), [(0.5, 0.01), (0.99, 0.015), (0.9999, 0.08)])
def test_sum_of_round_trips_against_simulation(
    trips: tuple[tuple[float, LogNormal], ...], p: float, within: float
) -> None:
    dice = np.random.default_rng(8)
    total = np.zeros(1_000_000)
    for count, trip in trips:
        for _ in range(int(count)):
            total += trip.median * np.exp(trip.sigma * dice.standard_normal(len(total)))
    assert quantile_of_sum(p, trips) == pytest.approx(np.quantile(total, p), rel=within)


@given(st.floats(0.01, 1.3), st.floats(0.01, 10), st.floats(0, 100), st.floats(0, 100), st.floats(0.5, 0.999999))
@example(sigma=0.6, page=0.5, pages=0.0, more=1.0, p=0.99999)
@example(sigma=0.625, page=5.0, pages=0.0, more=0.0078125, p=0.5)
@example(sigma=1.0, page=1.0, pages=5e-324, more=0.0, p=0.5)
def test_a_longer_chain_is_never_faster(sigma: float, page: float, pages: float, more: float, p: float) -> None:
    first, next_page = LogNormal(1, sigma), LogNormal(page, sigma)
    shorter = quantile_of_sum(p, ((1.0, first), (pages, next_page)))
    assert quantile_of_sum(p, ((1.0, first), (pages + more, next_page))) >= shorter * (1 - 1e-9)
    assert quantile_of_sum(p, ((1.0, first),)) == pytest.approx(first.quantile(p), rel=1e-6)


def test_a_chain_of_constants_is_their_sum() -> None:
    assert quantile_of_sum(0.99, ((3.0, LogNormal(2, 0)), (1.0, LogNormal(5, 0)))) == 11


def test_rounds_of_a_client_that_keeps_some_in_flight() -> None:
    assert [rounds(n, 64) for n in (0.5, 1, 64, 65, 128, 129)] == [1, 1, 1, 2, 2, 3]


@given(st.floats(100, 1e6), st.integers(0, 6))
def test_chains_of_one_page_settle_as_single_operations(offered: float, retries: int) -> None:
    chained, plain = chained_equilibrium([(offered, 1.0)], 2000, retries), retry_equilibrium(offered, 2000, retries)
    assert chained.rejected_share == pytest.approx(plain.rejected_share, rel=1e-6, abs=1e-9)
    assert chained.amplification == pytest.approx(plain.amplification, rel=1e-6)
    assert (chained.lost_share, chained.goodput) == pytest.approx((plain.lost_share, plain.goodput))


@pytest.mark.parametrize(("pages", "retries"), [(9, 0), (9, 3), (3, 3), (2, 1)])
def test_chains_of_pages_settle_where_a_simulation_does(pages: int, retries: int) -> None:
    """Fixed point by counting: each page comes through with 1 - p^(K+1), the next is asked for only then."""
    offered, capacity, dice = 9_800.0, 2_000.0, random.Random(7)
    found = chained_equilibrium([(offered, float(pages))], capacity, retries)
    requests, attempts, served = 40_000, 0, 0
    for _ in range(requests):
        for _ in range(pages):
            for _tried in range(retries + 1):
                attempts += 1
                if dice.random() >= found.rejected_share:
                    served += 1
                    break
            else:
                break
    assert served / (requests * pages) == pytest.approx(capacity / offered, rel=0.03)
    assert 1 - served / attempts == pytest.approx(found.rejected_share, rel=0.03)


def test_longer_chains_are_turned_away_less() -> None:
    shares = [chained_equilibrium([(9_800.0, n)], 2_000.0, 3).rejected_share for n in (1.0, 1.5, 2.0, 9.0, 40.0)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1] + 0.05
