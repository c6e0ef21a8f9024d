"""An operation with its answer as a step: what a store that was really asked did, in the numbers of scripts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.scripts import SEVERAL, KeySpace, Step
from pkadvisor.table.edm import Literal
from pkadvisor.table.odata import Comparison, Operator, conjuncts, parse_filter
from pkadvisor.table.store import Delete, Get, Group, Operation, Outcome, Query, Write

if TYPE_CHECKING:
    from pkadvisor.table.store import Key


def step_of(operation: Operation, outcome: Outcome, space: KeySpace) -> Step:
    """The step. A PartitionKey that the space does not hold takes the rank below which it would stand.

    Operations on tables are none: AssertionError.
    """
    match operation:
        case Get():
            rank = _rank(operation.key.partition_key, space)
            return Step(Kind.READ, rank, rank, rank + 1, examined=1, bytes_moved=outcome.returned_bytes)
        case Query():
            return _page(operation, outcome, space)
        case Group():
            rank = _rank(_key(operation.writes[0]).partition_key, space)
            return Step(Kind.WRITE, rank, rank, rank + 1, len(operation.writes), bytes_moved=outcome.returned_bytes)
    assert isinstance(operation, Write), "steps are operations on entities"
    rank = _rank(_key(operation).partition_key, space)
    return Step(Kind.WRITE, rank, rank, rank + 1, bytes_moved=outcome.returned_bytes)


def _page(operation: Query, outcome: Outcome, space: KeySpace) -> Step:
    low, high, one = _bounds(operation.filter)
    first = 0 if low is None else _rank(low, space)
    if one:
        last, partition = first + 1, first
    else:
        last = len(space.keys) if high is None else max(first + 1, min(len(space.keys), space.rank(high) + 1))
        partition = SEVERAL
    return Step(
        Kind.PAGE,
        partition,
        first,
        last,
        examined=outcome.examined,
        bytes_moved=outcome.returned_bytes,
        continued=bool(operation.continuation),
    )


@lru_cache(maxsize=4096)
def _bounds(text: str) -> tuple[str | None, str | None, bool]:
    """(the lowest PartitionKey that a filter lets in, the highest, whether they are one and the same)."""
    low: str | None = None
    high: str | None = None
    if not text.strip():
        return low, high, False
    for part in conjuncts(parse_filter(text)):
        if not isinstance(part, Comparison) or part.property != "PartitionKey" or not isinstance(part.operand, Literal):
            continue
        value = str(part.operand.value)
        if part.operator is Operator.EQ:
            return value, value, True
        if part.operator in (Operator.GE, Operator.GT):
            low = value
        elif part.operator in (Operator.LE, Operator.LT):
            high = value
    return low, high, False


def _rank(partition_key: str, space: KeySpace) -> int:
    return max(0, min(space.rank(partition_key), len(space.keys) - 1))


def _key(write: Write) -> Key:
    return write.key if isinstance(write, Delete) else write.entity.key
