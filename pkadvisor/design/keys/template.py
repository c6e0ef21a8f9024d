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
from itertools import count
from typing import Any

from pkadvisor.design.keys.transforms import (
    FORBIDDEN,
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
from pkadvisor.values import dataclass

NESTING_MAX = 16
"""Calls inside one another: no template needs more than three."""
_NAME = re.compile(r"""[^\W\d](?:[^(){},'"`]*[^(){},'"`\s])?""")
_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_ARGUMENTS = {"text": re.compile(r"'(?:[^']|'')*'"), "integer": re.compile(r"[0-9]+")}
_HOLE_END = re.compile(r"""(?:[^}'`]|'(?:[^']|'')*'|`(?:[^`]|``)*`)*\}""")


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


@dataclass(frozen=True)
class _Node:
    """A property, call, integer or text in a hole: its text as it stands there, where it is, and its arguments."""

    kind: str
    text: str
    start: int
    end: int
    arguments: tuple[_Node, ...] = ()


class _HoleError(Exception):
    """Where a hole stops being readable."""

    def __init__(self, at: int) -> None:
        self.at = at


class _HoleReader:
    """Reads the inside of a hole from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.last = 0
        """Where the last token begins: a text that ends too early is wrong there."""

    def whole(self) -> _Node:
        """The one property or call that the hole holds."""
        node = self.node({})
        if self.next() is not None:
            raise _HoleError(self.at)
        return node

    def next(self) -> str | None:
        """The character behind the blanks; None at the end."""
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else None

    def take(self, character: str) -> bool:
        """Whether this one is next, which is then behind."""
        found = self.next() == character
        if found:
            self.last, self.at = self.at, self.at + 1
        return found

    def node(self, arguments: Mapping[str, re.Pattern[str]]) -> _Node:
        """A property or a call, or one of what only arguments are."""
        self.next()
        for kind, pattern in (("property", _QUOTED), ("name", _NAME), *arguments.items()):
            if match := pattern.match(self.text, self.at):
                self.last, self.at = match.span()
                if kind == "name" and self.take("("):
                    return self.call(match)
                return _Node("property" if kind == "name" else kind, match[0], *match.span())
        raise self.wrong()

    def call(self, name: re.Match[str]) -> _Node:
        """A call, of which the name and the bracket are read."""
        nodes: list[_Node] = []
        self.depth += 1
        while not self.take(")"):
            if self.depth > NESTING_MAX or (nodes and not self.take(",")):
                raise self.wrong()
            nodes.append(self.node(_ARGUMENTS))
        self.depth -= 1
        return _Node("call", name[0], name.start(), self.at, tuple(nodes))

    def wrong(self) -> _HoleError:
        return _HoleError(self.last if self.next() is None else self.at)


class _Hole:
    """The inside of one pair of braces, and how to point at a place in it."""

    def __init__(self, source: str, start: int, end: int, names: list[str] | None, where: str) -> None:
        self.source, self.start, self.end, self.names, self.where = source, start, end, names, where

    def fail(self, what: str, at: int, *, fix: str = "", width: int = 1) -> TemplateError:
        """An error at a column of the hole's text."""
        return _fail(what, self.source, self.start + at, where=self.where, fix=fix, width=width)

    def part(self) -> Part:
        """The part that the hole names."""
        inner = self.source[self.start : self.end]
        try:
            node = _HoleReader(inner).whole()
        except _HoleError as error:
            if not inner.strip():
                raise self.fail("empty braces", 0, fix="name a property, as in {bib}") from None
            fix = f"write {{property}} or one of {_signatures()}"
            raise self.fail(f"cannot read '{inner}'", error.at, fix=fix) from None
        if node.kind == "property":
            return Field(self.name(node))
        part = self.call(node)
        if part.function == "concat":
            fix = "a key is its parts one after the other: {a}_{b}"
            raise self.fail("concat stands inside another function only", 0, fix=fix, width=self.end - self.start)
        return part

    def name(self, node: _Node) -> str:
        """The property that a node names; it must exist."""
        name = node.text[1:-1].replace("``", "`") if node.text[0] == "`" else node.text
        if self.names is not None and name not in self.names:
            read_as = as_property_name(name)
            if read_as in self.names and read_as.count("_") > name.count("_"):
                return read_as  # a column of that name is read so
            shown = ", ".join(self.names[:12]) + (" …" if len(self.names) > 12 else "")
            fix = did_you_mean(name, self.names) or f"the data has: {shown}"
            raise self.fail(f"no property '{name}'", node.start, fix=fix, width=len(node.text))
        return name

    def call(self, node: _Node) -> Part:
        """A function and its arguments."""
        function, at, arguments = node.text, node.start, node.arguments
        if function not in TRANSFORMS:
            hint = did_you_mean(function, tuple(TRANSFORMS))
            fix = hint or f"there are {_signatures()}"
            raise self.fail(f"no function '{function}'", at, fix=fix, width=len(function))
        make: Callable[..., Part] = TRANSFORMS[function]
        takes = wanted = TRANSFORMS[function].takes
        if wanted[-1] == "source…":
            wanted = ("item",) * max(1, len(arguments))
        elif wanted[-1].startswith("[") and len(arguments) < len(wanted):
            wanted = wanted[:-1]
        if len(wanted) != len(arguments) or not all(map(self.fits, wanted, arguments)):
            raise self.fail(f"{function} takes ({', '.join(takes)})", at, width=node.end - at)
        values = [self.value(function, kind, argument) for kind, argument in zip(wanted, arguments, strict=True)]
        return make(tuple(values)) if takes[-1] == "source…" else make(*values)

    @staticmethod
    def fits(kind: str, argument: _Node) -> bool:
        """Whether an argument is of the kind that a function takes."""
        return argument.kind in {
            "property": ("property",),
            "source": ("property", "call"),
            "item": ("property", "call", "text"),
            "integer": ("integer",),
            "integer or format": ("integer", "text"),
            "format": ("text",),
            "[text]": ("text",),
            "[integer]": ("integer",),
        }.get(kind, ())

    def value(self, function: str, kind: str, argument: _Node) -> object:
        """The value of one argument."""
        if argument.kind == "property":
            return self.name(argument)
        if argument.kind == "call":
            inner = self.call(argument)
            if not inner.makes_source:
                sources = (name for name, part in TRANSFORMS.items() if part.makes_source)
                fix = f"a function inside another is one of {', '.join(sources)}"
                what = f"{inner.function} makes no text for {function}"
                raise self.fail(what, argument.start, fix=fix, width=len(argument.text))
            return inner
        if argument.kind == "integer":
            return self.integer(function, argument.text, argument.start)
        text = argument.text[1:-1].replace("''", "'")
        if kind in ("format", "integer or format"):
            try:
                (check_pattern if kind == "format" else clock_tokens)(text)
            except ValueError as error:
                raise self.fail(str(error), argument.start, width=len(argument.text)) from None
            return text
        if not text:
            raise self.fail("empty text", argument.start, width=2)
        return Literal(text) if kind == "item" else text

    def integer(self, function: str, digits: str, at: int) -> int:
        """A number within what a function takes; a longer text of digits is not worth turning into a number."""
        low, high = TRANSFORMS[function].integers
        number = int(digits[:9])
        if not low <= number <= high:
            raise self.fail(f"{function} takes {low} to {high}, not {number}", at)
        return number


def _signatures() -> str:
    return ", ".join(f"{name}({', '.join(part.takes)})" for name, part in TRANSFORMS.items())


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
    return re.compile(pattern_of(parts, lambda part: part.pattern(context)), re.DOTALL)


def pattern_of(parts: tuple[Part, ...], piece: Callable[[Part], str]) -> str:
    """A pattern of whole keys of what ``piece`` gives for each variable part: group ``gi`` is the i-th."""
    numbers = count()
    return "".join(
        f"(?P<g{next(numbers)}>{piece(part)})" if part.constant is None else re.escape(part.constant) for part in parts
    )


# -- What a reader of keys learns of their values, and templates over values of which a profile shows only tokens.


PREFIX_TELLS_FROM = 4
"""Characters from which the beginning of a text still points at its owner: assumed."""
HASH_TELLS_FROM = 16**6
"""Values of a hash from which it stands for one text rather than for many: assumed."""


def shown_by(part: Part) -> str:
    """What a reader of a key learns from a part: the ``value``, a ``hash`` that stands for it, or a ``group`` of many
    values."""
    if part.hashing is not None:
        return "hash" if part.hashing.buckets_total >= HASH_TELLS_FROM else "group"
    source: Part | None = part
    while source is not None:
        if source.first_characters is not None and source.first_characters < PREFIX_TELLS_FROM:
            return "group"
        source = source.text_source
    if part.period is not None:
        return "value" if "dd" in part.period.format else "group"
    return "value"


def types_shown(types: Mapping[str, EdmType], hidden: frozenset[str]) -> dict[str, EdmType]:
    """The types of the values at hand: a token is a text."""
    return {name: EdmType.STRING if name in hidden else edm for name, edm in types.items()}


def over_tokens(parts: tuple[Part, ...], hidden: frozenset[str]) -> tuple[Part, ...]:
    """A template that reads tokens in place of the values that are hidden."""
    return tuple(_over_tokens(part, hidden) for part in parts)


def _over_tokens(part: Part, hidden: frozenset[str]) -> Part:
    """The part, or the plain property where it reads no text and the property is hidden."""
    if part.reads is None or EdmType.STRING in part.reads or not hidden & {*part.properties}:
        return part
    (name,) = part.properties
    return Field(name)
