"""A window of attempts judged in one loop over lists, of which those that are turned away cost next to nothing.

Between two attempts that are let through, levels only rise and queues only shorten. So each bucket has one moment from
which on it holds what one entity needs, and an attempt before that moment is turned away by a comparison; levels are
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

    from numpy.typing import NDArray

    from pkadvisor.stress.simulate.fluid_numpy import Window
    from pkadvisor.stress.simulate.fluid_state import State
    from pkadvisor.stress.simulate.fluid_table import Table

    Ints = NDArray[np.int64]

ONE = MILLI * UNITS
"""What an attempt needs of a bucket, but for writes of several entities."""


class Bucket:
    """A level at a moment. Before ``ready`` it lacks what most attempts need of it."""

    __slots__ = ("at", "burst", "level", "need", "rate", "ready")

    def __init__(self, levels: Sequence[int], rate: int, burst: int, need: int) -> None:
        self.level, self.at = levels
        self.rate, self.burst, self.need = rate, burst, min(need, burst)
        self.ready = 0
        self.charge(self.at, 0)

    def charge(self, now: int, amount: int) -> None:
        """Comes to a moment, and gives."""
        level, burst = self.level, self.burst
        if now > self.at:
            level += self.rate * (now - self.at)
        self.level = level = (burst if level > burst else level) - amount  # min() would take as long as all the rest
        self.at = now
        self.ready = now - (level - self.need) // self.rate if level < self.need else 0

    def lacks(self, now: int, need: int) -> bool:
        """Whether it holds less than is needed."""
        level = self.level + self.rate * max(0, now - self.at)
        return min(level, self.burst) < min(need, self.burst)


class Buckets:
    """The buckets that windows meet, one after the other: of ranges (entities, bytes), servers, the account, and of
    partitions that something is let through to in one window. ``State.listed`` keeps them until something else changes
    a level."""

    def __init__(self, state: State) -> None:
        self._state, self._figures = state, state.figures
        self.account = self._made(state.accounts, 0, 12, ONE)
        self.partitions: dict[int, Bucket] = {}
        self.ranges: dict[int, tuple[Bucket, Bucket, int, Bucket]] = {}
        self._servers: dict[int, Bucket] = {}

    def _made(self, levels: Ints, place: int, figure: int, need: int) -> Bucket:
        return Bucket(levels[place].tolist(), self._figures[figure], self._figures[figure + 1], need)

    def of_partition(self, rank: int) -> Bucket:
        """The bucket of a partition that something is let through to."""
        found = self.partitions[rank] = self._made(self._state.partitions, rank, 0, ONE)
        return found

    def of_range(self, place: int) -> tuple[Bucket, Bucket, int, Bucket]:
        """The buckets of a range that something comes to: (entities, bytes, the server, entities of it)."""
        state, server = self._state, int(self._state.server_of[place])
        shared = self._servers.get(server)
        if shared is None:
            shared = self._servers[server] = self._made(state.servers, server, 9, ONE)
        own, bandwidth = self._made(state.ranges, place, 3, ONE), self._made(state.bandwidths, place, 6, 0)
        found = self.ranges[place] = (own, bandwidth, server, shared)
        return found

    def give(self) -> None:
        """Writes all of them back; partitions are forgotten."""
        state = self._state
        for levels, those in (
            (state.ranges, {place: found[0] for place, found in self.ranges.items()}),
            (state.bandwidths, {place: found[1] for place, found in self.ranges.items()}),
            (state.servers, self._servers),
            (state.accounts, {0: self.account}),
            (state.partitions, self.partitions),
        ):
            if those:
                levels[list(those)] = [(each.level, each.at) for each in those.values()]
        self.partitions.clear()


def by_lists(window: Window, table: Table, state: State, draws: Ints) -> tuple[Ints, Ints]:
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


def _lacking(state: State, partition: Ints, cost: Ints, at: Ints) -> NDArray[np.bool_]:
    """Which attempts their partition would turn away even if nothing were let through in this window."""
    rate, burst, full = state.figures[0:3]
    there = partition >= 0
    levels = state.partitions[np.where(there, partition, 0)]
    gone = np.clip(at - levels[:, 1], 0, full)
    level = np.minimum(burst, levels[:, 0] + rate * gone)
    found: NDArray[np.bool_] = there & (level < np.minimum(cost * UNITS, burst))
    return found


def _walk(
    attempts: tuple[Sequence[int], ...], table: Table, state: State, draws: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """The code of each attempt, and which of them were let through, with their latency (or that of a time-out)."""
    figures, buckets = state.figures, state.listed or Buckets(state)
    queue_wait, time_out = figures[QUEUE_WAIT], figures[TIME_OUT]
    range_free, server_free = state.range_free.tolist(), state.server_free.tolist()
    ranges, account = buckets.ranges, buckets.account
    used, trips, several, kept = buckets.partitions, table.flat_trips, not table.alone, table.tuples
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
            its = kept.get(weight) or table.as_tuple(weight)
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
        its = kept.get(weight) or table.as_tuple(weight)
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
