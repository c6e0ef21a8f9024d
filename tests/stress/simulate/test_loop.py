"""The reference of a run without rows, against cases computed by hand, conservation and Little's law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.engine.capacity.capacity import Bound, Capacity
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.simulate.course import Traced
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.stress.simulate.measures import nominal_ns, offered_milli
from pkadvisor.stress.simulate.recorder import WindowTally
from tests.stress.small import (
    MS,
    NEVER_AGAIN,
    SECOND,
    Listed,
    Waits,
    fixed,
    limits,
    one_class,
    options,
    page,
    read,
    script,
    space,
    write,
)
from tests.tiers import examples

# Draws that are all alike: what a step takes is known to the nanosecond.
FLAT = limits(
    read_latency_ms_p99=3.5,
    write_latency_ms_p99=7.1,
    latency_goal_ms_p99=10000,
)
READ_NS, WRITE_NS = round(3.5 * MS), round(7.1 * MS)
SCAN_NS = round(0.065 * MS)
BUSY_READ_NS = 100_000 + 250_000  # on the server at 10,000/s, and on the range at twice 2,000/s


def test_two_reads_at_once_queue_on_the_server_and_on_the_range() -> None:
    """By hand: the server takes 0.1 ms of each, the range 0.25 ms, and the second waits on the range 0.15 ms more."""
    trace: list[Traced] = []
    load = Listed([(0, 0, 0), (0, 0, 0)], SECOND)
    scripts = one_class(space(2), [script([read(0)])])
    found = run_loop(load, scripts, Capacity(FLAT), fixed(0, 2), NEVER_AGAIN, trace=trace)
    alone = READ_NS + SCAN_NS
    second = alone + 100_000 + 150_000  # server: behind 0.1; range: free at 0.35, there at 0.2
    assert trace == [(0, 0, 0, 0, 1, 200, alone), (0, 1, 0, 0, 1, 200, second)]
    counts = found.classes["c"]
    assert (counts.requests, counts.served, counts.lost, counts.attempts, counts.accepted) == (2, 2, 0, 2, 2)
    assert counts.latencies_ns == [alone, second] and counts.latency_ns_sum == alone + second
    assert counts.ended_s == [0, 0]
    assert counts.entities_read == 2 and counts.entities_written == counts.pages == 0
    assert found.offered.tolist() == found.accepted.tolist() == [2] and found.throttled.tolist() == [0]
    assert found.hottest == 0 and found.hottest_milli.tolist() == [2000]
    assert found.heat.tolist() == [[2000, 0]]


def test_a_stage_is_sent_in_nominal_time_after_the_last_accepted_step_of_the_one_before() -> None:
    """A group of 100 takes 33.3 times as long as one write, nominally; what was waited shows in the latency only."""
    trace: list[Traced] = []
    scripts = one_class(space(3), [script([write(0), write(1, 100)], [read(2)])])
    capacity = Capacity(FLAT)
    found = run_loop(Listed([(5, 0, 0)], SECOND), scripts, capacity, fixed(0, 3), NEVER_AGAIN, trace=trace)
    work = capacity.times.work_milli(Kind.WRITE, 100, 0)
    group_ns = WRITE_NS * work // 1000
    assert nominal_ns(capacity.times, write(1, 100)) == group_ns > 30 * WRITE_NS
    # The group waits for the single write: 0.1 ms of the server, and 0.15 ms on the range minus its own longer way.
    on_server, on_range = 100_000, 250_000
    wait_ns = on_server + max(0, on_server + on_range - (on_server + on_server * work // 1000))
    assert trace[:2] == [(5, 0, 0, 0, 1, 200, WRITE_NS), (5, 0, 0, 1, 1, 200, group_ns + wait_ns)]
    assert trace[2][:6] == (5 + group_ns, 0, 1, 2, 1, 200)
    assert found.classes["c"].latencies_ns == [group_ns + wait_ns + READ_NS + SCAN_NS]
    assert found.classes["c"].entities_written == 101


def test_a_stage_waits_for_its_slowest_step_wherever_it_stands() -> None:
    trace: list[Traced] = []
    scripts = one_class(space(2), [script([write(0, 100), read(1)], [read(1)])])
    capacity = Capacity(FLAT)
    run_loop(Listed([(0, 0, 0)], SECOND), scripts, capacity, fixed(0, 2), NEVER_AGAIN, trace=trace)
    assert trace[2][0] == nominal_ns(capacity.times, write(0, 100)) > nominal_ns(capacity.times, read(1))


def test_what_a_map_is_told_is_what_a_partition_server_counts() -> None:
    """A refusal is a request; an answer that came too late has taken its time and holds nothing."""
    tally = WindowTally()
    tally.attempt(page(1, 3, 40)._replace(bytes_moved=900), 7, 200, 5)
    tally.attempt(page(1, 3, 40)._replace(bytes_moved=900), 7, 500, 30)
    tally.attempt(write(2, 8)._replace(bytes_moved=80), 7, 412, 4)
    tally.attempt(read(0)._replace(bytes_moved=10), 6, 200, 3)
    tally.attempt(read(0)._replace(bytes_moved=10), 6, 503, 2)
    found = tally.take(4)
    assert found.requests.tolist() == [2, 2, 1, 0] and found.throttled.tolist() == [1, 0, 0, 0]
    assert found.examined.tolist() == [1, 40, 8, 0] and found.bytes_moved.tolist() == [10, 900, 80, 0]
    assert found.latency_ns == {7: 39, 6: 3}
    assert not tally.take(4).requests.any() and not tally.take(4).latency_ns


def test_what_is_turned_away_comes_back_after_the_refusal_and_the_delay_and_is_lost_in_the_end() -> None:
    """100 entities/s: the burst of 100 goes at once, and the group after it is refused until there is room."""
    small = limits(partition_entities_per_s=100)
    requests = [(0, 0, 0), (1, 0, 0), (2, 0, 1)]
    scripts = one_class(space(2), [script([write(0, 100)], [read(1)]), script([write(0), write(1)], [read(1)])])
    trace: list[Traced] = []
    policy = Waits((100 * MS, 500 * MS))
    found = run_loop(Listed(requests, SECOND), scripts, Capacity(small), fixed(0, 2), policy, trace=trace)
    refused = 2 * MS
    of_1 = [(at, stage, step, tried, status) for at, r, stage, step, tried, status, _ in trace if r == 1]
    first_again = 1 + refused + 100 * MS + 1000
    second_again = first_again + refused + 500 * MS + 1000
    assert of_1 == [(1, 0, 0, 1, 503), (first_again, 0, 0, 2, 503), (second_again, 0, 0, 3, 503)]
    of_2 = [(stage, step, tried, status) for _, r, stage, step, tried, status, _ in trace if r == 2]
    assert of_2 == [(0, 0, 1, 503), (0, 1, 1, 200), (0, 0, 2, 200), (1, 2, 1, 200)], "10 entities more after 100 ms"
    counts = found.classes["c"]
    assert (counts.requests, counts.served, counts.lost) == (3, 2, 1)
    assert counts.throttled == {Bound.PARTITION: 4} and counts.attempts == 9
    assert found.throttled.sum() == 4 and found.offered.sum() == 9 and found.accepted.sum() == 5
    # offered: the burst of 100, three times 100 that was refused, and one entity twice
    assert found.hottest == 0 and found.hottest_milli.sum() == 402_000


def test_the_rest_of_a_lost_request_is_not_sent_but_its_sent_steps_go_on() -> None:
    small = limits(partition_entities_per_s=100)
    burst = script([write(0, 100)])
    both = script([write(0, 100), write(1, 100)], [read(1)])
    other = script([write(1, 100)])
    trace: list[Traced] = []
    load = Listed([(0, 0, 0), (0, 0, 2), (10, 0, 1)], SECOND)

    class FirstStepNever(Waits):
        def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
            return None if step == 0 else super().delay_ns(tried, request, step, status)

    found = run_loop(
        load,
        one_class(space(2), [burst, both, other]),
        Capacity(small),
        fixed(0, 2),
        FirstStepNever((2 * SECOND,)),
        trace=trace,
    )
    assert [(step, tried, status) for _, r, _, step, tried, status, _ in trace if r == 2] == [
        (0, 1, 503),
        (1, 1, 503),
        (1, 2, 200),
    ]
    assert found.classes["c"].lost == 1
    assert len(found.offered) == 3, "timelines reach to the last attempt"


def test_an_answer_after_thirty_seconds_is_a_failure_although_it_was_carried_out() -> None:
    slow = options(operation_timeout_ns=5 * MS)
    trace: list[Traced] = []
    found = run_loop(
        Listed([(0, 0, 0)], SECOND),
        one_class(space(1), [script([write(0)])]),
        Capacity(FLAT, slow),
        fixed(0, 1),
        Waits((MS,)),
        trace=trace,
    )
    assert [each[5:] for each in trace] == [(500, 5 * MS), (500, 5 * MS)]
    assert trace[1][0] == 6 * MS
    counts = found.classes["c"]
    assert (counts.timed_out, counts.accepted, counts.lost, counts.entities_written) == (2, 0, 1, 0)


def test_pages_end_where_ranges_end_and_go_on_there() -> None:
    """30 rows of 10 in each of ranks 0, 1, 2; a range ends before rank 1: 10 rows, then the other 20."""
    trace: list[Traced] = []
    whole = script([page(0, 3, 30)], [read(0)])
    found = run_loop(
        Listed([(0, 0, 0)], SECOND),
        one_class(space(3, rows=10), [whole]),
        Capacity(FLAT),
        fixed(0, 1, 3, servers=2),
        NEVER_AGAIN,
        trace=trace,
    )
    first_ns, second_ns = READ_NS + 10 * SCAN_NS, round(3 * MS) + 20 * SCAN_NS
    assert [(each[0], each[2], each[3], each[6]) for each in trace[:2]] == [
        (0, 0, 0, first_ns),
        (first_ns, 1, 1, pytest.approx(second_ns, abs=2)),
    ]
    assert trace[2][2:4] == (2, 2)
    counts = found.classes["c"]
    assert counts.pages == 2 and counts.entities_read == 31
    assert found.heat.sum(axis=0).tolist() == [11_000, 10_000, 10_000]


def test_scripts_change_with_their_epoch_at_the_moment_of_arrival() -> None:
    from pkadvisor.stress.requests.scripts import Scripts

    early, late = script([read(0)]), script([read(1)])
    scripts = Scripts(space(2), ("c",), (((early,),), ((late,),)), (SECOND,))
    scripts.check()
    requests = [(SECOND - 1, 0, 0), (SECOND, 0, 0)]
    found = run_loop(Listed(requests, 2 * SECOND), scripts, Capacity(FLAT), fixed(0, 2), NEVER_AGAIN)
    assert found.heat.tolist() == [[1000, 0], [0, 1000]]


# ------------------------------------------------------------------------------------------------ laws

STEPS = st.one_of(
    st.builds(read, st.integers(0, 3)),
    st.builds(write, st.integers(0, 3), st.sampled_from([1, 1, 7, 100])),
    st.builds(page, st.integers(0, 1), st.integers(2, 4), st.integers(0, 400)),
)
SCRIPTS = st.lists(
    st.builds(
        lambda stages: script(*stages), st.lists(st.lists(STEPS, min_size=1, max_size=3), min_size=1, max_size=3)
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(40))
@given(SCRIPTS, st.lists(st.integers(0, 2 * SECOND), min_size=1, max_size=40), st.integers(0, 3), st.integers(50, 400))
def test_nothing_is_lost_of_count_and_the_order_is_that_of_tickets(
    scripts: list, moments: list[int], tries: int, target: int
) -> None:
    tight = limits(partition_entities_per_s=target)
    requests = [(at, 0, i % len(scripts)) for i, at in enumerate(sorted(moments))]
    trace: list[Traced] = []
    capacity = Capacity(tight)
    found = run_loop(
        Listed(requests, 2 * SECOND + 1),
        one_class(space(4, rows=100), scripts),
        capacity,
        fixed(0, 2, 4, servers=2),
        Waits((200 * MS,) * tries),
        trace=trace,
    )
    capacity.check()
    counts = found.classes["c"]
    assert counts.requests == len(requests) == counts.served + counts.lost
    assert counts.attempts == len(trace) == capacity.tally.arrived == found.offered.sum()
    assert counts.accepted == capacity.tally.served == found.accepted.sum()
    assert sum(counts.throttled.values()) == capacity.tally.throttled == found.throttled.sum()
    assert [each[:5] for each in trace] == sorted(each[:5] for each in trace)
    assert len({each[1:5] for each in trace}) == len(trace), "no try twice"
    assert len(counts.latencies_ns) == counts.served and sum(counts.latencies_ns) == counts.latency_ns_sum
    again = run_loop(
        Listed(requests, 2 * SECOND + 1, batch=1),
        one_class(space(4, rows=100), scripts),
        Capacity(tight),
        fixed(0, 2, 4, servers=2),
        Waits((200 * MS,) * tries),
    )
    assert same(found, again), "however the requests are batched"


def same(one: RunResult, other: RunResult) -> bool:
    """Whether two runs came to the same."""
    arrays = ("offered", "accepted", "throttled", "hottest_milli", "hottest_throttled_milli", "bands", "heat")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
    return equal and one.classes == other.classes and one.hottest == other.hottest and one.events == other.events


def test_littles_law_and_the_utilisation_law() -> None:
    """N = X·R from a count of requests under way that knows nothing of latencies' sum; U = X·S on the server."""
    dice = np.random.default_rng(7)
    moments = np.cumsum(dice.exponential(SECOND / 1500, 12_000)).astype(np.int64)
    requests = [(int(at), 0, int(i)) for at, i in zip(moments, dice.integers(0, 50, len(moments)), strict=True)]
    scripts = one_class(space(50), [script([write(i)]) for i in range(50)])
    trace: list[Traced] = []
    capacity = Capacity(limits())
    duration_ns = int(moments[-1]) + 1
    found = run_loop(Listed(requests, duration_ns), scripts, capacity, fixed(0, 50), NEVER_AGAIN, trace=trace)
    counts = found.classes["c"]
    assert counts.served == len(requests), "nothing is turned away at three quarters of the target"
    starts = np.array([each[0] for each in trace])
    ends = np.sort(starts + np.array([each[6] for each in trace]))
    at_ns = np.arange(0, duration_ns, MS)
    under_way = (np.searchsorted(starts, at_ns, side="right") - np.searchsorted(ends, at_ns, side="right")).mean()
    throughput, response = counts.served / duration_ns, counts.latency_ns_sum / counts.served
    assert under_way == pytest.approx(throughput * response, rel=0.02)
    assert capacity.busy_ns("server-0") == counts.served * capacity.times.server_ns


def test_a_page_that_is_turned_away_was_offered_all_the_same() -> None:
    assert offered_milli(page(0, 2, 250), limits()) == 250_000
    assert offered_milli(page(0, 2, 0), limits()) == 1000
    tight = limits(range_entities_per_s=2000)
    scripts = one_class(space(2, rows=5000), [script([page(0, 2, 9000)])])
    found = run_loop(Listed([(0, 0, 0), (1, 0, 0)], SECOND), scripts, Capacity(tight), fixed(0, 2), NEVER_AGAIN)
    counts = found.classes["c"]
    assert counts.throttled == {Bound.RANGE: 1}
    assert found.heat.tolist() == [[9_000_000, 9_000_000]]
    assert (found.hottest, found.hottest_milli.sum(), found.hottest_throttled_milli.sum()) == (0, 9_000_000, 4_500_000)
    assert (found.hottest_attempts, found.hottest_throttled) == (2, 1)
