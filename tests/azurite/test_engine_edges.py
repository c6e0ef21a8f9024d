"""The engine and Azurite at the limits, one operation after the other: alike, or otherwise and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from pkadvisor.table.edm import EdmType, parse_datetime_ticks
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
    Outcome,
    Property,
    Query,
    Update,
)
from tests.azurite.engines import AzuriteSide, Both, answer, engine_side, entity, plain
from tests.azurite.support import Azurite

pytestmark = pytest.mark.requires("azurite")

STRING, INT32, DOUBLE, DATETIME, BINARY = (
    EdmType.STRING,
    EdmType.INT32,
    EdmType.DOUBLE,
    EdmType.DATETIME,
    EdmType.BINARY,
)
ASTRAL = "\U0001f600"


@pytest.fixture(scope="module")
def edges(azurite: Azurite) -> Iterator[Both]:
    """Both sides with one entity in a table, for operations at the limits; each has a key of its own."""
    with engine_side(7, EDGES, ("m", "t")) as engine:
        both = Both(engine, AzuriteSide(azurite))
        one, other = both.do(CreateTable(EDGES))
        assert one.ok and other.ok
        one, other = both.do(Insert(EDGES, entity("there", s=Property(STRING, "v"))))
        assert one.ok and other.ok
        yield both


def many(count_: int, edm: EdmType = INT32, value: object = 1) -> dict[str, Property]:
    return {f"p{i}": Property(edm, value) for i in range(count_)}  # type: ignore[arg-type]


def inserted(row_key: str, **properties: Property) -> Insert:
    return Insert(EDGES, entity(row_key, **properties))


EDGES = "edges"
THERE = EntityKey("t", "there")
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
    Get(EDGES, EntityKey("t", "k" * 1025)),
    *(Get(EDGES, EntityKey("t", f"no{c}")) for c in "\\#?\t\x7f\x9f%'+&= "),
    # names, and how many of them
    *(
        inserted(f"name {name}", **{name: ONE})
        for name in ("_", "__", "class", "na\u0131ve", "e\u0301", "\u0928\u093e\u092e")
    ),
    inserted("cases", partitionkey=ONE, rowkey=ONE, timestamp=ONE, S=ONE, s=Property(STRING, "s")),
    inserted("a timestamp", Timestamp=Property(DATETIME, 638_000_000_000_000_001)),
    Insert(EDGES, Entity(EntityKey("t", "252"), many(252))),
    Insert(EDGES, Entity(EntityKey("t", "252 and a null"), many(252) | {"null": NULL})),
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
    Insert(EDGES, Entity(EntityKey("t", "below 1 MiB"), many(16, STRING, "x" * 32_000))),
    # conditions
    *(kind(EDGES, entity("there"), UNKNOWN) for kind in (Update, Merge)),
    *(kind(EDGES, entity("nobody"), tag) for kind in (Update, Merge) for tag in ("*", UNKNOWN)),
    *(Update(EDGES, entity("there"), tag) for tag in ("x", '"x"', "W/x", 'w/"x"', 'W/"a","b"', "**")),
    *(Delete(EDGES, THERE, tag) for tag in ("x", '"x"', UNKNOWN)),
    *(Delete(EDGES, EntityKey("t", "nobody"), tag) for tag in ("x", "*", UNKNOWN)),
    Update(EDGES, entity("nobody"), "x"),
    # groups
    Group(tuple(Insert(EDGES, entity(f"{i}", "hundred")) for i in range(100))),
    Group((inserted("g"), inserted("h"), InsertOrMerge(EDGES, entity("g")))),
    Group((inserted("g"), Delete(EDGES, EntityKey("t", "g")))),
    Group((inserted("g"), Delete(EDGES, EntityKey("t", "nobody")))),
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
    *(
        Difference(Delete(EDGES, EntityKey("t", f"b{c}")), RANGE, (404, "ResourceNotFound"), UNSEEN)
        for c in "\\#?\t\x7f"
    ),
    Difference(Delete(EDGES, EntityKey("t", "k" * 1025)), INVALID, (404, "ResourceNotFound"), UNSEEN),
    Difference(Get(EDGES, EntityKey("t", "a/b")), (404, "ResourceNotFound"), (500, "HTTP 500"), UNSEEN),
    Difference(InsertOrReplace(EDGES, entity("a/b")), RANGE, (500, "HTTP 500"), UNSEEN),
    Difference(Group((inserted("g"), inserted("a#b"))), RANGE, INVALID, OUT),
    Difference(Insert(EDGES, Entity(EntityKey("t", "253"), many(253))), (400, "TooManyProperties"), TAKEN, COUNT),
    Difference(inserted("n" * 256, **{"n" * 256: ONE}), (400, "PropertyNameTooLong"), TAKEN, COUNT),
    *(
        Difference(inserted(f"name {ascii(name)[1:-1].replace(chr(92), '')}", **{name: ONE}), NO_NAME, TAKEN, NAMING)
        for name in ("a-b", "1a", "", "a b", "a.b", "a$", "a:b", "\u00b2", "\ue000")
    ),
    Difference(inserted("1600", d=BELOW_1601), RANGE, TAKEN, DATES),
    Difference(inserted("0001", d=Property(DATETIME, 0)), RANGE, TAKEN, DATES),
    *(
        Difference(kind(EDGES, Entity(EntityKey("t", row_key), properties)), engine, azurite, SIZES)
        for kind, row_key, properties, engine, azurite in (
            (Insert, "over", many(17, STRING, "x" * 32_000), (400, "EntityTooLarge"), TAKEN),
            (InsertOrReplace, "over too", many(17, STRING, "x" * 32_000), (400, "EntityTooLarge"), TAKEN),
            (InsertOrReplace, "not over", many(16, STRING, "\u00e9" * 32_000), TAKEN, (400, "EntityTooLarge")),
        )
    ),
    Difference(
        Group(tuple(Insert(EDGES, Entity(EntityKey("big", f"{i}"), many(14, STRING, "x" * 32_000))) for i in range(5))),
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
    one, other = edges.do(Get(EDGES, EntityKey("t", "zero")))
    assert [repr(outcome.entities[0].properties["z"].value) for outcome in (one, other)] == ["-0.0", "0.0"]
