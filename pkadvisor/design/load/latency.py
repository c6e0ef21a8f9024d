"""How long one operation takes, p50 and p99: steps one after another, each of them requests sent at once.

Nobody publishes a bound on latency, so every millisecond here rests on assumed limits (``read_latency_ms_p50`` and the
like) that a measured calibration replaces. What is counted are the round trips. Laws: more pages, requests, scanned
entities, larger groups or a busier partition never make an operation faster.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from pkadvisor.design.load.queueing import retry_equilibrium, waiting_mean, waiting_quantile
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.table.accounting import group_cost
from pkadvisor.values import dataclass

SERVICE_CS2 = 1.0
"""Squared coefficient of variation of the service time at a partition: assumed exponential."""


class LatencyStep(NamedTuple):
    """Requests that are sent at once and all awaited; means per operation, so fractions are welcome.

    ``requests``: how many, each to a partition of its own; none where 0. ``pages``: round trips of each, one after
    another. ``entities_scanned``: by each, over all its pages. ``writes``: a write, of ``group_entities`` together.
    ``utilisation``: load over target of the hottest partition that it visits, 1 and more where it is over target.
    """

    requests: float = 1.0
    pages: float = 1.0
    entities_scanned: float = 0.0
    writes: bool = False
    group_entities: float = 1.0
    utilisation: float = 0.0

    def check(self) -> None:
        """ValueError where a number is out of its range."""
        for name, least in (
            ("requests", 0.0),
            ("pages", 1.0),
            ("entities_scanned", 0.0),
            ("group_entities", 1.0),
            ("utilisation", 0.0),
        ):
            if not least <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be finite and at least {least:g}, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class OperationLatency:
    """Milliseconds until the whole answer is there, and what the throttle does to the hottest step.

    ``throttled_share`` of its attempts are rejected; ``lost_share`` of its requests still are after the last retry of
    the client library. The quantiles are of operations that are sent again until they are served.
    """

    ms_p50: float
    ms_p99: float
    throttled_share: float
    lost_share: float


def operation_latency(steps: tuple[LatencyStep, ...], limits: Limits) -> OperationLatency:
    """Latency of an operation whose steps follow one another, e.g. locate, then write; without steps it is 0.

    Method: medians add; the distance from median to p99 adds as the root of the sum of squares, as for independent
    steps. Exact for one step, a few per cent high for log-normal ones. ValueError where a step is none.
    """
    for step in steps:
        step.check()
    steps = tuple(step for step in steps if step.requests > 0)
    middle = [_step_ms(0.5, step, limits) for step in steps]
    high = [_step_ms(0.99, step, limits) for step in steps]
    p50 = math.fsum(middle)
    states = [retry_equilibrium(step.utilisation, 1.0, limits.retry_attempts) for step in steps]
    return OperationLatency(
        p50,
        p50 + math.hypot(*(h - m for h, m in zip(high, middle, strict=True))),
        max((state.rejected_share for state in states), default=0.0),
        max((state.lost_share for state in states), default=0.0),
    )


def _step_ms(p: float, step: LatencyStep, limits: Limits) -> float:
    """The p-quantile of a step: the slowest of its requests, in rounds where the client may not send all at once."""
    together = min(step.requests, float(limits.fan_out_parallel))
    count = rounds(step.requests, limits.fan_out_parallel)
    slowest = _request_ms(at_each(p, together), step, limits)
    if count == 1:
        return slowest
    middle = _request_ms(at_each(0.5, together), step, limits)
    return count * middle + math.sqrt(count) * (slowest - middle)


def _request_ms(p: float, step: LatencyStep, limits: Limits) -> float:
    """The p-quantile, p of a half or more, of a request with its continuations: trips, scan, queue, retries."""
    wait = _wait_ms(p, step, limits)
    middle_wait = _wait_ms(0.5, step, limits)
    middle = _trips_ms(0.5, step, limits)
    trips = _trips_ms(p, step, limits)
    return (
        middle
        + middle_wait
        + math.hypot(trips - middle, wait - middle_wait)
        + step.entities_scanned * limits.scan_ms_per_entity
        + step.pages * _retries_ms(p, step, limits)
    )


def _trips_ms(p: float, step: LatencyStep, limits: Limits) -> float:
    if step.writes:
        single = LogNormal.through(limits.write_latency_ms_p50, limits.write_latency_ms_p99)
        # The whole latency scales with the service time of the group: in 2010 a group of 100 took 18 to 24 times
        # as long as one insert (How to get most out of Windows Azure Tables), the published throughput says 33.
        cost = group_cost(step.group_entities, limits.group_transaction_speedup, limits.group_transaction_entities)
        return single.quantile(p) * cost
    first = LogNormal.through(limits.read_latency_ms_p50, limits.read_latency_ms_p99)
    if step.pages == 1 or not limits.page_latency_ms:
        return first.quantile(p)
    next_page = LogNormal(limits.page_latency_ms, first.sigma)
    return quantile_of_sum(p, ((1.0, first), (step.pages - 1, next_page)))


def _wait_ms(p: float, step: LatencyStep, limits: Limits) -> float:
    """Time in the queue of the hottest partition, over all pages; a queue beyond the burst allowance is turned away.

    A partition serves an entity in 1/target. Pages wait independently: means add, deviations as roots of squares.
    """
    longest = limits.burst_s * 1000
    service = 1000 / limits.partition_entities_per_s
    if step.utilisation >= 1:
        return step.pages * longest
    unbounded = waiting_mean(step.utilisation, service, SERVICE_CS2)
    if not unbounded or not longest:
        return 0.0
    mean = unbounded * -math.expm1(-longest * step.utilisation / unbounded)
    one = min(longest, waiting_quantile(p, step.utilisation, service, SERVICE_CS2))
    return step.pages * mean + math.sqrt(step.pages) * (one - mean)


def _retries_ms(p: float, step: LatencyStep, limits: Limits) -> float:
    """Waits between attempts until the p-quantile of requests is served, for a partition at or over its target.

    Each attempt is rejected with the share of the equilibrium. The wait doubles over the client's retries; whoever is
    still rejected is sent again by the application and keeps the longest wait. Rejections count as fractions, so that a
    little more load is a little more time.
    """
    if step.utilisation <= 1:
        return 0.0
    # ln(rejected share of the equilibrium), exact where that is nearly 1.
    log_rejected = math.log1p(-1 / step.utilisation) / (limits.retry_attempts + 1)
    attempts = math.log1p(-p) / log_rejected
    doublings = min(attempts, float(limits.retry_attempts))
    longest: float = limits.retry_wait_ms * 2.0 ** max(0, limits.retry_attempts - 1)
    trip = limits.write_latency_ms_p50 if step.writes else limits.read_latency_ms_p50
    waits = limits.retry_wait_ms * math.expm1(doublings * math.log(2)) + (attempts - doublings) * longest
    return waits + attempts * trip


# -- Log-normal round trips: one, several one after another, the slowest of several at once.


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
