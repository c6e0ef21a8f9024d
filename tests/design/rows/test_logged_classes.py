"""What requests of a log ask for, decoded from their keys and filters: bounds, choices, changed properties."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.rows.decode import Observed, observe
from pkadvisor.design.rows.key_ranges import HIGH, LOW, decode_range
from pkadvisor.design.rows.logged.twins import with_known
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import profile_dataset
from pkadvisor.observe.workload import ForeignRequests, Operation, OrderBy, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import format_filter
from tests.design.rows.test_decode import DAY
from tests.design.support import query

LOGGED = [
    "PartitionKey eq 'b' and score ge 5L and score lt 9L",
    "PartitionKey eq 'a' and score ge 7L and score lt 8L",
]
LOGGED_TYPES = {"team": EdmType.STRING, "score": EdmType.INT64, "open": EdmType.BOOLEAN, "at": EdmType.DATETIME}


def logged(tmp_path: Path, filters: list[str]) -> Workload:
    """The workload of a trace of queries, under keys of a team and a time."""
    lines = [json.dumps({"table": "T", "op": "query", "at": n, "filter": text}) for n, text in enumerate(filters)]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (table,) = read_traffic([path]).tables
    workload = observe(table, KeyScheme(parse_key("{team}", "{at}")), LOGGED_TYPES, None).workload
    assert workload.foreign.requests == 0
    return workload


def test_a_logged_range_over_a_property_in_no_key_has_its_bounds(tmp_path: Path) -> None:
    workload = logged(tmp_path, LOGGED)
    (asked,) = workload.classes
    assert asked.filter is not None
    assert format_filter(asked.filter) == "team eq '{team}' and score ge {score.from} and score lt {score.until}"
    frame = workload.instances[asked.name].sort("team")
    assert frame.select("team", "score.from", "score.until").rows() == [("a", 7, 8), ("b", 5, 9)]


def test_a_bound_on_a_property_holds_beside_that_of_its_key(tmp_path: Path) -> None:
    moment = "2026-03-01T00:00:00.0000000Z"
    text = f"PartitionKey eq 'a' and RowKey ge '2026-02' and RowKey lt '~' and at gt datetime'{moment}'"
    workload = logged(tmp_path, [text])
    (asked,) = workload.classes
    assert asked.filter is not None
    assert format_filter(asked.filter) == "team eq '{team}' and at gt datetime'{at.from}'"
    assert workload.instances[asked.name]["at.from"].to_list() == [datetime(2026, 3, 1, tzinfo=UTC)]


def test_a_boolean_divides_no_logged_class(tmp_path: Path) -> None:
    workload = logged(tmp_path, [f"PartitionKey eq 'a' and open eq {value}" for value in ("true", "false", "true")])
    (asked,) = workload.classes
    assert sorted(workload.instances[asked.name]["open"].to_list()) == [False, True, True]


def _observed(
    tmp_path: Path,
    lines: list[dict[str, object]],
    declared: Workload | None = None,
    data: DataProfile | None = None,
) -> Workload:
    """The workload of a trace of queries over properties, of keys ``{id}``."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"table": "t", "at": n} | line) + "\n" for n, line in enumerate(lines)))
    types = {"city": EdmType.STRING, "score": EdmType.INT32, "id": EdmType.STRING}
    traffic = read_traffic([str(path)])
    scheme = KeyScheme(parse_key("{id}", ""))
    return observe(traffic.tables[0], scheme, types, declared, data=data).workload


def test_a_choice_in_a_log_has_its_values_as_instances_and_what_never_changes_as_a_constant(tmp_path: Path) -> None:
    lines = [{"filter": f"city eq '{city}' or city eq 'x'"} for city in ("a", "b", "b")]
    observed = _observed(tmp_path, lines)
    (query,) = observed.classes
    assert query.filter is not None
    assert format_filter(query.filter) == "city eq '{city}' or city eq 'x'"
    assert sorted(observed.instances[query.name]["city"].to_list()) == ["a", "b", "b"]


def test_every_value_of_a_choice_between_parameters_is_an_instance(tmp_path: Path) -> None:
    observed = _observed(tmp_path, [{"filter": f"city eq 'a{n}' or city eq 'b{n}'"} for n in range(2)])
    (query,) = observed.classes
    frame = observed.instances[query.name]
    assert sorted(frame["city"].to_list()) == ["a0", "a1", "b0", "b1"]
    assert frame["_weight"].to_list() == [0.25] * 4


def test_shapes_that_differ_by_the_types_of_numbers_are_one_class(tmp_path: Path) -> None:
    lines = [{"filter": f"score gt {number}"} for number in (5, 1_500_000_000, 6, 7)]
    observed = _observed(tmp_path, lines)
    (query,) = observed.classes
    frame = observed.instances[query.name]
    assert dict(zip(frame["score" + LOW], frame["_weight"], strict=True)) == dict.fromkeys(
        (5, 6, 7, 1_500_000_000), pytest.approx(0.25)
    )
    assert query.rate.mean_per_s == pytest.approx(4 / 3, rel=0.4)


def test_a_declared_class_is_that_of_the_logged_one_that_meets_its_properties_alike(tmp_path: Path) -> None:
    declared = Workload("t", (query("range", "score gt {score}", top=5), query("fixed", "score eq {score}")))
    lines: list[dict[str, object]] = [{"filter": "score eq 5"}, {"filter": "score gt 5", "top": 5}] * 2
    assert {c.name for c in _observed(tmp_path, lines, declared).classes} == {"range", "fixed"}


def test_one_query_in_two_spellings_is_one_declared_class(tmp_path: Path) -> None:
    declared = Workload("t", (replace(query("q", "city eq '{city}' and score gt {score}"), kind="T"),))
    lines: list[dict[str, object]] = [
        {"filter": "city eq 'a' and score gt 5"},
        {"filter": "score gt 5 and city eq 'a'"},
    ]
    assert [c.name for c in _observed(tmp_path, lines * 2, declared).classes] == ["q"]


def test_a_range_that_a_log_shows_by_itself_is_no_declared_equality(tmp_path: Path) -> None:
    """Keys may show the one as the other; a filter over a property that no key holds says what is meant."""
    declared = Workload("t", (query("fixed", "score eq {score}", top=5),))
    names = [c.name for c in _observed(tmp_path, [{"filter": "score gt 5"}] * 2, declared).classes]
    assert names == ["query by score", "fixed"]


@pytest.mark.parametrize(("op", "name"), [("query", "query"), ("update", "update"), ("delete", "delete")])
def test_the_params_of_a_trace_say_which_entity_is_meant(op: str, name: str, tmp_path: Path) -> None:
    lines = [{"op": op, "params": {"city": city, "score": n}} for n, city in enumerate("aab")]
    observed = _observed(tmp_path, lines)
    (asked,) = observed.classes
    assert asked.name == f"{name} by city, score" and asked.filter is not None
    assert format_filter(asked.filter) == "city eq '{city}' and score eq {score}"
    rows = observed.instances[asked.name].select("city", "score").sort("score").rows()
    assert rows == [("a", 0), ("a", 1), ("b", 2)]


@pytest.mark.parametrize("op", ["merge", "update"])
def test_an_update_changes_what_its_key_does_not_hold(op: str, tmp_path: Path) -> None:
    """The key is what the update names, else what a declared update names, else what is unique in the data: all of the
    written values that are those of the entity may tell it, the others were changed."""
    rows = [(city, n, f"{city}{n}") for city in "abc" for n in range(4)]
    path = tmp_path / "t.csv"
    path.write_text("city,score,id\n" + "".join(f"{c},{n},{i}\n" for c, n, i in rows))
    data = profile_dataset(open_datasets([str(path)])[0])
    new = [{"op": op, "params": {"city": c, "score": n, "id": f"new{i}"}} for c, n, i in rows]
    by_id = [{"op": op, "filter": f"id eq '{i}'", "params": {"city": c, "score": n}} for c, n, i in rows]
    by_key = [{"op": op, "pk": i, "params": {"score": n}} for c, n, i in rows]
    declared = Workload("t", (query("declared", "id eq '{id}'", operation=Operation.UPDATE),))
    cases = ((new, None, data), (new, declared, data), (by_id, None, None), (by_key, None, None), (new, None, None))
    assert [
        [(format_filter(c.filter), c.sets) for c in _observed(tmp_path, lines, known, profile).classes if c.filter]
        for lines, known, profile in cases
    ] == [
        [("city eq '{city}' and score eq {score}", ("id",))],
        [("id eq '{id}'", ("city", "score"))],
        [("id eq '{id}'", ("city", "score"))],
        [("id eq '{id}'", ("score",))],
        [("city eq '{city}' and id eq '{id}' and score eq {score}", ())],
    ]


TIMED = {"team": EdmType.STRING, "name": EdmType.STRING, "n": EdmType.INT32, "at": EdmType.DATETIME}


def under(tmp_path: Path, row_key: str, *lines: dict[str, object]) -> Observed:
    """What a trace says under keys of a team."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps({"table": "t", "at": n, "op": "query"} | line) + "\n" for n, line in enumerate(lines))
    )
    (table,) = read_traffic([str(path)]).tables
    return observe(table, KeyScheme(parse_key("{team}", row_key)), TIMED, None)


def test_a_day_and_a_time_of_day_in_it_are_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    of_day = "PartitionKey eq '20261127' and RowKey ge '143000500_'"
    lines = [{"pk": "20261127", "rk": "143000500_a"}, {"filter": of_day}, {"filter": f"{of_day} and RowKey lt '1431'"}]
    path.write_text("".join(json.dumps({"table": "t", "at": n} | line) + "\n" for n, line in enumerate(lines)))
    (table,) = read_traffic([str(path)]).tables
    scheme = KeyScheme(parse_key("{time(at,'yyyyMMdd')}", "{time_of_day(at,3)}_{name}"))
    frames = observe(table, scheme, TIMED, None).workload.instances.values()
    first, last = datetime(2026, 11, 27, 14, 30, 0, 500_000, tzinfo=UTC), DAY["t.until"].replace(month=11, day=27)
    seen = {tuple((n, v) for n, v in row.items() if n[:2] in ("at", "na")) for f in frames for row in f.to_dicts()}
    ends = (first.replace(minute=31, microsecond=0), last)
    assert {frozenset(row) for row in seen} == {
        frozenset({("at", first), ("name", "a")}),
        *(frozenset({("at" + LOW, first), ("at" + HIGH, end)}) for end in ends),
    }


def test_what_no_key_tells_is_that_of_the_entity(tmp_path: Path) -> None:
    """How the letters are spelled the data tells, and the application need not know; a key that the data lacks is a
    value that no entity has."""
    (tmp_path / "t.csv").write_text("PartitionKey,RowKey,mail\nT,bo@x,Bo@X\nT,al@x,al@X\n")
    data = profile_dataset(open_datasets([str(tmp_path / "t.csv")])[0])
    lines = [{"op": op, "pk": "T", "rk": rk} for rk in ("bo@x", "al@x", "no@x") for op in ("query", "merge")]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"table": "t", "at": n} | line) + "\n" for n, line in enumerate(lines)))
    (table,) = read_traffic([str(path)]).tables
    scheme, types = KeyScheme(parse_key("T", "{lower(mail)}")), {"mail": EdmType.STRING}
    seen = observe(table, scheme, types, None, data=data).workload
    assert {format_filter(c.filter) for c in seen.classes if c.filter} == {"mail eq '{lower(mail)}'"}
    assert [sorted(frame["mail"]) for frame in seen.instances.values()] == [["Bo@X", "al@X", "no@x"]] * 2


def test_a_key_that_no_template_writes_is_no_scan(tmp_path: Path) -> None:
    """One row of another kind in each partition: a point read, whatever it is."""
    foreign = [{"pk": team, "rk": "META"} for team in "abc"]
    seen = under(tmp_path, "N:{pad(n,3)}", *foreign, {"filter": "PartitionKey eq 'a'"})
    assert [c.name for c in seen.workload.classes] == ["query by team"]
    assert seen.workload.foreign == ForeignRequests(3, 4, "query", "c", "META")


def test_requests_that_say_other_properties_are_classes_of_their_own(tmp_path: Path) -> None:
    """One filter over keys asks for a person in a third of the requests, and for all people of a number in the others;
    keys that no template writes take their requests out of the class."""
    day, person = (
        "RowKey ge 'N:{0:03d}_' and RowKey lt 'N:{0:03d}`'",
        "RowKey ge 'N:{0:03d}_x' and RowKey lt 'N:{0:03d}_y'",
    )
    texts = [(day if n % 3 else person).format(n) for n in range(60)] + ["RowKey ge 'META' and RowKey lt 'METB'"] * 30
    seen = under(tmp_path, "N:{pad(n,3)}_{name}", *({"filter": f"PartitionKey eq 'a' and {text}"} for text in texts))
    rates = {c.name: c.rate.mean_per_s for c in seen.workload.classes}
    whole = sum(rates.values()) * 90 / 60
    assert {name: round(rate / whole, 3) for name, rate in rates.items()} == {
        "query by n, team, name": round(20 / 90, 3),
        "query by n, team": round(40 / 90, 3),
    }
    assert {name: frame.height for name, frame in seen.workload.instances.items()} == {
        "query by n, team, name": 20,
        "query by n, team": 40,
    }
    assert (seen.workload.foreign.requests, seen.workload.foreign.logged) == (30, 90)


@pytest.mark.parametrize(
    ("row_key", "order"),
    [
        ("{reverse_ticks(at)}", (OrderBy("at", True),)),
        ("N:{reverse_pad(n,3)}_{name}", (OrderBy("n", True),)),
        ("N:{pad(n,3)}_{name}", (OrderBy("n"),)),
        ("{ticks(at)}_{name}", ()),
        ("{name}_{reverse_ticks(at)}", ()),
        ("{n}", ()),
    ],
)
def test_the_first_rows_are_those_in_the_order_of_the_keys(
    row_key: str, order: tuple[OrderBy, ...], tmp_path: Path
) -> None:
    first = {"filter": "PartitionKey eq 'a'", "top": 5}
    (asked,) = under(tmp_path, row_key, first).workload.classes
    assert (asked.top, asked.order_by) == (5, order)
    (all_of_them,) = under(tmp_path, row_key, {"filter": "PartitionKey eq 'a'"}).workload.classes
    assert all_of_them.order_by == ()


@pytest.mark.parametrize(("deleted", "order"), [(5, (OrderBy("at"),)), (4, ())])
def test_the_first_rows_of_what_is_deleted_as_fast_as_it_comes_are_the_oldest(
    deleted: int, order: tuple[OrderBy, ...], tmp_path: Path
) -> None:
    """A queue is read from its head; the oldest rows of a table that keeps its rows may mean nothing."""
    moves = [("insert", 10), ("delete", deleted)]
    written: list[dict[str, object]] = [
        {"op": op, "pk": "a", "rk": f"{639_000_000_000_000_000 + n:019d}_x"}
        for op, count in moves
        for n in range(count)
    ]
    first = {"filter": "PartitionKey eq 'a'", "top": 5}
    (asked,) = (c for c in under(tmp_path, "{ticks(at)}_{name}", first, *written).workload.classes if c.top)
    assert asked.order_by == order


def test_the_first_rows_from_a_time_on_are_the_next_ones(tmp_path: Path) -> None:
    after = {"filter": "PartitionKey eq 'a' and RowKey gt '0639000000000000000'", "top": 5}
    (asked,) = under(tmp_path, "{ticks(at)}_{name}", after).workload.classes
    assert asked.order_by == (OrderBy("at"),)


@pytest.mark.parametrize(("row_key", "order"), [("{ticks(at)}_{name}", (OrderBy("at"),)), ("{name}_{ticks(at)}", ())])
def test_the_first_rows_of_a_name_are_the_oldest_where_the_time_leads(
    row_key: str, order: tuple[OrderBy, ...], tmp_path: Path
) -> None:
    """A lane polls what waits longest; that the rows of one name lie by time may mean nothing."""
    of_name = {"filter": "PartitionKey eq 'a' and name eq 'n7'", "top": 5}
    (asked,) = under(tmp_path, row_key, of_name).workload.classes
    assert asked.order_by == order


@pytest.mark.parametrize(("low", "high", "values"), [("MSG_", "MSG`", None), ("M", "N", {}), ("META", "METB", {})])
def test_a_constant_key_lies_in_a_range_or_not(low: str, high: str, values: dict[str, object] | None) -> None:
    assert decode_range(parse_template("META"), low, high, {}) == values


@pytest.mark.parametrize(("conflicts", "taken"), [(0, False), (1, False), (30, True)])
def test_updates_that_got_412_are_read_modify_writes(conflicts: int, taken: bool, tmp_path: Path) -> None:
    """One conflict in 200 may be a client that was started twice."""
    codes = [412] * conflicts + [204] * (200 - conflicts)
    puts: list[dict[str, object]] = [{"op": "update", "pk": "a", "rk": "n7", "status": code} for code in codes]
    seen = under(tmp_path, "{name}", *puts)
    (update,) = seen.workload.classes
    assert update.read_modify_write is taken
    each = under(tmp_path, "{name}", *(put | {"status": 204} for put in puts)).workload.classes[0].rate
    assert update.rate.mean_per_s == pytest.approx(each.mean_per_s * (0.85 if taken else 1)), "commits, not attempts"
    assert any("15 % of its attempts got 412" in note for note in seen.notes) is taken


@pytest.mark.parametrize("gone", [False, True])
def test_a_declared_write_may_know_more_than_the_logged_keys_show(tmp_path: Path, gone: bool) -> None:
    """Jobs are deleted by their id; the design says that the application knows their city, too."""
    (tmp_path / "jobs.csv").write_text("id,city,score\n" + "".join(f"j{n},c{n % 3},{n}\n" for n in range(30)))
    (dataset,) = open_datasets([str(tmp_path / "jobs.csv")])
    lines: list[dict[str, object]] = [{"op": "delete", "pk": f"{'x' if gone else 'j'}{n}", "rk": ""} for n in range(6)]
    knows = query("done", "city eq '{city}' and id eq '{id}'", operation=Operation.DELETE, rate=9.0)
    declared = Workload("t", (knows,))
    observed = _observed(tmp_path, lines, declared, profile_dataset(dataset))
    (deleted,) = observed.classes
    assert (deleted.name, deleted.filter, deleted.rate.mean_per_s) == ("done", knows.filter, 9.0)
    frame = observed.instances.get("done")
    if gone:  # nothing says of which city they were: as declared
        assert frame is None
        assert deleted.draw == knows.draw
    else:
        assert frame is not None
        assert sorted(frame.select("id", "city").rows()) == [(f"j{n}", f"c{n % 3}") for n in range(6)]


def test_logged_numbers_find_their_entity_whatever_their_width() -> None:
    instances = pl.DataFrame({"id": [7, 8, 99]}, schema={"id": pl.Int64})
    data = pl.DataFrame({"id": [7, 8], "city": ["a", None]}, schema={"id": pl.Int32, "city": pl.String})
    known = with_known(instances, ["city"], data)
    assert known is not None
    assert known.rows() == [(7, "a")]


@pytest.mark.parametrize(("reads", "left"), [(200, 0.0), (300, 100.0), (120, 0.0)])
def test_reads_that_updates_begin_with_are_counted_once(reads: int, left: float, tmp_path: Path) -> None:
    """170 updates took 200 attempts, each of which has read its entity: what is read besides is a class of its own."""
    updates = [{"op": "merge", "pk": "a", "rk": "n7", "status": 412 if n % 20 < 3 else 204} for n in range(200)]
    gets = [{"op": "query", "pk": "a", "rk": "n7", "status": 200}] * reads
    seen = under(tmp_path, "{name}", *updates, *gets)
    read = [c.rate.mean_per_s for c in seen.workload.classes if c.operation is Operation.QUERY]
    assert sum(read) * (200 + reads) == pytest.approx(left, abs=2), "a request a second"
    assert any("are counted with the updates" in note for note in seen.notes)
