"""A time range over a PartitionKey with a period: a request for each period, or one range, whichever costs less."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.plan_reads import read as _read
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.plan import plan
from pkadvisor.table.edm import EdmType
from tests.design.executor import Row, execute
from tests.design.support import bench_of, population_of, query

TYPES = {"device": EdmType.STRING, "at": EdmType.DATETIME}
BEGAN = datetime(2026, 3, 2, tzinfo=UTC)
DAYS, DEVICES = 60, 20
"""Of each device a reading every six hours."""


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("at lt {at}", "le '{time(at-1tick,''yyyyMMddHH'')}'"),
        ("at lt {at+2h}", "le '{time(at+2h-1tick,''yyyyMMddHH'')}'"),
        ("at le {at+2h}", "le '{time(at+2h,''yyyyMMddHH'')}'"),
        ("at lt datetime'2026-01-02T04:00:00Z'", "le '2026010203'"),
        ("at lt datetime'2026-01-02T04:00:00.0000001Z'", "le '2026010204'"),
        ("at le datetime'2026-01-02T04:00:00Z'", "le '2026010204'"),
    ],
)
def test_an_end_that_is_left_out_ends_with_the_period_of_the_last_moment_before_it(text: str, end: str) -> None:
    asked = query("q", text)
    scheme = KeyScheme(parse_key("{time(at,'yyyyMMddHH')}", "{device}"))
    (found,) = plan(asked, conditions(asked.filter), scheme, TYPES)
    assert found.filters[0].startswith(f"PartitionKey {end} and ")


def counted(partition: str, days: int) -> tuple[Access, float, float]:
    """(access, requests, entities read) of one device's readings of some days, from midnight on."""
    rows = [(n, BEGAN + timedelta(hours=6 * step)) for step in range(4 * DAYS) for n in range(DEVICES)]
    columns: dict[str, list[object]] = {"device": [f"d{n:02}" for n, _ in rows], "at": [at for _, at in rows]}
    begin, end = (BEGAN + timedelta(days=n) for n in (10, 10 + days))
    text = f"device eq {{device}} and at ge datetime'{begin:%FT%TZ}' and at lt datetime'{end:%FT%TZ}'"
    scheme = KeyScheme(parse_key(partition, "{ticks(at)}"))
    (found,) = estimate(scheme, bench_of(population_of(columns, TYPES, arrival="at"), query("window", text))).classes
    assert found.plan is not None
    return found.plan.access, found.requests, found.entities_read


@pytest.mark.parametrize(
    ("partition", "days", "access", "requests", "read"),
    [
        # A day of a device is 4 rows, a day of all 80: a range reads the rows of all of them.
        ("{time(at,'yyyyMMdd')}_{device}", 3, Access.ROW_RANGE, 3, 12),
        ("{time(at,'yyyyMMdd')}_{device}", 20, Access.PARTITION_RANGE_SCAN, 3, 20 * 80),
        ("{time(at,'yyyyMM')}_{device}", 12, Access.ROW_RANGE, 1, 48),
        ("{device}_{time(at,'yyyyMMdd')}", 1, Access.ROW_RANGE, 1, 4),
        ("{device}_{time(at,'yyyyMMdd')}", 30, Access.PARTITION_RANGE_SCAN, 2, 120),
        ("{device}_{time(at,'yyyyMMddHHmmss')}", 30, Access.PARTITION_RANGE_SCAN, 2, 120),
    ],
)
def test_the_cheaper_way_is_taken(partition: str, days: int, access: Access, requests: int, read: int) -> None:
    assert counted(partition, days) == (access, pytest.approx(requests), pytest.approx(read))


@pytest.mark.parametrize("row", ["", "{device}"])
@pytest.mark.parametrize("upper", ["at lt {at+2h}", "at le {at+2h}", "at lt {at+90min}"])
def test_a_range_over_periods_reads_those_that_a_loop_over_its_moments_meets(upper: str, row: str) -> None:
    """Entities every half-hour under keys by the hour, some 10 minutes late: ends on periods and inside them."""
    moments = [BEGAN + timedelta(minutes=30 * n + 10 * (n % 3 == 0)) for n in range(24)]
    rows: list[Row] = [{"at": at, "device": f"d{n:02}"} for n, at in enumerate(moments)]
    bench = bench_of(
        population_of({name: [r[name] for r in rows] for name in ("device", "at")}, TYPES),
        query("q", f"at ge {{at}} and {upper}"),
    )
    (demand,) = bench.demands
    minutes = {"lt {at+2h}": 120, "le {at+2h}": 121, "lt {at+90min}": 90}[upper.removeprefix("at ")]
    for partition, row_key in (("{time(at,'yyyyMMddHH')}", row), ("", "{time(at,'yyyyMMddHH')}" + row)):
        key = parse_key(partition, row_key)
        for found in plan(demand.query, demand.conditions, KeyScheme(key), TYPES):
            read = _read(found, demand, KeyScheme(key), bench)
            for number, instance in enumerate(rows):
                begin = moments[number]
                asked = {f"{begin + timedelta(minutes=n):%d%H}" for n in range(minutes)}
                scanned = sum(f"{at:%d%H}" in asked for at in moments)
                answer = execute(found, key, demand.conditions, instance, rows, TYPES)
                assert (read.per_instance[number], len(answer.scanned)) == (scanned, scanned), (found.filters, begin)
