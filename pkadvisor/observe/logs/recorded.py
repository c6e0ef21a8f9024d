"""Recorded exchanges: JSON lines with ``method``, ``uri`` and ``status`` as a proxy or a test recorder writes them.

``batch`` lists the parts of a group transaction (``method``, ``uri``); ``entity_keys`` tells the keys in an inserted
entity; ``x_ms_date`` is an HTTP date. Read line by line: for thousands of lines, not for millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.logs.frame import NOT_PARSEABLE, TABLE_OPERATION, Op, ReadOptions, Route, Routes, Skips
from pkadvisor.observe.logs.pipeline import first_object
from pkadvisor.observe.logs.storage_analytics import read_route
from pkadvisor.observe.logs.urls import UrlShape, address_keys, blank_text, pk_of_text, raw_filter

NAME: Final = "recorded exchanges"

# A PUT replaces only with If-Match, which an exchange does not record, and inserts or replaces without.
METHODS: Final = {"PUT": Op.UPSERT, "MERGE": Op.MERGE, "PATCH": Op.MERGE, "DELETE": Op.DELETE}


def claims(head: bytes) -> bool:
    """Whether the first line is an object with a method and a uri."""
    return {"method", "uri"} <= first_object(head).keys()


def frames(
    path: str | Path, routes: Routes, skips: Skips, options: ReadOptions | None = None, name: str = ""
) -> Iterator[pl.DataFrame]:
    """Request frames of one file."""
    from pkadvisor.observe.logs.trace import rows_to_frames

    yield from rows_to_frames(path, rows_of, routes, skips, options or ReadOptions(), name)


def rows_of(record: dict[str, Any], place: str) -> list[tuple[Route, dict[str, Any]]]:
    """The requests of one exchange; raises ValueError where it is none."""
    method, uri = record["method"], record["uri"]
    if not isinstance(method, str) or not isinstance(uri, str):
        raise ValueError("method and uri must be texts")
    status = record.get("status")
    common: dict[str, Any] = {
        "at_us": _http_date(record.get("x_ms_date")),
        "status": status if isinstance(status, int) else 0,
        "throttled": status in (429, 503),
    }
    parts = record.get("batch")
    if isinstance(parts, list):
        request = f"exchange {place}"
        account = UrlShape.of(blank_text(uri)).account
        lead = common | {"request_id": request, "op_number": 0}
        rows: list[tuple[Route, dict[str, Any]]] = [(Route("", Op.BATCH, account=account), lead)]
        partitions = record.get("batch_partition_keys")
        only = partitions[0] if isinstance(partitions, list) and len(partitions) == 1 else None
        for number, part in enumerate(parts, 1):
            route, fields = _request(part["method"], part["uri"], grouped=True)
            fields["pk"] = fields["pk"] if fields["pk"] is not None else only
            route = replace(route, account=account)  # a part names a path of the same account
            rows.append((route, common | fields | {"request_id": request, "op_number": number}))
        return rows
    route, fields = _request(method, uri, grouped=False)
    keys = record.get("entity_keys")
    if route.op is Op.INSERT and isinstance(keys, dict):
        fields |= {"pk": keys.get("PartitionKey"), "rk": keys.get("RowKey")}
    return [(route, common | fields)]


def _request(method: str, uri: str, *, grouped: bool) -> tuple[Route, dict[str, Any]]:
    shape = UrlShape.of(blank_text(uri))
    pk, rk = address_keys(uri)
    text = raw_filter(uri)
    fields: dict[str, Any] = {
        "pk": pk if pk is not None or text is None else pk_of_text(text),
        "rk": rk,
        "filter": text,
    }
    if shape.kind == "definition":
        return Route("", Op.QUERY, skip=TABLE_OPERATION), fields
    if shape.kind in ("other", "batch"):
        return Route("", Op.QUERY, skip=NOT_PARSEABLE), fields
    if method == "GET":
        return read_route(shape), fields
    op = Op.INSERT if method == "POST" and shape.kind == "collection" else METHODS.get(method)
    if op is None or (op is not Op.INSERT and shape.kind != "address"):
        return Route("", Op.QUERY, skip=NOT_PARSEABLE), fields
    return Route(shape.table, op, address=True, grouped=grouped, pk_equal=True, account=shape.account), fields


def _http_date(text: object) -> int | None:
    from email.utils import parsedate_to_datetime

    if not isinstance(text, str):
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000
    except (ValueError, TypeError, OverflowError):
        return None
