"""Records of Azure Monitor read one by one: of CSV files, of JSON lists and of lines that the fast ways leave.

Times as a browser or a spreadsheet writes them: ``11/23/2026, 3:04:05.123 PM``, ``23.11.2026 15:04``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.data.streams import open_text
from pkadvisor.observe.logs.frame import NOT_PARSEABLE
from pkadvisor.observe.logs.pipeline import Parsed, Skip
from pkadvisor.observe.logs.storage_analytics import parsed

_TIME: Final = re.compile(
    r"\s*(?P<first>[0-9]{1,4})(?P<separator>[/.-])(?P<second>[0-9]{1,2})(?P=separator)(?P<third>[0-9]{1,4}),?(?:\s|T)"
    r"\s*(?P<hour>[0-9]{1,2})[:.](?P<minute>[0-9]{2})(?:[:.](?P<seconds>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?\s*"
)


def _year_first(time: re.Match[str]) -> bool:
    return len(time.group("first")) == 4


def _moment(time: re.Match[str], order: str) -> datetime | None:
    """The moment of a written time without its fraction; None where its numbers name none in this order."""
    numbers = time.group("first", "second", "third")
    if len(numbers[2]) not in (2, 4) and order != "ymd":
        return None
    year, month, day = (int(numbers[order.index(part)]) for part in "ymd")
    hour, minute, seconds = (int(text or 0) for text in time.group("hour", "minute", "seconds"))
    half = time.group("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    try:
        return datetime(year + (2000 if year < 100 else 0), month, day, hour, minute, seconds)
    except ValueError:
        return None


def iso_of(text: str, order: str) -> str:
    """A time in ISO 8601, UTC where it names no zone; the text itself where it is none in this order of year, month and
    day, such as ``mdy``."""
    time = _TIME.fullmatch(text)
    moment = None if time is None else _moment(time, "ymd" if _year_first(time) else order)
    if time is None or moment is None:
        return text
    fraction, zone = time.group("fraction", "zone")
    shown = moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if fraction else "")
    return shown + ("Z" if zone in (None, "UTC", "GMT") else zone)


def order_of_dates(texts: Iterable[str]) -> str:
    """In which order times name year, month and day; empty where they are in ISO 8601, or in no form that is known.

    Whether the month or the day is first is told by a number above 12, by a half of the day (AM, PM) or by points; else
    the order that spans fewer days is taken, and of equal ones the month first.
    """
    times = [time for text in texts if (time := _TIME.fullmatch(text))]
    if not times:
        return ""
    if all(map(_year_first, times)):
        return "ymd"
    possible = [order for order in ("mdy", "dmy") if all(_moment(time, order) for time in times)]
    if len(possible) < 2:
        return "".join(possible)
    if any(time.group("half") for time in times):
        return "mdy"
    if all(time.group("separator") == "." for time in times):
        return "dmy"

    def days(order: str) -> int:
        moments = [moment for time in times if (moment := _moment(time, order))]
        return (max(moments) - min(moments)).days

    return min(possible, key=days)


# Where each field of a request is: in a resource log record, in its properties, in Log Analytics.
# The names on the left are those of the columns that ``storage_analytics.requests`` takes.
TOP: Final = {"f1": "time", "f2": "operationName", "f3": "statusText", "f4": "statusCode", "f11": "uri"}
PROPERTIES: Final = {
    "f10": "serviceType",
    "f12": "objectKey",
    "f14": "operationCount",
    "f29": "clientRequestId",
}
FIELDS: Final = TOP | PROPERTIES | {"f13": "correlationId"}
"""All of them; the names of Log Analytics begin with a capital letter."""
ANALYTICS: Final = {column: source[0].upper() + source[1:] for column, source in FIELDS.items()}
ANALYTICS["f1"] = "TimeGenerated"
USED: Final = ("f1", "f2", "f3", "f4", "f10", "f11", "f12", "f13", "f14", "f29")
TEXTS: Final = ("f2", "f3", "f11", "f12")
TIMES_LOOKED_AT: Final = 5_000


Fields = dict[str, str | None]


def frame_of(
    records: Iterable[tuple[int, Any, str]], pick: Callable[[Any], Fields | None], skips: list[Skip]
) -> pl.DataFrame:
    """Columns of the records (place, record, what is wrong with it) that ``pick`` takes fields of; the others are told
    to ``skips``."""
    places: list[int] = []
    rows: list[Fields] = []
    for place, record, trouble in records:
        fields = None if trouble else pick(record)
        if fields is None:
            skips.append(Skip(NOT_PARSEABLE, 1, place, trouble or json.dumps(record)[:200], bad=True))
        else:
            places.append(place)
            rows.append(fields)
    columns = {
        column: pl.Series([fields.get(column) for fields in rows], dtype=pl.String)
        for column in (*USED, "resourceType")
    }
    return filled(pl.DataFrame({"line": pl.Series(places, dtype=pl.UInt32)} | columns))


def _batched(records: Iterator[tuple[Any, str]], pick: Callable[[Any], Fields | None]) -> Iterator[Parsed]:
    """Blocks of 20,000 records, each with what is wrong with it; a record counts as a line."""
    while block := list(islice(records, 20_000)):
        skips: list[Skip] = []
        frame = frame_of(((place, *record) for place, record in enumerate(block)), pick, skips)
        yield parsed(len(block), frame, skips)


def document_parts(path: str | Path, where: str) -> Iterator[Parsed]:
    """One JSON list or ``{"records": […]}`` over any number of lines, object by object."""
    decoder = json.JSONDecoder()

    def records() -> Iterator[tuple[Any, str]]:
        with open_text(path, name=where) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
            buffer, started = "", False
            while True:
                buffer = buffer.lstrip(" \t\r\n,")
                if not started:
                    match = re.match(r'(?:\{\s*"records"\s*:\s*)?\[', buffer)
                    if match:
                        buffer, started = buffer[match.end() :], True
                        continue
                if buffer.startswith(("]", "}")):
                    buffer, started = buffer[1:], False
                    continue
                try:
                    if not buffer:
                        raise ValueError
                    record, end = decoder.raw_decode(buffer)
                    buffer = buffer[end:]
                    yield record, ""
                except (ValueError, RecursionError):
                    more = text.read(1 << 20)
                    if not more:
                        if buffer:
                            yield None, f"the JSON is cut or broken at: {buffer[:120]}"
                        return
                    buffer += more

    yield from _batched(records(), picked)


def csv_parts(path: str | Path, names: list[str], where: str) -> Iterator[Parsed]:
    """A Log Analytics CSV, record by record: fields may hold line ends."""
    with open_text(path, name=where) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(text)
        next(reader, None)

        def records() -> Iterator[tuple[Any, str]]:
            while True:
                try:
                    row = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield None, str(error)
                    continue
                if not row:
                    continue
                trouble = f"{len(row)} fields instead of {len(names)}: {','.join(row)[:120]}"
                yield dict(zip(names, row, strict=False)), trouble if len(row) != len(names) else ""

        yield Parsed(1, None)  # the header
        rows = records()
        beginning = list(islice(rows, TIMES_LOOKED_AT))
        order = order_of_dates(str(record["TimeGenerated"]) for record, trouble in beginning if not trouble)

        def in_iso(record: dict[str, Any]) -> Fields:
            fields = _queried(record)
            if order and fields["f1"]:
                fields["f1"] = iso_of(fields["f1"], order)
            return fields

        yield from _batched(chain(beginning, rows), in_iso)


def picked(record: Any) -> Fields | None:
    """The used fields of one record, or None where it is no log record."""
    if not isinstance(record, dict):
        return None
    if isinstance(record.get("TimeGenerated"), str):
        return _queried(record)
    if not isinstance(record.get("time"), str) or not isinstance(record.get("operationName"), str):
        return None
    properties = record.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    fields = {column: _text(record.get(source)) for column, source in FIELDS.items()}
    fields |= {column: _text(properties.get(source)) for column, source in PROPERTIES.items()}
    return fields | {"resourceType": _text(record.get("resourceType"))}


def _queried(record: dict[str, Any]) -> Fields:
    fields = {column: _text(record.get(source)) for column, source in ANALYTICS.items()}
    if fields["f10"] is None and _text(record.get("Type")) == "StorageTableLogs":
        fields["f10"] = "table"
    return fields


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    return json.dumps(value)


def filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Absent fields made good: the service by type of resource or host, texts that later steps expect."""
    table = pl.col("resourceType").str.contains("tableServices", literal=True) | pl.col("f11").str.contains(
        ".table.", literal=True
    )
    if frame["f10"].null_count():
        frame = frame.with_columns(
            f10=pl.coalesce("f10", pl.when(table).then(pl.lit("table")), pl.lit("unknown service"))
        )
    marks = ["whole"] if "whole" in frame.columns else []
    empty = [c for c in TEXTS if frame[c].null_count()]
    return frame.select("line", *marks, *(pl.col(c).fill_null("") if c in empty else pl.col(c) for c in USED))
