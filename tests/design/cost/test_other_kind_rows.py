"""Rows of the other kinds of a table are counted where the requests of one kind read them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from pkadvisor.design.cost.class_cost import best_read
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.rows.other_kinds import RowsOfKind
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, frame_of, population_of, query

TYPES = {"city": EdmType.STRING, "id": EdmType.INT32}


def read(asked: str | None, scheme: KeyScheme, theirs: str | None, *, cities: int = 2) -> float:
    return read_of(query("asked", asked), scheme, theirs, cities).entities


def read_of(asked: QueryClass, scheme: KeyScheme, theirs: str | None, cities: int = 2) -> Read:
    """What a request reads of ten entities in two cities, and of twenty entities of another kind in so many cities, of
    which each stands for two; ``theirs`` is their PartitionKey."""
    rows = population_of({"city": [f"c{n % 2}" for n in range(10)], "id": list(range(10))}, TYPES)
    other = frame_of({"city": [f"c{n % cities}" for n in range(20)], "id": list(range(20))}, TYPES)
    key = None if theirs is None else parse_key(theirs, "{id}")
    bench = bench_of(rows, asked)
    bench = replace(bench, other_kinds=(RowsOfKind("Others", key, other, TYPES, 2.0),))
    (demand,) = bench.demands
    return best_read(demand, scheme, bench)


def scheme(partition: str, *beside: str) -> KeyScheme:
    rows = tuple(IndexRow(parse_key(each, "{id}"), "pointer") for each in beside)
    return KeyScheme(parse_key(partition, "{id}"), rows)


@pytest.mark.parametrize(
    ("partition", "asked", "own", "others"),
    [
        ("all", None, 10, 40),  # a constant text has no column to be as long as the data
        ("{city}", "city eq '{city}'", 5, 20),
        ("{city}", "city eq 'c1'", 5, 20),
        ("{city}", "city eq 'c3'", 0, 10),  # no entity of the kind is there
        ("x_{lower(city)}", "city eq 'c3'", 0, 10),
    ],
)
def test_rows_of_other_kinds_in_one_partition(partition: str, asked: str | None, own: int, others: int) -> None:
    cities = 4 if "c3" in str(asked) else 2
    assert read(asked, scheme(partition), partition, cities=cities) == pytest.approx(own + others)


@pytest.mark.parametrize(
    ("partition", "theirs", "others"),
    [
        ("{id}", None, 40),  # they lie somewhere
        ("ID:{id}", None, 0),
        ("ID:{id}", "{city}", 0),
        ("ID:{id}", "ID:{id}", 40),
        ("{id}", "{city}", 40),
    ],
)
def test_rows_of_other_kinds_in_a_scan_of_the_table(partition: str, theirs: str | None, others: int) -> None:
    assert read("city ne '{city}'", scheme(partition), theirs) == pytest.approx(10 + others)


@pytest.mark.parametrize(("theirs", "others"), [("{city}", 0), ("{id}", 40), ("A:{city}", 40), ("a:{city}", 0)])
def test_a_scan_that_ends_before_a_label_reads_what_lies_before_it(theirs: str, others: int) -> None:
    found = read("city ne '{city}'", scheme("{id}", "AT:{city}_{id}"), theirs)
    assert found == pytest.approx(10 + others)


def test_requests_that_top_ends_count_the_rows_of_their_own_kind_alone() -> None:
    for text in (None, "city eq '{city}'"):
        found = read_of(query("first", text, top=2), scheme("{id}"), "{id}")
        alone = read_of(query("first", text, top=2), scheme("ID:{id}"), "{id}")
        assert (found.entities, found.requests) == (alone.entities, alone.requests)


def test_going_back_by_periods_reads_the_index_rows_of_each_period() -> None:
    """An index row of each entity lies in its period: twice the rows are read, in the same periods."""
    columns = {
        "city": [f"c{n % 2}" for n in range(12)],
        "id": [900 - n for n in range(12)],
        "at": [datetime(2026, 1 + n // 4, 1 + n) for n in range(12)],
    }
    rows = population_of(columns, {**TYPES, "id": EdmType.INT64, "at": EdmType.DATETIME})
    newest_first = query("newest", "city eq '{city}'", order=("-at",), top=3)
    (demand,) = bench_of(rows, newest_first).demands
    month = "{time(at,'yyyy-MM')}"
    main = parse_key(month, "{sortable(id)}")  # hexadecimal digits lie on both sides of the label
    beside = KeyScheme(main, (IndexRow(parse_key(month, "I0:{id}"), "pointer"),))
    alone, both = (best_read(demand, keys, bench_of(rows, newest_first)) for keys in (KeyScheme(main), beside))
    assert (alone.entities, alone.requests) == (8, 2)
    assert (both.entities, both.requests) == (16, 2)
