"""How often a time of coarse resolution gives two entities one key."""

from __future__ import annotations

import math
from collections.abc import Iterable

SLOT_S = {
    "year": 31_556_952.0,
    "month": 2_629_746.0,
    "week": 604_800.0,
    "day": 86_400.0,
    "hour": 3_600.0,
    "minute": 60.0,
    "second": 1.0,
}
"""Seconds of a period, by its unit; mean Gregorian years and months."""


def collisions_per_day(groups: Iterable[tuple[float, float]], slot_s: float) -> float:
    """Entities a day that find their key taken, where entities come independently of each other.

    ``groups`` are (how many, inserts a second of each): entities of different groups never share a key. Within a group
    the entities of a period of ``slot_s`` seconds do: with µ expected in a period, all but the first collide, which are
    µ - 1 + exp(-µ) (the birthday problem for arrivals at random).
    """
    return sum(many * _taken(rate * slot_s) for many, rate in groups) * 86_400.0 / slot_s


def _taken(mean: float) -> float:
    """Expected entities of a period beyond its first; ``mean`` are those expected in all."""
    if mean < 1e-4:  # the difference of nearly equal numbers
        return mean * mean / 2 - mean**3 / 6
    return mean + math.expm1(-mean)


def expected_in_data(counts: Iterable[tuple[float, float]], slots: float) -> float:
    """Entities at hand that would share a key by chance.

    ``counts`` are (how many groups, entities of each), spread over ``slots`` periods."""
    return sum(many * slots * _taken(entities / slots) for many, entities in counts) if slots > 0 else 0.0
