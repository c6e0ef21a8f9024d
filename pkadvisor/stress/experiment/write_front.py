"""Whether a run tests the write front: inserts that crowd into one range of keys, which no split relieves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.load.estimates import CostEstimate
    from pkadvisor.limits import Limits
    from pkadvisor.stress.requests.flat_steps import FlatSteps

    Floats = NDArray[np.float64]

AS_CROWDED = 0.9
"""A run tests a front where one place of the key order takes so much of the share of the inserts that is predicted."""


def front_untested(
    estimate: CostEstimate, limits: Limits, steps: FlatSteps, inserts_per_s: Sequence[float], weights: Sequence[Floats]
) -> str | None:
    """What a run does not test: inserts that crowd into one range beyond its target, where they are predicted and those
    of the run do not; None where nothing is missing.

    ``inserts_per_s``: requests/s by class, 0 for those that do not insert; ``weights`` of their parameters.
    """
    ranges = estimate.fronts.lasting(limits.lasting_s)
    if not ranges or estimate.inserts_per_s_peak / ranges <= limits.range_entities_per_s:
        return None
    if largest_share(steps, inserts_per_s, weights) * (1 + len(estimate.scheme.index_rows)) >= AS_CROWDED / ranges:
        return None
    crowd, target = estimate.inserts_per_s_peak / ranges, limits.range_entities_per_s
    return (
        f"{crowd:,.0f} entities/s are predicted to be inserted into one range of keys at the peak, against a target of "
        f"{target:,.0f}; new entities of this run do not continue in the order of arrival, so they do not crowd there"
    )


def largest_share(steps: FlatSteps, inserts_per_s: Sequence[float], weights: Sequence[Floats]) -> float:
    """The largest part of the inserted entities that one place of the key order takes, which no split divides."""
    import numpy as np

    loads = np.bincount(steps.low, steps.rates(inserts_per_s, weights) * steps.entities)
    total = float(loads.sum())
    return float(loads.max()) / total if total else 0.0
