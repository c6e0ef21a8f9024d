"""Ranges of time that a log shows to lie in one period each: a key with that period was named, or the day of a report.

A key ``{time(day,'yyyyMMdd')}_{id}`` tells the day of a row and no more, so that a logged look-up by it becomes a range
of one day. Whoever asks knows that day, and can write it into any key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pkadvisor.design.keys.conditions import OnePeriod, Range
from pkadvisor.design.keys.key_terms import above
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.lazy import pl
from pkadvisor.table.odata import Parameter, TypedValue

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


# -- Ranges of text that hold texts with one beginning each: a cell of a map, the first letters of a name.


def beginnings_asked(instances: pl.DataFrame, ranges: Mapping[str, Range]) -> dict[str, int]:
    """For each property with two logged bounds: how many first characters all texts of a range share, of the instance
    where they are the fewest; without those of which some instance fixes none."""
    out = {}
    for name, bound in ranges.items():
        ends = [o.name for o in (bound.low, bound.high) if isinstance(o, Parameter) and o.name in instances.columns]
        if len({*ends}) < 2 or any(instances.schema[end] != pl.String for end in ends) or not instances.height:
            continue
        pairs = instances.select(ends).unique().iter_rows()
        if fewest := min(_shared(low, high, inclusive=bound.high_inclusive) for low, high in pairs):
            out[name] = fewest
    return out


def beginnings_named(ranges: Mapping[str, Range]) -> dict[str, str]:
    """For each property with two constant bounds: what all texts of the range begin with; without those that share
    nothing."""
    out = {}
    for name, bound in ranges.items():
        low, high = (o.value if isinstance(o, TypedValue) else None for o in (bound.low, bound.high))
        if isinstance(low, str) and isinstance(high, str):
            out[name] = low[: _shared(low, high, inclusive=bound.high_inclusive)]
    return {name: beginning for name, beginning in out.items() if beginning}


def _shared(low: str | None, high: str | None, *, inclusive: bool) -> int:
    """The first characters of every text from one to another: those of both, and one more where the upper end is the
    least text above all that begin so."""
    if low is None or high is None or low > high:
        return 0
    same = next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    ends_there = len(high) == same + 1 and len(low) > same and high[same] == above(low[same]) and not inclusive
    return same + ends_there


def with_texts(instances: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
    """Logged instances with a text of the range that each names, for the properties of the data that have one and no
    value: its lower end."""
    names = [name for name in data.columns if {name + LOW, name + HIGH} <= set(instances.columns)]
    texts = [
        n for n in names if n not in instances.columns and instances.schema[n + LOW] == data.schema[n] == pl.String
    ]
    return instances.with_columns(pl.col(name + LOW).alias(name) for name in texts)
