"""Keys that nothing but a time makes unique: how many entities are expected to share one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.identifiers import in_use, time_collisions
from pkadvisor.design.rows.arrivals import resolution
from pkadvisor.observe.workload import Operation, QueryClass, Rate
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = {"device": EdmType.STRING, "at": EdmType.DATETIME, "reading_id": EdmType.STRING, "born": EdmType.DATETIME}
NEWEST = query("newest", "device eq '{device}'", order=["-at"], top=20)


def insert(per_s: float, operation: Operation = Operation.INSERT) -> QueryClass:
    return QueryClass("report", operation, None, Rate(per_s, per_s))


def telemetry(*asked: QueryClass, devices: int = 20, every_s: float = 3.0, identified: bool = True) -> Bench:
    """600 readings in whole seconds, no two of a device at once; births in any order."""
    random = Random(1)
    columns: dict[str, list[object]] = {
        "device": [f"d{n % devices:02d}" for n in range(600)],
        "at": [START + timedelta(seconds=int(every_s * n)) for n in range(600)],
        "born": [START - timedelta(days=random.randrange(20_000)) for n in range(600)],
    }
    if identified:
        columns["reading_id"] = [f"r{random.randrange(10**9)}" for _ in range(600)]
    types = {name: TYPES[name] for name in columns}
    return bench_of(population_of(columns, types, arrival="at"), *asked)


def key(partition: str, row: str) -> Key:
    return Key(parse_template(partition), parse_template(row))


@pytest.mark.parametrize("row", ["{ticks(at)}", "{reverse_ticks(at)}", "{at}", "{time(at,'yyyyMMddHHmmss')}"])
def test_whole_seconds_tell_no_more_apart_than_seconds(row: str) -> None:
    """At 500/s a device of 20 has 25 entities in each second: nearly all but the first of them find their key taken."""
    found = time_collisions(key("{device}", row), telemetry(NEWEST, insert(500.0)))
    assert found is not None and found.instant.unit == "second"
    assert found.expected > 0.9 * found.entities


def test_a_key_that_entities_to_come_share_is_refused_and_says_what_becomes_of_them() -> None:
    for operation, says in ((Operation.INSERT, "(409)"), (Operation.UPSERT, "overwrites")):
        bench = telemetry(NEWEST, insert(500.0, operation))
        found = estimate(KeyScheme(key("{device}", "{ticks(at)}"), (), "given"), bench)
        (violation,) = [v for v in found.violations if v.code == "not-unique"]
        assert says in violation.message


def test_telemetry_with_an_id_is_advised_a_key_that_holds_it() -> None:
    for rate in (0.5, 500.0):
        advice = advise(telemetry(NEWEST, insert(rate)), None)
        assert "reading_id" in advice.recommended.scheme.main.properties, advice.recommended.scheme.text


def test_telemetry_without_an_id_gets_a_number_that_the_application_gives_out() -> None:
    for scheme in main_keys(KeyGround(telemetry(NEWEST, insert(500.0), identified=False))):
        assert any(part.assigned for part in (*scheme.main.partition, *scheme.main.row)), scheme.text


def test_regular_arrivals_are_no_matter_of_chance() -> None:
    """10 devices that report each second in 60 rows each: none can have come at random and share no second."""
    rates = ((10.0, True), (500.0, False))
    for rate, fine in rates:
        bench = telemetry(NEWEST, insert(rate), devices=10, every_s=0.1)
        assert (time_collisions(key("{device}", "{ticks(at)}"), bench) is None) is fine


def test_a_time_that_is_not_that_of_arrival_is_a_property_like_others() -> None:
    """Births are spread over 20,000 days in whatever order entities come."""
    assert time_collisions(key("{device}", "{ticks(born)}"), telemetry(NEWEST, insert(500.0))) is None


@pytest.mark.parametrize(
    ("step", "unit"),
    [
        (timedelta(days=1), "day"),
        (timedelta(hours=7), "hour"),
        (timedelta(minutes=7), "minute"),
        (timedelta(seconds=7), "second"),
        (timedelta(milliseconds=7), "millisecond"),
        (timedelta(microseconds=7), "microsecond"),
    ],
)
def test_the_resolution_of_a_time_is_that_of_its_values(step: timedelta, unit: str) -> None:
    population = population_of({"at": [START + n * step for n in range(20)]}, {"at": EdmType.DATETIME})
    assert resolution("at", population) == unit


def test_an_identifier_of_the_keys_in_use_is_kept() -> None:
    bench = telemetry(NEWEST, insert(1e-9))
    now = KeyScheme(key("{device}", "{reading_id}"), (), "current")
    assert in_use(now, bench).identifiers == ("reading_id",)
    assert "reading_id" not in advise(bench, None).recommended.scheme.main.properties
    assert "reading_id" in advise(bench, now).recommended.scheme.main.properties


def test_what_decides_the_keys_in_use_needs_no_number_beside_it() -> None:
    """The table holds no two entities of one key, unless more come than it was made for."""
    now = KeyScheme(key("{time(at,'yyyyMMdd')}", "{time_of_day(at,7)}_{device}"), (), "current")
    for rate, numbered in ((0.01, False), (500.0, True)):
        bench = telemetry(NEWEST, insert(rate), identified=False)
        main = advise(bench, now).recommended.scheme.main
        assert any(part.assigned for part in (*main.partition, *main.row)) is numbered, str(main)
