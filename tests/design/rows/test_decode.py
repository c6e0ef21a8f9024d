"""Decoding keys: the inverse of encoding where that is promised, and no value where the text does not fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.keyreader import decode_clocks, decode_key, decode_periods, decode_prefix
from pkadvisor.design.keys.scheme import encode
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
from pkadvisor.design.rows.key_ranges import HIGH, LOW, decode_range
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_transforms import SEPARATORS
from tests.design.keys.test_whole_keys import KEY_PARTS, TYPES, templates
from tests.design.support import VALUES, python_value
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
    assert part.decode(text, Context({"p": edm})) == value
    assert part.decode(part.encode({"p": None}, Context({"p": edm})), Context({"p": edm})) is None


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
        part.decode(text, Context({"p": edm}))


def test_padded_text_comes_back_without_zeros() -> None:
    types = {"p": EdmType.STRING}
    assert Pad("p", 5).decode("00042", Context(types)) == "42"
    assert Pad("p", 5).decode("000A7", Context(types)) == "A7"
    assert Pad("p", 3).decode("000", Context(types)) == "0"
    assert ReversePad("p", 3).decode("957", Context(types)) == "42"


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


@pytest.mark.parametrize("text", ["0700", "070", "07000000000", "07-00", "a", ""])
def test_a_text_that_is_no_time_of_day_is_none_of_its_template(text: str) -> None:
    parts = parse_template("{time_of_day(at,4)}")
    assert decode_key(parts, text, {"at": EdmType.DATETIME}) is None
    assert decode_key(parse_template("{time_of_day(at,4)}_{id}"), f"{text}_x", {"at": EdmType.DATETIME}) is None


def test_a_whole_time_of_day_is_told() -> None:
    parts = parse_template("{time_of_day(at,0)}_{id}")
    types = {"at": EdmType.DATETIME, "id": EdmType.STRING}
    assert decode_key(parts, "070159_x", types) == {"id": "x"}
    assert decode_clocks(parts, "070159_x", types) == {"at": (timedelta(hours=7, minutes=1, seconds=59), timedelta())}


def test_a_time_of_day_to_the_minute_lasts_a_minute() -> None:
    parts = parse_template("{time_of_day(at,'HH:mm')}_{id}")
    assert decode_key(parts, "07:61.5_x", RANGED_TYPES) is None
    assert decode_clocks(parts, "07:01_x", RANGED_TYPES) == {
        "at": (timedelta(hours=7, minutes=1), timedelta(minutes=1))
    }


TIMES = ("{time(at,'yyyyMMdd')}", "{time(at,'yyyyMMddHHmmss')}", "{ticks(at)}", "{reverse_ticks(at)}")


@settings(max_examples=examples(200))
@given(
    st.sampled_from(TIMES),
    st.sampled_from(("0", "4", "7", "'HH'", "'HH:mm'", "'HH-mm-ss'")),
    st.text("0123456789-T:~", max_size=24),
    st.text("0123456789~", max_size=14),
)
def test_no_text_of_a_log_stops_the_reading_of_times(day: str, clock: str, first: str, second: str) -> None:
    parts, types = parse_template(f"{day}_{{time_of_day(at,{clock})}}"), {"at": EdmType.DATETIME}
    if decode_key(parts, f"{first}_{second}", types) is not None:
        decode_periods(parts, f"{first}_{second}", types)
        decode_clocks(parts, f"{first}_{second}", types)
