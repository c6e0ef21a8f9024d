"""What waits, is turned away or is left by skew at a busy partition, reckoned by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.design.cost import class_latency
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench, CostEstimate, HotPartition
from pkadvisor.observe.workload import Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"a": EdmType.STRING, "n": EdmType.INT32}
FAN_OUT_OF_16_MS = 25.1 * 3.5 / 10
"""E[max] of 16 log-normal reads: 25.1 ms at a median of 10 ms and sigma 0.5, here 3.5 ms and 0.504."""


def loaded(entities_per_s: float, share: float = 0.5) -> tuple[CostEstimate, Bench]:
    population = population_of({"a": [f"a{i % 7}" for i in range(40)], "n": list(range(40))}, TYPES)
    bench = bench_of(population, query("of", "a eq '{a}'"), query("add", None, operation=Operation.INSERT))
    found = estimate(KeyScheme(parse_key("{a}", "{pad(n,3)}")), bench)
    return replace(found, hot=HotPartition("a0", entities_per_s, share, 7)), bench


def test_half_a_target_waits_as_long_as_one_entity_takes() -> None:
    """ρ/(1 − ρ) = 1 at ρ = 0.5, and one entity takes 1/2000 s."""
    term = class_latency.waiting(*loaded(1000))
    assert term is not None
    assert (term.value, term.unit) == (pytest.approx(0.5), "ms")
    assert class_latency.waiting(*loaded(2000)) is None


def test_above_the_target_attempts_are_turned_away_as_the_retries_settle() -> None:
    term = class_latency.throttled(*loaded(2600))
    assert term.value == pytest.approx(0.693, abs=0.001)
    assert "tried 2.51 times, 23.1 % are lost" in term.source
    assert class_latency.throttled(*loaded(1999)).value == 0


def test_a_fan_out_waits_for_the_slowest_of_its_requests() -> None:
    found, bench = loaded(10)
    assert class_latency.fan_out_latency(found, bench) is None
    key = KeyScheme(parse_key("{a}_{hash(n,16)}", "{pad(n,3)}"))
    term = class_latency.fan_out_latency(estimate(key, bench), bench)
    assert term is not None
    assert term.value == pytest.approx(FAN_OUT_OF_16_MS, rel=0.02)
    assert "(of)" in term.source


def test_skew_leaves_what_the_hottest_share_fills() -> None:
    for share, entities_per_s in ((0.5, 4_000), (0.2, 10_000), (0.01, 20_000)):
        term = class_latency.rate_by_skew(*loaded(10, share))
        assert term is not None
        assert term.value == pytest.approx(entities_per_s)
    assert class_latency.rate_by_skew(replace(loaded(10)[0], hot=None), loaded(10)[1]) is None
