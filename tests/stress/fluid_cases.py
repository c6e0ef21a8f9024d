"""Random small runs: loads, scripts, maps, limits, policies and enforcements that meet every rule of a run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import EngineOptions
from pkadvisor.limits import Limits
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.placement.stamp_map import StampMap
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step
from pkadvisor.stress.simulate.course import Traced
from pkadvisor.stress.simulate.fluid import run_fluid
from pkadvisor.stress.simulate.loop import run_loop
from tests.stress.small import MS, SECOND, Listed, Waits, fixed, limits, options


@dataclass(frozen=True)
class Case:
    """All that a run needs; maps and capacities are made for each."""

    load: Listed
    scripts: Scripts
    limits: Limits
    options: EngineOptions
    enforcement: Enforcement
    policy: Waits
    edges: tuple[int, ...]
    servers: int
    living: bool
    seed: int

    def stamp_map(self) -> StampMap:
        at_first = fixed(*self.edges, servers=self.servers)
        if not self.living:
            return at_first
        return LivingMap(self.scripts.space, at_first.ranges, ["server-0", "server-1"], self.options)

    def capacity(self) -> Capacity:
        return Capacity(self.limits, self.options, self.enforcement, self.seed)

    def by_loop(self) -> tuple[RunResult, list[Traced], Capacity]:
        trace: list[Traced] = []
        capacity = self.capacity()
        found = run_loop(self.load, self.scripts, capacity, self.stamp_map(), self.policy, trace=trace)
        return found, trace, capacity

    def by_fluid(self, accelerate: bool) -> tuple[RunResult, list[Traced], Capacity]:
        trace: list[Traced] = []
        capacity = self.capacity()
        found = run_fluid(
            self.load, self.scripts, capacity, self.stamp_map(), self.policy, trace=trace, accelerate=accelerate
        )
        return found, trace, capacity


def step(chance: Random, size: int) -> Step:
    """Reads, writes, groups, pages of one PartitionKey and of several."""
    kind, rank = chance.random(), chance.randrange(size)
    moved = chance.choice((0, 0, 500, 1024, 100_000, 4_000_000))
    if kind < 0.4:
        return Step(Kind.READ, rank, rank, rank + 1, examined=1, bytes_moved=moved)
    if kind < 0.7:
        partition = chance.choice((rank, rank, rank, SEVERAL))
        return Step(Kind.WRITE, partition, rank, rank + 1, chance.choice((1, 1, 2, 50, 100, 150)), 0, moved)
    continued = chance.random() < 0.2
    if kind < 0.8:
        low = chance.randrange(rank + 1)
        return Step(Kind.PAGE, rank, low, rank + 1, 1, chance.randrange(300), moved, continued)
    high = chance.randrange(rank + 1, size + 1)
    return Step(Kind.PAGE, SEVERAL, rank, high, 1, chance.randrange(1000), moved, continued)


def scan(chance: Random, size: int) -> list[tuple[Step]]:
    """The pages of one scan over all PartitionKeys, each a stage."""
    count, most = chance.choice((2, 3, 6)), chance.choice((30, 1000))
    ends = [0, *sorted(chance.randrange(1, size + 1) for _ in range(count - 1)), size]
    pages = []
    for n, (low, high) in enumerate(pairwise(ends)):
        examined = most if n < count - 1 else chance.randrange(1, most + 1)
        begin = min(size - 1, max(0, low - chance.randrange(2))) if n else 0
        pages.append((Step(Kind.PAGE, SEVERAL, begin, max(high, begin + 1), 1, examined, 70 * examined, n > 0),))
    return pages


def case(chance: Random, *, requests_max: int = 300) -> Case:
    """A run drawn from a source of chance."""
    size, names = chance.choice((1, 2, 5, 20)), ("a", "b")[: chance.choice((1, 2))]
    rows = np.array([chance.choice((0, 1, 3, 50)) for _ in range(size)], np.int64)
    space = KeySpace("t", tuple(f"{i:06d}" for i in range(size)), rows)
    alone = chance.random() < 0.3

    scans = [scan(chance, size) for _ in range(2)]

    def script() -> Script:
        stages = 1 if alone else chance.choice((0, 1, 1, 2, 3))
        widths = [1 if alone else chance.choice((1, 1, 2, 4)) for _ in range(stages)]
        made = [tuple(step(chance, size) for _ in range(width)) for width in widths]
        if not alone and chance.random() < 0.3:
            first, *rest = chance.choice(scans)
            made += [(first[0]._replace(bytes_moved=chance.randrange(100_000)),), *rest]  # as scans share their pages
        return Script(tuple(made))

    ends = (700 * MS, 1900 * MS) if chance.random() < 0.3 else ()
    counts = [chance.choice((1, 4, 10)) for _ in names]
    epochs = tuple(tuple(tuple(script() for _ in range(count)) for count in counts) for _ in range(len(ends) + 1))
    duration = chance.choice((SECOND // 2, 2 * SECOND, 4 * SECOND + 17))
    edgy = (0, 1000, SECOND, SECOND - 1, 700 * MS)
    moments = sorted(
        chance.randrange(duration) if chance.random() < 0.8 else chance.choice(edgy) % duration
        for _ in range(chance.choice((5, 50, requests_max)))
    )
    classes = [chance.randrange(len(names)) for _ in moments]
    requests = [(at, number, chance.randrange(counts[number])) for at, number in zip(moments, classes, strict=True)]
    found = limits(
        partition_entities_per_s=chance.choice((20, 100, 2000)),
        range_entities_per_s=chance.choice((30, 200, 2000)),
        server_entities_per_s=chance.choice((100, 400, 10000)),
        account_requests_per_s=chance.choice((50, 400, 20000)),
        account_counts_entities=chance.choice((0, 1)),
        burst_s=chance.choice((0, 0.1, 1, 5)),
        scan_weight=chance.choice((0.1, 1)),
        range_bytes_per_s=chance.choice((1e6, 6e7)),
    )
    chosen = options(
        queue_wait_ns_max=chance.choice((5 * SECOND, 20 * MS, SECOND)),
        operation_timeout_ns=chance.choice((30 * SECOND, 30 * SECOND, 40 * MS)),
        evaluate_ns=chance.choice((SECOND, 700 * MS)),
        sustain_ns=SECOND,
        move_ns=300 * MS,
        merge_after_ns=SECOND,
    )
    delays = chance.choice(((), (0,), (5 * MS, 100 * MS), (800 * MS, 1600 * MS, 10 * MS)))
    edges = sorted({0, size, *(chance.randrange(size) for _ in range(chance.choice((0, 1, 3))))})
    return Case(
        Listed(requests, duration, names, batch=chance.choice((7, 100))),
        Scripts(space, names, epochs, ends),
        found,
        chosen,
        chance.choice(list(Enforcement)),
        Waits(delays),
        tuple(edges),
        chance.choice((1, 2)),
        chance.random() < 0.4,
        chance.randrange(1000),
    )


def assert_same_result(one: RunResult, other: RunResult) -> None:
    """Every figure of two runs."""
    assert one.classes == other.classes
    assert one.events == other.events and one.hottest == other.hottest and one.complete == other.complete
    assert (one.hottest_attempts, one.hottest_throttled) == (other.hottest_attempts, other.hottest_throttled)
    for name in ("offered", "accepted", "throttled", "hottest_milli", "hottest_throttled_milli", "bands", "heat"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def assert_same_capacity(one: Capacity, other: Capacity, case: Case) -> None:
    """What is left of buckets and queues, seen by the next request to each range and PartitionKey."""
    from pkadvisor.engine.capacity.capacity import Place, Work

    assert one.tally == other.tally
    for capacity in (one, other):
        capacity.check()
    at_ns = case.load.duration_ns + 200 * SECOND
    for rank in range(len(case.scripts.space.keys)):
        for number in range(1, len(case.edges)):
            place = Place("stress", f"server-{(number - 1) % case.servers}", number, rank)
            work = Work(Kind.WRITE, 1 + rank)
            assert one.admit(at_ns, place, work) == other.admit(at_ns, place, work)
