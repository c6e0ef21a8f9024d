"""What a key must have to tell the entities of a table apart of which only a sample is at hand.

Rows that are unique in a sample prove little: of 500 rows in 800,000, two of a pair are hardly ever both at hand. What
is declared tells more: a write or read of one entity names what identifies it. A time identifies only until two things
happen at once, and how often that is follows from the rate of the inserts and the resolution of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.observe.workload import Operation
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    from pkadvisor.design.keys.transforms import Atom
    from pkadvisor.design.load.estimates import Bench
    from pkadvisor.design.rows.population import Population

COLLISIONS_MOST = 1.0
"""Entities that may be expected to share a key before a time is not taken to tell them apart."""


def identities(bench: Bench) -> tuple[tuple[str, ...], ...]:
    """The property sets that name one entity, as far as is declared: those of updates and deletes, else of queries.

    Each is of equalities alone and unique among the rows at hand.
    """
    population = bench.population
    memo = ("identities", tuple(d.query.name for d in bench.demands))
    if memo not in population.memo:
        mutable = {name for d in bench.demands for name in d.query.sets}
        named: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}
        for demand in bench.demands:
            wanted = demand.conditions
            names = tuple(wanted.equal)
            plain = names and not (wanted.ranges or wanted.any_of or wanted.residual or demand.constants)
            if not plain or mutable & set(names) or not all(population.has(n) for n in names):
                continue
            if population.surplus([("p", n) for n in names]) == 0:
                named[demand.query.operation is not Operation.QUERY].append(names)
        population.memo[memo] = tuple(dict.fromkeys(named[True] or named[False]))
    found: tuple[tuple[str, ...], ...] = population.memo[memo]
    return found


def missing_identifiers(atoms: Sequence[Atom], bench: Bench, spare: Callable[[], list[str]]) -> list[str]:
    """The properties that a key unique in a sample still needs, so that it is unique in the table.

    ``spare`` gives identifiers that may be added, the likeliest first. Empty where every row is at hand.
    """
    population = bench.population
    if population.rows >= population.total:
        return []
    used = {atom[1] for atom in atoms if atom[0] == "p"}
    if known := identities(bench):
        fewest = min(known, key=lambda names: len(set(names) - used))
        return [name for name in fewest if name not in used]
    rest = [atom for atom in atoms if not _tells_time(atom, population)]
    if len(rest) == len(atoms) or population.surplus(rest) == 0:
        return []
    names = [name for name in spare() if name not in used]
    alone = next((name for name in names if population.surplus([*rest, ("p", name)]) == 0), None)
    if alone is not None:
        return [alone]
    added: list[str] = []
    for name in names:
        if expected_collisions([*atoms, *(("p", n) for n in added)], bench) < COLLISIONS_MOST:
            break
        added.append(name)
    return added


def expected_collisions(atoms: Sequence[Atom], bench: Bench) -> float:
    """Entities of the table that come at the same time as an earlier one of which the key has all else, on average.

    After the birthday problem: with r inserts/s each entity finds r x resolution others in its instant, of which those
    count that agree on the rest of the key as pairs at hand do; 0 where nothing is inserted.
    """
    population = bench.population
    per_s = sum(
        d.query.rate.mean_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.filter is None and d.query.operation in (Operation.INSERT, Operation.UPSERT)
    )
    finest = min((_resolution_s(name, population) for name in _times(atoms, population)), default=float("inf"))
    rest = [atom for atom in atoms if not _tells_time(atom, population)]
    at_once = min(float(population.total), per_s * finest) if per_s else 0.0
    return population.total * at_once / 2 * _alike(rest, population)


def _alike(atoms: Sequence[Atom], population: Population) -> float:
    """The share of pairs of entities that agree on all atoms; one pair more than is at hand, as none proves little."""
    if not atoms or population.rows < 2:
        return 1.0
    counts = population.counts(atoms).astype("float64")
    pairs = population.rows * (population.rows - 1) / 2
    share = min(1.0, (float((counts * (counts - 1)).sum()) / 2 + 1) / pairs)
    return share * (population.drawn_from / population.total) if population.whole(atoms) else share


def _times(atoms: Iterable[Atom], population: Population) -> list[str]:
    return [name for atom in atoms if _tells_time(atom, population) for name in atom_properties(atom)]


def _tells_time(atom: Atom, population: Population) -> bool:
    names = atom_properties(atom)
    return bool(names) and all(population.types.get(name) is EdmType.DATETIME for name in names)


def _resolution_s(name: str, population: Population) -> float:
    """The unit of a time as its values show it: seconds, milliseconds or microseconds."""
    import numpy as np

    if name in population.hashed:
        return 1.0
    moments = population.numbers(name, np.arange(population.rows, dtype=np.int64)).astype(np.int64)
    return next((unit / 1e6 for unit in (1_000_000, 1_000) if not (moments % unit).any()), 1e-6)
