"""Every plan of every sample under every candidate, run on a plain table: the same rows, in the promised order."""

from __future__ import annotations

import pytest

from pkadvisor.cli.inputs import sample_names
from tests.proof.support import PlainTable, layout, prove, sample_cases

ROWS = 400
INSTANCES = 3
PAIRS: dict[str, set[tuple[str, str]]] = {}


@pytest.mark.parametrize("name", sample_names())
def test_every_plan_of_every_candidate_is_exact(name: str) -> None:
    pairs, found = set(), 0
    for case in sample_cases(name, ROWS):
        for scheme in case.schemes:
            place = layout(scheme, case.entities, case.types)
            table = PlainTable(place.rows)
            for proved in prove(case, scheme, table, place, instances=INSTANCES):
                assert not proved.wrong, proved
                pairs.add((proved.query, proved.scheme))
                found += proved.entities > 0
    PAIRS[name] = pairs
    assert found >= len(pairs)  # empty answers prove little


def test_enough_pairs_were_checked(capsys: pytest.CaptureFixture[str]) -> None:
    if set(PAIRS) != set(sample_names()):
        pytest.skip("counts the pairs of the tests above, which did not all run")
    with capsys.disabled():
        counts = ", ".join(f"{name} {len(pairs)}" for name, pairs in PAIRS.items())
        print(f"\nplans proved on a plain table: {sum(map(len, PAIRS.values())):,} (query, scheme) pairs: {counts}")
    assert sum(map(len, PAIRS.values())) >= 500
