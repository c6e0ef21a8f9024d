"""Patterns of time and the UTC periods that they name."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from pkadvisor.design.keys.transforms.columns import over_span
from pkadvisor.design.keys.transforms.escapes import FORBIDDEN
from pkadvisor.lazy import pl

TIME_TOKENS = {
    "yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "YYYY": "%G", "ww": "%V",
}  # fmt: skip
"""What a time pattern is made of, and what it is for strftime; ``YYYY`` and ``ww`` are year and week of ISO 8601."""
TIME_UNITS = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
"""The units from the year down, by their tokens."""
FRACTIONS = {"fff": "millisecond", "ffffff": "microsecond", "fffffff": "microsecond"}
"""Digits of the second's fraction, behind a second, and what they tell: data has microseconds, of ten ticks each."""
_WEEK = ("YYYY", "ww")
_EVERY_TOKEN = (*TIME_TOKENS, *FRACTIONS)
_DIGITS_OF = "|".join((*TIME_TOKENS, "f{1,7}"))
PIECES = re.compile(_DIGITS_OF + "|.", re.DOTALL)
PERIOD_S = {
    "year": 31_556_952.0,
    "month": 2_629_746.0,
    "week": 604_800.0,
    "day": 86_400.0,
    "hour": 3_600.0,
    "minute": 60.0,
    "second": 1.0,
    "millisecond": 1e-3,
    "microsecond": 1e-6,
}
"""Seconds of a period by its unit, the longest first; a month and a year are means of the Gregorian calendar."""


def tokens(pattern: str) -> tuple[str, ...]:
    """The tokens of a time pattern in the order in which they stand."""
    return tuple(piece for piece in PIECES.findall(pattern) if piece in _EVERY_TOKEN)


@lru_cache(maxsize=1024)
def check_pattern(pattern: str) -> None:
    """ValueError on a letter that is no token, on what a key must not contain, and where the tokens name no period.

    A period has each unit from the year down to its finest once, in any order, or ``YYYY`` and ``ww``. Digits of the
    second's fraction stand last. The letters ``T``, ``Z`` and a ``W`` before ``ww`` stand for themselves, as ISO 8601
    has them: 20261101T12Z, 2026-W45.
    """
    for match in PIECES.finditer(pattern):
        piece = match.group()
        if piece in _EVERY_TOKEN or piece in ("T", "Z") or (piece == "W" and pattern.startswith("ww", match.end())):
            continue
        if piece.isalpha() or piece == "%":
            every = " ".join((*TIME_TOKENS, *FRACTIONS))
            raise ValueError(f"'{piece}' in time format '{pattern}' is none of {every}")
        if piece in FORBIDDEN or piece in "~{}'" or piece.isdigit():
            raise ValueError(f"{piece!r} in time format {pattern!r} is not allowed in a key")
    units_of_pattern, units = list(tokens(pattern)), list(TIME_UNITS)
    if sorted(units_of_pattern) == sorted(_WEEK):
        return
    if units_of_pattern[-1:] and units_of_pattern[-1] in FRACTIONS and len(units_of_pattern) > len(units):
        units_of_pattern.pop()
    if not units_of_pattern or sorted(units_of_pattern) != sorted(units[: len(units_of_pattern)]):
        clock = f"; the time of day is {{time_of_day(p,'{pattern}')}}" if units_of_pattern[:1] == ["HH"] else ""
        raise ValueError(
            f"time format '{pattern}' is not a period: use each of yyyy MM dd … down to its finest once, or "
            f"YYYY-Www{clock}"
        )


@lru_cache(maxsize=256)
def time_unit(pattern: str) -> str:
    """The finest unit of a time pattern: ``'yyyyMMdd'`` → ``day``, ``'YYYY-Www'`` → ``week``."""
    units = tokens(pattern)
    if set(units) == set(_WEEK):
        return "week"
    return [unit for token, unit in {**TIME_UNITS, **FRACTIONS}.items() if token in units][-1]


def descends(pattern: str) -> bool:
    """Whether a pattern runs from the year down, so that its text order is time order."""
    units = tuple(token for token in tokens(pattern) if token not in FRACTIONS)
    return units in (_WEEK, tuple(TIME_UNITS)[: len(units)])


@lru_cache(maxsize=256)
def _form_of(pattern: str) -> re.Pattern[str]:
    pieces = (re.escape(p) if len(p) == 1 else f"(?P<{p}>[0-9]{{{len(p)}}})" for p in PIECES.findall(pattern))
    return re.compile("".join(pieces))


def period_start(text: str, pattern: str) -> datetime | None:
    """The first moment of a period; None where the text names no period of the pattern."""
    match = _form_of(pattern).fullmatch(text)
    if match is None:
        return None
    shown = {token: int(digits) for token, digits in match.groupdict().items()}
    units = [shown.get(token, int(token in ("MM", "dd"))) for token in TIME_UNITS]
    micros = next((microseconds(shown[token], token) for token in FRACTIONS if token in shown), 0)
    try:
        if _WEEK[0] in shown:
            monday = date.fromisocalendar(shown[_WEEK[0]], shown[_WEEK[1]], 1)
            return datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
        return datetime(*units, micros, tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:  # 30 February, or a 53rd week in a year of 52
        return None


_LEAST = (1, 1, 1, 0, 0, 0)
"""The first month, day, hour, minute and second, and a year."""


ABOVE_DIGITS = "\uffff"


def digits_of_bound(text: str, pattern: str) -> str:
    """What a bound of a range says in the digits of a pattern, without the text between them.

    It ends where the bound does, or leaves the pattern: above it with a character that lies above all digits.
    """
    out = ""
    for place, expected in enumerate(re.sub(_DIGITS_OF, lambda token: "0" * len(token[0]), pattern)):
        here = text[place : place + 1]
        if expected == "0" or not here:
            out += here
        elif here != expected:
            return out + ABOVE_DIGITS * (here > expected)
        if expected == "0" and not (here.isascii() and here.isdigit()):
            return out
    return out + text[len(pattern) :]


def first_moment(digits: str, pattern: str) -> datetime:
    """The first moment whose period is written with these digits or later ones, of a pattern from the year down.

    The digits need name no moment: ``20260231`` is the first of March. ValueError where none follows.
    """
    units_of_pattern = tokens(pattern)
    ends = [sum(map(len, units_of_pattern[: place + 1])) for place in range(len(units_of_pattern))]
    fields = [int(digits[end - len(token) : end]) for token, end in zip(units_of_pattern, ends, strict=True)]
    if units_of_pattern == _WEEK:
        return _first_week(*fields)
    micros = timedelta(0)
    if units_of_pattern[-1] in FRACTIONS:
        micros = timedelta(microseconds=microseconds(fields.pop(), units_of_pattern[-1]))
    values = [*fields, *_LEAST[len(fields) :]]
    for place, least in enumerate(_LEAST):
        if values[place] < least:
            values[place:] = _LEAST[place:]
        days = monthrange(values[0], values[1])[1] if place == 2 else 0
        if values[place] > (9999, 12, days, 23, 59, 59)[place]:
            values[place:] = _LEAST[place:]
            return next_unit(_moment(values), place - 1)
    return _moment(values) + (micros if values == fields else timedelta(0))


def microseconds(fraction: int, token: str) -> int:
    """The microseconds in the digits of a second's fraction; a tick of 100 ns is cut off."""
    return fraction * 1_000_000 // int(10 ** len(token))


def _first_week(year: int, week: int) -> datetime:
    """The Monday of a week of ISO 8601, or of the first one after it."""
    try:
        day = date.fromisocalendar(year, max(1, week), 1)
    except ValueError:
        day = date.fromisocalendar(year + 1, 1, 1)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _moment(values: Sequence[int]) -> datetime:
    """The moment of a year, month, day, hour, minute and second."""
    year, month, day, hour, minute, second = values
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def next_unit(moment: datetime, place: int) -> datetime:
    """A moment that begins a unit, one year, month, day, hour or minute later (by its place)."""
    if place == 0:
        return moment.replace(year=moment.year + 1)
    if place == 1:
        return moment.replace(year=moment.year + moment.month // 12, month=moment.month % 12 + 1)
    return moment + timedelta(minutes=(1440, 60, 1)[place - 2])


_SECONDS = {"HH": 3600, "mm": 60, "ss": 1}
"""The tokens of the time of day, and the seconds in one of each."""
_DAY = 86_400


def period_expression(moments: pl.Expr, pattern: str) -> pl.Expr:
    """The periods of a DateTime column; null stays null.

    A year has 365 days and a day 86 400 seconds: each is written once, and the rest is looking up.
    """
    micros = moments.dt.epoch("us")
    seconds = micros // 1_000_000
    days = (seconds // _DAY).cast(pl.Int32)
    of_day = (seconds - days.cast(pl.Int64) * _DAY).cast(pl.Int32)
    out = []
    for run, unit in _runs(pattern):
        if run[0] in FRACTIONS:
            out.append(_fraction(micros % 1_000_000, run[0]))
            out += [pl.lit("".join(run[1:]))] if run[1:] else []
            continue
        form = "".join(TIME_TOKENS.get(piece, piece) for piece in run)
        out.append(_dates(days, form) if unit == _DAY else _times(of_day // unit, unit, form))
    return pl.concat_str(out)


def _dates(days: pl.Expr, form: str) -> pl.Expr:
    return over_span(days, lambda n: n.cast(pl.Date).dt.strftime(form))


def _times(periods: pl.Expr, unit: int, form: str) -> pl.Expr:
    return over_span(periods, lambda n: (n.cast(pl.Int64) * (unit * 10**9)).cast(pl.Time).dt.strftime(form))


def _fraction(micros: pl.Expr, token: str) -> pl.Expr:
    ticks = micros * 10 // int(10 ** (7 - len(token)))
    return ticks.cast(pl.String).str.pad_start(len(token), "0")


def _runs(pattern: str) -> list[tuple[list[str], int]]:
    """A pattern cut where it changes between date and time of day, and the finest unit of each piece in seconds."""
    out: list[tuple[list[str], int]] = []
    for piece in PIECES.findall(pattern):
        unit = _SECONDS.get(piece, _DAY)
        if piece in FRACTIONS:
            out.append(([piece], 1))
        elif not out or (piece in TIME_TOKENS and (unit == _DAY) != (out[-1][1] == _DAY)):
            out.append(([piece], unit))
        else:
            out[-1] = ([*out[-1][0], piece], min(unit, out[-1][1]))
    return out
