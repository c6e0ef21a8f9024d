"""``advisor stress`` of current keys that two entities share: what ``analyze`` proposes as the next command works."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.support import Ask

DESIGN = """schema: 1
tables:
  Readings:
    partition_key: "{device}"
    row_key: "{time(at,'yyyyMMddHH')}"
    arrival: at
    queries: [{name: of-device, filter: "device eq '{device}'", rate: 2/s}]
    writes: [{name: add, operation: insert, rate: 1/s}]
"""


def test_current_keys_that_collide_are_left_out_and_the_recommended_ones_are_run(tmp_path: Path, ask: Ask) -> None:
    rows = "".join(f"d{n % 7},2026-01-01T00:{n // 60:02}:{n % 60:02}Z,{n % 13}\n" for n in range(300))
    (tmp_path / "readings.csv").write_text(f"device,at,value\n{rows}")
    (tmp_path / "design.yaml").write_text(DESIGN)
    words = [str(tmp_path / "readings.csv"), "--design", str(tmp_path / "design.yaml")]
    status, page, _ = ask("analyze", *words)
    assert "next: advisor stress" in page
    status, out, _ = ask("stress", *words, "--duration", "2s", "--format", "json")
    (table,) = json.loads(out)["tables"]
    assert (status, [design["label"] for design in table["designs"]]) == (0, ["recommended"])
    (note,) = [note for note in table["notes"] if note.startswith("current, ")]
    assert note.endswith("does not run, because entities share a key, and the store would keep one of them")
