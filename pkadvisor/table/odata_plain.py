"""The fast path of the ``$filter`` language: comparisons joined by ``and``, as ``format_filter`` writes them.

Programs write such a text for every request, and everybody on the way reads it. What is not of this form, or is wrong
in it, is left to the grammar, which also has the words for what is wrong.
"""

from __future__ import annotations

import re

from pkadvisor.table.edm import parse_literal
from pkadvisor.table.filters import And, Comparison, Filter, Operator

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
