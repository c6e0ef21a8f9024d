"""A partition server: serves the ranges that the manager gave it, while it holds its lease (SOSP 2011, 5.2 and 5.5).

    a server:  no lease ──acquire──► leased ──lease lost──► no lease, all ranges dropped
    a range:   absent ──load──► ready ──split, merge──► others ready
                 ▲                │ offload: checkpoint, stop, remember the epoch that was given up
                 └────────────────┴─ fenced, log failed: not ready; the manager loads it again under a later epoch

What keeps two servers from serving one range: the lease (nothing is served after its end less the drift of clocks), the
session in each command (a message for an earlier life is refused), the epoch of ownership (the stream layer refuses
appends of an earlier one; a server never takes a range back at an epoch that it gave up), and the leader epoch (a
deposed manager is refused). The last three are hardening; the paper is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import LeaseLost, NotServing, NotSplittable, StaleLeader
from pkadvisor.engine.partition.hosted_range import AnsweredWrites, HostedRange, Judge
from pkadvisor.engine.partition.lock_service import Lease, LockService
from pkadvisor.engine.partition.metadata import KeyOutside, RangeReadOnly, RangeStopped
from pkadvisor.engine.partition.range_partition import RangePartition, Statistics, total
from pkadvisor.engine.partition.range_rows import SERVING
from pkadvisor.engine.partition.server_messages import SERVICE, Command, PlacedRange, Served, ServerReport
from pkadvisor.engine.partition.split_merge import merge, split
from pkadvisor.engine.stream.access import Streams
from pkadvisor.engine.tables.table_messages import Answer, Request
from pkadvisor.engine.tables.table_requests import carry_out, is_write
from pkadvisor.engine.worlds.tasks import Locks
from pkadvisor.engine.worlds.world import EngineError, Unreachable, World, WriteRefusal

_NOT_HERE = (RangeStopped, RangeReadOnly, KeyOutside)  # nothing was carried out

_REFUSED = {
    WriteRefusal.FULL: Answer(507, "InsufficientStorage"),
    WriteRefusal.READ_ONLY: Answer(403, "StoreIsReadOnly"),
}


class PartitionServer:
    """The server on its node. ``capacity`` judges its requests; without it every request is let through at once."""

    def __init__(
        self,
        world: World,
        node: str,
        locks: str,
        streams: Streams,
        options: EngineOptions,
        capacity: Capacity | None = None,
    ) -> None:
        self._judge = Judge(world, node, capacity) if capacity is not None else None
        self._world, self._node, self._streams, self._options = world, node, streams, options
        self._locks = locks
        self._lease = Lease(world, node, locks, f"server/{node}", options)
        self._leader = 0
        self._ranges: dict[int, HostedRange] = {}
        self._answers = AnsweredWrites()
        self._first_session = 0  # the epoch of the first lease of this life
        self._loading: dict[int, int] = {}
        self._given_up: dict[int, int] = {}
        self._commands = Locks[int]()  # one command at a time for each range
        self._cache = PageCache(options.page_cache_bytes)

    async def boot(self) -> None:
        """Offers its service, and goes for its lease."""
        if self._judge is not None:  # whoever waited in the queue of an earlier life waits no more
            self._judge.lost()
        self._world.register(self._node, SERVICE, self)
        self._world.spawn(self._live(), self._node)
        self._world.spawn(self._roll(), self._node)

    async def _live(self) -> None:
        while True:
            try:
                await self._lease.acquire()
            except EngineError:
                await self._world.sleep(self._options.heartbeat_ns // 4)
                continue
            self._world.event("server leased", self._node, self._lease.epoch)
            self._first_session = self._first_session or self._lease.epoch
            await self._lease.keep()
            self._world.event("server lost its lease", self._node)
            for hosted in self._ranges.values():
                hosted.partition.close("the lease is lost")
            self._ranges, self._given_up = {}, {}
            if self._judge is not None:
                self._judge.lost()

    async def _roll(self) -> None:
        while True:
            await self._world.sleep(self._options.evaluate_ns)
            now_ns = self._world.clock_ns(self._node)
            for hosted in self._ranges.values():
                hosted.roll(now_ns)

    # ------------------------------------------------------------------------------------------ requests

    async def handle(self, number: int, epoch: int, session: int, sender: str, count: int, request: Request) -> Answer:
        """Carries out a request on a range. NotServing: nothing was carried out. 507, 403: the world takes no writes.

        ``sender`` and ``count`` tell one message from another: a write that arrives twice is carried out once, and both
        get one answer, whatever became of the range between them. ``session`` is the server's life that the sender
        means: of a write to an earlier one nobody knows any more whether it came before, so it is uncertain.
        """
        if not is_write(request):
            return await self._serve(number, epoch, request)
        if (refusal := self._world.writes_refused()) is not None:
            return _REFUSED[refusal]
        message, answers = (sender, count), self._answers
        if answers.begin(message):
            self._world.event("request arrived twice")
            return await answers.earlier(message)
        try:
            answer = await self._serve(number, epoch, request)
        except EngineError as error:
            if isinstance(error, NotServing) and not 0 < self._first_session <= session:
                self._world.event("write to an earlier life", self._node)
                error = Unreachable(f"{self._node} has begun anew: {error}")
            answers.done(message, error)
            raise error from None
        answers.done(message, answer)
        return answer

    async def _serve(self, number: int, epoch: int, request: Request) -> Answer:
        hosted = self._ranges.get(number)
        if hosted is None or hosted.epoch != epoch:
            raise NotServing(f"{self._node} does not serve range {number} at epoch {epoch}")
        world, node, lease = self._world, self._node, self._lease
        began_ns = world.clock_ns(node)
        if began_ns >= lease.ends_ns:
            await self._regain()
            if self._ranges.get(number) is not hosted:
                raise NotServing(f"{self._node} does not serve range {number} at epoch {epoch}")
        try:
            hosted.begun(request.key)
            answer = await self._carry_out(hosted, request, lambda: world.clock_ns(node) - began_ns)
            if not is_write(request) and not lease.held():  # somebody else may have written meanwhile
                world.event("read after the lease refused", node)
                raise NotServing(f"{node} lost its lease")
        except _NOT_HERE as error:
            raise NotServing(str(error)) from error
        hosted.ended(answer, world.clock_ns(node) - began_ns)
        return answer

    def _carry_out(
        self, hosted: HostedRange, request: Request, elapsed_ns: Callable[[], int] | None = None
    ) -> Coroutine[Any, Any, Answer]:
        if self._judge is None:
            return carry_out(hosted.partition, request, self._world.ticks(self._node), elapsed_ns)
        return self._judge.carry_out(hosted, request, elapsed_ns)

    async def _regain(self) -> None:
        """A lease that ran out while nobody asked, and that nobody else was told of, can be had back."""
        try:
            await self._lease.renew()
        except EngineError as error:
            self._world.event("zombie rejected", self._node)
            raise NotServing(f"{self._node} has no lease") from error
        if not self._lease.held():
            raise NotServing(f"{self._node} has no lease")

    # ------------------------------------------------------------------------------------------ commands

    def _obey(self, command: Command) -> None:
        if command.leader < self._leader:
            self._world.event("stale leader rejected", self._node, command.leader)
            raise StaleLeader(f"leader {self._leader} commands, not {command.leader}")
        if command.session != self._lease.epoch or not self._lease.held():
            raise LeaseLost(f"{self._node} is not in session {command.session}")
        self._leader = command.leader

    async def load(
        self, command: Command, number: int, low: bytes, high: bytes | None, epoch: int, fresh: bool
    ) -> None:
        """Serves a range from now on under this epoch; doing it twice does nothing more.

        ``fresh``: the range may never have been made. RangeMissing: it was split or merged. Fenced, StreamError.
        """
        self._obey(command)
        async with self._commands.hold(number):
            self._obey(command)
            hosted = self._ranges.get(number)
            if hosted is not None and hosted.epoch == epoch and hosted.partition.state is SERVING:
                return
            if epoch <= self._given_up.get(number, 0) or (hosted is not None and hosted.epoch >= epoch):
                raise NotServing(f"{self._node} gave range {number} up")
            if hosted is not None:
                hosted.partition.close("loaded again")
                self._drop(hosted)
            self._loading[number] = epoch
            try:
                partition = await self._load(number, low, high, epoch, fresh)
            finally:
                self._loading.pop(number, None)
            self._host(command, partition)
        self._world.event("range loaded", number, self._node, epoch)

    async def load_made(self, command: Command, number: int, epoch: int) -> PlacedRange:
        """Loads a range that a split or merge made, whose extent only its metadata knows."""
        self._obey(command)
        async with self._commands.hold(number):
            self._obey(command)
            hosted = self._ranges.get(number)
            if hosted is None or hosted.partition.state is not SERVING:
                if hosted is not None:
                    self._drop(hosted)
                if epoch <= self._given_up.get(number, 0):
                    raise NotServing(f"{self._node} gave range {number} up")
                self._loading[number] = epoch
                try:
                    partition = await self._load(number, b"", None, epoch, False)
                finally:
                    self._loading.pop(number, None)
                hosted = self._host(command, partition)
            return PlacedRange(number, hosted.partition.low, hosted.partition.high, hosted.epoch)

    async def _load(self, number: int, low: bytes, high: bytes | None, epoch: int, fresh: bool) -> RangePartition:
        world, node, streams, options = self._world, self._node, self._streams, self._options
        if fresh:
            return await RangePartition.create(world, node, streams, options, number, low, high, epoch, self._cache)
        return await RangePartition.load(world, node, streams, options, number, epoch, self._cache)

    def _host(self, command: Command, partition: RangePartition) -> HostedRange:
        if command.session != self._lease.epoch:
            partition.close("the lease is lost")
            raise LeaseLost(f"{self._node} is not in session {command.session}")
        hosted = HostedRange(self._world, self._node, self._options, partition, self._world.clock_ns(self._node))
        partition.look_after_itself()
        self._ranges[partition.number] = hosted
        return hosted

    def _drop(self, hosted: HostedRange) -> None:
        """Takes away a range that failed, was split or merged, or is to have a later epoch: it never comes back.

        Least of all empty: the first load of a range makes it, and may arrive again at any time.
        """
        del self._ranges[hosted.number]
        self._given_up[hosted.number] = max(hosted.epoch, self._given_up.get(hosted.number, 0))

    async def offload(self, command: Command, number: int, epoch: int) -> None:
        """Checkpoint, stop, acknowledge; from then on never again at this epoch or an earlier one."""
        self._obey(command)
        async with self._commands.hold(number):
            self._obey(command)
            hosted = self._ranges.get(number)
            if hosted is not None and hosted.epoch <= epoch:
                try:
                    await hosted.partition.prepare_offload()
                except EngineError:
                    self._world.event("offload without a checkpoint", number)
                await hosted.partition.stop()
                if self._ranges.get(number) is hosted:
                    del self._ranges[number]
            self._given_up[number] = max(epoch, self._given_up.get(number, 0))

    async def split(
        self,
        command: Command,
        number: int,
        epoch: int,
        reason: Literal["load", "size"],
        left: int,
        right: int,
        new_epoch: int,
    ) -> tuple[PlacedRange, ...]:
        """Makes two ranges of one, at a key that this server chooses; NotSplittable (and then for good).

        Asked again it answers the same. After NotServing, or an error of the streams, what exists must be found out.
        """
        self._obey(command)
        async with self._commands.hold(number):
            self._obey(command)
            hosted = self._ranges.get(number)
            if hosted is None and left in self._ranges and right in self._ranges:
                return self._placed(left, right)
            if hosted is None or hosted.epoch != epoch or hosted.partition.state is not SERVING:
                raise NotServing(f"{self._node} does not serve range {number} at epoch {epoch}")
            at = None if left <= hosted.refused else hosted.split_key(reason)
            if at is None:  # the same command again must not be carried out after it was refused; numbers grow
                hosted.refused = max(left, hosted.refused)
                raise NotSplittable(f"range {number} has no useful boundary")
            hosted.ready = False
            try:
                children = await split(hosted.partition, at, left, right, new_epoch)
            except EngineError:
                hosted.ready = True
                raise
            self._replace(command, (number,), children)
            return self._placed(left, right)

    async def merge(
        self, command: Command, left: int, left_epoch: int, right: int, right_epoch: int, into: int, new_epoch: int
    ) -> tuple[PlacedRange, ...]:
        """Makes one range of two neighbours, both here. Asked again it answers the same."""
        self._obey(command)
        async with self._commands.hold(left, right):
            self._obey(command)
            if into in self._ranges:
                return self._placed(into)
            candidates = [self._ranges.get(number) for number in (left, right)]
            epochs = (left_epoch, right_epoch)
            parts = [
                hosted for hosted, epoch in zip(candidates, epochs, strict=True) if hosted and hosted.epoch == epoch
            ]
            if len(parts) < 2 or any(hosted.partition.state is not SERVING for hosted in parts):
                raise NotServing(f"{self._node} does not serve ranges {left} and {right}")
            for hosted in parts:
                hosted.ready = False
            try:
                merged = await merge(parts[0].partition, parts[1].partition, into, new_epoch)
            except EngineError:
                for hosted in parts:
                    hosted.ready = True
                raise
            self._replace(command, (left, right), (merged,))
            return self._placed(into)

    def _replace(self, command: Command, old: tuple[int, ...], new: tuple[RangePartition, ...]) -> None:
        for number in old:
            if number in self._ranges:
                self._drop(self._ranges[number])
        for partition in new:
            self._host(command, partition)

    def _placed(self, *numbers: int) -> tuple[PlacedRange, ...]:
        hosted = [self._ranges[number] for number in numbers]
        return tuple(PlacedRange(h.number, h.partition.low, h.partition.high, h.epoch) for h in hosted)

    # ------------------------------------------------------------------------------------------ reports

    async def report(self, command: Command) -> ServerReport:
        """What it serves and the loads of the last window: the answer to a heartbeat."""
        self._obey(command)
        served = [
            Served(hosted.number, hosted.epoch, hosted.ready)
            for hosted in self._ranges.values()
            if hosted.partition.state is SERVING
        ]
        served += [Served(number, epoch, False) for number, epoch in self._loading.items()]
        return ServerReport(
            self._lease.epoch,
            tuple(sorted(served, key=lambda each: each.number)),
            tuple(self._ranges[number].load for number in sorted(self._ranges)),
        )

    def statistics(self) -> Statistics:
        """What it serves and what it keeps in memory."""
        cache = self._cache
        own = Statistics(cache_bytes=cache.memory_bytes, cache_hits=cache.hits, cache_misses=cache.misses)
        return total([own, *(hosted.partition.statistics() for hosted in self._ranges.values())])

    @property
    def leased(self) -> bool:
        """Whether it holds its lease now."""
        return self._lease.held()

    def serves(self) -> tuple[tuple[int, int], ...]:
        """Ranges and epochs that it would answer for now (for checkers)."""
        if not self._lease.held():
            return ()
        return tuple(
            (hosted.number, hosted.epoch) for hosted in self._ranges.values() if hosted.partition.state is SERVING
        )

    def check_now(self, locks: LockService | None) -> None:
        """At every instant: the lease, each range under its number, none at an epoch that was given up."""
        self._lease.check(locks)
        self._answers.check()
        self._commands.check()
        for number, hosted in self._ranges.items():
            assert hosted.number == number == hosted.partition.number, "a range under another's number"
            assert hosted.epoch > self._given_up.get(number, 0), "a range that was given up"
            hosted.partition.metadata.check()

    async def check(self) -> None:
        """What takes reading: each range's own check.

        Of the ranges that it would answer for only: what a lost one reads may be another's by now, and collected.
        """
        for hosted in list(self._ranges.values()):
            if not self._answers_for(hosted):  # moved away while another one was checked
                continue
            hosted.profile.check()
            async with hosted.partition.metadata.lock:  # not between a new root and what it names
                try:
                    if self._answers_for(hosted):
                        await hosted.partition.check()
                except EngineError:
                    if self._answers_for(hosted):
                        raise

    def _answers_for(self, hosted: HostedRange) -> bool:
        here = self._ranges.get(hosted.number) is hosted and self._lease.held()
        return here and hosted.partition.state is SERVING
