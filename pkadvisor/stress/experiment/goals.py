"""Whether a run keeps its goals: those of the command line, and the latencies that a design file promises."""

from __future__ import annotations

from pkadvisor.documents.part import word
from pkadvisor.documents.stress import StressDesign, StressTableGoal, StressTableGoalDesign
from pkadvisor.documents.stress_run import StressCounts
from pkadvisor.stress.experiment.pass_criteria import QUIET_SHARE
from pkadvisor.stress.experiment.request import Goal

USUAL = (Goal("throttled", QUIET_SHARE),)
"""What a load must keep where nobody says what it must: next to nothing is turned away."""


LEAVES = {"p50": 0.5, "p99": 0.01, "p99.9": 0.001}
"""Share of requests that may take longer than a quantile."""


def measured(goal: Goal, run: StressCounts) -> float | None:
    """What a run says of a goal; None where nothing was served, so that there is no latency."""
    if goal.name.startswith("p"):
        latency: float | None = getattr(run, f"latency_ms_{goal.name.replace('.', '_')}")
        return None if latency is None else float(latency)
    return float(getattr(run, f"{goal.name}_share"))


def met(goal: Goal, run: StressCounts) -> bool:
    """Whether a run keeps it. Where every request is lost no latency is kept; where none came all are.

    Latencies are of requests that were served. One that is lost has taken longer than any goal: where more are lost
    than the quantile leaves, it is missed whatever the others took.
    """
    value = measured(goal, run)
    if value is None:
        return run.requests == 0
    if goal.name in LEAVES and run.lost_share > LEAVES[goal.name]:
        return False
    return value <= goal.most


def goals_of(goals: tuple[Goal, ...], declared: dict[str, float], designs: list[StressDesign]) -> list[StressTableGoal]:
    """Every goal with what each design measured, warmed up. ``declared``: p99 in ms by class, which never decide.

    The last design decides the exit code: it is the one that is proposed.
    """
    out = []
    for goal in goals:
        marks = [_mark(d, goal, d.runs[0], d is designs[-1]) for d in designs]
        out.append(
            StressTableGoal(name=word(goal.name), query=None, most=goal.most, unit=word(goal.unit), designs=marks)
        )
    for name, most in declared.items():
        goal = Goal("p99", most)
        marks = []
        for design in designs:
            entry = next((c for c in design.runs[0].classes if c.name == name), None)
            if entry is not None and entry.requests:
                marks.append(_mark(design, goal, entry, False))
        if marks:
            out.append(StressTableGoal(name="p99", query=name, most=most, unit="ms", designs=marks))
    return out


def _mark(design: StressDesign, goal: Goal, run: StressCounts, decides: bool) -> StressTableGoalDesign:
    return StressTableGoalDesign(label=design.label, measured=measured(goal, run), met=met(goal, run), decides=decides)


def all_met(goals: tuple[Goal, ...], run: StressCounts) -> bool:
    """Whether a run keeps all goals."""
    return all(met(goal, run) for goal in goals)
