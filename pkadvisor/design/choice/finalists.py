"""What is counted over every row for the schemes that are told, since a sample of rows cannot tell it: partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Atom, Context
from pkadvisor.design.load.estimates import Bench, CostEstimate, Term
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.samples.screen import PartitionFacts
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.sketches import KeySketch, distinct_of
from pkadvisor.observe.workload import Basis

if TYPE_CHECKING:
    from pkadvisor.design.choice.search import Advice

PARTITIONS = "partitions"
FINALISTS = 3


def with_partitions(
    advice: Advice, bench: Bench, dataset: Dataset | None, facts: Mapping[Key, PartitionFacts] | None = None
) -> Advice:
    """The advice with the partitions of its first schemes: as counted over every row (``facts``), else sketched over
    all rows of the data where it can be read."""
    estimates = list(advice.ranking[:FINALISTS])
    if advice.current is not None and all(c is not advice.current for c in estimates):
        estimates.append(advice.current)
    after = partitions_counted(estimates, bench, dataset, facts)
    counted = {id(before): estimate for before, estimate in zip(estimates, after, strict=True)}
    return replace(
        advice,
        recommended=counted.get(id(advice.recommended), advice.recommended),
        ranking=tuple(counted.get(id(c), c) for c in advice.ranking),
        current=None if advice.current is None else counted[id(advice.current)],
    )


def partitions_counted(
    costs: Sequence[CostEstimate],
    bench: Bench,
    dataset: Dataset | None,
    facts: Mapping[Key, PartitionFacts] | None = None,
) -> tuple[CostEstimate, ...]:
    """Schemes with their partitions as ``with_partitions`` counts them."""
    population, facts = bench.population, facts or {}
    if population.complete:
        return tuple(costs)
    sketches = _sketches([c.scheme.main for c in costs if c.scheme.main not in facts], population, dataset)
    return tuple(
        _counted(c, population, sketches.get(atoms_of(c.scheme.main.partition)), facts.get(c.scheme.main))
        for c in costs
    )


def _sketches(keys: list[Key], population: Population, dataset: Dataset | None) -> dict[tuple[Atom, ...], KeySketch]:
    """The PartitionKeys of the data by what they group by; none where all rows that were read are at hand.

    Values are hashed instead of key texts: different values give different keys, and a number is hashed sooner.
    """
    if dataset is None or population.drawn_from == population.rows or population.hashed:
        return {}
    context = Context(population.types)
    columns: dict[str, pl.Expr] = {}
    read: list[str] = []
    sets: dict[tuple[Atom, ...], tuple[str, ...]] = {}
    for key in keys:
        atoms = atoms_of(key.partition)
        if not atoms or ("s",) in atoms:
            continue
        for part in key.partition:
            atom = part.atom
            if atom is not None:
                made = pl.col(atom[1]) if atom[0] == "p" else part.expression(context)
                columns.setdefault(_name(atom), made)
                read += part.properties
        sets[atoms] = tuple(_name(atom) for atom in atoms)
    if not sets:
        return {}
    counted = distinct_of(dataset, sets.values(), columns=columns, read=list(dict.fromkeys(read)))
    return dict(zip(sets, counted, strict=True))


def _name(atom: Atom) -> str:
    """A column for an atom that is no property's name."""
    return "\x1f".join(("", *atom))


def _counted(
    estimate: CostEstimate, population: Population, sketch: KeySketch | None, facts: PartitionFacts | None = None
) -> CostEstimate:
    """The partitions of a scheme, with where their number lies."""
    atoms = atoms_of(estimate.scheme.main.partition)
    if not atoms:
        return estimate
    seen = float(population.distinct(atoms))
    low, high, source, basis = seen, seen, "sampled rows", Basis.COUNTED
    value = seen
    if facts is not None:
        value = low = high = float(facts.partitions)
        source = "every row of the data"
    elif sketch is not None:
        value, (low, high) = sketch.estimate(), sketch.interval()
        source = "bottom-k of the hashes of all keys"
        basis = Basis.SKETCHED if sketch.relative_error else Basis.COUNTED
    top: float | None = high
    if population.whole(atoms) and population.drawn_from < population.total:
        value *= population.total / population.drawn_from
        low, top, basis = seen, None, Basis.ESTIMATED
    elif population.drawn_from < population.total or (
        sketch is None and facts is None and population.drawn_from > population.rows
    ):
        top, basis = None, Basis.ESTIMATED
        source += ": there may be more, and no sample of rows tells how many"
    term = Term(PARTITIONS, value, PARTITIONS, basis, source, low, top)
    return replace(
        estimate, partitions=round(value), terms=(*(t for t in estimate.terms if t.name != PARTITIONS), term)
    )
