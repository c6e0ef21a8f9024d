"""Keys that a log names and an export lacks: made of the columns, as far as these make the very same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pkadvisor.design.keys.infer import KeyShape, infer_keys
from pkadvisor.design.keys.infer.names import Column, candidate_parts
from pkadvisor.design.keys.key_columns import key_pattern
from pkadvisor.design.keys.scheme import Key, key_expression
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.table.edm import KEYS

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.observe.profile.data_profile import DataProfile

PIECES: Final = 0.7
"""Share of the distinct texts at one place of the logged keys that a column makes: some entities are gone or new."""
MADE: Final = 0.5
"""Share of the logged keys that the data must make for the template to be believed."""
_DISTINCT_MIN: Final = 3


def key_over_columns(data: DataProfile, keys: pl.DataFrame) -> tuple[Key, int] | None:
    """The key that makes most of the logged keys out of columns, and how many; None where none makes half of them."""
    shapes = infer_keys(keys).kinds
    best: tuple[Key, int] | None = None
    for shape in shapes[:3]:
        key = _over_columns(shape, keys, data)
        if key is None:
            continue
        types = data.types
        made = data.sample.select(
            key_expression(key.partition, types).alias(KEYS[0]), key_expression(key.row, types).alias(KEYS[1])
        )
        count = keys.join(made.unique(), on=list(KEYS), how="semi").height
        if count >= MADE * keys.height and (best is None or count > best[1]):
            best = key, count
    return best


def _over_columns(shape: KeyShape, keys: pl.DataFrame, data: DataProfile) -> Key | None:
    """A shape with a column behind each of its variable parts; None where one has none."""
    halves: list[tuple[Part, ...]] = []
    types = dict(shape.types)
    for name, parts in zip(KEYS, (shape.key.partition, shape.key.row), strict=True):
        groups = keys.get_column(name).str.extract_groups(key_pattern(parts, types))
        texts = groups.struct.unnest() if any(part.constant is None for part in parts) else None
        out: list[Part] = []
        index = 0
        for part in parts:
            if part.constant is not None:
                out.append(part)
                continue
            assert texts is not None
            transform = _column_behind(texts.get_column(f"g{index}"), data, separators(parts))
            index += 1
            if transform is None:
                return None
            out.append(transform)
        halves.append(tuple(out))
    return Key(halves[0], halves[1])


def _column_behind(texts: pl.Series, data: DataProfile, between: str) -> Part | None:
    """The part of a column that makes most of some texts; None where none makes enough of them."""
    distinct = texts.drop_nulls().unique().sort()
    if distinct.len() < _DISTINCT_MIN:
        return None
    best: tuple[float, Part] | None = None
    context = Context(data.types, between)
    for property_profile in data.properties:
        column = Column(property_profile.column.name, property_profile.column.edm, ())
        if not column.usable or column.name in data.hashed or column.name not in data.sample.columns:
            continue
        for part in candidate_parts(distinct.to_list(), None, column):
            made = data.sample.select(part.expression(context)).to_series().unique()
            share = int(distinct.is_in(made.implode()).sum()) / distinct.len()
            if share >= PIECES and (best is None or share > best[0] + 1e-9):
                best = share, part
    return None if best is None else best[1]
