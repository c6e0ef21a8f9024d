"""Times as a browser or a spreadsheet writes them: ``11/23/2026, 3:04:05.123 PM``, ``23.11.2026 15:04``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from pkadvisor.values import dataclass

_TIME: Final = re.compile(
    r"\s*([0-9]{1,4})(?P<separator>[/.-])([0-9]{1,2})(?P=separator)([0-9]{1,4}),?(?:\s|T)\s*"
    r"([0-9]{1,2})[:.]([0-9]{2})(?:[:.]([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"\s*([AaPp]\.?\s?[Mm]\.?)?\s*(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?\s*"
)


class _WrittenTime(NamedTuple):
    """The pieces of a time, in the order of the groups of ``_TIME``; empty where the text has none."""

    first: str
    separator: str
    second: str
    third: str
    hour: str
    minute: str
    seconds: str
    fraction: str
    half: str
    zone: str

    @classmethod
    def of(cls, text: str) -> _WrittenTime | None:
        match = _TIME.fullmatch(text)
        return None if match is None else cls(*match.groups(""))

    @property
    def year_first(self) -> bool:
        return len(self.first) == 4

    def moment(self, order: str) -> datetime | None:
        """The moment without its fraction; None where the numbers name none in this order."""
        if len(self.third) not in (2, 4) and order != "ymd":
            return None
        numbers = (int(self.first), int(self.second), int(self.third))
        year, month, day = (numbers[order.index(part)] for part in "ymd")
        year, hour = year + (2000 if year < 100 else 0), int(self.hour)
        if self.half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if self.half[0] in "pP" else 0)
        try:
            return datetime(
                year + (2000 if year < 100 else 0), month, day, hour, int(self.minute), int(self.seconds or 0)
            )
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """How the dates of one file are written: ``order`` is that of year, month and day, as ``mdy``."""

    order: str

    def iso(self, text: str) -> str:
        """A time in ISO 8601, UTC where it names no zone; the text itself where it is no such time."""
        time = _WrittenTime.of(text)
        moment = None if time is None else time.moment("ymd" if time.year_first else self.order)
        if time is None or moment is None:
            return text
        fraction = f".{time.fraction}" if time.fraction else ""
        zone = "Z" if time.zone in ("", "UTC", "GMT") else time.zone
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + zone


def local_times(texts: Iterable[str]) -> LocalTimes | None:
    """How times are written; None where they are in ISO 8601, or in no form that is known.

    Whether the month or the day is first is told by a number above 12, by a half of the day (AM, PM) or by points; else
    the order that spans fewer days is taken, and of equal ones the month first.
    """
    times = [time for text in texts if (time := _WrittenTime.of(text))]
    if not times:
        return None
    if all(time.year_first for time in times):
        return LocalTimes("ymd")
    possible = [order for order in ("mdy", "dmy") if all(time.moment(order) for time in times)]
    if len(possible) < 2:
        return LocalTimes(possible[0]) if possible else None
    if any(time.half for time in times):
        return LocalTimes("mdy")
    if all(time.separator == "." for time in times):
        return LocalTimes("dmy")

    def days(order: str) -> int:
        moments = [moment for time in times if (moment := time.moment(order))]
        return (max(moments) - min(moments)).days

    return LocalTimes(min(possible, key=days))
