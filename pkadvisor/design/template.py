"""Text form of a key: ``{tenantId}_{hash(deviceId,16)}`` ⇄ parts.

Text outside braces is literal; ``{{`` and ``}}`` are braces. Inside braces stands a property or a function of
``transforms.TRANSFORMS``. One grammar serves both directions: ``parse_template(format_template(p)) == p``, as long as
property names begin with a letter or ``_`` and hold no parenthesis, brace, comma or quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pkadvisor.design.transforms import (
    ARGUMENTS,
    FORBIDDEN,
    TICKS_DIGITS,
    TIME_UNITS,
    TRANSFORMS,
    Field,
    Hash,
    Literal,
    Pad,
    Part,
    ReversePad,
    ReverseTicks,
    Sequence,
    Ticks,
    Time,
    strftime_format,
)
from pkadvisor.errors import UsageError, caret, did_you_mean

if TYPE_CHECKING:
    from lark import Lark


_GRAMMAR = r"""
start: call | name
call: NAME "(" [argument ("," argument)*] ")"
name: NAME
argument: NAME -> property | INTEGER -> integer | STRING -> text
NAME: /[^\W\d](?:[^(){},'"]*[^(){},'"\s])?/
INTEGER: /[0-9]+/
STRING: /'[^']*'/
%ignore " "
"""


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
            end = source.find("}", position)
            if end < 0:
                raise _fail("this brace is never closed", source, position, where=where, fix="write {{ for a brace")
            if literal:
                parts.append(_literal(literal, source, begin, where))
                literal = ""
            parts.append(_hole(source, position + 1, end, names, where))
            position = end + 1
        elif character == "}":
            raise _fail("this brace was never opened", source, position, where=where, fix="write }} for a brace")
        else:
            literal += character
            position += 1
    if literal:
        parts.append(_literal(literal, source, begin, where))
    return tuple(parts)


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


def _hole(source: str, start: int, end: int, names: list[str] | None, where: str) -> Part:
    from lark.exceptions import UnexpectedInput

    inner = source[start:end]
    try:
        tree = _parser().parse(inner).children[0]
    except UnexpectedInput as error:
        column = start + max(0, min((getattr(error, "column", 1) or 1) - 1, len(inner)))
        if not inner.strip():
            raise _fail("empty braces", source, start, where=where, fix="name a property, as in {bib}") from None
        raise _fail(
            f"cannot read '{inner}'", source, column, where=where, fix=f"write {{property}} or one of {_signatures()}"
        ) from None
    node: Any = tree
    if node.data == "name":
        token = node.children[0]
        _check_name(str(token), source, start + token.start_pos, names, where)
        return Field(str(token))
    token, *arguments = (child for child in node.children if child is not None)
    function = str(token)
    if function not in TRANSFORMS:
        hint = did_you_mean(function, tuple(TRANSFORMS))
        raise _fail(
            f"no function '{function}'",
            source,
            start + token.start_pos,
            where=where,
            fix=hint or f"there are {_signatures()}",
            width=len(function),
        )
    expected = ARGUMENTS[function]
    found = tuple(str(a.data) for a in arguments)
    if found != expected:
        raise _fail(
            f"{function} takes ({', '.join(expected)})",
            source,
            start + token.start_pos,
            where=where,
            width=max(1, end - start),
        )
    values: list[object] = []
    for argument in arguments:
        value = argument.children[0]
        if argument.data == "property":
            _check_name(str(value), source, start + value.start_pos, names, where)
            values.append(str(value))
        elif argument.data == "integer":
            values.append(_count(function, str(value), source, start + value.start_pos, where))
        else:
            try:
                strftime_format(str(value)[1:-1])
            except ValueError as error:
                raise _fail(str(error), source, start + value.start_pos, where=where) from None
            values.append(str(value)[1:-1])
    return TRANSFORMS[function](*values)


def _count(function: str, digits: str, source: str, column: int, where: str) -> int:
    # 10^38 is what a 128-bit column holds; a longer text of digits is not worth turning into a number.
    low, high = (2, 10_000) if function == "hash" else (1, 38)
    number = int(digits[:9])
    if not low <= number <= high:
        raise _fail(f"{function} takes {low} to {high}, not {number}", source, column, where=where)
    return number


def _check_name(name: str, source: str, column: int, names: list[str] | None, where: str) -> None:
    if names is not None and name not in names:
        shown = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
        raise _fail(
            f"no property '{name}'",
            source,
            column,
            where=where,
            fix=did_you_mean(name, names) or f"the data has: {shown}",
            width=len(name),
        )


def _signatures() -> str:
    return ", ".join(f"{name}({', '.join(arguments)})" for name, arguments in ARGUMENTS.items())


def format_template(parts: Iterable[Part]) -> str:
    """The canonical text of a template."""
    return "".join(str(part) for part in parts)


def separators(parts: Iterable[Part]) -> str:
    """The characters of the literals that follow a variable part: escaped inside values of the same key.

    Letters and digits count too: a literal ``x`` between two fields must not be mistaken for their content.
    """
    seen, found = False, set[str]()
    for part in parts:
        if isinstance(part, Literal):
            if seen:
                found |= set(part.text)
        else:
            seen = True
    return "".join(sorted(found))


_TOKENS = r"(?:~-|~[0-9A-F]{4}|[^~]|~(?!-|[0-9A-F]{4}))*?"
"""Any text, cut only between escapes; the least that fits."""


def _pattern(part: Part) -> str:
    """What a variable part looks like: its fixed width first, then any text, for keys that were written otherwise."""
    if isinstance(part, Pad | ReversePad):
        return f"-{{0,2}}[0-9]{{{part.width}}}[0-9]*?|{_TOKENS}"
    if isinstance(part, Ticks | ReverseTicks):
        return f"[0-9]{{{TICKS_DIGITS}}}|{_TOKENS}"
    if isinstance(part, Time):
        shape = re.escape(part.pattern)
        for token in TIME_UNITS:
            shape = shape.replace(token, f"[0-9]{{{len(token)}}}")
        return f"{shape}|{_TOKENS}"
    if isinstance(part, Hash):
        return f"[0-9]{{{part.digits}}}|{_TOKENS}"
    if isinstance(part, Sequence):
        return f"[0-9]{{{part.width}}}[0-9]*?|{_TOKENS}"
    return _TOKENS


def decoder(parts: tuple[Part, ...]) -> re.Pattern[str]:
    """A pattern that takes a whole key apart; group ``gi`` is the i-th variable part.

    Escapes are never cut. Ambiguous where two parts of no fixed width touch, and for keys that were written without
    escapes: then each part takes the least.
    """
    pattern, index = "", 0
    for part in parts:
        if isinstance(part, Literal):
            pattern += re.escape(part.text)
        else:
            pattern += f"(?P<g{index}>{_pattern(part)})"
            index += 1
    return re.compile(pattern, re.DOTALL)
