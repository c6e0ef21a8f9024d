"""A line of any other log as a line of ``trace``: what an error shows to whoever has such a log."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pkadvisor.observe.logs.azure_records import local_times

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
    own, keys = _fields(line), _keys(line)
    line = _plain(line)
    record: dict[str, object] = {"table": "table"}
    at = _time(line)
    if at:
        record["at"] = at
    record |= keys or _sql(line) or _http(line) or {"filter": own or "PROPERTY eq 'VALUE'"}
    return json.dumps(record, ensure_ascii=True)


_NAMES: Final = {
    "table": ("table", "tbl", "tablename", "table_name"),
    "op": ("op", "verb", "operation", "method", "action"),
    "pk": ("pk", "partitionkey", "partition_key"),
    "rk": ("rk", "rowkey", "row_key"),
    "top": ("top", "$top", "take"),
    "status": ("status", "code", "statuscode", "status_code"),
}
"""What loggers of one's own call the fields of a trace."""


def _keys(line: str) -> dict[str, object]:
    """The fields of a line of JSON that names keys, or a filter over them; empty for every other."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    given = {name.lower(): value for name, value in held.items()} if isinstance(held, dict) else {}
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


def _fields(line: str) -> str:
    """A filter over the first fields of a line of JSON that may identify something: no free text and no time."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    equal = []
    for name, value in held.items() if isinstance(held, dict) else ():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name.lower() in _OF_LOGGERS:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31:
            equal.append(f"{name} eq {value}")
        elif isinstance(value, str) and value and not _time(value) and not re.search(r"\s", value):
            equal.append(f"{name} eq {_quoted(value)}")
    return _short(" and ".join(equal[:_VALUES_MAX]))


_OF_LOGGERS: Final = frozenset(("level", "severity", "logger", "host", "pid", "thread", "msg", "message"))


def _plain(line: str) -> str:
    """A line without the quoting of CSV, a line of JSON as its texts: first the verb and the path of a request."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return line.replace('""', '"')
    texts = [str(value) for value in held.values()] if isinstance(held, dict) else [line]
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
        form = local_times([match.group()])
        return form.iso(match.group()) if form is not None else ""
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
