"""Values of columns as numbers and as Python values: what searching, periods and look-ups work on."""

from __future__ import annotations

from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.lazy import Floats, Ints, np, pl
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType


def python_value(value: object, edm: EdmType) -> str | int | float | bool | bytes:
    """A polars value as the Python value of ``table/edm.py`` (times become ticks)."""
    from datetime import UTC, datetime

    if edm is EdmType.DATETIME and isinstance(value, datetime):
        delta = value.replace(tzinfo=value.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (delta.days * 86_400_000_000 + delta.seconds * 1_000_000 + delta.microseconds) * 10 + TICKS_UNIX_EPOCH
    assert isinstance(value, str | int | float | bool | bytes)
    return value


def polars_type(edm: EdmType) -> pl.DataType:
    """The polars type that holds a property of this type."""
    return {
        EdmType.INT32: pl.Int32(),
        EdmType.INT64: pl.Int64(),
        EdmType.DOUBLE: pl.Float64(),
        EdmType.BOOLEAN: pl.Boolean(),
        EdmType.DATETIME: pl.Datetime("us", "UTC"),
        EdmType.BINARY: pl.Binary(),
    }.get(edm, pl.String())


def numeric(values: pl.Series) -> Ints | Floats:
    """A rising array for searching: µs for times, the numbers themselves, positions for everything else."""
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.epoch("us").to_numpy()
    if values.dtype.is_float():
        return values.to_numpy()
    if values.dtype.is_integer():
        return values.cast(pl.Int64).to_numpy()
    return np.arange(len(values), dtype=np.int64)


def period_index(values: pl.Series, unit: str) -> Ints:
    """The calendar number of each time's period: consecutive periods differ by one."""
    if not isinstance(values.dtype, pl.Datetime):
        return values.rank("dense").cast(pl.Int64).to_numpy()
    if unit == "year":
        return values.dt.year().cast(pl.Int64).to_numpy()
    if unit == "month":
        return (values.dt.year().cast(pl.Int64) * 12 + values.dt.month().cast(pl.Int64) - 1).to_numpy()
    return _even_periods(values.dt.epoch("us").to_numpy(), unit)


MOMENT_LEAST, MOMENT_MOST = -6e16, 2.5e17
"""Microseconds between which bounds of times are taken: the years 68 to 9892."""


def period_of_moments(moments: Floats, unit: str, *, open_end: float = MOMENT_MOST) -> Ints:
    """As ``period_index`` for µs, without a series for each call; what has no end is taken to end at ``open_end``."""
    finite = np.nan_to_num(moments, posinf=open_end, neginf=MOMENT_LEAST)
    us = np.clip(finite, MOMENT_LEAST, MOMENT_MOST).astype(np.int64)
    if unit in ("year", "month"):
        months = us.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)  # since January 1970
        return np.asarray(months // 12 + 1970 if unit == "year" else months + 1970 * 12)
    return _even_periods(us, unit)


def _even_periods(us: Ints, unit: str) -> Ints:
    """The numbers of periods of one length, by the µs since 1970."""
    if unit == "week":
        us = us + _MONDAY_US
    return np.asarray(us // round(PERIOD_S[unit] * 1e6))


_MONDAY_US = 3 * 86_400_000_000
"""From a Monday to 1970-01-01, a Thursday."""
