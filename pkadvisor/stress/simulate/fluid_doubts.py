"""The attempts of a window that meet a bucket in doubt: which of them are let through, and what binds the others.

Between two attempts that are let through levels only rise, so each bucket has one moment from which on it holds what
the least attempt needs, and every attempt before that is turned away. So attempts are put in *groups* that meet the
same bucket (a range, else a server, the account or a PartitionKey), and of each group only the first one after that
moment is looked at: the work is that of what is let through, however much is turned away in between::

    group:   · · · · x                · · · · · · · · x              · · ·
             skipped  let through ──► skipped ──► looked at ──► …

What bound an attempt that was skipped is told afterwards, for all at once, by the levels that each charge left.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pkadvisor.engine.capacity.buckets import MILLI, UNITS
from pkadvisor.lazy import Bools, Ints
from pkadvisor.stress.simulate.fluid_state import Bucket, State
from pkadvisor.stress.simulate.fluid_table import ACCOUNT_COST, ACCOUNT_MORE, COST, MORE, MOVED, FluidTable
from pkadvisor.stress.simulate.fluid_window import Family, Window

Doubts = Sequence[Ints | None]

NEVER = 1 << 60
OF_PARTITION, OF_RANGE, OF_BANDWIDTH, OF_SERVER, OF_ACCOUNT = range(5)
"""Families of buckets, in the order in which they bind; an attempt that is turned away has the code of one more."""


class Decided(NamedTuple):
    """``code`` of each attempt that meets a bucket in doubt, 0 elsewhere; the first failed stage of each request, after
    which nothing of it is sent."""

    code: Ints
    failed: Ints


class _Live(Bucket):
    """A bucket in doubt, with the levels that its charges left."""

    __slots__ = ("left",)

    def __init__(self, level: int, at: int, rate: int, burst: int, need: int) -> None:
        self.left: list[tuple[int, int, int]] = [(-1, level, at)]
        """(attempt, level after it, its moment); first what the window begins with."""
        super().__init__((level, at), rate, burst, need)

    def take(self, number: int, now: int, amount: int) -> int:
        """An attempt is charged; before the moment that is returned there is too little for any other one."""
        self.charge(now, amount)
        self.left.append((number, self.level, now))
        return self.ready


def decided(
    window: Window,
    table: FluidTable,
    state: State,
    families: Sequence[Family],
    lacking: Sequence[Bools],
    doubts: Doubts,
    looks_max: int,
) -> Decided | None:
    """Decides about the attempts that meet a bucket in doubt: of each family which of its buckets are ``lacking``, and
    in ``doubts`` the one of them that each attempt meets (−1: none). None where too many would be looked at."""
    live = [_live(family, which) for family, which in zip(families, lacking, strict=True)]
    group = _groups(doubts, len(state.partitions), len(state.servers))
    where = np.flatnonzero(group >= 0)
    stage = window.stage
    passed = group < 0
    looked_at = _Walk(window, table, state, live, passed).run(where, group[where], looks_max)
    if looked_at > looks_max:
        return None
    refused = np.flatnonzero(~passed)
    failed = np.full(window.owners, NEVER, np.int64)
    np.minimum.at(failed, window.owner[refused], stage[refused])
    code = np.zeros(len(group), np.int64)
    if not table.alone:
        refused = refused[stage[refused] <= failed[window.owner[refused]]]
    for number, (family, each) in enumerate(zip(families, doubts, strict=True)):
        if each is None or not len(refused):
            continue
        bucket = each[refused]
        there = bucket >= 0
        meets = refused if there.all() else refused[there]
        lacks = _lacking(family, live[number], bucket if there.all() else bucket[there], meets, window.at[meets])
        code[meets[lacks]] = number + 1
        refused = refused[code[refused] == 0]
    assert not len(refused), "whatever is turned away lacks something"
    return Decided(code, failed)


def _live(family: Family, lacking: Bools) -> dict[int, _Live]:
    """The buckets of a family that are in doubt, as they are at the first attempt that meets them."""
    if not lacking.any():
        return {}
    need, first = int(family.need.min()), family.at[family.begins[lacking]]
    rows = zip(family.buckets[lacking].tolist(), family.level[lacking].tolist(), first.tolist(), strict=True)
    return {name: _Live(level, at, family.rate, family.burst, need) for name, level, at in rows}


def _groups(doubts: Doubts, partitions: int, servers: int) -> Ints:
    """The group of each attempt, −1 for those that meet no bucket in doubt."""
    known = next(each for each in doubts if each is not None)
    group: Ints = np.full(len(known), -1, np.int64)
    first = (0, partitions + 1 + servers, partitions + 1 + servers, partitions + 1, partitions)
    for number in (OF_PARTITION, OF_ACCOUNT, OF_SERVER, OF_BANDWIDTH, OF_RANGE):
        each = doubts[number]
        if each is not None:
            group = np.where(each >= 0, each + first[number], group)
    return group


class _Walk:
    """Goes through the groups of a window by turns, in the order of the attempts that are looked at."""

    def __init__(
        self, window: Window, table: FluidTable, state: State, live: list[dict[int, _Live]], passed: Bools
    ) -> None:
        self._window, self._table, self._passed = window, table, passed
        self._partitions, ranges, bandwidths, servers, accounts = live
        self._shared: list[tuple[_Live | None, ...]] = [
            (ranges.get(place), bandwidths.get(place), servers.get(server), accounts.get(0))
            for place, server in enumerate(state.server_of.tolist())
        ]
        """By range the buckets in doubt that all attempts of it meet."""
        self._earlier = None if table.alone else _Earlier(window.owner, window.stage, passed)

    def run(self, where: Ints, group: Ints, looks_max: int) -> int:
        """Marks in ``passed`` what is let through of the attempts ``where``; how many were looked at, at most one more
        than ``looks_max``."""
        group_order = np.argsort(group, kind="stable")
        numbers, group = where[group_order], group[group_order]
        begins = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        ends = np.r_[begins[1:], len(numbers)].tolist()
        # Few of them are looked at: views cost nothing for the others.
        places, moments = numbers.data, self._window.at[numbers].data
        weights, partitions = self._window.weight[numbers].data, self._window.partition[numbers].data
        ranges, look = self._window.of_range[numbers].data, self._look
        heads = [(places[begin], begin, end) for begin, end in zip(begins.tolist(), ends, strict=True)]
        heapq.heapify(heads)
        looked_at = 0
        while heads and looked_at <= looks_max:
            number, place, end = heads[0]
            until = min(heads[1:3])[0] if len(heads) > 1 else NEVER  # the next turn of another group
            while number < until and looked_at <= looks_max:
                looked_at += 1
                ready = look(number, moments[place], weights[place], ranges[place], partitions[place])
                place += 1
                if place < end and moments[place] < ready:
                    place = bisect_left(moments, ready, place, end)
                if place == end:
                    heapq.heappop(heads)
                    break
                number = places[place]
            else:
                heapq.heapreplace(heads, (number, place, end))
        return looked_at

    def _look(self, number: int, now: int, weight: int, at_range: int, partition: int) -> int:
        """Judges an attempt; the moment before which every other one of its group is turned away."""
        its = self._table.tuples.get(weight) or self._table.as_tuple(weight)
        shared = of_range, of_bandwidth, of_server, of_account = self._shared[at_range]
        of_partition = self._partitions.get(partition)
        cost, account_cost = its[COST] * UNITS, its[ACCOUNT_COST] * UNITS
        ready = 0
        for each in shared:
            if each is not None and each.ready > ready:
                ready = each.ready
        if now < ready:
            return ready
        lacks = of_partition is not None and of_partition.lacks(now, cost)
        if not lacks and its[COST] != MILLI:
            lacks = (
                (of_range is not None and of_range.lacks(now, cost))
                or (of_server is not None and of_server.lacks(now, cost))
                or (of_account is not None and of_account.lacks(now, account_cost))
            )
        if lacks or (self._earlier is not None and not self._earlier.passed(number)):
            alone = of_partition is not None and shared == (None,) * 4
            return of_partition.ready if alone and of_partition is not None else ready
        self._passed[number] = True
        whole = cost + its[MORE] * UNITS
        if of_range is not None:
            ready = of_range.take(number, now, whole)
        if of_bandwidth is not None:
            ready = max(ready, of_bandwidth.take(number, now, its[MOVED] * UNITS))
        if of_server is not None:
            ready = max(ready, of_server.take(number, now, whole))
        if of_account is not None:
            ready = max(ready, of_account.take(number, now, account_cost + its[ACCOUNT_MORE] * UNITS))
        if of_partition is not None:
            of_partition.take(number, now, whole)
            if shared == (None,) * 4:
                return of_partition.ready
        return ready


class _Earlier:
    """Whether all earlier stages of requests were let through so far. Stages of a request come in their order."""

    def __init__(self, owner: Ints, stage: Ints, passed: Bools) -> None:
        order = np.argsort(owner, kind="stable")
        self._own = order.tolist()
        self._next = np.searchsorted(owner[order], np.arange(int(owner.max(initial=-1)) + 1)).tolist()
        """By request the first of its attempts that is not known to have been let through."""
        self._owner, self._stage, self._passed = owner, stage, passed

    def passed(self, number: int) -> bool:
        """Those of the request of an attempt."""
        owner, stage = int(self._owner[number]), self._stage[number]
        place, own = self._next[owner], self._own
        while self._stage[own[place]] < stage:
            if not self._passed[own[place]]:
                return False
            place += 1
            self._next[owner] = place
        return True


def _lacking(family: Family, live: dict[int, _Live], bucket: Ints, number: Ints, at: Ints) -> Bools:
    """Which of some attempts, each at a bucket in doubt, it held too little for."""
    names = sorted(live)
    if len(names) == 1:  # one bucket: its attempts are in their order
        left = np.array(live[names[0]].left, np.int64)
        last = np.searchsorted(left[:, 0], number) - 1
    else:
        lengths = [len(live[name].left) for name in names]
        left = np.array([entry for name in names for entry in live[name].left], np.int64)
        keys = (np.repeat(np.array(names, np.int64), lengths) << 32) + left[:, 0] + 1
        last = np.searchsorted(keys, (bucket << 32) + number + 1) - 1
    level = np.minimum(family.burst, left[last, 1] + family.rate * np.maximum(0, at - left[last, 2]))
    lacking: Bools = level < family.needs(number)
    return lacking
