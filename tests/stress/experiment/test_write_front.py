"""Inserts that crowd into one range of keys: the run follows them, or it gives no verdict on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment.request import StressRequest
from tests.plain import stress

DESIGN = """\
schema: 1
tables:
  Events:
    partition_key: "{PARTITION}"
    row_key: "{ROW}"
    properties: {id: string, batch: string, line: int32, at: datetime}
    arrival: at
    queries:
      - {name: of-one, filter: "{FILTER}", rate: 1/s}
    writes:
      - {name: add, operation: insert, rate: 3000/s}
"""
LINES = 4
"""Entities of a batch."""


def stressed(folder: Path, partition: str, row: str, asked: str) -> dict[str, Any]:
    """A table into whose newest keys 3,000 entities/s are inserted, 1.5 times the target of one range."""
    text = DESIGN.replace("{PARTITION}", partition).replace("{ROW}", row).replace("{FILTER}", asked)
    (folder / "design.yaml").write_text(text, encoding="utf-8")
    lines = [
        f"e{i:06d},b{i // LINES:06d},{i % LINES},2026-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z\n"
        for i in range(1200)
    ]
    (folder / "events.csv").write_text("id,batch,line,at\n" + "".join(lines), encoding="utf-8")
    reading = AnalyzeRequest(data=(str(folder / "events.csv"),), design=str(folder / "design.yaml"))
    found = stress(StressRequest(reading, duration_s=4.0, audited_requests=0), SilentProgress())
    table: dict[str, Any] = found["tables"][0]
    return table


@pytest.mark.long("proofs")
def test_texts_that_rise_with_the_arrivals_are_continued_behind_the_newest(tmp_path: Path) -> None:
    """Without it new entities fall between old ones, all over the table, and nothing is throttled."""
    table = stressed(tmp_path, "{id}", "'-'", "id eq '{id}'")
    current = table["designs"][0]
    assert current["untested"] is None
    assert current["runs"][0]["throttled_by"].get("range", 0) > 0.1 * current["runs"][0]["attempts"]
    assert table["verdict"]["designs"][0]["measured_level"] == "fails"


def test_a_run_gives_no_verdict_on_a_front_that_it_does_not_follow(tmp_path: Path) -> None:
    """New lines are added to old batches, so that the run spreads what crowds in truth."""
    table = stressed(tmp_path, "{batch}", "{line}", "batch eq '{batch}' and line eq {line}")
    current, told = table["designs"][0], table["verdict"]["designs"][0]
    assert current["runs"][0]["throttled_share"] < 0.001, "the run itself has nothing to say against it"
    assert "do not continue in the order of arrival" in current["untested"]
    assert told["measured_level"] == "untested"
    assert "no verdict" in told["sentence"]
    proofs = [p for p in current["prediction"]["breaks"] if "takes the inserts" in p["cause"]]
    assert proofs and all(proof["holds"] is None for proof in proofs), "the model is not blamed"
