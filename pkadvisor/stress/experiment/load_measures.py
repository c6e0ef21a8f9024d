"""What the model says of a whole run, compared with the run: the hottest partition, what it turns away, latencies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.design.cost.class_cost import class_cost
from pkadvisor.design.load.breaks import scans
from pkadvisor.design.load.estimates import ClassCost
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.queueing import RetryEquilibrium, chained_equilibrium
from pkadvisor.design.rows.schedule import Schedule
from pkadvisor.documents.stress_run import StressClass, StressLoad
from pkadvisor.lazy import Floats, np
from pkadvisor.remembered import remembered
from pkadvisor.stress.experiment.predictions import ACROSS_RANGES, LOAD_TOLERANCE, SHARE_LEAST, load_measure
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.experiment.run_duration import is_steady
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.requests.retry import TRIES_MAX, RetryPolicy

LITTLE = 0.05
"""Part of a PartitionKey's own load up to which pages over several of them do not matter to it."""
LATENCY_TOLERANCE = 0.25
"""Of a predicted latency: the model takes the operations of a request for independent of one another."""
LATENCY_LEAST_MS = 1.0
"""Difference between latencies up to which none matters."""
SERVED_LEAST = {"p50": 100, "p99": 2_000}
"""Served requests of a class from which on its latency is no chance: 20 of them are slower than p99."""
RETRIED_MOST = {"p50": 0.1, "p99": 0.001}
"""Refusals for each served request up to which they do not move the latency: a retry waits longer than most answers."""
FEW_SERVED = "too few of its requests come in this run"
RETRIED = "some of its requests are retried"
RANGES_ASSUMED = "how many ranges its scan crosses is assumed"
LEAST = 0.01
"""Part of the target of a partition up to which no difference between loads matters."""
FEW = 1.0
"""Requests under way at a time, below which the law of many clients says nothing."""
OTHERS_BIND = "the partition shares its range with others"
FEW_AT_A_TIME = "the requests that make most of its load come one at a time"
TOO_SHORT = "retries do not settle in so short a run"
ROWS_GROWN = "the run reads the rows after the declared growth, the prediction those of today"
CHANGING = "the load changes during the run"
FAULTS = "the model knows no faults"
CONFLICTS = "requests that are answered 412 begin anew, which the sum of single requests leaves out"
BY_CHANCE = "so few of the requests that make most of its load come in this run that chance decides"
"""Why what is throttled is not predicted."""
STEADY_S = 60
"""Length of a run from which on the first tries of its requests are few beside their retries."""
SETTLED = 10
"""Seconds at the beginning that are left out: the burst is used up, the first retries have come."""


def load_measures(
    prepared: PreparedDesign, run: RunResult, warm: Sequence[StressClass], policy: RetryPolicy, *, faults: bool = False
) -> list[StressLoad]:
    """Predictions about the warmed-up run, each with its error. ``warm``: its queries and writes, as the document has
    them; ``faults``: whether something fails during it."""
    target = prepared.limits.partition_entities_per_s
    predicted = hottest_foreseen(prepared)
    least = LEAST * target
    begun_anew = CONFLICTS if any(counts.conflicts for counts in run.classes.values()) else ""
    tolerance = None if begun_anew else LOAD_TOLERANCE
    measured = _hottest(prepared)
    measures = [load_measure("hottest partition", "entities/s", predicted, measured, tolerance, least, begun_anew)]
    quiet = True
    if run.hottest >= 0:
        settled = settled_at(prepared, run.hottest, retries_of(policy))
        share = run.hottest_throttled / run.hottest_attempts if run.hottest_attempts else 0.0
        rejected, why = (None, OTHERS_BIND) if settled is None else (settled.rejected_share, "")
        means = not faults and is_steady(prepared.warm_load)
        if begun_anew:
            rejected, why = None, begun_anew
        elif not means:
            rejected, why = None, FAULTS if faults else CHANGING
        elif rejected and at_a_time(prepared, run.hottest, policy) < FEW:
            rejected, why = None, FEW_AT_A_TIME
        elif rejected and run.duration_ns < STEADY_S * 1_000_000_000:
            rejected, why = None, TOO_SHORT
        elif rejected and _spread(prepared, run, rejected) > LOAD_TOLERANCE:
            rejected, why = None, BY_CHANCE
        unit = "share of attempts"
        measures.append(load_measure("throttled there", unit, rejected, share, LOAD_TOLERANCE, SHARE_LEAST, why))
        quiet = settled is not None and settled.rejected_share == 0
        if means and settled is not None and not quiet and not _meets_scans(prepared, run.hottest):
            seconds = slice(SETTLED, max(SETTLED + 1, run.duration_ns // 1_000_000_000))
            through = (run.hottest_milli - run.hottest_throttled_milli)[seconds] / 1000
            if len(through):
                measured = float(through.mean())
                measures.append(load_measure("saturation there", "entities/s", target, measured, LOAD_TOLERANCE))
    if faults or begun_anew or not quiet:
        # The model's latency above a target is that of clients that never give up: there is no such run.
        return measures
    of_class = {entry.name: entry for entry in warm}
    for cost in prepared.design.estimate.classes:
        entry = of_class.get(cost.name)
        if cost.latency_ms_p99 and entry is not None and entry.served:
            grown = prepared.rows_per_key if scans(cost) else 1.0
            measures += [latency_measure(cost, entry, name, grown) for name in SERVED_LEAST]
    return measures


def latency_measure(cost: ClassCost, entry: StressClass, name: str, grown: float = 1.0) -> StressLoad:
    """The latency of a class that ``name`` of its requests do not pass, judged where enough of them were served and
    next to none of them waited for a retry, which the model does not count. ``grown``: how many times today's rows
    each of them reads in the run."""
    predicted, measured = float(getattr(cost, f"latency_ms_{name}")), getattr(entry, f"latency_ms_{name}")
    why = FEW_SERVED if entry.served < SERVED_LEAST[name] else ""
    why = RETRIED if entry.throttled > RETRIED_MOST[name] * entry.served else why
    why = RANGES_ASSUMED if cost.plan is not None and cost.plan.access in ACROSS_RANGES else why
    why = ROWS_GROWN if grown != 1 else why
    tolerance = None if why else LATENCY_TOLERANCE
    return load_measure(f"{name} of {cost.name}", "ms", predicted, measured, tolerance, LATENCY_LEAST_MS, why)


@remembered("asked")
def _asked(prepared: PreparedDesign) -> tuple[Floats, Floats]:
    """(entities/s that the warmed-up load asks of each PartitionKey alone, those of pages over several of them)."""
    weights = []
    for count, mix in zip(prepared.programs.instances, prepared.mix, strict=True):
        each = np.zeros(count)
        each[list(mix)] = list(mix.values())
        weights.append(each)
    own = np.array(prepared.partition_loads, dtype=np.float64)
    return own, prepared.steps.wide_loads(prepared.rates_per_s, weights)


def _hottest(prepared: PreparedDesign) -> float:
    """Entities/s of the PartitionKey that is asked for most."""
    own, wide = _asked(prepared)
    return float((own + wide).max(initial=0.0))


def retries_of(policy: RetryPolicy) -> int:
    """How often clients try again after 503."""
    tried = 0
    while tried < TRIES_MAX and policy.delay_ns(tried + 1, 0, 0, 503) is not None:
        tried += 1
    return tried


def retrying_s(policy: RetryPolicy) -> float:
    """How long a request tries that never comes through; infinite without retries, where nobody waits."""
    delays = [policy.delay_ns(tried, 0, 0, 503) or 0 for tried in range(1, retries_of(policy) + 1)]
    return sum(delays) / 1e9 if delays else math.inf


def loading_per_s(prepared: PreparedDesign, rank: int) -> float:
    """How many of the requests that make the load of a PartitionKey come in a second.

    Each class counts by its part of the load (the effective number of Kish, L² ÷ Σ L_i² / n_i): of a thousand small
    requests and one that reads nearly everything it is one.
    """
    steps, count = prepared.steps, len(prepared.programs.classes)
    load = small = 0.0
    for (sums, _), rate, weights in zip(
        steps.chains(steps.at(rank), count), prepared.rates_per_s, prepared.mix, strict=True
    ):
        of = np.zeros(max(len(sums), max(weights, default=0) + 1))
        of[list(weights)] = list(weights.values())
        there = np.pad(sums, (0, len(of) - len(sums)))
        if not of.sum() or not (there * of).sum():
            continue
        per_s = rate / of.sum() * of[there > 0].sum()
        mine = rate / of.sum() * float((there * of).sum())
        load, small = load + mine, small + mine * mine / per_s
    return float(load * load / small) if small else 0.0


def _spread(prepared: PreparedDesign, run: RunResult, share: float) -> float:
    """The standard deviation of what is turned away at the hottest partition, relative to its mean.

    The number of requests is that of a Poisson stream: its load varies by 1 ÷ √n; and of a load that varies by x the
    share above the target, 1 − target ÷ load, does by x · (1 − share) ÷ share.
    """
    count = loading_per_s(prepared, run.hottest) * run.duration_ns / 1e9
    return (1 - share) / share / math.sqrt(count) if count else 0.0


def at_a_time(prepared: PreparedDesign, rank: int, policy: RetryPolicy) -> float:
    """How many of the requests that make the load of a PartitionKey are under way at a time while they are retried."""
    per_s = loading_per_s(prepared, rank)
    return per_s * retrying_s(policy) if per_s else 0.0


def settled_at(prepared: PreparedDesign, rank: int, retries: int) -> RetryEquilibrium | None:
    """Where the retries of the load against a PartitionKey settle, from what its requests send one after another.

    Pages over several PartitionKeys count toward their range: of one that has a range for itself they meet the target.
    Where it has not, and they matter, nothing is turned away as long as all of the range is below its target; None
    above: which of range and server binds, and when, the law does not say.

    The law takes it that somebody always asks. Where few requests are under way at a time, clients that wait leave some
    of the target unused, and more is turned away than it says.
    """
    limits, (low, high) = prepared.limits, _range_at(prepared, rank)
    own, wide = _asked(prepared)
    target = limits.partition_entities_per_s
    if not _meets_scans(prepared, rank):
        return chained_equilibrium(chains_at(prepared, rank), target, retries)
    if high - low == 1:
        return chained_equilibrium(
            chains_at(prepared, rank, wide=True), min(target, limits.range_entities_per_s), retries
        )
    if float((own + wide)[low:high].sum()) <= limits.range_entities_per_s and own[rank] <= target:
        return chained_equilibrium(chains_at(prepared, rank), target, retries)
    return None


def _range_at(prepared: PreparedDesign, rank: int) -> tuple[int, int]:
    """The range of the warmed-up map in which a PartitionKey lies."""
    return next((each.low, each.high) for each in prepared.warm if each.low <= rank < each.high)


def _meets_scans(prepared: PreparedDesign, rank: int) -> bool:
    """Whether pages over several PartitionKeys are a part of the load of the range of one that matters to it."""
    (low, high), (own, wide) = _range_at(prepared, rank), _asked(prepared)
    return float(wide[low:high].sum()) > LITTLE * float(own[rank])


def chains_at(prepared: PreparedDesign, rank: int, *, wide: bool = False) -> Sequence[tuple[float, float]]:
    """(entities per second, pages one after another) at a PartitionKey, for each kind of request that comes there; with
    ``wide`` those of pages over several PartitionKeys too."""
    from collections import defaultdict

    assert rank >= 0, "pages over several partitions have no rank"
    steps, count = prepared.steps, len(prepared.programs.classes)
    there = steps.at(rank) if wide else steps.entities * (steps.partition == rank)
    loads: dict[float, float] = defaultdict(float)
    for (sums, stages), rate, weights in zip(
        steps.chains(there, count), prepared.rates_per_s, prepared.mix, strict=True
    ):
        total = sum(weights.values())
        for instance, weight in weights.items():
            if instance < len(sums) and stages[instance]:
                loads[float(stages[instance])] += rate * weight / total * float(sums[instance])
    return [(load, pages) for pages, load in sorted(loads.items())]


def hottest_foreseen(prepared: PreparedDesign) -> float | None:
    """Entities/s of the PartitionKey that takes most, its part of scans over several among them; None where the model
    puts no load on partitions.

    The estimate of a design is about the worst minute of each resource: a rare scan and a busy minute of something else
    may never meet. A run has rates of its own, so the same loads are added up at these.
    """
    bench, design = prepared.table.bench, prepared.design
    if design.estimate.hot is None:
        return None
    columns = {name: place for place, name in enumerate(sorted(c.name for c in bench.workload.classes))}
    peaks = {c.name: c.rate.sustained_per_s for c in bench.workload.classes}
    shares = np.zeros(len(columns))
    for name, rate, part in zip(prepared.programs.classes, prepared.rates_per_s, prepared.parts, strict=True):
        if part and peaks[name]:
            shares[columns[name]] = rate / part / peaks[name]
    loads = LoadMap(bench.population, Schedule(columns, shares[None, :], shares, np.zeros((0, len(columns)))))
    for demand in bench.demands:
        class_cost(demand, design.scheme, bench, design.estimate.transactions, loads.of(demand.query.name))
    growth = prepared.rows_per_key - 1
    # Where keys have more rows, the partition that fills first may be hotter than the one that is hottest today.
    filling = loads.first_to_fill(prepared.limits.partition_entities_per_s) if growth else None
    of_two = [load for _, load in filter(None, (loads.hottest(), filling))]
    return max((load.entities_per_s + growth * load.scanned_per_s for load in of_two), default=None)
