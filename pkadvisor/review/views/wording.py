"""Numbers in sentences: how often something happens, and units that agree with their number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkadvisor.design.rows.population import Population

_PERIODS = (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("year", 31_536_000))
_SECONDS = dict(_PERIODS)
_ONE = {
    "attempts": "attempt",
    "buckets": "bucket",
    "comparisons": "comparison",
    "days": "day",
    "digits": "digit",
    "entities": "entity",
    "hours": "hour",
    "months": "month",
    "pages": "page",
    "partitions": "partition",
    "parts": "part",
    "periods": "period",
    "properties": "property",
    "requests": "request",
    "rows": "row",
    "scans": "scan",
    "units": "unit",
    "updates": "update",
}
_WORDS = "|".join(_ONE)
_COUNTED = re.compile(rf"(?<![\w.,])1 (?:(index|code|UTF-16 code) )?({_WORDS})\b")
_TIMES = re.compile(rf"(?<![\w.,])(0\.\d+|1) times an? ({'|'.join(_SECONDS)})\b")


def often_text(rate_per_s: float) -> str:
    """A rate in the unit that people count it in: ``19 times an hour``, ``once a minute``."""
    for unit, seconds in _PERIODS:
        if (count := rate_per_s * seconds) >= 1 - 1e-9 or unit == "year":
            number = f"{count:.3g}" if count < 1000 else f"{count:,.0f}"
            article = "an" if unit == "hour" else "a"
            return f"once {article} {unit}" if number == "1" else f"{number} times {article} {unit}"
    raise AssertionError


def agreed(text: str) -> str:
    """A sentence whose ones have units in the singular, and whose rates below one are those of a longer period."""
    text = _TIMES.sub(lambda m: often_text(float(m[1]) / _SECONDS[m[2]]), text)
    return _COUNTED.sub(lambda m: f"1 {m[1] + ' ' if m[1] else ''}{_ONE[m[2]]}", text)


def rows_looked_at(population: Population | None) -> str | None:
    """The part of the rows that estimates rest on; None where there are none, or all are looked at."""
    if population is None or population.rows >= population.drawn_from:
        return None
    return f"{population.rows:,} of {population.drawn_from:,} rows"
