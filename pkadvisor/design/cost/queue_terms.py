"""Terms of a busy partition: what waits, what is turned away, what a fan-out costs, what skew leaves of the target."""

from __future__ import annotations

from pkadvisor.design.cost.plan_reads import kept_share, read
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate, Term
from pkadvisor.design.load.latency import SERVICE_CS2
from pkadvisor.design.load.lognormal import LogNormal, expected_maximum
from pkadvisor.design.load.queueing import chained_equilibrium, waiting_mean
from pkadvisor.design.load.scaling import rate_max
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.asked_rows import seen_under
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Basis


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
