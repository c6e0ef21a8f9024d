"""Limits and their error codes, one after the other."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.tables.entity_codec import Body
from pkadvisor.engine.tables.table_rules import TableError, checked_body
from pkadvisor.table import accounting
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
    ListTables,
    Merge,
    Operation,
    Property,
    Query,
    Update,
)
from tests.engine.table_service.support import do, entity, made

TEXT, INT32, INT64 = EdmType.STRING, EdmType.INT32, EdmType.INT64


def big(name: str = "x", bytes_: int = 64 << 10) -> dict[str, Property]:
    return {name: Property(TEXT, "x" * (bytes_ // 2))}


LONG = {f"p{i}": Property(EdmType.BINARY, bytes(64 << 10)) for i in range(17)}
NULL = {"null": Property(TEXT, None)}  # type: ignore[arg-type]
GOOD: tuple[Operation, ...] = (
    Insert("Tab", entity("", "")),
    Insert("tab", entity("o'clock", "100% + & = é \U0001f600 \uffff")),
    Insert("TAB", entity("k" * 1024, "r")),
    Insert("Tab", entity("p", "\U0001f600" * 512)),
    Insert("Tab", entity("p", "d", d=Property(EdmType.DATETIME, parse_datetime_ticks("1601-01-01")))),
    Insert("Tab", Entity(EntityKey("p", "64k"), big() | {"b": Property(EdmType.BINARY, bytes(64 << 10))})),
    Insert("Tab", Entity(EntityKey("p", "many"), {f"p{i}": Property(INT32, i) for i in range(252)})),
    Insert("Tab", entity("p", "name", **{"n" * 255: 1, "_a": 1, "é1": 2, "Δ": 3})),
    Insert("Tab", Entity(EntityKey("p", "null"), {"n": Property(TEXT, None), "m": Property(INT32, 1)})),  # type: ignore[arg-type]
    Insert("Tab", Entity(EntityKey("p", "many and a null"), {f"p{i}": Property(INT32, i) for i in range(252)} | NULL)),
    *(Insert("Tab", entity("p", name, **{name: 1})) for name in ("_", "नाम", "e\u0301", "Ⅷ", "a\u200d", "\U00020000")),
    Insert("Tab", entity("p", "surrogates", s="a\ud800b", t="\udc00")),
    Insert("Tab", entity("p", "n", n=float("nan"), i=float("inf"), l=Property(INT64, -(2**63)))),
    Query("Tab", top=0),
    ListTables(top=0),
    Query("Tab", " or ".join(["a eq 1"] * 15), tuple(f"p{i}" for i in range(255)), 1000),
    Query("Tab", "RowKey gt '\0' and PartitionKey ge 'a\0b'"),
    ListTables(top=1),
    Group(tuple(Insert("Tab", entity("group", f"{i:03}")) for i in range(100))),
)
NO_NAMES = ("a-b", "1a", "", "a b", "a\n", "²", "x²", "\ue000", "\u0301e", "a.b")
MALFORMED = ("x", '"x"', "W/x", 'w/"x"', 'W/"x', 'W/"a","b"', "**", " *", 'W/"x"\n')
REFUSED: tuple[tuple[Operation, int, str], ...] = (
    *(
        (CreateTable(name), 400, "InvalidResourceName")
        for name in ("ab", "1abc", "a-b-c", "a" * 64, "tables", "Tables", "", "abc\n")
    ),
    (CreateTable("TAB"), 409, "TableAlreadyExists"),
    (DeleteTable("missing"), 404, "TableNotFound"),
    (DeleteTable("$x"), 400, "InvalidResourceName"),
    *((Insert("Tab", entity(f"a{c}", "r")), 400, "OutOfRangeInput") for c in "/\\#?\0\t\n\r\x1f\x7f\x9f"),
    (Insert("Tab", entity("p", "r/r")), 400, "OutOfRangeInput"),
    (Insert("Tab", entity("k" * 1025)), 400, "InvalidInput"),
    (Insert("Tab", entity("p", "\U0001f600" * 513)), 400, "InvalidInput"),
    (Insert("Tab", Entity(EntityKey(None, "r"), {})), 400, "PropertiesNeedValue"),  # type: ignore[arg-type]
    (Insert("Tab", Entity(EntityKey("p", None), {})), 400, "PropertiesNeedValue"),  # type: ignore[arg-type]
    (Insert("Tab", Entity(EntityKey("p", 5), {})), 400, "InvalidInput"),  # type: ignore[arg-type]
    (Insert("Tab", Entity(EntityKey("p", "r"), big(bytes_=(64 << 10) + 2))), 400, "PropertyValueTooLarge"),
    (Insert("Tab", entity(s="\U0001f600" * 16_385)), 400, "PropertyValueTooLarge"),
    (Insert("Tab", entity(b=bytes((64 << 10) + 1))), 400, "PropertyValueTooLarge"),
    (Insert("Tab", Entity(EntityKey("p", "r"), LONG)), 400, "EntityTooLarge"),
    (
        Insert("Tab", Entity(EntityKey("p", "r"), {f"p{i}": Property(INT32, i) for i in range(253)})),
        400,
        "TooManyProperties",
    ),
    (Insert("Tab", entity(**{"n" * 256: 1})), 400, "PropertyNameTooLong"),
    *((Insert("Tab", entity(**{name: 1})), 400, "PropertyNameInvalid") for name in NO_NAMES),
    (Insert("Tab", entity(PartitionKey="x")), 400, "DuplicatePropertiesSpecified"),
    (Insert("Tab", entity(RowKey="r")), 400, "DuplicatePropertiesSpecified"),
    *(
        (Insert("Tab", entity(x=Property(edm, value))), 400, "InvalidInput")  # type: ignore[arg-type]
        for edm, value in (
            (INT32, 2**31), (INT32, True), (INT32, "5"), (INT64, 2**63), (EdmType.DOUBLE, 5), (EdmType.BOOLEAN, 1),
            (EdmType.GUID, "x"), (EdmType.GUID, "A455C695-DF98-5678-AAAA-81D3367E5A34"), (EdmType.BINARY, "x"),
            (TEXT, b"x"), (TEXT, 5), (EdmType.DATETIME, "2020-01-01"),
        )
    ),
    *((Insert("Tab", entity(x=Property(EdmType.DATETIME, t))), 400, "OutOfRangeInput") for t in (0, -1, 2**62)),
    (Insert("none", entity()), 404, "TableNotFound"),
    (Get("none", EntityKey("p", "r")), 404, "TableNotFound"),
    (Query("none"), 404, "TableNotFound"),
    (Get("Tab", EntityKey("p", "none")), 404, "ResourceNotFound"),
    (Get("Tab", EntityKey("p", "no/ne")), 404, "ResourceNotFound"),
    (Update("Tab", entity("p", "none")), 404, "ResourceNotFound"),
    (Merge("Tab", entity("p", "none"), 'W/"x"'), 404, "ResourceNotFound"),
    (Delete("Tab", EntityKey("p", "none")), 404, "ResourceNotFound"),
    (Insert("Tab", entity("old", "1")), 409, "EntityAlreadyExists"),
    (Update("Tab", entity("old", "1"), 'W/"x"'), 412, "UpdateConditionNotSatisfied"),
    (Update("none", entity("old", "1"), 'W/"x"'), 404, "TableNotFound"),
    *((Merge("Tab", entity("old", "1"), tag), 400, "InvalidInput") for tag in MALFORMED),
    (Update("Tab", entity("p", "none"), '"x"'), 400, "InvalidInput"),
    (Delete("Tab", EntityKey("old", "1"), "x"), 400, "InvalidInput"),
    (Delete("Tab", EntityKey("old", "1"), 'W/"x"'), 412, "UpdateConditionNotSatisfied"),
    *((Update("Tab", entity("old", "1"), tag), 400, "MissingRequiredHeader") for tag in ("", None)),  # type: ignore[arg-type]
    (Delete("Tab", EntityKey("old", "1"), ""), 400, "MissingRequiredHeader"),
    (Merge("Tab", entity("old", "1", **{f"q{i}": i for i in range(252)})), 400, "TooManyProperties"),
    (
        InsertOrMerge("Tab", Entity(EntityKey("old", "1"), {f"q{i}": Property(TEXT, "x" * 32_000) for i in range(16)})),
        400,
        "EntityTooLarge",
    ),
    *((Query("Tab", text), 400, "InvalidInput") for text in ("a eq", "a like 'b'", "a eq null", "(" * 5, "a eq b")),
    (Query("Tab", " or ".join(["a eq 1"] * 16)), 400, "InvalidInput"),
    *((Query("Tab", top=top), 400, "InvalidInput") for top in (-1, 1001, True, 1.0)),
    *((Query("Tab", continuation=c), 400, "InvalidInput") for c in ("x", "1!4!AAA", "1!4!AA~é", "2!4!AAAA", "1!3!AAA")),
    (ListTables("x"), 400, "InvalidInput"),
    (ListTables(top=1001), 400, "InvalidInput"),
    (Query("Tab", select=tuple(f"p{i}" for i in range(256))), 400, "InvalidInput"),
    (Group(()), 400, "InvalidInput"),
    (Group(tuple(Insert("Tab", entity("g", str(i))) for i in range(101))), 400, "InvalidInput"),
)  # fmt: skip


@pytest.mark.parametrize("operation", GOOD, ids=lambda o: repr(o)[:60])
def test_what_is_just_within_the_limits_is_carried_out(operation: Operation) -> None:
    store, _ = made()
    assert do(store, CreateTable("Tab")).ok
    outcome = do(store, operation)
    assert outcome.ok, outcome
    if isinstance(operation, Insert):
        wanted = {name: p for name, p in operation.entity.properties.items() if p.value is not None}
        (found,) = do(store, Get("Tab", operation.entity.key)).entities
        assert found.key == operation.entity.key
        assert {n: (p.type, repr(p.value)) for n, p in found.properties.items()} == {
            n: (p.type, repr(p.value)) for n, p in wanted.items()
        }
        assert (found.etag,) == outcome.etags


def test_a_page_of_no_entities_is_empty_and_the_last() -> None:
    """``$top=0``: a client that follows tokens must come to an end."""
    store, _ = made()
    do(store, CreateTable("Tab"))
    do(store, Insert("Tab", entity()))
    for operation in (Query("Tab", top=0), ListTables(top=0)):
        outcome = do(store, operation)
        assert (outcome.status, outcome.entities, outcome.tables, outcome.continuation) == (200, (), (), "")


def test_a_timestamp_that_is_given_is_ignored() -> None:
    """Data model reference: the value will be ignored, whatever its type; it counts nowhere."""
    store, ranges = made()
    do(store, CreateTable("Tab"))
    given = {f"p{i}": Property(INT32, i) for i in range(252)} | {"Timestamp": Property(EdmType.DATETIME, 5)}
    for write in (Insert, Merge, InsertOrReplace):
        assert do(store, write("Tab", Entity(EntityKey("p", "r"), given))).ok
        (found,) = do(store, Get("Tab", EntityKey("p", "r"))).entities
        assert len(found.properties) == 252 and found.timestamp_ticks >= ranges.ticks


@pytest.mark.parametrize(("operation", "status", "code"), REFUSED, ids=lambda o: repr(o)[:60])
def test_what_is_beyond_a_limit_has_its_code_and_leaves_no_trace(operation: Operation, status: int, code: str) -> None:
    store, ranges = made()
    do(store, CreateTable("Tab"))
    do(store, Insert("Tab", Entity(EntityKey("old", "1"), big(bytes_=40_000) | {"y": Property(INT32, 1)})))
    before = dict(ranges.ranges[0].rows)
    outcome = do(store, operation)
    assert (outcome.status, outcome.code) == (status, code)
    assert dict(ranges.ranges[0].rows) == before


PARTITIONS = "CommandsInBatchActOnDifferentPartitions"
CONDITION = "UpdateConditionNotSatisfied"
TWICE = "InvalidDuplicateRow"
MANY = dict(list(LONG.items())[:15])
GROUPS: tuple[tuple[tuple[Operation, ...], int, str, int | None], ...] = (
    ((Insert("Tab", entity("p", "1")), Insert("Tab", entity("q", "2"))), 400, PARTITIONS, 1),
    ((Insert("Tab", entity("p", "1")), Insert("Other", entity("p", "2"))), 400, "InvalidInput", 1),
    ((Insert("Tab", entity("p", "1")), InsertOrReplace("tab", entity("p", "1"))), 400, "InvalidDuplicateRow", 1),
    ((Insert("Tab", entity("p", "1")), Insert("Tab", entity("old", "x/"))), 400, PARTITIONS, 1),
    ((Insert("Tab", entity("p", "1")), Insert("Tab", entity("p", "x/"))), 400, "OutOfRangeInput", 1),
    ((Insert("Tab", entity("old", "2")), Insert("Tab", entity("old", "1"))), 409, "EntityAlreadyExists", 1),
    ((Insert("Tab", entity("old", "2")), Delete("Tab", EntityKey("old", "3"))), 404, "ResourceNotFound", 1),
    ((Insert("Tab", entity("p", "\U0001f600")), Insert("Tab", entity("p", "\ud83d\ude00"))), 400, TWICE, 1),
    ((Insert("none", entity("p", "1")), Insert("none", entity("p", "2"))), 404, "TableNotFound", 0),
    ((Update("Tab", entity("old", "1"), "x"), Insert("Tab", entity("old", "2"))), 400, "InvalidInput", 0),
    ((Insert("Tab", entity("old", "2")), Delete("Tab", EntityKey("old", "1"), "")), 400, "MissingRequiredHeader", 1),
    ((Update("Tab", entity("old", "1"), 'W/"x"'), Insert("Tab", entity("old", "2"))), 412, CONDITION, 0),
    ((Insert("Tab", entity("old", "1")),), 409, "EntityAlreadyExists", 0),
    (tuple(Insert("Tab", Entity(EntityKey("p", str(i)), MANY)) for i in range(5)), 413, "RequestBodyTooLarge", None),
)  # fmt: skip


@pytest.mark.parametrize(("writes", "status", "code", "index"), GROUPS)
def test_a_group_that_is_refused_names_the_write_and_leaves_no_trace_t2(
    writes: tuple[Operation, ...], status: int, code: str, index: int | None
) -> None:
    """T2: all or none."""
    store, ranges = made()
    do(store, CreateTable("Tab"))
    do(store, Insert("Tab", entity("old", "1")))
    before = dict(ranges.ranges[0].rows)
    outcome = do(store, Group(writes))  # type: ignore[arg-type]
    assert (outcome.status, outcome.code, outcome.failed_index) == (status, code, index)
    assert index is None or outcome.message.startswith(f"{index}:")
    assert dict(ranges.ranges[0].rows) == before


SOME_VALUES = st.sampled_from(
    [
        Property(TEXT, ""), Property(TEXT, "abc"), Property(TEXT, "é\U0001f600"), Property(TEXT, "x" * 32_768),
        Property(TEXT, "x" * 32_769), Property(TEXT, b"x"), Property(TEXT, None), Property(TEXT, "\ud800"),  # type: ignore[arg-type]
        Property(INT32, 5), Property(INT32, 2**31), Property(INT32, True),
        Property(INT64, 2**31), Property(INT64, 2**63),
        Property(EdmType.DOUBLE, 1.5), Property(EdmType.DOUBLE, 1), Property(EdmType.BOOLEAN, False),
        Property(EdmType.DATETIME, 638_000_000_000_000_000), Property(EdmType.DATETIME, 5),
        Property(EdmType.BINARY, b"\0"), Property(EdmType.BINARY, bytes(65_537)),
        Property(EdmType.BINARY, bytes(65_536)),
        Property(EdmType.GUID, "a455c695-df98-5678-aaaa-81d3367e5a34"), Property(EdmType.GUID, "A" * 36),
    ]
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "ä"]), SOME_VALUES, max_size=3), min_size=2, max_size=6))
def test_what_was_seen_before_is_judged_as_if_it_came_first(rows: list[dict[str, Property]]) -> None:
    """Properties with known names and types are checked in fewer passes: the same codes, sizes and bytes."""
    for properties in rows:
        for given_as in (properties, MappingProxyType(properties)):  # only a dict is compared with what came before
            first = judged(Entity(EntityKey("p", "ä"), given_as))
            assert first == judged(Entity(EntityKey("p", "ä"), MappingProxyType(properties)))
            if isinstance(first, Body):
                kept = {name: p for name, p in properties.items() if p.value is not None}
                assert first.size_bytes == accounting.entity_bytes(Entity(EntityKey("p", "ä"), kept))


def judged(entity: Entity) -> Body | str:
    try:
        return checked_body(entity)
    except TableError as error:
        return error.code


def test_the_timestamp_of_an_entity_rises_whatever_clocks_do_t4() -> None:
    """T4: every change gives a new tag, and a later Timestamp, also on a server whose clock is behind."""
    store, ranges = made()
    do(store, CreateTable("Tab"))
    do(store, Insert("Tab", entity()))
    ticks, tags = [], []
    for step in (0, 5, -100, -100, 1000):
        ranges.ticks += step
        do(store, Update("Tab", entity()))
        (found,) = do(store, Get("Tab", EntityKey("p", "r"))).entities
        ticks.append(found.timestamp_ticks)
        tags.append(found.etag)
    assert ticks == sorted(set(ticks)) and len(set(tags)) == len(tags)


@pytest.mark.parametrize("wrong", [True, 2**31, 1.0, "5", b"5"])
def test_a_wrong_value_after_a_right_one_of_the_same_name_is_refused(wrong: object) -> None:
    assert isinstance(judged(entity(planned=5)), Body)
    assert isinstance(judged(entity(planned=6)), Body)
    assert judged(entity(planned=Property(INT32, wrong))) == "InvalidInput"  # type: ignore[arg-type]
