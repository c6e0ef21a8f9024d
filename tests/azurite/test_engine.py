"""The embedded engine, on ranges that split, merge and move, and Azurite: the same operations, the same answers.

Where the two differ and the documentation of the service sides with the engine, or Azurite checks less, the difference
is listed as data and held, so that a change on either side is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest

from pkadvisor.engine.options import SECOND
from pkadvisor.engine.tables.table_rules import PUBLISHED
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


@pytest.mark.parametrize("seed", range(2))
def test_random_operations_are_answered_alike(azurite: Azurite, seed: int) -> None:
    """Statuses, codes, failing index, entities with types, order, merges, conditions, while ranges come and go."""
    chance = Chance(seed)
    with engine_side(seed, ("1", "a")[: seed % 3]) as engine:
        both = Both(engine, AzuriteSide(azurite))
        one, other = both.do(CreateTable(TABLE))
        assert one.ok and other.ok
        try:
            for step in range(160):
                if step % 8 == 0:
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


# ------------------------------------------------------------------------------------------------ edges


@pytest.fixture(scope="module")
def edges(azurite: Azurite) -> Iterator[Both]:
    """Both sides with one entity in a table, for operations at the limits; each has a key of its own."""
    with engine_side(7, ("m", "t")) as engine:
        both = Both(engine, AzuriteSide(azurite))
        one, other = both.do(CreateTable(EDGES))
        assert one.ok and other.ok
        one, other = both.do(Insert(EDGES, entity("there", s=Property(STRING, "v"))))
        assert one.ok and other.ok
        yield both


def entity(row_key: str, partition_key: str = "t", **properties: Property) -> Entity:
    return Entity(Key(partition_key, row_key), properties)


def many(count_: int, edm: EdmType = INT32, value: object = 1) -> dict[str, Property]:
    return {f"p{i}": Property(edm, value) for i in range(count_)}  # type: ignore[arg-type]


def inserted(row_key: str, **properties: Property) -> Insert:
    return Insert(EDGES, entity(row_key, **properties))


EDGES = "edges"
THERE = Key("t", "there")
KEYS_ONLY = ("PartitionKey", "RowKey")
ONE = Property(INT32, 1)
NULL = Property(STRING, None)  # type: ignore[arg-type]
UNKNOWN = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
BELOW_1601 = Property(DATETIME, parse_datetime_ticks("1601-01-01") - 1)
FIFTEEN = " or ".join(f"n eq {number}" for number in range(15))

SAME: tuple[Operation, ...] = (
    # keys
    *(inserted(f"a{c}") for c in "%'\"<>|*:;,+&= \xa0\ufeff\u200b\u2028\ufffe\uffff"),
    inserted("k" * 512),
    inserted("k" * 1025),
    Get(EDGES, Key("t", "k" * 1025)),
    *(Get(EDGES, Key("t", f"no{c}")) for c in "\\#?\t\x7f\x9f%'+&= "),
    # names, and how many of them
    *(
        inserted(f"name {name}", **{name: ONE})
        for name in ("_", "__", "class", "na\u0131ve", "e\u0301", "\u0928\u093e\u092e")
    ),
    inserted("cases", partitionkey=ONE, rowkey=ONE, timestamp=ONE, S=ONE, s=Property(STRING, "s")),
    inserted("a timestamp", Timestamp=Property(DATETIME, 638_000_000_000_000_001)),
    Insert(EDGES, Entity(Key("t", "252"), many(252))),
    Insert(EDGES, Entity(Key("t", "252 and a null"), many(252) | {"null": NULL})),
    inserted("n" * 255, **{"n" * 255: ONE}),
    # values
    inserted("64 KiB", s=Property(STRING, "x" * 32_768)),
    inserted("64 KiB and 2", s=Property(STRING, "x" * 32_769)),
    inserted("astral", s=Property(STRING, ASTRAL * 16_384)),
    inserted("astral and 2", s=Property(STRING, ASTRAL * 16_384 + "x")),
    inserted("binary", s=Property(BINARY, bytes(65_536))),
    inserted("binary and 1", s=Property(BINARY, bytes(65_537))),
    inserted("a NUL", s=Property(STRING, "a\0b")),
    inserted("half a pair", s=Property(STRING, "a\ud800b")),
    inserted("doubles", a=Property(DOUBLE, 1e308), b=Property(DOUBLE, 5e-324), c=Property(DOUBLE, 0.1 + 0.2)),
    Insert(EDGES, Entity(Key("t", "below 1 MiB"), many(16, STRING, "x" * 32_000))),
    # conditions
    *(kind(EDGES, entity("there"), UNKNOWN) for kind in (Update, Merge)),
    *(kind(EDGES, entity("nobody"), tag) for kind in (Update, Merge) for tag in ("*", UNKNOWN)),
    *(Update(EDGES, entity("there"), tag) for tag in ("x", '"x"', "W/x", 'w/"x"', 'W/"a","b"', "**")),
    *(Delete(EDGES, THERE, tag) for tag in ("x", '"x"', UNKNOWN)),
    *(Delete(EDGES, Key("t", "nobody"), tag) for tag in ("x", "*", UNKNOWN)),
    Update(EDGES, entity("nobody"), "x"),
    # groups
    Group(tuple(Insert(EDGES, entity(f"{i}", "hundred")) for i in range(100))),
    Group((inserted("g"), inserted("h"), InsertOrMerge(EDGES, entity("g")))),
    Group((inserted("g"), Delete(EDGES, Key("t", "g")))),
    Group((inserted("g"), Delete(EDGES, Key("t", "nobody")))),
    Group((Update(EDGES, entity("there"), UNKNOWN), inserted("g"))),
    Group((inserted("g"), Update(EDGES, entity("there"), "x"))),
    Group((inserted("g"), inserted("h", s=Property(STRING, "x" * 32_769)))),
    Group((inserted("1"), inserted("1 "), inserted("A"), inserted("a"))),
    Group((Insert("nosuch", entity("g")), Insert("nosuch", entity("h")))),
    # tables
    *(kind("nosuch", entity("r")) for kind in (Insert, Update, Merge, InsertOrMerge, InsertOrReplace)),
    Get("nosuch", THERE),
    Query("nosuch"),
    Delete("nosuch", THERE),
    DeleteTable("nosuch"),
    CreateTable("eDGES"),
    Insert("EDGES", entity("another case")),
    CreateTable("t" * 63),
    # queries
    *(
        Query(EDGES, text, KEYS_ONLY)
        for text in (
            *("n eq", "(n eq 1", "n eq 1)", "1 eq 1", "startswith(n,'x')", "n add 1 eq 2", "n eq 1 and", "not"),
            *("RowKey eq 5", "PartitionKey gt 5", "PARTITIONKEY eq 't'", "Timestamp eq 'x'", FIFTEEN),
            "Timestamp gt datetime'2000-01-01T00:00:00Z' and PartitionKey eq 't' and RowKey eq 'there'",
            "Timestamp lt datetime'2000-01-01T00:00:00Z'",
        )
    ),
    *(Query(EDGES, "PartitionKey eq 't' and RowKey eq 'there'", KEYS_ONLY, top) for top in (0, 1, 1000)),
    Query(EDGES, "PartitionKey eq 't' and RowKey eq 'there'", (*KEYS_ONLY, "s", "s", "absent")),
    *(Get(EDGES, THERE, select) for select in (("absent",), ("RowKey",), ("Timestamp",), ("S",), ("s",))),
)


class Difference(NamedTuple):
    """An operation, the engine's status and code, those of Azurite, and why the engine keeps to its own."""

    operation: Operation
    engine: tuple[int, str]
    azurite: tuple[int, str]
    reason: str


KIB = "keys are of 1,024 UTF-16 units in the targets of the service; Azurite takes 1 KiB for 512"
OUT = "OutOfRangeInput is what the service says of a key, in the sample of its reference; Azurite is not so exact"
UNSEEN = "Azurite does not look at keys that it does not store, and takes a / for the end of the name"
COUNT = "an entity has at most 255 properties with the system ones: Azurite does not count"
NAMING = "names follow the rules for C# identifiers: Azurite takes any"
DATES = "dates begin in 1601: Azurite takes any"
SIZES = "1 MiB is the entity's by the published formula: Azurite measures the request, and not that of an insert"
PAYLOAD = "a group has at most 4 MiB by the published formula: Azurite measures its request, which is shorter here"
UNNAMED = "Azurite gives the sentence of InvalidResourceName without the code"
MERGING = "Azurite has another code for a malformed ETag where it merges"
LOOSE = "conformance: what Azurite takes for a filter"
TOP = "more than 1,000 is a bad request (Writing LINQ queries against the Table service)"
TOKEN = "a token is opaque, so what none of ours looks like is refused; Azurite takes anything for one"
TAKEN, INVALID, RANGE = (204, ""), (400, "InvalidInput"), (400, "OutOfRangeInput")
NO_NAME, NO_TABLE_NAME = (400, "PropertyNameInvalid"), (400, "InvalidResourceName")

DIFFERENCES: tuple[Difference, ...] = (
    *(Difference(inserted("k" * units), TAKEN, INVALID, KIB) for units in (513, 1024)),
    *(Difference(inserted(f"b{c}"), RANGE, INVALID, OUT) for c in "/\\#?\0\t\n\x1f\x7f\x80\x9f"),
    *(Difference(InsertOrReplace(EDGES, entity(f"b{c}")), RANGE, INVALID, OUT) for c in "\\#?\t\x7f"),
    *(Difference(Delete(EDGES, Key("t", f"b{c}")), RANGE, (404, "ResourceNotFound"), UNSEEN) for c in "\\#?\t\x7f"),
    Difference(Delete(EDGES, Key("t", "k" * 1025)), INVALID, (404, "ResourceNotFound"), UNSEEN),
    Difference(Get(EDGES, Key("t", "a/b")), (404, "ResourceNotFound"), (500, ""), UNSEEN),
    Difference(InsertOrReplace(EDGES, entity("a/b")), RANGE, (500, ""), UNSEEN),
    Difference(Group((inserted("g"), inserted("a#b"))), RANGE, INVALID, OUT),
    Difference(Insert(EDGES, Entity(Key("t", "253"), many(253))), (400, "TooManyProperties"), TAKEN, COUNT),
    Difference(inserted("n" * 256, **{"n" * 256: ONE}), (400, "PropertyNameTooLong"), TAKEN, COUNT),
    *(
        Difference(inserted(f"name {ascii(name)[1:-1].replace(chr(92), '')}", **{name: ONE}), NO_NAME, TAKEN, NAMING)
        for name in ("a-b", "1a", "", "a b", "a.b", "a$", "a:b", "\u00b2", "\ue000")
    ),
    Difference(inserted("1600", d=BELOW_1601), RANGE, TAKEN, DATES),
    Difference(inserted("0001", d=Property(DATETIME, 0)), RANGE, TAKEN, DATES),
    *(
        Difference(kind(EDGES, Entity(Key("t", row_key), properties)), engine, azurite, SIZES)
        for kind, row_key, properties, engine, azurite in (
            (Insert, "over", many(17, STRING, "x" * 32_000), (400, "EntityTooLarge"), TAKEN),
            (InsertOrReplace, "over too", many(17, STRING, "x" * 32_000), (400, "EntityTooLarge"), TAKEN),
            (InsertOrReplace, "not over", many(16, STRING, "\u00e9" * 32_000), TAKEN, (400, "EntityTooLarge")),
        )
    ),
    Difference(
        Group(tuple(Insert(EDGES, Entity(Key("big", f"{i}"), many(14, STRING, "x" * 32_000))) for i in range(5))),
        (413, "RequestBodyTooLarge"),
        (202, ""),
        PAYLOAD,
    ),
    *(
        Difference(CreateTable(name), NO_TABLE_NAME, (400, ""), UNNAMED)
        for name in ("ab", "t" * 64, "1abc", "a-b", "a_b", "\u00e4bc", "tables", "Tables")
    ),
    *(Difference(Insert(name, entity("r")), NO_TABLE_NAME, (400, ""), UNNAMED) for name in ("ab", "1abc", "tables")),
    *(Difference(Merge(EDGES, entity("there"), t), INVALID, (400, "InvalidOperation"), MERGING) for t in ("x", '"x"')),
    Difference(Query(EDGES, "n eq null", KEYS_ONLY), INVALID, (200, ""), LOOSE),
    Difference(Query(EDGES, f"{FIFTEEN} or n eq 15", KEYS_ONLY), INVALID, (200, ""), LOOSE),
    Difference(Query(EDGES, " ", KEYS_ONLY), (200, ""), INVALID, LOOSE),
    Difference(Query(EDGES, "", KEYS_ONLY, 1001), INVALID, (200, ""), TOP),
    Difference(Query(EDGES, "", KEYS_ONLY, -1), INVALID, (400, ""), "Azurite gives no code"),
    *(
        Difference(Query(EDGES, "", KEYS_ONLY, 1, token), INVALID, (200, ""), TOKEN)
        for token in ("x", "x|y", "1!4!AAA|")
    ),
)


@pytest.mark.parametrize("operation", SAME, ids=lambda operation: repr(operation)[:70])
def test_at_the_edges_they_answer_alike(edges: Both, operation: Operation) -> None:
    one, other = edges.do(operation)
    assert answer(one) == answer(other)
    if isinstance(operation, Insert) and one.ok:
        one, other = edges.do(Get(operation.table, operation.entity.key))
        assert answer(one) == answer(other)
        kept = {n: p for n, p in operation.entity.properties.items() if p.value is not None and n != "Timestamp"}
        assert plain(one) == plain(Outcome(200, entities=(Entity(operation.entity.key, kept),)))


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: repr(difference.operation)[:70])
def test_what_they_answer_otherwise_is_still_so(edges: Both, difference: Difference) -> None:
    one, other = edges.do(difference.operation)
    assert (one.status, one.code) == difference.engine, difference.reason
    assert (other.status, other.code) == difference.azurite, difference.reason
    assert answer(one) != answer(other), "this is no difference"


def test_the_sign_of_zero_is_kept_and_is_lost_on_azurite(edges: Both) -> None:
    """JavaScript writes -0 as 0."""
    edges.do(inserted("zero", z=Property(DOUBLE, -0.0)))
    one, other = edges.do(Get(EDGES, Key("t", "zero")))
    assert [repr(outcome.entities[0].properties["z"].value) for outcome in (one, other)] == ["-0.0", "0.0"]


def test_pages_are_alike_while_entities_come_and_go(azurite: Azurite) -> None:
    """In one partition, which no range boundary divides: a token is a place among keys, for any filter and table."""
    with engine_side(3, ("p",)) as engine:
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
        both.do(Delete("pages", Key("p", "r05")))  # the one that the token names
        both.do(Delete("pages", Key("p", "r06")))
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
    with engine_side(4, limits=PUBLISHED) as engine:
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
