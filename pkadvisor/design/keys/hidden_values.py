"""Templates over values of which a profile shows only tokens."""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.design.keys.transforms import Field, Part
from pkadvisor.table.edm import EdmType


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
