"""Edm types: the eight property types of the Table service, how Python holds them, how polars holds them.

| Edm type | Python value | polars column |
| --- | --- | --- |
| String | str | String |
| Int32, Int64 | int | Int32, Int64 |
| Double | float | Float64 |
| Boolean | bool | Boolean |
| DateTime | int, 100-ns ticks since 0001-01-01T00:00:00Z | Datetime("us", "UTC") |
| Guid | str, lower case with hyphens | String |
| Binary | bytes | Binary |
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from math import isfinite, isnan
from typing import Final

from pkadvisor.values import dataclass

KEYS: Final = ("PartitionKey", "RowKey")
"""The properties that name an entity."""
SERVER_TIME: Final = "Timestamp"
"""The service sets it when it writes an entity: whoever makes the key cannot know it."""
SYSTEM_PROPERTIES: Final = (*KEYS, SERVER_TIME)
"""The properties that every entity has."""


class EdmType(StrEnum):
    """A property type of the Table service (data model reference, ``azure-tables`` 1.1)."""

    STRING = "String"
    INT32 = "Int32"
    INT64 = "Int64"
    DOUBLE = "Double"
    BOOLEAN = "Boolean"
    DATETIME = "DateTime"
    GUID = "Guid"
    BINARY = "Binary"

    @property
    def numeric(self) -> bool:
        """Whether values are numbers."""
        return self in (EdmType.INT32, EdmType.INT64, EdmType.DOUBLE)

    @property
    def integer(self) -> bool:
        """Whether values are whole numbers."""
        return self in (EdmType.INT32, EdmType.INT64)


STORED_BYTES = {  # published 2010 capacity formula; String and Binary add their length
    EdmType.STRING: 4,
    EdmType.BINARY: 4,
    EdmType.BOOLEAN: 1,
    EdmType.DATETIME: 8,
    EdmType.DOUBLE: 8,
    EdmType.GUID: 16,
    EdmType.INT32: 4,
    EdmType.INT64: 8,
}

TICKS_PER_SECOND = 10_000_000
TICKS_UNIX_EPOCH = 621_355_968_000_000_000
"""Ticks from 0001-01-01 to 1970-01-01, both UTC."""
TICKS_MAX = 3_155_378_975_999_999_999
"""Ticks of 9999-12-31T23:59:59.9999999Z (``DateTime.MaxValue``)."""
TICKS_STORED_MIN = 504_911_232_000_000_000
"""Ticks of 1601-01-01T00:00:00Z, the first time that the service stores."""

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Value = str | int | float | bool | bytes
"""What Python holds for one property (see the table above)."""

_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class TypedValue:
    """One typed value: a constant of a filter or a property of an entity.

    Raises ValueError when the Python value is not one of the type: out of range, of another class, a Guid that is not
    canonical.
    """

    type: EdmType
    value: Value

    def __post_init__(self) -> None:
        problem = _problem(self.type, self.value)
        if problem:
            raise ValueError(problem)


def _problem(edm: EdmType, value: Value) -> str:
    """Why the value is not one of the type, or an empty string."""
    expected = _PYTHON[edm]
    if type(value) is not expected:  # not isinstance: True is an int to Python and not to the service
        return f"{edm} is held as {expected.__name__}, not {type(value).__name__}"
    if isinstance(value, int) and edm in RANGES:
        low, high = RANGES[edm]
        if not low <= value <= high:
            return f"{value} is outside {edm}"
    if edm is EdmType.GUID and not _GUID.fullmatch(str(value)):
        return f"{value!r} is not a canonical Guid (lower case, with hyphens)"
    return ""


_PYTHON: dict[EdmType, type] = {
    EdmType.STRING: str,
    EdmType.INT32: int,
    EdmType.INT64: int,
    EdmType.DOUBLE: float,
    EdmType.BOOLEAN: bool,
    EdmType.DATETIME: int,
    EdmType.GUID: str,
    EdmType.BINARY: bytes,
}
RANGES = {
    EdmType.INT32: (INT32_MIN, INT32_MAX),
    EdmType.INT64: (INT64_MIN, INT64_MAX),
    EdmType.DATETIME: (0, TICKS_MAX),
}
"""The least and the greatest whole number of a type."""

QUOTES = {EdmType.STRING: "'", EdmType.DATETIME: "datetime'", EdmType.GUID: "guid'", EdmType.BINARY: "X'"}
"""What a ``$filter`` writes before a constant of a type that stands in quotes."""


def utf16_key(text: str) -> bytes:
    """Sort key of a String: the service orders keys by UTF-16 code unit, Python by code point.

    The two differ only where U+E000..U+FFFF meets characters beyond U+FFFF. Lone surrogates keep their place.
    """
    return text.encode("utf-16-be", "surrogatepass")


def order_key(literal: TypedValue) -> Value:
    """What values of one type are ordered by; compare it only within a type.

    String by UTF-16 code unit; Boolean false before true; Binary by unsigned byte; Guid by its canonical text, which is
    also how .NET compares the fields of a Guid (the service documents no order for it).
    """
    return utf16_key(literal.value) if isinstance(literal.value, str) else literal.value


_DATETIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,7}))?)?(Z|z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def parse_datetime_ticks(text: str) -> int:
    """The ticks (100 ns since 0001-01-01T00:00:00Z) of an ISO 8601 date or date and time.

    Up to seven digits of fraction; without an offset the time is UTC. Raises ValueError for anything else, for a date
    that does not exist, and for an instant outside the years 1..9999.
    """
    match = _DATETIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a date and time such as 2008-07-10T00:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = date(int(year), int(month), int(day)).toordinal() - 1  # raises ValueError for 30 February
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    if h > 23 or m > 59 or s > 59:
        raise ValueError(f"{text!r} is not a time of day")
    ticks = ((days * 24 + h) * 60 + m) * 60 + s
    if zone and zone not in "Zz":
        offset_h, offset_m = int(zone[1:3]), int(zone[-2:])
        if offset_h > 14 or offset_m > 59:
            raise ValueError(f"{text!r} has no offset from UTC that exists")
        offset_s = (offset_h * 60 + offset_m) * 60
        ticks += offset_s if zone[0] == "-" else -offset_s
    ticks = ticks * TICKS_PER_SECOND + int((fraction or "").ljust(7, "0"))
    if not 0 <= ticks <= TICKS_MAX:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 in UTC")
    return ticks


def format_ticks(ticks: int, *, trim: bool = False) -> str:
    """``yyyy-MM-ddTHH:mm:ss.fffffffZ``; ``trim`` drops the zeros at the end of the fraction, and an empty fraction."""
    if not 0 <= ticks <= TICKS_MAX:
        raise ValueError(f"{ticks} ticks lie outside the years 1 to 9999")
    seconds, fraction = divmod(ticks, TICKS_PER_SECOND)
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    tail = f".{fraction:07d}"
    if trim:
        tail = tail.rstrip("0").rstrip(".")
    return f"{date.fromordinal(days + 1).isoformat()}T{h:02d}:{m:02d}:{s:02d}{tail}Z"


def canonical_guid(text: str) -> str:
    """A Guid in lower case with hyphens, from any case, 32 bare digits or braces; ValueError for other text."""
    bare = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    low = bare.lower()
    if _GUID.fullmatch(low):
        return low
    if re.fullmatch("[0-9a-f]{32}", low):
        return f"{low[:8]}-{low[8:12]}-{low[12:16]}-{low[16:20]}-{low[20:]}"
    raise ValueError(f"{text[:50]!r} is not a Guid")


def format_double(value: float) -> str:
    """The shortest text that reads back as the same Double, never one that reads as an integer."""
    if isnan(value):
        return "NaN"
    if not isfinite(value):
        return "INF" if value > 0 else "-INF"
    return repr(float(value))  # repr is the shortest round trip and has a point or an exponent


def format_literal(literal: TypedValue) -> str:
    """The literal as ``$filter`` writes it: ``'o''clock'``, ``5``, ``5L``, ``5.0``, ``datetime'…'``, ``X'00FF'``."""
    value = literal.value
    match literal.type:
        case EdmType.STRING:
            return "'" + str(value).replace("'", "''") + "'"
        case EdmType.INT32:
            return str(value)
        case EdmType.INT64:
            return str(value) + "L"
        case EdmType.DOUBLE:
            return format_double(float(value))
        case EdmType.BOOLEAN:
            return "true" if value else "false"
        case EdmType.DATETIME:
            assert isinstance(value, int)
            return f"datetime'{format_ticks(value, trim=True)}'"
        case EdmType.GUID:
            return f"guid'{value!s}'"
        case EdmType.BINARY:
            assert isinstance(value, bytes)
            return f"X'{value.hex().upper()}'"


INTEGER = r"[0-9]+[Ll]?"
DOUBLE = r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?[dD]?|[eE][+-]?[0-9]+[dD]?|[dD])"
_NUMBER = re.compile(rf"-?(?:({DOUBLE})|{INTEGER})")
_NAMED = {
    "true": TypedValue(EdmType.BOOLEAN, True),
    "false": TypedValue(EdmType.BOOLEAN, False),
    "INF": TypedValue(EdmType.DOUBLE, float("inf")),
    "-INF": TypedValue(EdmType.DOUBLE, float("-inf")),
    "NaN": TypedValue(EdmType.DOUBLE, float("nan")),
}


def parse_literal(text: str) -> TypedValue:
    """The value of one ``$filter`` constant; ValueError says what is wrong with it.

    A whole number without ``L`` is an Int32 where it fits and an Int64 where only that fits, as OData libraries guess;
    ``L`` always makes an Int64. A point, an exponent or the suffix ``d`` makes a Double.
    """
    if text[:1] == "'":
        return TypedValue(EdmType.STRING, text[1:-1].replace("''", "'"))
    if text in _NAMED:
        return _NAMED[text]
    kind, quote, body = text.partition("'")
    if not quote:
        return _number(text)
    body = body[:-1]
    match kind:
        case "datetime":
            return TypedValue(EdmType.DATETIME, parse_datetime_ticks(body))
        case "guid":
            return TypedValue(EdmType.GUID, canonical_guid(body))
        case "X" | "x" | "binary":
            if not re.fullmatch("(?:[0-9A-Fa-f]{2})*", body):
                raise ValueError("a binary constant is an even number of hexadecimal digits")
            return TypedValue(EdmType.BINARY, bytes.fromhex(body))
    raise ValueError(f"{kind[:20]!r} is not a kind of constant")


def _number(text: str) -> TypedValue:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a constant")
    if match[1] is not None:
        value = float(text.rstrip("dD"))
        if not isfinite(value):
            raise ValueError(f"{text[:40]} is too large for a Double")
        return TypedValue(EdmType.DOUBLE, value)
    digits = text.rstrip("lL")
    significant = digits.lstrip("-").lstrip("0") or "0"
    whole = int(significant[:20]) * (-1 if digits[0] == "-" else 1)  # 20 digits are too many already
    if not INT64_MIN <= whole <= INT64_MAX:
        raise ValueError(f"{text[:40]} is too large for an Int64")
    suffixed = digits != text
    return TypedValue(EdmType.INT32 if not suffixed and INT32_MIN <= whole <= INT32_MAX else EdmType.INT64, whole)
