"""What the Table service lets in: names, keys, properties, sizes, each with the error code that it documents.

Limits are those of "Scalability and performance targets for Table storage" and "Understanding the Table service data
model"; codes those of "Table service error codes" and "Common REST API error codes". Where no code is documented, the
docstring says which was taken and why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import compress
from typing import NamedTuple

from pkadvisor.engine.tables.entity_codec import Body, encode_properties
from pkadvisor.engine.tables.row_keys import SCHEMA_TABLE
from pkadvisor.limits import default_limits
from pkadvisor.table.accounting import ENTITY_BYTES, PROPERTY_BYTES, UNIT_BYTES, utf16_units
from pkadvisor.table.edm import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    STORED_BYTES,
    SYSTEM_PROPERTIES,
    TICKS_MAX,
    TICKS_STORED_MIN,
    EdmType,
)
from pkadvisor.table.odata_parse import is_property_name
from pkadvisor.table.store import Entity, EntityKey, Property
from pkadvisor.values import dataclass

_STORE = default_limits()


@dataclass(frozen=True, slots=True)
class TableLimits:
    """The limits of the Table service; those that the cost model knows too are of the limits file."""

    entity_bytes: int = _STORE.entity_bytes
    properties: int = _STORE.properties
    """PartitionKey, RowKey and Timestamp included."""
    property_name_units: int = 255
    value_bytes: int = 64 << 10
    """Of a String in UTF-16, or of a Binary."""
    key_units: int = _STORE.key_units_max
    """UTF-16 code units of each key."""
    group_entities: int = _STORE.group_transaction_entities
    group_bytes: int = _STORE.group_transaction_bytes
    page_entities: int = _STORE.page_entities
    page_bytes: int = _STORE.page_bytes
    page_ns: int = round(_STORE.query_execution_s * 1_000_000_000)
    page_examined: int | None = None
    """Entities that a page reads at most, where reading takes no time that could be measured."""
    filter_comparisons: int = _STORE.filter_comparisons
    select_properties: int = 255
    table_delete_ns: int = 40_000_000_000
    """How long the name of a deleted table answers 409 TableBeingDeleted (Delete Table: "at least 40 seconds")."""


PUBLISHED = TableLimits()


class TableError(Exception):
    """The service refuses: HTTP status, error code, the service's sentence; ``index`` of the write in a group."""

    def __init__(self, status: int, code: str, index: int | None = None) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.index = index


MESSAGES = {
    "CommandsInBatchActOnDifferentPartitions": "All commands in a batch must operate on same entity group.",
    "DuplicatePropertiesSpecified": "A property is specified more than one time.",
    "EntityAlreadyExists": "The specified entity already exists.",
    "EntityTooLarge": "The entity is larger than the maximum size permitted.",
    "InsufficientStorage": "The disk of the store is full. Reads go on; writes are taken again when there is room.",
    "InternalError": "The server encountered an internal error. Please retry the request.",
    "InvalidDuplicateRow": "The batch request contains multiple changes with same row key. An entity can appear only "
    "once in a batch request.",
    "InvalidInput": "One of the request inputs is not valid.",
    "InvalidResourceName": "The specifed resource name contains invalid characters.",
    "InvalidValueType": "The value specified is invalid.",
    "MissingRequiredHeader": "A required HTTP header was not specified.",
    "OperationTimedOut": "The operation could not be completed within the permitted time.",
    "OutOfRangeInput": "One of the request inputs is out of range.",
    "PropertiesNeedValue": "The values are not specified for all properties in the entity.",
    "PropertyNameInvalid": "The property name is invalid.",
    "PropertyNameTooLong": "The property name exceeds the maximum allowed length.",
    "PropertyValueTooLarge": "The property value exceeds the maximum allowed size (64KB).",
    "RequestBodyTooLarge": "The request body is too large and exceeds the maximum permissible limit.",
    "ResourceNotFound": "The specified resource does not exist.",
    "ServerBusy": "The server is currently unable to receive requests. Please retry your request.",
    "StoreIsReadOnly": "The store was opened to read. Nothing was written; open it with open_directory to write.",
    "TableAlreadyExists": "The table specified already exists.",
    "TableBeingDeleted": "The specified table is being deleted. Try operation later.",
    "TableNotFound": "The table specified does not exist.",
    "TooManyProperties": "The entity contains more properties than allowed.",
    "UpdateConditionNotSatisfied": "The update condition specified in the request was not satisfied.",
}

_TABLE_NAME = re.compile("[A-Za-z][A-Za-z0-9]{2,62}")
_FORBIDDEN = re.compile("[\0-\x1f\x7f-\x9f/\\\\#?]")
_ETAG = re.compile(r'W/"[^"]*"')
GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_names: dict[str, int] = {}  # names found good, with the bytes of a property apart from its value
_NAMES_KEPT = 10_000


def check_table_name(name: str) -> None:
    """400 InvalidResourceName for what is no table name, and for the reserved one."""
    if type(name) is not str or not _TABLE_NAME.fullmatch(name) or name.lower() == SCHEMA_TABLE:
        raise TableError(400, "InvalidResourceName")


def check_key(key: EntityKey, limits: TableLimits = PUBLISHED) -> None:
    """Both keys of an entity that is written.

    400 PropertiesNeedValue where one is missing, OutOfRangeInput where it holds a forbidden character, InvalidInput
    where it is too long (no code is documented; Azurite says the same).
    """
    partition_key, row_key = key
    if type(partition_key) is str and type(row_key) is str:
        both = partition_key + row_key
        if 2 * len(both) <= limits.key_units and not _FORBIDDEN.search(both):
            return
    for part in key:
        if type(part) is not str:
            raise TableError(400, "PropertiesNeedValue" if part is None else "InvalidInput")
        if len(part) * 2 > limits.key_units and utf16_units(part) > limits.key_units:
            raise TableError(400, "InvalidInput")
        if _FORBIDDEN.search(part):
            raise TableError(400, "OutOfRangeInput")


def check_if_match(if_match: str) -> None:
    """400 MissingRequiredHeader without a condition, InvalidInput for what is neither ``*`` nor a weak ETag.

    No code is documented for the second; the service is said to answer so (Azure/Azurite issues 1229 and 2013).
    """
    if not if_match:
        raise TableError(400, "MissingRequiredHeader")
    if if_match != "*" and not _ETAG.fullmatch(if_match):
        raise TableError(400, "InvalidInput")


def checked_body(entity: Entity, limits: TableLimits = PUBLISHED) -> Body:
    """The properties of an entity that is written, checked and ready to be stored.

    Nulls are handled as if they were not there, and a Timestamp is ignored (data model reference).

    400 with TooManyProperties, PropertyNameTooLong, PropertyNameInvalid, DuplicatePropertiesSpecified,
    PropertyValueTooLarge, InvalidInput (a value that is not of its type), OutOfRangeInput (a date before 1601),
    EntityTooLarge.
    """
    properties = entity.properties
    key = entity.key
    if limits is PUBLISHED and type(properties) is dict:
        size = _by_plan(key, properties)
        if size:
            return Body(*encode_properties(properties), size)
    if "Timestamp" in properties or any(p[1] is None for p in properties.values()):
        properties = {n: p for n, p in properties.items() if n != "Timestamp" and p[1] is not None}
    if len(properties) + len(SYSTEM_PROPERTIES) > limits.properties:
        raise TableError(400, "TooManyProperties")
    size = ENTITY_BYTES + 2 * (utf16_units(key.partition_key) + utf16_units(key.row_key))
    for name, (edm, value) in properties.items():
        size += _names.get(name) or _checked_name(name, limits)
        if edm is EdmType.STRING and type(value) is str:
            units = len(value) if value.isascii() else utf16_units(value)
            if 2 * units > limits.value_bytes:
                raise TableError(400, "PropertyValueTooLarge")
            size += 4 + 2 * units
        else:
            size += _value_bytes(edm, value, limits)
    if size > limits.entity_bytes:
        raise TableError(400, "EntityTooLarge")
    if type(properties) is not dict:
        properties = dict(properties)
    elif limits is PUBLISHED and properties:
        _remember_plan(properties)
    return Body(*encode_properties(properties), size)


class PropertyChecks(NamedTuple):
    """What to check of properties whose names and types were found good before."""

    types: tuple[EdmType, ...]
    kinds: tuple[type, ...]
    fixed_bytes: int
    texts: tuple[bool, ...] | None
    binaries: tuple[bool, ...] | None
    ranges: tuple[tuple[int, int, int], ...]
    guids: tuple[int, ...]


_plans: dict[tuple[str, ...], PropertyChecks] = {}
_PLANS_KEPT = 1_000
_PLAN_NAMES_MAX = 64


def plan_of(names: tuple[str, ...]) -> PropertyChecks | None:
    """What to check of properties of these names; None where they were not seen yet."""
    return _plans.get(names)


def _by_plan(key: EntityKey, properties: Mapping[str, Property]) -> int:
    """The bytes of an entity that is right beyond doubt; 0 where its properties must be looked at one by one.

    Rows of one table have few sets of names and types, so most of the work is done once for each of them.
    """
    plan = _plans.get(tuple(properties))
    if plan is None:
        return 0
    types, values = zip(*properties.values(), strict=True)
    if types != plan.types or plan.kinds != tuple(map(type, values)):
        return 0
    joined = key[0] + key[1] if plan.texts is None else "".join((*key, *compress(values, plan.texts)))
    units = len(joined)
    if not joined.isascii() or 2 * units > PUBLISHED.value_bytes:
        return 0
    size = plan.fixed_bytes + 2 * units
    if plan.binaries is not None:
        length = len(values[0]) if len(values) == 1 else sum(map(len, compress(values, plan.binaries)))
        if length > PUBLISHED.value_bytes:
            return 0
        size += length
    for place, low, high in plan.ranges:
        if not low <= values[place] <= high:
            return 0
    for place in plan.guids:
        if not GUID.fullmatch(values[place]):
            return 0
    return size if size <= PUBLISHED.entity_bytes else 0


def _remember_plan(properties: Mapping[str, Property]) -> None:
    """Makes the plan of properties that were found good one by one."""
    if len(properties) > _PLAN_NAMES_MAX:
        return
    types, values = zip(*properties.values(), strict=True)
    if any(type(edm) is not EdmType for edm in types):
        return
    if len(_plans) >= _PLANS_KEPT:
        _plans.clear()
    _plans[tuple(properties)] = PropertyChecks(
        types,
        tuple(map(type, values)),
        ENTITY_BYTES
        + sum(_names.get(name) or _checked_name(name, PUBLISHED) for name in properties)
        + sum(STORED_BYTES[edm] for edm in types),
        tuple(edm is EdmType.STRING for edm in types) if EdmType.STRING in types else None,
        tuple(edm is EdmType.BINARY for edm in types) if EdmType.BINARY in types else None,
        tuple((place, *_RANGES[edm]) for place, edm in enumerate(types) if edm in _RANGES),
        tuple(place for place, edm in enumerate(types) if edm is EdmType.GUID),
    )


def _checked_name(name: str, limits: TableLimits) -> int:
    units = utf16_units(name)
    if units > limits.property_name_units:
        raise TableError(400, "PropertyNameTooLong")
    if not is_property_name(name):
        raise TableError(400, "PropertyNameInvalid")
    if name in SYSTEM_PROPERTIES:
        raise TableError(400, "DuplicatePropertiesSpecified")
    if len(_names) >= _NAMES_KEPT:
        _names.clear()
    _names[name] = size = PROPERTY_BYTES + UNIT_BYTES * units
    return size


_RANGES = {
    EdmType.INT32: (INT32_MIN, INT32_MAX),
    EdmType.INT64: (INT64_MIN, INT64_MAX),
    EdmType.DATETIME: (TICKS_STORED_MIN, TICKS_MAX),
}


def _value_bytes(edm: EdmType, value: object, limits: TableLimits) -> int:
    """Bytes of a value that is not a String; refuses one that is not of its type."""
    kind = type(value)
    if edm is EdmType.BINARY and isinstance(value, bytes):
        if len(value) > limits.value_bytes:
            raise TableError(400, "PropertyValueTooLarge")
        return 4 + len(value)
    if kind is int and isinstance(value, int):
        if edm is EdmType.DATETIME:
            if not TICKS_STORED_MIN <= value <= TICKS_MAX:
                raise TableError(400, "OutOfRangeInput")
            return STORED_BYTES[edm]
        low, high = _RANGES.get(edm, (1, 0))
        if low <= value <= high:
            return STORED_BYTES[edm]
    elif (kind is float and edm is EdmType.DOUBLE) or (kind is bool and edm is EdmType.BOOLEAN):
        return STORED_BYTES[edm]
    if edm is EdmType.GUID and isinstance(value, str) and GUID.fullmatch(value):
        return STORED_BYTES[edm]
    raise TableError(400, "InvalidInput")
