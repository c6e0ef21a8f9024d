"""What a time of day in a key serves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.keys.conditions import OnePeriod, conditions
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.rows.arrivals import instant_of
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.table.edm import EdmType
from tests.design.support import population_of, query

TYPES = {"event": EdmType.STRING, "at": EdmType.DATETIME, "name": EdmType.STRING}


def test_two_of_one_minute_have_one_key() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    population = population_of({"at": [start + timedelta(seconds=7 * n) for n in range(20)]}, {"at": EdmType.DATETIME})
    for clock, unit in (("'HH'", "hour"), ("'HH:mm'", "minute"), ("0", "second")):
        instant = instant_of(atoms_of(parse_template(f"{{time_of_day(at,{clock})}}")), population)
        assert instant is not None and instant.unit == unit


def within_a_day(row: str, **options: object) -> AccessPlan:
    """The plan of a query for times of one day, with the day in the PartitionKey."""
    text = "event eq {event} and at ge datetime'{at.from}' and at lt datetime'{at.until}'"
    asked = query("q", text, **options)  # type: ignore[arg-type]
    scheme = KeyScheme(parse_key("{event}_{time(at,'yyyyMMdd')}", row, known=TYPES))
    wanted = replace(conditions(asked.filter), one_period={"at": OnePeriod(frozenset({"day"}), "")})
    return min(plan(asked, wanted, scheme, TYPES), key=lambda p: p.access.rank)


@pytest.mark.parametrize(
    ("clock", "atom"),
    [("'HHmm'", ("t", "at", "minute")), ("'HH'", ("t", "at", "hour")), ("3", ("p", "at"))],
)
def test_a_time_of_day_to_the_minute_bounds_whole_minutes(clock: str, atom: tuple[str, ...]) -> None:
    found = within_a_day(f"{{time_of_day(at,{clock})}}_{{name}}")
    assert (found.access, found.range_atom) == (Access.ROW_RANGE, atom)
    assert "at" in found.unserved


@pytest.mark.parametrize(
    ("row", "served"),
    [
        ("{time_of_day(at,'HHmm')}_{name}", False),
        ("{time_of_day(at,'HHmm')}_{ticks(at)}", True),
        ("{time_of_day(at,'HHmmss')}_{name}", True),
    ],
)
def test_rows_of_one_minute_come_in_no_order_of_time(row: str, served: bool) -> None:
    assert within_a_day(row, order=("at",), top=5).order_served is served
