"""The lock service: named locks with leases, and an epoch that grows with every new holder.

After Chubby, as SOSP 2011, 5.2 says; there it is a Paxos group, here one node with a durable file [H]: while it is down
nobody gets a lock and leases run out, so it can make the stamp unavailable but never wrong.

    free ──acquire──► held (epoch n) ──renew──► held (epoch n)
      ▲                  │ lapsed: seen at the next acquire or list, and made durable before anybody is told
      └──release, break──┘

The state lies in two files, each with a checksum, so that damage of one loses nothing. Where neither can be read,
leases that nobody remembers may still hold: nothing is granted or told until the longest of them is over, and epochs go
on from the time of day, which no count of grants reaches.

Two bounds keep one lock from two holders while clocks drift by at most ``clock_drift_ns_max`` (eps) over a lease:
the holder stops at *its clock when it asked* + lease - eps, the service calls a lease lapsed at *its clock when it
granted* + lease + eps. A service that stood still, or started again, lengthens every lease by the time it missed.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.ownership_errors import LeaseLost, LockHeld
from pkadvisor.engine.stream.kept_twice import KeptTwice
from pkadvisor.engine.worlds.tasks import Lock
from pkadvisor.engine.worlds.world import EngineError, World

SERVICE = "locks"


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """Who holds a lock. ``session`` tells one life of the owner from the next; ``epoch`` never repeats."""

    name: str
    owner: str
    session: int
    epoch: int


class _State(msgspec.Struct, array_like=True):
    epoch: int
    holdings: list[Holding]


class LockService:
    """The service on its node. Errors: LockHeld, LeaseLost, DiskError."""

    def __init__(self, world: World, node: str, options: EngineOptions) -> None:
        self._world, self._node, self._options = world, node, options
        self._file = KeptTwice(world, world.disk(node, "state"), "leases")
        self._lock = Lock()
        self._epoch = 0
        self._holdings: dict[str, Holding] = {}
        self._lapses_ns: dict[str, int] = {}
        self._unknown_until_ns = 0
        self._seen_ns = world.clock_ns(node)

    async def boot(self) -> None:
        """Reads its files; every lease that it finds, or may have forgotten, runs anew from now."""
        written = await self._file.read()
        if written is not None:
            state = msgspec.msgpack.decode(written, type=_State)
            self._epoch = state.epoch
            self._holdings = {holding.name: holding for holding in state.holdings}
        elif self._file.damaged:
            self._world.event("leases cannot be read", self._node)
            self._epoch, self._unknown_until_ns = self._world.ticks(self._node), self._lapse_ns()
        for name in self._holdings:
            self._lapses_ns[name] = self._lapse_ns()
        self._world.register(self._node, SERVICE, self)
        self._world.spawn(self._tick(), self._node)

    async def acquire(self, name: str, owner: str, session: int) -> int:
        """The epoch under which the owner now holds the lock; LockHeld.

        An owner that asks in a new life takes over from its former one at once: of one node only one life goes on. A
        message from a former life that comes late is refused.
        """
        self._notice_standstill()
        async with self._lock:
            self._require_known(name)
            await self._break_lapsed()
            holding = self._holdings.get(name)
            if holding is not None and (holding.owner != owner or holding.session > session):
                raise LockHeld(f"{name} is held by {holding.owner}")
            if holding is not None and holding.session == session:
                self._lapses_ns[name] = self._lapse_ns()
                return holding.epoch
            new = Holding(name, owner, session, self._epoch + 1)
            await self._save(new.epoch, {**self._holdings, name: new})
            self._lapses_ns[name] = self._lapse_ns()
            return new.epoch

    async def renew(self, name: str, session: int, epoch: int) -> None:
        """Lengthens a lease by its whole duration from now; LeaseLost."""
        self._notice_standstill()
        holding = self._holdings.get(name)
        if holding is None or (holding.session, holding.epoch) != (session, epoch) or self._lapsed(name):
            raise LeaseLost(name)
        self._lapses_ns[name] = self._lapse_ns()

    async def release(self, name: str, session: int, epoch: int) -> None:
        """Gives a lock back; one that is no longer held is no error."""
        async with self._lock:
            holding = self._holdings.get(name)
            if holding is not None and (holding.session, holding.epoch) == (session, epoch):
                await self._save(self._epoch, {n: h for n, h in self._holdings.items() if n != name})

    async def held(self, prefix: str) -> tuple[Holding, ...]:
        """The locks below a prefix, by name; LockHeld. A lease that is not in the answer is over for good."""
        self._notice_standstill()
        async with self._lock:
            self._require_known(prefix)
            await self._break_lapsed()
            return tuple(self._holdings[name] for name in sorted(self._holdings) if name.startswith(prefix))

    def holder(self, name: str) -> Holding | None:
        """Who holds a lock, or did until it is seen to have lapsed (for checkers)."""
        return self._holdings.get(name)

    def check(self) -> None:
        """No epoch twice, none above the counter."""
        self._lock.check()
        epochs = [holding.epoch for holding in self._holdings.values()]
        assert len(set(epochs)) == len(epochs), "an epoch was given twice"
        assert max(epochs, default=0) <= self._epoch, "an epoch beyond the counter"

    # ------------------------------------------------------------------------------------------------ inside

    def _lapse_ns(self) -> int:
        return self._world.clock_ns(self._node) + self._options.lease_ns + self._options.clock_drift_ns_max

    def _lapsed(self, name: str) -> bool:
        lapse_ns = self._lapses_ns.get(name)
        return lapse_ns is None or self._world.clock_ns(self._node) >= lapse_ns

    def _require_known(self, name: str) -> None:
        if self._world.clock_ns(self._node) < self._unknown_until_ns:
            raise LockHeld(f"{name} may be held by somebody whom the damaged files named")

    async def _break_lapsed(self) -> None:
        lapsed = [name for name in self._holdings if self._lapsed(name)]
        for name in lapsed:  # before the file is written: nothing may lengthen them while it is
            self._lapses_ns.pop(name, None)
        if lapsed:
            await self._save(self._epoch, {n: h for n, h in self._holdings.items() if n not in lapsed})
            for name in lapsed:
                self._world.event("lease lapsed", name)

    async def _save(self, epoch: int, holdings: dict[str, Holding]) -> None:
        await self._file.write(msgspec.msgpack.encode(_State(epoch, list(holdings.values()))))
        self._epoch, self._holdings = epoch, holdings

    def _notice_standstill(self) -> None:
        """Lengthens every lease by the time in which this node did not run: nobody could renew in it."""
        now_ns = self._world.clock_ns(self._node)
        missed_ns = now_ns - self._seen_ns - self._options.heartbeat_ns
        self._seen_ns = now_ns
        if missed_ns > 0:
            self._world.event("lock service stood still", missed_ns)
            self._unknown_until_ns += missed_ns
            for name in self._lapses_ns:
                self._lapses_ns[name] += missed_ns

    async def _tick(self) -> None:
        while True:
            await self._world.sleep(self._options.heartbeat_ns // 2)
            self._notice_standstill()


class Lease:
    """One lock as its holder keeps it: ``held()`` is the only question to ask before doing what the lock allows.

    none ──acquire──► held ──renew──► held
      ▲                │ its own clock passes the end: stopped ──renew──► held
      └────LeaseLost───┴───────────────────────────────┘
    """

    def __init__(self, world: World, node: str, locks: str, name: str, options: EngineOptions) -> None:
        self._world, self._node, self._locks, self.name = world, node, locks, name
        self._length_ns = options.lease_ns - options.clock_drift_ns_max
        self._heartbeat_ns = options.heartbeat_ns
        # Time of day tells lives of one process apart, chance tells those of one simulated moment apart.
        self._session = world.ticks(node) << 4 | world.random(f"session/{node}").getrandbits(4)
        self.epoch = 0
        self.ends_ns = 0

    def held(self) -> bool:
        """Whether the lease surely holds now; a clock that reads less than zero makes no lease."""
        return self.epoch != 0 and self._world.clock_ns(self._node) < self.ends_ns

    def check(self, service: LockService | None) -> None:
        """P2: it ends within its length from now, and while it is held the service knows it as held."""
        assert self.epoch or not self.ends_ns, "an end of no lease"
        assert self.ends_ns <= self._world.clock_ns(self._node) + self._length_ns, "a lease longer than it was granted"
        if service is not None and self.held():
            holding = service.holder(self.name)
            assert holding is not None, f"{self._node} holds {self.name}, and the lock service does not know"
            assert (holding.owner, holding.epoch) == (self._node, self.epoch), f"{self.name} is held twice"

    async def acquire(self) -> int:
        """The epoch; LockHeld, Unreachable."""
        asked_ns = self._world.clock_ns(self._node)
        epoch: int = await self._world.call(
            self._node, self._locks, SERVICE, "acquire", self.name, self._node, self._session
        )
        self.epoch, self.ends_ns = epoch, asked_ns + self._length_ns
        return epoch

    async def renew(self) -> None:
        """Lengthens the lease; LeaseLost (then nothing is held), Unreachable (then it runs on to its end)."""
        if not self.epoch:
            raise LeaseLost(self.name)
        epoch, asked_ns = self.epoch, self._world.clock_ns(self._node)
        try:
            await self._world.call(self._node, self._locks, SERVICE, "renew", self.name, self._session, epoch)
        except LeaseLost:
            if epoch == self.epoch:
                self.drop()
            raise
        if epoch == self.epoch:
            self.ends_ns = max(self.ends_ns, asked_ns + self._length_ns)

    async def keep(self) -> None:
        """Renews with every heartbeat until the lease is lost; an answer that is lost does not hold up the next one."""
        epoch = self.epoch
        while self.epoch == epoch:
            await self._world.sleep(self._heartbeat_ns)
            self._world.spawn(self._renew_quietly(), self._node)

    async def _renew_quietly(self) -> None:
        with suppress(EngineError):
            await self.renew()

    async def give_back(self) -> None:
        """Holds it no longer; others need not wait for the lease to lapse, where the service can be reached.

        The next time it is held under another epoch, even if nobody else gets it in between.
        """
        session, epoch = self._session, self.epoch
        self._session += 1
        self.drop()
        if epoch:
            with suppress(EngineError):
                await self._world.call(self._node, self._locks, SERVICE, "release", self.name, session, epoch)

    def drop(self) -> None:
        """Holds it no longer."""
        self.epoch, self.ends_ns = 0, 0
