"""The ``$filter`` language of the Table service: text, tree, truth, parameters and shapes.

The one door to it: ``filters`` holds the tree and its laws, ``odata_parse`` and ``odata.lark`` the grammar and its
errors, ``odata_plain`` the fast path for what programs write, ``odata_shapes`` what filters of a log share.
"""

from __future__ import annotations

from pkadvisor.table.edm import EdmType, Literal
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
    bind,
    comparison_count,
    comparisons,
    conjuncts,
    evaluate,
    fit_types,
    format_filter,
    mismatches,
    parameters,
    properties,
)
from pkadvisor.table.odata_parse import MAX_CHARACTERS, parse
from pkadvisor.table.odata_plain import plain_filter
from pkadvisor.table.odata_shapes import normalise

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
