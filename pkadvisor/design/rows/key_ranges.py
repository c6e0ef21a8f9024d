"""What a range of keys says of properties, through the template that wrote the keys."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from pkadvisor.design.keys.keyreader import decode_folded, decode_periods, decode_prefix
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Part
from pkadvisor.design.keys.transforms.base import MISSING
from pkadvisor.design.keys.transforms.languages import exactly, fixed_length
from pkadvisor.table.edm import EdmType

LOW, HIGH = ".from", ".until"
"""Suffixes of the columns that hold a logged range's bounds."""
FOLDED = ".lower"
"""The suffix of a property of which a key tells the text in lower case alone."""
_ENDS_OF_TIME = (datetime.min.year, datetime.max.year)
"""Years of bounds below or above all times that anybody keeps: ``ge '0'`` of ticks is no bound."""
OPEN_END = "\uffff"
"""The upper bound of a RowKey where a filter has none."""


def decode_range(
    parts: tuple[Part, ...], low: str, high: str, types: Mapping[str, EdmType]
) -> dict[str, object] | None:
    """What keys from ``low`` to below ``high`` say of properties; None where no key of the template is among them.

    Whole parts in the common prefix are fixed, and the next part is bounded where its ends can be read.
    """
    start = low.removesuffix("\0")
    if start and len(start) == len(high) and start[:-1] == high[:-1] and ord(high[-1]) == ord(start[-1]) + 1:
        fixed = decode_prefix(parts, start, types)
        if fixed is not None:
            return _with_periods(parts, start, fixed[0], types)
    if not variable(parts):
        text = "".join(part.constant or "" for part in parts)
        return {} if low <= text < high else None
    shared = 0
    while shared < min(len(low), len(high)) and low[shared] == high[shared]:
        shared += 1
    for cut in range(shared, -1, -1):
        fixed = decode_prefix(parts, low[:cut], types) if cut else ({}, 0)
        if fixed is None:
            continue
        values, count = _with_periods(parts, low[:cut], fixed[0], types), fixed[1]
        varying = variable(parts)
        if count >= len(varying):
            return values
        part = varying[count]
        at = parts.index(part)
        before = (parts[at - 1].constant or "") if at else ""
        if not low[:cut].endswith(before):  # the ends lie before the part, and say nothing of it
            meets = low <= before + OPEN_END and before <= high
            return values if cut or meets else None
        name = part.properties[0] if part.properties else ""
        context = Context(dict(types), separators(parts))
        behind = parts[at + 1 :]
        first = _bound(part, low[cut:], context, behind, upper=False)
        last = _bound(part, high[cut:], context, behind, upper=True)
        if part.order(context) < 0:  # from the least key on means up to and with its value
            first, last = _following(last), _following(first)
        bounds = {name + LOW: first, name + HIGH: last}
        return {**values, **{n: v for n, v in bounds.items() if v is not None}}
    return None


def _with_periods(
    parts: tuple[Part, ...], prefix: str, values: Mapping[str, object], types: Mapping[str, EdmType]
) -> dict[str, object]:
    """What the beginning of a key says: the values in it, the bounds of the times of which it tells the period, and the
    texts of which it tells no case."""
    out = dict(values)
    for end in range(len(parts), 0, -1):
        for name, (first, last) in decode_periods(parts[:end], prefix, types).items():
            if name not in values:
                out |= {name + LOW: first, name + HIGH: last}
        if parts[end - 1].constant is not None:  # a text of no fixed width ends with what follows it
            out |= {n + FOLDED: v for n, v in decode_folded(parts[:end], prefix, types).items() if n not in values}
    return out


def _bound(part: Part, text: str, context: Context, behind: tuple[Part, ...], *, upper: bool) -> object:
    """The value that one end of a range means for the part where it lies; None where it is open or unreadable."""
    if text in ("", OPEN_END):
        return None
    length = _whole_length(part, text, context)
    if length is not None and (rest := text[length:]):
        upper = _beyond(rest, behind, upper=upper)
    try:
        value = part.first_value(text, context, upper=upper)
    except (ValueError, OverflowError):
        return None
    return None if isinstance(value, datetime) and value.year in _ENDS_OF_TIME else value


def _whole_length(part: Part, text: str, context: Context) -> int | None:
    """How many characters of a text are all of its first part; None where its end is not told by its width."""
    if shape := part.shape(context):
        match = re.match(f"(?:{shape})", text)
        return match.end() if match else None
    return fixed_length(tuple(runs for runs in part.texts(context) if (runs,) != exactly(MISSING)))


def _beyond(rest: str, behind: tuple[Part, ...], *, upper: bool) -> bool:
    """Whether an end of a range lies above the keys with the value of its part: all of them, or with ``upper`` some.

    ``rest`` is what the end has behind the text of the part, where the keys have the parts ``behind``.
    """
    following = behind[0].constant if behind else ""
    if following is None:
        return upper or rest >= OPEN_END
    return rest > following and (upper or not following or not rest.startswith(following))


def _following(value: object) -> object:
    """The least value above one: a range of values begins with its first and ends before its last."""
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    if isinstance(value, int):
        return value + 1
    return value + timedelta(microseconds=1) if isinstance(value, datetime) else value
