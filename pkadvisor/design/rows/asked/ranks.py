"""Ranges that end or begin at an instance's own value: of its rank among the rows at hand follows that among all.

Whatever the values are, every rank is as likely as any other. Where r of n other rows at hand lie in the range, the
share of those of the table that do has the Beta distribution with r + 1 and n - r + 1. A law of group sizes is no help
here: it takes the first of each few rows for a value that hardly anything lies below.
"""

from __future__ import annotations

from pkadvisor.design.keys.conditions import Range
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.asked.matching_rows import counted, counted_between
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.table.odata import Parameter

POINTS = 64
"""Shares, evenly on a logarithmic scale, of which a mean is taken: within 1 % of the integral."""
FEW = 8.0
"""Rows in the range from which the mean of a quotient is that of its mean within a few per cent."""


def ranked(name: str, bound: Range, atoms: list[Atom], population: Population) -> bool:
    """Whether a range reaches from the instance's own value to one end of all values, of which random rows are at
    hand."""
    ends = [end for end in (bound.low, bound.high) if end is not None]
    if len(ends) != 1 or not isinstance(ends[0], Parameter) or not population.random_rows:
        return False
    return ends[0] == Parameter(name, ends[0].type) and not population.whole(atoms, ("p", name))


def by_rank(
    population: Population,
    atoms: list[Atom],
    keep: Bools | None,
    over: Atom,
    bounds: tuple[Floats, Floats],
    instances: Ints,
) -> Floats:
    """Rows among ``keep`` that agree with each instance on the atoms and lie on its side of its own value."""
    rows = population.rows
    kept = np.ones(rows, dtype=bool) if keep is None else keep
    ids, size = population.groups(atoms)
    hits, within = counted_between(population, ids, kept, over, bounds, instances)
    own = population.is_data[instances]
    own[own] = kept[instances[own]]
    itself = own & within
    others = np.bincount(ids[:rows][kept], minlength=size)[ids[instances]] - own
    group = (
        population.matching(atoms, instances)
        if keep is None
        else counted(population, atoms, keep, None, None, instances)
    )
    share = (hits - itself + 1) / (others + 2)
    return np.asarray(itself + share * np.maximum(group - own, 0), dtype=np.float64)


def mean_reached(wanted: Floats, inside: Floats, outside: Floats) -> Floats:
    """The mean of min(1, wanted ÷ share), of shares with ``inside`` and ``outside`` rows at hand in a range and not."""
    wanted = np.clip(wanted, 1e-12, 1.0)
    plain = np.minimum(1.0, wanted * (inside + outside + 1) / np.maximum(inside, 1e-9))
    few = np.flatnonzero((inside < FEW) & (wanted < 1))
    if not len(few):
        return np.asarray(plain)
    log = np.log(wanted[few] * 1e-3)[:, None] * (1 - (np.arange(POINTS) + 0.5) / POINTS)
    shares = np.exp(log)
    density = (inside[few, None] + 1) * log + outside[few, None] * np.log1p(-shares)
    weights = np.exp(density - density.max(axis=1, keepdims=True))
    reached = np.minimum(1.0, wanted[few, None] / shares)
    plain[few] = (weights * reached).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(plain)
