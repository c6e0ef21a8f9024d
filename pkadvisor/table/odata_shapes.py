"""Shapes of filter texts: a log of millions of lines says the same few things with ever-other constants."""

from __future__ import annotations

import re
from functools import cache

from pkadvisor.table.edm import parse_literal
from pkadvisor.table.property_names import may_have_marks, with_marks

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
