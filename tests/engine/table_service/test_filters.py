"""Compiled filters say what ``evaluate`` says; the key range of a filter loses no row; Azurite's known answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.compiled_filter import compile_filter, key_range
from pkadvisor.table.edm import EdmType, TypedValue
from pkadvisor.table.odata import And, Comparison, Filter, Not, Operator, Or, evaluate, format_filter
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Insert, Property, Query
from tests.engine.table_service.support import do, keys, made, pages

LETTERS = st.sampled_from(["", "a", "b", "aa", "a\uffff", "\ue000", "\U0001f600", "\ud83d", "a\U0001f600", "~"])
CONSTANTS = st.one_of(LETTERS, st.sampled_from(["\0", "a\0", "a\0b", "a\x01"]))
VALUES = st.one_of(
    st.builds(TypedValue, st.just(EdmType.STRING), LETTERS),
    st.builds(TypedValue, st.just(EdmType.INT32), st.integers(-2, 2)),
    st.builds(TypedValue, st.just(EdmType.INT64), st.integers(-2, 2)),
    st.builds(TypedValue, st.just(EdmType.DATETIME), st.integers(600_000_000_000_000_000, 600_000_000_000_000_002)),
    st.builds(TypedValue, st.just(EdmType.DOUBLE), st.sampled_from([-1.0, 0.0, -0.0, 1.5, float("nan"), float("inf")])),
    st.builds(TypedValue, st.just(EdmType.BOOLEAN), st.booleans()),
    st.builds(TypedValue, st.just(EdmType.BINARY), st.sampled_from([b"", b"a", b"\xff"])),
    st.builds(
        TypedValue, st.just(EdmType.GUID), st.sampled_from([f"{d}0000000-0000-4000-8000-000000000000" for d in "0af"])
    ),
)
KEY_COMPARISONS = st.builds(
    Comparison,
    st.sampled_from(["PartitionKey", "RowKey"]),
    st.sampled_from(Operator),
    st.builds(TypedValue, st.just(EdmType.STRING), CONSTANTS),
)
COMPARISONS = st.one_of(
    KEY_COMPARISONS,
    st.builds(
        Comparison,
        st.sampled_from(["x", "y", "PartitionKey", "RowKey", "Timestamp"]),
        st.sampled_from(Operator),
        VALUES,
    ),
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)
ENTITIES = st.builds(
    Entity,
    st.builds(EntityKey, LETTERS, LETTERS),
    st.dictionaries(st.sampled_from(["x", "y"]), VALUES.map(lambda v: Property(v.type, v.value))),
    st.integers(600_000_000_000_000_000, 600_000_000_000_000_002),
)


@given(FILTERS, ENTITIES)
def test_a_compiled_filter_is_evaluate(tree: Filter, entity: Entity) -> None:
    matches = compile_filter(tree)
    assert matches(entity.key, entity.properties, entity.timestamp_ticks) == evaluate(tree, entity.literals())


@given(st.one_of(FILTERS, st.lists(KEY_COMPARISONS, min_size=2, max_size=4).map(lambda c: And(tuple(c)))), ENTITIES)
def test_no_entity_that_matches_lies_outside_of_the_key_range(tree: Filter, entity: Entity) -> None:
    if "\ud83d" in repr(tree):  # half a character cannot be written in a request
        return
    low, high = key_range("acc", "tab", format_filter(tree))
    if evaluate(tree, entity.literals()):
        assert low <= row_keys.row_key("acc", "tab", *entity.key) < high


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", b"", b"\x01"),
        ("RowKey eq 'r'", b"", b"\x01"),
        ("PartitionKey eq 'p' or PartitionKey eq 'q'", b"", b"\x01"),
        ("PartitionKey ne 'p'", b"", b"\x01"),
        ("not (PartitionKey eq 'p')", b"", b"\x01"),
        ("PartitionKey eq 'p'", b"\0p\0", b"\0p\x01"),
        ("PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'b')", b"\0p\0", b"\0p\x01"),
        ("PartitionKey eq 'p' and x eq 5", b"\0p\0", b"\0p\x01"),
        ("PartitionKey eq 'p' and RowKey eq 'r'", b"\0p\0r", b"\0p\0r\0"),
        ("'p' eq PartitionKey and 'r' lt RowKey", b"\0p\0r\0", b"\0p\x01"),
        ("PartitionKey ge 'p' and PartitionKey le 'p' and RowKey lt 's'", b"\0p\0", b"\0p\0s"),
        ("PartitionKey ge 'p' and PartitionKey lt 'q' and RowKey lt 's'", b"\0p\0", b"\0q\0"),
        ("PartitionKey eq '' and RowKey ge ''", b"\0\0", b"\0\x01"),
        ("PartitionKey gt 'p'", b"\0p\x01", b"\x01"),
        ("PartitionKey lt 'p\0'", b"\0", b"\0p\x01"),
        ("PartitionKey ge 'p\0x'", b"\0p\x01", b"\x01"),
        ("PartitionKey eq 'p' and RowKey lt 'r\0'", b"\0p\0", b"\0p\0r\0"),
    ],
)
def test_what_bounds_the_rows_looked_at(text: str, low: bytes, high: bytes) -> None:
    """The query classes of the partitioning guide: point, row range, partition, partition range, table."""
    begin = b"acc\0tab"
    expected = begin + (low or b"\0"), begin + high
    assert key_range("acc", "tab", text) == expected


def test_contradictions_read_nothing() -> None:
    for text in (
        "PartitionKey eq 'a' and PartitionKey eq 'b'",
        "PartitionKey eq 'a' and RowKey gt 'b' and RowKey lt 'b'",
    ):
        low, high = key_range("acc", "tab", text)
        assert low >= high


def test_answers_are_those_that_azurite_is_known_to_give() -> None:
    """On the entities and filters for which the project holds Azurite to ``evaluate``, page after page."""
    pytest.importorskip("azure.data.tables")
    from tests.azurite.test_conformance import ENTITIES as KNOWN
    from tests.azurite.test_conformance import SAME

    store, ranges = made()
    assert do(store, CreateTable("conformance")).ok
    stored: dict[tuple[str, str], Entity] = {}
    for partition_key, row_key, literals in KNOWN:
        entity = Entity(EntityKey(partition_key, row_key), {n: Property(v.type, v.value) for n, v in literals.items()})
        assert do(store, Insert("conformance", entity)).ok, entity.key
        stored[partition_key, row_key] = entity
    for partition_key in ("", "keys", "values", "\uffff"):
        ranges.split_at("conformance", partition_key)
    in_order = sorted(stored, key=lambda key: row_keys.row_key("a", "t", *key))
    from pkadvisor.table.odata import parse_filter

    for text in SAME:
        tree = parse_filter(text)
        expected = [key for key in in_order if evaluate(tree, stored[key].literals())]
        assert keys(pages(store, Query("conformance", text, top=7))) == expected, text
