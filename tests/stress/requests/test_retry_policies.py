"""Clients: what they send again, after how long, and the same integers one by one and as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.requests.retry import NEVER, Backoff, RetryPolicy, current, exponential, fixed, policy_of, sdk

SECOND = 1_000_000_000
TEXTS = ("none", "fixed", "fixed:250msx5", "exponential", "current", "sdk")

policies = st.one_of(
    st.builds(policy_of, st.sampled_from(TEXTS), st.integers(0, 2**64)),
    st.builds(
        Backoff,
        st.just("drawn"),
        st.lists(st.integers(0, 1 << 42), max_size=6).map(tuple),
        st.integers(0, 1 << 42),
        st.integers(0, 1 << 42),
        st.integers(0, 99),
        st.integers(0, 2**64),
        st.sampled_from([(), (408, 429)]),
    ),
)


@given(
    policies,
    st.lists(
        st.tuples(
            st.integers(1, 8),
            st.integers(0, 2**62),
            st.integers(0, 500),
            st.sampled_from([200, 404, 408, 409, 412, 429, 500, 501, 502, 503, 504, 505, 506]),
        ),
        max_size=30,
    ),
)
def test_delays_one_by_one_and_as_arrays_are_the_same_integers(
    policy: RetryPolicy, attempts: list[tuple[int, int, int, int]]
) -> None:
    alone = [policy.delay_ns(*attempt) for attempt in attempts]
    columns = np.array(attempts, dtype=np.int64).reshape(len(attempts), 4).T
    together = policy.delays_ns(*columns)
    assert together.dtype == np.int64
    assert together.tolist() == [NEVER if delay is None else delay for delay in alone]
    for delay in alone:
        assert delay is None or (policy.delay_ns_min is not None and delay >= policy.delay_ns_min)


@pytest.mark.parametrize("text", TEXTS)
def test_500s_but_501_and_505_are_sent_again_and_nothing_of_the_client(text: str) -> None:
    policy = policy_of(text)
    again = {status for status in range(400, 600) if policy.delay_ns(1, 0, 0, status) is not None}
    assert not again & {501, 505}
    if text == "none":
        assert not again and policy.delay_ns_min is None
        return
    assert {500, 502, 503, 504, 506} <= again
    assert {s for s in again if s < 500} == ({408, 429} if text == "sdk" else set())


def delays(policy: RetryPolicy, tried: int, count: int = 4000) -> list[int]:
    """The delays of many requests after one try."""
    found = [policy.delay_ns(tried, request, 0, 503) for request in range(count)]
    return [d for d in found if d is not None]


def test_the_published_formula_with_its_published_figures() -> None:
    policy = exponential(seed=7)
    first, second, third = (delays(policy, tried) for tried in (1, 2, 3))
    # min(3 s + Rand(24 s, 36 s) · (2^x − 1), 90 s)
    assert 27 * SECOND <= min(first) < 27.01 * SECOND and 38.99 * SECOND < max(first) <= 39 * SECOND
    assert sum(first) / len(first) == pytest.approx(33 * SECOND, rel=0.005)
    assert 75 * SECOND <= min(second) < 75.1 * SECOND and max(second) == 90 * SECOND
    assert set(third) == {90 * SECOND}
    assert not delays(policy, 4)
    assert policy.delay_ns_min == 27 * SECOND


def test_the_net_client_doubles_from_eight_tenths_of_a_second() -> None:
    policy = current(3)
    for tried, middle in ((1, 0.8), (2, 1.6), (3, 3.2)):
        found = delays(policy, tried)
        assert min(found) >= 0.8 * middle * SECOND and max(found) <= 1.2 * middle * SECOND
        assert sum(found) / len(found) == pytest.approx(middle * SECOND, rel=0.01)
    assert policy.delay_ns_min == 640_000_000
    assert not delays(policy, 4)


def test_the_python_client_waits_as_azure_core_does() -> None:
    core = pytest.importorskip("azure.core.pipeline.policies")
    real = core.RetryPolicy()
    settings = real.configure_retries({})
    waits = []
    while True:
        settings["total"] -= 1
        settings["status"] -= 1
        settings["history"].append(None)
        if real.is_exhausted(settings):
            break
        waits.append(round(real.get_backoff_time(settings) * SECOND))
    policy = sdk()
    assert [policy.delay_ns(tried, 5, 2, 503) for tried in (1, 2, 3, 4)] == [*waits, None]
    ours = {status for status in range(400, 506) if policy.retried(status)}
    assert ours == {status for status in range(400, 506) if status in real._retry_on_status_codes}
    assert policy.delay_ns_min == 0


def test_chance_depends_on_seed_request_step_and_try_alone() -> None:
    policy, again, other = current(1), current(1), current(2)
    assert [policy.delay_ns(1, r, 0, 503) for r in range(50)] == [again.delay_ns(1, r, 0, 500) for r in range(50)]
    assert [policy.delay_ns(1, r, 0, 503) for r in range(50)] != [other.delay_ns(1, r, 0, 503) for r in range(50)]
    assert len({policy.delay_ns(1, 9, step, 503) for step in range(50)}) > 45
    whole = {policy.delay_ns(1, request, step, 503) for request in range(30) for step in range(30)}
    assert len(whole) > 890


def test_fixed_delays() -> None:
    assert [fixed().delay_ns(tried, 1, 1, 503) for tried in (1, 2, 3, 4)] == [SECOND, SECOND, SECOND, None]
    policy = policy_of("fixed: 250ms x 5")
    assert [policy.delay_ns(tried, 1, 1, 503) for tried in (5, 6)] == [SECOND // 4, None]
    assert policy == policy_of("Fixed:250msx5") and policy.name == "fixed"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a retry policy"),
        ("exponental", "did you mean 'exponential'"),
        ("sdk:3", "is not a retry policy"),
        ("fixed:", "is not a retry policy"),
        ("fixed:soon", "'soon' is not a duration"),
        ("fixed:5", "'5' has no unit"),
        ("fixed:1sx0", "is not a retry policy"),
        ("fixed:1sx99", "is not a retry policy"),
        ("fixed:3h", "longer than"),
    ],
)
def test_a_policy_that_there_is_not(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=r".") as caught:
        policy_of(text)
    assert says in str(caught.value) and caught.value.where == "--retry" and caught.value.fix


def test_the_seed_of_a_run_is_that_of_the_chance_in_its_retries() -> None:
    """``--seed`` moves the delays of a policy that has chance, and those of no other."""
    reading = AnalyzeRequest()
    for name, moves in (("current", True), ("exponential", True), ("fixed", False), ("sdk", False)):
        delays = [
            [StressRequest(reading, retry=name, seed=seed).retry_policy.delay_ns(1, n, 0, 503) for n in range(20)]
            for seed in (0, 7)
        ]
        assert (delays[0] != delays[1]) is moves, name
