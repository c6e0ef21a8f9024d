"""The choice against exhaustive search, its proofs, its bounds, and the sets of constraints that cannot hold."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from math import inf

import pytest
from hypothesis import HealthCheck, given, settings
from scipy import optimize

from pkadvisor.design.choice import milp
from pkadvisor.design.choice.choice import (
    Chosen,
    Cost,
    Instance,
    MismatchError,
    Statement,
    StatementPlan,
    Structure,
    best_sets,
    enumerated,
    worth,
)
from pkadvisor.design.choice.milp import Model
from pkadvisor.design.choice.programme import best_of_programme, solve
from tests.design.choices import exhaustive, generated, instances, knapsack
from tests.tiers import examples

many = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow], deadline=None)


@many
@given(instances())
def test_the_programme_equals_exhaustive_search(instance: Instance) -> None:
    found = solve(instance)
    assert found.chosen.structures == exhaustive(instance)
    assert found.gap == 0
    assert found.worth == worth(instance, found.chosen)


@settings(many, max_examples=examples(25))
@given(instances(8))
def test_the_next_best_sets_are_those_of_enumeration(instance: Instance) -> None:
    listed = [c.structures for _, c in best_sets(enumerated(instance), 3)]
    assert [s.chosen.structures for s in best_of_programme(instance, 3)] == listed


# -- by hand -----------------------------------------------------------------------------------------------------------


def two_reads(update: float = 0.0) -> Instance:
    """One main scheme that answers q badly, and a row that answers it well and costs ``update`` requests/s to keep."""
    main, row = Structure("m", "k"), Structure("m+r", "k", "m", updates=(("w", Cost(update, update)),))
    q = Statement("q", (StatementPlan(("m",), Cost(100, 5000)), StatementPlan(("m", "m+r"), Cost(10, 10))))
    return Instance((main, row), (q, Statement("w", ())))


@pytest.mark.parametrize(("update", "chosen"), [(0.0, ("m", "m+r")), (80.0, ("m", "m+r")), (91.0, ("m",))])
def test_a_row_is_worth_its_upkeep_or_is_not_there(update: float, chosen: tuple[str, ...]) -> None:
    """10 + 80 beats 100 by more than nothing, and 100 is within 10 % of 10 + 81 or more: then fewer rows win."""
    assert solve(two_reads(update)).chosen.structures == chosen


def test_below_ten_the_highest_break_factor_goes_before_the_fewest_rows() -> None:
    main = Structure("m", "k")
    row = Structure("m+r", "k", "m", eventual=True)

    def at(load: float) -> tuple[str, ...]:
        hot, cool = Cost(1, 1, 0, (("p", load),)), Cost(1, 1, 0, (("p", load / 2),))
        q = Statement("q", (StatementPlan(("m",), hot), StatementPlan(("m", "m+r"), cool)))
        return solve(Instance((main, row), (q,), (("p", 2000.0),))).chosen.structures

    assert at(200) == ("m",)
    assert at(201) == ("m", "m+r")
    assert at(600) == ("m", "m+r")


def test_the_text_decides_what_nothing_else_does() -> None:
    names = [f"{n:03d}" for n in range(40)]
    instance = Instance(tuple(Structure(n, "k") for n in reversed(names)), ())
    assert solve(instance).chosen.structures == ("000",)
    rows = tuple(Structure(f"m+{n}", "k", "m") for n in reversed(names))
    plans = (StatementPlan(("m",), Cost(9, 9)), *(StatementPlan(("m", r.name), Cost(1, 1)) for r in rows))
    for ordered in (False, True):
        statement = Statement("q", tuple(sorted(plans, key=lambda p: p.cost.requests_per_s)), ordered)
        assert solve(Instance((Structure("m", "k"), *rows), (statement,))).chosen.structures == ("m", "m+000")


# -- what is printed, and what must be noticed -------------------------------------------------------------------------


def test_a_large_instance_is_proved_within_two_percent() -> None:
    found = solve(generated(5, kinds=3, statements=12, mains=5, rows=15))
    assert found.structures == 60
    assert found.gap <= 0.02
    assert found.worth.severity == 0
    assert found == solve(generated(5, kinds=3, statements=12, mains=5, rows=15))


def test_a_limit_that_is_hit_is_told_as_a_gap() -> None:
    instance = knapsack(1, rows=20, resources=4)
    cut, whole = solve(instance, nodes_max=1), solve(instance)
    assert cut.nodes < whole.nodes
    assert whole.gap <= 0.02 < cut.gap
    first, proved = (next(s for s in found.stages if s.goal == "requests") for found in (cut, whole))
    assert first.gap > proved.gap
    assert first.value * (1 - first.gap) <= proved.value <= first.value


def test_a_programme_that_forgets_what_a_plan_needs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    links = milp.links

    def loose(model: milp.Model) -> list[tuple[milp.Row, float, float]]:
        plans = {c for columns in model.x for c in columns}
        return [r for r in links(model) if not (plans & r[0].keys() and min(r[0].values()) < 0)]

    monkeypatch.setattr(milp, "links", loose)
    with pytest.raises(MismatchError, match="no plan over the chosen structures"):
        solve(two_reads(80.0))


def test_a_programme_that_forgets_updates_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milp, "upkeep", lambda structure: [])
    with pytest.raises(MismatchError, match="requests: the solve says"):
        solve(two_reads(80.0))


def test_a_set_that_answers_nothing_has_no_worth() -> None:
    instance = two_reads()
    for chosen, message in (
        (Chosen(("m+r",), (1, -1)), "not one main scheme"),
        (Chosen(("m",), (1, -1)), "no plan"),
    ):
        with pytest.raises(MismatchError, match=message):
            worth(instance, chosen)
    with pytest.raises(ValueError, match="unknown structure 'z'"):
        Instance((Structure("m", "k"),), (Statement("q", (StatementPlan(("z",), Cost()),)),))
    with pytest.raises(ValueError, match="no capacity for 'p'"):
        Instance((Structure("m", "k"),), (Statement("q", (StatementPlan(("m",), Cost(loads=(("p", 1.0),))),)),))


def test_a_set_that_a_solve_accepted_by_rounding_stays_possible() -> None:
    model = Model(Instance((Structure("m", "k"), Structure("n", "k")), ()), 100)
    first, second = model.y["m"], model.y["n"]
    model.most({first: 1.0}, 1.0 - 4e-7)
    model.most({second: 1.0}, 0.5)
    model.admit([1.0, 0.0, 0.0])
    (by_rounding, _, high), (by_half, _, kept) = model.rows[-2:]
    assert high >= by_rounding[first]
    model.admit([0.0, 1.0, 0.0])
    assert kept < by_half[second] and model.rows[-1][2] == kept, "what no rounding explains stays forbidden"
    found = model.solve({second: 1.0})
    assert found.values is not None and found.values[first] > 0.5


@pytest.mark.parametrize("without_presolve", [True, False])
def test_a_solver_that_calls_an_accepted_set_impossible_is_not_believed(
    without_presolve: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Presolve may: the same set is found without it; where that fails as well the set stays, and nothing is proved."""
    _solved_by_a_mistaken_solver(two_reads(80.0), 2, without_presolve, monkeypatch)


def test_the_set_that_misses_constraints_least_is_an_accepted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever presolve says of the bound that this very set has told."""
    upkeep = (("w", Cost(loads=(("disk", 400.0),))),)
    structures = (Structure("m", "k", updates=upkeep), Structure("m+r", "k", "m"))
    never = replace(two_reads(), structures=structures, capacities=(("disk", 100.0),))
    _solved_by_a_mistaken_solver(never, 3, True, monkeypatch)


def _solved_by_a_mistaken_solver(
    instance: Instance, right: int, without_presolve: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many right answers the solver calls everything impossible, at least with presolve."""
    expected, exact = solve(instance), optimize.milp
    asked: list[bool] = []

    def mistaken(*args: object, options: dict[str, object] | None = None, **more: object) -> object:
        found = exact(*args, options=options, **more)
        asked.append((options or {}).get("presolve", True) is True)
        if len(asked) > right and (asked[-1] or not without_presolve):
            found.x, found.status = None, milp.INFEASIBLE
        return found

    monkeypatch.setattr(optimize, "milp", mistaken)
    found = solve(instance)
    assert not all(asked)
    if without_presolve:
        assert (found.chosen, found.gap) == (expected.chosen, 0.0)
    else:
        assert found.gap == inf
        assert found.worth.severity == expected.worth.severity


def test_what_the_solver_prints_does_not_reach_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    stdout = ctypes.c_void_p.in_dll(milp._LIBC, "stdout")
    milp._LIBC.setvbuf(stdout, None, 0, 4096)  # in whole blocks, as where it is a file and Python runs without -u
    sys.stdout.write("before\n")
    with milp.unprinted():
        milp._LIBC.puts(b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();")
    sys.stdout.write("after\n")
    milp._LIBC.fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"
