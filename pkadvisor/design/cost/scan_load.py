"""Where the load of a scan falls: on the rows that it reads, on partitions that it names in vain, on empty buckets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.cost.scans import SEVERAL_PARTITIONS, missing_in_range, row_mask, rows_scanned
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.design.load.estimates import Read
from pkadvisor.design.plan.plan import Access, AccessPlan
from pkadvisor.design.plan.stop_early import PIECES_MOST
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.demand import Demand, codes_between, free_atoms, picks, rows_of_constants
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
    counts = rows_scanned(found, demand, scheme, population)
    scanned = sum(counts.values(), np.zeros(len(load)))
    total = np.maximum(scanned, 1e-300)
    if found.fans:
        key = list(scheme.each_key())[found.via][0]
        load = np.minimum(load, rate_per_s * read.per_instance)  # without what requests for empty buckets count
        yield key.partition, _empty_buckets(read, key, demand, population, rate_per_s)
    for via, (key, row) in enumerate(scheme.each_key()):
        if via not in counts:
            continue
        share = np.where(scanned > 0, load * counts[via] / total, load if via == found.via else 0.0)
        if not share.any():
            continue
        there = row_mask(key, row, population)
        among = np.ones(population.rows, dtype=bool) if there is None else there[: population.rows]
        mine = list(scheme.each_key())[found.via][0]
        if found.access is Access.TABLE_SCAN or key.partition != mine.partition:
            yield key.partition, among.astype(np.float64) * (float(share.sum()) / max(1, int(among.sum())))
            continue
        without = missing_in_range(found, key, row, demand, population) if via == found.via else np.zeros(len(load))
        if without.any():
            part = load * without / total
            yield key.partition, _at_lacking(found, demand, population, part, among)
            share = share - part
        yield key.partition, _between_bounds(read, mine, demand, population, share, among)


def load_led_to(read: Read, demand: Demand, scheme: KeyScheme, population: Population, load: Floats) -> Floats:
    """The load of each entity at hand that pointers lead to."""
    import numpy as np

    key, row = list(scheme.each_key())[read.plan.via]
    there = row_mask(key, row, population)
    among = np.ones(population.rows, dtype=bool) if there is None else there[: population.rows]
    return _between_bounds(read, key, demand, population, load, among)


def _empty_buckets(read: Read, key: Key, demand: Demand, population: Population, rate_per_s: Floats) -> Floats:
    """The load of requests for buckets that hold nothing of what they ask for, put on one row of each partition.

    Every instance asks all partitions that differ from its own by the bucket alone; those that hold a row of what it
    fixes are not empty for it.
    """
    import numpy as np

    found, rows = read.plan, population.rows
    fans = {fan.atom for fan in found.fans}
    of_partition = [atom for atom in atoms_of(key.partition) if atom not in fans]
    fixed, _ = population.groups(of_partition)
    partition, count = population.groups(atoms_of(key.partition))
    first = np.unique(partition[:rows], return_index=True)[1]
    out = np.zeros(rows)
    if found.range_atom is not None and found.range_atom[1] in demand.bounds:
        empty = rate_per_s * (1 - 1 / found.buckets) ** read.per_instance  # its rows taken to lie in buckets by chance
        out[first] = np.bincount(fixed[demand.instances], weights=empty, minlength=int(fixed.max()) + 1)[fixed[first]]
        return out
    in_rows = [fan for fan in found.fans if fan.atom not in atoms_of(key.partition)]
    for by_constants, own in picks(demand, population, found.equal_atoms):
        constants = {**demand.constants, **{name: demand.mixed[name] for name in by_constants}}
        values = [name for name in found.choices if name in constants]
        rate = rate_per_s * own
        asked, _ = population.groups(free_atoms(found.equal_atoms, constants))
        free, _ = population.groups(free_atoms(of_partition, constants))
        rate_of_asked = np.bincount(asked[demand.instances], weights=rate, minlength=int(asked.max()) + 1)
        rate_of_free = np.bincount(free[demand.instances], weights=rate, minlength=int(free.max()) + 1)
        reached_by: Floats = rate_of_free.astype(np.float64)[free[first]]
        in_partition = rows_of_constants(population, of_partition, constants)
        if in_partition is not None:
            reached_by = np.where(in_partition[first], reached_by, 0.0)
        reached_by = reached_by * float(math.prod(fan.buckets_total for fan in in_rows))
        for name in values:  # a request for each constant that the PartitionKey does not tell apart
            apart = any(name in atom_properties(atom) for atom in of_partition)
            reached_by = reached_by * (1.0 if apart else float(len(_constants_of(demand, name))))
        keep = rows_of_constants(population, found.equal_atoms, constants)
        there = np.arange(rows) if keep is None else np.flatnonzero(keep)
        apart_in_rows = [fan.atom for fan in in_rows if fan.atom is not None]
        chosen, _ = population.groups([*(("p", name) for name in values), *apart_in_rows])
        pairs = np.unique(np.stack([partition[there], asked[there], chosen[there]]), axis=1)
        answered = np.bincount(pairs[0], weights=rate_of_asked[pairs[1]], minlength=count).astype(np.float64)
        out[first] += np.maximum(reached_by - answered[partition[first]], 0.0)
    return out


def _constants_of(demand: Demand, name: str) -> set[object]:
    from pkadvisor.table.odata import Literal

    return {operand for operand in demand.conditions.any_of[name] if isinstance(operand, Literal)}


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


def _between_bounds(read: Read, key: Key, demand: Demand, population: Population, load: Floats, among: Bools) -> Floats:
    """The load of each row at hand, where each instance loads the rows that its requests read alike."""
    import numpy as np

    runs = list(_runs(read, key, demand, population, among))
    found = np.asarray(sum((run.end - run.start for run in runs), np.zeros(len(load))))
    each = load / np.maximum(found, 1)
    out = np.zeros(population.rows)
    if read.plan.access not in SEVERAL_PARTITIONS and not read.plan.fans:
        out += _found_nothing(read.plan, key, demand, population, np.where(found > 0, 0.0, load))
    for run in runs:
        steps = np.bincount(run.start, weights=each, minlength=len(run.rows) + 1)
        steps = steps - np.bincount(run.end, weights=each, minlength=len(run.rows) + 1)
        out[run.rows] += np.maximum(np.cumsum(steps[: len(run.rows)]), 0.0)
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


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows at hand in the order of a key; each instance reads those from its ``start`` to before its ``end``."""

    rows: Ints
    start: Ints
    end: Ints


def _runs(read: Read, key: Key, demand: Demand, population: Population, among: Bools) -> Iterator[_Run]:
    """The rows that each instance reads, apart for each value that a filter names and, under ``$top``, each request."""
    import numpy as np

    found, context = read.plan, Context(population.types)
    over = found.range_atom if found.range_atom and found.range_atom[1] in demand.bounds else None
    codes, size = population.atom(over) if over else (np.zeros(population.size, dtype=np.int64), 1)
    low, high = codes_between(population, over, demand.bounds[over[1]]) if over else (np.int64(0), np.int64(size))
    parts = (*key.partition, *key.row)
    if any(part.atom == over and part.order(context) < 0 for part in parts):  # as the texts run
        codes, low, high = size - 1 - codes, size - high, size - low
    capped = found.top is not None and not found.unserved
    rows_read = np.ceil(read.per_instance * population.rows / max(1, population.total)).astype(np.int64)
    most = np.full(len(demand.instances), np.iinfo(np.int64).max // 2)
    if found.top is not None:
        most = np.full(len(most), found.top) if capped and found.several else rows_read
    for by_constants, own in picks(demand, population, found.equal_atoms):
        constants = {**demand.constants, **{name: demand.mixed[name] for name in by_constants}}
        keep = rows_of_constants(population, found.equal_atoms, constants)
        there = np.flatnonzero(among if keep is None else among & keep)
        ids, _ = population.groups(free_atoms(found.equal_atoms, constants))
        pieces = [part.atom for part in found.fans if part.atom] if capped else []
        pieces += [("p", name) for name in (*found.choices,) if capped and name in constants]
        piece, count = population.groups(pieces)
        if count > PIECES_MOST:  # taken together, as far as all requests read
            (piece, count), most = population.groups([]), rows_read
        for number in range(count):
            mine = there[piece[there] == number] if count > 1 else there
            placed = ids[mine] * (size + 1) + codes[mine]
            keys = [order[mine] for order in population.key_order(parts)] if found.top is not None else []
            order = np.lexsort((*reversed(keys), placed))
            placed = placed[order]
            base = ids[demand.instances] * (size + 1)
            start = np.searchsorted(placed, base + low, side="left")
            end = np.maximum(np.searchsorted(placed, base + np.maximum(high, low), side="left"), start)
            end = np.where(own, np.minimum(end, start + most), start)
            yield _Run(mine[order], start, end)
