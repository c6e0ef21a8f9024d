"""How many rows match: those of the constants of a filter, and those that agree with each instance within its range."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from pkadvisor.design.keys.conditions import Conditions, Operand, Range
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType
from pkadvisor.table.odata import And, Comparison, Filter, Not, Or, Parameter, TypedValue, parameters

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


# -- Ranges that end or begin at an instance's own value: of its rank among the rows at hand follows that among all.


POINTS = 64
"""Shares, evenly on a logarithmic scale, of which a mean is taken: within 1 % of the integral."""
FEW = 8.0
"""Rows in the range from which the mean of a quotient is that of its mean within a few per cent."""


def ranked(name: str, bound: Range, atoms: list[Atom], population: Population) -> bool:
    """Whether a range reaches from the instance's own value to one end of all values, of which random rows are at
    hand."""
    ends = [end for end in (bound.low, bound.high) if end is not None]
    if len(ends) != 1 or not isinstance(ends[0], Parameter) or not population.random_rows:
        return False
    return ends[0] == Parameter(name, ends[0].type) and not population.whole(atoms, ("p", name))


def by_rank(
    population: Population,
    atoms: list[Atom],
    keep: Bools | None,
    over: Atom,
    bounds: tuple[Floats, Floats],
    instances: Ints,
) -> Floats:
    """Rows among ``keep`` that agree with each instance on the atoms and lie on its side of its own value."""
    rows = population.rows
    kept = np.ones(rows, dtype=bool) if keep is None else keep
    ids, size = population.groups(atoms)
    hits, within = counted_between(population, ids, kept, over, bounds, instances)
    own = population.is_data[instances]
    own[own] = kept[instances[own]]
    itself = own & within
    others = np.bincount(ids[:rows][kept], minlength=size)[ids[instances]] - own
    group = (
        population.matching(atoms, instances)
        if keep is None
        else counted(population, atoms, keep, None, None, instances)
    )
    share = (hits - itself + 1) / (others + 2)
    return np.asarray(itself + share * np.maximum(group - own, 0), dtype=np.float64)


def mean_reached(wanted: Floats, inside: Floats, outside: Floats) -> Floats:
    """The mean of min(1, wanted ÷ share), of shares with ``inside`` and ``outside`` rows at hand in a range and not."""
    wanted = np.clip(wanted, 1e-12, 1.0)
    plain = np.minimum(1.0, wanted * (inside + outside + 1) / np.maximum(inside, 1e-9))
    few = np.flatnonzero((inside < FEW) & (wanted < 1))
    if not len(few):
        return np.asarray(plain)
    log = np.log(wanted[few] * 1e-3)[:, None] * (1 - (np.arange(POINTS) + 0.5) / POINTS)
    shares = np.exp(log)
    density = (inside[few, None] + 1) * log + outside[few, None] * np.log1p(-shares)
    weights = np.exp(density - density.max(axis=1, keepdims=True))
    reached = np.minimum(1.0, wanted[few, None] / shares)
    plain[few] = (weights * reached).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(plain)


# -- Operands of conditions as the sampled rows hold them: constants, bounds of ranges, conditions without parameters.


@remembered("rows with")
def rows_with(name: str, constants: tuple[Operand, ...], population: Population) -> Bools:
    """The rows, those of logged parameters too, that have one of some constants."""
    column = population.frame.get_column(name)
    rows = np.zeros(population.size, dtype=bool)
    for constant in constants:
        value = population.constant(name, _polars_value(constant))
        if value is not None:
            rows |= (column == value).fill_null(False).to_numpy()
    return rows


def sampled_literal(name: str, operand: Operand | None, population: Population) -> object:
    """A constant of a filter as the rows at hand hold it; None where it is a parameter, or nobody can tell."""
    return population.constant(name, _polars_value(operand)) if isinstance(operand, TypedValue) else None


def _polars_value(operand: Operand) -> object:
    """A constant as polars compares it."""
    from datetime import UTC, datetime, timedelta

    assert isinstance(operand, TypedValue)
    if operand.type is EdmType.DATETIME:
        assert isinstance(operand.value, int)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(operand.value - TICKS_UNIX_EPOCH) // 10)
    return operand.value


def bounds_of(name: str, bound: Range, population: Population, instances: Ints) -> tuple[Floats, Floats]:
    """Half-open numeric bounds per instance: an end that leaves its value out below, or takes it in above, moves beyond
    it by half a unit, or to the next double."""

    def side(operand: Operand | None, open_end: float, beyond: bool) -> Floats:
        if operand is None:
            return np.full(len(instances), open_end)
        numbers = _operand_numbers(name, operand, population, instances)
        if population.types.get(name) is EdmType.DOUBLE:
            return np.nextafter(numbers, np.inf) if beyond else numbers
        return numbers + 0.5 if beyond else numbers

    low = side(bound.low, -np.inf, not bound.low_inclusive)
    high = side(bound.high, np.inf, bound.high_inclusive)
    return low, high


def _operand_numbers(name: str, operand: Operand, population: Population, instances: Ints) -> Floats:
    edm = population.types.get(name, EdmType.STRING)
    if isinstance(operand, TypedValue):
        if edm is EdmType.DATETIME and isinstance(operand.value, int):
            value = (operand.value - TICKS_UNIX_EPOCH) / 10
        elif edm is EdmType.INT64 and isinstance(operand.value, int):
            return _exactly(np.full(len(instances), operand.value, dtype=np.int64))
        elif edm.numeric and isinstance(operand.value, int | float):
            value = float(operand.value)
        else:
            values = population.coded(name).values
            constant = _polars_value(operand)
            value = float((values < constant).sum())
            if not (values == constant).any():
                value -= 0.5  # between two values at hand
        return np.full(len(instances), value)
    source = operand.name if population.has(operand.name) else name
    numbers = _exactly(population.numbers(source, instances))
    if source != name and population.has(name) and not population.coded(name).values.dtype.is_numeric():
        numbers = _positions(name, source, numbers, population)
    if operand.offset_ticks:
        return numbers + operand.offset_ticks / 10
    return numbers + (operand.offset or 0)


def _exactly(numbers: Floats | Ints) -> Floats:
    """Numbers as doubles; whole ones that no double holds in the widest type there is, of 64 bits on most machines."""
    wide = numbers.dtype.kind == "i" and bool((np.abs(numbers.astype(np.float64)) > 2**53).any())
    return numbers.astype(np.longdouble if wide else np.float64)


def _positions(name: str, source: str, numbers: Floats, population: Population) -> Floats:
    """The numbers of one property's values among those of another, where numbers are positions: half-way between two
    where the other lacks a value."""
    own, other = population.coded(name).values, population.coded(source).values
    if own.dtype.is_temporal() or own.dtype != other.dtype or not other.len():
        return numbers
    below = own.search_sorted(other, side="left").to_numpy().astype(np.float64)
    there = own.search_sorted(other, side="right").to_numpy() > below
    among = np.where(there, below, below - 0.5)
    return np.where(numbers < 0, -1.0, among[np.maximum(numbers, 0).astype(np.int64)])


def mask(filter_: Filter, population: Population) -> Atom | None:
    """A condition without parameters as a mask; None where it has parameters."""
    if parameters(filter_):
        return None
    met = population.frame.with_columns(_expression(filter_, population).alias("#met")).get_column("#met")
    return population.add_mask(met.fill_null(False).to_numpy())


def _expression(filter_: Filter, population: Population) -> pl.Expr:
    if isinstance(filter_, And):
        return pl.all_horizontal([_expression(f, population) for f in filter_.operands])
    if isinstance(filter_, Or):
        return pl.any_horizontal([_expression(f, population) for f in filter_.operands])
    if isinstance(filter_, Not):
        return ~_expression(filter_.operand, population).fill_null(False)
    assert isinstance(filter_, Comparison)
    if not population.has(filter_.property):
        return pl.lit(False)
    column = pl.col(filter_.property)
    value: Any = population.constant(filter_.property, _polars_value(filter_.operand))
    if value is None or (filter_.property in population.hashed and filter_.operator not in ("eq", "ne")):
        return pl.lit(True)  # hidden values have no order: the condition is taken to let everything pass
    comparisons: dict[str, pl.Expr] = {
        "eq": column == value,
        "ne": column != value,
        "gt": column > value,
        "ge": column >= value,
        "lt": column < value,
        "le": column <= value,
    }
    return comparisons[filter_.operator]


# -- What the counting of a class over the rows at hand takes for granted, in words.


def across_drawn(wanted: Conditions, population: Population) -> list[str]:
    """That entities of keys that are not at hand satisfy a filter as well, so that how many is an estimate."""
    atoms: list[Atom] = [*wanted.equal_atoms, *(("p", name) for name in wanted.any_of)]
    atoms = [atom for atom in atoms if all(population.has(name) for name in atom_properties(atom))]
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
    equal = {**wanted.equal, **wanted.folded}
    for name, operands in [*((n, (o,)) for n, o in equal.items()), *wanted.any_of.items()]:
        for operand in operands:
            other = getattr(operand, "name", name)
            if other != name and population.has(other):
                out.append(f"{name} is compared with {{{other}}}: counts take it for a value that {name} has")
    return out
