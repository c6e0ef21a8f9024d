"""Stamps among crashes, pauses, lost and doubled messages, cut links, and orders to split, merge and move."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from random import Random
from typing import Any

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.partition.balancer import Action, MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import LOCKS, Layout, Stamp
from pkadvisor.engine.worlds.faults import ClockFaults, DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Task
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.stamp.stamps import SMALL, Client, key_of
from tests.engine.worlds import simulated

SLOW = ("split", "merge", "load", "load_made", "offload")
TIMEOUTS = {"": SECOND // 2, "partitions": 2 * SECOND, **{f"partitions.{name}": 10 * SECOND for name in SLOW}}


DOUBLING = NetworkFaults(delay_ns_min=100_000, delay_ns_mean=30 * MS, duplicate_per_million=500_000)
"""Every other message comes twice, the second time much later."""


def run(seed: int, facts: dict[str, int] | None = None, faults: NetworkFaults | None = None) -> None:
    """A seed: what its clients see is checked at every read, P1 and P2 at every step, everything after healing."""
    chance = Random(seed)
    network = faults or NetworkFaults(
        delay_ns_min=100_000,
        delay_ns_mean=chance.choice([MS, 5 * MS, 30 * MS]),
        drop_per_million=chance.choice([0, 0, 5_000, 30_000]),
        duplicate_per_million=chance.choice([0, 10_000, 300_000]),
    )
    disks = DiskFaults(latency_ns_mean=chance.choice([0, MS, 5 * MS]))
    aside = Random(f"{seed}/clocks")
    clocks = ClockFaults(aside.choice([0, SECOND]), aside.choice([0, 20_000]))
    with simulated(
        seed, network=network, disks=disks, clocks=clocks, timeouts=TIMEOUTS, random_order=bool(aside.randrange(2))
    ) as world:
        stamp = Stamp(world, _options(chance), _layout(chance))
        world.run(stamp.start(), limit_ns=300 * SECOND)
        clients = [Client(stamp, range(30 * i, 30 * i + 30), front_end=i % 2) for i in range(3)]
        tasks = [world.spawn(client.work(120, pause_ns=5 * MS)) for client in clients]
        _plague(world, stamp, chance)
        for task in tasks:
            world.run(ended(task), limit_ns=3000 * SECOND)
        world.network.faults = NetworkFaults()
        world.run(stamp.until_settled(), limit_ns=120 * SECOND)  # P10
        stamp.check()
        for client in clients:
            world.run(client.read_all(), limit_ns=120 * SECOND)
        world.run(stamp.check_all(), limit_ns=60 * SECOND)
        if facts is not None:
            for name, count in world.counts.items():
                facts[name] = facts.get(name, 0) + count


def _options(chance: Random) -> EngineOptions:
    return replace(
        SMALL,
        extent_bytes_target=chance.choice([8 << 10, 64 << 10]),
        memory_table_bytes=chance.choice([2 << 10, 8 << 10]),
    )


def _layout(chance: Random) -> Layout:
    return Layout(
        extent_nodes=chance.randrange(3, 6),
        servers=chance.randrange(1, 4),
        managers=chance.randrange(1, 3),
        front_ends=2,
        boundaries=(key_of(50)[:-2],) if chance.randrange(2) else (),
    )


def _plague(world: Simulator, stamp: Stamp, chance: Random) -> None:
    names = [*stamp.layout.server_names(), *stamp.layout.manager_names(), LOCKS]
    down: list[str] = []
    paused: list[str] = []
    end_ns = world.now_ns() + chance.randrange(5, 30) * SECOND
    while world.now_ns() < end_ns:
        world.run_until(world.now_ns() + chance.randrange(1, 1500) * MS)
        stamp.check()
        kind, name = chance.randrange(100), chance.choice(names)
        if kind < 20:
            if name not in down and name not in paused:
                (down if kind < 12 else paused).append(name)
                world.crash(name) if kind < 12 else world.pause(name)
        elif kind < 35 and down:
            world.start(down.pop(0))
        elif kind < 50 and paused:
            world.resume(paused.pop(0))
        elif kind < 55:
            world.network.partition([name], [other for other in world.nodes() if other != name])
        elif kind < 60:
            world.network.block([name], [chance.choice(names)], both_ways=False)
        elif kind < 70:
            world.network.heal()
        elif kind < 95:
            _order(world, stamp, chance)
    world.network.heal()
    for name in down:
        world.start(name)
    for name in paused:
        world.resume(name)


def _order(world: Simulator, stamp: Stamp, chance: Random) -> None:
    leader = next((name for name, manager in stamp.managers.items() if manager.leads), None)
    found = stamp.map()
    if leader is None or found is None:
        return
    place = chance.randrange(len(found.entries))
    number = found.entries[place].number
    action: Action = SplitRange(number, "size")
    kind = chance.randrange(3)
    if kind == 1:
        action = MoveRange(number, chance.choice(stamp.layout.server_names()))
    elif kind == 2 and place + 1 < len(found.entries):
        action = MergeRanges(number, found.entries[place + 1].number)
    world.spawn(quietly(world.call("", leader, "map", "order", action)))


async def ended(task: Task[Any]) -> None:
    """Waits for a task."""
    await task


async def quietly(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Carries out something that may fail as the engine does."""
    try:
        await coroutine
    except EngineError:
        return
