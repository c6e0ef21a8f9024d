"""Operands of conditions as the sampled rows hold them: constants, bounds of ranges, conditions without parameters."""

from __future__ import annotations

from typing import Any

from pkadvisor.design.keys.conditions import Operand, Range
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType
from pkadvisor.table.odata import And, Comparison, Filter, Not, Or, TypedValue, parameters


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
