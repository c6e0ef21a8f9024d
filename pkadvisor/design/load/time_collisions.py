"""Entities that are expected to get one key, where nothing but a time tells them apart: the birthday problem.

How many come in one instant follows from the rate of the inserts, the resolution of the time, and the share of pairs of
entities that agree on the rest of the key.
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.arrivals import arrivals
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.counters import HORIZON_MONTHS, MONTH_S, inserted_per_s
from pkadvisor.design.rows.instants import Instant, instant_of, regular, tells_arrival
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.minutes import DAY
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

COLLISIONS_MOST = 1.0
"""Entities that may be expected to share a key before an identifier is put beside a time."""
COLLIDING_SHARE = 1e-3
"""The share of entities that may be expected to share a key before it is refused: fewer are now and then a 409."""
CROWDED = 2.0
"""Entities of a group in one instant, on average, from which no regularity keeps them apart; above 1, as the rate that
a sample shows is not exact."""
RUSH_S = 30 * 86_400.0
"""A rate that would have filled the table within so little time is one of a rush: it does not last to the horizon."""


@dataclass(frozen=True, slots=True)
class TimeCollisions:
    """Entities expected to come in an instant in which an earlier one took their key.

    ``entities``: how many entities are looked at, over the lifetime of the table; ``at_once``: how many of the largest
    group come in one instant, on average.
    """

    expected: float
    entities: float
    per_s: float
    at_once: float
    instant: Instant


def collides(atoms: Sequence[Atom], bench: Bench, *, many: bool = False) -> bool:
    """Whether so many entities are expected to share a key that a time does not tell them apart.

    As the rows at hand may lack a pair by chance, one pair more is assumed than they have. ``many``: several entities
    are known to agree on the rest of the key, although none do at hand.
    """
    population = bench.population
    instant = instant_of(atoms, population)
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    if instant is None or (population.surplus(rest) == 0 and not many) or ("s",) in atoms:
        return False
    return expected_collisions(atoms, bench) >= COLLISIONS_MOST and not _regular(atoms, instant, bench)


def expected_collisions(atoms: Sequence[Atom], bench: Bench) -> float:
    """Entities of the table that come at the same time as an earlier one of which the key has all else, on average.

    After the birthday problem: with r inserts/s each entity finds r x resolution others in its instant, of which those
    count that agree on the rest of the key as pairs at hand do; 0 where nothing is inserted.
    """
    population = bench.population
    instant = instant_of(atoms, population)
    per_s, entities = _inserts(bench)
    if instant is None:
        return 0.0
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    at_once = min(entities, per_s * instant.seconds) * _alike(rest, population, spare_pairs=1)
    return entities * min(1.0, at_once / 2)


def time_collisions(key: Key, bench: Bench) -> TimeCollisions | None:
    """What is expected of a key that nothing but a time makes unique; None where it is no matter of time.

    By the pairs at hand alone, so that what no row shows is not compared with a key. The answer at the first rates that
    are asked for stays that of the key: whether it is unique is no matter of weighing rates.
    """
    parts = (*key.partition, *key.row)
    return None if any(part.assigned for part in parts) else _time_collisions(atoms_of(parts), bench)


@remembered("time collisions", of=lambda atoms, _: frozenset(atoms))
def _time_collisions(atoms: Sequence[Atom], bench: Bench) -> TimeCollisions | None:
    population = bench.population
    instant = instant_of(atoms, population)
    rest = [atom for atom in atoms if not tells_arrival(atom, population)]
    if instant is None or population.surplus(atoms) or population.surplus(rest) == 0:
        return None
    per_s, entities = _inserts(bench)
    at_once = min(entities, per_s * instant.seconds)
    expected = entities * min(1.0, at_once * _alike(rest, population, spare_pairs=0) / 2)
    if expected < max(COLLISIONS_MOST, COLLIDING_SHARE * entities) or _regular(atoms, instant, bench):
        return None
    largest = float(population.counts(rest).max(initial=1)) / max(1, population.rows)
    return TimeCollisions(expected, entities, per_s, at_once * largest, instant)


def _regular(atoms: Sequence[Atom], instant: Instant, bench: Bench) -> bool:
    """Whether regular arrivals keep entities apart: those at hand are, and at the rate there is room for it."""
    rest = [atom for atom in atoms if not tells_arrival(atom, bench.population)]
    crowded = _inserts(bench)[0] * instant.seconds * _alike(rest, bench.population, spare_pairs=0) > CROWDED
    return not crowded and regular(atoms, instant, bench.population)


def _inserts(bench: Bench) -> tuple[float, float]:
    """(entities inserted a second, entities over which collisions are counted).

    Those are what comes within the retention or up to the horizon, or the table as it is where the rate is one of a
    rush. Where no insert is declared, and where a log of less than a day is all that tells of one, entities come as
    those at hand did over the time that they span.
    """
    population, workload = bench.population, bench.workload
    per_s = inserted_per_s(workload)
    total = float(population.total)
    months = workload.growth.horizon_months if workload.growth is not None else HORIZON_MONTHS
    at = [minute for series in workload.minutes.values() for minute in series.at]
    if not per_s:
        return (density_per_s(population) if population.rows < population.total else 0.0), total
    if at and max(at) - min(at) + 1 < DAY:
        per_s = min(per_s, density_per_s(population))
    if workload.retention_s is not None:
        return per_s, max(total, per_s * workload.retention_s)
    rush = population.rows < population.total and total < per_s * RUSH_S
    return per_s, total if rush else max(total, per_s * months * MONTH_S)


def density_per_s(population: Population) -> float:
    """Entities of the table a second of the time that the rows at hand span; 0 where nobody knows when they came."""
    name = population.arrival
    if (
        name is None
        or population.types.get(name) is not EdmType.DATETIME
        or not population.has(name)
        or name in population.hashed
    ):
        return 0.0
    arrival_times = arrivals(population)
    span_s = 0.0 if arrival_times is None else arrival_times.span_s
    stands_for = population.drawn_from if population.sampling == "slice" else population.total
    return stands_for / span_s if span_s > 0 else 0.0


def _alike(atoms: Sequence[Atom], population: Population, *, spare_pairs: int) -> float:
    """The share of pairs of entities that agree on all atoms, with so many pairs more than are at hand."""
    if not atoms or population.rows < 2:
        return 1.0
    counts = population.counts(atoms).astype("float64")
    pairs = population.rows * (population.rows - 1) / 2
    share = min(1.0, (float((counts * (counts - 1)).sum()) / 2 + spare_pairs) / pairs)
    return share * (population.drawn_from / population.total) if population.whole(atoms) else share
