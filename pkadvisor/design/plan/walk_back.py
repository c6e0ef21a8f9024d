"""Going back period by period for the newest entities: how many periods that takes, counted on the rows at hand.

Under a PartitionKey that ends with a period (``{device}_{yyyyMM}``) nobody knows in which period the newest rows of a
device lie. An application asks the newest period of the table, then the one before, until it has found enough. For
devices that report rarely this has no bound: they need a row of their own for the latest, or a query with a bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pkadvisor.design.keys.transforms import Atom, PeriodPart
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.rows.asked.matching_rows import codes_between, rows_of_constants
from pkadvisor.design.rows.demand import Demand, free_atoms
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import period_index, period_of_moments
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

FAR = 12
"""Periods after which going back is told to be unbounded: assumed."""


@dataclass(frozen=True, slots=True)
class Line:
    """The rows at hand that some instances may ask for, by what each instance names (``groups``), the newest first.

    ``asked`` is the group of each instance; it may want the rows from place ``start`` to before ``end``, those between
    the bounds of its filter.
    """

    rows: Ints
    groups: Ints
    periods: Ints
    asked: Ints
    start: Ints
    end: Ints

    def since(self, period: Ints) -> Ints:
        """For each instance the place behind the rows of its group that lie in a period or a later one."""
        latest, earliest = (int(self.periods.max()), int(self.periods.min())) if len(self.periods) else (0, 0)
        span = latest - earliest + 3
        place = self.groups * span + latest - self.periods
        return np.searchsorted(place, self.asked * span + np.clip(latest - period, -1, span - 2), side="right")


@dataclass(frozen=True, slots=True)
class WalkBack:
    """Per instance: the periods asked and the newest of them, and the rows that are looked at, as (start, end).

    ``places`` in ``line`` are those of all rows that the requests reach. Of these are read the ``first`` ones, of the
    newest period, and the ``further`` ones, numbered among those that are ``brought``. ``count`` is the number read in
    the table, and ``far`` the share of instances that go beyond FAR.
    """

    line: Line
    periods: Floats
    newest: Ints
    places: tuple[Ints, Ints]
    first: tuple[Ints, Ints]
    further: tuple[Ints, Ints]
    brought: Bools
    """Of the rows of ``line``: whether a request for their period reads them, which brings ``$top`` at most."""
    count: Floats
    far: float

    @property
    def oldest(self) -> Ints:
        """The last period that each instance asks."""
        return self.newest - np.ceil(self.periods).astype(np.int64) + 1


def walk_back(plan: AccessPlan, demand: Demand, population: Population) -> WalkBack:
    """Periods from the newest of the table back to the one that holds the last row wanted; through all of them where
    a key has too few rows.

    A sample of rows shows gaps that are longer than they are: of the steps to the last row wanted so many are taken as
    the sample has of all rows, and of a gap the share of a step that is less than one.
    """
    assert plan.periods is not None
    return _walk_back(plan, plan.periods, demand, population)


def _of_walk(plan: AccessPlan, part: PeriodPart, demand: Demand, _: Population) -> Hashable:
    asked = (demand.asked, frozenset(plan.equal_atoms), part.property, part.unit)
    return *asked, plan.top, bool(plan.unserved), _within_bounds(plan, part)


def _within_bounds(plan: AccessPlan, part: PeriodPart) -> bool:
    """Whether the RowKey takes the bounds on the time: of the first and the last period not all rows are read."""
    return plan.by_rows and plan.range_atom == ("p", part.property)


def _line(atoms: Iterable[Atom], part: PeriodPart, demand: Demand, population: Population) -> Line:
    """The rows that agree on some ``atoms``."""
    atoms = tuple(atoms)
    over: Atom = ("p", part.property)
    codes, size = population.atom(over)
    codes = codes[: population.rows]
    keep = rows_of_constants(population, atoms, demand.constants)
    ids, _ = population.groups(free_atoms(atoms, demand.constants))
    among = np.arange(population.rows) if keep is None else np.flatnonzero(keep)
    rows = among[np.lexsort((-codes[among], ids[among]))]
    asked = ids[demand.instances]
    low, high = np.zeros(len(asked), dtype=np.int64), np.full(len(asked), size)
    if part.property in demand.bounds:
        low, high = codes_between(population, over, demand.bounds[part.property])
    place = ids[rows] * (size + 1) + size - codes[rows]
    start, end = (np.searchsorted(place, asked * (size + 1) + size - code, side="right") for code in (high, low))
    period = periods_of(part, population)
    return Line(rows, ids[rows], period[rows], asked, start, np.maximum(end, start))


@remembered("periods of rows")
def periods_of(part: PeriodPart, population: Population) -> Ints:
    """The number of the period of each row at hand."""
    times = population.frame.get_column(part.property)[: population.rows]
    return period_index(times, part.unit)


@remembered("walk back", of=_of_walk)
def _walk_back(plan: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> WalkBack:
    wanted = demand.query.top
    assert wanted is not None
    newest, oldest = _ends(part, periods_of(part, population), demand)
    line = _line(plan.equal_atoms, part, demand, population)
    count = line.end - line.start
    reached = np.maximum(population.scale(count, demand.instances, population.whole(plan.equal_atoms)), 1e-9)
    density = np.minimum(1.0, np.maximum(demand.returned, 1e-9) / reached)  # what else the filter wants
    share = count / reached
    known = _matching(plan, part, demand, population)
    matching = line if known is None else known
    there = matching.end - matching.start
    # Steps from the newest row of the line to the last one wanted; the rows of a sample lie further apart.
    steps = (wanted / (density if known is None else np.ones(len(count))) - 1) * share
    at = np.minimum(np.ceil(steps).astype(np.int64), np.maximum(there - 1, 0))
    last = np.append(matching.periods, 0)[np.minimum(matching.start + at, len(matching.rows))]
    gap = (newest - last) * np.where(share < 1, np.minimum(1.0, steps), 1.0)
    periods = 1.0 + np.where((steps <= there - share) & (there > 0), gap, newest - oldest)
    # The rows of the first period and of those before it.
    begin, middle = line.since(newest + 1), line.since(newest)
    stop = line.since(np.maximum(newest - np.ceil(periods).astype(np.int64) + 1, oldest))
    if _within_bounds(plan, part):
        begin, stop = np.maximum(begin, line.start), np.minimum(stop, line.end)
        middle = np.maximum(middle, begin)
    middle, stop = np.minimum(middle, np.maximum(stop, begin)), np.maximum(stop, begin)
    brought = np.ones(len(line.rows), dtype=bool)
    first = begin, middle
    if plan.top is not None and not plan.unserved:
        first = begin, np.minimum(middle, begin + plan.top)
        brought = _place_in_period(line) < plan.top
    read = np.concatenate([[0], np.cumsum(brought)])
    further = read[middle], read[stop]
    within = first[1] - first[0] + further[1] - further[0]
    far = demand.mean((periods > FAR).astype(np.float64)) if len(newest) else 0.0
    rows = np.maximum(within / np.where(share > 0, share, 1.0), 0.0)
    if plan.top is not None and not plan.unserved:  # a row of a sample stands for more than a request may bring
        rows = np.where(share < 1, np.minimum(rows, wanted / density), rows)
    return WalkBack(line, periods, newest, (begin, stop), first, further, brought, rows, far)


def _matching(plan: AccessPlan, part: PeriodPart, demand: Demand, population: Population) -> Line | None:
    """The rows that satisfy all that a filter asks, where each is told by what an instance names; None where more is
    asked, or not all rows are at hand."""
    wanted = demand.conditions
    more = wanted.residual or wanted.any_of or wanted.multi or demand.masks or set(wanted.ranges) - {part.property}
    if more or population.rows < population.total:
        return None
    return _line((*plan.equal_atoms, *(("p", name) for name in wanted.equal)), part, demand, population)


def _place_in_period(line: Line) -> Ints:
    """How many rows of the same group and period stand before each row."""
    if not len(line.rows):
        return np.zeros(0, dtype=np.int64)
    new = np.append(True, (np.diff(line.groups) != 0) | (np.diff(line.periods) != 0))
    places = np.arange(len(line.rows))
    return places - np.maximum.accumulate(np.where(new, places, 0))


def _ends(part: PeriodPart, period: Ints, demand: Demand) -> tuple[Ints, Ints]:
    """The period that a client asks first, and the one after which it stops, per instance: the newest and the oldest of
    the table, or those of the bounds that the filter sets on the same time."""
    count = len(demand.instances)
    newest = np.full(count, int(period.max()), dtype=np.int64)
    oldest = np.full(count, int(period.min()), dtype=np.int64)
    if part.property not in demand.bounds:
        return newest, oldest
    low, high = demand.bounds[part.property]
    # The end is open, or half a unit above its value.
    newest = np.minimum(newest, period_of_moments(np.ceil(high) - 1, part.unit))
    oldest = np.minimum(np.maximum(oldest, period_of_moments(low, part.unit)), newest)
    return newest, oldest


def note_of(back: WalkBack) -> str:
    """What to say where some keys are looked for too far back; empty where none is."""
    if back.far < 0.01:
        return ""
    return (
        f"{100 * back.far:.0f} % of the requests go back more than {FAR} periods: keep a row for the latest, or bound "
        "the time"
    )
