"""Partitions that go on growing while entities are inserted, and those that time, a set or an entity bounds."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.identifiers import identities
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, np
from pkadvisor.remembered import remembered

LATE_SHARE = 0.01
"""Share of the entities that may come to partitions of the first half of all, before partitions are taken to grow:
sets that are on their way at that moment. Assumed."""


def open_ended(scheme: KeyScheme, bench: Bench) -> int:
    """How many keys of a scheme have partitions that nothing bounds; one partition for all entities counts twice."""
    return sum(_weight(key.partition, bench) for key, _ in scheme.each_key())


def _weight(parts: tuple[Part, ...], bench: Bench) -> int:
    if not any(part.properties for part in parts):
        return 2
    return int(grows(parts, bench))


def grows(parts: tuple[Part, ...], bench: Bench) -> bool:
    """Whether partitions of a PartitionKey go on growing.

    A time in it ends them, and so does a time after which entities are deleted, or a key of one entity: as a request
    declares it, or as all rows of a whole table show. Sets that come at once and are then complete, as the lines of an
    order, are known by the order of arrival.
    """
    if any(part.tells_time for part in parts) or bench.workload.retention_s is not None:
        return False
    population, atoms = under(parts, bench.population), atoms_of(parts)
    names = {name for part in parts if part.injective or part.tells_folded for name in part.properties}
    if any(names.issuperset(declared) for declared in identities(bench)):
        return False
    if population.rows < population.total:
        return True
    return _gain_rows_late(population, atoms)


@remembered("partitions grow")
def _gain_rows_late(population: Population, atoms: tuple[Atom, ...]) -> bool:
    """Whether partitions gain rows long after their first one, more often than chance has it."""
    return population.surplus(atoms) > 0 and _late_share(population, atoms) > LATE_SHARE


def _late_share(population: Population, atoms: tuple[Atom, ...]) -> float:
    counts = population.counts(atoms)
    return float(counts[takes_all_the_time(population, atoms)].sum()) / max(1, population.rows)


def takes_all_the_time(population: Population, atoms: tuple[Atom, ...]) -> Bools:
    """Per partition: whether it has entities of the first and of the second half of the rows by their arrival; taken
    for true where the arrival is not known."""
    ids, size = population.groups(atoms)
    order = population.arrival_order()
    if order is None:
        return np.ones(size, dtype=bool)
    half = population.rows // 2
    early = np.bincount(ids[order[:half]], minlength=size) > 0
    late = np.bincount(ids[order[half:]], minlength=size) > 0
    return early & late
