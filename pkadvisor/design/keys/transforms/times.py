"""Moments as text: UTC periods, ticks, and ticks counted down."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import ClassVar

from pkadvisor.design.keys.transforms.base import Atom, Context, PeriodPart, Unary, Value, completed, shown_name
from pkadvisor.design.keys.transforms.canonical import moment_of, read_whole, ticks_column
from pkadvisor.design.keys.transforms.escapes import FORBIDDEN
from pkadvisor.design.keys.transforms.languages import DIGITS, Language, Run, digits
from pkadvisor.design.keys.transforms.periods import (
    ABOVE_DIGITS,
    FRACTIONS,
    PERIOD_S,
    PIECES,
    TIME_TOKENS,
    check_pattern,
    descends,
    digits_of_bound,
    first_moment,
    next_unit,
    period_expression,
    period_start,
    time_unit,
    tokens,
)
from pkadvisor.lazy import pl
from pkadvisor.table.edm import TICKS_MAX, TICKS_PER_SECOND, TICKS_UNIX_EPOCH, EdmType
from pkadvisor.values import dataclass

TICKS_DIGITS = 19
SHORT_TICKS_DIGITS = 18
"""The digits of the ticks of the years 318 to 3168 where nobody pads them."""
_TICKS_ONLY = f"^(?:[0-3][0-9]{{{TICKS_DIGITS - 1}}}|[0-9]{{{SHORT_TICKS_DIGITS}}})$"
"""Ticks up to the year 9999, and beyond by less than their 64 bits hold."""
TIMES = (EdmType.DATETIME,)


def _digits_and_text(pattern: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a pattern, and whether digits stand in the place of each."""
    return ((piece, piece in TIME_TOKENS or not piece.strip("f")) for piece in PIECES.findall(pattern))


def _texts_of(pattern: str) -> Language:
    """The texts of a pattern."""
    pieces = _digits_and_text(pattern)
    return (tuple(Run(DIGITS, len(p), len(p)) if token else Run(frozenset(p), 1, 1) for p, token in pieces),)


def _shape_of(pattern: str) -> str:
    """The texts of a pattern as a regular expression."""
    return "".join(f"[0-9]{{{len(p)}}}" if token else re.escape(p) for p, token in _digits_and_text(pattern))


class _OfTime(Unary):
    """What moments and periods of a DateTime share."""

    __slots__ = ()
    takes: ClassVar[tuple[str, ...]] = ("property",)
    reads: ClassVar[tuple[EdmType, ...] | None] = TIMES
    usual_type: ClassVar[EdmType | None] = EdmType.DATETIME
    tells_time: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Time(_OfTime, PeriodPart):
    """The UTC period that a DateTime falls into, written with yyyy MM dd HH mm ss and digits of the second's
    fraction (fff, ffffff, fffffff), or YYYY and ww for ISO weeks.

    Laws: ascending (not strictly) where the pattern runs from the year down; not injective; decodes to the first moment
    of the period.
    """

    property: str
    format: str
    injective: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    function: ClassVar[str] = "time"
    takes: ClassVar[tuple[str, ...]] = ("property", "format")
    makes_source: ClassVar[bool] = True

    @builtins.property
    def unit(self) -> str:
        return time_unit(self.format)

    @builtins.property
    def to_the_second(self) -> bool:
        return PERIOD_S[self.unit] <= 1.0

    @builtins.property
    def atom(self) -> Atom | None:
        return ("t", self.property, self.unit)

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        return f"'{self.format}' does not run from the year down"

    def __post_init__(self) -> None:
        check_pattern(self.format)

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(value - TICKS_UNIX_EPOCH) // 10)
        week_year, week, _ = moment.isocalendar()
        shown = {
            "yyyy": f"{moment.year:04d}",
            "MM": f"{moment.month:02d}",
            "dd": f"{moment.day:02d}",
            "HH": f"{moment.hour:02d}",
            "mm": f"{moment.minute:02d}",
            "ss": f"{moment.second:02d}",
            "YYYY": f"{week_year:04d}",
            "ww": f"{week:02d}",
            **{token: f"{value % TICKS_PER_SECOND:07d}"[: len(token)] for token in FRACTIONS},
        }
        return "".join(shown.get(piece, piece) for piece in PIECES.findall(self.format))

    def plain_expression(self, context: Context) -> pl.Expr:
        return period_expression(pl.col(self.property), self.format)

    def value_of(self, plain: str, context: Context) -> object:
        start = period_start(plain, self.format)
        if start is None:
            raise ValueError(f"{plain[:40]!r} is not {self.format}")
        return start

    def last_moment(self, first: datetime) -> datetime:
        """The last microsecond of the period that begins with a moment; ValueError or OverflowError after year 9999."""
        unit = self.unit
        if unit in ("year", "month"):
            following = next_unit(first, ("year", "month").index(unit))
        else:
            following = first + timedelta(microseconds=round(PERIOD_S[unit] * 1e6))
        return following - timedelta(microseconds=1)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        if not descends(self.format):
            return None  # only what runs from the year down can be cut anywhere
        bound = digits_of_bound(text, self.format)
        upper = upper or bound.endswith(ABOVE_DIGITS)
        number = completed(bound, sum(map(len, tokens(self.format))), "0123456789", upper=upper)
        return None if number is None else first_moment(number, self.format)

    def order(self, context: Context) -> int:
        return 1 if descends(self.format) else 0

    def plain_texts(self, context: Context) -> Language:
        return _texts_of(self.format)

    def shape(self, context: Context) -> str:
        return _shape_of(self.format)

    def __str__(self) -> str:
        return f"{{time({shown_name(self.property)},'{self.format}')}}"


class _InTicks(_OfTime):
    """The digits of ticks, or of those that are left until the last moment."""

    __slots__ = ()
    property: str
    digits: int
    _left: ClassVar[bool] = False

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        return f"{TICKS_MAX - value if self._left else value:0{self.digits}d}"

    def plain_expression(self, context: Context) -> pl.Expr:
        ticks = ticks_column(self.property)
        ticks = TICKS_MAX - ticks if self._left else ticks
        return ticks.cast(pl.String).str.pad_start(self.digits, "0")

    def value_of(self, plain: str, context: Context) -> object:
        return moment_of(TICKS_MAX - read_whole(plain) if self._left else read_whole(plain))

    def decode_column(self, texts: pl.Series, context: Context, dtype: pl.DataType) -> pl.Series:
        if not texts.str.contains(_TICKS_ONLY).fill_null(True).all():
            return super().decode_column(texts, context, dtype)
        ticks = texts.cast(pl.Int64)
        ticks = TICKS_MAX - ticks if self._left else ticks
        return ((ticks - TICKS_UNIX_EPOCH) // 10).cast(dtype)  # cut to microseconds as ``moment_of`` cuts

    def order(self, context: Context) -> int:
        return -1 if self._left else 1

    def plain_texts(self, context: Context) -> Language:
        return digits(self.digits, TICKS_DIGITS)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        number = completed(text, self.digits, "0123456789", upper=upper)
        if number is None or self._left:
            return None if number is None else self.decode(number, context)
        return moment_of(int(number) + (9 if upper else 0))  # a moment has microseconds, of ten ticks each

    def shape(self, context: Context) -> str:
        return f"[0-9]{{{self.digits}}}"

    def fixed_width(self, context: Context) -> bool:
        return self.digits == TICKS_DIGITS

    def __str__(self) -> str:
        shown = "" if self.digits == TICKS_DIGITS else f",{self.digits}"
        return f"{{{self.function}({shown_name(self.property)}{shown})}}"


@dataclass(frozen=True, slots=True)
class Ticks(_InTicks):
    """A DateTime as 19 digits of 100-ns ticks since 0001-01-01 UTC, or as 18, which is what .NET writes without a
    format.

    Laws: injective; ascending, with 18 digits up to the year 3168; decodes.
    """

    property: str
    digits: int = TICKS_DIGITS
    function: ClassVar[str] = "ticks"
    takes: ClassVar[tuple[str, ...]] = ("property", "[integer]")
    integers: ClassVar[tuple[int, int]] = (SHORT_TICKS_DIGITS, TICKS_DIGITS)
    makes_source: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ReverseTicks(_InTicks):
    """``DateTime.MaxValue.Ticks`` minus the ticks, 19 digits: the newest first (log-tail pattern).

    Laws: injective; descending; decodes.
    """

    property: str
    digits: ClassVar[int] = TICKS_DIGITS  # type: ignore[misc]
    function: ClassVar[str] = "reverse_ticks"
    _left: ClassVar[bool] = True


# -- The time of day of a DateTime as text.


TO_THE_SECOND = "HHmmss"
_UNITS = {"HH": (3600, 24, "hour"), "mm": (60, 60, "minute"), "ss": (1, 60, "second")}
"""The tokens from the hour down: the seconds in one, how many make the next, and its name."""
_FRACTION = re.compile("f{1,7}")
_MICROS = 6
"""Digits of the second's fraction that a moment has."""


@lru_cache(maxsize=256)
def clock_tokens(pattern: str) -> tuple[str, ...]:
    """The tokens of a format of the time of day; ValueError where it is none.

    It has ``HH``, ``mm`` and ``ss`` in this order, each once, down to its finest; behind ``ss`` 1 to 7 digits ``f`` of
    the second's fraction. What stands between is no letter, no digit and nothing that a key must not contain.
    """
    found = []
    for piece in PIECES.findall(pattern):
        if piece in _UNITS or _FRACTION.fullmatch(piece):
            found.append(piece)
        elif piece.isalnum() or piece in FORBIDDEN or piece in "~{}'%":
            raise ValueError(f"{piece!r} in time of day '{pattern}' is none of HH mm ss f and no separator")
    units = found[:-1] if found and found[-1][0] == "f" and len(found) > len(_UNITS) else found
    if not units or units != list(_UNITS)[: len(units)]:
        raise ValueError(f"'{pattern}' is no time of day: write HH, HHmm or HHmmss, with separators if you have some")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class TimeOfDay(Unary):
    """The UTC time of day in a format such as HH, HHmm, HH:mm or HHmmssfff.

    A number in place of the format is ``HHmmss`` with so many digits of the second's fraction: 0, or up to the 7 of a
    tick. Laws: rises within one day, and begins anew with the next; not injective; what is finer is cut off.
    """

    property: str
    format: str | int
    injective: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    function: ClassVar[str] = "time_of_day"
    takes: ClassVar[tuple[str, ...]] = ("property", "integer or format")
    integers: ClassVar[tuple[int, int]] = (0, 7)
    reads: ClassVar[tuple[EdmType, ...] | None] = (EdmType.DATETIME,)
    usual_type: ClassVar[EdmType | None] = EdmType.DATETIME
    rises_within: ClassVar[tuple[str, ...]] = ("day", "hour", "minute", "second", "millisecond", "microsecond")

    def __post_init__(self) -> None:
        """One format has one form: ``'HHmmssfff'`` is 3."""
        clock_tokens(self.pattern_of_text)
        fraction = self.pattern_of_text.removeprefix(TO_THE_SECOND)
        if self.pattern_of_text.startswith(TO_THE_SECOND) and not fraction.strip("f"):
            object.__setattr__(self, "format", len(fraction))

    @builtins.property
    def pattern_of_text(self) -> str:
        """The format in letters: ``HHmmssfff`` for 3."""
        return TO_THE_SECOND + "f" * self.format if isinstance(self.format, int) else self.format

    @builtins.property
    def clock_unit(self) -> str:
        finest = clock_tokens(self.pattern_of_text)[-1]
        if finest in _UNITS:
            return _UNITS[finest][2]
        return "millisecond" if len(finest) <= 3 else "microsecond" if len(finest) <= _MICROS else "tick of 100 ns"

    @builtins.property
    def lasts(self) -> timedelta:
        """How long a text stays the same; nothing where it tells the second, which stands for the moment itself."""
        return timedelta(hours=self.coarse_unit == "hour", minutes=self.coarse_unit == "minute")

    @builtins.property
    def atom(self) -> Atom | None:
        return ("f", str(self))

    def disorder(self, context: Context, fits: Callable[[str, int], bool]) -> str:
        return f"the time of day of {self.property} begins anew every day"

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        seconds, ticks = divmod(value, TICKS_PER_SECOND)
        out = ""
        for piece in PIECES.findall(self.pattern_of_text):
            if piece in _UNITS:
                size, many, _ = _UNITS[piece]
                piece = f"{seconds // size % many:02d}"
            out += f"{ticks:07d}"[: len(piece)] if _FRACTION.fullmatch(piece) else piece
        return out

    def plain_expression(self, context: Context) -> pl.Expr:
        ticks = ticks_column(self.property)
        seconds, fraction = ticks // TICKS_PER_SECOND, ticks % TICKS_PER_SECOND
        texts: list[pl.Expr] = []
        number, width = pl.lit(0, pl.Int64), 0
        for piece in [*PIECES.findall(self.pattern_of_text), ""]:
            if piece in _UNITS:
                size, many, _ = _UNITS[piece]
                number, width = number * 100 + seconds // size % many, width + 2
            elif _FRACTION.fullmatch(piece):
                shown = fraction // int(10 ** (7 - len(piece)))
                number, width = number * int(10 ** len(piece)) + shown, width + len(piece)
            else:
                texts += [number.cast(pl.String).str.pad_start(width, "0")] if width else []
                texts += [pl.lit(piece)] if piece else []
                number, width = pl.lit(0, pl.Int64), 0
        return pl.concat_str(texts)

    def first_value(self, text: str, context: Context, *, upper: bool = False) -> object:
        """The time since midnight; None where the text is none."""
        bound = digits_of_bound(text, self.pattern_of_text)
        upper = upper or bound.endswith(ABOVE_DIGITS)
        width = sum(map(len, clock_tokens(self.pattern_of_text)))
        digits = completed(bound, width, "0123456789", upper=upper)
        return None if digits is None else _since_midnight(digits)

    def clock_of(self, text: str) -> timedelta:
        """The time since midnight that a whole text tells; ValueError where it is none."""
        if not re.fullmatch(self.shape(Context({})), text):
            raise ValueError(f"{text[:40]!r} is no time of day {self.pattern_of_text}")
        return _since_midnight("".join(c for c in text if c.isdigit()))

    def plain_texts(self, context: Context) -> Language:
        return _texts_of(self.pattern_of_text)

    def shape(self, context: Context) -> str:
        return _shape_of(self.pattern_of_text)

    def __str__(self) -> str:
        form = self.format if isinstance(self.format, int) else f"'{self.format}'"
        return f"{{time_of_day({shown_name(self.property)},{form})}}"


def _since_midnight(digits: str) -> timedelta:
    """The time that digits from the hour down tell."""
    hours, minutes, seconds = (int(digits[place : place + 2] or 0) for place in (0, 2, 4))
    micros = int(digits[6:].ljust(_MICROS, "0")[:_MICROS])
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
