"""Row keys: their order is the service's, they come back as they went in, and partitions stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.tables import row_keys
from pkadvisor.table.edm import utf16_key

TEXT = st.text(
    st.one_of(
        st.sampled_from("ab1\x01~\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"),
        st.characters(exclude_characters="\0", exclude_categories=()),
    ),
    max_size=4,
)


@given(TEXT, TEXT, TEXT, TEXT)
def test_order_is_that_of_utf16_code_units_t7(p1: str, r1: str, p2: str, r2: str) -> None:
    """T7: ordinal order by PartitionKey, then RowKey."""
    as_keys = row_keys.row_key("a", "t", p1, r1) < row_keys.row_key("a", "t", p2, r2)
    assert as_keys == ((utf16_key(p1), utf16_key(r1)) < (utf16_key(p2), utf16_key(r2)))


def test_digits_are_texts_and_empty_keys_come_first_t7() -> None:
    """T7: "111" < "2"; empty keys are keys."""
    key = row_keys.row_key
    assert key("a", "t", "111", "") < key("a", "t", "2", "")
    assert key("a", "t", "", "") < key("a", "t", "", "a") < key("a", "t", "\x01", "")


@given(TEXT, TEXT)
def test_a_key_is_decoded_to_what_was_encoded(partition_key: str, row_key: str) -> None:
    found = row_keys.decode_key(row_keys.row_key("acc", "Tab", partition_key, row_key))
    joined = [t.encode("utf-16-le", "surrogatepass") for t in (partition_key, row_key)]
    assert found[:2] == ("acc", "tab")
    assert [t.encode("utf-16-le", "surrogatepass") for t in found[2:]] == joined


@given(TEXT, TEXT, TEXT, TEXT)
def test_a_boundary_never_divides_a_partition_p5(p1: str, r1: str, p2: str, r2: str) -> None:
    """P5: keys of one partition lie on one side of any boundary."""
    boundary = row_keys.partition_boundary(row_keys.row_key("a", "t", p1, r1))
    one, other = row_keys.row_key("a", "t", p2, r1), row_keys.row_key("a", "t", p2, r2)
    assert (one < boundary) == (other < boundary)
    assert boundary <= row_keys.row_key("a", "t", p1, r2)


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_prefix_end_is_above_all_that_begins_with_the_prefix(prefix: bytes, rest: bytes) -> None:
    end = row_keys.prefix_end(prefix)
    if end is None:
        assert not prefix.strip(b"\xff")
    else:
        assert prefix + rest < end
        assert not end.startswith(prefix) or not prefix


def test_a_part_with_the_separator_is_refused() -> None:
    with pytest.raises(ValueError, match="0000"):
        row_keys.row_key("a", "t", "p\0", "r")
    with pytest.raises(ValueError, match=r"subsection|found"):
        row_keys.partition_boundary(b"a\0t\0")


def test_table_names_compare_without_case() -> None:
    assert row_keys.table_prefix("a", "Orders") == row_keys.table_prefix("a", "ORDERS")
    assert row_keys.schema_key("a", "Orders").startswith(row_keys.table_prefix("a", row_keys.SCHEMA_TABLE))
