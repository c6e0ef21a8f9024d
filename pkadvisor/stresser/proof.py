"""The break factor that the model printed, proved: quiet a little below it, throttled a little above.

The load of the proof is even, without chance, on the map that this very load converges to, and on enough servers. One
PartitionKey is proved by the requests that touch it, with no other target in force: the rest of the load cannot matter
to it. Of a table of which some keys are at hand, each of them gets its part of the load; a limit of the whole account,
which has to get all of it, is then proved with no other target in force. There are two ways to prove it:

- *attempts*: clients that never try again. Nothing is turned away at 0.9 of the factor, some at 1.1.
- *entities*: where one request alone reads more than the burst of its partition, some of it is turned away at any rate.
  Clients then try until they get through: all that is asked for is read at 0.9, no more than the target at 1.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pkadvisor.design import breaks
from pkadvisor.engine.options import SECOND
from pkadvisor.observe.workload import GrowthOf
from pkadvisor.report.page import amount, percent, ratio
from pkadvisor.report.result import number
from pkadvisor.stresser.even_load import EvenLoad
from pkadvisor.stresser.flat_steps import FlatSteps
from pkadvisor.stresser.runs import run_on_own_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pkadvisor.design.estimates import Break
    from pkadvisor.engine.capacity.service_times import ServiceTimes
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
COARSE = 0.1
"""Part of the burst from which on a request is large: some that come together use it up, below the target in the
mean."""
LIFTED = 1e9
"""A target that nothing reaches, per second."""
COARSE = 0.1
"""Part of the burst from which on a request is large: some that come together use it up, below the target in the
mean."""
LIFTED = 1e9
"""A target that nothing reaches, per second."""
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
        "load": None,
        "holds": None,
    }
    told = f"breaks at {ratio(found.factor)} ({found.cause})"
    if found.cause in NOT_ENFORCED:
        return out | {"sentence": f"{told}: not to be proved here, {NOT_ENFORCED[found.cause]}"}
    if found.factor <= 0:
        return out | {"sentence": f"is above its limit whatever the rate ({found.cause})"}
    whole = found.cause != breaks.PARTITION
    aim = _whole(stand, load_at, found.cause) if whole else _hottest(stand, load_at)
    seconds = ACCOUNT_SECONDS if found.cause == breaks.ACCOUNT else SECONDS
    seconds = min(seconds, REQUESTS_MAX / max(1e-9, ABOVE * found.factor * aim.load.per_s))
    if seconds < SECONDS_LEAST:
        return out | {"sentence": f"{told}: not proved here, it would take too many requests"}
    if aim.alone:
        return out | _by_entities(stand, request, found.factor, aim, told)
    tried = _by_attempts(stand, request, found.factor, aim, told, seconds)
    burst = stand.limits.partition_entities_per_s * stand.limits.burst_s
    if tried["below"] > QUIET and aim.largest >= COARSE * burst:
        return out | _by_entities(stand, request, found.factor, aim, told)
    return out | tried


@dataclass(frozen=True, slots=True)
class _Aim:
    """What a proof sends: the load at 1x, its scripts, the PartitionKey that is looked at (−1: everything).

    ``alone``: by class that is throttled on an idle store, the entities of its largest request; ``largest`` of all.
    ``spread``: pages over several PartitionKeys are part of the predicted load of the key. The service counts them
    toward the range that it is alone in, so that target is in force too.
    """

    load: EvenLoad
    scripts: Scripts
    rank: int
    alone: Mapping[str, float]
    largest: float
    account: bool = False
    spread: bool = False


def _whole(stand: Stand, load_at: Callable[..., Load], cause: str) -> _Aim:
    """All requests, in the minute with the most of them where the account is the limit."""
    account = cause == breaks.ACCOUNT
    weigh = None
    if account:
        costs = {c.name: c.requests for c in stand.design.estimate.classes}
        weigh = {name: _sustained(stand, name) * costs[name] for name in stand.programs.classes}
    return _Aim(_even(stand, load_at, weigh), _still(stand.scripts), -1, {}, 0.0, account)


def _hottest(stand: Stand, load_at: Callable[..., Load]) -> _Aim:
    """The requests that touch the PartitionKey that takes most in the minute that is the worst for it."""
    import numpy as np

    from pkadvisor.engine.capacity.service_times import ServiceTimes

    scripts, count = _still(stand.scripts), len(stand.programs.classes)
    there_are = at_hand_by_class(stand)
    steps = FlatSteps.of(scripts.space, scripts.epochs[0], stand.limits)
    weigh: dict[str, float] | None = None
    hot = stand.design.estimate.hot
    known = -1 if hot is None or hot.partition_key not in scripts.space.keys else scripts.space.rank(hot.partition_key)
    rank = -1
    for _ in range(3):
        load = _even(stand, load_at, weigh).diluted(there_are)
        rates = steps.rates(load.rates_per_s, load.weights)
        again = known if known >= 0 else int(np.argmax(steps.partition_loads(rates)))
        if again == rank:
            break
        rank = again
        full = [_sustained(stand, name) * part for name, part in zip(load.classes, there_are, strict=True)]
        there = steps.rates(full, load.weights) * steps.entities * (steps.partition == rank)
        by_class = np.bincount(steps.class_, there, minlength=count)
        weigh = dict(zip(stand.programs.classes, by_class.tolist(), strict=True))
    kept = steps.touching(rank, count)
    alone: dict[str, float] = {}
    largest = 0.0
    times = ServiceTimes(stand.limits, stand.options, 0)
    for name, of_class, instances in zip(stand.programs.classes, scripts.epochs[0], kept, strict=True):
        for instance in instances.tolist():
            asked, turned = on_idle_store(of_class[instance], rank, stand, times)
            largest = max(largest, asked)
            if turned:
                alone[name] = max(alone.get(name, 0.0), asked)
    single, wide = float(steps.partition_loads(rates)[rank]), steps.spread_at(rates, rank)
    predicted = hot.entities_per_s if hot is not None else single
    spread = abs(single + wide - predicted) < abs(single - predicted)
    return _Aim(load.only(kept), scripts, rank, alone, largest, spread=spread)


def at_hand_by_class(stand: Stand) -> list[float]:
    """By class the part of what the hottest PartitionKey would take if the keys at hand were all of the table."""
    from pkadvisor.design.class_cost import kept_share

    population, hot = stand.table.bench.population, stand.design.estimate.hot
    found = []
    for demand in stand.programs.demands:
        kept = kept_share(demand, population)
        logged = bool(len(demand.instances)) and int(demand.instances[0]) >= population.rows
        found.append(kept if kept is not None else 1.0 if logged or hot is None else hot.at_hand)
    return found


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


def on_idle_store(script: Script, rank: int, stand: Stand, times: ServiceTimes) -> tuple[float, bool]:
    """(entities that one request counts at a PartitionKey, whether some of it is turned away though nobody else comes).

    The service's own bucket, with the time that each stage takes in the median.
    """
    from pkadvisor.engine.capacity.buckets import MILLI, TokenBucket, milli
    from pkadvisor.engine.capacity.service_times import Kind
    from pkadvisor.stress.measures import nominal_ns, offered_milli

    limits: Limits = stand.limits
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


def _run(
    stand: Stand, request: StressRequest, policy: RetryPolicy, aim: _Aim, load: Load, enforced: Limits | None = None
) -> RunResult:
    """A run under strict targets on as many servers as the load needs."""
    from pkadvisor.engine.capacity.capacity import Enforcement
    from pkadvisor.stress.warm import counted_load

    counted = counted_load(load, aim.scripts, stand.limits)
    total = float(counted.sum(axis=1).max()) / 1000
    enough = math.ceil(total / (SERVER_SHARE * stand.limits.server_entities_per_s))
    strict = replace(request, enforcement=Enforcement.STRICT, servers=max(request.servers, enough))
    return run_on_own_map(stand, strict, policy, load, aim.scripts, enforced, counted)


def _enforced(stand: Stand, aim: _Aim) -> Limits | None:
    """The targets of a proof; None for all of them."""
    if aim.rank >= 0:
        alone = _partition_alone(stand.limits)
        return replace(alone, range_entities_per_s=stand.limits.range_entities_per_s) if aim.spread else alone
    return _account_alone(stand.limits) if aim.account and not stand.table.bench.population.complete else None


def _account_alone(limits: Limits) -> Limits:
    """The limits without the targets that a part of the keys would meet too early."""
    return replace(
        limits,
        partition_entities_per_s=LIFTED,
        range_entities_per_s=LIFTED,
        range_bytes_per_s=LIFTED,
        server_entities_per_s=LIFTED,
    )


def _partition_alone(limits: Limits) -> Limits:
    """The limits without the targets of what a PartitionKey shares with others: pages over several of them count toward
    its range alone."""
    return replace(
        limits,
        range_entities_per_s=LIFTED,
        range_bytes_per_s=LIFTED,
        server_entities_per_s=LIFTED,
        account_requests_per_s=LIFTED,
    )


def _by_attempts(
    stand: Stand, request: StressRequest, factor: float, aim: _Aim, told: str, seconds: float
) -> dict[str, Any]:
    from pkadvisor.stress.retry import policy_of

    shares = []
    enforced = _enforced(stand, aim)
    for times in (BELOW, ABOVE):
        load = aim.load.times(times * factor, seconds)
        run = _run(stand, request, policy_of("none"), aim, load, enforced)
        attempts, throttled = run.hottest_attempts, run.hottest_throttled
        if aim.rank < 0 or aim.spread:
            attempts, throttled = int(run.offered.sum()), int(run.throttled.sum())
        shares.append(throttled / attempts if attempts else 0.0)
    below, above = shares
    asked = _times_target(stand, aim, factor)
    holds = below <= QUIET < above and (asked is None or BELOW < asked < ABOVE)
    return {
        "by": "attempts",
        "load": None if asked is None else number(asked),
        "below": number(below),
        "above": number(above),
        "holds": holds,
        "sentence": f"{told}: {percent(below)} throttled at 0.9 of that, {percent(above)} at 1.1: {_verb(holds)}",
    }


def _times_target(stand: Stand, aim: _Aim, factor: float) -> float | None:
    """What is asked for at the factor, over the target: 1 where model and scripts agree. A burst cannot hide it.

    None for a limit that is neither of a PartitionKey nor of the account.
    """
    import numpy as np

    steps = FlatSteps.of(aim.scripts.space, aim.scripts.epochs[0], stand.limits)
    rates = steps.rates(aim.load.rates_per_s, aim.load.weights) * factor
    if aim.rank >= 0:
        there = float(steps.partition_loads(rates)[aim.rank])
        there += steps.spread_at(rates, aim.rank) if aim.spread else 0.0
        return there / stand.limits.partition_entities_per_s
    if aim.account:
        weights = steps.entities if stand.limits.account_counts_entities else np.ones(len(rates))
        return float((rates * weights).sum()) / stand.limits.account_requests_per_s
    return None


def _by_entities(stand: Stand, request: StressRequest, factor: float, aim: _Aim, told: str) -> dict[str, Any]:
    from pkadvisor.stress.retry import Backoff

    target = stand.limits.partition_entities_per_s
    seconds = max(SECONDS, REQUESTS_DEEP * aim.largest / target)
    seconds = min(seconds, REQUESTS_MAX / max(1e-9, ABOVE * factor * aim.load.per_s))
    patient = Backoff("patient", (SECOND,) * TRIES)
    served, capped = [], []
    for times in (BELOW, ABOVE):
        load = aim.load.times(times * factor, seconds)
        run = _run(stand, request, patient, aim, load, _enforced(stand, aim))
        whole = slice(0, load.duration_ns // SECOND)
        through = (run.hottest_milli - run.hottest_throttled_milli)[whole] / 1000
        steps = FlatSteps.of(aim.scripts.space, aim.scripts.epochs[0], stand.limits)
        asked = float(steps.partition_loads(steps.rates(load.rates_per_s, load.weights))[aim.rank])
        served.append(float(through.mean()) / asked if asked else 1.0)
        late = through[len(through) // 4 :]
        capped.append(float(late.mean()) / target)
    holds = served[0] >= ALL and capped[1] <= CAPPED and served[1] < ALL and BELOW < asked / ABOVE / target < ABOVE
    burst = amount(target * stand.limits.burst_s)
    name = max(aim.alone, key=lambda each: (aim.alone[each], each), default="")
    if name:
        why = f"one {name} request reads {amount(aim.alone[name])} entities of one partition, more than its burst of "
        why += f"{burst}: it is throttled at any rate"
    else:
        why = f"a request reads up to {amount(aim.largest)} entities, and some at once use up the burst of {burst}"
    return {
        "by": "entities",
        "load": number(asked / ABOVE / target),
        "below": number(served[0]),
        "above": number(served[1]),
        "holds": holds,
        "sentence": (
            f"{told}: {why}; clients that try until they get "
            f"through read {percent(served[0])} of what they ask for at 0.9 of that, {percent(served[1])} at 1.1, "
            f"{ratio(capped[1])} of the target: {_verb(holds)}"
        ),
    }


def _verb(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"
