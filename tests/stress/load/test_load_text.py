"""``--load``: every form means one thing, and what means nothing is told what would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.stress.load.arrivals import SECOND_NS, Constant, Hyper, OnOff, Poisson, Steps
from pkadvisor.stress.load.load_text import Flash, Ramp, parse_load

MINUTE = 60 * SECOND_NS


def test_each_form() -> None:
    assert parse_load("x2").factor == parse_load("2x").factor == parse_load(" 2 ").factor == 2.0
    assert parse_load("0.5").factor == 0.5
    assert parse_load("x1_000").factor == 1000.0
    assert parse_load("peak").base == parse_load("x3").base == "peak"
    assert parse_load("Diurnal").base == "diurnal"
    assert parse_load("trace").base == "trace"
    assert parse_load("cluster12").cluster == "cluster12"
    assert parse_load("constant").process == Constant()
    assert parse_load("x2").process == Poisson()
    assert parse_load("bursts:ca2=4").process == Hyper(4.0)
    assert parse_load("bursts:500ms/10s").process == OnOff(SECOND_NS // 2, 10 * SECOND_NS)
    assert parse_load("flash:5x@10m").flashes == (Flash(5.0, 10 * MINUTE),)
    assert parse_load("flash:x5 @ 10 min + 90s").flashes == (Flash(5.0, 10 * MINUTE, 90 * SECOND_NS),)
    assert parse_load("flash:2@0s").flashes == (Flash(2.0, 0),)
    assert parse_load("ramp:0.5x-2x/4").ramp == Ramp(0.5, 2.0, 4)
    assert parse_load("ramp:1-3").ramp == Ramp(1.0, 3.0, 10)


def test_parts_go_together_in_any_order() -> None:
    spec = parse_load("flash:5x@10m+2m, x2, bursts:ca2=9,mean,flash:2x@1h")
    assert (spec.factor, spec.base, spec.process) == (2.0, "mean", Hyper(9.0))
    assert spec.flashes == (Flash(5.0, 10 * MINUTE, 2 * MINUTE), Flash(2.0, 60 * MINUTE))
    assert parse_load("x0.1,cluster52").cluster == parse_load("cluster52,x0.1").cluster == "cluster52"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty part"),
        ("x2,,mean", "empty part"),
        ("x2,3", "how much twice"),
        ("mean,cluster3", "which traffic twice"),
        ("poisson,constant", "how arrivals scatter twice"),
        ("x0", "factor above 0"),
        ("2000000", "factor above 0"),
        ("-2", "is no load"),
        ("1,5", "how much twice"),
        ("diurnel", "did you mean 'diurnal'"),
        ("flas:5x@10m", "did you mean 'flash'"),
        ("flash", "write it as flash:5x@10m"),
        ("flash:5x", "write it as flash:5x@10m"),
        ("flash:fast@10m", "'fast' is not a factor"),
        ("flash:5x@ten", "'ten' is not a duration"),
        ("flash:5x@10", "'10' has no unit"),
        ("flash:5x@10m+0s", "zero"),
        ("bursts", "write it as bursts:ca2=4"),
        ("bursts:ca2=1", "ca2 above 1"),
        ("bursts:ca2=many", "not a bursts load"),
        ("bursts:10s/2s", "shorter than the time"),
        ("ramp:1-2/1", "less than two steps"),
        ("ramp:up", "write it as ramp"),
        ("cluster99", "there is no cluster"),
        ("cluster5", "nothing is known of the requests of cluster5"),
        ("cluster", "there is no cluster"),
    ],
)
def test_what_means_nothing_is_told_so(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_load(text)
    assert says in str(caught.value)
    assert caught.value.where == "--load" and caught.value.fix


def test_an_error_says_what_is_allowed() -> None:
    with pytest.raises(UsageError) as caught:
        parse_load("plenty")
    for form in ("x2", "flash:5x@10m", "bursts:ca2=4", "diurnal", "trace", "cluster12"):
        assert form in caught.value.fix


@given(st.text(alphabet="x0123456789.,:@+-/=abcehlrstu msµ\n\x00é", max_size=24))
def test_any_text_is_a_load_or_a_usage_error(text: str) -> None:
    try:
        spec = parse_load(text)
    except UsageError:
        return
    assert spec.factor > 0 and spec.shape(60 * SECOND_NS).expected(60 * SECOND_NS) > 0


def test_shapes_of_flash_crowds_and_ramps() -> None:
    shape = parse_load("flash:5x@2m+1m").shape(10 * MINUTE)
    assert [shape.rate(at) for at in (0, 2 * MINUTE - 1, 2 * MINUTE, 3 * MINUTE - 1, 3 * MINUTE)] == [1, 1, 5, 5, 1]
    assert parse_load("flash:5x@0s").shape(MINUTE) == Steps((0,), (5.0,))
    both = parse_load("flash:5x@2m,flash:2x@3m+1m").shape(10 * MINUTE)
    assert [both.rate(minute * MINUTE) for minute in (1, 2, 3, 4)] == [1, 5, 10, 5]
    ramp = parse_load("ramp:0.5x-2x/4").shape(8 * MINUTE)
    assert [ramp.rate(minute * MINUTE) for minute in (0, 1, 2, 4, 6, 7)] == [0.5, 0.5, 1.0, 1.5, 2.0, 2.0]
