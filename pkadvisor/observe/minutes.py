"""When a class of requests is busy: how many of it came in each minute of a log.

Two classes that peak at different hours never load a partition at once; whoever adds up their peaks calls keys hot that
are not. The series is kept per minute of the log while that is short, else per minute of the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pkadvisor.values import dataclass

MINUTES_MAX: Final = 7 * 1440
"""Minutes with a request up to which each is kept: beyond, the busiest of each minute of the day."""
DAY: Final = 1440


@dataclass(frozen=True, slots=True)
class MinuteSeries:
    """Requests of one class in each minute in which one came.

    ``at``: minutes since 1970 (UTC), ascending, or of the day where ``of_day``: then each count is the highest of that
    minute on any day. ``burst_at``: the minute with the busiest second, None where nobody knows.
    """

    at: tuple[int, ...]
    requests: tuple[int, ...]
    of_day: bool = False
    burst_at: int | None = None

    def __post_init__(self) -> None:
        if len(self.at) != len(self.requests):
            raise ValueError(f"{len(self.at)} minutes and {len(self.requests)} counts")
        if any(a >= b for a, b in zip(self.at, self.at[1:], strict=False)):
            raise ValueError("minutes do not ascend")
        if min(self.requests, default=1) < 1 or min(self.at, default=0) < 0:
            raise ValueError("a minute without requests, or before 1970")
        if self.of_day and self.at and self.at[-1] >= DAY:
            raise ValueError(f"minute {self.at[-1]} is of no day")

    def by_day(self) -> MinuteSeries:
        """The series by minute of the day, each at the busiest of its days: an upper bound of what comes together."""
        if self.of_day:
            return self
        most: dict[int, int] = {}
        for minute, count in zip(self.at, self.requests, strict=True):
            most[minute % DAY] = max(most.get(minute % DAY, 0), count)
        at = tuple(sorted(most))
        burst = None if self.burst_at is None else self.burst_at % DAY
        return MinuteSeries(at, tuple(most[m] for m in at), True, burst)


def bounded(series: Mapping[str, MinuteSeries]) -> dict[str, MinuteSeries]:
    """The series of one table, all of one kind: per minute of the log, or by day where there are too many minutes."""
    if any(s.of_day for s in series.values()) or len({m for s in series.values() for m in s.at}) > MINUTES_MAX:
        return {name: s.by_day() for name, s in series.items()}
    return dict(series)


def added(first: MinuteSeries, second: MinuteSeries, burst_at: int | None) -> MinuteSeries:
    """Two parts of a log of one class: requests of a minute that was cut in two add up.

    By minute of the day the higher count stands, as ``by_day`` has it: so parts of whole minutes give the same in any
    grouping. ``burst_at`` is that of the part with the busier second.
    """
    of_day = first.of_day or second.of_day
    if of_day:
        first, second = first.by_day(), second.by_day()
        burst_at = None if burst_at is None else burst_at % DAY
    counts = dict(zip(first.at, first.requests, strict=True))
    for minute, count in zip(second.at, second.requests, strict=True):
        known = counts.get(minute, 0)
        counts[minute] = max(known, count) if of_day else known + count
    at = tuple(sorted(counts))
    return MinuteSeries(at, tuple(counts[m] for m in at), of_day, burst_at)
