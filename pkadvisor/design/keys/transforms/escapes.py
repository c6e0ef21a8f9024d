"""Characters that a key cannot hold, written as escapes and read back."""

from __future__ import annotations

import re

from pkadvisor.lazy import pl

FORBIDDEN = frozenset("/\\#?") | {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0))}
RANGE_END = "\uffff"
"""Ends a range of keys with a common beginning; escaped inside values, so that no key reaches it."""
ESCAPED = FORBIDDEN | {"~", RANGE_END}
"""What a text never holds as it is in a key, whatever the separators."""


def escape(text: str, separators: str = "") -> str:
    """The text with forbidden characters, ``~`` and the separators' characters escaped."""
    special = ESCAPED | set(separators)
    if special.isdisjoint(text):
        return text
    return "".join(_escaped(c) if c in special else c for c in text)


def _escaped(character: str) -> str:
    """``~`` and four hex digits for each UTF-16 code unit of a character: one, or two beyond U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"~{units[i : i + 4]}" for i in range(0, len(units), 4))


def unescape(text: str) -> str:
    """The inverse of ``escape``; a ``~`` that begins no escape stays as it is."""

    def characters(match: re.Match[str]) -> str:
        units = bytes.fromhex(match.group().replace("~", ""))
        return units.decode("utf-16-be", "surrogatepass")

    return re.sub(r"(?:~[0-9A-F]{4})+", characters, text)


def escape_expression(expression: pl.Expr, separators: str = "") -> pl.Expr:
    """``escape`` over a String expression."""
    special = sorted(ESCAPED | set(separators))
    escapes = [_escaped(c) for c in special]

    def escaped(texts: pl.Series) -> pl.Series:
        # Most columns hold nothing special, and looking is several times cheaper than replacing.
        if not texts.str.contains_any(special).any():
            return texts
        return texts.to_frame("t").select(pl.col("t").str.replace_many(special, escapes)).to_series()

    return expression.map_batches(escaped, return_dtype=pl.String, is_elementwise=True)
