"""Two entities to which a template gives one key: where parts touch, and where parts keep less than their values.

What a part makes of a value is asked of the part itself: values of its type are written until two read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby, pairwise, product

from pkadvisor.design.keys.scheme import Key, encode
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Literal, Part, Value, part_properties
from pkadvisor.design.keys.transforms.canonical import canonical_text
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

_SECOND = 10_000_000
_MOMENT = 639_081_975_670_000_000
"""2026-03-04T05:06:07Z, in ticks."""
_SPANS_S = (366 * 86_400, 31 * 86_400, 86_400, 3_600, 60, 1)
_TOUCHING: dict[EdmType, tuple[Value, ...]] = {
    EdmType.STRING: ("ab", "a", "c", "bc", "1", "11"),
    EdmType.INT32: (1, 11),
    EdmType.INT64: (1, 11),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Merged:
    """Two entities with one text: the values in which they differ, as text, and that text."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    text: str


def merged_by_touching(parts: tuple[Part, ...], types: Mapping[str, EdmType]) -> tuple[Part, Part, Merged] | None:
    """Two parts with nothing between them, and values of both that give one text; None where there are none."""
    names = tuple(sorted((name, types[name]) for part in parts for name in part.properties if name in types))
    return _touching(parts, names)


@lru_cache(maxsize=1024)
def _touching(parts: tuple[Part, ...], types: tuple[tuple[str, EdmType], ...]) -> tuple[Part, Part, Merged] | None:
    known = dict(types)
    context = Context(known, separators(parts))
    for is_text, run in groupby(parts, lambda part: isinstance(part, Literal)):
        for left, right in () if is_text else pairwise(run):
            if len(left.properties) != 1 or len(right.properties) != 1 or left.properties == right.properties:
                continue
            (one,), (other,) = left.properties, right.properties
            seen: dict[str, tuple[Value, Value]] = {}
            if not (_readable(left, known) and _readable(right, known)):
                continue
            mine, theirs = (_TOUCHING.get(known.get(name, EdmType.STRING), ()) for name in (one, other))
            for first, second in product(mine, theirs):
                text = left.encode({one: first}, context) + right.encode({other: second}, context)
                before = seen.setdefault(text, (first, second))
                if before != (first, second):
                    return left, right, Merged(_texts(before), _texts((first, second)), text)
    return None


def merged_by_loss(key: Key, types: Mapping[str, EdmType]) -> tuple[str, Merged] | None:
    """A property of which the RowKey keeps too little to tell entities apart, and two of its values with one key.

    None where some part of the RowKey gives different values different texts, or where the application adds a number.
    Texts that differ in case alone do not count: that they share a key is what ``lower`` is for.
    """
    row = [part for part in key.row if not isinstance(part, Literal)]
    if not row or any(part.injective or not part.properties for part in row):
        return None
    names = tuple(sorted((name, types[name]) for name in key.properties if name in types))
    return _lost(key, part_properties(row), names)


@lru_cache(maxsize=1024)
def _lost(key: Key, names: tuple[str, ...], types: tuple[tuple[str, EdmType], ...]) -> tuple[str, Merged] | None:
    known = {n: p.reads[0] for p in (*key.partition, *key.row) if p.reads is not None for n in p.properties}
    known |= dict(types)
    if not all(_readable(part, known) for part in (*key.partition, *key.row)):
        return None
    base = {name: next(iter(_values(known.get(name, EdmType.STRING))), None) for name in key.properties}
    for name in names:
        seen: dict[tuple[str, str], Value] = {}
        for value in _values(known.get(name, EdmType.STRING)):
            shown = key.encode({**base, name: value}, known)
            first = seen.setdefault(shown, value)
            if first != value:
                one, other = (canonical_text(v, known.get(name, EdmType.STRING)) for v in (first, value))
                return name, Merged((one,), (other,), encode(key.row, {**base, name: value}, known))
    return None


def _readable(part: Part, types: Mapping[str, EdmType]) -> bool:
    """Whether a part can read the types of its properties: a design under review may say otherwise."""
    return part.reads is None or all(types.get(name, EdmType.STRING) in part.reads for name in part.properties)


def _texts(values: tuple[Value, ...]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


@lru_cache(maxsize=16)
def _values(edm: EdmType) -> tuple[Value, ...]:
    """Values of a type of which two read the same where a part keeps less than the value."""
    if edm is EdmType.DATETIME:
        return (_MOMENT, *(_MOMENT + span * _SECOND for span in _SPANS_S), _MOMENT + _SECOND // 2)
    if edm is EdmType.STRING:
        beginnings = [(3 * _LETTERS)[:count] for count in range(1, 3 * len(_LETTERS) + 1)]
        return (*(text + end for text in beginnings for end in "12"), *(f"u{number}" for number in range(1, 500)))
    if edm is EdmType.GUID:
        return tuple(f"00000000-0000-4000-8000-{number:012d}" for number in range(1, 500))
    return tuple(range(1, 500)) if edm.integer else ()
