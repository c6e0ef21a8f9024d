"""One leadership of a partition manager: what it mends with every heartbeat, and what it changes when it balances.

The manager that leads is described in ``partition_manager``.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from msgspec.structs import replace

from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import LeaseLost, NotServing, NotSplittable, StaleLeader
from pkadvisor.engine.partition.balancer import Action, MergeRanges, MoveRange, Policy, RangeLoad, SplitRange
from pkadvisor.engine.partition.lock_service import SERVICE as LOCKS_SERVICE
from pkadvisor.engine.partition.lock_service import Lease
from pkadvisor.engine.partition.metadata import RangeMissing
from pkadvisor.engine.partition.partition_map import Change, MapStore, PartitionMap, Pending, RangeEntry
from pkadvisor.engine.partition.server_messages import SERVICE, Command, PlacedRange, ServerReport
from pkadvisor.engine.worlds.tasks import Future
from pkadvisor.engine.worlds.world import EngineError, Unreachable, World

_UNHEARD = (-1, None)


class LeaderTerm:
    """One leadership: it ends with the lease, or when the map cannot be written.

    a range:  free ──claimed, by mending or by an action──► busy ──the task that claimed it ends──► free
              nobody changes its entry                      its entry is that task's alone

    Claimed in the same instant as it is decided, with no wait between: what a task knows of its ranges stays true.
    """

    def __init__(
        self,
        world: World,
        node: str,
        locks: str,
        lease: Lease,
        store: MapStore,
        options: EngineOptions,
        policy: Policy,
        capacity: Capacity | None = None,
    ) -> None:
        self._capacity = capacity
        self._world, self._node, self._locks, self._options = world, node, locks, options
        self._lease, self._epoch = lease, lease.epoch
        self.store = store
        self.balancer = policy
        self._busy: dict[int, None] = {}
        self._shunned: dict[int, str] = {}
        self._reports: dict[str, tuple[int, ServerReport]] = {}
        self._asked: dict[str, None] = {}
        self._moment = 0  # counts tasks that ended: a report tells nothing of a task that ended after it was asked for
        self._freed: dict[int, int] = {}
        self._deposed = False
        self._alive: dict[str, int] = {}
        self._evaluated_ns = world.clock_ns(node)

    def over(self) -> bool:
        """Whether this leadership has ended."""
        return self._deposed or self.store.failed or self._lease.epoch != self._epoch or not self._lease.held()

    def end(self) -> None:
        """Changes nothing any more."""
        self._deposed = self.store.failed = True

    async def lead(self) -> None:
        """Mends with every heartbeat, balances with every pass, until the leadership is over."""
        while not self.over():
            try:
                await self._hear()
                if self.over():
                    return
                await self._mend()
            except EngineError as error:
                self._world.event("heartbeat failed", type(error).__name__)
            now_ns = self._world.clock_ns(self._node)
            if now_ns - self._evaluated_ns >= self._options.evaluate_ns:
                self._evaluated_ns = now_ns
                self._balance(now_ns)
            await self._world.sleep(self._options.heartbeat_ns)

    # ------------------------------------------------------------------------------------------ mending

    async def _hear(self) -> None:
        """Learns which servers are alive, and what each reports; for a silent one it waits a heartbeat at most."""
        held = await self._world.call(self._node, self._locks, LOCKS_SERVICE, "held", "server/")
        self._alive = {holding.owner: holding.epoch for holding in held}
        self._reports = {
            server: heard for server, heard in self._reports.items() if self._alive.get(server) == heard[1].session
        }
        enough: Future[None] = Future()
        for server in self._alive:
            if server not in self._asked:
                self._asked[server] = None
                self._world.spawn(self._ask(server, enough), self._node)
        self._world.spawn(self._patience(enough), self._node)
        await enough

    async def _ask(self, server: str, enough: Future[None]) -> None:
        moment, session = self._moment, self._alive[server]
        self._reports.pop(server, None)
        try:
            report: ServerReport = await self._order(server, "report")
            if report.session == session:
                self._reports[server] = moment, report
        except StaleLeader:
            self._deposed = True
        except EngineError as error:
            self._world.event("server silent", server, type(error).__name__)
        del self._asked[server]
        if not self._asked and not enough.done:
            enough.resolve(None)

    async def _patience(self, enough: Future[None]) -> None:
        await self._world.sleep(self._options.heartbeat_ns)
        if not enough.done:
            enough.resolve(None)

    async def _order(self, server: str, method: str, *arguments: Any) -> Any:
        """Calls a server in its present life; LeaseLost where it has none."""
        session = self._alive.get(server)
        if session is None:
            raise LeaseLost(server)
        command = Command(self._epoch, session)
        return await self._world.call(self._node, server, SERVICE, method, command, *arguments)

    async def _mend(self) -> None:
        """Gives every range that nobody serves, or will, to a server, under a new epoch."""
        pending = {number: change for change in self.store.routes.map.pending for number in change.old}
        groups = self._orphans(pending)
        for numbers in groups:
            self._claim(numbers)  # before the first wait: no split, merge or move of them begins meanwhile
        counts = dict.fromkeys(self._alive, 0)
        for entry in self.store.routes.map.entries:
            if entry.server in counts:
                counts[entry.server] += 1
        put: list[RangeEntry] = []
        for numbers in groups:
            first, change = numbers[0], pending.get(numbers[0])
            entries = [self.store.routes.by_number[number] for number in numbers]
            owner = entries[0]  # a merge is begun on one server only
            server = owner.server
            if server not in counts or self._shunned.pop(first, None) == server:
                others = [name for name in counts if name != server] or [server]
                server = min(others, key=lambda name: (counts[name], name))
            if server != owner.server and not await self._surely_gone(entries, change):
                self._free(numbers)
                continue
            counts[server] += len(entries)
            put += [replace(e, server=server, session=self._alive[server]) for e in entries]
        if put:
            await self._assign_and_load(put, pending)

    def _orphans(self, pending: dict[int, Pending]) -> list[tuple[int, ...]]:
        """The ranges that nobody serves, or will; those of a split or merge that was begun lie together."""
        if not self._alive:
            return []
        served = {(name, s.number): s for name, (_, report) in self._reports.items() for s in report.served}
        groups: dict[tuple[int, ...], None] = {}
        for entry in self.store.routes.map.entries:
            alive = entry.session != 0 and self._alive.get(entry.server) == entry.session
            if alive and self._reports.get(entry.server, _UNHEARD)[0] < self._freed.get(entry.number, 0):
                continue  # not heard since: it may serve, and its lease says that nobody else may
            hosted = served.get((entry.server, entry.number)) if alive else None
            if hosted is not None and hosted.epoch == entry.epoch and entry.number not in pending:
                continue
            if hosted is not None and not hosted.ready:
                continue
            groups[pending[entry.number].old if entry.number in pending else (entry.number,)] = None
        return [numbers for numbers in groups if not any(number in self._busy for number in numbers)]

    async def _surely_gone(self, entries: Sequence[RangeEntry], change: Pending | None) -> bool:
        """Before a range goes elsewhere: no load that is still on its way may bring it back to its last owner.

        Where that owner was told to split or merge it, it may have done so, with nobody hearing of it: what came of it
        is given up as well, at whatever epoch it is there (P2).
        """
        gone = [(entry, entry.number, entry.epoch) for entry in entries]
        if change is not None:
            latest = max(change.epoch, *(entry.epoch for entry in entries))
            gone += [(entries[0], number, latest) for number in change.new]
        try:
            for entry, number, epoch in gone:
                if self._alive.get(entry.server) == entry.session:
                    await self._order(entry.server, "offload", number, epoch)
        except EngineError:
            return False
        return True

    async def _assign_and_load(self, put: list[RangeEntry], pending: dict[int, Pending]) -> None:
        try:
            given = await self._assign(put)
        except EngineError:
            self._free([entry.number for entry in put])
            raise
        begun: dict[int, None] = {}
        for entry in given:
            change = pending.get(entry.number)
            if change is None:
                self._spawn((entry.number,), self._load(entry))
            elif change.id not in begun:
                begun[change.id] = None
                group = [each for each in given if each.number in change.old]
                self._spawn(change.old, self._resolve(change, group))

    async def _assign(self, put: Sequence[RangeEntry]) -> list[RangeEntry]:
        """Makes new owners durable, each under a new epoch; the entries as they stand then."""
        given: list[RangeEntry] = []

        def build(before: PartitionMap) -> Change:
            given.extend(replace(entry, epoch=before.next_epoch + i) for i, entry in enumerate(put))
            gone = tuple(entry.number for entry in put)
            return Change(before.version + 1, gone, tuple(given), next_epoch=before.next_epoch + len(put))

        await self.store.change(build)
        for entry in given:
            self._world.event("range assigned", entry.number, entry.server, entry.epoch)
        return given

    async def _load(self, entry: RangeEntry) -> None:
        try:
            await self._order(entry.server, "load", entry.number, entry.low, entry.high, entry.epoch, entry.fresh)
        except Unreachable:
            raise
        except EngineError:
            self._shunned[entry.number] = entry.server  # another server may see what this one does not
            raise
        self._shunned.pop(entry.number, None)
        if entry.fresh:
            made = replace(entry, fresh=False)
            await self.store.change(lambda before: Change(before.version + 1, (entry.number,), (made,)))

    async def _resolve(self, change: Pending, entries: Sequence[RangeEntry]) -> None:
        """Finds out whether a split or merge happened, by loading what it began from, else what it made."""
        server, session = entries[0].server, entries[0].session
        missing = 0
        for entry in entries:
            try:
                await self._order(server, "load", entry.number, entry.low, entry.high, entry.epoch, False)
            except RangeMissing:
                missing += 1
        if not missing:
            self._world.event("split or merge undone", *change.old)
            await self.store.change(lambda before: Change(before.version + 1, ended=(change.id,)))
            return
        assert missing == len(entries), "a split or merge is a change of all its ranges or of none"
        epoch = max(entry.epoch for entry in entries)
        placed = [await self._order(server, "load_made", number, epoch) for number in change.new]
        await self._put_made(change, placed, server, session)
        self._world.event("split or merge found done", *change.old)

    async def _put_made(self, change: Pending, placed: Sequence[PlacedRange], server: str, session: int) -> None:
        put = tuple(RangeEntry(each.number, each.low, each.high, server, session, each.epoch) for each in placed)
        await self.store.change(lambda before: Change(before.version + 1, change.old, put, ended=(change.id,)))
        if self._capacity is not None:
            self._capacity.succeed(change.old, change.new)
        self.balancer.replaced(self._world.clock_ns(self._node), change.old, change.new)
        for number in change.old:
            self._shunned.pop(number, None)

    # ------------------------------------------------------------------------------------------ balancing

    def _balance(self, now_ns: int) -> None:
        routes = self.store.routes
        loads = {(name, load.number): load for name, (_, report) in self._reports.items() for load in report.loads}
        ranges: list[RangeLoad] = []
        for entry in routes.map.entries:
            load = loads.get((entry.server, entry.number))
            if load is None or entry.number in self._busy:
                return  # a pass needs to know of every range
            ranges.append(load)
        for action in self.balancer.decide(now_ns, ranges, sorted(self._reports)):
            self._world.event("decided", type(action).__name__)
            self._world.spawn(self._quietly(self.act(action)), self._node)

    async def act(self, action: Action) -> bool:
        """Carries out a split, merge or move; whether it was carried out."""
        numbers = (action.left, action.right) if isinstance(action, MergeRanges) else (action.number,)
        routes = self.store.routes
        if self.over() or any(number in self._busy or number not in routes.by_number for number in numbers):
            return False
        if any(number in change.old for change in routes.map.pending for number in numbers):
            return False
        self._claim(numbers)
        try:
            match action:
                case SplitRange():
                    await self._split(action)
                case MergeRanges():
                    await self._merge(action)
                case MoveRange():
                    await self._move(routes.by_number[action.number], action.server)
        except (NotServing, NotSplittable, LeaseLost, Unreachable) as error:
            self._world.event("action not done", type(action).__name__, type(error).__name__)
            if isinstance(action, SplitRange) and isinstance(error, NotSplittable):
                self.balancer.refused(self._world.clock_ns(self._node), action)
            return False
        finally:
            self._free(numbers)
        self._world.event("action done", type(action).__name__)
        return True

    async def _begin(self, old: tuple[int, ...], count: int) -> Pending:
        begun: list[Pending] = []

        def build(before: PartitionMap) -> Change:
            first, epoch = before.next_number, before.next_epoch
            begun.append(Pending(first, old, tuple(range(first, first + count)), epoch))
            return Change(before.version + 1, begun=tuple(begun), next_number=first + count, next_epoch=epoch + 1)

        await self.store.change(build)
        return begun[0]

    async def _split(self, action: SplitRange) -> None:
        entry = self.store.routes.by_number[action.number]
        change = await self._begin((entry.number,), 2)
        left, right = change.new
        await self._carry_out(
            change, entry, "split", entry.number, entry.epoch, action.reason, left, right, change.epoch
        )

    async def _merge(self, action: MergeRanges) -> None:
        left, right = (self.store.routes.by_number[number] for number in (action.left, action.right))
        if left.server != right.server:
            right = await self._move(right, left.server)
        change = await self._begin((left.number, right.number), 1)
        (into,) = change.new
        await self._carry_out(
            change, left, "merge", left.number, left.epoch, right.number, right.epoch, into, change.epoch
        )

    async def _carry_out(self, change: Pending, entry: RangeEntry, method: str, *arguments: Any) -> None:
        """Lets the server do it. After anything but a plain answer, mending finds out what exists."""
        try:
            placed: tuple[PlacedRange, ...] = await self._order(entry.server, method, *arguments)
        except NotSplittable:
            await self.store.change(lambda before: Change(before.version + 1, ended=(change.id,)))
            raise
        await self._put_made(change, placed, entry.server, entry.session)

    async def _move(self, entry: RangeEntry, server: str) -> RangeEntry:
        """Offload, assign, load. What fails after the offload is mended: the range has an owner in the map."""
        if server not in self._alive:
            raise LeaseLost(server)
        await self._order(entry.server, "offload", entry.number, entry.epoch)
        session = self._alive.get(server)
        if session is None:
            raise LeaseLost(server)
        (given,) = await self._assign([replace(entry, server=server, session=session)])
        self.balancer.moved(self._world.clock_ns(self._node), entry.number)
        if self._capacity is not None:
            self._capacity.unavailable(entry.number, self._world.now_ns() + self._options.move_ns)
        await self._load(given)
        return given

    # ------------------------------------------------------------------------------------------ tasks

    def _spawn(self, numbers: tuple[int, ...], coroutine: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await self._quietly(coroutine)
            finally:
                self._free(numbers)

        self._world.spawn(guarded(), self._node)

    async def _quietly(self, coroutine: Coroutine[Any, Any, object]) -> None:
        try:
            await coroutine
        except EngineError as error:
            self._world.event("manager's task failed", type(error).__name__)

    def _claim(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            assert number not in self._busy, f"range {number} is in two hands"
            self._busy[number] = None

    def _free(self, numbers: Sequence[int]) -> None:
        self._moment += 1
        for number in numbers:
            del self._busy[number]
            if number in self.store.routes.by_number:
                self._freed[number] = self._moment
            else:
                self._freed.pop(number, None)

    # ------------------------------------------------------------------------------------------ checks

    def check(self) -> None:
        """Asserts that nothing is kept of ranges that are gone, and that a split or merge is one server's matter."""
        self.store.check()
        self.balancer.check()
        by_number = self.store.routes.by_number
        known = by_number.keys() | self._busy.keys()  # what a change took away is busy until its task ends
        assert self._freed.keys() <= known and self._shunned.keys() <= known, (
            "something is kept of a range that is gone"
        )
        assert all(moment <= self._moment for moment in self._freed.values()), "freed in the future"
        assert all(moment <= self._moment for moment, _ in self._reports.values()), "reported in the future"
        for change in self.store.routes.map.pending:
            owners = {by_number[number].server for number in change.old}
            assert len(owners) == 1, f"the ranges {change.old} are being changed, on {owners}"
