"""Index rows for classes that fix no property, and how much of the main key an index row repeats."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pkadvisor.design.choice.goals import better
from pkadvisor.design.choice.index_candidates import index_rows, refine_rows
from pkadvisor.design.choice.key_building import KeyGround, part_for
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

START = datetime(2026, 3, 1, tzinfo=UTC)
TYPES = {"id": EdmType.STRING, "at": EdmType.DATETIME, "device": EdmType.STRING, "size": EdmType.INT32}
DAYS, A_DAY = 10, 144


def events() -> Population:
    """One every ten minutes for ten days, of twelve devices; ids say nothing about the time."""
    rows = range(DAYS * A_DAY)
    return population_of(
        {
            "id": [f"e{n * 7919 % 100_003:06d}" for n in rows],
            "at": [START + timedelta(minutes=10 * n) for n in rows],
            "device": [f"d{n * 5 % 12:02d}" for n in rows],
            "size": [n * n % 97 for n in rows],
        },
        TYPES,
        arrival="at",
    )


ONE = query("one", "id eq '{id}'", rate=50)
NEWEST = query("newest", None, order=["-at"], top=20, rate=5)
EXPORT = query("export", "at ge datetime'{at}' and at lt datetime'{at+1d}'", rate=10)
EXPIRED = query("expired", "at lt datetime'{at-9d}'", rate=10)
PURGE = query("purge", "at lt datetime'{at-9d}'", rate=0.001, operation=Operation.DELETE)
REPORT = query("report", None, rate=1 / 600, operation=Operation.INSERT)


def answer(*classes: QueryClass) -> CostEstimate:
    return advise(bench_of(events(), *classes), None).recommended


def costs(found: CostEstimate, name: str) -> tuple[int, float, float]:
    """(the row it goes through, entities read, requests) of a class."""
    cost = next(c for c in found.classes if c.name == name)
    assert cost.plan is not None
    return cost.plan.via, cost.entities_read, cost.requests


def test_the_newest_of_a_growing_table_have_a_row_in_their_day() -> None:
    """A day holds 144 and an hour 6, of which 20 are wanted: one request for the last day reads just these."""
    found = answer(ONE, NEWEST, REPORT)
    assert found.scheme.text == "{id} | '' + AT:{time(at,'yyyyMMdd')} | {reverse_ticks(at)}_{id} (full)"
    assert costs(found, "newest") == (1, pytest.approx(20), 1)
    assert costs(found, "one") == (0, 1, 1)
    assert found.requests_per_s == pytest.approx(50 + 5 + 2 / 600)


def test_the_newest_alone_are_the_first_rows_of_the_main_key() -> None:
    found = answer(NEWEST, REPORT)
    assert found.scheme.index_rows == ()
    via, entities, requests = costs(found, "newest")
    assert (via, entities) == (0, pytest.approx(20))
    assert 1 <= requests < 1.02  # a range may end within the twenty


@pytest.mark.parametrize("row", ["{time(at,'yyyyMMddHHmmss')}", "{time(at,'yyyyMMddHHmmssfff')}", "{ticks(at)}"])
def test_an_index_row_repeats_the_time_of_the_main_key_however_it_is_written(row: str) -> None:
    """Without it two entities of one size and device would share a key."""
    ground = KeyGround(bench_of(events(), query("sized", "size eq {size}", rate=5)))
    rows = list(index_rows(parse_key("{device}", row), ground.bench.demands[0], ground))
    assert rows
    assert all({"device", "at"} <= {*each.key.properties} for each in rows)


def test_a_table_that_stays_small_may_have_one_partition_for_the_newest() -> None:
    ground = KeyGround(bench_of(events(), ONE, NEWEST))
    rows = list(index_rows(parse_key("{id}", ""), ground.bench.demands[1], ground))
    assert IndexRow(parse_key("AT:", "{reverse_ticks(at)}_{id}")) in rows
    growing = KeyGround(bench_of(events(), ONE, NEWEST, REPORT))
    rows = list(index_rows(parse_key("{id}", ""), growing.bench.demands[1], growing))
    assert [row for row in rows if row.key.partition == parse_key("AT:", "").partition] == []
    assert rows != []


@pytest.mark.parametrize("asked", [EXPORT, EXPIRED], ids=lambda asked: asked.name)
def test_a_range_alone_leaves_the_main_key_to_the_others(asked: QueryClass) -> None:
    """Ids spread the look-ups; the range goes through a row for each day.

    It reads what it returns, before a moment half a day more on average.
    """
    found = answer(ONE, asked, REPORT)
    assert (found.scheme.main, len(found.scheme.index_rows)) == (parse_key("{id}", ""), 1)
    via, read, _ = costs(found, asked.name)
    returned = next(c.entities_returned for c in found.classes if c.name == asked.name)
    assert via == 1
    assert read <= returned + A_DAY / 2 + 1


def test_a_purge_by_time_is_offered_rows() -> None:
    ground = KeyGround(bench_of(events(), ONE, PURGE, REPORT))
    rows = {row.key for row in index_rows(parse_key("{id}", ""), ground.bench.demands[1], ground)}
    assert parse_key("AT:{time(at,'yyyyMMdd')}", "{ticks(at)}_{id}") in rows


def test_the_experts_row_for_a_range_does_not_beat_the_advice() -> None:
    classes = (ONE, EXPORT, REPORT)
    expert = KeyScheme(parse_key("{id}", ""), (IndexRow(parse_key("DAY:{time(at,'yyyyMMdd')}", "{ticks(at)}_{id}")),))
    handed_in = estimate(expert, bench_of(events(), *classes))
    assert not better(handed_in, answer(*classes))


def test_a_number_without_equality_gets_one_partition_in_its_order() -> None:
    largest = query("largest", "size ge {size}", order=["size"], top=5, rate=5)
    found = answer(ONE, largest)
    assert costs(found, "largest") == (1, pytest.approx(5), 1)
    assert "{pad(size,3)}" in str(found.scheme.index_rows[0].key)


def test_a_hot_row_is_tried_by_periods_beside_buckets() -> None:
    """All of a device's day is read all the time: its days spread what one partition for the device takes."""
    of_device = query(
        "of-device", "device eq '{device}' and at ge datetime'{at}' and at lt datetime'{at+1d}'", rate=2000
    )
    ground = KeyGround(bench_of(events(), ONE, of_device, REPORT))
    rows = (IndexRow(parse_key("DEVICE:{device}", "{ticks(at)}_{id}")),)
    hot = estimate(KeyScheme(parse_key("{id}", ""), rows), ground.bench)
    assert {v.code for v in hot.violations} == {"hot-partition"}
    finer = {scheme.index_rows[0].key.partition[2:] for scheme in refine_rows(hot, ground)}
    assert parse_key("_{time(at,'yyyyMMdd')}", "").partition in finer
    assert any(part.bucket_count for parts in finer for part in parts)


def rows_of(main: str, row: str, *classes: QueryClass) -> set[str]:
    """The RowKeys of the rows for the last class beside a main key."""
    ground = KeyGround(bench_of(events(), *classes))
    return {str(r.key).partition(" | ")[2] for r in index_rows(parse_key(main, row), ground.bench.demands[-1], ground)}


OF_SIZE = query("of-size", "size eq {size}", rate=1)


def test_a_row_repeats_what_identifies_and_no_more() -> None:
    assert rows_of("{device}", "{ticks(at)}_{id}", OF_SIZE) == {"{id}"}
    corrected = query(
        "correct", "device eq '{device}' and at eq datetime'{at}'", operation=Operation.UPDATE, sets=["x"]
    )
    assert rows_of("{device}", "{ticks(at)}", corrected, OF_SIZE) == {"{device}_{ticks(at)}"}
    # A time alone is no proof, and neither is a number that the application assigns among equal keys.
    assert rows_of("{device}", "{ticks(at)}", OF_SIZE) == {"{device}_{ticks(at)}"}
    assert rows_of("{device}", "{ticks(at)}_{seq(4)}", corrected, OF_SIZE) == {"{device}_{ticks(at)}_{seq(4)}"}


def test_of_a_sample_only_declared_identities_are_believed() -> None:
    population = events()
    population.total = 800_000
    ground = KeyGround(bench_of(population, OF_SIZE))
    rows = index_rows(parse_key("{device}", "{id}"), ground.bench.demands[0], ground)
    assert {str(row.key) for row in rows} == {"SIZE:{pad(size,3)} | {device}_{id}"}


@pytest.mark.parametrize("row", ["{device}_{id}", "{ticks(at)}_{id}"])
def test_a_row_lies_in_the_buckets_of_the_main_key(row: str) -> None:
    """Every bucket is asked anyway; within one the RowKey holds what only the bucket's number follows from."""
    ground = KeyGround(bench_of(events(), OF_SIZE, ONE))
    main = parse_key("all_{hash(id,8)}", row)
    of_size, one = (list(index_rows(main, demand, ground)) for demand in ground.bench.demands)
    assert IndexRow(parse_key("all_{hash(id,8)}", "SIZE:{pad(size,3)}_{id}"), "full") in of_size
    inside = [row.key.row for row in one if row.key.partition == main.partition]
    assert [row[:2] for row in inside] == [parse_key("all", "ID:{id}").row]


@pytest.mark.parametrize(
    ("least", "rows"),
    [
        (None, {"{pad(size,3)}_{id}"}),
        (50.0, {"{pad(size,3)}_{id}", "{id}"}),
        (0.0, {"{id}"}),
    ],
)
def test_a_range_that_all_requests_share_leads_no_row_where_it_narrows_nothing(
    least: float | None, rows: set[str]
) -> None:
    """``size ge {size}`` for sizes of 0 to 96: as every entity has it, or as a log shows a constant."""
    ranged = query("ranged", "device eq '{device}' and size ge {size}", rate=1)
    ground = KeyGround(bench_of(events(), ranged))
    demand = ground.bench.demands[0]
    if least is not None:
        low, high = demand.bounds["size"]
        demand = replace(demand, bounds={"size": (np.full_like(low, least), high)})
    found = index_rows(parse_key("{id}", ""), demand, ground)
    assert {str(row.key) for row in found} == {f"DEVICE:{{device}} | {row}" for row in rows}


def test_an_update_through_a_row_that_lacks_a_part_of_the_main_key_reads_the_entity() -> None:
    """The row is found by its key; what the main key holds besides is known only from the entity."""
    update = query("resize", "id eq '{id}'", rate=3, operation=Operation.UPDATE, sets=["note"])
    scheme = KeyScheme(parse_key("{device}", "{id}"), (IndexRow(parse_key("ID:{id}", "")),))
    cost = next(c for c in estimate(scheme, bench_of(events(), update)).classes if c.name == "resize")
    assert (cost.requests_locate, cost.entities_read) == (1, 1)
    assert cost.requests == 3


def test_a_number_that_outgrows_the_padding_of_keys_in_use_has_room_in_a_new_row() -> None:
    """1,440 sizes in two digits: the row for a device repeats ``size`` to tell its rows apart."""
    rows = range(DAYS * A_DAY)
    columns = {"device": [f"d{n % 12:02d}" for n in rows], "size": list(rows), "name": [f"n{n % 7}" for n in rows]}
    types = {"device": EdmType.STRING, "size": EdmType.INT32, "name": EdmType.STRING}
    population = population_of(columns, types)  # type: ignore[arg-type]
    ground = KeyGround(bench_of(population, query("named", "name eq '{name}'", rate=5)))
    asked = ground.bench.demands[0]

    def telling(padded: str) -> set[str]:
        main = parse_key("{device}", padded, known=types)
        return {part for row in index_rows(main, asked, ground) for part in map(str, row.key.row) if "size" in part}

    needed = str(part_for("size", population))
    assert telling("{pad(size,2)}") == {needed}
    assert telling("{pad(size,12)}") == {"{pad(size,12)}"}
    assert telling("{sortable(size)}") == {"{sortable(size)}"}


def test_what_another_class_bounds_may_lead_a_row() -> None:
    """A log names the parts of a key by their names: one row answers the update and the range over devices as well."""
    update = query("change", "id eq '{id}' and device eq '{device}'", operation=Operation.UPDATE, sets=["size"])
    devices = query("devices", "device ge '{device}' and device lt 'd99' and size gt 90")
    ground = KeyGround(bench_of(events(), update, devices))
    rows = index_rows(parse_key("{ticks(at)}", "{size}"), ground.bench.demands[0], ground)
    assert {"ID:{id}_{device}", "DEVICE:{device}_{id}"} <= {str(row.key).split(" | ")[0] for row in rows}
