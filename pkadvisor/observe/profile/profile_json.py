"""Tables of a profile as parts of its document, and read back from them.

What must agree within a profile document: teams commit it and merge it, and a merge knows no columns.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET, UnsetType

from pkadvisor.documents.part import part_of, word
from pkadvisor.documents.profile import (
    ProfileBusy,
    ProfileColumn,
    ProfileData,
    ProfileDistinct,
    ProfileMinute,
    ProfileProperty,
    ProfileQueryClass,
    ProfileSample,
    ProfileTable,
    ProfileTransaction,
    ProfileWorkload,
)
from pkadvisor.errors import AdvisorError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Column
from pkadvisor.observe.data.edm_text import polars_type
from pkadvisor.observe.data.records import check_names, escape_name
from pkadvisor.observe.data.sketches import DistinctSketch
from pkadvisor.observe.minutes import MinuteSeries, bounded
from pkadvisor.observe.profile.data_profile import DataProfile, PropertyProfile
from pkadvisor.observe.profile.profile import POSITION
from pkadvisor.observe.profile.table_profiles import TableProfile, thinned, timed, untimed, weighed
from pkadvisor.observe.workload import (
    SPAN,
    Basis,
    BusyRequests,
    Draw,
    DrawBy,
    Operation,
    OrderBy,
    Pair,
    QueryClass,
    Rate,
    Transaction,
    Workload,
    is_minute,
)
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import format_filter, parse_filter

DAMAGE = (AdvisorError, KeyError, TypeError, ValueError, AssertionError, IndexError, AttributeError, OverflowError)
"""What reading a damaged document ends with."""


class DamagedError(ValueError):
    """What is wrong with a document, with its place in it."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """DamagedError, with the place, for whatever reading a part of a document ends with."""
    try:
        yield
    except (*DAMAGE, pl.exceptions.PolarsError) as error:
        inner, _, what = str(error).partition(": ") if isinstance(error, DamagedError) else ("", "", brief(error))
        raise DamagedError(f"{place}.{inner}: {what}" if inner else f"{place}: {what}") from None


def brief(error: BaseException) -> str:
    """The reason in a few words."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.what if isinstance(error, AdvisorError) else str(error)
    return (text.splitlines() or [type(error).__name__])[0][:120] or type(error).__name__


def check_columns(data: DataProfile) -> None:
    """DamagedError where the sample has other columns, or columns of other types, than the properties say."""
    names = [p.column.name for p in data.properties]
    check_names(len(names), "properties")
    if strange := [name for name in names if escape_name(name) != name]:
        raise DamagedError(f"properties: {strange[0][:40]!a} is not a name")
    columns = [name for name in data.sample.columns if not name.startswith("#")]
    if sorted(columns) != sorted(names):
        odd = sorted(set(columns) ^ set(names)) or sorted({n for n in names if names.count(n) > 1})
        raise DamagedError(f"sample: its columns are not the properties ({', '.join(odd)[:80]})")
    if unknown := sorted(data.hashed - set(names)):
        raise DamagedError(f"hashed: there is no property {unknown[0][:40]}")
    for property_profile in data.properties:
        name, edm = property_profile.column.name, property_profile.column.edm
        wanted = polars_type(EdmType.STRING if name in data.hashed else edm)
        if data.sample.schema[name] != wanted:
            raise DamagedError(f"sample: the column {name[:40]} does not hold values of the type {edm}")
        if property_profile.column.missing < data.sample.get_column(name).null_count() and data.complete:
            raise DamagedError(f"sample: more values of {name[:40]} are missing than the property says")


FILE_SAMPLE_ROWS = 1_000
FILE_DISTINCT_K = 512
"""Hashes of distinct values that a file keeps for each property: 4.4 % standard error, 4 KB."""


def table_document(table: TableProfile) -> ProfileTable:
    """A table as the profile document holds it."""
    return ProfileTable(
        table=table.table,
        kind=table.kind,
        covered_s=round(table.covered_s, 3),
        data=None if table.data is None else _data_document(table.data),
        workload=None if table.workload is None else workload_document(table.workload),
    )


def _numbers(values: Iterable[int], width: int) -> str:
    return base64.b64encode(b"".join(v.to_bytes(width, "big") for v in values)).decode("ascii")


def _unpacked(text: str, width: int) -> list[int]:
    raw = base64.b64decode(text, validate=True)
    if len(raw) % width:
        raise ValueError(f"{len(raw)} bytes do not hold numbers of {width}")
    return [int.from_bytes(raw[i : i + width], "big") for i in range(0, len(raw), width)]


def _distinct_document(sketch: DistinctSketch) -> ProfileDistinct:
    more = sketch.exact if len(sketch.hashes) == sketch.k else None
    return ProfileDistinct(k=sketch.k, hashes=_numbers(sketch.hashes, 8), counted=UNSET if more is None else more)


def _data_document(data: DataProfile) -> ProfileData:
    return part_of(
        ProfileData,
        data,
        threshold=None if data.threshold is None else str(data.threshold),
        hashed=sorted(data.hashed),
        properties=[
            ProfileProperty(
                name=p.column.name,
                type=word(p.column.edm),
                present=p.column.present,
                missing=p.column.missing,
                types=[(word(edm), n) for edm, n in p.column.types],
                characters=p.characters,
                characters_max=p.characters_max,
                largest=p.largest,
                distinct=_distinct_document(sketch),
            )
            for p in data.properties
            for sketch in (p.distinct.cut(FILE_DISTINCT_K),)
        ],
        sample=ProfileSample(
            position=_numbers(data.sample.get_column(POSITION).to_list(), 6),
            hash=_numbers(data.sample.get_column("#hash").to_list(), 8),
            columns=columns_of(data.sample.select(p.column.name for p in data.properties)),
        ),
        dependencies=[list(each) for each in data.dependencies],
    )


def columns_of(frame: pl.DataFrame) -> list[ProfileColumn]:
    """Columns as their distinct values, ascending, and places among them in two or four bytes; place 0 is *missing*."""
    out = []
    for name in frame.columns:
        column = frame.get_column(name)
        dtype = "datetime" if isinstance(column.dtype, pl.Datetime) else str(column.dtype).lower()
        if dtype == "datetime":
            column = column.dt.epoch("us")
        values = column.drop_nulls().unique().sort()
        rank = column.rank("dense").fill_null(0).to_list()
        plain = [_plain(v) for v in values.to_list()] if dtype == "float64" else values.to_list()
        places = _numbers(rank, _place_width(len(plain)))
        out.append(ProfileColumn(name=name, dtype=word(dtype), values=plain, places=places))
    return out


def _place_width(values: int) -> int:
    return 2 if values < 2**16 else 4


def _plain(value: float) -> float | str:
    """JSON has no infinities."""
    return value if math.isfinite(value) else str(value)


def frame_of(columns: Iterable[ProfileColumn]) -> pl.DataFrame:
    """The rows that the columns hold; ValueError, IndexError or an error of polars where they are damaged."""
    types: dict[str, Any] = {
        "string": pl.String,
        "int32": pl.Int32,
        "int64": pl.Int64,
        "float64": pl.Float64,
        "boolean": pl.Boolean,
        "datetime": pl.Int64,
    }
    out = []
    for column in columns:
        known = map(float, column.values) if column.dtype == "float64" else column.values
        values, places = [None, *known], _unpacked(column.places, _place_width(len(column.values)))
        series = pl.Series(column.name, [values[i] for i in places], dtype=types[column.dtype])
        out.append(series.cast(pl.Datetime("us", "UTC")) if column.dtype == "datetime" else series)
    return pl.DataFrame(out)


def workload_document(workload: Workload) -> ProfileWorkload:
    """Classes with what was logged of them, and transactions."""
    unusual = {span for busy in workload.busy.values() for span in busy.rows[SPAN] if is_minute(span)}
    return ProfileWorkload(
        classes=[
            part_of(
                ProfileQueryClass,
                c,
                filter=None if c.filter is None else format_filter(c.filter, parameters=True),
                order_by=[(o.property, o.descending) for o in c.order_by],
                mean_per_s=c.rate.mean_per_s,
                peak_per_s=c.rate.peak_per_s,
                peak_minute_per_s=c.rate.peak_minute_per_s,
                basis=word(c.rate.basis),
                latency_goal_ms_p99=c.latency_goal_ms_p99,
                entities_per_request=c.entities_per_request,
                instances=columns_of(thinned(timed(workload, c.name))) if c.name in workload.instances else None,
                minutes=_minutes_document(workload.minutes.get(c.name)),
                busy=_busy_document(workload.busy.get(c.name), unusual),
            )
            for c in workload.classes
        ],
        transactions=[
            ProfileTransaction(
                name=t.name,
                together=list(t.together),
                group_by=list(t.group_by),
                required=t.required,
                logged_entities=t.logged_entities,
                pair=[t.pair.property, *t.pair.parameters] if t.pair else UNSET,
                lasting_s=list(t.lasting_s) or UNSET,
            )
            for t in workload.transactions
        ],
        bursts_refused=workload.bursts_refused or UNSET,
    )


def _busy_document(busy: BusyRequests | None, spans: Collection[int]) -> ProfileBusy | UnsetType:
    """What was asked in some spans; nothing where there are none."""
    some = None if busy is None else busy.of(spans)
    return ProfileBusy(totals=list(some.totals.items()), rows=columns_of(some.rows)) if some and some.totals else UNSET


def _minutes_document(series: MinuteSeries | None) -> ProfileMinute | None:
    """Minutes and counts in four bytes each."""
    if series is None:
        return None
    return ProfileMinute(
        of_day=series.of_day,
        at=_numbers(series.at, 4),
        requests=_numbers((min(n, 2**32 - 1) for n in series.requests), 4),
        burst_at=series.burst_at,
    )


_ALIKE = ("name", "kind", "top", "latency_goal_ms_p99", "read_modify_write", "analytic", "entities_per_request")
"""What a class holds as its document does."""


def workload_of(table: str, stored: ProfileWorkload) -> Workload:
    """The workload that a document holds; an error of ``DAMAGE`` where its parts contradict each other."""
    classes, instances, minutes, times, busy = [], {}, {}, dict[str, Sequence[int]](), dict[str, BusyRequests]()
    for c in stored.classes:
        classes.append(
            QueryClass(
                **{name: getattr(c, name) for name in _ALIKE},
                operation=Operation(c.operation),
                filter=None if c.filter is None else parse_filter(c.filter, parameters=True, limit=None),
                rate=Rate(c.mean_per_s, c.peak_per_s, c.peak_minute_per_s, Basis(c.basis)),
                order_by=tuple(OrderBy(p, d) for p, d in c.order_by),
                draw=Draw(DrawBy.LOG, stated=True),
                sets=tuple(c.sets),
            )
        )
        if c.instances:
            frame, came = untimed(frame_of(c.instances))
            instances[c.name] = weighed(frame)
            if came is not None:
                times[c.name] = came
        if c.minutes:
            at, requests = (tuple(_unpacked(packed, 4)) for packed in (c.minutes.at, c.minutes.requests))
            minutes[c.name] = MinuteSeries(at, requests, c.minutes.of_day, c.minutes.burst_at)
        if c.busy:
            totals = {span: float(n) for span, n in c.busy.totals}
            busy[c.name] = BusyRequests(totals, frame_of(c.busy.rows))
    transactions = tuple(
        Transaction(
            *(t.name, tuple(t.together), tuple(t.group_by), t.required, t.logged_entities),
            Pair(t.pair[0], (t.pair[1], t.pair[2])) if t.pair else None,
            tuple(t.lasting_s or ()),
        )
        for t in stored.transactions
    )
    asked: dict[str, Any] = {"instances": instances, "minutes": bounded(minutes), "came": times, "busy": busy}
    refused = stored.bursts_refused is True
    return Workload(table, tuple(classes), transactions, hidden=True, bursts_refused=refused, **asked)


def table_of(stored: ProfileTable, number: int) -> TableProfile:
    """The table that a document holds; DamagedError where its parts contradict each other."""
    with within(f"tables.{number}"):
        with within("data"):
            data = None if stored.data is None else _data_of(stored.data, stored.kind)
        with within("workload"):
            workload = None if stored.workload is None else workload_of(stored.table, stored.workload)
        return TableProfile(stored.table, stored.kind, data, workload, float(stored.covered_s))


def _data_of(stored: ProfileData, kind: str | None) -> DataProfile:
    sample = frame_of(stored.sample.columns).with_columns(
        pl.Series("#hash", _unpacked(stored.sample.hash, 8), dtype=pl.UInt64),
        pl.Series(POSITION, _unpacked(stored.sample.position, 6), dtype=pl.Int64),
    )
    properties = tuple(
        PropertyProfile(
            Column(p.name, EdmType(p.type), p.present, p.missing, tuple((EdmType(e), n) for e, n in p.types)),
            DistinctSketch(tuple(_unpacked(p.distinct.hashes, 8)), p.distinct.k, p.distinct.counted or None),
            p.characters,
            p.characters_max,
            p.largest,
        )
        for p in stored.properties
    )
    data = DataProfile(
        stored.name,
        kind,
        stored.format,
        stored.rows,
        properties,
        sample,
        None if stored.threshold is None else int(stored.threshold),
        stored.sample_rows_max,
        frozenset(stored.hashed),
        tuple(stored.notes),
        dependencies=tuple((target, source, rule) for target, source, rule in stored.dependencies or ()),
    )
    data.check()
    check_columns(data)
    return data
