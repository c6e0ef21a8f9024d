"""The p50 and p99 of a class under one scheme: its requests as steps, at the load of the partitions that it visits."""

from __future__ import annotations

import math
from dataclasses import replace

from pkadvisor.design.cost.plan_reads import kept_share, read
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate, Term
from pkadvisor.design.load.latency import (
    SERVICE_CS2,
    LatencyStep,
    LogNormal,
    OperationLatency,
    expected_maximum,
    operation_latency,
)
from pkadvisor.design.load.queueing import chained_equilibrium, waiting_mean
from pkadvisor.design.load.scaling import rate_max
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.asked_rows import seen_under
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.lazy import Floats, np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Basis, Operation, QueryClass

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


# -- Terms of a busy partition: what waits, what is turned away, what a fan-out costs, what skew leaves of the target.


def _load(estimate: CostEstimate) -> float:
    return estimate.hot.entities_per_s if estimate.hot is not None else 0.0


def waiting(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Mean time in the queue of the hottest partition at the peak; below its target only, above it requests are turned
    away."""
    target = bench.limits.partition_entities_per_s
    if _load(estimate) >= target:
        return None
    value = waiting_mean(_load(estimate) / target, 1000 / target, SERVICE_CS2)
    source = "M/G/1 (Pollaczek, Khinchine), one entity in 1 / target; hottest partition at its peak"
    return Term("waiting", value, "ms", Basis.ASSUMED, source)


def throttled(estimate: CostEstimate, bench: Bench) -> Term:
    """Attempts on the hottest partition that are turned away at the peak, under the client's retries."""
    limits = bench.limits
    if bench.workload.bursts_refused:  # retries come after the second, so they are not part of its load
        refused = max(0.0, 1 - limits.partition_entities_per_s / max(_load(estimate), 1e-300))
        source = "busiest second of the hottest partition without a burst allowance, as the log shows refused bursts"
        return Term("throttled at peak", refused, "share of attempts", Basis.DERIVED, source)
    settled = chained_equilibrium(_pages(estimate, bench), limits.partition_entities_per_s, limits.retry_attempts)
    source = f"equilibrium of {limits.retry_attempts} retries at the hottest partition; each operation is tried "
    source += f"{amount(settled.amplification)} times, {percent(settled.lost_share)} are lost"
    return Term("throttled at peak", settled.rejected_share, "share of attempts", Basis.DERIVED, source)


def _pages(estimate: CostEstimate, bench: Bench) -> list[tuple[float, float]]:
    """The load of the hottest partition, by how many pages its requests ask for there one after another.

    Below the target it does not matter. What is not of requests with further pages is of one page.
    """
    load = _load(estimate)
    paged = [c for c in estimate.classes if c.continuations > 0 and c.plan is not None and not c.analytic]
    if estimate.hot is None or estimate.hot.row is None or load <= bench.limits.partition_entities_per_s or not paged:
        return [(load, 1.0)]
    demands = {demand.query.name: demand for demand in bench.demands}
    parts = [part for cost in paged for part in _chains(cost, demands[cost.name], estimate, bench)]
    total = sum(each for each, _ in parts)
    if total > load:  # not all of them are at their peak in the minute that is the worst
        parts = [(each * load / total, pages) for each, pages in parts]
    return [(max(0.0, load - total), 1.0), *parts]


def _chains(cost: ClassCost, demand: Demand, estimate: CostEstimate, bench: Bench) -> list[tuple[float, float]]:
    """The load of one class at the hottest partition, by pages."""
    hot, plan = estimate.hot, cost.plan
    assert hot is not None and plan is not None
    key = list(estimate.scheme.each_key())[plan.via][0]
    if key.partition != hot.template:
        return []
    one = read(plan, demand, estimate.scheme, bench)
    demand, population = seen_under(key.partition, demand, bench.population)
    atoms = atoms_of(hot.template)
    ids, _ = population.groups(atoms)
    pages = np.maximum(1.0, one.requests_each / max(1.0, one.fan_out))
    load = demand.weights * cost.peak_per_s * one.counted
    if plan.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
        # Each scan comes by, and asks there for a part of its pages.
        here = float((ids[: population.rows] == ids[hot.row]).mean())
        return [(float(load.sum()) * here, max(1.0, demand.mean(pages) * here))]
    logged = bool(len(demand.instances)) and int(demand.instances[0]) >= population.rows
    of_draw = kept_share(demand, population, hot.template)
    share = of_draw if of_draw is not None else 1.0 if logged else population.share_factor(atoms)
    mine = ids[demand.instances] == ids[hot.row]
    lengths, which = np.unique(np.round(pages[mine]), return_inverse=True)
    sums = np.bincount(which, load[mine] * share, minlength=len(lengths))
    return list(zip(sums.tolist(), lengths.tolist(), strict=True))


def fan_out_latency(estimate: CostEstimate, bench: Bench) -> Term | None:
    """The mean of the slowest request of the class that sends most at once."""
    widest = max(
        (c for c in estimate.classes if c.plan is not None and not c.plan.back and not c.analytic and c.fan_out > 1.5),
        key=lambda c: (c.fan_out, c.name),
        default=None,
    )
    if widest is None:
        return None
    trip = _read(bench.limits)
    source = f"expected maximum of {amount(widest.fan_out)} log-normal reads ({widest.name})"
    return Term("fan-out latency", expected_maximum(trip, widest.fan_out), "ms", Basis.ASSUMED, source)


def _read(limits: Limits) -> LogNormal:
    return LogNormal.through(limits.read_latency_ms_p50, limits.read_latency_ms_p99)


def rate_by_skew(estimate: CostEstimate, bench: Bench) -> Term | None:
    """Entities per second at which the hottest partition, or the account, is full if the shares stay as they are."""
    if estimate.hot is None or not estimate.hot.share:
        return None
    source = "min(account target, partition target / share of the hottest partition)"
    return Term(
        "rate that the skew allows", rate_max(estimate.hot.share, bench.limits), "entities/s", Basis.DERIVED, source
    )
