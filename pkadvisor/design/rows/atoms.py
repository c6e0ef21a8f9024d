"""Atoms: the groupings of rows that a part of a key can make."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import Atom, Part


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
    (part,) = parse_template(atom[1])
    return part


def atoms_of(parts: Iterable[Part]) -> tuple[Atom, ...]:
    """The distinct atoms of some parts, in order."""
    return tuple(dict.fromkeys(part.atom for part in parts if part.atom is not None))
