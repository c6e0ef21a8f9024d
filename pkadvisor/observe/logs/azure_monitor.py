"""Azure Monitor resource logs of the table service, as exported or as queried.

* JSON lines (``time, operationName, uri, properties{objectKey …}``), one record a line or ``{"records": […]}``;
* exports of the Log Analytics table ``StorageTableLogs``: CSV with its columns as header, or JSON (lines or one list).

Fields may be absent. Which write a write is, is told by the operation name; reads are classified by their URL.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.data.streams import open_text
from pkadvisor.observe.logs.azure_records import (
    FIELDS,
    PROPERTIES,
    TEXTS,
    TOP,
    csv_parts,
    document_parts,
    filled,
    frame_of,
    picked,
)
from pkadvisor.observe.logs.frame import ReadOptions, Routes, Skips
from pkadvisor.observe.logs.pipeline import Parsed, Skip, classified, has_escapes, line_ends, read_lines, split_columns
from pkadvisor.observe.logs.storage_analytics import parsed, route_of

NAME: Final = "Azure Monitor"

_TOP_OTHER: Final = ("correlationId", "durationMs", "resourceType")
_NUMBERS: Final = ("statusCode", "operationCount")
_SMALL_BYTES: Final = 256 << 10
_HEADER_BYTES: Final = 16 << 10
_RECORDS = re.compile(rb'^\s*\{\s*"records"\s*:\s*\[')
_LIST = re.compile(rb"^\s*\[\s*\{")
FIRST_TIME: Final = re.compile(rb'"time"\s*:\s*"([^"]+)"')
_UNIT = re.compile(r"\s*\[[^\]]*\]$")


def claims(head: bytes) -> bool:
    """Whether the beginning is a resource log record, a Log Analytics header or a list of either."""
    text = head.lstrip()
    if text[:1] in (b"{", b"["):
        inner = text
        for pattern in (_RECORDS, _LIST):
            if match := pattern.match(inner):
                inner = inner[match.end() - (pattern is _LIST) :].lstrip()
        return _keys_of_first_object(inner) is not None
    header = _csv_names(text.split(b"\n", 1)[0])
    return header is not None


def _keys_of_first_object(text: bytes) -> dict[str, Any] | None:
    try:
        record, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    exported = {"time", "operationName"} <= record.keys() and ("uri" in record or "properties" in record)
    queried = {"TimeGenerated", "OperationName"} <= record.keys() or {"TimeGenerated", "Uri"} <= record.keys()
    return record if exported or queried else None


def _csv_names(line: bytes) -> list[str] | None:
    """The columns of a Log Analytics CSV, without the unit that the portal adds to times; None for another header."""
    if len(line) > _HEADER_BYTES:
        return None
    try:
        names = next(csv.reader([line.decode("utf-8", "replace").strip()]), [])
    except csv.Error:
        return None
    names = [_UNIT.sub("", name.strip()) for name in names]
    return names if "TimeGenerated" in names and ("Uri" in names or "ObjectKey" in names) else None


def frames(
    path: str | Path, routes: Routes, skips: Skips, options: ReadOptions | None = None, name: str = ""
) -> Iterator[pl.DataFrame]:
    """Request frames of one file."""
    chosen = options or ReadOptions()
    where = name or str(path)
    with open_text(path, name=where) as stream:
        head = stream.read(64 << 10)
    if head.lstrip()[:1] not in (b"{", b"["):
        names = _csv_names(head.lstrip().split(b"\n", 1)[0]) or []
        parts = csv_parts(path, names, where)
        yield from classified(parts, route_of, routes, skips, where)
    elif _RECORDS.match(head) or _LIST.match(head):
        yield from classified(document_parts(path, where), route_of, routes, skips, where)
    else:
        yield from read_lines(path, parse, route_of, routes, skips, chosen, where)


def parse(block: bytes) -> Parsed:
    """Parse a block of JSON lines."""
    skips: list[Skip] = []
    block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    frame = _fields(block, skips, 0)
    return parsed(line_ends(block), frame, skips)


def _fields(block: bytes, skips: list[Skip], offset: int, layouts: int = 4) -> pl.DataFrame:
    """Columns ``f<i>`` of the used fields and ``line``: by layout, else by polars' JSON reader, else line by line."""
    frame = by_layout(block) if layouts else None
    if frame is not None:
        rest = [] if frame["whole"].all() else frame["whole"].not_().arg_true().to_list()
        data_frame = frame.filter("whole").drop("whole") if rest else frame.drop("whole")
        if rest:
            lines = block.split(b"\n")
            # Records of another layout: their places in the block are put back afterwards.
            inner: list[Skip] = []
            others = _fields(b"".join(lines[place] + b"\n" for place in rest), inner, 0, layouts - 1)
            for skip in inner:
                skip.line = rest[skip.line] + offset
            skips.extend(inner)
            places = pl.Series([rest[place] for place in others["line"]], dtype=pl.UInt32)
            data_frame = pl.concat([data_frame, others.with_columns(line=places)]).sort("line", maintain_order=True)
        return data_frame.with_columns(pl.col("line") + pl.lit(offset, pl.UInt32))
    frame = fast(block)
    if frame is not None:
        return frame.with_columns(pl.col("line") + pl.lit(offset, pl.UInt32)) if offset else frame
    if len(block) > _SMALL_BYTES:
        cut = block.find(b"\n", len(block) // 2) + 1
        if 0 < cut < len(block):
            left = _fields(block[:cut], skips, offset, 0)
            return pl.concat([left, _fields(block[cut:], skips, offset + line_ends(block[:cut]), 0)])
    return exact(enumerate(block.split(b"\n")[:-1], offset), skips)


def by_layout(block: bytes) -> pl.DataFrame | None:
    """The records written exactly like the first one; None where that one cannot serve as a pattern.

    The service writes its records with the same fields in the same order, so that splitting at ``"`` puts every name
    at a fixed place. A record belongs to the layout (column ``whole``) where each used name stands at its place, each
    value has its form, and no value that is used holds an escape; anything else is left to a real JSON reader.
    """
    first = block[: block.find(b"\n")]
    layout = _layout(first)
    if layout is None:
        return None
    tokens, places = layout
    wanted = sorted({p for place in places.values() for p in (place, place + 1, place + 2)} | {tokens - 1, tokens})
    frame = split_columns(block, '"', None, "t", tokens + 1, wanted)
    if frame is None or frame.height != line_ends(block):
        return None
    escapes = has_escapes(block)
    checks = [pl.col(f"t{tokens - 1}").str.ends_with("}"), pl.col(f"t{tokens}") == ""]
    columns: list[pl.Expr] = []
    for column, source in FIELDS.items():
        place = places.get(source)
        if place is None:
            columns.append(pl.lit(None, pl.String).alias(column))
            continue
        name, after, value = (pl.col(f"t{p}") for p in (place, place + 1, place + 2))
        checks.append(name == source)
        if source in _NUMBERS:
            checks.append(after.cast(pl.Float64, strict=False).is_not_null())
            columns.append(after.alias(column))
        else:
            checks.append(after == ":")
            if escapes:
                checks.append(~value.str.contains("\\", literal=True))
            given = value if column in TEXTS else pl.when(value != "").then(value)
            columns.append(given.alias(column))
    # A selection does not notice that it strips a column twice.
    frame = frame.with_columns(
        pl.col(f"t{places[source] + 1}").str.strip_chars(":,} ") for source in _NUMBERS if source in places
    )
    kind = places.get("resourceType")
    return filled(
        frame.select(
            pl.col("line").cast(pl.UInt32),
            pl.all_horizontal(checks).fill_null(False).alias("whole"),
            *columns,
            (pl.col(f"t{kind + 2}") if kind is not None else pl.lit(None, pl.String)).alias("resourceType"),
        )
    )


def _layout(line: bytes) -> tuple[int, dict[str, int]] | None:
    """The number of pieces between quotes of a record, and the place of each used name that it holds."""
    if b"\\" in line or not line.startswith(b'{"'):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("time"), str) or "uri" not in record:
        return None
    tokens = line.decode("utf-8", "replace").rstrip().split('"')
    properties = record.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    places: dict[str, int] = {}
    for source in (*TOP.values(), "correlationId", "resourceType", *PROPERTIES.values()):
        holder = properties if source in PROPERTIES.values() else record
        if source not in holder:
            continue
        positions = [i for i in range(1, len(tokens) - 1, 2) if tokens[i] == source and tokens[i + 1].startswith(":")]
        value = holder[source]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if len(positions) != 1 or number != (source in _NUMBERS) or not (number or isinstance(value, str)):
            return None
        places[source] = positions[0]
    return (len(tokens), places) if "operationName" in places else None


def fast(block: bytes) -> pl.DataFrame | None:
    """The block through polars' JSON reader, or None where it finds something that it does not understand."""
    text = pl.String
    schema = dict.fromkeys((*TOP.values(), *_TOP_OTHER, "TimeGenerated", "records"), text)
    properties = pl.Struct(dict.fromkeys(PROPERTIES.values(), text))
    try:
        frame = pl.read_ndjson(block, schema=schema | {"properties": properties})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if frame.height != block.count(b"\n") or frame["time"].null_count() or frame["operationName"].null_count():
        return None
    inner = pl.col("properties").struct
    frame = frame.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("line"),
        *(pl.col(source).alias(column) for column, source in TOP.items()),
        pl.col("correlationId").alias("f13"),
        *(inner.field(source).alias(column) for column, source in PROPERTIES.items()),
        pl.col("durationMs"),
        pl.col("resourceType"),
    )
    return filled(frame)


def exact(lines: Any, skips: list[Skip]) -> pl.DataFrame:
    """The same columns line by line; ``lines`` are (place, bytes)."""
    records: list[tuple[int, Any, str]] = []
    for place, raw in lines:
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            record = None
        listed = record.get("records") if isinstance(record, dict) else None
        every = listed if isinstance(listed, list) else [record]
        records += [(place, each, "no JSON" if each is None else "") for each in every]
    return frame_of(records, picked, skips)
