"""Filters over properties: the tree behind a ``$filter`` text, and what can be done with it.

A filter compares properties with constants, or with parameters that stand for constants (``{x}``, design files and
shapes of log lines). ``odata`` is the door to all of this: import from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from math import isfinite

from pkadvisor.errors import UsageError
from pkadvisor.table.edm import (
    QUOTES,
    RANGES,
    TICKS_PER_SECOND,
    EdmType,
    TypedValue,
    format_double,
    format_literal,
)
from pkadvisor.values import dataclass

MAX_COMPARISONS = 15
"""Comparisons the service accepts in one filter (Querying Tables and Entities)."""


class FilterSyntaxError(UsageError):
    """The text is not a filter; ``column`` counts from 0 into the text."""

    def __init__(self, what: str, *, where: str = "", fix: str = "", excerpt: str = "", column: int = 0) -> None:
        super().__init__(what, where=where, fix=fix, excerpt=excerpt)
        self.column = column


class FilterLimitError(UsageError):
    """The filter has more comparisons than the service accepts."""


class Operator(StrEnum):
    """How a property is compared."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GE = "ge"
    LT = "lt"
    LE = "le"

    @property
    def flipped(self) -> Operator:
        """The operator when both sides change places: ``5 lt a`` is ``a gt 5``."""
        return _FLIPPED.get(self, self)


_FLIPPED = {
    Operator.GT: Operator.LT,
    Operator.LT: Operator.GT,
    Operator.GE: Operator.LE,
    Operator.LE: Operator.GE,
}

TICKS_PER_UNIT = {
    "w": 7 * 86400 * TICKS_PER_SECOND,
    "d": 86400 * TICKS_PER_SECOND,
    "h": 3600 * TICKS_PER_SECOND,
    "min": 60 * TICKS_PER_SECOND,
    "s": TICKS_PER_SECOND,
}
"""Units of a time offset, the largest first."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant to be filled in.

    ``type`` None takes the type of whatever is bound. ``offset`` is added to a number, ``offset_ticks`` (100 ns) to a
    DateTime; ``prefix`` and ``suffix`` surround the value of a String.
    """

    name: str
    type: EdmType | None = None
    offset: int | float = 0
    offset_ticks: int = 0
    prefix: str = ""
    suffix: str = ""

    def __post_init__(self) -> None:
        if (self.prefix or self.suffix) and self.type is not EdmType.STRING:
            raise ValueError("only a String has text around its parameter")
        if self.offset and self.offset_ticks:
            raise ValueError("an offset is a number or a time, not both")
        if not isfinite(self.offset):
            raise ValueError("an offset is a finite number")
        if self.offset and self.type is not None and not self.type.numeric:
            raise ValueError(f"a plain number cannot be added to {self.type}")
        if self.offset_ticks and self.type not in (None, EdmType.DATETIME):
            raise ValueError(f"a time cannot be added to {self.type}")
        if isinstance(self.offset, float) and self.type is not None and self.type.integer:
            raise ValueError(f"a fraction cannot be added to {self.type}")


FURTHER = ".or"
"""Before a number, behind the name of a parameter: ``{x.or2}`` is the ``x`` of a second entity."""


def entity_number(name: str) -> tuple[str, int]:
    """The name of a parameter without the number of the entity that it is taken from, and that number; else 1."""
    plain, further, number = name.rpartition(FURTHER)
    return (plain, int(number)) if further and number.isdecimal() else (name, 1)


Operand = TypedValue | Parameter


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWERED = str.maketrans(_UPPER, _UPPER.lower())


def lower_case(text: str) -> str:
    """A to Z in lower case: beyond ASCII, languages and Unicode versions disagree."""
    return text.translate(_LOWERED)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``property operator operand``.

    ``folded``: only the text in lower case is known, and any spelling of the property equals it. No request can say
    that of a property: a key that holds such text serves it, or the client compares.
    """

    property: str
    operator: Operator
    operand: Operand
    folded: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All of at least two filters; an And inside an And is unfolded."""

    operands: tuple[Filter, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "operands", _unfolded(And, self.operands))


@dataclass(frozen=True, slots=True)
class Or:
    """Any of at least two filters; an Or inside an Or is unfolded."""

    operands: tuple[Filter, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "operands", _unfolded(Or, self.operands))


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever the operand does not match."""

    operand: Filter


Filter = Comparison | And | Or | Not


def _unfolded(kind: type[And] | type[Or], operands: tuple[Filter, ...]) -> tuple[Filter, ...]:
    flat: list[Filter] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, And | Or) and isinstance(operand, kind) else (operand,))
    if len(flat) < 2:
        raise ValueError(f"{kind.__name__} needs two operands or more")
    return tuple(flat)


def comparisons(tree: Filter) -> Iterator[Comparison]:
    """The comparisons of a filter, from left to right."""
    stack: list[Filter] = [tree]
    while stack:
        node = stack.pop()
        match node:
            case Comparison():
                yield node
            case Not():
                stack.append(node.operand)
            case And() | Or():
                stack.extend(reversed(node.operands))


def with_comparisons(tree: Filter, change: Callable[[Comparison], Comparison]) -> Filter:
    """The filter with each of its comparisons changed."""
    match tree:
        case Comparison():
            return change(tree)
        case Not():
            return Not(with_comparisons(tree.operand, change))
        case And() | Or():
            return type(tree)(tuple(with_comparisons(o, change) for o in tree.operands))


def comparison_count(tree: Filter) -> int:
    """How many comparisons the service counts."""
    return sum(1 for _ in comparisons(tree))


def properties(tree: Filter) -> tuple[str, ...]:
    """The properties compared, each once, in order of first appearance."""
    return tuple(dict.fromkeys(c.property for c in comparisons(tree)))


def parameters(tree: Filter) -> tuple[str, ...]:
    """The names of the parameters, each once, in order of first appearance."""
    return tuple(dict.fromkeys(c.operand.name for c in comparisons(tree) if isinstance(c.operand, Parameter)))


def conjuncts(tree: Filter) -> tuple[Filter, ...]:
    """The filters that must all hold: the operands of an And, else the filter alone."""
    return tree.operands if isinstance(tree, And) else (tree,)


# ---------------------------------------------------------------------------------------------------- text


def format_filter(tree: Filter, *, parameters: bool | None = None) -> str:
    """The canonical text: single blanks, no parentheses but where the tree needs them and after ``not``.

    ``not`` always gets parentheses: the service's own samples write them, and OData proper would read ``not a eq 1`` as
    ``(not a) eq 1``. ``parse_filter(format_filter(f)) == f``; a filter with parameters, or with ``parameters=True``, is
    written for ``parse_filter(…, parameters=True)``, that is with doubled braces in its strings.
    """
    if parameters is None:
        parameters = any(isinstance(c.operand, Parameter) for c in comparisons(tree))
    return _format(tree, parameters)


def _format(node: Filter, braces: bool) -> str:
    match node:
        case Comparison():
            shown = _format_operand(node.operand, braces)
            if node.folded and isinstance(node.operand, Parameter):
                shown = f"'{{lower({node.operand.name})}}'"
            return f"{node.property} {node.operator} {shown}"
        case Not():
            return f"not ({_format(node.operand, braces)})"
        case And():
            parts = (_format(o, braces) for o in node.operands)
            return " and ".join(f"({p})" if isinstance(o, Or) else p for o, p in zip(node.operands, parts, strict=True))
        case Or():
            return " or ".join(_format(o, braces) for o in node.operands)


def _format_operand(operand: Operand, braces: bool) -> str:
    if isinstance(operand, TypedValue):
        text = format_literal(operand)
        return braced(text) if braces and operand.type is EdmType.STRING else text
    shown = operand.name + _format_offset(operand)
    if operand.type in QUOTES:
        prefix, suffix = (braced(t.replace("'", "''")) for t in (operand.prefix, operand.suffix))
        return f"{QUOTES[operand.type]}{prefix}{{{shown}}}{suffix}'"
    if operand.type is EdmType.INT64:
        return f"{{{shown}}}L"
    return f"{{{shown}}}" if operand.type is None else f"{{{shown}:{operand.type}}}"


def braced(text: str) -> str:
    """Text as it stands in a template: its braces doubled."""
    return text.replace("{", "{{").replace("}", "}}")


def _format_offset(parameter: Parameter) -> str:
    if parameter.offset:
        sign = "-" if parameter.offset < 0 else "+"
        size = abs(parameter.offset)
        return sign + (format_double(size) if isinstance(size, float) else str(size))
    if parameter.offset_ticks:
        sign, size = "-" if parameter.offset_ticks < 0 else "+", abs(parameter.offset_ticks)
        for unit, ticks in TICKS_PER_UNIT.items():
            if size % ticks == 0:
                return f"{sign}{size // ticks}{unit}"
        whole, fraction = divmod(size, TICKS_PER_SECOND)
        return f"{sign}{whole}.{fraction:07d}".rstrip("0") + "s"
    return ""


# --------------------------------------------------------------------------------------------------- types


def fit_types(tree: Filter, types: Mapping[str, EdmType]) -> Filter:
    """A declared filter with its constants in the types of the properties they are compared with.

    For filters that people write over logical properties: a whole number becomes the Int64 or Double that the property
    holds, where nothing is lost, and a bare ``{x}`` takes the property's type. Everything else stays, and so does every
    property that ``types`` does not name. Not for filters from a log, which mean what they say. Raises UsageError where
    an offset does not suit the property.
    """

    def fitted(comparison: Comparison) -> Comparison:
        edm = types.get(comparison.property)
        return comparison if edm is None else replace(comparison, operand=_fitted(comparison, edm))

    return with_comparisons(tree, fitted)


def _fitted(comparison: Comparison, edm: EdmType) -> Operand:
    operand = comparison.operand
    try:
        if isinstance(operand, Parameter):
            return replace(operand, type=edm) if operand.type is None else operand
        value = operand.value
        if isinstance(value, int) and operand.type.integer and edm.numeric and operand.type is not edm:
            if edm is EdmType.DOUBLE:
                return TypedValue(edm, float(value)) if int(float(value)) == value else operand
            low, high = RANGES[edm]
            return TypedValue(edm, value) if low <= value <= high else operand
    except ValueError as problem:
        raise UsageError(f"{comparison.property} holds {edm}: {problem}") from None
    return operand


def mismatches(tree: Filter, types: Mapping[str, EdmType]) -> tuple[Comparison, ...]:
    """The comparisons that never hold, because the constant's type is not the property's."""
    return tuple(
        c
        for c in comparisons(tree)
        if c.operand.type is not None and types.get(c.property, c.operand.type) is not c.operand.type
    )
