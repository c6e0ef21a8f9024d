"""Periods of time in UTC, from years down to seconds, and the weeks of ISO 8601."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.worlds.values import EPOCH, moment

FINEST = (("ss", "second"), ("mm", "minute"), ("HH", "hour"), ("dd", "day"), ("ww", "week"), ("MM", "month"))


def unit_of(pattern: str) -> str:
    """The length of the periods that a pattern writes."""
    return next((unit for letters, unit in FINEST if letters in pattern), "year")


def _start(at: datetime, unit: str) -> datetime:
    at = at.replace(microsecond=0)
    if unit == "second":
        return at
    at = at.replace(second=0)
    if unit == "minute":
        return at
    at = at.replace(minute=0)
    if unit == "hour":
        return at
    at = at.replace(hour=0)
    if unit == "week":
        return at - timedelta(days=at.weekday())
    if unit == "day":
        return at
    at = at.replace(day=1)
    return at if unit == "month" else at.replace(month=1)


def _microseconds(at: datetime) -> int:
    passed = at - EPOCH
    return (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds


def start_of(microseconds: int, pattern: str) -> int:
    """The first moment of the period that a time falls into."""
    return _microseconds(_start(moment(microseconds), unit_of(pattern)))


def following(microseconds: int, pattern: str) -> int:
    """The first moment of the next period."""
    unit = unit_of(pattern)
    start = _start(moment(microseconds), unit)
    if unit == "year":
        return _microseconds(start.replace(year=start.year + 1))
    if unit == "month":
        return _microseconds((start + timedelta(days=31)).replace(day=1))
    return _microseconds(start + timedelta(**{f"{unit}s": 1}))


def preceding(microseconds: int, pattern: str) -> int:
    """The last microsecond before the period that a time falls into."""
    return start_of(microseconds, pattern) - 1
