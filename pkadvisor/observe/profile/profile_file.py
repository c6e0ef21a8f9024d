"""The profile document: data and logs as one small file that a team can commit, and that analyses in their place.

Values of texts, Guids, numbers and bytes are replaced by tokens: 60 bits of a keyed hash, equal where the values are
equal, and the punctuation that the value holds, so that a separator can be chosen for keys. Of the greatest number
only the first digit stays. Times and truth values stay, and so do numbers whose order a declared workload needs. With
no salt file the key is the same for everybody, so that profiles merge; then somebody with a list of candidate values
can recognise them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.errors import InputError
from pkadvisor.files import ordinary, read_bytes
from pkadvisor.observe.data.dataset import Column
from pkadvisor.observe.minutes import MinuteSeries, added, bounded
from pkadvisor.observe.profile.profile import (
    POSITION,
    DataProfile,
    DistinctSketch,
    PropertyProfile,
    canonical_column,
    merge_data,
)
from pkadvisor.observe.profile.profile_checks import DAMAGE, brief, check_columns, within
from pkadvisor.observe.workload import (
    Basis,
    Draw,
    DrawBy,
    Operation,
    OrderBy,
    Pair,
    QueryClass,
    Rate,
    Transaction,
    Workload,
)
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

DOCUMENT = "pkadvisor profile"
SCHEMA_VERSION = 2
BYTES_MAX = 200_000_000
FILE_SAMPLE_ROWS = 1_000
FILE_DISTINCT_K = 512
"""Hashes of distinct values that a file keeps for each property: 4.4 % standard error, 4 KB."""
INSTANCES_MAX = 1_000
TOKEN_LETTERS = 12
_CAME = "_came"
"""The column with the second since 1970 in which a logged request came."""
_PUNCTUATION = "_;|!-:~."
_SHOWN = (EdmType.DATETIME, EdmType.BOOLEAN)
_SUFFIXES = (".from", ".until")


@dataclass(frozen=True, slots=True)
class TableProfile:
    """One table or kind: its data, its logged workload, and the seconds that the log covers."""

    table: str
    kind: str | None
    data: DataProfile | None
    workload: Workload | None
    covered_s: float


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """Everything in a profile file. ``key_check`` tells whether two documents hide values with the same key."""

    tables: tuple[TableProfile, ...]
    key_check: str = ""

    def hidden(self, salt: bytes, ordered: frozenset[str] = frozenset()) -> ProfileDocument:
        """The document with key values as tokens; ``ordered`` properties keep their numbers."""
        key = hashlib.sha256(salt).digest()
        tables = tuple(_hide_table(t, key, ordered) for t in self.tables)
        return ProfileDocument(tables, key_check(key))

    def opened(self, key: bytes) -> ProfileDocument:
        """The document with the key of its tokens, so that constants of filters can be looked up among them."""
        tables = (replace(t, data=replace(t.data, token_key=key)) if t.data is not None else t for t in self.tables)
        return replace(self, tables=tuple(tables))

    def to_json(self) -> dict[str, Any]:
        """The document as plain JSON values."""
        from pkadvisor import __version__

        return {
            "document": DOCUMENT,
            "schema_version": SCHEMA_VERSION,
            "tool_version": __version__,
            "key_check": self.key_check,
            "tables": [_table_json(t) for t in self.tables],
        }


def seed_of(salt: bytes) -> int:
    """The seed of row hashes: without the salt nobody can test a guess against them."""
    return int.from_bytes(hashlib.sha256(b"rows" + salt).digest()[:8], "big") if salt else 0


def token(value: str, key: bytes) -> str:
    """The token of a canonical text: letters and the digits 2 to 7, then the punctuation that the text holds."""
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    letters = base64.b32encode(digest).decode("ascii").lower()[:TOKEN_LETTERS]
    return letters + "".join(mark for mark in _PUNCTUATION if mark in value)


def key_check(key: bytes) -> str:
    """What tells keys apart and does not tell the key."""
    return hashlib.sha256(b"check" + key).hexdigest()[:12]


OPEN_KEY = hashlib.sha256(b"").digest()
"""The key where no salt file was given."""


# -- hiding ------------------------------------------------------------------------------------------------------------


def _hide_table(table: TableProfile, key: bytes, ordered: frozenset[str]) -> TableProfile:
    data = table.data
    types = data.types if data is not None else {}
    hidden = frozenset(n for n, e in types.items() if e not in _SHOWN and not (n in ordered and e.numeric))
    if data is not None:
        frame = data.sample.with_columns(hide_values(data.sample, n, types[n], key) for n in sorted(hidden))
        properties = tuple(
            replace(p, largest=_blurred(p.largest)) if p.column.name in hidden else p for p in data.properties
        )
        data = replace(data, sample=frame, properties=properties, hashed=hidden, token_key=key)
    workload = table.workload
    if workload is not None:
        instances = {n: _hide_frame(f, types, hidden, key) for n, f in workload.instances.items()}
        workload = replace(workload, instances=instances)
    return replace(table, data=data, workload=workload)


def _blurred(number: int) -> int:
    """The number with nines after its first digit: as many digits, and as near to the next."""
    text = str(number)
    return int(text[0] + "9" * (len(text) - 1))


def _hide_frame(frame: pl.DataFrame, types: Mapping[str, EdmType], hidden: frozenset[str], key: bytes) -> pl.DataFrame:
    out = []
    for name in frame.columns:
        plain = name.removesuffix(_SUFFIXES[0]).removesuffix(_SUFFIXES[1])
        edm = types.get(plain, EdmType.STRING)
        if name not in ("_weight", _CAME) and edm not in _SHOWN and (plain in hidden or plain not in types):
            out.append(hide_values(frame, name, edm, key))
        else:
            out.append(frame.get_column(name))
    import polars as pl

    return pl.DataFrame(out)


def hide_values(frame: pl.DataFrame, name: str, edm: EdmType, key: bytes) -> pl.Series:
    """A column with its values as tokens."""
    import polars as pl

    text = canonical_column(frame, name, edm)
    values = text.drop_nulls().unique().to_list()
    return text.replace_strict(values, [token(v, key) for v in values], default=None, return_dtype=pl.String).alias(
        name
    )


def show_values(frame: pl.DataFrame, rows: pl.DataFrame, types: Mapping[str, EdmType]) -> pl.DataFrame:
    """Logged parameters with the values of some rows in place of the tokens that are theirs under ``OPEN_KEY``.

    Parameters with a token that no row has are left out: nobody can tell what they were. Weights sum to 1 again.
    """
    import polars as pl

    for name in frame.columns:
        plain = name.removesuffix(_SUFFIXES[0]).removesuffix(_SUFFIXES[1])
        edm = types.get(plain)
        if edm is None or plain not in rows.columns or edm in _SHOWN or frame.schema[name] != pl.String:
            continue
        values = rows.select(plain).drop_nulls().unique(maintain_order=True)
        tokens = hide_values(values, plain, edm, OPEN_KEY)
        unlike = pl.col(name).is_not_null() & ~pl.col(name).is_in(tokens.implode())
        back = pl.col(name).replace_strict(tokens, values[plain], default=None, return_dtype=values.schema[plain])
        frame = frame.filter(~unlike).with_columns(back)
    return frame.with_columns(pl.col("_weight") / pl.col("_weight").sum())


# -- JSON --------------------------------------------------------------------------------------------------------------


def _table_json(table: TableProfile) -> dict[str, Any]:
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
                "distinct": {"k": sketch.k, "hashes": _numbers(sketch.hashes, 8)},
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
                "instances": _frame_json(thinned(_timed(workload, c.name))) if c.name in workload.instances else None,
                "minutes": _minutes_json(workload.minutes.get(c.name)),
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


def _timed(workload: Workload, name: str) -> pl.DataFrame:
    """The parameters of a class, with the second in which each came, where the log tells."""
    import polars as pl

    frame, came = workload.instances[name], workload.came.get(name)
    if came is None:
        return frame
    seconds = pl.Series(_CAME, came, dtype=pl.Int64) // 1_000_000
    return frame.with_columns(seconds)


def _untimed(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int] | None]:
    """(the parameters of a class, when each came in µs since 1970 where all have a time)."""
    if _CAME not in frame.columns:
        return frame, None
    came = frame.get_column(_CAME) * 1_000_000
    return frame.drop(_CAME), None if came.null_count() else came.to_list()


def thinned(frame: pl.DataFrame, most: int = INSTANCES_MAX) -> pl.DataFrame:
    """At most ``most`` rows at equal steps, with weights that sum to 1."""
    return _weighed(frame.gather_every(-(-frame.height // most)) if frame.height > most else frame)


def _weighed(frame: pl.DataFrame) -> pl.DataFrame:
    """The weights brought to a sum of 1."""
    weights = frame.get_column("_weight")
    total = math.fsum(weights.to_list())
    if total <= 0:
        raise ValueError("weights that sum to nothing")
    return frame.with_columns(weights / total)


def _workload_from(table: str, stored: dict[str, Any]) -> Workload:
    from pkadvisor.table.odata import parse_filter

    classes, instances, minutes, times = [], {}, {}, dict[str, Sequence[int]]()
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
            frame, came = _untimed(_frame_from(c["instances"]))
            instances[c["name"]] = _weighed(frame)
            if came is not None:
                times[c["name"]] = came
        series = _minutes_from(c.get("minutes"))  # documents of earlier versions have none
        if series is not None:
            minutes[c["name"]] = series
    transactions = tuple(
        Transaction(
            *(t["name"], tuple(t["together"]), tuple(t["group_by"]), t["required"], t["logged_entities"]),
            Pair(t["pair"][0], (t["pair"][1], t["pair"][2])) if "pair" in t else None,
        )
        for t in stored["transactions"]
    )
    asked: dict[str, Any] = {"instances": instances, "minutes": bounded(minutes), "came": times}
    return Workload(table, tuple(classes), transactions, hidden=True, **asked)


def document_path(text: str) -> Path:
    """The file of ``PATH`` or ``kind=PATH``: a profile knows its own kinds."""
    kind, _, path = text.partition("=")
    return Path(path) if path and kind.isidentifier() and not Path(text).exists() else Path(text)


def is_document(path: str) -> bool:
    """Whether a file is a profile document, by its first bytes."""
    if path == "-":
        return False
    try:
        with ordinary(document_path(path)).open("rb") as file:
            head = file.read(4096)
    except (OSError, ValueError):
        return False
    return head.lstrip()[:1] == b"{" and f'"document":"{DOCUMENT}"'.encode() in head.replace(b'": "', b'":"')


def load_document(path: str) -> ProfileDocument:
    """The profile in a file; InputError (3) where it is none, is damaged, or is of another version."""
    where = document_path(path).name
    try:
        stored = json.loads(read_bytes(document_path(path), BYTES_MAX))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"this is not a profile: {brief(error)}", where=where, fix=f"make one: {_MAKE}") from None
    if not isinstance(stored, dict) or stored.get("document") != DOCUMENT:
        other = stored.get("document") if isinstance(stored, dict) else None
        what = f"this is not a profile but a document '{str(other)[:60]}'" if other else "this is not a profile"
        raise InputError(what, where=where, fix=f"make one: {_MAKE}")
    if stored.get("schema_version") != SCHEMA_VERSION:
        version = str(stored.get("schema_version"))[:20]
        raise InputError(
            f"version {version} of the profile format is not known; this reads {SCHEMA_VERSION}",
            where=where,
            fix=f"make it again with this version: {_MAKE}",
        )
    try:
        tables = tuple(_table_from(t, n) for n, t in enumerate(stored["tables"]))
        document = ProfileDocument(tables, _text(stored["key_check"]))
    except DAMAGE as error:
        what = f"the profile is damaged: {brief(error)}"
        raise InputError(what, where=where, fix=f"make it again: {_MAKE}") from None
    return document.opened(OPEN_KEY) if document.key_check == key_check(OPEN_KEY) else document


_MAKE = "advisor profile DATA --out FILE"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]} is not text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{str(value)[:40]} is not a count")
    return value


def _table_from(stored: dict[str, Any], number: int) -> TableProfile:
    with within(f"tables.{number}"):
        name, kind = _text(stored["table"]), stored["kind"]
        if kind is not None:
            _text(kind)
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
            DistinctSketch(tuple(_unpacked(p["distinct"]["hashes"], 8)), _count(p["distinct"]["k"])),
            _count(p["characters"]),
            _count(p["characters_max"]),
            _count(p["largest"]),
        )
        for p in stored["properties"]
    )
    data = DataProfile(
        _text(stored["name"]),
        kind,
        _text(stored["format"]),
        _count(stored["rows"]),
        properties,
        sample,
        None if stored["threshold"] is None else int(stored["threshold"]),
        _count(stored["sample_rows_max"]),
        frozenset(stored["hashed"]),
        tuple(stored["notes"]),
        dependencies=tuple((_text(t), _text(s), _text(r)) for t, s, r in stored.get("dependencies", ())),
    )
    data.check()
    check_columns(data)
    return data


# -- merging -----------------------------------------------------------------------------------------------------------


def merge_documents(first: ProfileDocument, second: ProfileDocument) -> ProfileDocument:
    """Both documents as one; ValueError where they hide values with different keys or hold different things."""
    if first.key_check != second.key_check:
        raise ValueError("the profiles were made with different salts: their values cannot be compared")
    mine = {(t.table, t.kind): t for t in first.tables}
    for other in second.tables:
        key = (other.table, other.kind)
        mine[key] = _merge_tables(mine[key], other) if key in mine else other
    return ProfileDocument(tuple(mine.values()), first.key_check)


def _merge_tables(first: TableProfile, second: TableProfile) -> TableProfile:
    data = first.data or second.data
    if first.data is not None and second.data is not None:
        data = merge_data(first.data, second.data)
    workload = first.workload or second.workload
    if first.workload is not None and second.workload is not None:
        workload = _merge_workloads(first, second)
    return TableProfile(first.table, first.kind, data, workload, first.covered_s + second.covered_s)


def _merge_workloads(first: TableProfile, second: TableProfile) -> Workload:
    """Classes of the same shape become one: mean rates by covered time, the higher peaks, parameters by requests."""
    import polars as pl

    assert first.workload is not None and second.workload is not None
    whole = max(first.covered_s + second.covered_s, 1e-9)
    classes: dict[tuple[object, ...], QueryClass] = {}
    frames: dict[str, list[pl.DataFrame]] = {}
    minutes: dict[str, MinuteSeries] = {}
    transactions: dict[Transaction, None] = {}
    for table in (first, second):
        assert table.workload is not None
        share = table.covered_s / whole
        renamed: dict[str, str] = {}
        for query in table.workload.classes:
            shape = (
                query.operation,
                query.filter,
                query.top,
                query.order_by,
                query.kind,
                query.entities_per_request > 1,
            )
            known = classes.get(shape)
            name = known.name if known else _unused(query.name, {c.name for c in classes.values()})
            renamed[query.name] = name
            series = table.workload.minutes.get(query.name)
            if series is not None:
                minutes[name] = _both_minutes(minutes.get(name), series, known.rate if known else None, query.rate)
            classes[shape] = replace(
                known or query, name=name, rate=_both(query.rate, share, known.rate if known else None)
            )
            if query.name in table.workload.instances:
                frame = _timed(table.workload, query.name)
                requests = max(query.rate.mean_per_s * table.covered_s, 1e-9)
                frames.setdefault(name, []).append(frame.with_columns(pl.col("_weight") * requests))
        for group in table.workload.transactions:
            transactions[replace(group, together=tuple(renamed.get(n, n) for n in group.together))] = None
    every = {name: _untimed(thinned(pl.concat(of, how="diagonal_relaxed"))) for name, of in frames.items()}
    hidden = first.workload.hidden
    return Workload(
        first.table,
        tuple(_with_cut_minute(c, minutes.get(c.name)) for c in classes.values()),
        tuple(transactions),
        instances={name: frame for name, (frame, _) in every.items()},
        hidden=hidden,
        minutes=bounded(minutes),
        came={name: came for name, (_, came) in every.items() if came is not None},
    )


def _with_cut_minute(query: QueryClass, series: MinuteSeries | None) -> QueryClass:
    """The class with its busiest minute, which may be one that the logs were cut in."""
    if series is None or query.entities_per_request > 1 or query.rate.peak_minute_per_s is None:
        return query
    most = max(query.rate.peak_minute_per_s, max(series.requests, default=0) / 60)
    return replace(query, rate=replace(query.rate, peak_minute_per_s=most))


def _both_minutes(known: MinuteSeries | None, series: MinuteSeries, was: Rate | None, rate: Rate) -> MinuteSeries:
    """The minutes of two parts of a log; the burst is that of the busier second, of equal ones the earlier."""
    if known is None or was is None:
        return series
    if was.peak_per_s == rate.peak_per_s:
        burst = min((b for b in (known.burst_at, series.burst_at) if b is not None), default=None)
    else:
        burst = known.burst_at if was.peak_per_s > rate.peak_per_s else series.burst_at
    return added(known, series, burst)


def _both(rate: Rate, share: float, known: Rate | None) -> Rate:
    """A rate over a share of the time, added to what is known of the rest."""
    mean = rate.mean_per_s * share + (known.mean_per_s if known else 0.0)
    minutes = [r for r in (rate.peak_minute_per_s, known.peak_minute_per_s if known else None) if r is not None]
    peak = max(rate.peak_per_s, known.peak_per_s if known else 0.0, mean)
    return Rate(mean, peak, max(minutes, default=None), rate.basis)


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number where another shape has it already."""
    if name not in taken:
        return name
    return next(n for n in (f"{name} ({i})" for i in range(2, len(taken) + 3)) if n not in taken)


__all__ = [
    "FILE_SAMPLE_ROWS",
    "OPEN_KEY",
    "ProfileDocument",
    "TableProfile",
    "is_document",
    "key_check",
    "load_document",
    "merge_documents",
    "seed_of",
    "token",
]
