"""Updates under If-Match as a log shows them: what got 412 is an attempt of an update that comes again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import CONFLICT, ClassTraffic
from pkadvisor.observe.minutes import MinuteSeries

CONFLICTS_SHARE: Final = 0.01
"""Share of a class's updates that got 412 from which on they are read-modify-writes under If-Match."""


def committed(traffic: ClassTraffic) -> ClassTraffic:
    """A class of updates without its attempts that got 412, where these tell of If-Match and are not all at hand."""
    share = float(traffic.sample["status"].eq(CONFLICT).sum()) / max(1, traffic.sample.height)
    if traffic.op not in ("update", "merge") or not CONFLICTS_SHARE <= share < 1:
        return traffic
    kept = 1 - share
    minutes = traffic.minutes
    return replace(
        traffic,
        requests=round(traffic.requests * kept),
        mean_per_s=None if traffic.mean_per_s is None else traffic.mean_per_s * kept,
        peak_per_s=round(traffic.peak_per_s * kept),
        peak_per_minute=round(traffic.peak_per_minute * kept),
        sample=traffic.sample.filter(pl.col("status") != CONFLICT),
        minutes=None if minutes is None else _scaled(minutes, kept),
        busy=None if traffic.busy is None else traffic.busy.scaled(kept),
        conflicts=share,
    )


def _scaled(minutes: MinuteSeries, factor: float) -> MinuteSeries:
    return replace(minutes, requests=tuple(max(1, round(each * factor)) for each in minutes.requests))
