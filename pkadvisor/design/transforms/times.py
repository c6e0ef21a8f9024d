"""Times as text: UTC periods, ticks, and ticks counted down."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from pkadvisor.design.transforms.base import (
    FORBIDDEN,
    Context,
    Unary,
    Value,
    moment_of,
    over_span,
    read_whole,
    shown_name,
)
from pkadvisor.table.edm import TICKS_MAX, TICKS_UNIX_EPOCH, EdmType

if TYPE_CHECKING:
    import polars as pl

TICKS_DIGITS = 19
TIMES = (EdmType.DATETIME,)

TIME_TOKENS = {
    "yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "YYYY": "%G", "ww": "%V",
}  # fmt: skip
"""What a time pattern is made of, and what it is for strftime; ``YYYY`` and ``ww`` are year and week of ISO 8601."""
TIME_UNITS = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}
_WEEK = ("YYYY", "ww")
_PIECES = re.compile("|".join(TIME_TOKENS) + "|.", re.DOTALL)


def tokens(pattern: str) -> tuple[str, ...]:
    """The tokens of a time pattern in the order in which they stand."""
    return tuple(piece for piece in _PIECES.findall(pattern) if piece in TIME_TOKENS)


def check_pattern(pattern: str) -> None:
    """ValueError on a letter that is no token, on what a key must not contain, and where the tokens name no period.

    A period has each unit from the year down to its finest once, in any order, or ``YYYY`` and ``ww``. The letters
    ``T``, ``Z`` and a ``W`` before ``ww`` stand for themselves, as ISO 8601 has them: 20261101T12Z, 2026-W45.
    """
    for match in _PIECES.finditer(pattern):
        piece = match.group()
        if piece in TIME_TOKENS or piece in ("T", "Z") or (piece == "W" and pattern.startswith("ww", match.end())):
            continue
        if piece.isalpha() or piece == "%":
            raise ValueError(f"'{piece}' in time format '{pattern}' is none of {' '.join(TIME_TOKENS)}")
        if piece in FORBIDDEN or piece in "~{}'" or piece.isdigit():
            raise ValueError(f"{piece!r} in time format {pattern!r} is not allowed in a key")
    found = tokens(pattern)
    units = list(TIME_UNITS)
    if sorted(found) == sorted(_WEEK):
        return
    if not found or not set(found) <= set(units) or sorted(found, key=units.index) != units[: len(found)]:
        raise ValueError(
            f"time format '{pattern}' is no period: it takes each of yyyy MM dd … down to its finest once, or YYYY-Www"
        )


def time_unit(pattern: str) -> str:
    """The finest unit of a time pattern: ``'yyyyMMdd'`` → ``day``, ``'YYYY-Www'`` → ``week``."""
    found = tokens(pattern)
    if set(found) == set(_WEEK):
        return "week"
    return [unit for token, unit in TIME_UNITS.items() if token in found][-1]


def descends(pattern: str) -> bool:
    """Whether a pattern runs from the year down, so that its text order is time order."""
    found = tokens(pattern)
    return found in (_WEEK, tuple(TIME_UNITS)[: len(found)])


_SECONDS = {"HH": 3600, "mm": 60, "ss": 1}
"""The tokens of the time of day, and the seconds in one of each."""
_DAY = 86_400


def period_expression(moments: pl.Expr, pattern: str) -> pl.Expr:
    """The periods of a DateTime column; null stays null.

    A year has 365 days and a day 86 400 seconds: each is written once, and the rest is looking up.
    """
    import polars as pl

    seconds = moments.dt.epoch("us") // 1_000_000
    days = (seconds // _DAY).cast(pl.Int32)
    of_day = (seconds - days.cast(pl.Int64) * _DAY).cast(pl.Int32)
    out = []
    for run, unit in _runs(pattern):
        form = "".join(TIME_TOKENS.get(piece, piece) for piece in run)
        out.append(_dates(days, form) if unit == _DAY else _times(of_day // unit, unit, form))
    return pl.concat_str(out)


def _dates(days: pl.Expr, form: str) -> pl.Expr:
    import polars as pl

    return over_span(days, lambda n: n.cast(pl.Date).dt.strftime(form))


def _times(periods: pl.Expr, unit: int, form: str) -> pl.Expr:
    import polars as pl

    return over_span(periods, lambda n: (n.cast(pl.Int64) * (unit * 10**9)).cast(pl.Time).dt.strftime(form))


def _runs(pattern: str) -> list[tuple[list[str], int]]:
    """A pattern cut where it changes between date and time of day, and the finest unit of each piece in seconds."""
    out: list[tuple[list[str], int]] = []
    for piece in _PIECES.findall(pattern):
        unit = _SECONDS.get(piece, _DAY)
        if not out or (piece in TIME_TOKENS and (unit == _DAY) != (out[-1][1] == _DAY)):
            out.append(([piece], unit))
        else:
            out[-1] = ([*out[-1][0], piece], min(unit, out[-1][1]))
    return out


@dataclass(frozen=True, slots=True)
class Time(Unary):
    """The UTC period that a DateTime falls into, written with yyyy MM dd HH mm ss, or YYYY and ww for ISO weeks.

    Laws: ascending (not strictly) where the pattern runs from the year down; not injective; decodes to the first moment
    of the period.
    """

    property: str
    format: str
    injective: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    function: ClassVar[str] = "time"
    reads: ClassVar[tuple[EdmType, ...] | None] = TIMES

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
        }
        return "".join(shown.get(piece, piece) for piece in _PIECES.findall(self.format))

    def plain_expression(self, context: Context) -> pl.Expr:
        import polars as pl

        return period_expression(pl.col(self.property), self.format)

    def value_of(self, plain: str, context: Context) -> object:
        match = re.fullmatch(self._regex(named=True), plain)
        if match is None:
            raise ValueError(f"{plain[:40]!r} is not {self.format}")
        found = {name: int(digits) for name, digits in match.groupdict().items()}
        if "YYYY" in found:
            day = date.fromisocalendar(found["YYYY"], found["ww"], 1)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        units = [found.get(token, 0 if token in ("HH", "mm", "ss") else 1) for token in TIME_UNITS]
        return datetime(*units, tzinfo=UTC)  # type: ignore[arg-type,misc]

    def order(self, context: Context) -> int:
        return 1 if descends(self.format) else 0

    def _regex(self, *, named: bool) -> str:
        out = ""
        for piece in _PIECES.findall(self.format):
            if piece in TIME_TOKENS:
                digits = f"[0-9]{{{len(piece)}}}"
                out += f"(?P<{piece}>{digits})" if named else digits
            else:
                out += re.escape(piece)
        return out

    def shape(self, context: Context) -> str:
        return self._regex(named=False)

    def __str__(self) -> str:
        return f"{{time({shown_name(self.property)},'{self.format}')}}"


def _ticks_column(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).dt.epoch("us") * 10 + TICKS_UNIX_EPOCH


@dataclass(frozen=True, slots=True)
class Ticks(Unary):
    """A DateTime as 19 digits of 100-ns ticks since 0001-01-01 UTC.

    Laws: injective; ascending; decodes.
    """

    property: str
    function: ClassVar[str] = "ticks"
    reads: ClassVar[tuple[EdmType, ...] | None] = TIMES

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        return f"{value:0{TICKS_DIGITS}d}"

    def plain_expression(self, context: Context) -> pl.Expr:
        import polars as pl

        return _ticks_column(self.property).cast(pl.String).str.pad_start(TICKS_DIGITS, "0")

    def value_of(self, plain: str, context: Context) -> object:
        return moment_of(read_whole(plain))

    def order(self, context: Context) -> int:
        return 1

    def shape(self, context: Context) -> str:
        return f"[0-9]{{{TICKS_DIGITS}}}"

    def __str__(self) -> str:
        return f"{{ticks({shown_name(self.property)})}}"


@dataclass(frozen=True, slots=True)
class ReverseTicks(Unary):
    """``DateTime.MaxValue.Ticks`` minus the ticks, 19 digits: the newest first (log-tail pattern).

    Laws: injective; descending; decodes.
    """

    property: str
    function: ClassVar[str] = "reverse_ticks"
    reads: ClassVar[tuple[EdmType, ...] | None] = TIMES

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        return f"{TICKS_MAX - value:0{TICKS_DIGITS}d}"

    def plain_expression(self, context: Context) -> pl.Expr:
        import polars as pl

        ticks = TICKS_MAX - _ticks_column(self.property)
        return ticks.cast(pl.String).str.pad_start(TICKS_DIGITS, "0")

    def value_of(self, plain: str, context: Context) -> object:
        return moment_of(TICKS_MAX - read_whole(plain))

    def order(self, context: Context) -> int:
        return -1

    def shape(self, context: Context) -> str:
        return f"[0-9]{{{TICKS_DIGITS}}}"

    def __str__(self) -> str:
        return f"{{reverse_ticks({shown_name(self.property)})}}"
