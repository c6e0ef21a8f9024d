"""Groups that are looked at as a whole come out as if each of their writes had been looked at by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.tables.group_checks import plain_group
from pkadvisor.engine.tables.row_keys import table_prefix
from pkadvisor.engine.tables.table_rules import TableError, checked_body
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import Entity, EntityKey, Insert, InsertOrMerge, InsertOrReplace, Property, Update, Write
from tests.engine.table_service.support import made
from tests.engine.table_service.test_rules import SOME_VALUES

PREFIX = table_prefix("acc", "Tab")
KEYS = st.sampled_from(["", "r", "s", "0" * 512, "0" * 513, "x" * 1025, "a/b", "a\\b", "a#", "a?", "\x1f", "\x7f", "é"])
NUMBERS = {"a": Property(EdmType.INT32, 1), "b": Property(EdmType.STRING, "x")}


def service() -> TableService:
    return made()[0].service


def one_by_one(writes: list[Write]) -> object:
    """What the checks of single writes say: the rows and their bytes, or the code of the first that is refused."""
    judge = service()
    try:
        judge._check_group(writes)
        return judge._rows(writes, PREFIX, True)
    except TableError as error:
        return error.code


def seen_before(writes: list[Write]) -> None:
    """Names and types are looked at in passing only where they were found good before."""
    for write in writes:
        assert not isinstance(write, Update)
        try:
            checked_body(write.entity)  # type: ignore[union-attr]
        except TableError:
            continue


@st.composite
def groups(draw: st.DrawFn) -> list[Write]:
    kinds = draw(st.sampled_from([(Insert,), (InsertOrReplace,), (InsertOrMerge,), (Insert, InsertOrMerge)]))
    names = draw(st.sampled_from([("a",), ("a", "b"), ("b", "a"), ()]))
    alike = draw(st.booleans())
    same = {name: draw(SOME_VALUES) for name in names}
    writes: list[Write] = []
    for number in range(draw(st.integers(1, 4))):
        properties = {n: Property(p.type, p.value) for n, p in same.items()}
        if not alike and names:
            properties[draw(st.sampled_from(names))] = draw(SOME_VALUES)
        key = EntityKey(draw(st.sampled_from(["p", "p", "p", "q"])), draw(st.one_of(st.just(f"{number}"), KEYS)))
        table = draw(st.sampled_from(["Tab", "Tab", "Tab", "tab"]))
        writes.append(draw(st.sampled_from(kinds))(table, Entity(key, properties)))
    return writes


@given(groups())
def test_a_group_looked_at_as_a_whole_is_what_its_writes_are_one_by_one(writes: list[Write]) -> None:
    """The same rows, the same bytes; and what would be refused is never let through."""
    seen_before(writes)
    whole = plain_group(writes, PREFIX)
    if whole is not None:
        assert whole == one_by_one(writes)


def test_a_plain_group_is_looked_at_as_a_whole() -> None:
    """The way for most groups is really taken: texts, numbers, dates, binaries, GUIDs of plain rows."""
    values = {
        "t": Property(EdmType.STRING, "abc"),
        "i": Property(EdmType.INT64, 2**40),
        "d": Property(EdmType.DATETIME, 638_000_000_000_000_000),
        "b": Property(EdmType.BINARY, b"\0\xff"),
        "g": Property(EdmType.GUID, "a455c695-df98-5678-aaaa-81d3367e5a34"),
        "x": Property(EdmType.DOUBLE, 1.5),
    }
    writes: list[Write] = [Insert("Tab", Entity(EntityKey("p", f"{i}"), dict(values))) for i in range(100)]
    checked_body(writes[0].entity)  # type: ignore[union-attr]
    whole = plain_group(writes, PREFIX)
    assert whole is not None
    assert whole == one_by_one(writes)


def test_what_is_wrong_in_one_place_of_a_group_is_seen() -> None:
    """One wrong value, type, name, key or size among a hundred: the group is not let through as a whole."""
    good: list[Write] = [Insert("Tab", Entity(EntityKey("p", f"{i}"), dict(NUMBERS))) for i in range(100)]
    checked_body(good[0].entity)  # type: ignore[union-attr]
    assert plain_group(good, PREFIX) is not None
    for wrong in (
        NUMBERS | {"a": Property(EdmType.INT32, 2**31)},
        NUMBERS | {"a": Property(EdmType.INT32, True)},
        NUMBERS | {"a": Property(EdmType.INT64, 1)},
        NUMBERS | {"b": Property(EdmType.STRING, "é")},
        NUMBERS | {"b": Property(EdmType.STRING, "x" * 32_769)},
        NUMBERS | {"b": Property(EdmType.STRING, None)},
        NUMBERS | {"c": Property(EdmType.INT32, 1)},
        {"a": NUMBERS["a"]},
        dict(reversed(NUMBERS.items())),
    ):
        for place in (0, 57, 99):
            writes = list(good)
            writes[place] = Insert("Tab", Entity(EntityKey("p", f"{place}"), wrong))  # type: ignore[arg-type]
            assert plain_group(writes, PREFIX) is None, wrong
    for key in (
        EntityKey("q", "3"),
        EntityKey("p", "57"),
        EntityKey("p", "\0"),
        EntityKey("p", "a/"),
        EntityKey("p", "x" * 1025),
        EntityKey("p", 3),
    ):  # type: ignore[arg-type]
        writes = list(good)
        writes[3] = Insert("Tab", Entity(key, dict(NUMBERS)))
        assert plain_group(writes, PREFIX) is None, key
    writes = list(good)
    writes[3] = Update("Tab", good[3].entity)  # type: ignore[union-attr]
    assert plain_group(writes, PREFIX) is None
