"""What the model says of a whole run, held against the run: the hottest partition, what it turns away, latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.design.queueing import RetryEquilibrium, chained_equilibrium
from pkadvisor.stress.retry import TRIES_MAX
from pkadvisor.stress.scripts import SEVERAL
from pkadvisor.stresser.predictions import load_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stresser.stand import Stand

SETTLED = 10
"""Seconds at the beginning that are left out: the burst is used up, the first retries have come."""


def load_measures(
    stand: Stand, run: RunResult, warm: dict[str, Any], policy: RetryPolicy, times: float
) -> list[dict[str, Any]]:
    """Predictions about the warmed-up run, each with its error. ``times``: the load over the worst minute that the
    estimate is about; ``warm`` is the run as the document has it."""
    hot, target = stand.design.estimate.hot, stand.limits.partition_entities_per_s
    predicted = None if hot is None else times * hot.entities_per_s
    found = [load_measure("hottest partition", "entities/s", predicted, max(stand.partition_loads, default=0.0))]
    quiet = True
    if run.hottest >= 0:
        settled = settled_at(stand, run.hottest, retries_of(policy))
        share = run.hottest_throttled / run.hottest_attempts if run.hottest_attempts else 0.0
        found.append(load_measure("throttled there", "share of attempts", settled.rejected_share, share))
        quiet = settled.rejected_share == 0
        if not quiet:
            seconds = slice(SETTLED, max(SETTLED + 1, run.duration_ns // 1_000_000_000))
            through = (run.hottest_milli - run.hottest_throttled_milli)[seconds] / 1000
            if len(through):
                found.append(load_measure("saturation there", "entities/s", target, float(through.mean())))
    if not quiet:
        # The model's latency above a target is that of clients that never give up: there is no such run.
        return found
    of_class = {entry["name"]: entry for entry in warm["classes"]}
    for cost in stand.design.estimate.classes:
        entry = of_class.get(cost.name)
        if not cost.latency_ms_p99 or entry is None or not entry["served"]:
            continue
        for name in ("p50", "p99"):
            of_model = float(getattr(cost, f"latency_ms_{name}"))
            found.append(load_measure(f"{name} of {cost.name}", "ms", of_model, entry[f"latency_ms_{name}"]))
    return found


def retries_of(policy: RetryPolicy) -> int:
    """How often clients try again after 503."""
    tried = 0
    while tried < TRIES_MAX and policy.delay_ns(tried + 1, 0, 0, 503) is not None:
        tried += 1
    return tried


def settled_at(stand: Stand, rank: int, retries: int) -> RetryEquilibrium:
    """Where the retries of the load against a PartitionKey settle, from what its requests send one after another."""
    return chained_equilibrium(chains_at(stand, rank), stand.limits.partition_entities_per_s, retries)


def chains_at(stand: Stand, rank: int) -> Sequence[tuple[float, float]]:
    """(entities per second, pages one after another) at a PartitionKey, for each kind of request that comes there."""
    from collections import defaultdict

    from pkadvisor.stresser.expected import counted

    found: dict[float, float] = defaultdict(float)
    for of_class, rate, weights in zip(stand.scripts.epochs[0], stand.rates_per_s, stand.mix, strict=True):
        total = sum(weights.values())
        for instance, weight in weights.items():
            stages = [
                sum(counted(step, stand.limits) for step in stage if step.partition == rank)
                for stage in of_class[instance].stages
            ]
            there = [entities for entities in stages if entities]
            if there:
                found[float(len(there))] += rate * weight / total * sum(there)
    assert SEVERAL < 0 <= rank, "pages over several partitions have no rank"
    return [(load, pages) for pages, load in sorted(found.items())]
