"""Rows for each value of a property that holds several: what index rows with ``{each(tags)}`` are counted on.

An entity with three tags has three such rows. They are a population of their own, in which the property holds one value
in each row; ``origin`` leads back to the entities. Entities without a value have no row there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.transforms import ListPart, Part
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np, pl
from pkadvisor.remembered import remembered
from pkadvisor.table.odata import Comparison, Operator, Or
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ListRows:
    """A row for each value: ``origin`` is the row of the entity of each; the rows of entity i begin at ``first[i]``,
    ``counts[i]`` of them."""

    population: Population
    origin: Ints
    first: Ints
    counts: Ints

    def of(self, instances: Ints) -> tuple[Ints, Ints]:
        """(the rows of some entities, one after the other; the place of its entity among ``instances`` for each)."""
        counts = self.counts[instances]
        places = np.repeat(np.arange(len(instances), dtype=np.int64), counts)
        starts = np.cumsum(counts) - counts
        return self.first[instances][places] + np.arange(len(places), dtype=np.int64) - starts[places], places

    def divided(self, instances: Ints, load: Floats) -> tuple[Ints, Floats]:
        """The rows of some entities, among which the load of each entity is divided evenly."""
        rows, places = self.of(instances)
        return rows, load[places] / self.counts[instances][places]


def list_part(parts: Iterable[Part]) -> ListPart | None:
    """The part of a key that makes a row for each value; None where none does."""
    return next((part.several for part in parts if part.several is not None), None)


@remembered("list rows")
def list_rows(part: ListPart, population: Population) -> ListRows:
    """The rows for each value of a property, made once for a population."""
    name = part.property
    distinct = population.coded(name).values
    values = {text: part.values_of(text) for text in distinct.to_list()}
    lists = [() if text is None else values[text] for text in population.frame.get_column(name).to_list()]
    counts = np.array([len(each) for each in lists], dtype=np.int64)
    frame = population.frame.with_columns(pl.Series(name, lists, dtype=pl.List(pl.String)))
    frame = frame.explode(name).drop_nulls(name)
    rows = int(counts[: population.rows].sum())
    each = rows / max(1, population.rows)
    made = Population(
        frame[:rows],
        population.types,
        total=round(population.total * each),
        complete=population.complete,
        arrival=population.arrival,
        ghosts=frame[rows:],
        sampling=population.sampling,
        sampled_by=tuple(a[1] for a in population.sampled_by if a[1] != name),
        hashed=population.hashed,
        drawn_from=round(population.drawn_from * each),
        token=population.token,
        zoneless=population.zoneless,
        sampling_basis=population.sampling_basis,
    )
    made.law = population.law
    made.lists = part
    made.widths, made.digits, made.rises = population.widths, population.digits, population.rises
    return ListRows(made, np.repeat(np.arange(len(counts)), counts), np.cumsum(counts) - counts, counts)


def under(parts: Iterable[Part], population: Population) -> Population:
    """What the rows under a key are counted on: the population, or its rows for each value."""
    part = list_part(parts)
    return population if part is None or population.lists == part else list_rows(part, population).population


def instances_under(parts: Iterable[Part], population: Population, instances: Ints) -> Ints:
    """The rows under a key of some entities."""
    part = list_part(parts)
    if part is None or population.lists == part:
        return instances
    return list_rows(part, population).of(instances)[0]


def without_lists(wanted: Conditions, lists: Iterable[str]) -> Conditions:
    """Conditions of which those on some properties are left to a filter: no key of whole entities serves them."""
    names = {*lists}
    filters = [Comparison(n, Operator.EQ, o) for n, o in wanted.equal.items() if n in names]
    choices = [
        Or(tuple(Comparison(n, Operator.EQ, o) for o in operands))
        for n, operands in wanted.any_of.items()
        if n in names
    ]
    return replace(
        wanted,
        equal={n: o for n, o in wanted.equal.items() if n not in names},
        any_of={n: o for n, o in wanted.any_of.items() if n not in names},
        residual=(*wanted.residual, *filters, *choices),
    )
