"""The break factor that the model printed, proved: quiet a little below it, throttled a little above.

The load of the proof is even, without chance, on the map that this very load converges to, and on enough servers
(``proof_aim.py`` says what it is made of). Of a table of which some keys are at hand, each of them gets its part of the
load; a limit of the whole account, which has to get all of it, is then proved with no other target in force. There are
two ways to prove it:

- *attempts*: clients that never try again. Nothing is turned away at 0.9 of the factor, some at 1.1.
- *entities*: where one request alone reads more than the burst of its partition, some of it is turned away at any rate.
  Clients then try until they get through: all that is asked for is read at 0.9, no more than the target at 1.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pkadvisor.design.load import breaks
from pkadvisor.design.load.estimates import Break
from pkadvisor.documents.part import number, word
from pkadvisor.documents.stress_run import StressBreak
from pkadvisor.engine.capacity.buckets import MILLI, TokenBucket, milli
from pkadvisor.engine.capacity.capacity import Enforcement
from pkadvisor.engine.capacity.service_times import Kind, ServiceTimes
from pkadvisor.engine.options import SECOND
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.observe.workload import GrowthOf
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.runs import LIFTED, LIFTED_LITTLE, run_on_own_map
from pkadvisor.stress.load.even_load import EvenLoad
from pkadvisor.stress.load.load import Load, WorkloadLoad
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.requests.flat_steps import FlatSteps
from pkadvisor.stress.requests.retry import Backoff, RetryPolicy, policy_of
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts
from pkadvisor.stress.simulate.measures import nominal_ns, offered_milli
from pkadvisor.stress.simulate.warm import counted_load
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# What the proof of a break factor sends: the requests that load the resource, at their rates of its worst minute.

LITTLE = 0.01
"""Part of a PartitionKey's own load up to which pages over several of them do not matter to its proof."""
TRIED = 64
"""Requests of a class that are tried on an idle store, the largest first."""
ROUNDS = 3
"""How often the worst minute and the PartitionKey that is hottest in it are looked for, each by the other."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a proof sends: the load at 1x, its scripts, the PartitionKey that is looked at (−1: everything).

    ``alone``: by class that is throttled on an idle store, the entities of its largest request; ``largest`` of all.
    ``spread``: pages over several PartitionKeys are part of the predicted load of the key. The service counts them
    toward the range that it is alone in, so that target is in force too.
    """

    load: EvenLoad
    scripts: Scripts
    steps: FlatSteps
    rank: int
    alone: Mapping[str, float]
    largest: float
    account: bool = False
    spread: bool = False

    def asked_per_s(self, limits: Limits, factor: float) -> float:
        """What is asked for of the resource at a factor: entities/s, of the account what it counts."""
        steps = self.steps
        rates = steps.rates(self.load.rates_per_s, self.load.weights) * factor
        if self.rank >= 0:
            wide = steps.spread_at(rates, self.rank) if self.spread else 0.0
            return float(steps.partition_loads(rates)[self.rank]) + wide
        weights = steps.entities if limits.account_counts_entities else np.ones(len(rates))
        return float((rates * weights).sum())

    def enforced(self, prepared: PreparedDesign, entities_per_s: float) -> Limits | None:
        """The targets that are in force; None for all of them. ``entities_per_s``: all that is sent.

        Of a PartitionKey its own: the rest of the load cannot matter to it. Of an account its own, where a part of the
        keys would meet others too early.
        """
        limits = prepared.limits
        lifted = LIFTED_LITTLE if 2 * entities_per_s <= LIFTED_LITTLE else LIFTED
        alone = replace(
            limits,
            range_entities_per_s=lifted,
            range_bytes_per_s=LIFTED,
            server_entities_per_s=lifted,
            account_requests_per_s=lifted,
        )
        if self.rank >= 0:
            return replace(alone, range_entities_per_s=limits.range_entities_per_s) if self.spread else alone
        if not self.account or prepared.table.bench.population.complete:
            return None
        return replace(alone, partition_entities_per_s=lifted, account_requests_per_s=limits.account_requests_per_s)


def aim_of(prepared: PreparedDesign, load_at: Callable[..., Load], cause: str) -> Aim:
    """What proves a limit of this cause."""
    return _hottest(prepared, load_at) if cause == breaks.PARTITION else _whole(prepared, load_at, cause)


def _whole(prepared: PreparedDesign, load_at: Callable[..., Load], cause: str) -> Aim:
    """All requests, in the minute with the most of them where the account is the limit."""
    account = cause == breaks.ACCOUNT
    weigh = None
    if account:
        costs = {c.name: c.requests for c in prepared.design.estimate.classes}
        weigh = {name: _sustained(prepared, name) * costs[name] for name in prepared.programs.classes}
    return Aim(_even(prepared, load_at, weigh), _still(prepared.scripts), prepared.steps, -1, {}, 0.0, account)


def _hottest(prepared: PreparedDesign, load_at: Callable[..., Load]) -> Aim:
    """The requests that touch the PartitionKey that takes most in the minute that is the worst for it.

    Pages over several PartitionKeys are taken for part of its load where the prediction is nearer to the sum.
    """
    scripts, count = _still(prepared.scripts), len(prepared.programs.classes)
    hot, there_are = prepared.design.estimate.hot, prepared.parts
    steps = prepared.steps
    weigh: dict[str, float] | None = None
    known = -1 if hot is None or hot.partition_key not in scripts.space.keys else scripts.space.rank(hot.partition_key)
    rank = -1
    for _ in range(ROUNDS):
        load = _even(prepared, load_at, weigh).diluted(there_are)
        rates = steps.rates(load.rates_per_s, load.weights)
        again = known if known >= 0 else int(np.argmax(steps.partition_loads(rates)))
        if again == rank:
            break
        rank = again
        full = [_sustained(prepared, name) * part for name, part in zip(load.classes, there_are, strict=True)]
        by_class = np.bincount(steps.class_, steps.rates(full, load.weights) * steps.at(rank), minlength=count)
        weigh = dict(zip(prepared.programs.classes, by_class.tolist(), strict=True))
    single, wide = float(steps.partition_loads(rates)[rank]), steps.spread_at(rates, rank)
    predicted = hot.entities_per_s if hot is not None else single
    spread = wide > LITTLE * single and abs(single + wide - predicted) < abs(single - predicted)
    touching = steps.touching(rank, count)
    there = steps.at(rank) if spread else steps.entities * (steps.partition == rank)
    asked = [each for each, _ in steps.chains(there, count)]
    alone, times = {}, ServiceTimes(prepared.limits, prepared.options, 0)
    burst = prepared.limits.partition_entities_per_s * prepared.limits.burst_s
    for name, of_class, each in zip(prepared.programs.classes, scripts.epochs[0], asked, strict=True):
        # What a full bucket holds is never turned away on an idle store.
        for instance in sorted(np.flatnonzero(each > burst).tolist(), key=lambda i: (-each[i], i))[:TRIED]:
            if on_idle_store(of_class[instance], rank, prepared, times, scripts.space if spread else None)[1]:
                alone[name] = float(each[instance])
                break
    largest = max((float(each.max(initial=0.0)) for each in asked), default=0.0)
    return Aim(load.only(touching), scripts, steps, rank, alone, largest, spread=spread)


def _sustained(prepared: PreparedDesign, name: str) -> float:
    return next(c.rate.sustained_per_s for c in prepared.table.bench.workload.classes if c.name == name)


def _even(prepared: PreparedDesign, load_at: Callable[..., Load], weigh: Mapping[str, float] | None) -> EvenLoad:
    """The worst minute of a resource, at 1x and without chance."""
    load = load_at(prepared, 1.0, 60.0, weigh)
    assert isinstance(load, WorkloadLoad), "the worst minute is made of classes"
    rates = tuple(part.rate.expected(load.duration_ns) * SECOND / load.duration_ns for part in load.parts)
    return EvenLoad(load.classes, rates, tuple(part.weights for part in load.parts), load.duration_ns)


def _still(scripts: Scripts) -> Scripts:
    """The scripts of the first epoch: keys with a period in them stay those of its beginning."""
    return scripts if len(scripts.epochs) == 1 else Scripts(scripts.space, scripts.classes, scripts.epochs[:1])


def on_idle_store(
    script: Script, rank: int, prepared: PreparedDesign, times: ServiceTimes, space: KeySpace | None = None
) -> tuple[float, bool]:
    """(entities that one request counts at a PartitionKey, whether some of it is turned away though nobody else comes).

    The service's own bucket, with the time that each stage takes in the median. With ``space``, pages over several
    PartitionKeys count with the part of its rows.
    """
    limits: Limits = prepared.limits
    bucket = TokenBucket(milli(limits.partition_entities_per_s), round(limits.burst_s * SECOND))
    at_ns = asked = 0
    turned = False
    for stage in script.stages:
        for step in stage:
            counted = offered_milli(step, limits)
            if space is not None and step.partition == SEVERAL and step.low <= rank < step.high:
                rows = max(1, int(space.rows[step.low : step.high].sum()))
                counted = counted * int(space.rows[rank]) // rows
            elif step.partition != rank:
                continue
            cost = MILLI * step.entities if step.kind == Kind.WRITE else MILLI
            turned = turned or not bucket.has(cost, at_ns)
            bucket.take(counted)
            asked += counted
        at_ns += max((nominal_ns(times, step) for step in stage), default=0)
    return asked / MILLI, turned


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
REQUESTS_DEEP = (30, 80)
"""A proof by entities lasts for so many times the largest request; for more where that was too short to tell: what
still waits in the end is the less of the whole."""
TRIES = 100_000
COARSE = 0.1
"""Part of the burst from which on a request is large: some that come together use it up, below the target in the
mean."""
SERVER_SHARE = 0.25
"""Of a server's target that the load would use if it lay evenly on all of them."""
NOT_ENFORCED = {
    breaks.SCANS: "no target of the service limits entities per second of an account",
}


def rate_break(prepared: PreparedDesign) -> Break | None:
    """The first limit that a growing rate passes; None where none does."""
    limit_breaks = [b for b in prepared.design.estimate.breaks if GrowthOf.RATE in b.by and math.isfinite(b.factor)]
    return min(limit_breaks, key=lambda b: b.factor, default=None)


def proof_of(prepared: PreparedDesign, request: StressRequest, load_at: Callable[..., Load]) -> StressBreak | None:
    """The proof; None where nothing breaks under a growing rate. ``load_at(prepared, factor, seconds, weigh)`` makes
    the worst minute of a resource."""
    limit_break = rate_break(prepared)
    if limit_break is None:
        return None
    claim = f"breaks at {ratio(limit_break.factor)} ({limit_break.cause})"
    unproved = _not_to_be_proved(prepared, limit_break, claim)
    tried = Tried(unproved) if unproved else _tried(prepared, request, load_at, limit_break, claim)
    return StressBreak(
        cause=limit_break.cause,
        resource=limit_break.resource,
        factor=number(limit_break.factor),
        by=word(tried.by),
        below=number(tried.below),
        above=number(tried.above),
        load=number(tried.load),
        holds=tried.holds,
        sentence=tried.sentence,
    )


class Tried(NamedTuple):
    """What the runs of a proof said; the members are those of ``StressBreak``."""

    sentence: str
    by: str | None = None
    load: float | None = None
    below: float | None = None
    above: float | None = None
    holds: bool | None = None


def _not_to_be_proved(prepared: PreparedDesign, limit_break: Break, claim: str) -> str:
    """Why no run proves a break factor; empty where one may."""
    if limit_break.resource == "entity":
        return f"{claim}: not to be proved here, updates of one entity fail by their ETag, not by a target"
    if limit_break.cause in NOT_ENFORCED:
        return f"{claim}: not to be proved here, {NOT_ENFORCED[limit_break.cause]}"
    if limit_break.cause == breaks.INSERTS and prepared.front_untested is not None:
        return f"{claim}: not to be proved here, new entities of the run do not crowd as predicted"
    if prepared.rows_per_key != 1:
        return f"{claim}: not to be proved here, scans of the run read {ratio(prepared.rows_per_key)} today's rows"
    if limit_break.others > 0:
        return f"{claim}: not to be proved here, other tables and kinds share that target"
    return "" if limit_break.factor > 0 else f"is above its limit whatever the rate ({limit_break.cause})"


def _tried(
    prepared: PreparedDesign, request: StressRequest, load_at: Callable[..., Load], limit_break: Break, claim: str
) -> Tried:
    """Runs below and above the factor, unless they would take too many requests."""
    aim = aim_of(prepared, load_at, limit_break.cause)
    seconds = ACCOUNT_SECONDS if limit_break.cause == breaks.ACCOUNT else SECONDS
    seconds = min(seconds, REQUESTS_MAX / max(1e-9, ABOVE * limit_break.factor * aim.load.per_s))
    if seconds < SECONDS_LEAST:
        return Tried(f"{claim}: not proved here, it would take too many requests")
    if aim.alone:
        return _by_entities(prepared, request, limit_break.factor, aim, claim)
    below = _turned_away(prepared, request, BELOW * limit_break.factor, aim, seconds)
    if below > QUIET and aim.largest >= COARSE * prepared.limits.partition_entities_per_s * prepared.limits.burst_s:
        return _by_entities(prepared, request, limit_break.factor, aim, claim)
    above = _turned_away(prepared, request, ABOVE * limit_break.factor, aim, seconds)
    return _by_attempts(claim, below, above, _times_target(prepared, aim, limit_break.factor))


def _run(prepared: PreparedDesign, request: StressRequest, policy: RetryPolicy, aim: Aim, load: Load) -> RunResult:
    """A run under strict targets on as many servers as the load needs."""
    counted = counted_load(load, aim.scripts, prepared.limits)
    total = float(counted.sum(axis=1).max()) / 1000
    enough = math.ceil(total / (SERVER_SHARE * prepared.limits.server_entities_per_s))
    strict = replace(request, enforcement=Enforcement.STRICT, servers=max(request.servers, enough))
    return run_on_own_map(prepared, strict, policy, load, aim.scripts, aim.enforced(prepared, total), counted)


def _turned_away(prepared: PreparedDesign, request: StressRequest, factor: float, aim: Aim, seconds: float) -> float:
    """Share of the attempts at what is looked at that is turned away at a factor, where nobody tries again."""
    run = _run(prepared, request, policy_of("none"), aim, aim.load.times(factor, seconds))
    attempts, throttled = run.hottest_attempts, run.hottest_throttled
    if aim.rank < 0 or aim.spread:
        attempts, throttled = int(run.offered.sum()), int(run.throttled.sum())
    return throttled / attempts if attempts else 0.0


def _by_attempts(claim: str, below: float, above: float, asked: float | None) -> Tried:
    """``asked``: what is asked for at the factor, over the target."""
    holds = below <= QUIET < above and (asked is None or BELOW < asked < ABOVE)
    sentence = f"{claim}: {percent(below)} throttled at 0.9 of that, {percent(above)} at 1.1: {_verb(holds)}"
    return Tried(sentence, "attempts", asked, below, above, holds)


def _times_target(prepared: PreparedDesign, aim: Aim, factor: float) -> float | None:
    """What is asked for at the factor, over the target: 1 where model and scripts agree. A burst cannot hide it.

    None for a limit that is neither of a PartitionKey nor of the account.
    """
    limits = prepared.limits
    if aim.rank < 0 and not aim.account:
        return None
    target = limits.partition_entities_per_s if aim.rank >= 0 else limits.account_requests_per_s
    return aim.asked_per_s(limits, factor) / target


def _by_entities(prepared: PreparedDesign, request: StressRequest, factor: float, aim: Aim, claim: str) -> Tried:
    target = prepared.limits.partition_entities_per_s
    longest = REQUESTS_MAX / max(1e-9, ABOVE * factor * aim.load.per_s)
    patient = Backoff("patient", (SECOND,) * TRIES)
    seconds = SECONDS

    def through(times: float) -> tuple[float, float]:
        """(the part of what is asked for that comes through, what of the target that is)."""
        load, asked = aim.load.times(times * factor, seconds), aim.asked_per_s(prepared.limits, times * factor)
        mean, late = _through(_run(prepared, request, patient, aim, load), aim, load, asked, target)
        return mean / asked if asked else 1.0, late / target

    below = 0.0
    for deep in REQUESTS_DEEP:
        seconds = min(max(SECONDS, deep * aim.largest / target), longest)
        below, _ = through(BELOW)
        if below >= ALL:
            break
    above, capped = through(ABOVE)
    at_factor = aim.asked_per_s(prepared.limits, factor) / target
    holds = below >= ALL > above and capped <= CAPPED and BELOW < at_factor < ABOVE
    burst = amount(target * prepared.limits.burst_s)
    name = max(aim.alone, key=lambda each: (aim.alone[each], each), default="")
    if name:
        why = f"one {name} request reads {amount(aim.alone[name])} entities of one partition, more than its burst of "
        why += f"{burst}: it is throttled at any rate"
    else:
        why = f"a request reads up to {amount(aim.largest)} entities, and some at once use up the burst of {burst}"
    sentence = (
        f"{claim}: {why}; clients that try until they get "
        f"through read {percent(below)} of what they ask for at 0.9 of that, {percent(above)} at 1.1, "
        f"{ratio(capped)} of the target: {_verb(holds)}"
    )
    return Tried(sentence, "entities", at_factor, below, above, holds)


def _through(run: RunResult, aim: Aim, load: EvenLoad, asked: float, target: float) -> tuple[float, float]:
    """Entities per second that came through at what is looked at: (in the mean, when the burst is used up).

    Where pages over several PartitionKeys are part of it, all that was asked for came through by the end, which is the
    later the less came through at a time; but for the time that the last request takes alone.
    """
    if aim.spread:
        whole = asked * load.duration_ns / SECOND
        return whole / max(1.0, len(run.offered) - aim.largest / target), whole / max(1, len(run.offered))
    through = (run.hottest_milli - run.hottest_throttled_milli)[: load.duration_ns // SECOND] / 1000
    return float(through.mean()), float(through[len(through) // 4 :].mean())


def _verb(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"
