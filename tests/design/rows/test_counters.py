"""Numbers that count up, and the digits that they need at the horizon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import polars as pl
import pytest

from pkadvisor.design.choice.key_building import part_for
from pkadvisor.design.keys.transforms import Pad
from pkadvisor.design.load.widths import widths_needed
from pkadvisor.design.rows.counters import counter_rises
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.fronts import keep_logged_inserts
from pkadvisor.design.rows.logged.inserts import logged_rows
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Basis, Growth, Operation, QueryClass, Rate, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of, query

TYPES = {"shop": EdmType.STRING, "order": EdmType.INT32, "line": EdmType.INT32, "pieces": EdmType.INT32}
YEAR_S = 12 * 2_629_746
LINES = "shop eq '{shop}' and order eq {order} and line eq {line}"


def orders(*, shops: int = 4, each: int = 30, lines: int = 5, arrival: str | None = "file_order") -> Population:
    """Lines of numbered orders, shop after shop; all of them are at hand."""
    rows = [
        (f"s{shop}", order, line, Random(f"{order} {line}").randint(1, 9))
        for order in range(1, each + 1)
        for shop in range(shops)
        for line in range(1, lines + 1)
    ]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(TYPES)}
    return population_of(columns, TYPES, arrival=arrival)


def counter_digits(population: Population, asked: Workload, factor: float) -> dict[str, int]:
    """The digits of those numbers that count up."""
    found = widths_needed(population, asked, factor)
    return {name: found[name] for name in counter_rises(population, asked)}


def workload(*asked: QueryClass, per_s: float, growth: Growth | None = None) -> Workload:
    insert = QueryClass("place", Operation.INSERT, None, Rate(per_s, per_s))
    return Workload(table="t", classes=(*asked, insert), growth=growth)


def test_a_number_that_counts_up_within_a_group_gets_room_for_the_horizon() -> None:
    """600 lines moved the orders of every shop by 29: 60,000,000 lines in a year move them by 2,900,000."""
    per_s = 60_000_000 / YEAR_S
    found = counter_digits(orders(), workload(query("of", LINES), per_s=per_s), 1.0)
    assert found == {"order": 7 + 1}


@pytest.mark.parametrize(("per_s", "factor", "digits"), [(60_000 / YEAR_S, 1.0, 5), (60_000 / YEAR_S, 4.0, 6)])
def test_the_digits_follow_the_rate_and_its_growth(per_s: float, factor: float, digits: int) -> None:
    found = counter_digits(orders(), workload(query("of", LINES), per_s=per_s), factor)
    assert found == {"order": digits}


def test_a_declared_horizon_is_the_time() -> None:
    classes = (query("of", LINES),)
    found = counter_digits(orders(), workload(*classes, per_s=60_000 / YEAR_S, growth=Growth(1.0)), 1.0)
    longer = Growth(1.0, horizon_months=48.0)
    assert (found, counter_digits(orders(), workload(*classes, per_s=60_000 / YEAR_S, growth=longer), 1.0)) == (
        {"order": 5},
        {"order": 6},
    )


def test_no_more_digits_than_the_type_has() -> None:
    assert counter_digits(orders(), workload(query("of", LINES), per_s=1e9), 3.0) == {"order": 10}


def test_nothing_is_known_without_inserts_or_the_order_of_arrival() -> None:
    assert counter_digits(orders(), Workload(table="t", classes=(query("of", LINES),)), 3.0) == {}
    assert counter_digits(orders(arrival=None), workload(query("of", LINES), per_s=100), 3.0) == {}


def test_a_number_that_restarts_in_each_short_group_is_no_counter() -> None:
    """Lines count up within an order, which is over at once, and start anew with the next."""
    found = counter_digits(orders(lines=40), workload(query("of", LINES), per_s=100), 3.0)
    assert set(found) == {"order"}


def test_a_key_is_padded_to_these_digits() -> None:
    population = orders()
    assert part_for("order", population) == Pad("order", 3)  # 30 orders so far, and a digit to spare
    population.widths = {"order": 8}
    assert part_for("order", population) == Pad("order", 8)


@pytest.mark.parametrize(("step", "rises"), [(1, {"order": 2.0}), (-1, {}), (0, {})])
def test_logged_inserts_tell_the_rise_of_a_number_where_no_arrival_is_known(step: int, rises: dict[str, float]) -> None:
    """Orders to 100, and 60 inserts in 30 s that count on, come backwards, or are all one."""
    columns = {"order": [*range(1, 101), *(200 + step * n for n in range(61))]}
    population = population_of({"order": columns["order"][:100]}, {"order": EdmType.INT32})
    ghosts = pl.DataFrame({"order": columns["order"][100:]}, schema={"order": pl.Int32})
    insert = QueryClass("place", Operation.INSERT, None, Rate(2.0, 2.0))
    came = {"place": [500_000 * n for n in range(61)]}
    asked = Workload("t", (insert,), instances={"place": ghosts.with_columns(_weight=pl.lit(1.0))}, came=came)
    rows, places, _ = logged_rows(asked, population.data)
    population = Population(population.data, {"order": EdmType.INT32}, ghosts=rows)
    keep_logged_inserts(population, demands(asked, population, places))
    assert counter_rises(population, asked) == rises


@pytest.mark.parametrize(("basis", "per_day"), [(Basis.COUNTED, 24.0), (Basis.DECLARED, 86_400.0)])
def test_over_months_a_logged_rate_counts_as_far_as_the_times_of_the_data_bear_it(basis: Basis, per_day: float) -> None:
    """One order an hour came in 50 days, and the log of some busy minutes has one a second."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    columns = {"order": list(range(1_200)), "placed": [begin + timedelta(hours=n) for n in range(1_200)]}
    types = {"order": EdmType.INT32, "placed": EdmType.DATETIME}
    population = population_of(columns, types, arrival="placed")
    insert = QueryClass("place", Operation.INSERT, None, Rate(1.0, 1.0, basis=basis))
    rises = counter_rises(population, Workload(table="t", classes=(insert,)))
    assert 86_400 * rises["order"] == pytest.approx(per_day, rel=0.05)


@pytest.mark.parametrize("field", ["mois", "jour", "numbered"])
def test_a_field_of_the_calendar_does_not_count_up(field: str) -> None:
    """The months of one year rise from 1 to 12 in the order of arrival, and those of the next start again."""
    times = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=4 * n) for n in range(2190)]
    local = [time - timedelta(hours=5) for time in times]
    numbers = {"mois": [t.month for t in local], "jour": [t.timetuple().tm_yday - 1 for t in times]}
    numbers["numbered"] = [1 + n // 70 for n in range(len(times))]  # no calendar tells these
    population = population_of(
        {"at": times, field: numbers[field]}, {"at": EdmType.DATETIME, field: EdmType.INT32}, arrival="at"
    )
    rises = counter_rises(population, workload(per_s=1.0))
    assert set(rises) == ({"numbered"} if field == "numbered" else set())
