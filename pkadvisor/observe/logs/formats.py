"""Query logs: one module for each format; which one reads a file is decided by its first lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pkadvisor.errors import InputError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.streams import open_text
from pkadvisor.observe.logs import access_log, azure_monitor, recorded, storage_analytics, trace
from pkadvisor.observe.logs.azure_records import iso_of, order_of_dates
from pkadvisor.observe.logs.frame import NOT_PARSEABLE, ReadOptions, Routes, Skips
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, parse_datetime_ticks
from pkadvisor.values import dataclass

FORMATS: Final[tuple[ModuleType, ...]] = (storage_analytics, azure_monitor, trace, recorded, access_log)
"""Each has ``NAME``, ``claims(head)`` and ``frames(path, routes, skips, options, name)``; ``FIRST_TIME``, where there
is one, finds the time of the first line."""

_HEAD_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Log:
    """A log file and the format that claims it; ``first_us``: the first time seen in its beginning."""

    path: str | Path
    name: str
    format: ModuleType
    first_us: int | None

    @property
    def format_name(self) -> str:
        """The name of the format for humans."""
        return str(self.format.NAME)

    def frames(self, routes: Routes, skips: Skips, options: ReadOptions) -> Iterator[pl.DataFrame]:
        """Request frames of the file."""
        frames: Iterator[pl.DataFrame] = self.format.frames(self.path, routes, skips, options, self.name)
        return frames


def sniff(head: bytes) -> ModuleType | None:
    """The format that claims a file beginning with ``head``."""
    return next((candidate for candidate in FORMATS if candidate.claims(head)), None)


def open_log(path: str | Path, name: str = "") -> Log:
    """Find the format of a file; raises InputError where none claims it. ``name``: what to call it (its path)."""
    where = name or str(path)
    head, whole = _beginning(path, where)
    claiming = sniff(whole)
    if claiming is None:
        raise _unknown(head, where)
    return Log(path, where, claiming, _first_time(claiming, whole))


def log_format_of(path: str | Path) -> str:
    """The name of the log format that claims a file; empty where none does."""
    claiming = sniff(_beginning(path, str(path))[1])
    return "" if claiming is None else str(claiming.NAME)


def _beginning(path: str | Path, where: str) -> tuple[bytes, bytes]:
    """The first bytes of a file, and of them the whole lines."""
    with open_text(path, name=where) as stream:
        head = stream.read(_HEAD_BYTES)
    cut = head.rfind(b"\n") + 1
    return head, head[:cut] if cut and len(head) == _HEAD_BYTES else head


class UnknownLogError(InputError):
    """A file that is in no known format."""


def _unknown(head: bytes, where: str) -> UnknownLogError:
    """The error for a file in no known format, with one line of ``trace`` made of the user's own."""
    tried = ", ".join(f.NAME for f in FORMATS)
    text = _text(head)
    strange = sum(not (c.isprintable() or c in "\t\r\n") or c == "\ufffd" for c in text[:4096])
    if strange > _BINARY_SHARE * len(text[:4096]):
        fix = f"formats tried: {tried}"
        return UnknownLogError("this is not text, so it is not a query log", where=where, fix=fix)
    line = next((part for part in text.split("\n", 50) if part.strip()), "")
    if _HEADER.search(line):
        fix = "give an export of the table as data (--from of 'init'), not as a log"
        return UnknownLogError("this reads like an export of a table", where=f"{where}:1", fix=fix)
    shown = trace_line(line[:4000])
    what = f"this is not a query log that can be read (formats tried: {tried}); the first line is shown below"
    made = f"write it as a trace, a line for each request: {shown}"
    return UnknownLogError(what, where=f"{where}:1", excerpt="  " + _first_line(line), fix=made)


_BINARY_SHARE: Final = 0.05
_HEADER: Final = re.compile(r'(?:^|[,;|\t])"?PartitionKey"?[,;|\t]"?RowKey"?(?:[,;|\t\r]|$)')


def _text(head: bytes) -> str:
    """The beginning of a file as UTF-8, but for a character that is cut at its end; else as Windows writes text."""
    try:
        return head[: len(head) - 3].decode("utf-8") if len(head) == _HEAD_BYTES else head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 6:
            return head[: error.start].decode("utf-8")
        return head.decode("cp1252", "replace")


def _first_line(line: str) -> str:
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line.strip()[:400])
    return line if len(line) <= 76 else line[:75] + "…"


def _first_time(log_format: ModuleType, head: bytes) -> int | None:
    """A time in the beginning of a log: of the first line where a format shows it there, else the earliest."""
    import tempfile

    shown = log_format.FIRST_TIME.search(head) if hasattr(log_format, "FIRST_TIME") else None
    if shown is not None:
        try:
            return (parse_datetime_ticks(shown[1].decode("ascii", "replace")) - TICKS_UNIX_EPOCH) // 10
        except ValueError:  # the format tells what is wrong with it
            pass
    with tempfile.NamedTemporaryFile(prefix="pkadvisor-", suffix=".log") as copy:
        copy.write(head)
        copy.flush()
        try:
            for frame in log_format.frames(copy.name, Routes(), Skips(), ReadOptions(threads=1), "head"):
                first = frame["at_us"].min()
                if first is not None:
                    return int(first)
        except InputError:
            return None
    return None


def in_time_order(logs: Sequence[Log]) -> list[Log]:
    """Logs by their first time, those without one last; then by name."""
    return sorted(logs, key=lambda log: (log.first_us is None, log.first_us or 0, log.name))


def too_many_bad(skips: Skips, max_bad_lines: float) -> InputError:
    """The error for a log most of which makes sense only partly."""
    reason, example = next(iter(sorted(skips.examples.items(), key=lambda item: item[0] != NOT_PARSEABLE)))
    return InputError(
        f"{skips.bad:,} of {skips.lines:,} log lines cannot be read, more than {max_bad_lines:.1%}",
        where=example.split(": ", 1)[0],
        excerpt="  " + example.split(": ", 1)[1][:76],
        fix=f"first reason: {reason}; repair the log, or raise --max-bad-lines",
    )


def no_requests(logs: Sequence[Log], skips: Skips) -> InputError:
    """The error for logs without a single request of a table."""
    if not skips.examples:
        return InputError("the log holds no request", where=", ".join(log.name for log in logs[:3]))
    reason = max(sorted(skips.counts), key=lambda r: skips.counts[r])
    where, _, text = skips.examples[reason].partition(": ")
    return InputError(
        f"none of {skips.lines:,} lines is a request to a table; {skips.counts[reason]:,} are left out: {reason}",
        where=where,
        excerpt="  " + text[:76],
        fix=f"read as {', '.join(sorted({log.format_name for log in logs}))}; is this the log of the table service?",
    )


_LOOKED_AT: Final = 100
"""Data files that are looked at for a log among them."""


def log_in_place_of_data(dataset: Dataset) -> tuple[str, ...]:
    """A note where data may be a query log that was given in the place of data."""
    if dataset.format not in ("csv", "jsonl"):
        return ()
    several = len(dataset.paths) > 1
    logs = ((path, name) for path in dataset.paths[:_LOOKED_AT] if (name := log_format_of(path)))
    return tuple(
        f"{path.name if several else 'this'} reads like a query log ({name}): if it is one, give it with --log"
        for path, name in islice(logs, 1)
    )


# -- A line of any other log as a line of ``trace``: what an error shows to whoever has such a log.


_ISO: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,7})?"
    r"(?:Z| UTC\b| GMT\b|[+-][0-9]{2}:?[0-9]{2})?"
)
_APACHE: Final = re.compile(r"([0-9]{2})/([A-Z][a-z]{2})/([0-9]{4}):([0-9:]{8}) ([+-][0-9]{2})([0-9]{2})")
_LOCAL: Final = re.compile(r"[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4},? [0-9:]{5,8}(?: ?[AP]M)?")
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_HTTP: Final = re.compile(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE|MERGE)\s+([^\s\"]+)")
_SELECT: Final = re.compile(r"\bselect\b.*?\bfrom\s+([\w.\"`\[\]]+)(.*)", re.IGNORECASE | re.DOTALL)
_WRITE: Final = re.compile(
    r"\b(insert\s+into|update|delete\s+from)\s+([\w.\"`\[\]]+)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_EQUAL: Final = re.compile(r"[\"`\[]?([A-Za-z_]\w*)[\"`\]]?\s*=\s*('(?:[^']|'')*'|-?[0-9]+(?:\.[0-9]+)?)")
_OPERATIONS: Final = {"POST": "insert", "PUT": "upsert", "PATCH": "merge", "MERGE": "merge", "DELETE": "delete"}
_VALUES_MAX: Final = 4
_LENGTH_MAX: Final = 60


def trace_line(line: str) -> str:
    """One line of ``trace`` that says what a line of another log seems to say, with a filter at least."""
    held = _object(line)
    own, keys = _fields(held or {}), _keys(held or {})
    line = _plain(line, held)
    record: dict[str, object] = {"table": "table"}
    at = _time(line)
    if at:
        record["at"] = at
    record |= keys or _sql(line) or _http(line) or {"filter": own or "PROPERTY eq 'VALUE'"}
    return json.dumps(record, ensure_ascii=True)


def _object(line: str) -> dict[str, Any] | None:
    """The object of a line of JSON; empty for other JSON, None where a line is none."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else {}


_NAMES: Final = {
    "table": ("table", "tbl", "tablename", "table_name"),
    "op": ("op", "verb", "operation", "method", "action"),
    "pk": ("pk", "partitionkey", "partition_key"),
    "rk": ("rk", "rowkey", "row_key"),
    "top": ("top", "$top", "take"),
    "status": ("status", "code", "statuscode", "status_code"),
}
"""What loggers of one's own call the fields of a trace."""


def _keys(held: dict[str, Any]) -> dict[str, object]:
    """The fields of a line of JSON that names keys, or a filter over them; empty for every other."""
    given = {name.lower(): value for name, value in held.items()}
    out = {ours: given[name] for ours, names in _NAMES.items() for name in names if name in given}
    asked = [
        text for text in given.values() if isinstance(text, str) and re.search(r"\bPartitionKey (?:eq|ge|gt) '", text)
    ]
    if not asked and "pk" not in out:
        return {}
    verb = str(out.pop("op", "")).upper()
    wanted = next((op for op in ("insert", "upsert", "merge", "update", "delete") if op.upper() in verb), "query")
    out["op"] = "query" if asked else _OPERATIONS.get(verb, wanted)
    return out | ({"filter": _short(asked[0])} if asked else {})


def _fields(held: dict[str, Any]) -> str:
    """A filter over the first fields of a line of JSON that may identify something: no free text and no time."""
    equal = []
    for name, value in held.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name.lower() in _OF_LOGGERS:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31:
            equal.append(f"{name} eq {value}")
        elif isinstance(value, str) and value and not _time(value) and not re.search(r"\s", value):
            equal.append(f"{name} eq {_quoted(value)}")
    return _short(" and ".join(equal[:_VALUES_MAX]))


_OF_LOGGERS: Final = frozenset(("level", "severity", "logger", "host", "pid", "thread", "msg", "message"))


def _plain(line: str, held: dict[str, Any] | None) -> str:
    """A line without the quoting of CSV, a line of JSON as its texts: first the verb and the path of a request."""
    if held is None:
        return line.replace('""', '"')
    texts = [str(value) for value in held.values()] or [line]
    verbs = [text for text in texts if text in ("GET", "HEAD", *_OPERATIONS)]
    paths = [text for text in texts if text.startswith(("/", "http://", "https://"))]
    asked = [f"{verbs[0]} {paths[0]}"] if verbs and paths else []
    return " ".join([*asked, *texts])


def _time(line: str) -> str:
    if match := _ISO.search(line):
        at = re.sub(r" (UTC|GMT)$", "Z", match.group())
        return at.replace(" ", "T").replace(",", ".")
    if match := _APACHE.search(line):
        day, month, year, time, hours, minutes = match.groups()
        if month in _MONTHS:
            return f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{time}{hours}:{minutes}"
    if match := _LOCAL.search(line):
        order = order_of_dates([match.group()])
        return iso_of(match.group(), order) if order else ""
    return ""


def _sql(line: str) -> dict[str, object]:
    if match := _SELECT.search(line):
        table, rest = match.groups()
        conditions = "".join(re.split(r"\bwhere\b", rest, maxsplit=1, flags=re.IGNORECASE)[1:])
        equal = [f"{name} eq {value}" for name, value in _EQUAL.findall(conditions)][:_VALUES_MAX]
        return {"table": _table(table), "filter": _short(" and ".join(equal)) or "PROPERTY eq 'VALUE'"}
    if match := _WRITE.search(line):
        verb, table, rest = match.groups()
        params = {name: value.strip("'") for name, value in _EQUAL.findall(rest)}
        shown = dict(list(params.items())[:_VALUES_MAX]) or {"PROPERTY": "VALUE"}
        return {"table": _table(table), "op": verb.split()[0].lower(), "params": shown}
    return {}


def _http(line: str) -> dict[str, object]:
    match = _HTTP.search(line)
    if match is None:
        return {}
    verb, address = match.groups()
    try:
        url = urlsplit(address)
        asked = parse_qsl(url.query)[:_VALUES_MAX]
    except ValueError:
        return {}
    pieces = [unquote(piece) for piece in url.path.split("/") if piece]
    names = [piece for piece in pieces if re.fullmatch(r"[A-Za-z][A-Za-z_-]*", piece)]
    table = _table(names[-1]) if names else "table"
    values: dict[str, str] = {}
    for before, piece in pairwise(pieces):
        if before in names and piece not in names:
            values[re.sub(r"\W", "_", before).rstrip("s") + "_id"] = piece
    values |= {re.sub(r"\W", "_", name): value for name, value in asked}
    values = values or {"PROPERTY": "VALUE"}
    if verb in _OPERATIONS:
        return {"table": table, "op": _OPERATIONS[verb], "params": values}
    equal = (f"{name} eq {_quoted(value)}" for name, value in values.items())
    return {"table": table, "filter": _short(" and ".join(equal))}


def _quoted(text: str) -> str:
    return "'" + text[:_LENGTH_MAX].replace("'", "''") + "'"


def _table(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", name.rpartition(".")[2])[:_LENGTH_MAX] or "table"


def _short(text: str) -> str:
    return text if len(text) <= 4 * _LENGTH_MAX else ""
