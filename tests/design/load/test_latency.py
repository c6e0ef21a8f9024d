"""Latency of an operation: what a hand computes, what a simulation finds, and that nothing added makes it faster."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.load.latency import LatencyStep, OperationLatency, operation_latency
from pkadvisor.limits import Limits, default_limits

LIMITS = default_limits()

STEPS = st.builds(
    LatencyStep,
    requests=st.floats(0, 500),
    pages=st.floats(1, 200),
    entities_scanned=st.floats(0, 1e6),
    writes=st.booleans(),
    group_entities=st.floats(1, 100),
    utilisation=st.floats(0, 3) | st.floats(0.999, 1.001),
)
# Limits as somebody may have measured them: narrow and wide latencies, slow partitions, no burst allowance.
SPEEDS = st.builds(
    lambda read, write, spread, page, scan, target, burst, retries, parallel: replace(
        LIMITS,
        read_latency_ms_p50=read,
        read_latency_ms_p99=read * spread,
        write_latency_ms_p50=write,
        write_latency_ms_p99=write * spread,
        page_latency_ms=page,
        scan_ms_per_entity=scan,
        partition_entities_per_s=target,
        burst_s=burst,
        retry_attempts=retries,
        fan_out_parallel=parallel,
    ),
    read=st.floats(0.5, 100),
    write=st.floats(0.5, 100),
    spread=st.floats(1, 20),
    page=st.floats(0, 100),
    scan=st.floats(0, 1),
    target=st.floats(10, 100_000),
    burst=st.floats(0, 300),
    retries=st.integers(0, 6),
    parallel=st.integers(1, 1000),
)


def of(limits: Limits = LIMITS, **step: float | bool) -> OperationLatency:
    return operation_latency((LatencyStep(**step),), limits)  # type: ignore[arg-type]


def not_faster(longer: OperationLatency, shorter: OperationLatency) -> None:
    for name in ("ms_p50", "ms_p99", "throttled_share", "lost_share"):
        was, now = getattr(shorter, name), getattr(longer, name)
        assert now >= was * (1 - 1e-9), (name, was, now)


def test_one_request_has_the_limits_own_quantiles() -> None:
    read, write = of(), of(writes=True)
    assert (read.ms_p50, read.ms_p99) == pytest.approx((3.5, 11.3))
    assert (write.ms_p50, write.ms_p99) == pytest.approx((7.1, 22.6))
    assert (read.throttled_share, read.lost_share) == (0, 0)
    assert (
        operation_latency((), LIMITS)
        == operation_latency((LatencyStep(requests=0),), LIMITS)
        == OperationLatency(0, 0, 0, 0)
    )


def test_what_a_hand_computes() -> None:
    scanned = of(entities_scanned=1000)
    assert scanned.ms_p50 == pytest.approx(3.5 + 1000 * 0.065)
    assert scanned.ms_p99 == pytest.approx(11.3 + 1000 * 0.065)
    # A group of 100 is (2.0619 + 100) / 3.0619 = 33.3 single writes of service.
    assert of(writes=True, group_entities=100).ms_p50 == pytest.approx(7.1 * 33.33, rel=1e-3)
    # Two rounds of 64 take twice the median of one.
    assert of(requests=128).ms_p50 == pytest.approx(2 * of(requests=64).ms_p50)


@pytest.mark.parametrize(
    ("steps", "tolerance"),
    [
        ((LatencyStep(requests=16),), 0.01),
        ((LatencyStep(pages=5),), 0.02),
        ((LatencyStep(requests=8, pages=3),), 0.03),
        ((LatencyStep(), LatencyStep(writes=True)), 0.06),
        ((LatencyStep(), LatencyStep(requests=10), LatencyStep(writes=True)), 0.10),
    ],
)
def test_a_simulation_of_independent_trips_agrees(steps: tuple[LatencyStep, ...], tolerance: float) -> None:
    dice = np.random.default_rng(11)
    runs = 200_000

    def trips(median: float, p99: float, *shape: int) -> np.ndarray:
        return median * np.exp(math.log(p99 / median) / 2.3263 * dice.standard_normal((runs, *shape)))

    total = np.zeros(runs)
    for step in steps:
        if step.writes:
            total += trips(7.1, 22.6)
            continue
        each = trips(3.5, 11.3, int(step.requests))
        for _ in range(int(step.pages) - 1):
            each += trips(3.0, 3.0 * 11.3 / 3.5, int(step.requests))
        total += each.max(axis=1)
    found = operation_latency(steps, LIMITS)
    assert found.ms_p50 == pytest.approx(np.quantile(total, 0.5), rel=tolerance)
    assert found.ms_p99 == pytest.approx(np.quantile(total, 0.99), rel=tolerance)


def test_waiting_grows_toward_the_target_and_is_bounded_by_the_burst() -> None:
    # M/M/1 at 0.8: P(W > t) = 0.8 exp(-0.2 t / 0.5 ms), so 1 % wait longer than 10.96 ms.
    wait = 0.5 / 0.2 * math.log(80)
    assert wait == pytest.approx(10.96, abs=0.01)
    busy = of(utilisation=0.8)
    assert wait < busy.ms_p99 < 11.3 + wait
    # Nine pages: nine times the mean of 2 ms, and three times the way from it to the median of 2.5 ln 1.6.
    pages = of(pages=9, utilisation=0.8).ms_p50 - of(pages=9).ms_p50
    assert pages == pytest.approx(9 * 2 + 3 * (2.5 * math.log(1.6) - 2), abs=0.01)
    assert of(utilisation=1.0).ms_p50 == pytest.approx(3.5 + 1000 * LIMITS.burst_s)
    nearly, just_over = of(utilisation=1 - 1e-9), of(utilisation=1 + 1e-15)
    assert nearly.ms_p99 == pytest.approx(of(utilisation=1.0).ms_p99, rel=0.01)
    assert just_over.ms_p99 == pytest.approx(of(utilisation=1.0).ms_p99, rel=0.5)


def test_above_the_target_the_throttle_and_the_retries_decide() -> None:
    over = of(utilisation=1.3)
    assert over.throttled_share == pytest.approx(0.693, abs=0.001)
    assert over.lost_share == pytest.approx(0.231, abs=0.001)
    # A request is served after 12.6 rejections with 99 %: 0.8 + 1.6 + 3.2 s, then 3.2 s each.
    rejections = math.log(0.01) / math.log(over.throttled_share)
    # The queue is as long as the burst allowance, and each rejection is a round trip.
    retries = 5600 + (rejections - 3) * 3200 + rejections * 3.5
    assert over.ms_p99 == pytest.approx(11.3 + 1000 + retries, rel=1e-4)
    assert of(utilisation=1.05).ms_p99 > LIMITS.latency_goal_ms_p99
    assert of(utilisation=50).ms_p99 > 1e6


def test_a_scan_over_its_partitions_target_is_worse_than_a_slow_one() -> None:
    assert of(pages=5, utilisation=1.5).ms_p99 > of(pages=5, utilisation=0.5).ms_p99 + 10_000
    # Each of its pages meets the throttle.
    assert of(pages=5, utilisation=1.5).ms_p50 == pytest.approx(5 * of(utilisation=1.5).ms_p50, rel=0.01)


@given(STEPS, SPEEDS, st.floats(0, 2))
def test_nothing_added_makes_a_step_faster(step: LatencyStep, limits: Limits, more: float) -> None:
    before = operation_latency((step,), limits)
    for name in ("requests", "pages", "entities_scanned", "group_entities", "utilisation"):
        value = getattr(step, name)
        raised = value + more if name == "utilisation" else value * (1 + more) + more
        not_faster(operation_latency((step._replace(**{name: raised}),), limits), before)


@given(st.lists(STEPS, max_size=3), STEPS, SPEEDS)
def test_one_more_step_never_makes_it_faster(steps: list[LatencyStep], added: LatencyStep, limits: Limits) -> None:
    before = operation_latency(tuple(steps), limits)
    after = operation_latency((*steps, added), limits)
    not_faster(after, before)
    assert after == operation_latency((added, *steps), limits) or after.ms_p99 == pytest.approx(
        operation_latency((added, *steps), limits).ms_p99
    )


@given(STEPS, SPEEDS)
def test_quantiles_are_ordered_and_finite(step: LatencyStep, limits: Limits) -> None:
    found = operation_latency((step,), limits)
    assert 0 <= found.ms_p50 <= found.ms_p99 < math.inf
    assert 0 <= found.lost_share <= found.throttled_share <= 1
    assert (found.throttled_share > 0) == (step.requests > 0 and step.utilisation > 1)


@given(SPEEDS, st.floats(1, 50), st.floats(0, 3))
def test_a_little_more_load_is_a_little_more_time(limits: Limits, pages: float, utilisation: float) -> None:
    """No cliff on the way through the target: 1e-12 of load costs less than half of the rejections of one operation."""
    at = operation_latency((LatencyStep(pages=pages, utilisation=utilisation),), limits)
    after = operation_latency((LatencyStep(pages=pages, utilisation=utilisation + 1e-12),), limits)
    rejection = limits.retry_wait_ms + limits.read_latency_ms_p50
    assert after.ms_p99 <= at.ms_p99 * 1.02 + 0.4 * (1 + limits.retry_attempts) * pages * rejection


@pytest.mark.parametrize(
    "wrong",
    [{"pages": 0.5}, {"requests": -1.0}, {"utilisation": math.nan}, {"utilisation": math.inf}, {"group_entities": 0.0}],
)
def test_a_step_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        operation_latency((LatencyStep(**wrong),), LIMITS)  # type: ignore[arg-type]
