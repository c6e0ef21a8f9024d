"""Times as a browser or a spreadsheet writes them: ``11/23/2026, 3:04:05.123 PM``, ``23.11.2026 15:04``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_TIME: Final = re.compile(
    r"\s*(?P<a>[0-9]{1,4})(?P<s>[/.-])(?P<b>[0-9]{1,2})(?P=s)(?P<c>[0-9]{1,4}),?(?:\s|T)\s*"
    r"(?P<h>[0-9]{1,2})[:.](?P<m>[0-9]{2})(?:[:.](?P<sec>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?\s*"
)


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """How the dates of one file are written: ``order`` is that of year, month and day, as ``mdy``."""

    order: str

    def iso(self, text: str) -> str:
        """A time in ISO 8601, UTC where it names no zone; the text itself where it is no such time."""
        match = _TIME.fullmatch(text)
        moment = None if match is None else _moment(match, self.order if len(match["a"]) < 4 else "ymd")
        if match is None or moment is None:
            return text
        zone = match["zone"] or "Z"
        fraction = f".{match['f']}" if match["f"] else ""
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + ("Z" if zone in ("UTC", "GMT") else zone)


def local_times(texts: Iterable[str]) -> LocalTimes | None:
    """How times are written; None where they are in ISO 8601, or in no form that is known.

    Whether the month or the day is first is told by a number above 12, by a half of the day (AM, PM) or by points; else
    the order that spans fewer days is taken, and of equal ones the month first.
    """
    matches = [match for text in texts if (match := _TIME.fullmatch(text))]
    if not matches:
        return None
    if all(len(match["a"]) == 4 for match in matches):
        return LocalTimes("ymd")
    possible = [order for order in ("mdy", "dmy") if all(_moment(match, order) for match in matches)]
    if len(possible) < 2:
        return LocalTimes(possible[0]) if possible else None
    if any(match["half"] for match in matches):
        return LocalTimes("mdy")
    if all(match["s"] == "." for match in matches):
        return LocalTimes("dmy")

    def days(order: str) -> int:
        moments = [moment for match in matches if (moment := _moment(match, order))]
        return (max(moments) - min(moments)).days

    return LocalTimes(min(possible, key=days))


def _moment(match: re.Match[str], order: str) -> datetime | None:
    """The moment without its fraction; None where the numbers name none in this order."""
    parts = dict(zip(order, (int(match["a"]), int(match["b"]), int(match["c"])), strict=True))
    if len(match["c"]) not in (2, 4) and order != "ymd":
        return None
    year = parts["y"] + (2000 if parts["y"] < 100 else 0)
    hour = int(match["h"])
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    try:
        return datetime(year, parts["m"], parts["d"], hour, int(match["m"]), int(match["sec"] or 0))
    except ValueError:
        return None
