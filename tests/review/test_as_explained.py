"""Without data the review sees the same access as ``advisor explain`` does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from tests.review.support import findings

DESIGN = """
schema: 1
tables:
  Readings:
    partition_key: "KEY"
    row_key: "{device}_{reverse_ticks(at)}"
    properties: {device: string, at: datetime}
    queries:
      - {name: latest, filter: "device eq '{device}'", order_by: [at desc], top: 50, rate: 120/s}
"""


@pytest.mark.parametrize(
    ("key", "access", "rules"),
    [
        ("{time(at,'yyyyMMddHH')}", "table scan", {"PK201"}),
        ("{time(at,'yyyyMMdd')}", "table scan", {"PK201"}),
        ("{time(at,'yyyyMM')}", "row range", {"PK216"}),
        ("{device}_{time(at,'yyyyMMddHH')}", "row range", {"PK216"}),
        ("{device}", "row range", set()),
    ],
)
def test_going_back_by_periods(
    key: str, access: str, rules: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = tmp_path / "d.yaml"
    design.write_text(DESIGN.replace("KEY", key))
    assert main(["explain", "query:latest", "--design", str(design), "--format", "json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["access"] == access
    found = findings(design.read_text(), tmp_path)
    assert {f.rule for f in found if f.rule in ("PK201", "PK202", "PK216")} == rules
