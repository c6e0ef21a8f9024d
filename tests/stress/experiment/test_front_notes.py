"""A run says where it did not test inserts that crowd into one range."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pkadvisor.design.rows.fronts import Fronts
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Basis
from pkadvisor.stress.experiment.notes import front_notes, notes_of


@pytest.mark.parametrize(
    ("ranges", "in_order", "said"), [(1.0, False, True), (1.0, True, False), (4.0, False, False), (None, False, False)]
)
def test_a_front_beyond_the_target_that_the_run_does_not_follow_is_said(
    ranges: float | None, in_order: bool, said: bool
) -> None:
    fronts = Fronts(ranges, ranges, Basis.COUNTED)
    estimate = cast(Any, SimpleNamespace(fronts=fronts, inserts_per_s_peak=3_000.0))
    notes = notes_of({"current": front_notes(estimate, default_limits(), in_order)})
    assert bool(notes) is said
    if said:
        assert notes[0].startswith("not tested: inserts that crowd into one range of keys")
        assert notes[0].endswith("against a target of 2,000: 3,000 entities/s")
