"""The ``$filter`` language of the Table service: text, tree, truth, parameters and shapes.

The one door to it: ``filters`` holds the tree and its laws, ``odata_parse`` and ``odata.lark`` the grammar and its
errors. Here are the fast path for what programs write (``plain_filter``), and what filters of a log share: a log of
millions of lines says the same few things with ever-other constants (``normalise``).
"""

from __future__ import annotations

import re
from functools import cache

from pkadvisor.table.edm import EdmType, Literal, parse_literal
from pkadvisor.table.filter_values import bind, evaluate
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
    mismatches,
    parameters,
    properties,
)
from pkadvisor.table.odata_parse import MAX_CHARACTERS, parse
from pkadvisor.table.property_names import may_have_marks, with_marks

__all__ = [
    "MAX_COMPARISONS",
    "And",
    "Comparison",
    "EdmType",
    "Filter",
    "FilterLimitError",
    "FilterSyntaxError",
    "Literal",
    "Not",
    "Operand",
    "Operator",
    "Or",
    "Parameter",
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
    strings ``{{`` and ``}}`` are literal braces then. ``limit`` None lifts the service's 15 comparisons.

    A bare property means ``eq true``; ``5 lt a`` becomes ``a gt 5``. Raises FilterSyntaxError, FilterLimitError.
    """
    if not parameters and len(text) <= MAX_CHARACTERS and (plain := plain_filter(text, limit)) is not None:
        return plain
    return parse(text, parameters=parameters, limit=limit)


_COMPARISON = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*+) (eq|ne|gt|ge|lt|le) "
    r"((?:datetime|guid|binary|[Xx])?'(?:[^']|'')*+'|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?[LldD]?|true|false)"
    r"(?: and |\Z)"
)
_WORDS = frozenset(("eq", "ne", "gt", "ge", "lt", "le", "and", "or", "not", "null", "true", "false", "NaN", "INF"))
"""What the grammar does not take for the name of a property."""
_OPERATORS = {str(operator): operator for operator in Operator}


def plain_filter(text: str, limit: int | None) -> Filter | None:
    """The filter of a text of this form, the same as the grammar's; None where the grammar is to be asked.

    ``limit``: a filter of more comparisons is left to the grammar, too.
    """
    out: list[Comparison] = []
    at, end = 0, len(text)
    while match := _COMPARISON.match(text, at):
        name, operator, constant = match.groups()
        if name in _WORDS:
            return None
        try:
            out.append(Comparison(name, _OPERATORS[operator], parse_literal(constant)))
        except ValueError:
            return None
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
