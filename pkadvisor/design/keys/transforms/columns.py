"""How columns of key text are made: each distinct text, number or period once where they are few, else in slices.

Each decides only how a text is made, never what it is.
"""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.lazy import pl

_FEW = 4
"""Values are few where there are at most a fourth as many of them as rows; finding more costs more than it saves."""
_SLICE = 1 << 16
"""Rows whose values are Python objects or numpy arrays at the same time."""


def in_slices(values: pl.Series, text_of: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """A function that takes much memory on its way, slice by slice, so that it stays bounded; null stays null.

    ``text_of`` takes values without nulls and gives as many texts.
    """

    def texts(values: pl.Series) -> pl.Series:
        starts = range(0, len(values), _SLICE)
        columns = [text_of(values.slice(start, _SLICE)) for start in starts]
        return pl.concat(columns) if columns else pl.Series(dtype=pl.String)

    if not values.null_count():
        return texts(values)
    present = values.is_not_null()
    nothing = pl.repeat(None, len(values), dtype=pl.String, eager=True)
    return nothing.scatter(present.arg_true(), texts(values.filter(present)))


def over_distinct(texts: pl.Expr, text_of: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    """A function of texts over a String column, computed once for each distinct value where these are few.

    ``text_of`` is as for ``in_slices``; null stays null.
    """

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
