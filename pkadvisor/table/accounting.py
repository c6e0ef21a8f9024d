"""What the service counts: stored bytes, entities toward a target, the work of a group. One place for all who count.

The planner counts means over many rows, the embedded service counts each row; both call these functions. Lengths are
UTF-16 code units of texts and bytes of binaries. Every figure that is not a formula comes from ``limits``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from pkadvisor.limits import Limits
from pkadvisor.table.edm import STORED_BYTES, EdmType, Value
from pkadvisor.table.store import Entity

N = TypeVar("N", int, float)

ENTITY_BYTES = 4
PROPERTY_BYTES = 8
UNIT_BYTES = 2
"""Of the capacity formula: each entity, each property, each UTF-16 code unit of a key, a name or a String."""
LENGTH_BYTES = {EdmType.STRING: UNIT_BYTES, EdmType.BINARY: 1}
"""Bytes for each unit of length; types that are not here have none."""
ANSWER_BYTES = 64
"""Bytes of an entity in an answer beside its properties: assumed."""


# ------------------------------------------------------------------------------------------------ stored bytes


def utf16_units(text: str) -> int:
    """The length of a text as the service and .NET count it: characters beyond U+FFFF are two."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def key_bytes(units: N) -> N:
    """Stored bytes of an entity before its properties: 4 + 2 × units of PartitionKey and RowKey together.

    Source of this and the next functions: *Understanding Windows Azure Storage Billing* (2010).
    """
    return ENTITY_BYTES + UNIT_BYTES * units


def property_bytes(name_units: int, edm: EdmType, length: N = 0) -> N:
    """Stored bytes of one property: 8 + 2 × units of its name + its value, of ``length`` units where it has any."""
    return PROPERTY_BYTES + UNIT_BYTES * name_units + STORED_BYTES[edm] + LENGTH_BYTES.get(edm, 0) * length


def value_length(value: Value) -> int:
    """Units of length of a String or Binary; 0 for other values."""
    if isinstance(value, str):
        return utf16_units(value)
    return len(value) if isinstance(value, bytes) else 0


def entity_bytes(entity: Entity) -> int:
    """Stored bytes of one entity. System properties cost no more than the formula says of the keys."""
    key, total = entity.key, 0
    for name, value in entity.properties.items():
        total += property_bytes(utf16_units(name), value.type, value_length(value.value))
    return key_bytes(utf16_units(key.partition_key) + utf16_units(key.row_key)) + total


def page_bytes(entities: Iterable[Entity]) -> int:
    """What entities weigh in one answer: stored bytes, and ``ANSWER_BYTES`` for each."""
    return sum(entity_bytes(entity) + ANSWER_BYTES for entity in entities)


def group_most(bytes_each: float, rows_each: int, limits: Limits) -> int:
    """Entities of so many rows and bytes that one group transaction takes, by count and by bytes; at least one."""
    by_count = limits.group_transaction_entities // rows_each
    return max(1, min(by_count, int(limits.group_transaction_bytes / bytes_each)))


# ------------------------------------------------------------------------------------------------ toward a target


def counted_by_bytes(size: float, unit_bytes: int) -> int:
    """The other reading of a target for small entities: one for every started ``unit_bytes``, at least one."""
    return max(1, math.ceil(size / unit_bytes))


def group_cost(entities: float, speedup: float, group_entities: int) -> float:
    """The service time of a group transaction of k entities, in single writes: S(k)/S(1) with S(k) = s0 + k·s1.

    ``speedup`` is the published gain in entities/s of groups of ``group_entities`` against single writes (3 for 100:
    Windows Azure Storage, SOSP 2011, section 6); it fixes s0/s1 (2.06). No group costs more than its writes one by one
    or less than one of them.
    """
    if speedup >= group_entities:
        return 1.0
    if speedup <= 1:
        return entities
    single = speedup * (group_entities - 1) / (group_entities - speedup)  # S(1) / s1
    return (single - 1 + entities) / single
