"""The plans of the samples against a table service that nobody here wrote: Azurite, through the official client.

What Azurite compares otherwise than the service is listed in ``tests/azurite/test_conformance.py``, each deviation with
its reason. None of them touches these plans: their constants have the types of their properties, and the times of the
samples have whole milliseconds.
"""

from __future__ import annotations

import pytest

from pkadvisor.cli.inputs import sample_names
from tests.azurite.support import Azurite, Entity
from tests.proof.support import Case, Layout, layout, prove, sample_cases

pytestmark = pytest.mark.requires("azurite")

ENTITIES = 2_000
SMALLER = 80
SCHEMES = 9
"""Schemes of each sample: the recommended one with 2,000 entities, others from all over the ranking with fewer."""
PAIRS: dict[str, set[tuple[str, str]]] = {}
LEFT_OUT: dict[str, int] = {}


def stored(place: Layout) -> list[Entity]:
    """The rows of a layout without what the service itself keeps under these names."""
    own = ("PartitionKey", "RowKey", "Timestamp")
    return [(pk, rk, {n: v for n, v in properties.items() if n not in own}) for pk, rk, properties in place.rows]


def chosen(case: Case, wide: Case) -> list[tuple[Case, int]]:
    """The recommended scheme over many entities, and others over few."""
    count = len(case.schemes)
    others = sorted({i * (count - 1) // (SCHEMES - 1) for i in range(1, SCHEMES)} - {0})
    return [(wide, 0), *((case, i) for i in others)]


@pytest.mark.parametrize("name", sample_names())
def test_azurite_answers_as_planned(name: str, azurite: Azurite) -> None:
    pairs, found, left_out = set(), 0, 0
    for number, (case, wide) in enumerate(zip(sample_cases(name, SMALLER), sample_cases(name, ENTITIES), strict=True)):
        for at, (part, index) in enumerate(chosen(case, wide)):
            place = layout(part.schemes[index], part.entities, part.types)
            table = azurite.create(f"proof{name}{number}x{at}")
            table.load(stored(place))
            left_out += table.left_out
            for proved in prove(part, place.scheme, table, place, instances=3):
                assert not proved.wrong, proved
                pairs.add((proved.query, proved.scheme))
                found += proved.entities > 0
    PAIRS[name], LEFT_OUT[name] = pairs, left_out
    assert found >= len(pairs)  # empty answers prove little


def test_enough_pairs_were_checked(capsys: pytest.CaptureFixture[str]) -> None:
    if set(PAIRS) != set(sample_names()):
        pytest.skip("counts the pairs of the tests above, which did not all run")
    counts = ", ".join(f"{name} {len(pairs)}" for name, pairs in PAIRS.items())
    with capsys.disabled():
        print(
            f"\nplans proved on Azurite: {sum(map(len, PAIRS.values())):,} (query, scheme) pairs: {counts}; "
            f"{sum(LEFT_OUT.values())} rows left out, whose keys are over 512 UTF-16 units"
        )
    assert sum(map(len, PAIRS.values())) >= 200
