"""What the model said beforehand, held against what was counted and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.report.result import number
from pkadvisor.stresser.expected import Means, means_of

if TYPE_CHECKING:
    from pkadvisor.design.estimates import ClassCost
    from pkadvisor.stresser.stand import Stand

READ_TOLERANCE = 0.05
"""Entities read are predicted by sampled selectivity; everything else is counted and must be equal."""
EQUAL = 1e-6


def class_predictions(stand: Stand) -> list[dict[str, Any]]:
    """Per request of each class: what the plan was said to send, and what its script sends, on the data as it is."""
    predicted = {cost.name: cost for cost in stand.design.of_sample.classes}
    out = []
    for number_, name in enumerate(stand.programs.classes):
        if not stand.weights[number_]:
            continue
        cost, means = predicted[name], means_of(stand.unscaled, number_, stand.weights[number_])
        measures = [_measure(*entry) for entry in _pairs(cost, means, EQUAL if stand.compared_all else READ_TOLERANCE)]
        out.append({"name": name, "agrees": all(m["agrees"] for m in measures), "measures": measures})
    return out


def _pairs(cost: ClassCost, means: Means, tolerance: float) -> list[tuple[str, float, float, float]]:
    return [
        ("requests", cost.requests, means.requests, tolerance),
        ("further pages", cost.continuations, means.continued, tolerance),
        ("entities read", cost.entities_read, means.entities_read, READ_TOLERANCE),
        ("entities written", cost.entities_written, means.entities_written, tolerance),
    ]


def _measure(name: str, predicted: float, measured: float, tolerance: float) -> dict[str, Any]:
    return {
        "name": name,
        "predicted": number(predicted),
        "measured": number(measured),
        "agrees": abs(measured - predicted) <= tolerance * max(abs(predicted), abs(measured)),
        "tolerance": tolerance if tolerance != EQUAL else 0,
    }


def load_measure(name: str, unit: str, predicted: float | None, measured: float | None) -> dict[str, Any]:
    """A prediction about the run as a whole; ``error`` is (measured − predicted) ÷ predicted, None of nothing."""
    error = None
    if predicted and measured is not None:
        error = number(round((measured - predicted) / predicted, 9))
    return {
        "name": name,
        "unit": unit,
        "predicted": None if predicted is None else number(predicted),
        "measured": None if measured is None else number(measured),
        "error": error,
    }
