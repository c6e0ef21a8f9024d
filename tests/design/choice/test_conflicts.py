"""The smallest set of constraints that no design holds together, against a search over all sets."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.choice.conflicts import (
    Constraint,
    broken_by,
    conflicts_among,
    conflicts_in,
    said,
    smallest_conflict,
)
from pkadvisor.design.load.estimates import Violation
from pkadvisor.limits import default_limits
from tests.design.choice.test_search import candidate

NAMES = [Constraint(c) for c in "abcde"]
broken_sets = st.lists(st.frozensets(st.sampled_from(NAMES), max_size=4), min_size=1, max_size=6)


@given(broken_sets)
def test_it_is_the_smallest_set_that_every_design_breaks_somewhere(broken: list[frozenset[Constraint]]) -> None:
    hitting = [
        chosen
        for size in range(1, len(NAMES) + 1)
        for chosen in combinations(NAMES, size)
        if all(each & set(chosen) for each in broken)
    ]
    found = smallest_conflict(broken)
    assert bool(found) == bool(hitting)
    if found:
        assert all(each & set(found) for each in broken)
        assert all(not all(each & (set(found) - {one}) for each in broken) for one in found)
        if len(hitting[0]) <= 3:
            assert len(found) == len(hitting[0])


@given(broken_sets)
def test_conflicts_share_no_constraint_and_leave_some_design_without_any(broken: list[frozenset[Constraint]]) -> None:
    found = conflicts_in(broken)
    named = [c for conflict in found for c in conflict]
    assert len(named) == len(set(named))
    assert any(not each - set(named) for each in broken)
    assert bool(found) == all(broken)


def test_a_design_that_holds_everything_is_no_conflict() -> None:
    bad = candidate("{c}", severity=2.0)
    assert conflicts_among([bad, candidate()]) == ()


def violated(*codes: str, severity: float = 2.0, subject: str = "") -> tuple[Violation, ...]:
    return tuple(Violation(c, c, 1.0, 1.0, "x", severity, subject=subject) for c in codes)


def test_the_best_design_without_each_constraint_is_shown() -> None:
    atomic_hot = replace(candidate("{a}", requests=10), violations=violated("hot-partition", severity=3.5))
    atomic_hotter = replace(candidate("{b}", requests=10), violations=violated("hot-partition", severity=9.0))
    spread = replace(candidate("{c}", requests=20), violations=violated("transaction-broken", subject="pay"))
    (conflict,) = conflicts_among([atomic_hotter, spread, atomic_hot])
    assert [(c.code, c.name) for c in conflict.constraints] == [("hot-partition", ""), ("transaction-broken", "pay")]
    assert [r.design for r in conflict.relaxed] == [atomic_hot, spread]
    assert conflict.relaxed[0].severity == pytest.approx(3.5)


def test_growth_that_nobody_declared_is_no_conflict() -> None:
    assumed = replace(violated("hot-partition")[0], assumed=True)
    assert broken_by(replace(candidate(), violations=(assumed,))) == {}
    assert conflicts_among([replace(candidate(), violations=(assumed,))]) == ()


def test_constraints_are_said_with_their_numbers_and_names() -> None:
    limits = default_limits()
    assert (
        said(Constraint("transaction-broken", "pay"), limits)
        == "every set of transaction 'pay' is one group transaction"
    )
    assert "2,000" in said(Constraint("hot-partition"), limits)
    assert said(Constraint("some-new-code"), limits) == "some new code"
