"""Keys as columns: which rows a template wrote, and what the pieces of their keys say, over whole columns at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.design.keys.transforms.periods import tokens
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import polars_type
from pkadvisor.table.edm import KEYS, EdmType

_ANY = "(?:~-|~[0-9A-F]{4}|[^~])*?"
"""Any text as a template writes it, cut only between escapes; the least that fits."""


def _halves(key: Key) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    return key.partition, key.row


def key_pattern(parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> str:
    """A pattern, as polars reads them, of the keys that a template writes: group ``gi`` is the i-th variable part."""
    context = Context(dict(types), separators(parts))
    pattern, index = "", 0
    for part in parts:
        if part.constant is not None:
            pattern += re.escape(part.constant)
            continue
        shape = part.shape(context)
        pattern += f"(?P<g{index}>{f'~-|{shape}' if shape else _ANY})"
        index += 1
    return rf"^(?s:{pattern})$"


def fits(key: Key, types: Mapping[str, EdmType]) -> pl.Expr:
    """Whether a row's PartitionKey and RowKey look like those that a template writes."""
    partition, row = (pl.col(n).str.contains(key_pattern(p, types)) for n, p in zip(KEYS, _halves(key), strict=True))
    return (partition & row).fill_null(False)


def tellers(key: Key) -> dict[str, tuple[str, int, Part]]:
    """For each property that a key tells, the part that tells it best: its column, its group and the part itself.

    A period tells its first moment where nothing tells the time itself.
    """
    best: dict[str, tuple[int, str, int, Part]] = {}
    for column, parts in zip(KEYS, _halves(key), strict=True):
        variable = [part for part in parts if part.constant is None]
        for index, part in enumerate(variable):
            exact = 100 if part.decodes else len(tokens(part.period.format)) if part.period is not None else 0
            if len(part.properties) == 1 and exact > best.get(part.properties[0], (0,))[0]:
                best[part.properties[0]] = (exact, column, index, part)
    return {name: place[1:] for name, place in best.items()}


def with_key_parts(frame: pl.DataFrame, key: Key, names: Iterable[str], types: Mapping[str, EdmType]) -> pl.DataFrame:
    """The frame with a column for each of some properties that its keys tell; null where a key does not fit."""
    places = tellers(key)
    groups = {
        column: frame.get_column(column).str.extract_groups(key_pattern(parts, types)).struct.unnest()
        for column, parts in zip(KEYS, _halves(key), strict=True)
        if any(places[name][0] == column for name in names)
    }
    columns: list[pl.Series] = []
    for name in names:
        column, index, part = places[name]
        parts = key.partition if column == KEYS[0] else key.row
        context, dtype = Context(dict(types), separators(parts)), polars_type(types.get(name, EdmType.STRING))
        columns.append(part.decode_column(groups[column].get_column(f"g{index}"), context, dtype).alias(name))
    return frame.with_columns(columns)
