"""A published transaction over several kinds of entities, compared with the expert's shared partition."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.plain import analyze
from tests.published import tpcc_kinds
from tests.published.workload import SEED, csv_text


@pytest.mark.long("proofs")
def test_an_order_its_place_in_the_queue_and_its_lines_share_a_district(tmp_path: Path) -> None:
    data = []
    for kind, rows in tpcc_kinds.rows(Random(SEED)).items():
        path = tmp_path / f"{kind}.csv"
        path.write_text(csv_text(rows), encoding="utf-8")
        data.append(f"{kind}={path}")
    design = tmp_path / "design.yaml"
    design.write_text(tpcc_kinds.DESIGN, encoding="utf-8")
    result = analyze(AnalyzeRequest(data=tuple(data), design=str(design)), SilentProgress())
    (arranged,) = result["arrangements"]
    chosen = arranged["chosen"]
    assert chosen["kept"] == ["new-order"]
    (shared,) = chosen["shared"]
    assert sorted(shared["kinds"]) == ["NewOrder", "OrderLine", "Orders"]
    assert set(re.findall(r"pad\((\w+),", shared["partition_key"])) == tpcc_kinds.EXPERT_PARTITION
    assert chosen["requests_per_s"] <= 1.05 * tpcc_kinds.EXPERT_REQUESTS_PER_S
