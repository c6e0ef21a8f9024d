"""Key texts of the rows at hand, where a profile may hide values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.design.keys.scheme import key_expression
from pkadvisor.design.keys.transforms import Field, Part
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.design.rows.population import Population


def key_texts(*keys: tuple[Part, ...], population: Population) -> pl.DataFrame:
    """The texts of several templates over the rows at hand, in columns ``0``, ``1`` and so on.

    A hidden value is a text whatever its type: its token stands in the key, also where a function of numbers or times
    would read the value. Texts are then equal where the true ones are; their order is that of the tokens.
    """
    types = types_shown(population)
    frame = population.data.with_row_index("#seq")
    shown = [over_tokens(parts, population) for parts in keys]
    return frame.select(key_expression(parts, types).alias(str(n)) for n, parts in enumerate(shown))


def types_shown(population: Population) -> dict[str, EdmType]:
    """The types of the values at hand: a token is a text."""
    hidden = population.hashed
    return {name: EdmType.STRING if name in hidden else edm for name, edm in population.types.items()}


def over_tokens(parts: tuple[Part, ...], population: Population) -> tuple[Part, ...]:
    """A template that reads tokens in place of the values that are hidden."""
    return tuple(_over_tokens(part, population.hashed) for part in parts)


def _over_tokens(part: Part, hidden: frozenset[str]) -> Part:
    """The part, or the plain property where it reads no text and the property is hidden."""
    if part.reads is None or EdmType.STRING in part.reads or not hidden & {*part.properties}:
        return part
    (name,) = part.properties
    return Field(name)
