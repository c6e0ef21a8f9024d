"""Each mistake planted in streams, partitions and tables is shown by a seed that has no violation without it."""

from __future__ import annotations

import pytest

from tests.simulate.planted import BUGS, FIXED, FIXED_SHORT, IN_PARTITIONS, IN_STREAMS, IN_TABLES, Bug, tried


@pytest.mark.parametrize("bug", tried(BUGS), ids=lambda bug: bug.name)
def test_a_planted_mistake_is_noticed(bug: Bug) -> None:
    assert bug.shown_by() is not None, f"python -m tests.simulate --planted --only {bug.name} finds another seed"


def test_the_registry_is_whole() -> None:
    assert len(BUGS) >= 52
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    assert all(bug.seed >= 0 and bug.within > 0 and bug.breaks[0] in "SPTM" for bug in BUGS)


def test_most_mistakes_of_each_kind_are_planted_in_every_run() -> None:
    for bugs in (IN_STREAMS, IN_PARTITIONS, IN_TABLES):
        assert sum(not bug.dear for bug in bugs) >= 10
    # Without the mistake these seeds have no violation: other tests of the same tier say so.
    assert {bug.seed for bug in BUGS if not bug.dear} <= set(FIXED_SHORT) <= set(FIXED)
    assert {bug.seed for bug in BUGS} <= set(FIXED)
