"""From key text back to property values, through the templates that wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

from pkadvisor.design.keys.scheme import Key, variable
from pkadvisor.design.keys.template import decoder, pattern_of, separators
from pkadvisor.design.keys.transforms import MISSING, Context, Literal, Part, Time, TimeOfDay, unescape
from pkadvisor.design.keys.transforms.periods import tokens
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import polars_type
from pkadvisor.table.edm import KEYS, EdmType


def reads(parts: tuple[Part, ...], text: str) -> bool:
    """Whether the literal texts of a template stand in a key in their order."""
    return in_order(fixed_texts(parts), text)


@lru_cache(maxsize=256)
def fixed_texts(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """The literal texts before, between and behind the variable parts of a template; empty where there is none."""
    fixed = [""]
    for part in parts:
        if isinstance(part, Literal):
            fixed[-1] += part.text
        else:
            fixed.append("")
    return tuple(fixed)


def in_order(fixed: tuple[str, ...], text: str) -> bool:
    """Whether a key begins with the first text, ends with the last, and has the others between them in their order.

    Where it does not, a pattern would try every way to place the others: too long with hundreds of separators.
    """
    if len(fixed) == 1:
        return text == fixed[0]
    first, *between, last = fixed
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in between:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return at <= end


def pieces_of(parts: tuple[Part, ...], text: str, context: Context) -> list[tuple[Part, str]] | None:
    """The variable parts of a template with their texts in a whole key; None where the key does not fit."""
    match = decoder(parts, context).fullmatch(text) if reads(parts, text) else None
    return None if match is None else list(zip(variable(parts), match.groups(), strict=True))


def decode_key(parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]) -> dict[str, object] | None:
    """Property values behind a whole key string; None where the text does not fit the template.

    A period to the second stands for the time where no other part of the key says it more exactly.
    """
    context = Context(dict(types), separators(parts))
    pieces = pieces_of(parts, text, context)
    if pieces is None:
        return None
    values: dict[str, object] = {}
    periods: dict[str, object] = {}
    try:
        for part, shown in pieces:
            if isinstance(part, Time):  # a text that is no period is none of this template
                moment = part.decode(shown, context)
                if part.to_the_second:
                    periods[part.properties[0]] = moment
            elif isinstance(part, TimeOfDay) and shown != MISSING:
                part.clock_of(shown)  # nor is one that is no time of day
            elif part.decodes and len(part.properties) == 1:
                value = part.decode(shown, context)
                first = values.setdefault(part.properties[0], value)
                if first is not value and first != value:
                    return None
    except (ValueError, OverflowError):
        return None
    return periods | values


def decode_periods(
    parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]
) -> dict[str, tuple[datetime, datetime]]:
    """For each property of which a whole key tells a period, its first and its last moment; empty where none is told.

    The finest period counts where a key tells several.
    """
    context = Context(dict(types), separators(parts))
    out: dict[str, tuple[datetime, datetime]] = {}
    for part, shown in pieces_of(parts, text, context) or ():
        period = part.period
        if period is None:
            continue
        try:
            first = period.decode(shown, context)
            if isinstance(first, datetime):
                span = first, period.last_moment(first)
                known = out.get(period.property, span)
                out[period.property] = min(span, known, key=lambda s: s[1] - s[0])
        except (ValueError, OverflowError):
            continue
    return out


def folded_in(key: Key, types: Mapping[str, EdmType]) -> set[str]:
    """The String properties of which a key tells the text in lower case alone."""
    names = {part.properties[0] for part in (*key.partition, *key.row) if part.tells_folded}
    return {name for name in names if types.get(name, EdmType.STRING) is EdmType.STRING}


def decode_folded(parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]) -> dict[str, str | None]:
    """For each String property of which a whole key tells the text in lower case alone: that text."""
    context = Context(dict(types), separators(parts))
    told = [(part, shown) for part, shown in pieces_of(parts, text, context) or () if part.tells_folded]
    return {
        part.properties[0]: None if shown == MISSING else part.text_behind(unescape(shown))
        for part, shown in told
        if context.edm(part.properties[0]) is EdmType.STRING
    }


def decode_clocks(
    parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]
) -> dict[str, tuple[timedelta, timedelta]]:
    """For each property of which a whole key tells the time of day: the time since midnight, and how long it lasts.

    It lasts no time where it is told to the second. The finest counts where a key tells several.
    """
    out: dict[str, tuple[timedelta, timedelta]] = {}
    if not any(isinstance(part, TimeOfDay) for part in parts):
        return out
    for part, shown in pieces_of(parts, text, Context(dict(types), separators(parts))) or ():
        if isinstance(part, TimeOfDay) and shown != MISSING:
            told = part.clock_of(shown), part.lasts
            out[part.property] = min(told, out.get(part.property, told), key=lambda clock: clock[1])
    return out


def _ends_whole(parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]) -> bool:
    """Whether a text ends with all of its last part, and not with the beginning of one: a part of fixed width."""
    context = Context(dict(types), separators(parts))
    shape = parts[-1].shape(context)
    pieces = pieces_of(parts, text, context) if shape else None
    return pieces is not None and re.fullmatch(shape, pieces[-1][1]) is not None


def decode_prefix(
    parts: tuple[Part, ...], prefix: str, types: Mapping[str, EdmType]
) -> tuple[dict[str, object], int] | None:
    """(values, parts fixed) behind the beginning of a key; None where it does not end at the end of a part.

    A part of no fixed width ends with the text that follows it.
    """
    best: tuple[dict[str, object], int] | None = None
    count = 0
    for position, part in enumerate(parts):
        if isinstance(part, Literal):
            head = parts[: position + 1]
            values = decode_key(head, prefix, types) if prefix.endswith(part.text) else None
            if values is not None:
                best = (values, count)
        else:
            count += 1
            if part.decodes and _ends_whole(parts[: position + 1], prefix, types):
                values = decode_key(parts[: position + 1], prefix, types)
                if values is not None:
                    best = (values, count)
    return best


# -- Keys as columns: which rows a template wrote, and what the pieces of their keys say, over whole columns at a time.


_ANY = "(?:~-|~[0-9A-F]{4}|[^~])*?"
"""Any text as a template writes it, cut only between escapes; the least that fits."""


def _halves(key: Key) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    return key.partition, key.row


def key_pattern(parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> str:
    """A pattern, as polars reads them, of the keys that a template writes: group ``gi`` is the i-th variable part."""
    context = Context(dict(types), separators(parts))

    def piece(part: Part) -> str:
        shape = part.shape(context)
        return f"~-|{shape}" if shape else _ANY

    return rf"^(?s:{pattern_of(parts, piece)})$"


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
