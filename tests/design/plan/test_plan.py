"""Access kinds of the classic cases, the texts of their requests, and what is known to be wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.cost.plan_reads import read as _read
from pkadvisor.design.keys.conditions import Dependency, OnePeriod, conditions, with_dependencies
from pkadvisor.design.keys.key_terms import Hole, KeyText
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import Field, Literal, Part, Prefix, Reverse
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.observe.workload import Operation
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Parameter
from tests.design.executor import Row, execute, matching
from tests.design.support import bench_of, population_of, query

TYPES = {
    "event": EdmType.STRING,
    "bib": EdmType.INT32,
    "age": EdmType.INT32,
    "at": EdmType.DATETIME,
    "name": EdmType.STRING,
}


def planned(
    partition: str, row: str, text: str | None, *, order: tuple[str, ...] = (), top: int | None = None
) -> AccessPlan:
    asked = query("q", text, order=order, top=top)
    scheme = KeyScheme(parse_key(partition, row, known=TYPES))
    return min(plan(asked, conditions(asked.filter), scheme, TYPES), key=lambda p: p.access.rank)


POINT, ROWS, PARTITION = Access.POINT, Access.ROW_RANGE, Access.PARTITION_SCAN
PARTITIONS, TABLE = Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN


@pytest.mark.parametrize(
    ("partition", "row", "text", "access", "unserved", "buckets"),
    [
        ("{event}", "{pad(bib,5)}", "event eq {event} and bib eq {bib}", POINT, (), 1),
        ("{event}", "", "event eq {event}", POINT, (), 1),
        ("{event}", "{pad(bib,5)}", "event eq {event}", PARTITION, (), 1),
        ("{event}", "{pad(bib,5)}", "event eq {event} and age eq {age}", PARTITION, ("age",), 1),
        ("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age eq {age}", ROWS, (), 1),
        ("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age ge {age}", ROWS, (), 1),
        ("{event}", "BIB:{pad(bib,5)}", "event eq {event}", PARTITION, (), 1),  # all of one kind of row
        ("{event}_{name}", "{pad(bib,5)}", "event eq {event}", PARTITIONS, (), 1),
        ("{pad(age,3)}", "{pad(bib,5)}", "age ge {age}", PARTITIONS, (), 1),
        ("{age}", "{pad(bib,5)}", "age ge {age}", TABLE, ("age",), 1),  # without padding text order means nothing
        ("{event}", "{age}", "event eq {event} and age ge {age}", PARTITION, ("age",), 1),
        ("{event}", "{pad(bib,5)}", "bib eq {bib}", TABLE, ("bib",), 1),
        ("{event}", "{pad(bib,5)}", "event ne {event}", TABLE, ("event",), 1),
        ("{event}", "{pad(bib,5)}", None, TABLE, (), 1),
        ("{event}_{hash(bib,8)}", "{pad(bib,5)}", "event eq {event}", PARTITION, (), 8),
        ("{event}_{hash(bib,8)}", "{pad(bib,5)}", "event eq {event} and bib eq {bib}", POINT, (), 1),
        ("{hash(bib,8)}_{event}", "{pad(bib,5)}", "event eq {event} and bib eq {bib}", POINT, (), 1),
        ("{hash(bib,8)}_{event}", "{pad(bib,5)}", "age eq {age}", TABLE, ("age",), 1),
        ("{hash(event,8)}", "{pad(bib,5)}", "event eq {event} and bib eq {bib}", POINT, ("event",), 1),
        ("{name}_{time(at,'yyyyMM')}", "{ticks(at)}", "name eq {name} and at ge {at} and at lt {at+2d}", ROWS, (), 1),
        ("{event}_{time(at,'yyyyMMdd')}", "{ticks(at)}", "event eq {event} and at lt {at}", PARTITIONS, ("at",), 1),
    ],
)  # fmt: skip
def test_access_kinds(
    partition: str, row: str, text: str | None, access: Access, unserved: tuple[str, ...], buckets: int
) -> None:
    found = planned(partition, row, text)
    assert (found.access, found.unserved, found.buckets) == (access, unserved, buckets)


def test_ranks_go_from_point_to_table_scan() -> None:
    assert [a.rank for a in (POINT, ROWS, PARTITION, PARTITIONS, TABLE)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("partition", "row", "text", "sent"),
    [
        ("{event}", "BIB:{pad(bib,5)}", "event eq {event} and bib eq {bib}",
         "PartitionKey eq '{event}' and RowKey eq 'BIB:{pad(bib,5)}'"),
        ("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age eq {age}",
         "PartitionKey eq '{event}' and RowKey ge 'AGE:{pad(age,3)}_' and RowKey lt 'AGE:{pad(age,3)}`'"),
        ("{event}", "{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age ge {age} and age le {age+5}",
         "PartitionKey eq '{event}' and RowKey ge '{pad(age,3)}' and RowKey lt '{pad(age+5,3)}`'"),
        ("{event}", "{pad(age,3)}", "event eq {event} and age gt {age}",
         "PartitionKey eq '{event}' and RowKey gt '{pad(age,3)}' and RowKey lt '~'"),
        ("{event}", "{reverse_ticks(at)}", "event eq {event} and at gt {at}",
         "PartitionKey eq '{event}' and RowKey lt '{reverse_ticks(at)}'"),
        ("{event}", "{pad(bib,5)}", "event eq 'o''clock' and bib eq 7 and name eq {name}",
         "PartitionKey eq 'o''clock' and RowKey eq '00007' and name eq {name}"),
        ("{event}", "{pad(bib,5)}", "age eq {age}", "age eq {age}"),
    ],
)  # fmt: skip
def test_texts_of_requests(partition: str, row: str, text: str, sent: str) -> None:
    assert planned(partition, row, text).filters == (sent,)


def test_choices_fan_out() -> None:
    found = planned("{event}", "{pad(bib,5)}", "event eq {event} and (bib eq 1 or bib eq 2 or bib eq {bib})")
    assert (found.access, found.choices, found.unserved) == (POINT, ("bib",), ())


def test_a_bounded_period_is_enumerated() -> None:
    found = planned("{event}_{time(at,'yyyyMM')}", "{pad(bib,5)}", "event eq {event} and at ge {at} and at lt {at+90d}")
    assert found.periods is not None
    assert found.unserved == ("at",)
    assert found.terms[0].operator == "eq"
    open_start = planned("{event}_{time(at,'yyyyMM')}", "{pad(bib,5)}", "event eq {event} and at lt {at}")
    assert open_start.periods is None


@pytest.mark.parametrize(
    ("partition", "text", "shown"),
    [
        ("{time(at,'yyyyMM')}_{event}", "event eq 'x' and at ge {at}", "{time(at,''yyyyMM'')}_x"),
        ("{event}_{time(at,'yyyyMM')}_{age}", "event eq 'x' and age eq 7 and at ge {at}", "x_{time(at,''yyyyMM'')}_7"),
        ("{time(at,'yyyyMM')}_{hash(bib,4)}", "at ge {at} and at lt {at+90d}", "{time(at,''yyyyMM'')}_{0…3}"),
    ],
)  # fmt: skip
def test_a_period_with_more_behind_it_is_asked_one_by_one(partition: str, text: str, shown: str) -> None:
    found = planned(partition, "{name}", text)
    assert found.periods is not None
    assert found.access is PARTITION
    assert found.filters[0].startswith(f"PartitionKey eq '{shown}'")


@pytest.mark.parametrize(
    ("partition", "text"),
    [
        ("{time(at,'yyyyMM')}_{name}", "event eq {event} and at ge {at}"),  # what follows is not known
        ("{event}_{time(at,'yyyyMM')}", "event eq {event} and at le {at}"),  # no first period
        ("{time(at,'yyyy')}_{event}_{time(at,'yyyyMM')}", "event eq {event} and at ge {at}"),  # two that must agree
    ],
)
def test_other_periods_are_a_range_of_partitions(partition: str, text: str) -> None:
    found = planned(partition, "{pad(bib,5)}", text)
    assert found.periods is None
    assert found.access is PARTITIONS


@pytest.mark.parametrize(
    ("row", "text", "order", "served"),
    [
        ("{reverse_ticks(at)}", "event eq {event}", ("-at",), True),
        ("{reverse_ticks(at)}", "event eq {event}", ("at",), False),
        ("{ticks(at)}", "event eq {event}", ("at",), True),
        ("{ticks(at)}", "event eq {event}", ("-at",), False),
        ("{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age eq {age}", ("bib",), True),
        ("{pad(age,3)}_{pad(bib,5)}", "event eq {event} and age eq {age}", ("age", "bib"), True),
        ("{pad(age,3)}_{pad(bib,5)}", "event eq {event}", ("age", "bib"), True),
        ("{pad(age,3)}_{pad(bib,5)}", "event eq {event}", ("bib",), False),
        ("{age}_{pad(bib,5)}", "event eq {event}", ("age",), False),
        ("{hash(bib,4)}_{pad(age,3)}", "event eq {event}", ("age",), False),
        ("{pad(age,3)}", "event eq {event} and age ge {age}", ("age",), True),
    ],
)
def test_order_is_served_by_the_key_or_not(row: str, text: str, order: tuple[str, ...], served: bool) -> None:
    assert planned("{event}", row, text, order=order, top=10).order_served is served


def _race(rows: int = 60) -> list[Row]:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        {
            "event": f"e{n % 2}",
            "bib": n,
            "age": 20 + n * 7 % 13,
            "at": start + timedelta(hours=n * 5 % 97),
            "name": f"n{n % 11}",
        }
        for n in range(rows)
    ]


def entities_read(partition: str, row: str, text: str, *, order: tuple[str, ...] = (), top: int | None = None) -> float:
    rows = _race()
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", text, order=order, top=top)
    bench = bench_of(population, asked)
    scheme = KeyScheme(parse_key(partition, row))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, TYPES)
    return round(_read(found, bench.demands[0], scheme, bench).entities, 9)


def test_top_stops_early_only_in_the_wanted_order() -> None:
    by_event = "event eq {event}"
    assert entities_read("{event}", "{reverse_ticks(at)}", by_event, order=("-at",), top=5) == 5
    assert entities_read("{event}", "{ticks(at)}", by_event, order=("-at",), top=5) == 30
    assert entities_read("{event}", "{pad(bib,5)}", by_event, top=5) == 5
    assert entities_read("{event}", "{pad(bib,5)}", "event eq {event} and bib eq {bib}", top=5) == 1
    assert entities_read("", "{pad(bib,5)}", "age eq {age}") == 60


@pytest.mark.parametrize(("top", "requests"), [(None, 2.0), (6, 1.1), (60, 2.0), (90, 2.0)])
def test_a_scan_that_top_ends_meets_the_ends_of_ranges_on_its_way_alone(top: int | None, requests: float) -> None:
    """Of 60 PartitionKeys the first six are read: a tenth of the way, on which one end of a range is assumed."""
    rows = _race()
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", None, order=("bib",), top=top)
    bench, scheme = bench_of(population, asked), KeyScheme(parse_key("{pad(bib,5)}", ""))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, TYPES)
    read = _read(found, bench.demands[0], scheme, bench)
    assert (read.requests, read.range_ends) == (pytest.approx(requests), pytest.approx(requests - 1))


def test_index_rows_are_planned_beside_the_main_key() -> None:
    scheme = KeyScheme(
        parse_key("{event}", "BIB:{pad(bib,5)}"),
        (
            IndexRow(parse_key("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}")),
            IndexRow(parse_key("{name}", "{pad(bib,5)}"), "pointer"),
        ),
    )
    asked = query("q", "event eq {event} and age eq {age}")
    found = plan(asked, conditions(asked.filter), scheme, TYPES)
    assert [(p.via, p.access, p.pointer) for p in found] == [(0, PARTITION, False), (1, ROWS, False)]
    # A key is scanned whole where no other serves the query, or where those that do lead to entities one by one.
    for text, vias in (("name eq {name}", {0, 1, 2}), ("age eq {age}", {0, 1, 2})):
        asked = query("q", text)
        found = plan(asked, conditions(asked.filter), scheme, TYPES)
        assert {p.via for p in found if p.access is TABLE} | {p.via for p in found if p.follows} == vias


def test_kinds_of_rows_in_one_partition_are_told_apart_in_the_count() -> None:
    rows = _race()
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", "event eq {event}")
    bench = bench_of(population, asked)
    index = IndexRow(parse_key("{event}", "AGE:{pad(age,3)}_{pad(bib,5)}"))
    for row, read in (("BIB:{pad(bib,5)}", 30), ("{pad(bib,5)}", 60)):
        scheme = KeyScheme(parse_key("{event}", row), (index,))
        first, _ = plan(asked, bench.demands[0].conditions, scheme, TYPES)
        assert _read(first, bench.demands[0], scheme, bench).entities == pytest.approx(read)


@pytest.mark.parametrize(("name", "read"), [("Ann", 1), ("010_00010", 60)])
def test_a_partition_named_by_a_value_holds_index_rows_only_where_a_value_reads_as_their_key(
    name: str, read: float
) -> None:
    rows = [dict(r, name=name) for r in _race()]
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", "name eq {name}", top=1)
    bench = bench_of(population, asked)
    index = IndexRow(parse_key("{pad(age,3)}_{pad(bib,5)}", "{event}"))
    scheme = KeyScheme(parse_key("{name}", "{pad(bib,5)}"), (index,))
    first = plan(asked, bench.demands[0].conditions, scheme, TYPES, population)[0]
    assert first.own_kind == (read > 1)
    assert _read(first, bench.demands[0], scheme, bench).entities == pytest.approx(read)


@pytest.mark.parametrize(
    ("row", "index", "sent", "read"),
    [
        ("{pad(bib,5)}", "AGE:{pad(age,3)}_{pad(bib,5)}", " and RowKey lt 'AGE:'", 5),
        ("{reverse_ticks(at)}", "!AGE:{pad(age,3)}_{pad(bib,5)}", " and RowKey ge '!AGE;'", 5),
        ("{name}_{pad(bib,5)}", "AGE:{pad(age,3)}_{pad(bib,5)}", "", 60),  # a name may begin with anything
        ("{pad(age,3)}_{pad(bib,5)}", "AGE:{pad(bib,5)}", "", 60),  # an age is missing: its text lies above 'AGE:'
    ],
)
def test_the_first_rows_of_a_partition_are_entities_where_their_keys_begin_otherwise_than_index_rows(
    row: str, index: str, sent: str, read: float
) -> None:
    rows = [dict(r, age=None if n == 0 and "age" in row else r["age"]) for n, r in enumerate(_race())]
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", "event eq {event}", top=5)
    bench = bench_of(population, asked)
    scheme = KeyScheme(parse_key("{event}", row), (IndexRow(parse_key("{event}", index)),))
    first, _ = plan(asked, bench.demands[0].conditions, scheme, TYPES, population)
    assert first.filters == ("PartitionKey eq '{event}'" + sent,)
    assert _read(first, bench.demands[0], scheme, bench).entities == pytest.approx(read)


def test_successor_lies_above_every_continuation_and_below_the_next() -> None:
    a = Hole(Field("a"), (("a", Parameter("a")),), "")
    assert KeyText().successor() == KeyText()
    assert KeyText().plus("AGE:").successor() == KeyText(("AGE;",))
    assert KeyText().plus(a).plus("_").successor().template({}) == "{a}`"
    assert KeyText().plus(a).successor().template({}) == "{a}\uffff"
    for last, following in (("\ud7ff", "\U00010000"), ("\U0010ffff", "\ue000"), ("\U000103ff", "\U00010400")):
        assert KeyText((last,)).successor() == KeyText((following,))


# -- requests that once lied ----------------------------------------------------------------------------------------


def _exact(partition: str, row: str, text: str, rows: list[Row], types: dict[str, EdmType]) -> None:
    """The requests of a plan return what the filter names, for every row as the instance."""
    asked = query("q", text)
    assert asked.filter is not None
    wanted = conditions(asked.filter)
    key = parse_key(partition, row)
    population = population_of({n: [r.get(n) for r in rows] for n in types}, types)
    (found,) = plan(asked, wanted, KeyScheme(key), types, population)
    for instance in rows:
        if None in instance.values():
            continue
        answer = execute(found, key, wanted, instance, rows, types)
        assert sorted(set(answer.returned)) == matching(asked.filter, instance, rows, types), found.filters


@pytest.mark.parametrize(
    ("row", "text", "shown"),
    [
        ("{pad(a,3)}", "event eq {event} and a eq {x}", "RowKey eq '{pad(x,3)}'"),
        ("{ticks(t)}", "event eq {event} and t ge {t-24h}", "RowKey ge '{ticks(t-1d)}'"),
    ],
)
def test_short_names_do_not_break_the_template(row: str, text: str, shown: str) -> None:
    types = {"a": EdmType.INT32, "t": EdmType.DATETIME, "event": EdmType.STRING}
    asked = query("q", text)
    (found,) = plan(asked, conditions(asked.filter), KeyScheme(parse_key("{event}", row)), types)
    assert shown in found.filters[0]


def test_a_constant_beside_a_parameter_is_printed_as_its_property() -> None:
    """Quoted text in a function separates: as ``'n'`` it would be escaped in the values of the other property."""
    found = planned("{hash(concat(event,'_',name),16)}", "{pad(bib,5)}", "event eq {event} and name eq 'n'")
    assert found.filters == (
        "PartitionKey eq '{hash(concat(event,''_'',name),16)}' and event eq {event} and name eq 'n'",
    )


def test_a_constant_is_escaped_as_the_keys_are() -> None:
    rows: list[Row] = [{"event": "a_b", "bib": 1}, {"event": "a", "bib": 2}]
    types = {"event": EdmType.STRING, "bib": EdmType.INT32}
    _exact("{event}_{pad(bib,3)}", "", "event eq 'a_b' and bib eq {bib}", rows, types)


@pytest.mark.parametrize(
    "text",
    [
        "event eq {event} and not (event eq 'e0')",
        "event eq {event} and bib ge {bib} and bib ne 3",
        "event eq {event} and bib gt {bib} and bib gt 40",
    ],
)
def test_conditions_on_one_property_are_all_sent(text: str) -> None:
    _exact("{event}", "{pad(bib,3)}", text, _race(50), TYPES)


@pytest.mark.parametrize(("prefix", "above"), [("{", "|"), ("x}", "x~"), ("z", "{")])
def test_a_literal_brace_may_end_a_prefix(prefix: str, above: str) -> None:
    assert parse_template(KeyText((prefix,)).successor().template({})) == (Literal(above),)


def test_missing_values_stay_outside_ranges() -> None:
    rows: list[Row] = [{"event": "e", "bib": 1}, {"event": "e", "bib": None}, {"event": "e", "bib": 2}]
    _exact("{event}", "{pad(bib,3)}", "event eq {event} and bib ge {bib}", rows, TYPES)


@pytest.mark.parametrize("text", ["event eq {event} and name gt {name}", "event eq {event} and name le {name}"])
def test_ranges_over_strings(text: str) -> None:
    rows: list[Row] = [{"event": "e", "name": n, "bib": i} for i, n in enumerate(["ab", "ab!", "abc", "/x", "a"])]
    _exact("{event}", "{name}_{pad(bib,3)}", text, rows, TYPES)


def test_a_fan_out_finds_entities_without_the_bucketed_property() -> None:
    rows: list[Row] = [{"event": "e", "bib": 1}, {"event": "e", "bib": None}]
    _exact("{event}_{hash(bib,4)}", "{bib}", "event eq {event}", rows, TYPES)


def test_periods_at_the_edge_are_counted() -> None:
    rows = _race(6)
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    asked = query("q", "event eq {event} and at gt {at}")
    bench = bench_of(population, asked)
    key = parse_key("{event}", "{time(at,'yyyyMMdd')}")
    (found,) = plan(asked, bench.demands[0].conditions, KeyScheme(key), TYPES)
    read = _read(found, bench.demands[0], KeyScheme(key), bench)
    for number, instance in enumerate(rows):
        answer = execute(found, key, bench.demands[0].conditions, instance, rows, TYPES)
        assert read.per_instance[number] == len(answer.scanned)


def test_buckets_of_a_row_key_fan_out_only_where_that_narrows() -> None:
    found = planned("{event}", "{hash(bib,8)}_{pad(bib,5)}", "event eq {event}")
    assert (found.access, found.buckets) == (PARTITION, 1)


# -- known to be wrong -----------------------------------------------------------------------------------------------


def test_a_range_beside_an_equality_is_sent() -> None:
    _exact("{event}", "{pad(bib,3)}", "event eq {event} and event gt {event} and bib eq {bib}", _race(4), TYPES)


def test_an_absent_constant_bounds_a_text() -> None:
    population = population_of({"name": ["a", "b"]}, {"name": EdmType.STRING})
    (demand,) = bench_of(population, query("q", "name le 'aa'")).demands
    assert demand.returned.tolist() == [1, 1]


def test_a_bound_at_the_edge_of_a_period_reads_it() -> None:
    midnight = datetime(2024, 3, 1, tzinfo=UTC)
    population = population_of({"at": [midnight - timedelta(hours=1), midnight]}, {"at": EdmType.DATETIME})
    asked = query("q", "at le {at}")
    bench = bench_of(population, asked)
    scheme = KeyScheme(parse_key("{time(at,'yyyyMMdd')}", ""))
    (found,) = plan(asked, bench.demands[0].conditions, scheme, {"at": EdmType.DATETIME})
    assert _read(found, bench.demands[0], scheme, bench).per_instance.tolist() == [1, 2]


def test_a_range_beside_a_choice_is_sent() -> None:
    text = "event gt {event} and (event eq 'e0' or event eq 'e1') and bib eq {bib}"
    _exact("{event}", "{pad(bib,3)}", text, _race(4), TYPES)


@pytest.mark.parametrize("made", [Prefix("name", 2), Reverse("name")], ids=str)
@pytest.mark.parametrize("text", ["name eq {name} and event gt {event}", "name eq {name} and event ne {event}"])
def test_a_property_that_a_dependency_fixes_is_still_compared_as_the_filter_says(text: str, made: Part) -> None:
    """Of a name whose event does not satisfy the comparison, no entity may come back."""
    asked = query("q", text)
    rule = Dependency("event", "name", made, both_ways=False)
    wanted = with_dependencies(conditions(asked.filter), [rule])
    (found,) = plan(asked, wanted, KeyScheme(parse_key("{event}", "{pad(bib,5)}", known=TYPES)), TYPES)
    assert found.filters[0].startswith(f"PartitionKey eq '{made}' and ")
    assert text.partition(" and ")[2] in found.filters[0]
    assert "event" in found.unserved


@pytest.mark.parametrize(("one_day", "lacks"), [(True, ()), (False, ("at",))])
def test_a_day_that_the_key_of_a_logged_write_told_is_no_condition(one_day: bool, lacks: tuple[str, ...]) -> None:
    """Whoever changes the row of a day and a number names it by the number alone, where the day is in no key."""
    text = "event eq {event} and bib eq {bib} and at ge datetime'{at.from}' and at lt datetime'{at.until}'"
    change = replace(query("q", text), operation=Operation.UPDATE)
    wanted = replace(
        conditions(change.filter), one_period={"at": OnePeriod(frozenset({"day"}), "day")} if one_day else {}
    )
    (found,) = plan(change, wanted, KeyScheme(parse_key("{event}", "{pad(bib,5)}", known=TYPES)), TYPES)
    assert (found.access, found.unserved, found.unknown) == (POINT, ("at",), lacks)


def test_a_time_of_day_bounds_the_rows_of_a_day() -> None:
    text = "event eq {event} and at ge datetime'{at.from}' and at lt datetime'{at.until}'"
    asked = query("q", text)
    scheme = KeyScheme(parse_key("{event}_{time(at,'yyyyMMdd')}", "{time_of_day(at,3)}_{name}", known=TYPES))
    for units, access in (({"day", "month"}, ROWS), ({"month"}, PARTITION)):
        wanted = replace(conditions(asked.filter), one_period={"at": OnePeriod(frozenset(units), "")})
        found = min(plan(asked, wanted, scheme, TYPES), key=lambda p: p.access.rank)
        assert found.access is access, found
        assert ("RowKey" in found.filters[0]) is (access is ROWS)
        assert access is not ROWS or found.range_atom == ("p", "at")
