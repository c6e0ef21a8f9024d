"""Index rows with a row for each value of a list: every figure equals that of a plain loop over entities and values."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from pkadvisor.design.choice.asked_texts import with_values_asked
from pkadvisor.design.choice.index_candidates import index_rows
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.choice.search import advise
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.counting import property_bytes
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.observe.workload import Operation, QueryClass
from pkadvisor.table import accounting
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = dict.fromkeys(("doc", "shop", "tags"), EdmType.STRING) | {"n": EdmType.INT32}
DOCS = 400
TAGS = [[f"t{k:02}" for k in range(20) if n % (k + 1) == 0][: 1 + n % 5] if n % 7 else [] for n in range(DOCS)]
"""Of documents in turn up to five of 20 tags, the first much more often than the last; each seventh has none."""
COUNTS = Counter(tag for tags in TAGS for tag in tags)
PAIRS = sum(COUNTS.values())
TOP = 5
QUERIES, INSERTS, UPDATES = 50.0, 10.0, 3.0
BY_TAG = query("by-tag", "tags eq '{tags}'", rate=QUERIES, order=("-n",), top=TOP)
ADD = query("add", None, operation=Operation.INSERT, rate=INSERTS)
ROW = parse_key("TAGS:{each(tags)}", "{reverse_pad(n,4)}_{doc}")


def bench(*classes: QueryClass) -> Bench:
    columns: dict[str, list[object]] = {
        "doc": [f"d{n:04}" for n in range(DOCS)],
        "shop": [f"s{n % 3}" for n in range(DOCS)],
        "tags": [json.dumps(tags) for tags in TAGS],
        "n": list(range(DOCS)),
    }
    population = population_of(columns, TYPES)
    found = replace(bench_of(population, *classes), property_bytes=property_bytes(population))
    return with_values_asked(found)


def cost(*classes: QueryClass, copy: str = "full") -> CostEstimate:
    return estimate(KeyScheme(parse_key("{doc}", ""), (IndexRow(ROW, copy),)), bench(*classes))


def test_a_query_for_one_value_reads_the_rows_of_that_value() -> None:
    by_tag = cost(BY_TAG, ADD).classes[0]
    # Every pair of a document and a tag is asked for alike, so a tag as often as documents have it.
    read = sum(count * min(count, TOP) for count in COUNTS.values()) / PAIRS
    assert by_tag.plan is not None
    assert by_tag.plan.via == 1
    assert (by_tag.requests, by_tag.entities_read, by_tag.entities_returned) == pytest.approx((1, read, read))


def test_a_pointer_of_each_value_leads_to_its_entity() -> None:
    by_tag = cost(BY_TAG, ADD, copy="pointer").classes[0]
    read = sum(count * min(count, TOP) for count in COUNTS.values()) / PAIRS
    assert (by_tag.requests, by_tag.entities_read) == pytest.approx((1 + read, 2 * read))


def test_without_such_rows_the_table_is_scanned_for_them() -> None:
    found = estimate(KeyScheme(parse_key("{doc}", "")), bench(BY_TAG, ADD)).classes[0]
    assert found.entities_read == pytest.approx(DOCS)
    assert found.entities_returned == pytest.approx(sum(c * min(c, TOP) for c in COUNTS.values()) / PAIRS)


def test_a_write_is_one_of_the_entity_and_one_of_each_value() -> None:
    change = query("change", "doc eq '{doc}'", operation=Operation.UPDATE, rate=UPDATES, sets=("n",))
    drop = query("drop", "doc eq '{doc}'", operation=Operation.DELETE, rate=UPDATES)
    found = {c.name: c for c in cost(BY_TAG, ADD, change, drop).classes}
    each = PAIRS / DOCS
    assert (found["add"].entities_written, found["add"].requests) == pytest.approx((1 + each, 1 + each))
    assert found["add"].bytes_written == pytest.approx(stored())
    # The number is in the RowKey of the index rows: an old row out and a new one in, in one transaction.
    assert found["change"].entities_written == pytest.approx(1 + 2 * each)
    assert found["change"].requests_after == pytest.approx(each)
    assert found["drop"].entities_written == pytest.approx(1 + each)


def test_a_delete_of_several_entities_takes_the_rows_that_these_have() -> None:
    """Shops have lists of other lengths than the whole table: each is asked for as often as it has documents."""
    drop = query("drop", "shop eq '{shop}'", operation=Operation.DELETE, rate=UPDATES)
    (found,) = (c for c in cost(BY_TAG, drop).classes if c.name == "drop")
    size, rows = Counter(n % 3 for n in range(DOCS)), Counter[int]()
    for n, tags in enumerate(TAGS):
        rows[n % 3] += 1 + len(tags)
    assert found.entities_written == pytest.approx(sum(size[shop] * rows[shop] for shop in size) / DOCS)


def test_a_delete_of_several_entities_loads_the_partition_of_each_value_by_its_rows() -> None:
    """Each document has its shop emptied: the table is scanned, and the rows of the shop's documents are deleted."""
    hot = cost(query("empty", "shop eq '{shop}'", operation=Operation.DELETE, rate=UPDATES)).hot
    of_shop = [sum("t00" in tags for tags in TAGS[n::3]) * len(TAGS[n::3]) / DOCS for n in range(3)]
    assert hot is not None
    assert hot.partition_key == "TAGS:t00"
    assert hot.entities_per_s == pytest.approx(UPDATES * (COUNTS["t00"] + sum(of_shop)))


def stored() -> float:
    """Mean stored bytes of a document with its rows, by the capacity formula of 2010."""
    total = 0.0
    for n, tags in enumerate(TAGS):
        held = sum(accounting.property_bytes(len(name), EdmType.STRING, len(value)) for name, value in
                   (("doc", f"d{n:04}"), ("shop", "s0"), ("tags", json.dumps(tags))))  # fmt: skip
        held += accounting.property_bytes(len("n"), EdmType.INT32, 0)
        total += accounting.key_bytes(len("d0000")) + held
        total += sum(accounting.key_bytes(len(f"TAGS:{tag}") + len("9999_d0000")) + held for tag in tags)
    return total / DOCS


def test_stored_bytes_are_those_of_every_row() -> None:
    assert cost(BY_TAG, ADD).bytes_per_entity == pytest.approx(stored())


def test_the_most_frequent_value_is_the_hottest_partition() -> None:
    hot = cost(BY_TAG, ADD).hot
    tag, count = COUNTS.most_common(1)[0]
    assert hot is not None
    assert hot.partition_key == f"TAGS:{tag}"
    assert hot.entities_per_s == pytest.approx(QUERIES * count / PAIRS * min(TOP, count) + INSERTS * count / DOCS)
    assert hot.partitions == len(COUNTS)


def test_a_scan_of_the_table_reads_each_value_of_each_entity() -> None:
    hot = cost(query("by-n", "n eq {n}", rate=QUERIES), copy="pointer").hot
    assert hot is not None
    tag, most = COUNTS.most_common(1)[0]
    assert (hot.partition_key, hot.entities_per_s) == (f"TAGS:{tag}", pytest.approx(most * QUERIES))


def test_pointers_put_their_reads_on_the_entities() -> None:
    """Under one partition of all entities, that partition takes the entity of every pointer, and all inserts."""
    scheme = KeyScheme(parse_key("all", "{doc}"), (IndexRow(ROW, "pointer"),))
    through_pointers = {"by-tag": (1, Access.PARTITION_SCAN, False, ())}
    hot = estimate(scheme, replace(bench(BY_TAG, ADD), along=through_pointers)).hot
    read = sum(count * min(count, TOP) for count in COUNTS.values()) / PAIRS
    assert hot is not None
    assert hot.partition_key == "all"
    assert hot.entities_per_s == pytest.approx(QUERIES * read + INSERTS)


def test_rows_for_each_value_are_found_by_the_search() -> None:
    best = advise(bench(BY_TAG, ADD), None).recommended.scheme
    assert [(str(row.key), row.copy) for row in best.index_rows] == [("TAGS:{each(tags)} | {reverse_pad(n,4)}", "full")]


def test_what_else_a_query_fixes_stands_before_the_value() -> None:
    both = query("of-shop", "shop eq '{shop}' and tags eq '{tags}'", rate=QUERIES)
    on, main = bench(both, ADD), parse_key("{doc}", "")
    rows = list(index_rows(main, on.demands[0], KeyGround(on)))
    assert {str(row.key) for row in rows} == {"TAGS:{shop}_{each(tags)} | {doc}"}
    found = estimate(KeyScheme(main, (rows[0],)), on)
    pairs = Counter((f"s{n % 3}", tag) for n, tags in enumerate(TAGS) for tag in tags)
    read = sum(count * count for count in pairs.values()) / PAIRS
    assert (found.classes[0].entities_read, found.classes[0].entities_returned) == pytest.approx((read, read))
    assert found.hot is not None
    assert found.hot.partitions == len(pairs)


def test_a_constant_is_counted_by_its_value() -> None:
    red = query("of-t01", "tags eq 't01'", rate=QUERIES)
    found = cost(red, ADD)
    assert found.classes[0].entities_returned == pytest.approx(COUNTS["t01"])
    assert found.classes[0].entities_read == pytest.approx(COUNTS["t01"])
    assert found.hot is not None
    assert found.hot.partition_key == "TAGS:t01"
