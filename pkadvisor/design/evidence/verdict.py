"""The verdict on a section: what its ranking says, if what that rests on carries it."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.evidence.given import Ground

NOT_ENOUGH, HEAT_ONLY = "not_enough", "heat_only"


def verdict_of(judged: Judged, grounds: Sequence[Ground]) -> str:
    """The verdict in a word.

    keep or change (the keys in place), choose (none are in place), unsatisfied (no scheme holds), not_enough (a ground
    does not carry, or keys could not be judged), heat_only (a log without data, or the profile of one).
    """
    ranked = ranking_says(judged)
    if ranked is None:
        section = judged.section
        log = section.traffic is not None or section.workload is not None
        return HEAT_ONLY if log and section.data is None else NOT_ENOUGH
    return ranked if all(ground.carries for ground in grounds) else NOT_ENOUGH


def ranking_says(judged: Judged) -> str | None:
    """keep, change, choose or unsatisfied, if all that was given is right; None where keys could not be judged."""
    advice = judged.advice
    if advice is None:
        return None
    if any(not v.assumed for v in advice.recommended.violations):
        return "unsatisfied"
    if advice.current is None:
        return "choose"
    return "keep" if advice.keep else "change"


def weakest(grounds: Sequence[Ground]) -> Ground | None:
    """Of the grounds that do not carry, the one that most of the load rests on; the first of several alike."""
    return max((g for g in grounds if not g.carries), key=lambda g: g.rests, default=None)
