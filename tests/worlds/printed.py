"""Printed filters read back: comparisons on keys with their templates, and conditions with their parameters.

``PartitionKey eq '{event}' and RowKey ge 'AGE:{pad(age,3)}_' and city eq '{city}'`` is what the planner says that the
client sends. This reader takes it as the specification and makes the requests of one set of parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tests.worlds.key_text import Call, Part, Property, UnreadableError, parse
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, STRING, Row, Value, holds, shifted

KEYS = ("PartitionKey", "RowKey")
_FAN = re.compile(r"\{([0-9a-f]+)…([0-9a-f]+)\}")
_TOKEN = re.compile(
    r"\s*(?:(?P<paren>[()])|(?P<text>(?:datetime|guid|X)?'(?:[^']|'')*')|(?P<hole>\{[^{}]*\}L?)|(?P<word>[^\s()']+))"
)


@dataclass(frozen=True)
class Test:
    """``name operator operand``; the operand as printed."""

    name: str
    operator: str
    operand: str


@dataclass(frozen=True)
class Tree:
    """``and``, ``or`` or ``not`` of others."""

    operator: str
    operands: tuple[Test | Tree, ...]


@cache
def read_filter(text: str) -> tuple[Test | Tree, ...]:
    """The conjuncts of a printed filter."""
    if not text:
        return ()
    tokens = list(_TOKEN.finditer(text))
    words = [found[0].strip() for found in tokens]
    if "".join(words).replace(" ", "") != text.replace(" ", "") and sum(map(len, words)) < len(text.strip()) - len(
        words
    ):
        raise UnreadableError(f"cannot read {text!r}")
    tree, rest = _disjunction(words, 0)
    if rest != len(words):
        raise UnreadableError(f"{text!r} goes on after {words[:rest]}")
    return tree.operands if isinstance(tree, Tree) and tree.operator == "and" else (tree,)


def _disjunction(words: list[str], at: int) -> tuple[Test | Tree, int]:
    return _several(words, at, "or", lambda w, n: _several(w, n, "and", _single))


def _several(words: list[str], at: int, join: str, single: object) -> tuple[Test | Tree, int]:
    first, at = single(words, at)  # type: ignore[operator]
    out = [first]
    while at < len(words) and words[at] == join:
        more, at = single(words, at + 1)  # type: ignore[operator]
        out.append(more)
    return (out[0], at) if len(out) == 1 else (Tree(join, tuple(out)), at)


def _single(words: list[str], at: int) -> tuple[Test | Tree, int]:
    if words[at] == "not":
        inner, at = _disjunction(words, at + 2)
        return Tree("not", (inner,)), at + 1
    if words[at] == "(":
        inner, at = _disjunction(words, at + 1)
        return inner, at + 1
    return Test(words[at], words[at + 1], words[at + 2]), at + 3


@cache
def key_parts(operand: str) -> tuple[Part, ...]:
    """The parts of a comparison on a key; a fan-out over buckets is the call ``fan(first,last)``."""
    if not operand.startswith("'"):
        raise UnreadableError(f"a key is compared with {operand}")
    template = operand[1:-1].replace("''", "'")
    out: list[Part] = []
    at = 0
    for found in _FAN.finditer(template):
        out += parse(template[at : found.start()])
        out.append(Call("fan", (found[1], found[2])))
        at = found.end()
    return tuple(merged((*out, *parse(template[at:]))))


def merged(parts: Iterable[Part]) -> list[Part]:
    """Neighbouring texts as one."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        else:
            out.append(part)
    return out


def fan_numbers(call: Call) -> list[str]:
    """The buckets of a fan-out."""
    last = str(call.arguments[1])
    if last.isdecimal():
        return [f"{n:0{len(last)}d}" for n in range(int(last) + 1)]
    return [f"{n:0{len(last)}x}" for n in range(int(last, 16) + 1)]


@cache
def _operand(operand: str, edm: str) -> tuple[Property | None, Value | None]:
    """(the parameter, the constant) of a condition: one of them is None."""
    if operand.startswith("{"):
        found = parse(operand.removesuffix("L"))[0]
        assert isinstance(found, Property)
        return found, None
    if "'" in operand:
        inner = operand[operand.index("'") + 1 : -1].replace("''", "'")
        if (whole := re.fullmatch(r"\{([^{}]+)\}", inner)) is not None:
            found = parse(whole[0])[0]
            if isinstance(found, Property):
                return found, None
        if operand.startswith("'"):
            return None, inner.replace("{{", "{").replace("}}", "}") if "{{" in inner or "}}" in inner else inner
        return None, read_constant(inner, edm)
    return None, read_constant(operand.removesuffix("L"), edm)


def read_constant(text: str, edm: str) -> Value:
    """A constant by the type of the property that it is compared with."""
    from tests.worlds.values import EPOCH

    if edm == DATETIME:
        from datetime import UTC, datetime

        whole = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) - EPOCH
        fraction = int((text[20:-1] if text[19:20] == "." else "0").ljust(6, "0")[:6])
        return (whole.days * 86400 + whole.seconds) * 1_000_000 + fraction
    if edm == BINARY:
        return bytes.fromhex(text)
    if edm == BOOLEAN:
        return text == "true"
    if edm == DOUBLE:
        return float(text)
    return text.lower() if edm == GUID else text if edm == STRING else int(text)


def satisfied(tree: Test | Tree, row: Mapping[str, Value | None], asked: Row, types: Mapping[str, str]) -> bool:
    """Whether an entity satisfies a condition for the parameters ``asked``."""
    if isinstance(tree, Tree):
        found = (satisfied(o, row, asked, types) for o in tree.operands)
        if tree.operator == "and":
            return all(found)
        return any(found) if tree.operator == "or" else not next(found)
    edm = types[tree.name]
    return holds(row.get(tree.name), tree.operator, operand_value(tree.operand, edm, asked, types), edm)


def operand_value(operand: str, edm: str, asked: Row, types: Mapping[str, str]) -> Value:
    """The value of a printed operand for one set of parameters."""
    parameter, constant = _operand(operand, edm)
    if parameter is not None and parameter.name in types:
        value = asked[parameter.name]
        if value is None:
            raise UnreadableError(f"{parameter.name} has no value")
        return shifted(value, parameter.offset, edm)
    if parameter is not None:  # a text in braces, printed as it is
        return "{" + parameter.name + "}"
    assert constant is not None
    return constant
