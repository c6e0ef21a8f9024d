"""Values of the seven data types as the truth holds them, their canonical texts and their order.

| type | Python value |
| --- | --- |
| String, Guid | ``str`` (a Guid in lower case) |
| Int32, Int64 | ``int`` |
| Double | ``float`` |
| Boolean | ``bool`` |
| DateTime | ``int``, microseconds since 1970 in UTC |
| Binary | ``bytes`` |

A missing property is ``None``. Nothing here imports ``pkadvisor.design``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | bytes
Row: TypeAlias = dict[str, "Value | None"]

STRING, INT32, INT64, DOUBLE = "string", "int32", "int64", "double"
BOOLEAN, DATETIME, GUID, BINARY = "boolean", "datetime", "guid", "binary"
TYPES = (STRING, INT32, INT64, DOUBLE, BOOLEAN, DATETIME, GUID, BINARY)
WHOLE = (INT32, INT64)
LEAST = {INT32: -(2**31), INT64: -(2**63)}
GREATEST = {INT32: 2**31 - 1, INT64: 2**63 - 1}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICKS_OF_EPOCH = 621_355_968_000_000_000
"""Units of 100 ns from the beginning of the year 1 to 1970."""
TICKS_LAST = 3_155_378_975_999_999_999
"""The last tick of the year 9999."""
LATEST_US = (TICKS_LAST - TICKS_OF_EPOCH) // 10
EARLIEST_US = -TICKS_OF_EPOCH // 10


def moment(microseconds: int) -> datetime:
    """A time in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


def ticks(microseconds: int) -> int:
    """Units of 100 ns since the beginning of the year 1."""
    return microseconds * 10 + TICKS_OF_EPOCH


def time_text(microseconds: int) -> str:
    """A time with seven digits of fraction."""
    at = moment(microseconds)
    day = f"{at.year:04}-{at.month:02}-{at.day:02}"
    return f"{day}T{at.hour:02}:{at.minute:02}:{at.second:02}.{at.microsecond:06}0Z"


def double_text(value: float) -> str:
    """The fewest digits that read back as the number; -0.0 is 0.0."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    return repr(value + 0.0)


def canonical(value: Value, edm: str) -> str:
    """The text of a value in a key, before any escape."""
    if edm == DATETIME:
        assert isinstance(value, int)
        return time_text(value)
    if edm == BOOLEAN:
        return "true" if value else "false"
    if edm == BINARY:
        assert isinstance(value, bytes)
        return value.hex()
    if edm == DOUBLE:
        assert isinstance(value, int | float)
        return double_text(float(value))
    if edm == GUID:
        return str(value).lower()
    return str(value)


def units(text: str) -> bytes:
    """UTF-16 code units, big-endian: the order of the store's texts is that of these bytes."""
    return text.encode("utf-16-be", "surrogatepass")


def order_of(value: Value, edm: str) -> object:
    """What values of one type are compared by."""
    return units(value) if edm == STRING and isinstance(value, str) else value


def holds(left: Value | None, operator: str, right: Value, edm: str) -> bool:
    """Whether a comparison holds; never for a missing value, and for NaN only ``ne``."""
    if left is None:
        return False
    if operator == "eq":
        return left == right
    if operator == "ne":
        return left != right
    if operator == "lower":
        return _lower(str(left)) == _lower(str(right))
    a, b = order_of(left, edm), order_of(right, edm)
    if operator == "gt":
        return bool(a > b)  # type: ignore[operator]
    if operator == "ge":
        return bool(a >= b)  # type: ignore[operator]
    if operator == "lt":
        return bool(a < b)  # type: ignore[operator]
    return bool(a <= b)  # type: ignore[operator]


def _lower(text: str) -> str:
    """A to Z in lower case."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def shifted(value: Value, offset: int, edm: str) -> Value:
    """A number or a time (offset in microseconds) moved; what leaves the range of its type stops at its end."""
    if not offset:
        return value
    assert isinstance(value, int | float)
    moved = value + offset
    if edm == DATETIME:
        return max(EARLIEST_US, min(LATEST_US, moved))
    if edm in WHOLE:
        return max(LEAST[edm], min(GREATEST[edm], moved))
    return moved


def constant_text(value: Value, edm: str) -> str:
    """A constant of the filter language."""
    if edm == STRING:
        return "'" + str(value).replace("'", "''") + "'"
    if edm == DATETIME:
        assert isinstance(value, int)
        return f"datetime'{time_text(value)}'"
    if edm == GUID:
        return f"guid'{value}'"
    if edm == BINARY:
        assert isinstance(value, bytes)
        return f"X'{value.hex()}'"
    if edm == INT64:
        return f"{value}L"
    return canonical(value, edm)
