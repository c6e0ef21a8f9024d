"""Which requests a stamp lets through, and how long they take: targets, queues, throttling, virtual latency.

**How it is called.** One object stands for a whole stamp. Around each request the one who serves it says::

    ticket = capacity.admit(at_ns, Place(account, server, range_number, partition), Work(Kind.WRITE, entities=1))
    if not ticket.admitted:                     # 503 ServerBusy: nothing may be carried out; ticket.latency_ns
        return refused(ticket.status, ticket.code)
    ...                                         # carry it out on the rows
    served = capacity.finish(ticket, examined=page.examined, bytes_moved=page.bytes)
    served.status, served.latency_ns            # 500 OperationTimedOut: carried out, but the answer comes too late

or ``capacity.abandon(ticket)`` where the server stopped in between. ``partition`` is whatever names the PartitionKey
with its table and account (bytes of a row-key prefix, a text), or None for a page over several partitions, which
counts toward its range. Requests that fail (404, 409, 412) count like others. Calls come in the order of ``at_ns``.

**What is asked, in this order**; the first that is lacking is the ticket's ``bound``, and then nothing is charged:

1. partition   token bucket at ``partition_entities_per_s``, one for each PartitionKey
2. range       token bucket at ``range_entities_per_s``
3. bandwidth   token bucket at ``range_bytes_per_s`` of the range, charged with what was moved; debt stops it
4. server      token bucket at ``server_entities_per_s``, shared among accounts by water-filling
5. account     token bucket at ``account_requests_per_s``
6. queue       the wait in the queues of server and range is at most ``queue_wait_ns_max``

A bucket holds ``burst_s`` of its rate. Writes count their entities, reads one, a page its examined entities times
``scan_weight``, of which one before it is carried out and the rest after (a debt). *Strict* enforcement refuses above a
target. *Elastic* lets requests above the targets of partition and range through while the queues are shorter than
``elastic_wait_ns_max``: "the service lets more through when it has room" (How to get most out of Windows Azure Tables).

**What it takes.** An admitted request passes two first-come queues, the server's processor and then the order of the
range's log, and its latency is what it waits there and what it takes unhindered (``service_times``). Everything is
integers in ns, so the same requests give the same answers wherever the arithmetic is done.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from pkadvisor.engine.capacity.buckets import MILLI, SECOND_NS, FairBucket, Queue, TokenBucket, milli
from pkadvisor.engine.capacity.service_times import Kind, ServiceTimes
from pkadvisor.engine.options import EngineOptions
from pkadvisor.limits import Limits
from pkadvisor.values import dataclass

KIB = 1024
_FORGET_AT_ONCE = 2


class Enforcement(StrEnum):
    """Whether a target is a wall, or holds only where the servers are busy."""

    STRICT = "strict"
    ELASTIC = "elastic"


class Bound(StrEnum):
    """What turned a request away."""

    NONE = ""
    PARTITION = "partition"
    RANGE = "range"
    BANDWIDTH = "bandwidth"
    SERVER = "server"
    ACCOUNT = "account"
    QUEUE = "queue"


class Place(NamedTuple):
    """Where a request goes; ``partition`` None: several PartitionKeys of the range."""

    account: str
    server: str
    range_number: int
    partition: Hashable | None


class Work(NamedTuple):
    """What is known of a request on arrival: entities that it writes; whether it continues an earlier page."""

    kind: Kind
    entities: int = 1
    continued: bool = False


class Ticket(NamedTuple):
    """The answer to an arrival. ``number`` counts arrivals from 0; ``latency_ns`` is that of a refusal."""

    admitted: bool
    bound: Bound
    number: int
    at_ns: int
    place: Place
    work: Work
    latency_ns: int = 0

    @property
    def status(self) -> int:
        """200 or 503."""
        return 200 if self.admitted else 503

    @property
    def code(self) -> str:
        """The service's error code, or empty."""
        return "" if self.admitted else "ServerBusy"


class ServedRequest(NamedTuple):
    """What became of an admitted request; ``wait_ns`` is the part of its latency that it spent in queues."""

    status: int
    code: str
    latency_ns: int
    wait_ns: int


@dataclass(slots=True)
class RequestTally:
    """Requests by what became of them."""

    arrived: int = 0
    served: int = 0
    timed_out: int = 0
    in_flight: int = 0
    rejected: dict[Bound, int] = field(default_factory=dict)

    @property
    def throttled(self) -> int:
        """Requests answered 503."""
        return sum(self.rejected.values())

    def check(self) -> None:
        """Conservation: every arrival is somewhere."""
        known = self.served + self.timed_out + self.in_flight + self.throttled
        assert self.arrived == known, f"{self.arrived} requests came, {known} are known of"
        assert self.in_flight >= 0, "a request is finished once"


class _Range:
    """What is kept of one range partition."""

    __slots__ = ("bandwidth", "bucket", "queue", "tally")

    def __init__(self, bucket: TokenBucket, bandwidth: TokenBucket) -> None:
        self.bucket, self.bandwidth, self.queue, self.tally = bucket, bandwidth, Queue(), RequestTally()


class _Server:
    """What is kept of one partition server."""

    __slots__ = ("bucket", "queue")

    def __init__(self, bucket: FairBucket) -> None:
        self.bucket, self.queue = bucket, Queue()


class Capacity:
    """The targets and queues of one stamp (see the top of this file)."""

    def __init__(
        self,
        limits: Limits,
        options: EngineOptions | None = None,
        enforcement: Enforcement = Enforcement.STRICT,
        seed: int = 0,
    ) -> None:
        self.options = options = options or EngineOptions()
        self.limits, self.enforcement = limits, enforcement
        self.times = ServiceTimes(limits, options, seed)
        self.tally = RequestTally()
        self._scan_weight = milli(limits.scan_weight)
        self.partition_rate, self.burst_ns = milli(limits.partition_entities_per_s), round(limits.burst_s * SECOND_NS)
        self._partitions: OrderedDict[Hashable, TokenBucket] = OrderedDict()
        self._ranges: dict[int, _Range] = {}
        self._former: dict[int, _Range] = {}
        self._servers: dict[str, _Server] = {}
        self._accounts: dict[str, TokenBucket] = {}

    # ------------------------------------------------------------------------------------------ requests

    def admit(self, at_ns: int, place: Place, work: Work) -> Ticket:
        """Judges a request that arrives at a moment and, where it passes, charges what is known of it."""
        number, self.tally.arrived = self.tally.arrived, self.tally.arrived + 1
        there, server = self._range(place.range_number), self._server(place.server)
        there.tally.arrived += 1
        cost = MILLI * work.entities if work.kind == Kind.WRITE else MILLI
        account_cost = cost if self.limits.account_counts_entities else MILLI
        account = self._account(place.account)
        partition = None if place.partition is None else self._partition(place.partition, at_ns)
        wait = server.queue.wait_ns(at_ns)
        wait = max(wait, there.queue.wait_ns(at_ns))
        room = self.enforcement is Enforcement.ELASTIC and wait <= self.options.elastic_wait_ns_max
        bound = Bound.NONE
        if partition is not None and not partition.has(cost, at_ns) and not room:
            bound = Bound.PARTITION
        elif not there.bucket.has(cost, at_ns) and not room:
            bound = Bound.RANGE
        elif not there.bandwidth.has(0, at_ns):
            bound = Bound.BANDWIDTH
        elif not server.bucket.has(place.account, cost, at_ns):
            bound = Bound.SERVER
        elif not account.has(account_cost, at_ns):
            bound = Bound.ACCOUNT
        elif wait > self.options.queue_wait_ns_max:
            bound = Bound.QUEUE
        if bound:
            for tally in (self.tally, there.tally):
                tally.rejected[bound] = tally.rejected.get(bound, 0) + 1
            return Ticket(False, bound, number, at_ns, place, work, self.options.rejection_ns)
        self._charge(partition, there, cost)
        server.bucket.take(place.account, cost)
        account.take(account_cost)
        self.tally.in_flight += 1
        there.tally.in_flight += 1
        return Ticket(True, Bound.NONE, number, at_ns, place, work)

    def finish(self, ticket: Ticket, *, examined: int = 0, bytes_moved: int = 0) -> ServedRequest:
        """Charges what was not known on arrival (entities examined, bytes moved) and says how long the request took."""
        assert ticket.admitted, "only what was admitted is finished"
        _, _, number, at_ns, place, work, _ = ticket
        there, server = self._last(place.range_number), self._server(place.server)
        if work.kind == Kind.PAGE:
            self._charge_scan(place, there, server, examined, at_ns)
        if bytes_moved:
            there.bandwidth.take(-(-bytes_moved * MILLI // KIB))
        times = self.times
        effort = times.work_milli(work.kind, work.entities, examined)
        on_server, on_range = effort * times.server_ns // MILLI, effort * times.range_ns // MILLI
        departed = there.queue.serve(server.queue.serve(at_ns, on_server), on_range)
        wait = departed - at_ns - on_server - on_range
        latency = wait + times.unhindered_ns(work.kind, effort, examined, work.continued, number)
        late = latency > self.options.operation_timeout_ns
        for tally in (self.tally, there.tally):
            tally.in_flight -= 1
            if late:
                tally.timed_out += 1
            else:
                tally.served += 1
        if late:
            return ServedRequest(500, "OperationTimedOut", self.options.operation_timeout_ns, wait)
        return ServedRequest(200, "", latency, wait)

    def abandon(self, ticket: Ticket) -> ServedRequest:
        """The request was admitted and nobody will answer it: its server stopped. It may have been carried out."""
        assert ticket.admitted, "only what was admitted is abandoned"
        for tally in (self.tally, self._last(ticket.place.range_number).tally):
            tally.in_flight -= 1
            tally.timed_out += 1
        return ServedRequest(500, "OperationTimedOut", self.options.operation_timeout_ns, 0)

    def _charge(self, partition: TokenBucket | None, there: _Range, cost: int) -> None:
        for bucket in (there.bucket,) if partition is None else (partition, there.bucket):
            if self.enforcement is Enforcement.ELASTIC:
                bucket.take_to_zero(cost)
            else:
                bucket.take(cost)

    def _charge_scan(self, place: Place, there: _Range, server: _Server, examined: int, at_ns: int) -> None:
        """What a page counts beyond the one entity that was charged on arrival."""
        more = max(MILLI, self._scan_weight * examined) - MILLI
        if not more:
            return
        partition = None if place.partition is None else self._partition(place.partition, at_ns)
        self._charge(partition, there, more)
        server.bucket.has(place.account, 0, at_ns)
        server.bucket.take(place.account, more)
        if self.limits.account_counts_entities:
            self._account(place.account).take(more)

    # ------------------------------------------------------------------------------------------ the map changes

    def succeed(self, old: Sequence[int], new: Sequence[int]) -> None:
        """Ranges take the place of others (split, merge): each starts with the least level and the longest queue.

        Told twice it changes nothing. What the old ones still have in flight may be finished.
        """
        numbers = [number for number in old if number in self._ranges]
        before = [self._ranges.pop(number) for number in numbers]
        self._former.update(zip(numbers, before, strict=True))
        for number in new if before else ():
            there = self._range(number)
            for was in before:
                for mine, its in ((there.bucket, was.bucket), (there.bandwidth, was.bandwidth)):
                    at_ns = max(mine.at_ns, its.at_ns)
                    mine.advance(at_ns)
                    its.advance(at_ns)
                    mine.level = min(mine.level, its.level)
                there.queue.free_ns = max(there.queue.free_ns, was.queue.free_ns)

    def unavailable(self, range_number: int, until_ns: int) -> None:
        """Nobody serves the range until a moment (hand-over): requests wait in its queue."""
        queue = self._range(range_number).queue
        queue.free_ns = max(queue.free_ns, until_ns)

    def server_lost(self, server: str) -> None:
        """A server stopped: its queue is gone; it would come back empty."""
        self._servers.pop(server, None)

    # ------------------------------------------------------------------------------------------ what is kept

    def busy_ns(self, server: str) -> int:
        """How long a server has been at work since it started, or will have been when its queue is empty."""
        return self._server(server).queue.busy_ns

    def of_range(self, range_number: int) -> tuple[TokenBucket, TokenBucket, Queue, RequestTally]:
        """What is kept of a range, for who does the arithmetic elsewhere: bucket, bandwidth, queue, tally."""
        there = self._range(range_number)
        return there.bucket, there.bandwidth, there.queue, there.tally

    def of_server(self, server: str) -> tuple[FairBucket, Queue]:
        """What is kept of a server: its bucket and its queue."""
        there = self._server(server)
        return there.bucket, there.queue

    def of_account(self, account: str) -> TokenBucket:
        """The bucket of an account."""
        return self._account(account)

    def of_partitions(self) -> OrderedDict[Hashable, TokenBucket]:
        """The buckets of PartitionKeys; who is not in it has a full one."""
        return self._partitions

    def check(self) -> None:
        """What must hold."""
        self.tally.check()
        for there in (*self._ranges.values(), *self._former.values()):
            there.tally.check()
            there.bucket.check()
            there.bandwidth.check()
        for server in self._servers.values():
            server.bucket.check()
        for bucket in (*self._partitions.values(), *self._accounts.values()):
            bucket.check()

    def _range(self, number: int) -> _Range:
        entry = self._ranges.get(number)
        if entry is None:
            bucket = TokenBucket(milli(self.limits.range_entities_per_s), self.burst_ns)
            bandwidth = TokenBucket(milli(self.limits.range_bytes_per_s / KIB), self.burst_ns)
            entry = self._ranges[number] = _Range(bucket, bandwidth)
        return entry

    def _last(self, number: int) -> _Range:
        """A range, also one that others took the place of."""
        return self._former.get(number) or self._range(number)

    def _server(self, name: str) -> _Server:
        entry = self._servers.get(name)
        if entry is None:
            bucket = FairBucket(milli(self.limits.server_entities_per_s), self.burst_ns)
            entry = self._servers[name] = _Server(bucket)
        return entry

    def _account(self, name: str) -> TokenBucket:
        bucket = self._accounts.get(name)
        if bucket is None:
            rate = milli(self.limits.account_requests_per_s)
            bucket = self._accounts[name] = TokenBucket(rate, self.burst_ns)
        return bucket

    def _partition(self, name: Hashable, at_ns: int) -> TokenBucket:
        """The bucket of a PartitionKey; on the way the longest unused ones are forgotten where they are full again."""
        buckets = self._partitions
        bucket = buckets.get(name)
        if bucket is None:
            bucket = TokenBucket(self.partition_rate, self.burst_ns)
            buckets[name] = bucket
            for _ in range(min(_FORGET_AT_ONCE, len(buckets) - 1)):
                oldest = next(iter(buckets))
                if not buckets[oldest].full(at_ns):
                    break
                del buckets[oldest]
        else:
            buckets.move_to_end(name)
        return bucket
