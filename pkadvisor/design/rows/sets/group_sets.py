"""The sets of entities that a declared transaction changes together, and the requests that they take."""

from __future__ import annotations

import math

from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Ints, np
from pkadvisor.observe.workload import Transaction


def set_counts(transaction: Transaction, population: Population) -> Ints:
    """Entities of each set: over every row where they were counted, else over those at hand; two of each pair."""
    if transaction.pair is not None:
        seen = transaction.pair.seen
        return np.full(1 if seen is None else max(1, seen.height), 2, dtype=np.int64)
    names = [p for p in transaction.group_by if population.has(p)]
    exact = population.exact(names)
    counts: Ints = population.counts([("p", p) for p in names]) if exact is None else exact.sizes
    return counts[counts > 0]


def group_sizes(transaction: Transaction, population: Population, most: int) -> tuple[float, int, int]:
    """(mean entities, groups of more than ``most``, groups) of the sets that a transaction changes together."""
    counts = set_counts(transaction, population)
    if not len(counts):
        return 1.0, 0, 0
    return float(counts.mean()), int(np.count_nonzero(counts > most)), len(counts)


def requests_each(transaction: Transaction, population: Population, most: int) -> float:
    """Group transactions for each entity of its set, where one takes ``most`` entities: a larger set takes several.

    Logs and declared requests tell the mean size of a set alone; all are taken to have it.
    """
    if (mean := transaction.entities) is not None:
        return math.ceil(mean / most) / mean if mean > 1 else 1.0
    counts = set_counts(transaction, population)
    return float(np.ceil(counts / most).sum() / counts.sum()) if len(counts) else 1.0


def requests_each_row(transaction: Transaction, population: Population, there: Bools | None, most: int) -> float:
    """Group transactions for each entity of its set that write an index row which some entities do not have.

    ``there``: which rows have it, None where all have; a set without one takes no request.
    """
    if there is None or transaction.entities is not None:
        share = 1.0 if there is None else float(there[: population.rows].mean())
        return share * requests_each(transaction, population, most)
    if transaction.pair is not None:  # which entities have the row is independent of which of them meet: assumed
        share = float(there[: population.rows].mean())
        return share * (1 - share / 2) if most > 1 else share
    ids, size = population.groups(("p", p) for p in transaction.group_by if population.has(p))
    counts = np.bincount(ids[: population.rows], weights=there[: population.rows], minlength=size)
    return float(np.ceil(counts / most).sum() / max(1, population.rows))
