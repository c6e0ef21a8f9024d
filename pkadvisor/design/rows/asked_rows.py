"""Rows with what a class asks for, where a key joins a parameter of its filter with a constant.

The bucket of ``{hash(concat(tenant,'_',state),16)}`` for ``state eq 'open'`` follows from the tenant of an instance and
from the constant, and no row at hand need have both; nor need a row have a constant whose bucket others fill. Such
instances become *asked rows*: copies of their rows with the constants, below the rows at hand as logged parameters are,
grouped with them and never counted as data.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.rows.demand import Demand, sampled_constant
from pkadvisor.design.rows.list_values import list_part, list_rows
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.remembered import remembered


def seen_under(parts: Iterable[Part], demand: Demand, population: Population) -> tuple[Demand, Population]:
    """A class that reads rows under a key, over the rows that lie there: those of entities, or one for each of several
    values, with what it asks for below them."""
    parts = tuple(parts)
    part = list_part(parts)
    if part is not None and demand.of_values is not None and population.lists != part:
        demand = replace(demand.of_values, returned=demand.returned)
        population = list_rows(part, population).population
    return with_constants(parts, demand, population)


def with_constants(parts: Iterable[Part], demand: Demand, population: Population) -> tuple[Demand, Population]:
    """A class over the rows at hand and its asked rows; as it is where no part of a key joins a parameter with a
    constant of its filter."""
    names = _joined(parts, demand, population)
    if not names:
        return demand, population
    instances, copied, made = _asked_rows(demand, names, population)

    def extended(name: str, rows: Bools) -> Bools:
        return np.concatenate([rows, np.full(len(copied), True) if name in names else rows[copied]])

    constants = {name: extended(name, rows) for name, rows in demand.constants.items()}
    mixed = {name: extended(name, rows) for name, rows in demand.mixed.items()}
    return replace(demand, instances=instances, constants=constants, mixed=mixed), made


@remembered("asked rows", of=lambda demand, names, _: (demand.asked, names))
def _asked_rows(demand: Demand, names: tuple[str, ...], population: Population) -> tuple[Ints, Ints, Population]:
    """(instances with asked rows, the rows that these are copied from, the population with the copies)."""
    met = np.logical_and.reduce([demand.constants[name][demand.instances] for name in names])
    lack = np.flatnonzero(~met)
    copied = demand.instances[lack]
    instances = demand.instances.copy()
    instances[lack] = population.size + np.arange(len(lack), dtype=np.int64)
    values = {name: sampled_constant(demand, name, population) for name in names}
    return instances, copied, with_copies(population, [(copied, values)])


def _joined(parts: Iterable[Part], demand: Demand, population: Population) -> tuple[str, ...]:
    """The properties with one constant each that a part of a key joins with parameters, and those of which a part
    holds no more than a bucket or a period, where no row at hand has the constants: others lie there."""
    if not demand.constants:
        return ()
    wanted, out = demand.conditions, set[str]()
    for part in parts:
        names = {*part.properties}
        constant = {name for name in names if name in demand.constants and name in wanted.equal}
        if not constant or not names <= {*wanted.equal, *wanted.any_of}:
            continue
        if constant == names and (part.atom is None or part.atom[0] == "p" or _sampled(constant, demand, population)):
            continue
        out |= {name for name in constant if sampled_constant(demand, name, population) is not None}
    return tuple(sorted(out))


def _sampled(names: Iterable[str], demand: Demand, population: Population) -> bool:
    """Whether a row at hand has all of some constants."""
    return bool(functools.reduce(operator.and_, (demand.constants[n][: population.rows] for n in names)).any())


def with_copies(population: Population, copies: Sequence[tuple[Ints, Mapping[str, object]]]) -> Population:
    """A population with copies of some of its rows below it, each group of copies with values of its own."""
    frame = population.frame
    asked = pl.concat(
        frame[rows].with_columns(pl.lit(value).cast(frame.schema[name]).alias(name) for name, value in values.items())
        for rows, values in copies
    )
    made = Population(
        frame[: population.rows],
        population.types,
        total=population.total,
        complete=population.complete,
        arrival=population.arrival,
        ghosts=pl.concat([frame[population.rows :], asked]),
        sampling=population.sampling,
        sampled_by=tuple(atom[1] for atom in population.sampled_by),
        sizes=population.known_sizes,
        hashed=population.hashed,
        drawn_from=population.drawn_from,
        token=population.token,
        zoneless=population.zoneless,
        sampling_basis=population.sampling_basis,
    )
    made.law, made.lists = population.law, population.lists
    made.widths, made.digits, made.rises = population.widths, population.digits, population.rises
    copied = np.concatenate([rows for rows, _ in copies])
    for mask in population.masks:
        made.add_mask(np.concatenate([mask, mask[copied]]))
    return made


def on_seen(group_load: Floats, atoms: Iterable[Atom], entities: Population, seen: Population) -> Floats:
    """A load by groups of the rows at hand, by the groups of those and the asked rows: none where no row is at hand."""
    if seen is entities:
        return group_load
    atoms = tuple(atoms)
    there, _ = entities.groups(atoms)
    ids, size = seen.groups(atoms)
    out = np.zeros(size)
    out[ids[: entities.size]] = group_load[there]
    return out
