"""A window of attempts judged by scans: first as if all were let through, then one by one only what is in doubt.

A bucket's deficit (burst − level) is the work left in a queue that is served at its rate, so Lindley's recursion gives
it: before operation ``i`` it is ``W_i − x_i + max(d_0, max_k≤i (x_k − W_k))`` with ``W`` the charges before and ``x``
the refill since the first one. What is let through less leaves higher levels, hence:

1. Buckets that never lack although everything is let through never turn anything away.
2. Only attempts that meet another bucket are in doubt; in their order, they decide about each other alone, together
   with what a failure holds back of its own request.
3. Then it is known what is let through, and levels and queues follow by scans.

Each way to judge earns its lines, without numba: at 18,000 requests/s to a hottest key that is refused, step 2 makes a
run three to four times as fast as ``by_lists`` alone, and ``by_lists`` in place of ``sequential`` takes a fifth off the
stress test of the sample ``footrace``.

Queues and time-outs must not decide: where one might, or where *elastic* targets are short, the window is judged one
attempt after the other (``sequential``). All is int64; differences of running sums are right even where the sums wrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkadvisor.engine.capacity.buckets import MILLI, UNITS
from pkadvisor.engine.capacity.service_times import DRAWS
from pkadvisor.lazy import Bools, Ints
from pkadvisor.splitmix import mixed_each
from pkadvisor.stress.simulate import fluid_table as column
from pkadvisor.stress.simulate.fluid_doubts import NEVER, decided
from pkadvisor.stress.simulate.fluid_pass import (
    ACCEPTED,
    ACCOUNT,
    BANDWIDTH,
    ELASTIC,
    NOT_SENT,
    PARTITION,
    QUEUE,
    QUEUE_WAIT,
    RANGE,
    REJECTION,
    SERVER,
    TIME_OUT,
    TIMED_OUT,
    sequential,
)
from pkadvisor.stress.simulate.fluid_state import Buckets, State
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
    FluidTable,
)
from pkadvisor.stress.simulate.fluid_window import SAFE, Family, Window

# ----------------------------------------------------------------------------------------------------------------------
# A window of attempts judged in one loop over lists, of which those that are turned away cost next to nothing.
#
# Between two attempts that are let through, levels only rise and queues only shorten. So each bucket has one moment
# from which on it holds what one entity needs, and an attempt before that moment is throttled by a comparison; levels
# are worked out where something is let through. What ``sequential`` decides, in the same integers, for strict
# targets.


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


FEW = 96
"""Fewer attempts are judged sooner one by one."""
CROWDED = 0.3
"""Attempts that have to be looked at, for each attempt of a window, from which on one by one is sooner."""
FADING = 0.95
"""What is left of that share with each window that was judged one by one, so that scans are tried again."""


def draw_indices(seed: int, first: int, count: int) -> Ints:
    """``service_times.draw_index`` of ``count`` tickets from ``first`` on."""
    mixed = mixed_each(seed, np.arange(first, first + count, dtype=np.uint64))
    return (mixed >> np.uint64(64 - DRAWS.bit_length() + 1)).astype(np.int64)


def judge(window: Window, table: FluidTable, state: State) -> tuple[Ints, Ints]:
    """What becomes of each attempt, and its latency; ``state`` goes on to the end of the window."""
    judged = None
    if len(window.at) >= FEW and state.looked_at <= CROWDED:
        judged = _by_scans(window, table, state)
    if judged is not None:
        return judged
    if state.figures[ELASTIC]:
        return one_by_one(window, table, state)
    code, latency = by_lists(window, table, state, draw_indices(window.seed, window.ticket, len(window.at)))
    state.looked_at = FADING * state.looked_at if code.any() else 0.0
    return code, latency


def _by_scans(window: Window, table: FluidTable, state: State) -> tuple[Ints, Ints] | None:
    figures, weight, at = state.figures, window.weight, window.at
    columns, of_range = table.weights, window.of_range
    of_server = state.server_of[of_range]
    families = _families(window, table, state, of_server)
    if not all(family.fits() for family in families):
        return None
    elastic = bool(figures[ELASTIC])
    lackings: list[Bools] = []
    for number, family in enumerate(families):
        soft = elastic and number < 2
        lackings.append(family.lacking(soft) if not family.empty else np.zeros(0, np.bool_))
        if soft and lackings[-1].any():
            return None
    doubts = [f.among(lacking) if lacking.any() else None for f, lacking in zip(families, lackings, strict=True)]
    code = np.zeros(len(at), np.int64)
    passed: Bools | None = None
    if any(each is not None for each in doubts):
        most = len(at) if elastic else round(CROWDED * len(at))
        decision = decided(window, table, state, families, lackings, doubts, most)
        if decision is None:
            state.looked_at = 1.0
            return None
        code, failed = decision.code, decision.failed
        code[window.stage > failed[window.owner]] = NOT_SENT
        passed = code == ACCEPTED
    queues = _queues(
        at, of_range, of_server, columns[column.ON_SERVER][weight], columns[column.ON_RANGE][weight], passed, state
    )
    wait, longest, range_free, server_free = queues
    if longest > figures[QUEUE_WAIT]:
        return None
    sent = None if passed is None else code != NOT_SENT
    draws = draw_indices(window.seed, window.ticket, len(at))
    if sent is not None and not sent.all():
        draws = draws[np.maximum(sent.cumsum() - 1, 0)]
    trips = table.trips.ravel()[columns[column.TRIP][weight] * DRAWS + draws]
    latency = wait + trips * columns[column.EFFORT][weight] // 1000 + columns[column.SCAN][weight]
    if passed is not None:
        latency[~passed] = figures[REJECTION]
        latency[code == NOT_SENT] = 0
    if len(latency) and int(latency.max()) > figures[TIME_OUT]:
        return None
    state.listed = None
    for family in families:
        family.settle(passed)
    state.range_free[:], state.server_free[:] = range_free, server_free
    return code, latency


def _families(window: Window, table: FluidTable, state: State, of_server: Ints) -> tuple[Family, ...]:
    """The buckets of partitions, ranges, bandwidths, servers and the account, with what the window asks of each."""
    figures, weight, of_range = state.figures, window.weight, window.of_range
    columns = table.weights
    cost = columns[column.COST][weight]
    whole = cost + columns[column.MORE][weight]
    cost = cost * UNITS
    moved = columns[column.MOVED][weight]
    account_cost = columns[column.ACCOUNT_COST][weight]
    zero = np.zeros(len(window.at), np.int64)

    def need(cost: Ints, family: int) -> Ints:
        least: Ints = np.minimum(cost, figures[family + 1])
        return least

    return (
        Family(window, window.partition, state.partitions, figures[0:3], need(cost, 0), whole),
        Family(window, of_range, state.ranges, figures[3:6], need(cost, 3), whole),
        Family(window, of_range, state.bandwidths, figures[6:9], zero, moved),
        Family(window, of_server, state.servers, figures[9:12], need(cost, 9), whole),
        Family(window, None, state.accounts, figures[12:15], need(account_cost * UNITS, 12),
                account_cost + columns[column.ACCOUNT_MORE][weight]),
    )  # fmt: skip


def _queues(
    at: Ints, of_range: Ints, of_server: Ints, on_server: Ints, on_range: Ints, passed: Bools | None, state: State
) -> tuple[Ints, int, Ints, Ints]:
    """Waits in both queues, the longest that one might find on arrival, and the ends of both queues afterwards."""
    wait = np.zeros(len(at), np.int64)
    range_free, server_free = state.range_free.copy(), state.server_free.copy()
    if passed is not None:
        at, of_range, of_server = at[passed], of_range[passed], of_server[passed]
        on_server, on_range = on_server[passed], on_range[passed]
    if not len(at):
        return wait, 0, range_free, server_free
    longest = int(max((range_free[of_range] - at).max(), (server_free[of_server] - at).max()))
    if longest > state.figures[QUEUE_WAIT]:  # nobody serves there for some time
        return wait, longest, range_free, server_free
    departed = _lindley(at, on_server, of_server, server_free)
    waited = departed - on_server - at
    longest = int(waited.max())
    departed = _lindley(departed, on_range, of_range, range_free)
    ready = departed - on_range
    longest = max(longest, int((ready - at).max()))
    waited = ready - at - on_server
    if passed is None:
        wait = waited
    else:
        wait[passed] = waited
    return wait, longest, range_free, server_free


def _lindley(at: Ints, takes: Ints, key: Ints, free: Ints) -> Ints:
    """Departures from first-come queues, one for each value of ``key``; ``free`` goes on to the end of each."""
    if len(free) == 1:
        sums = takes.cumsum()
        alone: Ints = sums + np.maximum(free[0], np.maximum.accumulate(at - sums + takes))
        free[0] = alone[-1]
        return alone
    packed = np.sort((key << 32) | np.arange(len(at), dtype=np.int64))
    order, key = packed & 0xFFFFFFFF, packed >> 32
    starts = np.r_[True, key[1:] != key[:-1]]
    begins = np.flatnonzero(starts)
    at, takes = at[order], takes[order]
    sums = takes.cumsum()
    lengths = np.diff(np.r_[begins, len(at)])
    queues = key[begins]
    sums -= np.repeat((sums - takes)[begins], lengths)
    early = at - sums + takes
    early[begins] = np.maximum(early[begins], free[queues])
    low = int(early.min())
    span = int(early.max()) - low + 1
    assert span * len(begins) < SAFE, "moments of a window lie closer together"
    lift = np.repeat(np.arange(len(begins), dtype=np.int64) * span, lengths)
    early += lift
    np.maximum.accumulate(early, out=early)
    early += sums - lift
    free[queues] = early[begins + lengths - 1]
    departed: Ints = np.empty_like(early)
    departed[order] = early
    return departed


def one_by_one(window: Window, table: FluidTable, state: State) -> tuple[Ints, Ints]:
    """The same by ``sequential`` over lists: exact whatever happens in the window."""
    count = len(window.at)
    draws = draw_indices(window.seed, window.ticket, count).tolist()
    kinds, weight = np.unique(window.weight, return_inverse=True)
    weights = table.judged[kinds].ravel().tolist()
    ranks = [rank for rank in np.unique(window.partition).tolist() if rank >= 0]
    places = [place for rank in ranks for place in (2 * rank, 2 * rank + 1)]
    partitions = dict(zip(places, state.partitions[ranks].ravel().tolist(), strict=True))
    buckets = (state.ranges, state.bandwidths, state.servers, state.accounts)
    ranges, bandwidths, servers, accounts = levels = [each.ravel().tolist() for each in buckets]
    range_free, server_free = state.range_free.tolist(), state.server_free.tolist()
    code, latency = [0] * count, [0] * count
    sequential(
        window.at.tolist(), window.owner.tolist(), window.stage.tolist(), window.partition.tolist(),
        window.of_range.tolist(), weight.tolist(), weights, column.JUDGED, state.server_of.tolist(), draws,
        table.flat_trips, DRAWS, state.figures, partitions, ranges, bandwidths, servers, accounts, range_free,
        server_free, [NEVER] * window.owners, code, latency,
    )  # fmt: skip
    state.listed = None
    if ranks:
        state.partitions[ranks] = np.array([partitions[place] for place in places], object).reshape(-1, 2)
    for each, after in zip(buckets, levels, strict=True):
        each[:] = np.array(after, each.dtype).reshape(-1, 2)
    state.range_free[:], state.server_free[:] = range_free, server_free
    return np.array(code, np.int64), np.array(latency, np.int64)
