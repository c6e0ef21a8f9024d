"""How far the verdict hangs on what is assumed: every assumed or derived number taken half and twice as large.

Only the best few of the ranking are priced again, not the whole search: a scheme that the search never looked at is not
found here either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pkadvisor.design.choice.certainty.flips import again
from pkadvisor.design.choice.goals import good_enough, ranked
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.observe.workload import Growth, GrowthOf
from pkadvisor.values import dataclass

FACTORS = (0.5, 2.0)
VARIED = ("assumed", "derived")
HORIZON = "horizon factor"
SWITCHES = ("account_counts_entities",)
"""Numbers that are 0 or 1: the other reading is tried in place of a factor."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One assumed number whose change alters the verdict: at ``tried`` in place of ``value``.

    ``winner``: the scheme that would then be first, None where it stays. ``constraints``: schemes (as texts) that would
    then hold every constraint, or no longer do, with what is so.
    """

    name: str
    basis: str
    unit: str
    value: float
    tried: float
    winner: str | None
    constraints: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What alters the verdict, how many numbers alter nothing, how many schemes were priced again."""

    shifts: tuple[Shift, ...]
    unchanged: int
    schemes: int


def sensitivity(
    pool: Sequence[CostEstimate], bench: Bench, estimates: Sequence[CostEstimate], kept: bool
) -> Sensitivity:
    """Vary every assumed number; ``pool`` are the schemes that may win, the present winner first.

    ``estimates``: the schemes of which it is said whether they still hold every constraint. ``kept``: the present
    winner is the scheme in place and stays as long as it is good enough.
    """
    winner = pool[0]

    def first(estimates: Sequence[CostEstimate]) -> str:
        best = ranked(estimates)[0]
        return winner.scheme.text if kept and good_enough(estimates[0], best) else best.scheme.text

    before = first(pool)
    shifts: list[Shift] = []
    names: dict[str, bool] = {}
    for name, basis, unit, value, tried, changed in _variants(bench):
        fresh = [again(c, changed) for c in pool]
        then = first(fresh)
        by_text = {c.scheme.text: c for c in fresh}
        held = tuple(
            (c.scheme.text, after.feasible)
            for c in estimates
            if (after := by_text.get(c.scheme.text) or again(c, changed)).feasible != c.feasible
        )
        names[name] = names.get(name, False) or then != before or bool(held)
        if then != before or held:
            shifts.append(Shift(name, basis, unit, value, tried, then if then != before else None, held))
    return Sensitivity(tuple(shifts), sum(1 for moved in names.values() if not moved), len(pool))


def _variants(bench: Bench) -> Iterator[tuple[str, str, str, float, float, Bench]]:
    """(name, basis, unit, value, value tried, the bench with it) for every assumed number and direction."""
    limits = bench.limits
    for entry in limits.entries:
        if entry.basis not in VARIED:
            continue
        tries = [1.0 - entry.value] if entry.name in SWITCHES else [entry.value * factor for factor in FACTORS]
        for tried in tries:
            changed = limits.with_value(entry.name, tried)
            if changed is not limits:
                now = changed.of(entry.name).value
                yield entry.name, entry.basis, entry.unit, entry.value, now, replace(bench, limits=changed)
    growth = bench.workload.growth
    if growth is None:
        for factor in FACTORS:
            horizon = max(1.0, bench.horizon_factor * factor)
            assumed = Growth(horizon, GrowthOf.RATE, 1.0)
            workload = replace(bench.workload, growth=assumed)
            yield HORIZON, "assumed", "x", bench.horizon_factor, horizon, replace(bench, workload=workload)
