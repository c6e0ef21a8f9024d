"""What a run looks like in the document: totals, quantiles, timelines, rows of a heat map."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.limits import default_limits
from pkadvisor.report.documents.values import Shown
from pkadvisor.stress.experiment.stress_result import (
    POINTS_MAX,
    counts_of,
    heat_of,
    latency_lines,
    quantile_ms,
    stress_run,
    total_counts,
)
from pkadvisor.stress.placement.run_result import ClassCounts, MapEvent, RunResult
from pkadvisor.stress.requests.scripts import KeySpace

MS = 1_000_000


def test_a_quantile_is_the_least_latency_that_the_share_does_not_pass() -> None:
    latencies = [n * MS for n in range(1, 101)]
    assert quantile_ms(latencies, 0.5) == 50
    assert quantile_ms(latencies, 0.99) == 99
    assert quantile_ms(latencies, 0.999) == 100
    assert quantile_ms(latencies[:1], 0.5) == 1
    assert quantile_ms([], 0.5) is None


def test_of_all_classes_each_has_its_share_of_the_latencies() -> None:
    fast = ClassCounts(requests=900, served=900, attempts=900, accepted=900, latencies_ns=[1 * MS] * 900)
    slow = ClassCounts(requests=100, served=100, attempts=200, accepted=200, latencies_ns=[9 * MS] * 50)
    found = total_counts([fast, slow])
    assert (found.requests, found.attempts) == (1000, 1100)
    assert sorted(found.latencies_ns).count(9 * MS) == 50
    assert sorted(found.latencies_ns).count(1 * MS) == 450  # half of each, for only half of the slow ones were kept


def test_shares_are_of_attempts_and_losses_of_requests() -> None:
    counts = ClassCounts(requests=10, served=6, lost=4, attempts=20, accepted=6, throttled={Bound.PARTITION: 14})
    found = counts_of(counts, 2_000_000_000)
    assert found["throttled_share"] == pytest.approx(0.7)
    assert found["lost_share"] == pytest.approx(0.4)
    assert found["offered_requests_per_s"] == 5
    assert found["throttled_by"] == {"partition": 14}


def test_a_run_in_the_document() -> None:
    space = KeySpace("T", ("a", "b", "c"), np.array([1, 2, 3]))
    seconds = 200
    hot = np.full(seconds, 4_000_000)
    heat = np.zeros((100, 3), dtype=np.int64)
    heat[:, 1] = 2 * 4_000_000
    result = RunResult(
        duration_ns=seconds * 10**9,
        classes={"q": ClassCounts(requests=1, served=1, attempts=1, accepted=1, latencies_ns=[MS], ended_s=[0])},
        offered=np.full(seconds, 10),
        accepted=np.full(seconds, 8),
        throttled=np.full(seconds, 2),
        hottest=1,
        hottest_milli=hot,
        hottest_throttled_milli=hot // 2,
        hottest_attempts=1000,
        hottest_throttled=500,
        bands=np.array([0, 1, 2, 3]),
        heat=heat,
        events=(MapEvent(10**9, "split", ((0, 1, 400_000), (1, 3, 600_000)), "s", 5 * 10**8, 1_000_000),),
    )
    found = stress_run("", result, space, default_limits(), Shown(False))
    assert found.hottest.partition_key == "b"
    assert found.hottest.times_target == 2
    assert len(found.timeline.offered_per_s) == 50 <= POINTS_MAX
    assert set(found.timeline.throttled_per_s) == {2}
    assert [max(row.times_target) for row in found.heat.rows] == [0, 2, 0]
    event = found.events[0]
    assert (event.at_s, event.away_s, event.load_share_before) == (1, 0.5, 1)
    assert [r.load_share for r in event.ranges] == [0.4, 0.6]
    hidden = stress_run("", result, space, default_limits(), Shown(True))
    assert "b" not in str(hidden.hottest.partition_key).split()
    assert hidden.hottest.partition_key.startswith("[key ")


def test_latency_over_time_is_of_the_requests_that_ended_then() -> None:
    quick = ClassCounts(requests=5, served=5, latencies_ns=[n * MS for n in (4, 1, 2, 3, 9)], ended_s=[0, 0, 1, 4, 7])
    rare = [(f"rare-{n}", ClassCounts(requests=n, served=1, latencies_ns=[MS], ended_s=[0])) for n in range(9)]
    found = latency_lines({"never": ClassCounts(requests=20), **dict(rare), "quick": quick}, 6, 2)
    assert [line.name for line in found] == [*(f"rare-{n}" for n in (3, 4, 5, 6, 7, 8)), "quick"]
    assert found[-1].latency_ms_p50 == [2, None, 3]  # 4, 1 and 2 in the first two seconds; second 7 is cut off
    assert found[-1].latency_ms_p99 == [4, None, 3]


def test_a_map_whose_rows_hold_many_keys_tells_no_shares() -> None:
    space = KeySpace("T", tuple(f"k{n:04}" for n in range(1000)), np.ones(1000, dtype=np.int64))
    counts = ClassCounts(requests=10**6, served=10**6, attempts=10**6, accepted=10**6, entities_read=10**6)
    none = np.zeros(50, dtype=np.int64)
    cells = np.full((50, 4), 100_000, dtype=np.int64)
    patterns = []
    for keys in (4, 1000):
        bands = np.arange(5) * keys // 4
        result = RunResult(50 * 10**9, {"q": counts}, none, none, none, -1, none, none, 0, 0, bands, cells)
        patterns.append(heat_of(result, space, default_limits(), Shown(False)).pattern)
    assert patterns[0].sentence.startswith("even over 4 partitions")
    assert patterns[1] is None
