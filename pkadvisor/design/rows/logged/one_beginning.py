"""Ranges of text that hold texts with one beginning each: a cell of a map, the first letters of a name.

Whoever asks for all that begins with ``u09t`` knows the first characters, and can write them into any key.
"""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.design.keys.conditions import Range
from pkadvisor.design.keys.key_terms import above
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.lazy import pl
from pkadvisor.table.odata import Parameter, TypedValue


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
