"""A class over the rows that lie under one key of a scheme: those of entities, or one for each of several values, with
what it asks for below them where the key joins that with constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.rows.asked_rows import with_constants
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part, list_rows
from pkadvisor.design.rows.population import Population


def seen_under(parts: Iterable[Part], demand: Demand, population: Population) -> tuple[Demand, Population]:
    """A class that reads rows under a key, over the rows that lie there."""
    parts = tuple(parts)
    part = list_part(parts)
    if part is not None and demand.of_values is not None and population.lists != part:
        demand = replace(demand.of_values, returned=demand.returned)
        population = list_rows(part, population).population
    return with_constants(parts, demand, population)
