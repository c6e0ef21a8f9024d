"""What the service counts, by the published formula and by hand; the planner and the service count alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.limits import default_limits
from pkadvisor.table.accounting import (
    ANSWER_BYTES,
    counted_by_bytes,
    entity_bytes,
    group_most,
    page_bytes,
    property_bytes,
    utf16_units,
)
from pkadvisor.table.edm import STORED_BYTES, EdmType
from pkadvisor.table.store import Entity, EntityKey, Property

LIMITS = default_limits()


def test_an_entity_by_hand() -> None:
    """4 + 2 × (2 + 3), then per property 8 + 2 × its name + its value."""
    entity = Entity(
        EntityKey("pk", "row"),
        {
            "Name": Property(EdmType.STRING, "day"),  # 8 + 8 + 4 + 6
            "Age": Property(EdmType.INT32, 7),  # 8 + 6 + 4
            "Big": Property(EdmType.INT64, 7),  # 8 + 6 + 8
            "Ok": Property(EdmType.BOOLEAN, True),  # 8 + 4 + 1
            "Raw": Property(EdmType.BINARY, b"12345"),  # 8 + 6 + 4 + 5
            "Id": Property(EdmType.GUID, "00000000-0000-0000-0000-000000000000"),  # 8 + 4 + 16, whatever its text
        },
    )
    expected = 14 + 26 + 18 + 22 + 13 + 23 + 28 + 0
    # A Guid is held as text and has no length of its own.
    assert entity_bytes(entity) == expected
    assert page_bytes([entity, entity]) == 2 * (expected + ANSWER_BYTES)
    assert entity_bytes(Entity(EntityKey("", ""), {})) == 4


@given(st.text())
def test_lengths_are_utf16_code_units(text: str) -> None:
    assert utf16_units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize("edm", list(EdmType))
def test_only_texts_and_bytes_have_a_length(edm: EdmType) -> None:
    grows = {EdmType.STRING: 2, EdmType.BINARY: 1}.get(edm, 0)
    assert property_bytes(3, edm, 10) == 8 + 6 + STORED_BYTES[edm] + 10 * grows
    assert property_bytes(3, edm, 0.5) == 8 + 6 + STORED_BYTES[edm] + 0.5 * grows


def test_what_counts_toward_a_target() -> None:
    assert [counted_by_bytes(size, 1024) for size in (0, 1, 1024, 1024.5, 2049)] == [1, 1, 1, 2, 3]
    assert group_most(100.0, 1, LIMITS) == 100
    assert group_most(1_000_000.0, 1, LIMITS) == 4
    assert group_most(9e9, 2, LIMITS) == 1
