"""The one door to the Common Expression Language: conditions of rules over named and typed facts.

Names and types are checked when a rule is read. A fact that is not known is left out: an expression that hangs on it
has no value, and one that is decided without it has (``false && unknown`` is false).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from pkadvisor.values import dataclass

Value = bool | float | str | tuple[str, ...]


class FactType(StrEnum):
    """The types of facts; numbers are doubles."""

    BOOL = "bool"
    NUMBER = "number"
    TEXT = "text"
    TEXTS = "texts"


class ExpressionError(ValueError):
    """An expression that cannot be compiled: what is wrong, and at which character (from 0)."""

    def __init__(self, what: str, column: int) -> None:
        super().__init__(what)
        self.column = column


class _Program:
    """What an expression is compiled to, when it is first asked for."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def get(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression; ``names`` are the facts that it mentions, in order."""

    text: str
    names: tuple[str, ...]
    _program: _Program

    def value(self, facts: Mapping[str, Value]) -> bool | float | None:
        """What it is for these facts; None where it hangs on one that is missing. ExpressionError where it takes too
        many steps."""
        if any(fails(facts) for fails in _conditions(self.text)):
            return False
        try:
            result = self._program.get().eval(
                data={k: list(v) if isinstance(v, tuple) else v for k, v in facts.items()}
            )
        except RuntimeError as error:
            raise ExpressionError(_refused(str(error)), 0) from None
        value = result.value() if str(result.type().name()) in ("BOOL", "DOUBLE", "bool", "double") else None
        return value if isinstance(value, bool | float) else None


_CONDITION = re.compile(
    r"(!?)([a-z_]+\.[a-z_\d]+)"
    r"|([a-z_]+\.[a-z_\d]+) ([=!]=) '([^'\\]*)'"
    r"|([a-z_]+\.[a-z_\d]+) ([<>]=?) (\d+\.\d+)"
    r"|size\(([a-z_]+\.[a-z_\d]+)\) > 0"
)
"""A condition over one fact that is decided here: most rules fail by one, and CEL takes a while to compile."""
_COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@lru_cache(maxsize=1024)
def _conditions(text: str) -> tuple[Callable[[Mapping[str, Value]], bool], ...]:
    """Whether each of the conditions that an expression joins by ``&&`` certainly does not hold, of those over one
    fact; the whole is false then, whatever the others are."""
    pieces, depth, begin = list[str](), 0, 0
    for mark in re.finditer(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[(\[{]|[)\]}]|&&|\|\||[?]", text):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if depth == 0 and mark[0] in ("||", "?"):
            return ()
        if depth == 0 and mark[0] == "&&":
            pieces.append(text[begin : mark.start()])
            begin = mark.end()
    pieces.append(text[begin:])
    return tuple(_failing(match) for piece in pieces if (match := _CONDITION.fullmatch(piece.strip())))


def _failing(condition: re.Match[str]) -> Callable[[Mapping[str, Value]], bool]:
    """Whether a condition is known not to hold."""
    negated, truth, text, same, wanted, name, more, bound, texts = condition.groups()
    if truth:
        return lambda facts: facts.get(truth) is bool(negated)
    if texts:
        return lambda facts: facts.get(texts) == ()
    if text:
        return lambda facts: text in facts and (facts[text] == wanted) is not (same == "==")
    least, compared = float(bound), _COMPARED[more]
    return lambda facts: isinstance(value := facts.get(name), float) and not compared(value, least)


class Language:
    """Expressions over a set of facts; ``types`` are theirs by name."""

    def __init__(self, types: Mapping[str, FactType]) -> None:
        self.types = dict(types)

    @cached_property
    def _environment(self) -> Any:
        return _environment(tuple(sorted(self.types.items())))

    def trusted(self, text: str) -> Expression:
        """An expression that a test has compiled: it is compiled again only when it is first asked for."""
        return Expression(text, tuple(names_in(text, self.types)), _Program(lambda: self._environment.compile(text)))

    def compile(self, text: str, result: FactType) -> Expression:
        """ExpressionError where a name is unknown, types do not fit, or the result is of another type."""
        try:
            compiled = self._environment.compile(text)
        except RuntimeError as error:
            raise _explained(str(error), text) from None
        made = str(compiled.return_type().name()).upper()
        wanted = {FactType.BOOL: "BOOL", FactType.NUMBER: "DOUBLE"}[result]
        if made != wanted:
            what = {"BOOL": "true or false", "DOUBLE": "a number"}
            raise ExpressionError(f"makes {what.get(made, made.lower())}, not {what[wanted]}", 0)
        return Expression(text, tuple(names_in(text, self.types)), _Program(lambda: compiled))


@lru_cache(maxsize=64)
def _environment(types: tuple[tuple[str, FactType], ...]) -> Any:
    from cel_expr_python import cel

    made = {
        FactType.BOOL: cel.Type.BOOL,
        FactType.NUMBER: cel.Type.DOUBLE,
        FactType.TEXT: cel.Type.STRING,
        FactType.TEXTS: cel.Type.List(cel.Type.STRING),
    }
    return cel.NewEnv(variables={name: made[kind] for name, kind in types})


def names_in(text: str, known: Iterable[str]) -> list[str]:
    """The known names in an expression, outside of its texts, each once."""
    bare = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "''", text)
    words = re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", bare)
    names = set(known)
    out: dict[str, None] = {}
    for word in words:
        pieces = word.split(".")
        for end in range(len(pieces), 0, -1):  # a method may follow: table.name.startsWith('x')
            if ".".join(pieces[:end]) in names:
                out[".".join(pieces[:end])] = None
                break
    return list(out)


def _refused(message: str) -> str:
    """Why an expression gave no value at all."""
    if "Iteration budget" in message:
        return "takes too many steps: its macros (all, exists, map, filter) stand in one another, or its lists are long"
    return message.splitlines()[0].removesuffix(" [INTERNAL]").removeprefix("INTERNAL: ")


def _short(what: str) -> str:
    """A complaint about the syntax without the tokens that could stand there."""
    match = re.search(r"(?:mismatched|extraneous) input '(.*?)' expecting|no viable alternative at input '(.*)'$", what)
    match = match or re.search(r"token recognition error at: '(.*)'$", what)
    if match is not None:
        text = next((t for t in match.groups() if t is not None), "")
        text = text.removesuffix("<EOF>").strip()
        return f"unexpected '{text}'" if text else "unexpected end"
    what = what.replace("at '<EOF>'", "at the end")
    return re.sub(r"^Syntax error: ", "", what)


def _explained(message: str, text: str) -> ExpressionError:
    """CEL's complaint without its own picture of the line: ``<input>:LINE:COLUMN: what``."""
    place = re.search(r"<input>:(\d+):(\d+): (.*?)(?: \(in container ''\))?(?:\n|$)", message)
    if place is None:
        return ExpressionError(message.splitlines()[0], 0)
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[: int(place[1]) - 1])
    what = place[3].replace("undeclared reference to", "there is no fact")
    what = re.sub(r"found no matching overload for '_?(.+?)_?' applied to '\((.*)\)'", r"'\1' does not take (\2)", what)
    what = _short(what)
    column = before + int(place[2]) - 1
    if named := re.match(r"there is no fact '([^']+)'", what):
        start = text.rfind(named[1], 0, column + len(named[1]))  # CEL points at the last dot of a name
        column = start if start >= 0 else column
    return ExpressionError(what, column)
