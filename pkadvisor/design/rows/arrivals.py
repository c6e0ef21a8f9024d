"""When the rows at hand came: the first and the last of them, and those whose time is wrong.

A few rows with a wrong time (the year 1 or 2099) must not define what is newest, nor the span of the data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.rows.atoms import atom_properties, function_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Ints, np, pl
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import DrawBy, Workload
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Parameter
from pkadvisor.values import dataclass

US = 1_000_000
ROWS_MIN = 100
"""Rows from which wrong times are told from right ones: assumed."""
FEW_SHARE = 0.002
FEW_LEAST = 3
"""Rows at an end that may be wrong: so many, or this share of all."""
GAP_TIMES = 5.0
"""A gap before the last rows is of wrong times from so many times the largest gap among all others."""


def differ(times: pl.Series) -> bool:
    """Whether times tell an order: no single one is that of most entities, as after a restore."""
    present = times.drop_nulls()
    most = np.max(present.unique_counts().to_numpy(), initial=0)
    return bool(present.len() < 2 or 2 * most <= present.len())


def inserted_in_order(population: Population) -> Ints | None:
    """Data row numbers from the first inserted to the last, without those of wrong times; None where nobody knows."""
    order, arrival_times = population.arrival_order(), arrivals(population)
    if order is None or arrival_times is None or not arrival_times.ignored or population.arrival is None:
        return order
    moments = population.numbers(population.arrival, order)
    return order[(moments >= arrival_times.first) & (moments <= arrival_times.last)]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When the rows at hand came, in µs since 1970: the first and the last but for wrong times, and how many those
    are before and behind."""

    first: int
    last: int
    before: int
    behind: int

    @property
    def ignored(self) -> int:
        """Rows of wrong times."""
        return self.before + self.behind

    @property
    def span_s(self) -> float:
        """Seconds from the first to the last."""
        return (self.last - self.first) / US


def arrivals_of(moments: Ints) -> Arrivals | None:
    """``Arrivals`` of moments in any order; None for none.

    Wrong are the few at an end that lie apart from the others by a gap of several times the largest among these.
    """
    if not len(moments):
        return None
    ordered = np.sort(moments)
    few = max(FEW_LEAST, int(len(ordered) * FEW_SHARE))
    if len(ordered) < ROWS_MIN:
        return Arrivals(int(ordered[0]), int(ordered[-1]), 0, 0)
    gaps = np.diff(ordered)
    bound = GAP_TIMES * float(gaps[few : len(gaps) - few].max())
    if bound <= 0:
        return Arrivals(int(ordered[0]), int(ordered[-1]), 0, 0)
    behind = np.flatnonzero(gaps[len(gaps) - few :] > bound)
    before = np.flatnonzero(gaps[:few] > bound)
    late = few - int(behind[0]) if len(behind) else 0
    early = int(before[-1]) + 1 if len(before) else 0
    return Arrivals(int(ordered[early]), int(ordered[len(ordered) - 1 - late]), early, late)


@remembered("arrivals")
def arrivals(population: Population) -> Arrivals | None:
    """When the rows at hand came; None where the arrival is no time, or its values are hidden."""
    name = population.arrival
    if name is None or name in population.hashed or population.types.get(name) is not EdmType.DATETIME:
        return None
    if not population.has(name):
        return None
    column = population.frame.get_column(name)[: population.rows].drop_nulls()
    return arrivals_of(column.dt.epoch("us").to_numpy().astype(np.int64))


def arrival_notes(population: Population, workload: Workload) -> tuple[str, ...]:
    """What is told of the arrivals: rows of wrong times, and windows of time that the rows at hand do not span."""
    arrival_times = arrivals(population)
    if arrival_times is None:
        return ()
    out = []
    if arrival_times.ignored:
        ends = f"{_moment(arrival_times.first)} to {_moment(arrival_times.last)}"
        out.append(
            f"{arrival_times.ignored:,} of {population.rows:,} entities came at a time far from all others ("
            f"{population.arrival} of these is {ends}): ignored where the newest and the order of inserts are meant"
        )
    for name, window_s in _windows(workload, str(population.arrival)):
        if window_s > arrival_times.span_s > 0 and population.rows >= ROWS_MIN:
            out.append(
                f"{name} asks for {_span(window_s)}, and the data spans {_span(arrival_times.span_s)}: it is counted "
                "on all sampled rows; how much such a window holds in the table is not known"
            )
    return tuple(out)


def _moment(us: int) -> str:
    from datetime import UTC, datetime, timedelta

    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us):%Y-%m-%d}"


def _windows(workload: Workload, arrival: str) -> Iterator[tuple[str, float]]:
    """The windows of time that classes ask for, by their draw or by a filter that goes back from a moment."""
    for query in workload.classes:
        if query.draw.by is DrawBy.NEWEST and query.draw.window_s:
            yield query.name, query.draw.window_s
        asked = conditions(query.filter).ranges.get(arrival)
        back = asked.low.offset_ticks if asked is not None and isinstance(asked.low, Parameter) else 0
        if back < 0:
            yield query.name, -back / 1e7


def _span(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{amount(seconds / size)} {unit}"
    return f"{amount(seconds)} s"


@remembered("newest", of=lambda _, atoms: frozenset(atoms))
def newest_rows(population: Population, atoms: Collection[Atom]) -> Ints:
    """For each row (ghosts too) the row with the latest arrival of those that agree with it on the atoms.

    Only where the arrival is a property.
    """
    assert population.arrival is not None
    ids, size = population.groups(sorted(set(atoms)))
    codes = population.coded(population.arrival).codes
    if (came := arrivals(population)) is not None and came.behind:
        moments = population.numbers(population.arrival, np.arange(population.size, dtype=np.int64))
        codes = np.where(moments > came.last, -1, codes)  # a wrong time is not the latest
    order = np.argsort(codes, kind="stable")
    last = np.zeros(size, dtype=np.int64)
    last[ids[order]] = order
    return last[ids]


# -- How often entities come in one instant of a time: a time tells them apart only until two come at once.


SLOT_S = {**PERIOD_S, "tick of 100 ns": 1e-7}
"""Seconds within which a key tells no times apart, by the unit."""
_MEASURED = ("day", "hour", "minute", "second", "millisecond")
"""Units that the values of a time may show, the coarsest first; finer ones count as microseconds."""
RESOLUTION_ROWS = 5
"""Times at hand from which their common unit is that of the property: that 5 times in microseconds are whole
milliseconds happens by chance once in 10^15."""
REGULAR_FROM = 5.0
"""Collisions that chance would make among the rows at hand, from which none at all means that arrivals are regular: at
5 the chance of none is below 1 %."""
FOLLOWS = 0.9
"""Rank correlation with the arrival from which a time follows it."""


@dataclass(frozen=True, slots=True)
class Instant:
    """The finest time of a key: the name of its property, and the unit within which it tells nothing apart."""

    name: str
    unit: str

    @property
    def seconds(self) -> float:
        """The length of the unit."""
        return SLOT_S[self.unit]

    @property
    def atom(self) -> Atom:
        """The grouping of rows by the unit; that of the whole values where these show none that is coarser."""
        periods = [unit for unit in SLOT_S if SLOT_S[unit] >= 1.0]
        return ("t", self.name, self.unit) if self.unit in periods else ("p", self.name)


def taken(mean: float) -> float:
    """Expected entities of an instant beyond its first, where ``mean`` are expected in all: µ - 1 + exp(-µ)."""
    if mean < 1e-4:  # the difference of nearly equal numbers
        return mean * mean / 2 - mean**3 / 6
    return mean + math.expm1(-mean)


def expected_in_sample(counts: Iterable[tuple[float, float]], slots: float) -> float:
    """Rows at hand that would share a key by chance: ``counts`` are (how many groups, rows of each), spread over
    ``slots`` instants."""
    return sum(many * slots * taken(rows / slots) for many, rows in counts) if slots > 0 else 0.0


@remembered("resolution")
def resolution(name: str, population: Population) -> str:
    """The unit of a time as its values at hand show it; a second where they are hidden."""
    if name in population.hashed:
        return "second"
    values = population.coded(name).values
    moments = values.dt.epoch("us").to_numpy() if len(values) >= RESOLUTION_ROWS else np.ones(1, dtype=np.int64)
    units = (unit for unit in _MEASURED if not (moments % round(SLOT_S[unit] * 1e6)).any())
    return next(units, "microsecond")


def instant_of(atoms: Iterable[Atom], population: Population) -> Instant | None:
    """The finest time of arrival among the atoms of a key; None where there is none."""
    out = []
    for atom in atoms:
        if not tells_arrival(atom, population):
            continue
        (name,) = atom_properties(atom)
        units = [resolution(name, population), *_unit(atom)]
        out.append(Instant(name, max(units, key=SLOT_S.__getitem__)))
    return min(out, key=lambda instant: instant.seconds, default=None)


def tells_arrival(atom: Atom, population: Population) -> bool:
    """Whether an atom is made of nothing but a time that moves on as entities come."""
    names = atom_properties(atom)
    if len(names) != 1 or population.types.get(names[0]) is not EdmType.DATETIME or not population.has(names[0]):
        return False
    return follows_arrival(names[0], population)


@remembered("follows arrival")
def follows_arrival(name: str, population: Population) -> bool:
    """Whether a time moves on as entities come: it is the arrival, or in its order; any time where nobody says."""
    arrival = population.arrival
    timed = arrival is not None and population.types.get(arrival) is EdmType.DATETIME and population.has(arrival)
    if not timed or arrival is None or name == arrival or population.hashed & {name, arrival}:
        return True
    rows = population.rows
    one, other = (population.coded(n).codes[:rows].astype(np.float64) for n in (name, arrival))
    spread = float(one.std()) * float(other.std())
    mean = float(((one - one.mean()) * (other - other.mean())).mean())
    return spread > 0 and mean / spread >= FOLLOWS


def regular(atoms: Sequence[Atom], instant: Instant, population: Population) -> bool:
    """Whether the rows at hand come too regularly for chance: none share a key where chance would make several."""
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    return regular_among(group_sizes(rest, population), atoms, instant, population)


def regular_among(
    groups: Sequence[tuple[float, float]], atoms: Sequence[Atom], instant: Instant, population: Population
) -> bool:
    """``regular`` for groups given as (how many, rows of each)."""
    if instant.name in population.hashed or population.surplus(atoms):
        return False
    column = population.frame.get_column(instant.name)[: population.rows].drop_nulls()
    arrivals = arrivals_of(column.dt.epoch("us").to_numpy())
    span_s = 0.0 if arrivals is None else arrivals.span_s
    return expected_in_sample(groups, span_s / instant.seconds + 1) >= REGULAR_FROM


def group_sizes(atoms: Sequence[Atom], population: Population) -> list[tuple[float, float]]:
    """(how many, rows of each) of the groups at hand that agree on all atoms."""
    counts = population.counts(atoms)
    size, many = np.unique(counts[counts > 0], return_counts=True)
    return [(float(n), float(rows)) for rows, n in zip(size, many, strict=True)]


def _unit(atom: Atom) -> tuple[str, ...]:
    """The unit that an atom cuts its time to; none for the whole time."""
    if atom[0] == "t":
        return (atom[2],)
    if atom[0] == "p":
        return ()
    unit = function_of(atom).clock_unit if atom[0] == "f" else ""
    if not unit:
        return ("year",)  # a bucket of a time tells nothing beyond the time itself
    return (unit,) if SLOT_S[unit] >= 1e-3 else ()
