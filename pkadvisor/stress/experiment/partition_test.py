"""The test of one partition: its load alone, at a table of one range, against the target of a partition.

The five steps are those of *Designing a Scalable Partitioning Strategy for Azure Table Storage*: make a test table,
load it so that it holds entities of the PartitionKey that takes the most load, drive the expected peak at it, look at
the throughput, and compare that with the target of a single partition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from pkadvisor.documents.part import number
from pkadvisor.documents.stress_run import StressPartitionTest
from pkadvisor.engine.capacity.buckets import MILLI
from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.lazy import Bools, np
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.report.documents.values import Shown
from pkadvisor.stress.experiment.pass_criteria import QUIET_SHARE
from pkadvisor.stress.experiment.prepared_design import PreparedDesign
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.experiment.stress_result import NS_PER_S
from pkadvisor.stress.load.load import Batch, Load
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange
from pkadvisor.stress.requests.flat_scripts import shared_stages
from pkadvisor.stress.requests.retry import policy_of
from pkadvisor.stress.requests.scripts import SEVERAL, Script, Scripts
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.values import dataclass

HOTTEST = "hottest"
"""In place of a key: the PartitionKey with the most load."""
SCANNED = "; scans over several partitions read it too, and are not part of this test"
NEAR = 1000
"""Neighbours on either side of a key that is not there, among which a near match is looked for."""


@dataclass(frozen=True, slots=True)
class PartLoad:
    """The requests of a load whose parameters are wanted, when they come in it. ``wanted``: by class, by parameters."""

    whole: Load
    wanted: tuple[Bools, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Those of the whole load."""
        return self.whole.classes

    @property
    def instances(self) -> tuple[int, ...]:
        """Those of the whole load."""
        return self.whole.instances

    @property
    def duration_ns(self) -> int:
        """That of the whole load."""
        return self.whole.duration_ns

    def batches(self) -> Iterator[Batch]:
        """The wanted requests, numbered anew; batches without any are left out."""
        first = 0
        for batch in self.whole.batches():
            chosen = np.zeros(len(batch), dtype=bool)
            for class_number, wanted in enumerate(self.wanted):
                mine = batch.classes == class_number
                chosen[mine] = wanted[batch.instances[mine]]
            if count := int(chosen.sum()):
                yield Batch(first, batch.at_ns[chosen], batch.classes[chosen], batch.instances[chosen])
                first += count


def only_at(scripts: Scripts, rank: int) -> Scripts:
    """What the scripts send to one PartitionKey; stages that send nothing there are left out."""
    known: dict[int, Script] = {}

    def cut(script: Script) -> Script:
        shortened = known.get(id(script))
        if shortened is None:
            stages = (tuple(step for step in stage if step.partition == rank) for stage in script.stages)
            shortened = known[id(script)] = Script(tuple(stage for stage in stages if stage))
        return shortened

    epochs = tuple(tuple(tuple(cut(script) for script in of_class) for of_class in epoch) for epoch in scripts.epochs)
    return replace(scripts, epochs=epochs)


def part_of(load: Load, scripts: Scripts) -> PartLoad:
    """The requests that send anything under scripts that were cut by ``only_at``."""
    wanted = []
    for class_number, count in enumerate(load.instances):
        sends = np.zeros(count, dtype=bool)
        for epoch in scripts.epochs:
            of_class = epoch[class_number]
            sends[: len(of_class)] |= np.fromiter((bool(s.stages) for s in of_class), dtype=bool, count=len(of_class))
        wanted.append(sends)
    return PartLoad(load, tuple(wanted))


def rank_of(prepared: PreparedDesign, key: str) -> int | None:
    """The rank of a PartitionKey of a design, or of its hottest one; None where there is none."""
    space = prepared.scripts.space
    if key == HOTTEST:
        loads = prepared.partition_loads
        return max(range(len(loads)), key=lambda rank: (loads[rank], -rank)) if max(loads, default=0.0) > 0 else None
    rank = space.rank(key)
    return rank if rank < len(space.keys) and space.keys[rank] == key else None


def check_known(key: str, prepared_designs: Sequence[PreparedDesign], redact: bool) -> None:
    """UsageError with near matches where no design has a PartitionKey; they are not told where keys are hidden."""
    if key == HOTTEST or any(rank_of(prepared, key) is not None for prepared in prepared_designs):
        return
    near: list[str] = []
    for space in (prepared.scripts.space for prepared in prepared_designs):
        rank = space.rank(key)
        near += [*space.keys[max(0, rank - NEAR) : rank + NEAR], *space.keys[:NEAR]]
    hint = "" if redact else did_you_mean(key, near)
    what = f"no design that is run has the PartitionKey '{key}'" + (f"; {hint}" if hint else "")
    example = "" if redact or hint or not near else f", e.g. '{near[0]}'"
    raise UsageError(what, where="--partition", fix=f"a PartitionKey as it is stored{example}, or 'hottest'")


def partition_test(prepared: PreparedDesign, request: StressRequest, limits: Limits) -> StressPartitionTest | None:
    """Drives the load at one partition of a table of one range and compares; None where the design has no such key.
    KeyboardInterrupt where it is interrupted.

    Nothing is retried, so what is turned away shows. Pages over several partitions are no load of any of them.
    """
    assert request.partition is not None, "somebody asked for the test"
    rank = rank_of(prepared, request.partition)
    if rank is None:
        return None
    scripts = only_at(prepared.scripts, rank)
    one_range = FixedMap((MapRange(1, 0, len(scripts.space.keys), prepared.servers[0]),))
    capacity = Capacity(limits, prepared.options, Enforcement.STRICT, request.seed)
    run = run_fluid(
        part_of(prepared.own_part(prepared.load), scripts),
        scripts,
        capacity,
        one_range,
        policy_of("none"),
        accelerate=request.accelerate,
    )
    if not run.complete:
        raise KeyboardInterrupt
    key = Shown(request.reading.redact).key(scripts.space.keys[rank])
    test = compared(key, run, limits.partition_entities_per_s)
    if is_scanned(prepared.scripts, rank):
        return structs.replace(test, verdict=test.verdict + SCANNED)
    return test


def is_scanned(scripts: Scripts, rank: int) -> bool:
    """Whether pages over several partitions go over one of them."""
    every = shared_stages([script for epoch in scripts.epochs for of_class in epoch for script in of_class])
    steps = (step for stage in every.distinct for step in stage)
    return any(step.partition == SEVERAL and step.low <= rank < step.high for step in steps)


def compared(key: str, run: RunResult, target: float) -> StressPartitionTest:
    """What was asked of a partition and what it let through, beside the target; it passes where next to nothing was
    turned away and the target was not passed in the mean."""
    seconds = run.duration_ns / NS_PER_S
    counts = run.classes.values()
    offered = float(run.hottest_milli[: math.ceil(seconds)].sum()) / MILLI / seconds
    accepted = sum(c.entities_read + c.entities_written for c in counts) / seconds
    attempts = sum(c.attempts for c in counts)
    refused = sum(sum(c.throttled.values()) + c.timed_out for c in counts)
    share = refused / attempts if attempts else 0.0
    passes = share <= QUIET_SHARE and offered <= target
    if passes:
        verdict = f"passes, at {ratio(offered / target)} of the target"
    elif offered <= target:
        verdict = f"fails in bursts: {percent(share)} throttled, though the mean is {ratio(offered / target)}"
    else:
        keys = math.ceil(offered / target)
        verdict = f"fails: {percent(share)} throttled; spread this load over at least {amount(keys)} PartitionKeys"
    return StressPartitionTest(
        partition_key=key,
        offered_entities_per_s=number(offered),
        accepted_entities_per_s=number(accepted),
        target_entities_per_s=number(target),
        times_target=number(offered / target),
        throttled_share=number(share),
        passes=passes,
        verdict=verdict,
    )
