"""The part of a table's log that is of one kind of entity: a request is of the kind whose keys it fits.

Of several that it fits it is of those with the most fixed text in the key that it fits: ``ORDER:00012`` is an order,
although a user's id might read so. Of kinds that fit alike it is of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.rows.logged.requests import KeyReader, LoggedRequest, reader_of, requests_of
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic

KeyedKind = tuple[KeyScheme, Mapping[str, EdmType]]
"""The keys of a kind and the types of its properties."""


def traffic_of_kind(traffic: TableTraffic, own: KeyedKind, others: Sequence[KeyedKind]) -> TableTraffic:
    """The classes of a log with the requests of one kind; what fits no kind at all stays with each, but for inserts.

    Rates, counts and minutes of a class fall with its share of the sampled requests; sizes of whole tables stay.
    """
    reader, rest = reader_of(*own), [reader_of(*other) for other in others]
    classes = []
    for class_traffic in traffic.classes:
        if class_traffic.op == "batch" or not class_traffic.sample.height:
            classes.append(class_traffic)
            continue
        kept = [
            _is_of(request, reader, rest, inserts=class_traffic.op in ("insert", "upsert"))
            for request in requests_of(class_traffic, class_traffic.sample.iter_rows(named=True))
        ]
        share = sum(kept) / len(kept)
        if share == 1:
            classes.append(class_traffic)
        elif share:
            part = _part(class_traffic, kept, share)
            if class_traffic.busy is not None:
                asked = requests_of(class_traffic, class_traffic.busy.rows.iter_rows(named=True))
                busy = [_is_of(request, reader, rest) for request in asked]
                part = replace(part, busy=class_traffic.busy.part(busy, share))
            classes.append(part)
    return replace(traffic, classes=tuple(classes))


def traffic_of_entities(traffic: TableTraffic, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> TableTraffic:
    """The log of a table whose entities have index rows: requests through each row are classes of their own.

    Writes to index rows are left out: they are the upkeep of a write to the entity, which is in the log as well.
    """
    if scheme is None or not scheme.index_rows:
        return traffic
    reader = reader_of(scheme, types)
    classes: list[ClassTraffic] = []
    for class_traffic in traffic.classes:
        if class_traffic.op == "batch" or not class_traffic.sample.height:
            classes.append(class_traffic)
            continue
        asked = requests_of(class_traffic, class_traffic.sample.iter_rows(named=True))
        rows = [reader.row_read(request)[0] for request in asked]
        for via in sorted(set(rows)) if class_traffic.op == "query" else [0]:
            kept = [row == via for row in rows]
            if any(kept):
                classes.append(class_traffic if all(kept) else _part(class_traffic, kept, sum(kept) / len(kept)))
    return replace(traffic, classes=tuple(classes))


def _is_of(request: LoggedRequest, own: KeyReader, others: Sequence[KeyReader], *, inserts: bool = False) -> bool:
    mine = own.fixed_characters(request)
    if mine is None and inserts:
        return False
    theirs = [characters for other in others if (characters := other.fixed_characters(request)) is not None]
    return not theirs or (mine is not None and mine >= max(theirs))


def _part(traffic: ClassTraffic, kept: Sequence[bool], share: float) -> ClassTraffic:
    import polars as pl

    minutes = traffic.minutes
    if minutes is not None:
        minutes = MinuteSeries(
            minutes.at, tuple(max(1, round(n * share)) for n in minutes.requests), minutes.of_day, minutes.burst_at
        )
    return replace(
        traffic,
        sample=traffic.sample.filter(pl.Series(kept, dtype=pl.Boolean)),
        requests=max(1, round(traffic.requests * share)),
        mean_per_s=None if traffic.mean_per_s is None else traffic.mean_per_s * share,
        peak_per_s=max(1, round(traffic.peak_per_s * share)) if traffic.peak_per_s else 0,
        peak_per_minute=max(1, round(traffic.peak_per_minute * share)) if traffic.peak_per_minute else 0,
        minutes=minutes,
    )
