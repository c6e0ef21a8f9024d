"""The digits of numbers in keys, and the day on which they are used up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.widths import widths_needed
from pkadvisor.design.rows.counters import counter_rises
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Growth, GrowthOf, Operation, QueryClass, Rate, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of

START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = {
    "orderId": EdmType.INT64,
    "age": EdmType.INT32,
    "month": EdmType.INT32,
    "birth_year": EdmType.INT32,
    "placed": EdmType.DATETIME,
}
YEAR_S = 12 * 2_629_746


def orders(total: int = 100) -> Population:
    """100 orders, one a day, numbered from 500 on; January to September, and ages up to 87."""
    columns = {
        "orderId": [500 + n for n in range(100)],
        "age": [n % 88 for n in range(100)],
        "month": [1 + n % 9 for n in range(100)],
        "birth_year": [1950 + n % 50 for n in range(100)],
        "placed": [START + timedelta(days=n) for n in range(100)],
    }
    return population_of(columns, TYPES, total=total, complete=total == 100, arrival="placed")


def inserts(per_s: float) -> Workload:
    return Workload("t", (QueryClass("place", Operation.INSERT, None, Rate(per_s, per_s)),))


@pytest.mark.parametrize(
    ("total", "per_year", "digits"),
    [(100, 0, 4), (900_000_000, 0, 10), (100, 50_000_000, 9), (900_000_000, 900_000_000, 11)],
)
def test_a_number_of_entities_has_room_for_all_of_them_and_a_digit_to_spare(
    total: int, per_year: float, digits: int
) -> None:
    assert widths_needed(orders(total), inserts(per_year / YEAR_S), 1.0)["orderId"] == digits


@pytest.mark.parametrize(("of", "digits"), [(GrowthOf.NEW_KEYS, 7), (GrowthOf.ROWS_PER_KEY, 7), (GrowthOf.RATE, 5)])
def test_a_number_of_entities_has_room_for_those_that_are_declared_to_come(of: GrowthOf, digits: int) -> None:
    growth = Growth(2.0, of=of, horizon_months=4.0)
    assert widths_needed(orders(9_000), replace(inserts(0.0), growth=growth), 16.0)["orderId"] == digits
    assert widths_needed(orders(9_000), inserts(0.0), 16.0)["orderId"] == 5


def test_numbers_of_a_calendar_have_the_digits_of_the_calendar_and_measurements_those_at_hand() -> None:
    found = widths_needed(orders(900_000_000), inserts(1000.0), 3.0)
    assert {name: found[name] for name in ("month", "birth_year", "age")} == {"month": 2, "birth_year": 4, "age": 3}


def test_numbers_within_a_key_have_room_for_keys_larger_than_those_that_were_drawn() -> None:
    """20 wallets of 2,000, with up to 5 entries each: one of the others may have a hundred times as many."""
    columns = {"wallet": [f"w{n // 5}" for n in range(100)], "seq": [1 + n % 5 for n in range(100)]}
    types = {"wallet": EdmType.STRING, "seq": EdmType.INT32}
    drawn = {"complete": False, "sampling": "random-keys", "sampled_by": ("wallet",)}
    assert widths_needed(population_of(columns, types), inserts(0.0), 1.0)["seq"] == 2
    assert widths_needed(population_of(columns, types, total=10_000, **drawn), inserts(0.0), 1.0)["seq"] == 4


def test_no_key_gets_fewer_digits_than_the_keys_in_use() -> None:
    used = Key(parse_template("x"), parse_template("{pad(age,9)}"))
    assert widths_needed(orders(), inserts(0.0), 1.0, [used])["age"] == 9


@pytest.mark.parametrize(("total", "in_use", "digits"), [(9_000, 4, 4), (9_000, 8, 8), (99_000, 4, 6), (9_000, 3, 5)])
def test_a_number_has_the_width_of_the_keys_in_use_as_long_as_that_holds_it(
    total: int, in_use: int, digits: int
) -> None:
    used = Key(parse_template("x"), parse_template(f"{{pad(orderId,{in_use})}}"))
    assert widths_needed(orders(total), inserts(0.0), 1.0, [used])["orderId"] == digits


def _bench(population: Population, per_s: float) -> Bench:
    bench = bench_of(population, QueryClass("place", Operation.INSERT, None, Rate(per_s, per_s)))
    population.rises = counter_rises(population, bench.workload)
    return bench


def _scheme(row: str) -> KeyScheme:
    return KeyScheme(Key(parse_template("orders"), parse_template(row)), (), "given")


def test_a_number_that_outgrows_its_digits_is_full_on_a_day() -> None:
    """599 on 10 April, one more for each entity and ten entities a day: 999 after 40 days, on 20 May."""
    bench = _bench(orders(), 10 / 86_400)
    found = estimate(_scheme("{pad(orderId,3)}"), bench)
    assert [each.cause.partition(":")[0] for each in found.full] == ["{pad(orderId,3)} is full on 2026-05-20"]
    assert [v.code for v in found.violations] == ["number-full"]
    wide = estimate(_scheme("{pad(orderId,5)}"), bench)
    assert wide.full == () or all(v.code != "number-full" for v in wide.violations)
    behind_times = [("{ticks(placed)}_{pad(orderId,3)}", 0), ("{time(placed,'yyyyMMdd')}_{pad(orderId,3)}", 1)]
    for row, full in behind_times:  # behind a whole time it sorts what comes at one moment
        assert len(estimate(_scheme(row), bench).full) == full


@pytest.mark.parametrize(
    ("operations", "total", "kept_days", "full"),
    [
        ((Operation.INSERT,), 900, None, "in 10 days"),
        ((Operation.INSERT,), 1_000_000, None, "now"),
        ((Operation.UPSERT,), 900, None, ""),
        ((Operation.INSERT, Operation.DELETE), 900, None, ""),
        ((Operation.INSERT,), 900, 90, ""),
        ((Operation.INSERT,), 900, 110, "in 10 days"),
    ],
)
def test_a_number_of_its_own_for_each_entity_is_full_when_the_entities_are_too_many(
    operations: tuple[Operation, ...], total: int, kept_days: int | None, full: str
) -> None:
    """Ten new tickets a day; a number may come again that is overwritten, deleted, or of an entity that is gone."""
    tickets = [n * 7 % 200 for n in range(200)]
    for digits in (3, 4):  # four digits: so few entities show it by lying side by side alone
        found = population_of({"ticket": tickets}, {"ticket": EdmType.INT32}, total=total, complete=False)
        found.widths, rate = {"ticket": digits + 1}, Rate(10 / 86_400, 10 / 86_400)
        bench = bench_of(found, *(QueryClass(str(o), o, None, rate) for o in operations))
        kept_s = None if kept_days is None else kept_days * 86_400.0 * 10 ** (digits - 3)
        bench = replace(bench, workload=replace(bench.workload, retention_s=kept_s))
        breaks = estimate(_scheme(f"{{pad(ticket,{digits})}}"), bench).full
        when = full if digits == 3 or full != "in 10 days" else "in 910 days"
        assert [e.cause.partition(" is full ")[2].partition(":")[0] for e in breaks] == ([when] if full else [])


@pytest.mark.parametrize(("per_s", "code"), [(0.001, "remark"), (100.0, "violation")])
def test_the_counter_of_a_number_given_out_is_named_as_a_bottleneck(per_s: float, code: str) -> None:
    found = estimate(_scheme("{seq(12)}"), _bench(orders(), per_s))
    named = {"remark": [r.code for r in found.remarks], "violation": [v.code for v in found.violations]}
    assert {kind for kind, codes in named.items() if "counter" in codes} == {code}
    beside_time = estimate(_scheme("{ticks(placed)}_{seq(2)}"), _bench(orders(), per_s))
    assert "counter" not in [*(r.code for r in beside_time.remarks), *(v.code for v in beside_time.violations)]
