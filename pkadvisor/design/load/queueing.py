"""The laws between load and time at one partition: throttling, retries, closed loops, waiting.

Pure functions of plain numbers in seconds and entities per second. Each states its source; the figures that the papers
measured are in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.values import dataclass


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
