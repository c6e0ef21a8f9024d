"""The profile document: data and logs as one small file that a team can commit, and that analyses in their place.

Values of texts, Guids, numbers and bytes are replaced by tokens: 48 bits of a keyed hash, equal where the values are equal.
Times and truth values stay, and so do numbers whose order a declared workload needs. With no salt file the key is the
same for everybody, so that profiles merge; then somebody with a list of candidate values can recognise them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.errors import InputError
from pkadvisor.observe.dataset import Column
from pkadvisor.observe.profile import (
    POSITION,
    DataProfile,
    DistinctSketch,
    PropertyProfile,
    canonical_column,
    merge_data,
)
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, OrderBy, QueryClass, Rate, Transaction, Workload
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

DOCUMENT = "pkadvisor profile"
SCHEMA_VERSION = 1
FILE_SAMPLE_ROWS = 1_000
INSTANCES_MAX = 1_000
TOKEN_BYTES = 6
_SHOWN = (EdmType.DATETIME, EdmType.BOOLEAN)
_SUFFIXES = ("__low", "__high")


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
        return ProfileDocument(tables, hashlib.sha256(b"check" + key).hexdigest()[:12])

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
    """The token of a canonical text."""
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=TOKEN_BYTES, key=key).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii")


OPEN_KEY = hashlib.sha256(b"").digest()
"""The key where no salt file was given."""


# -- hiding ------------------------------------------------------------------------------------------------------------


def _hide_table(table: TableProfile, key: bytes, ordered: frozenset[str]) -> TableProfile:
    data = table.data
    types = data.types if data is not None else {}
    hidden = frozenset(n for n, e in types.items() if e not in _SHOWN and not (n in ordered and e.numeric))
    if data is not None:
        frame = data.sample.with_columns(_tokens(data.sample, n, types[n], key) for n in sorted(hidden))
        data = replace(data, sample=frame, hashed=hidden)
    workload = table.workload
    if workload is not None:
        instances = {n: _hide_frame(f, types, hidden, key) for n, f in workload.instances.items()}
        workload = replace(workload, instances=instances)
    return replace(table, data=data, workload=workload)


def _hide_frame(frame: pl.DataFrame, types: Mapping[str, EdmType], hidden: frozenset[str], key: bytes) -> pl.DataFrame:
    out = []
    for name in frame.columns:
        plain = name.removesuffix(_SUFFIXES[0]).removesuffix(_SUFFIXES[1])
        edm = types.get(plain, EdmType.STRING)
        if name != "_weight" and edm not in _SHOWN and (plain in hidden or plain not in types):
            out.append(_tokens(frame, name, edm, key))
        else:
            out.append(frame.get_column(name))
    import polars as pl

    return pl.DataFrame(out)


def _tokens(frame: pl.DataFrame, name: str, edm: EdmType, key: bytes) -> pl.Series:
    import polars as pl

    text = canonical_column(frame, name, edm)
    values = text.drop_nulls().unique().to_list()
    return text.replace_strict(values, [token(v, key) for v in values], default=None, return_dtype=pl.String).alias(name)


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
                "distinct": {"k": p.distinct.k, "hashes": _numbers(p.distinct.hashes, 8)},
            }
            for p in data.properties
        ],
        "sample": {
            "position": _numbers(data.sample.get_column(POSITION).to_list(), 6),
            "hash": _numbers(data.sample.get_column("#hash").to_list(), 8),
            "columns": _frame_json(data.sample.select(names)),
        },
    }


def _frame_json(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Columns as their distinct values, ascending, and two-byte places among them; place 0 is *missing*."""
    import polars as pl

    out = []
    for name in frame.columns:
        column = frame.get_column(name)
        dtype = "datetime" if isinstance(column.dtype, pl.Datetime) else str(column.dtype).lower()
        if dtype == "datetime":
            column = column.dt.epoch("us")
        values = column.drop_nulls().unique().sort()
        place = {v: i for i, v in enumerate(values.to_list(), 1)}
        assert len(place) < 65_536, "a profile's sample has at most 65,535 distinct values"
        places = [0 if v is None else place[v] for v in column.to_list()]
        out.append({"name": name, "dtype": dtype, "values": values.to_list(), "places": _numbers(places, 2)})
    return out


_DTYPES = ("string", "int32", "int64", "float64", "boolean", "datetime")


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
        values = [None, *column["values"]]
        series = pl.Series(
            column["name"], [values[i] for i in _unpacked(column["places"], 2)], dtype=types[column["dtype"]]
        )
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
                "entities_per_request": c.entities_per_request,
                "instances": _frame_json(workload.instances[c.name].head(INSTANCES_MAX))
                if c.name in workload.instances
                else None,
            }
            for c in workload.classes
        ],
        "transactions": [
            {"name": t.name, "together": list(t.together), "group_by": list(t.group_by), "required": t.required}
            for t in workload.transactions
        ],
    }


def _workload_from(table: str, found: dict[str, Any]) -> Workload:
    import polars as pl

    from pkadvisor.table.odata import parse_filter

    classes, instances = [], {}
    for c in found["classes"]:
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
                draw=Draw(DrawBy.LOG, stated=True),
                entities_per_request=c["entities_per_request"],
            )
        )
        if c["instances"]:
            frame = _frame_from(c["instances"])
            weight = 1.0 / max(1, frame.height)
            instances[c["name"]] = frame.with_columns(pl.lit(weight, dtype=pl.Float64).alias("_weight"))
    transactions = tuple(
        Transaction(t["name"], tuple(t["together"]), tuple(t["group_by"]), t["required"]) for t in found["transactions"]
    )
    return Workload(table, tuple(classes), transactions, instances=instances)


def is_document(path: str) -> bool:
    """Whether a file is a profile document, by its first bytes."""
    if path == "-" or "=" in path and not Path(path).exists():
        return False
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return head.lstrip()[:1] == b"{" and f'"document":"{DOCUMENT}"'.encode() in head.replace(b'": "', b'":"')


def load_document(path: str) -> ProfileDocument:
    """The profile in a file; InputError (3) where it is none, or of another version."""
    where = Path(path).name
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"this is no profile: {error}", where=where, fix="make one with advisor profile") from None
    if not isinstance(found, dict) or found.get("document") != DOCUMENT:
        raise InputError("this is no profile", where=where, fix="make one with: advisor profile DATA --out FILE")
    if found.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"version {found.get('schema_version')} of the profile format is not known; this reads {SCHEMA_VERSION}",
            where=where,
            fix="make the profile again with this version",
        )
    try:
        tables = tuple(_table_from(t) for t in found["tables"])
        return ProfileDocument(tables, found["key_check"])
    except (KeyError, TypeError, ValueError, AssertionError, IndexError) as error:
        raise InputError(f"the profile is damaged: {error!r}", where=where, fix="make it again") from None


def _table_from(found: dict[str, Any]) -> TableProfile:
    data = None if found["data"] is None else _data_from(found["data"], found["kind"])
    workload = None if found["workload"] is None else _workload_from(found["table"], found["workload"])
    return TableProfile(found["table"], found["kind"], data, workload, found["covered_s"])


def _data_from(found: dict[str, Any], kind: str | None) -> DataProfile:
    import polars as pl

    sample = _frame_from(found["sample"]["columns"]).with_columns(
        pl.Series("#hash", _unpacked(found["sample"]["hash"], 8), dtype=pl.UInt64),
        pl.Series(POSITION, _unpacked(found["sample"]["position"], 6), dtype=pl.Int64),
    )
    properties = tuple(
        PropertyProfile(
            Column(
                p["name"],
                EdmType(p["type"]),
                p["present"],
                p["missing"],
                tuple((EdmType(e), n) for e, n in p["types"]),
            ),
            DistinctSketch(tuple(_unpacked(p["distinct"]["hashes"], 8)), p["distinct"]["k"]),
            p["characters"],
            p["characters_max"],
            p["largest"],
        )
        for p in found["properties"]
    )
    data = DataProfile(
        found["name"],
        kind,
        found["format"],
        found["rows"],
        properties,
        sample,
        None if found["threshold"] is None else int(found["threshold"]),
        found["sample_rows_max"],
        frozenset(found["hashed"]),
        tuple(found["notes"]),
    )
    data.check()
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
    """Classes of the same shape become one: mean rates by covered time, peaks the higher of both."""
    import polars as pl

    assert first.workload is not None and second.workload is not None  # noqa: PT018
    whole = max(first.covered_s + second.covered_s, 1e-9)
    parts = ((first, first.covered_s / whole), (second, second.covered_s / whole))
    classes: dict[tuple[object, ...], QueryClass] = {}
    frames: dict[str, list[pl.DataFrame]] = {}
    for table, share in parts:
        assert table.workload is not None
        for query in table.workload.classes:
            key = (query.operation, query.filter, query.top, query.order_by, query.kind, query.entities_per_request > 1)
            known = classes.get(key)
            mean = query.rate.mean_per_s * share + (known.rate.mean_per_s if known else 0.0)
            minutes = [r for r in (query.rate.peak_minute_per_s, known.rate.peak_minute_per_s if known else None) if r]
            peak = max(query.rate.peak_per_s, known.rate.peak_per_s if known else 0.0, mean)
            rate = Rate(mean, peak, max(minutes) if minutes else None, query.rate.basis)
            classes[key] = replace(known or query, rate=rate)
            if query.name in table.workload.instances:
                frames.setdefault(classes[key].name, []).append(table.workload.instances[query.name])
    instances = {}
    for name, found in frames.items():
        frame = pl.concat([f.drop("_weight") for f in found], how="diagonal_relaxed")
        if frame.height > INSTANCES_MAX:
            frame = frame.gather_every(-(-frame.height // INSTANCES_MAX))
        instances[name] = frame.with_columns(pl.lit(1.0 / max(1, frame.height)).alias("_weight"))
    transactions = tuple(dict.fromkeys([*first.workload.transactions, *second.workload.transactions]))
    return Workload(first.table, tuple(classes.values()), transactions, instances=instances)


__all__ = [
    "FILE_SAMPLE_ROWS",
    "OPEN_KEY",
    "ProfileDocument",
    "TableProfile",
    "is_document",
    "load_document",
    "merge_documents",
    "seed_of",
    "token",
]
