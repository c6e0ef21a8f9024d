"""Literals and their texts, dates as ticks, and the orders of the service."""

import struct
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.table.edm import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    TICKS_MAX,
    TICKS_UNIX_EPOCH,
    EdmType,
    TypedValue,
    canonical_guid,
    format_double,
    format_literal,
    format_ticks,
    order_key,
    parse_datetime_ticks,
    parse_literal,
    utf16_key,
)

GUID = "a455c695-df98-5678-aaaa-81d3367e5a34"
any_text = st.text(alphabet=st.characters(), max_size=20)
values = {
    EdmType.STRING: any_text,
    EdmType.INT32: st.integers(INT32_MIN, INT32_MAX),
    EdmType.INT64: st.integers(INT64_MIN, INT64_MAX),
    EdmType.DOUBLE: st.floats(allow_nan=False),
    EdmType.BOOLEAN: st.booleans(),
    EdmType.DATETIME: st.integers(0, TICKS_MAX),
    EdmType.GUID: st.uuids().map(str),
    EdmType.BINARY: st.binary(max_size=20),
}
literals = st.one_of([st.builds(TypedValue, st.just(edm), value) for edm, value in values.items()])


@given(literals)
def test_a_literal_survives_its_text(literal: TypedValue) -> None:
    assert parse_literal(format_literal(literal)) == literal


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (TypedValue(EdmType.STRING, "o'clock"), "'o''clock'"),
        (TypedValue(EdmType.INT32, -5), "-5"),
        (TypedValue(EdmType.INT64, 5), "5L"),
        (TypedValue(EdmType.DOUBLE, 5.0), "5.0"),
        (TypedValue(EdmType.DOUBLE, 1e16), "1e+16"),
        (TypedValue(EdmType.BOOLEAN, True), "true"),
        (TypedValue(EdmType.DATETIME, TICKS_UNIX_EPOCH), "datetime'1970-01-01T00:00:00Z'"),
        (TypedValue(EdmType.DATETIME, TICKS_UNIX_EPOCH + 1), "datetime'1970-01-01T00:00:00.0000001Z'"),
        (TypedValue(EdmType.GUID, GUID), f"guid'{GUID}'"),
        (TypedValue(EdmType.BINARY, b"\x00\xff"), "X'00FF'"),
    ],
)
def test_literals_look_as_the_service_writes_them(literal: TypedValue, text: str) -> None:
    assert format_literal(literal) == text


@pytest.mark.parametrize(
    ("text", "edm"),
    [
        ("2147483647", EdmType.INT32),
        ("2147483648", EdmType.INT64),
        ("-2147483648", EdmType.INT32),
        ("-2147483649", EdmType.INT64),
        ("0000000000000000000000000005", EdmType.INT32),
        ("5l", EdmType.INT64),
        ("1e3", EdmType.DOUBLE),
        ("5d", EdmType.DOUBLE),
        ("9223372036854775807L", EdmType.INT64),
        ("binary'00ff'", EdmType.BINARY),
    ],
)
def test_the_form_of_a_number_decides_its_type(text: str, edm: EdmType) -> None:
    assert parse_literal(text).type is edm


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808L", "9" * 5000, "1e999", "X'0'", "X'0g'", "guid'12'", "datetime'x'", "5.", "--5", "", "5.0L"],
)
def test_constants_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_literal(text)


@pytest.mark.parametrize(
    ("edm", "value"),
    [
        (EdmType.INT32, 2**31),
        (EdmType.INT32, True),
        (EdmType.DOUBLE, 1),
        (EdmType.STRING, b"a"),
        (EdmType.DATETIME, -1),
        (EdmType.GUID, GUID.upper()),
    ],
)
def test_a_literal_is_valid_once_built(edm: EdmType, value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        TypedValue(edm, value)  # type: ignore[arg-type]


@given(st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_dates_agree_with_the_standard_library(moment: datetime, offset_minutes: int) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    ticks = (local - datetime(1, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 10
    if 0 <= ticks <= TICKS_MAX:
        assert parse_datetime_ticks(local.isoformat()) == ticks
        assert format_ticks(ticks)[:26] == local.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    else:
        with pytest.raises(ValueError, match="outside the years"):
            parse_datetime_ticks(local.isoformat())


@given(st.integers(0, TICKS_MAX), st.booleans())
def test_ticks_survive_their_text(ticks: int, trim: bool) -> None:
    assert parse_datetime_ticks(format_ticks(ticks, trim=trim)) == ticks


def test_trimming_leaves_the_zeros_that_count() -> None:
    assert format_ticks(TICKS_UNIX_EPOCH + 5_000_000, trim=True) == "1970-01-01T00:00:00.5Z"
    assert format_ticks(TICKS_UNIX_EPOCH) == "1970-01-01T00:00:00.0000000Z"
    assert format_ticks(TICKS_MAX) == "9999-12-31T23:59:59.9999999Z"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1970-01-01", "1970-01-01T00:00:00Z"),
        ("1970-01-01T01:30:00+01:30", "1970-01-01T00:00:00Z"),
        ("1969-12-31T22:30:00-0130", "1970-01-01T00:00:00Z"),
        ("1970-01-01 00:00", "1970-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00Z"),
    ],
)
def test_other_spellings_of_a_moment(text: str, same: str) -> None:
    assert parse_datetime_ticks(text) == parse_datetime_ticks(same)


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2023-01-01T24:00:00Z",
        "2023-01-01T00:00:60Z",
        "2023-01-01T00:00:00.00000001Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "2023-01-01T00:00:00+15:00",
        "2023-1-1",
        "2023-01-01Z",
        "٢٠٢٣-٠١-٠١",
        "2023-01-01T00:00:00Z\n",
    ],
)
def test_moments_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_datetime_ticks(text)


@given(any_text, any_text)
def test_strings_are_ordered_by_utf16_code_unit(a: str, b: str) -> None:
    def units(text: str) -> tuple[int, ...]:
        raw = text.encode("utf-16-le", "surrogatepass")
        return struct.unpack(f"<{len(raw) // 2}H", raw)

    assert (utf16_key(a) < utf16_key(b)) == (units(a) < units(b))


def test_utf16_order_differs_from_python_order() -> None:
    private, emoji = "\ue000", "\U0001f600"
    assert private < emoji
    assert order_key(TypedValue(EdmType.STRING, private)) > order_key(TypedValue(EdmType.STRING, emoji))  # type: ignore[operator]
    assert utf16_key("\ud800") < utf16_key(private)


def test_guids_have_one_spelling() -> None:
    for text in (GUID.upper(), "{" + GUID + "}", GUID.replace("-", "")):
        assert canonical_guid(text) == GUID
    for text in ("urn:uuid:" + GUID, GUID[:-1], GUID.replace("-", "", 1), ""):
        with pytest.raises(ValueError, match="not a Guid"):
            canonical_guid(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_never_reads_as_an_integer(value: float) -> None:
    text = format_double(value)
    assert float(text) == value
    assert "." in text or "e" in text
