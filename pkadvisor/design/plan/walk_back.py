"""Going back period by period for the newest entities: how many periods that takes, counted on the rows at hand.

Under a PartitionKey that ends with a period (``{device}_{yyyyMM}``) nobody knows in which period the newest rows of a
device lie. An application asks the newest period of the table, then the one before, until it has found enough. For
devices that report rarely this has no bound: they need a row of their own for the latest, or a query with a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pkadvisor.design.keys.transforms import PeriodPart
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
    asked = (demand.query.name, frozenset(found.equal_atoms), part.property, part.unit)
    memo = ("walk back", *asked, found.top, bool(found.unserved))
    if memo not in population.memo:
        population.memo[memo] = _walk_back(found, part, demand, population)
    walked: WalkBack = population.memo[memo]
    return walked


def _walk_back(found: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> WalkBack:
    import numpy as np

    wanted, rows = demand.query.top, population.rows
    assert wanted is not None
    column = population.frame.get_column(part.property)[:rows]
    period = period_index(column, part.unit)
    newest, oldest = _ends(part, period, demand)
    keep = rows_of_constants(population, found.equal_atoms, demand.constants)
    ids, _ = population.groups(free_atoms(found.equal_atoms, demand.constants))
    among = np.arange(rows) if keep is None else np.flatnonzero(keep)
    order = among[np.lexsort((-period[among], ids[among]))]
    sorted_ids, sorted_periods = ids[order], period[order]
    asked = ids[demand.instances]
    latest = int(period.max())
    span = latest - int(period.min()) + 2
    keyed = sorted_ids * (span + 1) + (latest - sorted_periods)  # by group, the latest period first

    def behind(moment: NDArray[np.int64], side: Literal["left", "right"]) -> NDArray[np.int64]:
        """How many rows stand before the periods of a moment (``left``), or up to them (``right``)."""
        return np.searchsorted(keyed, asked * (span + 1) + np.clip(latest - moment, 0, span), side=side)

    start = behind(newest, "left")
    count = np.maximum(behind(oldest, "right") - start, 0)
    reached = np.maximum(population.scale(count, demand.instances, population.whole(found.equal_atoms)), 1e-9)
    density = np.minimum(1.0, np.maximum(demand.returned, 1e-9) / reached)  # what else the filter wants
    share = count / reached
    place = wanted / density * share
    there = place <= count
    at = np.clip(np.ceil(place).astype(np.int64) - 1, 0, np.maximum(count - 1, 0))
    last = np.append(sorted_periods, 0)[np.minimum(start + at, len(order))]
    gap = (newest - last) * np.minimum(1.0, place)
    periods = 1.0 + np.where(there & (count > 0), gap, newest - oldest)
    end = np.maximum(behind(np.maximum(newest - np.ceil(periods).astype(np.int64) + 1, oldest), "right"), start)
    within = end - start
    if found.top is not None and not found.unserved and len(keyed):  # each period is asked for so many at most
        place_in_period = np.arange(len(keyed)) - np.searchsorted(keyed, keyed, side="left")
        read = np.concatenate([[0], np.cumsum(place_in_period < found.top)])
        within = read[end] - read[start]
    far = demand.mean((periods > FAR).astype(np.float64)) if len(asked) else 0.0
    return WalkBack(periods, np.maximum(within / np.maximum(share, 1e-9), 0.0), far)


def _ends(part: PeriodPart, period: NDArray[np.int64], demand: Demand) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The period that a client asks first, and the one after which it stops, per instance: the newest and the oldest of
    the table, or those of the bounds that the filter sets on the same time."""
    import numpy as np
    import polars as pl

    count = len(demand.instances)
    newest = np.full(count, int(period.max()), dtype=np.int64)
    oldest = np.full(count, int(period.min()), dtype=np.int64)
    if part.property not in demand.bounds:
        return newest, oldest

    def periods(moments: Floats) -> NDArray[np.int64]:
        clipped = np.clip(np.nan_to_num(moments, posinf=2.5e17, neginf=-6e16), -6e16, 2.5e17).astype(np.int64)
        return period_index(pl.Series(clipped).cast(pl.Datetime("us", "UTC")), part.unit)

    low, high = demand.bounds[part.property]
    newest = np.minimum(newest, periods(np.ceil(high) - 1))  # the end is open, or half a unit above its value
    oldest = np.minimum(np.maximum(oldest, periods(low)), newest)
    return newest, oldest


def note_of(found: WalkBack) -> str:
    """What to say where some keys are looked for too far back; empty where none is."""
    if found.far < 0.01:
        return ""
    return (
        f"{100 * found.far:.0f} % of the requests go back more than {FAR} periods: keep a row for the latest, or bound "
        "the time"
    )
