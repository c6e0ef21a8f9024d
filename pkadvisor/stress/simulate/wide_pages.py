"""What pages over several PartitionKeys come to at each of them, in proportion to the rows that they read there.

The hottest partition of a run is the PartitionKey of which most entities are asked, by requests that name it and by
such pages: both count toward the range that it lies in, which the service narrows to this one PartitionKey at the
least, and no further. Every way to run a load reckons it here, from the same integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pkadvisor.lazy import Ints, np

Span = tuple[int, int, int]
"""(second, rank at which pages begin, rank before which they end)."""
Asked = list[int]
"""[offered milli-entities, those of them that were answered 503, attempts, those that were answered 503]."""


class Hottest(NamedTuple):
    """The PartitionKey with most offered milli-entities (−1: none): by second what was offered and what of it was
    answered 503, attempts that load it and those that were answered 503."""

    rank: int
    milli: Ints
    throttled_milli: Ints
    attempts: int
    throttled: int


def hottest_rank(own: Ints, wide: Mapping[Span, Asked], rows: Ints) -> int:
    """The rank of which most is asked, the first of equal ones; −1 where nobody asks. ``own``: by requests that name
    it."""
    total = own
    if wide:
        # Integers are added up first, then in the order of the keys: the order in which pages came must not matter.
        offered: dict[tuple[int, int], int] = {}
        for (_, first, end), asked in wide.items():
            offered[first, end] = offered.get((first, end), 0) + asked[0]
        low, high, each = np.array([(*span, offered[span]) for span in sorted(offered)], dtype=np.int64).T
        sums = np.concatenate([[0], np.cumsum(rows)])
        per_row = each / np.maximum(1, sums[high] - sums[low])
        slopes = np.zeros(len(rows) + 1)
        np.add.at(slopes, low, per_row)
        np.subtract.at(slopes, high, per_row)
        total = own + np.rint(np.maximum(0.0, np.cumsum(slopes[:-1])) * rows).astype(np.int64)
    return int(total.argmax()) if total.any() else -1


def with_pages(hottest: Hottest, wide: Mapping[Span, Asked], rows: Ints) -> Hottest:
    """The same PartitionKey with its part of the pages that read it."""
    if hottest.rank < 0 or not wide:
        return hottest
    milli, throttled_milli = hottest.milli.copy(), hottest.throttled_milli.copy()
    attempts, throttled = hottest.attempts, hottest.throttled
    below = [0, *rows.cumsum().tolist()]
    mine = int(rows[hottest.rank])
    for (second, low, high), (offered, turned, tries, lost) in wide.items():
        if low <= hottest.rank < high and mine:
            whole = below[high] - below[low]
            milli[second] += offered * mine // whole
            throttled_milli[second] += turned * mine // whole
            attempts, throttled = attempts + tries, throttled + lost
    return Hottest(hottest.rank, milli, throttled_milli, attempts, throttled)
