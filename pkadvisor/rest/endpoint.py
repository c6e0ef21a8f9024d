"""A real endpoint as a table store: each operation is one request of the official client, its answer an outcome.

Nothing is sent twice: which answers are tried again is for the caller to say. ``azure-data-tables`` (the extra
``real``) is imported when an endpoint is opened, not before.

| what happened                                   | outcome                                            |
| ----------------------------------------------- | -------------------------------------------------- |
| an answer below 500                             | its status and the service's code                  |
| 500, 502, 504 and the like; the answer broke off | 500: it may have been carried out                 |
| 503, 429; the request did not get out           | 503: nothing was carried out                       |
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import monotonic_ns
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote
from uuid import UUID

from msgspec.structs import replace

from pkadvisor.errors import UsageError
from pkadvisor.rest.target import Target
from pkadvisor.table.accounting import page_bytes
from pkadvisor.table.edm import KEYS, EdmType, format_ticks, parse_datetime_ticks
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    ListTables,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)

if TYPE_CHECKING:
    from azure.data.tables import TableClient, TableServiceClient

# ----------------------------------------------------------------------------------------------------------------------
# Entities as the official client sends and reads them, every property with exactly its type.
#
# The client guesses types from Python values: a whole number would go out as Int32, a date with microseconds instead
# of ticks. ``azure-data-tables`` is imported by whoever calls, never with this module.

_PLAIN: dict[type, EdmType] = {
    str: EdmType.STRING,
    int: EdmType.INT32,
    float: EdmType.DOUBLE,
    bool: EdmType.BOOLEAN,
    bytes: EdmType.BINARY,
}


def to_wire(entity: Entity) -> dict[str, Any]:
    """The entity as the client takes it; a property without a value goes out as null."""
    from azure.data.tables import EdmType as WireType
    from azure.data.tables import EntityProperty

    properties: dict[str, Any] = {"PartitionKey": entity.key.partition_key, "RowKey": entity.key.row_key}
    for name, (edm, value) in entity.properties.items():
        held: Any = value
        if held is None:
            properties[name] = None
        elif edm is EdmType.DATETIME:
            properties[name] = EntityProperty(format_ticks(int(held)), WireType.DATETIME)
        else:
            properties[name] = EntityProperty(held, WireType(f"Edm.{edm}"))
    return properties


def from_wire(received: Any, key: EntityKey | None = None) -> Entity:
    """The entity that the client read; ``key`` where the answer does not hold it."""
    metadata: Mapping[str, Any] = received.metadata
    properties = {name: _property(value) for name, value in received.items() if name not in KEYS and value is not None}
    if key is None:
        key = EntityKey(received["PartitionKey"], received["RowKey"])
    written = getattr(metadata.get("timestamp"), "tables_service_value", "")
    ticks = parse_datetime_ticks(written) if written else 0
    return Entity(key, properties, ticks, metadata.get("etag") or "")


def _property(value: Any) -> Property:
    if isinstance(value, UUID):
        return Property(EdmType.GUID, str(value))
    if hasattr(value, "tables_service_value"):
        return Property(EdmType.DATETIME, parse_datetime_ticks(value.tables_service_value))
    if type(value) in _PLAIN:
        return Property(_PLAIN[type(value)], value)
    return Property(EdmType.INT64, int(value.value))  # the one type that the client hands out wrapped


def token_text(token: Mapping[str, str | None] | None) -> str:
    """A continuation of the client as one text; empty where the answer was the last page."""
    if not token:
        return ""
    return "|".join(quote(token.get(name) or "", safe="") for name in KEYS)


def token_of(text: str) -> dict[str, str | None] | None:
    """The continuation that a text stands for."""
    if not text:
        return None
    partition_key, _, row_key = text.partition("|")
    return {"PartitionKey": unquote(partition_key) or None, "RowKey": unquote(row_key) or None}


CONNECT_S, READ_S = 10, 65
"""Time-outs; the service itself gives up a request after 30 s and a query after 60."""
NOT_SENT, NO_ANSWER = "RequestNotSent", "NoAnswer"
"""Codes of outcomes without an answer: 503 of what never went out, 500 of what may have been carried out."""


def require_client() -> None:
    """UsageError where the extra is not installed."""
    try:
        import azure.data.tables  # noqa: F401
    except ImportError:
        fix = "pip install 'pkadvisor[real]', in a checkout pip install '.[real]'"
        raise UsageError("a real target needs the extra", where="--target", fix=fix) from None


def open_endpoint(target: Target, concurrency: int = 1) -> Endpoint:
    """A client of a target, with room for so many requests at once; it dials nobody before the first of them."""
    require_client()
    import requests
    from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
    from azure.core.pipeline.transport import RequestsTransport
    from azure.data.tables import TableServiceClient
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.trust_env = not target.loopback  # no proxy stands between a machine and itself
    adapter = HTTPAdapter(pool_connections=1, pool_maxsize=concurrency + 1, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    credential: Any = AzureSasCredential(target.sas)
    if target.key:
        credential = AzureNamedKeyCredential(target.account, target.key)
    service = TableServiceClient(
        target.url,
        credential=credential,
        secondary_hostname=target.url.partition("://")[2],  # else one of the public cloud is derived
        retry_total=0,
        permit_redirects=False,  # credentials go to this host and no other
        transport=RequestsTransport(
            session=session,
            use_env_settings=not target.loopback,
            connection_timeout=CONNECT_S,
            read_timeout=READ_S,
        ),
    )
    return Endpoint(service)


class Endpoint:
    """A table store behind a client. Operations may be carried out by several threads at once.

    ``date`` is the ``Date`` header of the last answer, empty before the first.
    """

    def __init__(self, service: TableServiceClient) -> None:
        self.date = ""
        self._service = service
        self._tables: dict[str, TableClient] = {}
        self._seen = threading.local()

    def execute(self, operation: Operation, at_ms: float = 0) -> Outcome:
        """Carries out an operation now, whatever ``at_ms`` says; its latency is real, from the call to its return."""
        from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError
        from azure.data.tables import TableTransactionError

        self._seen.status, self._seen.code = 0, ""
        begun = monotonic_ns()
        try:
            outcome = self._execute(operation)
        except TableTransactionError as error:
            outcome = self._refused(error, error.index)
        except HttpResponseError as error:
            outcome = self._refused(error, None)
        except ServiceRequestError:
            outcome = Outcome(503, NOT_SENT)
        except AzureError:  # ServiceResponseError among them: it went out, and nobody knows
            outcome = Outcome(500, NO_ANSWER)
        latency_ns = monotonic_ns() - begun
        return replace(outcome, latency_ns=latency_ns)

    def close(self) -> None:
        """Closes the sockets."""
        self._service.close()

    # ------------------------------------------------------------------------------------------ inside

    def _execute(self, operation: Operation) -> Outcome:
        hook = self._note
        match operation:
            case CreateTable():
                self._service.create_table(operation.table, raw_response_hook=hook)
                return Outcome(204)
            case DeleteTable():
                # the client keeps a 404 to itself
                self._service.delete_table(operation.table, raw_response_hook=hook)
                # the services call it ResourceNotFound here, and TableNotFound wherever else a table is missing
                return Outcome(204) if self._seen.status < 400 else Outcome(self._seen.status, "TableNotFound")
            case ListTables():
                return self._list(operation)
            case Group():
                return self._group(operation)
            case Get():
                select = list(operation.select) or None
                stored = self._table(operation.table).get_entity(*operation.key, select=select, raw_response_hook=hook)
                entities = (from_wire(stored, operation.key),)
                return Outcome(200, entities=entities, examined=1, returned_bytes=page_bytes(entities))
            case Query():
                return self._query(operation)
        return self._write(operation)

    def _write(self, write: Write) -> Outcome:
        verb, entity, options = _call_of(write)
        call = getattr(self._table(write.table), f"{verb}_entity")
        answer = call(entity, **options, raw_response_hook=self._note)
        if isinstance(write, Delete):
            status = self._seen.status  # the client keeps a 404 to itself
            return Outcome(204) if status < 400 else Outcome(status, self._seen.code or "ResourceNotFound")
        return Outcome(204, etags=(str(answer.get("etag") or ""),))

    def _group(self, group: Group) -> Outcome:
        operations = [_call_of(write) for write in group.writes]
        table = self._table(group.writes[0].table)
        answers = table.submit_transaction(operations, raw_response_hook=self._note)
        return Outcome(202, etags=tuple(str(answer.get("etag") or "") for answer in answers))

    def _query(self, query: Query) -> Outcome:
        select = list(dict.fromkeys((*KEYS, *query.select))) if query.select else None
        pages = self._table(query.table).query_entities(
            query.filter, select=select, results_per_page=query.top, raw_response_hook=self._note
        )
        page = pages.by_page(token_of(query.continuation))  # type: ignore[arg-type]
        entities = tuple(from_wire(entity) for entity in next(page))
        text = token_text(page.continuation_token)  # type: ignore[attr-defined]
        return Outcome(
            200,
            entities=entities,
            continuation=text,
            examined=len(entities),  # at least: the service does not say
            returned_bytes=page_bytes(entities),
        )

    def _list(self, operation: ListTables) -> Outcome:
        page = self._service.list_tables(results_per_page=operation.top, raw_response_hook=self._note).by_page(
            operation.continuation or None
        )
        names = tuple(item.name for item in next(page))
        return Outcome(200, tables=names, continuation=str(page.continuation_token or ""))  # type: ignore[attr-defined]

    def _table(self, name: str) -> TableClient:
        client = self._tables.get(name)
        if client is None:
            client = self._tables[name] = self._service.get_table_client(name)
        return client

    def _note(self, response: Any) -> None:
        headers = response.http_response.headers
        self._seen.status = response.http_response.status_code
        self._seen.code = headers.get("x-ms-error-code", "")
        self.date = headers.get("date", "") or self.date

    def _refused(self, error: Any, index: int | None) -> Outcome:
        code = getattr(error, "error_code", None) or ""
        if not code and error.response is not None:
            code = error.response.headers.get("x-ms-error-code", "")
        status, code = error.status_code or 500, str(getattr(code, "value", code))
        if status in (408, 429) or status == 503:
            return Outcome(503, code or f"HTTP {status}", failed_index=index)
        if status >= 500:
            return Outcome(500, code or f"HTTP {status}", failed_index=index)
        return Outcome(status, code, failed_index=index)


def _condition(if_match: str) -> dict[str, Any]:
    if if_match == "*":
        return {}
    from azure.core import MatchConditions

    return {"etag": if_match, "match_condition": MatchConditions.IfNotModified}


def _call_of(write: Write) -> tuple[str, Any, dict[str, Any]]:
    """A write as ``submit_transaction`` takes it: the verb of the client's method, the entity, and its options."""
    from azure.data.tables import UpdateMode

    match write:
        case Delete():
            key = {"PartitionKey": write.key.partition_key, "RowKey": write.key.row_key}
            return ("delete", key, _condition(write.if_match))
        case Insert():
            return ("create", to_wire(write.entity), {})
        case InsertOrReplace():
            return ("upsert", to_wire(write.entity), {"mode": UpdateMode.REPLACE})
        case InsertOrMerge():
            return ("upsert", to_wire(write.entity), {"mode": UpdateMode.MERGE})
        case Update():
            return ("update", to_wire(write.entity), {"mode": UpdateMode.REPLACE, **_condition(write.if_match)})
        case Merge():
            return ("update", to_wire(write.entity), {"mode": UpdateMode.MERGE, **_condition(write.if_match)})
