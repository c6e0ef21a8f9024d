"""Queries that name several values of a property that a part of the key joins with another.

The bucket of ``{hash(concat(city,'_',area),16)}`` for ``city eq {city} or city eq 'oslo'`` follows from the city and
the area together: what the request for ``oslo`` reads is none of what the instance's own bucket holds. So each
combination of the values is counted as a query of its own, over rows that have these values (``asked_rows``). Two
combinations that make the same key are one request.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.rows.asked.operands import sampled_literal
from pkadvisor.design.rows.asked_rows import with_copies
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.demand import Demand, choosing
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Ints, np
from pkadvisor.table.odata import Operand, Parameter
from pkadvisor.values import dataclass

ASKED_ROWS_MOST = 2_000_000
"""Instances times combinations up to which each is counted by itself; beyond, combinations are taken as alike."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A query for one combination of values; ``sent`` are the instances that send a request of their own for it."""

    plan: AccessPlan
    demand: Demand
    population: Population
    sent: Bools


def combinations(plan: AccessPlan, demand: Demand, population: Population) -> tuple[Combination, ...]:
    """The combinations of the values of properties that a part of the key joins; none where no part joins them."""
    names = _joined(plan)
    any_of = demand.conditions.any_of
    chosen = [dict(zip(names, each, strict=True)) for each in product(*(any_of[name] for name in names))]
    if not names or len(chosen) * len(demand.instances) > ASKED_ROWS_MOST:
        return ()
    memo = ("joined choices", demand.asked, names)
    if memo not in population.memo:
        values = [{n: v for n, o in c.items() if (v := sampled_literal(n, o, population)) is not None} for c in chosen]
        population.memo[memo] = with_copies(population, [(demand.instances, each) for each in values])
    asked: Population = population.memo[memo]
    instances = population.size + np.arange(len(chosen) * len(demand.instances), dtype=np.int64)
    touched = [atom for atom in plan.equal_atoms if {*names} & {*atom_properties(atom)}]
    pieces, _ = asked.groups(touched)
    along = replace(plan, choices=tuple(name for name in plan.choices if name not in names))
    out: list[Combination] = []
    before: list[tuple[object, Ints]] = []
    for number, (each, rows) in enumerate(zip(chosen, np.split(instances, len(chosen)), strict=True)):
        further = tuple(_further_parameter(demand, name, operand) for name, operand in each.items())
        sent = np.ones(len(rows), dtype=bool)
        for others, of_others in before:
            sent &= (pieces[rows] != of_others) if others == further else True
        before.append((further, pieces[rows]))
        one = replace(demand, query=replace(demand.query, name=f"{demand.query.name} {number}"), instances=rows)
        out.append(Combination(along, choosing(one, each, asked), asked, sent))
    return tuple(out)


def _joined(plan: AccessPlan) -> tuple[str, ...]:
    """The properties of which a query names several values, and of which a part of the key joins one with others."""
    joined = [names for atom in plan.equal_atoms if len(names := atom_properties(atom)) > 1]
    return tuple(name for name in plan.choices if any(name in names for names in joined))


def _further_parameter(demand: Demand, name: str, operand: Operand) -> Operand | None:
    """A parameter that a filter names beside another one for the same property: it is taken for a further value of
    which as many rows are at hand as of the instance's own."""
    first = next((o for o in demand.conditions.any_of[name] if isinstance(o, Parameter)), None)
    return operand if isinstance(operand, Parameter) and operand != first else None
