"""Numbers with units as people write them: ``600/s``, ``8 %/month``, ``24 months``, ``50ms``, ``2_000_000``.

Every parser takes text and gives a number in one fixed unit, or raises :class:`UnitError`, whose message quotes the
text and whose ``fix`` shows a spelling that works. Digits are ASCII, the decimal mark is a point, ``_`` groups digits;
commas are refused because they mean two things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pkadvisor.errors import did_you_mean
from pkadvisor.numbers import MONTH_S
from pkadvisor.values import dataclass

DAY_S = 86_400.0
RATE_MAX_PER_S = 1e9
"""Above this a rate is a slip of the pen, not a workload."""
COUNT_MAX = 10**15
_DURATION_MAX_S = 1000 * 12 * MONTH_S
_GROWTH_FACTOR_MAX = 100.0

_RATES = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": DAY_S, "week": 7 * DAY_S, "month": MONTH_S}
_DURATIONS = {
    "ms": 0.001,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "day": DAY_S,
    "week": 7 * DAY_S,
    "month": MONTH_S,
    "year": 12 * MONTH_S,
}
_GROWTHS = {"day": DAY_S / MONTH_S, "week": 7 * DAY_S / MONTH_S, "month": 1.0, "year": 12.0}
_ALIASES = {
    "sec": "s",
    "second": "s",
    "m": "min",
    "minute": "min",
    "hour": "h",
    "d": "day",
    "w": "week",
    "mo": "month",
    "y": "year",
    "millisecond": "ms",
    "msec": "ms",
}

_NUMBER = r"[0-9][0-9_]{0,20}(?:\.[0-9_]{1,20})?(?:[eE][+-]?[0-9]{1,3})?"
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})")
_BARE = re.compile(rf"[+-]?{_NUMBER}")
_COUNT = re.compile(r"[0-9][0-9_]{0,20}")


class UnitError(ValueError):
    """A number with a unit that cannot be understood; ``fix`` says how to write it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a parser expects, and for its messages what it is called and an example; ``pattern`` has a group for the
    number and one for the unit."""

    noun: str
    example: str
    pattern: str
    units: Mapping[str, float]


_RATE = _Shape(
    "a rate",
    "write a number and /s, /min, /h, /day, /week or /month, e.g. 600/s",
    rf"({_NUMBER})\s*/\s*([A-Za-z]{{1,20}})",
    _RATES,
)
_DURATION = _Shape(
    "a duration",
    "write a number and ms, s, min, h, days, weeks, months or years, e.g. 24 months",
    rf"({_NUMBER})\s*([A-Za-z]{{1,20}})",
    _DURATIONS,
)
_GROWTH = _Shape(
    "a growth",
    "write a percentage and /month or /year, e.g. 8 %/month",
    rf"([+-]?\s*{_NUMBER})\s*%\s*/\s*([A-Za-z]{{1,20}})",
    _GROWTHS,
)
_HOURS_EXAMPLE = "write from and until in UTC, e.g. 18:00-20:00"


def _shown(text: str) -> str:
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"


def _refuse(text: str, shape: _Shape) -> UnitError:
    if _BARE.fullmatch(text):
        return UnitError(f"{_shown(text)} has no unit", shape.example)
    if text.startswith("-"):
        return UnitError(f"{_shown(text)} is negative", shape.example)
    if re.search(r"[0-9],[0-9]", text):
        return UnitError(f"{_shown(text)} has a comma in it", "group digits with _ and use a point: 1_000 or 0.5")
    return UnitError(f"{_shown(text)} is not {shape.noun}", shape.example)


def _number(text: str) -> float:
    return float(re.sub(r"[_\s]", "", text))


def _quantity(text: str, shape: _Shape) -> tuple[float, float]:
    """The number in a text, and its unit in the unit that the parser gives."""
    match = re.fullmatch(shape.pattern, text)
    if match is None:
        raise _refuse(text, shape)
    word = match[2].lower()
    for spelling in (word, word.removesuffix("s")):
        name = _ALIASES.get(spelling, spelling)
        if name in shape.units:
            return _number(match[1]), shape.units[name]
    hint = did_you_mean(word, tuple(shape.units))
    raise UnitError(f"{_shown(text)}: unknown unit '{match[2]}'", f"{hint} {shape.example}".strip())


def parse_rate(text: str) -> float:
    """Requests per second of ``600/s``, ``2.5/min``, ``1_000/h``, ``3/day``; above 0, at most 1e9."""
    text = text.strip()
    number, unit = _quantity(text, _RATE)
    per_s = number / unit
    if per_s == 0:
        raise UnitError(f"{_shown(text)} is a rate of zero", "remove the class or give it a rate")
    if per_s > RATE_MAX_PER_S:
        raise UnitError(f"{_shown(text)} is above 1e9/s", "check the number and the unit")
    return per_s


def parse_duration(text: str) -> float:
    """Seconds of ``50ms``, ``90 s``, ``1h``, ``30 days``, ``24 months``; a month is 30.4375 days; above 0."""
    text = text.strip()
    number, unit = _quantity(text, _DURATION)
    seconds = number * unit
    if not 0 < seconds <= _DURATION_MAX_S:
        size = "zero" if seconds == 0 else "longer than 1000 years"
        raise UnitError(f"{_shown(text)} is {size}", _DURATION.example)
    return seconds


def parse_latency_ms(text: str) -> float:
    """Milliseconds of a latency such as ``50ms`` or ``0.2 s``; at most one hour."""
    ms = parse_duration(text) * 1000
    if ms > 3_600_000:
        raise UnitError(f"{_shown(text.strip())} is not a latency of a request", "write it in ms or s, e.g. 50ms")
    return ms


def parse_growth(text: str) -> float:
    """Factor per month of ``8 %/month``, ``-2%/month``, ``50 %/year``: compounded, so 50 %/year is 1.5^(1/12)."""
    text = text.strip()
    if re.fullmatch(rf"[+-]?\s*{_NUMBER}\s*%", text):
        raise UnitError(f"{_shown(text)} does not say per what", _GROWTH.example)
    percentage, months = _quantity(text, _GROWTH)
    share = percentage / 100
    if share <= -1:
        raise UnitError(f"{_shown(text)} leaves nothing", "a decline is above -100 %")
    # Compare before raising to a power: 1e300 % a day has no finite monthly factor.
    if share > _GROWTH_FACTOR_MAX or (factor := (1 + share) ** (1 / months)) > _GROWTH_FACTOR_MAX:
        raise UnitError(f"{_shown(text)} is more than a hundredfold a month", "check the number and the unit")
    return float(factor)


def parse_count(value: str | int) -> int:
    """A whole number of things, at least 1: ``2_000_000`` or 2000000."""
    if isinstance(value, str):
        text = value.strip()
        if not _COUNT.fullmatch(text):
            if re.search(r"[0-9],[0-9]", text):
                raise UnitError(f"{_shown(text)} has a comma in it", "group digits with _: 2_000_000")
            raise UnitError(f"{_shown(text)} is not a count", "write a whole number, e.g. 2_000_000")
        value = int(text.replace("_", ""))
    if not 1 <= value <= COUNT_MAX:
        raise UnitError(f"{value} is not a count between 1 and 1e15", "write a whole number, e.g. 2_000_000")
    return value


def parse_share(value: str | float) -> float:
    """A share between 0 and 1, written 0.8 or ``80 %``; above 0."""
    text = str(value).strip()
    match = re.fullmatch(rf"({_NUMBER})\s*(%?)", text)
    share = _number(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 < share <= 1:
        raise UnitError(f"{_shown(text)} is not a share above 0 and at most 1", "write 0.8 or '80 %'")
    return share


def parse_hours(text: str) -> tuple[int, int]:
    """Minutes of the day, [from, until), of ``18:00-20:00`` or, over midnight, ``22:30-01:00``; until 24:00."""
    text = text.strip()
    match = _HOURS.fullmatch(text)
    if match is None:
        raise UnitError(f"{_shown(text)} is not a time of day", _HOURS_EXAMPLE)
    hours = [int(h) * 60 + int(m) if int(m) < 60 else 1441 for h, m in (match.group(1, 2), match.group(3, 4))]
    start, stop = hours
    if start >= 1440 or stop > 1440:
        raise UnitError(f"{_shown(text)}: a day has 24 hours of 60 minutes", _HOURS_EXAMPLE)
    if start == stop % 1440 and stop != 1440:
        raise UnitError(f"{_shown(text)} is no time at all", _HOURS_EXAMPLE)
    return start, stop
