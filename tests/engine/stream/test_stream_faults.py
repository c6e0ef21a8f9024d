"""The stream layer among faults, each seed its own: what was acknowledged is there, in order, on every replica."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.worlds.faults import DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.stream.streams_history import MS, SECOND, TINY, Stage, restart_after_crash
from tests.engine.worlds import NodesAtlas

COUNTS: Counter[str] = Counter()


def faulty(seed: int) -> tuple[Simulator, Random]:
    chance = Random(seed)
    network = NetworkFaults(
        delay_ns_min=chance.choice((0, MS // 10)),
        delay_ns_mean=chance.choice((0, MS, 5 * MS)),
        drop_per_million=chance.choice((0, 0, 10_000, 80_000)),
        duplicate_per_million=chance.choice((0, 20_000, 200_000)),
        refuse_quickly=chance.random() < 0.5,
    )
    disks = DiskFaults(
        latency_ns_mean=chance.choice((0, MS, 10 * MS)),
        write_error_per_million=chance.choice((0, 0, 2_000)),
        full_per_million=chance.choice((0, 0, 2_000)),
    )
    atlas = None
    if seed % 3 == 2:  # the devices of one node turn bad; then no other loses its own
        atlas = NodesAtlas(["extent-node-1"])
        disks = replace(disks, flip_per_million=5_000, misdirect_per_million=3_000, read_error_per_million=2_000)
    world = Simulator(seed, network=network, disks=disks, random_order=chance.random() < 0.5, atlas=atlas)
    return world, chance


async def nemesis(stage: Stage, chance: Random, until_ns: int) -> None:
    """Crashes, pauses, blocks, clogs; every node may be hit, also several at once."""
    world = stage.world
    nodes = [*[node.name for node in stage.layer.nodes], "manager"]
    kinds = chance.sample(
        ("crash", "pause", "block", "one way", "clog", "power", "crash", "pause"), chance.randrange(7)
    )
    may_lose = world.atlas is None and chance.random() < 0.5
    while kinds and world.now_ns() < until_ns:
        await world.sleep(chance.randrange(1, 1_500) * MS)
        kind, node = chance.choice(kinds), chance.choice(nodes)
        other = chance.choice([*nodes, "client-1", "client-2"])
        duration_ns = chance.randrange(1, 4_000) * MS
        if kind == "crash" and world.is_up(node):
            lose_disks = may_lose and node != "manager" and chance.random() < 0.3
            may_lose = may_lose and not lose_disks  # one node of all: two replicas are left
            world.crash(node, lose_disks=lose_disks)
        elif kind == "pause" and not world.paused(node):
            world.pause(node)
            world.at(world.now_ns() + duration_ns, lambda node=node: world.resume(node))  # type: ignore[misc]
        elif kind in ("block", "one way"):
            both = kind == "block"
            world.network.block([node], [other], both)
            world.at(
                world.now_ns() + duration_ns,
                lambda node=node, other=other, both=both: world.network.unblock([node], [other], both),  # type: ignore[misc]
            )
        elif kind == "clog":
            world.network.clog([node], [other], duration_ns)
        elif kind == "power" and chance.random() < 0.3:
            for name in nodes:
                if world.is_up(name):
                    world.crash(name)


async def write(stage: Stage, node: str, name: str, epoch: int, chance: Random, until_ns: int) -> None:
    client = stage.client(node)
    while stage.world.now_ns() < until_ns and await stage.append(client, name, epoch, chance):
        await stage.world.sleep(chance.randrange(1, 50) * MS)


async def play(stage: Stage, chance: Random, seconds: int) -> None:
    world = stage.world
    await stage.start()
    names = ("a", "b")
    for name in names:
        await stage.create(stage.client("client-1"), name)
    until_ns = world.now_ns() + seconds * SECOND
    world.spawn(nemesis(stage, Random(chance.random()), until_ns), "judge")
    tasks = []
    for name in names:
        for _ in range(2):
            tasks.append(world.spawn(write(stage, "client-1", name, 1, Random(chance.random()), until_ns), "client-1"))
    epoch = 1
    while world.now_ns() < until_ns:
        await world.sleep(chance.randrange(500, 4_000) * MS)
        epoch += 1
        node = chance.choice(("client-1", "client-2"))
        name = chance.choice(names)
        try:
            await stage.take_over(stage.client(node), name, epoch)
        except Exception as error:  # unavailable now: another one will be owner later
            world.event("take-over failed", type(error).__name__)
        tasks.append(world.spawn(write(stage, node, name, epoch, Random(chance.random()), until_ns), node))
    world.network.heal()
    world.network.faults = NetworkFaults()
    for disk in world.disks():
        disk.faults = DiskFaults()
    for name in world.nodes():
        world.resume(name)
    for task in tasks:
        await task


def run(seed: int, seconds: int = 15, options: EngineOptions = TINY) -> Simulator:
    world, chance = faulty(seed)
    restart_after_crash(world, 700 * MS)
    try:
        stage = Stage(world, chance.choice((3, 4, 6)), options)
        world.run(play(stage, chance, seconds), "judge", limit_ns=900 * SECOND)
        world.run_until(world.now_ns() + 5 * SECOND)
        world.run(stage.judge(), "judge", limit_ns=900 * SECOND)
    finally:
        COUNTS.update(world.counts)
        world.close()
    return world


@pytest.mark.parametrize("seed", range(12))
def test_nothing_acknowledged_is_lost_under_faults(seed: int) -> None:
    """S1 to S6 and S10 at the end of each run, and liveness: after the faults everything is written and read again."""
    run(seed)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_of_appends_that_pass_the_journal_by(seed: int) -> None:
    """S1 to S6: small appends stand in the journal and large ones on the data device, of the same extents."""
    run(seed, options=replace(TINY, journal_append_bytes_max=60))
