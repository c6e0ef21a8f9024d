"""Clients that keep a few entities busy, and what they saw: the raw material of every check.

Each value written is a number of its own, so that an answer tells which write it saw. A client waits for its answer
before its next operation; an answer that never comes leaves the operation *maybe carried out*.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from random import Random

from pkadvisor.engine.worlds.world import EngineError, World
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    Delete,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)

TABLES = ("sim", "other")
PAGES_MAX = 60
"""Pages of one walk, at most: a walk among writers need not end."""
TRIES = 3
GROUP_BYTES = 40_000
WALKS = (2, 5)
"""``top`` of walks, and of nothing else."""
SLOTS = 3
"""Properties ``m0`` … of which each write carries one, by its number: a merge leaves what earlier writes put there."""
SELECTED = ("m0", "v")
RECENT = 40

Execute = Callable[[Operation], Awaitable[Outcome]]


@dataclass(slots=True)
class Call:
    """One operation of one client; ``returned`` None: no answer came, now or ever.

    ``called`` and ``returned`` are places among the calls and returns of all clients. They order what happens at one
    instant, too: a whole run may take none of the world's time.
    """

    client: int
    operation: Operation
    called: int
    returned: int | None = None
    outcome: Outcome | None = None
    walked: Walked | None = None
    """Of a page that follows others: how far those came."""
    began_ns: int = 0
    ended_ns: int | None = None
    """World time, for Timestamps."""


@dataclass(frozen=True, slots=True)
class Walked:
    """How far a walk from page to page came: the last key shown (None: none yet), and the call that showed it."""

    last: EntityKey | None
    since: int


@dataclass(frozen=True, slots=True)
class Mix:
    """What clients do, drawn for each seed: a weight of 0 switches an operation off."""

    clients: int
    operations: int
    partitions: int
    rows: int
    think_ns: int
    weights: tuple[tuple[str, int], ...]
    tables: int = 1
    group: int = 4
    """Rows ``g…`` of each partition that are only ever written together, all with the same number."""
    padding_bytes: int = 0
    empty_row: bool = False
    """Whether the first row of a partition has the empty RowKey: it stands where a range may begin."""

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
            "walk",
            "group",
            "bad group",
        )
        weights = tuple((kind, chance.choice((0, 1, 1, 2, 5))) for kind in kinds)
        if not any(weight for kind, weight in weights if kind in ("insert", "replace", "upsert")):
            weights = (*weights, ("upsert", 2))
        if not any(weight for kind, weight in weights if kind in ("get", "query", "scan", "walk")):
            weights = (*weights, ("get", 2))
        group = chance.choice((2, 4, 12, 40))
        return Mix(
            clients=chance.choice((1, 2, 3, 5, 8)),
            operations=operations,
            partitions=chance.choice((1, 2, 4, 9)),
            rows=chance.choice((1, 3, 8, 40)),
            think_ns=chance.choice((0, 5_000_000, 50_000_000, 300_000_000, 1_000_000_000)),
            weights=weights,
            tables=chance.choice((1, 1, 2)),
            group=group,
            padding_bytes=min(chance.choice((0, 0, 100, 1_000, 5_000)), GROUP_BYTES // group),
        )

    def row(self, number: int) -> str:
        """The RowKey of a row that is written alone."""
        return "" if self.empty_row and number == 0 else f"r{number:02}"

    def group_rows(self) -> tuple[str, ...]:
        """The RowKeys of a group, in order."""
        return tuple(f"g{i:02}" for i in range(self.group))


def slot_of(number: int) -> int:
    """Which of the properties ``m…`` a write of this number carries."""
    return number % SLOTS


def padding(number: int, size: int) -> str:
    """What a value of this number carries besides it: nobody else's."""
    return f"{number}/".ljust(size, "x") if size else ""


@dataclass(slots=True)
class Clients:
    """All clients of a run, and the calls they made, in the order in which they were made."""

    world: World
    execute: Execute
    mix: Mix
    chance: Random
    aside: Random = field(default_factory=lambda: Random(0))
    """For filters, projections and conditions of groups, so that what ``chance`` draws stays as it was."""
    calls: list[Call] = field(default_factory=list)
    left: int = 0
    _number: int = 0
    _events: int = 0
    _etags: dict[tuple[str, EntityKey], list[str]] = field(default_factory=dict)

    async def run(self) -> None:
        """Runs all of them to their end."""
        self.left = self.mix.operations
        await self.world.gather([self._client(i) for i in range(self.mix.clients)], "clients")

    async def _client(self, number: int) -> None:
        while self.left > 0:
            self.left -= 1
            operation = self._draw()
            if isinstance(operation, Query):
                await self._walk(number, operation)
            else:
                await self.call(number, operation)
            await self._think()

    async def _think(self) -> None:
        if self.mix.think_ns:
            await self.world.sleep(self.chance.randrange(self.mix.think_ns))

    async def _walk(self, client: int, query: Query) -> None:
        """Reads the first page; as a walk the pages behind it too, each some time after the one before."""
        pages = PAGES_MAX if query.top in WALKS else 1
        walked: Walked | None = None
        for _ in range(pages):
            outcome, walked = await self.page(client, query, walked)
            if outcome is None or not outcome.ok or not outcome.continuation or self.left <= 0:
                return
            self.left -= 1
            query = replace(query, continuation=outcome.continuation)
            await self._think()

    async def page(self, client: int, query: Query, walked: Walked | None) -> tuple[Outcome | None, Walked | None]:
        """A page of a walk, asked for until it comes; what came, and how far the walk is now."""
        for _ in range(TRIES):
            place = len(self.calls)
            outcome = await self.call(client, query, walked)
            if outcome is not None and outcome.ok:
                if outcome.continuation and not outcome.entities:
                    self.world.event("empty page with token")
                if outcome.entities or walked is None:
                    walked = Walked(outcome.entities[-1].key if outcome.entities else None, place)
                return outcome, walked
        return outcome, walked

    async def call(self, client: int, operation: Operation, walked: Walked | None = None) -> Outcome | None:
        """Makes a call and writes down what came of it."""
        call = Call(client, operation, self._next_event(), walked=walked, began_ns=self.world.now_ns())
        self.calls.append(call)
        try:
            outcome = await self.execute(operation)
        except EngineError:
            return None
        if outcome.uncertain:
            return outcome
        call.outcome, call.returned, call.ended_ns = outcome, self._next_event(), self.world.now_ns()
        self._remember(operation, outcome)
        return outcome

    def _next_event(self) -> int:
        self._events += 1
        return self._events

    def unanswered(self) -> dict[EntityKey, None]:
        """The keys of writes that no answer came to: they may be carried out at any time."""
        keys: dict[EntityKey, None] = {}
        for call in self.calls:
            if call.returned is None:
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
        key = EntityKey(partition, self.mix.row(self.chance.randrange(self.mix.rows)))
        table = TABLES[self.chance.randrange(self.mix.tables)]
        match kind:
            case "insert":
                return Insert(table, self.entity(key))
            case "update":
                return Update(table, self.entity(key), self._etag(table, key))
            case "merge":
                return Merge(table, self.entity(key), self._etag(table, key))
            case "replace":
                return InsertOrReplace(table, self.entity(key))
            case "upsert":
                return InsertOrMerge(table, self.entity(key))
            case "delete":
                return Delete(table, key, self._etag(table, key))
            case "get":
                return Get(table, key, self._selected())
            case "query":
                return self._query(table, f"PartitionKey eq '{partition}'", self.chance.choice((None, None, 1, 3)))
            case "scan":
                return self._query(table, self.chance.choice(("", "PartitionKey gt 'p1'")), None)
            case "walk":
                of = self.chance.choice(("", f"PartitionKey eq '{partition}'", "PartitionKey gt 'p1'"))
                return self._query(table, of, self.chance.choice(WALKS))
            case _:
                return self._group(table, partition, bad=kind == "bad group")

    def _query(self, table: str, of: str, top: int | None) -> Query:
        """Some ask for entities written lately, some for a part of their properties."""
        if self.aside.randrange(3) == 0:
            lately = f"v ge {max(1, self._number - self.aside.randrange(RECENT))}L"
            of = f"{of} and {lately}" if of else lately
        return Query(table, of, select=self._selected(), top=top)

    def _selected(self) -> tuple[str, ...]:
        return SELECTED if self.aside.randrange(4) == 0 else ()

    def _group(self, table: str, partition: str, *, bad: bool) -> Group:
        """Rows written together; of some groups the first write asks for a tag."""
        rows = self.mix.group_rows()
        first = EntityKey(partition, rows[0])
        entity = self.entity(first)
        writes: list[Write] = [InsertOrReplace(table, Entity(EntityKey(partition, r), entity.properties)) for r in rows]
        if bad:  # its last write is refused, so nothing of it may ever be seen
            return Group((*writes, Update(table, self.entity(EntityKey(partition, "never")))))
        known = self._etags.get((table, first))
        if known and self.aside.randrange(2):
            writes[0] = Update(table, entity, self.aside.choice(known[-3:]))
        return Group(tuple(writes))

    def entity(self, key: EntityKey) -> Entity:
        """An entity that carries a number of its own."""
        self._number += 1
        more = padding(self._number, self.mix.padding_bytes)
        number = Property(EdmType.INT64, self._number)
        properties = {"v": number, f"m{slot_of(self._number)}": number}
        return Entity(key, properties | {"p": Property(EdmType.STRING, more)} if more else properties)

    def _etag(self, table: str, key: EntityKey) -> str:
        known = self._etags.get((table, key))
        if not known or self.chance.random() < 0.4:
            return "*"
        return self.chance.choice(known[-3:])

    def _remember(self, operation: Operation, outcome: Outcome) -> None:
        if not outcome.ok:
            return
        if isinstance(operation, Get):
            for entity in outcome.entities:
                self._etags.setdefault((operation.table, entity.key), []).append(entity.etag)
        elif isinstance(operation, Group):
            first = operation.writes[0]
            assert not isinstance(first, Delete)
            self._etags.setdefault((first.table, first.entity.key), []).append(outcome.etags[0])
        elif isinstance(operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge) and outcome.etags:
            self._etags.setdefault((operation.table, operation.entity.key), []).append(outcome.etags[0])
