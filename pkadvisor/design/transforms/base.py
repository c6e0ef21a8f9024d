"""What every transform stands on: canonical text, escapes, the form of a missing value, and the base classes.

Canonical text: a string as it is, an integer without padding, ``true``/``false``, a Guid in lower case, a time as UTC
``yyyy-MM-ddTHH:mm:ss.fffffffZ``, bytes as lower-case hex, and a double as the fewest digits that read back as it:
``0.1`` and ``1.0`` from 10^-4 to below 10^16, ``1e-05`` and ``1.5e+16`` beyond, ``INF``, ``-INF``, ``NaN``;
-0.0 is 0.0.
Escape: ``~`` and four upper-case hex digits of each UTF-16 code unit, for ``~`` itself, for what the service forbids in
keys (``/ \\ # ?``, U+0000–U+001F, U+007F–U+009F), for U+FFFF and for the characters of the separators in the same key.
A missing value is ``~-``; an empty string is empty, so the two differ.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Union

from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType, format_double, format_ticks

if TYPE_CHECKING:
    import polars as pl

Value = Union[str, int, float, bool, bytes, None]  # noqa: UP007  (a runtime alias that reads as the table in edm.py)

MISSING = "~-"
FORBIDDEN = frozenset("/\\#?") | {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0))}
RANGE_END = "\uffff"
"""Ends a range of keys with a common beginning; escaped inside values, so that no key reaches it."""
_ESCAPED = FORBIDDEN | {"~", RANGE_END}
ANY_TEXT = r"(?:~-|~[0-9A-F]{4}|[^~]|~(?!-|[0-9A-F]{4}))*?"
"""A pattern for any text, cut only between escapes; the least that fits."""


def escape(text: str, separators: str = "") -> str:
    """The text with forbidden characters, ``~`` and the separators' characters escaped."""
    special = _ESCAPED | set(separators)
    if special.isdisjoint(text):
        return text
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


def escape_expression(expression: pl.Expr, separators: str = "") -> pl.Expr:
    """``escape`` over a String expression."""
    import polars as pl

    special = sorted(_ESCAPED | set(separators))
    escapes = [_escaped(c) for c in special]

    def escaped(texts: pl.Series) -> pl.Series:
        # Most columns hold nothing special, and looking is several times cheaper than replacing.
        if not texts.str.contains_any(special).any():
            return texts
        return texts.to_frame("t").select(pl.col("t").str.replace_many(special, escapes)).to_series()

    return expression.map_batches(escaped, return_dtype=pl.String, is_elementwise=True)


_FEW = 4
"""Values are few where there are at most a fourth as many of them as rows; finding more costs more than it saves."""
_SLICE = 1 << 16
"""Rows whose values are Python objects or numpy arrays at the same time."""


def in_slices(values: pl.Series, text_of: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """A function that takes much memory on its way, slice by slice, so that it stays bounded; null stays null.

    ``text_of`` takes values without nulls and gives as many texts.
    """
    import polars as pl

    def texts(values: pl.Series) -> pl.Series:
        starts = range(0, len(values), _SLICE)
        found = [text_of(values.slice(start, _SLICE)) for start in starts]
        return pl.concat(found) if found else pl.Series(dtype=pl.String)

    if not values.null_count():
        return texts(values)
    present = values.is_not_null()
    nothing = pl.repeat(None, len(values), dtype=pl.String, eager=True)
    return nothing.scatter(present.arg_true(), texts(values.filter(present)))


def over_distinct(texts: pl.Expr, text_of: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    """A function of texts over a String column, computed once for each distinct value where these are few.

    ``text_of`` is as for ``in_slices``; null stays null.
    """
    import polars as pl

    def mapped(series: pl.Series) -> pl.Series:
        estimate = series.approx_n_unique()  # it decides how, never what: a wrong one costs time
        assert isinstance(estimate, int)
        if estimate * _FEW > len(series):
            return in_slices(series, text_of)
        # By groups and not ``unique``, which runs on one core.
        distinct = series.alias("t").to_frame().group_by("t").len().get_column("t").drop_nulls()
        return series.replace_strict(distinct, in_slices(distinct, text_of), default=None, return_dtype=pl.String)

    return texts.map_batches(mapped, return_dtype=pl.String, is_elementwise=True)


def over_span(numbers: pl.Expr, text_of: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """A function of whole numbers, computed once for each between the least and the greatest where these are few.

    ``text_of`` must work for every number between two that occur; null stays null.
    """
    import polars as pl

    def mapped(series: pl.Series) -> pl.Series:
        low, high = least_and_greatest(series)
        frame, number = series.alias("n").to_frame(), pl.col("n")
        if (high - low + 1) * _FEW > len(series):
            return frame.select(text_of(number)).to_series()
        # Expressions throughout: a Series of 128 bits takes no arithmetic with a number.
        span = pl.select(n=pl.int_range(high - low + 1).cast(series.dtype) + low)
        places = frame.select((number - low).cast(pl.UInt32)).to_series()
        return span.select(text_of(number)).to_series().gather(places)

    return numbers.map_batches(mapped, return_dtype=pl.String, is_elementwise=True)


def least_and_greatest(numbers: pl.Series) -> tuple[int, int]:
    """The ends of a column of whole numbers; zeros where there is none."""
    low, high = numbers.min(), numbers.max()
    return (low, high) if isinstance(low, int) and isinstance(high, int) else (0, 0)


def canonical_text(value: Value, edm: EdmType) -> str:
    """The canonical text of a value that is present; DateTime values are ticks."""
    if edm is EdmType.DATETIME:
        assert isinstance(value, int)
        return format_ticks(value)
    if edm is EdmType.BOOLEAN:
        return "true" if value else "false"
    if edm is EdmType.BINARY:
        assert isinstance(value, bytes)
        return value.hex()
    if edm is EdmType.DOUBLE:
        assert isinstance(value, int | float)
        return format_double(float(value) + 0.0)  # -0.0 equals 0.0, so they share a text
    if edm is EdmType.GUID:
        return str(value).lower()
    return str(value)


def canonical_expression(name: str, edm: EdmType) -> pl.Expr:
    """``canonical_text`` over a column; null stays null."""
    import polars as pl

    column = pl.col(name)
    if edm is EdmType.DATETIME:
        from pkadvisor.design.transforms.times import period_expression

        micros = column.dt.epoch("us") % 1_000_000
        fraction = (micros + 1_000_000).cast(pl.String).str.slice(1)
        return pl.concat_str(period_expression(column, "yyyy-MM-ddTHH:mm:ss"), pl.lit("."), fraction, pl.lit("0Z"))
    if edm is EdmType.BOOLEAN:
        return pl.when(column).then(pl.lit("true")).when(~column).then(pl.lit("false"))
    if edm is EdmType.DOUBLE:
        return column.map_batches(
            lambda values: in_slices(values, _double_texts), return_dtype=pl.String, is_elementwise=True
        )
    if edm is EdmType.BINARY:
        return column.bin.encode("hex")
    if edm is EdmType.GUID:
        return column.str.to_lowercase()
    return column.cast(pl.String)


def _double_texts(values: pl.Series) -> pl.Series:
    """``format_double`` over doubles without nulls; polars itself writes some otherwise: 0.00001, inf."""
    import polars as pl

    write = repr if values.is_finite().all() else format_double  # which calls it for what is finite
    return pl.Series([write(value + 0.0) for value in values.to_list()], dtype=pl.String)  # -0.0 + 0.0 is 0.0


def read_canonical(text: str, edm: EdmType) -> object:
    """The value behind canonical text, times as aware ``datetime``; ValueError where it is none of the type."""
    if edm.integer:
        return read_whole(text)
    if edm is EdmType.DOUBLE:
        if "_" in text:  # Python would read 1_0 as ten
            raise ValueError(f"{text[:40]!r} is not a number")
        return float(text)
    if edm is EdmType.BOOLEAN:
        if text not in ("true", "false"):
            raise ValueError(f"{text[:40]!r} is neither true nor false")
        return text == "true"
    if edm is EdmType.BINARY:
        return bytes.fromhex(text)
    if edm is EdmType.DATETIME:
        from pkadvisor.table.edm import parse_datetime_ticks

        return moment_of(parse_datetime_ticks(text))
    return text.lower() if edm is EdmType.GUID else text


def read_whole(text: str) -> int:
    """A whole number in ASCII digits: ``int`` alone would also read ``1_0``, blanks and other scripts."""
    if not re.fullmatch("-?[0-9]{1,40}", text):
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def moment_of(ticks: int) -> object:
    """The aware ``datetime`` of ticks, cut to microseconds; OverflowError outside the years 1 to 9999."""
    from datetime import UTC, datetime, timedelta

    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(ticks - TICKS_UNIX_EPOCH) // 10)


def shown_name(name: str) -> str:
    """A property name as a template writes it: in backticks where it would not read as a name."""
    from pkadvisor.design.template import is_plain_name

    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Context:
    """What an encoding needs to know besides the value: property types and the separators of the key it stands in."""

    types: dict[str, EdmType]
    separators: str = ""

    def edm(self, name: str) -> EdmType:
        """The type of a property; String where unknown."""
        return self.types.get(name, EdmType.STRING)


class Transform:
    """A piece of key.

    ``injective``: different values give different texts. ``decodes``: ``decode`` gives back what was encoded.
    ``reads`` are the types of property that it takes; None for all.
    """

    __slots__ = ()
    function: ClassVar[str] = ""
    injective: ClassVar[bool] = True
    decodes: ClassVar[bool] = True
    reads: ClassVar[tuple[EdmType, ...] | None] = None

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        """The properties read, each once."""
        return ()

    def encode(self, values: dict[str, Value], context: Context) -> str:
        """The key text of one entity."""
        raise NotImplementedError

    def expression(self, context: Context) -> pl.Expr:
        """``encode`` over columns."""
        raise NotImplementedError

    def decode(self, text: str, context: Context) -> object:
        """The value behind key text, None where it is missing; ValueError where it cannot be read."""
        raise NotImplementedError

    def order(self, context: Context) -> int:
        """+1 if key text rises with the value, -1 if it falls, 0 if text order means nothing."""
        return 0

    def shape(self, context: Context) -> str:
        """A pattern of the texts of fixed width, tried before any text; empty where there is no fixed width."""
        return ""

    def fixed_width(self, context: Context) -> bool:
        """Whether every text but that of a missing value has the same length."""
        return bool(self.shape(context))

    def pattern(self, context: Context) -> str:
        """What the part looks like in a key: its fixed width first, then any text, for keys written otherwise."""
        shape = self.shape(context)
        return f"{shape}|{ANY_TEXT}" if shape else ANY_TEXT

    def renamed(self, names: dict[str, str]) -> Transform:
        """The same transform of other properties."""
        return self


class Unary(Transform):
    """A transform of one property: a missing value is ``~-``."""

    __slots__ = ()
    property: str

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def plain(self, values: dict[str, Value], context: Context) -> str | None:
        """The text before it is escaped; None where the value is missing."""
        value = values.get(self.property)
        return None if value is None else self.text_of(value, context)

    def text_of(self, value: Value, context: Context) -> str:
        """The text of a value that is present, before it is escaped."""
        raise NotImplementedError

    def plain_expression(self, context: Context) -> pl.Expr:
        """``plain`` over a column; null where missing."""
        raise NotImplementedError

    def escapes(self, context: Context) -> bool:
        """Whether the text may hold characters that must be escaped."""
        return False

    def encode(self, values: dict[str, Value], context: Context) -> str:
        plain = self.plain(values, context)
        if plain is None:
            return MISSING
        return escape(plain, context.separators) if self.escapes(context) else plain

    def expression(self, context: Context) -> pl.Expr:
        plain = self.plain_expression(context)
        escaped = escape_expression(plain, context.separators) if self.escapes(context) else plain
        return escaped.fill_null(MISSING)

    def decode(self, text: str, context: Context) -> object:
        if text == MISSING:
            return None
        return self.value_of(unescape(text), context)

    def value_of(self, plain: str, context: Context) -> object:
        """The value behind text that is no longer escaped."""
        raise ValueError(f"{self.function} cannot be undone")

    def renamed(self, names: dict[str, str]) -> Transform:
        from dataclasses import replace

        return replace(self, property=names.get(self.property, self.property))  # type: ignore[type-var]
