"""More fixed seeds without a violation; beside ``test_fixed_seeds`` so that the two run at the same time."""

from __future__ import annotations

import pytest

from tests.simulate.planted import FIXED
from tests.simulate.run import simulate


@pytest.mark.parametrize("seed", FIXED[40:])
def test_a_fixed_seed_has_no_violation(seed: int) -> None:
    assert not simulate(seed).violation
