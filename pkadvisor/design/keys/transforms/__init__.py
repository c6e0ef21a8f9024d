"""Key transforms: the closed set of functions from properties to a piece of key text.

Every transform encodes one value to text and offers the same encoding as a polars expression. What each promises:

| transform | text | injective | order-preserving |
| --- | --- | --- | --- |
| ``{p}`` | canonical text, escaped | yes | strings without escapes, DateTime, Guid; not numbers |
| ``{pad(p,n)}`` | zero-padded integer of n digits | whole numbers | within n digits, also below zero |
| ``{reverse_pad(p,n)}`` | 10^n - 1 - p, zero-padded | whole numbers | descending within n digits |
| ``{sortable(p)}`` | 8 or 16 hex digits of a number | yes | yes, Int32, Int64 and Double whole |
| ``{reverse_sortable(p)}`` | the same counted down, DateTime too | yes | falling, whole |
| ``{time(p,'yyyyMMdd')}`` | UTC period | no | yes, where the format runs from the year down |
| ``{time_of_day(p,'HHmm')}`` | UTC time of day | no | within a day |
| ``{time_of_day(p,3)}`` | UTC time of day, ``HHmmss`` and so many digits of the second | no | within a day |
| ``{ticks(p)}`` | 19 digits of 100 ns since year 1 | yes | yes |
| ``{ticks(p,18)}`` | the same without leading zero, as .NET writes it | yes | up to the year 3168 |
| ``{reverse_ticks(p)}`` | 19 digits counting down from year 9999 | yes | descending |
| ``{hash(s,n)}`` | bucket 0…n-1, zero-padded | no | no |
| ``{hash_prefix(s,n)}`` | n hex digits of the hash | no | no |
| ``{md5_prefix(s,n)}`` | n hex digits of MD5 | no | no |
| ``{lower(s)}`` | A-Z in lower case | no | no |
| ``{prefix(s,n)}`` | the first n characters | no | as the text |
| ``{reverse(s)}`` | the characters, last first | yes | no |
| ``{each(p)}``, ``{each(p,';')}`` | one value of several, a row each | per value | as the text |
| ``{seq(n)}`` | a number the application assigns among equal keys | with its key | no |

``s`` is a property or a function of text, such as ``lower(email)`` or ``concat(tenant,'_',device)``.
A whole key is injective where its variable parts are, where literal text stands between them, and where that text has
no ``~`` (which would read as an escape).
"""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.transforms.base import (
    MISSING,
    Atom,
    Context,
    Escaped,
    HashPart,
    ListPart,
    PeriodPart,
    Transform,
    Value,
)
from pkadvisor.design.keys.transforms.canonical import canonical_text
from pkadvisor.design.keys.transforms.escapes import ESCAPED, FORBIDDEN, RANGE_END, escape, escape_expression, unescape
from pkadvisor.design.keys.transforms.hashes import Hash, Hashed, HashPrefix, Md5Prefix, bucket, bucket_number
from pkadvisor.design.keys.transforms.lists import Each
from pkadvisor.design.keys.transforms.numbers import Pad, ReversePad, ReverseSortable, Sequence, Sortable
from pkadvisor.design.keys.transforms.periods import TIME_UNITS, check_pattern, time_unit
from pkadvisor.design.keys.transforms.texts import Concat, Field, Literal, Lower, Prefix, Reverse, Source
from pkadvisor.design.keys.transforms.times import (
    SHORT_TICKS_DIGITS,
    TICKS_DIGITS,
    ReverseTicks,
    Ticks,
    Time,
    TimeOfDay,
    clock_tokens,
)
from pkadvisor.table.edm import EdmType

Part = Transform
"""A part of a key: fixed text, a property, or a function of the template language."""

FUNCTIONS: tuple[type[Part], ...] = (
    Pad,
    ReversePad,
    Sortable,
    ReverseSortable,
    Time,
    TimeOfDay,
    Ticks,
    ReverseTicks,
    Hash,
    HashPrefix,
    Md5Prefix,
    Lower,
    Prefix,
    Reverse,
    Concat,
    Each,
    Sequence,
)
"""The functions of the template language; a bare property is ``Field``, text between braces ``Literal``."""

TRANSFORMS: dict[str, type[Part]] = {part.function: part for part in FUNCTIONS}
"""By the name that a template uses."""


def part_properties(parts: Iterable[Part]) -> tuple[str, ...]:
    """The properties that parts are made of, each once, in their order."""
    return tuple(dict.fromkeys(name for part in parts for name in part.properties))


__all__ = [
    "ESCAPED",
    "FORBIDDEN",
    "MISSING",
    "RANGE_END",
    "SHORT_TICKS_DIGITS",
    "TICKS_DIGITS",
    "TIME_UNITS",
    "TRANSFORMS",
    "Atom",
    "Concat",
    "Context",
    "Each",
    "EdmType",
    "Escaped",
    "Field",
    "Hash",
    "HashPart",
    "HashPrefix",
    "Hashed",
    "ListPart",
    "Literal",
    "Lower",
    "Md5Prefix",
    "Pad",
    "Part",
    "PeriodPart",
    "Prefix",
    "Reverse",
    "ReversePad",
    "ReverseSortable",
    "ReverseTicks",
    "Sequence",
    "Sortable",
    "Source",
    "Ticks",
    "Time",
    "TimeOfDay",
    "Value",
    "bucket",
    "bucket_number",
    "canonical_text",
    "check_pattern",
    "clock_tokens",
    "escape",
    "escape_expression",
    "part_properties",
    "time_unit",
    "unescape",
]
