"""Ranges over a text whose first characters are part of a PartitionKey: where they lie.

The planner takes the beginning of a text for known only where the whole text is. A range between two texts that begin
alike lies in one partition all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.design.keys.conditions import Range
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Field, Literal, Part
from pkadvisor.table.odata import Parameter


def beginnings_known(scheme: KeyScheme, ranges: Mapping[str, Range]) -> KeyScheme:
    """The scheme with the beginnings of texts in its PartitionKeys as a range over such a text finds them.

    Where both bounds begin with the same characters, so does all between them; else the beginnings lie in a range.
    """

    def known(part: Part) -> Part:
        source = part.text_source.plain_property if part.text_source is not None else ""
        if part.first_characters is None or source not in ranges:
            return part
        text = shared_beginning(ranges[source], part.first_characters)
        return Literal(text) if text else Field(source)

    def changed(key: Key) -> Key:
        return Key(tuple(known(p) for p in key.partition), key.row)

    rows = tuple(replace(row, key=changed(row.key)) for row in scheme.index_rows)
    return replace(scheme, main=changed(scheme.main), index_rows=rows)


def shared_beginning(span: Range, count: int) -> str:
    """The first ``count`` characters of every text in a range of constants; empty where they may differ."""
    texts = [str(o.value) for o in (span.low, span.high) if o is not None and not isinstance(o, Parameter)]
    if len(texts) != 2 or len(texts[0]) < count:
        return ""
    low, high = texts[0][:count], texts[1]
    following = low[:-1] + chr(ord(low[-1]) + 1)
    return low if high[:count] == low or (high == following and not span.high_inclusive) else ""
