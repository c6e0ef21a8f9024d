"""The same operation on a stamp of the embedded engine and on Azurite, and what each of them answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import UUID

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.data.tables import EdmType as WireType
from azure.data.tables import EntityProperty, TableClient, TableTransactionError, UpdateMode

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import SECOND
from pkadvisor.engine.partition.balancer import Merge as MergeRanges
from pkadvisor.engine.partition.balancer import Move, Split
from pkadvisor.engine.stamp import Stamp
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.edm import EdmType, format_ticks, parse_datetime_ticks
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Key,
    ListTables,
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
_WIRE_TYPES: dict[type, EdmType] = {
    str: EdmType.STRING,
    int: EdmType.INT32,
    float: EdmType.DOUBLE,
    bool: EdmType.BOOLEAN,
    bytes: EdmType.BINARY,
}


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
        action: Split | MergeRanges | Move = Split(entry.number, "size")
        if what % 3 == 1 and entry is not entries[-1]:
            action = MergeRanges(entry.number, entries[entries.index(entry) + 1].number)
        elif what % 3 == 2:
            names = self.stamp.layout.server_names()
            action = Move(entry.number, names[what // 7 % len(names)])

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
        self._service = azurite.service
        self._status = 0

    def execute(self, operation: Operation) -> Outcome:
        """Carries out an operation; a page token of the service stands in the outcome as a text."""
        self._status = 0
        try:
            return self._execute(operation)
        except TableTransactionError as error:
            return _refused(error, error.index)
        except HttpResponseError as error:
            return _refused(error, None)

    def _execute(self, operation: Operation) -> Outcome:
        match operation:
            case CreateTable():
                self._service.create_table(operation.table)
                return Outcome(204)
            case DeleteTable():
                # the client keeps a 404 to itself
                self._service.delete_table(operation.table, raw_response_hook=self._note)
                return Outcome(204) if self._status == 204 else Outcome(self._status, "TableNotFound")
            case ListTables():
                return Outcome(200, tables=tuple(item.name for item in self._service.list_tables()))
            case Group():
                return self._group(operation)
            case Get():
                entity = self._table(operation.table).get_entity(*operation.key, select=operation.select or None)
                return Outcome(200, entities=(from_wire(entity, operation.key),))
            case Query():
                return self._query(operation)
            case Delete():
                table = self._table(operation.table)
                table.delete_entity(*operation.key, **_condition(operation.if_match), raw_response_hook=self._note)
                return Outcome(204) if self._status == 204 else Outcome(self._status, self._code)
        return self._write(operation)

    def _write(self, write: Write) -> Outcome:
        table = self._table(write.table)
        assert not isinstance(write, Delete)
        entity = to_wire(write.entity)
        match write:
            case Insert():
                answer = table.create_entity(entity)
            case InsertOrReplace():
                answer = table.upsert_entity(entity, UpdateMode.REPLACE)
            case InsertOrMerge():
                answer = table.upsert_entity(entity, UpdateMode.MERGE)
            case Update():
                answer = table.update_entity(entity, UpdateMode.REPLACE, **_condition(write.if_match))
            case Merge():
                answer = table.update_entity(entity, UpdateMode.MERGE, **_condition(write.if_match))
        return Outcome(204, etags=(answer["etag"],))

    def _group(self, group: Group) -> Outcome:
        operations: list[tuple[Any, ...]] = []
        for write in group.writes:
            if isinstance(write, Delete):
                key = {"PartitionKey": write.key.partition_key, "RowKey": write.key.row_key}
                operations.append(("delete", key, _condition(write.if_match)))
                continue
            entity = to_wire(write.entity)
            match write:
                case Insert():
                    operations.append(("create", entity))
                case InsertOrReplace():
                    operations.append(("upsert", entity, {"mode": UpdateMode.REPLACE}))
                case InsertOrMerge():
                    operations.append(("upsert", entity, {"mode": UpdateMode.MERGE}))
                case Update():
                    operations.append(("update", entity, {"mode": UpdateMode.REPLACE, **_condition(write.if_match)}))
                case Merge():
                    operations.append(("update", entity, {"mode": UpdateMode.MERGE, **_condition(write.if_match)}))
        answers = self._table(group.writes[0].table).submit_transaction(operations)
        return Outcome(202, etags=tuple(answer.get("etag") or "" for answer in answers))

    def _query(self, query: Query) -> Outcome:
        table = self._table(query.table)
        pages = table.query_entities(
            query.filter, select=list(query.select) or None, results_per_page=query.top
        ).by_page(_token(query.continuation))
        entities = tuple(from_wire(entity) for entity in next(pages))
        token = pages.continuation_token
        text = f"{token['PartitionKey'] or ''}|{token['RowKey'] or ''}" if token else ""
        return Outcome(200, entities=entities, continuation=text)

    def _table(self, name: str) -> TableClient:
        return self._service.get_table_client(name)

    def _note(self, response: Any) -> None:
        self._status = response.http_response.status_code
        self._code = response.http_response.headers.get("x-ms-error-code", "")


def _token(text: str) -> dict[str, str] | None:
    partition_key, _, row_key = text.partition("|")
    return {"PartitionKey": partition_key, "RowKey": row_key} if text else None


def _condition(if_match: str) -> dict[str, Any]:
    if if_match == "*":
        return {}
    return {"etag": if_match, "match_condition": MatchConditions.IfNotModified}


def _refused(error: HttpResponseError, index: int | None) -> Outcome:
    code = getattr(error, "error_code", None) or ""
    if not code and error.response is not None:
        code = error.response.headers.get("x-ms-error-code", "")
    return Outcome(error.status_code or 0, str(getattr(code, "value", code)), failed_index=index)


def to_wire(entity: Entity) -> dict[str, Any]:
    """The entity as the client sends it, each property with exactly its type."""
    found: dict[str, Any] = {"PartitionKey": entity.key.partition_key, "RowKey": entity.key.row_key}
    for name, (edm, value) in entity.properties.items():
        if value is None:  # type: ignore[comparison-overlap]
            found[name] = None
        elif edm is EdmType.DATETIME:
            assert isinstance(value, int)
            found[name] = EntityProperty(format_ticks(value), WireType.DATETIME)
        else:
            found[name] = EntityProperty(value, WireType(f"Edm.{edm}"))
    return found


def from_wire(found: Any, key: Key | None = None) -> Entity:
    """The entity that the client read; ``key`` where the answer does not hold it."""
    metadata = found.metadata
    properties = {name: _property(value) for name, value in found.items() if name not in ("PartitionKey", "RowKey")}
    if key is None:
        key = Key(found.get("PartitionKey"), found.get("RowKey"))
    return Entity(key, properties, etag=metadata.get("etag") or "")


def _property(value: Any) -> Property:
    if isinstance(value, EntityProperty):
        return Property(EdmType.INT64, int(value.value))
    if isinstance(value, UUID):
        return Property(EdmType.GUID, str(value))
    if hasattr(value, "tables_service_value"):
        return Property(EdmType.DATETIME, parse_datetime_ticks(value.tables_service_value))
    return Property(_WIRE_TYPES[type(value)], value)


# ------------------------------------------------------------------------------------------------ both


class Both:
    """The same operation on both sides, each with its own ETags."""

    def __init__(self, engine: EngineSide, azurite: AzuriteSide) -> None:
        self.engine, self.azurite = engine, azurite
        self.tags: dict[Key, list[tuple[str, str]]] = {}

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


def _key(write: Write) -> Key:
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
    return Entity(Key(partition_key, row_key), properties)
