"""The map's twin: what it splits and does not, what capacity is told, and who is away how long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkadvisor.engine.capacity.capacity import Bound, Capacity, Place, Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.balancer import Action, MergeRanges, MoveRange, RangeLoad, SplitRange
from pkadvisor.errors import UsageError
from pkadvisor.stress.load.faults import ServerDown, parse_fault
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.placement.rank_traffic import RankTraffic, halving_rank
from pkadvisor.stress.placement.run_result import MapEvent, RunResult
from pkadvisor.stress.placement.stamp_map import MapRange, WindowCounts
from pkadvisor.stress.requests.scripts import KeySpace
from pkadvisor.stress.simulate.loop import run_loop
from tests.stress.small import (
    NEVER_AGAIN,
    SECOND,
    Listed,
    limits,
    one_class,
    options,
    script,
    space,
    write,
)

QUICK = options(
    evaluate_ns=SECOND,
    sustain_ns=4 * SECOND,
    traffic_half_life_ns=2 * SECOND,
    move_ns=SECOND // 2,
    merge_after_ns=60 * SECOND,
    range_requests_per_s=200,
    server_requests_per_s=1000,
)
"""A policy whose minutes are seconds, for a target of 200 entities/s."""
TIGHT = limits(partition_entities_per_s=200, range_entities_per_s=200)


def counts(size: int, requests: dict[int, int]) -> WindowCounts:
    found = np.zeros(size, dtype=np.int64)
    found[list(requests)] = list(requests.values())
    zeros = np.zeros(size, dtype=np.int64)
    return WindowCounts(found, zeros, zeros, zeros, {})


# ------------------------------------------------------------------------------------------------ traffic by rank


@pytest.mark.parametrize(
    ("found", "place"),
    [((4, 4), 1), ((4, 0, 4), 2), ((1, 1, 1, 1), 2), ((9, 1, 1), 1), ((1, 1, 9), 2), ((5,), None), ((5, 0), None)],
)
def test_the_halving_rank_by_hand(found: tuple[int, ...], place: int | None) -> None:
    assert halving_rank(np.array(found)) == place


def rolled(windows: list[dict[int, int]], size: int = 1000) -> RankTraffic:
    traffic = RankTraffic(0, size, half_life_ns=2 * SECOND, horizon_ns=4 * SECOND)
    for second, window in enumerate(windows):
        traffic.roll((second + 1) * SECOND, counts(size, window).requests)
        traffic.check()
    return traffic


def test_steady_traffic_may_be_split_when_the_reference_is_old_enough() -> None:
    steady = [dict.fromkeys(range(100), 2)] * 10
    assert rolled(steady[:4]).running() and rolled(steady[:4]).split_rank() is None, "not known yet"
    traffic = rolled(steady)
    assert not traffic.running() and traffic.split_rank() == 50


def test_keys_that_only_grow_run_away_and_are_never_split() -> None:
    growing = [{10 * second + i: 5 for i in range(10)} for second in range(40)]
    assert all(rolled(growing[:n]).split_rank() is None for n in (1, 5, 10, 20, 40))
    assert rolled(growing).reference() is not None, "there is a place that halves, but the load will have left it"


def test_older_traffic_fades() -> None:
    """By hand: 200 a window, a quarter gone with each: three windows of new keys outweigh ten of old ones."""
    old, new = dict.fromkeys(range(100), 2), dict.fromkeys(range(500, 600), 2)
    reference = rolled([old] * 10 + [new] * 2).reference()
    assert reference is not None and reference < 100, "0.75 + 1 times 200 against 0.56 times 755"
    reference = rolled([old] * 10 + [new] * 4).reference()
    assert reference is not None and reference > 500


def test_one_key_with_nearly_everything_is_not_split() -> None:
    """A split helps where each side gets at least one part in eight."""
    assert rolled([{3: 100, 7: 10}] * 10).split_rank() is None
    assert rolled([{3: 100, 7: 15}] * 10).split_rank() == 7


# ------------------------------------------------------------------------------------------------ capacity


class Scripted:
    """A policy that does what a test wants, pass by pass."""

    def __init__(self, *passes: list[Action]) -> None:
        self._passes = list(passes)
        self.seen: list[list[RangeLoad]] = []
        self.told: list[tuple[object, ...]] = []

    def __call__(self, _: EngineOptions) -> Scripted:
        return self

    def decide(self, now_ns: int, ranges: list[RangeLoad], servers: list[str]) -> list[Action]:
        self.seen.append(list(ranges))
        return self._passes.pop(0) if self._passes else []

    def replaced(self, now_ns: int, old: list[int], new: list[int]) -> None:
        self.told.append((tuple(old), tuple(new)))

    def moved(self, now_ns: int, number: int) -> None:
        self.told.append((number,))

    def check(self) -> None:
        """Nothing."""


def wait_ns(capacity: Capacity, at_ns: int, place: MapRange, rank: int) -> int:
    """How long a write waits for its range; it is not served, so that nothing changes."""
    ticket = capacity.admit(at_ns, Place("stress", place.server, place.number, rank), Work(Kind.WRITE))
    assert ticket.admitted, ticket.bound
    return capacity.finish(ticket).wait_ns


def test_a_split_a_move_and_a_merge_tell_capacity_what_the_engine_tells_it() -> None:
    steady = dict.fromkeys(range(10), 10)
    policy = Scripted([], [], [], [], [SplitRange(1, "load")], [MoveRange(3, "b")], [MergeRanges(2, 3)])
    capacity = Capacity(TIGHT)
    living = LivingMap(space(10), (), ["a", "b"], QUICK, policy=policy)
    events: list[MapEvent] = []
    for second in range(1, 5):
        assert living.advance(second * SECOND, counts(10, steady), capacity) == []
    first = Place("stress", "a", 1, 0)
    group = capacity.admit(5 * SECOND, first, Work(Kind.WRITE, 100))
    capacity.finish(group)  # half of the burst is gone, and a queue is there
    events += living.advance(5 * SECOND, counts(10, steady), capacity)
    assert living.ranges == [MapRange(2, 0, 5, "a"), MapRange(3, 5, 10, "a")]
    assert [not capacity.admit(5 * SECOND, Place("stress", "a", n, 9), Work(Kind.WRITE, 101)).admitted for n in (2, 3)]
    events += living.advance(6 * SECOND, counts(10, steady), capacity)
    assert living.ranges[1] == MapRange(3, 5, 10, "b")
    assert wait_ns(capacity, 6 * SECOND, living.ranges[1], 7) == SECOND // 2 - 100_000
    assert wait_ns(capacity, 6 * SECOND, living.ranges[0], 1) == 0
    events += living.advance(7 * SECOND, counts(10, steady), capacity)
    assert living.ranges == [MapRange(4, 0, 10, "a")]
    assert wait_ns(capacity, 7 * SECOND, living.ranges[0], 1) == SECOND // 2 - 100_000, "moved to be merged"
    living.check()
    assert events == [
        MapEvent(5 * SECOND, "split", ((0, 5, 500_000), (5, 10, 500_000)), "a", 0, 1_000_000),
        MapEvent(6 * SECOND, "move", ((5, 10, 500_000),), "b", SECOND // 2, 1_000_000),
        MapEvent(7 * SECOND, "move", ((5, 10, 500_000),), "a", SECOND // 2, 500_000),
        MapEvent(7 * SECOND, "merge", ((0, 10, 1_000_000),), "a", SECOND // 2, 1_000_000),
    ]
    assert policy.told == [((1,), (2, 3)), (3,), (3,), ((2, 3), (4,))]


def test_the_metrics_of_a_window_are_those_of_the_engine() -> None:
    """By hand, 2 s: 300 requests of which 30 refused; 900 examined, 6,000 B, 27 s spent on 270 answers."""
    policy = Scripted()
    quick = options(evaluate_ns=2 * SECOND)
    living = LivingMap(space(3, rows=6), (), ["a"], quick, policy=policy, row_bytes=2)
    asked = WindowCounts(
        np.array([100, 100, 100]),
        np.array([10, 20, 0]),
        np.array([900, 0, 0]),
        np.array([0, 6000, 0]),
        {1: 27 * SECOND},
    )
    living.advance(2 * SECOND, asked, Capacity(TIGHT))
    (load,) = policy.seen[0]
    assert load == RangeLoad(
        1,
        "a",
        requests_per_ks=150_000,
        pending_milli=13_500,
        throttled_ppm=100_000,
        cpu_ppm=(270 * 50_000 + 900 * 2_000) * 1_000_000 // (2 * SECOND),
        bytes_per_s=3000,
        latency_ns=SECOND // 10,
        size_bytes=36,
        splittable=False,
    )
    living.advance(4 * SECOND, counts(3, {}), Capacity(TIGHT))
    assert policy.seen[1][0].requests_per_ks == 0, "a window is counted once"


def test_a_range_that_is_too_large_is_split_where_its_bytes_are_halved() -> None:
    small = options(evaluate_ns=SECOND, sustain_ns=SECOND, split_bytes=100)
    living = LivingMap(KeySpace("t", space(4).keys, np.array([1, 8, 8, 1])), (), ["a"], small, row_bytes=10)
    (event,) = living.advance(SECOND, counts(4, {}), Capacity(TIGHT))
    assert [each[:2] for each in event.ranges] == [(0, 2), (2, 4)]


# ------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("server-down@4m", ServerDown(240 * SECOND)),
        ("server-down@4m+2m", ServerDown(240 * SECOND, 360 * SECOND)),
        ("server-down:server-1@90s+500ms", ServerDown(90 * SECOND, 90 * SECOND + SECOND // 2, "server-1")),
        ("server-down@0", ServerDown(0)),
    ],
)
def test_faults_as_they_are_worded(text: str, fault: ServerDown) -> None:
    assert parse_fault(text) == fault
    assert parse_fault(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("server-down", "a fault is what happens"),
        ("server-down@", "a fault is what happens"),
        ("disk-down@4m", "no fault is called 'disk-down'"),
        ("server-down@4", "4"),
        ("server-down@soon", "soon"),
        ("server-down@4m+0s", "zero"),
        ("server-down@4m+", "a fault is what happens"),
        ("server-down@-1m", "-1m"),
        ("server-down@900 years", "longer than any run"),
        ("", "a fault is what happens"),
    ],
)
def test_faults_that_nobody_can_mean(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(text)
    assert what in caught.value.what and "server-down@4m+2m" in caught.value.fix
    assert caught.value.where == f"--fault {text!r}"


def test_a_fault_of_a_server_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no server 'x'"):
        LivingMap(space(2), (), ["a", "b"], faults=[ServerDown(1, server="x")])


def down(living: LivingMap, until_ns: int, capacity: Capacity) -> list[MapEvent]:
    events: list[MapEvent] = []
    while living.next_change_ns() <= until_ns:
        events += living.advance(living.next_change_ns(), counts(4, {0: 1, 3: 2}), capacity)
        living.check()
    return events


HALVES = (MapRange(1, 0, 2, "a"), MapRange(2, 2, 4, "b"))


def test_the_ranges_of_a_lost_server_go_to_others_when_its_lease_is_over() -> None:
    """Renewed at 21 s, over at 33.5 s, seen with the heartbeat of 36 s: away from 22 s for 14 s."""
    capacity = Capacity(TIGHT)
    living = LivingMap(space(4), HALVES, ["a", "b"], options(), faults=[ServerDown(22 * SECOND)])
    events = down(living, 50 * SECOND, capacity)
    assert [(e.at_ns // SECOND, e.kind, e.server, e.away_ns // SECOND) for e in events] == [
        (22, "server lost", "b", 14),
        (36, "move", "a", 14),
    ]
    assert events[0].ranges == events[1].ranges == ((2, 4, 666_666),), "the busiest is lost"
    assert [each.server for each in living.ranges] == ["a", "a"]


def test_nothing_is_decided_while_nobody_serves_a_range_and_then_counts_begin_anew() -> None:
    """Passes at 15, 30, 45 s, of which that at 30 s does not know of the range that is away from 22 s to 36 s."""
    capacity, policy = Capacity(TIGHT), Scripted()
    faults = [ServerDown(22 * SECOND, server="b")]
    living = LivingMap(space(4), HALVES, ["a", "b"], options(), faults, policy=policy)
    capacity.finish(capacity.admit(0, Place("stress", "b", 2, 3), Work(Kind.WRITE, 100)))
    assert capacity.busy_ns("b") > 0
    down(living, 46 * SECOND, capacity)
    assert capacity.busy_ns("b") == 0, "the queue of a server that stopped is gone"
    assert [[load.requests_per_ks for load in loads] for loads in policy.seen] == [
        [1000 // 15, 2000 // 15],
        [2 * 1000 // 15, 2 * 1000 // 9],
    ]


def test_requests_to_a_lost_server_wait_for_its_ranges_and_most_are_turned_away() -> None:
    living = LivingMap(space(4), HALVES, ["a", "b"], options(), faults=[ServerDown(22 * SECOND, server="b")])
    requests = [(at * SECOND // 2, 0, rank) for at in range(100) for rank in (0, 3)]
    scripts = one_class(space(4), [script([write(i)]) for i in range(4)])
    found = run_loop(Listed(requests, 50 * SECOND), scripts, Capacity(TIGHT), living, NEVER_AGAIN)
    refused = found.classes["c"].throttled
    assert refused == {Bound.QUEUE: 18}, "those of 22 s to 30.5 s: who would wait longer than 5 s is refused"
    assert found.throttled[:22].sum() == 0 and found.throttled[22:31].sum() == 18
    assert max(found.classes["c"].latencies_ns) > 5 * SECOND - 10_000_000


def test_a_server_that_is_back_before_its_lease_is_over_keeps_its_ranges() -> None:
    living = LivingMap(space(4), HALVES, ["a", "b"], options(), faults=[parse_fault("server-down:b@22s+3s")])
    events = down(living, 50 * SECOND, Capacity(TIGHT))
    assert [(e.at_ns // SECOND, e.kind, e.server, e.away_ns // SECOND) for e in events] == [
        (22, "server lost", "b", 5),
        (25, "server back", "b", 0),
    ]
    assert living.ranges == list(HALVES)


def test_the_only_server_takes_everything_with_it_until_it_is_back() -> None:
    capacity = Capacity(TIGHT)
    living = LivingMap(space(4), (), ["a"], options(), faults=[ServerDown(22 * SECOND, 100 * SECOND)])
    events = down(living, 99 * SECOND, capacity)
    assert [e.kind for e in events] == ["server lost"]
    place = Place("stress", "a", 1, 0)
    assert capacity.admit(99 * SECOND, place, Work(Kind.WRITE)).admitted, "102 s is near"
    assert capacity.admit(90 * SECOND, place, Work(Kind.WRITE)).bound is Bound.QUEUE
    events += down(living, 110 * SECOND, capacity)
    assert [e.kind for e in events] == ["server lost", "server back"]
    assert wait_ns(capacity, 103 * SECOND, living.ranges[0], 0) == 0


def test_without_any_server_for_ever_everything_is_turned_away() -> None:
    living = LivingMap(space(4), (), ["a"], options(), faults=[ServerDown(2 * SECOND)])
    requests = [(at * SECOND, 0, 0) for at in range(60)]
    scripts = one_class(space(4), [script([write(0)])])
    found = run_loop(Listed(requests, 60 * SECOND), scripts, Capacity(TIGHT), living, NEVER_AGAIN)
    counted = found.classes["c"]
    assert counted.throttled[Bound.QUEUE] + counted.accepted == 60
    assert found.accepted[20:].sum() == 0


# ------------------------------------------------------------------------------------------------ whole runs


def poisson(per_s: float, seconds: float, ranks: np.ndarray, seed: int = 1) -> Listed:
    """Requests at a rate; ``ranks`` are drawn from in turn."""
    dice = np.random.default_rng(seed)
    moments = np.cumsum(dice.exponential(SECOND / per_s, int(per_s * seconds))).astype(np.int64)
    return Listed(
        [(int(at), 0, int(rank)) for at, rank in zip(moments, ranks, strict=False)], int(moments[-1]) + 1, batch=1000
    )


def run_writes(load: Listed, size: int, living: LivingMap) -> RunResult:
    scripts = one_class(space(size), [script([write(i)]) for i in range(size)])
    return run_loop(load, scripts, Capacity(TIGHT, QUICK), living, NEVER_AGAIN)


def test_a_cold_table_warms_up_and_then_takes_what_one_range_could_not() -> None:
    """600/s of 100 keys against 200/s of a range: first a third is served, in the end all."""
    dice = np.random.default_rng(2)
    load = poisson(600, 40, dice.integers(0, 100, 24_000))
    living = LivingMap(space(100), (), ["a", "b", "c"], QUICK)
    found = run_writes(load, 100, living)
    assert found.accepted[1:4].sum() == pytest.approx(600, rel=0.02), "a range takes its target"
    assert found.throttled[-5:].sum() == 0
    splits = [event for event in found.events if event.kind == "split"]
    assert len(splits) == len(living.ranges) - 1 >= 3
    assert {each.server for each in living.ranges} == {"a", "b", "c"}
    assert all(event.before_ppm >= max(share for _, _, share in event.ranges) for event in splits)
    assert all(event.at_ns % SECOND == 0 for event in found.events)


def test_an_append_only_key_gains_nothing_from_splits() -> None:
    """M7: the same 600/s, but each key is used for a moment only: nothing is split, and 200/s is what there is.

    A manager that would split nevertheless, at every pass, wins nothing: all that comes comes after the last split.
    """
    load = poisson(600, 40, np.arange(24_000) // 100)
    living = LivingMap(space(240), (), ["a", "b", "c"], QUICK)
    found = run_writes(load, 240, living)
    assert not found.events
    assert found.accepted[1:-1].mean() == pytest.approx(200, rel=0.02)
    eager = LivingMap(space(240), (), ["a", "b", "c"], replace(QUICK, sustain_ns=0))
    split = run_writes(load, 240, eager)
    assert len(eager.ranges) > 10
    assert split.accepted[1:-1].mean() == pytest.approx(200, rel=0.04)
