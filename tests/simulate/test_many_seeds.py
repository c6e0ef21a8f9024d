"""Long runs: 2,000 new seeds, and each planted mistake from scratch; by hand ``python -m tests.simulate``."""

from __future__ import annotations

import pytest

from tests.simulate.__main__ import look_for
from tests.simulate.planted import BUGS
from tests.simulate.run import simulate

FIRST = 1_000
"""Behind the fixed seeds and those that are known to show a planted mistake."""
SEEDS, BLOCK = 2_000, 50

pytestmark = pytest.mark.long("simulation")


@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_new_seeds_have_no_violation(first: int) -> None:
    reports = [simulate(seed) for seed in range(first, first + BLOCK)]
    assert not [f"seed {report.seed}: {report.violation}" for report in reports if report.violation]
    assert all(report.judged for report in reports)


@pytest.mark.parametrize("number", range(len(BUGS)), ids=lambda number: BUGS[number].name)
def test_a_planted_mistake_is_found_from_scratch(number: int) -> None:
    seed, tried, _ = look_for(number, FIRST)
    assert seed is not None, f"none of {tried} seeds shows it"
