"""Requests as lines of each log format that ``advisor`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

FORMATS = ("trace", "storage analytics", "azure monitor", "exchanges")
PROXIES = ("reverse proxy", "forward proxy")
"""Access logs, which name neither the keys of inserts nor the parts of group transactions."""
SUFFIX = {
    "trace": "jsonl", "storage analytics": "log", "azure monitor": "json", "exchanges": "jsonl",
    "reverse proxy": "log", "forward proxy": "log",
}  # fmt: skip
BEGIN = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
OPERATIONS = {
    "query": "QueryEntities", "insert": "InsertEntity", "update": "MergeEntity", "upsert": "InsertOrReplaceEntity",
    "delete": "DeleteEntity",
}  # fmt: skip
STATUS = {503: "ServerBusyError", 404: "ResourceNotFound"}
METHODS = {"query": "GET", "insert": "POST", "update": "PATCH", "upsert": "PUT", "delete": "DELETE"}


@dataclass(frozen=True)
class Line:
    """One request: when (seconds from the beginning), what, and its filter or its key."""

    at_s: float
    operation: str
    number: int
    filter: str | None = None
    key: tuple[str, str] | None = None
    status: int = 200
    client: str = ""
    top: int | None = None
    page: int = 0
    """How many pages of the answer came before this one."""
    group: str = ""
    """The group transaction that the request is part of; ``part`` counts from 1, 0 is the transaction itself."""
    part: int = 0
    account: str = "acct"

    @property
    def id(self) -> str:
        """The request's own id."""
        return self.group or f"r-{self.number:08}"

    @property
    def at(self) -> datetime:
        """The time of day."""
        return BEGIN + timedelta(microseconds=round(self.at_s * 1_000_000))


def _address(line: Line, table: str) -> str:
    """The URL of a request."""
    account = f"https://{line.account}.table.core.windows.net:443"
    base = f"{account}/{table}"
    if line.group:
        return f"{account}/$batch"
    if line.operation == "insert":
        return base
    if line.key is not None:
        partition, row = (quote(text.replace("'", "''"), safe="") for text in line.key)
        return f"{base}(PartitionKey='{partition}',RowKey='{row}')"
    options = [f"$filter={quote(line.filter, safe='')}"] if line.filter else []
    options += [f"$top={line.top}"] if line.top is not None else []
    options += [f"NextPartitionKey=1!8!{line.page}&NextRowKey=1!8!{line.page}"] if line.page else []
    return f"{base}()" + ("?" + "&".join(options) if options else "")


def _stamp(line: Line) -> str:
    return line.at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"


def _operation(line: Line) -> str:
    return "EntityGroupTransaction" if line.group and not line.part else OPERATIONS[line.operation]


def _trace(line: Line, table: str) -> str:
    out: dict[str, object] = {"table": table, "op": line.operation, "at": _stamp(line)}
    if line.account != "acct":
        out["table"] = f"{table}Elsewhere"
    if line.key is not None:
        out |= {"pk": line.key[0], "rk": line.key[1]}
    elif line.filter is not None:
        out["filter"] = line.filter
    if line.top is not None:
        out["top"] = line.top
    if line.page:
        out["page"] = line.page + 1
    if line.group:
        out["group"] = line.group
    return json.dumps(out | {"status": line.status, "id": line.id, "client_id": line.client or line.id})


def _analytics(line: Line, table: str) -> str:
    status = STATUS.get(line.status, "Success")
    key = f"/{line.account}/{table}"
    if line.key is not None:
        key += "/" + "/".join(line.key)
    url, key = (text.replace("&", "&amp;").replace('"', "&quot;") for text in (_address(line, table), key))
    return (
        f"1.0;{_stamp(line)};{_operation(line)};{status};{line.status};9;7;"
        f"authenticated;{line.account};{line.account};table;"
        f'"{url}";"{key}";{line.id};{line.part};10.0.0.1:5;2019-02-02;412;0;298;1500;0;'
        f';;;;;"SDK";;"{line.client or line.id}"'
    )


def _monitor(line: Line, table: str) -> str:
    key = f"/{line.account}/{table}" + ("" if line.key is None else "/" + "/".join(line.key))
    properties = {
        "accountName": line.account, "clientRequestId": line.client or line.id, "serviceType": "table",
        "objectKey": key,
        "serverLatencyMs": 7, "operationCount": line.part, "responseBodySize": 1500,
    }  # fmt: skip
    return json.dumps(
        {
            "time": _stamp(line), "category": "StorageRead",
            "operationName": _operation(line),
            "statusCode": line.status, "statusText": STATUS.get(line.status, "Success"),
            "durationMs": 9, "correlationId": line.id, "properties": properties, "uri": _address(line, table),
            "resourceType": "Microsoft.Storage/storageAccounts/tableServices",
        }
    )  # fmt: skip


def _exchange(line: Line, table: str) -> str:
    out: dict[str, object] = {"method": METHODS[line.operation], "uri": _address(line, table), "status": line.status}
    if line.operation == "insert" and line.key is not None:
        out["entity_keys"] = {"PartitionKey": line.key[0], "RowKey": line.key[1]}
    return json.dumps(out | {"x_ms_date": format_datetime(line.at.replace(microsecond=0), usegmt=True)})


def _reverse_proxy(line: Line, table: str) -> str:
    at = line.at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    path = "/" + _address(line, table).split("/", 3)[3]
    return f'10.0.0.1 - - [{at}] "{METHODS[line.operation]} {path} HTTP/1.1" {line.status} 298 "-" "SDK"'


def _forward_proxy(line: Line, table: str) -> str:
    return _reverse_proxy(line, table).replace(" /", f" https://{line.account}.table.core.windows.net/", 1)


def log_text(lines: Iterable[Line], table: str, form: str) -> str:
    """A log file of requests, in order of time."""
    write = {
        "trace": _trace, "storage analytics": _analytics, "azure monitor": _monitor, "exchanges": _exchange,
        "reverse proxy": _reverse_proxy, "forward proxy": _forward_proxy,
    }[form]  # fmt: skip
    return "".join(write(line, table) + "\n" for line in sorted(lines, key=lambda n: n.at_s))
