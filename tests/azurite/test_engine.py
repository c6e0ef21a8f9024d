"""The embedded engine, on ranges that split, merge and move, and Azurite: the same operations, the same answers.

Where the two differ and the documentation of the service sides with the engine, or Azurite checks less, the difference
is listed as data and held, so that a change on either side is noticed.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from pkadvisor.table.edm import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, TICKS_MAX, EdmType, parse_datetime_ticks
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
    Merge,
    Operation,
    Outcome,
    Property,
    Query,
    Update,
    Write,
)
from tests.azurite.engines import AzuriteSide, EngineSide, engine_side
from tests.azurite.support import Azurite

pytestmark = pytest.mark.requires("azurite")

TABLE = "tab"
STRING, INT32, INT64, DOUBLE = EdmType.STRING, EdmType.INT32, EdmType.INT64, EdmType.DOUBLE
BOOLEAN, DATETIME, GUID, BINARY = EdmType.BOOLEAN, EdmType.DATETIME, EdmType.GUID, EdmType.BINARY
ASTRAL = "\U0001f600"

PARTITIONS = ("", "1", "111", "2", "a", "A", "o'clock", "100% +&=", "\ue000", ASTRAL)
ROWS = ("", " ", "1", "10", "2", "~", "it''s", "\uffff", ASTRAL + "x", "k" * 512)
VALUES: tuple[Property, ...] = (
    *(Property(STRING, text) for text in ("", "a", "5", "%27", "o'clock", ASTRAL, "x" * 32_768, " \t\r\n\u2028")),
    *(Property(INT32, whole) for whole in (INT32_MIN, -1, 0, 5, INT32_MAX)),
    *(Property(INT64, whole) for whole in (INT64_MIN, -1, 0, 5, 2**53 + 1, INT64_MAX)),
    *(Property(DOUBLE, each) for each in (-0.5, 0.0, 5.0, 1e-7, 1.5e300, float("inf"), float("-inf"), float("nan"))),
    *(Property(BOOLEAN, truth) for truth in (False, True)),
    *(Property(DATETIME, ticks) for ticks in (parse_datetime_ticks("1601-01-01"), 638_000_000_000_000_001, TICKS_MAX)),
    *(Property(GUID, f"{digits}000000-0000-4000-8000-000000000000") for digits in ("0f", "ff")),
    *(Property(BINARY, blob) for blob in (b"", b"\0", b"\xff" * 65_536)),
    Property(STRING, None),  # type: ignore[arg-type]
    Property(INT64, None),  # type: ignore[arg-type]
)
NAMES = ("v", "V", "other", "_a1", "größe", "n" * 255)
FILTERS = (
    "",
    "PartitionKey eq '111'",
    "PartitionKey eq ''",
    "PartitionKey ge '1' and PartitionKey lt '2'",
    f"PartitionKey ge '{ASTRAL}'",
    f"PartitionKey lt '\ue000' and RowKey ge '{ASTRAL}'",
    "PartitionKey eq 'A' and RowKey gt '1'",
    "PartitionKey eq 'a' and RowKey eq ''",
    "PartitionKey eq 'o''clock' or RowKey eq '2'",
    "RowKey eq 'it''''s'",
    "not (PartitionKey gt '1')",
    "String eq 'a' or Boolean or Int64 eq 5L or Int32 lt 0",
    "DateTime lt datetime'2022-09-25T00:00:00Z' or Double gt 0.00000001",
    "Guid eq guid'0f000000-0000-4000-8000-000000000000' or Binary eq X'00'",
    "String ge 'a' and PartitionKey ne '2'",
    "not (String gt '') and not (Int32 ge 5)",
    "Int64 gt 9007199254740992L or Int32 le -1 or String lt 'b'",
    "missing eq 5 or RowKey eq '~'",
)
SELECTS: tuple[tuple[str, ...], ...] = ((), ("v",), ("V", "absent"), ("PartitionKey", "RowKey", "other"))


class Both:
    """The same operation on both sides, each with its own ETags; ``seen`` is what a step was, for a failing test."""

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
    return outcome.status, outcome.code, outcome.failed_index, plain(outcome)


class Chance(Random):
    """Operations."""

    def key(self) -> Key:
        return Key(self.choice(PARTITIONS), self.choice(ROWS))

    def entity(self, key: Key) -> Entity:
        """Some names hold values of one type, which filters ask for: what they say of mixed ones is held elsewhere."""
        properties = {name: self.choice(VALUES) for name in self.sample(NAMES, self.randrange(4))}
        for found in self.sample(VALUES, self.randrange(3)):
            if found.value is not None:
                properties[str(found.type)] = found
        return Entity(key, properties)

    def write(self, key: Key) -> Write:
        kind = self.choice((Insert, Insert, Update, Merge, InsertOrReplace, InsertOrMerge, InsertOrMerge, Delete))
        if kind is Delete:
            return Delete(TABLE, key)
        return kind(TABLE, self.entity(key))  # type: ignore[no-any-return]

    def group(self) -> Group:
        partition = self.choice(PARTITIONS)
        rows = self.sample(ROWS, self.randrange(1, 5))
        writes = [self.write(Key(partition, row)) for row in rows]
        if self.randrange(3):  # else nearly all of them fail
            writes = [
                InsertOrMerge(TABLE, write.entity) if not isinstance(write, Delete | InsertOrReplace) else write
                for write in writes
                if not isinstance(write, Delete)
            ] or [InsertOrReplace(TABLE, self.entity(Key(partition, "")))]
        return Group(tuple(writes))


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_are_answered_alike(azurite: Azurite, seed: int) -> None:
    """Statuses, codes, failing index, entities with types, order, merges, conditions, while ranges come and go."""
    chance = Chance(seed)
    with engine_side(seed, ("1", "a")[: seed % 3]) as engine:
        both = Both(engine, AzuriteSide(azurite))
        one, other = both.do(CreateTable(TABLE))
        assert one.ok and other.ok
        try:
            for step in range(250):
                if step % 12 == 0:
                    engine.stir(chance.randrange(1000), wait=bool(chance.randrange(2)))
                what = chance.randrange(10)
                if what == 0:
                    query = Query(
                        TABLE, chance.choice(FILTERS), chance.choice(SELECTS), chance.choice((None, 1, 3, 1000))
                    )
                    if query.select and "PartitionKey" not in query.select:
                        query = replace(query, select=("PartitionKey", "RowKey", *query.select))
                    mine, theirs = both.pages(query)
                    assert mine == theirs, query
                    continue
                operation: Operation
                if what == 1:
                    operation = Get(TABLE, chance.key(), chance.choice(SELECTS))
                elif what == 2:
                    operation = chance.group()
                else:
                    operation = chance.write(chance.key())
                match = chance.choice((None, 0, 0, 1, 9)) if what > 2 else None
                one, other = both.do(operation, match)
                assert answer(one) == answer(other), (step, operation, match)
        finally:
            AzuriteSide(azurite).execute(DeleteTable(TABLE))
        assert engine.world.counts["split"] and engine.world.counts["merge"] and engine.world.counts["range loaded"]
