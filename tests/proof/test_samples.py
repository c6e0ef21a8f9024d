"""Every plan of every sample under every candidate, run on a plain table: the same rows, in the promised order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proof.support import SAMPLES, Case, Layout, PlainTable, layout, pairs_of, placed, prove, sample_cases
from tests.tiers import LONG

WIDE = LONG == "proofs"
ROWS, CLOSE_ROWS = 400 if WIDE else 150, 60
INSTANCES = 3
PAIRS_LEAST = 500 if WIDE else 250


def places(name: str) -> Iterator[tuple[Case, Layout, int]]:
    """Every scheme with its rows; in the short form few that lie close together where it goes period by period."""
    if not WIDE:
        yield from placed(name, ROWS, CLOSE_ROWS, INSTANCES)
        return
    for case in sample_cases(name, ROWS):
        for scheme in case.schemes:
            yield case, layout(scheme, case.entities, case.types), INSTANCES


@pytest.mark.parametrize("name", SAMPLES)
def test_every_plan_of_every_candidate_is_exact(name: str) -> None:
    wanted, pairs, found = set(), set(), 0
    for case, place, instances in places(name):
        wanted |= pairs_of(case, place.scheme)
        for proved in prove(case, place.scheme, PlainTable(place.rows), place, instances=instances):
            assert not proved.wrong, proved
            pairs.add((proved.query, proved.scheme))
            found += proved.entities > 0
    assert pairs == wanted
    assert found >= len(pairs)  # empty answers prove little


def test_enough_pairs_are_proved() -> None:
    """The test above proves each of these, whatever rows it takes."""
    cases = [case for name in SAMPLES for case in sample_cases(name, ROWS)]
    assert sum(len(pairs_of(case, scheme)) for case in cases for scheme in case.schemes) >= PAIRS_LEAST
