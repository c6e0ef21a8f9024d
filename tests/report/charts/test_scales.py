"""Scales and ticks: laws over any range."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pkadvisor.report.charts.scales import (
    FIRST_S,
    LAST_S,
    STEPS_S,
    Axis,
    AxisKind,
    elapsed_ticks,
    epoch_s,
    log_ticks,
    moment_label,
    nice_step,
    scale_of,
    time_ticks,
)
from tests.tiers import examples

values = st.floats(-1e15, 1e15, allow_nan=False).map(lambda v: 0.0 if abs(v) < 1e-9 else v)
positive = st.floats(1e-9, 1e15, allow_nan=False)
counts = st.integers(2, 12)


@given(positive, counts)
def test_a_step_is_1_2_or_5_times_a_power_of_ten_and_fits_as_often_as_asked(span: float, count: int) -> None:
    step = nice_step(span, count)
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - m) for m in (1, 2, 5)) < 1e-6
    assert span / step <= count * (1 + 1e-6)
    assert span / step >= count / 2.51, "a step of 1, 2, 5 is at most 2.5 times too large"


@given(st.lists(values, min_size=1, max_size=5), st.sampled_from(list(AxisKind)), counts, st.booleans())
@settings(max_examples=examples(300))
@example([101.0, 100_000_000_230_259.0], AxisKind.LOG, 2, False)
def test_every_axis_holds_its_values_and_its_ticks_rise(
    given_values: list[float], kind: AxisKind, count: int, from_zero: bool
) -> None:
    axis = Axis("x", kind)
    scale = scale_of(axis, given_values, 100, 500, ticks=count, from_zero=from_zero)
    assert scale.high > scale.low
    assume(scale.high - scale.low > 1e-6 * max(abs(scale.low), abs(scale.high)))
    for value in given_values:
        if kind is not AxisKind.LOG:
            assert scale.low - 1e-6 * (scale.high - scale.low) <= value <= scale.high + 1e-6 * (scale.high - scale.low)
        elif value > 1e-12 * max(given_values):
            assert scale.low * (1 - 1e-6) <= value <= scale.high * (1 + 1e-6)
        assert 100 <= scale.at(value) <= 500
    ticks = [tick.value for tick in scale.ticks]
    assert all(a < b for a, b in pairwise(ticks))
    span = scale.high - scale.low
    assert all(scale.low - 1e-6 * span <= t <= scale.high + 1e-6 * span for t in ticks)
    assert len(ticks) <= 3 * count + 4
    labels = [tick.label for tick in scale.ticks]
    if kind in (AxisKind.LINEAR, AxisKind.LOG):
        assert len(set(labels)) == len(labels), "two ticks that read the same"


@given(st.lists(values, min_size=2, max_size=5, unique=True), counts)
def test_a_linear_axis_has_the_ticks_it_needs_to_be_read(given_values: list[float], count: int) -> None:
    scale = scale_of(Axis("x"), given_values, 0, 1, ticks=count)
    assume(scale.high - scale.low > 1e-6 * max(abs(scale.low), abs(scale.high)))
    assert len(scale.ticks) >= 2
    for tick in scale.ticks:
        if tick.label[-1] not in "TGMk":
            assert float(tick.label.replace(",", "")) == pytest.approx(tick.value, abs=1e-6 * (scale.high - scale.low))


@given(positive, st.floats(1.01, 1e12), st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_positions_rise_with_values(low: float, times: float, shares: list[float]) -> None:
    for kind in (AxisKind.LINEAR, AxisKind.LOG):
        scale = scale_of(Axis("x", kind, low=low, high=low * times), (), 0, 1000, ticks=5)
        places = [scale.at(low + share * (low * times - low)) for share in sorted(shares)]
        assert places == sorted(places)
        assert scale.at(low) == 0 and scale.at(low * times) == pytest.approx(1000)


def test_an_axis_of_amounts_begins_at_zero_and_never_below_it() -> None:
    scale = scale_of(Axis("y"), [700, 900], 0, 1, ticks=5, from_zero=True)
    assert scale.low == 0
    assert [t.label for t in scale.ticks] == ["0", "200", "400", "600", "800", "1,000"]
    assert scale_of(Axis("y"), [700, 900], 0, 1, ticks=5).low == 700


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 0.25, ["0", "0.05", "0.10", "0.15", "0.20", "0.25"]),
        (0, 9_000, ["0", "2,000", "4,000", "6,000", "8,000"]),
        (0, 25_000, ["0", "5k", "10k", "15k", "20k", "25k"]),
        (0, 2.5e6, ["0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"]),
        (-10, 10, ["-10", "-5", "0", "5", "10"]),
        (1_000_000, 1_000_004, ["1,000,000", "1,000,001", "1,000,002", "1,000,003", "1,000,004"]),
    ],
)
def test_ticks_are_written_at_the_digits_they_need(low: float, high: float, labels: list[str]) -> None:
    scale = scale_of(Axis("x", low=low, high=high), (), 0, 1, ticks=5)
    assert [tick.label for tick in scale.ticks] == labels


def test_powers_of_ten_are_divided_where_there_are_few_and_left_out_where_there_are_many() -> None:
    assert [t.label for t in log_ticks(1, 100, 6)] == ["1", "2", "5", "10", "20", "50", "100"]
    assert [t.label for t in log_ticks(0.1, 1000, 6)] == ["0.1", "1", "10", "100", "1,000"]
    assert [t.label for t in log_ticks(100, 1e5, 4)] == ["100", "1k", "10k", "100k"]
    assert [t.label for t in log_ticks(1, 1e8, 4)] == ["1", "100", "10k", "1M", "100M"]


def test_lengths_of_time_are_in_the_unit_of_their_step() -> None:
    assert [t.label for t in elapsed_ticks(0, 600, 6)] == ["0", "2 min", "4 min", "6 min", "8 min", "10 min"]
    assert [t.label for t in elapsed_ticks(0, 90, 6)] == ["0", "15 s", "30 s", "45 s", "60 s", "75 s", "90 s"]
    assert [t.label for t in elapsed_ticks(0, 86_400, 5)] == ["0", "6 h", "12 h", "18 h", "24 h"]
    assert [t.label for t in elapsed_ticks(0, 0.5, 5)] == ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]
    assert [t.label for t in elapsed_ticks(0, 400 * 86_400, 4)] == ["0", "100 d", "200 d", "300 d", "400 d"]


def at(text: str) -> float:
    found = epoch_s(text)
    assert found is not None
    return found


def test_moments_carry_the_date_where_a_day_begins_and_the_year_where_a_year_does() -> None:
    day = time_ticks(at("2026-11-21T17:00:00Z"), at("2026-11-22T09:00:00Z"), 4)
    assert [t.label for t in day] == ["21 Nov 18:00", "22 Nov", "06:00"]
    week = time_ticks(at("2026-11-28"), at("2026-12-03"), 6)
    assert [t.label for t in week] == ["28 Nov", "29 Nov", "30 Nov", "1 Dec", "2 Dec", "3 Dec"]
    year = time_ticks(at("2026-10-05"), at("2027-04-20"), 8)
    assert [t.label for t in year] == ["Nov 2026", "Dec", "Jan 2027", "Feb", "Mar", "Apr"]
    decades = time_ticks(at("1990-01-01"), at("2026-01-01"), 4)
    assert [t.label for t in decades] == ["1990", "2000", "2010", "2020"]
    seconds = time_ticks(at("2026-11-22T09:00:58Z"), at("2026-11-22T09:01:18Z"), 5)
    assert [t.label for t in seconds] == ["22 Nov 09:01:00", "09:01:05", "09:01:10", "09:01:15"]


@given(st.floats(FIRST_S, LAST_S), st.floats(1, 1e9), counts)
def test_moments_lie_on_whole_steps(low: float, span: float, count: int) -> None:
    assume(low + span <= LAST_S)
    ticks = time_ticks(low, low + span, count)
    assert len(ticks) <= count + 2
    for tick in ticks:
        assert low - 1e-3 <= tick.value <= low + span + 1e-3 and tick.value == int(tick.value)
    gaps = {b.value - a.value for a, b in pairwise(ticks)}
    assert len(gaps) <= 1 or min(gaps) >= 28 * 86_400, "only months differ in length"
    assert all(gap in STEPS_S for gap in gaps) or min(gaps) >= 28 * 86_400


def test_moments_outside_the_calendar_are_lengths_of_time() -> None:
    ticks = time_ticks(1e14, 1e14 + 600, 5)
    assert [t.value - 1e14 for t in ticks] == [0, 120, 240, 360, 480, 600]
    assert [t.label for t in ticks] == ["0", "2 min", "4 min", "6 min", "8 min", "10 min"]
    assert moment_label(1e14) == "100000000000000 s"
    assert moment_label(-62_135_596_800) == "0001-01-01 00:00:00 UTC"


def test_a_moment_without_a_zone_is_utc() -> None:
    assert epoch_s("2026-11-22T09:00:00") == datetime(2026, 11, 22, 9, tzinfo=UTC).timestamp()
    assert epoch_s("2026-11-22T09:00:00+05:45") == datetime(2026, 11, 22, 3, 15, tzinfo=UTC).timestamp()
    assert epoch_s("yesterday") is None
