"""How many rows match: those of the constants of a filter, and those that agree with each instance within its range."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np

COMPARED_MOST = 20_000_000
"""Pairs of an instance and a row whose values are compared with several ranges, at the most: 0.3 s (measured)."""
COMPARED_AT_ONCE = 1_000_000
"""Pairs that are held at a time: 45 MiB (measured)."""


def rows_of_constants(population: Population, atoms: Iterable[Atom], constants: Mapping[str, Bools]) -> Bools | None:
    """Data rows that fall where the constants of a filter fall, for the atoms that a key fixes by them."""
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
    ids, size = population.groups(atoms)
    rows, whole = population.rows, population.whole(atoms, over)
    itself = population.is_data[instances]
    itself[itself] = keep[instances[itself]]
    if over is not None and bounds is not None:
        counts, within = counted_between(population, ids, keep, over, bounds, instances)
        itself &= within
    else:
        counts = np.bincount(ids[:rows][keep], minlength=size)[ids[instances]]
    if not atoms and over is None:  # one group for all: its share is known as well as any
        return np.asarray(counts * ((population.drawn_from if whole else population.total) / max(1, rows)))
    return population.expected(counts, itself, whole=whole, instances=instances)


def counted_between(
    population: Population, ids: Ints, keep: Bools, over: Atom, bounds: tuple[Floats, Floats], instances: Ints
) -> tuple[Ints, Bools]:
    """(sampled rows among ``keep`` of each instance's group that lie in its range, whether the instance itself does);
    ``ids``: the group of each row."""
    codes, code_count = population.atom(over)
    low, high = codes_between(population, over, bounds)
    rows, base = population.rows, ids[instances] * (code_count + 1)
    ordered = np.sort((ids[:rows] * (code_count + 1) + codes[:rows])[keep])
    counts = np.searchsorted(ordered, base + np.maximum(high, low)) - np.searchsorted(ordered, base + low)
    return counts, (codes[instances] >= low) & (codes[instances] < high)


def in_every_range(
    population: Population,
    atoms: list[Atom],
    keep: Bools,
    bounds: Mapping[str, tuple[Floats, Floats]],
    instances: Ints,
) -> Floats | None:
    """Rows among ``keep`` that agree with each instance on the atoms and lie in all its ranges; None where more than
    ``COMPARED_MOST`` rows lie in the first ranges, each of which would have to be compared with the others."""
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
    reached = np.cumsum(width)
    pairs = int(width.sum())
    if pairs > COMPARED_MOST:
        return None
    numbers = {name: population.numbers(name, rows) for name, _ in others}
    hits = np.zeros(len(instances), dtype=np.int64)
    for some in np.split(
        np.arange(len(instances)), np.searchsorted(reached, np.arange(COMPARED_AT_ONCE, pairs, COMPARED_AT_ONCE))
    ):
        # Every pair of an instance and a row of its first range, whose place is that among the rows in order.
        asking = np.repeat(some, width[some])
        place = np.arange(len(asking)) + np.repeat(begin[some] - (np.cumsum(width[some]) - width[some]), width[some])
        inside = np.ones(len(asking), dtype=bool)
        for name, (lowest, highest) in others:
            inside &= (numbers[name][place] >= lowest[asking]) & (numbers[name][place] < highest[asking])
        hits += np.bincount(asking[inside], minlength=len(instances))
    itself = population.is_data[instances]
    itself[itself] = keep[instances[itself]]
    for name, (lowest, highest) in bounds.items():
        own = population.numbers(name, instances)
        itself &= (own >= lowest) & (own < highest)
    return population.expected(hits, itself, whole=population.whole(atoms, over), instances=instances)


def code_bounds(population: Population, atom: Atom, bounds: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """Numeric half-open bounds → half-open code bounds of a property's atom; missing values are outside."""
    return population.bound_codes(atom, bounds[0]), population.bound_codes(atom, bounds[1])


def codes_between(population: Population, over: Atom, bounds: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """The codes of an atom that a range reaches; of a period atom whole periods.

    The requests read from the period of the lower bound through that of the last moment before the end: an end that is
    included lies half a unit above its value.
    """
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
