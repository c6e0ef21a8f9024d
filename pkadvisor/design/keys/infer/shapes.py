"""Shapes of key texts: what the texts at one place of many keys have in common, and which part writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Final

from pkadvisor.design.keys import transforms
from pkadvisor.design.keys.transforms import TimeOfDay
from pkadvisor.design.keys.transforms.periods import FRACTIONS, period_start, time_unit
from pkadvisor.table.edm import (
    INT64_MAX,
    INT64_MIN,
    TICKS_MAX,
    TICKS_PER_SECOND,
    TICKS_UNIX_EPOCH,
    EdmType,
    parse_datetime_ticks,
)
from pkadvisor.values import dataclass

TOLERANCE: Final = 0.01
"""Share of the rows that may break a pattern without ending it; they are told apart afterwards."""
SPAN_YEARS: Final = (1990, 2100)
"""Times outside are taken for other numbers."""
_TICKS_WIDTHS: Final = (transforms.SHORT_TICKS_DIGITS, transforms.TICKS_DIGITS)
_YEAR_ONE: Final = datetime(1, 1, 1, tzinfo=UTC)


def ticks_of(moment: datetime) -> int:
    """100 ns since year 1 of a moment with a zone."""
    delta = moment - _YEAR_ONE
    return (delta.days * 86_400 + delta.seconds) * TICKS_PER_SECOND + delta.microseconds * 10


_EARLIEST: Final = ticks_of(datetime(SPAN_YEARS[0], 1, 1, tzinfo=UTC))
_LATEST: Final = ticks_of(datetime(SPAN_YEARS[1], 1, 1, tzinfo=UTC))
assert _EARLIEST > TICKS_UNIX_EPOCH

_DATES = ("yyyy-MM-dd", "yyyy_MM_dd", "yyyy.MM.dd", "yyyyMMdd")
_CLOCKS = ("HH", "HHmm", "HHmmss", "HH:mm", "HH:mm:ss", "HH-mm", "HH-mm-ss", "HH_mm", "HH_mm_ss")
_FINE_CLOCKS = tuple(
    f"{clock}{point}{fraction}"
    for clock, points in (("HHmmss", ("", ".", "-", "_")), ("HH:mm:ss", (".",)), ("HH-mm-ss", ".-"), ("HH_mm_ss", "._"))
    for point in points
    for fraction in FRACTIONS
)
PATTERNS: Final = (
    *("yyyy", "yyyyMM", "yyyyMMdd", "yyyyMMddHH", "yyyyMMddHHmm", "yyyyMMddHHmmss"),
    *("yyyy-MM", "yyyy_MM", "yyyy.MM", *_DATES[:3], "dd.MM.yyyy", "dd-MM-yyyy", "MM-dd-yyyy"),
    *(f"yyyyMMddHHmmss{fraction}" for fraction in FRACTIONS),
    *("YYYY-Www", "YYYYWww"),
    *(f"{day}{between}{clock}" for day in _DATES for between in "-_ " for clock in _CLOCKS),
    *(f"{day}T{clock}{zone}" for day in ("yyyy-MM-dd", "yyyyMMdd") for clock in _CLOCKS[:5] for zone in ("Z", "")),
    *(f"yyyy-MM-dd{t}HH:mm:ss.{fraction}" for t in "T " for fraction in FRACTIONS),
    *(f"yyyy-MM-ddTHH:mm:ss.{fraction}Z" for fraction in ("fff", "ffffff")),
    *(f"yyyyMMddTHHmmss{point}{fraction}{z}" for point in (".", "") for fraction in FRACTIONS for z in ("Z", "")),
    *(f"{day}{between}{clock}" for day in _DATES for between in "-_ " for clock in _FINE_CLOCKS),
    *("MM-yyyy", "MM_yyyy", "MM.yyyy", "MMyyyy", "ddMMyyyy", "MMddyyyy"),
)
"""Periods that are recognised, in order of preference; with seven digits and Z, a time stands in its plain form."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the texts at one place have in common; ``hint`` says what they resemble but cannot be written as."""

    function: str = ""
    edm: EdmType = EdmType.STRING
    width: int = 0
    pattern: str = ""
    hint: str = ""

    def part(self, name: str) -> transforms.Part:
        """The part of a template that writes such texts from a property."""
        make: Callable[..., transforms.Part] = transforms.TRANSFORMS.get(self.function, transforms.Field)
        argument = self.width or self.pattern
        return make(name, argument) if argument else make(name)

    @property
    def certain(self) -> str:
        """What tells this shape from others beyond doubt; empty for free text and plain numbers."""
        if self.function:
            return f"{self.function}{self.width or self.pattern or self.edm}"
        return str(self.edm) if self.edm in (EdmType.GUID, EdmType.DATETIME) else ""

    def bits(self, text: str) -> float:
        """What a text costs to tell once its shape is known; plain numbers cost what texts do, on purpose.

        A code such as ``85123A`` beside ``22423`` is one property, not two kinds of rows.
        """
        match self.function:
            case "pad":
                return 3.4 * self.width + 2
            case "time":
                return _PERIOD_BITS[time_unit(self.pattern)]
            case "ticks" | "reverse_ticks":
                return 45
            case "sortable" | "reverse_sortable" | "time_of_day":
                return 40
        if self.edm is EdmType.DATETIME:
            return 45
        return 122 if self.edm is EdmType.GUID else 6 * len(text) + 6


_PERIOD_BITS: Final = {
    "year": 7,
    "month": 11,
    "week": 14,
    "day": 16,
    "hour": 20,
    "minute": 26,
    "second": 32,
    "millisecond": 42,
    "microsecond": 45,
}
"""What a text of a period costs to tell, by its unit."""
TEXT: Final = Shape()
_NUMBER = re.compile("0|-?[1-9][0-9]*")
_PADDED = re.compile("-?[0-9]+")
GUID_TEXT: Final = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_GUID = re.compile(GUID_TEXT)
_CANONICAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{7}Z")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")


def allowed(count: int) -> int:
    """How many of ``count`` rows may break a pattern."""
    return int(count * TOLERANCE)


def classify(texts: Iterable[str]) -> Shape:
    """The narrowest shape that writes these texts; missing values (``~-``) say nothing.

    Plain and padded numbers must be numbers without exception; times and Guids may have a few.
    """
    values_seen = set(texts) - {transforms.MISSING}
    if not values_seen:
        return TEXT
    strays = allowed(len(values_seen))

    def nearly(test: Callable[[str], object]) -> bool:
        return sum(not test(text) for text in values_seen) <= strays

    widths = Counter(map(len, values_seen))
    width, frequent = widths.most_common(1)[0]
    if len(values_seen) - frequent <= strays:
        if width in _TICKS_WIDTHS and nearly(lambda t: _digits(t) and _EARLIEST <= int(t) < _LATEST):
            return Shape("ticks", EdmType.DATETIME, width)
        if width == transforms.TICKS_DIGITS and nearly(
            lambda t: _digits(t) and _EARLIEST <= TICKS_MAX - int(t) < _LATEST
        ):
            return Shape("reverse_ticks", EdmType.DATETIME)
        for pattern in PATTERNS:
            if len(pattern) == width and nearly(lambda t, p=pattern: _plausible(t, p)):  # type: ignore[misc]
                return Shape("time", EdmType.DATETIME, pattern=pattern)
        if width == 36 and nearly(_GUID.fullmatch):
            lower = nearly(lambda t: t == t.lower())
            return Shape(edm=EdmType.GUID) if lower else replace(TEXT, hint="Guids that are not in lower case")
        if width == 28 and nearly(_is_canonical_time):
            return Shape(edm=EdmType.DATETIME)
        if width in (8, 16) and (shape := _sortable(values_seen, width)):
            return shape
    if nearly(_is_iso_time):
        return replace(TEXT, hint="times in a form that no transform writes")
    return _number(values_seen) or _other(values_seen)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _plausible(text: str, pattern: str) -> bool:
    start = period_start(text, pattern)
    return start is not None and SPAN_YEARS[0] <= start.year < SPAN_YEARS[1]


def _is_canonical_time(text: str) -> bool:
    return _CANONICAL_TIME.fullmatch(text) is not None and _is_iso_time(text)


def _is_iso_time(text: str) -> bool:
    if text[10:11] not in ("T", "t"):
        return False
    try:
        return _EARLIEST <= parse_datetime_ticks(text) < _LATEST
    except ValueError:
        return False


_HEX = re.compile("[0-9a-f]+")
_DOUBLE_DIGITS: Final = 9
"""Digits that doubles which people write have at most; those behind texts at random have twice as many."""


def _sortable(texts: Collection[str], width: int) -> Shape | None:
    """The shape of numbers in hex of fixed width; None for other texts, such as the beginning of a hash."""
    if len(texts) < 2 or not all(map(_HEX.fullmatch, texts)):
        return None
    best, least = None, len(texts)
    for function in ("sortable", "reverse_sortable"):
        for edm in _OF_WIDTH[width]:
            if edm is EdmType.DATETIME and function == "sortable":
                continue
            shape = Shape(function, edm)
            try:
                values = [shape.part("n").decode(text, transforms.Context({"n": edm})) for text in texts]
            except (ValueError, OverflowError):
                continue
            below = sum(isinstance(value, float) and value < 0 for value in values)
            if _likely(values, edm) and below < least:  # the same texts are numbers above zero the other way round
                best, least = shape, below
    return best


_OF_WIDTH: Final = {8: (EdmType.INT32,), 16: (EdmType.DATETIME, EdmType.INT64, EdmType.DOUBLE)}


def _likely(values: Iterable[object], edm: EdmType) -> bool:
    """Whether values are those that people have: recent times, small whole numbers, doubles of few digits."""
    for value in values:
        if isinstance(value, datetime):
            if not SPAN_YEARS[0] <= value.year < SPAN_YEARS[1]:
                return False
        elif isinstance(value, int):
            if not 0 <= value < 1 << (16 if edm is EdmType.INT32 else 40):
                return False
        elif not isinstance(value, float) or len(repr(value).replace("-", "").replace(".", "")) > _DOUBLE_DIGITS:
            return False
    return True


def _number(texts: Collection[str]) -> Shape | None:
    """The shape of whole numbers; None for other texts."""
    if not all(map(_PADDED.fullmatch, texts)):
        return None
    if all(map(_NUMBER.fullmatch, texts)):
        if all(len(t) < 21 and INT64_MIN <= int(t) <= INT64_MAX for t in texts):
            return Shape(edm=EdmType.INT64)
        return TEXT
    widths = {len(t.lstrip("-")) for t in texts}
    if len(widths) > 1:
        return replace(TEXT, hint="numbers of several widths with leading zeros")
    (width,) = widths
    if width > 38 or ("-" in "".join(texts) and width > 18):
        return TEXT
    large = any(abs(int(t)) > INT64_MAX for t in texts)
    return Shape("pad", EdmType.STRING if large else EdmType.INT64, width)


def _other(texts: Collection[str]) -> Shape:
    if texts == {"true", "false"}:
        return Shape(edm=EdmType.BOOLEAN)
    if all(_DECIMAL.fullmatch(t) and repr(float(t)) == t for t in texts):
        return Shape(edm=EdmType.DOUBLE)
    return TEXT


# -- The forms in which keys write the time of day.


_CLOCK = re.compile(r"([01][0-9]|2[0-3])(?:([:._-]?)([0-5][0-9])(?:\2([0-5][0-9])(?:(\2|[.,])([0-9]{1,7}))?)?)?")
_PROBE = 20


def clock_of_texts(name: str, texts: Collection[str]) -> TimeOfDay | None:
    """The time of day of a property that could write these texts: HH, HHmm, HH:mm, HHmmssfff and such; else None.

    The first texts are looked at: whether it writes all of them only the values of the property tell.
    """
    forms = {_form(text) for text in islice(texts, _PROBE)}
    form = forms.pop() if len(forms) == 1 else ""
    return TimeOfDay(name, form) if form else None


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return ""
    _, between, minutes, seconds, point, fraction = match.groups()
    out = "HH"
    if minutes:
        out += f"{between}mm"
    if seconds:
        out += f"{between}ss"
    return out + f"{point}{'f' * len(fraction)}" if fraction else out
