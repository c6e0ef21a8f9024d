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

from enum import StrEnum


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
