"""Shapes of filter texts: a log of millions of lines says the same few things with ever-other constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pkadvisor.errors import UsageError
from pkadvisor.table.edm import Literal, parse_literal
from pkadvisor.table.filters import MAX_COMPARISONS, Filter, Parameter, bind, comparisons
from pkadvisor.table.odata_parse import MAX_CHARACTERS, parse
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


def parse_normalised(shape: str, *, limit: int | None = MAX_COMPARISONS) -> Filter:
    """The filter of a shape, with parameters ``p0``, ``p1`` … in the order of the literals that ``normalise`` gave."""
    return parse(shape, parameters=True, limit=limit)


@dataclass(frozen=True, slots=True)
class ParsedShape:
    """A filter text taken apart: its shape, the filter of the shape, and the constants for ``p0``, ``p1`` …

    A very long text is not taken apart: its template is the filter itself, without parameters.
    """

    shape: str
    template: Filter
    literals: tuple[Literal, ...]

    def filter(self) -> Filter:
        """The filter of the text itself."""
        return bind(self.template, {f"p{i}": literal for i, literal in enumerate(self.literals)})


_CACHED_CHARACTERS = 4_096
"""Longer shapes are parsed each time, so that hostile ones cannot fill the memory."""


class ShapeCache:
    """Parses many filter texts that share few shapes, each shape once.

    Holds at most ``capacity`` shapes and starts over when full, so that a log of ever-new shapes stays bounded.
    """

    def __init__(self, *, limit: int | None = MAX_COMPARISONS, capacity: int = 2_000) -> None:
        self._limit = limit
        self._capacity = capacity
        self._templates: dict[str, tuple[Filter, int] | None] = {}

    def parse(self, text: str) -> ParsedShape:
        """The parts of one text; raises what ``parse_filter`` raises on it."""
        if len(text) > MAX_CHARACTERS:
            parse(text, parameters=False, limit=self._limit)  # raises
        shape, raw = normalise(text)
        known = self._template(shape) if len(shape) <= _CACHED_CHARACTERS else None
        if known is not None and known[1] == len(raw):
            try:
                return ParsedShape(shape, known[0], tuple(parse_literal(r) for r in raw))
            except ValueError:
                pass  # a constant that is none: the error below shows it in its text
        # An error, or a text too long to be worth keeping.
        return ParsedShape(shape, parse(text, parameters=False, limit=self._limit), ())

    def _template(self, shape: str) -> tuple[Filter, int] | None:
        if shape not in self._templates:
            if len(self._templates) >= self._capacity:
                self._templates.clear()
            try:
                template = parse_normalised(shape, limit=self._limit)
                # Every place counts, not every name: a text may itself say {p0:String}, which is an error there.
                places = sum(isinstance(c.operand, Parameter) for c in comparisons(template))
                self._templates[shape] = (template, places)
            except UsageError:
                self._templates[shape] = None
        return self._templates[shape]
