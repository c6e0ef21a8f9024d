"""Pieces of keys as properties: declared, read from data and logs, and periods that a request names."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.design.draft.key_data import NO_ROW_FITS
from pkadvisor.design.keys.keyreader import decode_key, decode_periods, with_key_parts
from pkadvisor.design.keys.scheme import key_expression, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.design_file.read_declaration import load_declaration
from pkadvisor.progress import SilentProgress
from pkadvisor.table.edm import EdmType
from tests.plain import analyze

DESIGN = """
schema: 1
tables:
  Meters:
    partition_key: "all"
    row_key: "{meter}_{reverse_ticks(at)}"
    key_parts: {meter: string, at: datetime}
    queries:
      - {name: newest, filter: "meter eq '{meter}' and at ge datetime'{at}'", rate: 900/s, top: 10}
    writes:
      - {name: reading, operation: insert, rate: 1500/s}
"""


def rows(tmp_path: Path, count: int = 400) -> Path:
    path = tmp_path / "meters.csv"
    start = 638_000_000_000_000_000
    lines = [f"all,m~002F{n % 20}_{3155378975999999999 - start - n * 77_000_000:019},{n / 8}" for n in range(count)]
    path.write_text("\n".join(["PartitionKey,RowKey,kwh", *lines]) + "\n")
    return path


def analyzed(tmp_path: Path, design: str, data: Path) -> dict[str, Any]:
    (tmp_path / "design.yaml").write_text(design)
    request = AnalyzeRequest(data=(str(data),), design=str(tmp_path / "design.yaml"))
    return analyze(request, SilentProgress())


def test_a_part_of_a_key_can_be_asked_for_and_leads_a_key(tmp_path: Path) -> None:
    (table,) = analyzed(tmp_path, DESIGN, rows(tmp_path))["tables"]
    best = table["recommended"]
    assert best["partition_key"].startswith("{meter}")
    assert "ticks(at)" in best["row_key"]
    assert json.dumps(best).count("m~002F") >= 1  # the example is made of values read from keys


def test_rows_of_other_keys_are_left_out_and_told(tmp_path: Path) -> None:
    data = rows(tmp_path)
    data.write_text(data.read_text() + "all,config,0\n")
    result = analyzed(tmp_path, DESIGN, data)
    assert "1 of 401 rows have keys that partition_key and row_key do not write: left out" in json.dumps(result)


@pytest.mark.parametrize("keys", ["other,{n}", "all,{n}"])
def test_data_without_a_row_that_the_keys_write_is_read_as_it_is(keys: str, tmp_path: Path) -> None:
    """Index rows that the design declares may fit what the key does not."""
    lines = [f"{keys.format(n=n)},m{n % 20},{n / 8}" for n in range(400)]
    (tmp_path / "meters.csv").write_text("\n".join(["PartitionKey,RowKey,meter,kwh", *lines]) + "\n")
    design = DESIGN.replace("key_parts: {meter: string, at: datetime}", "index_rows: [{row_key: 'X:{meter}'}]")
    design = design.replace("{meter}_{reverse_ticks(at)}", "{meter}_x").replace(" and at ge datetime'{at}'", "")
    result = analyzed(tmp_path, design, tmp_path / "meters.csv")
    assert result["tables"][0]["recommended"] is not None
    assert NO_ROW_FITS in json.dumps(result)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("key_parts: {meter: string, at: datetime}", "key_parts: {metre: string}"), "no key holds the key part"),
        (("    queries:", "    properties: {at: datetime}\n    queries:"), "is in properties as well"),
        (("key_parts: {meter: string,", "key_parts: {meter: text,"), "is not a property type"),
    ],
)
def test_what_a_design_says_wrongly_of_key_parts_is_told_at_its_place(wrong: tuple[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        load_declaration("design.yaml", DESIGN.replace(*wrong))
    assert caught.value.where.startswith("design.yaml:")


TYPES = {
    "id": EdmType.INT32,
    "at": EdmType.DATETIME,
    "name": EdmType.STRING,
    "x": EdmType.DOUBLE,
    "big": EdmType.INT64,
}


@pytest.mark.parametrize(
    "key",
    [
        "{pad(id,3)} | {name}_{ticks(at)}",
        "{name} | {reverse_ticks(at)}",
        "{id} | {sortable(x)}-{name}",
        "a{time(at,'yyyyMMdd')} | {name}_{at}",
        "{reverse_pad(id,9)} | {big}|{name}",
        "{reverse_sortable(at)} | {reverse(name)}_{id}",
    ],
)
def test_columns_of_key_parts_are_what_each_key_decodes_to(key: str) -> None:
    import polars as pl

    at = [datetime(2026, 3, n % 27 + 1, n % 24, 5, 6, 700 * n, tzinfo=UTC) for n in range(60)]
    names = [["a b", "x_y", "Ü~/", "", "plain", "m-1|2"][n % 6] for n in range(60)]
    frame = pl.DataFrame(
        {"id": [n * 37 - 200 for n in range(60)], "at": at, "name": names, "x": [n / 7 for n in range(60)]},
        schema={"id": pl.Int32, "at": pl.Datetime("us", "UTC"), "name": pl.String, "x": pl.Float64},
    ).with_columns(big=pl.col("id").cast(pl.Int64) * 10**9)
    made = parse_key(*key.split(" | "))
    keys = frame.select(
        key_expression(made.partition, TYPES).alias("PartitionKey"), key_expression(made.row, TYPES).alias("RowKey")
    )
    read = with_key_parts(keys, made, made.properties, TYPES)
    for row in read.iter_rows(named=True):
        told = {**(decode_key(made.partition, row["PartitionKey"], TYPES) or {})}
        told |= decode_key(made.row, row["RowKey"], TYPES) or {}
        assert {name: row[name] for name in told} == told
    for name in set(made.properties):
        assert read.get_column(name).equals(frame.get_column(name)), name


def test_a_period_in_a_key_bounds_the_time_in_it() -> None:
    def span(pattern: str, text: str) -> tuple[str, str]:
        parts = parse_template(f"d_{{time(at,'{pattern}')}}")
        first, last = decode_periods(parts, f"d_{text}", {"at": EdmType.DATETIME})["at"]
        return first.isoformat(), last.isoformat()

    assert span("yyyyMMdd", "20240229") == ("2024-02-29T00:00:00+00:00", "2024-02-29T23:59:59.999999+00:00")
    assert span("yyyy-MM", "2025-12") == ("2025-12-01T00:00:00+00:00", "2025-12-31T23:59:59.999999+00:00")
    assert span("YYYY-Www", "2026-W01") == ("2025-12-29T00:00:00+00:00", "2026-01-04T23:59:59.999999+00:00")
    assert span("yyyy", "2026")[1] == "2026-12-31T23:59:59.999999+00:00"
    parts = parse_template("{time(at,'yyyy')}")
    assert decode_periods(parts, "9999", {"at": EdmType.DATETIME}) == {}
