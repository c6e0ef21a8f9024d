"""The columns that hold the values of pieces of keys, and the parts of a template that write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from pkadvisor.design.keys.infer.shapes import Shape, allowed, classify, clock_of_texts
from pkadvisor.design.keys.transforms import (
    MISSING,
    SHORT_TICKS_DIGITS,
    TICKS_DIGITS,
    Context,
    Field,
    HashPrefix,
    Lower,
    Md5Prefix,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReversePad,
    ReverseSortable,
    ReverseTicks,
    Sortable,
    Source,
    Ticks,
    Time,
    Value,
    canonical_text,
    unescape,
)
from pkadvisor.table.edm import TICKS_MAX, EdmType
from pkadvisor.values import dataclass

_NAME = re.compile(r"[^\W\d](?:[^(){},'\"]*[^(){},'\"\s])?")
_PROBE: Final = 20
_HEX = re.compile("[0-9a-f]+")
FEW: Final = 2
"""Different texts up to which they may be a part of a column's values by chance."""


@dataclass(frozen=True, slots=True)
class SampledColumn:
    """A column of the table: its type and the values of the rows at hand, times in ticks.

    ``as_keys_write``: its values with the other text that keys are known to hold in place of ``changed`` characters.
    """

    name: str
    edm: EdmType
    values: Sequence[Value]
    as_keys_write: Sequence[str | None] = ()
    changed: str = ""

    @property
    def usable(self) -> bool:
        """Whether a template can name it."""
        return _NAME.fullmatch(self.name) is not None


_LAST_CHANGE: Final = re.compile("(?i)updated|modified|changed|last")
"""Names of times that writes to an entity change."""


def candidate_parts(texts: Sequence[str], shape: Shape | None, column: SampledColumn) -> list[Part]:
    """The parts that could write the texts from the column."""
    name, width = column.name, min(map(len, texts))
    digits = 0 < width <= 38 and all(t.lstrip("-").isdigit() and t.isascii() for t in texts[:_PROBE])
    several = len(set(texts)) > FEW
    hex_digits = several and all(len(t) == width and _HEX.fullmatch(t) for t in texts[:_PROBE])
    in_hex: list[Part] = [Sortable(name), ReverseSortable(name)] if hex_digits and width in (8, 16) else []
    sources: list[Source] = [name, Lower(name)] if column.edm is EdmType.STRING else [name]
    made_by = [h for h in (HashPrefix, Md5Prefix) if hex_digits and width <= h.integers[1]]
    hashes: list[Part] = [h(source, width) for source in sources for h in made_by]
    if column.edm.integer:
        padded: list[Part] = [Pad(name, width), ReversePad(name, width)] if digits else []
        return [Field(name), *padded, *in_hex, *hashes, *([Reverse(name)] if digits and several else [])]
    if column.edm is EdmType.DATETIME:
        pattern = (shape or classify(texts)).pattern
        clock = clock_of_texts(name, texts) if several else None
        ticks: list[Part] = [Ticks(name, width)] if digits and width == SHORT_TICKS_DIGITS else []
        ticks += [Ticks(name), ReverseTicks(name)] if digits and width == TICKS_DIGITS else []
        # One period in all keys fits any time of it, and a key cannot follow the time of the last change.
        chance = len(set(texts)) == 1 and _LAST_CHANGE.search(name) is not None
        transforms: list[Part] = [Time(name, pattern)] if pattern and not chance else []
        return [
            *(Field(name), *ticks, *transforms, *in_hex[1:]),
            *([clock] if clock else []),
        ]
    if column.edm is not EdmType.STRING:
        return [Field(name), *(in_hex if column.edm is EdmType.DOUBLE else ()), *hashes]
    changed: list[Part] = [Lower(name), Prefix(name, max(map(len, texts))), Reverse(name)] if several else []
    return [Field(name), *([Pad(name, width)] if digits else ()), *hashes, *changed]


def _writer(part: Part, column: SampledColumn) -> Callable[[Value, str], bool]:
    """Whether a part writes a text from a value of the column."""
    if isinstance(part, Field):
        return lambda value, text: canonical_text(value, column.edm) == unescape(text)
    if isinstance(part, Ticks | ReverseTicks):
        # Columns hold microseconds, ticks are ten times finer.
        back = isinstance(part, ReverseTicks)

        def same(value: Value, text: str) -> bool:
            if not (len(text) == part.digits and text.isascii() and text.isdigit() and isinstance(value, int)):
                return False
            return (TICKS_MAX - int(text) if back else int(text)) // 10 == value // 10

        return same
    context = Context({column.name: column.edm})
    return lambda value, text: part.encode({column.name: value}, context) == text


def held_by(
    texts: Sequence[str | None], shape: Shape | None, columns: Sequence[SampledColumn]
) -> tuple[Part, SampledColumn, int] | None:
    """The part of a column that writes nearly all the texts, the column, and how many texts it does not write."""
    rows = [i for i, t in enumerate(texts) if t is not None]
    present = [t for t in texts if t is not None]
    if not present:
        return None
    one = len(set(present)) == 1
    if one and (len(present[0]) < 2 or (len(present[0]) < 4 and present[0].isdigit())):
        return None  # a column of one short number equals a constant by chance
    strays = allowed(len(rows))
    for column in sorted(columns, key=lambda c: c.edm is EdmType.DATETIME):  # a year is rather a number of its own
        for part in candidate_parts(present, shape, column):
            writes = _writer(part, column)
            wrong = 0
            for row, text in zip(rows, present, strict=True):
                value = column.values[row]
                same = text == MISSING if value is None else writes(value, text)
                # A copy in lower case is another property: no stray makes it the key's.
                wrong += 0 if same else strays + 1 if value == unescape(text).lower() else 1
                if wrong > strays:
                    break
            if wrong <= strays and (one or not wrong or _writes_several(writes, column, rows, present)):
                return part, column, wrong
    return None


def written_otherwise(
    texts: Sequence[str | None], columns: Sequence[SampledColumn]
) -> tuple[str, SampledColumn] | None:
    """The column whose values nearly all texts are, or hold, with other text in place of some characters, and which of
    both (``is``, ``holds``)."""
    strays = allowed(len(texts))
    for column in columns:
        pairs = [(t, w) for t, w in zip(texts, column.as_keys_write, strict=False) if t is not None and w]
        if len(pairs) < len(texts) - strays:
            continue
        if sum(text != written for text, written in pairs) <= strays:
            return "is", column
        if sum(written not in text for text, written in pairs) <= strays:
            return "holds", column
    return None


def _writes_several(
    writes: Callable[[Value, str], bool], column: SampledColumn, rows: Sequence[int], texts: Sequence[str]
) -> bool:
    """Whether a part writes several texts from a column: what differs from a constant is no stray of it."""
    values = (column.values[row] for row in rows)
    written = {text for value, text in zip(values, texts, strict=True) if value is not None and writes(value, text)}
    return len(written) > 1
