"""Some of the parameters of a class in place of all of them, so that the partitions that are hot keep their load."""

from __future__ import annotations

import math

from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.stress.experiment.designs import DesignedTable

INSTANCES_MAX = 1_000
"""Parameters of a class that are sent, as long as that makes no partition hot; so many stand for all."""
COMPARED_MAX = 4_000
"""Parameters of a class that are all compared with the model; of more than these some are."""
INSTANCES_MOST = 16_000
"""… and at most, where it would."""
HARMLESS = 0.1
"""Part of a partition's target that one parameter may take for being one of a few."""
CHANGES_MOST, CHANGING_LEAST = 200_000, 4
"""Rows that the parameters of one class change in all, at the most, and parameters that are sent all the same."""
ROUNDS = 4


def picked(weights: Floats, demand: Demand, table: DesignedTable) -> Floats | None:
    """The weights of the parameters that are sent; None where all of them are.

    They are taken at even distances of the cumulated weight, in the order of the partitions that are hot under one of
    the designs. A partition that has enough of the load for one of them keeps its share of it exactly; one that has
    less has that of one of them, or nothing.
    """
    most = _most(demand, table)
    if np.count_nonzero(weights > 0) <= most:
        return None
    groups = _hot_groups(demand, table)
    order = np.lexsort(groups[::-1]) if groups else np.arange(len(weights))
    heap = np.cumsum(weights[order])
    marks = (np.arange(most) + 0.5) / most
    places = np.minimum(np.searchsorted(heap, marks * heap[-1], side="left"), len(heap) - 1)
    sample = np.bincount(order[places], minlength=len(weights)).astype(np.float64)
    for _ in range(ROUNDS if len(groups) > 1 else 1):
        for ids in groups:
            sample = _raked(sample, weights * (most / heap[-1]), ids)
    return sample


def overdone(weights: Floats, sample: Floats, demand: Demand, table: DesignedTable) -> bool:
    """Whether a partition is more than harmlessly loaded only because few parameters stand for all."""
    each = _entities_per_s(demand, table)
    shares, before = sample / sample.sum(), weights / weights.sum()
    for ids in _hot_groups(demand, table):
        more = np.bincount(ids, shares) - np.bincount(ids, before)
        if float(more.max(initial=0.0)) * each > HARMLESS * table.bench.limits.partition_entities_per_s:
            return True
    return False


def _most(demand: Demand, table: DesignedTable) -> int:
    """How many parameters are sent: so many that one of them loads no partition much, within bounds; of a class whose
    requests change many entities each, such as a purge, so many that their changes can be written down."""
    least = HARMLESS * table.bench.limits.partition_entities_per_s
    most = min(INSTANCES_MOST, max(INSTANCES_MAX, math.ceil(_entities_per_s(demand, table) / least)))
    return min(most, _written_down(demand, table))


def compared_most(demand: Demand, table: DesignedTable) -> int:
    """Parameters of a class up to which all of them are compared with the model."""
    return min(COMPARED_MAX, _written_down(demand, table))


def _written_down(demand: Demand, table: DesignedTable) -> int:
    """Parameters whose changes can be written down, by the rows that one request changes under the design that makes
    it change most."""
    costs = [c for design in table.designs for c in design.estimate.classes if c.name == demand.query.name]
    changed = max((c.entities_written for c in costs), default=0.0)
    return max(CHANGING_LEAST, int(CHANGES_MOST / max(1.0, changed)))


def _entities_per_s(demand: Demand, table: DesignedTable) -> float:
    """What a class reads and writes at its peak, under the design that makes it do most."""
    costs = [c for design in table.designs for c in design.estimate.classes if c.name == demand.query.name]
    return max((c.peak_per_s * (c.entities_read + c.entities_written) for c in costs), default=0.0)


def _hot_groups(demand: Demand, table: DesignedTable) -> list[Ints]:
    """For each design, the number of the partition of its hottest template that each parameter falls in."""
    population = table.bench.population
    templates = dict.fromkeys(
        atoms_of(design.estimate.hot.template) for design in table.designs if design.estimate.hot is not None
    )
    return [population.groups(atoms)[0][demand.instances] for atoms in templates if atoms]


def _raked(sample: Floats, wanted: Floats, ids: Ints) -> Floats:
    """The weights found, so that each partition has what is wanted of it if that is as much as one of them; the others
    share the rest as they did."""
    size = int(ids.max(initial=-1)) + 1
    have, want = np.bincount(ids, sample, minlength=size), np.bincount(ids, wanted, minlength=size)
    heavy = (want >= 1) & (have > 0)
    ratio = np.where(heavy, want / np.where(have > 0, have, 1.0), 1.0)
    rest, left = float(have[~heavy].sum()), float(wanted.sum()) - float(want[heavy].sum())
    if rest > 0:
        ratio[~heavy] = max(0.0, left) / rest
    out: Floats = sample * ratio[ids]
    return out
