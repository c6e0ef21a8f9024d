"""All of a load on the embedded engine, and what no run of a test decides: conflicts of one entity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment import audit, prepared_design
from tests.plain import stress
from tests.stress.stressed import request_of

COUNTER = """\
schema: 1
tables:
  Scores:
    partition_key: "{team}"
    row_key: "{player}"
    properties: {team: string, player: string, score: int32}
    writes:
      - name: count
        operation: update
        filter: "FILTER"
        sets: [score]
        rate: RATE/s
        read_modify_write: true
"""
ONE = "team eq 't0' and player eq 'p0000'"
DRAWN = "team eq '{team}' and player eq '{player}'"


@pytest.mark.parametrize(
    ("where", "rate", "level", "says"),
    [
        (ONE, 2, "bears", ""),
        (ONE, 30, "bears", ""),
        (ONE, 55, "fails", "divide the counter"),
        (ONE, 300, "fails", "divide the counter"),
        (DRAWN, 300, "bears", ""),
    ],
)
def test_writes_of_one_entity_conflict_in_both_ways_to_run(
    tmp_path: Path, where: str, rate: int, level: str, says: str
) -> None:
    asked = request_of(tmp_path)
    limits = Path(asked.reading.limits[0])
    limits.write_text(limits.read_text().replace("value = 100", "value = 2000"))
    Path(asked.reading.design or "").write_text(COUNTER.replace("FILTER", where).replace("RATE", str(rate)))
    document = stress(asked, SilentProgress())
    assert document["outcome"] == ("refused" if level == "fails" else "done")
    table = document["tables"][0]
    verdict, design = table["verdict"], table["designs"][-1]
    assert says in " ".join(verdict["sentences"])
    assert verdict["level"] == level
    run, audit = design["runs"][0], design["prediction"]["audit"]
    assert audit["engine"]["lost"] == audit["without_rows"]["lost"]
    if where == ONE and rate > 2:
        assert min(run["conflicts"], audit["engine"]["conflicts"]) > 0
        assert bool(run["lost"]) == (rate == 300) or rate == 55


def test_a_run_that_would_take_too_long_one_by_one_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_design, "VERSIONS_ATTEMPTS", 100)
    asked = request_of(tmp_path)
    Path(asked.reading.design or "").write_text(COUNTER.replace("FILTER", ONE).replace("RATE", "30"))
    verdict = stress(asked, SilentProgress())["tables"][0]["verdict"]
    assert verdict["level"] == "untested" and "keep no versions of entities" in verdict["sentences"][0]


def audits(folder: Path, **more: Any) -> list[dict[str, Any]]:
    document = stress(request_of(folder, case={"partition": "{team}"}, **more), SilentProgress())
    return [design["prediction"]["audit"] for design in document["tables"][0]["designs"]]


def test_all_requests_of_the_load_or_those_of_some_partition_keys(tmp_path: Path) -> None:
    runs = audits(tmp_path), audits(tmp_path, engine=True), audits(tmp_path, engine=True, sample_keys=2)
    for few, every, part in zip(*runs, strict=True):
        assert few["requests"] == 50 and every["requests"] > 400 and part["requests"] < every["requests"]
        assert every["requests"] == every["without_rows"]["requests"]
        assert every["load_share"] == 1 > part["load_share"]


def test_a_server_of_the_engine_stops_and_comes_back(tmp_path: Path) -> None:
    """Its requests wait and come late, in both ways; every answer is right, those that came too late among them."""
    calm, failing = (
        audits(tmp_path, engine=True, duration_s=6.0, faults=faults)[-1] for faults in ((), ("server-down@2s+2s",))
    )
    assert failing["violations"] == 0 and failing["requests"] == calm["requests"]
    for way in ("engine", "without_rows"):
        assert calm[way]["latency_ms_p99"] < 100 < 1000 < failing[way]["latency_ms_p99"] < 6000


def test_a_load_that_takes_hours_is_refused_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "LONGEST_S", 0.1)
    with pytest.raises(UsageError, match="would take the embedded engine about") as told:
        stress(request_of(tmp_path, engine=True), SilentProgress())
    assert "--duration" in str(told.value.fix) and "--sample-keys" in str(told.value.fix)
