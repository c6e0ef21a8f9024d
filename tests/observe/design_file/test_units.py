"""Numbers with units: what is read, what is refused, and what the refusal says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.observe.design_file.units import (
    MONTH_S,
    UnitError,
    parse_count,
    parse_duration,
    parse_growth,
    parse_hours,
    parse_latency_ms,
    parse_rate,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "per_s"),
    [
        ("600/s", 600),
        ("2.5/min", 2.5 / 60),
        ("1_000/h", 1000 / 3600),
        ("3 / day", 3 / 86400),
        ("1e3/s", 1000),
        (" 7/minute ", 7 / 60),
        ("7/hours", 7 / 3600),
        ("1e9/s", 1e9),
    ],
)
def test_rates(text: str, per_s: float) -> None:
    assert parse_rate(text) == pytest.approx(per_s, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("600", "no unit"),
        ("0/s", "rate of zero"),
        ("-1/s", "negative"),
        ("1,000/s", "comma"),
        ("nan/s", "not a rate"),
        ("inf/s", "not a rate"),
        ("1e10/s", "above 1e9/s"),
        ("1e999/s", "above 1e9/s"),
        ("6/fortnight", "unknown unit 'fortnight'"),
        ("/s", "not a rate"),
        ("", "not a rate"),
        ("٣/s", "not a rate"),
    ],
)
def test_rates_refused(text: str, says: str) -> None:
    with pytest.raises(UnitError, match=says) as caught:
        parse_rate(text)
    assert caught.value.fix


def test_an_unknown_unit_suggests_the_near_one() -> None:
    with pytest.raises(UnitError) as caught:
        parse_rate("6/dy")
    assert caught.value.fix.startswith("did you mean 'day'?")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("50ms", 0.05),
        ("90 s", 90),
        ("1h", 3600),
        ("30 days", 30 * 86400),
        ("1 day", 86400),
        ("2 weeks", 14 * 86400),
        ("24 months", 24 * MONTH_S),
        ("2 years", 24 * MONTH_S),
        ("15 min", 900),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["24", "0 s", "-1 h", "1e300 years", "months", "1 hour 5 min", "1,5 h"])
def test_durations_refused(text: str) -> None:
    with pytest.raises(UnitError):
        parse_duration(text)


def test_latency_is_in_ms_and_at_most_an_hour() -> None:
    assert parse_latency_ms("0.2 s") == pytest.approx(200)
    with pytest.raises(UnitError, match="not a latency"):
        parse_latency_ms("2 days")


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("8 %/month", 1.08),
        ("8%/month", 1.08),
        ("+8 % / month", 1.08),
        ("-2 %/month", 0.98),
        ("0 %/month", 1.0),
        ("50 %/year", 1.5 ** (1 / 12)),
        ("1 %/day", 1.01 ** (365.25 / 12)),
    ],
)
def test_growth_compounds_to_a_monthly_factor(text: str, factor: float) -> None:
    assert parse_growth(text) == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("text", ["8 %", "8/month", "8 %/s", "-100 %/month", "1e300 %/day", "100000 %/month"])
def test_growth_refused(text: str) -> None:
    with pytest.raises(UnitError):
        parse_growth(text)


def test_counts_and_shares() -> None:
    assert parse_count("2_000_000") == parse_count(2_000_000) == 2_000_000
    assert parse_share("80 %") == parse_share(0.8) == 0.8
    for wrong in ("2,000", "1.5", "0", "-3", "9" * 20, 0, 10**16):
        with pytest.raises(UnitError):
            parse_count(wrong)
    for wrong_share in ("0", "1.1", "101 %", "nan", "x", -0.2):
        with pytest.raises(UnitError):
            parse_share(wrong_share)


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[-+0-9_.eE, ]{0,12} ?%? ?/? ?[a-z]{0,8}", fullmatch=True)))
def test_any_text_gives_a_usable_number_or_a_unit_error(text: str) -> None:
    for parse in (parse_rate, parse_duration, parse_latency_ms, parse_growth, parse_count, parse_share):
        try:
            value = parse(text)
        except UnitError as error:
            assert error.what
            assert error.fix
            assert len(error.what) < 150
        else:
            assert math.isfinite(value)
            assert value > 0


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("18:00-20:00", (1080, 1200)),
        (" 9:30 - 17:15 ", (570, 1035)),
        ("22:30-01:00", (1350, 60)),
        ("00:00-24:00", (0, 1440)),
    ],
)
def test_hours_of_the_day(text: str, minutes: tuple[int, int]) -> None:
    assert parse_hours(text) == minutes


@pytest.mark.parametrize(
    "text", ["18-20", "18:00", "24:00-01:00", "18:60-20:00", "18:00-24:01", "18:00-18:00", "", "٣:00-4:00"]
)
def test_hours_refused(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_hours(text)
    assert "18:00-20:00" in caught.value.fix
