"""Bands of the key order: neighbouring cold keys are one band, hot keys keep their own.

So a map of many keys fits on a page and its hot keys still have a row (the compact axis of TiDB's Key Visualizer).
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.lazy import Floats, Ints, np

PIECES_MAX = 4096
"""Keys that are joined pair by pair; of more, those that weigh little are taken together by weight first."""
PARTS = 1_000_000_000
"""Weights are compared as whole numbers of such parts of the total, so that no rounding of a sum decides."""


def merged_bands(weights: Sequence[int], most: int) -> list[int]:
    """Where to cut a line of bands into at most ``most`` rows: neighbours with the least weight are joined first."""
    edges = list(range(len(weights) + 1))
    if len(weights) <= most:
        return edges
    import heapq

    total = {i: int(w) for i, w in enumerate(weights)}
    after = {i: i + 1 for i in total}
    before = {i + 1: i for i in total}
    heap = [(total[i] + total[i + 1], i, i + 1) for i in range(len(weights) - 1)]
    heapq.heapify(heap)
    alive = set(total)
    while len(alive) > most:
        joined, left, right = heapq.heappop(heap)
        if left not in alive or right not in alive or after[left] != right or total[left] + total[right] != joined:
            continue
        alive.remove(right)
        total[left], after[left] = joined, after[right]
        before[after[left]] = left
        if after[left] in alive:
            heapq.heappush(heap, (joined + total[after[left]], left, after[left]))
        if left in before and before[left] in alive:
            heapq.heappush(heap, (total[before[left]] + joined, before[left], left))
    return [*sorted(alive), len(weights)]


def bands_of(weights: Floats, most: int) -> Ints:
    """Edges (positions) that cut keys, given in their order, into at most ``most`` bands.

    Weights are loads in any unit; keys without any still count a little, so that idle ones are shared out as well.
    """
    count = len(weights)
    if count <= most:
        return np.arange(count + 1, dtype=np.int64)
    total = float(weights.sum())
    shares = weights / total if total > 0 else np.zeros(count)
    whole = np.maximum(np.rint(shares * PARTS).astype(np.int64), PARTS // count // 16 + 1)
    pieces = _pieces(whole)
    joined = np.add.reduceat(whole, pieces[:-1])
    bands: Ints = pieces[np.array(merged_bands(joined.tolist(), most), dtype=np.int64)]
    return bands


def _pieces(weights: Ints) -> Ints:
    """Edges of at most ``PIECES_MAX`` pieces: a key with much weight is one, the others lie together by weight."""
    count = len(weights)
    if count <= PIECES_MAX:
        return np.arange(count + 1, dtype=np.int64)
    each = -(-int(weights.sum()) // (PIECES_MAX // 4))
    steps = (np.cumsum(weights) - weights) // each
    heavy = weights >= each
    cut = np.ones(count, dtype=bool)
    cut[1:] = (steps[1:] != steps[:-1]) | heavy[1:] | heavy[:-1]
    return np.append(np.flatnonzero(cut), count).astype(np.int64)
