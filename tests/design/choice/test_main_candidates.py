"""Main keys and index rows that must be among the candidates, each for the queries that it serves best."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.finer_keys import refine
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


def test_a_unique_partition_may_lack_what_is_asked_and_begin_with_what_is_bounded() -> None:
    of_city = query("of-city", "city eq '{city}' and score ge {score-5} and score le {score+5}")
    whole = {key.split(" | ")[0] for key in keys_for(of_city) if key.endswith(" | ''")}
    assert {"{pad(id,4)}", "{city}_{pad(id,4)}", "{city}_{pad(score,19)}"} <= whole


def test_the_time_that_a_class_bounds_may_be_the_partition_beside_an_equality() -> None:
    of_city = query("of-city", "city eq 'c1' and at ge datetime'{at-7d}' and at lt datetime'{at}'")
    texts = {scheme.text for scheme in main_keys(ground(of_city))}
    assert {"{city}_{ticks(at)} | ''", "{ticks(at)} | ''"} <= texts


def test_a_key_may_lack_what_a_rule_makes_of_its_other_parts() -> None:
    columns = {"id": [*range(200)], "city": [f"{'news'[n % 4]}{n % 12}" for n in range(200)]}
    columns["area"] = [city[0] for city in columns["city"]]
    types = {"id": EdmType.INT32, "city": EdmType.STRING, "area": EdmType.STRING}
    both = query("both", "city eq '{city}' and area eq '{area}'")
    keys = {str(s.main) for s in main_keys(KeyGround(bench_of(population_of(columns, types), both)))}
    assert any(key.startswith("{city}_{pad(id") and key.endswith(" | ''") for key in keys)


def test_beginnings_that_the_log_fixes_close_a_key_with_and_without_the_range_behind_them() -> None:
    here = ground(query("begins", "score eq {score} and city ge '{city}'"))
    (demand,) = here.bench.demands
    begun = replace(demand, conditions=replace(demand.conditions, one_beginning={"city": 1}))
    here = replace(here, bench=replace(here.bench, demands=(begun,)))
    rows = {str(s.main).split(" | ")[1] for s in main_keys(here) if "{prefix(city,1)}" in str(s.main)}
    assert {row.startswith("{city}") for row in rows} == {True, False}


@pytest.mark.parametrize("hashed", [False, True])
def test_beginnings_that_columns_of_the_data_name_close_a_key(hashed: bool) -> None:
    """A map asks for the cell of a place: columns hold the cell and the text behind it. Tokens of a profile begin with
    nothing that a caller knows."""
    cells = [f"u{'0123456789'[n % 10]}{'abcdefgh'[n % 8]}" for n in range(200)]
    columns = {
        "id": [*range(200)],
        "hash": [f"{cell}{n:03}" for n, cell in enumerate(cells)],
        "cell": cells,
        "behind": [cell[:2] + chr(ord(cell[2]) + 1) for cell in cells],
    }
    types = {name: EdmType.INT32 if name == "id" else EdmType.STRING for name in columns}
    near = query("near", "hash ge '{cell}' and hash lt '{behind}'")
    population = population_of(columns, types, **({"hashed": frozenset({"cell"})} if hashed else {}))
    keys = {str(s.main) for s in main_keys(KeyGround(bench_of(population, near)))}
    assert any(key.startswith("{prefix(hash,3)} | {hash}") for key in keys) is not hashed


@pytest.mark.parametrize(
    ("low", "high", "kept"), [("city ge 'b'", "city lt 'c'", True), ("n gt 300", "n lt 500", False)]
)
def test_a_beginning_of_texts_is_a_key_and_a_limit_of_a_measurement_is_none(low: str, high: str, kept: bool) -> None:
    columns = {"id": [*range(60)], "team": [f"t{n % 3}" for n in range(60)], "n": [n * 7 % 600 for n in range(60)]}
    columns["city"] = [f"{'abc'[n % 3]}{n:02}" for n in range(60)]
    types = {"id": EdmType.INT32, "n": EdmType.INT32, "team": EdmType.STRING, "city": EdmType.STRING}
    asked = query("some", f"team eq '{{team}}' and {low} and {high}")
    keys = {str(s.main) for s in main_keys(KeyGround(bench_of(population_of(columns, types), asked)))}
    assert any(key.startswith("{team} | {" + ("city" if kept else "pad(n")) for key in keys) is kept


def test_a_scanned_property_is_asked_in_buckets_of_itself() -> None:
    beyond = query("beyond", "city ge '{city}'", rate=2_000.0)
    here = ground(beyond)
    scanned = estimate(KeyScheme(parse_key("{city}", "{pad(id,7)}", known=TYPES)), here.bench)
    assert any(v.code in ("hot-range", "scan-load") for v in scanned.violations)
    assert "{hash(city,8)} | {city}_{pad(id,7)}" in {str(s.main) for s in refine(scanned, here)}


def test_index_rows_lie_under_periods_or_buckets_of_what_a_class_does_not_fix() -> None:
    recent = query("recent", "city eq '{city}' and at gt datetime'{at-7d}' and at le datetime'{at}'")
    either = query("either", "(city eq '{city}' or city eq 'c3')")
    here = ground(recent, either)
    main = parse_key("{city}_{hash(id,6)}", "{pad(id,7)}", known=TYPES)
    rows = {str(row.key) for demand in here.bench.demands for row in index_rows(main, demand, here)}
    assert any(key.startswith("AT:{time(at,") and " | {city}_{ticks(at)}" in key for key in rows)
    assert any(key.startswith("ID:{hash(id,8)} | {city}_{pad(id,") for key in rows)


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


def test_no_key_orders_what_a_rule_fixes() -> None:
    """Where ``short`` is always the text of ``city``, a range of cities within one ``short`` needs no part of a key."""
    columns: dict[str, list[object]] = {"id": [*range(200)], "city": [f"c{n * 7 % 9}" for n in range(200)]}
    columns["short"] = columns["city"]
    types = {"id": EdmType.INT32, "city": EdmType.STRING, "short": EdmType.STRING}
    asked = query("range", "short eq '{short}' and city ge '{city.from}' and city lt '{city.until}'")
    keys = {str(s.main) for s in main_keys(KeyGround(bench_of(population_of(columns, types), asked)))}
    assert any(key.startswith("{short} | {pad(id") for key in keys)
