"""The traffic of a workload: rates by shape, parameters as measured, growth, clusters' parameters, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import demands
from pkadvisor.errors import UsageError
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Draw, DrawBy, Growth, GrowthOf, Operation, QueryClass, Rate
from pkadvisor.stress.load.arrivals import SECOND_NS, Constant, Steps
from pkadvisor.stress.load.cluster_stats import cluster_named, clusters
from pkadvisor.stress.load.load import WorkloadLoad
from pkadvisor.stress.load.loads import load_of, synthetic_load, zipf_weights
from pkadvisor.stress.load.shapes import MINUTE_NS, diurnal, grown_by
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

HOUR = 60 * MINUTE_NS
NOON = 20_000 * 1440 + 12 * 60


def with_rate(name: str, rate: Rate, *, operation: Operation = Operation.QUERY, draw: Draw | None = None) -> QueryClass:
    """A class on ``a`` with its rate."""
    text = None if operation is Operation.INSERT else "a eq {a}"
    return replace(query(name, text, operation=operation, draw=draw), rate=rate)


def small_bench(*classes: QueryClass, **workload: object) -> Bench:
    """Ten entities, a = 0, 0, 0, 0, 1, 1, 1, 2, 2, 3."""
    population = population_of({"a": [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]}, {"a": EdmType.INT64})
    bench = bench_of(population, *classes)
    changed = replace(bench.workload, **workload)  # type: ignore[arg-type]
    return replace(bench, workload=changed, demands=demands(changed, population, {}))


READS = with_rate("reads", Rate(10.0, 90.0, 30.0))
WRITES = with_rate("writes", Rate(2.0, 8.0, 4.0), operation=Operation.UPDATE)
SCANS = replace(with_rate("scans", Rate(50.0, 50.0)), analytic=True)


def rates(load: WorkloadLoad, at_ns: int = 0) -> dict[str, float]:
    """What each class's rate is at a moment."""
    return {part.name: part.rate.rate(at_ns) for part in load.parts}


def test_the_default_is_the_sustained_rate_of_every_class_but_the_analytic() -> None:
    load = WorkloadLoad.from_workload(small_bench(READS, WRITES, SCANS), duration_ns=HOUR)
    assert rates(load) == {"reads": 30.0, "writes": 4.0}
    assert load.instances == (10, 10) and load.duration_ns == HOUR
    assert load.expected() == pytest.approx(3600 * 34.0)


def test_factors_shapes_and_processes_of_the_text() -> None:
    bench = small_bench(READS, WRITES)
    load = WorkloadLoad.from_workload(bench, duration_ns=HOUR, factor=2.0, shape="x3,mean,constant,flash:5x@10m+5m")
    assert rates(load) == {"reads": 60.0, "writes": 12.0}
    assert rates(load, 12 * MINUTE_NS) == {"reads": 300.0, "writes": 60.0}
    assert {part.process for part in load.parts} == {Constant()}
    assert rates(WorkloadLoad.from_workload(bench, ["writes"], duration_ns=HOUR, shape="together")) == {"writes": 4.0}


def test_spikes_keep_the_minutes_and_reach_the_busiest_second() -> None:
    load = WorkloadLoad.from_workload(small_bench(READS, WRITES), duration_ns=5 * MINUTE_NS, shape="spikes")
    for part, sustained, peak in zip(load.parts, (30.0, 4.0), (90.0, 8.0), strict=True):
        assert part.rate.most(HOUR) == peak
        for minute in range(5):
            before = part.rate.expected(minute * MINUTE_NS)
            assert part.rate.expected((minute + 1) * MINUTE_NS) - before == pytest.approx(60 * sustained)


def test_classes_that_peak_apart_are_not_added_up() -> None:
    minutes = {
        "reads": MinuteSeries((NOON, NOON + 1), (1800, 180)),
        "writes": MinuteSeries((NOON, NOON + 1), (24, 240)),
    }
    bench = small_bench(READS, WRITES, minutes=minutes)
    assert rates(WorkloadLoad.from_workload(bench, duration_ns=HOUR)) == pytest.approx({"reads": 30.0, "writes": 0.4})
    writes = WorkloadLoad.from_workload(bench, duration_ns=HOUR, weigh={"writes": 1.0})
    assert rates(writes) == pytest.approx({"reads": 3.0, "writes": 4.0})
    together = WorkloadLoad.from_workload(bench, duration_ns=HOUR, shape="together")
    assert rates(together) == {"reads": 30.0, "writes": 4.0}


def test_the_minutes_of_a_log_come_one_after_the_other_the_busiest_stretch_first() -> None:
    counts = {NOON: 60, NOON + 3: 1800, NOON + 4: 1200, NOON + 9: 600}
    bench = small_bench(READS, WRITES, minutes={"reads": MinuteSeries(tuple(counts), tuple(counts.values()))})
    whole = WorkloadLoad.from_workload(bench, duration_ns=10 * MINUTE_NS, shape="diurnal")
    seen = [whole.parts[0].rate.rate(m * MINUTE_NS) * 60 for m in range(10)]
    assert seen == pytest.approx([60, 0, 0, 1800, 1200, 0, 0, 0, 0, 600])
    assert rates(whole)["writes"] == 4.0
    assert any("writes: nobody knows when" in note for note in whole.notes)
    short = WorkloadLoad.from_workload(bench, duration_ns=2 * MINUTE_NS, shape="diurnal")
    assert [short.parts[0].rate.rate(m * MINUTE_NS) * 60 for m in range(2)] == pytest.approx([1800, 1200])
    assert any("begins at 12:03 UTC" in note for note in short.notes)


def test_a_declared_peak_lasts_from_its_hour_to_its_end_over_midnight_too() -> None:
    late = with_rate("late", Rate(1.0, 60.0, peak_at=(1380, 60)))
    found, _ = diurnal(small_bench(late).workload, [late], 24 * HOUR)
    per_hour = [found["late"].rate(hour * HOUR) for hour in range(24)]
    assert per_hour == [60.0, *[1.0] * 22, 60.0]
    short, notes = diurnal(small_bench(late).workload, [late], 2 * HOUR)
    assert short["late"] == Steps.flat(60.0)
    assert any("begins at 23:00 UTC of the day" in note for note in notes)


def test_a_shape_without_any_time_is_refused() -> None:
    with pytest.raises(UsageError, match="no class says when"):
        WorkloadLoad.from_workload(small_bench(READS), duration_ns=HOUR, shape="diurnal")


def test_parameters_come_as_they_are_drawn() -> None:
    drawn = with_rate("reads", Rate(200.0, 200.0), draw=Draw(DrawBy.ZIPF, ("a",), 1.0, stated=True))
    bench = small_bench(drawn)
    load = WorkloadLoad.from_workload(bench, duration_ns=100 * SECOND_NS, seed=3)
    seen = np.concatenate([b.instances for b in load.batches()])
    found = np.bincount(seen, minlength=10) / len(seen)
    assert found == pytest.approx(bench.demands[0].weights, abs=0.01)
    assert found[:4].sum() == pytest.approx(12 / 25, abs=0.015)  # rank 1 of 4: 1 ÷ (1 + ½ + ⅓ + ¼)


def test_growth_of_rates_and_of_what_is_no_rate() -> None:
    grown = small_bench(READS, growth=Growth(1.1, GrowthOf.RATE, 24))
    assert rates(WorkloadLoad.from_workload(grown, duration_ns=HOUR, months=2))["reads"] == pytest.approx(30 * 1.21)
    assert rates(WorkloadLoad.from_workload(grown, duration_ns=HOUR))["reads"] == 30.0
    keys = small_bench(READS, growth=Growth(1.1, GrowthOf.NEW_KEYS, 24))
    load = WorkloadLoad.from_workload(keys, duration_ns=HOUR, months=2)
    assert rates(load)["reads"] == 30.0 and any("new keys" in note for note in grown_by(keys.workload, 2).notes)
    rows = small_bench(READS, growth=Growth(1.1, GrowthOf.ROWS_PER_KEY, 24))
    load = WorkloadLoad.from_workload(rows, duration_ns=HOUR, months=2)
    assert rates(load)["reads"] == 30.0
    grown_rows = grown_by(rows.workload, 2)
    assert grown_rows.rows_per_key == pytest.approx(1.21) and "1.21x its rows of today" in grown_rows.notes[0]
    with pytest.raises(UsageError, match="no growth is declared"):
        WorkloadLoad.from_workload(small_bench(READS), duration_ns=HOUR, months=2)


def test_no_rates_anywhere_is_an_error_and_one_without_is_a_note() -> None:
    silent = with_rate("silent", Rate(0.0, 0.0))
    with pytest.raises(UsageError, match="no class of Table has a rate"):
        WorkloadLoad.from_workload(small_bench(silent), duration_ns=HOUR)
    load = WorkloadLoad.from_workload(small_bench(silent, READS), duration_ns=HOUR)
    assert any(note.startswith("silent: its rate is not known") for note in load.notes)
    assert set(np.concatenate([b.classes for b in load.batches()]).tolist()) == {1}


def test_a_trace_needs_a_log() -> None:
    with pytest.raises(UsageError, match="no log to replay"):
        load_of(small_bench(READS), "trace", duration_ns=HOUR)


def test_all_clusters_are_there_with_their_published_values() -> None:
    assert list(clusters()) == [f"cluster{i}" for i in range(1, 55)]
    known = [c for c in clusters().values() if c.per_s is not None]
    assert len(known) == 53
    assert all(0.9 <= sum(c.operations.values()) <= 1.02 for c in known)
    assert sum(c.zipf is not None for c in known) == 45
    named = cluster_named("Cluster52")
    assert (named.per_s, named.zipf, named.operations["get"]) == (24_250.0, 1.2117, 0.91)
    with pytest.raises(UsageError, match="did you mean 'cluster12'"):
        cluster_named("cluser12")


def test_a_cluster_gives_a_workload_its_rate_mix_and_skew() -> None:
    place = with_rate("place", Rate(3.0, 3.0), operation=Operation.INSERT)
    load = synthetic_load(small_bench(READS, WRITES, place), shape="cluster40,x0.1", duration_ns=HOUR, seed=2)
    found = rates(load)
    assert sum(found.values()) == pytest.approx(626.0)
    assert found["reads"] == pytest.approx(313.0)
    assert found["writes"] / found["place"] == pytest.approx(4.0 / 3.0)
    first = load.parts[0].weights
    assert sorted(first / first.max(), reverse=True) == pytest.approx([rank**-0.8551 for rank in range(1, 11)])
    # A key that is popular among readers is among writers.
    assert (load.parts[1].weights == first).all()
    assert any("CC BY 4.0" in note for note in load.notes)


def test_what_no_class_stands_for_is_left_out_and_said() -> None:
    load = synthetic_load(small_bench(READS), shape="cluster40", duration_ns=HOUR)
    assert rates(load) == {"reads": pytest.approx(3130.0)}
    assert any("no class stands for its set (50 %" in note for note in load.notes)
    with pytest.raises(UsageError, match="no class of Table can stand for"):
        synthetic_load(small_bench(READS), shape="cluster15", duration_ns=HOUR)


def test_the_order_of_popularity_is_drawn_by_the_seed_and_leaves_out_what_nobody_asks_for() -> None:
    rows = np.array([5, -1, 7, 9, 11])
    one, again, other = zipf_weights(rows, 1.0, 1), zipf_weights(rows, 1.0, 1), zipf_weights(rows, 1.0, 2)
    assert one[1] == 0 and sorted(one.tolist(), reverse=True)[:4] == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25])
    assert (one == again).all() and (one != other).any()
