"""Windows of time that are counted on data of another density than the inserts: what they hold by the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.rows.demand import ByRate, Demand
from pkadvisor.design.rows.density import Density, density_of, span_of
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np
from pkadvisor.numbers import amount, rate
from pkadvisor.observe.workload import DrawBy, Workload

APART = 2.0
"""Times that two figures of one thing may lie apart before they contradict each other."""
EVEN = 1.5
"""Times that the density of the newest quarter and that of the whole data may lie apart, for windows of all of the data
to be scaled by the rate: which of both the rate is that of, nobody says. Assumed."""
RECURS = 0.9
"""Share of the newer half of the rows whose values the older half has as well, from which on more inserts mean more
rows of each value and no further values: assumed."""


def by_rate(demands: Sequence[Demand], workload: Workload, population: Population) -> tuple[Demand, ...]:
    """The demands with what their windows of time hold by the declared rate of inserts, where that is not what the data
    holds.

    A window holds rate × length rows, and of each value that a class fixes its share in the data; the entity that is
    asked for is in it once at any rate. That is sound only where the values come again: of numbers of orders there are
    as many more as there are rows.
    """
    density = None if population.sampling_basis == "unknown" else density_of(population, workload)
    if density is None or not density.declared:
        return tuple(demands)
    return tuple(_by_rate(demand, density, population) for demand in demands)


def _by_rate(demand: Demand, density: Density, population: Population) -> Demand:
    width = width_s(density.arrival, demand) if density.arrival in demand.bounds else 0.0
    if demand.query.analytic or not in_time(demand, density) or width <= 0:
        return demand
    times = density.times * max(1.0, width / max(_covered_s(density.arrival, demand, population), 1e-6))
    if 1 / APART <= times <= APART:
        return demand
    counted = demand.mean(demand.returned)
    if _identified(demand, population):
        return demand
    new = _new_values(demand, density.arrival, population)
    inserts = rate(density.inserts_per_s)
    low, high = sorted((density.mean_per_s, density.newest_per_s))
    if high > EVEN * low:
        held = ByRate(None)
        note = (
            f"how many entities such a window holds at {inserts} inserted is not known, for they came unevenly: "
            f"{amount(counted)} are counted in data of {rate(density.mean_per_s)}, and {rate(density.newest_per_s)} in "
            "the newest quarter of its time"
        )
    elif new:
        held = ByRate(None)
        note = (
            f"how many entities such a window holds at {inserts} inserted is not known, for further inserts have "
            f"further values of {', '.join(new)}: {amount(counted)} are counted in data of {rate(density.per_s)}"
        )
    else:
        own = _own(demand, population)
        returned = own + (counted - own) * times
        shown = returned / counted if counted else times
        held = ByRate(returned if demand.query.top is None else min(returned, float(demand.query.top)))
        note = (
            f"at {inserts} inserted such a window holds {amount(returned)} entities, {amount(shown)} "
            f"times the {amount(counted)} that are counted in data of {rate(density.per_s)}"
        )
    return replace(demand, by_rate=held, notes=(*demand.notes, note))


def _own(demand: Demand, population: Population) -> float:
    """The share of the requests whose window holds the entity that they are drawn from."""
    of_rows = population.is_data[demand.instances]
    rows = np.where(of_rows, demand.instances, 0)
    inside = of_rows & (demand.returned > 0)
    for name, (low, high) in demand.bounds.items():
        moments = population.numbers(name, rows)
        inside &= (moments >= low) & (moments < high)
    for held in (*demand.constants.values(), *(population.atom(mask)[0] == 1 for mask in demand.masks)):
        inside &= held[rows]
    return demand.mean(inside.astype(np.float64))


def _identified(demand: Demand, population: Population) -> bool:
    """Whether what a class fixes belongs to one entity each, however many there are."""
    fixed = demand.fixed_atoms(population)
    return bool(fixed) and int(population.counts(fixed).max(initial=0)) <= 1


def _new_values(demand: Demand, arrival: str, population: Population) -> tuple[str, ...]:
    """The properties that a class fixes, if the rows that came later have other values of them than those before."""
    fixed = [n for n in (*demand.conditions.equal, *demand.conditions.any_of) if population.has(n) and n != arrival]
    order = population.arrival_order()
    if not fixed or order is None:
        return ()
    ids, size = population.groups([("p", name) for name in fixed])
    half = len(order) // 2
    known = np.zeros(size, dtype=bool)
    known[ids[order[:half]]] = True
    return () if float(known[ids[order[half:]]].mean()) >= RECURS else tuple(sorted(fixed))


def in_time(demand: Demand, density: Density) -> bool:
    """Whether a class is counted in windows of the time of arrival that hold one entity and more."""
    if demand.query.analytic:
        return False
    if demand.query.draw.by is DrawBy.NEWEST:
        return True
    if density.arrival not in demand.bounds:
        return False
    return width_s(density.arrival, demand) * max(density.per_s, density.inserts_per_s) >= 1


def width_s(name: str, demand: Demand) -> float:
    """How long the windows of a time are that a class asks for, in seconds; 0 where they are open."""
    low, high = demand.bounds[name]
    both = np.isfinite(low) & np.isfinite(high)
    width = demand.mean(np.where(both, np.where(both, high, 0.0) - np.where(both, low, 0.0), 0.0))
    return max(width, _offset_us(name, demand)) / 1e6


def _covered_s(name: str, demand: Demand, population: Population) -> float:
    """How much of the windows lies within the times of the data, in seconds: those at its ends reach beyond it."""
    first, last = span_of(population, name) or (0.0, 0.0)
    low, high = demand.bounds[name]
    covered = np.minimum(high, last) - np.maximum(low, first)
    return demand.mean(np.maximum(covered, 0.0)) / 1e6


def _offset_us(name: str, demand: Demand) -> float:
    """How far a one-sided window reaches from the time that is given: ``{at-30d}``."""
    bound = demand.conditions.ranges.get(name)
    if bound is None or (bound.low is not None and bound.high is not None):
        return 0.0
    operand = bound.low if bound.low is not None else bound.high
    back = getattr(operand, "offset_ticks", 0) / 10
    return max(0.0, -back if bound.low is not None else back)
