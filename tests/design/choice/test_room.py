"""Room for growth: it is planned for as declared, and beyond that it is worth no read from several partitions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.goals import better, good_enough, loss
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.observe.workload import Draw, DrawBy, Growth, GrowthOf, Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

NETWORKS, STATIONS = 8, 400
BY_NETWORK = KeyScheme(parse_key("{network}", "{pad(station,4)}"))
BY_LIFT = KeyScheme(parse_key("{lift}", "{reverse_ticks(at)}"))


def heating(factor: float | None) -> Bench:
    """Screens list the stations of a network, and each station is written 0.4 times a second: 760 entities/s each."""
    rows = range(NETWORKS * STATIONS)
    columns = {"network": [f"n{n % NETWORKS}" for n in rows], "station": [n // NETWORKS for n in rows]}
    population = population_of(columns, {"network": EdmType.STRING, "station": EdmType.INT32})
    one_network = Draw(DrawBy.DISTINCT, of=("network",), stated=True)
    screen = query("screen", "network eq '{network}'", rate=12, order=["station"], draw=one_network)
    filter_text = "network eq '{network}' and station eq {station}"
    measure = query("measure", filter_text, rate=1280, operation=Operation.UPDATE, sets=["value"])
    bench = bench_of(population, screen, measure)
    growth = None if factor is None else Growth(factor, GrowthOf.RATE, 1.0)
    return replace(bench, workload=replace(bench.workload, growth=growth))


@pytest.mark.parametrize(("factor", "whole"), [(None, True), (1.5, True), (4.0, False)])
def test_buckets_are_for_growth_that_somebody_declared(factor: float | None, whole: bool) -> None:
    bench = heating(factor)
    assert 2 < estimate(BY_NETWORK, bench).break_factor < 3
    found = advise(bench, None).recommended
    assert (found.scheme.main.partition == BY_NETWORK.main.partition) is whole, found.scheme.text
    assert found.break_factor >= found.room_factor


def test_keys_in_use_stay_with_the_room_that_new_keys_are_planned_with() -> None:
    now = replace(estimate(BY_NETWORK, heating(None)), break_factor=2.1)
    best = replace(now, break_factor=50.0)
    assert good_enough(now, best)
    assert not good_enough(replace(now, break_factor=1.9), best)


@pytest.mark.parametrize("retention_s", [86_400.0, None])
def test_a_partition_that_is_emptied_is_bounded(retention_s: float | None) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    rows = range(2_000)
    columns = {"lift": [f"l{n % 20:02}" for n in rows], "at": [start + timedelta(seconds=60 * n) for n in rows]}
    types = {"lift": EdmType.STRING, "at": EdmType.DATETIME}
    recent = query("recent", "lift eq '{lift}'", rate=20, order=["-at"], top=60)
    bench = bench_of(
        population_of(columns, types, arrival="at"), recent, query("record", None, rate=30, operation=Operation.INSERT)
    )
    bench = replace(bench, workload=replace(bench.workload, retention_s=retention_s))
    assert estimate(BY_LIFT, bench).open_ended == (retention_s is None)
    assert advise(bench, None).recommended.scheme.main.partition == BY_LIFT.main.partition


@pytest.mark.parametrize(("breaks", "most"), [(1.0, 300.0), (1.5, 150.0), (1.9, 102.0)])
def test_room_is_worth_the_more_requests_the_less_of_it_there_is(breaks: float, most: float) -> None:
    found = estimate(BY_NETWORK, heating(None))
    tight = replace(found, break_factor=breaks, requests_per_s=100.0)
    for requests_per_s, worth_it in ((most * 0.999, True), (most * 1.001, False)):
        roomy = replace(found, break_factor=2.1, requests_per_s=requests_per_s)
        by_room = loss(tight, roomy).goal == "room"
        assert by_room is worth_it
        assert better(roomy, tight) or not worth_it
    assert better(tight, replace(tight, break_factor=breaks + 0.05, requests_per_s=150.0))  # neither has room
