"""The ``$filter`` language of the Table service: text, tree, truth, parameters and shapes.

The one door to it: ``filters`` holds the tree and its laws, ``odata_parse`` and ``odata.lark`` the grammar and its
errors. Here are the fast path for what programs write (``plain_filter``), and what filters of a log share: a log of
millions of lines says the same few things with ever-other constants (``normalise``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.table.edm import (
    RANGES,
    EdmType,
    TypedValue,
    canonical_guid,
    format_literal,
    format_ticks,
    order_key,
    parse_datetime_ticks,
    parse_literal,
)
from pkadvisor.table.filters import (
    MAX_COMPARISONS,
    And,
    Comparison,
    Filter,
    FilterLimitError,
    FilterSyntaxError,
    Not,
    Operand,
    Operator,
    Or,
    Parameter,
    comparison_count,
    comparisons,
    conjuncts,
    fit_types,
    format_filter,
    lower_case,
    mismatches,
    parameters,
    properties,
    with_comparisons,
)
from pkadvisor.table.odata_parse import MAX_CHARACTERS, FilterBuilder, may_have_marks, parse, with_marks

if TYPE_CHECKING:
    from lark import Token

# ----------------------------------------------------------------------------------------------------------------------
# Filters on values: whether an entity satisfies one, and parameters bound to constants.


def evaluate(tree: Filter, entity: Mapping[str, TypedValue]) -> bool:
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


def _holds(comparison: Comparison, actual: TypedValue | None) -> bool:
    constant = comparison.operand
    if isinstance(constant, Parameter):
        raise ValueError(f"parameter {constant.name} is not bound")
    if actual is None or actual.type is not constant.type:
        return False
    if comparison.folded:
        return lower_case(str(actual.value)) == lower_case(str(constant.value))
    compare = getattr(operator, comparison.operator)  # named alike; NaN is in no order to Python either
    return bool(compare(order_key(actual), order_key(constant)))


def bind(tree: Filter, values: Mapping[str, TypedValue]) -> Filter:
    """The filter with every parameter replaced by its value.

    The value takes the parameter's type: whole numbers fit into each other's types and into Double, a String is read as
    DateTime or Guid, and every value but Binary has a text for a String. An offset that leaves the type's range
    stops at its end. Raises UsageError for a missing value or one that does not fit.
    """

    def bound(comparison: Comparison) -> Comparison:
        if isinstance(comparison.operand, TypedValue):
            return comparison
        return replace(comparison, operand=_bound(comparison.operand, values))

    return with_comparisons(tree, bound)


def _bound(parameter: Parameter, values: Mapping[str, TypedValue]) -> TypedValue:
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


def _cast(given: TypedValue, parameter: Parameter) -> TypedValue:
    wanted, value = parameter.type, given.value
    if wanted is EdmType.STRING:
        return TypedValue(EdmType.STRING, f"{parameter.prefix}{_text(given)}{parameter.suffix}")
    if wanted is None or wanted is given.type:
        return given
    if wanted.integer and given.type.integer:
        return TypedValue(wanted, value)
    if wanted is EdmType.DOUBLE and given.type.integer:
        return TypedValue(wanted, float(value))
    if wanted is EdmType.DATETIME and isinstance(value, str) and given.type is EdmType.STRING:
        return TypedValue(wanted, parse_datetime_ticks(value))
    if wanted is EdmType.GUID and isinstance(value, str):
        return TypedValue(wanted, canonical_guid(value))
    raise ValueError(f"{given.type} does not become {wanted}")


def _text(given: TypedValue) -> str:
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


def _shifted(value: TypedValue, parameter: Parameter) -> TypedValue:
    if not parameter.offset and not parameter.offset_ticks:
        return value
    if parameter.offset_ticks and value.type is not EdmType.DATETIME:
        raise ValueError(f"a time cannot be added to {value.type}")
    if parameter.offset and not value.type.numeric:
        unit = ", say its unit (s, min, h, d, w)" if value.type is EdmType.DATETIME else ""
        raise ValueError(f"a plain number cannot be added to {value.type}{unit}")
    assert isinstance(value.value, int | float)
    if value.type is EdmType.DOUBLE:
        return TypedValue(EdmType.DOUBLE, value.value + parameter.offset)
    if isinstance(parameter.offset, float):
        raise ValueError(f"a fraction cannot be added to {value.type}")
    low, high = RANGES[value.type]
    return TypedValue(value.type, max(low, min(high, value.value + parameter.offset + parameter.offset_ticks)))


__all__ = [
    "MAX_COMPARISONS",
    "And",
    "Comparison",
    "EdmType",
    "Filter",
    "FilterLimitError",
    "FilterSyntaxError",
    "Not",
    "Operand",
    "Operator",
    "Or",
    "Parameter",
    "TypedValue",
    "bind",
    "comparison_count",
    "comparisons",
    "conjuncts",
    "evaluate",
    "fit_types",
    "format_filter",
    "mismatches",
    "normalise",
    "parameters",
    "parse_filter",
    "properties",
]


def parse_filter(text: str, *, parameters: bool = False, limit: int | None = MAX_COMPARISONS) -> Filter:
    """The filter that a text says.

    ``parameters=True`` allows placeholders: ``'{x}'`` (String), also with text around it (``'BIB:{x}'``),
    ``datetime'{t}'``, ``guid'{g}'``, ``X'{b}'``, ``{x}L`` (Int64), ``{x:Double}`` (any type by name) and a bare ``{x}``
    (the type of what is bound); numbers and times take an offset: ``{x+10}``, ``{t-24h}`` with s, min, h, d, w. In
    strings ``{{`` and ``}}`` are literal braces then, and behind ``eq`` ``'{lower(x)}'`` is a text that is known in
    lower case alone. ``limit`` None lifts the service's 15 comparisons.

    A bare property means ``eq true``; ``5 lt a`` becomes ``a gt 5``. Raises FilterSyntaxError, FilterLimitError.
    """
    if len(text) <= MAX_CHARACTERS and (plain := plain_filter(text, limit, parameters=parameters)) is not None:
        return plain
    return parse(text, parameters=parameters, limit=limit)


_COMPARISON = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*+) (eq|ne|gt|ge|lt|le) "
    r"((?:datetime|guid|binary|[Xx])?'(?:[^']|'')*+'|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?[LldD]?|true|false"
    r"|\{[^{}'\"]*+\}[Ll]?)(?: and |\Z)"
)
_WORDS = frozenset(("eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not", "null", "true", "false", "NaN", "INF"))
"""What the grammar does not take for the name of a property."""


_OPERATORS = {str(each): each for each in Operator}


class _Constant(str):
    """A constant as the grammar hands it over."""

    start_pos = 0
    type = property(lambda self: {"'": "STRING", "{": "PLACEHOLDER"}.get(self[:1], "TYPED"))


def _with_placeholder(constant: str) -> Operand:
    """The operand of a constant with a brace in it; a FilterSyntaxError does not tell the place."""
    return FilterBuilder(constant, parameters=True).operand(cast("Token", _Constant(constant)))


def plain_filter(text: str, limit: int | None, *, parameters: bool = False) -> Filter | None:
    """The filter of a text of this form, the same as the grammar's; None where the grammar is to be asked.

    ``limit``: a filter of more comparisons is left to the grammar, too. ``parameters`` as of ``parse_filter``.
    """
    out: list[Comparison] = []
    at, end = 0, len(text)
    while match := _COMPARISON.match(text, at):
        name, compared, constant = match.groups()
        if name in _WORDS:
            return None
        try:
            held = parameters and ("{" in constant or "}" in constant)
            operand = _with_placeholder(constant) if held else parse_literal(constant)
        except (ValueError, FilterSyntaxError):
            return None
        out.append(Comparison(name, _OPERATORS[compared], operand))
        at = match.end()
        if at == end:
            break
    # A text that ends behind "and" has no comparison there.
    if not out or at != end or text.endswith(" and ") or (limit is not None and len(out) > limit):
        return None
    return out[0] if len(out) == 1 else And(tuple(out))


_LITERAL_TEXT = (
    r"(?:(?<![\w.])(?:datetime|guid|binary|[Xx]))?'(?:[^']|'')*+'"
    r"|(?:-|(?<![\w.-]))[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[LldD]?(?![\w.])"
    r"|[ \t\r\n]{2,}|[\t\r\n]"
)
_NO_CONJUNCTION = re.compile(r"(?:^|[\s)(])(?:or|not)(?:$|[\s(])")
_PREFIXED = {"'": "String", "d": "DateTime", "g": "Guid", "b": "Binary", "X": "Binary", "x": "Binary"}


def normalise(text: str) -> tuple[str, tuple[str, ...]]:
    """The shape of a filter and the raw texts of its constants, in one pass and without parsing.

    Constants become typed placeholders ``{p0:String}``, ``{p1:Int32}`` …; blanks collapse. Of booleans only those are
    replaced that a conjunction asks for by ``eq``: elsewhere they are part of what is asked. The shape is itself a
    filter text with parameters. Texts that are no filters have shapes, too; parsing the shape finds out.
    """
    marks = may_have_marks(text)
    shape, literals = _blanked(text, _literal(marks=marks, booleans=False))
    if ("true" in shape or "false" in shape) and not _NO_CONJUNCTION.search(shape):
        shape, literals = _blanked(text, _literal(marks=marks, booleans=True))
    return shape, literals


def _blanked(text: str, literal: re.Pattern[str]) -> tuple[str, tuple[str, ...]]:
    literals: list[str] = []

    def marker(match: re.Match[str]) -> str:
        raw = match[0]
        kind = _PREFIXED.get(raw[0])
        if kind is None:
            if raw[0] in " \t\r\n":
                return " "
            kind = "Boolean" if raw in ("true", "false") else _number_type(raw)
        literals.append(raw)
        return f"{{p{len(literals) - 1}:{kind}}}"

    return literal.sub(marker, text).strip(" \t\r\n"), tuple(literals)


@cache
def _literal(*, marks: bool, booleans: bool) -> re.Pattern[str]:
    text = _LITERAL_TEXT + (r"|(?<=\beq )(?:true|false)(?![\w.])" if booleans else "")
    return re.compile(with_marks(text) if marks else text)


def _number_type(raw: str) -> str:
    last = raw[-1]
    if last in "Ll":
        return "Int64"
    if last in "dD" or "." in raw or "e" in raw or "E" in raw:
        return "Double"
    if len(raw) < 10:
        return "Int32"
    try:
        return parse_literal(raw).type.value
    except ValueError:
        return "Int64"  # too large: reading the constant fails again, and the error then shows the text itself
