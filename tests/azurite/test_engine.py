"""The embedded engine, on ranges that split, merge and move, and Azurite: the same operations, the same answers.

What they answer at the limits, and where they differ, is ``test_engine_edges``.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.tables.table_rules import PUBLISHED
from pkadvisor.table.edm import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, TICKS_MAX, EdmType, parse_datetime_ticks
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    DeleteTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Merge,
    Operation,
    Property,
    Query,
    Update,
    Write,
)
from tests.azurite.engines import AzuriteSide, Both, answer, engine_side, entity
from tests.azurite.support import Azurite

pytestmark = pytest.mark.requires("azurite")

TABLE = "tab"
KEYS_ONLY = ("PartitionKey", "RowKey")
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


class Chance(Random):
    """Operations."""

    def key(self) -> EntityKey:
        return EntityKey(self.choice(PARTITIONS), self.choice(ROWS))

    def entity(self, key: EntityKey) -> Entity:
        """Some names hold values of one type, which filters ask for: what they say of mixed ones is held elsewhere."""
        properties = {name: self.choice(VALUES) for name in self.sample(NAMES, self.randrange(4))}
        for found in self.sample(VALUES, self.randrange(3)):
            if found.value is not None:
                properties[str(found.type)] = found
        return Entity(key, properties)

    def write(self, key: EntityKey) -> Write:
        kind = self.choice((Insert, Insert, Update, Merge, InsertOrReplace, InsertOrMerge, InsertOrMerge, Delete))
        if kind is Delete:
            return Delete(TABLE, key)
        return kind(TABLE, self.entity(key))  # type: ignore[no-any-return]

    def group(self) -> Group:
        partition = self.choice(PARTITIONS)
        rows = self.sample(ROWS, self.randrange(1, 5))
        writes = [self.write(EntityKey(partition, row)) for row in rows]
        if self.randrange(3):  # else nearly all of them fail
            writes = [
                InsertOrMerge(TABLE, write.entity) if not isinstance(write, Delete | InsertOrReplace) else write
                for write in writes
                if not isinstance(write, Delete)
            ] or [InsertOrReplace(TABLE, self.entity(EntityKey(partition, "")))]
        return Group(tuple(writes))


@pytest.mark.parametrize("seed", range(2))
def test_random_operations_are_answered_alike(azurite: Azurite, seed: int) -> None:
    """Statuses, codes, failing index, entities with types, order, merges, conditions, while ranges come and go."""
    chance = Chance(seed)
    with engine_side(seed, TABLE, ("1", "a")[: seed % 3]) as engine:
        both = Both(engine, AzuriteSide(azurite))
        one, other = both.do(CreateTable(TABLE))
        assert one.ok and other.ok
        try:
            for step in range(110):
                if step % 6 == 0:
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


def test_pages_are_alike_while_entities_come_and_go(azurite: Azurite) -> None:
    """In one partition, which no range boundary divides: a token is a place among keys, for any filter and table."""
    with engine_side(3, "pages", ("p",)) as engine:
        both = Both(engine, AzuriteSide(azurite))
        for table in ("pages", "others"):
            both.do(CreateTable(table))
            both.do(Group(tuple(Insert(table, entity(f"r{i:02}", "p", n=Property(INT32, i))) for i in range(20))))
        query = Query("pages", "PartitionKey eq 'p'", KEYS_ONLY, 5)

        def on_both(query: Query, tokens: tuple[str, str] = ("", "")) -> tuple[str, str]:
            sides = (both.engine, both.azurite)
            one, other = (s.execute(replace(query, continuation=t)) for s, t in zip(sides, tokens, strict=True))
            assert answer(one) == answer(other)
            assert bool(one.continuation) == bool(other.continuation)
            rows.append([found.key.row_key for found in one.entities])
            return one.continuation, other.continuation

        rows: list[list[str]] = []
        tokens = on_both(query)
        both.do(Delete("pages", EntityKey("p", "r05")))  # the one that the token names
        both.do(Delete("pages", EntityKey("p", "r06")))
        for row_key in ("r045", "r055", "r095", "r12"):
            both.do(InsertOrReplace("pages", entity(row_key, "p")))
        on_both(query, tokens)
        assert rows[-1] == ["r055", "r07", "r08", "r09", "r095"]
        on_both(replace(query, filter="PartitionKey eq 'p' and n ge 15", top=3), tokens)
        on_both(replace(query, filter="PartitionKey eq 'p' and RowKey lt 'r03'"), tokens)
        on_both(replace(query, filter="PartitionKey eq 'nobody'"), tokens)
        on_both(replace(query, table="others", top=1000), tokens)
        assert rows[-1] == [f"r{i:02}" for i in range(5, 20)]
        both.do(DeleteTable("others"))
        assert both.engine.execute(replace(query, table="others", continuation=tokens[0])).code == "TableNotFound"


def test_a_name_is_not_free_at_once_and_is_on_azurite(azurite: Azurite) -> None:
    """Delete Table: at least 40 s, in which whatever is attempted is a conflict. Azurite has none of this."""
    with engine_side(4, "again", ("t",), limits=PUBLISHED) as engine:
        both = Both(engine, AzuriteSide(azurite))
        for operation in (CreateTable("again"), Insert("again", entity("r")), DeleteTable("again")):
            one, other = both.do(operation)
            assert answer(one) == answer(other) and one.ok
        for operation in (Insert("again", entity("r")), Query("again"), DeleteTable("again"), CreateTable("again")):
            one, other = both.do(operation)
            assert (one.status, one.code) == (409, "TableBeingDeleted")
            assert other.ok or other.code == "TableNotFound"
        engine.world.run_until(engine.world.now_ns() + 41 * SECOND)
        for operation in (CreateTable("again"), Query("again")):
            assert both.engine.execute(operation).ok
