"""Main keys and index rows that must be among the candidates, each for the queries that it serves best."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.index_candidates import index_rows
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"id": EdmType.INT32, "city": EdmType.STRING, "score": EdmType.INT64, "at": EdmType.DATETIME}
START = datetime(2026, 3, 1, tzinfo=UTC)


def ground(*classes: QueryClass) -> KeyGround:
    rows = range(200)
    columns = {
        "id": [*rows],
        "city": [f"c{n * 7 % 9}" for n in rows],
        "score": [n * 7919 % 100_003 + 10**17 for n in rows],
        "at": [START + timedelta(hours=5 * n) for n in rows],
    }
    return KeyGround(bench_of(population_of(columns, TYPES, arrival="at"), *classes))


def keys_for(*classes: QueryClass) -> set[str]:
    return {str(scheme.main) for scheme in main_keys(ground(*classes))}


def test_a_property_that_updates_change_stands_behind_a_period() -> None:
    """In the PartitionKey each such update would move the entity into another partition, by two requests."""
    recent = query("recent", "city eq '{city}' and at gt datetime'{at-7d}' and at le datetime'{at}'")
    moved = query("moved", "id eq {id}", operation=Operation.UPDATE, sets=("city",))
    assert any(key.startswith("{time(at,'yyyyMM')} | {city}_{ticks(at)}") for key in keys_for(recent, moved))
    assert not any(key.startswith("{time(at,'yyyyMM')} | {city}") for key in keys_for(recent))


def test_an_order_that_spares_no_read_may_be_left_to_the_client() -> None:
    in_order = query("in-order", "city eq '{city}'", order=("-score",))
    assert any(key.startswith("{city} | {pad(id,") for key in keys_for(in_order))
    assert any(key.startswith("{city} | {reverse_pad(score,") for key in keys_for(in_order))
    first = query("first", "city eq '{city}'", order=("-score",), top=3)
    assert not any(key.startswith("{city} | {pad(id,") for key in keys_for(first))


def test_a_unique_partition_begins_with_what_others_bound() -> None:
    one = query("one", "id eq {id} and city eq '{city}'", rate=50.0)
    beyond = query("beyond", "city ge '{city}'")
    assert any(key.startswith("{city}_{pad(id") and key.endswith(" | ''") for key in keys_for(one, beyond))
    assert not any(key.startswith("{city}_{pad(id") and key.endswith(" | ''") for key in keys_for(one))


def test_a_narrow_range_beside_a_key_of_buckets_is_an_index_row_by_its_property() -> None:
    narrow = query("narrow", "city eq '{city}' and score gt {score-1} and score le {score+1}")
    here = ground(narrow)
    (demand,) = here.bench.demands

    def places(partition: str) -> set[str]:
        rows = index_rows(parse_key(partition, "{pad(id,7)}", known=TYPES), demand, here)
        return {str(row.key) for row in rows}

    beside = {key for key in places("{city}_{hash(id,8)}") if key.startswith("SCORE:{pad(score")}
    assert len(beside) == 1
    assert not {key for key in places("{city}") if key.startswith("SCORE:{pad(score")}


def test_no_key_holds_the_time_that_the_service_sets() -> None:
    """Nobody who makes a key can know Timestamp, though queries may ask for it."""
    types = {"id": EdmType.INT32, "city": EdmType.STRING, "Timestamp": EdmType.DATETIME}
    columns = {
        "id": [*range(200)],
        "city": [f"c{n * 7 % 9}" for n in range(200)],
        "Timestamp": [START + timedelta(hours=5 * n) for n in range(200)],
    }
    changed = query("changed", "city eq '{city}' and Timestamp ge datetime'{Timestamp}'", order=("-Timestamp",))
    exact = query("exact", "Timestamp eq datetime'{Timestamp}'")
    here = KeyGround(bench_of(population_of(columns, types, arrival="Timestamp"), changed, exact))
    main = [str(scheme.main) for scheme in main_keys(here)]
    rows = [str(row.key) for d in here.bench.demands for row in index_rows(parse_key("{id}", "", known=types), d, here)]
    assert main
    estimated = estimate(KeyScheme(parse_key("{city}", "{pad(id,7)}", known=types)), here.bench)
    (scan,) = [r.message for r in estimated.remarks if r.message.startswith("exact scans the table")]
    assert "no key can hold Timestamp, which the service sets" in scan
    assert not [key for key in (*main, *rows) if "Timestamp" in key]
