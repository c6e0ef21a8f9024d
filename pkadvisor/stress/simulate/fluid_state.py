"""The levels of buckets and the ends of queues as arrays, taken from ``Capacity`` and given back to it."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.engine.capacity.buckets import MILLI, UNITS, FairBucket, TokenBucket
from pkadvisor.engine.capacity.capacity import Bound, Capacity, Enforcement, RequestTally
from pkadvisor.lazy import Ints, np
from pkadvisor.stress.placement.run_result import WINDOW_NS
from pkadvisor.stress.placement.stamp_map import MapRange
from pkadvisor.stress.simulate.fluid_pass import ACCEPTED, TIMED_OUT
from pkadvisor.stress.simulate.fluid_table import ON_RANGE, ON_SERVER, FluidTable
from pkadvisor.stress.simulate.measures import ACCOUNT

BOUNDS = tuple(Bound)
"""By number: 0 is none, 1 … 6 are those of ``fluid_pass``."""
LARGEST = 1 << 61
"""What levels and charges must stay below, for 64 bits to hold all that is worked out of them."""
ONE = MILLI * UNITS
"""What an attempt needs of a bucket, but for writes of several entities."""


class State:
    """What a window leaves to the next one. Buckets are rows (level, moment); ``code_counts`` are since the last map.

    ``partitions`` by rank, ``ranges``, ``bandwidths``, ``range_free`` by range in the order of the map, ``servers`` and
    ``server_free`` by server in the order of its first range. ``range_of`` is the range of a rank, ``server_of`` the
    server of a range.
    """

    def __init__(self, capacity: Capacity, size: int) -> None:
        self._capacity, self._size = capacity, size
        fresh = TokenBucket(capacity.partition_rate, capacity.burst_ns)
        self.partitions = np.tile(_buckets([(fresh.burst, 0)]), (size, 1))
        for name, bucket in capacity.of_partitions().items():
            if isinstance(name, int):
                self.partitions[name] = bucket.level, bucket.at_ns
        self._partition = fresh
        self.ranges, self.bandwidths, self.servers = (np.empty((0, 2), np.int64) for _ in range(3))
        self.range_free: Ints = np.empty(0, np.int64)
        self.server_free, self.range_of, self.server_of = self.range_free, self.range_free, self.range_free
        account = capacity.of_account(ACCOUNT)
        self.accounts = _buckets([(account.level, account.at_ns)])
        self._numbers: tuple[int, ...] = ()
        self._names: tuple[str, ...] = ()
        self._range_codes: Ints = np.empty((0, 9), np.int64)
        self._busy: tuple[Ints, Ints] = (self.range_free, self.range_free)
        self.figures: list[int] = []
        self.listed: Buckets | None = None
        """The buckets as the last window left them, where that was judged by lists."""
        self.looked_at = 0.0
        """Attempts that had to be looked at one by one, for each attempt of a window; it fades."""

    def take(self, ranges: Sequence[MapRange]) -> None:
        """Takes what ``Capacity`` has of the ranges of a map and of their servers."""
        capacity, self.listed = self._capacity, None
        self._numbers = tuple(each.number for each in ranges)
        self._names = tuple(dict.fromkeys(each.server for each in ranges))
        place = {name: i for i, name in enumerate(self._names)}
        self.server_of = np.array([place[each.server] for each in ranges], np.int64)
        self.range_of = np.repeat(np.arange(len(ranges), dtype=np.int64), [each.high - each.low for each in ranges])
        of_ranges = [capacity.of_range(number) for number in self._numbers]
        self.ranges = _buckets([(b.level, b.at_ns) for b, _, _, _ in of_ranges])
        self.bandwidths = _buckets([(b.level, b.at_ns) for _, b, _, _ in of_ranges])
        self.range_free = np.array([queue.free_ns for _, _, queue, _ in of_ranges], np.int64)
        of_servers = [capacity.of_server(name) for name in self._names]
        self.servers = _buckets([(b.levels.get(ACCOUNT, b.burst), b.at_ns) for b, _ in of_servers])
        self.server_free = np.array([queue.free_ns for _, queue in of_servers], np.int64)
        assert all(set(b.levels) <= {ACCOUNT} and not b.odd for b, _ in of_servers), "a run has one account"
        self._range_codes = np.zeros((len(ranges), 9), np.int64)
        self._busy = (np.zeros(len(ranges), np.int64), np.zeros(len(self._names), np.int64))
        self._served = (np.zeros(len(ranges), np.int64), np.zeros(len(self._names), np.int64))
        self._buckets = (of_ranges[0][0], of_ranges[0][1], of_servers[0][0])

    def fit(self, table: FluidTable) -> bool:
        """Works out ``figures``, rates, bursts and limits; whether 64 bits hold everything that can happen."""
        capacity = self._capacity
        of_range, of_bandwidth, of_server = self._buckets
        whole, moved, of_account = table.largest
        families: list[tuple[TokenBucket | FairBucket, Ints, int]] = [
            (self._partition, self.partitions, whole),
            (of_range, self.ranges, whole),
            (of_bandwidth, self.bandwidths, moved),
            (of_server, self.servers, whole),
            (capacity.of_account(ACCOUNT), self.accounts, of_account),
        ]
        figures, fits = [], True
        for bucket, levels, most in families:
            largest = most * UNITS
            debt = max(0, -int(levels[:, 0].min(initial=0))) + largest
            figures += [bucket.rate, bucket.burst, (bucket.burst + debt) // bucket.rate + 1]
            fits &= bucket.burst + debt + bucket.rate * WINDOW_NS < LARGEST
        options = capacity.options
        self.figures = [
            *figures,
            int(capacity.enforcement is Enforcement.ELASTIC),
            options.elastic_wait_ns_max,
            options.queue_wait_ns_max,
            options.operation_timeout_ns,
            options.rejection_ns,
        ]
        return fits

    def levels(self) -> tuple[Ints, ...]:
        """Levels and queues as they are now, to go back to."""
        return tuple(each.copy() for each in self._levels())

    def go_back(self, levels: Sequence[Ints]) -> None:
        """Levels and queues are again what they were."""
        self.listed = None
        for each, was in zip(self._levels(), levels, strict=True):
            each[:] = was

    def _levels(self) -> tuple[Ints, ...]:
        buckets = (self.partitions, self.ranges, self.bandwidths, self.servers, self.accounts)
        return *buckets, self.range_free, self.server_free

    @property
    def attempts(self) -> int:
        """Attempts that were counted since the map is as it is."""
        return int(self._range_codes.sum())

    def count(self, codes: Ints, weights: Ints, of_range: Ints, table: FluidTable) -> None:
        """Counts attempts by range and by what became of them; ``weights`` are what each costs."""
        ranges = len(self._numbers)
        both = np.bincount(of_range * 9 + codes, minlength=9 * ranges).reshape(ranges, 9)
        self._range_codes += both
        if both[:, 1:TIMED_OUT].any():
            through = (codes == ACCEPTED) | (codes == TIMED_OUT)
            weights, of_range = weights[through], of_range[through]
        on_range = np.bincount(of_range, table.weights[ON_RANGE][weights], ranges)
        self._busy[0][:] += on_range.astype(np.int64)
        servers = self.server_of[of_range]
        count = len(self._names)
        self._busy[1][:] += np.bincount(servers, table.weights[ON_SERVER][weights], count).astype(np.int64)
        self._served[0][:] += both[:, ACCEPTED] + both[:, TIMED_OUT]
        np.add.at(self._served[1], self.server_of, both[:, ACCEPTED] + both[:, TIMED_OUT])

    def give(self) -> None:
        """Gives levels, queues and counts back to ``Capacity``; of partitions only at the end (:meth:`give_all`)."""
        capacity = self._capacity
        for i, number in enumerate(self._numbers):
            bucket, bandwidth, queue, tally = capacity.of_range(number)
            bucket.level, bucket.at_ns = map(int, self.ranges[i])
            bandwidth.level, bandwidth.at_ns = map(int, self.bandwidths[i])
            queue.free_ns = int(self.range_free[i])
            queue.busy_ns += int(self._busy[0][i])
            queue.served += int(self._served[0][i])
            _add(tally, self._range_codes[i].tolist())
        for i, name in enumerate(self._names):
            shared, queue = capacity.of_server(name)
            shared.levels[ACCOUNT], shared.at_ns = map(int, self.servers[i])
            queue.free_ns = int(self.server_free[i])
            queue.busy_ns += int(self._busy[1][i])
            queue.served += int(self._served[1][i])
        _add(capacity.tally, self._range_codes.sum(axis=0).tolist())
        account = capacity.of_account(ACCOUNT)
        account.level, account.at_ns = map(int, self.accounts[0])
        for counts in (self._range_codes, *self._busy, *self._served):
            counts[:] = 0

    def give_all(self, at_ns: int) -> None:
        """Gives everything back; partitions that are full again at a moment are forgotten."""
        self.give()
        buckets = self._capacity.of_partitions()
        rate, burst = self._partition.rate, self._partition.burst
        gone = np.maximum(0, at_ns - self.partitions[:, 1])
        lacking = burst - self.partitions[:, 0]
        for rank in np.flatnonzero((lacking > 0) & (gone < -(-lacking // rate))).tolist():
            bucket = buckets[rank] = TokenBucket(self._capacity.partition_rate, self._capacity.burst_ns)
            bucket.level, bucket.at_ns = map(int, self.partitions[rank])


def _buckets(pairs: Sequence[tuple[int, int]]) -> Ints:
    """Levels and moments; of Python's integers where they are too large, which ``fit`` then says."""
    large = any(abs(level) >= LARGEST for level, _ in pairs)
    return np.array(pairs, object if large else np.int64).reshape(-1, 2)


def _add(tally: RequestTally, codes: Sequence[int]) -> None:
    tally.arrived += sum(codes[:8])
    tally.served += codes[ACCEPTED]
    tally.timed_out += codes[TIMED_OUT]
    for number in range(1, 7):
        if codes[number]:
            bound = BOUNDS[number]
            tally.rejected[bound] = tally.rejected.get(bound, 0) + codes[number]


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
        bucket = self.partitions[rank] = self._made(self._state.partitions, rank, 0, ONE)
        return bucket

    def of_range(self, place: int) -> tuple[Bucket, Bucket, int, Bucket]:
        """The buckets of a range that something comes to: (entities, bytes, the server, entities of it)."""
        state, server = self._state, int(self._state.server_of[place])
        shared = self._servers.get(server)
        if shared is None:
            shared = self._servers[server] = self._made(state.servers, server, 9, ONE)
        own, bandwidth = self._made(state.ranges, place, 3, ONE), self._made(state.bandwidths, place, 6, 0)
        buckets = self.ranges[place] = (own, bandwidth, server, shared)
        return buckets

    def give(self) -> None:
        """Writes all of them back; partitions are forgotten."""
        state = self._state
        for levels, those in (
            (state.ranges, {place: buckets[0] for place, buckets in self.ranges.items()}),
            (state.bandwidths, {place: buckets[1] for place, buckets in self.ranges.items()}),
            (state.servers, self._servers),
            (state.accounts, {0: self.account}),
            (state.partitions, self.partitions),
        ):
            if those:
                levels[list(those)] = [(each.level, each.at) for each in those.values()]
        self.partitions.clear()
