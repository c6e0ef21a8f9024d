"""Entities as the official client sends and reads them, every property with exactly its type.

The client guesses types from Python values: a whole number would go out as Int32, a date with microseconds instead of
ticks. ``azure-data-tables`` is imported by whoever calls, never with this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

from pkadvisor.table.edm import KEYS, EdmType, format_ticks, parse_datetime_ticks
from pkadvisor.table.store import Entity, Key, Property

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


def from_wire(received: Any, key: Key | None = None) -> Entity:
    """The entity that the client read; ``key`` where the answer does not hold it."""
    metadata: Mapping[str, Any] = received.metadata
    properties = {name: _property(value) for name, value in received.items() if name not in KEYS and value is not None}
    if key is None:
        key = Key(received["PartitionKey"], received["RowKey"])
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
