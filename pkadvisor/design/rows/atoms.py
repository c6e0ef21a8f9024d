"""Atoms: the groupings of rows that a part of a key can make."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pkadvisor.design.keys.transforms import (
    Hash,
    Hashed,
    Literal,
    Part,
    Reverse,
    TextOf,
    Time,
    Unary,
    time_unit,
)
from pkadvisor.design.keys.transforms import Sequence as SequencePart

if TYPE_CHECKING:
    from collections.abc import Iterable


Atom = tuple[str, ...]
"""('p', property) · ('t', property, unit) · ('h', property, n) · ('f', text of another function of properties) ·
('m', number of a constant condition) · ('s',) a sequence."""


def atom_of(part: Part) -> Atom | None:
    """The grouping that a key part makes; None for literal text."""
    if isinstance(part, Literal):
        return None
    if isinstance(part, SequencePart):
        return ("s",)
    if isinstance(part, Time):
        return ("t", part.property, time_unit(part.format))
    if isinstance(part, Hash) and isinstance(part.source, str):
        return ("h", part.source, str(part.count))
    if isinstance(part, Hashed | TextOf):
        if isinstance(part, Reverse) and isinstance(part.source, str):
            return ("p", part.source)  # equal texts have equal reverses
        return ("f", str(part))
    assert isinstance(part, Unary)
    return ("p", part.property)


def atom_properties(atom: Atom) -> tuple[str, ...]:
    """The properties behind an atom."""
    if atom[0] in ("p", "t", "h"):
        return (atom[1],)
    if atom[0] == "f":
        return function_of(atom).properties
    return ()


@lru_cache(maxsize=1024)
def function_of(atom: Atom) -> Part:
    """The part behind the text of an atom."""
    from pkadvisor.design.keys.template import parse_template

    (part,) = parse_template(atom[1])
    return part


def atoms_of(parts: Iterable[Part]) -> tuple[Atom, ...]:
    """The distinct atoms of some parts, in order."""
    return tuple(dict.fromkeys(a for a in map(atom_of, parts) if a is not None))
