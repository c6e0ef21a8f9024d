"""What was tried on a sample is checked over every row, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from pkadvisor.design.keys.scheme import key_expression, parse_key
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.profile.profile import SAMPLE_ROWS
from pkadvisor.progress import SilentProgress
from tests.plain import analyze
from tests.report.support import request, result, schema

DESIGN = """\
schema: 1
tables:
  Orders:
    partition_key: "{customer}"
    row_key: "{number}"
    queries:
      - {name: one, filter: "customer eq '{customer}' and number eq {number}", rate: 10/s, peak: 20/s}
    writes:
      - {name: add, operation: insert, rate: 5/s, peak: 9/s}
"""


def test_the_finalists_of_a_sample_are_counted_over_every_row() -> None:
    table = result("footrace", sample_rows=1500)["tables"][0]
    counted = table["data"]["counted_over_all"]
    assert "counted_over_all" not in result("footrace")["tables"][0]["data"]
    (dataset,) = open_datasets(list(request("footrace").data))
    types = {c.name: c.edm for c in dataset.columns}
    frame = pl.concat(list(dataset.batches()))
    assert 2 <= len(counted) <= 5
    for found in counted:
        key = parse_key(found["partition_key"], found["row_key"], known=types)
        texts = frame.select(pk=key_expression(key.partition, types), rk=key_expression(key.row, types))
        sizes = texts.group_by("pk").len("n").get_column("n")
        assert (found["rows"], found["partitions"]) == (frame.height, len(sizes))
        assert found["largest_partition"] == sizes.max()
        assert found["top_share"] == pytest.approx(found["largest_partition"] / frame.height, rel=1e-3)
        assert found["shared_keys"] == texts.height - texts.n_unique()


def orders(folder: Path, twins: int) -> dict[str, Any]:
    """The result for more orders than are looked at, the last of which repeat the keys of the first."""
    rows = SAMPLE_ROWS + 5000
    number = pl.int_range(rows, eager=True)
    frame = pl.DataFrame({"number": number, "customer": number % 997}).with_columns(
        pl.when(pl.int_range(pl.len()) >= rows - twins)
        .then(pl.col("number") - (rows - twins))
        .otherwise("number")
        .alias("number"),
        pl.int_range(pl.len()).alias("amount"),
    )
    frame = frame.with_columns(pl.format("c{}", pl.col("number") % 997).alias("customer"))
    frame.write_parquet(folder / "orders.parquet")
    (folder / "design.yaml").write_text(DESIGN)
    asked = AnalyzeRequest(data=(str(folder / "orders.parquet"),), design=str(folder / "design.yaml"))
    return analyze(asked, SilentProgress())


def test_a_key_that_few_rows_share_is_found_out_beyond_the_sample(tmp_path: Path) -> None:
    found = orders(tmp_path, 3)
    jsonschema.validate(found, schema("result"))
    (table,) = found["tables"]
    data = table["data"]
    assert data["rows_at_hand"] <= SAMPLE_ROWS < data["entities_read"]
    counted = {(c["partition_key"], c["row_key"]): c for c in data["counted_over_all"]}
    current = counted["{customer}", "{number}"]
    assert (current["partitions"], current["shared_keys"]) == (997, 3)
    best = table["recommended"]
    assert counted[best["partition_key"], best["row_key"]]["shared_keys"] == 0
