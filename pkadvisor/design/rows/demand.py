"""What a workload asks of the rows at hand: for each class the instances (which rows' values are its parameters,
how often).

Nothing here depends on a key scheme, so it is computed once: weights per instance, bounds of ranges, entities returned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from pkadvisor.design.keys.conditions import Conditions, Operand, conditions, with_dependencies
from pkadvisor.design.keys.transforms import Atom, Each
from pkadvisor.design.rows.asked import matching_rows
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.dependencies import dependencies
from pkadvisor.design.rows.draws import draw_weights, hidden_draw
from pkadvisor.design.rows.list_values import list_rows, without_lists
from pkadvisor.design.rows.logged.one_period import beginnings_asked, beginnings_named, periods_asked
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.observe.workload import Basis, Operation, QueryClass, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import TypedValue
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class ByRate:
    """What a window of time holds at the declared rate of inserts, which is not that of the data: ``returned`` entities
    a request, None where the rate does not tell."""

    returned: float | None


@dataclass(frozen=True, slots=True)
class Demand:
    """One class over the rows at hand.

    ``instances`` are row numbers, ``weights`` sum to 1. ``bounds`` maps a property with a range to (low, high)
    numbers per
    instance, in µs for times, half-open. ``constants`` maps a property that the filter compares with constants to the
    rows that have one of them; ``mixed`` a property that is compared with constants and a parameter to the rows that
    have one of the constants; ``masks`` are other conditions without parameters. ``returned`` is the entities that
    satisfy the
    whole filter, per instance.
    """

    query: QueryClass
    conditions: Conditions
    instances: Ints
    weights: Floats
    bounds: dict[str, tuple[Floats, Floats]]
    constants: dict[str, Bools]
    masks: tuple[Atom, ...]
    returned: Floats
    draw_basis: Basis
    notes: tuple[str, ...] = ()
    mixed: dict[str, Bools] = field(default_factory=dict)
    by_rate: ByRate | None = None
    came: Ints | None = None
    """When each instance came, in µs since 1970, where a log tells."""
    of_values: Demand | None = None
    """Where the class asks for one of several values of a property: the same instances in the same order over the rows
    for each value (``list_values``)."""
    mark: object = field(default_factory=object, compare=False, repr=False)
    """What tells it from others of the same name over the same rows; rates and notes leave it as it is."""

    @property
    def asked(self) -> tuple[object, str]:
        """What the figures that the rows keep of it are kept under."""
        return self.mark, self.query.name

    def fixed_atoms(self, population: Population) -> list[Atom]:
        """The groupings of rows that its equalities fix, by properties at hand."""
        return [a for a in self.conditions.equal_atoms if all(population.has(n) for n in atom_properties(a))]

    def constants_and(self, by_constants: Iterable[str]) -> dict[str, Bools]:
        """``constants``, with those of ``mixed`` that some requests compare with constants as well."""
        return {**self.constants, **{name: self.mixed[name] for name in by_constants}}

    def bounded(self, atom: Atom | None) -> Atom | None:
        """The atom, where the class asks for a range of its property."""
        return atom if atom is not None and atom[1] in self.bounds else None

    def along(self, over: Atom | None, population: Population) -> tuple[Ints, int, Ints, Ints]:
        """(the place of each row along an atom of a range, the number of places, the half-open bounds of each instance
        there); one place for all rows without an atom."""
        count = len(self.instances)
        if over is None:
            zeros = np.zeros(count, dtype=np.int64)
            return np.zeros(population.size, dtype=np.int64), 1, zeros, zeros + 1
        codes, size = population.atom(over)
        low, high = matching_rows.codes_between(population, over, self.bounds[over[1]])
        return codes, size, np.broadcast_to(low, count), np.broadcast_to(high, count)

    def mean(self, values: Floats) -> float:
        """The mean over instances by weight, to twelve digits: the digits beyond depend on the order of the rows."""
        # Not a dot product: BLAS splits it by thread count, and the sum must not depend on that.
        return float(f"{(values * self.weights).sum():.12g}")


def demands(workload: Workload, population: Population, ghosts: dict[str, tuple[int, int]]) -> tuple[Demand, ...]:
    """The demand of every class; ``ghosts`` maps a class to the ghost rows [start, stop) that hold its logged
    parameters."""
    return tuple(
        (_demand if query.one_of is None else _of_values)(query, workload, population, ghosts.get(query.name))
        for query in workload.classes
    )


def _of_values(query: QueryClass, workload: Workload, population: Population, ghost: tuple[int, int] | None) -> Demand:
    """The demand of a class that asks for one of several values: counted over the rows for each value."""
    assert query.one_of is not None
    part = Each(*query.one_of)
    rows = list_rows(part, population)
    place = None
    if ghost is not None:  # a logged list asks for each of its values alike
        asked, places = rows.of(np.arange(ghost[0], ghost[1], dtype=np.int64))
        weights = workload.instances[query.name].get_column("_weight").to_numpy().astype(np.float64)
        place = (asked, weights[places] / rows.counts[ghost[0] : ghost[1]][places])
    demand = _demand(query, workload, rows.population, None, place)
    demand = replace(demand, conditions=replace(demand.conditions, multi={part.property: part}))
    notes = list[str]()
    whole = without_lists(demand.conditions, (part.property,))
    masks = tuple(m for m in (matching_rows.mask(f, population) for f in demand.conditions.residual) if m is not None)
    return replace(
        demand,
        conditions=whole,
        instances=rows.origin[demand.instances],
        constants=_constants(whole, population, notes),
        mixed=_mixed(whole, population),
        masks=masks,
        of_values=demand,
    )


def _demand(
    query: QueryClass,
    workload: Workload,
    population: Population,
    ghost: tuple[int, int] | None,
    drawn: tuple[Ints, Floats] | None = None,
) -> Demand:
    """``drawn``: the instances of a log and their weights, where they are not those of ``ghost``."""
    notes: list[str] = []
    wanted = with_dependencies(conditions(query.filter), dependencies(population))
    wanted = replace(wanted, one_beginning={n: len(b) for n, b in _beginnings(wanted, population).items()})
    came = workload.came.get(query.name) if ghost is not None else None
    if ghost is not None:
        instances = np.arange(ghost[0], ghost[1], dtype=np.int64)
        weights = workload.instances[query.name].get_column("_weight").to_numpy().astype(np.float64)
        basis = Basis.COUNTED
        logged = workload.instances[query.name]
        wanted = replace(
            wanted,
            one_period=periods_asked(logged, wanted.ranges),
            one_beginning={**wanted.one_beginning, **beginnings_asked(logged, wanted.ranges)},
        )
    elif drawn is not None:
        (instances, weights), basis = drawn, Basis.COUNTED
    else:
        shown = population.frame.head(population.rows).drop(*population.hashed, strict=False)
        named = beginnings_asked(shown, {n: b for n, b in wanted.ranges.items() if n in shown.columns})
        wanted = replace(wanted, one_beginning={**wanted.one_beginning, **named})
        instances, weights = draw_weights(query.draw, population)
        weights = _asked(query, population, weights)
        hidden = hidden_draw(query.draw, population)
        if hidden:
            notes.append(f"the profile hides {hidden}: each entity is assumed to be asked for as often as any other")
        stated = (query.draw.stated and not hidden) or query.operation is Operation.INSERT
        basis = Basis.DECLARED if stated else Basis.ASSUMED
    notes += matching_rows.strange_parameters(wanted, population)
    constants = _constants(wanted, population, notes)
    mixed = _mixed(wanted, population)
    bounds = {
        name: matching_rows.bounds_of(name, bound, population, instances)
        for name, bound in wanted.ranges.items()
        if population.has(name)
    }
    masks = tuple(m for m in (matching_rows.mask(f, population) for f in wanted.residual) if m is not None)
    if len(masks) < len(wanted.residual):
        notes.append(
            "a condition with parameters under 'or' or 'not' is not counted: entities returned are an upper bound"
        )
    asked = Demand(query, wanted, instances, weights, bounds, constants, masks, weights, basis, mixed=mixed)
    if came is not None:
        asked = replace(asked, came=np.array(came, dtype=np.int64))
    returned = _returned(asked, population, notes)
    notes += matching_rows.across_drawn(wanted, population)
    return replace(asked, returned=returned, notes=tuple(notes))


def _asked(query: QueryClass, population: Population, weights: Floats) -> Floats:
    """The weights without entities that miss a parameter of the filter: nobody asks for a value that is not there."""
    from pkadvisor.table.odata import parameters

    if query.filter is None:
        return weights
    there = np.ones(population.rows, dtype=bool)
    for name in parameters(query.filter):
        if population.has(name) and (coded := population.coded(name)).has_missing:
            there &= coded.codes[: population.rows] > 0
    kept = np.where(there, weights, 0.0)
    total = float(kept.sum())
    return kept / total if total > 0 else weights


def exact_answer(demand: Demand, population: Population) -> bool:
    """Whether the entities that satisfy a class's filter were counted over every row."""
    wanted = demand.conditions
    plain = not (wanted.ranges or wanted.any_of or wanted.residual or wanted.folded or demand.constants)
    return bool(plain and wanted.equal) and population.exact(wanted.equal) is not None


def sampled_constant(demand: Demand, name: str, population: Population) -> object:
    """The one constant that a filter compares a property with by ``eq``, as the rows at hand hold it; None where it is
    a parameter, or nobody can tell."""
    return matching_rows.sampled_literal(name, demand.conditions.equal.get(name), population)


def _constants(wanted: Conditions, population: Population, notes: list[str]) -> dict[str, Bools]:
    """For each property that is compared with constants alone (``eq``, or a choice), the rows that have one of them;
    for each that a dependency derives from such a one, the rows that have what it derives."""
    out: dict[str, Bools] = {}
    compared = {**{n: (o,) for n, o in wanted.equal.items()}, **wanted.any_of}
    for name, operands in compared.items():
        if not population.has(name) or not all(isinstance(o, TypedValue) for o in operands):
            continue
        rows = matching_rows.rows_with(name, tuple(operands), population)
        if not rows[: population.rows].any():
            notes.append(f"no sampled entity has this constant for {name}; its selectivity is unknown")
        out[name] = rows
    for name, beginning in _beginnings(wanted, population).items():  # a key may hold it
        texts = population.frame.get_column(name).cast(pl.String)
        out[name] = texts.str.starts_with(beginning).fill_null(False).to_numpy()
    of_rules = [(d.source, d.target) for d in wanted.derived] + [(d.target, d.source) for d in wanted.inverse]
    for fixed, implied in of_rules:
        if fixed in out and implied not in out and population.has(implied):
            codes = population.coded(implied).codes
            out[implied] = np.isin(codes, np.unique(codes[out[fixed]]))
    return out


def _beginnings(wanted: Conditions, population: Population) -> dict[str, str]:
    """What the texts of each range between two constants begin with."""
    named = beginnings_named(wanted.ranges)
    texts = {n for n in named if population.types.get(n) is EdmType.STRING and n not in population.hashed}
    return {n: beginning for n, beginning in named.items() if n in texts and population.has(n)}


def _mixed(wanted: Conditions, population: Population) -> dict[str, Bools]:
    """For each property that is compared with a parameter or constants, the rows that have one of the constants."""
    out: dict[str, Bools] = {}
    for name, operands in wanted.any_of.items():
        literals = [o for o in operands if isinstance(o, TypedValue)]
        if not population.has(name) or not literals or len(literals) == len(operands):
            continue
        out[name] = matching_rows.rows_with(name, tuple(literals), population)
    return out


def choosing(demand: Demand, chosen: Mapping[str, Operand], population: Population) -> Demand:
    """The class as it asks for one value of each of some properties of which its filter names several.

    The population has rows for it: the constants of an instance are those of its row.
    """
    wanted = demand.conditions
    left = {name: operands for name, operands in wanted.any_of.items() if name not in chosen}
    wanted = replace(wanted, equal={**wanted.equal, **chosen}, any_of=left)
    one = replace(
        demand, conditions=wanted, constants=_constants(wanted, population, []), mixed=_mixed(wanted, population)
    )
    return replace(one, returned=_returned(one, population, []))


def choice_count(demand: Demand, population: Population, atoms: Iterable[Atom], name: str) -> Floats:
    """Requests that each instance sends for a property of which a filter names several values: one for each piece of
    key that they make, and a parameter may make that of a constant."""
    operands = demand.conditions.any_of[name]
    literals = tuple(dict.fromkeys(o for o in operands if isinstance(o, TypedValue)))
    parameters = sum(not isinstance(o, TypedValue) for o in operands)
    counts = np.full(len(demand.instances), float(len(_pieces(literals, population, atoms, name)) + parameters))
    return counts - _own_among(demand, population, atoms, name) if name in demand.mixed else counts


def _pieces(literals: Iterable[TypedValue], population: Population, atoms: Iterable[Atom], name: str) -> set[object]:
    """What the constants of a filter make of a key: the codes of the atoms that they are part of; themselves, where the
    key holds the property whole or no row at hand has them."""
    mine = [atom for atom in atoms if name in atom_properties(atom)]
    out = set[object]()
    for literal in literals:
        rows = np.flatnonzero(matching_rows.rows_with(name, (literal,), population))
        if not mine or any(atom[0] == "p" for atom in mine) or not len(rows):
            out.add(literal)
        else:
            first = int(rows[0])
            out.add(tuple(int(population.atom(atom)[0][first]) for atom in mine))
    return out


def _own_among(demand: Demand, population: Population, atoms: Iterable[Atom], name: str) -> Bools:
    """For each instance whether its own value makes the same piece of key as one of the constants beside it."""
    mine = [atom for atom in atoms if name in atom_properties(atom)]
    if not mine or any(atom[0] == "p" for atom in mine):
        return demand.mixed[name][demand.instances]
    literals = [o for o in demand.conditions.any_of[name] if isinstance(o, TypedValue)]
    pieces = [piece for piece in _pieces(literals, population, mine, name) if isinstance(piece, tuple)]
    own = [population.atom(atom)[0][demand.instances] for atom in mine]
    out = np.zeros(len(demand.instances), dtype=bool)
    for piece in pieces:
        out |= np.logical_and.reduce([codes == code for codes, code in zip(own, piece, strict=True)])
    return out


def _over_choices(
    demand: Demand, population: Population, atoms: Iterable[Atom], count: Callable[[frozenset[str]], Floats]
) -> Floats:
    """A count summed over the values that an instance asks for.

    ``count`` is given the names for which it takes the values of the constants; for the others it takes the instance's
    own. An own value among the constants counts once.
    """
    total = np.zeros(len(demand.instances))
    for by_constants, own in picks(demand, population, atoms):
        total = total + count(by_constants) * own
    return total


def of_instances(demand: Demand, chosen: Ints) -> Demand:
    """The class over some of its instances, in their order; weights are left as they are."""
    return replace(
        demand,
        instances=demand.instances[chosen],
        weights=demand.weights[chosen],
        bounds={name: (low[chosen], high[chosen]) for name, (low, high) in demand.bounds.items()},
        returned=demand.returned[chosen],
    )


def picks(demand: Demand, population: Population, atoms: Iterable[Atom]) -> Iterator[tuple[frozenset[str], Bools]]:
    """For each choice between constants and own values in the atoms of a key: the names of which the constants' values
    are taken, and the instances whose own values of the others are not among the constants, which would count twice."""
    atoms = tuple(atoms)
    named = {name for atom in atoms for name in atom_properties(atom)}
    mixed = [name for name in demand.mixed if name in named]
    for constant in itertools.product((False, True), repeat=len(mixed)):
        by_constants = frozenset(name for name, picked in zip(mixed, constant, strict=True) if picked)
        own = np.ones(len(demand.instances), dtype=bool)
        for name in mixed:
            if name not in by_constants:
                own &= ~_own_among(demand, population, atoms, name)
        yield by_constants, own


def free_atoms(atoms: Iterable[Atom], constants: Mapping[str, Bools]) -> list[Atom]:
    """The atoms that the constants of a filter do not fix."""
    return [a for a in atoms if not atom_properties(a) or not constants.keys() >= set(atom_properties(a))]


def reached(
    population: Population,
    demand: Demand,
    atoms: Iterable[Atom],
    over: Atom | None,
    bounds: tuple[Floats, Floats] | None,
    among: Bools | None = None,
) -> Floats:
    """Rows that agree with each instance on what a key fixes, lie in its range, and are ``among`` some rows."""
    atoms = tuple(atoms)

    def count(by_constants: frozenset[str]) -> Floats:
        constants = demand.constants_and(by_constants)
        keep = matching_rows.rows_of_constants(population, atoms, constants)
        if among is not None:
            keep = among[: population.rows] if keep is None else keep & among[: population.rows]
        if keep is not None:
            free = free_atoms(atoms, constants)
            return matching_rows.counted(population, free, keep, over, bounds, demand.instances)
        if over is not None and bounds is not None:
            return matching_rows.range_count(population, list(atoms), over, bounds, demand.instances)
        return population.matching(atoms, demand.instances)

    return _over_choices(demand, population, atoms, count)


def of_any_rank(demand: Demand, population: Population) -> Floats:
    """Entities that satisfy all of the filter but its ranges, per instance."""
    memo = ("of any rank", demand.asked)
    if memo not in population.memo or population.memo[memo][0] is not demand.instances:
        whole = _returned(replace(demand, bounds={}), population, [])
        population.memo[memo] = demand.instances, whole
    counts: Floats = population.memo[memo][1]
    return counts


def returned_among(demand: Demand, population: Population, among: Bools) -> Floats:
    """Entities that satisfy the whole filter and are among some rows, per instance."""
    return _returned(demand, population, [], among)


def _returned(demand: Demand, population: Population, notes: list[str], among: Bools | None = None) -> Floats:
    """Entities that satisfy the whole filter, per instance; only those ``among`` some rows, where these are given."""
    wanted, instances, constants = demand.conditions, demand.instances, demand.constants
    if not len(instances):
        return np.zeros(0)
    atoms = free_atoms(demand.fixed_atoms(population), constants)
    factor = 1.0
    for name, choices in wanted.any_of.items():
        if population.has(name) and name not in constants and name not in demand.mixed:
            atoms.append(("p", name))
            factor *= len(choices)
    conditions_met = [rows[: population.rows] for rows in constants.values()]
    conditions_met += [population.atom(atom)[0][: population.rows] == 1 for atom in demand.masks]
    conditions_met += [] if among is None else [among]
    ranged = dict(demand.bounds)
    for name, (low, high) in list(ranged.items())[1:]:
        if bool((low == low[0]).all() and (high == high[0]).all()):
            numbers = population.numbers(name, np.arange(population.rows, dtype=np.int64))
            conditions_met.append((numbers >= low[0]) & (numbers < high[0]))
            del ranged[name]
    over, span = next(((("p", name), bounds) for name, bounds in ranged.items()), (None, None))

    def count(by_constants: frozenset[str]) -> Floats:
        mine = [*atoms, *(("p", name) for name in demand.mixed if name not in by_constants)]
        met = [*conditions_met, *(demand.mixed[name][: population.rows] for name in sorted(by_constants))]
        if len(ranged) > 1:
            keep = np.logical_and.reduce(met) if met else np.ones(population.rows, dtype=bool)
            within = matching_rows.in_every_range(population, mine, keep, ranged, instances)
            if within is not None:
                return factor * within
            note = f"the ranges on {', '.join(list(ranged)[1:])} are not counted: entities returned are an upper bound"
            notes.extend([] if note in notes else [note])
        if (
            over is not None
            and span is not None
            and matching_rows.ranked(over[1], wanted.ranges[over[1]], mine, population)
        ):
            keep = np.logical_and.reduce(met) if met else None
            return factor * matching_rows.by_rank(population, mine, keep, over, span, instances)
        if met:
            return factor * matching_rows.counted(population, mine, np.logical_and.reduce(met), over, span, instances)
        if over is not None and span is not None:
            return factor * matching_rows.range_count(population, mine, over, span, instances)
        return factor * population.matching(mine, instances)

    return _over_choices(demand, population, [("p", name) for name in demand.mixed], count)
