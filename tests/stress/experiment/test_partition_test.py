"""One partition alone: which requests and steps are its own, and when the test passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.experiment.partition_test import compared, is_scanned, only_at, part_of
from pkadvisor.stress.load.load import Batch
from pkadvisor.stress.placement.run_result import ClassCounts, RunResult
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step

READ = Step(Kind.READ, 1, 1, 2, 1, 1)
WRITE = Step(Kind.WRITE, 0, 0, 1, 2)
PAGE = Step(Kind.PAGE, SEVERAL, 0, 3, 1, 30)


def scripts() -> Scripts:
    """Class 0: at rank 1, at rank 0, at both one after the other. Class 1: a page over everything."""
    space = KeySpace("t", ("a", "b", "c"), np.array([10, 10, 10]))
    first = (Script(((READ,),)), Script(((WRITE,),)), Script(((WRITE,), (READ, WRITE))))
    return Scripts(space, ("x", "y"), ((first, (Script(((PAGE,),)),)),))


@dataclass(frozen=True)
class _Load:
    classes = ("x", "y")
    instances = (3, 1)
    duration_ns = 2_000_000_000

    def batches(self) -> Iterator[Batch]:
        yield Batch(0, np.array([1, 2, 3]), np.array([0, 1, 0]), np.array([0, 0, 1]))
        yield Batch(3, np.array([7, 8]), np.array([1, 0]), np.array([0, 1]))
        yield Batch(5, np.array([9, 10]), np.array([0, 0]), np.array([2, 0]))


def test_only_steps_at_the_partition_stay() -> None:
    (found,) = only_at(scripts(), 1).epochs
    assert found == ((Script(((READ,),)), Script(()), Script(((READ,),))), (Script(()),))


def test_pages_over_several_partitions_that_the_test_leaves_out_are_seen() -> None:
    short = Step(Kind.PAGE, SEVERAL, 0, 2, 1, 30)
    space = scripts().space
    found = [is_scanned(Scripts(space, ("y",), (((Script(((READ,), (short,))),),),)), rank) for rank in range(3)]
    assert found == [True, True, False]
    assert not is_scanned(Scripts(space, ("x",), (scripts().epochs[0][:1],)), 1)


def test_only_requests_that_touch_the_partition_come_and_when_they_did() -> None:
    load = part_of(_Load(), only_at(scripts(), 1))
    batches = list(load.batches())
    assert [b.first for b in batches] == [0, 1]
    assert [b.at_ns.tolist() for b in batches] == [[1], [9, 10]]
    assert [b.instances.tolist() for b in batches] == [[0], [2, 0]]
    assert (load.classes, load.instances, load.duration_ns) == (("x", "y"), (3, 1), 2_000_000_000)


def run(hottest_milli: list[int], accepted: int, throttled: int) -> RunResult:
    empty = np.zeros(2, dtype=np.int64)
    counts = ClassCounts(
        requests=accepted + throttled,
        served=accepted,
        lost=throttled,
        attempts=accepted + throttled,
        accepted=accepted,
        throttled={Bound.PARTITION: throttled} if throttled else {},
        entities_read=accepted,
    )
    milli = np.array(hottest_milli, dtype=np.int64)
    return RunResult(
        duration_ns=2_000_000_000,
        classes={"x": counts},
        offered=empty,
        accepted=empty,
        throttled=empty,
        hottest=0,
        hottest_milli=milli,
        hottest_throttled_milli=empty,
        hottest_attempts=accepted + throttled,
        hottest_throttled=throttled,
        bands=np.array([0, 1]),
        heat=np.zeros((1, 1)),
    )


def test_it_passes_within_the_target_and_fails_above() -> None:
    found = compared("key", run([1_500_000, 2_500_000], 4000, 0), 2000.0)
    assert (found.offered_entities_per_s, found.times_target, found.passes) == (2000, 1, True)
    found = compared("key", run([4_000_000, 4_200_000], 4000, 4200), 2000.0)
    assert (found.offered_entities_per_s, found.accepted_entities_per_s) == (4100, 2000)
    assert not found.passes
    assert "over at least 3 PartitionKeys" in found.verdict


def test_bursts_that_are_turned_away_are_not_a_pass() -> None:
    found = compared("key", run([3_000_000, 100_000], 2900, 200), 2000.0)
    assert found.times_target < 1
    assert not found.passes
    assert "in bursts" in found.verdict
