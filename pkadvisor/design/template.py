"""Text form of a key: ``{tenantId}_{hash(deviceId,16)}`` ⇄ parts.

Text outside braces is literal; ``{{`` and ``}}`` are braces. Inside braces stands a property or a function of
``transforms.TRANSFORMS``. One grammar serves both directions: ``parse_template(format_template(p)) == p``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pkadvisor.design.transforms import (
    ARGUMENTS,
    FORBIDDEN,
    TRANSFORMS,
    Field,
    Literal,
    Part,
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
NAME: /[^\W\d][\w.]*/
INTEGER: /\d+/
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
    literal = ""
    position = 0
    while position < len(source):
        character = source[position]
        if source[position : position + 2] in ("{{", "}}"):
            literal += character
            position += 2
        elif character == "{":
            end = source.find("}", position)
            if end < 0:
                raise _fail("this brace is never closed", source, position, where=where, fix="write {{ for a brace")
            if literal:
                parts.append(_literal(literal, source, position - len(literal), where))
                literal = ""
            parts.append(_hole(source, position + 1, end, names, where))
            position = end + 1
        elif character == "}":
            raise _fail("this brace was never opened", source, position, where=where, fix="write }} for a brace")
        else:
            literal += character
            position += 1
    if literal:
        parts.append(_literal(literal, source, len(source) - len(literal), where))
    return tuple(parts)


def _literal(text: str, source: str, column: int, where: str) -> Literal:
    bad = sorted(set(text) & FORBIDDEN)
    if bad:
        at = source.find(bad[0], max(0, column))
        raise _fail(
            f"{bad[0]!r} is not allowed in a key",
            source,
            max(0, at),
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
            values.append(_count(function, int(value), source, start + value.start_pos, where))
        else:
            try:
                strftime_format(str(value)[1:-1])
            except ValueError as error:
                raise _fail(str(error), source, start + value.start_pos, where=where) from None
            values.append(str(value)[1:-1])
    return TRANSFORMS[function](*values)


def _count(function: str, number: int, source: str, column: int, where: str) -> int:
    low, high = (2, 10_000) if function == "hash" else (1, 40)
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


def decoder(parts: tuple[Part, ...]) -> re.Pattern[str]:
    """A pattern that takes a key apart; group ``i`` is the i-th variable part. Ambiguous if two parts touch."""
    pattern, index = "", 0
    for position, part in enumerate(parts):
        if isinstance(part, Literal):
            pattern += re.escape(part.text)
        else:
            last = position == len(parts) - 1
            pattern += f"(?P<g{index}>{'.*' if last else '.*?'})"
            index += 1
    return re.compile(pattern, re.DOTALL)
