"""When each limit breaks, by kind of growth, on tables that a reader can count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.cost.cost import estimate, put_down
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.load.breaks import (
    ACCOUNT,
    CAUSES,
    ENTITY,
    EVERY,
    FILLING,
    PARTITION,
    SCANS,
    Pressure,
    breaks_of,
    earliest,
    saturation,
    takes_new_keys,
)
from pkadvisor.design.load.estimates import Bench, Break, CostEstimate
from pkadvisor.design.load.heat import PartitionLoad
from pkadvisor.design.rows.demand import demands
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, DrawBy, Growth, GrowthOf, Operation, QueryClass, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.tiers import examples

TYPES = {"tenant": EdmType.STRING, "id": EdmType.INT64}
RATE, NEW, ROWS = GrowthOf.RATE, GrowthOf.NEW_KEYS, GrowthOf.ROWS_PER_KEY
LIMITS = default_limits()


def bench(*classes: QueryClass, tenants: int = 4, rows: int = 40, growth: Growth | None = None) -> Bench:
    """``rows`` entities, in turn of ``tenants`` tenants."""
    population = population_of({"tenant": [f"t{n % tenants}" for n in range(rows)], "id": list(range(rows))}, TYPES)
    found = bench_of(population, *classes)
    workload = replace(found.workload, growth=growth)
    return replace(found, workload=workload, demands=demands(workload, population, {}))


def scored(made: Bench, partition: str = "{tenant}", row: str = "{pad(id,3)}") -> CostEstimate:
    return estimate(KeyScheme(parse_key(partition, row)), made)


def of(found: CostEstimate, cause: str, kind: GrowthOf = RATE) -> Break:
    (one,) = (b for b in found.breaks if b.cause == cause and kind in b.by)
    return one


POINT = query("one", "tenant eq '{tenant}' and id eq {id}", rate=80)
LIST = query("list", "tenant eq '{tenant}'", rate=20)


def test_each_kind_of_growth_raises_its_own() -> None:
    found = scored(bench(POINT, LIST))
    # A tenant: a quarter of 80 points, and of 20 lists of 10 rows each.
    hot = of(found, PARTITION)
    assert hot.measured == pytest.approx(20 + 50)
    assert hot.factor == pytest.approx(2000 / 70)
    assert hot.factor_comfort == pytest.approx(0.8 * 2000 / 70)
    filling = of(found, FILLING, ROWS)
    assert (filling.measured, filling.fixed) == pytest.approx((70, 20))
    assert filling.factor == pytest.approx((2000 - 20) / 50)
    assert of(found, ACCOUNT).factor == pytest.approx(20_000 / 100)
    assert of(found, ENTITY).measured == pytest.approx(80 / 40)
    assert found.break_factor == pytest.approx(2000 / 70)
    assert found.break_cause == PARTITION
    assert [b.factor for b in found.breaks] == sorted(b.factor for b in found.breaks)


def test_point_reads_never_break_by_more_rows_per_key() -> None:
    found = scored(bench(POINT))
    assert not [b for b in found.breaks if ROWS in b.by]
    assert earliest(found.breaks, ROWS)[0] == float("inf")


def test_a_row_that_gets_another_key_counts_twice() -> None:
    """A change of ``state`` writes the entity, removes the index row that was and writes the new one: three entities
    of one partition, after one that is read."""
    types = TYPES | {"state": EdmType.STRING}
    columns = {"tenant": ["t"] * 40, "id": list(range(40)), "state": [f"s{n % 3}" for n in range(40)]}
    change = query(
        "change", "tenant eq '{tenant}' and id eq {id}", operation=Operation.UPDATE, sets=["state"], rate=100
    )
    found = bench_of(population_of(columns, types), change)
    for sets, moved in ((["state"], 2), ([], 1)):
        made = replace(change, sets=tuple(sets))
        workload = replace(found.workload, classes=(made,))
        asked = replace(found, workload=workload, demands=demands(workload, found.population, {}))
        scheme = KeyScheme(
            parse_key("{tenant}", "ID:{pad(id,3)}"), (IndexRow(parse_key("{tenant}", "STATE:{state}_{pad(id,3)}")),)
        )
        cost = estimate(scheme, asked)
        (of_class,) = cost.classes
        assert of_class.entities_written == 1 + moved
        assert of(cost, PARTITION).measured == pytest.approx(100 * (of_class.entities_read + 1 + moved))
    made = replace(change, sets=("state",))
    workload = replace(found.workload, classes=(made,))
    asked = replace(found, workload=workload, demands=demands(workload, found.population, {}))
    loads, _, _ = put_down(KeyScheme(parse_key("{tenant}", "{state}_{pad(id,3)}")), asked)
    entity = loads.hottest_entity()
    assert entity is not None, "the one that is removed and the one that is written are two entities"
    assert entity[1].entities_per_s == pytest.approx(100 / 40)


def test_what_top_stops_does_not_grow_with_the_rows() -> None:
    newest = query("newest", "tenant eq '{tenant}'", rate=20, top=3, order=("id",))
    found = scored(bench(newest))
    assert of(found, PARTITION).measured == pytest.approx(20 / 4 * 3)
    assert not [b for b in found.breaks if ROWS in b.by]


@pytest.mark.parametrize(
    ("template", "tenants", "shared"),
    [
        ("all", 4, True),
        ("{tenant}", 4, True),
        ("{tenant}", 80, False),
        ("{hash(id,64)}", 80, True),
        ("{hash(id,4)}_{tenant}", 80, False),
        ("{pad(id,3)}", 4, False),
    ],
)
def test_new_keys_fall_into_partitions_that_exist_or_make_their_own(template: str, tenants: int, shared: bool) -> None:
    population = bench(POINT, tenants=tenants, rows=160).population
    assert takes_new_keys(parse_template(template), population) is shared


def test_partitions_that_come_with_the_inserts_are_new_keys() -> None:
    rows = [f"t{n // 10}" for n in range(40)]  # four tenants, one after the other
    population = population_of({"tenant": rows, "id": list(range(40))}, TYPES, arrival="file_order")
    assert not takes_new_keys(parse_template("{tenant}"), population)
    assert takes_new_keys(parse_template("{tenant}"), bench(POINT).population)


def test_new_keys_break_a_shared_partition_and_not_one_of_their_own() -> None:
    few, many = (scored(bench(POINT, tenants=n, rows=160)) for n in (4, 80))
    assert of(few, PARTITION).by == (RATE, NEW)
    assert of(many, PARTITION).by == (RATE,)
    assert earliest(many.breaks, NEW) == (pytest.approx(20_000 / 80), ACCOUNT)


GROWN = {kind: Growth(2.0, kind, 4.0) for kind in EVERY}  # 16-fold


def test_hard_constraints_are_held_at_the_growth_that_is_declared() -> None:
    load = query("list", "tenant eq '{tenant}'", rate=100)  # 250 entities/s a tenant of four, 2 of eighty
    by_rate = scored(bench(load, growth=GROWN[RATE]))
    assert [v.code for v in by_rate.violations] == ["hot-partition"]
    assert by_rate.violations[0].severity == pytest.approx(250 * 16 / 2000)
    assert "4,000 after 16x growth" in by_rate.violations[0].message.replace("×", "x")
    filled = scored(bench(load, growth=GROWN[ROWS]))
    assert [v.code for v in filled.violations] == ["hot-partition"]
    points = replace(POINT, rate=replace(POINT.rate, mean_per_s=1000, peak_per_s=1000))
    assert not scored(bench(points, growth=GROWN[ROWS])).violations  # 250/s a tenant, whatever the rows
    assert scored(bench(points, growth=GROWN[RATE])).violations
    # Eighty tenants make eighty partitions, and more tenants more of them.
    hot = replace(POINT, rate=replace(POINT.rate, mean_per_s=1200, peak_per_s=1200), draw=skewed(3.0))
    assert not scored(bench(hot, tenants=80, rows=160, growth=GROWN[NEW])).violations
    assert {v.code for v in scored(bench(hot, tenants=80, rows=160, growth=GROWN[RATE])).violations}


def skewed(exponent: float) -> Draw:
    return Draw(DrawBy.ZIPF, ("tenant",), exponent, stated=True)


def test_an_undeclared_growth_is_three_times_the_rate_and_says_so() -> None:
    found = scored(bench(query("list", "tenant eq '{tenant}'", rate=400)))  # 1,000 entities/s a tenant
    assert [(v.code, v.assumed) for v in found.violations] == [("hot-partition", True)]
    assert "(assumed)" in found.violations[0].message
    assert found.break_factor == pytest.approx(2)


def test_months_until_a_limit_is_passed() -> None:
    found = scored(bench(POINT, LIST, growth=Growth(1.08, RATE, 60.0)))
    hot = of(found, PARTITION)
    months = hot.months(Growth(1.08, RATE, 60.0))
    assert months is not None
    assert 1.08**months == pytest.approx(2000 / 70)
    assert hot.months(Growth(1.08, RATE, 12.0)) is None  # beyond the horizon
    assert hot.months(Growth(1.08, ROWS, 60.0)) is None  # does not raise it
    assert hot.months(Growth(1.0, RATE, 60.0)) is None
    assert hot.months(None) is None
    assert replace(hot, factor=0.5).months(Growth(1.08, RATE, 60.0)) == 0


def test_saturation_names_what_binds() -> None:
    found = scored(bench(POINT, LIST))
    full = saturation(found.breaks, found.requests_per_s_peak)
    assert full is not None
    assert full.value == pytest.approx(100 * 2000 / 70)
    assert (full.source, full.unit) == (PARTITION, "requests/s")
    assert saturation((), 100) is None


def test_the_account_counts_entities_where_that_is_asked_for() -> None:
    made = bench(POINT, LIST)
    assert of(scored(made), ACCOUNT).measured == pytest.approx(100)
    limits = replace(LIMITS, account_counts_entities=1)
    found = scored(replace(made, limits=limits))
    assert of(found, ACCOUNT).measured == pytest.approx(80 + 20 * 10)
    assert of(found, ACCOUNT).unit == "entities/s"
    assert of(found, ACCOUNT, ROWS).fixed == pytest.approx(80)


def test_a_scan_of_the_table_breaks_by_every_growth() -> None:
    found = scored(bench(query("all", "id ge 3", rate=5), POINT))
    for kind in EVERY:
        assert of(found, SCANS, kind).factor == pytest.approx(20_000 / (5 * 40))


def test_requests_to_all_buckets_that_read_them_to_their_ends_are_a_scan() -> None:
    """Each tenant has 10 rows in 8 buckets: the client picks 1 or 2 of 10, or takes all of them."""
    buckets, row = "{tenant}_{hash(id,8)}", "{id}"
    few = query("few", "tenant eq '{tenant}' and id lt 5", rate=30)
    assert of(scored(bench(few, POINT), buckets, row), SCANS).measured == pytest.approx(30 * 10)
    assert SCANS not in {b.cause for b in scored(bench(LIST, POINT), buckets, row).breaks}, "it returns what it reads"
    assert SCANS not in {b.cause for b in scored(bench(few, POINT), row=row).breaks}, "one partition has its own target"


# -- laws --------------------------------------------------------------------------------------------------------------

loads = st.floats(0.01, 50_000)
parts = st.builds(lambda total, share: PartitionLoad(total, 0.5, 0, 3, total * share), loads, st.floats(0, 1))
pressures = st.builds(
    Pressure,
    partition=st.none() | parts,
    filling=st.none() | parts,
    entity=st.none() | parts,
    inserts=loads,
    run=loads,
    scans=loads,
    requests=loads,
    requests_grown=st.floats(0, 0.01),
    new_keys=st.booleans(),
)


@given(pressures)
def test_a_load_reaches_its_limit_at_its_break(pressure: Pressure) -> None:
    found = breaks_of(pressure, LIMITS)
    assert [b.factor for b in found] == sorted(b.factor for b in found)
    assert {b.cause for b in found} <= set(CAUSES)
    for each in found:
        assert each.load_at(1) == pytest.approx(each.measured)
        assert each.factor_comfort <= each.factor
        if each.fixed < each.limit:
            assert each.load_at(each.factor) == pytest.approx(each.limit)
        else:
            assert each.factor == 0
    over = [b.limit / b.measured for b in found if b.measured > b.limit]
    assert earliest(found, RATE)[0] == min([b.factor for b in found if RATE in b.by] + over)


@settings(max_examples=examples(40))
@given(st.floats(0.1, 2.5), st.floats(0, 2.0), st.sampled_from(["one", "list"]))
def test_more_skew_never_raises_the_break_factor(low: float, more: float, name: str) -> None:
    asked = {"one": POINT, "list": LIST}[name]
    mild, severe = (scored(bench(replace(asked, draw=skewed(s)))) for s in (low, low + more))
    assert severe.break_factor <= mild.break_factor * (1 + 1e-9)
    for kind in EVERY:
        assert earliest(severe.breaks, kind)[0] <= earliest(mild.breaks, kind)[0] * (1 + 1e-9)


WRITE = query("put", "tenant eq '{tenant}' and id eq {id}", rate=7, operation=Operation.UPDATE, sets=("note",))
SCAN = query("scan", "id ge 3", rate=0.2)


@settings(max_examples=examples(30))
@given(st.permutations([POINT, LIST, WRITE, SCAN, query("new", None, rate=11, operation=Operation.INSERT)]))
def test_the_order_of_classes_changes_nothing(classes: list[QueryClass]) -> None:
    first, second = (scored(bench(*c)) for c in (sorted(classes, key=lambda c: c.name), classes))
    assert [(b.cause, b.by) for b in first.breaks] == [(b.cause, b.by) for b in second.breaks]
    for one, other in zip(first.breaks, second.breaks, strict=True):
        assert (one.measured, one.factor) == pytest.approx((other.measured, other.factor))


def test_a_horizon_below_one_is_none() -> None:
    assert Bench.horizon_factor.fget(bench(POINT, growth=Growth(0.5, ROWS, 12.0))) == 1  # type: ignore[attr-defined]
    assert Workload("T", ()).growth is None
