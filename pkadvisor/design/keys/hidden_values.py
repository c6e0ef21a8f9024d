"""What a reader of keys learns of their values, and templates over values of which a profile shows only tokens."""

from __future__ import annotations

from collections.abc import Mapping

from pkadvisor.design.keys.transforms import Field, Part
from pkadvisor.table.edm import EdmType

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
