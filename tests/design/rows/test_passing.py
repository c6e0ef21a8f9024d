"""Inserts whose key has the moment in it, under a name that tells no time: a log shows that they move on."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.fronts import keep_logged_inserts, moved_on, write_fronts
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Draw, DrawBy, Operation, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import frame_of, population_of, query

TYPES = {"slot": EdmType.STRING, "zone": EdmType.STRING, "id": EdmType.STRING}
INSERTS = 1_200
RATE = 240.0
US = 1_000_000


def logged(seconds_each: float, *, shuffled: bool = False, asked: str | None = None) -> tuple[Bench, KeyScheme]:
    """Ten slots, one after another, in a log of which a sample is at hand in no order; inserts, or what is asked."""
    random = Random(7)
    places = list(range(INSERTS))
    random.shuffle(places)
    slots = [10 * place // INSERTS for place in places]
    came = [int(place * 10 * seconds_each / INSERTS * US) for place in places]
    if shuffled:
        random.shuffle(slots)
    ghosts = frame_of(
        {
            "slot": [f"20261101120{slot}" for slot in slots],
            "zone": ["north" if random.random() < 0.75 else "south" for _ in slots],
            "id": [f"{place:04}" for place in places],
        },
        TYPES,
    )
    data = {"slot": ["202611011159"], "zone": ["north"], "id": ["old"]}
    population = population_of(data, TYPES, ghosts=ghosts)
    does = Operation.INSERT if asked is None else Operation.QUERY
    insert = query("add", asked, operation=does, rate=RATE, draw=Draw(DrawBy.LOG, stated=True))
    weights = pl.lit(1 / INSERTS).alias("_weight")
    workload = Workload("t", (insert,), instances={"add": ghosts.with_columns(weights)}, came={"add": came})
    found = demands(workload, population, {"add": (1, 1 + INSERTS)})
    keep_logged_inserts(population, found)
    return Bench(population, workload, found, default_limits(), 100.0), KeyScheme(parse_key("{slot}", "{id}"))


def hottest(bench: Bench, scheme: KeyScheme) -> float:
    hot = estimate(scheme, bench).hot
    assert hot is not None
    return hot.entities_per_s


def test_the_partition_of_the_moment_takes_every_insert() -> None:
    bench, by_slot = logged(60)
    assert hottest(bench, by_slot) == pytest.approx(RATE)
    within = KeyScheme(parse_key("{zone}_{slot}", "{id}"))
    assert hottest(bench, within) == pytest.approx(0.75 * RATE, rel=0.05)
    assert hottest(bench, KeyScheme(parse_key("{zone}", "{slot}_{id}"))) == pytest.approx(0.75 * RATE, rel=0.05)
    assert hottest(bench, KeyScheme(parse_key("{id}", "{slot}"))) == pytest.approx(RATE / INSERTS)


def test_values_that_come_at_any_time_share_the_inserts() -> None:
    bench, by_slot = logged(60, shuffled=True)
    assert hottest(bench, by_slot) == pytest.approx(RATE / 10)
    assert write_fronts(by_slot.main.partition, bench.population).median is None


def test_a_value_of_a_few_seconds_is_no_load_that_lasts() -> None:
    bench, by_slot = logged(5)
    assert moved_on(by_slot.main.partition, bench.demands[0], bench.population) is None


def test_inserts_that_move_on_have_one_front() -> None:
    bench, by_slot = logged(60)
    assert write_fronts(by_slot.main.partition, bench.population).median == 1.0
    spread = KeyScheme(parse_key("{zone}_{slot}", "{id}"))
    assert write_fronts(spread.main.partition, bench.population).median is None


def test_the_partition_of_the_moment_takes_every_read() -> None:
    bench, by_slot = logged(60, asked="slot eq '{slot}' and id eq '{id}'")
    assert hottest(bench, by_slot) == pytest.approx(RATE)
    spread, _ = logged(60, shuffled=True, asked="slot eq '{slot}' and id eq '{id}'")
    assert hottest(spread, by_slot) < 0.2 * RATE
