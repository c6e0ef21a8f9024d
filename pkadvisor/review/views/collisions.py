"""How often a time gives two entities one key."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.rows.instants import taken

GROUPS_MOST = 1_000_000.0
"""Values among which a rate is taken to be spread where nobody says how many there are: assumed, and many."""
CERTAIN = 2.0
"""Entities of a group in one period, on average, from which no regularity keeps them apart."""


def collisions_per_day(groups: Iterable[tuple[float, float]], slot_s: float) -> float:
    """Entities a day that find their key taken, where entities come independently of each other.

    ``groups`` are (how many, inserts a second of each): entities of different groups never share a key. Within a group
    the entities of a period of ``slot_s`` seconds do: with µ expected in a period, all but the first collide, which are
    µ - 1 + exp(-µ) (the birthday problem for arrivals at random).
    """
    return sum(many * taken(rate * slot_s) for many, rate in groups) * 86_400.0 / slot_s
