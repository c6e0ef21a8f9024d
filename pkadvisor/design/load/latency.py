"""How long one operation takes, p50 and p99: steps one after another, each of them requests sent at once.

Nobody publishes a bound on latency, so every millisecond here rests on assumed limits (``read_latency_ms_p50`` and the
like) that a measured calibration replaces. What is counted are the round trips. Laws: more pages, requests, scanned
entities, larger groups or a busier partition never make an operation faster.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pkadvisor.design.load.lognormal import LogNormal, at_each, quantile_of_sum, rounds
from pkadvisor.design.load.queueing import retry_equilibrium, waiting_mean, waiting_quantile
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
