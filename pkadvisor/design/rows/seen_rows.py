"""A class over the rows that lie under one key of a scheme: those of entities, or one for each of several values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part, list_rows
from pkadvisor.design.rows.population import Population


def seen_under(parts: Iterable[Part], demand: Demand, population: Population) -> tuple[Demand, Population]:
    """A class that reads rows under a key, over the rows that lie there."""
    part = list_part(parts)
    if part is None or demand.of_values is None or population.lists == part:
        return demand, population
    return replace(demand.of_values, returned=demand.returned), list_rows(part, population).population
