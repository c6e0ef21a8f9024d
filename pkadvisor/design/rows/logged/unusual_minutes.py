"""Minutes of a log in which some value was asked for far more often than in the whole log.

Only they say more of a partition than the whole log does. The requests of other minutes would be rows to carry along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pkadvisor.lazy import pl
from pkadvisor.observe.workload import MINUTE_REQUESTS, REQUESTS, SPAN, BusyRequests, is_minute

ERRORS: Final = 5.0
"""Standard errors above what the whole log lets expect: by chance once in three million values."""
RATIO: Final = 1.1
"""And as many times what it lets expect."""
COUNT_LEAST: Final = 20
"""Requests of a minute for one value, from which it may be unusual."""


def with_unusual_minutes(busy: BusyRequests, instances: pl.DataFrame) -> BusyRequests:
    """Without the rows of minutes in which no value is asked for unusually often; ``instances``: some requests of the
    whole log."""
    telling = [
        span
        for span in busy.rows[SPAN].unique().sort().to_list()
        if not is_minute(span) or _is_unusual(busy.rows.filter(pl.col(SPAN) == span), instances)
    ]
    return replace(busy, rows=busy.rows.filter(pl.col(SPAN).is_in(telling)))


def _is_unusual(rows: pl.DataFrame, instances: pl.DataFrame) -> bool:
    names = [name for name in rows.columns if name not in (SPAN, REQUESTS) and name in instances.columns]
    return any(
        _exceeds(
            rows.group_by(name).agg(asked=pl.col(REQUESTS).sum()), instances.group_by(name).agg(usual=pl.len()), name
        )
        for name in names
    )


def _exceeds(asked: pl.DataFrame, usual: pl.DataFrame, name: str) -> bool:
    """Whether a value has more requests than its share of the whole log lets expect, beyond chance."""
    requests, log = float(asked["asked"].sum()), float(usual["usual"].sum())
    drawn = min(requests, MINUTE_REQUESTS)
    often = pl.col("usual").fill_null(0).cast(pl.Float64)
    expected = (often + 2 * often.sqrt() + 3) / log * drawn
    seen = pl.col("asked") / requests * drawn
    unusual = (
        (seen >= COUNT_LEAST)
        & (seen > RATIO * expected)
        & (seen - expected > ERRORS * pl.max_horizontal(expected, 1.0).sqrt())
    )
    return bool(asked.join(usual, on=name, how="left", nulls_equal=True).select(unusual.any()).item())
