"""Text form of a key: ``{tenantId}_{hash(deviceId,16)}`` ⇄ parts.

    template  = { text | "{" part "}" }              text: literal; "{{" and "}}" are braces
    part      = property | function "(" argument { "," argument } ")"
    argument  = property | function "(" … ")" | integer | "'" text "'"
    property  = name | "`" any text "`"              name: a letter or _ first, none of (){},'"` inside
    function  = pad | reverse_pad | sortable | reverse_sortable | time | time_of_day | ticks | reverse_ticks
              | hash | hash_prefix | md5_prefix | lower | prefix | reverse | concat | each | seq

Quotes and backticks are doubled inside themselves. A function inside another makes text: ``hash(lower(email),16)``.
One grammar serves both directions: ``parse_template(format_template(p)) == p``, and what ``format_template`` writes is
the canonical form: no blanks around arguments, backticks only where a name needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pkadvisor.design.keys.transforms import (
    ARGUMENTS,
    FORBIDDEN,
    INTEGERS,
    SOURCES,
    TRANSFORMS,
    Context,
    Field,
    Literal,
    Part,
    check_pattern,
    clock_tokens,
)
from pkadvisor.design.keys.transforms.languages import ANY, Language, exactly, may_meet
from pkadvisor.errors import UsageError, caret, did_you_mean
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata_parse import as_property_name

if TYPE_CHECKING:
    from lark import Lark


_GRAMMAR = r"""
start: call | property
call: NAME "(" [argument ("," argument)*] ")"
?argument: call | property | INTEGER -> integer | STRING -> text
property: NAME | QUOTED
NAME: /[^\W\d](?:[^(){},'"`]*[^(){},'"`\s])?/
QUOTED: /`(?:[^`]|``)+`/
INTEGER: /[0-9]+/
STRING: /'(?:[^']|'')*'/
%ignore " "
"""
_HOLE_END = re.compile(r"""(?:[^}'`]|'(?:[^']|'')*'|`(?:[^`]|``)*`)*\}""")


@lru_cache(maxsize=1)
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True)


class TemplateError(UsageError):
    """A template that cannot be read; carries the place of the mistake."""


def _fail(what: str, source: str, column: int, *, where: str, fix: str = "", width: int = 1) -> TemplateError:
    return TemplateError(what, where=where, fix=fix, excerpt=caret(source, column, width))


def parse_template(source: str, *, known: Iterable[str] | None = None, where: str = "template") -> tuple[Part, ...]:
    """The parts of a template; raises ``TemplateError`` with a caret.

    ``known`` are the property names that exist: another name is an error with a suggestion.
    """
    names = None if known is None else sorted(known)
    parts: list[Part] = []
    literal, begin = "", 0
    position = 0
    while position < len(source):
        character = source[position]
        if not literal:
            begin = position
        if source[position : position + 2] in ("{{", "}}"):
            literal += character
            position += 2
        elif character == "{":
            match = _HOLE_END.match(source, position + 1)
            end = match.end() - 1 if match else source.find("}", position)
            if end < 0:
                raise _fail("this brace is never closed", source, position, where=where, fix="write {{ for a brace")
            if literal:
                parts.append(_literal(literal, source, begin, where))
                literal = ""
            parts.append(_Hole(source, position + 1, end, names, where).part())
            position = end + 1
        elif character == "}":
            raise _fail("this brace was never opened", source, position, where=where, fix="write }} for a brace")
        else:
            literal += character
            position += 1
    if literal:
        parts.append(_literal(literal, source, begin, where))
    return tuple(parts)


def hole_spans(source: str) -> tuple[tuple[int, int], ...]:
    """(first character, the one behind the last) of each pair of braces in a template that can be read."""
    spans, position = list[tuple[int, int]](), 0
    while position < len(source):
        match = _HOLE_END.match(source, position + 1) if source[position] == "{" else None
        if source[position : position + 2] in ("{{", "}}"):
            position += 2
        elif match is not None:
            spans.append((position, match.end()))
            position = match.end()
        else:
            position += 1
    return tuple(spans)


def _literal(text: str, source: str, column: int, where: str) -> Literal:
    bad = next((c for c in text if c in FORBIDDEN), None)
    if bad is not None:
        raise _fail(
            f"{bad!r} is not allowed in a key",
            source,
            source.index(bad, column),
            where=where,
            fix="use another separator, such as _ or ;",
        )
    return Literal(text)


class _Hole:
    """The inside of one pair of braces, and how to point at a place in it."""

    def __init__(self, source: str, start: int, end: int, names: list[str] | None, where: str) -> None:
        self.source, self.start, self.end, self.names, self.where = source, start, end, names, where

    def fail(self, what: str, at: int, *, fix: str = "", width: int = 1) -> TemplateError:
        """An error at a column of the hole's text."""
        return _fail(what, self.source, self.start + at, where=self.where, fix=fix, width=width)

    def part(self) -> Part:
        """The part that the hole names."""
        from lark.exceptions import UnexpectedInput

        inner = self.source[self.start : self.end]
        try:
            tree = _parser().parse(inner).children[0]
        except UnexpectedInput as error:
            if not inner.strip():
                raise self.fail("empty braces", 0, fix="name a property, as in {bib}") from None
            column = max(0, min((getattr(error, "column", 1) or 1) - 1, len(inner)))
            fix = f"write {{property}} or one of {_signatures()}"
            raise self.fail(f"cannot read '{inner}'", column, fix=fix) from None
        node: Any = tree
        if node.data == "property":
            return Field(self.name(node))
        part = self.call(node)
        if part.function == "concat":
            fix = "a key is its parts one after the other: {a}_{b}"
            raise self.fail("concat stands inside another function only", 0, fix=fix, width=self.end - self.start)
        return part

    def name(self, node: Any) -> str:
        """The property that a node names; it must exist."""
        token = node.children[0]
        quoted = token.type == "QUOTED"
        name = str(token)[1:-1].replace("``", "`") if quoted else str(token)
        if self.names is not None and name not in self.names:
            read_as = as_property_name(name)
            if read_as in self.names and read_as.count("_") > name.count("_"):
                return read_as  # a column of that name is read so
            shown = ", ".join(self.names[:12]) + (" …" if len(self.names) > 12 else "")
            fix = did_you_mean(name, self.names) or f"the data has: {shown}"
            raise self.fail(f"no property '{name}'", token.start_pos, fix=fix, width=len(str(token)))
        return name

    def call(self, node: Any) -> Part:
        """A function and its arguments."""
        token, *arguments = (child for child in node.children if child is not None)
        function, at = str(token), token.start_pos
        if function not in TRANSFORMS:
            hint = did_you_mean(function, tuple(TRANSFORMS))
            fix = hint or f"there are {_signatures()}"
            raise self.fail(f"no function '{function}'", at, fix=fix, width=len(function))
        wanted = ARGUMENTS[function]
        if wanted[-1] == "source…":
            wanted = ("item",) * max(1, len(arguments))
        elif wanted[-1].startswith("[") and len(arguments) < len(wanted):
            wanted = wanted[:-1]
        if len(wanted) != len(arguments) or not all(map(self.fits, wanted, arguments)):
            width = max(1, node.meta.end_pos - at)
            raise self.fail(f"{function} takes ({', '.join(ARGUMENTS[function])})", at, width=width)
        values = [self.value(function, kind, argument) for kind, argument in zip(wanted, arguments, strict=True)]
        make: Callable[..., Part] = TRANSFORMS[function]
        return make(tuple(values)) if ARGUMENTS[function][-1] == "source…" else make(*values)

    @staticmethod
    def fits(kind: str, argument: Any) -> bool:
        """Whether an argument is of the kind that a function takes."""
        given = str(argument.data)
        return given in {
            "property": ("property",),
            "source": ("property", "call"),
            "item": ("property", "call", "text"),
            "integer": ("integer",),
            "integer or format": ("integer", "text"),
            "format": ("text",),
            "[text]": ("text",),
        }.get(kind, ())

    def value(self, function: str, kind: str, argument: Any) -> object:
        """The value of one argument."""
        if argument.data == "property":
            return self.name(argument)
        if argument.data == "call":
            inner = self.call(argument)
            if inner.function not in SOURCES:
                at, name = argument.children[0].start_pos, inner.function
                fix = f"a function inside another is one of {', '.join(SOURCES)}"
                raise self.fail(f"{name} makes no text for {function}", at, fix=fix, width=len(name))
            return inner
        token = argument.children[0]
        if argument.data == "integer":
            return self.integer(function, str(token), token.start_pos)
        text = str(token)[1:-1].replace("''", "'")
        if kind in ("format", "integer or format"):
            try:
                (check_pattern if kind == "format" else clock_tokens)(text)
            except ValueError as error:
                raise self.fail(str(error), token.start_pos, width=len(str(token))) from None
            return text
        if not text:
            raise self.fail("empty text", token.start_pos, width=2)
        return Literal(text) if kind == "item" else text

    def integer(self, function: str, digits: str, at: int) -> int:
        """A number within what a function takes; a longer text of digits is not worth turning into a number."""
        low, high = INTEGERS[function]
        number = int(digits[:9])
        if not low <= number <= high:
            raise self.fail(f"{function} takes {low} to {high}, not {number}", at)
        return number


def _signatures() -> str:
    return ", ".join(f"{name}({', '.join(arguments)})" for name, arguments in ARGUMENTS.items())


def format_template(parts: Iterable[Part]) -> str:
    """The canonical text of a template."""
    return "".join(str(part) for part in parts)


def separators(parts: Iterable[Part]) -> str:
    """The first character of each literal that follows a variable part: escaped inside values of the same key.

    A value ends where the literal behind it begins, so nothing else of a literal can be mistaken for its content.
    Letters and digits count too: a literal ``x`` between two fields must not be taken for a part of them.
    """
    seen, firsts = False, set[str]()
    for part in parts:
        if isinstance(part, Literal):
            if seen:
                firsts.add(part.text[0])
        else:
            seen = True
    return "".join(sorted(firsts))


def languages_of(parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> tuple[Language, ...]:
    """For each part a language that holds every text it can have within this template."""
    names = {name: types[name] for part in parts for name in part.properties if name in types}
    return _languages(parts, tuple(names.items()))


@lru_cache(maxsize=4096)
def _languages(parts: tuple[Part, ...], types: tuple[tuple[str, EdmType], ...]) -> tuple[Language, ...]:
    context = Context(dict(types), separators(parts))
    return tuple(part.texts(context) for part in parts)


def keys_meet(
    asked: tuple[Part, ...], begun: int | None, others: tuple[Part, ...], types: Mapping[str, EdmType]
) -> bool:
    """Whether a text of one template may be asked for by requests for another: of ``asked`` they name all parts, or the
    first ``begun`` variable ones and what stands before them."""
    return _keys_meet(asked, begun, others, tuple(types.items()))


@lru_cache(maxsize=16_384)
def _keys_meet(
    asked: tuple[Part, ...], begun: int | None, others: tuple[Part, ...], types: tuple[tuple[str, EdmType], ...]
) -> bool:
    named = languages_of(asked, dict(types))
    if begun is not None:
        places = [n for n, part in enumerate(asked) if part.constant is None][:begun]
        leading = (asked[0].constant or "") if asked else ""
        named = (*named[: places[-1] + 1], ANY) if places else (exactly(leading), ANY)
    return may_meet(named, languages_of(others, dict(types)))


def decoder(parts: tuple[Part, ...], context: Context | None = None) -> re.Pattern[str]:
    """A pattern that takes a whole key apart; group ``gi`` is the i-th variable part.

    Escapes are never cut. Ambiguous where two parts of no fixed width touch, and for keys that were written without
    escapes: then each part takes the least.
    """
    return _decoder(parts, tuple(sorted(context.types.items())) if context else ())


@lru_cache(maxsize=256)
def _decoder(parts: tuple[Part, ...], types: tuple[tuple[str, Any], ...]) -> re.Pattern[str]:
    context = Context(dict(types))
    pattern, index = "", 0
    for part in parts:
        if isinstance(part, Literal):
            pattern += re.escape(part.text)
        else:
            pattern += f"(?P<g{index}>{part.pattern(context)})"
            index += 1
    return re.compile(pattern, re.DOTALL)
