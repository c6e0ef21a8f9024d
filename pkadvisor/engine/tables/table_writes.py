"""Writes of entities on one range: preconditions, Timestamp and ETag, merge, groups.

One request is one call of ``RowStore.write``: its preconditions are checked and its changes made while other writers of
its keys wait, and it is one record of the commit log. So a group is atomic and isolated (invariant T2), and of two
updates with the same ETag one wins (T4).
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.engine.rows import Change, Row, RowStore
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.entity_codec import (
    Body,
    StoredProperty,
    decode_properties,
    encode_properties,
    encode_value,
    etag,
    head,
    properties_of,
)
from pkadvisor.engine.tables.table_messages import Answer, RowWrite, WriteKind, WriteRequest
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableError
from pkadvisor.table.accounting import entity_bytes
from pkadvisor.table.edm import SYSTEM_PROPERTIES
from pkadvisor.table.store import Entity, Key

_NEEDS_ENTITY = (WriteKind.UPDATE, WriteKind.MERGE, WriteKind.DELETE)
_MAKES = (WriteKind.INSERT, WriteKind.INSERT_OR_REPLACE, WriteKind.INSERT_OR_MERGE)
_MERGES = (WriteKind.MERGE, WriteKind.INSERT_OR_MERGE)


async def carry_out_writes(rows: RowStore, request: WriteRequest, ticks: int) -> Answer:
    """Carries out a write or a group at the server's time of day. TableError: refused, nothing changed."""
    writes, generation = request.writes, request.generation
    etags: list[str] = []
    size_bytes = 0

    def decide(rows: Sequence[Row | None], sequence: int) -> list[Change]:
        nonlocal size_bytes
        etags.clear()
        if len(writes) == 1:  # the same as below, by a shorter way
            write = writes[0]
            try:
                value, tag, size_bytes = _decided(write, rows[0], generation, ticks, sequence)
            except TableError as error:
                error.index = 0
                raise
            etags.append(tag)
            return [(write.key, value)]
        size_bytes = 0
        changes: list[Change] = []
        tag = etag(ticks, sequence)
        for index, (write, row) in enumerate(zip(writes, rows, strict=True)):
            body = write.body
            if row is None and body is not None and write.kind in _MAKES:
                changes.append((write.key, encode_value(generation, ticks, body)))
                etags.append(tag)
                size_bytes += body.size_bytes
                continue
            try:
                value, own, size = _decided(write, row, generation, ticks, sequence)
            except TableError as error:
                error.index = index
                raise
            changes.append((write.key, value))
            etags.append(own)
            size_bytes += size
        return changes

    sequence = await rows.write([write.key for write in writes], decide)
    return Answer(
        204,
        etags=tuple(etags),
        examined=len(writes),
        size_bytes=size_bytes,
        sequence=sequence,
        low=rows.low,
        high=rows.high,
    )


def _decided(
    write: RowWrite, row: Row | None, generation: int, ticks: int, sequence: int
) -> tuple[bytes | None, str, int]:
    """The new value (None: deleted), its ETag, its size; TableError where a precondition does not hold."""
    kind = write.kind
    old: bytes | None = None
    if row is not None:
        before = head(row[1])
        if before.generation > generation:
            raise TableError(404, "TableNotFound")  # the table that was meant is gone, another one has its name
        if before.generation == generation:
            old = row[1]
            if kind is WriteKind.INSERT:
                raise TableError(409, "EntityAlreadyExists")
            if write.if_match != "*" and write.if_match != etag(before.ticks, row[0]):
                raise TableError(412, "UpdateConditionNotSatisfied")
            ticks = max(ticks, before.ticks + 1)  # the Timestamp of an entity rises, whatever clocks do
    if old is None and kind in _NEEDS_ENTITY:
        raise TableError(404, "ResourceNotFound")
    if kind is WriteKind.DELETE:
        return None, "", 0
    body = write.body
    assert body is not None, "only a deletion has no body"
    if old is not None and kind in _MERGES:
        body = _merged(write.key, old, body)
    return encode_value(generation, ticks, body), etag(ticks, sequence), body.size_bytes


def _merged(key: bytes, old: bytes, new: Body) -> Body:
    """The old properties with the new ones over them; 400 TooManyProperties or EntityTooLarge."""
    properties: dict[str, StoredProperty] = properties_of(old)
    properties.update(decode_properties(new.encoded, new.format))
    if len(properties) + len(SYSTEM_PROPERTIES) > PUBLISHED.properties:
        raise TableError(400, "TooManyProperties")
    name = row_keys.decode_key(key)
    size = entity_bytes(Entity(Key(name.partition_key, name.row_key), properties))
    if size > PUBLISHED.entity_bytes:
        raise TableError(400, "EntityTooLarge")
    return Body(*encode_properties(properties), size)
