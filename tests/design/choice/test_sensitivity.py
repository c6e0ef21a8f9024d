"""How far the verdict hangs on what is assumed: each number moves alone, within what it may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.choice.certainty.flips import HORIZON, again, sensitivity
from pkadvisor.design.choice.goals import ranked
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.limits import NAMES, Limits, default_limits, load_limits
from pkadvisor.observe.workload import Growth
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query


@given(name=st.sampled_from(NAMES), factor=st.floats(0.01, 100))
def test_one_number_moves_and_every_relation_holds(name: str, factor: float) -> None:
    before = default_limits()
    after = before.with_value(name, before.of(name).value * factor)
    assert after.check() == ()
    assert after.of(name).value == getattr(after, name)
    moved = [n for n in NAMES if getattr(after, n) != getattr(before, n)]
    assert moved in ([], [name])
    assert (after is before) == (not moved)
    assert [replace(e, value=0.0) for e in after.entries] == [replace(e, value=0.0) for e in before.entries]
    assert type(getattr(after, name)) is type(getattr(before, name))


def assumed(tmp_path: Path, value: float) -> Limits:
    """The published limits, but for the target of a partition, which somebody guessed."""
    path = tmp_path / "guess.toml"
    path.write_text(f"partition_entities_per_s = {value}\n")
    return load_limits(path)


def two_schemes() -> tuple[list[KeyScheme], Bench]:
    """Few tenants read alone or in buckets: at 1,000 reads a second of one tenant in two."""
    columns = {"tenant": [f"t{i % 2}" for i in range(400)], "n": list(range(400))}
    population = population_of(columns, {"tenant": EdmType.STRING, "n": EdmType.INT32})
    bench = bench_of(population, query("one", "tenant eq '{tenant}' and n eq {n}", rate=1_000.0))
    schemes = [KeyScheme(parse_key(p, "{pad(n,3)}")) for p in ("{tenant}", "{tenant}_{hash(n,8)}")]
    return schemes, bench


@pytest.mark.parametrize(("target", "matters"), [(2_000, True), (200_000, False)])
def test_what_a_guessed_target_decides_is_said(tmp_path: Path, target: int, matters: bool) -> None:
    """500 reads a second of a tenant, 1,500 at the horizon: at 2,000 it holds, at half of it not."""
    schemes, bench = two_schemes()
    bench = replace(bench, limits=assumed(tmp_path, target))
    pool = ranked([estimate(s, bench) for s in schemes])
    found = sensitivity(pool, bench, pool, kept=False)
    mine = [s for s in found.shifts if s.name == "partition_entities_per_s"]
    for shift in mine:
        assert shift.basis == "assumed" and shift.value == target and shift.tried in (target / 2, target * 2)
        changed = replace(bench, limits=bench.limits.with_value(shift.name, shift.tried))
        fresh = [again(c, changed) for c in pool]
        winner = ranked(fresh)[0].scheme.text
        assert shift.winner == (winner if winner != pool[0].scheme.text else None)
        feasible = {c.scheme.text: c.feasible for c in fresh}
        assert all(feasible[text] == holds for text, holds in shift.constraints)
        assert shift.winner is not None or shift.constraints
    assert any(s.tried < target for s in mine) == matters
    published = {e.name for e in bench.limits.entries if e.basis in ("published", "measured")}
    assert not {s.name for s in found.shifts} & published


def test_every_assumed_number_is_counted_once(tmp_path: Path) -> None:
    schemes, bench = two_schemes()
    pool = ranked([estimate(s, bench) for s in schemes])
    found = sensitivity(pool, bench, pool, kept=False)
    varied = {e.name for e in default_limits().entries if e.basis in ("assumed", "derived")}
    assert found.unchanged + len({s.name for s in found.shifts}) in (len(varied) + 1, len(varied))
    grown = replace(bench, workload=replace(bench.workload, growth=Growth(1.2)))
    declared = sensitivity([again(c, grown) for c in pool], grown, pool, kept=False)
    assert HORIZON not in {s.name for s in declared.shifts}


def test_the_assumed_horizon_is_varied() -> None:
    """500 a second × 3 holds 2,000; × 6 does not."""
    schemes, bench = two_schemes()
    pool = [estimate(schemes[0], bench)]
    found = sensitivity(pool, bench, pool, kept=False)
    assert pool[0].feasible
    (shift,) = [s for s in found.shifts if s.name == HORIZON]
    assert (shift.value, shift.tried) == (3.0, 6.0)
    assert shift.constraints == ((schemes[0].text, False),)
