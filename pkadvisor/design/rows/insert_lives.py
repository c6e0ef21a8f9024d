"""When inserts fall on what: each partition takes them from its first row to its last, and only then.

Counting the inserts of every moment would draw the chance of a sample. A partition's share is therefore estimated once,
from the first and the last of its rows in the order of arrival, and holds in between.
"""

from __future__ import annotations

from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.values import dataclass

TRIMMED = 0.05
"""Share of a group's rows that may come late or early on either side without making its time longer."""
WHOLE = 0.9
"""Share of the time from which on a group is taken to be there all the time."""
SHORT = 0.5
"""… and the share below which it is one of those that come and go."""


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """For each group: its share of the inserts while it takes any, and from which place in their order to which.

    ``share`` is of one; ``first`` and ``last`` are places in the order of arrival, from 0 to rows - 1. ``brief``:
    groups that come and go.
    """

    share: Floats
    first: Floats
    last: Floats
    brief: Bools


def lives_of(ids: Ints, size: int, places: Ints, weights: Floats, rows: int) -> Lives:
    """The lives of groups from their rows: ``places`` among the ``rows`` of the order of arrival, ``weights`` as shares
    of all inserts.

    With k gaps between a group's rows over s places, (k - 1) ÷ s is its share, without bias where its rows are spread
    at random. A group with fewer than three rows shows no time: it has its mean share all the time, and counts as one
    that comes and goes.
    """
    counts = np.bincount(ids, minlength=size)
    mass = np.bincount(ids, weights=weights, minlength=size)
    order = np.argsort(ids * rows + places)
    sorted_places = places[order].astype(np.float64)
    starts = np.cumsum(counts) - counts
    trimmed = (counts * TRIMMED).astype(np.int64)
    ends = max(0, len(ids) - 1)
    low = np.minimum(starts + trimmed, ends)
    high = np.clip(starts + counts - 1 - trimmed, low, ends)
    gaps, first, last = high - low, sorted_places[low], sorted_places[high]
    shown = (counts >= 3) & (last > first)
    density = np.where(shown, (gaps - 1) / np.where(shown, last - first, 1.0), counts / max(1, rows))
    density = np.clip(density, counts / max(1, rows), 1.0)
    length = counts / np.maximum(density, 1e-300)
    whole = ~shown | (length >= WHOLE * rows)
    # Groups that are drawn more often than they have rows take more, over the same time.
    share = np.where(whole, mass, density * mass * rows / np.maximum(counts, 1))
    beside = (trimmed + 0.5) / np.maximum(density, 1e-300)
    return Lives(
        share=np.minimum(share, 1.0),
        first=np.where(whole, 0.0, np.maximum(first - beside, 0.0)),
        last=np.where(whole, rows - 1.0, np.minimum(last + beside, rows - 1.0)),
        brief=(counts > 0) & (~shown | (length < SHORT * rows)),
    )
