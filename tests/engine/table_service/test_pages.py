"""Pages and tokens: what ends a page, what a token promises (invariants T3, T5, T6)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.tables.continuation import encode_token
from pkadvisor.engine.tables.table_rules import TableLimits
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import CreateTable, Delete, Entity, EntityKey, Insert, ListTables, Property, Query, Update
from tests.engine.table_service.support import Ranges, do, entity, keys, made, pages
from tests.tiers import examples


def filled(count: int, partitions: int = 1, size: int = 0, limits: TableLimits | None = None):  # type: ignore[no-untyped-def]
    store, ranges = made(limits=limits or TableLimits())
    do(store, CreateTable("tab"))
    text = Property(EdmType.STRING, "x" * (size // 2))
    for i in range(count):
        properties = {"n": Property(EdmType.INT32, i)} | ({"text": text} if size else {})
        assert do(store, Insert("tab", Entity(EntityKey(f"p{i % partitions}", f"{i:05}"), properties))).ok
    return store, ranges


@pytest.mark.parametrize(("count", "expected"), [(0, [0]), (999, [999]), (1000, [1000]), (1001, [1000, 1])])
def test_a_page_holds_a_thousand_entities_t6(count: int, expected: list[int]) -> None:
    """T6: a token only where more follows."""
    store, _ = filled(count)
    assert [len(page.entities) for page in pages(store, Query("tab"))] == expected


def test_top_is_of_a_page_and_not_of_the_result_t6() -> None:
    store, _ = filled(10)
    assert [len(page.entities) for page in pages(store, Query("tab", top=4))] == [4, 4, 2]
    assert [len(page.entities) for page in pages(store, Query("tab", top=5))] == [5, 5]


def test_a_page_weighs_at_most_four_mebibytes_t6() -> None:
    """T6; one entity is always returned, so that the pages go on."""
    store, _ = filled(150, size=60_000)
    found = pages(store, Query("tab"))
    assert sum(len(page.entities) for page in found) == 150
    assert all(page.returned_bytes <= 4 << 20 for page in found)
    assert found[0].returned_bytes > (4 << 20) - 61_000
    small = filled(3, size=60_000, limits=TableLimits(page_bytes=100))[0]
    assert [len(page.entities) for page in pages(small, Query("tab"))] == [1, 1, 1]


def test_projection_makes_pages_lighter_and_reads_as_much_t6() -> None:
    store, _ = filled(150, size=60_000)
    (page,) = pages(store, Query("tab", select=("n", "missing")))
    assert page.examined == 150
    assert {tuple(e.properties) for e in page.entities} == {("n",)}
    assert page.returned_bytes == 150 * (4 + 2 * 7 + 8 + 2 + 4)


def test_a_page_ends_after_five_seconds_and_may_be_empty_t6() -> None:
    """T6: 5 s of the server's time; an empty page with a token."""
    store, ranges = filled(100)
    ranges.step_ns = 2_000_000_000
    found = pages(store, Query("tab", "n eq 99"))
    assert len(found) > 3
    assert [len(page.entities) for page in found] == [0] * (len(found) - 1) + [1]
    assert sum(page.examined for page in found) == 100


def test_a_page_ends_where_so_many_were_read_that_time_is_over() -> None:
    store, _ = filled(100, limits=TableLimits(page_examined=30))
    found = pages(store, Query("tab", "n ge 90"))
    assert [page.examined for page in found] == [30, 30, 30, 10]
    assert [len(page.entities) for page in found] == [0, 0, 0, 10]


def test_a_page_ends_where_a_range_ends_and_may_be_empty_t6() -> None:
    """T6: cut at server boundaries, also of empty ranges; a query within one partition never crosses one."""
    store, ranges = filled(30, partitions=3)
    for partition_key in ("p1", "p11", "p12", "p2", "q"):
        ranges.split_at("tab", partition_key)
    found = pages(store, Query("tab"))
    assert [len(page.entities) for page in found] == [10, 10, 0, 0, 10, 0]
    assert [bool(page.continuation) for page in found] == [True] * 5 + [False]
    assert len(pages(store, Query("tab", "PartitionKey eq 'p1'"))) == 1
    assert len(pages(store, Query("tab", "PartitionKey ge 'p1' and PartitionKey lt 'p2'"))) == 3


def test_a_point_query_never_has_a_token() -> None:
    """Performing queries in parallel: only both keys by equality are sure to be answered at once."""
    store, ranges = filled(1000)
    ranges.split_at("tab", "p0")
    for row_key in ("00000", "00500", "none"):
        outcome = do(store, Query("tab", f"PartitionKey eq 'p0' and RowKey eq '{row_key}'", top=1))
        assert outcome.continuation == ""
        assert outcome.examined == (row_key != "none")


def test_what_is_inserted_before_the_token_is_missed_and_what_lies_behind_is_seen_t5() -> None:
    """T5: a token is a place among the keys, not the number of what was returned."""
    store, _ = filled(10)
    first = do(store, Query("tab", top=5))
    assert keys([first])[-1] == ("p0", "00004")
    do(store, Insert("tab", entity("p0", "00004a")))  # between the last one returned and the token
    do(store, Insert("tab", entity("p0", "00005a")))
    do(store, Insert("tab", entity("p0", "00000a")))
    rest = pages(store, Query("tab", continuation=first.continuation))
    assert [row_key for _, row_key in keys(rest)] == ["00005", "00005a", "00006", "00007", "00008", "00009"]


def test_a_token_outlives_the_entity_and_the_range_that_it_names_t5() -> None:
    """T5: deletion, split, merge."""
    store, ranges = filled(10)
    token = do(store, Query("tab", top=5)).continuation
    do(store, Delete("tab", EntityKey("p0", "00005")))
    ranges.split_at("tab", "p0")
    assert keys(pages(store, Query("tab", continuation=token)))[0][1] == "00006"
    ranges.merge(0)
    again = keys(pages(store, Query("tab", continuation=token)))
    assert [row_key for _, row_key in again] == ["00006", "00007", "00008", "00009"]


@settings(max_examples=examples(60))
@given(
    st.lists(st.sampled_from([bytes((b,)) for b in b"\0\1\7p0123\x7f\xed\xff"]), max_size=9).map(b"".join),
    st.sampled_from(["", "PartitionKey eq 'p1'", "PartitionKey gt 'p0'", "PartitionKey eq 'p1' and RowKey eq '00004'"]),
    st.sampled_from([None, 1, 5]),
)
def test_whatever_a_token_says_the_pages_go_on_from_there_t5(place: bytes, text: str, top: int | None) -> None:
    """T5: a place that is no key, in no partition, of another table; across ranges, with any filter."""
    store, ranges = filled(12, partitions=3)
    for partition_key in ("p1", "p10", "p2"):
        ranges.split_at("tab", partition_key)
    token = encode_token(b"", place)
    wanted = [key for key in keys(pages(store, Query("tab", text))) if row_keys.row_key("", "", *key)[2:] >= place]
    assert keys(pages(store, Query("tab", text, top=top, continuation=token))) == wanted
    assert do(store, ListTables(continuation=token)).ok


def test_a_token_never_widens_what_a_filter_bounds() -> None:
    store, _ = filled(30, partitions=3)
    token = do(store, Query("tab", top=1)).continuation
    (page,) = pages(store, Query("tab", "PartitionKey eq 'p1'", continuation=token))
    assert (len(page.entities), page.examined) == (10, 10)
    last = do(store, Query("tab", "PartitionKey eq 'p2'", top=9)).continuation
    assert pages(store, Query("tab", "PartitionKey eq 'p1'", continuation=last))[0].entities == ()


def test_each_page_is_a_snapshot_of_its_own_t3() -> None:
    """T3: a change between pages is seen by the later page, and by no earlier one."""
    store, _ = filled(4)
    first = do(store, Query("tab", top=2))
    for i in range(4):
        do(store, Update("tab", entity("p0", f"{i:05}", n=100 + i)))
    (second,) = pages(store, Query("tab", continuation=first.continuation))
    assert [e.properties["n"].value for e in first.entities + second.entities] == [0, 1, 102, 103]


def test_tables_come_in_pages_in_order() -> None:
    store, ranges = made()
    names = ["Zebra", "apple", "Banana", "cherry", "mango"]
    for name in names:
        assert do(store, CreateTable(name)).ok
    ranges.split(b"acc\0tables\0c\0")
    found, token = [], ""
    for _ in range(10):
        page = do(store, ListTables(token, top=2))
        found.append(page.tables)
        token = page.continuation
        if not token:
            break
    assert found == [("apple", "Banana"), ("cherry", "mango"), ("Zebra",)] or found == [
        ("apple", "Banana"),
        (),
        ("cherry", "mango"),
        ("Zebra",),
    ]


def test_a_scan_of_another_table_or_account_finds_nothing_of_this_one() -> None:
    ranges = Ranges()
    store, _ = made(ranges)
    for name in ("tab", "tab0", "taba"):
        do(store, CreateTable(name))
        do(store, Insert(name, entity(name)))
    assert keys(pages(store, Query("tab"))) == [("tab", "r")]
    assert keys(pages(store, Query("tab0"))) == [("tab0", "r")]
