"""From the rows at hand to the whole table, or to a grown one: by how much a request scans and returns more there.

The cost model knows both: it counts with ``entities_total``, and it counts the rows at hand as if they were all.
"""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.load.breaks import scans
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import Demand, demands
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, np
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.values import dataclass

AS_IT_IS = (1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class ClassScale:
    """Of one class: entities scanned and returned in the whole table for one at hand, for each instance."""

    scanned: Floats
    returned: Floats

    def of(self, instance: int) -> tuple[float, float]:
        """Both factors of one instance."""
        return float(self.scanned[instance]), float(self.returned[instance])


def sampled(bench: Bench) -> Bench:
    """The bench as if the rows at hand were the whole table."""
    known = bench.population
    population = Population(
        known.frame[: known.rows],
        known.types,
        arrival=known.arrival,
        ghosts=known.frame[known.rows :],
        sizes=known.known_sizes,
        hashed=known.hashed,
        token=known.token,
        zoneless=known.zoneless,
    )
    population.rules = known.rules  # the other kinds of the table have their say in them
    places = {
        d.query.name: (int(d.instances[0]), int(d.instances[-1]) + 1)
        for d in bench.demands
        if len(d.instances) and d.instances[0] >= known.rows
    }
    return replace(bench, population=population, demands=demands(bench.workload, population, places))


def scales(programs: Programs, rows_per_key: float = 1.0) -> tuple[ClassScale | None, ...]:
    """The factors of each class; None where it scans nothing, or where all rows are at hand.

    ``rows_per_key``: how many times its rows of today each key has: scans grow by it that do not end at ``top``.
    """
    bench = programs.bench
    all_at_hand = bench.population.rows == bench.population.total
    if all_at_hand and rows_per_key == 1:
        return (None,) * len(programs.classes)
    hand = bench if all_at_hand else sampled(bench)
    small = {d.query.name: d for d in hand.demands}
    grows = {cost.name: scans(cost) for cost in programs.estimate.classes}
    return tuple(
        _scale(programs, number, demand, small[demand.query.name], hand, rows_per_key if grows[name] else 1.0)
        for number, (name, demand) in enumerate(zip(programs.classes, programs.demands, strict=True))
    )


def _scale(
    programs: Programs, number: int, demand: Demand, small: Demand, hand: Bench, growth: float
) -> ClassScale | None:
    plan = programs.plan(number)
    if plan is None or not len(demand.instances):
        return None
    # Pointers are followed one by one, and stay as they are: what is scaled are the rows between the bounds.
    plan = replace(plan, pointer=False, follows=False)
    whole = growth * read(plan, demand, programs.scheme, programs.bench).per_instance
    part = read(plan, small, programs.scheme, hand).per_instance
    top = np.inf if demand.query.top is None else float(demand.query.top)
    # No request returns more than it scans; of a sample both are estimates, each by a law of its own.
    most = np.minimum(top, whole)
    many, few = np.minimum(growth * demand.returned, most), np.minimum(small.returned, top)
    returned = np.where(few > 0, many / np.maximum(few, 1e-9), 1.0)
    return ClassScale(np.maximum(whole / np.maximum(part, 1e-9), 1.0), np.maximum(returned, 1.0))
