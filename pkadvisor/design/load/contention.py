"""Read-modify-write of one entity under If-Match: how often it can commit, and the sharded counter beyond that.

An update reads the entity, changes it and writes it back if nobody else did meanwhile. However many clients try and
whatever the key, commits of one entity follow one another.
"""

from __future__ import annotations

import math

from pkadvisor.design.load.estimates import Term
from pkadvisor.design.load.latency import LogNormal
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Basis
from pkadvisor.values import dataclass

SERVED_LOAD = 0.62
"""Updates in one read-and-write cycle of an entity, up to which a client that tries 16 times gives up one
in a hundred at the most: measured on the simulated store."""
CYCLE_MS_MOST = 1000.0
"""How long a read and a write of an entity may take over a network at the most: assumed. Conflicts that would need
longer come of writers that meet now and then, not of a steady rate."""
COMFORTABLE_LOAD = 0.5
"""Updates that may fall into one read-and-write cycle of an entity, where shards are counted: assumed. At it an update
takes e^0.5 = 1.6 attempts."""


@dataclass(frozen=True, slots=True)
class Contention:
    """What updates of one logical value at a rate meet, with ``shards`` entities that each take an equal part of them.

    ``cycle_ms``: mean read plus mean write. ``load``: updates per cycle of one entity, λR/n. ``attempts_per_commit``:
    e^load, None at a load of 1 and more, where no number of attempts commits them all. ``entities_per_s`` and
    ``requests_per_s``: of all attempts and of the reads of the total. ``partitions``: the fewest that carry these
    entities within the head-room. ``binds``: "entity" or "account" where it cannot take them, under any key.
    """

    rate_per_s: float
    shards: int
    cycle_ms: float
    load: float
    attempts_per_commit: float | None
    commits_per_s_max: float
    entities_per_s: float
    requests_per_s: float
    partitions: int
    binds: str

    @property
    def commits_per_s_served(self) -> float:
        """Updates that are served; those beyond meet so many others that clients give some up."""
        return SERVED_LOAD * self.commits_per_s_max

    @property
    def feasible(self) -> bool:
        """Whether all updates can commit and the shards can be spread widely enough."""
        return not self.binds

    def terms(self) -> tuple[Term, ...]:
        """The numbers with units, bases and sources, for an explanation."""
        law = "optimistic concurrency: a commit follows the read that follows the commit before"
        terms_of_load = [
            Term("cycle", self.cycle_ms, "ms", Basis.ASSUMED, "mean read and write latency, log-normal"),
            Term("commits_max", self.commits_per_s_max, "commits/s", Basis.DERIVED, f"{law}: shards / cycle"),
            Term("load", self.load, "updates/cycle of one entity", Basis.DERIVED, "rate x cycle / shards"),
            Term("shards", float(self.shards), "entities", Basis.DERIVED, f"load of at most {COMFORTABLE_LOAD:g} each"),
            Term("entities", self.entities_per_s, "entities/s", Basis.DERIVED, "a read and a write per attempt"),
            Term("requests", self.requests_per_s, "requests/s", Basis.DERIVED, "a read and a write per attempt"),
            Term("partitions", float(self.partitions), "partitions", Basis.DERIVED, "entities/s with room for growth"),
        ]
        if self.attempts_per_commit is not None:
            terms_of_load.insert(
                3,
                Term(
                    "attempts",
                    self.attempts_per_commit,
                    "attempts/commit",
                    Basis.DERIVED,
                    "e^load, Poisson commits; high: commits a cycle apart",
                    low=self.attempts_per_commit,
                    high=attempts_at_most(self.load),
                ),
            )
        return tuple(terms_of_load)


def contention(
    rate_per_s: float, limits: Limits, *, shards: int = 1, reads_per_s: float = 0.0, cycle_ms: float = 0.0
) -> Contention:
    """Updates at ``rate_per_s`` of one value that is kept as the sum of ``shards`` entities (1: the value itself).

    Derived: a commit is possible once per read + write, so at most n/R a second; with Poisson commits an attempt meets
    no other commit of its entity within R with probability e^(−λR/n). Commits of one entity keep apart, which blocks a
    larger share of the time, up to λR/n: :func:`attempts_at_most` is the bound from that side. A read of the total
    reads every shard. ``cycle_ms``: a read and a write take so long where a log shows it, else as the limits say.
    """
    if not (0 <= rate_per_s < math.inf and 0 <= reads_per_s < math.inf and shards >= 1):
        raise ValueError("rates must be finite and at least 0, shards at least 1")
    cycle = cycle_ms or _cycle_ms(limits)
    load = rate_per_s * cycle / 1000 / shards
    attempts = math.exp(load) if load < 1 else None
    most = shards * 1000 / cycle
    # Above the limit only what can commit is counted: at a load of 1 an update takes e attempts.
    tried = rate_per_s * attempts if attempts is not None else most * math.e
    entities = 2 * tried + reads_per_s * shards
    partitions = max(1, math.ceil(round(entities / _capacity(limits), 9)))
    requests = 2 * tried + reads_per_s * min(partitions, shards)
    binds = ""
    if load >= 1 or partitions > shards:  # one entity cannot lie in two partitions
        binds = "entity"
    elif requests > limits.account_requests_per_s:
        binds = "account"
    return Contention(rate_per_s, shards, cycle, load, attempts, most, entities, requests, partitions, binds)


def attempts_at_most(load: float) -> float:
    """Attempts per commit if commits keep a whole cycle apart: 1/(1 − λR), inf from a load of 1 on.

    At the comfortable load it is 2 against e^0.5 = 1.65; a simulation of clients with random waits finds 2.0.
    """
    return 1 / (1 - load) if load < 1 else math.inf


def sharded_counter(
    rate_per_s: float, limits: Limits, *, reads_per_s: float = 0.0, cycle_ms: float = 0.0
) -> Contention:
    """The smallest number of shards n ≥ λR / 0.5 whose entities can also be spread over the partitions they need.

    A read of the total reads every shard, so reads beyond what one entity takes are infeasible with any n, and updates
    beyond half the account's requests too; then the result names what binds.
    """
    load = contention(rate_per_s, limits, cycle_ms=cycle_ms).load
    shards = max(1, math.ceil(round(load / COMFORTABLE_LOAD, 9)))
    contended = contention(rate_per_s, limits, shards=shards, reads_per_s=reads_per_s, cycle_ms=cycle_ms)
    room = _capacity(limits) - reads_per_s
    if contended.partitions <= shards or room <= 0:
        return contended
    # Each shard alone in its partition takes the reads of the total and its part of the updates.
    tried = contended.entities_per_s - reads_per_s * shards
    shards = math.ceil(round(tried / room, 9))
    return contention(rate_per_s, limits, shards=shards, reads_per_s=reads_per_s, cycle_ms=cycle_ms)


def cycle_ms_of_conflicts(rate_per_s: float, conflicts: float) -> float:
    """How long a read and a write of an entity take where a share of the attempts to change it conflict: by the same
    law, of e^load attempts for a commit. 0 where a steady rate does not explain them."""
    if rate_per_s <= 0 or conflicts >= 1:
        return 0.0
    cycle_ms = -1000 * math.log(1 - conflicts) / rate_per_s
    return cycle_ms if cycle_ms <= CYCLE_MS_MOST else 0.0


def _capacity(limits: Limits) -> float:
    """Entities/s that one partition should carry; shards of one range share it until splits move them apart."""
    return limits.headroom_share * limits.partition_entities_per_s


def _cycle_ms(limits: Limits) -> float:
    read = LogNormal.through(limits.read_latency_ms_p50, limits.read_latency_ms_p99)
    write = LogNormal.through(limits.write_latency_ms_p50, limits.write_latency_ms_p99)
    return read.mean + write.mean
