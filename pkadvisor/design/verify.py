"""The best keys checked over every row, where only a sample was looked at closely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.design.census import census

if TYPE_CHECKING:
    from pkadvisor.design.estimates import Bench, CostEstimate
    from pkadvisor.design.scheme import Key, KeyScheme
    from pkadvisor.design.screen import PartitionFacts
    from pkadvisor.design.search import Advice
    from pkadvisor.design.sections import Section
    from pkadvisor.observe.dataset import Dataset
    from pkadvisor.table.edm import EdmType

EXACT_ROWS_MAX = 25_000_000
"""Entities up to which the finalists are counted over every row: their hashes take 200 MB each."""
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


def verified(advice: Advice, section: Section, bench: Bench, dataset: Dataset | None) -> Verified:
    """Count the finalists over every row; where the recommended key is not unique, the next best steps up."""
    assert section.data is not None
    if section.data.complete or dataset is None or section.data.rows > EXACT_ROWS_MAX:
        return Verified(advice, section.data.rows if section.data.complete else 0, ())
    from pkadvisor.design.estimates import Violation
    from pkadvisor.design.search import ranked

    types = bench.population.types
    ranking, notes = list(advice.ranking), list[str]()
    counted: dict[Key, PartitionFacts] = {}

    def count(keys: Sequence[Key]) -> None:
        new = [key for key in dict.fromkeys(keys) if key not in counted]
        counted.update((k, f) for k, f in zip(new, census(dataset, new, types), strict=True) if f is not None)

    count(finalists(advice))
    for _ in range(VERIFY_ROUNDS):
        first = ranking[0]
        count([first.scheme.main])
        facts = counted.get(first.scheme.main)
        surplus = facts.surplus if facts is not None else None
        if surplus is None:
            surplus = collisions(dataset, first.scheme, types)
        if not surplus:
            keep = advice.keep and first is advice.current
            best = replace(advice, recommended=first, ranking=tuple(ranking), keep=keep)
            return Verified(best, section.data.rows, tuple(notes), tuple(counted.items()))
        message = (
            f"{surplus:,} of {section.data.rows:,} entities share a key with another (found by reading all of them)"
        )
        broken = Violation("not-unique", message, float(surplus), 0.0, "entities", 10.0)
        notes.append(f"{first.scheme.main} looked unique in the sample and is not: {message}")
        ranking[0] = replace(first, violations=(*first.violations, broken))
        ranking = ranked(ranking)
    best = replace(advice, recommended=ranking[0], ranking=tuple(ranking), keep=False)
    return Verified(best, 0, tuple(notes), tuple(counted.items()))


def finalists(advice: Advice) -> list[Key]:
    """The main keys of the recommended scheme, of the one in place, and of the next best, ``FINALISTS`` in all."""
    first: list[CostEstimate] = [advice.recommended, *([advice.current] if advice.current else []), *advice.ranking]
    return list(dict.fromkeys(cost.scheme.main for cost in first))[:FINALISTS]


def collisions(dataset: Dataset, scheme: KeyScheme, types: Mapping[str, EdmType]) -> int:
    """Entities whose main key another entity has, over all rows of a data set; 0 where the application assigns a
    number.

    By the key texts themselves, which takes longer than ``census`` and takes any part. Keys are compared by 64-bit
    hashes: a false alarm takes some billions of rows.
    """
    import polars as pl

    from pkadvisor.design.scheme import key_expression
    from pkadvisor.design.transforms import Sequence as SequencePart

    if any(isinstance(p, SequencePart) for p in (*scheme.main.partition, *scheme.main.row)):
        return 0
    names = list(scheme.main.properties)
    if not names:
        return max(0, dataset.row_count - 1)
    seen = []
    for batch in dataset.batches(names):
        keys = batch.select(
            pl.struct(
                key_expression(scheme.main.partition, dict(types)).alias("pk"),
                key_expression(scheme.main.row, dict(types)).alias("rk"),
            ).hash(0)
        )
        seen.append(keys.to_series())
    hashes = pl.concat(seen)
    return int(len(hashes) - hashes.n_unique())
