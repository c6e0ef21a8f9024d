"""How many rows of the table a group has of which random rows are at hand: a law fitted to the counts of all groups.

A count of rows at hand divided by the share drawn is right on average over many groups, and wrong for each of them:
a group of 40 rows shows none or three in a sample of 5 %. Whatever bends (a bound such as ``$top``, pages, the chance
that a group is seen at all, its rank) must be taken of the sizes that groups have, not of such a quotient. The sizes
are told by a mixture of binomial counts of greatest likelihood (Kiefer and Wolfowitz 1956; found by expectation and
maximisation after Laird 1978), and each row at hand is given one of the sizes that its count allows, so often as it is
likely: means over rows at hand are then means over that law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

from pkadvisor.lazy import Floats, Ints, np

ROWS_LEAST = 30
"""Rows at hand below which no law is fitted: each other row stands for as many as all do."""
FEW = 200
"""Other rows at hand up to which sizes are drawn from the law: of more, the quotient is within a few per cent."""
SIZES = 80
"""Sizes of the mixture at most."""
STEPS = 200
"""Steps by which the mixture's weights are found: later ones change no figure that is printed."""
SHUFFLE = 20_240_601
"""Seed of the order in which rows take the sizes that their count allows."""


ALLOWED = 1.92
"""Log-likelihood below the greatest up to which a law is allowed: half the 95 % point of chi-square with one degree."""
HALVINGS = 12
"""Steps by which the furthest law that is allowed is found between two strengths."""
LEANINGS = 12
"""Strengths, each twice the one before, by which a law is leant toward small or large groups."""


class Law(StrEnum):
    """Which of the laws that the counts allow is taken."""

    LIKELIEST = "likeliest"
    SMALL = "small"
    """As many small groups as the counts allow."""
    LARGE = "large"
    """As few small groups as the counts allow."""
    EVEN = "even"
    """Sizes as much alike as the counts allow."""


def others_in_table(others: Ints, share: float, law: Law = Law.LIKELIEST) -> Floats:
    """For each row at hand, other rows of its group in the table; ``others`` of them are at hand, each with the chance
    ``share``.

    Whole rows drawn from the law where ``others`` is at most ``FEW``, else the quotient. This is the likeliest size as
    well where all rows have the same count.
    """
    quotient = others / share
    few = others <= FEW
    if law is Law.LIKELIEST and len(others) and others.min() == others.max():
        return np.asarray(quotient, dtype=np.float64)
    if len(others) < ROWS_LEAST or share >= 1 or not few.any():
        return np.asarray(quotient, dtype=np.float64)
    sampled = np.bincount(others[few])
    values = np.flatnonzero(sampled)
    counts = sampled[values]
    # Rows of one count side by side, in an order of their own: counts are small, so that sorting takes one pass.
    order = _shuffled(len(others))
    order = order if few.all() else order[few[order]]
    order = order[np.argsort(others[order].astype(np.min_scalar_type(FEW)), kind="stable")]
    quotient[order] = _drawn(tuple(values.tolist()), tuple(counts.tolist()), share, law)
    return np.asarray(quotient, dtype=np.float64)


@lru_cache(maxsize=16)
def _drawn(values: tuple[int, ...], counts: tuple[int, ...], share: float, law: Law) -> Floats:
    """The sizes that rows take whose counts at hand ascend: each size of a count so often as it is likely."""
    sizes, likely = _posterior(values, counts, share, law)
    each = np.array(counts)
    place = np.repeat(np.arange(len(each)), each)
    rank = np.arange(len(place)) - np.repeat(np.cumsum(each) - each, each)
    chance = (rank + 0.5) / each[place]
    upto = np.cumsum(likely, axis=1)
    upto /= upto[:, -1:]
    # One search for all: the chances of each count lie in a stretch of their own.
    at = np.searchsorted((upto + np.arange(len(values))[:, None]).ravel(), place + chance, side="left")
    drawn: Floats = sizes[np.minimum(at - place * len(sizes), len(sizes) - 1)]
    drawn.setflags(write=False)
    return drawn


@lru_cache(maxsize=8)
def _shuffled(rows: int) -> Ints:
    """Rows in a fixed random order: a row takes a like place among the sizes of every group that it is in."""
    order: Ints = np.argsort(np.random.default_rng([SHUFFLE, rows]).permutation(rows))
    order.setflags(write=False)
    return order


@lru_cache(maxsize=64)
def _posterior(group_sizes: tuple[int, ...], rows: tuple[int, ...], share: float, law: Law) -> tuple[Floats, Floats]:
    """(sizes of the mixture, how likely each is for each count at hand); ``rows`` have each of ``group_sizes``."""
    values, counts = np.array(group_sizes), np.array(rows, dtype=np.float64)
    sizes = _sizes(values, share)
    # A count is binomial: log of n! / (k! (n - k)!) p^k (1 - p)^(n - k).
    n, k = sizes[None, :], values[:, None].astype(np.float64)
    possible = n >= k
    left = np.where(possible, n - k, 0.0)
    logs = _log_factorial(n) - _log_factorial(k) - _log_factorial(left)
    logs = logs + k * np.log(share) + left * np.log1p(-share)
    likelihood = np.where(possible, np.exp(logs), 0.0)
    of_count = counts / counts.sum()
    weights = _maximised(likelihood, of_count, np.full(len(sizes), 1 / len(sizes)), np.zeros(len(sizes)))
    if law is not Law.LIKELIEST:
        # Rows of one group tell of it together: as many tell as much as one, as a row has of its group at hand.
        together = float((counts * (values + 1)).sum() / counts.sum())
        allowed = ALLOWED * together / float(counts.sum())
        weights = _leaning(likelihood, of_count, weights, _favour(sizes, weights, law), allowed)
    each = likelihood * weights
    return sizes, np.asarray(each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300))


def _log_factorial(numbers: Floats) -> Floats:
    """By the standard library: scipy's takes 0.3 s to import."""
    return np.asarray(np.frompyfunc(math.lgamma, 1, 1)(numbers + 1.0), dtype=np.float64)


def _maximised(likelihood: Floats, of_count: Floats, weights: Floats, leaning: Floats) -> Floats:
    """The weights of greatest mean log-likelihood plus their mean ``leaning``, which is not below zero."""
    for _ in range(STEPS):
        weights = weights * (of_count / np.maximum(likelihood @ weights, 1e-300) @ likelihood + leaning)
        weights = weights / weights.sum()
    return weights


def _favour(sizes: Floats, weights: Floats, law: Law) -> Floats:
    """What each size adds to the favour of a law, from 0 to 1."""
    small = 1 / (1 + sizes)
    if law is Law.EVEN:
        logs = np.log1p(sizes)
        away = (logs - (weights * logs).sum()) ** 2
        return np.asarray(1 - away / max(float(away.max()), 1e-300))
    return small if law is Law.SMALL else 1 - small


def _leaning(likelihood: Floats, of_count: Floats, weights: Floats, favour: Floats, allowed: float) -> Floats:
    """The weights that are favoured most of those with a log-likelihood that is allowed."""

    def told(lifted: Floats) -> float:
        return float(of_count @ np.log(np.maximum(likelihood @ lifted, 1e-300)))

    best = told(weights)
    for strength in allowed * 2.0 ** np.arange(-2, LEANINGS - 2):
        lifted = _maximised(likelihood, of_count, weights, strength * favour)
        if best - told(lifted) > allowed:
            return _as_far(weights, lifted, lambda mixed: best - told(mixed) <= allowed)
        weights = lifted
    return weights


def _as_far(start: Floats, beyond: Floats, holds: Callable[[Floats], bool]) -> Floats:
    """The mixture of weights that are allowed and weights that are not, as far as it is allowed: what is allowed is
    convex, as the log-likelihood is concave in the weights."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(start + middle * (beyond - start)) else (low, middle)
    return start + low * (beyond - start)


def _sizes(values: Ints, share: float) -> Floats:
    """Numbers of other rows that groups may have: few of them one by one, more in even proportions."""
    most = (float(values[-1]) + 2 * float(values[-1]) ** 0.5 + 1) / share
    small = np.arange(0.0, min(most, SIZES / 4) + 1)
    wide = np.round(np.geomspace(max(1.0, small[-1]), max(most, small[-1] + 1), SIZES - len(small)))
    return np.unique(np.concatenate([small, wide]))
