"""A range on its server: what is counted of it; and what the server answered to whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from pkadvisor.engine.capacity.capacity import Capacity, Place, Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.balancer import PPM, RangeLoad
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.partition.traffic import TrafficProfile
from pkadvisor.engine.tables.row_keys import decode_part, partition_boundary, prefix_end
from pkadvisor.engine.tables.table_messages import Answer, PageRequest, ReadRequest, Request, WriteRequest
from pkadvisor.engine.tables.table_requests import carry_out
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import EngineError, Unreachable, World

REQUEST_CPU_NS = 50_000  # [A] what a request and a row take of a server's processor
ROW_CPU_NS = 2_000
ANSWERS_KEPT = 8192
BUSY = 503


class AnsweredWrites:
    """Writes that were answered: one that arrives twice is carried out once, and both get the same answer.

    The last eight thousand of a server are kept. A message older than they, by its sender's count, is uncertain.

        begun (None) ──again──► awaited (a future) ──done──► answered
             └───────────────────done───────────────────────────┘
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], Answer | EngineError | Future[None] | None] = {}
        self._order: deque[tuple[str, int]] = deque()  # a dictionary is slow to say which of many came first
        self._forgotten: dict[str, int] = {}

    def begin(self, message: tuple[str, int]) -> bool:
        """Notes a message (sender and count); whether it came before. Unreachable where that is forgotten."""
        answers = self._kept
        if message in answers:
            return True
        if message[1] <= self._forgotten.get(message[0], -1):
            raise Unreachable("a message that comes too late to tell whether it came before")
        answers[message] = None
        self._order.append(message)
        if len(answers) > ANSWERS_KEPT:
            oldest = self._order.popleft()
            waiting = answers.pop(oldest)
            if isinstance(waiting, Future):
                waiting.resolve(None)
            sender, count = oldest
            self._forgotten[sender] = max(count, self._forgotten.get(sender, -1))
        return False

    def done(self, message: tuple[str, int], answer: Answer | EngineError) -> None:
        """Keeps what came of it."""
        answers = self._kept
        if message not in answers:
            return
        waiting, answers[message] = answers[message], answer
        if isinstance(waiting, Future):
            waiting.resolve(None)

    async def earlier(self, message: tuple[str, int]) -> Answer:
        """What came, or will come, of the message that came before."""
        waiting = self._kept.get(message)
        if waiting is None:
            waiting = self._kept[message] = Future()
        if isinstance(waiting, Future):
            await waiting
        answer = self._kept.get(message)
        if isinstance(answer, EngineError):
            raise answer
        if not isinstance(answer, Answer):
            raise Unreachable("what came of the message is forgotten")
        return answer

    def check(self) -> None:
        """What is kept is bounded, and nobody waits for what was answered."""
        assert len(self._kept) <= ANSWERS_KEPT
        assert list(self._order) == list(self._kept), "what is kept, in the order in which it came"
        assert not any(isinstance(answer, Future) and answer.done for answer in self._kept.values()), "woken, and kept"


class HostedRange:
    """A range partition with its counts of this window, which ends with ``roll``."""

    def __init__(self, world: World, node: str, options: EngineOptions, partition: RangePartition, now_ns: int) -> None:
        self.partition, self.number, self.epoch = partition, partition.number, partition.epoch
        self.ready = True
        self.refused = 0  # the number of the latest split that was refused
        self._sample_every = options.traffic_sample_every
        self._chance = world.random(f"traffic/{node}")
        self._skip = 0
        self.profile = TrafficProfile(
            partition.low,
            self._chance,
            buckets=options.traffic_buckets,
            half_life_ns=options.traffic_half_life_ns,
            horizon_ns=options.sustain_ns,
        )
        self._began_ns = now_ns
        self._requests = self._throttled = self._examined = self._bytes = self._latency_ns = 0
        self._load = RangeLoad(self.number, node)

    def begun(self, key: bytes) -> None:
        """A request is taken."""
        self._requests += 1
        if self._skip:
            self._skip -= 1
            return
        if self._sample_every > 1:
            self._skip = self._chance.randrange(2 * self._sample_every - 1)
        try:
            self.profile.record(max(partition_boundary(key), self.partition.low))
        except ValueError:  # a key that is no entity's
            return

    def ended(self, answer: Answer, latency_ns: int) -> None:
        """A request is answered, after a time in which it really waited and one that was only counted."""
        if answer.status == BUSY:
            return
        self._examined += answer.examined
        self._bytes += answer.size_bytes
        self._latency_ns += latency_ns + answer.latency_ns

    def throttled(self) -> None:
        """A request that was taken is turned away: there is too much of them. It counts as load all the same."""
        self._throttled += 1

    def roll(self, now_ns: int) -> None:
        """Ends the window: from here on ``load`` tells of it."""
        past_ns = max(1, now_ns - self._began_ns)
        requests = self._requests
        served = requests - self._throttled
        self.profile.roll(now_ns)
        self._load = RangeLoad(
            self.number,
            self._load.server,
            requests_per_ks=requests * 1_000_000_000_000 // past_ns,
            pending_milli=self._latency_ns * 1000 // past_ns,  # Little's law: time in service per time
            throttled_ppm=self._throttled * PPM // max(1, requests),
            cpu_ppm=(served * REQUEST_CPU_NS + self._examined * ROW_CPU_NS) * PPM // past_ns,
            bytes_per_s=self._bytes * 1_000_000_000 // past_ns,
            latency_ns=self._latency_ns // max(1, served),
            size_bytes=self.partition.size_bytes(),
            splittable=self.profile.halving_key() is not None,
        )
        self._began_ns = now_ns
        self._requests = self._throttled = self._examined = self._bytes = self._latency_ns = 0

    @property
    def load(self) -> RangeLoad:
        """The seven metrics of the last whole window."""
        return self._load

    def split_key(self, reason: str) -> bytes | None:
        """Where to divide the range, at a boundary of PartitionKeys; None where nothing is won."""
        key = self.profile.halving_key() if reason == "load" else self.partition.halving_key()
        low, high = self.partition.low, self.partition.high
        return key if key is not None and low < key and (high is None or key < high) else None


# -- Requests on their way through capacity: what is turned away is not carried out, what is carried out takes its time.


_READ = Work(Kind.READ)


class Judge:
    """Between a server and its ranges. One ``Capacity`` stands for a whole stamp, so its time is the world's."""

    def __init__(self, world: World, node: str, capacity: Capacity) -> None:
        self._world, self._node, self._capacity = world, node, capacity

    async def carry_out(
        self, hosted: HostedRange, request: Request, elapsed_ns: Callable[[], int] | None = None
    ) -> Answer:
        """Carries out a request that may pass, and says how long it took.

        503 ServerBusy: nothing was carried out. 500 OperationTimedOut: it was, but the answer would come too late.
        """
        world, node, capacity, rows = self._world, self._node, self._capacity, hosted.partition
        what = judged(node, hosted.number, request)
        if what is None:
            return await carry_out(rows, request, world.ticks(node), elapsed_ns)
        ticket = capacity.admit(world.now_ns(), *what)
        if not ticket.admitted:
            hosted.throttled()
            world.event("throttled", ticket.bound.value)
            return Answer(ticket.status, ticket.code, latency_ns=ticket.latency_ns, low=rows.low, high=rows.high)
        try:
            answer = await carry_out(rows, request, world.ticks(node), elapsed_ns)
        except BaseException:  # refused, or the node ends here: nobody else will ever give the ticket back
            capacity.abandon(ticket)
            raise
        served = capacity.finish(ticket, examined=answer.examined, bytes_moved=answer.size_bytes)
        if served.status >= 400:
            world.event("answered too late", served.code)
            return Answer(served.status, served.code, latency_ns=served.latency_ns, low=rows.low, high=rows.high)
        return replace(answer, latency_ns=answer.latency_ns + served.latency_ns)

    def lost(self) -> None:
        """The server stopped, or must not serve: who waited in its queue waits no more."""
        self._capacity.server_lost(self._node)


def judged(server: str, range_number: int, request: Request) -> tuple[Place, Work] | None:
    """Place and work of what a client asked for; None for what front ends ask on their own account.

    That is everything about the existence of tables: a service looks it up in a cache, and removes the rows of a
    deleted table when it pleases. No target counts either. [A]
    """
    key = request.key
    match request:
        case WriteRequest():
            work = Work(Kind.WRITE, len(request.writes))
        case ReadRequest():
            work = _READ
        case PageRequest():
            work = Work(Kind.PAGE, continued=request.continued)
        case _:
            return None
    partition = _partition(key)
    if isinstance(request, PageRequest) and partition is not None:
        end = prefix_end(partition)
        if end is None or request.high > end:
            partition = None
    account = decode_part(key[: key.index(0)])
    return Place(account, server, range_number, partition), work


def _partition(key: bytes) -> bytes | None:
    """What the keys of the partition begin with; None where the key names none."""
    try:
        return partition_boundary(key)
    except ValueError:
        return None
