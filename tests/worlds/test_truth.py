"""The truth itself: the encoder against the published vectors, counts of tiny tables against answers by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.worlds.answers import Answers
from tests.worlds.draw.world import draw_world
from tests.worlds.key_text import Writer, items, parse
from tests.worlds.law import evidence
from tests.worlds.law.complete import missing_rows
from tests.worlds.model import Asked, Compare, Condition, Constant, Draw, IndexRow, Kind, Parameter, Scheme
from tests.worlds.periods import following, start_of
from tests.worlds.requests import Plan, Requests
from tests.worlds.rows import lay_out
from tests.worlds.sets import declared
from tests.worlds.truth import Counting
from tests.worlds.values import BOOLEAN, DATETIME, EPOCH, TICKS_OF_EPOCH, TYPES, Row, Value, time_text

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "keys.json").read_text())


def read(text: object, edm: str) -> Value | None:
    """A value of the file of vectors."""
    if text is None or isinstance(text, bool):
        return text
    assert isinstance(text, str)
    if edm in ("Int32", "Int64"):
        return int(text)
    if edm == "Double":
        return float(text.replace("INF", "inf"))
    if edm == "DateTime":
        whole = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) - EPOCH
        return (whole.days * 86400 + whole.seconds) * 1_000_000 + int(text[20:27]) // 10
    return bytes.fromhex(text) if edm == "Binary" else text


def exact(vector: dict[str, dict[str, str]]) -> bool:
    """Whether the times of a vector are whole microseconds, as a world's are."""
    texts = [vector["values"][n] for n, edm in vector["types"].items() if edm == "DateTime"]
    return all(text is None or text[26] == "0" for text in texts)


@pytest.mark.parametrize("vector", [v for v in VECTORS["vectors"] if exact(v)], ids=lambda v: v["template"])
def test_the_encoder_writes_every_vector(vector: dict[str, dict[str, str]]) -> None:
    values = {n: read(v, vector["types"].get(n, "Int32")) for n, v in vector["values"].items()}
    writer = Writer({n: edm.lower() for n, edm in vector["types"].items()})
    assert writer.key(parse(str(vector["template"])), values) == vector["key"]


@pytest.mark.parametrize("vector", VECTORS["lists"], ids=lambda v: v["value"])
def test_the_values_of_a_property_with_several(vector: dict[str, str]) -> None:
    assert list(items(vector["value"], vector["delimiter"])) == vector["items"]


def test_ticks_begin_in_the_year_1() -> None:
    assert (EPOCH - datetime(1, 1, 1, tzinfo=UTC)).days * 86400 * 10**7 == TICKS_OF_EPOCH


# -- a tiny table, answers by hand -------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = tuple(
    {"city": city, "n": n, "team": team}
    for city, n, team in (("a", 1, "x"), ("a", 2, None), ("b", 3, "x"), ("b", 10, "y"), ("b", 11, "x"))
)
KIND = Kind("Things", {"city": "string", "n": "int32", "team": "string"}, ROWS)
BY_CITY = Scheme("{city}", "{pad(n,2)}")


def counted(scheme: Scheme, asked: Asked, text: str, **more: Any) -> list[tuple[int, int, int]]:
    """(entities read, returned, requests) of each set of parameters."""
    plan = Plan(asked, more.get("via", 0), text, more.get("top"), more.get("client", ()), "row range")
    counting = Counting(Requests(plan, lay_out(KIND, scheme)), Answers(asked, KIND))
    found = [counting.count(instance) for instance in counting.answers.instances]
    return [(c.read, c.returned, c.requests) for c in found]


def asking(*conditions: Condition, **more: Any) -> Asked:
    return Asked("q", "Things", "query", conditions, 1.0, **more)


CITY = Compare("city", "eq", Parameter("city"))


def test_rows_lie_in_the_order_of_their_keys() -> None:
    layout = lay_out(KIND, Scheme("all", "{n}"))
    assert [row.row for row in layout.rows] == ["1", "10", "11", "2", "3"]


def test_an_index_row_is_written_where_what_it_is_looked_up_by_is_present() -> None:
    layout = lay_out(KIND, Scheme("{city}", "{n}", (IndexRow("T:{team}", "{n}"),)))
    assert [row.entity for row in layout.rows if row.via == 1] == [0, 4, 2, 3]


def test_a_partition_is_read_whole_in_one_request() -> None:
    assert counted(BY_CITY, asking(CITY), "PartitionKey eq '{city}'") == [(2, 2, 1), (3, 3, 1)]


def test_a_range_of_rows_is_read_between_its_bounds() -> None:
    asked = asking(CITY, Compare("n", "ge", Parameter("n", -1)), Compare("n", "lt", Parameter("n")))
    text = "PartitionKey eq '{city}' and RowKey ge '{pad(n-1,2)}' and RowKey lt '{pad(n,2)}'"
    assert counted(BY_CITY, asked, text) == [(1, 0, 1), (1, 1, 1), (1, 0, 1), (1, 0, 1), (1, 1, 1)]


def test_a_scan_of_the_table_reads_all_and_is_charged_one_continuation() -> None:
    asked = asking(Compare("team", "eq", Parameter("team")))
    assert counted(BY_CITY, asked, "team eq '{team}'") == [(5, 3, 2), (5, 1, 2)]


def test_top_ends_a_request_at_its_last_row() -> None:
    asked = asking(CITY, Compare("team", "eq", Constant("x")), top=1)
    text = "PartitionKey eq '{city}' and team eq 'x'"
    assert counted(BY_CITY, asked, text, top=1) == [(1, 1, 1), (1, 1, 1)]


def test_each_pointer_costs_a_request_and_an_entity() -> None:
    scheme = Scheme("{city}", "{n}", (IndexRow("T:{team}", "{n}", "pointer"),))
    client = ("read the entity that each pointer names (TargetPartitionKey, TargetRowKey)",)
    asked = asking(Compare("team", "eq", Parameter("team")))
    found = counted(scheme, asked, "PartitionKey eq 'T:{team}'", via=1, client=client)
    assert found == [(6, 3, 4), (2, 1, 2)]


def test_nobody_asks_for_a_value_that_is_missing() -> None:
    weights = [i.weight for i in Answers(asking(Compare("team", "eq", Parameter("team"))), KIND).instances]
    assert weights == [0.75, 0.25]


def test_distinct_values_are_drawn_equally_often() -> None:
    asked = asking(CITY, draw=Draw("distinct", ("city",)))
    assert [i.weight for i in Answers(asked, KIND).instances] == pytest.approx([0.5, 0.5])


def test_a_plan_that_misses_rows_is_seen() -> None:
    plan = Plan(asking(CITY), 0, "PartitionKey eq '{city}' and RowKey lt '10'", None, (), "row range")
    layout = lay_out(KIND, BY_CITY)
    counting = Counting(Requests(plan, layout), Answers(plan.asked, KIND))
    assert [b.true for b in missing_rows(plan.asked, layout, counting, BY_CITY)] == ["3"]
    right = Plan(asking(CITY), 0, "PartitionKey eq '{city}'", None, (), "partition scan")
    counting = Counting(Requests(right, layout), Answers(right.asked, KIND))
    assert list(missing_rows(right.asked, layout, counting, BY_CITY)) == []


@pytest.mark.parametrize(
    ("pattern", "first", "last"),
    [
        ("yyyyMM", "2024-02-01", "2024-03-01"),
        ("YYYY-Www", "2024-02-26", "2024-03-04"),
        ("yyyy", "2024-01-01", "2025-01-01"),
    ],
)
def test_periods_begin_and_end(pattern: str, first: str, last: str) -> None:
    at = read("2024-02-29T12:00:00.0000000Z", "DateTime")
    assert isinstance(at, int)
    assert [time_text(start_of(at, pattern))[:10], time_text(following(at, pattern))[:10]] == [first, last]


def test_sets_over_two_kinds_save_no_requests_of_one_of_them() -> None:
    world = draw_world(1795812002)
    (crossing,) = world.transactions
    insert = next(a for a in world.asked if a.name == "order-insert")
    own = replace(crossing, together=("order-insert", "order-delete"))
    assert declared(insert, world) is None
    assert declared(insert, replace(world, transactions=(crossing, own))) == own


def test_rows_that_are_lost_leave_no_total_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A total beside a fifth of the rows would say that they are a sample."""
    world = replace(draw_world(3, rows_most=300), extra={"entities_total": 300, "sampling": "complete"})
    judged: list[evidence.Given] = []
    monkeypatch.setattr(evidence, "_told", lambda given, folder: judged.append(given) or {"workload": []})
    counted = {"recommended": {"classes": [{"name": evidence.RECENT, "entities_returned": 100.0}]}}
    list(evidence._thinned(evidence.Given(world), counted, tmp_path, Random(1)))
    assert [given.world.extra for given in judged] == [{"sampling": "complete"}]
    assert len(judged[0].world.kinds[0].rows) < 0.5 * len(world.kinds[0].rows)


@pytest.mark.parametrize("edm", [edm for edm in TYPES if edm not in (BOOLEAN, DATETIME)])
def test_what_a_log_asks_for_is_moved_to_values_that_the_data_lacks(edm: str) -> None:
    values = {"string": "a", "guid": "0" * 32, "binary": b"\x01", "double": 2.5}
    value = values.get(edm, 7)
    assert evidence.moved(value, edm) not in (value, None)
    assert evidence.moved(None, edm) is None
