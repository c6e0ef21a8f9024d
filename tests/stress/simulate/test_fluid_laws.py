"""Runs without rows against queueing theory, conservation, and the laws of throttling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pkadvisor.engine.capacity.capacity import Bound, Capacity
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import Limits
from pkadvisor.stress.load.load import Batch
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.retry import Backoff, current, no_retry
from pkadvisor.stress.requests.scripts import SEVERAL, Script, Step
from pkadvisor.stress.simulate.fluid import run_fluid
from tests.stress.small import SECOND, fixed, limits, one_class, options, read, script, space
from tests.tiers import examples, sizes

CONFIDENCE = 0.999


@dataclass(frozen=True)
class Poisson:
    """A Poisson stream of one class; each request's parameters are drawn evenly or by weight."""

    rate: float
    duration_ns: int
    weights: tuple[float, ...] = (1.0,)
    seed: int = 1
    classes: tuple[str, ...] = ("c",)

    @property
    def instances(self) -> tuple[int, ...]:
        return (len(self.weights),)

    def batches(self):  # type: ignore[no-untyped-def]
        chance = np.random.Generator(np.random.Philox(self.seed))
        count = int(chance.poisson(self.rate * self.duration_ns / SECOND))
        at = np.sort(chance.integers(0, self.duration_ns, count))
        chosen = chance.choice(len(self.weights), count, p=np.array(self.weights) / sum(self.weights))
        for first in range(0, count, 50_000):
            part = slice(first, first + 50_000)
            yield Batch(first, at[part], np.zeros(len(at[part]), np.int64), chosen[part].astype(np.int64))


def run(load: Poisson, steps: list[Script], found: Limits, policy: Backoff, stamp_map: StampMap) -> RunResult:
    capacity = Capacity(found)
    result = run_fluid(load, one_class(space(64), steps), capacity, stamp_map, policy)
    check_conservation(result, capacity)
    return result


def check_conservation(result: RunResult, capacity: Capacity) -> None:
    """M3: what came is somewhere, and time at work is what was let through times its service time."""
    capacity.check()
    for counts in result.classes.values():
        assert counts.requests == counts.served + counts.lost
        assert counts.attempts == counts.accepted + counts.timed_out + sum(counts.throttled.values())
    totals = [sum(getattr(each, name) for each in result.classes.values()) for name in ("attempts", "accepted")]
    assert totals == [result.offered.sum(), result.accepted.sum()]
    assert capacity.tally.arrived == totals[0] and capacity.tally.served == totals[1]


# ------------------------------------------------------------------------------------------------ queues

RANGE_NS = 100_000
QUEUE = limits(
    partition_entities_per_s=1_000_000, range_entities_per_s=1_000_000, server_entities_per_s=1_000_000,
    account_requests_per_s=1_000_000, read_latency_ms_p99=3.5, scan_ms_per_entity=0, page_latency_ms=3.5,
    scan_weight_low=0.001, scan_weight=0.001, burst_s=0.1,
)  # fmt: skip
"""Nothing is turned away, every answer takes the same time, and the server is 100 times as fast as the range."""
QUEUE_OPTIONS = options(range_rate_multiple=1 / (1_000_000 * RANGE_NS / 1e9))


def waits(rate: float, examined: list[int], requests: int) -> tuple[float, float, np.ndarray]:
    """Mean wait on the range in ns, its confidence interval's half, and the service times that were drawn from."""
    load = Poisson(rate, round(requests / rate * SECOND), (1.0,) * len(examined))
    scripts = one_class(space(1), [script([Step(Kind.PAGE, SEVERAL, 0, 1, examined=each)]) for each in examined])
    capacity = Capacity(QUEUE, QUEUE_OPTIONS)
    result = run_fluid(load, scripts, capacity, fixed(0, 1), no_retry())
    check_conservation(result, capacity)
    times, counts = capacity.times, result.classes["c"]
    on_range = np.maximum(1000, times.scan_work * np.array(examined)) * times.range_ns // 1000
    assert not counts.lost and len(counts.latencies_ns) == counts.served and 100 * times.server_ns == times.range_ns
    wait = np.array(counts.latencies_ns) - times.unhindered[0][0]
    batches = np.array([part.mean() for part in np.array_split(wait[len(wait) // 20 :], 20)])
    half = stats.t.ppf((1 + CONFIDENCE) / 2, 19) * batches.std(ddof=1) / math.sqrt(20)
    return float(batches.mean()), float(half), on_range.astype(float)


@pytest.mark.parametrize("load", sizes([0.6], [0.3, 0.6, 0.8], "proofs"))
def test_m5_fixed_service_waits_as_m_d_1(load: float) -> None:
    service = 1e-2
    found, half, drawn = waits(load / service, [100_000], 60_000)
    assert drawn.tolist() == [service * 1e9]
    expected = load * service / (2 * (1 - load)) * 1e9
    assert abs(found - expected) <= half + 1 and half < expected / 3


@pytest.mark.parametrize("load", sizes([0.7], [0.3, 0.7], "proofs"))
def test_m5_exponential_service_waits_as_m_m_1(load: float) -> None:
    """1,000 equally likely values stand for the exponential; their mean is right, their variance to 1 %."""
    values = [-math.log(1 - (i + 0.5) / 1000) for i in range(1000)]
    found, half, drawn = waits(load / 1e-2, [round(100_000 * value) for value in values], 60_000)
    expected = load * 1e-2 / (1 - load) * 1e9
    assert abs(drawn.mean() / 1e7 - 1) < 0.01
    assert abs(found - expected) <= half + 0.02 * expected and half < expected / 3


def test_m5_mixed_service_waits_as_pollaczek_and_khinchine_say() -> None:
    found, half, drawn = waits(30.0, [10_000, 20_000, 50_000, 900_000], 60_000)
    load = 30 * drawn.mean() / 1e9
    expected = 30 / 1e9 * (drawn**2).mean() / (2 * (1 - load))
    assert 0.6 < load < 0.8 and abs(found - expected) <= half and half < expected / 3


# ------------------------------------------------------------------------------------------------ refusals


def loss_of_m_d_1(load: float, room: int) -> float:
    """The share that an M/D/1 queue with so many places turns away, from the chain at departures."""
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(room + 2)]
    chain = np.zeros((room, room))
    for i in range(room):
        left = max(0, i - 1)
        for j in range(left, room - 1):
            chain[i, j] = arrivals[j - left]
        chain[i, room - 1] = 1 - chain[i, : room - 1].sum()
    values, vectors = np.linalg.eig(chain.T)
    stationary = np.real(vectors[:, np.argmin(abs(values - 1))])
    stationary /= stationary.sum()
    return float(1 - 1 / (stationary[0] + load))


@pytest.mark.parametrize(("load", "burst"), sizes([(1.0, 5)], [(0.9, 3), (1.0, 5), (1.2, 4)], "proofs"))
def test_m5_a_token_bucket_turns_away_what_m_d_1_with_so_many_places_does(load: float, burst: int) -> None:
    """The deficit of a bucket is the work left in a queue of b places; Poisson arrivals see the same loss."""
    found = limits(partition_entities_per_s=100, burst_s=burst / 100)
    result = run(Poisson(100 * load, 600 * SECOND), [script([read(0)])], found, no_retry(), fixed(0, 64))
    assert set(result.classes["c"].throttled) == {Bound.PARTITION}
    shares = np.array([each.sum() for each in np.array_split(result.throttled, 30)]) / np.array(
        [each.sum() for each in np.array_split(result.offered, 30)]
    )
    half = stats.t.ppf((1 + CONFIDENCE) / 2, 29) * shares.std(ddof=1) / math.sqrt(30)
    expected = loss_of_m_d_1(load, burst)
    assert abs(shares.mean() - expected) <= half and half < expected / 2


def test_m5_retries_come_to_their_equilibrium() -> None:
    """lambda 2,600, C 2,000, K 3: p = (1 − C/λ)^(1/4) of attempts are turned away, 1 − C/λ of requests are lost."""
    rate, target = 2600.0, 2000.0
    found = limits(range_entities_per_s=10_000, account_requests_per_s=40_000)
    result = run(Poisson(rate, 120 * SECOND), [script([read(0)])], found, current(1), fixed(0, 64))
    middle = slice(30, 115)
    share = result.throttled[middle].sum() / result.offered[middle].sum()
    expected = (1 - target / rate) ** 0.25
    assert abs(share - expected) < 0.03
    amplification = result.offered[middle].sum() / (rate * 85)
    assert abs(amplification / (target / rate / (1 - expected)) - 1) < 0.05
    assert abs(result.classes["c"].lost / result.classes["c"].requests - (1 - target / rate)) < 0.03


# ------------------------------------------------------------------------------------------------ laws


def test_m3_littles_law_holds_between_how_many_are_in_and_how_long_they_stay() -> None:
    """N seen at 2,000 moments is X · R, R taken from the sums of latencies and not from the moments."""
    trace: list[tuple[int, int, int, int, int, int, int]] = []
    load = Poisson(3000, 20 * SECOND, (1.0,) * 64)
    steps = [script([read(i)], [read(63 - i)]) for i in range(64)]
    capacity = Capacity(limits())
    result = run_fluid(load, one_class(space(64), steps), capacity, fixed(0, 16, 32, 48, 64), no_retry(), trace=trace)
    check_conservation(result, capacity)
    starts = np.sort(np.array([each[0] for each in trace]))
    ends = np.sort(np.array([each[0] + each[6] for each in trace]))
    looked = np.linspace(SECOND, 19 * SECOND, 2000)
    inside = (np.searchsorted(starts, looked) - np.searchsorted(ends, looked)).mean()
    counts = result.classes["c"]
    assert counts.lost == 0
    assert abs(inside / (counts.latency_ns_sum / (20 * SECOND)) - 1) < 0.05
    worked = sum(capacity.busy_ns(f"server-{i}") for i in range(1))
    assert worked == counts.accepted * capacity.times.server_ns, "U = X · S"


@settings(max_examples=examples(10))
@given(st.floats(0.5, 3), st.integers(1, 5), st.sampled_from([no_retry(), current(2)]))
def test_m2_goodput_stays_below_every_target(load: float, keys: int, policy: Backoff) -> None:
    """Accepted entities until any second are at most the bursts and rates of keys, of the range, of the account."""
    found = limits(partition_entities_per_s=60, range_entities_per_s=200, account_requests_per_s=150)
    steps = [script([read(i)]) for i in range(keys)]
    result = run(Poisson(200 * load, 10 * SECOND, (1.0,) * keys), steps, found, policy, fixed(0, 64))
    seconds = np.arange(1, len(result.accepted) + 1)
    most = min(60 * keys, 200, 150) * (1 + seconds)
    assert (result.accepted.cumsum() <= most).all()


@pytest.mark.parametrize("load", sizes([1.5], [1.1, 1.5, 3.0], "proofs"))
def test_m2_retries_never_raise_goodput_above_the_target(load: float) -> None:
    """More is asked for, no more is carried out while the load lasts."""
    found = limits(partition_entities_per_s=200)
    asked = Poisson(200 * load, 60 * SECOND)
    once, again = (run(asked, [script([read(0)])], found, each, fixed(0, 64)) for each in (no_retry(), current(1)))
    assert again.offered.sum() > once.offered.sum()
    assert again.accepted[:60].sum() <= once.accepted[:60].sum() * 1.005
    assert again.accepted[:60].sum() <= 200 * 61


def test_m7_more_skew_is_never_throttled_less() -> None:
    shares = []
    for skew in (0.0, 0.5, 1.0, 1.5, 2.0):
        weights = tuple(1 / (i + 1) ** skew for i in range(64))
        found = limits(partition_entities_per_s=50)
        asked = Poisson(800, 20 * SECOND, weights)
        result = run(asked, [script([read(i)]) for i in range(64)], found, no_retry(), fixed(0, 64))
        shares.append(result.throttled.sum() / result.offered.sum())
    assert shares == sorted(shares) and shares[0] < 0.01 < shares[-1]


def test_m7_splits_do_not_help_what_is_appended_at_the_end() -> None:
    """All writes go to the last key; the ranges below it may be as many as they like."""
    write = script([Step(Kind.WRITE, 63, 63, 64)])
    found = limits(range_entities_per_s=100, partition_entities_per_s=1000)
    lost = [
        run(Poisson(150, 30 * SECOND), [write], found, no_retry(), fixed(*edges)).classes["c"].throttled
        for edges in ((0, 64), (0, 32, 64), (0, 16, 32, 48, 56, 60, 62, 63, 64))
    ]
    assert lost[0] == lost[1] == lost[2] and lost[0][Bound.RANGE] > 1000


def test_m7_fewer_buckets_are_never_throttled_less() -> None:
    """Writes that are spread over buckets, each in a range of its own, each with a target of its own."""
    found = limits(range_entities_per_s=100, partition_entities_per_s=100)
    shares = []
    for buckets in (8, 4, 2, 1):
        steps = [script([Step(Kind.WRITE, i, i, i + 1)]) for i in range(buckets)]
        edges = (*range(buckets), 64)
        result = run(Poisson(350, 20 * SECOND, (1.0,) * buckets), steps, found, no_retry(), fixed(*edges))
        shares.append(result.throttled.sum() / result.offered.sum())
    assert shares == sorted(shares) and shares[0] < 0.01 and abs(shares[-1] - (1 - 100 / 350)) < 0.03
