"""A router over ranges in memory that can be split, merged, lose answers and be busy; a service on it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.ownership_errors import NotServing
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_messages import Answer, Request
from pkadvisor.engine.tables.table_requests import carry_out, is_write
from pkadvisor.engine.tables.table_rules import PUBLISHED, TableLimits
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.world import Unreachable
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import Entity, EntityKey, Operation, Outcome, Property, Query
from tests.engine.fakes import DictRows

T = TypeVar("T")
TYPES: dict[type, EdmType] = {
    str: EdmType.STRING,
    int: EdmType.INT32,
    float: EdmType.DOUBLE,
    bool: EdmType.BOOLEAN,
    bytes: EdmType.BINARY,
}
ACCOUNT = "acc"
NO_WAIT = TableLimits(table_delete_ns=0)


class Ranges:
    """``Router`` over ranges in memory. ``ticks`` stands still unless a test moves it."""

    def __init__(self) -> None:
        self.ranges = [DictRows()]
        self.ticks = 638_000_000_000_000_000
        self.step_ns = 0
        self.lose_answers = 0
        self.busy = 0
        self.fail_after: int | None = None
        self.sent: list[Request] = []

    def holder(self, key: bytes) -> DictRows:
        return self.ranges[bisect_right([rows.low for rows in self.ranges], key) - 1]

    async def send(self, key: bytes, request: Request) -> Answer:
        assert key == request.key
        if self.busy:
            self.busy -= 1
            raise NotServing("busy")
        if self.fail_after is not None:
            if self.fail_after == 0:
                raise Unreachable("down")
            self.fail_after -= 1
        self.sent.append(request)
        times = count()
        answer = await carry_out(self.holder(key), request, self.ticks, lambda: next(times) * self.step_ns)
        if self.lose_answers and is_write(request):
            self.lose_answers -= 1
            raise Unreachable("the answer is lost")
        return answer

    def split(self, at: bytes) -> None:
        """Splits the range that holds ``at`` there."""
        left = self.holder(at)
        if at in (left.low, left.high):
            return
        right = DictRows(at, left.high)
        right.sequence = left.sequence
        for key in list(left.rows.irange(at)):
            right.rows[key] = left.rows.pop(key)
        left.high = at
        self.ranges.insert(self.ranges.index(left) + 1, right)

    def split_at(self, table: str, partition_key: str) -> None:
        """Splits in front of a partition."""
        self.split(row_keys.partition_prefix(ACCOUNT, table, partition_key))

    def merge(self, index: int) -> None:
        """Merges a range with the next one."""
        if index + 1 >= len(self.ranges):
            return
        left, right = self.ranges[index], self.ranges.pop(index + 1)
        left.rows.update(right.rows)
        left.high, left.sequence = right.high, max(left.sequence, right.sequence)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


class Straight:
    """A world in which nothing ever waits."""

    def __init__(self) -> None:
        self.time_ns = 0

    def now_ns(self) -> int:
        return self.time_ns

    def run_until(self, time_ns: int) -> None:
        self.time_ns = max(time_ns, self.time_ns)

    def run(self, coroutine: Coroutine[Any, Any, T], node: str = "") -> T:
        return run(coroutine)


def made(
    ranges: Ranges | None = None, limits: TableLimits = PUBLISHED, sole: bool = True
) -> tuple[EmbeddedStore, Ranges]:
    """A store on ranges."""
    ranges = ranges or Ranges()
    service = TableService(ranges, ACCOUNT, limits=limits, sole=sole)
    return EmbeddedStore(Straight(), service), ranges


def do(store: EmbeddedStore, operation: Operation) -> Outcome:
    """Carries out an operation at the beginning of time; a success has no code, a refusal has one and a sentence."""
    outcome = store.execute(operation, 0)
    assert outcome.ok == (outcome.code == "")
    assert outcome.ok or outcome.message
    return outcome


def entity(partition_key: str = "p", row_key: str = "r", **properties: object) -> Entity:
    """An entity whose property types are those of the Python values."""
    return Entity(EntityKey(partition_key, row_key), {n: typed(v) for n, v in properties.items()})


def typed(value: object) -> Property:
    """A property with the type that a Python value suggests."""
    if isinstance(value, Property):
        return value
    return Property(TYPES[type(value)], value)  # type: ignore[arg-type]


def pages(store: EmbeddedStore, query: Query, limit: int = 10_000) -> list[Outcome]:
    """All pages of a query."""
    found: list[Outcome] = []
    continuation = query.continuation
    while len(found) < limit:
        outcome = do(store, Query(query.table, query.filter, query.select, query.top, continuation))
        assert outcome.ok, outcome
        found.append(outcome)
        continuation = outcome.continuation
        if not continuation:
            return found
    raise AssertionError("the pages never end")


def keys(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    """Both keys of all entities of some pages."""
    return [tuple(e.key) for outcome in outcomes for e in outcome.entities]  # type: ignore[misc]
