"""Expired entities, erasures, entities that are too large, entities that are changed too often: by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.judge import readings, with_readings
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.entity_rates import entity_breaks, entity_rates
from pkadvisor.design.cost.upkeep import erasure, largest_bytes, retention
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.observe.workload import Draw, DrawBy, Growth, GrowthOf, Operation, QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"device": EdmType.STRING, "owner": EdmType.STRING, "n": EdmType.INT32, "at": EdmType.DATETIME}
START = datetime(2026, 1, 1, tzinfo=UTC)
LATEST = parse_key("{device}", "{reverse_ticks(at)}")


def readings_of(rows: int = 1200) -> dict[str, list[object]]:
    """Twelve devices in turn, a reading a minute; owner 0 has six of them, owners 1 to 6 one each."""
    return {
        "device": [f"d{n % 12:02}" for n in range(rows)],
        "owner": [f"o{max(0, n % 12 - 5)}" for n in range(rows)],
        "n": list(range(rows)),
        "at": [START + timedelta(minutes=n) for n in range(rows)],
    }


def bench_with(*classes: QueryClass, days: float | None = None, erase_by: str | None = None) -> Bench:
    found = bench_of(population_of(readings_of(), TYPES, arrival="at"), *classes)
    kept = None if days is None else days * 86_400
    return replace(found, workload=replace(found.workload, retention_s=kept, erase_by=erase_by))


INSERT = query("report", None, rate=50, operation=Operation.INSERT)
NEWEST = query("newest", "device eq '{device}'", order=["-at"], top=1)
WINDOW = query("window", "device eq '{device}' and at gt datetime'{at-1h}' and at le datetime'{at}'")
BY_N = query("by-n", "n eq {n}")


# -- retention ---------------------------------------------------------------------------------------------------------


def test_a_table_per_period_needs_no_deletes() -> None:
    bench = bench_with(INSERT, NEWEST, WINDOW, days=30)
    found = retention(KeyScheme(LATEST), bench)
    assert found is not None
    assert (found.cut, found.requests_per_s, found.expired_per_s) == (True, 0.0, 50.0)
    assert "every query names at" in found.how
    assert retention(KeyScheme(LATEST), bench_with(INSERT)) is None


def test_a_query_that_names_no_time_needs_all_tables_so_entities_are_deleted() -> None:
    """50 a second expire as they came: 3,600 group transactions a day in each of 12 partitions, found in 1.2 pages.

    An index row in a partition of its own is a delete more for each entity.
    """
    bench = bench_with(INSERT, NEWEST, BY_N, days=30)
    found = retention(KeyScheme(LATEST), bench)
    assert found is not None
    assert not found.cut
    assert "by-n does not name at" in found.how
    assert found.requests_per_s == pytest.approx((12 * 3_600 + 1.2) / 86_400)
    away = IndexRow(parse_key("N:{pad(n,9)}", "{device}"))
    indexed = retention(KeyScheme(LATEST, (away,)), bench)
    assert indexed is not None
    assert indexed.requests_per_s == pytest.approx(50 + (12 * 3_600 + 2.4) / 86_400)
    day = retention(KeyScheme(parse_key("{time(at,'yyyyMMdd')}", "{pad(n,9)}")), bench)
    assert day is not None
    assert day.cut
    assert "holds at" in day.how


def test_what_arrived_together_expires_together() -> None:
    """Orders of ten lines, an order a partition: one group transaction deletes an order, by whatever it is found."""
    types = {"order": EdmType.INT32, "line": EdmType.INT32, "at": EdmType.DATETIME}
    rows: dict[str, list[object]] = {
        "order": [n // 10 for n in range(1_000)],
        "line": [n % 10 for n in range(1_000)],
        "at": [START + timedelta(minutes=n) for n in range(1_000)],
    }
    by_line = query("by-line", "line eq {line}")
    bench = bench_of(population_of(rows, types, arrival="at"), replace(INSERT, name="place"), by_line)
    bench = replace(bench, workload=replace(bench.workload, retention_s=30 * 86_400))
    found = retention(KeyScheme(parse_key("{pad(order,9)}", "{pad(line,2)}")), bench)
    assert found is not None
    assert found.requests_per_s == pytest.approx(50 / 10 + 1 / 86_400)


def test_without_inserts_the_table_turns_over_within_the_retention() -> None:
    bench = bench_with(BY_N, days=1)
    found = retention(KeyScheme(LATEST), bench)
    assert found is not None
    assert found.expired_per_s == pytest.approx(1200 / 86_400)


# -- erasure -----------------------------------------------------------------------------------------------------------


def test_an_erasure_touches_index_rows_and_is_found_by_the_key_or_by_a_scan() -> None:
    """Owner 0 has 600 entities, six others 100 each: 1,200 ÷ 7 on average, twice as many rows with an index row."""
    bench = bench_with(NEWEST, erase_by="owner")
    scan = erasure(KeyScheme(LATEST), bench)
    assert scan is not None
    assert scan.scans
    assert (scan.rows, scan.rows_max) == (pytest.approx(1200 / 7), 600)
    # The table is two pages and a boundary; each device has 100 entities, which one group transaction deletes.
    assert scan.requests_max == pytest.approx(2 + 1 + 6)
    assert scan.requests == pytest.approx(2 + 1 + 12 / 7)
    owned = erasure(KeyScheme(parse_key("{owner}", "{device}_{reverse_ticks(at)}")), bench)
    assert owned is not None
    assert not owned.scans
    # One page, then group transactions of 100: 6 for owner 0, one for each other.
    assert owned.requests_max == pytest.approx(1 + 6)
    assert owned.requests == pytest.approx(1 + (6 + 6) / 7)
    away = IndexRow(parse_key("D:{device}", "{reverse_ticks(at)}"))
    doubled = erasure(KeyScheme(parse_key("{owner}", "{device}_{reverse_ticks(at)}"), (away,)), bench)
    assert doubled is not None
    assert doubled.rows_max == 1200
    assert doubled.requests_max == pytest.approx(1 + 6 + 6)
    assert erasure(KeyScheme(LATEST), bench_with(NEWEST)) is None


def test_a_class_may_have_the_name_that_an_erasure_has() -> None:
    """A class of one constant reads the row of owner 1; all of owner 0 are three pages and 30 group transactions."""
    owners = population_of(
        {"owner": ["o0"] * 3000 + ["o1"], "n": list(range(3001))}, {"owner": EdmType.STRING, "n": EdmType.INT32}
    )
    for name in ("erase by owner", "of-owner"):
        bench = bench_of(owners, query(name, "owner eq 'o1'"))
        bench = replace(bench, workload=replace(bench.workload, erase_by="owner"))
        (priced,) = estimate(scheme := KeyScheme(parse_key("{owner}", "{pad(n,6)}")), bench).classes
        assert priced.entities_read == 1
        erased = erasure(scheme, bench)
        assert erased is not None
        assert (erased.requests_max, erased.requests) == pytest.approx((3 + 30, (3 + 30 + 1 + 1) / 2))


# -- size --------------------------------------------------------------------------------------------------------------


def test_the_largest_entity_is_held_against_the_limit() -> None:
    """Properties by the formula of 2010: 8 + twice the name, then 4 + twice the text, 4, or 8."""
    types = {"id": EdmType.INT32, "text": EdmType.STRING}
    lengths = [10] * 99 + [400_000]
    rows = {"id": list(range(100)), "text": ["x" * n for n in lengths]}
    bench = replace(bench_of(population_of(rows, types), query("one", "id eq {id}")), property_bytes=500.0)
    scheme = KeyScheme(parse_key("{pad(id,6)}", ""))
    key, properties = 4 + 2 * 6, (8 + 2 * 2 + 4) + (8 + 2 * 4 + 4 + 2 * 400_000)
    assert largest_bytes(scheme, bench) == key + properties
    near = estimate(scheme, bench)
    assert near.feasible
    assert "entity-large" in {r.code for r in near.remarks}  # 800,052 of 1,048,576 is over 70 %
    small = replace(bench, limits=replace(bench.limits, entity_bytes=700_000))
    (broken,) = [v for v in estimate(scheme, small).violations if v.code == "entity-too-large"]
    assert broken.measured == key + properties
    roomy = replace(bench, limits=replace(bench.limits, entity_bytes=4_000_000))
    assert not {"entity-large", "entity-too-large"} & codes(estimate(scheme, roomy))
    declared = replace(bench, property_bytes=2_000_000.0)
    assert "entity-too-large" in codes(estimate(scheme, declared))


def codes(found: CostEstimate) -> set[str]:
    return {v.code for v in found.violations} | {r.code for r in found.remarks}


# -- contention --------------------------------------------------------------------------------------------------------


def counter(shards: int, rate: float, growth: Growth | None = None) -> Bench:
    """A counter kept as the sum of so many rows; each update goes to one of them."""
    types = {"name": EdmType.STRING, "shard": EdmType.INT32}
    rows = {"name": ["total"] * shards, "shard": list(range(shards))}
    asked = query("add", "name eq '{name}' and shard eq {shard}", rate=rate, operation=Operation.UPDATE, sets=["value"])
    found = bench_of(population_of(rows, types), replace(asked, read_modify_write=True))
    return replace(found, workload=replace(found.workload, growth=growth))


FLAT = Growth(1.0, GrowthOf.RATE)
KEYS = ["{name} | {pad(shard,3)}", "{name}_{pad(shard,3)} | ''", "all | {name}_{pad(shard,3)}"]


@pytest.mark.parametrize("key", KEYS)
def test_a_counter_updated_780_times_a_second_is_infeasible_under_every_key(key: str) -> None:
    """A read of 3.97 ms and a write of 8.04 ms on average: 83 commits a second, 0.62 of it served.

    780 x 0.01201 ÷ 0.5 = 18.7 rows."""
    partition, row = key.replace("''", "").split(" | ")
    scheme = KeyScheme(parse_key(partition, row))
    (broken,) = [v for v in estimate(scheme, counter(1, 780, FLAT)).violations if v.code == "hot-entity-contention"]
    assert broken.limit == pytest.approx(0.62 / 0.01201, rel=0.001)
    assert broken.measured == pytest.approx(780)
    assert "over 19 rows" in broken.message
    assert not broken.assumed
    assert "hot-entity-contention" not in codes(estimate(scheme, counter(19, 780, FLAT)))


def test_the_sharded_counter_that_is_proposed_is_feasible() -> None:
    scheme = KeyScheme(parse_key("{name}_{pad(shard,3)}", ""))
    found = estimate(scheme, counter(19, 780, FLAT))
    assert found.feasible
    # λR = 780 ÷ 19 x 0.01201 = 0.493: e^0.493 attempts, each a read and a write.
    assert found.classes[0].attempts == pytest.approx(1.637, rel=0.002)
    assert found.requests_per_s == pytest.approx(780 * 2 * 1.637, rel=0.002)


def test_growth_that_nobody_declared_is_told_as_assumed() -> None:
    """40/s are served, three times as many are not: 83 x 0.62 = 51.6 are."""
    scheme = KeyScheme(parse_key("{name}_{pad(shard,3)}", ""))
    (broken,) = [v for v in estimate(scheme, counter(1, 40)).violations if v.code == "hot-entity-contention"]
    assert broken.assumed
    assert broken.severity == pytest.approx(3 * 40 / 51.62, rel=0.001)
    assert "hot-entity-contention" not in codes(estimate(scheme, counter(1, 17)))
    new_keys = Growth(1.2, GrowthOf.NEW_KEYS)  # more counters, none of them hotter
    assert "hot-entity-contention" not in codes(estimate(scheme, counter(1, 40, new_keys)))


def test_the_hottest_entity_is_that_of_the_parameters() -> None:
    """A hundred counters: 400/s are 4/s each, or 400 x 0.23 on the first by Zipf 1.2 (1 ÷ Σ k^-1.2 = 0.277)."""
    scheme = KeyScheme(parse_key("{name}_{pad(shard,3)}", ""))
    even = counter(100, 400, FLAT)
    assert "hot-entity-contention" not in codes(estimate(scheme, even))
    draw = Draw(DrawBy.ZIPF, ("shard",), exponent=1.2, stated=True)
    asked = replace(even.workload.classes[0], draw=draw)
    skewed = bench_of(even.population, asked)
    skewed = replace(skewed, workload=replace(skewed.workload, growth=FLAT))
    (broken,) = [v for v in estimate(scheme, skewed).violations if v.code == "hot-entity-contention"]
    assert "writes one entity, 'total_000' | ''," in broken.message and broken.keys == ("total_000",)
    share = 1 / sum(k**-1.2 for k in range(1, 101))
    assert broken.measured == pytest.approx(400 * share)


def test_growth_ends_where_one_entity_cannot_commit_more() -> None:
    """0.62 ÷ 0.01201 = 51.6: 8/s may grow 6.45 times. Head-room ends at 80 % of it, as that of others."""
    (found,) = entity_breaks(counter(1, 8, FLAT))
    assert (found.resource, found.by, found.unit) == ("entity", (GrowthOf.RATE,), "commits/s")
    assert (found.measured, found.limit) == (pytest.approx(8), pytest.approx(51.62, rel=0.001))
    assert found.factor == pytest.approx(6.453, rel=0.001)
    assert found.factor_comfort == pytest.approx(0.8 * found.factor)
    whole = estimate(KeyScheme(parse_key("{name}_{pad(shard,3)}", "")), counter(1, 8, FLAT))
    assert whole.break_factor == found.factor
    assert whole.break_cause == "commits of one entity by add"


@pytest.mark.parametrize(
    ("conflicts", "limit"), [(0.0, 51.62), (0.05, 51.62), (0.2, 22.23), (0.5, 7.156), (0.6, 5.413)]
)
def test_conflicts_of_a_log_tell_how_long_a_read_and_a_write_take(conflicts: float, limit: float) -> None:
    """8/s on one entity: e^load attempts a commit are 1 ÷ (1 - conflicts), so that 0.62 x 8 ÷ load can be served;
    fewer conflicts than by the assumed latencies (1 - e^-0.096 = 9 %) tell nothing."""
    bench = counter(1, 8, FLAT)
    logged = replace(bench, workload=replace(bench.workload, conflicts={"add": conflicts}))
    scheme = KeyScheme(parse_key("{name}_{pad(shard,3)}", ""))
    (found,) = entity_breaks(logged)
    assert found.limit == pytest.approx(limit, rel=0.001)
    broken = [v for v in estimate(scheme, logged).violations if v.code == "hot-entity-contention"]
    assert [v.message.count("50 % of the attempts get 412, as in the log") for v in broken if conflicts == 0.5] == (
        [1] if conflicts == 0.5 else []
    )
    assert bool(broken) == (limit < 8)


def test_conflicts_of_writers_that_meet_now_and_then_are_no_steady_rate() -> None:
    """Half of the attempts at 0.2/s would need a read and a write of 3.5 s."""
    bench = counter(1, 0.2, FLAT)
    logged = replace(bench, workload=replace(bench.workload, conflicts={"add": 0.5}))
    assert entity_breaks(logged) == entity_breaks(bench)


def test_updates_that_name_no_entity_are_not_taken_for_one() -> None:
    bench = counter(5, 780, FLAT)
    asked = replace(query("put", None, rate=780, operation=Operation.UPSERT), read_modify_write=True)
    assert entity_rates(bench_of(bench.population, asked)) == {}


def test_plain_updates_do_not_contend() -> None:
    bench = counter(1, 780, FLAT)
    plain = bench_of(bench.population, replace(bench.workload.classes[0], read_modify_write=False))
    found = estimate(KeyScheme(parse_key("{name}", "{pad(shard,3)}")), plain)
    assert "hot-entity-contention" not in codes(found)
    assert found.classes[0].attempts == 1


# -- other readings of the targets -------------------------------------------------------------------------------------


def test_a_verdict_that_hangs_on_how_scanned_rows_count_is_said() -> None:
    """Twelve partitions of 100, scanned 24/s each: 2,400 a second, 240 at a tenth; a horizon of 3 is 7,200 and 720."""
    bench = bench_with(query("all", "device eq '{device}' and owner eq '{owner}'", rate=288))
    found = estimate(KeyScheme(LATEST), bench)
    assert "hot-partition" in codes(found)
    (remark,) = readings(found, bench)
    assert remark.code == "counts-scans"
    assert "hot-partition would hold; every limit would hold" in remark.message
    assert with_readings(found, bench).remarks[-1] == remark
    few = bench_with(query("all", "device eq '{device}' and owner eq '{owner}'", rate=48))
    assert readings(estimate(KeyScheme(LATEST), few), few) == ()


def test_a_verdict_that_hangs_on_bytes_is_said() -> None:
    """4/s of 100 are 400 a second on each partition, 1,200 at the horizon; entities of 3 KiB make it 3,600."""
    bench = bench_with(query("all", "device eq '{device}'", rate=48))
    large = replace(bench, property_bytes=3000.0)
    found = estimate(KeyScheme(LATEST), large)
    assert found.feasible
    (remark,) = readings(found, large)
    assert remark.code == "counts-bytes"
    assert "hot-partition would be broken; not every limit would hold" in remark.message
    assert readings(estimate(KeyScheme(LATEST), bench), bench) == ()
