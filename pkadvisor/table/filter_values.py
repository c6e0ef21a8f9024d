"""Filters on values: whether an entity satisfies one, and parameters bound to constants."""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.table.edm import (
    EdmType,
    Literal,
    canonical_guid,
    format_literal,
    format_ticks,
    order_key,
    parse_datetime_ticks,
)
from pkadvisor.table.filters import BOUNDS, And, Comparison, Filter, Not, Operator, Or, Parameter


def evaluate(tree: Filter, entity: Mapping[str, Literal]) -> bool:
    """Whether the service would return the entity.

    A comparison holds only where the entity has the property with exactly the constant's Edm type: ``123L`` matches
    neither ``'123'`` nor an Int32 123, and an absent property or one of another type matches nothing, ``ne`` included
    (as published: the constant's type must equal the property's). ``not`` is plain negation, so ``not (a eq 1)``
    matches entities without ``a``. Order within a type is that of ``edm.order_key``; NaN is unequal to every Double.
    Raises ValueError on a parameter that is not bound.
    """
    match tree:
        case Comparison():
            return _holds(tree, entity.get(tree.property))
        case And():
            return all(evaluate(o, entity) for o in tree.operands)
        case Or():
            return any(evaluate(o, entity) for o in tree.operands)
        case Not():
            return not evaluate(tree.operand, entity)


def _holds(comparison: Comparison, actual: Literal | None) -> bool:
    constant = comparison.operand
    if isinstance(constant, Parameter):
        raise ValueError(f"parameter {constant.name} is not bound")
    if actual is None or actual.type is not constant.type:
        return False
    match comparison.operator:
        case Operator.EQ:
            return actual.value == constant.value
        case Operator.NE:
            return actual.value != constant.value
    left, right = order_key(actual), order_key(constant)
    if isinstance(left, bytes) and isinstance(right, bytes):
        return _ordered(comparison.operator, (left > right) - (left < right))
    if isinstance(left, int | float) and isinstance(right, int | float):
        if left != left or right != right:  # NaN is in no order
            return False
        return _ordered(comparison.operator, (left > right) - (left < right))
    raise AssertionError("values of one type share an order")


def _ordered(operator: Operator, sign: int) -> bool:
    match operator:
        case Operator.GT:
            return sign > 0
        case Operator.GE:
            return sign >= 0
        case Operator.LT:
            return sign < 0
        case _:
            return sign <= 0


def bind(tree: Filter, values: Mapping[str, Literal]) -> Filter:
    """The filter with every parameter replaced by its value.

    The value takes the parameter's type: whole numbers fit into each other's types and into Double, a String is read as
    DateTime or Guid, and every value but Binary has a text for a String. An offset that leaves the type's range
    stops at its end. Raises UsageError for a missing value or one that does not fit.
    """
    match tree:
        case Comparison():
            if isinstance(tree.operand, Literal):
                return tree
            return Comparison(tree.property, tree.operator, _bound(tree.operand, values))
        case And():
            return And(tuple(bind(o, values) for o in tree.operands))
        case Or():
            return Or(tuple(bind(o, values) for o in tree.operands))
        case Not():
            return Not(bind(tree.operand, values))


def _bound(parameter: Parameter, values: Mapping[str, Literal]) -> Literal:
    given = values.get(parameter.name)
    if given is None:
        known = tuple(values)
        raise UsageError(
            f"no value for parameter {{{parameter.name}}}",
            fix=did_you_mean(parameter.name, known) or f"known are: {', '.join(known[:10]) or 'none'}",
        )
    try:
        return _shifted(_cast(given, parameter), parameter)
    except ValueError as problem:
        raise UsageError(f"parameter {{{parameter.name}}}: {problem}") from None


def _cast(given: Literal, parameter: Parameter) -> Literal:
    wanted, value = parameter.type, given.value
    if wanted is EdmType.STRING:
        return Literal(EdmType.STRING, f"{parameter.prefix}{_text(given)}{parameter.suffix}")
    if wanted is None or wanted is given.type:
        return given
    if wanted.integer and given.type.integer:
        return Literal(wanted, value)
    if wanted is EdmType.DOUBLE and given.type.integer:
        return Literal(wanted, float(value))
    if wanted is EdmType.DATETIME and isinstance(value, str) and given.type is EdmType.STRING:
        return Literal(wanted, parse_datetime_ticks(value))
    if wanted is EdmType.GUID and isinstance(value, str):
        return Literal(wanted, canonical_guid(value))
    raise ValueError(f"{given.type} does not become {wanted}")


def _text(given: Literal) -> str:
    """A value inside a String: numbers and dates as they are written, without quotes or suffixes."""
    value = given.value
    match given.type:
        case EdmType.DATETIME:
            assert isinstance(value, int)
            return format_ticks(value, trim=True)
        case EdmType.BOOLEAN | EdmType.DOUBLE:
            return format_literal(given)
        case EdmType.BINARY:
            raise ValueError("a Binary has no text")
        case _:
            return str(value)


def _shifted(value: Literal, parameter: Parameter) -> Literal:
    if not parameter.offset and not parameter.offset_ticks:
        return value
    if parameter.offset_ticks and value.type is not EdmType.DATETIME:
        raise ValueError(f"a time cannot be added to {value.type}")
    if parameter.offset and not value.type.numeric:
        unit = ", say its unit (s, min, h, d, w)" if value.type is EdmType.DATETIME else ""
        raise ValueError(f"a plain number cannot be added to {value.type}{unit}")
    assert isinstance(value.value, int | float)
    if value.type is EdmType.DOUBLE:
        return Literal(EdmType.DOUBLE, value.value + parameter.offset)
    if isinstance(parameter.offset, float):
        raise ValueError(f"a fraction cannot be added to {value.type}")
    low, high = BOUNDS[value.type]
    return Literal(value.type, max(low, min(high, value.value + parameter.offset + parameter.offset_ticks)))
