"""How often entities come in one instant of a time: a time tells them apart only until two come at once.

A time has the resolution that its values show, not that of its type: one that is written in whole seconds tells
entities of a second apart as little as a period of a second does. How many share an instant follows from the rate of
the inserts after the birthday problem, for arrivals at random; arrivals that are regular at hand are no matter of
chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.rows.arrivals import arrivals_of
from pkadvisor.design.rows.atoms import atom_properties, function_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

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
