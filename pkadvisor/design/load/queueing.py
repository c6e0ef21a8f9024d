"""The laws between load and time at one partition: throttling, retries, closed loops, waiting.

Pure functions of plain numbers in seconds and entities per second. Each states its source; the figures that the papers
measured are in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def rejected_share(offered: float, capacity: float) -> float:
    """The share that a token bucket turns away in the long run, without retries: max(0, 1 − r/λ) (fluid limit)."""
    return max(0.0, 1 - capacity / offered) if offered > 0 else 0.0


@dataclass(frozen=True, slots=True)
class RetryEquilibrium:
    """Where retries against a full partition settle; shares of 0 to 1.

    ``rejected_share``: of all attempts. ``lost_share``: of the operations, after their last retry. ``amplification``:
    attempts per operation.
    """

    rejected_share: float
    lost_share: float
    amplification: float
    goodput: float


def retry_equilibrium(offered: float, capacity: float, retries: int) -> RetryEquilibrium:
    """The steady state of operations offered at λ that are tried at most 1 + K times against a capacity C > 0.

    λ_eff = λ (1 − p^(K+1))/(1 − p) and (1 − p) λ_eff = C, hence p = (1 − C/λ)^(1/(K+1)): derived, every attempt meeting
    the same rejection. Goodput is min(λ, C) whatever K is: retries multiply requests, never what is served.
    """
    lost = rejected_share(offered, capacity)
    if lost == 0:
        return RetryEquilibrium(0.0, 0.0, 1.0, offered)
    # 1 − p through expm1: far above capacity p is nearly 1.
    served = -math.expm1(math.log1p(-capacity / offered) / (retries + 1))
    rejected = lost ** (1 / (retries + 1))
    return RetryEquilibrium(rejected, lost, capacity / offered / served, capacity)


def chained_equilibrium(parts: Sequence[tuple[float, float]], capacity: float, retries: int) -> RetryEquilibrium:
    """The same where operations are pages that follow one another: ``parts`` are (λ of all, pages of a request).

    A page is only asked for when the one before came through, so what is lost takes the pages behind it along: with s
    the share of pages that come through in the end, a request of n pages asks for 1 + s + … + s^(n−1) of them. s solves
    Σ λ_i/n_i · s (1 + s + … + s^(n_i − 1)) = C; a part of a page counts in proportion. For n = 1 it is
    :func:`retry_equilibrium`. ``lost_share`` is of all that was meant to be read.
    """
    offered = sum(load for load, _ in parts)
    if offered <= capacity or capacity <= 0:
        return retry_equilibrium(offered, capacity, retries)

    def served(s: float) -> float:
        return sum(load / pages * s * _asked(pages, s) for load, pages in parts)

    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if served(middle) > capacity else (middle, high)
    s = (low + high) / 2
    rejected = (1 - s) ** (1 / (retries + 1))
    asked = sum(load / pages * _asked(pages, s) for load, pages in parts)
    attempts = asked * s / (1 - rejected)
    return RetryEquilibrium(rejected, 1 - capacity / offered, attempts / asked, capacity)


def _asked(pages: float, s: float) -> float:
    """Pages that a request of so many asks for, each coming through with probability s."""
    whole = math.floor(pages)
    last: float = s**whole
    return (whole if s >= 1 else (1 - last) / (1 - s)) + (pages - whole) * last


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """What threads that wait for their answers get: entities per second served, and the share of attempts rejected."""

    entities_per_s: float
    rejected_share: float


def closed_loop(
    threads: float,
    group_entities: float,
    response_s: float,
    capacity: float,
    *,
    wait_s: float,
    rejection_s: float,
) -> ClosedLoop:
    """N threads that each send groups of k entities and, after a rejection (``rejection_s``), wait ``wait_s``.

    X = N (1 − p) k / ((1 − p) R + p (Rf + Zf)); p = 0 while that is at most C, else the p at which it is C. The
    response time law (Lazowska et al., 1984) with a second path; the root is explicit in the odds p/(1 − p).
    """
    free = threads * group_entities / response_s
    if free <= capacity:
        return ClosedLoop(free, 0.0)
    odds = (threads * group_entities / capacity - response_s) / (rejection_s + wait_s)
    return ClosedLoop(capacity, odds / (1 + odds))


@dataclass(frozen=True, slots=True)
class ResponseCurve:
    """R = floor_s + 1/(rate_per_s − X): response time in seconds at a throughput X below ``rate_per_s``."""

    floor_s: float
    rate_per_s: float

    def response_s(self, throughput_per_s: float) -> float:
        if throughput_per_s >= self.rate_per_s:
            return math.inf
        return self.floor_s + 1 / (self.rate_per_s - throughput_per_s)


def response_curve(first: tuple[float, float], second: tuple[float, float]) -> ResponseCurve:
    """The curve through two measured points (throughput per s, response s); nothing is left over to judge it by.

    Both must rise from the first to the second, or ValueError: no such curve falls.
    """
    (x1, r1), (x2, r2) = first, second
    more, longer = x2 - x1, r2 - r1
    if not (more > 0 and longer > 0):
        raise ValueError("throughput and response time must both rise from the first point to the second")
    # 1/y − 1/(y + more) = longer, for y = rate − x2.
    gap = (math.sqrt(more * more + 4 * more / longer) - more) / 2
    return ResponseCurve(r2 - 1 / gap, x2 + gap)


def waiting_mean(utilisation: float, service: float, cs2: float, ca2: float = 1.0) -> float:
    """Mean time in the queue, in the unit of ``service``: ρ/(1 − ρ) · (ca² + cs²)/2 · E[S]; inf from ρ = 1 on.

    Exact for Poisson arrivals, ca² = 1 (Pollaczek 1930, Khinchine 1932); else an approximation (Kingman 1961). ``cs2``
    and ``ca2`` are squared coefficients of variation.
    """
    if utilisation >= 1:
        return math.inf
    return max(0.0, utilisation) / (1 - utilisation) * (ca2 + cs2) / 2 * service


def waiting_quantile(p: float, utilisation: float, service: float, cs2: float, ca2: float = 1.0) -> float:
    """The p-quantile of the time in the queue: P(W > t) ≈ ρ exp(−2 (1 − ρ) t / ((ca² + cs²) E[S])); inf from ρ = 1 on.

    The heavy-traffic tail (Kingman 1961), exact for Poisson arrivals and exponential service.
    """
    if utilisation >= 1:
        return math.inf
    if utilisation <= 1 - p:
        return 0.0
    return math.log(utilisation / (1 - p)) * (ca2 + cs2) * service / (2 * (1 - utilisation))
