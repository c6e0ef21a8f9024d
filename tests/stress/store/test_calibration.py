"""What a run tells of the model's numbers: from attempts whose law is known to a file that ``--limits`` reads."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pkadvisor.limits import default_limits, load_limits
from pkadvisor.report.text.stress_measured import calibration_file
from pkadvisor.stress.simulate.recorder import Recorder
from pkadvisor.stress.store.calibration import Calibration, Measured, by_keys, calibrated
from pkadvisor.stress.store.real_driver import Attempt, RealRun
from pkadvisor.table.store import Entity, EntityKey, Get, Insert, Query
from tests.stress.small import SECOND, page, read, space, write

LIMITS = default_limits()
MS = 1_000_000
GET = Get("t", EntityKey("p", "r"))
INSERT = Insert("t", Entity(EntityKey("p", "r"), {}))


def run_of(attempts: list[Attempt]) -> RealRun:
    result = Recorder(("c",), space(4), LIMITS, SECOND).result(())
    return RealRun(result, len(attempts), tuple(attempts), "", "", 0)


def named(found: Calibration) -> dict[str, Measured]:
    return {one.name: one for one in found.found}


def test_quantiles_enclose_those_of_the_law() -> None:
    latencies = np.random.Generator(np.random.Philox(1)).lognormal(1.0, 0.5, 4000)
    attempts = [Attempt(i * MS, read(0), GET, 200, round(v * MS), 0) for i, v in enumerate(latencies.tolist())]
    found = named(calibrated(run_of(attempts), LIMITS))
    for name, truth in (("read_latency_ms_p50", np.exp(1.0)), ("read_latency_ms_p99", np.exp(1.0 + 0.5 * 2.3263))):
        assert found[name].low <= truth <= found[name].high
        assert found[name].high - found[name].low < 0.2 * truth
        assert found[name].count == 4000
    assert "write_latency_ms_p50" not in found


def test_a_page_and_its_entities_are_told_apart() -> None:
    random = np.random.Generator(np.random.Philox(2))
    attempts = []
    for i in range(400):
        size = int(random.integers(1, 1000))
        latency_ms = 5.0 + 0.02 * size + random.normal(0, 0.5)
        attempts.append(
            Attempt(i * MS, page(0, 1, size), Query("t", "PartitionKey eq 'a'"), 200, round(latency_ms * MS), 0)
        )
        # A filter on other properties examines more than it returns: such pages say nothing of a scan.
        attempts.append(Attempt(i * MS, page(0, 1, 1), Query("t", "v eq 5"), 200, 900 * MS, 0))
    found = named(calibrated(run_of(attempts), LIMITS))
    assert found["scan_ms_per_entity"].low <= 0.02 <= found["scan_ms_per_entity"].high
    assert found["page_latency_ms"].low <= 5.0 <= found["page_latency_ms"].high
    assert found["page_latency_ms"].value == pytest.approx(5.0, rel=0.05)
    assert found["scan_ms_per_entity"].value == pytest.approx(0.02, rel=0.05)


def test_noise_is_no_scan() -> None:
    random = np.random.Generator(np.random.Philox(3))
    query = Query("t", "")
    attempts = [Attempt(i, page(0, 1, i % 3), query, 200, round(random.normal(50, 5) * MS), 0) for i in range(60)]
    found = calibrated(run_of(attempts), LIMITS)
    assert "scan_ms_per_entity" not in named(found)
    assert "noise" in dict(found.left_out)["scan_ms_per_entity"]


def test_saturation_and_burst_of_a_token_bucket_are_found() -> None:
    rate, burst_s = 300.0, 2.0
    tokens, before, attempts = rate * burst_s, 0, []
    for i in range(8000):
        at = i * 1_250_000  # 800/s for ten seconds
        tokens, before = min(rate * burst_s, tokens + rate * (at - before) / SECOND), at
        accepted = tokens >= 1
        tokens -= accepted
        attempts.append(Attempt(at, write(2), INSERT, 204 if accepted else 503, 2 * MS, 0))
    found = named(calibrated(run_of(attempts), LIMITS))
    assert found["partition_entities_per_s"].value == pytest.approx(rate, rel=0.02)
    assert found["burst_s"].value == pytest.approx(burst_s, rel=0.05)
    # Latencies are those of the seconds before the first refusal.
    assert found["write_latency_ms_p50"].count == 800


def test_a_quiet_run_and_a_late_client_tell_why_they_tell_nothing() -> None:
    quiet = [Attempt(i * MS, read(0), GET, 200, MS, 0) for i in range(300)]
    assert "nothing was throttled" in dict(calibrated(run_of(quiet), LIMITS).left_out)["burst_s"]
    late = [a._replace(late_ns=60 * MS) for a in quiet]
    found = calibrated(run_of(late), LIMITS)
    assert not found.found
    assert "could not keep up" in dict(found.left_out)["read_latency_ms_p50"]


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("", True),
        ("PartitionKey eq 'a'", True),
        ("PartitionKey eq 'a' and RowKey ge 'b' and RowKey lt 'c'", True),
        ("PartitionKey ge 'a' and PartitionKey lt 'b'", True),
        ("PartitionKey ge 'a' and RowKey eq 'b'", False),
        ("PartitionKey eq 'a' and v eq 5", False),
        ("PartitionKey ne 'a'", False),
        ("PartitionKey eq 'a' or PartitionKey eq 'b'", False),
    ],
)
def test_filters_that_examine_what_they_return(text: str, alone: bool) -> None:
    assert by_keys(text) is alone


def entry(name: str, measured: float, count: int = 200) -> dict[str, object]:
    limit = LIMITS.of(name)
    return {
        "name": name, "unit": limit.unit, "predicted": limit.value, "basis": limit.basis,
        "measured": measured, "low": measured * 0.9, "high": measured * 1.1, "count": count, "of": "point reads",
    }  # fmt: skip


def document(*several: list[dict[str, object]]) -> Any:
    """As much of a document as the file is made of."""
    left_out = [{"name": "burst_s", "why": "nothing was throttled"}]
    place = {"host": "table.core.windows.net", "date": "2026-11-22"}
    designs = [{"measured": {**place, "calibration": {"found": found, "left_out": left_out}}} for found in several]
    made = {"tables": [{"designs": [*designs, {"measured": None}]}]}
    return json.loads(json.dumps(made), object_hook=lambda members: SimpleNamespace(**members))


def test_the_file_is_one_that_limits_reads(tmp_path: Path) -> None:
    path = tmp_path / "measured.toml"
    few = [entry("read_latency_ms_p50", 40.0, 100), entry("read_latency_ms_p99", 90.0, 100)]
    many = [entry("read_latency_ms_p50", 6.25), entry("read_latency_ms_p99", 31.5), entry("scan_ms_per_entity", 0.0123)]
    text = calibration_file(document(few, many))
    assert text is not None and "#   burst_s: nothing was throttled" in text
    path.write_text(text, encoding="utf-8")
    found = load_limits(path)
    assert (found.read_latency_ms_p50, found.read_latency_ms_p99, found.scan_ms_per_entity) == (6.25, 31.5, 0.0123)
    limit = found.of("read_latency_ms_p50")
    assert (limit.basis, limit.date, limit.unit) == ("measured", "2026-11-22", "ms")
    assert limit.source == "measured: advisor stress on table.core.windows.net"
    assert found.of("burst_s") == LIMITS.of("burst_s"), "what was not measured stays as it was"


def test_no_file_without_a_run_on_an_endpoint() -> None:
    assert calibration_file(document()) is None
