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
from typing import Any, Final, NamedTuple

from pkadvisor.lazy import pl
from pkadvisor.observe.data.streams import open_text
from pkadvisor.observe.logs.frame import NOT_PARSEABLE
from pkadvisor.observe.logs.pipeline import Parsed, Skip
from pkadvisor.observe.logs.storage_analytics import parsed
from pkadvisor.values import dataclass

_TIME: Final = re.compile(
    r"\s*([0-9]{1,4})(?P<separator>[/.-])([0-9]{1,2})(?P=separator)([0-9]{1,4}),?(?:\s|T)\s*"
    r"([0-9]{1,2})[:.]([0-9]{2})(?:[:.]([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"\s*([AaPp]\.?\s?[Mm]\.?)?\s*(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?\s*"
)


class _WrittenTime(NamedTuple):
    """The pieces of a time, in the order of the groups of ``_TIME``; empty where the text has none."""

    first: str
    separator: str
    second: str
    third: str
    hour: str
    minute: str
    seconds: str
    fraction: str
    half: str
    zone: str

    @classmethod
    def of(cls, text: str) -> _WrittenTime | None:
        match = _TIME.fullmatch(text)
        return None if match is None else cls(*match.groups(""))

    @property
    def year_first(self) -> bool:
        return len(self.first) == 4

    def moment(self, order: str) -> datetime | None:
        """The moment without its fraction; None where the numbers name none in this order."""
        if len(self.third) not in (2, 4) and order != "ymd":
            return None
        numbers = (int(self.first), int(self.second), int(self.third))
        year, month, day = (numbers[order.index(part)] for part in "ymd")
        year, hour = year + (2000 if year < 100 else 0), int(self.hour)
        if self.half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if self.half[0] in "pP" else 0)
        try:
            return datetime(
                year + (2000 if year < 100 else 0), month, day, hour, int(self.minute), int(self.seconds or 0)
            )
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class LocalTimes:
    """How the dates of one file are written: ``order`` is that of year, month and day, as ``mdy``."""

    order: str

    def iso(self, text: str) -> str:
        """A time in ISO 8601, UTC where it names no zone; the text itself where it is no such time."""
        time = _WrittenTime.of(text)
        moment = None if time is None else time.moment("ymd" if time.year_first else self.order)
        if time is None or moment is None:
            return text
        fraction = f".{time.fraction}" if time.fraction else ""
        zone = "Z" if time.zone in ("", "UTC", "GMT") else time.zone
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + zone


def local_times(texts: Iterable[str]) -> LocalTimes | None:
    """How times are written; None where they are in ISO 8601, or in no form that is known.

    Whether the month or the day is first is told by a number above 12, by a half of the day (AM, PM) or by points; else
    the order that spans fewer days is taken, and of equal ones the month first.
    """
    times = [time for text in texts if (time := _WrittenTime.of(text))]
    if not times:
        return None
    if all(time.year_first for time in times):
        return LocalTimes("ymd")
    possible = [order for order in ("mdy", "dmy") if all(time.moment(order) for time in times)]
    if len(possible) < 2:
        return LocalTimes(possible[0]) if possible else None
    if any(time.half for time in times):
        return LocalTimes("mdy")
    if all(time.separator == "." for time in times):
        return LocalTimes("dmy")

    def days(order: str) -> int:
        moments = [moment for time in times if (moment := time.moment(order))]
        return (max(moments) - min(moments)).days

    return LocalTimes(min(possible, key=days))


# Where each field of a request is: in a resource log record, in its properties, in Log Analytics.
# The names on the left are those of the columns that ``storage_analytics.requests`` takes.
TOP: Final = {"f1": "time", "f2": "operationName", "f3": "statusText", "f4": "statusCode", "f11": "uri"}
PROPERTIES: Final = {
    "f10": "serviceType",
    "f12": "objectKey",
    "f14": "operationCount",
    "f29": "clientRequestId",
}
ANALYTICS: Final = {
    "f1": "TimeGenerated",
    "f2": "OperationName",
    "f3": "StatusText",
    "f4": "StatusCode",
    "f10": "ServiceType",
    "f11": "Uri",
    "f12": "ObjectKey",
    "f13": "CorrelationId",
    "f14": "OperationCount",
    "f29": "ClientRequestId",
}
USED: Final = ("f1", "f2", "f3", "f4", "f10", "f11", "f12", "f13", "f14", "f29")
TEXTS: Final = ("f2", "f3", "f11", "f12")
TIMES_LOOKED_AT: Final = 5_000


def _batched(
    records: Iterator[tuple[Any, str | None]], pick: Callable[[Any], dict[str, str | None] | None]
) -> Iterator[Parsed]:
    """Blocks of 20,000 records; a record counts as a line."""
    rows: list[tuple[int, dict[str, str | None] | None]] = []
    skips: list[Skip] = []
    count = 0
    for record, trouble in records:
        fields = None if trouble is not None else pick(record)
        if fields is None:
            shown = trouble if trouble is not None else json.dumps(record)[:200]
            skips.append(Skip(NOT_PARSEABLE, 1, count, shown, bad=True))
        else:
            rows.append((count, fields))
        count += 1
        if count == 20_000:
            yield parsed(count, frame(rows, skips), skips)
            rows, skips, count = [], [], 0
    if count:
        yield parsed(count, frame(rows, skips), skips)


def document_parts(path: str | Path, where: str) -> Iterator[Parsed]:
    """One JSON list or ``{"records": […]}`` over any number of lines, object by object."""
    decoder = json.JSONDecoder()

    def records() -> Iterator[tuple[Any, str | None]]:
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
                    yield record, None
                except (ValueError, RecursionError):
                    more = text.read(1 << 20)
                    if not more:
                        if buffer:
                            yield None, f"the JSON is cut or broken at: {buffer[:120]}"
                        return
                    buffer += more

    def pick(record: Any) -> dict[str, str | None] | None:
        return picked(record, 0, [])[0]

    yield from _batched(records(), pick)


def csv_parts(path: str | Path, names: list[str], where: str) -> Iterator[Parsed]:
    """A Log Analytics CSV, record by record: fields may hold line ends."""
    with open_text(path, name=where) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(text)
        next(reader, None)

        def records() -> Iterator[tuple[Any, str | None]]:
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
                yield (
                    (dict(zip(names, row, strict=True)), None)
                    if len(row) == len(names)
                    else (
                        None,
                        f"{len(row)} fields instead of {len(names)}: {','.join(row)[:120]}",
                    )
                )

        first = Parsed(1, None)  # the header
        yield first
        rows = records()
        beginning = list(islice(rows, TIMES_LOOKED_AT))
        form = local_times(str(record["TimeGenerated"]) for record, _ in beginning if record is not None)

        def in_iso(record: dict[str, Any]) -> dict[str, str | None]:
            fields = _queried(record)
            if form is not None and fields["f1"]:
                fields["f1"] = form.iso(fields["f1"])
            return fields

        yield from _batched(chain(beginning, rows), in_iso)


def picked(record: Any, place: int, skips: list[Skip]) -> tuple[dict[str, str | None] | None]:
    """The used fields of one record, or None (counted) where it is no log record."""
    if isinstance(record, dict) and isinstance(record.get("TimeGenerated"), str):
        return (_queried(record),)
    if (
        isinstance(record, dict)
        and isinstance(record.get("time"), str)
        and isinstance(record.get("operationName"), str)
    ):
        properties = record.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        fields = {column: _text(record.get(source)) for column, source in TOP.items()}
        fields |= {column: _text(properties.get(source)) for column, source in PROPERTIES.items()}
        fields["f13"] = _text(record.get("correlationId"))
        fields["resourceType"] = _text(record.get("resourceType"))
        return (fields,)
    shown = json.dumps(record, ensure_ascii=True)[:200] if record is not None else "no JSON"
    skips.append(Skip(NOT_PARSEABLE, 1, place, shown, bad=True))
    return (None,)


def _queried(record: dict[str, Any]) -> dict[str, str | None]:
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


def frame(rows: list[tuple[int, dict[str, str | None] | None]], skips: list[Skip]) -> pl.DataFrame:
    good = [(place, fields) for place, fields in rows if fields is not None]
    frame = pl.DataFrame(
        {"line": pl.Series([place for place, _ in good], dtype=pl.UInt32)}
        | {
            column: pl.Series([fields.get(column) for _, fields in good], dtype=pl.String)
            for column in (*USED, "resourceType")
        }
    )
    return filled(frame)


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
