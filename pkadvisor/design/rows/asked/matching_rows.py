"""How many rows match: those of the constants of a filter, and those that agree with each instance within its range."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pkadvisor.design.rows.atoms import atom_properties

if TYPE_CHECKING:
    from pkadvisor.arrays import Bools, Floats, Ints
    from pkadvisor.design.keys.transforms import Atom
    from pkadvisor.design.rows.population import Population


COMPARED_MOST = 20_000_000
"""Pairs of an instance and a row whose values are compared with several ranges: half a gigabyte, about a second."""


def rows_of_constants(population: Population, atoms: Iterable[Atom], constants: Mapping[str, Bools]) -> Bools | None:
    """Data rows that fall where the constants of a filter fall, for the atoms that a key fixes by them."""
    import numpy as np

    keep: Bools | None = None
    for atom in atoms:
        names = atom_properties(atom)
        if not names or not constants.keys() >= set(names):
            continue
        rows = functools.reduce(operator.and_, (constants[name] for name in names))
        if atom[0] != "p":
            codes, _ = population.atom(atom)
            rows = np.isin(codes, np.unique(codes[rows]))
        keep = rows[: population.rows] if keep is None else keep & rows[: population.rows]
    return keep


def counted(
    population: Population,
    atoms: list[Atom],
    keep: Bools,
    over: Atom | None,
    bounds: tuple[Floats, Floats] | None,
    instances: Ints,
) -> Floats:
    """Rows among ``keep`` that agree with each instance on the atoms and lie in its range.

    An instance need not be among ``keep`` itself: its group is looked up beside it.
    """
    import numpy as np

    ids, size = population.groups(atoms)
    rows, whole = population.rows, population.whole(atoms, over)
    itself = population.is_data[instances]
    itself[itself] = keep[instances[itself]]
    if over is not None and bounds is not None:
        codes, code_count = population.atom(over)
        low, high = codes_between(population, over, bounds)
        ordered = np.sort((ids[:rows] * (code_count + 1) + codes[:rows])[keep])
        base = ids[instances] * (code_count + 1)
        found = np.searchsorted(ordered, base + np.maximum(high, low)) - np.searchsorted(ordered, base + low)
        itself &= (codes[instances] >= low) & (codes[instances] < high)
    else:
        found = np.bincount(ids[:rows][keep], minlength=size)[ids[instances]]
    if not atoms and over is None:  # one group for all: its share is known as well as any
        return np.asarray(found * ((population.drawn_from if whole else population.total) / max(1, rows)))
    return population.expected(found, itself, whole=whole, instances=instances)


def in_every_range(
    population: Population,
    atoms: list[Atom],
    keep: Bools,
    bounds: Mapping[str, tuple[Floats, Floats]],
    instances: Ints,
) -> Floats | None:
    """Rows among ``keep`` that agree with each instance on the atoms and lie in all its ranges; None where more than
    ``COMPARED_MOST`` rows lie in the first ranges, each of which would have to be compared with the others."""
    import numpy as np

    (first, (low, high)), *others = bounds.items()
    rows, over = np.flatnonzero(keep), ("p", first)
    codes, code_count = population.atom(over)
    ids, _ = population.groups(atoms)
    places = ids[rows] * (code_count + 1) + codes[rows]
    order = np.argsort(places, kind="stable")
    rows, places = rows[order], places[order]
    base = ids[instances] * (code_count + 1)
    begin, end = (np.searchsorted(places, base + code) for code in codes_between(population, over, (low, high)))
    width = np.maximum(end - begin, 0)
    if int(width.sum()) > COMPARED_MOST:
        return None
    # Every pair of an instance and a row of its first range: the row's place among the rows in order.
    asking = np.repeat(np.arange(len(instances)), width)
    within = np.arange(len(asking)) - np.repeat(np.cumsum(width) - width, width)
    candidates = rows[begin[asking] + within]
    inside = np.ones(len(asking), dtype=bool)
    itself = population.is_data[instances]
    itself[itself] = keep[instances[itself]]
    for name, (lowest, highest) in [(first, (low, high)), *others]:
        own = population.numbers(name, instances)
        itself &= (own >= lowest) & (own < highest)
    for name, (lowest, highest) in others:
        numbers = population.numbers(name, np.arange(population.rows, dtype=np.int64))[candidates]
        inside &= (numbers >= lowest[asking]) & (numbers < highest[asking])
    hits = np.bincount(asking[inside], minlength=len(instances))
    return population.expected(hits, itself, whole=population.whole(atoms, over), instances=instances)


def code_bounds(population: Population, atom: Atom, bounds: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """Numeric half-open bounds → half-open code bounds of a property's atom; missing values are outside."""
    return population.bound_codes(atom, bounds[0]), population.bound_codes(atom, bounds[1])


def codes_between(population: Population, over: Atom, bounds: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """The codes of an atom that a range reaches; of a period atom whole periods.

    The requests read from the period of the lower bound through that of the last moment before the end: an end that is
    included lies half a unit above its value.
    """
    import numpy as np

    if over[0] == "t":
        low = population.period_codes(over, bounds[0], "left")
        return low, np.maximum(low, population.period_codes(over, np.ceil(bounds[1]) - 1, "right"))
    return code_bounds(population, ("p", over[1]), bounds)


def range_count(
    population: Population, atoms: list[Atom], over: Atom, bounds: tuple[Floats, Floats], instances: Ints
) -> Floats:
    """Rows that agree on ``atoms`` and lie in the range, per instance; a period atom widens it to whole periods."""
    low, high = codes_between(population, over, bounds)
    return population.matching_range(atoms, over, low, high, instances)
