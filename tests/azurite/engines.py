"""The same operation on a stamp of the embedded engine and on Azurite, and what each of them answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import SECOND
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.rest.endpoint import Endpoint
from pkadvisor.table.store import (
    Delete,
    Entity,
    EntityKey,
    Group,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)
from tests.azurite.support import Azurite
from tests.engine.stamp.stamps import built
from tests.engine.worlds import simulated

ACCOUNT = "acc"
NO_WAIT = TableLimits(table_delete_ns=0)


# ------------------------------------------------------------------------------------------------ the engine


@dataclass
class EngineSide:
    """A stamp of several ranges and servers in a simulator; ``stir`` divides, joins or moves one of its ranges."""

    world: Simulator
    stamp: Stamp
    stores: tuple[EmbeddedStore, ...]
    turns: Iterator[int] = field(default_factory=count)

    def execute(self, operation: Operation) -> Outcome:
        """Carries out an operation at one of the front ends, in turn."""
        return self.stores[next(self.turns) % len(self.stores)].execute(operation, 0)

    def stir(self, what: int, wait: bool) -> None:
        """Changes the map; with ``wait`` it is done on return, else the next operations meet it under way."""
        leader, found = self.stamp.leader(), self.stamp.map()
        if leader is None or found is None or found.pending:
            return
        entries = found.entries
        entry = entries[what // 3 % len(entries)]
        action: SplitRange | MergeRanges | MoveRange = SplitRange(entry.number, "size")
        if what % 3 == 1 and entry is not entries[-1]:
            action = MergeRanges(entry.number, entries[entries.index(entry) + 1].number)
        elif what % 3 == 2:
            names = self.stamp.layout.server_names()
            action = MoveRange(entry.number, names[what // 7 % len(names)])

        async def order() -> None:
            with suppress(EngineError):
                await leader.order(action)

        if wait:
            self.world.run(order(), "front-end-0", limit_ns=600 * SECOND)
        else:
            self.world.spawn(order(), "front-end-0")


@contextmanager
def engine_side(
    seed: int, table: str, partitions: tuple[str, ...] = (), limits: TableLimits = NO_WAIT
) -> Iterator[EngineSide]:
    """A stamp whose ranges end in front of partitions of a table."""
    boundaries = tuple(row_keys.partition_prefix(ACCOUNT, table, partition) for partition in partitions)
    with simulated(seed) as world:
        stamp = built(world, servers=3, front_ends=2, boundaries=boundaries)
        services = [TableService(stamp.front_end(i), ACCOUNT, limits=limits, ids=count(i + 1, 2)) for i in range(2)]
        yield EngineSide(
            world, stamp, tuple(EmbeddedStore(world, service, f"front-end-{i}") for i, service in enumerate(services))
        )
        world.run(stamp.until_settled(), limit_ns=600 * SECOND)
        world.run(stamp.check_all(), limit_ns=600 * SECOND)


# ------------------------------------------------------------------------------------------------ Azurite


class AzuriteSide:
    """Azurite through the official client as a table store."""

    def __init__(self, azurite: Azurite) -> None:
        self._endpoint = Endpoint(azurite.service)

    def execute(self, operation: Operation) -> Outcome:
        """Carries out an operation."""
        return self._endpoint.execute(operation)


# ------------------------------------------------------------------------------------------------ both


class Both:
    """The same operation on both sides, each with its own ETags."""

    def __init__(self, engine: EngineSide, azurite: AzuriteSide) -> None:
        self.engine, self.azurite = engine, azurite
        self.tags: dict[EntityKey, list[tuple[str, str]]] = {}

    def do(self, operation: Operation, match: int | None = None) -> tuple[Outcome, Outcome]:
        """The answers of both; ``match`` says which ETag of the entity goes with it, counted from its newest."""
        mine, theirs = operation, operation
        if match is not None and isinstance(operation, Update | Merge | Delete):
            known = self.tags.get(_key(operation), [])
            pair = known[-1 - match] if match < len(known) else ("W/\"datetime'never'\"", "W/\"datetime'never'\"")
            mine, theirs = replace(operation, if_match=pair[0]), replace(operation, if_match=pair[1])
        one, other = self.engine.execute(mine), self.azurite.execute(theirs)
        writes = operation.writes if isinstance(operation, Group) else (operation,)
        if one.ok and other.ok and one.etags and other.etags:
            for write, tags in zip(writes, zip(one.etags, other.etags, strict=True), strict=True):
                if not isinstance(write, Delete):
                    self.tags.setdefault(_key(write), []).append(tags)  # type: ignore[arg-type]
        return one, other

    def pages(self, query: Query) -> tuple[list[object], list[object]]:
        """All entities of a query on both sides."""
        found: list[list[object]] = []
        for side in (self.engine, self.azurite):
            entities: list[object] = []
            token, number = "", 0
            while number == 0 or token:
                outcome = side.execute(replace(query, continuation=token))
                assert outcome.ok, (query, outcome)
                assert len(outcome.entities) <= (query.top or 1000)
                entities += plain(outcome)
                token, number = outcome.continuation, number + 1
                assert number < 300, "the pages end"
            found.append(entities)
        return found[0], found[1]


def _key(write: Write) -> EntityKey:
    return write.key if isinstance(write, Delete) else write.entity.key


def plain(outcome: Outcome) -> list[object]:
    """Entities as they can be compared: NaN equals NaN, 5 is not 5.0; no Timestamp, no ETag."""
    return [
        (entity.key, sorted((name, found.type, repr(found.value)) for name, found in entity.properties.items()))
        for entity in outcome.entities
    ]


def answer(outcome: Outcome) -> object:
    """What two answers are compared by."""
    return outcome.status, outcome.code, outcome.failed_index, plain(outcome)


def entity(row_key: str, partition_key: str = "t", **properties: Property) -> Entity:
    """An entity of one partition, unless it is said which."""
    return Entity(EntityKey(partition_key, row_key), properties)
