"""Keys that a log names and an export lacks: made of the columns, as far as these make the very same keys."""

from __future__ import annotations

from itertools import islice, product
from typing import Final

from pkadvisor.design.keys.infer import KeyShape, infer_keys
from pkadvisor.design.keys.infer.names import SampledColumn, candidate_parts
from pkadvisor.design.keys.key_columns import key_pattern
from pkadvisor.design.keys.scheme import Key, key_expression
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Literal, Part
from pkadvisor.lazy import pl
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.table.edm import KEYS

PIECES: Final = 0.7
"""Share of the distinct texts at one place of the logged keys that a column makes: some entities are gone or new."""
MADE: Final = 0.5
"""Share of the logged keys that the data must make for the template to be believed."""
COLUMNS_TRIED: Final = 3
"""Columns that make the texts at one place, of which so many are tried."""
KEYS_TRIED: Final = 50
_DISTINCT_MIN: Final = 3


def key_over_columns(data: DataProfile, keys: pl.DataFrame) -> tuple[Key, int] | None:
    """The key that makes most of the logged keys out of columns, and how many; None where none makes half of them."""
    types = data.types
    best: tuple[Key, int] | None = None
    for shape in infer_keys(keys).kinds[:3]:
        halves = _halves(shape, keys, data)
        for partition, row in islice(product(*halves), KEYS_TRIED):
            made = data.sample.select(
                key_expression(partition, types).alias(KEYS[0]), key_expression(row, types).alias(KEYS[1])
            )
            count = keys.join(made.unique(), on=list(KEYS), how="semi").height
            if count >= MADE * keys.height and (best is None or count > best[1]):
                best = Key(partition, row), count
    return best


def _halves(shape: KeyShape, keys: pl.DataFrame, data: DataProfile) -> list[list[tuple[Part, ...]]]:
    """What the PartitionKey and the RowKey may be with a column behind each of their variable parts."""
    halves: list[list[tuple[Part, ...]]] = []
    types = dict(shape.types)
    for name, parts in zip(KEYS, (shape.key.partition, shape.key.row), strict=True):
        groups = keys.get_column(name).str.extract_groups(key_pattern(parts, types))
        variable = [part for part in parts if part.constant is None]
        texts = iter(groups.struct.unnest().get_columns() if variable else ())
        ways: list[tuple[Part, ...]] = [()]
        before = ""
        for part in parts:
            if part.constant is not None:
                before += part.constant
                continue
            group = next(texts)
            behind = [
                ((Literal(before[:cut]),) if cut else (), each)
                for cut in _cuts(before)
                for each in _columns_behind(before[cut:] + group, data, separators(parts))
            ]
            ways = [(*way, *fixed, each) for way in ways for fixed, each in behind][:KEYS_TRIED]
            before = ""
        halves.append([(*way, Literal(before)) if before else way for way in ways])
    return halves


def _cuts(before: str) -> list[int]:
    """Where the value of a column may begin in the fixed text before a part: behind all of it, or at a word or a digit
    that all of its values begin with (``C0031``, ``INV-007``)."""
    digits, word = (len(before.rstrip(characters)) for characters in ("0123456789", _WORD))
    return list(dict.fromkeys((len(before), digits, word, 0)))


_WORD: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _columns_behind(texts: pl.Series, data: DataProfile, between: str) -> list[Part]:
    """The part of each column that makes most of some texts, the best first; of those that make enough of them."""
    distinct = texts.drop_nulls().unique().sort()
    if distinct.len() < _DISTINCT_MIN:
        return []
    shares: list[tuple[float, Part]] = []
    context = Context(data.types, between)
    for property_profile in data.properties:
        column = SampledColumn(property_profile.column.name, property_profile.column.edm, ())
        if not column.usable or column.name in data.hashed or column.name not in data.sample.columns:
            continue
        parts = candidate_parts(distinct.to_list(), None, column)
        made = (data.sample.select(part.expression(context)).to_series().unique() for part in parts)
        of_each = [int(distinct.is_in(texts.implode()).sum()) / distinct.len() for texts in made]
        share, best = max(zip(of_each, parts, strict=True), key=lambda one: one[0], default=(0.0, None))
        if best is not None and share >= PIECES:
            shares.append((share, best))
    return [part for _, part in sorted(shares, key=lambda one: -one[0])[:COLUMNS_TRIED]]
