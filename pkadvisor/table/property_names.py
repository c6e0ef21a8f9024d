"""What a property may be called: as a C# identifier (ECMA-334, 6.4.3), which the Table service asks of names.

Such a name goes on with characters that Python's ``\\w`` does not know: combining marks, which many scripts cannot be
written without, joiners, and connecting punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_BEGINS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl"))
_MARKS = frozenset(("Mn", "Mc", "Cf", "Pc"))
_GOES_ON = _BEGINS | _MARKS | {"Nd"}
_PLANES = (range(0x80, 0x20000), range(0xE0000, 0xE1000))
"""Where Unicode has such marks: the planes between hold ideographs only."""

_ODD = re.compile(r"[^\w\x00-\x7f]")


def is_property_name(name: str) -> bool:
    """Whether a name follows the rules. How long it may be is not asked here."""
    if not name or not (name[0] == "_" or unicodedata.category(name[0]) in _BEGINS):
        return False
    return all(unicodedata.category(character) in _GOES_ON for character in name)


def as_property_name(name: str) -> str:
    """A name that follows the rules, with ``_`` for what no property name holds: ``Cost_Total`` for ``Cost Total $``.

    Dots stay, as in ``PM2.5`` and between the names of nested properties.
    """
    if is_property_name(name):
        return name
    spaced = "".join(c if c == "." or unicodedata.category(c) in _GOES_ON else " " for c in name)
    out = "_".join(spaced.split()) or "_"
    return out if is_property_name(out[0]) else f"_{out}"


def may_have_marks(text: str) -> bool:
    """Whether a text holds anything that is neither ASCII nor a letter or digit: else no mark is in it."""
    return not text.isascii() and _ODD.search(text) is not None


def with_marks(pattern: str) -> str:
    r"""A regular expression in whose character classes each ``\w`` stands for the marks, too.

    It is for texts that may have marks: to find them all takes some hundredths of a second, once.
    """
    return pattern.replace(r"\w", r"\w" + _marks())


@cache
def _marks() -> str:
    """The marks as ranges of a character class."""
    ranges: list[list[int]] = []
    for plane in _PLANES:
        for point in plane:
            if unicodedata.category(chr(point)) in _MARKS:
                if ranges and ranges[-1][1] == point - 1:
                    ranges[-1][1] = point
                else:
                    ranges.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
