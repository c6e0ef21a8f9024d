"""Heat over keys and time: whatever an owner would see on the map, from rows laid down by hand."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from pkadvisor.design.cost.cost import estimate, put_down
from pkadvisor.design.cost.heat_grid import ROWS_MAX, HeatGrid, grid_of
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.heat import skew_of
from pkadvisor.design.load.heat_clock import COLUMNS_MAX, HeatClock, clock_of
from pkadvisor.design.load.heat_pattern import APPEND, EVEN, FRONTS, HOT_KEY, pattern_of
from pkadvisor.design.rows.insert_lives import lives_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, QueryClass, Rate, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import EPOCH, bench_of, population_of, query

TYPES = {"tenant": EdmType.STRING, "id": EdmType.STRING, "ts": EdmType.DATETIME}
ROWS = 2880
"""One row each half minute of a day."""
ONE = "tenant eq '{tenant}' and id eq '{id}'"
START = EPOCH + timedelta(days=18_000)


def table(tenants: int = 4, arrival: str | None = "ts") -> Population:
    """Rows of several tenants in turn, with an identity that says nothing of when."""
    draw = np.random.default_rng(5)
    names = draw.permutation(ROWS)
    return population_of(
        {
            "tenant": [f"t{i % tenants}" for i in range(ROWS)],
            "id": [f"{n:06d}" for n in names],
            "ts": [START + timedelta(seconds=30 * i) for i in range(ROWS)],
        },
        TYPES,
        arrival=arrival,
    )


def insert(rate: float = 1000.0) -> QueryClass:
    return query("add", None, rate=rate, operation=Operation.INSERT)


def mapped(bench: Bench, partition: str, row: str = "{id}") -> tuple[HeatGrid, HeatClock]:
    scheme = KeyScheme(parse_key(partition, row))
    found, clock = (
        estimate(scheme, bench),
        clock_of(bench.workload, bench.population, schedule_of(bench.workload, bench.population)),
    )
    return grid_of(found, bench, put_down(scheme, bench)[0], clock), clock


def named(grid: HeatGrid) -> str:
    return pattern_of(grid.means, [b.partitions for b in grid.bands]).name


def test_a_key_that_rises_with_the_inserts_is_one_front() -> None:
    grid, clock = mapped(bench_of(table(), insert()), "{ticks(ts)}", "")
    assert named(grid) == APPEND
    # 1,000 inserts a second lie in one range at any moment: half of a range's target.
    assert grid.peaks.max() == pytest.approx(0.5, rel=0.15)
    at = grid.peaks.argmax(axis=0)
    assert (np.diff(at) >= 0).all()
    assert (at[0], int(np.flatnonzero(grid.peaks[:, -1])[-1])) == (0, len(grid.bands) - 1)
    assert clock.columns <= COLUMNS_MAX
    assert grid.peaks.shape == (ROWS_MAX, clock.columns)


def test_the_newest_first_is_the_same_front_the_other_way() -> None:
    grid, _ = mapped(bench_of(table(), insert()), "{reverse_ticks(ts)}", "")
    assert named(grid) == APPEND
    assert (np.diff(grid.peaks.argmax(axis=0)) <= 0).all()


def test_a_front_for_each_tenant() -> None:
    grid, _ = mapped(bench_of(table(4), insert()), "{tenant}_{ticks(ts)}", "")
    pattern = pattern_of(grid.means, [b.partitions for b in grid.bands])
    assert (pattern.name, pattern.count) == (FRONTS, 4)
    assert grid.peaks.max() == pytest.approx(0.5 / 4, rel=0.3)


def test_keys_that_say_nothing_of_when_are_even_without_speckles() -> None:
    """The chance of which row came in which column must not be drawn as heat."""
    grid, _ = mapped(bench_of(table(), insert()), "{hash(id,16)}")
    assert named(grid) == EVEN
    assert grid.peaks.max() <= 0.5 / 16 * 1.5
    assert float(np.ptp(grid.peaks, axis=1).max()) == 0


def test_inserts_of_a_period_all_fall_on_the_one_that_runs() -> None:
    grid, _ = mapped(bench_of(table(), insert()), "{time(ts,'yyyyMMddHH')}")
    assert [b.partitions for b in grid.bands] == [1] * 24
    assert named(grid) == APPEND
    assert grid.peaks.max() == pytest.approx(0.5, rel=0.1)
    assert grid.peaks.max(axis=0).min() >= 0.4


def test_without_an_order_of_arrival_nothing_moves_and_there_is_one_column() -> None:
    grid, clock = mapped(bench_of(table(arrival=None), insert()), "{tenant}")
    assert (clock.columns, clock.step_s, clock.start_us, clock.basis) == (1, 0.0, None, Basis.ASSUMED)
    assert grid.peaks[:, 0] == pytest.approx([0.125] * 4)


def test_the_order_of_a_file_is_an_order_without_a_clock() -> None:
    grid, clock = mapped(bench_of(table(arrival="file_order"), insert()), "{ticks(ts)}", "")
    assert (clock.step_s, clock.start_us) == (0.0, None)
    assert named(grid) == APPEND


def test_the_hottest_cell_is_the_hottest_partition() -> None:
    zipf = query("get", ONE, rate=5000.0, draw=Draw(DrawBy.ZIPF, ("id",), 1.2, stated=True))
    bench = bench_of(table(), zipf, query("list", "tenant eq '{tenant}'", rate=3.0))
    for partition in ("{tenant}_{id}", "{tenant}", "{tenant}_{hash(id,64)}"):
        scheme = KeyScheme(parse_key(partition, "{id}"))
        hot = estimate(scheme, bench).hot
        grid, _ = mapped(bench, partition)
        assert hot is not None
        assert grid.peaks.max() == pytest.approx(hot.entities_per_s / 2000)
    assert named(mapped(bench, "{tenant}_{id}")[0]) == HOT_KEY


def test_rows_of_the_map_add_up_to_the_table() -> None:
    bench = bench_of(table(), insert(100.0), query("list", "tenant eq '{tenant}'", rate=3.0))
    for partition in ("{tenant}", "{id}", "{time(ts,'yyyyMMddHH')}"):
        grid, _ = mapped(bench, partition)
        assert grid.means.sum(axis=0) == pytest.approx(grid.totals, rel=0.1)
        assert sum(b.partitions for b in grid.bands) == bench.population.distinct(
            (("p", partition[1:-1]),) if "time" not in partition else (("t", "ts", "hour"),)
        )


def logged(**minutes: MinuteSeries) -> Bench:
    """Two logged classes on a table, each with its minutes."""
    base = bench_of(
        table(),
        QueryClass("get", Operation.QUERY, query("", ONE).filter, Rate(10, 60, 60)),
        QueryClass("list", Operation.QUERY, query("", "tenant eq '{tenant}'").filter, Rate(1, 6, 6)),
    )
    workload = Workload("Table", base.workload.classes, minutes=dict(minutes))
    return Bench(base.population, workload, base.demands, base.limits, 100.0)


def test_a_log_says_minute_by_minute_who_is_busy() -> None:
    noon = 18_000 * 1440 + 720
    get = MinuteSeries((noon, noon + 1, noon + 3), (3600, 1800, 360))
    listed = MinuteSeries((noon + 1,), (360,))
    grid, clock = mapped(logged(get=get, list=listed), "{tenant}")
    assert (clock.columns, clock.step_s, clock.basis) == (4, 60.0, Basis.COUNTED)
    assert clock.start_us == noon * 60_000_000
    # 60, 30, 0 and 6 point reads a second, and 6 lists of 720 rows in the second minute.
    assert grid.totals == pytest.approx([60, 30 + 6 * 720, 0, 6])
    assert grid.peaks.max(axis=0) == pytest.approx([x / 4 / 2000 for x in (60, 30 + 6 * 720, 0, 6)])


def test_two_classes_that_peak_at_different_minutes_of_a_column_do_not_meet() -> None:
    """A column of two minutes shows the worse of them, not the sum of the peaks."""
    first = 18_000 * 1440
    at = tuple(range(first, first + 300))
    get = MinuteSeries(at, tuple(3600 if i % 2 else 36 for i in range(300)))
    listed = MinuteSeries(at, tuple(36 if i % 2 else 3600 for i in range(300)))
    grid, clock = mapped(logged(get=get, list=listed), "{tenant}")
    assert clock.step_s == 120
    assert grid.peaks.max() == pytest.approx(max(60 + 0.01 * 6 * 720, 0.6 + 6 * 720) / 4 / 2000)


def test_a_declared_hour_of_the_peak_makes_a_day() -> None:
    rate = Rate(10, 100, peak_at=(600, 660))
    bench = bench_of(table(), QueryClass("get", Operation.QUERY, query("", ONE).filter, rate))
    grid, clock = mapped(bench, "{tenant}")
    assert (clock.start_us, clock.step_s * clock.columns, clock.basis) == (None, 86_400, Basis.DECLARED)
    busy = np.flatnonzero(grid.totals > 50)
    assert (busy[0] * clock.step_s / 60, (busy[-1] + 1) * clock.step_s / 60) == (600, 660)
    assert set(np.round(grid.totals, 6)) == {10.0, 100.0}


def test_a_few_strays_do_not_stretch_the_time() -> None:
    found = table()
    strays = found.frame.with_columns(ts=found.frame.get_column("ts").scatter([0], [EPOCH]))
    bench = bench_of(Population(strays, TYPES, arrival="ts"), insert())
    _, clock = mapped(bench, "{tenant}")
    assert clock.step_s * clock.columns <= 2 * 86_400


def test_a_life_is_told_by_its_ends_and_not_by_chance() -> None:
    """A group that takes half of the inserts in the second quarter of the time."""
    draw = np.random.default_rng(1)
    places = np.arange(4000)
    inside = (places >= 1000) & (places < 2000) & (draw.random(4000) < 0.5)
    lives = lives_of(inside.astype(np.int64), 2, places, np.full(4000, 1 / 4000), 4000)
    assert lives.share[1] == pytest.approx(0.5, rel=0.1)
    assert (lives.first[1], lives.last[1]) == (pytest.approx(1000, abs=20), pytest.approx(2000, abs=20))
    assert lives.brief.tolist() == [False, True]
    # The other one is there all the time, with its mean share.
    assert lives.share[0] == pytest.approx(float((~inside).mean()))
    assert (lives.first[0], lives.last[0]) == (0, 3999)


def test_a_late_row_does_not_make_a_life_longer() -> None:
    ids = np.zeros(1000, dtype=np.int64)
    ids[100:200] = 1
    ids[990] = 1
    lives = lives_of(ids, 2, np.arange(1000), np.full(1000, 1e-3), 1000)
    assert lives.last[1] < 230


def test_a_partition_of_three_rows_takes_no_more_than_three_inserts_a_second() -> None:
    """Its rows come one after the other: for three thousandths of a second it takes all inserts, which is no load."""
    rows = 3000
    population = population_of(
        {"tenant": [f"{i // 3 * 7919 % 1000:04d}" for i in range(rows)], "id": list(map(str, range(rows)))},
        {"tenant": EdmType.STRING, "id": EdmType.STRING},
        arrival="file_order",
    )
    grid, _ = mapped(bench_of(population, insert(1000.0)), "{tenant}")
    alone = [i for i, band in enumerate(grid.bands) if band.partitions == 1]
    assert grid.peaks[alone].max(initial=0) <= 3 / 2000 + 1e-9
    assert grid.peaks.max() <= 1000 / 2000 / 10


def test_rows_that_arrived_while_the_log_ran_lie_at_their_own_time() -> None:
    first = 18_000 * 1440
    asked = logged(get=MinuteSeries(tuple(range(first, first + 1440)), (60,) * 1440))
    clock = clock_of(asked.workload, asked.population, schedule_of(asked.workload, asked.population))
    assert clock.arrival_columns is not None
    # A row each half minute, 10 minutes a column.
    assert clock.arrival_columns.tolist() == [i // 20 for i in range(ROWS)]
    later = logged(get=MinuteSeries(tuple(range(first + 1440, first + 2880)), (60,) * 1440))
    assert (
        clock_of(later.workload, later.population, schedule_of(later.workload, later.population)).arrival_columns
        is None
    )


def test_rows_of_the_map_stand_for_keys_that_are_not_at_hand() -> None:
    """Whole keys were drawn, one in ten: the map adds up to the load of the table, a partition stays what it is."""
    whole = table()
    part = Population(
        whole.frame,
        TYPES,
        total=10 * ROWS,
        complete=False,
        sampling="random-keys",
        sampled_by=("tenant",),
        arrival="ts",
    )
    bench = bench_of(part, query("list", "tenant eq '{tenant}'", rate=1.0))
    grid, _ = mapped(bench, "{tenant}")
    assert grid.means.sum(axis=0) == pytest.approx(grid.totals)
    found = estimate(KeyScheme(parse_key("{tenant}", "{id}")), bench).hot
    assert found is not None
    assert grid.peaks.max() == pytest.approx(found.entities_per_s / 2000)
    assert grid.means.max() > 5 * grid.peaks.max() * 2000


def test_the_worst_minute_of_a_partition_is_not_the_first() -> None:
    noon = 18_000 * 1440 + 720
    bench = logged(get=MinuteSeries((noon, noon + 1), (3600, 36)), list=MinuteSeries((noon, noon + 1), (36, 360)))
    scheme = KeyScheme(parse_key("{tenant}", "{id}"))
    loads, _, _ = put_down(scheme, bench)
    skew = skew_of(estimate(scheme, bench), bench, loads)
    assert skew is not None
    # Point reads 0.6/s and 6 lists of 720 rows in the second minute, over four tenants.
    assert skew.top[0].per_s == pytest.approx((0.6 + 6 * 720) / 4)
    assert skew.top[0].growing_per_s == pytest.approx(6 * 720 / 4)


def test_rows_of_a_partition_are_told_for_the_whole_table() -> None:
    whole = table()
    part = Population(whole.frame, TYPES, total=10 * ROWS, complete=False, arrival="ts")
    bench = bench_of(part, query("list", "tenant eq '{tenant}'", rate=1.0))
    scheme = KeyScheme(parse_key("{tenant}", "{id}"))
    skew = skew_of(estimate(scheme, bench), bench, put_down(scheme, bench)[0])
    assert skew is not None
    assert [t.rows for t in skew.top] == [10 * ROWS / 4] * 4
    assert (skew.sizes.largest, skew.sizes.basis) == (10 * ROWS / 4, Basis.ESTIMATED)
