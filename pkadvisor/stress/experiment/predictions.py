"""What the model said beforehand, compared with what was counted and measured."""

from __future__ import annotations

from pkadvisor.design.load.estimates import ClassCost
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.documents.part import number
from pkadvisor.documents.stress_run import StressLoad, StressMeasure, StressPredictionClass
from pkadvisor.numbers import amount
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.requests.expected import Means, means_of

READ_TOLERANCE = 0.05
"""Entities read are predicted by sampled selectivity; everything else is counted and must be equal."""
LOAD_TOLERANCE = 0.05
"""Of what is predicted of a run: of the hottest partition its load, what is turned away there, where it saturates."""
SHARE_LEAST = 0.01
"""Beside a predicted share of attempts: the law is one of means, a burst is not."""
ACROSS_RANGES = (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN)
EQUAL = 1e-6
RANGE_ENDS = "on one range; where a table has several, {} more for the ends of ranges"
"""What is said of a scan over several PartitionKeys."""
WHOLE_TABLE = "in the sampled data; 'advisor analyze' and the runs count the whole table: {} entities read"
"""What is said of a class that reads more in the table than in the data that stand for it."""


def class_predictions(prepared: PreparedDesign) -> list[StressPredictionClass]:
    """Per request of each class: what the plan was said to send, and what its script sends, on the data as it is."""
    predicted = {cost.name: cost for cost in prepared.design.of_sample.classes}
    whole = {cost.name: cost for cost in prepared.design.estimate.classes}
    out = []
    for number_, name in enumerate(prepared.programs.classes):
        if not prepared.weights[number_]:
            continue
        cost, means = predicted[name], means_of(prepared.unscaled, number_, prepared.weights[number_])
        tolerance = EQUAL if prepared.compared_all else READ_TOLERANCE
        measures = [_measure(*entry) for entry in _pairs(cost, means, tolerance)]
        notes = [RANGE_ENDS.format(amount(cost.range_ends))] if cost.range_ends else []
        if amount(whole[name].entities_read) != amount(cost.entities_read):
            notes.append(WHOLE_TABLE.format(amount(whole[name].entities_read)))
        agrees = all(measure.agrees for measure in measures)
        out.append(StressPredictionClass(name=name, agrees=agrees, measures=measures, note="; ".join(notes)))
    return out


def _pairs(cost: ClassCost, means: Means, tolerance: float) -> list[tuple[str, float, float, float]]:
    """(measure, predicted, measured, tolerance). What is sent is recorded on one range: requests behind the ends of
    ranges are left out of what is compared; runs send them."""
    ends = cost.range_ends
    requests, entities, exactly = cost.requests - ends, cost.entities_read, tolerance
    if cost.attempts > 1:
        # A script is what one request sends alone: lost races of a read-modify-write are no part of it. What is read
        # again is told in the mean of all parameters, so it is the same for each only where one entity is named.
        requests = cost.requests_locate / cost.attempts + cost.requests_write + cost.requests_after - ends
        entities = cost.entities_read / cost.attempts
        if cost.plan is not None and cost.plan.access is not Access.POINT:
            exactly = READ_TOLERANCE
    # A request that finds nothing counts as one entity toward the targets.
    examined = max(means.entities_read, min(1.0, entities))
    return [
        ("requests", requests, means.requests, exactly),
        ("further pages", max(0.0, cost.continuations - ends), means.continued, exactly),
        ("entities read", entities, examined, READ_TOLERANCE),
        ("entities written", cost.entities_written, means.entities_written, tolerance),
    ]


def _measure(name: str, predicted: float, measured: float, tolerance: float) -> StressMeasure:
    return StressMeasure(
        name=name,
        predicted=number(predicted),
        measured=number(measured),
        agrees=abs(measured - predicted) <= tolerance * max(abs(predicted), abs(measured)),
        tolerance=tolerance if tolerance != EQUAL else 0,
    )


def load_measure(
    name: str,
    unit: str,
    predicted: float | None,
    measured: float | None,
    tolerance: float | None = None,
    least: float = 0.0,
    why: str = "",
) -> StressLoad:
    """A prediction about the run as a whole; ``error`` is (measured − predicted) ÷ predicted, None of nothing.

    ``agrees``: within ``tolerance`` of the prediction or ``least`` beside it; None where it is not judged. ``why``
    nothing is predicted, or what is predicted is not judged.
    """
    error = None
    if predicted and measured is not None:
        error = number(round((measured - predicted) / predicted, 9))
    agrees = None
    if tolerance is not None and predicted is not None and measured is not None:
        agrees = abs(measured - predicted) <= max(least, tolerance * predicted)
    return StressLoad(
        name=name,
        unit=unit,
        predicted=number(predicted),
        measured=number(measured),
        error=error,
        agrees=agrees,
        why=why,
    )
