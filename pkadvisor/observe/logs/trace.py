"""The project's own trace: one JSON object a line, for stores and applications without a log of their own.

| field | meaning |
| --- | --- |
| ``table`` | name of the table; default ``table`` |
| ``op`` | ``query`` (default), ``insert``, ``update``, ``merge``, ``upsert``, ``delete`` |
| ``at`` | ISO-8601 text (UTC without an offset) or seconds since 1970; absent: rates must be declared |
| ``pk``, ``rk`` | the keys, where known |
| ``filter`` | a ``$filter``, over keys or logical properties |
| ``top``, ``select``, ``order_by`` | as in the query; ``order_by``: list of properties, `` desc`` behind one |
| ``page`` | which page of the answer was asked for, from 1; further pages are no queries of their own |
| ``group`` | id of the group transaction that the write is part of |
| ``params`` | logical properties of the entity asked for or written, an object |
| ``kind`` | entity kind |
| ``status``, ``latency_ms``, ``bytes`` | HTTP status, latency on the server, size of the answer |
| ``id``, ``client_id`` | request id (duplicates), client request id (retries) |

All but one of ``op``, ``filter``, ``pk`` and ``params`` may be absent. Fields of other names are not read; a name that
may be a slip of one of these is refused.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.data.streams import line_blocks
from pkadvisor.observe.logs.frame import (
    NOT_PARSEABLE,
    UNREADABLE,
    Op,
    ReadOptions,
    Route,
    Routes,
    Skips,
    columns,
)
from pkadvisor.observe.logs.pipeline import count_long_lines, first_object, text_of
from pkadvisor.observe.logs.urls import pins_partition, pk_of_plain
from pkadvisor.table.odata import normalise

NAME: Final = "trace"

FIELDS: Final = (
    "table", "op", "at", "pk", "rk", "filter", "top", "select", "order_by", "page", "group", "params", "kind",
    "status", "latency_ms", "bytes", "id", "client_id",
)  # fmt: skip
_SAYS_WHAT: Final = ("op", "filter", "pk", "params")
_ROWS: Final = 50_000
_GROUPS_MAX: Final = 200_000


def claims(head: bytes) -> bool:
    """Whether the first line is an object that says of which table, or when, what is asked; or is of known fields."""
    record = first_object(head)
    if not any(f in record for f in _SAYS_WHAT):
        return False
    return record.keys() <= set(FIELDS) or any(isinstance(record.get(f), str) for f in ("table", "at"))


def frames(
    path: str | Path, routes: Routes, skips: Skips, options: ReadOptions | None = None, name: str = ""
) -> Iterator[pl.DataFrame]:
    """Request frames of one file."""
    groups: dict[str, int] = {}

    def rows(record: dict[str, Any], place: str) -> list[tuple[Route, dict[str, Any]]]:
        return _rows(record, groups)

    yield from rows_to_frames(path, rows, routes, skips, options or ReadOptions(), name)


def rows_to_frames(
    path: str | Path,
    rows_of: Callable[[dict[str, Any], str], list[tuple[Route, dict[str, Any]]]],
    routes: Routes,
    skips: Skips,
    options: ReadOptions,
    name: str,
    *,
    read: Callable[[bytes], Any] = json.loads,
) -> Iterator[pl.DataFrame]:
    """Frames of a file of lines, which ``read`` makes records of; ``rows_of(record, place)`` gives the requests of one
    or raises ValueError."""
    where = name or str(path)
    schema = columns()
    waiting: dict[str, list[Any]] = {column: [] for column in schema}
    number = 0

    def frame() -> pl.DataFrame:
        made = pl.DataFrame(waiting, schema=schema)
        for values in waiting.values():
            values.clear()
        return made

    for block in line_blocks(path, options.block_bytes, on_long_line=count_long_lines(skips, where), name=where):
        for line in block.split(b"\n")[:-1]:
            number += 1
            skips.lines += 1
            if not line.strip():
                continue
            try:
                record = read(line)
                if not isinstance(record, dict):
                    raise ValueError("no object")
                rows = rows_of(record, f"{where}:{number}")
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                skips.add(NOT_PARSEABLE, 1, f"{where}:{number}", f"{_reason(error)}: {text_of(line)}", bad=True)
                continue
            for route, fields in rows:
                if route.skip:
                    bad = route.skip in UNREADABLE
                    skips.add(route.skip, 1, f"{where}:{number}", text_of(line), bad=bad)
                    continue
                fields["route"] = routes.number(route)
                for column, values in waiting.items():
                    values.append(fields.get(column))
            if len(waiting["route"]) >= _ROWS:
                yield frame()
    if waiting["route"]:
        yield frame()


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON at character {error.pos + 1}"
    return f"no {error}" if isinstance(error, KeyError) else str(error)


@functools.lru_cache(1024)
def _nearest_field(name: str) -> str:
    """The field that a name may be a slip of; empty for one that is something else, which is not read."""
    return next(iter(difflib.get_close_matches(name, FIELDS, 1, 0.8)), "")


def _rows(record: dict[str, Any], groups: dict[str, int]) -> list[tuple[Route, dict[str, Any]]]:
    for unknown in sorted(record.keys() - set(FIELDS)):
        if (meant := _nearest_field(unknown)) not in {"", *record}:
            raise ValueError(f"unknown field '{unknown}', did you mean '{meant}'")
    if not any(f in record for f in _SAYS_WHAT):
        raise ValueError("says neither op nor filter nor pk nor params")
    op = Op(_text(record, "op") or "query")
    if op is Op.BATCH:
        raise ValueError("op is for one entity; give the parts the same 'group'")
    pk, rk, text = _text(record, "pk"), _text(record, "rk"), _text(record, "filter")
    shape = normalise(text)[0] if text else ""
    group = record.get("group")
    order = record.get("order_by", [])
    top, page = _count(record, "top"), _count(record, "page")
    params = record.get("params")
    if not (isinstance(order, list) and all(isinstance(o, str) for o in order)):
        raise ValueError("order_by is not a list of texts")
    if params is not None and not isinstance(params, dict):
        raise ValueError("params is not an object")
    select = record.get("select") or []
    if isinstance(select, str):
        select = select.split(",")
    status = record.get("status", 0)
    address = not shape and (op.writes or (pk is not None and rk is not None))
    for name in ("latency_ms", "bytes"):  # not used, and still to be numbers
        _number(record, name)
    fields: dict[str, Any] = {
        "at_us": _at_us(record.get("at")),
        "op_number": 0,
        "request_id": _text(record, "id"),
        "client_request_id": _text(record, "client_id"),
        "status": int(status) if str(status).isascii() and str(status).isdigit() and int(status) < 1000 else 0,
        "throttled": str(status) in ("429", "503"),
        "pk": pk if pk is not None or not text else pk_of_plain(text),
        "rk": rk,
        "filter": text,
        "params": None if params is None else json.dumps(params, sort_keys=True, ensure_ascii=False),
    }
    route = Route(
        _text(record, "table") or "table",
        op,
        address=address,
        grouped=group is not None,
        shape=shape,
        pk_equal=pk is not None or pins_partition(shape),
        select=",".join(sorted(str(s).strip() for s in select)),
        top=top,
        order_by=tuple(order),
        continued=page is not None and page > 1,
        kind=_text(record, "kind") or "",
    )
    return [(route, fields)] if group is None else _of_group(route, fields, str(group), groups)


def _of_group(
    route: Route, fields: dict[str, Any], name: str, groups: dict[str, int]
) -> list[tuple[Route, dict[str, Any]]]:
    """An entity of a group transaction; the first one stands for the whole transaction, too."""
    if len(groups) >= _GROUPS_MAX and name not in groups:
        groups.pop(next(iter(groups)))
    groups[name] = groups.get(name, 0) + 1
    fields |= {"request_id": f"group {name}", "op_number": groups[name]}
    if groups[name] > 1:
        return [(route, fields)]
    whole = fields | {"op_number": 0, "pk": None, "rk": None, "filter": None, "params": None}
    return [(Route("", Op.BATCH), whole), (route, fields)]


def _text(record: dict[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is None or isinstance(value, str):
        # Lone surrogates cannot be kept in UTF-8.
        return value if value is None or value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int | float) and not isinstance(value, bool) and name in ("id", "client_id", "pk", "rk"):
        return str(value)
    raise ValueError(f"{name} is not text")


def _count(record: dict[str, Any], name: str) -> int | None:
    value = record.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name} is not a whole number above 0")
    return value


def _number(record: dict[str, Any], name: str) -> float | None:
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise ValueError(f"{name} is not a number from 0 on")
    return float(value)


def _at_us(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        at = datetime.fromisoformat(value)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        span = at - datetime(1970, 1, 1, tzinfo=UTC)
        return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 253_402_300_800:
        return round(value * 1_000_000)
    raise ValueError("at is neither a time nor seconds since 1970")
