"""What a review makes of one design file."""

from __future__ import annotations

from pkadvisor.errors import AdvisorError
from pkadvisor.review.gate.changes import DesignComparison
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.views.views import DesignView
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class DesignReview:
    """One design with what was found, or the error for which it could not be read."""

    name: str
    view: DesignView | None
    evaluations: tuple[Evaluation, ...]
    error: AdvisorError | None = None
    comparison: DesignComparison | None = None
    """What changed since the design that it is compared with."""
