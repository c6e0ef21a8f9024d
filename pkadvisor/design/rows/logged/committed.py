"""Updates under If-Match as a log shows them: what got 412 is an attempt of an update that comes again, and each
attempt has read its entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from pkadvisor.design.rows.logged.twins import shape_of
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import CONFLICT, ClassTraffic
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.table.odata import Filter

CONFLICTS_SHARE: Final = 0.01
"""Share of a class's updates that got 412 from which on they are read-modify-writes under If-Match."""
READS_LEFT: Final = 0.02
"""Share of the reads of an entity up to which none are left beside those of its updates: a log may begin or end
between a read and its update."""


def committed(traffic: ClassTraffic) -> ClassTraffic:
    """A class of updates without its attempts that got 412, where these tell of If-Match and are not all at hand."""
    share = float(traffic.sample["status"].eq(CONFLICT).sum()) / max(1, traffic.sample.height)
    if traffic.op not in ("update", "merge") or not CONFLICTS_SHARE <= share < 1:
        return traffic
    sample = traffic.sample.filter(pl.col("status") != CONFLICT)
    return replace(_share_of(traffic, 1 - share), sample=sample, conflicts=share)


class _Filtered(Protocol):
    """What a class of requests was read as."""

    @property
    def filter(self) -> Filter | None:
        """What it asks for, over properties."""


_Read = TypeVar("_Read", bound=_Filtered)


def reads_apart(classes: Sequence[tuple[ClassTraffic, _Read]]) -> tuple[list[tuple[ClassTraffic, _Read]], list[str]]:
    """The classes of a log without the reads that attempts of read-modify-writes of the same entities send, which are
    counted with these, and a note for each class that had some."""
    out, notes = list[tuple[ClassTraffic, _Read]](), list[str]()
    for each, read in classes:
        names = shape_of(read.filter)
        updates = [c for c, changed in classes if c.conflicts and each.address and shape_of(changed.filter) == names]
        if each.op != "query" or not updates:
            out.append((each, read))
            continue
        attempts = sum(update.requests / (1 - update.conflicts) for update in updates)
        left = 1 - attempts / max(1, each.requests)
        count = each.requests
        if left > READS_LEFT:
            out.append((_share_of(each, left), read))
            count = round(attempts)
        known = ", ".join(sorted(name for name, _ in names))
        notes.append(
            f"{count:,} of {each.requests:,} logged reads of one entity by {known} are counted with the updates that "
            "read, change and write it"
        )
    return out, notes


def _share_of(traffic: ClassTraffic, share: float) -> ClassTraffic:
    """A class with a share of its requests."""
    minutes = traffic.minutes
    return replace(
        traffic,
        requests=round(traffic.requests * share),
        mean_per_s=None if traffic.mean_per_s is None else traffic.mean_per_s * share,
        peak_per_s=round(traffic.peak_per_s * share),
        peak_per_minute=round(traffic.peak_per_minute * share),
        minutes=None if minutes is None else _scaled(minutes, share),
        busy=None if traffic.busy is None else traffic.busy.scaled(share),
    )


def _scaled(minutes: MinuteSeries, factor: float) -> MinuteSeries:
    return replace(minutes, requests=tuple(max(1, round(each * factor)) for each in minutes.requests))
