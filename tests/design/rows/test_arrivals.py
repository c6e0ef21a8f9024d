"""When rows came, and times that are wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import polars as pl
import pytest

from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.arrivals import arrival_notes, arrivals, arrivals_of, differ, inserted_in_order
from pkadvisor.design.rows.demand import demands
from pkadvisor.observe.workload import Draw, DrawBy
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = {"id": EdmType.INT32, "at": EdmType.DATETIME}
WRONG = (datetime(2099, 1, 1, tzinfo=UTC), datetime(2099, 1, 2, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC))
DAY_S = 86_400.0


def of_days(days: int = 10, wrong: tuple[datetime, ...] = WRONG, window_s: float = DAY_S) -> Bench:
    """100 entities a day at random times, then those of wrong times; a query for those of the newest window."""
    random = Random(5)
    times = sorted(START + timedelta(seconds=random.random() * days * DAY_S) for _ in range(100 * days))
    moments = [*times, *wrong]
    population = population_of({"id": list(range(len(moments))), "at": moments}, TYPES, arrival="at")
    newest = Draw(DrawBy.NEWEST, share=1.0, window_s=window_s, stated=True)
    return bench_of(population, query("of-today", "id eq {id}", draw=newest))


def test_rows_of_wrong_times_are_not_the_newest() -> None:
    bench = of_days()
    found = arrivals(bench.population)
    assert found is not None
    assert (found.before, found.behind) == (1, 2)
    (demand,) = demands(bench.workload, bench.population, {})
    drawn = set(demand.instances[demand.weights > 0].tolist())
    assert drawn and max(drawn) < 1000 and min(drawn) > 850
    order = inserted_in_order(bench.population)
    assert order is not None and order.tolist() == list(range(1000))


def test_how_many_were_ignored_is_told() -> None:
    bench = of_days()
    (note,) = arrival_notes(bench.population, bench.workload)
    assert note.startswith("3 of 1,003 entities came at a time far from all others (at of these is 2026-01-01 to")
    assert arrival_notes(of_days(wrong=()).population, bench.workload) == ()


def test_a_window_longer_than_the_data_is_told() -> None:
    bench = of_days(wrong=(), window_s=30 * DAY_S)
    (note,) = arrival_notes(bench.population, bench.workload)
    assert note.startswith("of-today asks for 30 days, and the data spans 9.99 days")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shape", ["even", "growing", "bursts"])
def test_right_times_are_not_taken_for_wrong_ones(seed: int, shape: str) -> None:
    random = np.random.default_rng(seed)
    gaps = {
        "even": random.exponential(1e6, 2000),
        "growing": random.exponential(1e6, 2000) / np.linspace(0.1, 1.0, 2000),
        "bursts": random.lognormal(13.0, 1.5, 2000),
    }[shape]
    found = arrivals_of(np.cumsum(gaps).astype(np.int64))
    assert found is not None and found.ignored == 0


@pytest.mark.parametrize(("same", "told"), [(5, True), (6, False), (10, False)])
def test_a_time_that_most_entities_share_tells_no_order(same: int, told: bool) -> None:
    """A table that was restored has one Timestamp: the order of its file is no order of arrival."""
    times = [datetime(2026, 3, 1, tzinfo=UTC)] * same + [datetime(2026, 3, 2, n, tzinfo=UTC) for n in range(10 - same)]
    assert differ(pl.Series(times)) is told
