"""Key transforms: the closed set of functions from properties to a piece of key text.

Every transform encodes one value to text and offers the same encoding as a polars expression. What each promises:

| transform | text | injective | order-preserving |
| --- | --- | --- | --- |
| ``{p}`` | canonical text, escaped | yes | strings without escapes, DateTime, Guid; not numbers |
| ``{pad(p,n)}`` | zero-padded integer of n digits | whole numbers | within n digits, also below zero |
| ``{reverse_pad(p,n)}`` | 10^n - 1 - p, zero-padded | whole numbers | descending within n digits |
| ``{time(p,'yyyyMMdd')}`` | UTC period | no | yes, where the format runs from the year down |
| ``{ticks(p)}`` | 19 digits of 100 ns since year 1 | yes | yes |
| ``{reverse_ticks(p)}`` | 19 digits counting down from year 9999 | yes | descending |
| ``{hash(p,n)}`` | bucket 0…n-1, zero-padded | no | no |
| ``{seq(n)}`` | a number the application assigns among equal keys | with its key | no |

Canonical text: a string as it is, an integer without padding, a double in its shortest round-trip form,
``true``/``false``, a Guid in lower case, a time as UTC ``yyyy-MM-ddTHH:mm:ss.fffffffZ``.
Escape: ``~`` and four hex digits of each UTF-16 code unit, for ``~`` itself, for what the service forbids in keys
(``/ \\ # ?``, U+0000–U+001F, U+007F–U+009F) and for the characters of the separators in the same key. A missing value
is ``~-``; an empty string is empty, so the two differ. A whole key is injective where its variable parts are, where
literal text stands between them, and where that text has no ``~`` (which would read as an escape).
"""

from __future__ import annotations

import builtins
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Union

from pkadvisor.table.edm import TICKS_MAX, TICKS_UNIX_EPOCH, EdmType

if TYPE_CHECKING:
    import polars as pl

Value = Union[str, int, float, bool, bytes, None]  # noqa: UP007  (a runtime alias that reads as the table in edm.py)

MISSING = "~-"
FORBIDDEN = frozenset("/\\#?") | {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0))}
TICKS_DIGITS = 19


def escape(text: str, separators: str = "") -> str:
    """The text with forbidden characters, ``~`` and the separators' characters escaped."""
    if not (set(text) & (FORBIDDEN | {"~"} | set(separators))):
        return text
    special = FORBIDDEN | {"~"} | set(separators)
    return "".join(_escaped(c) if c in special else c for c in text)


def _escaped(character: str) -> str:
    """``~`` and four hex digits for each UTF-16 code unit of a character: one, or two beyond U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"~{units[i : i + 4]}" for i in range(0, len(units), 4))


def unescape(text: str) -> str:
    """The inverse of ``escape``; a ``~`` that begins no escape stays as it is."""

    def characters(match: re.Match[str]) -> str:
        units = bytes.fromhex(match.group().replace("~", ""))
        return units.decode("utf-16-be", "surrogatepass")

    return re.sub(r"(?:~[0-9A-F]{4})+", characters, text)


def canonical_text(value: Value, edm: EdmType) -> str:
    """The canonical text of a value that is present; DateTime values are ticks."""
    if edm is EdmType.DATETIME:
        assert isinstance(value, int)
        from pkadvisor.table.edm import format_ticks

        return format_ticks(value)
    if edm is EdmType.BOOLEAN:
        return "true" if value else "false"
    if edm is EdmType.BINARY:
        assert isinstance(value, bytes)
        return value.hex()
    if edm is EdmType.DOUBLE:
        return repr(value)
    if edm is EdmType.GUID:
        return str(value).lower()
    return str(value)


def canonical_expression(name: str, edm: EdmType) -> pl.Expr:
    """``canonical_text`` over a column; null stays null."""
    import polars as pl

    column = pl.col(name)
    if edm is EdmType.DATETIME:
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f") + "0Z"
    if edm is EdmType.BOOLEAN:
        return pl.when(column).then(pl.lit("true")).when(~column).then(pl.lit("false"))
    if edm is EdmType.DOUBLE:
        return column.map_elements(repr, return_dtype=pl.String)
    if edm is EdmType.BINARY:
        return column.bin.encode("hex")
    if edm is EdmType.GUID:
        return column.str.to_lowercase()
    return column.cast(pl.String)


def escape_expression(expression: pl.Expr, separators: str = "") -> pl.Expr:
    """``escape`` over a String expression."""
    special = sorted(FORBIDDEN | {"~"} | set(separators))
    return expression.str.replace_many(special, [_escaped(c) for c in special])


@dataclass(frozen=True, slots=True)
class Context:
    """What an encoding needs to know besides the value: property types and the separators of the key it stands in."""

    types: dict[str, EdmType]
    separators: str = ""

    def edm(self, name: str) -> EdmType:
        """The type of a property; String where unknown."""
        return self.types.get(name, EdmType.STRING)


@dataclass(frozen=True, slots=True)
class Literal:
    """Fixed text. Its forbidden characters are an error of the template, not escaped."""

    text: str
    properties: ClassVar[tuple[str, ...]] = ()
    injective: ClassVar[bool] = True
    function: ClassVar[str] = ""

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The text itself."""
        return self.text

    def expression(self, context: Context) -> pl.Expr:
        """The text itself."""
        import polars as pl

        return pl.lit(self.text)

    def __str__(self) -> str:
        return self.text.replace("{", "{{").replace("}", "}}")


class _Unary:
    """What transforms of one property share: a missing value is ``~-``."""

    __slots__ = ()
    property: str
    function: ClassVar[str]

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        """The properties read."""
        return (self.property,)

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The key text of one entity."""
        value = values.get(self.property)
        return MISSING if value is None else self.text_of(value, context)

    def text_of(self, value: Value, context: Context) -> str:
        """The key text of a value that is present."""
        raise NotImplementedError

    def column(self, context: Context) -> pl.Expr:
        """``text_of`` over a column; null where missing."""
        raise NotImplementedError

    def expression(self, context: Context) -> pl.Expr:
        """The key text as a polars expression."""
        return self.column(context).fill_null(MISSING)


@dataclass(frozen=True, slots=True)
class Field(_Unary):
    """The property's canonical text, escaped."""

    property: str
    injective: ClassVar[bool] = True
    function: ClassVar[str] = ""

    def text_of(self, value: Value, context: Context) -> str:
        return escape(canonical_text(value, context.edm(self.property)), context.separators)

    def column(self, context: Context) -> pl.Expr:
        return escape_expression(canonical_expression(self.property, context.edm(self.property)), context.separators)

    def __str__(self) -> str:
        return f"{{{self.property}}}"


def _pad(number: int, width: int) -> str:
    """Zero-padded; below zero a ``-`` and the complement, so that order is kept (``-`` sorts before digits)."""
    return f"{number:0{width}d}" if number >= 0 else f"-{10**width + number:0{width}d}"


def _pad_expression(number: pl.Expr, width: int) -> pl.Expr:
    """``_pad`` over an Int128 expression: 10^width and its complements do not fit into 64 bits."""
    import polars as pl

    text = number.cast(pl.String).str.zfill(width)
    below = "-" + (number + 10**width).cast(pl.String).str.zfill(width)
    return pl.when(number >= 0).then(text).otherwise(below)


@dataclass(frozen=True, slots=True)
class Pad(_Unary):
    """A whole number, zero-padded to ``width`` digits; text order is number order.

    A String property that holds digits is padded as text, so that ``7`` and ``07`` share a key. A number of more digits
    than ``width`` is written in full and then sorts wrongly: the width must come from the data, with head-room.
    """

    property: str
    width: int
    injective: ClassVar[bool] = True
    function: ClassVar[str] = "pad"

    def text_of(self, value: Value, context: Context) -> str:
        if isinstance(value, str):
            return escape(value.rjust(self.width, "0"), context.separators)
        assert value is not None
        return _pad(int(value), self.width)

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        column = pl.col(self.property)
        if context.edm(self.property) is EdmType.STRING:
            return escape_expression(column.str.pad_start(self.width, "0"), context.separators)
        return _pad_expression(column.cast(pl.Int128), self.width)

    def __str__(self) -> str:
        return f"{{pad({self.property},{self.width})}}"


_WHOLE = "-?[0-9]{1,19}"


@dataclass(frozen=True, slots=True)
class ReversePad(_Unary):
    """``10^width - 1 - p``, zero-padded: the greatest number first."""

    property: str
    width: int
    injective: ClassVar[bool] = True
    function: ClassVar[str] = "reverse_pad"

    def text_of(self, value: Value, context: Context) -> str:
        assert value is not None
        if isinstance(value, str) and not re.fullmatch(_WHOLE, value):
            return escape(value, context.separators)  # no number, or a hidden value of a profile
        return _pad(10**self.width - 1 - int(value), self.width)

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        column = pl.col(self.property)
        if context.edm(self.property) is EdmType.STRING:
            whole = column.str.contains(f"^(?:{_WHOLE})$")
            number = pl.when(whole).then(column).cast(pl.Int128)
            text = _pad_expression(10**self.width - 1 - number, self.width)
            return pl.when(whole).then(text).otherwise(escape_expression(column, context.separators))
        return _pad_expression(10**self.width - 1 - column.cast(pl.Int128), self.width)

    def __str__(self) -> str:
        return f"{{reverse_pad({self.property},{self.width})}}"


TIME_TOKENS = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S"))
"""Custom format letters of .NET that a time bucket accepts, and what they are for strftime."""
TIME_UNITS = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour", "mm": "minute", "ss": "second"}


def _tokens(pattern: str) -> tuple[str, ...]:
    """The tokens of a time pattern in the order in which they stand."""
    return tuple(re.findall("|".join(TIME_UNITS), pattern))


def strftime_format(pattern: str) -> str:
    """The strftime form of a .NET-like pattern.

    Raises ValueError on a letter that is no token, on what a key must not contain, and where the tokens name no period:
    each unit from the year down to the finest must stand there once, in any order.
    """
    rest, out = pattern, ""
    while rest:
        for token, strf in TIME_TOKENS:
            if rest.startswith(token):
                out += strf
                rest = rest[len(token) :]
                break
        else:
            if rest[0].isalpha() or rest[0] == "%":
                raise ValueError(f"'{rest[0]}' in time format '{pattern}' is none of yyyy MM dd HH mm ss")
            if rest[0] in FORBIDDEN or rest[0] == "~":
                raise ValueError(f"{rest[0]!r} in time format {pattern!r} is not allowed in a key")
            out += rest[0]
            rest = rest[1:]
    tokens = _tokens(pattern)
    if not tokens or sorted(tokens, key=list(TIME_UNITS).index) != list(TIME_UNITS)[: len(tokens)]:
        raise ValueError(f"time format '{pattern}' is no period: it takes each of yyyy MM dd … down to its finest once")
    return out


def time_unit(pattern: str) -> str:
    """The finest unit of a time pattern: ``'yyyyMMdd'`` → ``day``."""
    finest = ""
    for token, unit in TIME_UNITS.items():
        if token in pattern:
            finest = unit
    return finest


@dataclass(frozen=True, slots=True)
class Time(_Unary):
    """The UTC period that a DateTime falls into, written with yyyy MM dd HH mm ss."""

    property: str
    pattern: str
    injective: ClassVar[bool] = False
    function: ClassVar[str] = "time"

    def text_of(self, value: Value, context: Context) -> str:
        from datetime import UTC, datetime, timedelta

        assert isinstance(value, int)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(value - TICKS_UNIX_EPOCH) // 10)
        text = self.pattern
        for token, shown in (
            ("yyyy", f"{moment.year:04d}"),
            ("MM", f"{moment.month:02d}"),
            ("dd", f"{moment.day:02d}"),
            ("HH", f"{moment.hour:02d}"),
            ("mm", f"{moment.minute:02d}"),
            ("ss", f"{moment.second:02d}"),
        ):
            text = text.replace(token, shown)
        return text

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        return pl.col(self.property).dt.strftime(strftime_format(self.pattern))

    def __str__(self) -> str:
        return f"{{time({self.property},'{self.pattern}')}}"


@dataclass(frozen=True, slots=True)
class Ticks(_Unary):
    """A DateTime as 19 digits of 100-ns ticks since 0001-01-01 UTC."""

    property: str
    injective: ClassVar[bool] = True
    function: ClassVar[str] = "ticks"

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        return f"{value:0{TICKS_DIGITS}d}"

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        ticks = pl.col(self.property).dt.epoch("us") * 10 + TICKS_UNIX_EPOCH
        return ticks.cast(pl.String).str.pad_start(TICKS_DIGITS, "0")

    def __str__(self) -> str:
        return f"{{ticks({self.property})}}"


@dataclass(frozen=True, slots=True)
class ReverseTicks(_Unary):
    """``DateTime.MaxValue.Ticks`` minus the ticks, 19 digits: the newest first (log-tail pattern)."""

    property: str
    injective: ClassVar[bool] = True
    function: ClassVar[str] = "reverse_ticks"

    def text_of(self, value: Value, context: Context) -> str:
        assert isinstance(value, int)
        return f"{TICKS_MAX - value:0{TICKS_DIGITS}d}"

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        ticks = TICKS_MAX - (pl.col(self.property).dt.epoch("us") * 10 + TICKS_UNIX_EPOCH)
        return ticks.cast(pl.String).str.pad_start(TICKS_DIGITS, "0")

    def __str__(self) -> str:
        return f"{{reverse_ticks({self.property})}}"


def bucket(text: str, count: int) -> int:
    """The portable hash bucket: SHA-256 of the UTF-8, first 8 bytes big-endian, modulo ``count``."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") % count


@dataclass(frozen=True, slots=True)
class Hash(_Unary):
    """A bucket number from a property, decimal, padded to the digits of ``count - 1``.

    The hash is SHA-256 over the UTF-8 of the canonical text, so that every language computes the same bucket. A missing
    value falls into the bucket of the text ``~-``: whoever asks all buckets meets every entity.
    """

    property: str
    count: int
    injective: ClassVar[bool] = False
    function: ClassVar[str] = "hash"

    @builtins.property
    def digits(self) -> int:
        """The width of a bucket number."""
        return len(str(self.count - 1))

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The bucket of one entity."""
        value = values.get(self.property)
        return self._bucket_text(MISSING) if value is None else self.text_of(value, context)

    def _bucket_text(self, text: str) -> str:
        return f"{bucket(text, self.count):0{self.digits}d}"

    def text_of(self, value: Value, context: Context) -> str:
        return self._bucket_text(canonical_text(value, context.edm(self.property)))

    def column(self, context: Context) -> pl.Expr:
        import polars as pl

        def distinct(series: pl.Series) -> pl.Series:
            values = series.drop_nulls().unique()
            return series.replace_strict(
                values, [self._bucket_text(v) for v in values], default=None, return_dtype=pl.String
            )

        text = canonical_expression(self.property, context.edm(self.property))
        return text.map_batches(distinct, return_dtype=pl.String)

    def expression(self, context: Context) -> pl.Expr:
        """The bucket as a polars expression."""
        return self.column(context).fill_null(self._bucket_text(MISSING))

    def buckets(self) -> list[str]:
        """Every bucket's text, in order."""
        return [f"{i:0{self.digits}d}" for i in range(self.count)]

    def __str__(self) -> str:
        return f"{{hash({self.property},{self.count})}}"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A number that the application assigns to tell apart entities whose key would otherwise be equal.

    Over a data set it is the position among the rows with the same rest of the key, from 0, in the order of the data.
    """

    width: int
    properties: ClassVar[tuple[str, ...]] = ()
    injective: ClassVar[bool] = True
    function: ClassVar[str] = "seq"

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The number in ``values['#seq']``, 0 where absent."""
        number = values.get("#seq", 0)
        assert isinstance(number, int)
        return f"{number:0{self.width}d}"

    def expression(self, context: Context) -> pl.Expr:
        import polars as pl

        return pl.col("#seq").cast(pl.String).str.pad_start(self.width, "0")

    def __str__(self) -> str:
        return f"{{seq({self.width})}}"


Part = Literal | Field | Pad | ReversePad | Time | Ticks | ReverseTicks | Hash | Sequence

TRANSFORMS: dict[str, Callable[..., Part]] = {
    "pad": Pad,
    "reverse_pad": ReversePad,
    "time": Time,
    "ticks": Ticks,
    "reverse_ticks": ReverseTicks,
    "hash": Hash,
    "seq": Sequence,
}
"""The functions of the template language; a bare property is ``Field``, text between braces ``Literal``."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "pad": ("property", "integer"),
    "reverse_pad": ("property", "integer"),
    "time": ("property", "text"),
    "ticks": ("property",),
    "reverse_ticks": ("property",),
    "hash": ("property", "integer"),
    "seq": ("integer",),
}


def sort_direction(part: Part, types: dict[str, EdmType]) -> int:
    """+1 if key text rises with the value, -1 if it falls, 0 if text order means nothing."""
    if isinstance(part, Time):
        tokens = _tokens(part.pattern)
        return 1 if tokens == tuple(TIME_UNITS)[: len(tokens)] else 0
    if isinstance(part, Pad | Ticks):
        return 1
    if isinstance(part, ReversePad | ReverseTicks):
        return -1
    if isinstance(part, Field):
        return 0 if types.get(part.property, EdmType.STRING).numeric else 1
    return 0
