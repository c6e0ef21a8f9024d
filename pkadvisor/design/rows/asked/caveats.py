"""What the counting of a class over the rows at hand takes for granted, in words."""

from __future__ import annotations

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.population import Population


def across_drawn(wanted: Conditions, population: Population) -> list[str]:
    """That entities of keys that are not at hand satisfy a filter as well, so that how many is an estimate."""
    atoms: list[Atom] = [("p", name) for name in (*wanted.equal, *wanted.any_of) if population.has(name)]
    over = next((("p", name) for name in wanted.ranges if population.has(name)), None)
    if not atoms or not population.across(atoms, over) or int(population.counts(atoms).max(initial=0)) <= 1:
        return []
    drawn = population.distinct(population.sampled_by)
    every = drawn * population.total / population.drawn_from
    names = ", ".join(atom[1] for atom in population.sampled_by)
    return [
        f"what it asks for lies across the drawn keys ({names}), of which {drawn:,} of {every:,.0f} were read: the "
        "entities are estimated from those that several of them share"
    ]


def strange_parameters(wanted: Conditions, population: Population) -> list[str]:
    """Equalities with the value of another property, which the counting takes for one of the property's own."""
    out = []
    for name, operands in [*((n, (o,)) for n, o in wanted.equal.items()), *wanted.any_of.items()]:
        for operand in operands:
            other = getattr(operand, "name", name)
            if other != name and population.has(other):
                out.append(f"{name} is compared with {{{other}}}: counts take it for a value that {name} has")
    return out
