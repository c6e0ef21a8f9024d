"""What load, growth and assumptions do to a design, against pricing it again."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pkadvisor.design.choice.certainty.flips import again
from pkadvisor.design.choice.certainty.what_if import (
    KEEPS,
    LASTING,
    OVER,
    OVER_HEADROOM,
    RANGE,
    break_even,
    cell_at,
    what_if,
)
from pkadvisor.design.cost.cost import estimate, put_down
from pkadvisor.design.cost.forecast import FACTOR, MONTHS, forecast_of, unit_of
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.breaks import earliest
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.heat import lorenz, skew_of
from pkadvisor.design.load.money import EXPIRY, READS, SCANS, SPLIT, STORAGE, WRITES, class_prices, split
from pkadvisor.observe.workload import Growth, GrowthOf, Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"tenant": EdmType.STRING, "id": EdmType.INT32}
SIZES = (500, 250, 150, 100)
ONE = "tenant eq '{tenant}' and id eq {id}"
RATE, NEW, ROWS = GrowthOf.RATE, GrowthOf.NEW_KEYS, GrowthOf.ROWS_PER_KEY


def tenants(growth: Growth | None = None, arrival: str | None = "file_order") -> Bench:
    """Four tenants with half, a quarter, 15 and 10 % of 1,000 rows; reads, lists of a tenant, inserts."""
    names = [f"t{i}" for i, n in enumerate(SIZES) for _ in range(n)]
    order = sorted(range(1000), key=lambda i: i * 7919 % 1000)
    population = population_of({"tenant": [names[i] for i in order], "id": list(range(1000))}, TYPES, arrival=arrival)
    bench = bench_of(
        population,
        query("one", ONE, rate=1000),
        query("all", "tenant eq '{tenant}'", rate=1),
        query("add", None, rate=100, operation=Operation.INSERT),
    )
    return replace(bench, workload=replace(bench.workload, growth=growth))


BY_TENANT = KeyScheme(parse_key("{tenant}", "{pad(id,4)}"))
BY_ID = KeyScheme(parse_key("{id}", ""))


def test_the_grid_is_what_the_loads_come_to() -> None:
    """Half of 1,000 reads, 100 inserts, and of one list a second of 500 rows: 800 entities/s of 2,000."""
    bench = tenants(Growth(2.0, RATE, 1.0))
    found = estimate(BY_TENANT, bench)
    cell = cell_at(found, bench, 1.0, 1.0)
    assert (cell.word, cell.cause) == (KEEPS, "the hottest partition")
    assert cell.times_limit == pytest.approx(found.hot.entities_per_s / 2000)  # type: ignore[union-attr]
    comfort = bench.limits.headroom_share
    assert cell_at(found, bench, (comfort + 0.01) / cell.times_limit, 1.0).word == OVER_HEADROOM
    assert cell_at(found, bench, 1.01 / cell.times_limit, 1.0).word == OVER
    # Twice the rates and twice the growth of the rates are the same four times.
    assert cell_at(found, bench, 2, 2).times_limit == pytest.approx(4 * cell.times_limit)


def test_growth_of_the_rows_of_a_key_raises_only_what_scans_read() -> None:
    bench = tenants(Growth(2.0, ROWS, 1.0))
    found = estimate(BY_TENANT, bench)
    grown = next(b for b in found.breaks if b.by == (ROWS,) and b.resource == "partition")
    today, later = (cell_at(found, bench, 1, g).times_limit for g in (1, 2))
    assert later - today == pytest.approx((grown.measured - grown.fixed) / grown.limit)
    assert grown.fixed > 0


def test_a_bar_is_what_pricing_again_gives() -> None:
    bench = tenants(Growth(2.0, RATE, 1.0))
    found = estimate(BY_ID, bench)
    told = {bar.name: bar for bar in what_if(found, bench).bars}
    half = replace(bench, limits=bench.limits.with_value(RANGE, bench.limits.range_entities_per_s / 2))
    assert told[RANGE].low == pytest.approx(earliest(again(found, half).breaks, RATE)[0])
    twice = replace(bench, limits=bench.limits.with_value(RANGE, bench.limits.range_entities_per_s * 2))
    assert told[RANGE].high == pytest.approx(earliest(again(found, twice).breaks, RATE)[0])


def test_what_moves_nothing_is_told_as_that() -> None:
    bench = tenants()
    found = what_if(estimate(BY_TENANT, bench), bench)
    assert LASTING in found.unmoved
    assert not {bar.name for bar in found.bars} & set(found.unmoved)
    widths = [abs(math.log(bar.high / bar.low)) for bar in found.bars if bar.name.startswith("rate")]
    assert widths == sorted(widths, reverse=True)


def test_break_even_values_are_the_break_factors_of_each_growth() -> None:
    bench = tenants()
    found = estimate(BY_TENANT, bench)
    assert dict(break_even(found, bench)) == {
        str(of): pytest.approx(f) for of in (RATE, NEW, ROWS) if math.isfinite(f := earliest(found.breaks, of)[0])
    }


# -- forecast ----------------------------------------------------------------------------------------------------------


def test_a_forecast_crosses_when_compound_growth_reaches_the_break() -> None:
    growth = Growth(1.1, RATE, 24.0)
    bench = tenants(growth)
    found = estimate(BY_TENANT, bench)
    course = forecast_of(found, bench)
    assert unit_of(growth) == MONTHS
    assert course.crosses_at == pytest.approx(math.log(found.break_factor) / math.log(1.1))
    before = [p for p in course.points if p.at < course.crosses_at]
    assert all(p.worst <= 1 for p in before)
    assert all(p.worst > 1 for p in course.points[len(before) :])
    assert [p.at for p in course.points] == list(range(25))
    last = course.points[-1]
    assert last.partition == pytest.approx(course.points[0].partition * 1.1**24)


def test_entities_come_with_the_inserts_where_rates_grow() -> None:
    """100 inserts a second for a month at an even rate are 262,980,000 entities."""
    bench = tenants(Growth(1.0, RATE, 12.0))
    assert unit_of(bench.workload.growth) == FACTOR
    bench = tenants(Growth(1.0000001, RATE, 1.0))
    points = forecast_of(estimate(BY_TENANT, bench), bench).points
    assert points[-1].entities == pytest.approx(1000 + 262_980_000, rel=1e-4)
    assert points[-1].bytes == pytest.approx((points[-1].entities or 0) * estimate(BY_TENANT, bench).bytes_per_entity)


def test_assumed_growth_is_walked_by_factors_and_says_nothing_of_entities() -> None:
    bench = tenants()
    course = forecast_of(estimate(BY_TENANT, bench), bench)
    assert unit_of(None) == FACTOR
    assert (course.points[0].at, course.points[-1].at) == (1, bench.horizon_factor)
    assert {p.entities for p in course.points} == {None}


def test_what_never_breaks_never_crosses() -> None:
    bench = tenants(Growth(1.0, RATE, 12.0))
    found = replace(estimate(BY_TENANT, bench), breaks=())
    course = forecast_of(found, bench)
    assert (course.crosses_at, course.factor) == (None, math.inf)
    assert [p.worst for p in course.points] == [0.0]


# -- skew --------------------------------------------------------------------------------------------------------------


def test_a_lorenz_curve_by_hand() -> None:
    import numpy as np

    curve, gini = lorenz(np.array([4.0, 1.0, 3.0, 2.0]))
    assert curve == ((0, 0), (0.25, 0.1), (0.5, 0.3), (0.75, 0.6), (1, 1))
    assert gini == pytest.approx(0.25)
    assert lorenz(np.ones(50))[1] == pytest.approx(0)
    _, all_on_one = lorenz(np.array([0.0] * 999 + [1.0]))
    assert all_on_one == pytest.approx(0.999)


def test_the_top_partitions_and_their_sizes() -> None:
    bench = tenants()
    found = estimate(BY_TENANT, bench)
    skew = skew_of(found, bench, put_down(BY_TENANT, bench)[0])
    assert skew is not None
    assert [t.key for t in skew.top] == ["t0", "t1", "t2", "t3"]
    assert [t.rows for t in skew.top] == list(SIZES)
    assert skew.top[0].per_s == pytest.approx(found.hot.entities_per_s)  # type: ignore[union-attr]
    # One list a second, half of them of t0 with its 500 rows.
    assert skew.top[0].growing_per_s == pytest.approx(0.5 * 500)
    assert sum(t.share for t in skew.top) == pytest.approx(1)
    assert (skew.sizes.p50, skew.sizes.largest, skew.partitions) == (250, 500, 4)


# -- money -------------------------------------------------------------------------------------------------------------


def test_a_month_by_what_it_is_paid_for() -> None:
    bench = tenants()
    month = split(estimate(BY_TENANT, bench), bench)
    each = 2_629_800 / 10_000 * bench.limits.price_per_10k_transactions
    assert tuple(month) == SPLIT
    assert month[READS] == pytest.approx(1000 * each)
    assert month[SCANS] == pytest.approx(1 * each)
    assert month[WRITES] == pytest.approx(100 * each)
    assert month[EXPIRY] == 0
    assert month[STORAGE] > 0
    kinds = {c.name: c.kind for c in class_prices(estimate(BY_ID, bench), bench)}
    assert kinds == {"one": READS, "all": SCANS, "add": WRITES}
