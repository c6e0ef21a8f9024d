"""The checks of an entity group transaction, column by column instead of entity by entity.

Most groups are of one kind: entities of the same properties, texts in ASCII, no condition. Of such a group all names,
types, keys and sizes are looked at together. What is not plainly right here is looked at one by one by
``table_rules``, which alone says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter

from pkadvisor.engine.tables.entity_codec import PLAIN, Body, encode_plain
from pkadvisor.engine.tables.table_messages import RowWrite, WriteKind
from pkadvisor.engine.tables.table_rules import GUID, PUBLISHED, PropertyChecks, plan_of
from pkadvisor.table.accounting import UNIT_BYTES
from pkadvisor.table.store import Insert, InsertOrMerge, InsertOrReplace, Property, Write

_KINDS: dict[type, WriteKind] = {
    Insert: WriteKind.INSERT,
    InsertOrReplace: WriteKind.INSERT_OR_REPLACE,
    InsertOrMerge: WriteKind.INSERT_OR_MERGE,
}
_FORBIDDEN = "/\\#?"

_entities, _tables = attrgetter("entity"), attrgetter("table")
_keys, _properties = attrgetter("key"), attrgetter("properties")


def plain_group(writes: Sequence[Write], prefix: bytes) -> tuple[list[RowWrite], int] | None:
    """The row writes of a group that is right beyond doubt, by the published limits, and the bytes of its entities.

    ``prefix`` is that of the table. None where its writes must be looked at one by one.
    """
    kind = _KINDS.get(type(writes[0]))
    count = len(writes)
    if kind is None or list(map(type, writes)).count(type(writes[0])) < count:
        return None
    if list(map(_tables, writes)).count(writes[0].table) < count:
        return None
    entities = list(map(_entities, writes))
    columns = tuple(zip(*map(_keys, entities), strict=True))
    if len(columns) != 2:
        return None
    partition_key, row_keys = columns[0][0], columns[1]
    if columns[0].count(partition_key) < count or set(map(type, columns[0] + row_keys)) != {str}:
        return None
    if not _plain_keys(partition_key, row_keys):
        return None
    bodies = _bodies(list(map(_properties, entities)), [len(partition_key) + len(row_key) for row_key in row_keys])
    if bodies is None:
        return None
    partition = b"%b%b\0" % (prefix, partition_key.encode())
    rows = [RowWrite(kind, partition + row_key.encode(), body) for row_key, body in zip(row_keys, bodies, strict=True)]
    return rows, sum(body.size_bytes for body in bodies)


def _plain_keys(partition_key: str, row_keys: tuple[str, ...]) -> bool:
    """Whether all keys are different texts in ASCII that may be keys."""
    if len(set(row_keys)) < len(row_keys):
        return False
    if max(len(partition_key), *map(len, row_keys)) * 2 > PUBLISHED.key_units:
        return False
    joined = "".join((partition_key, *row_keys))
    return joined.isascii() and joined.isprintable() and not any(character in joined for character in _FORBIDDEN)


def _bodies(entities: list[Mapping[str, Property]], key_units: list[int]) -> list[Body] | None:
    """The bodies of entities that all follow one plan; None where one does not."""
    count, names = len(entities), tuple(entities[0])
    plan = plan_of(names)
    if plan is None or list(map(type, entities)).count(dict) < count or list(map(tuple, entities)).count(names) < count:
        return None
    variable = [UNIT_BYTES * units for units in key_units]
    texts_max = binaries_max = 0
    for place, column in enumerate(zip(*[entity.values() for entity in entities], strict=True)):
        types, values = zip(*column, strict=True)
        if types.count(plan.types[place]) < count or list(map(type, values)).count(plan.kinds[place]) < count:
            return None
        lengths = _lengths(plan, place, values)
        if lengths is None:
            return None
        if plan.texts is not None and plan.texts[place]:
            texts_max += max(lengths)
            variable = [before + UNIT_BYTES * units for before, units in zip(variable, lengths, strict=True)]
        elif lengths:
            binaries_max += max(lengths)
            variable = [before + length for before, length in zip(variable, lengths, strict=True)]
    if UNIT_BYTES * texts_max > PUBLISHED.value_bytes or binaries_max > PUBLISHED.value_bytes:
        return None
    sizes = [plan.fixed_bytes + size for size in variable]
    if max(sizes) > PUBLISHED.entity_bytes:
        return None
    return list(map(Body, map(encode_plain, entities), repeat(PLAIN), sizes))


def _lengths(plan: PropertyChecks, place: int, values: tuple[object, ...]) -> list[int] | None:
    """The lengths of one property's values, nothing where it has none; None where a value may be wrong."""
    if plan.texts is not None and plan.texts[place]:
        if not "".join(values).isascii():  # type: ignore[arg-type]
            return None
        return list(map(len, values))  # type: ignore[arg-type]
    if plan.binaries is not None and plan.binaries[place]:
        return list(map(len, values))  # type: ignore[arg-type]
    for limited, low, high in plan.ranges:
        if limited == place and not low <= min(values) <= max(values) <= high:  # type: ignore[type-var, operator]
            return None
    if place in plan.guids and not all(map(GUID.fullmatch, values)):  # type: ignore[arg-type]
        return None
    return []
