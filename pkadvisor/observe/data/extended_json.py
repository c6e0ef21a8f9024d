"""Values that an export of MongoDB writes as objects: ``{"$date": …}`` is a time, ``{"$oid": …}`` a text.

Source: MongoDB Extended JSON v2, canonical and relaxed, and the forms of v1 that ``mongoexport`` wrote before.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UUIDS: Final = ("03", "04", 3, 4)
"""Subtypes of binary values that are UUIDs."""


def plain_value(value: Mapping[str, Any]) -> Any:
    """What an object of one typed value stands for; the object itself where it is none."""
    match value:
        case {"$oid": str(text)} | {"$symbol": str(text)} | {"$uuid": str(text)} if len(value) == 1:
            return text
        case {"$date": moment} if len(value) == 1:
            return _time(moment, value)
        case {"$numberInt": str(text)} | {"$numberLong": str(text)} if len(value) == 1:
            return _number(text, int, value)
        case {"$numberDouble": str(text)} | {"$numberDecimal": str(text)} if len(value) == 1:
            return _number(text, float, value)
        case {"$binary": {"base64": str(text), "subType": kind}} if len(value) == 1:
            return _bytes(text, kind)
        case {"$binary": str(text), "$type": kind} if len(value) == 2:
            return _bytes(text, kind)
        case _:
            return value


def _time(moment: Any, value: Mapping[str, Any]) -> Any:
    """A time as ISO text: as it is written, or of milliseconds since 1970."""
    if type(moment) is str:
        return moment
    since = plain_value(moment) if type(moment) is dict else moment
    if type(since) is not int:
        return value
    try:
        return (EPOCH + timedelta(milliseconds=since)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return value


def _number(text: str, kind: type[int] | type[float], value: Mapping[str, Any]) -> Any:
    try:
        number = kind(text)
    except ValueError:
        return value
    # NaN and the infinities, which keys and comparisons do not know, are missing values.
    return number if abs(number) < float("inf") else None


def _bytes(text: str, kind: Any) -> str:
    """A UUID as its text, other bytes as they are written."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return str(uuid.UUID(bytes=content)) if kind in UUIDS and len(content) == 16 else text
