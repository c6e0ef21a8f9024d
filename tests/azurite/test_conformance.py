"""Where Azurite answers a filter as ``evaluate`` does, and where it does not: tests that ask it must know both.

One entity for each value, under a property that is named like its type; entities with hostile keys have few properties
or none. What Azurite does otherwise is listed as data and held, so that a release that changes it is noticed.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from azure.core.exceptions import HttpResponseError

from pkadvisor.table.edm import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    EdmType,
    TypedValue,
    parse_datetime_ticks,
    utf16_key,
)
from pkadvisor.table.odata import MAX_COMPARISONS, FilterLimitError, FilterSyntaxError, evaluate, parse_filter
from tests.azurite.support import LONGEST_KEY, Azurite, Entity, Table

pytestmark = pytest.mark.requires("azurite")

Keys = tuple[str, str]

ASTRAL = "\U0001f600"  # two surrogates: before U+E000 in UTF-16, after U+FFFF in code points
HIGHEST = "\uffff"


def _values() -> dict[str, TypedValue]:
    """One entity each: its RowKey, and the value that it has under the name of its type."""
    values: dict[str, TypedValue] = {}
    for name, text in (
        *(("empty", ""), ("5", "5"), ("10", "10"), ("B", "B"), ("a", "a"), ("quotes", "o''clock"), ("percent", "%27")),
        *(("astral", ASTRAL), ("fullwidth", "\uff5e"), ("date", "2020-01-01T00:00:00Z")),
    ):
        values[f"text {name}"] = TypedValue(EdmType.STRING, text)
    for whole in (INT32_MIN, -5, 0, 5, 10, INT32_MAX):
        values[f"int32 {whole}"] = TypedValue(EdmType.INT32, whole)
    for whole in (INT64_MIN, -10, -5, 0, 5, 10, 2**53, 2**53 + 1, INT64_MAX):
        values[f"int64 {whole}"] = TypedValue(EdmType.INT64, whole)
    for number in (-5.5, 0.0, 1e-7, 5.0, 5.5, 1e300, float("inf"), float("nan")):
        values[f"double {number}"] = TypedValue(EdmType.DOUBLE, number)
    for truth in (False, True):
        values[f"boolean {truth}".lower()] = TypedValue(EdmType.BOOLEAN, truth)
    for date in ("1601-01-01", "2020-01-01", "2020-01-01T00:00:00.0000001Z", "2020-01-01T00:00:00.001Z", "9999-12-31"):
        values[f"datetime {date}"] = TypedValue(EdmType.DATETIME, parse_datetime_ticks(date))
    for digits in ("0f", "2f", "30", "3a", "ff"):
        values[f"guid {digits}"] = TypedValue(EdmType.GUID, f"{digits}000000-0000-4000-8000-000000000000")
    for digits in ("", "00", "61", "61ff", "ff"):
        values[f"binary {digits}"] = TypedValue(EdmType.BINARY, bytes.fromhex(digits))
    return values


VALUES = _values()
PROPERTIES = {EdmType.STRING: "text"} | {edm: edm.lower() for edm in EdmType if edm is not EdmType.STRING}

HOSTILE_KEYS: tuple[Keys, ...] = (
    ("", ""),
    ("", "a"),
    ("", "~"),
    ("keys", ""),
    ("keys", "AB"),
    ("keys", "ABz"),
    ("keys", "AB" + ASTRAL),
    ("keys", "AB" + HIGHEST),
    ("keys", "AC"),
    ("keys", "ab"),
    ("keys", "\ud7ff"),
    ("keys", ASTRAL),
    ("keys", ASTRAL + "b"),
    ("keys", "\ue000"),
    ("keys", HIGHEST),
    ("keys", "x'),RowKey='y"),
    ("keys", "a+b&c=d"),
    ("keys", "k" * LONGEST_KEY),
    (ASTRAL * (LONGEST_KEY // 2), "x"),
    ("o'clock", "it''s"),
    ("100%", "%27"),
    ("a b", " "),
    ("~", "~"),
    (HIGHEST, "x"),
)

ENTITIES: tuple[Entity, ...] = (
    *(("values", row_key, {PROPERTIES[value.type]: value}) for row_key, value in VALUES.items()),
    *(
        (*keys, {"number": TypedValue(EdmType.INT32, number)} if number % 3 else {})
        for number, keys in enumerate(HOSTILE_KEYS)
    ),
)

OPERATORS = ("eq", "ne", "gt", "ge", "lt", "le")
NUMBERS = [f"number eq {number}" for number in range(MAX_COMPARISONS + 1)]

SAME: tuple[str, ...] = (
    # every type with a constant of the same type
    *(f"text {operator} 'a'" for operator in OPERATORS),
    *(f"int32 {operator} 5" for operator in OPERATORS),
    *(f"int64 {operator} 5L" for operator in OPERATORS),
    *(f"double {operator} 5.0" for operator in OPERATORS),
    *(f"boolean {operator} true" for operator in OPERATORS),
    *(f"datetime {operator} datetime'2020-01-01T00:00:00.001Z'" for operator in OPERATORS),
    *(f"guid {operator} guid'2f000000-0000-4000-8000-000000000000'" for operator in ("eq", "ne")),
    *(f"binary {operator} X'61'" for operator in ("eq", "ne")),
    # constants at the edges
    "text eq ''",
    "text gt ''",
    "text eq 'o''''clock'",
    "text eq '%27'",
    f"text gt '{ASTRAL}'",
    f"text lt '{ASTRAL}'",
    "int32 eq -5",
    "int32 lt 0",
    "int32 ge -2147483648",
    "int64 eq -5L",
    "int64 gt -5L",
    "int64 le -5L",
    "int64 eq 9007199254740993L",
    "int64 gt 9007199254740992L",
    "int64 lt 9223372036854775807L",
    "int64 ge -9223372036854775808L",
    "int64 eq 3000000000",
    "double lt 0.0",
    "double eq -5.5",
    "double gt 0.00000001",
    "boolean eq false",
    "boolean",
    "not boolean",
    "datetime lt datetime'2020-01-01T00:00:00Z'",
    "datetime ge datetime'1601-01-01'",
    "guid eq guid'ff000000-0000-4000-8000-000000000000'",
    "binary eq X''",
    "binary eq binary'61FF'",
    "binary eq x'61ff'",
    # constants of another type, which match nothing
    "int32 eq '5'",
    "int64 eq 5",
    "int64 eq 5.0",
    "text eq 5",
    "text eq true",
    "boolean eq 'true'",
    "boolean eq 1",
    "guid eq '0f000000-0000-4000-8000-000000000000'",
    "PartitionKey eq 'keys' and number lt 0 and number eq 5L",  # what comes first decides: no number meets 5L
    # properties that most entities lack, or all
    *(f"missing {operator} 5" for operator in OPERATORS),
    "missing eq 'x'",
    "missing ne 'x'",
    "missing eq 5L",
    "missing ne true",
    "missing lt datetime'2020-01-01T00:00:00Z'",
    "missing ne guid'0f000000-0000-4000-8000-000000000000'",
    "not (missing eq 5)",
    "not (int32 eq 5)",
    "not (int32 gt 5)",
    # keys
    "PartitionKey eq ''",
    "PartitionKey ne ''",
    "PartitionKey eq '' and RowKey eq ''",
    "PartitionKey eq '' and RowKey gt ''",
    "PartitionKey eq 'keys' and RowKey eq ''",
    "PartitionKey eq 'o''clock' and RowKey eq 'it''''s'",
    "PartitionKey eq '100%' and RowKey eq '%27'",
    "PartitionKey eq 'a b' and RowKey eq ' '",
    "PartitionKey eq '~' and RowKey eq '~'",
    "RowKey ge '~'",
    "PartitionKey eq 'keys' and RowKey eq 'x''),RowKey=''y'",
    "PartitionKey eq 'keys' and RowKey eq 'a+b&c=d'",
    f"PartitionKey eq 'keys' and RowKey eq '{'k' * LONGEST_KEY}'",
    f"PartitionKey eq '{ASTRAL * (LONGEST_KEY // 2)}'",
    "PartitionKey eq 'keys' and RowKey ge 'AB' and RowKey lt 'AC'",
    f"PartitionKey eq 'keys' and RowKey ge 'AB' and RowKey lt 'AB{HIGHEST}'",
    f"PartitionKey eq 'keys' and RowKey ge 'AB' and RowKey le 'AB{HIGHEST}'",
    "PartitionKey eq 'keys' and RowKey gt 'AB'",
    "PartitionKey eq 'keys' and RowKey ge 'A' and RowKey lt 'B'",
    "PartitionKey ge 'k' and PartitionKey lt 'l'",
    f"PartitionKey eq 'keys' and RowKey ge '{ASTRAL}'",
    f"PartitionKey eq 'keys' and RowKey lt '{ASTRAL}'",
    "PartitionKey eq 'keys' and RowKey ge '\ue000'",
    "PartitionKey eq 'keys' and RowKey lt '\ue000'",
    f"PartitionKey ge '{ASTRAL}'",
    "'keys' le PartitionKey",
    # and, or, not
    "number eq 1 or number eq 4",
    "number eq 1 or number eq 4 and number eq 7",
    "(number eq 1 or number eq 4) and number eq 4",
    "not (number gt 4 and number lt 8)",
    "not (number eq 1 or number eq 2) and number lt 8",
    "not number eq 1 and number lt 8",
    "not (not (number eq 1))",
    "number gt 4 and not (number gt 8)",
    "PartitionKey eq 'keys' and (number eq 4 or RowKey eq '')",
    "int32 eq 5 or text eq 'a' or boolean or guid eq guid'0f000000-0000-4000-8000-000000000000'",
    "5 lt number",
    "(boolean)and(boolean eq true)",
    " or ".join(NUMBERS[:MAX_COMPARISONS]),
)


class Deviation(NamedTuple):
    """A filter that Azurite answers otherwise, and what with: an HTTP status, or what another filter selects."""

    filter: str
    instead: str | int
    reason: str


WITHOUT_DOUBLE = "PartitionKey ne 'values' or RowKey lt 'double' or RowKey ge 'e'"
EVERY_INT32 = "int32 ge -2147483648"
EVERY_TEXT = "text ge ''"
NOTHING = "PartitionKey eq 'nobody'"

TO_NUMBER = "< and > read a text, and an Int64 is stored as one, as a number"
ONE_NUMBER = "Int32 and Double are both a JavaScript number"
MILLISECONDS = "times are compared in milliseconds"
NAME = "a Double with an exponent or a suffix, INF and NaN are taken for the name of a property, and none has it"
NE = "ne holds for every value of another type"
BASE64 = "Binary and Guid are compared as base64, whose characters are in another order than the bytes"
STORED_TEXT = "the constant is compared with the stored text, whatever its type"
LONG_CRASH = "an Int64 constant that meets a stored Int32 or Double in just one entity is an error of the server"
EQUAL_IF_UNORDERED = (
    "a text that is not a number is neither less nor greater than a number, and is then taken for equal"
)

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation("double eq 1e300", WITHOUT_DOUBLE, NAME),
    Deviation("double gt 1e3", NOTHING, NAME),
    Deviation("double eq 5.5d", WITHOUT_DOUBLE, NAME),
    Deviation("double eq INF", WITHOUT_DOUBLE, NAME),
    Deviation("double eq NaN", WITHOUT_DOUBLE, NAME),
    Deviation("double ne NaN", NOTHING, NAME),
    Deviation(
        "datetime eq datetime'2020-01-01T00:00:00Z'",
        "datetime ge datetime'2020-01-01' and datetime le datetime'2020-01-01T00:00:00.0000001Z'",
        MILLISECONDS,
    ),
    Deviation(
        "datetime gt datetime'2020-01-01T00:00:00Z'", "datetime ge datetime'2020-01-01T00:00:00.001Z'", MILLISECONDS
    ),
    Deviation("guid eq guid'FF000000-0000-4000-8000-000000000000'", NOTHING, "the case of a Guid constant counts"),
    Deviation(
        "guid gt guid'30000000-0000-4000-8000-000000000000'",
        "guid eq guid'ff000000-0000-4000-8000-000000000000'",
        BASE64,
    ),
    Deviation(
        "guid lt guid'2f000000-0000-4000-8000-000000000000'",
        "guid eq guid'0f000000-0000-4000-8000-000000000000' or guid eq guid'3a000000-0000-4000-8000-000000000000'",
        BASE64,
    ),
    Deviation("binary gt X'61'", "binary eq X'61FF'", BASE64),
    Deviation("binary ge X'61'", "binary eq X'61' or binary eq X'61FF'", BASE64),
    Deviation("binary lt X'61'", "binary eq X'' or binary eq X'00' or binary eq X'FF'", BASE64),
    Deviation("binary lt X'FF'", "binary eq X''", BASE64),
    Deviation("int32 eq 5L", 500, LONG_CRASH),
    Deviation("int32 gt 5L", 500, LONG_CRASH),
    Deviation("double eq 5L", 500, LONG_CRASH),
    Deviation("text eq 'a' or int32 eq 5L", 500, LONG_CRASH),
    Deviation("int32 eq 5.0", "int32 eq 5", ONE_NUMBER),
    Deviation("int32 lt 5.5", "int32 le 5", ONE_NUMBER),
    Deviation("double eq 5", "double eq 5.0", ONE_NUMBER),
    Deviation("double gt 5", "double gt 5.0", ONE_NUMBER),
    Deviation("int32 ne '5'", EVERY_INT32, NE),
    Deviation("int32 ne 5.5", EVERY_INT32, NE),
    Deviation("text ne 5", EVERY_TEXT, NE),
    Deviation("not (text ne 5)", f"not ({EVERY_TEXT})", NE),
    Deviation("int32 gt '4'", "int32 gt 4", TO_NUMBER),
    Deviation("int64 gt 5", "int64 gt 5L", TO_NUMBER),
    Deviation("int64 lt 5.5", "int64 le 5L", TO_NUMBER),
    Deviation("text gt 4", "text eq '5' or text eq '10'", TO_NUMBER),
    Deviation("boolean gt 0", "boolean eq true", "true and false are 1 and 0"),
    Deviation("int64 eq '5'", "int64 eq 5L", STORED_TEXT),
    Deviation("text eq 5L", "text eq '5'", STORED_TEXT),
    Deviation("text eq X''", "text eq ''", STORED_TEXT),
    Deviation("binary eq 'YQ=='", "binary eq X'61'", STORED_TEXT),
    Deviation("datetime eq '2020-01-01T00:00:00.0000000Z'", "datetime eq datetime'2020-01-01'", STORED_TEXT),
    Deviation("datetime gt '2020-01-01'", "datetime ge datetime'2020-01-01'", STORED_TEXT),
    Deviation(
        "text eq datetime'2020-01-01T00:00:00Z'", "text eq '2020-01-01T00:00:00Z'", "a text that reads as a time is one"
    ),
    Deviation("int32 eq X'61'", EVERY_INT32, EQUAL_IF_UNORDERED),
    Deviation("int32 eq guid'ff000000-0000-4000-8000-000000000000'", "int32 lt 0 or int32 gt 0", EQUAL_IF_UNORDERED),
    Deviation("text", "text gt ''", "a bare property holds for everything but false, 0 and the empty text"),
    Deviation("not not number eq 1", 400, "not must not follow not without parentheses"),
)


class Lenient(NamedTuple):
    """A text that is no filter, and the filter that Azurite takes it for; None is everything."""

    text: str
    taken_for: str | None


LENIENT: tuple[Lenient, ...] = (
    Lenient(" or ".join(NUMBERS), " or ".join(NUMBERS)),  # more comparisons than the service accepts
    Lenient("number EQ 1", "number eq 1"),
    Lenient("boolean eq TRUE", "boolean eq true"),
    Lenient('PartitionKey eq "keys"', "PartitionKey eq 'keys'"),
    Lenient("PartitionKey eq 'keys", "PartitionKey eq 'key'"),  # the quote that is missing is cut off all the same
    Lenient("number eq number", None),
    Lenient("true", None),
    Lenient("number eq null", "not (number ge 0)"),
    Lenient("number eq 5.", "not (number ge 0)"),
    Lenient("datetime eq datetime'nonsense'", NOTHING),
)

PAGES = ("", "PartitionKey eq ''", "PartitionKey eq 'keys'", "RowKey ge 'a'")


@pytest.fixture(scope="module")
def table(azurite: Azurite) -> Table:
    """A table with all entities."""
    table = azurite.create("conformance")
    assert table.load(ENTITIES) == len(ENTITIES)
    assert table.left_out == 0
    return table


def selected(filter_text: str | None) -> list[Keys]:
    """The keys that a filter selects as ``evaluate`` sees it, in the order of the service; None selects all."""
    tree = None if filter_text is None else parse_filter(filter_text, limit=None)
    keys = []
    for partition_key, row_key, properties in ENTITIES:
        system = {
            "PartitionKey": TypedValue(EdmType.STRING, partition_key),
            "RowKey": TypedValue(EdmType.STRING, row_key),
        }
        if tree is None or evaluate(tree, {**properties, **system}):
            keys.append((partition_key, row_key))
    return sorted(keys, key=lambda both: (utf16_key(both[0]), utf16_key(both[1])))


def test_the_order_differs_from_that_of_code_points() -> None:
    """Else the astral keys would show nothing."""
    assert selected(None) != sorted(selected(None))


@pytest.mark.parametrize("filter_text", SAME)
def test_it_answers_as_evaluate_does(table: Table, filter_text: str) -> None:
    assert table.query(filter_text) == selected(filter_text)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.filter)
def test_what_it_does_otherwise_is_still_so(table: Table, deviation: Deviation) -> None:
    if isinstance(deviation.instead, int):
        with pytest.raises(HttpResponseError) as refusal:
            table.query(deviation.filter)
        assert refusal.value.status_code == deviation.instead, deviation.reason
        return
    assert selected(deviation.instead) != selected(deviation.filter), "this is no deviation"
    assert table.query(deviation.filter) == selected(deviation.instead), deviation.reason


@pytest.mark.parametrize("case", LENIENT, ids=lambda case: case.text)
def test_what_it_takes_for_a_filter_is_still_so(table: Table, case: Lenient) -> None:
    with pytest.raises((FilterSyntaxError, FilterLimitError)):
        parse_filter(case.text)
    assert table.query(case.text) == selected(case.taken_for)


@pytest.mark.parametrize("size", [1, 2, 7, len(ENTITIES)])
@pytest.mark.parametrize("filter_text", PAGES)
def test_pages_are_the_answer_in_pieces(table: Table, filter_text: str, size: int) -> None:
    """Also where a page ends before an empty key or an astral one, whose names go into headers."""
    assert table.query(filter_text, page=size) == selected(filter_text or None)
    assert table.query(filter_text, top=size) == selected(filter_text or None)[:size]


@pytest.mark.parametrize("keys", [entity[:2] for entity in ENTITIES], ids=ascii)
def test_a_point_read_finds_every_key_and_no_other(table: Table, keys: Keys) -> None:
    partition_key, row_key = keys
    assert table.get(partition_key, row_key)
    assert not table.get(partition_key, row_key + "?")
    assert not table.get(partition_key + "'", row_key)
