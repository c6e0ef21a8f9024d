"""The p50 and p99 of a class under one scheme: its requests as steps, at the load of the partitions that it visits."""

from __future__ import annotations

import math
from dataclasses import replace

from pkadvisor.design.load.estimates import Bench, ClassCost
from pkadvisor.design.load.latency import LatencyStep, OperationLatency, operation_latency
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.lazy import Floats, np
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Operation, QueryClass

BINS_PER_E = 20.0
"""Quantiles of entities scanned are exact to 1 ÷ this, 5 %: enough beside assumed milliseconds."""


def spread(values: Floats, weights: Floats, bins_per_e: float = BINS_PER_E) -> tuple[float, float]:
    """(median, 99th percentile) of positive values by weight, to 1 ÷ ``bins_per_e``, never above the largest."""
    if not len(values):
        return 1.0, 1.0
    least, most = float(values.min()), float(values.max())
    if most <= least * (1 + 1 / bins_per_e):
        return most, most
    bins = np.ceil(np.log(values / least) * bins_per_e).astype(np.int64)
    mass = np.cumsum(np.bincount(bins, weights=weights))
    places = np.searchsorted(mass, np.array([0.5, 0.99]) * mass[-1] * (1 - 1e-12))
    middle, high = (min(most, least * math.exp(float(b) / bins_per_e)) for b in places)
    return middle, high


def with_latency(cost: ClassCost, query: QueryClass, bench: Bench, utilisation: float) -> ClassCost:
    """The class with its latency and its goal; analytic classes have none.

    ``utilisation`` is the load over its target of the partitions that the class visits: 99 in 100 of its requests meet
    no more (the hottest where a request visits several). The p99 is that of a request whose parameters scan more than
    those of 99 in 100. A read-modify-write takes its attempts one after another.
    """
    # Nobody waits for a long list as for one entity: a goal that is not declared is for each page of the answer.
    pages = max(1, math.ceil(cost.entities_returned / bench.limits.page_entities))
    goal = 0.0 if cost.analytic else query.latency_goal_ms_p99 or bench.limits.latency_goal_ms_p99 * pages
    busy = round(utilisation, 3)
    middle = _latency(_steps(cost, cost.entities_read_p50, busy, bench), bench).ms_p50
    high = _latency(_steps(cost, cost.entities_read_p99, busy, bench), bench).ms_p99
    return replace(
        cost,
        latency_ms_p50=middle * cost.attempts,
        latency_ms_p99=high * cost.attempts,
        latency_goal_ms_p99=goal,
    )


def latency_excess(costs: tuple[ClassCost, ...]) -> float:
    """The worst p99 in times of its goal, over the classes that have one and a rate."""
    return max(
        (c.latency_ms_p99 / c.latency_goal_ms_p99 for c in costs if c.latency_goal_ms_p99 and c.rate_per_s), default=0.0
    )


def _steps(cost: ClassCost, scanned: float, utilisation: float, bench: Bench) -> tuple[LatencyStep, ...]:
    """Read, fetch what pointers lead to, write, write index rows elsewhere: each waits for the one before."""
    steps = []
    if cost.plan is not None and (cost.operation is Operation.QUERY or cost.requests_locate):
        fan_out = max(1.0, cost.fan_out)
        fetched = cost.entities_returned if cost.plan.follows else 0.0
        point = cost.plan.access is Access.POINT
        each = 0.0 if point else max(0.0, scanned - fetched) / fan_out
        pages = max(1.0 + cost.continuations / fan_out, math.ceil(each / bench.limits.page_entities))
        if cost.plan.back:  # one period after the other
            fan_out, pages = 1.0, pages * fan_out
        steps.append(LatencyStep(requests=fan_out, pages=pages, entities_scanned=each, utilisation=utilisation))
        steps.append(LatencyStep(requests=fetched, utilisation=utilisation))
    if cost.operation.writes:
        group = max(1.0, cost.group_entities)
        steps.append(
            LatencyStep(requests=cost.requests_write, writes=True, group_entities=group, utilisation=utilisation)
        )
        steps.append(LatencyStep(requests=cost.requests_after, writes=True, utilisation=utilisation))
    return tuple(steps)


def _latency(steps: tuple[LatencyStep, ...], bench: Bench) -> OperationLatency:
    """Many schemes send the same steps, so the latencies are kept."""
    limits, memory = bench.limits, bench.population.memo
    kept: tuple[Limits, dict[tuple[LatencyStep, ...], OperationLatency]] | None = memory.get(("latency", id(limits)))
    if kept is None:
        kept = memory[("latency", id(limits))] = (limits, {})
    latencies = kept[1]
    if steps not in latencies:
        latencies[steps] = operation_latency(steps, limits)
    return latencies[steps]
