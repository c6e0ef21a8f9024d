"""Clients that keep a few entities busy, and what they saw: the raw material of every check.

Each value written is a number of its own, so that an answer tells which write it saw. A client waits for its answer
before its next operation; an answer that never comes leaves the operation *maybe carried out*.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from pkadvisor.engine.worlds.world import EngineError, World
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    Delete,
    Entity,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Key,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
)

TABLE = "sim"
GROUP_ROWS = tuple(f"g{i}" for i in range(4))
"""Rows that are only ever written together, all with the same number."""

Execute = Callable[[Operation], Awaitable[Outcome]]


@dataclass(slots=True)
class Call:
    """One operation of one client; ``returned_ns`` None: no answer came, now or ever."""

    client: int
    operation: Operation
    called_ns: int
    returned_ns: int | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Mix:
    """What clients do, drawn for each seed: a weight of 0 switches an operation off."""

    clients: int
    operations: int
    partitions: int
    rows: int
    think_ns: int
    weights: tuple[tuple[str, int], ...]

    @staticmethod
    def draw(chance: Random, operations: int) -> Mix:
        """A mix of its own: some kinds of operation are off, others frequent."""
        kinds = (
            "insert",
            "update",
            "merge",
            "replace",
            "upsert",
            "delete",
            "get",
            "query",
            "scan",
            "group",
            "bad group",
        )
        weights = tuple((kind, chance.choice((0, 1, 1, 2, 5))) for kind in kinds)
        if not any(weight for kind, weight in weights if kind in ("insert", "replace", "upsert")):
            weights = (*weights, ("upsert", 2))
        if not any(weight for kind, weight in weights if kind in ("get", "query", "scan")):
            weights = (*weights, ("get", 2))
        return Mix(
            clients=chance.choice((1, 2, 3, 5, 8)),
            operations=operations,
            partitions=chance.choice((1, 2, 4, 9)),
            rows=chance.choice((1, 3, 8)),
            think_ns=chance.choice((0, 5_000_000, 50_000_000, 300_000_000, 1_000_000_000)),
            weights=weights,
        )


@dataclass(slots=True)
class Clients:
    """All clients of a run, and the calls they made, in the order in which they were made."""

    world: World
    execute: Execute
    mix: Mix
    chance: Random
    calls: list[Call] = field(default_factory=list)
    left: int = 0
    _number: int = 0
    _etags: dict[Key, list[str]] = field(default_factory=dict)

    async def run(self) -> None:
        """Runs all of them to their end."""
        self.left = self.mix.operations
        await self.world.gather([self._client(i) for i in range(self.mix.clients)], "clients")

    async def _client(self, number: int) -> None:
        while self.left > 0:
            self.left -= 1
            await self.call(number, self._draw())
            if self.mix.think_ns:
                await self.world.sleep(self.chance.randrange(self.mix.think_ns))

    async def call(self, client: int, operation: Operation) -> Outcome | None:
        """Makes a call and writes down what came of it."""
        call = Call(client, operation, self.world.now_ns())
        self.calls.append(call)
        try:
            outcome = await self.execute(operation)
        except EngineError:
            return None
        if outcome.uncertain:
            return outcome
        call.outcome, call.returned_ns = outcome, self.world.now_ns()
        self._remember(operation, outcome)
        return outcome

    def unanswered(self) -> dict[Key, None]:
        """The keys of writes that no answer came to: they may be carried out at any time."""
        keys: dict[Key, None] = {}
        for call in self.calls:
            if call.returned_ns is None:
                writes = call.operation.writes if isinstance(call.operation, Group) else (call.operation,)
                for write in writes:
                    match write:
                        case Insert(entity=entity) | InsertOrReplace(entity=entity) | InsertOrMerge(entity=entity):
                            keys[entity.key] = None
                        case Update(entity=entity) | Merge(entity=entity):
                            keys[entity.key] = None
                        case Delete(key=key):
                            keys[key] = None
        return keys

    # ------------------------------------------------------------------------------------------ what is asked

    def _draw(self) -> Operation:
        kinds = [kind for kind, _ in self.mix.weights]
        kind = self.chance.choices(kinds, [weight for _, weight in self.mix.weights])[0]
        partition = f"p{self.chance.randrange(self.mix.partitions)}"
        key = Key(partition, f"r{self.chance.randrange(self.mix.rows)}")
        match kind:
            case "insert":
                return Insert(TABLE, self.entity(key))
            case "update":
                return Update(TABLE, self.entity(key), self._etag(key))
            case "merge":
                return Merge(TABLE, self.entity(key), self._etag(key))
            case "replace":
                return InsertOrReplace(TABLE, self.entity(key))
            case "upsert":
                return InsertOrMerge(TABLE, self.entity(key))
            case "delete":
                return Delete(TABLE, key, self._etag(key))
            case "get":
                return Get(TABLE, key)
            case "query":
                return Query(TABLE, f"PartitionKey eq '{partition}'", top=self.chance.choice((None, None, 1, 3)))
            case "scan":
                return Query(TABLE, self.chance.choice(("", "PartitionKey gt 'p1'")))
            case _:
                entity = self.entity(Key(partition, GROUP_ROWS[0]))
                writes = [InsertOrReplace(TABLE, Entity(Key(partition, r), entity.properties)) for r in GROUP_ROWS]
                if kind == "bad group":  # its last write is refused, so nothing of it may ever be seen
                    return Group((*writes, Update(TABLE, self.entity(Key(partition, "never")))))
                return Group(tuple(writes))

    def entity(self, key: Key) -> Entity:
        """An entity that carries a number of its own."""
        self._number += 1
        return Entity(key, {"v": Property(EdmType.INT64, self._number)})

    def _etag(self, key: Key) -> str:
        known = self._etags.get(key)
        if not known or self.chance.random() < 0.4:
            return "*"
        return self.chance.choice(known[-3:])

    def _remember(self, operation: Operation, outcome: Outcome) -> None:
        if not outcome.ok:
            return
        if isinstance(operation, Get):
            for entity in outcome.entities:
                self._etags.setdefault(entity.key, []).append(entity.etag)
        elif isinstance(operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge) and outcome.etags:
            self._etags.setdefault(operation.entity.key, []).append(outcome.etags[0])
