"""Where the load of a scan falls: on the rows that it reads, and on partitions that it names in vain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pkadvisor.design.cost.empty_requests import empty_requests
from pkadvisor.design.cost.scan_runs import Reading, spread_over
from pkadvisor.design.cost.scans import (
    SEVERAL_PARTITIONS,
    begun_rows,
    missing_in_range,
    range_of_others,
    rows_scanned,
)
from pkadvisor.design.keys.scheme import Key, KeyScheme, leading_text
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.plan.plan import Access, AccessPlan
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand, free_atoms, rows_of_constants
from pkadvisor.design.rows.population import Population

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


def load_of_rows(
    read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats, rate_per_s: Floats
) -> Iterator[tuple[tuple[Part, ...], Floats]]:
    """(a PartitionKey template, entities per second for each row at hand) for each kind of row that a request scans.

    ``load`` is that of each instance. It falls on the rows between its bounds, alike on each of them; where ``$top``
    stops a request, on the first of them in the order of the key. A request for a bucket in which nothing lies counts
    as one entity (``rate_per_s`` requests of each instance).
    """
    import numpy as np

    found = read.plan
    reading = _reading(read, demand, scheme, population)
    key = list(scheme.each_key())[found.via][0]
    if found.several:
        load = np.minimum(load, rate_per_s * read.scanned)
        yield key.partition, empty_requests(reading, key, rate_per_s)
    if reading.in_order:
        yield from _up_to_the_last(reading, load)
        return
    counts = rows_scanned(found, demand, scheme, population)
    scanned = sum(counts.values(), np.zeros(len(load)))
    total = np.maximum(scanned, 1e-300)
    for via, (other, row) in enumerate(scheme.each_key()):
        if via not in counts:
            continue
        share = np.where(scanned > 0, load * counts[via] / total, load if via == found.via else 0.0)
        if not share.any():
            continue
        if found.access is Access.TABLE_SCAN or other.partition != key.partition:
            label = leading_text(key.partition) if found.access is Access.TABLE_SCAN else ""
            among = begun_rows(other, row, label, population)
            yield other.partition, among.astype(np.float64) * (float(share.sum()) / max(1, int(among.sum())))
            continue
        bounds = found if via == found.via else range_of_others(found)
        without = missing_in_range(bounds, other, row, demand, population)
        if without.any():
            part = load * without / total
            yield other.partition, _at_lacking(bounds, demand, population, part, begun_rows(other, row, "", population))
            share = share - part
        yield other.partition, _on_runs(reading, via, share)


def _reading(read: Read, demand: Demand, scheme: KeyScheme, population: Population) -> Reading:
    import numpy as np

    rows = read.rows * population.rows / max(1, population.total)
    return Reading(read.plan, demand, scheme, population, np.ceil(rows).astype(np.int64))


def _up_to_the_last(reading: Reading, load: Floats) -> Iterator[tuple[tuple[Part, ...], Floats]]:
    """The load of requests that ``$top`` stops on their way over several partitions, alike on all rows they read."""
    import numpy as np

    keys = list(reading.scheme.each_key())
    runs = reading.ordered()
    read = sum((run.end - run.start for each in runs.values() for run in each), np.zeros(len(load)))
    for via, each in runs.items():
        yield keys[via][0].partition, spread_over(each, load / np.maximum(read, 1), reading.population.rows)


def load_led_to(read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats) -> Floats:
    """The load of each entity at hand that pointers lead to."""
    reading = _reading(read, demand, scheme, population)
    return _on_runs(reading, read.plan.via, load)


def _at_lacking(found: AccessPlan, demand: Demand, population: Population, load: Floats, among: Bools) -> Floats:
    """The load of the entities without the property that a range of texts bounds, alike on those of each instance."""
    import numpy as np

    assert found.range_atom is not None
    lacking = among & (population.coded(found.range_atom[1]).codes[: population.rows] == 0)
    keep = rows_of_constants(population, found.equal_atoms, demand.constants)
    lacking = lacking if keep is None else lacking & keep
    ids, count = population.groups(free_atoms(found.equal_atoms, demand.constants))
    mine = ids[: population.rows]
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    rows_of_group = np.bincount(mine[lacking], minlength=count)
    return np.asarray(np.where(lacking, (of_group / np.maximum(rows_of_group, 1))[mine], 0.0))


def _on_runs(reading: Reading, via: int, load: Floats) -> Floats:
    """The load of each row at hand, where each instance loads the rows that its requests read alike."""
    import numpy as np

    reading, load = reading.of_alike(load)
    runs = reading.runs(via)
    found = np.asarray(sum((run.end - run.start for run in runs), np.zeros(len(load))))
    out = spread_over(runs, load / np.maximum(found, 1), reading.population.rows)
    if reading.found.access not in SEVERAL_PARTITIONS and not reading.found.several:
        key = list(reading.scheme.each_key())[reading.found.via][0]
        nothing = np.where(found > 0, 0.0, load)
        out += _found_nothing(reading.found, key, reading.demand, reading.population, nothing)
    return out


def _found_nothing(found: AccessPlan, key: Key, demand: Demand, population: Population, load: Floats) -> Floats:
    """The load of requests that find nothing: it falls on the partition that they name, put on one row of it."""
    import numpy as np

    out = np.zeros(population.rows)
    if not load.any():
        return out
    atoms = [atom for atom in atoms_of(key.partition) if atom in found.equal_atoms]
    keep = rows_of_constants(population, atoms, demand.constants)
    there = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
    ids, count = population.groups(free_atoms(atoms, demand.constants))
    groups, first = np.unique(ids[there], return_index=True)
    of_group = np.bincount(ids[demand.instances], weights=load, minlength=count)
    out[there[first]] = of_group[groups]
    return out
