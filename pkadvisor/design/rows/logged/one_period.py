"""Ranges of time that a log shows to lie in one period each: a key with that period was named, or the day of a report.

A key ``{time(day,'yyyyMMdd')}_{id}`` tells the day of a row and no more, so that a logged look-up by it becomes a range
of one day. Whoever asks knows that day, and can write it into any key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pkadvisor.design.keys.conditions import OnePeriod, Range
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.lazy import pl
from pkadvisor.table.odata import Parameter

_EVERY: Final = {
    "year": "1y",
    "month": "1mo",
    "week": "1w",
    "day": "1d",
    "hour": "1h",
    "minute": "1m",
    "second": "1s",
    "millisecond": "1ms",
    "microsecond": "1us",
}
"""Units of periods, the coarsest first, as polars writes them."""
_SPARE_US: Final = 1
"""Microseconds that the end of a range may lie before that of its period: a key's last moment is one before the next
period."""


def periods_asked(instances: pl.DataFrame, ranges: Mapping[str, Range]) -> dict[str, OnePeriod]:
    """For each property with two logged bounds: the units in which every instance asks within one period."""
    out = {name: _one_period(instances, bound) for name, bound in ranges.items()}
    return {name: period for name, period in out.items() if period is not None}


def with_times(instances: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
    """Logged instances with a time inside the period that each names, for the properties of the data that have one: as
    far into it as the time that stands there already, else its beginning."""
    names = [name for name in data.columns if {name + LOW, name + HIGH} <= set(instances.columns)]
    ranges = {name: Range(Parameter(name + LOW), True, Parameter(name + HIGH)) for name in names}
    columns = []
    for name, period in periods_asked(instances, ranges).items():
        low, dtype = pl.col(name + LOW), data.schema[name]
        if period.whole and name in instances.columns:
            time = pl.col(name)
            low = pl.min_horizontal(low + (time - time.dt.truncate(_EVERY[period.whole])), pl.col(name + HIGH))
        columns.append(low.cast(dtype).alias(name))
    return instances.with_columns(columns)


def _one_period(instances: pl.DataFrame, bound: Range) -> OnePeriod | None:
    """None where some instance asks beyond one year, or the log does not tell both bounds."""
    ends = []
    for operand in (bound.low, bound.high):
        if not isinstance(operand, Parameter) or operand.offset or operand.offset_ticks:
            return None
        if operand.name not in instances.columns or not isinstance(instances.schema[operand.name], pl.Datetime):
            return None
        ends.append(instances.get_column(operand.name))
    low, high = ends
    last = high if bound.high_inclusive else high.dt.offset_by("-1us")
    if not bound.low_inclusive or not instances.height or low.null_count() or high.null_count() or (last < low).any():
        return None
    starts = {unit: low.dt.truncate(every) for unit, every in _EVERY.items()}
    units = [unit for unit, start in starts.items() if (start == last.dt.truncate(_EVERY[unit])).all()]
    if not units:
        return None
    finest = units[-1]
    left = starts[finest].dt.offset_by(_EVERY[finest]) - high
    whole = (low == starts[finest]).all() and (left.dt.total_microseconds() <= _SPARE_US).all()
    return OnePeriod(frozenset(units), finest if whole else "")
