"""Background work among faults: crashes, lost disks, flipped bits, lost messages while copies are made and collected.

After the faults everything acknowledged is there (S1), each live extent has all its copies (S8),
nothing that belongs nowhere is left (S9), and all copies are the same (S3).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from pkadvisor.engine.stream.caretaker import Caretaker, Condition
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.worlds.faults import DiskFaults, NetworkFaults
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.stream.streams_history import MS, SECOND, TINY, Stage, all_of, restart_after_crash
from tests.engine.stream.test_stream_faults import faulty, nemesis, write

COUNTS: Counter[str] = Counter()
BUSY = replace(
    TINY,
    poll_period_ns=500 * MS,
    garbage_grace_ns=2 * SECOND,
    node_lost_ns=3 * SECOND,
    scrub_period_ns=5 * SECOND,
)


def caretaker(stage: Stage) -> Caretaker:
    assert stage.layer.caretaker is not None
    return stage.layer.caretaker


def all_whole(stage: Stage) -> bool:
    return all(
        condition is Condition.WHOLE for found in caretaker(stage).conditions().values() for _, condition in found
    )


async def decay(stage: Stage, chance: Random, until_ns: int) -> None:
    """Flips bits of sealed copies, once for each extent and only where all others are whole."""
    flipped: set[int] = set()
    while stage.world.now_ns() < until_ns:
        await stage.world.sleep(chance.randrange(100, 1_000) * MS)
        manager = stage.layer.manager
        if manager is None or stage.layer.caretaker is None:
            continue
        candidates = list(caretaker(stage).conditions().items())
        for extent, conditions in chance.sample(candidates, len(candidates)):
            if extent in flipped or any(condition is not Condition.WHOLE for _, condition in conditions):
                continue
            info = manager.directory.extents[extent]
            disk = stage.world.disk(chance.choice(info.replicas), "data")
            for file in disk.files():
                if file.name == file_name(extent) and file.size():
                    file.flip(chance.randrange(file.size()), chance.randrange(8))
                    flipped.add(extent)
                    stage.world.event("bit flipped", extent)
            break


async def waste(stage: Stage, chance: Random, until_ns: int) -> None:
    """Streams that come and go."""
    client = stage.client("client-2")
    number = 0
    while stage.world.now_ns() < until_ns:
        number += 1
        name = f"waste {number}/blob"
        try:
            await client.create(name, 1)
            for _ in range(chance.randrange(6)):
                await client.append(name, [bytes(chance.randrange(1, 400))], 1)
            await stage.world.sleep(chance.randrange(1, 3_000) * MS)
            await client.delete(name)
        except EngineError:
            stage.world.event("waste left")


async def play(stage: Stage, chance: Random, seconds: int) -> None:
    world = stage.world
    await stage.start()
    names = ("a/blob", "b/log")
    for name in names:
        await stage.create(stage.client("client-1"), name)
    until_ns = world.now_ns() + seconds * SECOND
    rots = chance.random() < 0.7
    tasks = [world.spawn(nemesis(stage, Random(chance.random()), until_ns), "judge")]
    tasks.append(world.spawn(waste(stage, Random(chance.random()), until_ns), "client-2"))
    if rots:
        tasks.append(world.spawn(decay(stage, Random(chance.random()), until_ns), "judge"))
    for name in names:
        writing = write(stage, "client-1", name, 1, Random(chance.random()), until_ns)
        tasks.append(world.spawn(writing, "client-1"))
    await world.sleep(max(0, until_ns - world.now_ns()))
    world.network.heal()
    world.network.faults = NetworkFaults()
    for disk in world.disks():
        disk.faults = DiskFaults()
    for name in world.nodes():
        world.resume(name)
    for task in tasks:
        await task
    for name in names:
        await stage.client("judge").acquire(name, 1_000)


def left_over(stage: Stage) -> list[str]:
    """What lies where it does not belong, and what lacks."""
    manager = stage.layer.manager
    assert manager is not None
    wanted, found = set(), set()
    for extent, info in manager.directory.extents.items():
        wanted.update((node, file_name(extent)) for node in info.replicas)
    for node in stage.layer.nodes:
        if stage.world.service(node.name, "extents") is None:
            continue  # its devices refused to let it start: what it had is elsewhere now
        held = stage.layer.extent_nodes[node.name].replicas
        found.update((node.name, file_name(extent)) for extent in held if extent not in manager.making)
    unreferenced = [f"unreferenced {extent}" for extent in manager.directory.unreferenced()]
    return unreferenced + [f"{node} {name}" for node, name in sorted(wanted ^ found)]


async def judge(stage: Stage) -> None:
    for name, history in stage.histories.items():
        final = await all_of(stage.client("judge").records(name))
        history.judge(final)
        for location, block in final:
            assert await stage.client("client-2").read(location) == block
    manager = stage.layer.manager
    assert manager is not None
    stage.layer.check()
    for extent, info in manager.directory.extents.items():
        if info.sealed is not None:
            contents = [
                await stage.layer.extent_nodes[node].replicas[extent].bytes_at(0, info.sealed) for node in info.replicas
            ]
            assert len(contents) == 3 and len(set(contents)) == 1, "three copies, the same bit for bit (S3, S8)"


def come_to_rest(stage: Stage) -> None:
    """Everything is whole and in its place within a bound."""
    world = stage.world
    world.run_until(world.now_ns() + 15 * SECOND)  # at least one scrub of everything
    for _ in range(300):
        if all_whole(stage) and not left_over(stage):
            return
        world.run_until(world.now_ns() + SECOND)
    found = caretaker(stage).conditions()
    bad = {extent: c for extent, c in found.items() if any(x is not Condition.WHOLE for _, x in c)}
    raise AssertionError(f"S8, S9 in the end: {bad} {left_over(stage)[:9]} {world.counts}")


def run(seed: int, seconds: int = 8) -> Simulator:
    world, chance = faulty(seed)
    restart_after_crash(world, chance.choice((500 * MS, 5 * SECOND)))
    try:
        budget = chance.choice((700, 3_000))
        stage = Stage(world, count=chance.choice((5, 6, 8, 10)), options=replace(BUSY, background_bytes=budget))
        world.run(play(stage, chance, seconds), "judge", limit_ns=900 * SECOND)
        come_to_rest(stage)
        world.run(decay(stage, chance, world.now_ns() + 3 * SECOND), "judge")
        come_to_rest(stage)
        world.event("disks lost")
        world.crash(chance.choice(stage.layer.nodes).name, lose_disks=True)
        come_to_rest(stage)
        world.run(judge(stage), "judge", limit_ns=900 * SECOND)
    finally:
        COUNTS.update(world.counts)
        world.close()
    return world


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_and_everything_comes_to_rest(seed: int) -> None:
    """S1, S3, S7, S8, S9."""
    run(seed)


def test_the_rare_events_occurred() -> None:
    for name in ("collected", "re-replicated", "copy too many"):
        assert COUNTS[name], f"{name}: {COUNTS}"
    for name in ("replica mended", "copy repaired", "bit flipped", "disks lost"):
        assert COUNTS[name], f"{name}: {COUNTS}"


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(1, 4).event_hash() == run(1, 4).event_hash()
