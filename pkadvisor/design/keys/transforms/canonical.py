"""The canonical text of a value, and back."""

from __future__ import annotations

import re
from collections.abc import Callable

from pkadvisor.design.keys.transforms.base import Value
from pkadvisor.design.keys.transforms.columns import in_slices
from pkadvisor.design.keys.transforms.escapes import unescape
from pkadvisor.design.keys.transforms.languages import ANY, DIGITS, HEX, Language, Run, exactly
from pkadvisor.design.keys.transforms.periods import period_expression
from pkadvisor.lazy import pl
from pkadvisor.table.edm import TICKS_MAX, TICKS_UNIX_EPOCH, EdmType, format_double, format_ticks, parse_datetime_ticks


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


_MOMENT = "0000-00-00T00:00:00.0000000Z"
"""The form of a canonical time: a digit for each 0."""


def canonical_texts(edm: EdmType) -> Language:
    """A language that holds every canonical text of a type."""
    if edm.integer:
        return ((Run(frozenset("-"), 0, 1), Run(DIGITS, 1, 19)),)
    if edm is EdmType.DOUBLE:
        return ((Run(frozenset("0123456789.e+-INFNa"), 1, None),),)
    if edm is EdmType.BOOLEAN:
        return (*exactly("true"), *exactly("false"))
    if edm is EdmType.BINARY:
        return ((Run(HEX, 0, None),),)
    if edm is EdmType.DATETIME:
        return (tuple(Run(DIGITS if c == "0" else frozenset(c), 1, 1) for c in _MOMENT),)
    return ANY


def canonical_expression(name: str, edm: EdmType) -> pl.Expr:
    """``canonical_text`` over a column; null stays null."""
    column = pl.col(name)
    if edm is EdmType.DATETIME:
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


def first_moment(text: str, encode: Callable[[int], str], *, upper: bool) -> object:
    """The first moment, to the microsecond, whose text is not below a bound; None where there is none.

    ``encode`` makes the text of ticks, which rises with them. Text behind that of a moment takes the moment in where
    the bound is an ``upper`` one, which ends before what is given.
    """

    try:
        ticks = parse_datetime_ticks(unescape(text)[: len(_MOMENT)])
        shown = encode(ticks // 10 * 10)
    except ValueError:
        shown = ""
    if shown and text.startswith(shown):
        return moment_of(ticks + (10 if upper and len(text) > len(shown) else 0))

    def below(micros: int) -> bool:
        shown = encode(micros * 10)
        return shown < text[: len(shown)] if not upper else shown < text

    low, high = 0, (TICKS_MAX + 1) // 10  # the answer lies in [low, high]
    if below(high - 1):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if below(middle) else (low, middle)
    return moment_of(low * 10)


def ticks_column(name: str) -> pl.Expr:
    """A DateTime column as ticks."""
    return pl.col(name).dt.epoch("us") * 10 + TICKS_UNIX_EPOCH
