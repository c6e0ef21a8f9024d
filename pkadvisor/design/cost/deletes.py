"""Group transactions that delete many entities at once: those that expired since the last sweep, those of one person.

A group transaction reaches one partition, so what is deleted together counts once for every started transaction of
each partition that it lies in. Index rows of the entity's own partition go with it; others are deleted where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.open_ended import takes_all_the_time
from pkadvisor.design.load.row_sizes import row_bytes, rows_each
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import list_part, list_rows, under
from pkadvisor.design.rows.population import Population
from pkadvisor.table.accounting import group_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def places(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[Key, int]]:
    """Each partition that an entity's rows lie in, and how many entities one group transaction deletes there."""
    keys, sizes = [key for key, _ in scheme.each_key()], row_bytes(scheme, bench)
    for place in scheme.places():
        yield keys[place[0]], group_most(sum(sizes[via] for via in place), len(place), bench.limits)


def transactions_per_sweep(scheme: KeyScheme, bench: Bench, expired: float) -> float:
    """Group transactions that delete so many expired entities, with their index rows."""
    return sum(_sweep(key, most, bench.population, expired) for key, most in places(scheme, bench))


def _sweep(key: Key, most: int, population: Population, expired: float) -> float:
    """Of partitions that take entities all the time a sweep deletes their share of what expired; a partition that
    filled once, such as an order's lines, expires as a whole."""
    import numpy as np

    if not population.rows:
        return expired
    expired *= rows_each(key, population)
    population = under((*key.partition, *key.row), population)
    if not population.rows:
        return 0.0
    atoms = atoms_of(key.partition)
    counts = population.counts(atoms).astype(float)
    unseen = max(1.0, population.groups_total(atoms) / population.distinct(atoms))
    each = expired * counts / population.rows / unseen
    lasting = np.where(each < 1, each, np.ceil(each / most)) * unseen
    closed = expired / population.rows * np.ceil(counts / most)
    return float(np.where(takes_all_the_time(population, atoms), lasting, closed).sum())


def transactions_of_value(
    scheme: KeyScheme, bench: Bench, known: tuple[Atom, ...], instances: NDArray[np.int64], entities: Floats
) -> Floats:
    """Group transactions that delete all entities of a value, with their index rows.

    ``known`` are the properties whose values are given, ``instances`` the rows that hold each value, ``entities`` how
    many there are of it. Where a value lies in several partitions, the rows at hand tell how many of its entities share
    one; of a sample these are fewer than in the table.
    """
    import numpy as np

    total = np.zeros(len(entities))
    values, size = bench.population.groups(known)
    counts = bench.population.counts(known)
    for key, most in places(scheme, bench):
        atoms, several = atoms_of(key.partition), list_part((*key.partition, *key.row))
        population = under((*key.partition, *key.row), bench.population)
        if several is None and population.determines(known, atoms):
            total += np.ceil(entities / most)
            continue
        of_rows = values if several is None else values[list_rows(several, bench.population).origin]
        together, together_size = population.groups((*known, *atoms))
        rows = population.rows
        first = np.zeros(together_size, dtype=np.int64)
        first[together[:rows][::-1]] = np.arange(rows - 1, -1, -1)
        at_hand = population.counts((*known, *atoms)).astype(float)
        needed = np.bincount(of_rows[first], np.ceil(at_hand / most), size)
        share = needed / np.maximum(counts, 1)
        total += entities * share[values[instances]]
    return total
