"""The break factor that the model printed, proved: quiet a little below it, throttled a little above."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pkadvisor.design import breaks
from pkadvisor.observe.workload import GrowthOf
from pkadvisor.report.page import percent, ratio
from pkadvisor.report.result import number
from pkadvisor.stresser.runs import WARM, run_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pkadvisor.design.estimates import Break
    from pkadvisor.stress.load import Load
    from pkadvisor.stresser.request import StressRequest
    from pkadvisor.stresser.stand import Stand

BELOW, ABOVE = 0.9, 1.1
SECONDS = 60.0
REQUESTS_MAX = 1_000_000
"""Requests of one proof run, at most: above it the run is shorter."""
QUIET = 0.002
"""Share of attempts turned away up to which a run is quiet: chance puts more than the mean into a second."""
NOT_ENFORCED = {
    breaks.ENTITY: "updates of one entity fail by their ETag, not by a target",
    breaks.SCANS: "no target of the service limits entities per second of an account",
}


def rate_break(stand: Stand) -> Break | None:
    """The first limit that a growing rate passes; None where none does."""
    found = [b for b in stand.design.estimate.breaks if GrowthOf.RATE in b.by and math.isfinite(b.factor)]
    return min(found, key=lambda b: b.factor, default=None)


def proof_of(
    stand: Stand, request: StressRequest, load_at: Callable[[Stand, float, float], Load]
) -> dict[str, Any] | None:
    """The proof; None where nothing breaks under a growing rate. ``load_at(stand, factor, seconds)`` makes a load."""
    from pkadvisor.engine.capacity.capacity import Enforcement
    from pkadvisor.stress.retry import policy_of

    found = rate_break(stand)
    if found is None:
        return None
    out: dict[str, Any] = {
        "cause": found.cause,
        "resource": found.resource,
        "factor": number(found.factor),
        "below": None,
        "above": None,
        "holds": None,
    }
    if found.cause in NOT_ENFORCED:
        out["sentence"] = (
            f"breaks at {ratio(found.factor)} ({found.cause}): not to be proved here, {NOT_ENFORCED[found.cause]}"
        )
        return out
    if found.factor <= 0:
        out["sentence"] = f"is above its limit whatever the rate ({found.cause})"
        return out
    strict = replace(request, enforcement=Enforcement.STRICT)
    shares = []
    for times in (BELOW, ABOVE):
        factor = times * found.factor
        seconds = min(SECONDS, REQUESTS_MAX / max(1e-9, factor * stand.offered_per_s))
        run = run_of(stand, strict, policy_of("none"), state=WARM, load=load_at(stand, factor, seconds), living=False)
        attempts = sum(c.attempts for c in run.classes.values())
        throttled = sum(sum(c.throttled.values()) for c in run.classes.values())
        shares.append(throttled / attempts if attempts else 0.0)
    below, above = shares
    out |= {"below": number(below), "above": number(above), "holds": below <= QUIET < above}
    verb = "holds" if out["holds"] else "DOES NOT HOLD"
    out["sentence"] = (
        f"breaks at {ratio(found.factor)} ({found.cause}): {percent(below)} throttled at 0.9 of that, "
        f"{percent(above)} at 1.1: {verb}"
    )
    return out
