"""The account's targets against the sum of all kinds and tables, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.design.choice.goals import missed_by
from pkadvisor.design.choice.several_kinds.account import AccountLoad, account_loads, bench_beside
from pkadvisor.design.cost.cost import beside, estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.breaks import ACCOUNT
from pkadvisor.design.load.estimates import Bench, CostEstimate, Violation
from pkadvisor.limits import load_limits
from pkadvisor.observe.workload import Growth, GrowthOf, Rate
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

LIMITS = load_limits()
KEYS = KeyScheme(parse_key("{pad(id,5)}", ""))


def kind(name: str, per_s: float, growth: Growth | None = None) -> tuple[str, Bench, CostEstimate]:
    """A kind of 500 entities that are read by their key; 20,000 requests/s are the account's target."""
    population = population_of({"id": list(range(500))}, {"id": EdmType.INT32})
    bench = bench_of(population, query("one", "id eq {id}", rate=per_s))
    bench = replace(bench, workload=replace(bench.workload, growth=growth))
    return name, bench, estimate(KEYS, bench)


def requests(*kinds: tuple[str, Bench, CostEstimate], saved_per_s: float = 0.0) -> AccountLoad:
    return next(load for load in account_loads(kinds, LIMITS, saved_per_s) if load.cause == ACCOUNT)


def test_three_kinds_that_hold_alone_pass_the_target_together() -> None:
    kinds = [kind(name, per_s) for name, per_s in (("a", 7_000.0), ("b", 9_000.0), ("c", 5_000.0))]
    load = requests(*kinds)
    assert load.measured == pytest.approx(21_000)
    assert load.break_factor == pytest.approx(20 / 21)
    assert [of.name for of, _ in load.shares] == ["b", "a", "c"]
    over = load.violation()
    assert over is not None
    assert (over.code, over.assumed, over.measured) == ("account", False, pytest.approx(21_000))
    assert "b 9,000, a 7,000, c 5,000" in over.message


def test_the_others_are_added_at_the_worst_minute_of_each_scheme() -> None:
    """100/s of 2 requests at noon, 1/s else; another has 900/s at night: 902. Of 16 requests: 1,601 at noon."""
    types = {"id": EdmType.INT32, "day": EdmType.INT32}
    rows = {"id": list(range(500)), "day": [n % 5 for n in range(500)]}
    noon, night = Rate(1.0, 100.0, peak_at=(720, 780)), Rate(1.0, 900.0, peak_at=(0, 60))
    mine = bench_of(population_of(rows, types), replace(query("of-day", "day eq {day}"), rate=noon))
    other = bench_of(population_of(rows, types), replace(query("one", "id eq {id}"), rate=night))
    spread, together = (KeyScheme(parse_key(f"{{hash(id,{n})}}", "{pad(day,1)}_{pad(id,5)}")) for n in (16, 2))
    first = estimate(together, mine)
    loads = account_loads([("mine", mine, first), ("other", other, estimate(KEYS, other))], LIMITS)
    load = next(load for load in loads if load.cause == ACCOUNT)
    assert load.measured == pytest.approx(900 + 2)
    for scheme, worst in ((together, 900 + 2), (spread, 1600 + 1)):
        found = estimate(scheme, mine)
        own = next(b.measured for b in found.breaks if b.cause == ACCOUNT)
        assert bench_beside(mine, found, loads, "mine").beside[ACCOUNT] == pytest.approx(worst - own)


def test_growth_that_nobody_declared_is_marked_as_assumed() -> None:
    """15,000 requests/s hold; three times as many, which is assumed, do not. Twice one kind's 5,000 reach the target,
    and three times pass it."""
    alone = requests(*(kind(name, 5_000.0) for name in "abc")).violation()
    assert alone is not None
    assert alone.assumed
    assert "(assumed growth)" in alone.message
    twice, thrice = (Growth(factor, GrowthOf.RATE, 1.0) for factor in (2.0, 3.0))
    others = [kind(name, 5_000.0) for name in "bc"]
    reached = requests(kind("a", 5_000.0, twice), *others).violation()
    passed = requests(kind("a", 5_000.0, thrice), *others).violation()
    assert reached is not None
    assert reached.assumed
    assert passed is not None
    assert not passed.assumed


def test_what_group_transactions_over_kinds_save_is_taken_off() -> None:
    kinds = [kind(name, 9_000.0) for name in "abc"]
    assert requests(*kinds, saved_per_s=9_000.0).measured == pytest.approx(18_000)
    assert requests(*kinds[:1]).violation() is not None  # 27,000 after the assumed growth
    assert requests(kind("a", 6_000.0)).violation() is None


def test_what_others_bring_leaves_the_constraints_that_schemes_are_ranked_by() -> None:
    """9,000 requests/s that grow by three miss the target of the account, with or without another kind beside it."""
    name, bench, alone = kind("a", 9_000.0, Growth(3.0, GrowthOf.RATE, 1.0))
    loads = account_loads([(name, bench, alone), kind("b", 100.0)], LIMITS)
    shared = bench_beside(bench, alone, loads, name)
    assert missed_by(alone.violations)[0] == pytest.approx(1.35)
    for again in (beside(alone, shared), estimate(KEYS, shared)):
        assert again.break_factor < alone.break_factor
        assert missed_by(again.violations) == missed_by(alone.violations)


def test_growth_that_nobody_declared_misses_no_constraint() -> None:
    declared = Violation("account", "", 30_000.0, 20_000.0, "requests/s", 1.5, False)
    assumed = Violation("hot-partition", "", 1_000.0, 2_000.0, "entities/s", 1.2, True)
    assert missed_by([assumed]) == ()
    assert missed_by([declared, assumed]) == missed_by([declared]) == (1.5,)
