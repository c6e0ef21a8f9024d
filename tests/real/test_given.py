"""A real data set given as data alone, as a log alone and as both: what is advised, or what is asked for.

The log is the first accesses of the shop's trace, with the list queries and updates that its description names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from tests.real.test_real_data import SHARED

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not here (PKADVISOR_SHARED)")
ACCESSES, PER_S = 4_000, 5_000


def written(folder: Path) -> tuple[str, str]:
    """(data, log): the objects asked for first, and 90 % point reads, 6 % lists, 3 % updates at 5,000 a second."""
    import polars as pl

    trace = SHARED / "ecommerce-orm-trace" / "orm-busy-first500k.csv.gz"
    rows = pl.read_csv(trace).head(ACCESSES).select("type", "id", "index")
    data, log = folder / "objects.csv", folder / "objects.jsonl"
    rows.unique(maintain_order=True).write_csv(data)
    lines = []
    for number, row in enumerate(rows.iter_rows(named=True)):
        line: dict[str, Any] = {"table": "objects", "at": 1_700_000_000 + number / PER_S}
        if number % 33 == 0:
            line |= {"op": "update", "params": row}
        else:
            names = ("type", "id") if number % 16 == 0 else ("type", "id", "index")
            line |= {"filter": " and ".join(f"{name} eq {row[name]}" for name in names)}
        lines.append(json.dumps(line) + "\n")
    log.write_text("".join(lines), encoding="utf-8")
    return str(data), str(log)


def test_objects_of_a_shop_as_data_as_a_log_and_as_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, log = written(tmp_path)
    assert main(["analyze", data, "-q"]) == 2
    assert "there is no workload" in capsys.readouterr().err
    assert main(["analyze", "--log", log, "--format", "json", "-q"]) == 0
    (alone,) = json.loads(capsys.readouterr().out)["tables"]
    assert (alone["verdict"], alone["next"]) == ("heat_only", "a data set of the table")
    assert main(["analyze", data, "--log", log, "--format", "json", "-q"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["verdict"] == "choose"
    best = table["recommended"]
    assert all(name in best["partition_key"] for name in ("type", "id")) and "index" in best["row_key"]
    (update,) = [c for c in best["classes"] if c["operation"] == "update"]
    assert (update["access"], update["entities_written"]) == ("point", 1)
