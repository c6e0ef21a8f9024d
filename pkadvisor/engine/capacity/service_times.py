"""How long operations keep servers busy, and how long they take when nobody is in the way; whole ns, each with a basis.

Two times of an operation are kept apart. It *occupies* the server's processor and the range's place in the order of
its log, one operation after the other: that is what makes queues. And it *takes* its round trips, an append to three
disks or the read of a page, which overlap with those of others. Nobody publishes either; all of it follows from limits
that a measured calibration replaces.
"""

from __future__ import annotations

import math
from enum import IntEnum
from functools import lru_cache
from statistics import NormalDist

from pkadvisor.engine.capacity.buckets import MILLI, SECOND_NS, milli
from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.limits import Limits
from pkadvisor.splitmix import mixed
from pkadvisor.table.accounting import group_cost

DRAWS = 4096
"""Equally likely values that stand for a log-normal distribution."""


class Kind(IntEnum):
    """What an operation does: reads one entity, writes one or a group, examines entities for a page of an answer."""

    READ = 0
    WRITE = 1
    PAGE = 2


def draw_index(seed: int, number: int) -> int:
    """Which of the ``DRAWS`` values the operation of a number gets: the upper 12 bits of :func:`mixed`.

    A function of the seed and the number alone, so that operations may be judged in any grouping.
    """
    return mixed(seed, number) >> 52


@lru_cache(maxsize=64)
def draws(p50_ms: float, p99_ms: float) -> tuple[int, ...]:
    """The values of a log-normal through two quantiles at (i + ½)/``DRAWS``, in ns, each the nearest whole number."""
    normal = NormalDist()
    sigma = math.log(p99_ms / p50_ms) / normal.inv_cdf(0.99)
    return tuple(round(p50_ms * MS * math.exp(sigma * normal.inv_cdf((i + 0.5) / DRAWS))) for i in range(DRAWS))


@lru_cache(maxsize=64)
def _times(values: tuple[int, ...], ratio: float) -> tuple[int, ...]:
    return tuple(round(value * ratio) for value in values)


class ServiceTimes:
    """The times of one store. ``limits`` says what they rest on; rates in entities/s become ns by rounding once.

    A range takes ``range_rate_multiple`` times its target of single writes: in 2010 a partition with a target of 500
    took 1,037 (fitted to *How to get most out of Windows Azure Tables*, figure 8), so the target does not bind because
    the server could not do more. A server takes ``server_entities_per_s``.
    """

    def __init__(self, limits: Limits, options: EngineOptions, seed: int = 0) -> None:
        self.seed = mixed(seed, 0)
        self.range_ns = round(SECOND_NS / (limits.range_entities_per_s * options.range_rate_multiple))
        self.server_ns = round(SECOND_NS / limits.server_entities_per_s)
        self.scan_ns = round(limits.scan_ms_per_entity * MS)
        self.scan_work = milli(limits.scan_weight_low)
        self._speedup, self._group = limits.group_transaction_speedup, limits.group_transaction_entities
        self.group_work = tuple(milli(group_cost(k, self._speedup, self._group)) for k in range(1, self._group + 1))
        reads = draws(limits.read_latency_ms_p50, limits.read_latency_ms_p99)
        writes = draws(limits.write_latency_ms_p50, limits.write_latency_ms_p99)
        ratio = limits.page_latency_ms / limits.read_latency_ms_p50
        self.unhindered = (reads, writes, reads)
        """By kind, in ns."""
        self.next_page = _times(reads, ratio)

    def work_milli(self, kind: Kind, entities: int, examined: int) -> int:
        """What an operation is in thousandths of a point read or single write.

        A group of k is S(k) = s0 + k·s1 (``accounting.group_cost``), a page its scanned rows at ``scan_weight_low``.
        """
        if kind == Kind.READ:
            return MILLI
        if kind == Kind.PAGE:
            return max(MILLI, self.scan_work * examined)
        if 1 <= entities <= self._group:
            return self.group_work[entities - 1]
        return milli(group_cost(max(1, entities), self._speedup, self._group))

    def unhindered_ns(self, kind: Kind, work_milli: int, examined: int, continued: bool, number: int) -> int:
        """How long the operation of a number takes when no other is in its way; fractions of a ns are dropped.

        A group takes as many times a single write as it is work; a page its rows one by one beside a round trip.
        """
        index = draw_index(self.seed, number)
        if kind == Kind.WRITE:
            return self.unhindered[kind][index] * work_milli // MILLI
        trip = self.next_page[index] if continued else self.unhindered[kind][index]
        return trip + self.scan_ns * examined
