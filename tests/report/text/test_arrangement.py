"""How far a design misses what it gives up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.design.choice.conflicts import Conflict, Constraint, Relaxed
from pkadvisor.design.load.estimates import Violation
from pkadvisor.limits import load_limits
from pkadvisor.report.documents.arrangements import conflict_json
from pkadvisor.report.documents.values import Shown
from tests.design.choice.test_search import candidate


@pytest.mark.parametrize(
    ("violation", "missed_by"),
    [
        (Violation("hot-partition", "m", 3000.0, 2000.0, "entities/s", 24.0), 1.5),
        (Violation("isolation", "m", 1.0, 0.0, "rule", 5.0), None),
        (Violation("not-unique", "m", 7.0, 0.0, "entities", 10.0), None),
        (Violation("transaction-too-large", "m", 3.0, 100.0, "sets", 8.0), None),
    ],
)
def test_only_a_rate_is_so_many_times_its_limit(violation: Violation, missed_by: float | None) -> None:
    """The penalty by which rules are ranked is no measure, and growth is none of today."""
    dropped = Constraint(violation.code, violation.subject)
    design = replace(candidate("{a}"), violations=(violation,))
    found = Conflict((dropped, Constraint("account")), (Relaxed(dropped, design, violation.severity),))
    (way,) = conflict_json(found, load_limits(), Shown(False)).relaxed
    assert way.missed_by == missed_by
