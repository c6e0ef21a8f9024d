"""How unevenly a design spreads the load over its partitions: the Lorenz curve, and the partitions that take most."""

from __future__ import annotations

from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import under
from pkadvisor.lazy import Floats, np
from pkadvisor.observe.workload import Basis
from pkadvisor.values import dataclass

POINTS = 64
"""Points of a Lorenz curve."""
TOP = 20


@dataclass(frozen=True, slots=True)
class TopPartition:
    """``share`` of all load with every class at its peak; ``per_s`` entities/s in its worst minute, ``growing_per_s``
    the part of them that grows with the rows of its key; ``rows`` of it in the whole table, estimated from a sample."""

    template: tuple[Part, ...]
    key: str
    share: float
    per_s: float
    growing_per_s: float
    rows: float


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """Rows of a partition of the main key: of the one in the middle, of 99 in 100 at most, of the largest."""

    p50: float
    p99: float
    largest: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Skew:
    """``lorenz``: (share of the partitions, the least loaded first; share of the load). ``gini``: 0 even, 1 all on one.

    ``sampled`` partitions were compared; the table has ``partitions`` of the main key.
    """

    lorenz: tuple[tuple[float, float], ...]
    gini: float
    sampled: int
    partitions: int
    top: tuple[TopPartition, ...]
    sizes: PartitionSizes


def skew_of(estimate: CostEstimate, bench: Bench, loads: LoadMap) -> Skew | None:
    """The skew of a design; None where no partition takes any load."""
    parts_of: list[tuple[Part, ...]] = []
    groups, peaks = [], []
    of_rows = {key.partition for key, _ in estimate.scheme.each_key()}
    for number, parts in enumerate(loads.templates()):
        parts_of.append(parts)
        each = loads.at_peaks(parts)
        with_rows = (under(parts, bench.population).counts(atoms_of(parts)) > 0) & (parts in of_rows)
        known = np.flatnonzero(with_rows | (each > 0))
        groups.append(np.stack([np.full(len(known), number), known]))
        peaks.append(each[known])
    if not peaks or float(sum(p.sum() for p in peaks)) <= 0:
        return None
    places, load = np.concatenate(groups, axis=1), np.concatenate(peaks)
    order = np.argsort(-load, kind="stable")
    share = load / load.sum()
    top = []
    for at in order[:TOP]:
        if load[at] <= 0:
            break
        top.append(_partition(parts_of[int(places[0, at])], int(places[1, at]), float(share[at]), bench, loads))
    curve, gini = lorenz(load)
    return Skew(curve, gini, len(load), estimate.partitions, tuple(top), sizes_of(estimate, bench))


def lorenz(load: Floats) -> tuple[tuple[tuple[float, float], ...], float]:
    """(the curve in at most ``POINTS`` points, the Gini coefficient) of some loads; both over every load."""
    rising = np.sort(load)
    count, total = len(rising), float(rising.sum())
    below = np.concatenate([[0.0], np.cumsum(rising)]) / total
    gini = 1.0 - float((below[1:] + below[:-1]).sum()) / count
    # Half of the points lie among the few that take most, where the curve bends.
    even = np.linspace(0, count, POINTS // 2)
    bent = count - np.geomspace(1, count, POINTS // 2)
    at = np.unique(np.rint(np.concatenate([even, bent])).astype(np.int64))
    return tuple((int(i) / count, min(1.0, float(below[i]))) for i in at), max(0.0, gini)


def _partition(parts: tuple[Part, ...], group: int, share: float, bench: Bench, loads: LoadMap) -> TopPartition:
    population = under(parts, bench.population)
    atoms = atoms_of(parts)
    ids, _ = population.groups(atoms)
    row = int(np.argmax(ids == group))
    fixed, growing = loads.worst_of(parts, group)
    rows = float(population.counts(atoms)[group])
    if not population.whole(atoms) and population.rows:
        rows *= population.total / population.rows
    return TopPartition(parts, encode_row(parts, population, row), share, fixed + growing, growing, rows)


def sizes_of(estimate: CostEstimate, bench: Bench) -> PartitionSizes:
    """The rows of the partitions of the main key, scaled from the sample to the whole table."""
    population = bench.population
    atoms = atoms_of(estimate.scheme.main.partition)
    counts = population.counts(atoms)
    ordered = np.sort(counts[counts > 0]).astype(np.float64)
    whole = population.whole(atoms) or not atoms
    scale = 1.0 if population.whole(atoms) else population.total / max(1, population.rows)

    def at(share: float) -> float:
        return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))]) * scale if len(ordered) else 0.0

    basis = Basis.COUNTED if whole and population.complete else Basis.ESTIMATED
    return PartitionSizes(at(0.5), at(0.99), at(1.0), basis)
