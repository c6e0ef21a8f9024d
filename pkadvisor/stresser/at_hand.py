"""Tables of which only some keys are at hand: which part of a class's load the keys at hand take in the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.design.class_cost import kept_share, touched
from pkadvisor.design.population import atoms_of
from pkadvisor.observe.workload import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pkadvisor.design.demand import Demand
    from pkadvisor.design.estimates import ClassCost, CostEstimate
    from pkadvisor.design.population import Population
    from pkadvisor.design.scheme import KeyScheme
    from pkadvisor.design.transforms import Part


def parts_at_hand(demands: Sequence[Demand], found: CostEstimate, population: Population) -> tuple[float, ...]:
    """By class, of the load the part that the keys at hand would take if all keys of the table were there; 1 of a log.

    Requests load several PartitionKeys, of which different parts may be at hand: what counts is the one that is the
    hottest of the scheme, and for classes that never touch it the one of which most is at hand.
    """
    costs = {cost.name: cost for cost in found.classes}
    hot = None if found.hot is None else found.hot.template
    return tuple(_part(demand, costs[demand.query.name], found.scheme, population, hot) for demand in demands)


def _part(
    demand: Demand, cost: ClassCost, scheme: KeyScheme, population: Population, hot: tuple[Part, ...] | None
) -> float:
    kept = kept_share(demand, population)
    if kept is not None:
        return kept
    if len(demand.instances) and int(demand.instances[0]) >= population.rows:
        return 1.0
    reached = _reached(demand, cost, scheme)
    inserts = cost.plan is None
    atoms = [atoms_of(hot)] if hot is not None and hot in reached else [atoms_of(each) for each in reached]
    rest = [population.without_arrival(each) if inserts else each for each in atoms]
    return max((population.share_factor(each) for each in rest), default=1.0)


def _reached(demand: Demand, cost: ClassCost, scheme: KeyScheme) -> list[tuple[Part, ...]]:
    """The PartitionKeys that requests of a class load."""
    keys = [key.partition for key, _ in scheme.each_key()]
    if cost.plan is None:
        return keys
    vias = {cost.plan.via} | ({0} if cost.plan.pointer else set())
    if demand.query.operation is not Operation.QUERY:
        vias |= {0, *touched(scheme, demand)}
    return [keys[via] for via in sorted(vias)]
