"""What sets of writes weigh that are not written whole."""

from __future__ import annotations

SETS_LEAST, SETS_ALL = 8.0, 20.0
"""What broken sets weigh beside factors over a target: few of them, and all of them."""


def sets_weight(sets: float, sets_of: float) -> float:
    """The severity of so many broken sets."""
    return SETS_LEAST + (SETS_ALL - SETS_LEAST) * min(1.0, sets / sets_of)
