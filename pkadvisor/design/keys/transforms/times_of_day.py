"""The time of day of a DateTime as text."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import ClassVar

from pkadvisor.design.keys.transforms.base import Atom, Context, Unary, Value, completed, shown_name
from pkadvisor.design.keys.transforms.canonical import ticks_column
from pkadvisor.design.keys.transforms.escapes import FORBIDDEN
from pkadvisor.design.keys.transforms.languages import DIGITS, Language, Run
from pkadvisor.design.keys.transforms.periods import ABOVE_DIGITS, PIECES, digits_of_bound
from pkadvisor.lazy import pl
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType
from pkadvisor.values import dataclass

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
        runs: list[Run] = []
        for piece in PIECES.findall(self.pattern_of_text):
            token = piece in _UNITS or _FRACTION.fullmatch(piece)
            runs.append(Run(DIGITS, len(piece), len(piece)) if token else Run(frozenset(piece), 1, 1))
        return (tuple(runs),)

    def shape(self, context: Context) -> str:
        tokens = clock_tokens(self.pattern_of_text)
        pieces = PIECES.findall(self.pattern_of_text)
        return "".join(f"[0-9]{{{len(p)}}}" if p in tokens else re.escape(p) for p in pieces)

    def __str__(self) -> str:
        form = self.format if isinstance(self.format, int) else f"'{self.format}'"
        return f"{{time_of_day({shown_name(self.property)},{form})}}"


def _since_midnight(digits: str) -> timedelta:
    """The time that digits from the hour down tell."""
    hours, minutes, seconds = (int(digits[place : place + 2] or 0) for place in (0, 2, 4))
    micros = int(digits[6:].ljust(_MICROS, "0")[:_MICROS])
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
