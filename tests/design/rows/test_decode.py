"""Decoding keys: the inverse of encoding where that is promised, and no value where the text does not fit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from pkadvisor.design.rows.decode import decode_key, decode_part, decode_prefix
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_transforms import KEY_PARTS, SEPARATORS, TYPES, templates
from tests.design.support import VALUES, python_value


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
