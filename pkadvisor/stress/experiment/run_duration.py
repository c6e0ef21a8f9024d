"""How long a run lasts where nobody says: as long as its figures need, in its own time.

- *warmed up*: nothing changes any more, so it lasts for the requests that latencies up to p99.9 are told from.
- *cold start*: the figures are about the minutes before ranges are split, so it lasts until they have been. Where the
  load is too much for the warmed-up table too, no split will help: it lasts as long as the warmed-up run.

Loads that change with time keep one length for both, and so do runs with faults and runs on an endpoint.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from pkadvisor.engine.options import SECOND
from pkadvisor.limits import Limits
from pkadvisor.numbers import lasting
from pkadvisor.stress.experiment.notes import Note, OwnNote
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.load.arrivals import POISSON
from pkadvisor.stress.load.load import Load, WorkloadLoad

REQUESTS = 100_000
"""Requests of a warmed-up run, at least: 100 of them are slower than p99.9."""
WARM_LEAST_S, WARM_MOST_S = 60.0, 600.0
"""In the shortest run retries have settled (``load_measures.STEADY_S``); the longest is for loads of a few requests per
second."""
PASSES_AFTER = 4
"""Evaluations of the manager that a cold start lasts after the first one that may split."""


VERSIONS_ATTEMPTS = 300_000
"""Attempts of a run that keeps versions of entities, at the most: they are made one by one, 30,000 in a second."""
VERSIONS_LEAST_S = 10.0
"""Such a run is not made shorter than this; it keeps no versions then."""


class Lengths(NamedTuple):
    """The loads of both runs, and what there is to say of them. Of one load the cold start's is the longer one, or
    the same."""

    warm: Load
    cold: Load
    notes: tuple[Note, ...] = ()


def lengths_of(load: Load, part: Load, request: StressRequest, limits: Limits, most_s: float | None = None) -> Lengths:
    """The load at the lengths that its runs need; as it is where the command line says how long it lasts.

    ``part`` of it is what a warmed-up table is run with. ``most_s``: so long, about, where versions of entities are
    kept; None where they are not.
    """
    if request.duration_s is not None or request.faults or request.real is not None:
        return Lengths(part, load)
    if not is_steady(load):
        return Lengths(part, load)
    assert isinstance(load, WorkloadLoad) and isinstance(part, WorkloadLoad)
    per_s = part.expected() * SECOND / part.duration_ns
    warm_s = min(WARM_MOST_S, max(WARM_LEAST_S, REQUESTS / per_s))
    warm_s = math.ceil(warm_s / 10) * 10.0
    cold_s = limits.t_sustain_s + PASSES_AFTER * limits.t_eval_s
    if part is load:
        cold_s = max(warm_s, cold_s)
    if most_s is not None and most_s >= VERSIONS_LEAST_S:
        warm_s, cold_s = (min(seconds, math.floor(most_s)) for seconds in (warm_s, cold_s))
    warm, cold = replace(part, duration_ns=round(warm_s) * SECOND), replace(load, duration_ns=round(cold_s) * SECOND)
    why = OwnNote(
        "runs last as long as their figures need (--duration says otherwise)",
        f"{lasting(round(warm_s))} warmed up, {lasting(round(cold_s))} from a cold start",
    )
    return Lengths(warm, cold, (why,))


def longest_ns(lengths: Lengths) -> int:
    """Of the longer one."""
    return max(lengths.warm.duration_ns, lengths.cold.duration_ns)


def is_steady(load: Load) -> bool:
    """Whether requests come at the same rates all the time, each by chance."""
    return isinstance(load, WorkloadLoad) and all(
        len(part.rate.at_ns) == 1 and part.process == POISSON for part in load.parts
    )


def cold_load(load: Load, warm_load: Load, bears: bool) -> Load:
    """What a cold start is run with. ``bears``: whether the warmed-up table sustains the load."""
    if bears or not isinstance(load, WorkloadLoad) or load.duration_ns <= warm_load.duration_ns:
        return load
    return replace(load, duration_ns=warm_load.duration_ns)
