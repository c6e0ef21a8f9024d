"""How many groups a table has, and what is left of one's share, where all rows of some keys were drawn.

A group that is coarser than the drawn keys (a country of drawn users), or lies across them (a product that many drawn
users bought), is at hand with the rows of the drawn keys alone. What chance drew are keys (a cluster sample), so that
the number of keys in which a group occurs, its *span*, tells how much of it is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.samples.group_sizes import Law, others_in_table
from pkadvisor.lazy import Bools, Floats, Ints, np, special


class DrawnRows(Protocol):
    """What is asked here of the rows at hand (see ``Population``)."""

    rows: int
    total: int
    drawn_from: int
    hashed: frozenset[str]
    sampled_by: tuple[Atom, ...]
    is_data: Bools
    law: Law

    def has(self, name: str) -> bool: ...

    def coded(self, name: str) -> Any: ...

    def groups(self, atoms: Iterable[Atom]) -> tuple[Ints, int]: ...

    def distinct(self, atoms: Iterable[Atom]) -> int: ...


RATES = 40
"""Rates of a mixture beside the spans themselves."""
FEW = 30
"""Rows of other keys up to which a group is taken at the mean of others like it: of more, a fifth is luck."""
STEPS = 500
"""Steps by which the mixture's weights are found: later ones change no figure that is printed."""


def groups_of_table(population: DrawnRows, atoms: tuple[Atom, ...]) -> float:
    """Groups in the whole table: the first-order jackknife over spans, no more than the values that there can be.

    A share q of the keys that shows d groups, f of them in a single key, with n spans in all, is of
    d / (1 - (1 - q) f / n) groups (Haas, Naughton, Seshadri and Stokes 1995), over groups of span 1 and 2: many spans
    of a few groups say nothing of the rare ones (Chao and Lee 1992). Values of several properties make no more groups
    than the product of their numbers.
    """
    estimate = _jackknife(population, atoms)
    most = 1.0
    for atom in atoms:
        most *= min(_jackknife(population, (atom,)) if len(atoms) > 1 else estimate, _values_most(population, atom))
    return max(float(population.distinct(atoms)), min(estimate, most))


def shares_kept(population: DrawnRows, atoms: tuple[Atom, ...]) -> Floats:
    """For each group, what part of its share of the drawn keys' load it has in the whole table.

    Spans vary by chance and because groups differ. How groups differ is estimated from all spans, those of the groups
    that are not at hand among them: a mixture of Poisson rates of greatest likelihood (Kiefer and Wolfowitz 1956). Each
    group keeps the mean rate of what has its span (Robbins 1956). Where each occurs in one key, this is one group of
    all; a group that many keys show keeps its share.
    """
    spans = spans_of(population, atoms)
    drawn = population.drawn_from / population.total
    values, counts = np.unique(spans[spans > 0], return_counts=True)
    out = np.ones(len(spans))
    if not len(values):
        return out
    unseen = groups_of_table(population, atoms) - counts.sum()
    rates = _mean_rates(np.append(0, values), np.append(unseen, counts))[1:]
    shares = np.clip(rates / values, drawn, 1.0)
    out[spans > 0] = shares[np.searchsorted(values, spans[spans > 0])]
    return out


def _mean_rates(spans: Ints, counts: Floats) -> Floats:
    """The mean Poisson rate of the groups that have each span, of which there are so many."""
    mean = float((spans * counts).sum() / counts.sum())
    if spans.max() == 1:
        return np.full(len(spans), mean)
    rates = np.unique(np.concatenate([spans[spans > 0], np.geomspace(mean / 4, max(2 * mean, spans.max()), RATES)]))
    logs = spans[:, None] * np.log(rates) - rates - special.gammaln(spans + 1.0)[:, None]
    likely = np.exp(logs)
    weights = np.full(len(rates), 1 / len(rates))
    for _ in range(STEPS):
        each = likely * weights
        shares = each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
        weights = (shares * counts[:, None]).sum(axis=0) / counts.sum()
    each = likely * weights
    return np.asarray((each * rates).sum(axis=1) / np.maximum(each.sum(axis=1), 1e-300))


def scaled_across(
    population: DrawnRows, hits: Ints, own: Ints, instances: Ints, *, single: bool = False
) -> tuple[Floats, Bools]:
    """Rows of each instance's group in the whole table, where groups lie across the drawn keys; and of which it is so.

    The rows of the instance's own key (``own`` of those ``hits``) are at hand and count as they are. Those of other
    keys are few: each row stands for many, so that counts of single instances are luck, and a bound such as $top would
    cut off what is too high and keep what is too low. They are taken at the mean of all instances that find as many
    (Robbins 1956). Not of groups of which ``FEW`` rows of other keys are at hand and more. ``single``: a key has one
    row of a group, so that the law of random rows tells how many others have.
    """
    keys = population.distinct(population.sampled_by)
    others = hits - own
    sparse = others <= FEW
    if keys < 2 or not sparse.any():
        return hits.astype(np.float64), np.zeros(len(hits), dtype=bool)
    every = keys * population.total / population.drawn_from
    # An instance at hand is of one of the drawn keys.
    data = population.is_data[instances]
    factor = np.where(data, (every - 1) / (keys - 1), every / keys)
    rows = population.drawn_from / population.rows
    if single and bool(data.all()):
        return rows * own + others_in_table(others, (keys - 1) / (every - 1), population.law), sparse
    values, counts = np.unique(others[sparse], return_counts=True)
    rates = _mean_rates(values, counts.astype(np.float64)) if values[-1] else np.zeros(1)
    mean = rates[np.searchsorted(values, np.where(sparse, others, values[0]))]
    return rows * (own + mean * factor), sparse


def spans_of(population: DrawnRows, atoms: tuple[Atom, ...]) -> Ints:
    """For each group at hand, in how many of the drawn keys it occurs."""
    rows = population.rows
    keys, drawn = population.groups(population.sampled_by)
    groups, size = population.groups(atoms)
    pairs = np.unique(groups[:rows] * drawn + keys[:rows])
    return np.bincount(pairs // drawn, minlength=size)


def _jackknife(population: DrawnRows, atoms: tuple[Atom, ...]) -> float:
    spans = spans_of(population, atoms)
    single, double, groups = (int(np.count_nonzero(seen)) for seen in (spans == 1, spans == 2, spans))
    drawn = population.drawn_from / population.total
    rare = single + double
    return groups - rare + rare / (1 - (1 - drawn) * single / max(1, single + 2 * double))


def _values_most(population: DrawnRows, atom: Atom) -> float:
    """The values that an atom can have: the buckets of a hash; of whole numbers those from the least to the greatest,
    and a gap more, as the greatest of all is seldom drawn. Without limit otherwise."""
    if atom[0] == "h":
        return float(atom[2])
    if atom[0] != "p" or not population.has(atom[1]) or atom[1] in population.hashed:
        return float("inf")
    values = population.coded(atom[1]).values
    if not values.dtype.is_integer() or not len(values):
        return float("inf")
    missing = 1 if population.coded(atom[1]).has_missing else 0
    return (int(values[-1]) - int(values[0]) + 1) * (1 + 1 / len(values)) + missing
