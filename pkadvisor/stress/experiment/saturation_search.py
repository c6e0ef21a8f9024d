"""The highest load that still meets the goals, and what binds above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import convert

from pkadvisor.documents.part import number
from pkadvisor.documents.stress_run import StressRun
from pkadvisor.report.documents.values import Shown
from pkadvisor.stress.experiment.goals import USUAL, all_met, met
from pkadvisor.stress.experiment.runs import run_on_own_map
from pkadvisor.stress.experiment.stress_result import run_json
from pkadvisor.stress.experiment.verdict import BOUNDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pkadvisor.stress.experiment.prepared_design import PreparedDesign
    from pkadvisor.stress.experiment.request import StressRequest
    from pkadvisor.stress.load.load import Load
    from pkadvisor.stress.requests.retry import RetryPolicy

SECONDS = 60.0
REQUESTS_MAX = 2_000_000
PRECISION = 0.01
FACTOR_MAX = 1e6


def limit_of(
    prepared: PreparedDesign,
    request: StressRequest,
    policy: RetryPolicy,
    load_at: Callable[[PreparedDesign, float, float], Load],
) -> dict[str, Any]:
    """Bisection on the factor of the load, each on the map that it warms up to, to one percent.

    ``binds``: the target that turned most away at the lowest load that missed a goal, or the goal itself where nothing
    was turned away.
    """
    goals = request.goals or USUAL

    def run_at(factor: float) -> StressRun:
        seconds = min(SECONDS, REQUESTS_MAX / max(1e-9, factor * prepared.offered_per_s))
        run = run_on_own_map(
            prepared, request, policy, prepared.own_part(load_at(prepared, factor, seconds)), prepared.scripts
        )
        figures = run_json(run, prepared.scripts.space, prepared.limits, Shown(False))
        return convert({"state": "", **figures}, StressRun)

    good, bad, failed = 0.0, 1.0, run_at(1.0)
    while all_met(goals, failed) and bad < FACTOR_MAX:
        good, bad = bad, bad * 2
        failed = run_at(bad)
    if all_met(goals, failed):
        return {"factor": number(bad), "requests_per_s": number(bad * prepared.whole_per_s), "binds": ""}
    while bad - good > PRECISION * bad:
        middle = (good + bad) / 2
        run = run_at(middle)
        if all_met(goals, run):
            good = middle
        else:
            bad, failed = middle, run
        if bad < 1e-6:
            break
    by = failed.throttled_by
    binds = max(by, key=lambda name: (by[name], name)) if by else ""
    missed = next((goal.name for goal in goals if not met(goal, failed)), "")
    return {
        "factor": number(good),
        "requests_per_s": number(good * prepared.whole_per_s),
        "binds": BOUNDS[binds] if binds else f"{missed} of the service itself",
    }
