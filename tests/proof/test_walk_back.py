"""The newest few by going back period by period: the same answer as from all rows, and as many requests as counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.plan.requests import requests
from pkadvisor.design.plan.stop_early import note_of, walk_back
from pkadvisor.table.edm import EdmType, TypedValue
from tests.design.support import bench_of, population_of, query
from tests.proof.support import PlainTable, Properties, answer, constants, difference, ends_of, expected, layout
from tests.tiers import sizes

TYPES = {"device": EdmType.STRING, "at": EdmType.DATETIME, "n": EdmType.INT32}
START = datetime(2025, 11, 3, 5, tzinfo=UTC)
GAPS_H = {"busy": 7, "daily": 24, "weekly": 24 * 7, "rare": 24 * 200, "once": 24 * 900}
"""Hours between the readings of each device, over 900 days."""


@cache
def readings() -> list[dict[str, object]]:
    found = [
        {"device": device, "at": START + timedelta(hours=hour, minutes=7 * number)}
        for number, (device, gap) in enumerate(GAPS_H.items())
        for hour in range(0, 24 * 900, gap)
    ]
    return [{**row, "n": n} for n, row in enumerate(sorted(found, key=lambda r: str(r["at"])))]


@cache
def entities() -> tuple[Properties, ...]:
    return tuple(constants(r, TYPES) for r in readings())


@cache
def bench(top: int, text: str = "device eq {device}") -> Bench:
    rows = readings()
    population = population_of({name: [r[name] for r in rows] for name in TYPES}, TYPES, arrival="at")
    return bench_of(population, query("latest", text, order=("-at",), top=top))


def going_back(found: Bench, partition: str, row: str) -> tuple[KeyScheme, AccessPlan]:
    scheme = KeyScheme(parse_key(partition, row))
    (demand,) = found.demands
    made = plan(demand.query, demand.conditions, scheme, TYPES, found.population)
    (back,) = (p for p in made if p.back)
    return scheme, back


PERIODS = ["yyyy", "yyyyMM", "yyyyMMdd"]
ROWS = ["{reverse_ticks(at)}_{n}", "{ticks(at)}_{n}", "{pad(n,5)}"]


PARTITIONS = ["{{device}}_{{time(at,'{}')}}", "{{time(at,'{}')}}_{{device}}"]


@pytest.mark.parametrize("top", sizes([1, 40], [1, 3, 40], "proofs"))
@pytest.mark.parametrize("row", sizes(ROWS[::2], ROWS, "proofs"))
@pytest.mark.parametrize("pattern", PERIODS)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_the_answer_is_right_and_the_requests_are_those_counted(
    partition: str, pattern: str, row: str, top: int
) -> None:
    found = bench(top)
    scheme, back = going_back(found, partition.format(pattern), row)
    (demand,) = found.demands
    place = layout(scheme, entities(), TYPES)
    counted = walk_back(back, demand, found.population).periods
    asked: list[str] = []

    class Counting(PlainTable):
        def query(self, filter_text: str, top: int | None = None) -> list[tuple[str, str]]:
            asked.append(filter_text)
            return super().query(filter_text, top)

    table, ends = Counting(place.rows), ends_of(back, entities())
    for device in GAPS_H:
        asked.clear()
        values = {"device": TypedValue(EdmType.STRING, device)}
        got = answer(back, demand.query, demand, place, table, values, entities(), TYPES, ends)
        wanted = expected(demand.query.filter and _bound(demand.query.filter, values), entities())
        assert difference(got, wanted, demand.query.order_by, top, entities()) == ""
        instance = next(i for i, r in enumerate(readings()) if r["device"] == device)
        assert len(asked) == counted[instance], device


def _bound(filter_: object, values: dict[str, TypedValue]) -> object:
    from pkadvisor.table.odata import bind

    return bind(filter_, values)  # type: ignore[arg-type]


def test_a_latest_reading_by_month_costs_little_where_readings_are_frequent() -> None:
    found = estimate(
        KeyScheme(parse_key("{device}_{time(at,'yyyyMM')}", "{reverse_ticks(at)}")), bench(1, "device eq 'busy'")
    )
    (cost,) = found.classes
    assert cost.plan is not None
    assert cost.plan.back
    assert cost.requests == pytest.approx(1)
    assert cost.entities_read == pytest.approx(1)


def test_rare_keys_are_named_as_without_bound() -> None:
    sparse = bench(1, "device eq 'once'")
    _, back = going_back(sparse, "{device}_{time(at,'yyyyMMdd')}", "{reverse_ticks(at)}")
    assert "keep a row for the latest" in note_of(walk_back(back, sparse.demands[0], sparse.population))
    often = bench(1, "device eq 'daily'")
    _, back = going_back(often, "{device}_{time(at,'yyyyMMdd')}", "{reverse_ticks(at)}")
    assert note_of(walk_back(back, often.demands[0], often.population)) == ""


@pytest.mark.parametrize(
    ("partition", "text", "order", "top"),
    [
        (
            "{device}_{time(at,'yyyyMM')}",
            "device eq {device}",
            ("at",),
            1,
        ),  # the oldest: no newest period to begin with
        ("{device}_{time(at,'yyyyMM')}", "device eq {device}", ("-at",), None),  # all of them: nothing ends it
        ("{device}_{time(at,'yyyyMM')}", None, ("-at",), 1),  # the device is not known
        ("{time(at,'yyyyMM')}_{n}", "device eq {device}", ("-at",), 1),  # what follows the period is not known
    ],
)
def test_it_is_proposed_only_where_it_is_right(
    partition: str, text: str | None, order: tuple[str, ...], top: int | None
) -> None:
    found = bench(1)
    asked = query("q", text, order=order, top=top)
    scheme = KeyScheme(parse_key(partition, "{n}"))
    assert not [p for p in plan(asked, conditions(asked.filter), scheme, TYPES, found.population) if p.back]


def test_a_sample_of_rows_sees_the_same_number_of_periods_within_its_error() -> None:
    """Every twelfth row of 900 days: a weekly device is found about half a week back, in days."""
    rows = readings()
    kept = rows[::12]
    whole = bench(1)
    thin = population_of(
        {name: [r[name] for r in kept] for name in TYPES}, TYPES, arrival="at", total=len(rows), complete=False
    )
    sample = bench_of(thin, query("latest", "device eq {device}", order=("-at",), top=1))
    means = []
    for found in (whole, sample):
        _, back = going_back(found, "{device}_{time(at,'yyyyMMdd')}", "{reverse_ticks(at)}")
        (demand,) = found.demands
        rows_of = [i for i, d in enumerate(found.population.frame.get_column("device").to_list()) if d == "busy"]
        means.append(float(walk_back(back, demand, found.population).periods[rows_of].mean()))
    assert means[1] == pytest.approx(means[0], abs=1.5)


def test_the_periods_end_at_both_ends_of_the_table() -> None:
    found = bench(1)
    _, back = going_back(found, "{device}_{time(at,'yyyy')}", "{n}")
    (demand,) = found.demands
    values = {"device": TypedValue(EdmType.STRING, "busy")}
    oldest, newest = ends_of(back, entities())
    sent = [r.filter for r in requests(back, demand.conditions, values, TYPES, newest=newest, oldest=oldest)]
    years = range(2028, 2024, -1)
    assert sent == [f"PartitionKey eq 'busy_{year}'" for year in years if year <= (START + timedelta(days=900)).year]
    with pytest.raises(ValueError, match="no beginning"):
        list(requests(back, demand.conditions, values, TYPES, newest=newest))
