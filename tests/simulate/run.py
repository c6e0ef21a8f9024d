"""One seed: a stamp, clients, trouble; then quiet, and the judgement.

start ──► safety: clients work under faults, nothing wrong may happen ──heal──► liveness: everything ends
  ──► judgement: history, structures ──power cut──► restart from the disks ──► the same rows, judged again
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.ownership_errors import NotServing
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import LOCKS, Stamp
from pkadvisor.engine.tables.table_messages import Answer, Request
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Future, Killed, Task
from pkadvisor.engine.worlds.world import Unreachable
from pkadvisor.limits import default_limits
from pkadvisor.table.store import CreateTable, Operation, Outcome, Query
from tests.engine.worlds import NodesAtlas
from tests.simulate.acknowledged import Acknowledged
from tests.simulate.copies import until_copies_are_good
from tests.simulate.judge import judge, maybe_written
from tests.simulate.nemesis import ACTIONS, Nemesis
from tests.simulate.terrain import Terrain, terrain_of
from tests.simulate.workload import TABLES, Clients, Walked

SAFETY_NS = 30 * SECOND
"""How long clients may work under trouble before everything is healed."""
LIVENESS_NS = 120 * SECOND
"""By when, after the healing, everything must have ended."""
TARGET = 100.0
"""Entities per second of the seeds that have targets: a group may be 41 rows."""
JUDGE = 99
"""The client that reads everything in the end."""
STEPS_MAX = 1_500_000
"""Steps of tasks in a seed; one that takes more goes round in circles. The dearest seeds need a tenth of it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a seed came to; ``violation`` is empty where nothing was wrong."""

    seed: int
    operations: int
    judged: int
    counts: Counter[str]
    event_hash: str
    virtual_ns: int
    violation: str = ""

    @property
    def faults(self) -> int:
        """Faults that were injected."""
        return sum(self.counts[name] for name in FAULTS)


FAULTS = (
    *("crash", "pause", "isolate", "one way", "clog", "swizzle", "power cut", "device lost", "wipe", "damage"),
    *("slow disk", "disk fills", "message lost", "message doubled", "message blocked", "disk full", "read error"),
    *("bit flipped", "misdirected write", "write error", "sync error"),
)


def simulate(seed: int, operations: int = 200) -> Report:
    """Runs a seed to its end. A violation is reported, not raised; a mistake of the engine (any other error) is one."""
    run = _Run(seed, terrain_of(seed, operations))
    violation = ""
    try:
        run.all()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-3:]
        places = "".join(f"\n  {place.name} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})" for place in where)
        violation = f"{type(error).__name__}: {error}{places}"
    finally:
        report = Report(
            seed,
            len(run.clients.calls),
            run.judged,
            Counter(run.world.counts),
            run.world.event_hash(),
            run.world.now_ns(),
            violation,
        )
        run.world.close()
    return report


def _capacity(seed: int, options: EngineOptions) -> Capacity | None:
    """A third of the seeds have targets, so low that some requests are turned away."""
    if Random(f"capacity/{seed}").randrange(3):
        return None
    limits = default_limits()
    for name in ("partition", "range", "server"):
        limits = limits.with_value(f"{name}_entities_per_s", TARGET)
    return Capacity(limits, options, Enforcement.STRICT, seed)


def _hashable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    table, key, etag, properties = row
    return table, key, etag, repr(properties)


class _Guarded(Simulator):
    """A world that notices when it goes round in circles: whatever happens, a seed ends."""

    def _step(self, task: Task[Any]) -> None:
        assert self.steps < STEPS_MAX, f"hang: more than {STEPS_MAX} steps of tasks"
        super()._step(task)


class _Run:
    def __init__(self, seed: int, terrain: Terrain) -> None:
        options, layout = terrain.swarm, terrain.layout
        self.options = options
        self.chance = Random(f"run/{seed}")
        names = [f"extent-node-{i}" for i in range(options.extent_nodes)]
        # One node may lose its bytes: of each acknowledged byte two good copies stay.
        self.world = _Guarded(
            seed,
            clocks=options.clocks,
            atlas=NodesAtlas([self.chance.choice(names)]),
            timeouts=options.timeouts(),
            random_order=options.random_order,
        )
        self.stamp = Stamp(self.world, options.engine, layout, capacity=_capacity(seed, options.engine))
        self.aside = Random(f"zombies/{seed}")
        self.acknowledged = Acknowledged(self.stamp.streams)
        self.stamp.streams = self.acknowledged  # type: ignore[assignment]  # every life of every node asks for a client
        self.roles = {
            "extent nodes": names,
            "stream manager": ["stream-manager"],
            "locks": [LOCKS],
            "servers": list(layout.server_names()),
            "managers": list(layout.manager_names()),
            "front ends": list(layout.front_end_names()),
        }
        # Two front ends know nothing of one another; numbers of requests that no other gives.
        self.services = {
            name: TableService(_Way(self.world, self.stamp, name), ids=count(place + 1, len(layout.front_end_names())))
            for place, name in enumerate(layout.front_end_names())
        }
        self.nemesis = Nemesis(self.world, options.plagues, self.roles, actions=self._actions())
        self.clients = Clients(self.world, self._execute, terrain.mix, self.chance, Random(f"aside/{seed}"))
        self.asked = ""
        """The one front end that is asked; empty for any."""
        self.judged = 0

    def all(self) -> None:
        """The whole story."""
        world, stamp = self.world, self.stamp
        world.run(stamp.start(), limit_ns=LIVENESS_NS)
        self._run(self._create_tables())
        self._let_loose()
        work = world.spawn(self.clients.run(), "clients")
        until = world.now_ns() + SAFETY_NS
        while not work.done and world.now_ns() < until:
            world.run_until(min(until, world.now_ns() + 100 * MS))
            stamp.check()
            self.acknowledged.check_lengths()
        self.clients.left = 0  # no new operations
        self._run(self.nemesis.heal())
        self._run(_wait(work))
        self._run(stamp.until_settled())
        first = self._final("after the healing")
        world.power_cut("lost")
        self._run(self.nemesis.heal())  # it starts every node, and gives new disks to one that cannot start
        self._run(stamp.until_settled())
        second = self._final("after a power cut of everything")
        self._same(first, second, "P6: what a restart from the disks shows is what was there before")
        turned_away = sum(call.outcome is not None and call.outcome.status == 503 for call in self.clients.calls)
        if self.stamp.capacity is not None and turned_away:
            world.event("turned away", turned_away)
        world.event("rows in the end", len(first))
        world.event("late owners refused", self._run(self.acknowledged.refuse_the_late()))

    def _run(self, coroutine: Any) -> Any:
        return self.world.run(coroutine, "judge", limit_ns=LIVENESS_NS)

    def _let_loose(self) -> None:
        world, options = self.world, self.options
        world.network.faults = options.network
        for disk in world.disks():
            disk.faults = options.disks
        self.nemesis.begin()

    async def _create_tables(self) -> None:
        for table in TABLES[: self.clients.mix.tables]:
            outcome = await self._execute(CreateTable(table))
            assert outcome.ok, outcome

    # ------------------------------------------------------------------------------------------ clients

    async def _execute(self, operation: Operation) -> Outcome:
        name = self.asked or self.chance.choice(self.roles["front ends"])
        return await self.services[name].execute(operation)

    def _actions(self) -> Sequence[tuple[str, Callable[[], Any]]]:
        return [("split", self._split), ("merge", self._merge), ("move", self._move), ("zombie", self._zombie)]

    async def _zombie(self) -> None:
        """A server that writes stands still until its ranges are somebody else's, and goes on where it stood."""
        if self.aside.randrange(2):
            await self._zombie_split()
            return
        under_way = self.acknowledged.under_way
        for _ in range(200):
            busy = [name for name in self.roles["servers"] if under_way.get(name) and self.world.is_up(name)]
            if busy:
                break
            await self.world.sleep(MS)
        else:
            return
        await self._stand_still(self.chance.choice(busy))

    async def _zombie_split(self) -> None:
        """A server stands still where a split was about to change its streams, until they are somebody else's."""
        found, stops = self.stamp.map(), self.acknowledged.stops
        chosen = self.aside.choice(found.entries) if found is not None and found.entries else None
        if chosen is None or not chosen.server or not self.world.is_up(chosen.server):
            return
        stops[chosen.server] = False
        order = self.world.spawn(self._act(lambda _: SplitRange(chosen.number, "size")), ACTIONS)
        order.when_done(lambda: None)
        for _ in range(200):
            await self.world.sleep(MS)
            if order.done or stops[chosen.server]:
                break
        if stops.pop(chosen.server) and self.world.is_up(chosen.server):
            self.world.event("stopped before a change of streams", chosen.server)
            await self._stand_still(chosen.server)

    async def _stand_still(self, node: str) -> None:
        self.world.event("pause", node)
        self.world.pause(node)
        await self.world.sleep(3 * self.options.engine.lease_ns)
        self.world.resume(node)

    async def _act(self, choose: Callable[[Any], Any]) -> None:
        leader, found = self.stamp.leader(), self.stamp.map()
        action = choose(found) if found is not None and found.entries else None
        if leader is not None and action is not None:
            await leader.order(action)

    async def _split(self) -> None:
        await self._act(lambda found: SplitRange(self.chance.choice(found.entries).number, "size"))

    async def _merge(self) -> None:
        def choose(found: Any) -> MergeRanges | None:
            if len(found.entries) < 2:
                return None
            place = self.chance.randrange(len(found.entries) - 1)
            return MergeRanges(found.entries[place].number, found.entries[place + 1].number)

        await self._act(choose)

    async def _move(self) -> None:
        servers = self.roles["servers"]
        await self._act(lambda found: MoveRange(self.chance.choice(found.entries).number, self.chance.choice(servers)))

    # ------------------------------------------------------------------------------------------ judgement

    def _final(self, when: str) -> list[tuple[Any, ...]]:
        rows = self._run(self._read_all())
        for name in self.roles["front ends"]:
            self.asked = name
            self._same(rows, self._run(self._read_all()), f"T8: {name} shows what the others show")
        self.asked = ""
        self._run(self.stamp.check_all())
        self.world.run(until_copies_are_good(self.world, self.stamp), "judge")
        self.acknowledged.check_lengths()
        self.world.event("acknowledged appends read", self._run(self.acknowledged.read_back()))
        self.judged = judge(self.clients.calls, self.clients.mix)
        self.world.event("judged", when)
        return rows

    def _same(self, first: list[tuple[Any, ...]], second: list[tuple[Any, ...]], why: str) -> None:
        """A write without an answer may still have been under way: it may show only now, and is judged as such."""
        changed = {row[:2] for row in {*map(_hashable, first)} ^ {*map(_hashable, second)}}
        changed -= maybe_written(self.clients.calls)
        assert not changed, f"{why}; but {sorted(changed)[:5]} changed"

    async def _read_all(self) -> list[tuple[Any, ...]]:
        """Reads everything as a client does, so that what is there in the end is part of the history."""
        rows: list[tuple[Any, ...]] = []
        for table in TABLES[: self.clients.mix.tables]:
            query: Query | None = Query(table)
            walked: Walked | None = None
            pages = 0
            while query is not None:
                outcome, walked = await self.clients.page(JUDGE, query, walked)
                pages += 1
                assert pages < 2_000, f"T5, liveness: a quiet stamp has no end of pages, or no answer: {outcome}"
                if outcome is None or not outcome.ok:
                    await self.world.sleep(100 * MS)
                    continue
                for entity in outcome.entities:
                    rows.append((table, entity.key, entity.etag, tuple(sorted(entity.properties.items()))))
                query = replace(query, continuation=outcome.continuation) if outcome.continuation else None
        return rows


class _Way:
    """The way to a front end, which may die over a request."""

    def __init__(self, world: Simulator, stamp: Stamp, name: str) -> None:
        self._world, self._stamp, self._name = world, stamp, name
        self._waiting: dict[Future[None], None] = {}
        world.on_event(self._heard)

    def _heard(self, _now_ns: int, event: str, facts: tuple[object, ...]) -> None:
        if event == "crash" and facts == (self._name,):
            for future in [future for future in self._waiting if not future.done]:
                future.resolve(None)

    async def send(self, key: bytes, request: Request) -> Answer:
        """The front end's answer; Unreachable where it died over it."""
        front_end = self._stamp.front_ends.get(self._name)
        if front_end is None or not self._world.is_up(self._name):
            raise NotServing(f"{self._name} is down")
        task = self._world.spawn(front_end.send(key, request), self._name)
        over: Future[None] = Future()
        task.when_done(lambda: None if over.done else over.resolve(None))
        self._waiting[over] = None
        try:
            await over
        finally:
            self._waiting.pop(over, None)
        if isinstance(task.error, Killed):
            raise Unreachable(f"{self._name} went down")
        return task.result()


async def _wait(task: Any) -> None:
    await task
