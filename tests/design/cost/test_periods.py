"""A time range over a PartitionKey with a period: a request for each period, or one range, whichever costs less."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.plan.plan import Access
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"device": EdmType.STRING, "at": EdmType.DATETIME}
BEGAN = datetime(2026, 3, 2, tzinfo=UTC)
DAYS, DEVICES = 60, 20
"""Of each device a reading every six hours."""


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
        # A day of a device is 4 rows, a day of all 80: a range reads the rows of all of them, and
        # those of the period with which it ends.
        ("{time(at,'yyyyMMdd')}_{device}", 3, Access.ROW_RANGE, 3, 12),
        ("{time(at,'yyyyMMdd')}_{device}", 20, Access.PARTITION_RANGE_SCAN, 3, 21 * 80),
        ("{time(at,'yyyyMM')}_{device}", 12, Access.ROW_RANGE, 1, 48),
        ("{device}_{time(at,'yyyyMMdd')}", 1, Access.ROW_RANGE, 1, 4),
        ("{device}_{time(at,'yyyyMMdd')}", 30, Access.PARTITION_RANGE_SCAN, 2, 124),
        ("{device}_{time(at,'yyyyMMddHHmmss')}", 30, Access.PARTITION_RANGE_SCAN, 2, 121),
    ],
)
def test_the_cheaper_way_is_taken(partition: str, days: int, access: Access, requests: int, read: int) -> None:
    assert counted(partition, days) == (access, pytest.approx(requests), pytest.approx(read))
