"""Every transform of the key language is recognised: from a column that it reads, and where its texts alone show it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from pkadvisor.design.keys.scheme import key_expression
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import TRANSFORMS
from pkadvisor.table.edm import EdmType
from tests.design.keys.inference import infer_keys

if TYPE_CHECKING:
    import polars as pl

TYPES = {
    "id": EdmType.INT32,
    "at": EdmType.DATETIME,
    "mail": EdmType.STRING,
    "x": EdmType.DOUBLE,
    "big": EdmType.INT64,
}
KEYS = {
    "{time(at,'yyyyMMdd')}": ("{pad(id,5)}", "{time(p1,'yyyyMMdd')} | {pad(r1,5)}"),
    "{sortable(id)}": ("{id}", "{sortable(p1)} | {r1}"),
    "{reverse_sortable(id)}": ("{id}", "{reverse_sortable(p1)} | {r1}"),
    "{sortable(x)}": ("{id}", "{sortable(p1)} | {r1}"),
    "{reverse_sortable(x)}": ("{id}", "{reverse_sortable(p1)} | {r1}"),
    "{reverse_sortable(at)}": ("{id}", "{reverse_sortable(p1)} | {r1}"),
    "{sortable(big)}": ("{reverse_sortable(big)}", "{sortable(p1)} | {reverse_sortable(p1)}"),
    "{ticks(at)}": ("{time_of_day(at,0)}_{id}", "{ticks(p1)} | {time_of_day(p1,0)}_{r1}"),
    "{reverse_ticks(at)}": ("{time_of_day(at,4)}", "{reverse_ticks(p1)} | {time_of_day(p1,4)}"),
    "a{time(at,'yyyy-MM-dd')}": ("{time_of_day(at,3)}_{id}", ""),
    "{id};{time(at,'yyyyMM')}": ("{time_of_day(at,'HHmm')}_{pad(id,5)}", ""),
    "{time(at,'yyyy-MM')}": ("{time_of_day(at,'HH')}_{id}", ""),
    "{time_of_day(at,'HH')}": (
        "{time(at,'yyyyMMddHHmm')}_{pad(id,5)}",
        "{time_of_day(p1,'HH')} | {time(p1,'yyyyMMddHHmm')}_{pad(r1,5)}",
    ),
    "{time(at,'yyyyMMddHH')}": ("{time_of_day(at,'HH:mm')}_{id}", ""),
    "{time(at,'yyyy')}": ("{time_of_day(at,'HH-mm-ss')}_{id}", ""),
    "{time(at,'yyyyMMddTHH')}": ("{time_of_day(at,'HH:mm:ss.fff')}_{id}", ""),
    "{hash(mail,16)}": ("{mail}", "{hash(r1,16)} | {r1}"),
    "{hash_prefix(mail,4)}": ("{mail}", ""),
    "{md5_prefix(lower(mail),32)}": ("{mail}", ""),
    "{lower(mail)}": ("{reverse_pad(id,5)}", ""),
    "{prefix(mail,4)}": ("{mail}", ""),
    "{reverse(mail)}": ("{reverse(id)}_{at}", ""),
}
"""PartitionKey: (RowKey, both as they look where no column tells; empty where nothing shows them)."""


def columns(count: int = 300) -> pl.DataFrame:
    """Entities drawn from a fixed seed."""
    import polars as pl

    random = Random(7)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "id": random.randrange(30_000),
            "at": start + timedelta(seconds=random.randrange(6 * 10**7), microseconds=random.randrange(10**6)),
            "mail": f"Ann{random.randrange(900)}@Ex.org",
            "x": random.randrange(1000) / 8,
            "big": random.randrange(10**10),
        }
        for _ in range(count)
    ]
    schema = {"id": pl.Int32, "at": pl.Datetime("us", "UTC"), "mail": pl.String, "x": pl.Float64, "big": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


@pytest.mark.parametrize("partition", KEYS)
def test_a_transform_is_recognised(partition: str) -> None:
    import polars as pl

    frame, (row, alone) = columns(), KEYS[partition]
    parts = parse_template(partition), parse_template(row)
    keys = frame.select(PartitionKey=key_expression(parts[0], TYPES), RowKey=key_expression(parts[1], TYPES))
    whole = infer_keys(pl.concat([keys, frame], how="horizontal"), TYPES)
    assert [str(kind.key) for kind in whole.kinds] == [f"{partition} | {row}"]
    assert whole.explained == frame.height
    if alone:
        bare = infer_keys(keys)
        assert {str(kind.key) for kind in bare.kinds} == {alone}
        assert bare.explained == frame.height


IN_USE = """
yyyy yyyyMM yyyy-MM MM-yyyy MMyyyy yyyyMMdd ddMMyyyy yyyy-MM-dd yyyyMMddHH yyyy-MM-dd-HH yyyy-MM-ddTHH yyyyMMddHHmm
yyyyMMdd-HHmm yyyy-MM-ddTHH:mm yyyyMMddTHHmmssZ yyyyMMddTHHmmssfffZ yyyyMMddTHHmmss.fffZ yyyy-MM-ddTHH:mm:ss.fffZ
yyyyMMdd_HHmmssfff yyyyMMdd-HHmmss.fff yyyy-MM-dd_HH-mm-ss-fff
"""


@pytest.mark.parametrize("pattern", IN_USE.split())
def test_a_period_is_recognised_beside_its_column(pattern: str) -> None:
    import polars as pl

    frame, partition = columns(), f"{{time(at,'{pattern}')}}"
    parts = parse_template(partition), parse_template("X_{pad(id,5)}")
    keys = frame.select(PartitionKey=key_expression(parts[0], TYPES), RowKey=key_expression(parts[1], TYPES))
    (kind,) = infer_keys(pl.concat([keys, frame], how="horizontal"), TYPES).kinds
    assert str(kind.key) == f"{partition} | X_{{pad(id,5)}}"


def test_no_transform_is_left_out() -> None:
    shown = " ".join([*KEYS, *(row for row, _ in KEYS.values())])
    inside_others = {"concat"}
    assigned_or_listed = {"each", "seq"}  # of several values, or of none
    assert {name for name in TRANSFORMS if f"{{{name}(" not in shown} == inside_others | assigned_or_listed


def test_texts_at_random_are_no_numbers_in_hex() -> None:
    from hashlib import sha256

    for width in (8, 16):
        keys = [("a", sha256(str(n).encode()).hexdigest()[:width]) for n in range(200)]
        assert "sortable" not in " ".join(str(kind.key) for kind in infer_keys(keys).kinds)


def test_a_constant_is_no_prefix_of_a_column() -> None:
    import polars as pl

    frame = pl.DataFrame({"device": [f"dev-{n}" for n in range(100)]})
    keys = frame.select(PartitionKey=pl.lit("dev"), RowKey=pl.col("device"))
    (kind,) = infer_keys(pl.concat([keys, frame], how="horizontal")).kinds
    assert str(kind.key) == "dev | {device}"
