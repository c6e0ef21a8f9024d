"""Decoding keys: the inverse of encoding where that is promised, and no value where the text does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.keyreader import decode_key, decode_part, decode_prefix
from pkadvisor.design.keys.scheme import KeyScheme, encode, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import (
    Context,
    Field,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Ticks,
)
from pkadvisor.design.rows.decode import Observed, observe
from pkadvisor.design.rows.key_ranges import HIGH, LOW, decode_range
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import profile_dataset
from pkadvisor.observe.workload import ForeignRequests, Operation, OrderBy, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import format_filter
from tests.design.keys.test_transforms import SEPARATORS
from tests.design.keys.test_whole_keys import KEY_PARTS, TYPES, templates
from tests.design.support import VALUES, python_value, query
from tests.tiers import examples


@st.composite
def invertible(draw: st.DrawFn) -> tuple[Part, EdmType, object]:
    edm = draw(st.sampled_from(list(EdmType)))
    if edm.integer and draw(st.booleans()):
        make = draw(st.sampled_from([Pad, ReversePad]))
        return make("p", draw(st.integers(1, 38))), edm, draw(VALUES[edm])
    if edm is EdmType.DATETIME:
        return draw(st.sampled_from([Ticks("p"), ReverseTicks("p"), Field("p")])), edm, draw(VALUES[edm])
    return Field("p"), edm, draw(VALUES[edm])


@given(invertible(), SEPARATORS)
def test_a_part_decodes_to_its_value(case: tuple[Part, EdmType, object], between: str) -> None:
    part, edm, value = case
    text = part.encode({"p": python_value(value)}, Context({"p": edm}, between))
    assert decode_part(part, text, {"p": edm}) == value
    assert decode_part(part, part.encode({"p": None}, Context({"p": edm})), {"p": edm}) is None


@given(templates(), st.data())
def test_a_whole_key_decodes_to_its_values(case: tuple[tuple[Part, ...], tuple[str, ...]], data: st.DataObject) -> None:
    parts, wanted = case
    values = {n: data.draw(st.one_of(st.none(), KEY_PARTS[n][2])) for n in wanted}
    text = encode(parts, {n: python_value(v) for n, v in values.items()}, TYPES)
    assert decode_key(parts, text, TYPES) == values


@pytest.mark.parametrize(
    ("part", "edm", "text"),
    [
        (Field("p"), EdmType.INT32, "1_000"),
        (Field("p"), EdmType.INT32, " 5"),
        (Field("p"), EdmType.INT64, "٣"),
        (Field("p"), EdmType.DOUBLE, "1_0.5"),
        (Field("p"), EdmType.BOOLEAN, "yes"),
        (Field("p"), EdmType.BINARY, "xyz"),
        (Field("p"), EdmType.DATETIME, "yesterday"),
        (Pad("p", 5), EdmType.INT32, "42"),
        (Pad("p", 3), EdmType.INT32, "0_42"),
        (Pad("p", 3), EdmType.INT32, ""),
        (ReversePad("p", 3), EdmType.INT32, "9x9"),
        (Ticks("p"), EdmType.DATETIME, "12ab"),
    ],
)
def test_text_that_is_no_encoding_is_refused(part: Part, edm: EdmType, text: str) -> None:
    with pytest.raises(ValueError):
        decode_part(part, text, {"p": edm})


def test_padded_text_comes_back_without_zeros() -> None:
    types = {"p": EdmType.STRING}
    assert decode_part(Pad("p", 5), "00042", types) == "42"
    assert decode_part(Pad("p", 5), "000A7", types) == "A7"
    assert decode_part(Pad("p", 3), "000", types) == "0"
    assert decode_part(ReversePad("p", 3), "957", types) == "42"


RACE = parse_template("BIB:{pad(bib,5)}__{name}")
RACE_TYPES = {"bib": EdmType.INT32, "name": EdmType.STRING}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("BIB:00042__Ann", {"bib": 42, "name": "Ann"}),
        ("BIB:00042__An~005F~005Fn", {"bib": 42, "name": "An__n"}),
        ("BIB:00042__An__n", {"bib": 42, "name": "An__n"}),  # written by an application that does not escape
        ("BIB:00042__", {"bib": 42, "name": ""}),
        ("BIB:00042__~-", {"bib": 42, "name": None}),
        ("BIB:42__Ann", None),
        ("AGE:00042__Ann", None),
        ("BIB:00042", None),
        ("", None),
    ],
)
def test_keys_of_a_race(text: str, values: dict[str, object] | None) -> None:
    assert decode_key(RACE, text, RACE_TYPES) == values


def test_what_a_key_says_twice_must_agree() -> None:
    parts = parse_template("{a}_{pad(a,3)}")
    assert decode_key(parts, "7_007", {"a": EdmType.INT32}) == {"a": 7}
    assert decode_key(parts, "7_008", {"a": EdmType.INT32}) is None


def test_periods_and_buckets_name_no_value_but_a_second_does() -> None:
    types = {"t": EdmType.DATETIME, "d": EdmType.STRING}
    moment = datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)
    assert decode_key(parse_template("{hash(d,16)}_{time(t,'yyyyMMdd')}"), "07_20240229", types) == {}
    assert decode_key(parse_template("{time(t,'yyyyMMddHHmmss')}"), "20240229010203", types) == {"t": moment}
    both = parse_template("{time(t,'yyyyMMddHHmmss')}_{ticks(t)}")
    assert decode_key(both, "20240229010203_0638447653231234560", types) == {"t": moment.replace(microsecond=123456)}


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("BIB:", ({}, 0)),
        ("BIB:00042", ({"bib": 42}, 1)),
        ("BIB:00042__", ({"bib": 42}, 1)),
        ("BIB:01", None),  # a piece of a number is not a number
        ("BI", None),
        ("AGE:", None),
    ],
)
def test_prefixes(prefix: str, found: tuple[dict[str, object], int] | None) -> None:
    assert decode_prefix(RACE, prefix, RACE_TYPES) == found


RANGED = (
    "p{n}_{ticks(t)}",
    "{pad(n,6)}_{reverse_ticks(t)}",
    "{ticks(t)}_{n}",
    "X:{reverse_ticks(t)}",
    "{time(t,'yyyyMMddHHmmss')}",
    "d{name}_{time(t,'yyyyMMdd')}",
    "{time(t,'yyyy-MM-dd')}",
    "{name}_{time(t,'yyyy-MM')}",
    "{time(t,'yyyy-MM-ddTHHZ')}_{n}",
    "{time(t,'YYYY-Www')}",
    "{name}_{pad(n,6)}",
    "{name}_{reverse_pad(n,6)}",
    "{reverse_pad(n,6)}_{name}",
    "{name}",
    "N:{name}_{n}",
    "{sortable(x)}_{n}",
    "{name}_{reverse_sortable(x)}",
    "{reverse_sortable(t)}",
    "{t}_{n}",
    "{name}_{t}",
)
RANGED_TYPES = {"x": EdmType.DOUBLE, "n": EdmType.INT32, "t": EdmType.DATETIME, "name": EdmType.STRING}
moments_of_days = st.integers(0, 40 * 86_400).map(lambda s: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=s))
ranged_rows = st.lists(
    st.fixed_dictionaries(
        {
            "x": st.floats(-9, 9),
            "n": st.integers(0, 99_999),
            "t": moments_of_days,
            "name": st.text(st.sampled_from("abz"), max_size=3),
        }
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(RANGED), ranged_rows, st.data())
def test_a_range_of_keys_is_read_as_values_that_hold_all_of_its_rows(
    template: str, rows: list[dict[str, object]], data: st.DataObject
) -> None:
    """A range may end anywhere within a key, as a range of ticks to the second does: it never becomes a point."""
    parts = parse_template(template)
    keys = [encode(parts, {n: python_value(v) for n, v in row.items()}, RANGED_TYPES) for row in rows]
    begin = data.draw(st.sampled_from(keys))
    cut = data.draw(st.integers(1, max(1, len(begin))))
    low = begin[:cut]
    assume(low)
    until = data.draw(st.sampled_from([None, *keys]))
    high = low[:-1] + chr(ord(low[-1]) + 1) if until is None else until[: data.draw(st.integers(1, max(1, len(until))))]
    assume(low < high)
    found = decode_range(parts, low, high, RANGED_TYPES)
    if found is None:
        return

    def holds(row: dict[str, object]) -> bool:
        equal = all(row[n] == v for n, v in found.items() if not n.endswith((LOW, HIGH)))
        above = all(row[n.removesuffix(LOW)] >= v for n, v in found.items() if n.endswith(LOW))  # type: ignore[operator]
        below = all(row[n.removesuffix(HIGH)] < v for n, v in found.items() if n.endswith(HIGH))  # type: ignore[operator]
        return equal and above and below

    asked = [row for row, key in zip(rows, keys, strict=True) if low <= key < high]
    assert [row for row in asked if not holds(row)] == [], (low, high, found)


def _day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


DAY = {
    "t.from": datetime(2026, 2, 10, tzinfo=UTC),
    "t.until": datetime(2026, 2, 10, 23, 59, 59, 999_999, tzinfo=UTC),
}


@pytest.mark.parametrize(
    ("template", "low", "high", "expected"),
    [
        (
            "p{n}_{ticks(t)}",
            "p7_06393065",
            "p7_06393066",
            {
                "n": 7,
                "t.from": datetime(2026, 11, 19, 1, 53, 20, tzinfo=UTC),
                "t.until": datetime(2026, 11, 19, 4, 40, tzinfo=UTC),
            },
        ),
        ("{name}_{pad(n,6)}", "ab_0012", "ab_0013", {"name": "ab", "n.from": 1200, "n.until": 1300}),
        ("{name}_{reverse_pad(n,6)}", "ab_0012", "ab_0013", {"name": "ab", "n.from": 998700, "n.until": 998800}),
        ("{ticks(t)}_{n}", "0", "0639", {"t.until": datetime(2025, 11, 29, 8, tzinfo=UTC)}),  # year 1 is no bound
        ("{name}", "ab", "ac", {"name.from": "ab", "name.until": "ac"}),
        ("{name}_{n}", "ab_7", "ac_9", {"name.from": "ab", "name.until": "ac\0"}),
        ("{name}_{n}", "a~", "b", {"name.until": "b"}),
        ("N:{name}_{n}", "N", "O", {}),
        # Behind the text of a value: above the separator all of its keys lie below, at the separator none does.
        ("{pad(n,2)}_{name}", "07`", "09_", {"n.from": 8, "n.until": 9}),
        ("{pad(n,2)}_{name}", "07_", "09`", {"n.from": 7, "n.until": 10}),
        ("{pad(n,2)}", "07\0", "09\0", {"n.from": 8, "n.until": 10}),
        ("{reverse_pad(n,2)}", "07\0", "09\0", {"n.from": 90, "n.until": 92}),
        # Below zero stands the complement; "-" and ":" lie below and above all numbers of the width.
        ("{pad(n,2)}", "-99", "03", {"n.from": -1, "n.until": 3}),
        ("{pad(n,2)}", "-99\0", ":", {"n.from": 0, "n.until": 100}),
        ("{pad(n,2)}", "-", "-50", {"n.from": -100, "n.until": -50}),
        ("{reverse_pad(n,2)}", "-", ":", {"n.from": 0, "n.until": 100}),
        # A time as text, whole, and cut anywhere; "~" lies above all times.
        ("{t}_{n}", "2026-03-01T00:00:00.0000010Z`", "~", {"t.from": datetime(2026, 3, 1, 0, 0, 0, 2, tzinfo=UTC)}),
        (
            "{t}_{n}",
            "2026-02-3",
            "2026-03-01T00:00:00.0000010Z`",
            {
                "t.from": datetime(2026, 3, 1, tzinfo=UTC),
                "t.until": datetime(2026, 3, 1, 0, 0, 0, 2, tzinfo=UTC),
            },
        ),
        # A whole period in the beginning that a range's keys share, before a separator and without one.
        ("{time(t,'yyyyMMdd')}_{name}", "20260210_", "20260210`", DAY),
        ("{time(t,'yyyyMMdd')}_{pad(n,2)}", "20260210_07", "20260210_09", {**DAY, "n.from": 7, "n.until": 9}),
        (
            "{time(t,'yyyyMMdd')}{pad(n,4)}",
            "20260210",
            "20260211",
            {**DAY, "t.until": datetime(2026, 2, 11, tzinfo=UTC)},
        ),
        ("{name}", "ab", "ab\uffff", {"name.from": "ab", "name.until": "ab\uffff"}),
        # Periods with text between their units: whole, cut within a unit or before the text, and beyond the text.
        *(
            (f"{{time(t,'{pattern}')}}", low, high, dict(zip(("t.from", "t.until"), bounds, strict=False)))
            for pattern, low, high, bounds in (
                ("yyyy-MM-dd", "2026-01-10", "2026-02-09\0", (_day(2026, 1, 10), _day(2026, 2, 10))),
                ("yyyy-MM-dd", "2026-01-10", "2026-02-09", (_day(2026, 1, 10), _day(2026, 2, 9))),
                ("yyyy-MM-dd", "2026-01-1", "2026-02", (_day(2026, 1, 10), _day(2026, 2, 1))),
                ("yyyy-MM", "2026-01", "2026/", (_day(2026, 1, 1), _day(2027, 1, 1))),
                ("yyyy-MM-ddTHHZ", "2026-01-10T00Z", "2026-01-10a", (_day(2026, 1, 10), _day(2026, 1, 11))),
                ("yyyy-MM-ddTHHZ", "2026-01-09T23a", "2026-01-11 ", (_day(2026, 1, 10), _day(2026, 1, 11))),
                ("YYYY-Www", "2026-W02", "2026-W53\0", (_day(2026, 1, 5), _day(2027, 1, 4))),
                ("YYYY-Www", "2025-W00", "2025-W53", (_day(2024, 12, 30), _day(2025, 12, 29))),
            )
        ),
    ],
)
def test_a_range_that_ends_within_a_part_bounds_it(
    template: str, low: str, high: str, expected: dict[str, object]
) -> None:
    assert decode_range(parse_template(template), low, high, RANGED_TYPES) == expected


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
    """Lower case says nothing of the letters; a key that the data lacks is a value that no entity has."""
    (tmp_path / "t.csv").write_text("PartitionKey,RowKey,mail\nT,bo@x,Bo@X\nT,al@x,al@X\n")
    data = profile_dataset(open_datasets([str(tmp_path / "t.csv")])[0])
    lines = [{"op": op, "pk": "T", "rk": rk} for rk in ("bo@x", "al@x", "no@x") for op in ("query", "merge")]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"table": "t", "at": n} | line) + "\n" for n, line in enumerate(lines)))
    (table,) = read_traffic([str(path)]).tables
    scheme, types = KeyScheme(parse_key("T", "{lower(mail)}")), {"mail": EdmType.STRING}
    seen = observe(table, scheme, types, None, data=data).workload
    assert {format_filter(c.filter) for c in seen.classes if c.filter} == {"mail eq '{mail}'"}
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


def test_the_first_rows_from_a_time_on_are_the_next_ones(tmp_path: Path) -> None:
    after = {"filter": "PartitionKey eq 'a' and RowKey gt '0639000000000000000'", "top": 5}
    (asked,) = under(tmp_path, "{ticks(at)}_{name}", after).workload.classes
    assert asked.order_by == (OrderBy("at"),)


@pytest.mark.parametrize(("low", "high", "values"), [("MSG_", "MSG`", None), ("M", "N", {}), ("META", "METB", {})])
def test_a_constant_key_lies_in_a_range_or_not(low: str, high: str, values: dict[str, object] | None) -> None:
    assert decode_range(parse_template("META"), low, high, {}) == values
