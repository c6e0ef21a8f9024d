"""Long runs: new seeds, as many as ``PKADVISOR_SIMULATED_SEEDS`` says, and each planted mistake from scratch."""

from __future__ import annotations

import os
import sys

import pytest

from tests.simulate import __main__ as command

FIRST = 1_000
"""Behind the fixed seeds and those that are known to show a planted mistake."""

pytestmark = pytest.mark.skipif(
    not os.environ.get("PKADVISOR_SIMULATED_SEEDS"), reason="PKADVISOR_SIMULATED_SEEDS says how many seeds"
)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    processes = str(os.cpu_count() or 1)
    monkeypatch.setattr(sys, "argv", ["simulate", "--first", str(FIRST), "--processes", processes, *arguments])
    return command.main()


def test_many_seeds_have_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--events", "--seeds", os.environ["PKADVISOR_SIMULATED_SEEDS"]) == 0


def test_each_planted_mistake_is_found_from_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--planted") == 0
