"""A document made smaller, step by step, until its page fits; every cut is told, and none changes a number.

The page and the data in it are made of the same reduced document, so they agree.
"""

from __future__ import annotations

from typing import Any

TEXT_MOST = 4096
"""Characters of a text: no key is longer than 1 KiB, no filter than a few."""
LISTS = (500, 200, 100, 50, 20, 10, 5, 3)
"""Entries that are left of a list, step by step."""
WHOLE_TO = 200
"""Lists that are looked into by name stay whole up to here."""
LOOKED_INTO = ("limits.values", "terms")
TOLD = 12
"""Cut places that are told by name; of the others how many there are."""

Cuts = dict[str, str]
"""Place → what is left there."""


def shortened(document: Any, most: int) -> tuple[Any, Cuts]:
    """Lists of more than ``most`` entries without what follows, and texts that are too long for a key cut."""
    cuts: Cuts = {}

    def walk(value: Any, place: str) -> Any:
        if isinstance(value, str) and len(value) > TEXT_MOST:
            cuts.setdefault(place, f"texts cut to {TEXT_MOST:,} characters")
            return value[:TEXT_MOST] + " [cut]"
        if isinstance(value, dict):
            return {key[:TEXT_MOST]: walk(item, f"{place}.{key[:60]}".strip(".")) for key, item in value.items()}
        if isinstance(value, list):
            left = max(most, WHOLE_TO) if place.endswith(LOOKED_INTO) else most
            if len(value) > left:
                cuts[place] = f"at most {left:,} of {max(len(value), _told_before(cuts.get(place))):,} entries"
            return [walk(item, f"{place}[]") for item in value[:left]]
        return value

    return walk(document, ""), cuts


def _told_before(text: str | None) -> int:
    """The longest list at a place so far."""
    return int(text.split(" of ")[1].split(" ")[0].replace(",", "")) if text and " of " in text else 0


def sentences(cuts: Cuts) -> list[str]:
    """What was left out, one line for each place."""
    lines = [f"{place[:200]}: {what}" for place, what in cuts.items()]
    more = len(lines) - TOLD
    return lines[:TOLD] + ([f"and {more:,} more places"] if more > 0 else [])
