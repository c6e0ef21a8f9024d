"""Going back period by period for the newest entities: how many periods that takes, counted on the rows at hand.

Under a PartitionKey that ends with a period (``{device}_{yyyyMM}``) nobody knows in which period the newest rows of a
device lie. An application asks the newest period of the table, then the one before, until it has found enough. For
devices that report rarely this has no bound: they need a row of their own for the latest, or a query with a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.keys.transforms import PeriodPart, time_unit
from pkadvisor.design.rows.demand import free_atoms, rows_of_constants
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import period_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.design.plan.plan import AccessPlan
    from pkadvisor.design.rows.demand import Demand

    Floats = NDArray[np.float64]

FAR = 12
"""Periods after which going back is told to be unbounded: assumed."""


@dataclass(frozen=True, slots=True)
class WalkBack:
    """Per instance: the periods asked, and the rows that lie in them. ``far`` is the share that goes beyond FAR."""

    periods: Floats
    rows: Floats
    far: float


def walk_back(found: AccessPlan, demand: Demand, population: Population) -> WalkBack:
    """Periods from the newest of the table back to the one that holds the last row wanted; through all of them where
    a key has too few rows.

    A sample of rows shows gaps that are longer than they are: the place of the last row wanted is looked for at the
    sample's share of it.
    """
    assert found.periods is not None
    part = found.periods
    memo = ("walk back", demand.query.name, frozenset(found.equal_atoms), part.property, time_unit(part.format))
    if memo not in population.memo:
        population.memo[memo] = _walk_back(found, part, demand, population)
    walked: WalkBack = population.memo[memo]
    return walked


def _walk_back(found: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> WalkBack:
    import numpy as np

    wanted, rows = demand.query.top, population.rows
    assert wanted is not None
    column = population.frame.get_column(part.property)[:rows]
    period = period_index(column, time_unit(part.format))
    newest, oldest = int(period.max()), int(period.min())
    keep = rows_of_constants(population, found.equal_atoms, demand.constants)
    ids, groups = population.groups(free_atoms(found.equal_atoms, demand.constants))
    among = np.arange(rows) if keep is None else np.flatnonzero(keep)
    order = among[np.lexsort((-period[among], ids[among]))]
    sorted_ids, sorted_periods = ids[order], period[order]
    start = np.searchsorted(sorted_ids, np.arange(groups), side="left")
    count = np.searchsorted(sorted_ids, np.arange(groups), side="right") - start

    asked = ids[demand.instances]
    reached = np.maximum(population.scale(count[asked], demand.instances, population.whole(found.equal_atoms)), 1e-9)
    density = np.minimum(1.0, np.maximum(demand.returned, 1e-9) / reached)  # what else the filter wants
    share = count[asked] / reached
    place = wanted / density * share
    there = place <= count[asked]
    at = np.clip(np.ceil(place).astype(np.int64) - 1, 0, np.maximum(count[asked] - 1, 0))
    last = np.append(sorted_periods, oldest)[np.minimum(start[asked] + at, len(order))]
    gap = (newest - last) * np.minimum(1.0, place)
    periods = 1.0 + np.where(there & (count[asked] > 0), gap, newest - oldest)
    behind = np.maximum(newest - np.ceil(periods).astype(np.int64) + 1, oldest)
    span = newest - oldest + 1
    keyed = sorted_ids * (span + 1) + (newest - sorted_periods)
    within = np.searchsorted(keyed, asked * (span + 1) + (newest - behind), side="right") - start[asked]
    far = demand.mean((periods > FAR).astype(np.float64)) if len(asked) else 0.0
    return WalkBack(periods, np.maximum(within / np.maximum(share, 1e-9), 0.0), far)


def note_of(found: WalkBack) -> str:
    """What to say where some keys are looked for too far back; empty where none is."""
    if found.far < 0.01:
        return ""
    return (
        f"{100 * found.far:.0f} % of the requests go back more than {FAR} periods: keep a row for the latest, or bound "
        "the time"
    )
