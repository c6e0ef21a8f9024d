"""Terms of a busy partition: what waits, what is turned away, what a fan-out costs, what skew leaves of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.design.estimates import Bench, CostEstimate, Term
from pkadvisor.design.latency import SERVICE_CS2
from pkadvisor.design.lognormal import LogNormal, expected_maximum
from pkadvisor.design.queueing import chained_equilibrium, waiting_mean
from pkadvisor.design.scaling import rate_max
from pkadvisor.observe.workload import Basis

if TYPE_CHECKING:
    from pkadvisor.limits import Limits


def _load(found: CostEstimate) -> float:
    return found.hot.entities_per_s if found.hot is not None else 0.0


def waiting(found: CostEstimate, bench: Bench) -> Term | None:
    """Mean time in the queue of the hottest partition at the peak; below its target only, above it requests are turned
    away."""
    target = bench.limits.partition_entities_per_s
    if _load(found) >= target:
        return None
    value = waiting_mean(_load(found) / target, 1000 / target, SERVICE_CS2)
    source = "M/G/1 (Pollaczek, Khinchine), one entity in 1 / target; hottest partition at its peak"
    return Term("waiting", value, "ms", Basis.ASSUMED, source)


def throttled(found: CostEstimate, bench: Bench) -> Term:
    """Attempts on the hottest partition that are turned away at the peak, under the client's retries."""
    limits = bench.limits
    settled = chained_equilibrium(_pages(found), limits.partition_entities_per_s, limits.retry_attempts)
    source = f"equilibrium of {limits.retry_attempts} retries at the hottest partition; each operation is tried "
    source += f"{settled.amplification:.3g} times, {100 * settled.lost_share:.3g} % are lost"
    return Term("throttled at peak", settled.rejected_share, "share of attempts", Basis.DERIVED, source)


def _pages(found: CostEstimate) -> list[tuple[float, float]]:
    """The load of the hottest partition by class, and how many pages each of its requests asks for one after another.

    Its classes are taken to share it as they share the whole load.
    """
    live = [c for c in found.classes if not c.analytic]
    loads = [c.peak_per_s * (c.entities_read + c.entities_written) for c in live]
    total = sum(loads)
    if not total:
        return [(_load(found), 1.0)]
    chains = (c.requests / max(1.0, c.requests - c.continuations) for c in live)
    return [(_load(found) * load / total, max(1.0, chain)) for load, chain in zip(loads, chains, strict=True)]


def fan_out_latency(found: CostEstimate, bench: Bench) -> Term | None:
    """The mean of the slowest request of the class that sends most at once."""
    widest = max(
        (c for c in found.classes if c.plan is not None and not c.plan.back and not c.analytic and c.fan_out > 1.5),
        key=lambda c: (c.fan_out, c.name),
        default=None,
    )
    if widest is None:
        return None
    trip = _read(bench.limits)
    source = f"expected maximum of {widest.fan_out:.3g} log-normal reads ({widest.name})"
    return Term("fan-out latency", expected_maximum(trip, widest.fan_out), "ms", Basis.ASSUMED, source)


def _read(limits: Limits) -> LogNormal:
    return LogNormal.through(limits.read_latency_ms_p50, limits.read_latency_ms_p99)


def rate_by_skew(found: CostEstimate, bench: Bench) -> Term | None:
    """Entities per second at which the hottest partition, or the account, is full if the shares stay as they are."""
    if found.hot is None or not found.hot.share:
        return None
    source = "min(account target, partition target / share of the hottest partition)"
    return Term(
        "rate that the skew allows", rate_max(found.hot.share, bench.limits), "entities/s", Basis.DERIVED, source
    )
