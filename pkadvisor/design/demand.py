"""What a workload asks of the rows at hand: for each class the instances (which rows' values are its parameters,
how often).

Nothing here depends on a key scheme, so it is computed once: weights per instance, bounds of ranges, entities returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pkadvisor.design.conditions import Conditions, conditions
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, QueryClass, Transaction, Workload
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from pkadvisor.design.conditions import Operand, Range
    from pkadvisor.design.population import Atom, Population
    from pkadvisor.table.odata import Filter

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Demand:
    """One class over the rows at hand.

    ``instances`` are row numbers, ``weights`` sum to 1. ``bounds`` maps a property with a range to (low, high)
    numbers per
    instance, in µs for times, half-open. ``masks`` are constant conditions. ``returned`` is the entities that
    satisfy the
    whole filter, per instance.
    """

    query: QueryClass
    conditions: Conditions
    instances: Ints
    weights: Floats
    bounds: dict[str, tuple[Floats, Floats]]
    masks: tuple[Atom, ...]
    returned: Floats
    draw_basis: Basis
    notes: tuple[str, ...] = ()

    def mean(self, values: Floats) -> float:
        """The mean over instances by weight."""
        # Not a dot product: BLAS splits it by thread count, and the sum must not depend on that.
        return float((values * self.weights).sum())


def demands(workload: Workload, population: Population, ghosts: dict[str, tuple[int, int]]) -> tuple[Demand, ...]:
    """The demand of every class; ``ghosts`` maps a class to the ghost rows [start, stop) that hold its logged
    parameters."""
    return tuple(_demand(query, workload, population, ghosts.get(query.name)) for query in workload.classes)


def _demand(query: QueryClass, workload: Workload, population: Population, ghost: tuple[int, int] | None) -> Demand:
    import numpy as np

    notes: list[str] = []
    wanted = conditions(query.filter)
    if ghost is not None:
        instances = np.arange(ghost[0], ghost[1], dtype=np.int64)
        weights = workload.instances[query.name].get_column("_weight").to_numpy().astype(np.float64)
        basis = Basis.COUNTED
    else:
        instances, weights = draw_weights(query.draw, population)
        stated = query.draw.stated or query.operation is Operation.INSERT
        basis = Basis.DECLARED if stated else Basis.ASSUMED
    instances, weights = _restrict(wanted, population, instances, weights, notes)
    bounds = {
        name: _bounds(name, bound, population, instances)
        for name, bound in wanted.ranges.items()
        if population.has(name)
    }
    masks = tuple(m for m in (_mask(f, population) for f in wanted.residual) if m is not None)
    if len(masks) < len(wanted.residual):
        notes.append(
            "a condition with parameters under 'or' or 'not' is not counted: entities returned are an upper bound"
        )
    returned = _returned(wanted, population, instances, bounds, masks, notes)
    return Demand(query, wanted, instances, weights, bounds, masks, returned, basis, tuple(notes))


def draw_weights(draw: Draw, population: Population) -> tuple[Ints, Floats]:
    """(rows, weights that sum to 1) of a parameter distribution over the data rows."""
    import numpy as np

    rows = population.rows
    instances = np.arange(rows, dtype=np.int64)
    if draw.by in (DrawBy.DISTINCT, DrawBy.ZIPF):
        atoms: tuple[Atom, ...] = tuple(("p", p) for p in draw.of if population.has(p))
        ids, size = population.groups(atoms)
        counts = population.counts(atoms)
        mass = seen_weights(counts, population, atoms)
        if draw.by is DrawBy.ZIPF:
            order = np.argsort(-counts, kind="stable")
            mass[order] *= np.arange(1, size + 1, dtype=np.float64) ** -draw.exponent
        weights = (mass / np.maximum(counts, 1))[ids[:rows]]
    elif draw.by is DrawBy.WEIGHT and population.has(draw.column):
        weights = np.maximum(population.frame.get_column(draw.column)[:rows].fill_null(0).to_numpy().astype(float), 0)
    elif draw.by is DrawBy.NEWEST:
        weights = np.full(rows, (1 - draw.share) / max(1, rows))
        recent = _recent(population, draw.window_s)
        weights[recent] += draw.share / max(1, int(np.count_nonzero(recent)))
    else:
        weights = np.ones(rows)
    total = float(weights.sum())
    if total <= 0:
        weights, total = np.ones(rows), float(rows)
    return instances, weights / max(total, 1e-300)


def seen_weights(counts: Ints, population: Population, atoms: tuple[Atom, ...]) -> Floats:
    """For each group at hand, how many groups of its size it stands for: rare groups are seen less
    often than they exist.

    A group of c rows out of N is in a sample of n with probability 1 - (1 - n/N)^c (Horvitz-Thompson); c is estimated
    by scaling what was seen. All ones where every row, or every row of each group, is at hand.
    """
    import numpy as np

    present = (counts > 0).astype(np.float64)
    total = population.drawn_from if population.whole(atoms) else population.total
    if population.rows >= total:
        return present
    share = population.rows / total
    return present / (1 - (1 - share) ** np.maximum(counts / share, 1))


def _recent(population: Population, window_s: float) -> NDArray[np.bool_]:
    """Data rows inserted within the newest ``window_s`` seconds; the newest row alone where no time column says
    more."""
    import numpy as np

    recent = np.zeros(population.rows, dtype=bool)
    order = population.arrival_order()
    if order is None or not len(order):
        return recent
    name = population.arrival
    if name and population.has(name) and population.types.get(name) is EdmType.DATETIME:
        moment = population.numbers(name, np.arange(population.rows, dtype=np.int64))
        return np.asarray(moment > moment.max() - window_s * 1e6)
    recent[order[-1]] = True
    return recent


def _restrict(
    wanted: Conditions, population: Population, instances: Ints, weights: Floats, notes: list[str]
) -> tuple[Ints, Floats]:
    """Keep the instances whose row satisfies the constant equalities, so that grouping by row is grouping by
    constant."""
    import numpy as np

    from pkadvisor.table.odata import Literal

    keep = np.ones(len(instances), dtype=bool)
    for name, operand in wanted.equal.items():
        if isinstance(operand, Literal) and population.has(name):
            column = population.frame.get_column(name)
            value = population.constant(name, _polars_value(operand))
            same = (
                (column == value).fill_null(False).to_numpy()
                if value is not None
                else np.zeros(len(column), dtype=bool)
            )
            if same[instances].any():
                keep &= same[instances]
            else:
                notes.append(f"no entity at hand has this constant for {name}; its selectivity is unknown")
    if keep.all():
        return instances, weights
    kept = weights[keep]
    return instances[keep], kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / max(1, len(kept)))


def _polars_value(operand: Operand) -> object:
    """A constant as polars compares it."""
    from datetime import UTC, datetime, timedelta

    from pkadvisor.table.odata import Literal

    assert isinstance(operand, Literal)
    if operand.type is EdmType.DATETIME:
        assert isinstance(operand.value, int)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(operand.value - TICKS_UNIX_EPOCH) // 10)
    return operand.value


def _bounds(name: str, bound: Range, population: Population, instances: Ints) -> tuple[Floats, Floats]:
    """Half-open numeric bounds per instance; an inclusive or exclusive end moves by half a unit."""
    import numpy as np

    def side(operand: Operand | None, open_end: float, nudge: float) -> Floats:
        if operand is None:
            return np.full(len(instances), open_end)
        return _operand_numbers(name, operand, population, instances) + nudge

    low = side(bound.low, -np.inf, 0.0 if bound.low_inclusive else 0.5)
    high = side(bound.high, np.inf, 0.5 if bound.high_inclusive else 0.0)
    return low, high


def _operand_numbers(name: str, operand: Operand, population: Population, instances: Ints) -> Floats:
    import numpy as np

    from pkadvisor.table.odata import Literal

    edm = population.types.get(name, EdmType.STRING)
    if isinstance(operand, Literal):
        if edm is EdmType.DATETIME and isinstance(operand.value, int):
            value = (operand.value - TICKS_UNIX_EPOCH) / 10
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
    numbers = population.numbers(source, instances).astype(np.float64)
    if operand.offset_ticks:
        return numbers + operand.offset_ticks / 10
    return numbers + (operand.offset or 0)


def _mask(filter_: Filter, population: Population) -> Atom | None:
    """A condition without parameters as a mask; None where it has parameters."""
    from pkadvisor.table.odata import parameters

    if parameters(filter_):
        return None
    mask = population.frame.select(_expression(filter_, population)).to_series().fill_null(False).to_numpy()
    return population.add_mask(mask)


def _expression(filter_: Filter, population: Population) -> pl.Expr:
    import polars as pl

    from pkadvisor.table.odata import And, Comparison, Not, Or

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


def _returned(
    wanted: Conditions,
    population: Population,
    instances: Ints,
    bounds: dict[str, tuple[Floats, Floats]],
    masks: tuple[Atom, ...],
    notes: list[str],
) -> Floats:
    """Entities that satisfy the whole filter, per instance."""
    import numpy as np

    if not len(instances):
        return np.zeros(0)
    atoms: list[Atom] = [("p", name) for name in wanted.equal if population.has(name)]
    factor = 1.0
    for name, choices in wanted.any_of.items():
        if population.has(name):
            atoms.append(("p", name))
            factor *= len(choices)
    ranged = list(bounds)
    extra = list(masks)
    for name in ranged[1:]:
        low, high = bounds[name]
        if np.ptp(low[np.isfinite(low)]) if np.isfinite(low).any() else 0.0:
            notes.append(f"the range on {name} is not counted: entities returned are an upper bound")
            continue
        numbers = population.numbers(name, np.arange(population.size, dtype=np.int64))
        extra.append(population.add_mask((numbers >= low[0]) & (numbers < high[0])))
    instances_in = instances
    if extra:
        return factor * _masked(population, atoms, extra, ranged[:1], bounds, instances_in)
    if ranged:
        return factor * range_count(population, atoms, ("p", ranged[0]), bounds[ranged[0]], instances_in)
    return factor * population.matching(atoms, instances_in)


def _masked(
    population: Population,
    atoms: list[Atom],
    masks: list[Atom],
    ranged: list[str],
    bounds: dict[str, tuple[Floats, Floats]],
    instances: Ints,
) -> Floats:
    """Counts under constant conditions: instances need not satisfy them, so their group is looked up beside the
    masks."""
    import numpy as np

    ids, size = population.groups(atoms)
    keep = np.ones(population.rows, dtype=bool)
    for mask in masks:
        keep &= population.atom(mask)[0][: population.rows] == 1
    over = ("p", ranged[0]) if ranged else None
    stands_for = population.drawn_from if population.whole(atoms, over) else population.total
    factor = stands_for / max(1, population.rows)
    if ranged:
        codes, code_count = population.atom(("p", ranged[0]))
        low, high = code_bounds(population, ("p", ranged[0]), bounds[ranged[0]])
        ordered = np.sort((ids[: population.rows] * (code_count + 1) + codes[: population.rows])[keep])
        base = ids[instances] * (code_count + 1)
        found = np.searchsorted(ordered, base + np.maximum(high, low)) - np.searchsorted(ordered, base + low)
        return np.asarray(found * factor, dtype=np.float64)
    counts = np.bincount(ids[: population.rows][keep], minlength=size)
    return np.asarray(counts[ids[instances]] * factor, dtype=np.float64)


def code_bounds(population: Population, atom: Atom, bounds: tuple[Floats, Floats]) -> tuple[Ints, Ints]:
    """Numeric half-open bounds → half-open code bounds of a property's atom; missing values are outside."""
    return population.bound_codes(atom, bounds[0], "left"), population.bound_codes(atom, bounds[1], "left")


def range_count(
    population: Population, atoms: list[Atom], over: Atom, bounds: tuple[Floats, Floats], instances: Ints
) -> Floats:
    """Rows that agree on ``atoms`` and lie in the range, per instance; a period atom widens the range to whole
    periods."""
    import numpy as np

    if over[0] == "t":
        # The requests read from the period of the lower bound through that of the upper one, wherever they fall in it.
        low = population.period_codes(over, bounds[0], "left")
        high = population.period_codes(over, np.maximum(bounds[1], bounds[0]), "right")
        return population.matching_range(atoms, over, low, high, instances)
    low, high = code_bounds(population, ("p", over[1]), bounds)
    return population.matching_range(atoms, over, low, high, instances)


def group_sizes(transaction: Transaction, population: Population) -> tuple[float, int, int]:
    """(mean entities, groups over 100 entities, groups) of the sets that a transaction changes together."""
    import numpy as np

    counts = population.counts([("p", p) for p in transaction.group_by if population.has(p)])
    counts = counts[counts > 0]
    if not len(counts):
        return 1.0, 0, 0
    return float(counts.mean()), int(np.count_nonzero(counts > 100)), len(counts)
