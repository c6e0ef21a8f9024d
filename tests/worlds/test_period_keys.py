"""The law *counted* on worlds under keys by the hour: the newest entities are found period by period, back from the
last one, and ranges end where an hour begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.law import counted
from tests.worlds.model import Asked, Compare, IndexRow, Kind, Parameter, Scheme, World
from tests.worlds.planted import BY_HAND
from tests.worlds.running import forget_results
from tests.worlds.values import DATETIME, STRING

MINUTE = 60_000_000
START = 1_772_000_000_000_000
ROWS = tuple({"id": f"e{n * 71 % 307:03d}", "of": f"g{n % 3}", "at": START + 7 * n * MINUTE} for n in range(300))
SCHEMES = (
    Scheme("{id}", "", (IndexRow("AT:{time(at,'yyyyMMddHH')}", "{reverse_ticks(at)}_{id}"),)),
    Scheme("{id}", "", (IndexRow("AT:{time(at,'yyyyMMdd')}", "{reverse_ticks(at)}_{id}"),)),
    Scheme("{of}_{time(at,'yyyyMMddHH')}", "{reverse_ticks(at)}_{id}"),
)
BY_ID = Asked("by-id", "", "query", (Compare("id", "eq", Parameter("id")),), 50.0)
NEWEST = Asked("newest", "", "query", (), 20.0, order_by=(("at", True),), top=12)
OF_GROUP = Asked(
    "newest-of", "", "query", (Compare("of", "eq", Parameter("of")),), 5.0, order_by=(("at", True),), top=4
)


BY_HOUR = (
    Scheme("{time(at,'yyyyMMddHH')}", "{id}"),
    Scheme("{time(at,'yyyyMMddHH')}_{of}", "{id}"),
    Scheme("all", "{time(at,'yyyyMMddHH')}_{id}"),
    Scheme("{id}", "", (IndexRow("AT:{time(at,'yyyyMMddHH')}", "{id}"),)),
)
TWO_HOURS = (Compare("at", "ge", Parameter("at")), Compare("at", "lt", Parameter("at", 120 * MINUTE)))
WINDOW = Asked("window", "", "query", TWO_HOURS, 20.0)
WHOLE_HOURS = tuple({**row, "at": START // (60 * MINUTE) * 60 * MINUTE + 30 * n * MINUTE} for n, row in enumerate(ROWS))

LAST_HOUR = Asked(
    "hour",
    "",
    "query",
    (Compare("at", "gt", Parameter("at", -60 * MINUTE)), Compare("at", "le", Parameter("at"))),
    20.0,
)
IN_BUCKETS = (Scheme("{hash(id,5)}_{time(at,'yyyyMMdd')}", "{ticks(at)}_{id}"), Scheme("{hash(id,5)}", "{id}"))
POINTED_AT = (
    Scheme(
        "all_{hash(id,16)}",
        "{id}",
        (IndexRow("OF:{of}_{time(at,'yyyyMMddHH')}", "{reverse_ticks(at)}_{id}", "pointer"),),
    ),
    Scheme("{of}_{id}", ""),
)


def world(asked: Asked, schemes: tuple[Scheme, ...], rows: tuple[dict[str, str | int], ...] = ROWS) -> World:
    kind = Kind("", {"id": STRING, "of": STRING, "at": DATETIME}, rows, "at", schemes=schemes)
    return World(0, "Things", (kind,), (BY_ID, asked), current=schemes[0])


@pytest.mark.parametrize(("asked", "schemes"), [(NEWEST, SCHEMES[:2]), (OF_GROUP, SCHEMES[2:])], ids=["all", "group"])
def test_the_newest_load_the_newest_partitions(asked: Asked, schemes: tuple[Scheme, ...], tmp_path: Path) -> None:
    """Eight or nine rows an hour: the newest twelve are asked of two partitions, twenty times a second."""
    assert [str(b) for b in counted.broken(world(asked, schemes), tmp_path)] == []


def test_a_range_that_ends_where_an_hour_begins_does_not_read_it(tmp_path: Path) -> None:
    assert [str(b) for b in counted.broken(world(WINDOW, BY_HOUR, WHOLE_HOURS), tmp_path)] == []


def test_a_range_asks_the_buckets_of_its_own_days_alone(tmp_path: Path) -> None:
    """Requests that find nothing go to the days between the bounds, not to all days of each bucket."""
    assert [str(b) for b in counted.broken(world(LAST_HOUR, IN_BUCKETS), tmp_path)] == []


def test_pointers_to_the_newest_lead_to_the_newest(tmp_path: Path) -> None:
    """The entities that pointers lead to are those of the last hours, whatever order the hours have in the key."""
    assert [str(b) for b in counted.broken(world(OF_GROUP, POINTED_AT), tmp_path)] == []


@pytest.mark.long("worlds")
@pytest.mark.parametrize(
    ("name", "judged", "what"),
    [
        ("the_newest_load_every_period", world(NEWEST, SCHEMES[:2]), "hottest partition"),
        ("walks_end_early", world(NEWEST, SCHEMES[:2]), "newest: requests"),
        ("ends_left_out_are_read", world(WINDOW, BY_HOUR, WHOLE_HOURS), "window for "),
    ],
)
def test_a_planted_mistake_is_found(name: str, judged: World, what: str, tmp_path: Path) -> None:
    mistake = next(m for m in BY_HAND if m.name == name)
    forget_results()
    with mistake.planted():
        found = [b.what for b in counted.broken(judged, tmp_path)]
    forget_results()
    assert any(each.startswith(what) for each in found)
