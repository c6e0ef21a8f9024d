"""The break factor that the model printed, proved: quiet a little below it, throttled a little above.

The load of the proof is even, without chance, on the map that this very load converges to, and on enough servers that
only the predicted limit can bind. One PartitionKey is proved by the requests that touch it: the rest of the load cannot
matter to it. There are two ways to prove it:

- *attempts*: clients that never try again. Nothing is turned away at 0.9 of the factor, some at 1.1.
- *entities*: where one request alone reads more than the burst of its partition, some of it is turned away at any rate.
  Clients then try until they get through: all that is asked for is read at 0.9, no more than the target at 1.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pkadvisor.design import breaks
from pkadvisor.engine.options import SECOND
from pkadvisor.observe.workload import GrowthOf
from pkadvisor.report.page import amount, percent, ratio
from pkadvisor.report.result import number
from pkadvisor.stresser.even_load import EvenLoad
from pkadvisor.stresser.flat_steps import FlatSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pkadvisor.design.estimates import Break
    from pkadvisor.limits import Limits
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.retry import RetryPolicy
    from pkadvisor.stress.run_result import RunResult
    from pkadvisor.stress.scripts import Script, Scripts
    from pkadvisor.stresser.request import StressRequest
    from pkadvisor.stresser.stand import Stand

BELOW, ABOVE = 0.9, 1.1
SECONDS = 40.0
"""At 1.1 of a target the burst of a second is gone after ten of them."""
ACCOUNT_SECONDS = 16.0
REQUESTS_MAX = 1_000_000
"""Requests of one proof run, at most: above it the run is shorter, and none is made where it would be too short."""
SECONDS_LEAST = 14.0
QUIET = 0.002
"""Share of attempts turned away up to which a run is quiet."""
ALL, CAPPED = 0.97, 1.02
"""Of what is asked for all is said to be read from here on; of the target no more than this is said to be its cap."""
REQUESTS_DEEP = 40
"""A proof by entities lasts for so many times the largest request."""
TRIES = 100_000
FEW_REQUESTS = 30_000
"""Up to so many, one attempt after the other is sooner done than arrays: the integers are the same."""
SERVER_SHARE = 0.25
"""Of a server's target that the load would use if it lay evenly on all of them."""
NOT_ENFORCED = {
    breaks.ENTITY: "updates of one entity fail by their ETag, not by a target",
    breaks.SCANS: "no target of the service limits entities per second of an account",
}


def rate_break(stand: Stand) -> Break | None:
    """The first limit that a growing rate passes; None where none does."""
    found = [b for b in stand.design.estimate.breaks if GrowthOf.RATE in b.by and math.isfinite(b.factor)]
    return min(found, key=lambda b: b.factor, default=None)


def proof_of(stand: Stand, request: StressRequest, load_at: Callable[..., Load]) -> dict[str, Any] | None:
    """The proof; None where nothing breaks under a growing rate. ``load_at(stand, factor, seconds, weigh)`` makes the
    worst minute of a resource."""
    found = rate_break(stand)
    if found is None:
        return None
    out: dict[str, Any] = {
        "cause": found.cause,
        "resource": found.resource,
        "factor": number(found.factor),
        "by": None,
        "below": None,
        "above": None,
        "holds": None,
    }
    told = f"breaks at {ratio(found.factor)} ({found.cause})"
    if found.cause in NOT_ENFORCED:
        return out | {"sentence": f"{told}: not to be proved here, {NOT_ENFORCED[found.cause]}"}
    if found.factor <= 0:
        return out | {"sentence": f"is above its limit whatever the rate ({found.cause})"}
    whole = found.cause != breaks.PARTITION
    aim = _whole(stand, load_at) if whole else _hottest(stand, load_at)
    seconds = ACCOUNT_SECONDS if found.cause == breaks.ACCOUNT else SECONDS
    seconds = min(seconds, REQUESTS_MAX / max(1e-9, ABOVE * found.factor * aim.load.per_s))
    if seconds < SECONDS_LEAST:
        return out | {"sentence": f"{told}: not proved here, it would take too many requests"}
    if aim.alone and not whole:
        return out | _by_entities(stand, request, found.factor, aim, told)
    return out | _by_attempts(stand, request, found.factor, aim, told, seconds)


@dataclass(frozen=True, slots=True)
class _Aim:
    """What a proof sends: the load at 1x, its scripts, the PartitionKey that is looked at (−1: everything).

    ``alone``: by class that is throttled on an idle store, the entities of its largest request; ``largest`` of all.
    """

    load: EvenLoad
    scripts: Scripts
    rank: int
    alone: Mapping[str, float]
    largest: float


def _whole(stand: Stand, load_at: Callable[..., Load]) -> _Aim:
    return _Aim(_even(stand, load_at, None), _still(stand.scripts), -1, {}, 0.0)


def _hottest(stand: Stand, load_at: Callable[..., Load]) -> _Aim:
    """The requests that touch the PartitionKey that takes most in the minute that is the worst for it."""
    import numpy as np

    scripts, count = _still(stand.scripts), len(stand.programs.classes)
    steps = FlatSteps.of(scripts.space, scripts.epochs[0], stand.limits)
    weigh: dict[str, float] | None = None
    rank = -1
    for _ in range(3):
        load = _even(stand, load_at, weigh)
        again = int(np.argmax(steps.partition_loads(steps.rates(load.rates_per_s, load.weights))))
        if again == rank:
            break
        rank = again
        full = [_sustained(stand, name) for name in stand.programs.classes]
        there = steps.rates(full, load.weights) * steps.entities * (steps.partition == rank)
        by_class = np.bincount(steps.class_, there, minlength=count)
        weigh = dict(zip(stand.programs.classes, by_class.tolist(), strict=True))
    kept = steps.touching(rank, count)
    alone: dict[str, float] = {}
    largest = 0.0
    for name, of_class, instances in zip(stand.programs.classes, scripts.epochs[0], kept, strict=True):
        for instance in instances.tolist():
            asked, turned = on_idle_store(of_class[instance], rank, stand)
            largest = max(largest, asked)
            if turned:
                alone[name] = max(alone.get(name, 0.0), asked)
    return _Aim(load.only(kept), scripts, rank, alone, largest)


def _sustained(stand: Stand, name: str) -> float:
    return next(c.rate.sustained_per_s for c in stand.table.bench.workload.classes if c.name == name)


def _even(stand: Stand, load_at: Callable[..., Load], weigh: Mapping[str, float] | None) -> EvenLoad:
    """The worst minute of a resource, at 1x and without chance."""
    from pkadvisor.stress.load import WorkloadLoad

    found = load_at(stand, 1.0, 60.0, weigh)
    assert isinstance(found, WorkloadLoad), "the worst minute is made of classes"
    rates = tuple(part.rate.expected(found.duration_ns) * SECOND / found.duration_ns for part in found.parts)
    return EvenLoad(found.classes, rates, tuple(part.weights for part in found.parts), found.duration_ns)


def _still(scripts: Scripts) -> Scripts:
    """The scripts of the first epoch: keys with a period in them stay those of its beginning."""
    from pkadvisor.stress.scripts import Scripts

    return Scripts(scripts.space, scripts.classes, scripts.epochs[:1])


def on_idle_store(script: Script, rank: int, stand: Stand) -> tuple[float, bool]:
    """(entities that one request counts at a PartitionKey, whether some of it is turned away though nobody else comes).

    The service's own bucket, with the time that each stage takes in the median.
    """
    from pkadvisor.engine.capacity.buckets import MILLI, TokenBucket, milli
    from pkadvisor.engine.capacity.service_times import Kind, ServiceTimes
    from pkadvisor.stress.measures import nominal_ns, offered_milli

    limits: Limits = stand.limits
    times = ServiceTimes(limits, stand.options, 0)
    bucket = TokenBucket(milli(limits.partition_entities_per_s), round(limits.burst_s * SECOND))
    at_ns = asked = 0
    turned = False
    for stage in script.stages:
        for step in (step for step in stage if step.partition == rank):
            cost = MILLI * step.entities if step.kind == Kind.WRITE else MILLI
            turned = turned or not bucket.has(cost, at_ns)
            bucket.take(offered_milli(step, limits))
            asked += offered_milli(step, limits)
        at_ns += max((nominal_ns(times, step) for step in stage), default=0)
    return asked / MILLI, turned


def run_on_own_map(
    stand: Stand, request: StressRequest, policy: RetryPolicy, load: Load, scripts: Scripts, *, servers: int
) -> RunResult:
    """A run under strict targets on the map that this load converges to."""
    from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
    from pkadvisor.stress.fluid import run_fluid
    from pkadvisor.stress.loop import run_loop
    from pkadvisor.stress.stamp_map import FixedMap
    from pkadvisor.stress.warm import counted_load, warm_map

    counted = counted_load(load, scripts, stand.limits)
    total = float(counted.sum(axis=1).max()) / 1000
    enough = math.ceil(total / (SERVER_SHARE * stand.limits.server_entities_per_s))
    names = tuple(f"server-{place}" for place in range(max(servers, enough)))
    ranges = warm_map(counted, stand.limits, names, stand.options)
    capacity = Capacity(stand.limits, stand.options, Enforcement.STRICT, request.seed)
    if isinstance(load, EvenLoad) and load.per_s * load.duration_ns / SECOND <= FEW_REQUESTS:
        return run_loop(load, scripts, capacity, FixedMap(ranges), policy, seed=request.seed)
    return run_fluid(
        load, scripts, capacity, FixedMap(ranges), policy, seed=request.seed, accelerate=request.accelerate
    )


def _by_attempts(
    stand: Stand, request: StressRequest, factor: float, aim: _Aim, told: str, seconds: float
) -> dict[str, Any]:
    from pkadvisor.stress.retry import policy_of

    shares = []
    for times in (BELOW, ABOVE):
        load = aim.load.times(times * factor, seconds)
        run = run_on_own_map(stand, request, policy_of("none"), load, aim.scripts, servers=request.servers)
        attempts, throttled = run.hottest_attempts, run.hottest_throttled
        if aim.rank < 0:
            attempts, throttled = int(run.offered.sum()), int(run.throttled.sum())
        shares.append(throttled / attempts if attempts else 0.0)
    below, above = shares
    holds = below <= QUIET < above
    return {
        "by": "attempts",
        "below": number(below),
        "above": number(above),
        "holds": holds,
        "sentence": f"{told}: {percent(below)} throttled at 0.9 of that, {percent(above)} at 1.1: {_verb(holds)}",
    }


def _by_entities(stand: Stand, request: StressRequest, factor: float, aim: _Aim, told: str) -> dict[str, Any]:
    from pkadvisor.stress.retry import Backoff

    target = stand.limits.partition_entities_per_s
    seconds = max(SECONDS, REQUESTS_DEEP * aim.largest / target)
    seconds = min(seconds, REQUESTS_MAX / max(1e-9, ABOVE * factor * aim.load.per_s))
    patient = Backoff("patient", (SECOND,) * TRIES)
    served, capped = [], []
    for times in (BELOW, ABOVE):
        load = aim.load.times(times * factor, seconds)
        run = run_on_own_map(stand, request, patient, load, aim.scripts, servers=request.servers)
        whole = slice(0, load.duration_ns // SECOND)
        through = (run.hottest_milli - run.hottest_throttled_milli)[whole] / 1000
        steps = FlatSteps.of(aim.scripts.space, aim.scripts.epochs[0], stand.limits)
        asked = float(steps.partition_loads(steps.rates(load.rates_per_s, load.weights))[aim.rank])
        served.append(float(through.mean()) / asked if asked else 1.0)
        late = through[len(through) // 4 :]
        capped.append(float(late.mean()) / target)
    holds = served[0] >= ALL and capped[1] <= CAPPED and served[1] < ALL
    name = max(aim.alone, key=lambda each: (aim.alone[each], each))
    reads = aim.alone[name]
    return {
        "by": "entities",
        "below": number(served[0]),
        "above": number(served[1]),
        "holds": holds,
        "sentence": (
            f"{told}: one {name} request reads {amount(reads)} entities of one partition, more than its burst of "
            f"{amount(target * stand.limits.burst_s)}: it is throttled at any rate; clients that try until they get "
            f"through read {percent(served[0])} of what they ask for at 0.9 of that, {percent(served[1])} at 1.1, "
            f"{ratio(capped[1])} of the target: {_verb(holds)}"
        ),
    }


def _verb(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"
