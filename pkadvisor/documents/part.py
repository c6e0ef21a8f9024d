"""What the parts of all documents share: closed objects, and numbers with their bounds."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

Number = int | float
"""A whole number is written without a point, so both are told apart."""
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]
Words = Annotated[str, Meta(min_length=1)]


class Part(Struct, frozen=True):
    """An object of a document. It has the members of its fields; what a later minor version adds is passed over.

    The docstring of a part tells of its members too, each in a paragraph that begins with its name as in
    ``documents/keys.py``: ``schema.py`` writes them into the JSON Schema.
    """


PartT = TypeVar("PartT", bound=Part)


class Tool(Part, frozen=True, kw_only=True):
    """The program that wrote a document."""

    name: Literal["pkadvisor"]
    version: Annotated[str, Meta(description="Version of the program that wrote the document.")]


def number(value: float | None) -> Any:
    """A number at six significant digits, whole where it can be; None for an infinite one and for None, which only some
    members may be: their types say so."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def word(value: str | None) -> Any:
    """A word out of those that a document may hold, or None; its type lists them."""
    return None if value is None else str(value)


def part_of(kind: type[PartT], source: object, /, **members: Any) -> PartT:
    """A part of a document: the ``members`` that are given, and what ``source`` has under the names of the others."""
    taken = (name for name in kind.__struct_fields__ if name not in members and hasattr(source, name))
    return kind(**{name: _plain(getattr(source, name)) for name in taken}, **members)


def _plain(value: Any) -> Any:
    """A value as a document holds it: fractions at six significant digits, texts without their enum, lists."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, str) else value


def said(description: str) -> Meta:
    """What a type holds, for readers of the schema; of a member its object's docstring tells."""
    return Meta(description=description)


# -- Words and bounds that decide which note of a document its first page shows: they are written and looked for alike.


MOVES = "moves entities to another partition by a delete and an insert"
"""How the note of a write begins that changes the PartitionKey."""
OTHER_ESCAPES = " finds nothing: the letters of %-escapes are in another case"
"""Behind what a query asks of a property, where one client writes ``%2f`` for ``%2F``."""
OTHER_CASE = " is in the data in another case only: if they mean the same, a key over "
"""Behind what a query asks of a property; before the part of key that finds every spelling."""
NAMES_NO_ROW_KEY = "' names no RowKey in "
"""What stands behind the name of a query in the warning that its logged requests read whole partitions."""
HOTTER_KEY = "a hotter key may be missing from the sample"
"""The doubt in a confidence where only some keys were drawn."""
TOO_MANY = "' holds at most "
"""What stands between the name of a transaction and the number of entities that it may write."""
RATES_APART = 10.0
"""From this factor on a declared rate of inserts contradicts the data. What a log inserts in its hours is no rate of
the years that the data holds."""
REFUSED_BURST = "refused-burst"
"""Code of the remark on a partition whose busiest second is over its target, where the log shows refused bursts."""
