"""Arrivals: as many as the rate says, in order, the same for a seed whatever the windows, each class by itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.stress.load.arrivals import (
    SECOND_NS,
    Constant,
    Hyper,
    OnOff,
    Picker,
    Poisson,
    Process,
    Steps,
    moments,
    stream,
)
from pkadvisor.stress.load.load import Batch, ClassLoad, WorkloadLoad, used_instances
from tests.tiers import examples

PROCESSES: tuple[Process, ...] = (Poisson(), Constant(), Hyper(4.0), OnOff(SECOND_NS, 4 * SECOND_NS))

processes = st.one_of(
    st.sampled_from([Poisson(), Constant()]),
    st.floats(1.01, 50).map(Hyper),
    st.tuples(st.integers(1, 5), st.integers(6, 30)).map(lambda p: OnOff(p[0] * SECOND_NS, p[1] * SECOND_NS)),
)


@st.composite
def shapes(draw: st.DrawFn) -> Steps:
    """A few pieces, some of them empty, at moments that fall inside cells."""
    gaps = draw(st.lists(st.integers(1, 9 * SECOND_NS), max_size=6))
    at = [0, *np.cumsum(gaps).tolist()]
    rates = draw(st.lists(st.sampled_from([0.0, 0.05, 3.0, 40.0, 700.0]), min_size=len(at), max_size=len(at)))
    return Steps(tuple(at), tuple(rates))


def all_of(load: WorkloadLoad) -> Batch:
    """Every request of a load in one batch."""
    batches = list(load.batches())
    numbers = [b.first for b in batches]
    assert numbers == [sum(len(b) for b in batches[:i]) for i in range(len(batches))]
    assert all(len(b) for b in batches)
    empty = np.empty(0, dtype=np.int64)
    return Batch(
        0,
        np.concatenate([empty, *(b.at_ns for b in batches)]),
        np.concatenate([empty, *(b.classes for b in batches)]),
        np.concatenate([empty, *(b.instances for b in batches)]),
    )


def arrivals(steps: Steps, process: Process, seed: int, seconds: int, name: str = "reads") -> np.ndarray:  # type: ignore[type-arg]
    """The moments of one class, together."""
    pieces = list(moments(steps, process, seed, name, seconds * SECOND_NS))
    return np.concatenate([np.empty(0, dtype=np.int64), *pieces])


def part(name: str, per_s: float, count: int = 5, process: Process = Poisson()) -> ClassLoad:  # noqa: B008
    """A class at a flat rate."""
    return ClassLoad(name, Steps.flat(per_s), np.arange(1, count + 1, dtype=np.float64), process)


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("per_s", [0.4, 60.0])
def test_the_mean_number_is_what_the_rate_says(process: Process, per_s: float) -> None:
    counts = np.array([len(arrivals(Steps.flat(per_s), process, seed, 100)) for seed in range(200)])
    error = counts.std(ddof=1) / math.sqrt(len(counts))
    assert abs(counts.mean() - 100 * per_s) <= 4 * error + 1e-9 + (type(process) is Constant)


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)
def test_each_piece_of_a_shape_has_its_own_share(process: Process) -> None:
    steps = Steps((0, 10_300_000_000, 20 * SECOND_NS), (30.0, 0.0, 90.0))
    found = [arrivals(steps, process, seed, 30) for seed in range(150)]
    for low, high, expected in ((0, 10.3, 309.0), (10.3, 20.0, 0.0), (20.0, 30.0, 900.0)):
        counts = np.array([np.count_nonzero((at >= low * 1e9) & (at < high * 1e9)) for at in found])
        assert abs(counts.mean() - expected) <= 4 * counts.std(ddof=1) / math.sqrt(len(counts)) + (expected > 0)


@pytest.mark.parametrize("ca2", [1.5, 4.0, 20.0])
def test_hyper_exponential_gaps_have_the_stated_variation(ca2: float) -> None:
    gaps = np.diff(arrivals(Steps.flat(1000.0), Hyper(ca2), 3, 300)).astype(np.float64)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(ca2, rel=0.06)


def test_hyper_exponential_bursts_are_as_likely_at_the_start_as_later() -> None:
    counts = np.array([len(arrivals(Steps.flat(2.0), Hyper(20.0), seed, 1)) for seed in range(2500)])
    assert abs(counts.mean() - 2.0) <= 4 * counts.std(ddof=1) / math.sqrt(len(counts))


def test_classes_with_the_same_parameters_do_not_ask_for_the_same_ones_in_turn() -> None:
    whole = all_of(WorkloadLoad((part("a", 50.0, 100), part("b", 50.0, 100)), 20 * SECOND_NS, 1))
    one, two = (whole.instances[whole.classes == number][:500] for number in (0, 1))
    assert (one == two).mean() < 0.1


def test_poisson_counts_and_gaps_vary_as_they_should() -> None:
    at = arrivals(Steps.flat(200.0), Poisson(), 5, 1000)
    counts = np.bincount(at // SECOND_NS, minlength=1000)
    gaps = np.diff(at).astype(np.float64)
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=0.15)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(counts[1:], counts[:-1])[0, 1] == pytest.approx(0.0, abs=0.12)


def test_constant_arrivals_are_equally_far_apart() -> None:
    gaps = np.diff(arrivals(Steps.flat(8.0), Constant(), 2, 50))
    assert set(gaps.tolist()) <= {124_999_999, 125_000_000, 125_000_001}


def test_on_off_is_silent_between_bursts_and_several_times_as_fast_in_them() -> None:
    process = OnOff(2 * SECOND_NS, 10 * SECOND_NS)
    shape = process.modulation(stream(1, "bursts", "reads"), 600 * SECOND_NS)
    assert shape is not None and set(shape.per_s) == {0.0, 5.0}
    at = arrivals(Steps.flat(100.0), process, 1, 600)
    assert all(shape.rate(int(t)) == 5.0 for t in at)
    assert len(at) == pytest.approx(100.0 * shape.expected(600 * SECOND_NS), rel=0.02)


@settings(max_examples=examples(60))
@given(shapes(), processes, st.integers(0, 2**40), st.integers(1, 40))
def test_arrivals_ascend_inside_the_run_and_outside_of_silence(
    steps: Steps, process: Process, seed: int, seconds: int
) -> None:
    at = arrivals(steps, process, seed, seconds)
    assert at.dtype == np.int64
    assert (np.diff(at) >= 0).all()
    assert not len(at) or (at[0] >= 0 and at[-1] < seconds * SECOND_NS)
    assert all(steps.rate(int(t)) > 0 for t in at)
    assert (at == arrivals(steps, process, seed, seconds)).all()


@settings(max_examples=examples(40))
@given(shapes(), shapes(), processes, st.integers(0, 99), st.integers(1, 30))
def test_batches_put_together_are_the_same_whatever_the_window(
    one: Steps, two: Steps, process: Process, seed: int, seconds: int
) -> None:
    parts = (ClassLoad("a", one, np.array([1.0, 0.0, 2.0]), process), ClassLoad("b", two, np.ones(3)))
    load = WorkloadLoad(parts, seconds * SECOND_NS, seed)
    whole = all_of(load)
    assert (np.diff(whole.at_ns) >= 0).all()
    ties = np.flatnonzero(np.diff(whole.at_ns) == 0)
    assert (whole.classes[ties] <= whole.classes[ties + 1]).all()
    assert not ((whole.classes == 0) & (whole.instances == 1)).any()
    for window_ns in (SECOND_NS // 7, 13 * SECOND_NS):
        other = all_of(replace(load, window_ns=window_ns))
        for name in ("at_ns", "classes", "instances"):
            assert getattr(other, name).tobytes() == getattr(whole, name).tobytes()


def test_a_batch_spans_one_window() -> None:
    load = WorkloadLoad((part("a", 30.0), part("b", 0.2)), 40 * SECOND_NS, 1)
    windows = [(int(b.at_ns[0]) // SECOND_NS, int(b.at_ns[-1]) // SECOND_NS) for b in load.batches()]
    assert all(first == last for first, last in windows)
    assert len({first for first, _ in windows}) == len(windows)


@settings(max_examples=examples(30))
@given(processes, st.integers(0, 99))
def test_a_class_that_is_added_changes_no_other(process: Process, seed: int) -> None:
    one, two = part("a", 50.0, process=process), part("b", 9.0, process=process)
    alone = all_of(WorkloadLoad((one,), 20 * SECOND_NS, seed))
    for parts in ((one, two), (two, one)):
        both = all_of(WorkloadLoad(parts, 20 * SECOND_NS, seed))
        mine = both.classes == parts.index(one)
        assert both.at_ns[mine].tobytes() == alone.at_ns.tobytes()
        assert both.instances[mine].tobytes() == alone.instances.tobytes()
    other = all_of(WorkloadLoad((replace(one, name="c"),), 20 * SECOND_NS, seed))
    if len(alone.at_ns) and len(other.at_ns):  # a class may be off all the time
        assert alone.at_ns.tobytes() != other.at_ns.tobytes()


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)
def test_a_factor_scales_the_mean(process: Process) -> None:
    single = sum(len(arrivals(Steps.flat(20.0), process, seed, 60)) for seed in range(80))
    triple = sum(len(arrivals(Steps.flat(20.0).times(Steps.flat(3.0)), process, seed, 60)) for seed in range(80))
    assert triple == pytest.approx(3 * single, rel=0.05)


def test_simultaneous_requests_come_by_class() -> None:
    parts = tuple(ClassLoad(name, Steps.flat(2e6), np.ones(1)) for name in "zyx")
    load = WorkloadLoad(parts, SECOND_NS // 10, 4)
    whole = all_of(load)
    ties = np.flatnonzero(np.diff(whole.at_ns) == 0)
    assert len(ties) > 100
    assert (whole.classes[ties] <= whole.classes[ties + 1]).all()


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e3)), min_size=1, max_size=40).filter(any), st.integers(0, 9))
def test_parameters_come_as_often_as_their_weights_say(weights: list[float], seed: int) -> None:
    wanted = np.array(weights) / sum(weights)
    found = np.bincount(Picker(np.array(weights)).pick(stream(seed, "parameters", "a"), 20_000), minlength=len(weights))
    assert (found[wanted == 0] == 0).all()
    error = np.sqrt(20_000 * wanted * (1 - wanted))
    assert (np.abs(found - 20_000 * wanted) <= 6 * error + 3).all()


def test_weights_that_say_nothing_are_refused() -> None:
    for weights in ([], [0.0, 0.0], [-1.0, 2.0], [math.nan]):
        with pytest.raises(ValueError, match="weights are finite"):
            Picker(np.array(weights))


@pytest.mark.parametrize("per_s", [0.5, 3.0, 500.0])
def test_used_parameters_hold_all_that_come(per_s: float) -> None:
    weights = np.append(np.arange(1, 200, dtype=np.float64) ** -1.5, 0.0)
    load = WorkloadLoad((ClassLoad("a", Steps.flat(per_s), weights), part("b", 0.0)), 60 * SECOND_NS, 1)
    whole, (used, none) = all_of(load), used_instances(load)
    assert set(whole.instances.tolist()) <= set(used.tolist())
    assert not len(none) and 199 not in used
    # Few requests: exactly those; very many: whatever can come.
    assert per_s == 500.0 or used.tolist() == sorted(set(whole.instances.tolist()))


def test_shapes_that_are_none_are_refused() -> None:
    for at, per_s in (((), ()), ((1,), (2.0,)), ((0, 5, 5), (1.0, 2.0, 3.0)), ((0,), (-1.0,)), ((0,), (math.inf,))):
        with pytest.raises(ValueError, match=r"moments|rate"):
            Steps(at, per_s)
    with pytest.raises(ValueError, match="above 1"):
        Hyper(1.0)
    with pytest.raises(ValueError, match="less than its cycle"):
        OnOff(5, 5)


@given(shapes(), shapes(), st.integers(1, 50 * SECOND_NS))
def test_the_product_of_two_shapes_is_the_product_at_every_moment(one: Steps, two: Steps, duration: int) -> None:
    both = one.times(two)
    for at in {*one.at_ns, *two.at_ns, duration}:
        assert both.rate(at) == one.rate(at) * two.rate(at)
    assert both.expected(duration) <= both.most(duration) * duration / SECOND_NS * (1 + 1e-9)
