"""What the proof of a break factor sends: the requests that load the resource, at their rates of its worst minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.design.load import breaks
from pkadvisor.engine.options import SECOND
from pkadvisor.stress.experiment.runs import LIFTED, LIFTED_LITTLE
from pkadvisor.stress.load.even_load import EvenLoad
from pkadvisor.stress.requests.scripts import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pkadvisor.engine.capacity.service_times import ServiceTimes
    from pkadvisor.limits import Limits
    from pkadvisor.stress.experiment.prepared_design import PreparedDesign
    from pkadvisor.stress.load.load import Load
    from pkadvisor.stress.requests.flat_steps import FlatSteps
    from pkadvisor.stress.requests.scripts import KeySpace, Script, Scripts

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
        import numpy as np

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
    import numpy as np

    from pkadvisor.engine.capacity.service_times import ServiceTimes

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
    from pkadvisor.stress.load.load import WorkloadLoad

    load = load_at(prepared, 1.0, 60.0, weigh)
    assert isinstance(load, WorkloadLoad), "the worst minute is made of classes"
    rates = tuple(part.rate.expected(load.duration_ns) * SECOND / load.duration_ns for part in load.parts)
    return EvenLoad(load.classes, rates, tuple(part.weights for part in load.parts), load.duration_ns)


def _still(scripts: Scripts) -> Scripts:
    """The scripts of the first epoch: keys with a period in them stay those of its beginning."""
    from pkadvisor.stress.requests.scripts import Scripts

    return scripts if len(scripts.epochs) == 1 else Scripts(scripts.space, scripts.classes, scripts.epochs[:1])


def on_idle_store(
    script: Script, rank: int, prepared: PreparedDesign, times: ServiceTimes, space: KeySpace | None = None
) -> tuple[float, bool]:
    """(entities that one request counts at a PartitionKey, whether some of it is turned away though nobody else comes).

    The service's own bucket, with the time that each stage takes in the median. With ``space``, pages over several
    PartitionKeys count with the part of its rows.
    """
    from pkadvisor.engine.capacity.buckets import MILLI, TokenBucket, milli
    from pkadvisor.engine.capacity.service_times import Kind
    from pkadvisor.stress.simulate.measures import nominal_ns, offered_milli

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
