"""Which extents may go: those that no stream holds, after a time of grace.

    referenced ──last stream lets go──► unreferenced since t ──grace passed──► collected
         ▲                                      │
         └────── a stream holds it again ───────┘

Streams share extents after a split (SOSP 2011, 4.1, 5.5): the directory counts how often an extent is held. The
grace is [H]: who was told a location a moment ago may still read it. A new manager begins the grace anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Graces:
    """Since when extents are unreferenced; times are those of the manager's own clock, in ns."""

    def __init__(self, grace_ns: int) -> None:
        self._grace_ns = grace_ns
        self._since: dict[int, int] = {}

    def due(self, unreferenced: Iterable[int], now_ns: int) -> list[int]:
        """The extents that may be collected now, in order, of those that no stream holds."""
        since = self._since
        self._since = {extent: since.get(extent, now_ns) for extent in unreferenced}
        return sorted(extent for extent, began in self._since.items() if now_ns - began >= self._grace_ns)


def strays(held: Iterable[int], belong: Collection[int], known_below: int) -> list[int]:
    """What a node holds although the manager does not want it there, in order.

    Numbers from ``known_below`` on were given out by a manager that knows more than this one: they stay.
    """
    return sorted(extent for extent in held if extent not in belong and extent < known_below)
