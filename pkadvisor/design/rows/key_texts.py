"""Key texts of the rows at hand, where a profile may hide values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.design.keys.hidden_values import over_tokens, types_shown
from pkadvisor.design.keys.scheme import key_expression

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.design.keys.transforms import Part
    from pkadvisor.design.rows.population import Population


def key_texts(*keys: tuple[Part, ...], population: Population) -> pl.DataFrame:
    """The texts of several templates over the rows at hand, in columns ``0``, ``1`` and so on.

    A hidden value is a text whatever its type: its token stands in the key, also where a function of numbers or times
    would read the value. Texts are then equal where the true ones are; their order is that of the tokens.
    """
    types = types_shown(population.types, population.hashed)
    frame = population.data.with_row_index("#seq")
    shown = [over_tokens(parts, population.hashed) for parts in keys]
    return frame.select(key_expression(parts, types).alias(str(n)) for n, parts in enumerate(shown))
