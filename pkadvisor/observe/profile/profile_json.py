"""Tables of a profile as JSON values, and read back from them."""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pkadvisor.observe.data.dataset import Column
from pkadvisor.observe.minutes import MinuteSeries, bounded
from pkadvisor.observe.profile.data_profile import DataProfile, DistinctSketch, PropertyProfile
from pkadvisor.observe.profile.profile import POSITION
from pkadvisor.observe.profile.profile_checks import check_columns, within
from pkadvisor.observe.profile.table_profiles import TableProfile, thinned, timed, untimed, weighed
from pkadvisor.observe.workload import (
    MINUTE_S,
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
    length_of,
)
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl


FILE_SAMPLE_ROWS = 1_000
FILE_DISTINCT_K = 512
"""Hashes of distinct values that a file keeps for each property: 4.4 % standard error, 4 KB."""


def table_json(table: TableProfile) -> dict[str, Any]:
    return {
        "table": table.table,
        "kind": table.kind,
        "covered_s": round(table.covered_s, 3),
        "data": None if table.data is None else _data_json(table.data),
        "workload": None if table.workload is None else _workload_json(table.workload),
    }


def _numbers(values: Iterable[int], width: int) -> str:
    return base64.b64encode(b"".join(v.to_bytes(width, "big") for v in values)).decode("ascii")


def _unpacked(text: str, width: int) -> list[int]:
    raw = base64.b64decode(text, validate=True)
    if len(raw) % width:
        raise ValueError(f"{len(raw)} bytes do not hold numbers of {width}")
    return [int.from_bytes(raw[i : i + width], "big") for i in range(0, len(raw), width)]


def _data_json(data: DataProfile) -> dict[str, Any]:
    names = [p.column.name for p in data.properties]
    return {
        "name": data.name,
        "format": data.format,
        "rows": data.rows,
        "threshold": None if data.threshold is None else str(data.threshold),
        "sample_rows_max": data.sample_rows_max,
        "hashed": sorted(data.hashed),
        "notes": list(data.notes),
        "dependencies": [list(each) for each in data.dependencies],
        "properties": [
            {
                "name": p.column.name,
                "type": str(p.column.edm),
                "present": p.column.present,
                "missing": p.column.missing,
                "types": [[str(e), n] for e, n in p.column.types],
                "characters": p.characters,
                "characters_max": p.characters_max,
                "largest": p.largest,
                "distinct": {"k": sketch.k, "hashes": _numbers(sketch.hashes, 8), **_counted(sketch)},
            }
            for p in data.properties
            for sketch in (p.distinct.cut(FILE_DISTINCT_K),)
        ],
        "sample": {
            "position": _numbers(data.sample.get_column(POSITION).to_list(), 6),
            "hash": _numbers(data.sample.get_column("#hash").to_list(), 8),
            "columns": _frame_json(data.sample.select(names)),
        },
    }


def _counted(sketch: DistinctSketch) -> dict[str, int]:
    return {} if sketch.exact is None or len(sketch.hashes) < sketch.k else {"counted": sketch.exact}


def _frame_json(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Columns as their distinct values, ascending, and places among them in two or four bytes; place 0 is *missing*."""
    import polars as pl

    out = []
    for name in frame.columns:
        column = frame.get_column(name)
        dtype = "datetime" if isinstance(column.dtype, pl.Datetime) else str(column.dtype).lower()
        if dtype == "datetime":
            column = column.dt.epoch("us")
        values = column.drop_nulls().unique().sort()
        rank = column.rank("dense").fill_null(0).to_list()
        plain = [_plain(v) for v in values.to_list()] if dtype == "float64" else values.to_list()
        out.append({"name": name, "dtype": dtype, "values": plain, "places": _numbers(rank, _place_width(len(plain)))})
    return out


def _place_width(values: int) -> int:
    return 2 if values < 2**16 else 4


def _plain(value: float) -> float | str:
    """JSON has no infinities."""
    return value if math.isfinite(value) else str(value)


def _frame_from(columns: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

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
        known = column["values"]
        values = [None, *(map(float, known) if column["dtype"] == "float64" else known)]
        places = _unpacked(column["places"], _place_width(len(known)))
        series = pl.Series(column["name"], [values[i] for i in places], dtype=types[column["dtype"]])
        if column["dtype"] == "datetime":
            series = series.cast(pl.Datetime("us", "UTC"))
        out.append(series)
    return pl.DataFrame(out)


def _workload_json(workload: Workload) -> dict[str, Any]:
    from pkadvisor.table.odata import format_filter

    unusual = {span for busy in workload.busy.values() for span in busy.rows[SPAN] if length_of(span) == MINUTE_S}
    return {
        "classes": [
            {
                "name": c.name,
                "operation": str(c.operation),
                "filter": None if c.filter is None else format_filter(c.filter, parameters=True),
                "order_by": [[o.property, o.descending] for o in c.order_by],
                "top": c.top,
                "mean_per_s": c.rate.mean_per_s,
                "peak_per_s": c.rate.peak_per_s,
                "peak_minute_per_s": c.rate.peak_minute_per_s,
                "basis": str(c.rate.basis),
                "kind": c.kind,
                "latency_goal_ms_p99": c.latency_goal_ms_p99,
                "sets": list(c.sets),
                "read_modify_write": c.read_modify_write,
                "analytic": c.analytic,
                "entities_per_request": c.entities_per_request,
                "instances": _frame_json(thinned(timed(workload, c.name))) if c.name in workload.instances else None,
                "minutes": _minutes_json(workload.minutes.get(c.name)),
                **_busy_json(workload.busy.get(c.name), unusual),
            }
            for c in workload.classes
        ],
        "transactions": [
            {
                "name": t.name,
                "together": list(t.together),
                "group_by": list(t.group_by),
                "required": t.required,
                "logged_entities": t.logged_entities,
                **({"pair": [t.pair.property, *t.pair.parameters]} if t.pair else {}),
            }
            for t in workload.transactions
        ],
    }


def _busy_json(busy: BusyRequests | None, spans: Collection[int]) -> dict[str, Any]:
    """What was asked in some spans; nothing where there are none."""
    some = None if busy is None else busy.of(spans)
    if some is None or not some.totals:
        return {}
    return {"busy": {"totals": [[span, n] for span, n in some.totals.items()], "rows": _frame_json(some.rows)}}


def _minutes_json(series: MinuteSeries | None) -> dict[str, Any] | None:
    """Minutes and counts in four bytes each."""
    if series is None:
        return None
    return {
        "of_day": series.of_day,
        "at": _numbers(series.at, 4),
        "requests": _numbers((min(n, 2**32 - 1) for n in series.requests), 4),
        "burst_at": series.burst_at,
    }


def _minutes_from(stored: dict[str, Any] | None) -> MinuteSeries | None:
    if stored is None:
        return None
    burst = None if stored["burst_at"] is None else _count(stored["burst_at"])
    at, requests = (tuple(_unpacked(stored[name], 4)) for name in ("at", "requests"))
    return MinuteSeries(at, requests, bool(stored["of_day"]), burst)


def _workload_from(table: str, stored: dict[str, Any]) -> Workload:
    from pkadvisor.table.odata import parse_filter

    classes, instances, minutes, times, busy = [], {}, {}, dict[str, Sequence[int]](), dict[str, BusyRequests]()
    for c in stored["classes"]:
        rate = Rate(c["mean_per_s"], c["peak_per_s"], c["peak_minute_per_s"], Basis(c["basis"]))
        classes.append(
            QueryClass(
                name=c["name"],
                operation=Operation(c["operation"]),
                filter=None if c["filter"] is None else parse_filter(c["filter"], parameters=True, limit=None),
                rate=rate,
                kind=c["kind"],
                order_by=tuple(OrderBy(p, d) for p, d in c["order_by"]),
                top=c["top"],
                latency_goal_ms_p99=c["latency_goal_ms_p99"],
                draw=Draw(DrawBy.LOG, stated=True),
                sets=tuple(c["sets"]),
                read_modify_write=c["read_modify_write"],
                analytic=c["analytic"],
                entities_per_request=c["entities_per_request"],
            )
        )
        if c["instances"]:
            frame, came = untimed(_frame_from(c["instances"]))
            instances[c["name"]] = weighed(frame)
            if came is not None:
                times[c["name"]] = came
        series = _minutes_from(c.get("minutes"))  # documents of earlier versions have none
        if series is not None:
            minutes[c["name"]] = series
        if "busy" in c:
            totals = {_count(span): float(n) for span, n in c["busy"]["totals"]}
            busy[c["name"]] = BusyRequests(totals, _frame_from(c["busy"]["rows"]))
    transactions = tuple(
        Transaction(
            *(t["name"], tuple(t["together"]), tuple(t["group_by"]), t["required"], t["logged_entities"]),
            Pair(t["pair"][0], (t["pair"][1], t["pair"][2])) if "pair" in t else None,
        )
        for t in stored["transactions"]
    )
    asked: dict[str, Any] = {"instances": instances, "minutes": bounded(minutes), "came": times, "busy": busy}
    return Workload(table, tuple(classes), transactions, hidden=True, **asked)


def text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]} is not text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{str(value)[:40]} is not a count")
    return value


def table_from(stored: dict[str, Any], number: int) -> TableProfile:
    with within(f"tables.{number}"):
        name, kind = text(stored["table"]), stored["kind"]
        if kind is not None:
            text(kind)
        with within("data"):
            data = None if stored["data"] is None else _data_from(stored["data"], kind)
        with within("workload"):
            workload = None if stored["workload"] is None else _workload_from(name, stored["workload"])
        return TableProfile(name, kind, data, workload, _seconds(stored["covered_s"]))


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{str(value)[:40]} is not a number of seconds")
    return float(value)


def _data_from(stored: dict[str, Any], kind: str | None) -> DataProfile:
    import polars as pl

    sample = _frame_from(stored["sample"]["columns"]).with_columns(
        pl.Series("#hash", _unpacked(stored["sample"]["hash"], 8), dtype=pl.UInt64),
        pl.Series(POSITION, _unpacked(stored["sample"]["position"], 6), dtype=pl.Int64),
    )
    properties = tuple(
        PropertyProfile(
            Column(
                p["name"],
                EdmType(p["type"]),
                _count(p["present"]),
                _count(p["missing"]),
                tuple((EdmType(e), n) for e, n in p["types"]),
            ),
            DistinctSketch(
                tuple(_unpacked(p["distinct"]["hashes"], 8)),
                _count(p["distinct"]["k"]),
                _count(p["distinct"]["counted"]) if "counted" in p["distinct"] else None,
            ),
            _count(p["characters"]),
            _count(p["characters_max"]),
            _count(p["largest"]),
        )
        for p in stored["properties"]
    )
    data = DataProfile(
        text(stored["name"]),
        kind,
        text(stored["format"]),
        _count(stored["rows"]),
        properties,
        sample,
        None if stored["threshold"] is None else int(stored["threshold"]),
        _count(stored["sample_rows_max"]),
        frozenset(stored["hashed"]),
        tuple(stored["notes"]),
        dependencies=tuple((text(t), text(s), text(r)) for t, s, r in stored.get("dependencies", ())),
    )
    data.check()
    check_columns(data)
    return data
