"""Access logs of a proxy in front of the table service: a line for each request, in the common or the combined format.

Addresses are paths, as a reverse proxy writes them, or whole URLs, as a forward proxy does. A GUID in a line is taken
for the client's id of the request, a host of the service for its account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pkadvisor.lazy import pl
from pkadvisor.observe.logs import recorded
from pkadvisor.observe.logs.frame import ANOTHER_SERVICE, NOT_PARSEABLE, Op, ReadOptions, Route, Routes, Skips

NAME: Final = "access log of a proxy"
_LINE: Final = re.compile(
    rb"\[([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})\] "
    rb'"([A-Z]+) (?:https?://([^/" ]+))?(/[^"]*?) HTTP/[0-9.]+" ([0-9]{3})\b'
)
_OF_TABLES: Final = re.compile(rb'"[A-Z]+ (?:https?://[^/" ]+)?/[A-Za-z][A-Za-z0-9]{2,62}\((?:\)| *PartitionKey *=)')
"""An address that the table service has, and hardly another one: ``/Orders()`` or ``/Orders(PartitionKey=``."""
_ACCOUNT: Final = re.compile(rb"\b([a-z0-9]{3,24})\.table\.(?:core|cosmos)\.")
_BARE: Final = re.compile(rb"/(?!Tables$)[^($?/]*")
"""``/healthz`` is another service's: clients of the table service ask for ``/Orders()``."""
_ID: Final = re.compile(rb"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")


def claims(head: bytes) -> bool:
    """Whether the first line is one of an access log, and some line has an address of the table service."""
    first = next((line for line in head.split(b"\n", 5) if line.strip()), b"")
    return _LINE.search(first) is not None and _OF_TABLES.search(head) is not None


def frames(
    path: str | Path, routes: Routes, skips: Skips, options: ReadOptions | None = None, name: str = ""
) -> Iterator[pl.DataFrame]:
    """Request frames of one file."""
    from pkadvisor.observe.logs.trace import rows_to_frames

    yield from rows_to_frames(path, _rows, routes, skips, options or ReadOptions(), name, read=_record)


def _record(line: bytes) -> dict[str, Any]:
    """A line as an exchange; raises ValueError where it is none."""
    match = _LINE.search(line)
    if match is None:
        raise ValueError("no request in quotes behind a time in brackets")
    behind = line[match.end() :]
    time, method, proxied, path, status = match.groups()
    account, request = _ACCOUNT.search(proxied or behind), _ID.search(behind)
    at = datetime.strptime(time.decode("ascii"), "%d/%b/%Y:%H:%M:%S %z")
    host = account[1].decode("ascii") if account else "proxy"
    path = b"/-" if method == b"GET" and _BARE.fullmatch(path) else path  # no name of a table
    return {
        "method": method.decode("ascii"),
        "uri": f"https://{host}.table.core.windows.net{path.decode('utf-8', 'replace')}",
        "status": int(status),
        "at_us": int(at.timestamp()) * 1_000_000,
        "client_request_id": request[0].decode("ascii") if request else None,
    }


def _rows(record: dict[str, Any], place: str) -> list[tuple[Route, dict[str, Any]]]:
    own = {name: record[name] for name in ("at_us", "client_request_id")}
    rows = recorded.rows_of(record, place)
    # A proxy stands before other services too: what is no request of a table is one of theirs.
    if any(route.skip == NOT_PARSEABLE for route, _ in rows):
        return [(Route("", Op.QUERY, skip=ANOTHER_SERVICE), own)]
    return [(route, fields | own) for route, fields in rows]
