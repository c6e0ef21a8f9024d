"""Which partitions go on growing, and which are bounded by a time, by a set that is complete, or by an entity."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.open_ended import grows
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import EPOCH, bench_of, population_of, query

ORDERS, LINES = 100, 4
TYPES = {
    "order": EdmType.STRING,
    "line": EdmType.INT32,
    "customer": EdmType.STRING,
    "at": EdmType.DATETIME,
    "code": EdmType.STRING,
}


def lines(rows_total: int = ORDERS * LINES) -> Population:
    """The four lines of an order come at once; each of ten customers orders all the time."""
    rows = [(n, line) for n in range(ORDERS) for line in range(LINES)]
    return population_of(
        {
            "order": [f"o{n * 37 % 101:03}" for n, _ in rows],
            "line": [line for _, line in rows],
            "customer": [f"c{n % 10}" for n, _ in rows],
            "at": [EPOCH + timedelta(days=n, seconds=line) for n, line in rows],
            "code": [f"x{(n * LINES + line) * 7 % 401:03}" for n, line in rows],
        },
        TYPES,
        arrival="at",
        total=rows_total,
    )


ADD = query("add", None, operation=Operation.INSERT)
GET = query("get", "order eq {order} and line eq {line}", rate=5)
DROP = query("drop", "code eq {code}", operation=Operation.DELETE)


@pytest.mark.parametrize(
    ("partition", "whole", "sample"),
    [
        ("{customer}", True, True),
        ("{hash(code,8)}", True, True),
        ("{customer}_{time(at,'yyyyMM')}", False, False),
        ("{order}", False, True),
        ("{order}_{pad(line,2)}", False, True),
        ("{customer}_{code}", False, False),
        ("{prefix(code,3)}", True, True),
    ],
)
def test_partitions_that_go_on_growing(partition: str, whole: bool, sample: bool) -> None:
    parts = parse_key(partition, "").partition
    assert grows(parts, bench_of(lines(), ADD, GET, DROP)) is whole
    assert grows(parts, bench_of(lines(40_000), ADD, GET, DROP)) is sample


def test_nothing_grows_that_takes_no_entities() -> None:
    scheme = KeyScheme(parse_key("{customer}", "{code}"))
    single = replace(scheme, main=parse_key("all", "{code}"))
    assert [estimate(s, bench_of(lines(), GET)).open_ended for s in (scheme, single)] == [0, 0]
    assert [estimate(s, bench_of(lines(), ADD, GET)).open_ended for s in (scheme, single)] == [1, 2]
