"""Traffic as arrays comes to the integers of one attempt after the other."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pkadvisor.engine.capacity.capacity import Bound, Capacity, Enforcement
from pkadvisor.engine.capacity.service_times import draw_index
from pkadvisor.splitmix import mixed_each
from pkadvisor.stress.placement.run_result import WINDOW_NS
from pkadvisor.stress.requests.retry import current, sdk
from pkadvisor.stress.simulate import fluid, fluid_numpy
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.simulate.fluid_flights import Calendar
from pkadvisor.stress.simulate.fluid_numpy import draw_indices
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.stress.simulate.measures import SAMPLE, Sample, sample_key
from tests.stress.fluid_cases import Case, assert_same_capacity, assert_same_result, case
from tests.stress.small import (
    MS,
    SECOND,
    Listed,
    Waits,
    fixed,
    limits,
    one_class,
    options,
    page,
    read,
    script,
    space,
    write,
)
from tests.tiers import examples

SLOW = settings(deadline=None, max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])


def assert_same(one: Case, accelerate: bool) -> None:
    expected, expected_trace, expected_capacity = one.by_loop()
    found, trace, capacity = one.by_fluid(accelerate)
    for ours, theirs in zip(trace, expected_trace, strict=False):
        assert ours == theirs
    assert len(trace) == len(expected_trace)
    assert_same_result(found, expected)
    if not one.living:
        assert_same_capacity(capacity, expected_capacity, one)


@SLOW
@given(st.integers(0, 1 << 30))
def test_m4_arrays_give_the_integers_of_the_loop_attempt_by_attempt(seed: int) -> None:
    """By scans wherever they can tell, however few attempts a window has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fluid_numpy, "FEW", 0)
        assert_same(case(Random(seed)), accelerate=False)


@SLOW
@given(st.integers(0, 1 << 30), st.sampled_from((0.3, 1.0)))
def test_m4_scans_give_them_too(seed: int, crowded: float) -> None:
    """Every window by scans that decide what is in doubt, or as many as are not too crowded for it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fluid_numpy, "FEW", 0)
        patched.setattr(fluid_numpy, "CROWDED", crowded)
        assert_same(case(Random(seed)), accelerate=False)


@pytest.mark.long("proofs")
@SLOW
@given(st.integers(0, 1 << 30))
def test_m4_the_compiled_pass_gives_them_too(seed: int) -> None:
    pytest.importorskip("numba")
    assert_same(case(Random(seed)), accelerate=True)


def busy(enforcement: Enforcement = Enforcement.STRICT, **changed: float) -> Case:
    """Two hot keys, two hot ranges, three-step requests, for some seconds."""
    chance = Random(5)
    keys = space(40)
    hot = [script([read(0)]), script([write(39, 3)], [read(0), read(20)]), script([page(0, 40, 90)], [write(5)])]
    scripts = one_class(keys, [*hot, *(script([read(i)]) for i in range(40))])
    requests = sorted((chance.randrange(4 * SECOND), 0, chance.choice((0, 0, 1, 2, *range(43)))) for _ in range(3000))
    found = limits(**{"partition_entities_per_s": 25, "range_entities_per_s": 600, **changed})
    policy = Waits((150 * MS, 600 * MS))
    return Case(
        Listed(requests, 4 * SECOND, batch=500), scripts, found, options(), enforcement, policy,
        (0, 10, 30, 40), 2, False, 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "bounds"),
    [
        ({}, {Bound.PARTITION, Bound.RANGE}),
        (
            {"partition_entities_per_s": 1500, "range_entities_per_s": 1500, "account_requests_per_s": 500},
            {Bound.ACCOUNT},
        ),
        ({"server_entities_per_s": 600}, {Bound.PARTITION, Bound.RANGE, Bound.SERVER}),
    ],
)
def test_refusals_by_walls_are_settled_by_scans(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, float], bounds: set[Bound]
) -> None:
    """Only attempts that meet a bucket in need are judged one by one; the integers stay those of the loop."""
    busy_case = busy(**changed)
    expected, expected_trace, _ = busy_case.by_loop()
    assert bounds <= set(expected.classes["c"].throttled)

    def no_pass(*_: object) -> None:
        raise AssertionError("a window was judged one attempt after the other")

    monkeypatch.setattr(fluid_numpy, "by_lists", no_pass)
    monkeypatch.setattr(fluid_numpy, "CROWDED", 1.0)
    monkeypatch.setattr(fluid_numpy, "FEW", 0)
    found, trace, _ = busy_case.by_fluid(False)
    assert trace == expected_trace
    assert_same_result(found, expected)


@pytest.mark.parametrize("changed", [{}, {"account_requests_per_s": 500}, {"server_entities_per_s": 600}])
def test_windows_are_judged_by_lists(monkeypatch: pytest.MonkeyPatch, changed: dict[str, float]) -> None:
    """Where scans cannot decide; the integers, and what ``Capacity`` is left with, are the loop's."""
    busy_case = busy(**changed)
    expected, expected_trace, expected_capacity = busy_case.by_loop()

    monkeypatch.setattr(fluid_numpy, "_by_scans", lambda *_: None)
    found, trace, capacity = busy_case.by_fluid(False)
    assert trace == expected_trace
    assert_same_result(found, expected)
    assert capacity.tally == expected_capacity.tally


def test_elastic_targets_in_need_are_judged_in_order() -> None:
    busy_case = busy(Enforcement.ELASTIC, server_entities_per_s=2000)
    expected = busy_case.by_loop()[0].classes["c"]
    strict = busy(server_entities_per_s=2000).by_loop()[0].classes["c"]
    assert sum(expected.throttled.values()) < sum(strict.throttled.values()), "it lets more through"
    assert_same(busy_case, accelerate=False)


def test_a_policy_that_sends_again_at_once_is_cut_into_the_time_of_a_refusal() -> None:
    """``sdk`` waits for nothing before its first retry, so a window is 2 ms, the latency of a refusal."""
    one = busy()
    traces = []
    for run in (run_loop, run_fluid):
        trace: list[tuple[int, int, int, int, int, int, int]] = []
        run(one.load, one.scripts, one.capacity(), one.stamp_map(), sdk(), trace=trace)
        traces.append(trace)
    assert traces[0] == traces[1]
    first = {(r, step): at for at, r, _, step, tried, status, _ in traces[1] if tried == 1 and status == 503}
    second = {(r, step): at for at, r, _, step, tried, _, _ in traces[1] if tried == 2}
    assert second == {key: at + 2 * MS for key, at in first.items()} and len(first) > 100


def test_more_requests_than_many_go_on_compiled_with_the_same_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    one = busy()
    expected, expected_trace, _ = one.by_loop()
    called = []
    use = fluid._Run._use_numba

    def noted(run: fluid._Run, *, optional: bool = False) -> None:
        called.append(optional)
        use(run, optional=optional)

    monkeypatch.setattr(fluid._Run, "_use_numba", noted)
    run_fluid(one.load, one.scripts, one.capacity(), one.stamp_map(), one.policy)
    assert not called, "few requests are not worth it"
    monkeypatch.setattr(fluid, "MANY_REQUESTS", 1000)
    trace: list[tuple[int, int, int, int, int, int, int]] = []
    found = run_fluid(one.load, one.scripts, one.capacity(), one.stamp_map(), one.policy, trace=trace)
    assert called == [True] and trace == expected_trace
    assert_same_result(found, expected)


def test_without_a_folder_for_its_cache_numba_works_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    from pkadvisor.stress.simulate import fluid_numba

    whole, asked = numba.njit, []

    def njit(**given: bool) -> object:
        asked.append(given.get("cache", False))
        if given.get("cache"):
            raise RuntimeError("cannot cache function 'sequential': no locator available")
        return whole(**given)

    monkeypatch.setattr(numba, "njit", njit)
    assert callable(fluid_numba.kernel.__wrapped__()) and asked == [True, False]


def test_after_ctrl_c_the_result_holds_what_was_run_by_then() -> None:
    one = busy()

    class Stopped(Listed):
        def batches(self):  # type: ignore[no-untyped-def]
            for batch in super().batches():
                if batch.first >= 1500:
                    raise KeyboardInterrupt
                yield batch

    load = Stopped(one.load.requests, one.load.duration_ns, batch=500)
    capacity = one.capacity()
    found = run_fluid(load, one.scripts, capacity, one.stamp_map(), one.policy)
    counts = found.classes["c"]
    assert not found.complete and 500 <= counts.requests < 1500 and counts.attempts == capacity.tally.arrived > 500
    assert counts.served + counts.lost <= counts.requests


def test_a_request_without_stages_is_served_at_once() -> None:
    scripts = one_class(space(1), [script(), script([read(0)])])
    load = Listed([(0, 0, 0), (5, 0, 1), (9, 0, 0)], SECOND)
    counts = run_fluid(load, scripts, Capacity(limits()), fixed(0, 1), Waits()).classes["c"]
    assert (counts.requests, counts.served, counts.attempts, len(counts.latencies_ns)) == (3, 3, 1, 1)


@pytest.mark.parametrize("changed", [{"burst_s": 400}, {"account_requests_per_s": 10_000_000, "burst_s": 0.1}])
def test_what_leaves_no_room_in_64_bits_goes_the_exact_way(changed: dict[str, float]) -> None:
    """A burst of 400 s of bandwidth, a second's refill at 10^7/s: levels could pass 2^63, so numbers are Python's."""
    one = busy(**changed)
    run = fluid._Run(one.load, one.scripts, one.capacity(), one.stamp_map(), one.policy, None, None)
    assert run._judge is fluid_numpy.one_by_one
    assert_same(one, accelerate=False)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, 1 << 50))
def test_draws_are_those_of_single_tickets(seed: int, first: int) -> None:
    assert draw_indices(seed, first, 5).tolist() == [draw_index(seed, first + i) for i in range(5)]


def test_the_sample_of_latencies_is_that_of_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from pkadvisor.stress.simulate import fluid_counts, measures

    numbers = np.random.Generator(np.random.Philox(1)).permutation(10_000).astype(np.int64)
    assert [int(key) for key in mixed_each(0, numbers[:50])] == [sample_key(int(number)) for number in numbers[:50]]
    assert SAMPLE > 10_000
    for module in (measures, fluid_counts):
        monkeypatch.setattr(module, "SAMPLE", 300)
    many, single = fluid_counts._Latencies(), Sample()
    for second, part in enumerate(np.array_split(numbers, 9)):
        many.add(part, part * 3, second)
        for number in part.tolist():
            single.add(number, 3 * number, second)
    assert many.values() == (single.values(), single.seconds()) and len(set(single.seconds())) == 9
    assert 100 < len(single.values()) <= 300


@given(st.integers(1, 2000), st.integers(0, 10 * WINDOW_NS))
def test_slots_divide_a_second_without_hole(slots: int, at_ns: int) -> None:
    """A slot ends after the moment, no later than its share of a second, and never beyond the second."""
    end = Calendar(slots).slot_end(at_ns)
    assert at_ns < end <= at_ns + -(-WINDOW_NS // slots)
    assert end <= (at_ns // WINDOW_NS + 1) * WINDOW_NS
    assert Calendar(slots).slot_end(end - 1) == end


def test_same_seed_same_run_and_a_second_run_goes_on_where_the_first_ended() -> None:
    """Buckets and queues are given back: two halves through one capacity are refused as one run is."""
    keys, policy = space(1), Waits()
    scripts = one_class(keys, [script([write(0, 10)])])
    found = limits(partition_entities_per_s=100)
    whole = [(i * 5 * MS, 0, 0) for i in range(300)]
    one = run_fluid(Listed(whole, 2 * SECOND), scripts, Capacity(found), fixed(0, 1), policy)
    assert_same_result(one, run_fluid(Listed(whole, 2 * SECOND), scripts, Capacity(found), fixed(0, 1), policy))
    capacity, accepted = Capacity(found), 0
    for part in (whole[:150], whole[150:]):
        half = run_fluid(Listed(part, 2 * SECOND), scripts, capacity, fixed(0, 1), policy)
        accepted += half.classes["c"].accepted
    assert accepted == one.classes["c"].accepted == 24, "10 of the burst, then one each 100 ms"


def test_current_policy_by_arrays_and_one_by_one() -> None:
    one = busy()
    results = [run(one.load, one.scripts, one.capacity(), one.stamp_map(), current(4)) for run in (run_loop, run_fluid)]
    assert_same_result(*results)
    assert results[0].classes["c"].lost > 0
