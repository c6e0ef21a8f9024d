"""A window of attempts judged in one loop over lists, of which those that are turned away cost next to nothing.

Between two attempts that are let through, levels only rise and queues only shorten. So each bucket has one moment from
which on it holds what one entity needs, and an attempt before that moment is throttled by a comparison; levels are
worked out where something is let through. What ``sequential`` decides, in the same integers, for strict targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pkadvisor.engine.capacity.buckets import MILLI, UNITS
from pkadvisor.engine.capacity.service_times import DRAWS
from pkadvisor.stress.simulate.fluid_pass import (
    ACCEPTED,
    ACCOUNT,
    BANDWIDTH,
    NOT_SENT,
    PARTITION,
    QUEUE,
    QUEUE_WAIT,
    RANGE,
    REJECTION,
    SERVER,
    TIME_OUT,
    TIMED_OUT,
)
from pkadvisor.stress.simulate.fluid_state import Buckets
from pkadvisor.stress.simulate.fluid_table import (
    ACCOUNT_COST,
    ACCOUNT_MORE,
    COST,
    EFFORT,
    MORE,
    MOVED,
    ON_RANGE,
    ON_SERVER,
    SCAN,
    TRIP,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pkadvisor.arrays import Bools, Ints
    from pkadvisor.stress.simulate.fluid_state import State
    from pkadvisor.stress.simulate.fluid_table import FluidTable
    from pkadvisor.stress.simulate.fluid_window import Window


def by_lists(window: Window, table: FluidTable, state: State, draws: Ints) -> tuple[Ints, Ints]:
    """What becomes of each attempt, and its latency; ``state`` goes on to the end of the window.

    ``draws`` are the ``draw_indices`` of the window. Targets must be strict, and 64 bits must hold every level.
    """
    at, cost = window.at, table.weights[COST][window.weight]
    attempts = (
        at.tolist(),
        window.of_range.tolist(),
        window.partition.tolist(),
        _lacking(state, window.partition, cost, at).tolist(),
        (cost != MILLI).tolist(),
        window.weight.tolist(),
        window.owner.tolist(),
        window.stage.tolist(),
    )
    code, admitted, latencies = _walk(attempts, table, state, draws.tolist())
    codes = np.array(code, np.int64)
    latency = np.full(len(at), state.figures[REJECTION], np.int64)
    latency[codes == NOT_SENT] = 0
    latency[admitted] = latencies
    return codes, latency


def _lacking(state: State, partition: Ints, cost: Ints, at: Ints) -> Bools:
    """Which attempts their partition would turn away even if nothing were let through in this window."""
    rate, burst, full = state.figures[0:3]
    there = partition >= 0
    levels = state.partitions[np.where(there, partition, 0)]
    gone = np.clip(at - levels[:, 1], 0, full)
    level = np.minimum(burst, levels[:, 0] + rate * gone)
    lacking: Bools = there & (level < np.minimum(cost * UNITS, burst))
    return lacking


def _walk(
    attempts: tuple[Sequence[int], ...], table: FluidTable, state: State, draws: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """The code of each attempt, and which of them were let through, with their latency (or that of a time-out)."""
    figures, buckets = state.figures, state.listed or Buckets(state)
    queue_wait, time_out = figures[QUEUE_WAIT], figures[TIME_OUT]
    range_free, server_free = state.range_free.tolist(), state.server_free.tolist()
    ranges, account = buckets.ranges, buckets.account
    used, trips, several, tuples = buckets.partitions, table.flat_trips, not table.alone, table.tuples
    code, admitted, latencies = [NOT_SENT] * len(attempts[0]), list[int](), list[int]()
    failed: dict[int, int] = {}
    failed_at, sent = failed.get, 0
    for i, (now, r, p, lacks, large, weight, owner, stage) in enumerate(zip(*attempts, strict=True)):
        if several and failed_at(owner, stage) < stage:
            continue
        draw = draws[sent]
        sent += 1
        own, bandwidth, s, server = ranges.get(r) or buckets.of_range(r)
        if large:
            its = tuples.get(weight) or table.as_tuple(weight)
            bound = PARTITION if lacks else _bound_of(buckets, now, r, p, its)
        elif lacks or (p in used and now < used[p].ready):
            bound = PARTITION
        elif now < own.ready:
            bound = RANGE
        elif now < bandwidth.ready:
            bound = BANDWIDTH
        elif now < server.ready:
            bound = SERVER
        elif now < account.ready:
            bound = ACCOUNT
        else:
            bound = 0
        if not bound:
            on_server_from, on_range_from = server_free[s], range_free[r]
            if on_server_from - now > queue_wait or on_range_from - now > queue_wait:
                bound = QUEUE
        if bound:
            code[i] = bound
            if several:
                failed.setdefault(owner, stage)
            continue
        its = tuples.get(weight) or table.as_tuple(weight)
        whole = (its[COST] + its[MORE]) * UNITS
        own.charge(now, whole)
        bandwidth.charge(now, its[MOVED] * UNITS)
        server.charge(now, whole)
        account.charge(now, (its[ACCOUNT_COST] + its[ACCOUNT_MORE]) * UNITS)
        if p >= 0:
            (used.get(p) or buckets.of_partition(p)).charge(now, whole)
        on_server, on_range = its[ON_SERVER], its[ON_RANGE]
        departed = (now if now > on_server_from else on_server_from) + on_server
        server_free[s] = departed
        ready = departed if departed > on_range_from else on_range_from
        range_free[r] = ready + on_range
        took = ready - now - on_server + trips[DRAWS * its[TRIP] + draw] * its[EFFORT] // 1000 + its[SCAN]
        code[i] = ACCEPTED
        if took > time_out:
            code[i], took = TIMED_OUT, time_out
            if several:
                failed.setdefault(owner, stage)
        admitted.append(i)
        latencies.append(took)
    buckets.give()
    state.listed = buckets
    state.range_free[:], state.server_free[:] = range_free, server_free
    return code, admitted, latencies


def _bound_of(buckets: Buckets, now: int, r: int, p: int, its: Sequence[int]) -> int:
    """What turns a write of several entities away, but for the queues; 0: nothing."""
    cost = its[COST] * UNITS
    own, bandwidth, _, server = buckets.ranges[r]
    if p in buckets.partitions and buckets.partitions[p].lacks(now, cost):
        return PARTITION
    if own.lacks(now, cost):
        return RANGE
    if now < bandwidth.ready:
        return BANDWIDTH
    if server.lacks(now, cost):
        return SERVER
    return ACCOUNT if buckets.account.lacks(now, its[ACCOUNT_COST] * UNITS) else 0
