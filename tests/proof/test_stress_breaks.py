"""What is printed for the bundled samples, proved by traffic.

- ``advisor stress`` on four of them: the keys in use, which the advisor rejects as hot, are
  throttled at the rate that was predicted; the recommended ones, warmed up, are not, and their cold start is shown.
- Every break factor that is printed: quiet at 0.9 of it, throttled at 1.1. Those of a few designs are proved each time;
  those of ``RANKED`` designs of the ranking of each sample in ``.ci/full proofs``: some 3 minutes. ``-s`` prints the
  table of pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from msgspec import to_builtins

from pkadvisor.cli.inputs import load_sample
from pkadvisor.design.choice.judge import judge
from pkadvisor.design.choice.prepared import prepared
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.load import breaks
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment.designs import Design, DesignedTable, distinct
from pkadvisor.stress.experiment.prepared_design import load_at, prepare
from pkadvisor.stress.experiment.proof import proof_of
from pkadvisor.stress.experiment.request import StressRequest
from tests.plain import stress

SAMPLES = ("bank", "documents", "footrace", "microblog", "orders", "sensors")
HOT = {"bank": 60.0, "footrace": 120.0, "microblog": 60.0, "orders": 60.0}
"""Samples whose keys in use are hot under a load that many clients bring at a time, and the seconds of a run: in a
minute of footrace there are too few of the requests that make the heat."""
RANKED = 8
"""Of the ranking of each table so many designs are proved, with the keys in use and the recommended ones."""
BAR = 0.9


def request_of(sample: str) -> StressRequest:
    given = load_sample(sample)
    return StressRequest(AnalyzeRequest(data=given.data, logs=given.logs, design=given.design), duration_s=30.0)


def tables(sample: str, ranked: int = RANKED) -> Iterator[DesignedTable]:
    """The tables of a sample, with the designs that are proved."""
    limits = default_limits()
    for section, dataset in read_sections(request_of(sample).reading, SilentProgress()):
        judged = judge(section, limits, dataset)
        if judged.advice is None or judged.bench is None:
            continue
        schemes = [] if judged.advice.current is None else [("current", judged.advice.current.scheme)]
        schemes.append(("recommended", judged.advice.recommended.scheme))
        schemes += [(f"#{n}", found.scheme) for n, found in enumerate(judged.ranking()[:ranked], 1)]
        hand, _ = prepared(section, limits, dataset)
        designs = [
            Design(label, scheme, estimate(scheme, judged.bench), estimate(scheme, hand))
            for label, scheme in distinct(schemes)
        ]
        yield DesignedTable(section, judged.bench, hand, tuple(designs))


def proofs(sample: str, ranked: int = RANKED) -> Iterator[dict[str, Any]]:
    """The proof of each design of a sample, as it is told to whoever asked for the table of them."""
    request = request_of(sample)
    for table in tables(sample, ranked):
        for design in table.designs:
            began = time.process_time()
            proof = proof_of(prepare(table, design, request, default_limits()), request, load_at)
            took = time.process_time() - began
            print(f"{sample:10} {design.label:18} {took:5.1f} s  {design.scheme.text}\n{proof and proof.sentence}")
            assert proof is not None, "some limit is always passed if the rates grow"
            yield to_builtins(proof)


def check(proof: dict[str, Any]) -> None:
    """A proof says how it was made, and what it says is what was measured."""
    if proof["holds"] is None:
        assert proof["cause"] in (breaks.ENTITY, breaks.SCANS) or "too many requests" in proof["sentence"]
        return
    assert proof["by"] in ("attempts", "entities")
    assert ("DOES NOT" in proof["sentence"]) is not proof["holds"]
    if proof["holds"]:
        quiet, loud = (proof["below"], proof["above"]) if proof["by"] == "attempts" else (0.0, 1 - proof["above"])
        assert quiet <= 0.002 < loud
        assert proof["load"] is None or proof["load"] == pytest.approx(1, abs=0.1)


@pytest.mark.long("proofs")
@pytest.mark.parametrize(("sample", "seconds"), HOT.items())
def test_keys_that_are_rejected_are_throttled_as_predicted_and_those_advised_are_not(
    sample: str, seconds: float
) -> None:
    request = replace(request_of(sample), duration_s=seconds, audited_requests=0)
    document = stress(request, SilentProgress())
    (table,) = document["tables"]
    current, recommended = table["designs"]
    assert (current["label"].split(", ")[0], recommended["label"]) == ("current", "recommended")

    (said,) = (term["value"] for term in current["scheme"]["terms"] if term["name"] == "throttled at peak")
    assert current["scheme"]["hot_partition"]["verdict"] == "hot-partition" and said > 0.05
    (throttled,) = (m for m in current["prediction"]["load"] if m["name"] == "throttled there")
    assert throttled["predicted"] > 0.05 and abs(throttled["error"]) <= 0.05
    assert throttled["measured"] == pytest.approx(said, rel=0.05), "what was said before anything was run"

    warm, cold = recommended["runs"]
    assert (warm["state"], cold["state"]) == ("warmed up", "cold start")
    assert warm["throttled_share"] <= 0.002 and table["verdict"]["bears"]
    assert current["runs"][0]["throttled_share"] > 0.05
    assert cold["attempts"] >= cold["requests"] > 0 and cold["timeline"]["throttled_per_s"]
    if cold["throttled_share"] > 0.05:
        assert "as a new table it loses" in table["verdict"]["sentences"][1]

    for design in (current, recommended):
        for proof in design["prediction"]["breaks"]:
            print(f"{sample:10} {design['label']:12} {proof['sentence']}")
            check(proof)
            assert proof["holds"] is not False


@pytest.mark.long("proofs")
def test_limits_that_are_proved_on_a_part_of_the_keys() -> None:
    """320 of 87,000 documents: one design is bound by a partition, the others by the account."""
    found = list(proofs("documents", ranked=0))
    for proof in found:
        check(proof)
    assert {proof["cause"] for proof in found} == {breaks.PARTITION, breaks.ACCOUNT}
    assert all(proof["holds"] for proof in found)


@pytest.mark.long("proofs")
def test_nine_of_ten_printed_factors_are_proved() -> None:
    found = [proof for sample in SAMPLES for proof in proofs(sample)]
    for proof in found:
        check(proof)
    held = sum(bool(proof["holds"]) for proof in found)
    print(f"{held} of {len(found)} pairs")
    assert len(found) >= 50 and held >= BAR * len(found)
