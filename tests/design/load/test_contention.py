"""Updates of one entity under If-Match: the limit that no key lifts, and the sharded counter that does."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.load.contention import COMFORTABLE_LOAD, attempts_at_most, contention, sharded_counter
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Basis

LIMITS = default_limits()
CYCLE_S = 0.012
"""A read of 4 ms and a write of 8 ms in the mean."""
RATES = st.floats(0, 5000)


def simulated(rate_per_s: float, seconds: float, seed: int) -> tuple[float, float]:
    """(commits per s, attempts per commit) of Poisson updates on one entity, each tried until it commits.

    An attempt reads, and a cycle later writes; it fails when somebody else committed between the two.
    """
    import heapq

    dice = random.Random(seed)
    at, pending = 0.0, []
    while at < seconds:
        at += dice.expovariate(rate_per_s)
        pending.append((at + CYCLE_S, at))
    heapq.heapify(pending)
    last, commits, attempts = -1.0, 0, 0
    while pending:
        writes, read = heapq.heappop(pending)
        if writes > seconds:
            break
        attempts += 1
        if last > read:
            # Try again; waits differ, or two that failed together would fail together for ever.
            again = writes + dice.expovariate(1 / CYCLE_S)
            heapq.heappush(pending, (again + CYCLE_S, again))
        else:
            last, commits = writes, commits + 1
    return commits / seconds, attempts / commits


def test_the_limit_is_one_commit_per_read_and_write() -> None:
    found = contention(1.0, LIMITS)
    assert found.cycle_ms == pytest.approx(12.0, abs=0.05)
    assert found.commits_per_s_max == pytest.approx(83, abs=0.5)


def test_a_simulation_agrees_below_the_limit_and_stays_below_it_above() -> None:
    for rate in (10.0, 25.0, 40.0):
        commits, attempts = simulated(rate, 400, seed=3)
        predicted = contention(rate, LIMITS).attempts_per_commit
        assert predicted is not None
        assert commits == pytest.approx(rate, rel=0.05)
        load = contention(rate, LIMITS).load
        assert predicted * 0.97 <= attempts <= attempts_at_most(load) * 1.10
    for rate in (200.0, 780.0):
        commits, _ = simulated(rate, 6, seed=4)
        assert commits <= contention(rate, LIMITS).commits_per_s_max


def test_780_updates_a_second_of_one_counter() -> None:
    """The branch total of TPC-B: no key is part of the question, so no key helps."""
    one = contention(780, LIMITS)
    assert (one.feasible, one.binds, one.attempts_per_commit) == (False, "entity", None)
    sharded = sharded_counter(780, LIMITS, reads_per_s=10)
    assert sharded.feasible and sharded.load <= COMFORTABLE_LOAD
    assert sharded.shards == 19  # 780 x 0.012 / 0.5 = 18.7
    assert sharded.attempts_per_commit == pytest.approx(math.exp(780 * 0.012 / 19), rel=0.01)
    # 1,277 attempts, each a read and a write, and ten sums of 19: more than one partition should take.
    assert sharded.entities_per_s == pytest.approx(2 * 780 * 1.637 + 190, rel=0.01)
    assert sharded.partitions == 2


def test_what_no_number_of_shards_cures() -> None:
    assert sharded_counter(780, LIMITS, reads_per_s=3000).binds == "entity"
    assert sharded_counter(11_000, LIMITS).binds == "account"


def test_more_shards_where_reads_need_them_spread() -> None:
    found = sharded_counter(80, LIMITS, reads_per_s=1500)
    assert found.feasible
    assert found.partitions <= found.shards
    assert found.shards > 80 * 0.012 / COMFORTABLE_LOAD


@given(RATES, RATES)
def test_more_updates_never_cost_less(first: float, second: float) -> None:
    low, high = sorted((first, second))
    less, more = contention(low, LIMITS), contention(high, LIMITS)
    assert less.load <= more.load
    assert less.entities_per_s <= more.entities_per_s * (1 + 1e-12)
    assert less.feasible >= more.feasible
    assert sharded_counter(low, LIMITS).shards <= sharded_counter(high, LIMITS).shards


@given(RATES, st.floats(0, 1500))
def test_a_proposed_counter_holds_and_one_shard_less_would_not(rate: float, reads: float) -> None:
    found = sharded_counter(rate, LIMITS, reads_per_s=reads)
    assert found.load <= COMFORTABLE_LOAD * (1 + 1e-8)
    assert found.binds in ("", "account")
    assert (found.binds == "account") == (found.requests_per_s > LIMITS.account_requests_per_s)
    if found.shards > 1:
        fewer = contention(rate, LIMITS, shards=found.shards - 1, reads_per_s=reads)
        assert fewer.load > COMFORTABLE_LOAD or fewer.binds == "entity" or reads > 0


def test_terms_carry_units_and_bases() -> None:
    terms = {term.name: term for term in sharded_counter(780, LIMITS).terms()}
    assert terms["shards"].value == 19
    assert terms["cycle"].basis is Basis.ASSUMED
    assert all(term.unit and term.source for term in terms.values())
    assert "attempts" not in {term.name for term in contention(780, LIMITS).terms()}


def test_rates_that_cannot_be_are_refused() -> None:
    for wrong in ({"rate_per_s": -1.0}, {"rate_per_s": math.nan}, {"rate_per_s": 1.0, "shards": 0}):
        with pytest.raises(ValueError, match="at least"):
            contention(limits=LIMITS, **wrong)  # type: ignore[arg-type]
