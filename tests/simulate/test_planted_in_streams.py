"""Each mistake planted in the streams is shown by a seed that has no violation without it."""

from __future__ import annotations

import pytest

from tests.simulate.planted import IN_STREAMS, Bug


@pytest.mark.parametrize("bug", IN_STREAMS, ids=[bug.name for bug in IN_STREAMS])
def test_a_planted_mistake_is_noticed(bug: Bug) -> None:
    assert bug.shown_by() is not None, f"python -m tests.simulate --planted --only {bug.name} finds another seed"
