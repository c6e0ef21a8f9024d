"""The heat map of a run: of each band of PartitionKeys and each column of time the load of the busiest one of them.

A target is that of one PartitionKey: the sum of a band would be over it where no key is. Pages over several
PartitionKeys count at each of them in proportion to the rows that they read there. Every way to run a load reckons its
map here, from the same integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pkadvisor.lazy import Ints, np
from pkadvisor.stress.simulate.wide_pages import Asked, Span


def heat_cells(
    parts: Iterable[tuple[int, Ints, Ints]],
    wide: Mapping[Span, Asked],
    rows: Ints,
    edges: Ints,
    step: int,
    columns: int,
) -> Ints:
    """Offered milli-entities by (column, band). ``parts``: second, ranks without repetition, what was offered to each;
    ``wide``: pages over several ranks; ``rows`` by rank; ``edges`` of the bands; ``step`` seconds in a column."""
    heat = np.zeros((columns, len(edges) - 1), np.int64)
    if not len(rows):
        return heat
    of_column: list[list[tuple[Ints, Ints]]] = [[] for _ in range(columns)]
    for second, ranks, offered in parts:
        of_column[second // step].append((ranks, offered))
    pages: list[dict[tuple[int, int], int]] = [{} for _ in range(columns)]
    for (second, low, high), asked in wide.items():
        spans = pages[second // step]
        spans[low, high] = spans.get((low, high), 0) + asked[0]
    below = np.concatenate([[0], np.cumsum(rows)])
    load = np.zeros(len(rows), np.int64)
    for column in range(columns):
        if not of_column[column] and not pages[column]:
            continue
        load[:] = 0
        for ranks, offered in of_column[column]:
            load[ranks] += offered
        for (low, high), whole in pages[column].items():
            load[low:high] += whole * rows[low:high] // max(1, int(below[high] - below[low]))
        heat[column] = np.maximum.reduceat(load, edges[:-1])
    return heat
