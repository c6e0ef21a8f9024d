"""Log-normal round trips: one, several one after another, the slowest of several at once.

Latencies of a store are skewed to the right, and two quantiles are what its owner can measure; a log-normal is fixed by
them. All functions are pure and, but for the integral of :func:`expected_maximum`, closed forms.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from pkadvisor.lazy import np
from pkadvisor.values import dataclass

_NORMAL = NormalDist()
_Z99 = _NORMAL.inv_cdf(0.99)
_DEEP = 0.9998
"""Probability beyond which the tail of a sum is taken to be that of its largest trip, moved."""
_NODES = 64
_NEARLY_SYMMETRIC = 1e-4
"""Skewness below which a sum is a normal variable in all digits that matter."""


@dataclass(frozen=True, slots=True)
class LogNormal:
    """exp(N(ln median, sigma²)); a positive median and a sigma of 0 (a constant) or more."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        if not (0 < self.median < math.inf and 0 <= self.sigma < math.inf):
            raise ValueError(f"a log-normal needs a positive median and sigma of 0 or more, not {self}")

    @classmethod
    def through(cls, p50: float, p99: float) -> LogNormal:
        """The one with these two quantiles; p99 at p50 or above."""
        return cls(p50, math.log(p99 / p50) / _Z99)

    @property
    def mean(self) -> float:
        return self.median * math.exp(self.sigma**2 / 2)

    def quantile(self, p: float) -> float:
        return self.median * math.exp(self.sigma * _NORMAL.inv_cdf(p)) if self.sigma else self.median


def quantile_of_sum(p: float, trips: Sequence[tuple[float, LogNormal]]) -> float:
    """The p-quantile of a sum of independent log-normals, each ``(how many, which)``; counts may be fractions.

    Method: the shifted log-normal with the sum's mean, variance and skewness. It is exact for one trip and for one trip
    plus a constant, and normal for many. (Fenton and Wilkinson, 1960, match mean and variance only, and put the far
    tail of a sum below the tail of its largest term.) Beyond 0.9998 the tail is that of the largest trip, as sums of
    heavy-tailed variables have it. A small share of a long trip adds more skewness than mean, which would make the
    matched median smaller: no sum is shorter than what is left of it without one of its trips.
    """
    if p > _DEEP:
        largest = max((trip for count, trip in trips if count > 0), key=lambda trip: trip.quantile(p))
        return quantile_of_sum(_DEEP, trips) + largest.quantile(p) - largest.quantile(_DEEP)
    every = [_cumulants(count, trip) for count, trip in trips if count > 0]
    without_one = [every[:n] + every[n + 1 :] for n in range(len(every))] if len(every) > 1 else []
    return max(_quantile_of_cumulants(p, *_sums(some)) for some in (every, *without_one))


def _sums(cumulants: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The cumulants of a sum of independent variables."""
    mean = variance = third = 0.0
    for each in cumulants:
        mean, variance, third = mean + each[0], variance + each[1], third + each[2]
    return mean, variance, third


def _cumulants(count: float, trip: LogNormal) -> tuple[float, float, float]:
    """Mean, variance and third central moment of so many independent trips: sums of those of each."""
    w = math.exp(trip.sigma**2)
    spread = math.expm1(trip.sigma**2)
    return (
        count * trip.median * math.sqrt(w),
        count * trip.median**2 * w * spread,
        count * trip.median**3 * w**1.5 * spread**2 * (w + 2),
    )


def _quantile_of_cumulants(p: float, mean: float, variance: float, third: float) -> float:
    """The p-quantile of the shifted log-normal with these cumulants."""
    spread = variance**1.5
    if spread == 0:  # none, or less than a number can hold
        return mean
    z = _NORMAL.inv_cdf(p)
    skewness = third / spread
    if skewness < _NEARLY_SYMMETRIC:
        return mean + z * math.sqrt(variance)
    # (w + 2)² (w - 1) = skewness², solved for w = exp(sigma²) by Cardano's formula.
    half = 1 + skewness**2 / 2
    root = (half + math.sqrt((half - 1) * (half + 1))) ** (1 / 3)
    w = root + 1 / root - 1
    scale = math.sqrt(variance / (w * (w - 1)))
    return mean + scale * (math.exp(math.sqrt(math.log(w)) * z) - math.sqrt(w))


def at_each(p: float, n: float) -> float:
    """The quantile that each of n independent trips must meet so that all do with probability p: p^(1/n).

    Source: David and Nagaraja, Order Statistics (2003): F_max = F^n.
    """
    return math.pow(p, 1 / max(1.0, n))


@functools.lru_cache(maxsize=1024)
def expected_maximum(trip: LogNormal, n: float) -> float:
    """The mean of the slowest of n independent trips that start at once: ∫ x dF(x)^n, n of 1 or more.

    An upper bound if slowness is shared (associated variables). F⁻¹(n/(n+1)) is not it: 8 to 15 % lower at sigma 0.5.
    Method: Gauss-Legendre quadrature, which agrees with an adaptive one to 1e-12 for the n and sigma of a store.
    """
    if n < 1:
        raise ValueError(f"a maximum needs at least one trip, not {n:g}")
    if not trip.sigma:
        return trip.median

    def density(z: float) -> float:
        exponent = (n - 1) * _log_cdf(z) + trip.sigma * z - z * z / 2
        return n * math.exp(exponent) / math.sqrt(2 * math.pi)

    # The mass lies within a few widths of the median of the maximum, shifted by sigma as a log-normal's mean is.
    middle = _NORMAL.inv_cdf(0.5 ** (1 / n))
    ends = (middle - 9, middle - 2, middle, middle + trip.sigma, middle + trip.sigma + 9)
    mean = sum(_integral(density, low, high) for low, high in itertools.pairwise(ends))
    return trip.median * mean


def _log_cdf(z: float) -> float:
    """ln Φ(z) to full precision in both tails: its power of n - 1 would magnify what rounding loses near 1."""
    if z < 0:
        return math.log(math.erfc(-z / math.sqrt(2)) / 2)
    return math.log1p(-math.erfc(z / math.sqrt(2)) / 2)


def _integral(density: Callable[[float], float], low: float, high: float) -> float:
    """The integral of a smooth function, exact for polynomials of degree 2 * ``_NODES`` - 1."""
    middle, half = (high + low) / 2, (high - low) / 2
    return half * math.fsum(weight * density(middle + half * node) for node, weight in _nodes())


@functools.cache
def _nodes() -> tuple[tuple[float, float], ...]:
    """(place in [-1, 1], weight) of each node of the quadrature."""
    places, weights = np.polynomial.legendre.leggauss(_NODES)
    return tuple(zip(places.tolist(), weights.tolist(), strict=True))


def rounds(n: float, parallel: int) -> int:
    """Rounds that n requests take when a client keeps at most ``parallel`` of them in flight: ⌈n / parallel⌉.

    An upper bound: a client that starts the next request whenever one ends does not wait for the slowest of a round.
    """
    return max(1, math.ceil(n / parallel))
