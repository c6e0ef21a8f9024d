"""What came of a run, whichever way it was run: counts, latencies, the hottest partition, heat, events.

All values are integers or arrays of them, so that two ways to run one load can be compared for equality.
"""

from __future__ import annotations

from dataclasses import field

from pkadvisor.engine.capacity.capacity import Bound
from pkadvisor.lazy import Ints
from pkadvisor.values import dataclass

WINDOW_NS = 1_000_000_000
"""Timelines have a value for each second of the run."""


@dataclass(slots=True)
class ClassCounts:
    """One class: requests (of clients) and attempts (HTTP requests, retries among them).

    requests = served + lost; attempts = accepted + timed_out + throttled. Entities are those of accepted steps.
    ``conflicts`` of the accepted were answered 412: somebody else had written what an update had read.
    ``latencies_ns`` of served requests: a sample of them; ``ended_s`` are the seconds of the run in which the last
    attempt of each of them was sent.
    """

    requests: int = 0
    served: int = 0
    lost: int = 0
    attempts: int = 0
    accepted: int = 0
    conflicts: int = 0
    timed_out: int = 0
    throttled: dict[Bound, int] = field(default_factory=dict)
    pages: int = 0
    entities_read: int = 0
    entities_written: int = 0
    latency_ns_sum: int = 0
    latencies_ns: list[int] = field(default_factory=list)
    ended_s: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MapEvent:
    """A change of the partition map: ``kind`` is split, merge, move, server lost or server back.

    ``ranges`` are (low rank, high rank, share of the load in ppm) of those that came of it; ``away_ns`` is how long
    nobody served them.
    """

    at_ns: int
    kind: str
    ranges: tuple[tuple[int, int, int], ...]
    server: str = ""
    away_ns: int = 0
    before_ppm: int = 0


@dataclass(slots=True)
class RunResult:
    """A whole run. Timelines are by second; ``heat`` is offered milli-entities of the busiest
    PartitionKey by (second // heat_step, band of ranks).

    ``offered``, ``accepted``, ``throttled`` count attempts. ``hottest`` is the rank of the PartitionKey with the most
    offered milli-entities, its part of pages over several PartitionKeys among them (``wide_pages``), ``hottest_milli``
    its timeline, ``hottest_throttled_milli`` what of that was answered 503;
    ``hottest_attempts`` and ``hottest_throttled`` count its attempts. ``bands`` are band edges (ranks) of ``heat``.
    """

    duration_ns: int
    classes: dict[str, ClassCounts]
    offered: Ints
    accepted: Ints
    throttled: Ints
    hottest: int
    hottest_milli: Ints
    hottest_throttled_milli: Ints
    hottest_attempts: int
    hottest_throttled: int
    bands: Ints
    heat: Ints
    events: tuple[MapEvent, ...] = ()
    complete: bool = True
