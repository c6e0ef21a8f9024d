"""The load of a read falls on rows of its own, and none of it is lost, however many requests there are."""

from __future__ import annotations

import pytest

from pkadvisor.design.cost import scan_load
from pkadvisor.design.cost.class_cost import best_read
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"city": EdmType.STRING, "id": EdmType.INT32}


@pytest.mark.parametrize("pieces_most", [400, 2])
def test_first_rows_of_many_buckets_are_loaded_whether_or_not_each_bucket_is_counted(
    pieces_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_load, "PIECES_MOST", pieces_most)
    rows = population_of({"city": [f"c{n % 3}" for n in range(240)], "id": list(range(240))}, TYPES)
    asked = query("first", "city eq '{city}'", order=("id",), top=2)
    bench = bench_of(rows, asked)
    scheme = KeyScheme(parse_key("{city}_{hash(id,8)}", "{pad(id,5)}"))
    (demand,) = bench.demands
    read = best_read(demand, scheme, bench)
    loads = list(scan_load.load_of_rows(read, demand, scheme, rows, demand.weights * read.counted, demand.weights))
    assert read.entities == pytest.approx(16)  # 8 buckets, the first 2 rows of each
    assert sum(float(load.sum()) for _, load in loads) == pytest.approx(16)
    loaded = sum(int((load > 0).sum()) for _, load in loads)
    assert loaded == 48
