"""The plans of the samples against a table service that nobody here wrote: Azurite, through the official client.

What Azurite compares otherwise than the service is listed in ``tests/azurite/test_conformance.py``, each deviation with
its reason. None of them touches these plans: their constants have the types of their properties, and the times of the
samples have whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pkadvisor.cli.inputs import sample_names
from tests.azurite.support import Azurite, Entity
from tests.proof.support import Case, Layout, asks_more, layout, pairs_of, prove, sample_cases
from tests.tiers import LONG, sizes

pytestmark = pytest.mark.requires("azurite")

WIDE = LONG == "azurite"
ENTITIES, SMALLER = (2_000, 80) if WIDE else (200, 80)
SCHEMES = 9 if WIDE else 4
"""Schemes of each sample: the recommended one with many entities, others from all over the ranking with fewer."""
INSTANCES = 3
REQUESTS_MAX = 200
"""Of a scheme in the short form: one that asks period after period takes its time here."""
PAIRS_LEAST = 200 if WIDE else 100


def stored(place: Layout) -> list[Entity]:
    """The rows of a layout without what the service itself keeps under these names."""
    own = ("PartitionKey", "RowKey", "Timestamp")
    return [(pk, rk, {n: v for n, v in properties.items() if n not in own}) for pk, rk, properties in place.rows]


def chosen(case: Case, wide: Case) -> list[tuple[Case, int]]:
    """The recommended scheme over many entities, and others over few; in the short form cheap ones."""
    count = len(case.schemes)
    others = {i * (count - 1) // (SCHEMES - 1) for i in range(1, SCHEMES)} - {0}
    if not WIDE:
        cheap = [i for i in range(1, count) if not asks_more(case, case.schemes[i], REQUESTS_MAX, INSTANCES)]
        others = {min(cheap, key=lambda i: abs(i - wanted)) for wanted in others}
    return [(wide, 0), *((case, i) for i in sorted(others))]


def parts(name: str) -> Iterator[tuple[Case, int]]:
    """Each scheme that is proved, as its number among those of a case."""
    for case, wide in zip(sample_cases(name, SMALLER), sample_cases(name, ENTITIES), strict=True):
        yield from chosen(case, wide)


@pytest.mark.parametrize("name", sizes(sample_names()[::2], sample_names(), "azurite"))
def test_azurite_answers_as_planned(name: str, azurite: Azurite) -> None:
    wanted, pairs, found, left_out = set(), set(), 0, 0
    for number, (case, index) in enumerate(parts(name)):
        place = layout(case.schemes[index], case.entities, case.types)
        wanted |= pairs_of(case, place.scheme)
        table = azurite.create(f"proof{name}{number}")
        table.load(stored(place))
        left_out += table.left_out
        for proved in prove(case, place.scheme, table, place, instances=INSTANCES):
            assert not proved.wrong, proved
            pairs.add((proved.query, proved.scheme))
            found += proved.entities > 0
    print(f"{name}: {len(pairs)} pairs, {left_out} rows left out, whose keys are over 512 UTF-16 units")
    assert pairs == wanted
    assert 10 * found >= 9 * len(pairs)  # empty answers prove little


def test_enough_pairs_are_proved() -> None:
    """The test above proves each of these."""
    pairs = [pairs_of(case, case.schemes[index]) for name in sample_names() for case, index in parts(name)]
    assert sum(map(len, pairs)) >= PAIRS_LEAST
