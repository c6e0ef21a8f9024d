"""Clients in a closed loop: threads of machines, laws of closed systems, and read-modify-write of one entity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from pkadvisor.design.load.contention import attempts_at_most, contention
from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import Limits
from pkadvisor.stress.placement.run_result import RunResult
from pkadvisor.stress.simulate.clients import Clients, run_clients, sends_of
from pkadvisor.stress.simulate.course import Traced
from tests.stress.small import (
    MS,
    NEVER_AGAIN,
    SECOND,
    Listed,
    Waits,
    fixed,
    limits,
    one_class,
    read,
    script,
    space,
    write,
)
from tests.tiers import sizes

LIMITS = limits()
FLAT = limits(read_latency_ms_p99=3.5, write_latency_ms_p99=7.1)
READ_NS, WRITE_NS = round(3.565 * MS), round(7.1 * MS)


def same() -> Iterator[tuple[int, int]]:
    return itertools.repeat((0, 0))


def test_a_client_sends_the_next_stage_and_request_after_the_answer_and_its_thinking() -> None:
    trace: list[Traced] = []
    found = run_clients(
        Clients(1, 20 * MS),
        same(),
        one_class(space(2), [script([read(0), read(1)], [write(0)])]),
        Capacity(FLAT),
        fixed(0, 2),
        NEVER_AGAIN,
        duration_ns=60 * MS,
        trace=trace,
    )
    both = READ_NS + 250_000  # the second of two reads at once waits for the range
    turn = both + WRITE_NS + 20 * MS
    first = 20 * MS
    assert [each[0] for each in trace] == [first, first, first + both, first + turn, first + turn, first + turn + both]
    assert found.classes["c"].latencies_ns == [both + WRITE_NS] * 2
    assert found.duration_ns == 60 * MS, "what was begun is answered after it"


def test_a_machine_has_so_many_threads_and_the_others_wait_their_turn() -> None:
    """Four clients that think nothing on one machine of two threads: two at a time, each waits for one answer."""
    trace: list[Traced] = []
    found = run_clients(
        Clients(4, vms=1, threads_per_vm=2),
        itertools.islice(same(), 8),
        one_class(space(1), [script([write(0)])]),
        Capacity(FLAT),
        fixed(0, 1),
        NEVER_AGAIN,
        duration_ns=SECOND,
        trace=trace,
    )
    under_way = [sum(one[0] <= at < one[0] + one[6] for one in trace) for at in sorted(one[0] for one in trace)]
    assert max(under_way) == 2 and len(trace) == 8
    slow = WRITE_NS + 250_000  # behind the other on the range
    assert found.classes["c"].latencies_ns[:4] == [WRITE_NS, slow, 2 * WRITE_NS, slow + WRITE_NS]


def test_requests_that_send_nothing_are_served_by_the_way() -> None:
    sends = iter([(0, 1), (0, 0), (0, 1), (0, 1), (0, 0)])
    scripts = one_class(space(1), [script([write(0)]), script()])
    found = run_clients(Clients(1), sends, scripts, Capacity(FLAT), fixed(0, 1), NEVER_AGAIN, duration_ns=SECOND)
    counts = found.classes["c"]
    assert (counts.requests, counts.served, counts.attempts, len(counts.latencies_ns)) == (5, 5, 2, 2)


def test_clients_send_what_a_load_asks_for_over_and_over() -> None:
    load = Listed([(5, 0, 2), (6, 0, 0), (7, 0, 1)], SECOND, batch=2)
    assert list(itertools.islice(sends_of(load), 7)) == [(0, 2), (0, 0), (0, 1), (0, 2), (0, 0), (0, 1), (0, 2)]
    assert list(sends_of(Listed([], SECOND))) == []


@pytest.mark.parametrize("random", [False, True])
def test_the_response_time_law(random: bool) -> None:
    """X = N / (R + Z), with retries and refusals inside R (Denning and Buzen, 1978)."""
    clients, think_ns = 60, 40 * MS
    found = run_clients(
        Clients(clients, think_ns, random),
        itertools.cycle([(0, i) for i in range(7)]),
        one_class(space(7), [script([read(i)], [write(i, 20)]) for i in range(7)]),
        Capacity(limits(partition_entities_per_s=2000, burst_s=0.1)),
        fixed(0, 7),
        Waits((5 * MS,) * 1000),
        duration_ns=20 * SECOND,
        seed=3,
    )
    counts = found.classes["c"]
    assert counts.lost == 0 and sum(counts.throttled.values()) > 0
    response_ns = counts.latency_ns_sum / counts.served
    # A retry's back-off is between the attempts of a stage, so it is in the latency.
    assert counts.served / 20 == pytest.approx(clients * SECOND / (response_ns + think_ns), rel=0.03)


def test_the_same_seed_the_same_run_and_another_another() -> None:
    def run(seed: int) -> list[Traced]:
        trace: list[Traced] = []
        run_clients(
            Clients(5, 10 * MS, True, again_ns=MS),
            same(),
            one_class(space(1), [script([read(0)], [write(0)])]),
            Capacity(LIMITS),
            fixed(0, 1),
            NEVER_AGAIN,
            duration_ns=SECOND,
            entity=lambda _, instance: instance,
            seed=seed,
            trace=trace,
        )
        return trace

    assert run(1) == run(1) != run(2)


# ------------------------------------------------------------------------------------------------ If-Match


def updates(clients: Clients, values: Limits, duration_ns: int) -> RunResult:
    """Clients that change one entity: read, then write under If-Match."""
    return run_clients(
        clients,
        same(),
        one_class(space(1), [script([read(0)], [write(0)])]),
        Capacity(values),
        fixed(0, 1),
        NEVER_AGAIN,
        duration_ns=duration_ns,
        entity=lambda _, instance: instance,
    )


def test_of_two_that_read_the_same_version_the_first_to_write_wins() -> None:
    trace: list[Traced] = []
    found = run_clients(
        Clients(2),
        itertools.islice(same(), 2),
        one_class(space(1), [script([read(0)], [write(0)])]),
        Capacity(FLAT),
        fixed(0, 1),
        NEVER_AGAIN,
        duration_ns=SECOND,
        entity=lambda *_: "it",
        trace=trace,
    )
    assert [(r, stage, status) for _, r, stage, _, _, status, _ in trace] == [
        (0, 0, 200),
        (1, 0, 200),
        (0, 1, 200),
        (1, 1, 412),
        (1, 0, 200),
        (1, 1, 200),
    ]
    counts = found.classes["c"]
    assert counts.conflicts == 1 and counts.served == 2 and counts.accepted == 6
    assert counts.entities_written == 2, "what did not commit wrote nothing"


def test_updates_of_different_entities_never_conflict() -> None:
    found = run_clients(
        Clients(8),
        itertools.cycle([(0, i) for i in range(8)]),
        one_class(space(8), [script([read(i)], [write(i)]) for i in range(8)]),
        Capacity(FLAT),
        fixed(0, 8),
        NEVER_AGAIN,
        duration_ns=SECOND,
        entity=lambda _, instance: instance,
    )
    assert found.classes["c"].conflicts == 0 < found.classes["c"].served


@pytest.mark.parametrize(
    ("clients", "load"),
    sizes([(1, 0.5), (4, 0.3), (64, 0.5)], [(n, load) for n in (1, 2, 4, 16, 64) for load in (0.3, 0.5)], "proofs"),
)
def test_commits_and_attempts_of_one_entity_are_as_the_term_predicts(clients: int, load: float) -> None:
    """Within 10 %, as far as the term is stated: clients that think, and wait a random while after a 412.

    The term knows no clients but a rate of updates by others, so of n clients it is that of n − 1 of them. It says how
    many attempts there are from below (Poisson commits) and from above (commits a cycle apart).
    """
    predicted = contention(1000 * load / contention(1, LIMITS).cycle_ms, LIMITS)
    others = load * (clients - 1) / clients
    low, high = math.exp(others), attempts_at_most(others)
    attempts, cycle_ns = (low + high) / 2, predicted.cycle_ms * MS
    think_ns = int(clients / predicted.rate_per_s * SECOND - attempts * cycle_ns - (attempts - 1) * cycle_ns)
    assert think_ns > 0
    duration_ns = int(2000 / predicted.rate_per_s * SECOND)
    found = updates(Clients(clients, think_ns, True, int(cycle_ns)), LIMITS, duration_ns)
    counts = found.classes["c"]
    commits_per_s = counts.served * SECOND / duration_ns
    assert commits_per_s == pytest.approx(predicted.rate_per_s, rel=0.1)
    measured = 1 + counts.conflicts / counts.served
    assert 0.9 * low <= measured <= 1.1 * high
    if clients >= 16:  # many: the term as it is printed
        assert predicted.attempts_per_commit is not None
        assert 0.9 * predicted.attempts_per_commit <= measured <= 1.1 * attempts_at_most(predicted.load)


@pytest.mark.parametrize("clients", sizes([1, 8], [1, 2, 4, 8], "proofs"))
def test_at_saturation_there_is_one_commit_in_a_cycle_and_the_others_attempts_are_wasted(clients: int) -> None:
    """Here the count of attempts is no term's: a load of 1 has none. n clients make n attempts for each commit.

    With times that vary, the quickest of many wins, so commits may be a little nearer than a mean cycle.
    """
    exact = contention(1, FLAT).commits_per_s_max
    counts = updates(Clients(clients), FLAT, 10 * SECOND).classes["c"]
    assert 0.95 * exact <= counts.served / 10 <= exact + 0.2, "and one may be answered after the end"
    assert counts.conflicts / counts.served == pytest.approx(clients - 1, rel=0.1, abs=0.01)
    assert contention(exact * 1.01, FLAT).attempts_per_commit is None
    varied = updates(Clients(clients), LIMITS, 10 * SECOND).classes["c"]
    assert varied.served / 10 <= 1.08 * contention(1, LIMITS).commits_per_s_max


def test_queueing_of_a_closed_loop_is_within_its_asymptotes() -> None:
    """X(N) ≤ min(1/D_max, N/(D + Z)) (Lazowska and others, 1984); the log's order is the bottleneck of one range."""
    capacity = Capacity(FLAT)
    on_range = capacity.times.range_ns
    for clients in (1, 8, 20, 60):
        target = limits(read_latency_ms_p99=3.5, write_latency_ms_p99=7.1, partition_entities_per_s=2000, burst_s=400)
        found = run_clients(
            Clients(clients),
            same(),
            one_class(space(1), [script([write(0)])]),
            Capacity(target),
            fixed(0, 1),
            NEVER_AGAIN,
            duration_ns=4 * SECOND,
        )
        throughput = found.classes["c"].served / 4
        bound = min(SECOND / on_range, clients * SECOND / WRITE_NS)
        assert 0.98 * bound <= throughput <= 1.02 * bound
        if clients == 60:
            assert np.abs(found.accepted[1:4] - SECOND / on_range).max() <= 2, "every range_ns one"
    assert capacity.times.work_milli(Kind.WRITE, 1, 0) == 1000
