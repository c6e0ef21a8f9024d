"""Runs last as long as their figures need, unless somebody says how long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pkadvisor.engine.options import SECOND
from pkadvisor.limits import load_limits
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment.notes import notes_of
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.run_duration import cold_load, lengths_of
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.load import ClassLoad, WorkloadLoad
from tests.plain import stress
from tests.stress.stressed import request_of

LIMITS = load_limits()


def load(rate: Steps, seconds: int = 600) -> WorkloadLoad:
    return WorkloadLoad((ClassLoad("c", rate, np.ones(3)),), seconds * SECOND)


def seconds_of(rate: Steps, request: StressRequest) -> tuple[float, float]:
    whole = load(rate)
    found = lengths_of(whole, whole, request, LIMITS)
    return found.warm.duration_ns / SECOND, found.cold.duration_ns / SECOND


@pytest.fixture
def asked(tmp_path: Path) -> StressRequest:
    return replace(request_of(tmp_path), duration_s=None)


def test_a_warmed_up_run_has_the_requests_for_its_p99_9_and_a_cold_start_sees_the_first_splits(
    asked: StressRequest,
) -> None:
    until_split = LIMITS.t_sustain_s + 4 * LIMITS.t_eval_s
    assert seconds_of(Steps.flat(1_000_000.0), asked) == (60, until_split)
    assert seconds_of(Steps.flat(376.0), asked) == (270, until_split)  # 100,000 ÷ 376 = 266
    assert seconds_of(Steps.flat(1.0), asked) == (600, 600)


def test_lengths_are_told_as_one_thing_of_each_design(asked: StressRequest) -> None:
    slow, quick = (lengths_of(whole, whole, asked, LIMITS).notes for whole in map(load, map(Steps.flat, (376.0, 1.0))))
    head = "runs last as long as their figures need (--duration says otherwise)"
    slower, quicker = "4 min 30 s warmed up, 6 min from a cold start", "10 min warmed up, 10 min from a cold start"
    assert notes_of({"a": slow, "b": slow}) == [f"{head}: {slower}"]
    assert notes_of({"a": slow, "b": quick}) == [f"{head}: a {slower}; b {quicker}"]


@pytest.mark.parametrize("said", [{"duration_s": 600.0}, {"faults": ("server-down@1m",)}])
def test_what_is_asked_for_is_kept(asked: StressRequest, said: dict[str, Any]) -> None:
    whole = load(Steps.flat(1000.0))
    found = lengths_of(whole, whole, replace(asked, **said), LIMITS)
    assert found.warm is whole and found.cold is whole and not found.notes


def test_a_load_that_changes_with_time_is_not_cut(asked: StressRequest) -> None:
    assert seconds_of(Steps((0, 300 * SECOND), (1000.0, 5.0)), asked) == (600, 600)


def test_a_cold_start_is_no_longer_than_a_warmed_up_run_that_fails() -> None:
    long, short = load(Steps.flat(5.0), 360), load(Steps.flat(5.0), 120)
    assert cold_load(long, short, True) is long
    assert cold_load(long, short, False).duration_ns == 120 * SECOND
    assert cold_load(short, long, False) is short


@pytest.mark.long("proofs")
def test_without_a_duration_the_document_says_how_long_each_run_was(tmp_path: Path) -> None:
    found = stress(replace(request_of(tmp_path), duration_s=None, retry="none"), SilentProgress())
    assert found["settings"]["duration_s"] is None
    [table] = found["tables"]
    assert any("as long as their figures need" in note for note in table["notes"])
    warm_s = {design["runs"][0]["duration_s"] for design in table["designs"]}
    cold_s = {design["runs"][1]["duration_s"] for design in table["designs"]}
    # 206 requests a second: 100,000 of them in 490 s, which is longer than until the first splits
    assert warm_s == cold_s == {490}
