"""An operation and its outcome as a step: what ``Capacity`` weighs, over the ranks of a key space."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import key_range
from pkadvisor.engine.tables.continuation import decode_token
from pkadvisor.engine.tables.table_rules import TableError
from pkadvisor.stress.requests.plain_table import ACCOUNT, Asked, boundary
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Step
from pkadvisor.table.accounting import entity_bytes
from pkadvisor.table.store import Delete, EntityKey, Get, Group, Operation, Outcome, Query, Write


def step_of(operation: Operation, outcome: Outcome, space: KeySpace) -> Step:
    """What a store weighs of an operation that it answered.

    A Query goes from where its continuation token says, to where the token of its outcome does; tokens that are not the
    engine's are taken for the bounds of the filter. A Merge weighs what was sent: what it was merged with is not known.
    """
    prefix = row_keys.table_prefix(ACCOUNT, space.table)
    match operation:
        case Get():
            asked = Asked(Kind.READ, _place(prefix, operation.key), b"", False, 1, 1, outcome.returned_bytes)
        case Query():
            asked = _page(operation, outcome, prefix)
        case Group():
            asked = _written(operation.writes, outcome, prefix)
        case _:
            assert isinstance(operation, Write), "tables are made before a run"
            asked = _written((operation,), outcome, prefix)
    beginnings = space.beginnings
    low = bisect_right(beginnings, asked.key[len(prefix) :]) - 1
    alone = asked.several or low < 0 or not asked.key.startswith(prefix + beginnings[low])
    end = None
    if asked.several:
        inside = asked.high.startswith(prefix)  # else it is the end of the table
        end = bisect_left(beginnings, asked.high[len(prefix) :]) if inside else len(beginnings)
    return placed(asked, max(0, low), alone, end)


def ranked(asked: Asked, own: bool, prefixes: Sequence[bytes]) -> Step:
    """A step over a key space whose PartitionKeys begin keys with ``prefixes``; ``own``: nobody else has its key."""
    low = max(0, bisect_right(prefixes, asked.key) - 1)
    return placed(asked, low, own or asked.several, bisect_left(prefixes, asked.high) if asked.several else None)


def placed(asked: Asked, low: int, alone: bool, end: int | None) -> Step:
    """A step at a rank; ``alone`` where it counts toward no PartitionKey that others have."""
    high = low + 1 if end is None else max(low + 1, end)
    partition = SEVERAL if alone else low
    return Step(asked.kind, partition, low, high, asked.entities, asked.examined, asked.bytes_moved, asked.continued)


def _beginning(partition_key: str) -> bytes:
    """What the keys of a partition begin with, behind the prefix of their table."""
    return row_keys.encode_part(partition_key) + b"\0"


def _place(prefix: bytes, key: EntityKey) -> bytes:
    return prefix + _beginning(key.partition_key) + row_keys.encode_part(key.row_key)


def _written(writes: Sequence[Write], outcome: Outcome, prefix: bytes) -> Asked:
    keys = [write.key if isinstance(write, Delete) else write.entity.key for write in writes]
    size = sum(entity_bytes(write.entity) for write in writes if not isinstance(write, Delete))
    return Asked(Kind.WRITE, _place(prefix, keys[0]), b"", False, len(writes), 0, size if outcome.ok else 0)


def _page(query: Query, outcome: Outcome, prefix: bytes) -> Asked:
    low, high = key_range(ACCOUNT, query.table, query.filter)
    if query.continuation:
        low = max(low, _decoded(prefix, query.continuation, low))
    behind = _decoded(prefix, outcome.continuation, high) if outcome.continuation else high
    first = boundary(low, len(prefix))
    closed = None if first is None else row_keys.prefix_end(first)
    several = closed is None or high > closed
    examined, size = outcome.examined, outcome.returned_bytes
    return Asked(Kind.PAGE, low, behind, several, 1, examined, size, bool(query.continuation), len(outcome.entities))


def _decoded(prefix: bytes, token: str, instead: bytes) -> bytes:
    """The key in a token of the engine."""
    try:
        return decode_token(prefix, token)
    except TableError:
        return instead
