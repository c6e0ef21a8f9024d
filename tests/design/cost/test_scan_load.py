"""The load of a read falls on rows of its own, and none of it is lost, however many requests there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pkadvisor.design.cost import scan_load, scan_runs
from pkadvisor.design.cost.class_cost import best_read
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.load.keyfacts import key_texts
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.plan.stop_early import walk_back
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"city": EdmType.STRING, "id": EdmType.INT32}


def _load(rows: Population, asked: QueryClass, scheme: KeyScheme) -> tuple[Read, list[list[float]]]:
    """What a query reads, and for each kind of load that of each row, at one request per second."""
    bench = bench_of(rows, asked)
    (demand,) = bench.demands
    read = best_read(demand, scheme, bench)
    loads = scan_load.load_of_rows(read, demand, scheme, rows, demand.weights * read.counted, demand.weights)
    return read, [load.tolist() for _, load in loads]


@pytest.mark.parametrize("pieces_most", [400, 2])
def test_first_rows_of_many_buckets_are_loaded_whether_or_not_each_bucket_is_counted(
    pieces_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_runs, "PIECES_MOST", pieces_most)
    rows = population_of({"city": [f"c{n % 3}" for n in range(240)], "id": list(range(240))}, TYPES)
    asked = query("first", "city eq '{city}'", order=("id",), top=2)
    read, loads = _load(rows, asked, KeyScheme(parse_key("{city}_{hash(id,8)}", "{pad(id,5)}")))
    assert read.entities == pytest.approx(16)  # 8 buckets, the first 2 rows of each
    assert sum(map(sum, loads)) == pytest.approx(16)
    assert sum(value > 0 for load in loads for value in load) == 48


@pytest.mark.parametrize(("per_s", "hot"), [(900.0, False), (1_100.0, True)])
def test_first_rows_of_many_partitions_are_one_range(per_s: float, hot: bool) -> None:
    """No partition is hot, each has one row; the first two are read at 1,800 or 2,200 entities/s."""
    rows = population_of({"city": [f"c{n % 3}" for n in range(240)], "id": list(range(240))}, TYPES)
    asked = query("first", None, order=("id",), top=2, rate=per_s)
    found = estimate(KeyScheme(parse_key("{pad(id,5)}", "''")), bench_of(rows, asked))
    assert found.hot is not None
    assert found.hot.entities_per_s < 2_000
    messages = [v.message for v in found.violations if v.code == "hot-range" and not v.assumed]
    assert bool(messages) is hot
    assert all("'first' reads the first 2 rows each time" in m and "a queue service" in m for m in messages)


def test_a_scan_that_reads_on_behind_its_first_rows_reads_neighbouring_partitions() -> None:
    """No key has the order of the notes: all 80 rows of a city are read for the first two."""
    columns = {"city": [f"c{n % 3}" for n in range(240)], "id": [*range(240)], "note": [f"x{n}" for n in range(240)]}
    rows = population_of(columns, TYPES | {"note": EdmType.STRING})
    asked = query("first", "city eq '{city}'", order=("note",), top=2, rate=200.0)
    found = estimate(KeyScheme(parse_key("{city}_{pad(id,5)}", "''")), bench_of(rows, asked))
    (message,) = [v.message for v in found.violations if v.code == "hot-range"]
    assert message.startswith("'first' reads neighbouring partitions")


def test_the_first_rows_of_a_table_bear_a_scan_that_stops() -> None:
    rows = population_of({"city": [f"c{n % 3}" for n in range(30)], "id": list(range(30))}, TYPES)
    read, (load,) = _load(rows, query("first", None, top=5), KeyScheme(parse_key("{city}", "{pad(id,5)}")))
    assert read.entities == pytest.approx(5)
    assert [n for n, value in enumerate(load) if value > 0] == [0, 3, 6, 9, 12]


TIMED = {"device": EdmType.STRING, "at": EdmType.DATETIME, "n": EdmType.INT32}
MONTHS = (1, 1, 2, 3, 3, 3)
"""Of six readings of each of two devices; device b has none of the third month."""


def readings() -> Population:
    found = [("a", month, day) for day, month in enumerate(MONTHS, 1)]
    found += [("b", month, day) for day, month in enumerate(MONTHS, 1) if month < 3]
    columns = {
        "device": [device for device, _, _ in found],
        "at": [datetime(2026, month, day, tzinfo=UTC) for _, month, day in found],
        "n": list(range(len(found))),
    }
    return population_of(columns, TIMED, arrival="at")


def walked(text: str, top: int, row: str, partition: str = "{time(at,'yyyyMM')}") -> tuple[Read, dict[int, float]]:
    """What going back reads, and the load of each month, at one request per second."""
    rows = readings()
    bench = bench_of(rows, query("latest", text, order=("-at", "-n"), top=top))
    (demand,) = bench.demands
    key = parse_key(partition, row)
    back = next(p for p in plan(demand.query, demand.conditions, KeyScheme(key), TIMED, rows) if p.back)
    found = read(back, demand, KeyScheme(key), bench)
    load = scan_load.load_going_back(found, demand, key, rows, demand.weights * found.counted, demand.weights)
    months = rows.frame.get_column("at").dt.month().to_list()
    of_month = dict.fromkeys(set(months), 0.0)
    for month, entities_per_s in zip(months, load.tolist(), strict=True):
        of_month[month] += entities_per_s
    return found, of_month


def test_going_back_loads_the_newest_months_alone_and_those_that_it_asks_in_vain() -> None:
    _, load = walked("device eq 'a'", 2, "{device}_{pad(n,3)}")
    assert load == pytest.approx({1: 0, 2: 0, 3: 3})
    _, load = walked("device eq 'b'", 2, "{device}_{pad(n,3)}")
    assert load == pytest.approx({1: 2, 2: 1, 3: 1})  # of the third month nothing is found


def test_all_who_ask_for_the_newest_of_a_sampled_table_ask_its_newest_hours() -> None:
    """100 rows of 5,000, one every 3 hours: of the table one every 3.6 minutes, 50 between two of the sample."""
    columns = {"at": [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=3 * n) for n in range(100)]}
    rows = population_of(columns, TIMED, arrival="at", total=5_000, complete=False)
    bench = bench_of(rows, query("latest", None, order=("-at",), top=26, rate=40))
    scheme = KeyScheme(parse_key("{time(at,'yyyyMMddHH')}", "{reverse_ticks(at)}"))
    (demand,) = bench.demands
    back = next(p for p in plan(demand.query, demand.conditions, scheme, TIMED, rows) if p.back)
    # Of the 3 hours between two rows at hand, and of those behind the newest one, 26 of 50 parts.
    assert walk_back(back, demand, rows).periods == pytest.approx(np.full(100, 2.5), rel=0.05)
    hot = estimate(scheme, bench).hot
    assert hot is not None and hot.entities_per_s == pytest.approx(40 * 26)


@pytest.mark.parametrize(("n", "months"), [(0, 3), (2, 2), (3, 1)])
def test_going_back_ends_with_the_row_that_also_satisfies_the_rest_of_the_filter(n: int, months: int) -> None:
    """Of device a reading 0 is of January, 2 of February, 3 of March; the newest month is March."""
    rows = readings()
    bench = bench_of(rows, query("latest", f"device eq 'a' and n eq {n}", order=("-at",), top=1))
    (demand,) = bench.demands
    scheme = KeyScheme(parse_key("{time(at,'yyyyMM')}", "{device}_{reverse_ticks(at)}"))
    back = next(p for p in plan(demand.query, demand.conditions, scheme, TIMED, rows) if p.back)
    assert set(walk_back(back, demand, rows).periods) == {months}


def test_going_back_between_two_times_reads_what_lies_between_them() -> None:
    """Each reading of device a asks for those of the 45 days before it."""
    text = "device eq {device} and at ge datetime'{at-45d}' and at lt datetime'{at}'"
    found, _ = walked(text, 9, "{ticks(at)}_{n}", "{device}_{time(at,'yyyyMM')}")
    # a: 0, 1, 2, 1, 2, 3 readings before each of six; b: 0, 1, 2.
    assert found.entities == pytest.approx((1 + 1 + 2 + 1 + 2 + 3 + 1 + 1 + 2) / 9)
    assert found.scanned.tolist() == [0, 1, 2, 1, 2, 3, 0, 1, 2]


@pytest.mark.parametrize(("label", "others"), [("A:", 10), ("Z:", 0)])
def test_index_rows_before_the_first_rows_of_a_scan_are_read_on_its_way(label: str, others: int) -> None:
    rows = population_of({"city": [f"c{n % 3}" for n in range(30)], "id": list(range(30))}, TYPES)
    main, beside = parse_key("{city}", "M:{pad(id,5)}"), parse_key("{city}", label + "{pad(id,5)}")
    read, loads = _load(rows, query("first", None, top=5), KeyScheme(main, (IndexRow(beside, "pointer"),)))
    assert read.entities == pytest.approx(5 + others)  # all those of the first city
    assert sum(map(sum, loads)) == pytest.approx(5 + others)


def test_a_scan_stops_behind_the_first_rows_of_a_range_whatever_falls_in_the_row_keys() -> None:
    """The PartitionKeys rise by id, the RowKeys fall by it; a request reads the pointer of the first id from its bound
    on, and the entity's row before that."""
    rows = population_of({"city": [f"c{n % 3}" for n in range(30)], "id": list(range(30))}, TYPES)
    main, beside = parse_key("{pad(id,5)}", "A:{city}"), parse_key("{pad(id,5)}", "Z:{reverse_pad(id,5)}")
    scheme, bench = KeyScheme(main, (IndexRow(beside, "pointer"),)), bench_of(rows, query("from", "id ge {id}", top=1))
    (demand,) = bench.demands
    plans = plan(demand.query, demand.conditions, scheme, TYPES, rows)
    found = read(next(p for p in plans if p.via == 1), demand, scheme, bench)
    assert found.per_instance.tolist() == [3.0] * 30


@pytest.mark.parametrize("city", ["c0", "c2"])
def test_index_rows_lie_in_a_range_of_some_instances_alone(city: str) -> None:
    """Of texts from a city on: those of ``c1:`` lie behind c0 and before c2."""
    rows = population_of({"city": [city] * 4 + ["d"] * 6, "id": list(range(10))}, TYPES)
    main, beside = parse_key("all", "{city}_{pad(id,5)}"), parse_key("all", "c1:{pad(id,5)}")
    read, _ = _load(rows, query("from", "city ge '{city}'"), KeyScheme(main, (IndexRow(beside, "pointer"),)))
    from_city, from_d = 10 + (10 if city == "c0" else 0), 6
    assert read.entities == pytest.approx(0.4 * from_city + 0.6 * from_d)


def test_each_request_has_pages_of_its_own() -> None:
    """1,100 rows of one city and 500 of the other: of two requests one has two pages, though the mean has one."""
    rows = population_of({"city": ["a"] * 1100 + ["b"] * 500, "id": list(range(1600))}, TYPES)
    read, _ = _load(rows, query("both", "city eq 'a' or city eq 'b'"), KeyScheme(parse_key("{city}", "{pad(id,5)}")))
    assert read.requests == pytest.approx(3)


def test_a_bucket_with_rows_that_lack_the_property_between_the_bounds_is_not_empty() -> None:
    """The text of a missing value lies above all others, so every request from a city on reads those two rows, one in
    each bucket; behind the last city there is nothing else, and still no request finds nothing."""
    cities = ["a", "a", "b", "b", None, None]
    rows = population_of({"city": cities, "id": [0, 1, 2, 3, 4, 5]}, TYPES)
    scheme = KeyScheme(parse_key("all_{hash(id,2)}", "{city}_{pad(id,5)}"))
    partitions = key_texts(scheme.main.partition, population=rows)["0"]
    assert len({partition for partition, city in zip(partitions, cities, strict=True) if city is None}) == 2
    read, loads = _load(rows, query("behind", "city gt '{city}'"), scheme)
    # Behind a, half of the requests, lie four rows in two buckets; behind b the two.
    assert read.entities == pytest.approx(0.5 * 4 + 0.5 * 2)
    assert sum(map(sum, loads)) == pytest.approx(0.5 * 4 + 0.5 * 2)


@pytest.mark.parametrize("least", [0, -(2**62)])
def test_columns_that_repeat_are_found_whether_or_not_one_number_holds_them(least: int) -> None:
    draws = np.random.default_rng(5)
    columns = draws.integers(-3, 3, (4, 500))
    columns[1, :9] = least
    columns[2, 3:8] = -least
    found = scan_load._columns_once(columns)
    assert np.array_equal(found, np.unique(columns, axis=1)) and found.shape[1] < 500
    assert scan_load._columns_once(columns[:, :0]).shape == (4, 0)


def test_index_rows_that_begin_with_the_property_of_a_range_lie_in_it_as_the_entities_do() -> None:
    rows = population_of({"city": [f"c{n % 3}" for n in range(30)], "id": list(range(30))}, TYPES)
    scheme = KeyScheme(parse_key("{city}_{id}", ""), (IndexRow(parse_key("{city}_ID:{id}", "")),))
    read, loads = _load(rows, query("later", "city gt '{city}'"), scheme)
    assert read.entities == pytest.approx((40 + 20 + 1) / 3)  # after c0, c1 and c2: both rows of each entity
    assert [sum(load) for load in loads] == pytest.approx([10, 10])


RANGED = {"city": EdmType.STRING, "area": EdmType.STRING, "id": EdmType.INT32}


@pytest.mark.parametrize(
    ("main", "beside", "rows_each"),
    [
        ("{city}_{id}", "{city}_AREA:{area}", 2),
        ("C:{city}", "C:{city}_AREA:{area}", 2),
        ("{hash(id,2)}_{city}", "{hash(id,2)}_{city}_AREA:{area}", 2),
        ("{city}_{id}", "AREA:{area}", 1),
        ("{hash(id,2)}_{city}", "{hash(id,2)}_AREA:{area}", 1),
    ],
)
@pytest.mark.parametrize("text", ["area eq '{area}'", "city ge 'a' and city lt 'b'"], ids=["area", "range"])
def test_index_rows_that_begin_with_a_beginning_of_a_range_lie_in_it(
    main: str, beside: str, rows_each: int, text: str
) -> None:
    """Each city begins with its area, so that a query by area reads a range of cities."""
    cities = [f"{'abk'[n // 20]}c{n % 5}" for n in range(60)]
    rows = population_of({"city": cities, "area": [city[0] for city in cities], "id": list(range(60))}, RANGED)
    scheme = KeyScheme(parse_key(main, ""), (IndexRow(parse_key(beside, "{id}"), "pointer"),))
    bench = bench_of(rows, query("of-area", text))
    (demand,) = bench.demands
    by_range = next(p for p in plan(demand.query, demand.conditions, scheme, RANGED, rows) if p.via == 0)
    assert by_range.access is Access.PARTITION_RANGE_SCAN
    assert read(by_range, demand, scheme, bench).scanned.tolist() == pytest.approx([20 * rows_each] * 60)


@pytest.mark.parametrize(("label", "rows_each"), [("AT", 2), ("Z", 1)])
def test_a_label_behind_constant_text_lies_in_a_range_or_not(label: str, rows_each: int) -> None:
    rows = population_of({"city": ["Ab"] * 20, "id": list(range(20))}, TYPES)
    beside = IndexRow(parse_key(f"C:{label}{{city}}", "{id}"), "pointer")
    found, _ = _load(
        rows, query("of-a", "city ge 'A' and city lt 'B'"), KeyScheme(parse_key("C:{city}", ""), (beside,))
    )
    assert found.entities == pytest.approx(20 * rows_each)


def test_entities_of_a_value_count_alike_as_entities_and_as_index_rows_that_some_entities_lack() -> None:
    """Keys drawn at random: what others of the table share a value with is told by one law for every key."""
    draws = np.random.default_rng(3)
    of_city = [None if n % 4 == 0 else f"c{draws.integers(40)}" for n in range(60)]
    columns = {"city": [of_city[n // 5] for n in range(300)], "visit": [f"v{n // 5}" for n in range(300)]}
    columns["id"] = list(range(300))
    rows = population_of(
        columns, {**TYPES, "visit": EdmType.STRING}, total=6000, sampling="random-keys", sampled_by=("visit",)
    )
    asked = query("of-city", "city eq '{city}'")
    bench = bench_of(rows, asked)
    (demand,) = bench.demands
    by_index_row = (IndexRow(parse_key("CITY:{city}", "{pad(id,5)}"), "full"),)
    as_entities = best_read(demand, KeyScheme(parse_key("{city}", "{pad(id,5)}")), bench)
    as_index_rows = best_read(demand, KeyScheme(parse_key("{visit}", "{pad(id,5)}"), by_index_row), bench)
    assert as_index_rows.plan.via == 1
    asks = np.array([of_city[row // 5] is not None for row in demand.instances])
    assert asks.any() and np.allclose(as_index_rows.scanned[asks], as_entities.scanned[asks])
