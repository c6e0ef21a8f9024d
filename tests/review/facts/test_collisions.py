"""How many entities find their key taken: the formula against arrivals drawn at random."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.rows.arrivals import expected_in_sample
from pkadvisor.review.facts.keys import collisions_per_day

DAY_S = 86_400.0


def _drawn(rates: list[float], slot_s: float, seed: int) -> int:
    """Entities of one day that come in a slot of their group in which another came."""
    draw = random.Random(seed)
    taken = 0
    for rate in rates:
        seen: set[int] = set()
        at = draw.expovariate(rate)
        while at < DAY_S:
            slot = int(at // slot_s)
            taken += slot in seen
            seen.add(slot)
            at += draw.expovariate(rate)
    return taken


@pytest.mark.parametrize(
    ("rates", "slot_s"),
    [([0.1], 1.0), ([0.5, 0.01, 0.01], 1.0), ([0.02] * 5, 60.0), ([2.0], 1.0), ([0.01], 3600.0)],
)
def test_the_formula_gives_what_arrivals_at_random_give(rates: list[float], slot_s: float) -> None:
    expected = collisions_per_day([(1.0, rate) for rate in rates], slot_s)
    found = sum(_drawn(rates, slot_s, seed) for seed in range(3)) / 3
    assert abs(found - expected) < 5 * math.sqrt(expected / 3) + 1


@given(st.floats(1e-9, 1e3), st.floats(1, 1e5), st.floats(1.0, 100.0))
def test_more_entities_collide_more_and_never_more_than_come(rate: float, slot_s: float, times: float) -> None:
    few, many = (collisions_per_day([(1.0, r)], slot_s) for r in (rate, rate * times))
    assert 0 <= few <= many * (1 + 1e-9)
    assert many <= rate * times * DAY_S * (1 + 1e-9)


@given(st.floats(0.5e-4, 2e-4))
def test_where_the_two_ways_to_compute_it_meet_they_agree(mean: float) -> None:
    exact = sum((k - 1) * math.exp(-mean) * mean**k / math.factorial(k) for k in range(2, 8))
    assert math.isclose(collisions_per_day([(1.0, mean)], 1.0), exact * DAY_S, rel_tol=1e-6)


@given(st.floats(1e-3, 10), st.integers(1, 500))
def test_groups_share_nothing(rate: float, groups: int) -> None:
    apart = collisions_per_day([(float(groups), rate / groups)], 1.0)
    together = collisions_per_day([(1.0, rate)], 1.0)
    assert apart <= together * (1 + 1e-9)
    assert math.isclose(apart, groups * collisions_per_day([(1.0, rate / groups)], 1.0), rel_tol=1e-9)


def test_as_many_entities_as_slots_leave_a_share_of_one_in_e() -> None:
    assert math.isclose(expected_in_sample([(2.0, 1000.0)], 1000.0), 2 * 1000 / math.e, rel_tol=1e-12)
    assert expected_in_sample([(2.0, 1000.0)], 0.0) == 0.0
