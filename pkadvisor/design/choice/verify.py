"""The best keys checked over every row, where only a sample was looked at closely."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pkadvisor.design.choice.sections import Section
from pkadvisor.design.keys.scheme import Key, key_expression
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.census import census
from pkadvisor.design.rows.exact import EXACT_ROWS_MAX
from pkadvisor.design.rows.samples.screen import PartitionFacts
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.choice.search import Advice

FINALISTS = 5
"""Main keys counted over every row: the recommended, the one in place, and the next best."""
VERIFY_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Verified:
    """The advice after the check; the rows over which its first key is unique (0: not known); what was counted."""

    advice: Advice
    rows: int
    notes: tuple[str, ...]
    counted: tuple[tuple[Key, PartitionFacts], ...] = ()


def verified(
    advice: Advice,
    section: Section,
    bench: Bench,
    dataset: Dataset | None,
    again: Callable[[], Advice] | None = None,
) -> Verified:
    """Count the finalists over every row; where the recommended key is not unique, search ``again`` knowing that."""
    assert section.data is not None
    if not readable(section.data, dataset):
        return Verified(advice, section.data.rows if section.data.complete else 0, ())
    notes = list[str]()
    counted: dict[Key, PartitionFacts] = {}
    for _ in range(VERIFY_ROUNDS):
        learn(finalists(advice), bench, dataset, counted)
        main = advice.recommended.scheme.main
        surplus = bench.population.surplus_of_all(atoms_of((*main.partition, *main.row)))
        if not surplus or again is None:
            return Verified(advice, 0 if surplus else section.data.rows, tuple(notes), tuple(counted.items()))
        if any(v.code == "not-unique" for v in advice.recommended.violations):
            break  # it was known, and nothing else is better
        notes.append(
            f"{main} looked unique in the sample and is not: {surplus:,} of {section.data.rows:,} entities share a key "
            "with another"
        )
        advice = again()
    return Verified(advice, 0, tuple(notes), tuple(counted.items()))


def readable(data: DataProfile, dataset: Dataset | None) -> bool:
    """Whether there is more to read than what is at hand, and not too much of it."""
    return not data.complete and dataset is not None and data.rows <= EXACT_ROWS_MAX


def learn(keys: Sequence[Key], bench: Bench, dataset: Dataset | None, counted: dict[Key, PartitionFacts]) -> None:
    """Count main keys over every row, and let the population know those that are not unique."""
    assert dataset is not None
    population = bench.population
    new = [key for key in dict.fromkeys(keys) if key not in counted]
    for key, facts in zip(new, census(dataset, new, population.types), strict=True):
        surplus = facts.surplus if facts is not None else None
        if facts is not None:
            counted[key] = facts
        if surplus is None:
            surplus = collisions(dataset, key, population.types)
        if surplus:
            population.not_unique[frozenset(atoms_of((*key.partition, *key.row)))] = surplus


def finalists(advice: Advice) -> list[Key]:
    """The main keys of the recommended scheme, of the one in place, and of the next best, ``FINALISTS`` in all."""
    first: list[CostEstimate] = [advice.recommended, *([advice.current] if advice.current else []), *advice.ranking]
    return list(dict.fromkeys(cost.scheme.main for cost in first))[:FINALISTS]


def collisions(dataset: Dataset, key: Key, types: Mapping[str, EdmType]) -> int:
    """Entities whose main key another entity has, over all rows of a data set; 0 where the application assigns a
    number.

    By the key texts themselves, which takes longer than ``census`` and takes any part. Keys are compared by 64-bit
    hashes: a false alarm takes some billions of rows.
    """
    if any(part.assigned for part in (*key.partition, *key.row)):
        return 0
    names = list(key.properties)
    if not names:
        return max(0, dataset.row_count - 1)
    seen = []
    for batch in dataset.batches(names):
        keys = batch.select(
            pl.struct(
                key_expression(key.partition, dict(types)).alias("pk"),
                key_expression(key.row, dict(types)).alias("rk"),
            ).hash(0)
        )
        seen.append(keys.to_series())
    hashes = pl.concat(seen)
    return int(len(hashes) - hashes.n_unique())
