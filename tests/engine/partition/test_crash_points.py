"""Every durable step of a range's life is a place to crash, before it and after it; then the same in the recovery."""

from __future__ import annotations

from collections import Counter

import pytest

from pkadvisor.engine.range_partition import RangePartition
from pkadvisor.engine.row_keys import partition_boundary
from pkadvisor.engine.split_merge import merge, split
from pkadvisor.engine.world import EngineError
from tests.engine.fakes import MemoryStreams
from tests.engine.partition.harness import NODE, Crash, CrashingStreams, Land, key

MIDDLE = partition_boundary(key(2, 0))


async def life(land: Land) -> None:
    """Create, write, checkpoint, combine, split, write, merge, write, hand over."""
    await land.create()
    for turn in range(4):
        await land.write((key(1, turn), b"%d" % turn), (key(1, 9), b"group %d" % turn))
        await land.write((key(3, turn), b"%d" % turn))
        if turn:
            await land.write((key(3, turn - 1), None))
            await land.parts[0].checkpoint()
    await land.parts[0].combine()
    await land.write((key(2, 0), b"in the log"), (key(2, 1), b"too"))
    await land.split(0, MIDDLE)
    await land.write((key(1, 0), b"left"))
    await land.write((key(3, 3), None))  # deletes what both children hold in the checkpoints of their parent
    await land.parts[1].checkpoint()
    await land.merge(0)
    await land.write((key(1, 1), None), (key(1, 5), b"merged"))
    await land.parts[0].maintain()
    await land.parts[0].stop()


async def go_on(land: Land) -> None:
    """Life after a crash: writes everywhere, and one more load."""
    for partition in (0, 2, 3):
        await land.write((key(partition, 50), b"after"), (key(partition, 0), None))
    for part in land.parts:
        await part.checkpoint()
    await land.write((key(3, 51), b"last"))
    await land.recover()


def steps_of_a_life() -> list[str]:
    land = Land()
    land.world.run(life(land))
    return land.streams.steps


STEPS = steps_of_a_life()


def crashed(at: int, after: bool, repeat: bool) -> Land:
    """A life that ended at a step."""
    land = Land()
    land.streams.strict = True
    land.streams.crash_at, land.streams.after, land.streams.repeat_appends = at, after, repeat
    with pytest.raises(Crash):
        land.world.run(life(land))
    land.streams = CrashingStreams(land.memory)
    land.streams.strict = True
    return land


def test_the_life_passes_every_kind_of_durable_step():
    for what in ("create", "acquire", "append range/1/metadata", "append range/1/log", "append range/1/data", "drop"):
        assert any(step.startswith(what) for step in STEPS) or what == "acquire"
    assert STEPS.count("multi modify") == 2
    assert len(STEPS) > 50


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("repeat", [False, True], ids=["once", "twice"])
def test_a_crash_at_any_step_loses_nothing_that_was_acknowledged(after: bool, repeat: bool):
    """P3, P4, P6: parents or children, never a mix; the same rows and versions; and life goes on."""
    seen: Counter[str] = Counter()
    for at in range(1, len(STEPS) + 1):
        land = crashed(at, after, repeat)
        land.world.run(land.recover())
        land.world.run(go_on(land))
        seen += land.world.counts
    assert seen["split or merge given up"] and seen["log replayed"]
    assert bool(seen["duplicate record replayed"]) == repeat


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_step_of_a_recovery_loses_nothing_either(after: bool):
    """P3, P4: recovery is idempotent at each step."""
    crashes = 0
    for at in range(1 + after, len(STEPS) + 1, 2):  # the other half comes with the other value of ``after``
        within = 0
        while True:
            within += 1
            land = crashed(at, after, repeat=False)
            land.streams.crash_at, land.streams.after = within, after
            try:
                land.world.run(land.recover())
            except Crash:
                crashes += 1
                land.streams = CrashingStreams(land.memory)
                land.world.run(land.recover())
                land.world.run(go_on(land))
            else:
                break
    assert crashes > 2 * len(STEPS)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("what", ["split", "merge", "checkpoint", "combine", "stop"])
def test_a_new_owner_at_any_step_of_a_zombie_is_never_disturbed(what: str, after: bool):
    """P2, P4: whatever the older owner does next, nothing of it is applied, and what it changed is whole."""

    async def prepare(land: Land) -> None:
        await land.create()
        for turn in range(4):
            await land.write((key(1, turn), b"%d" % turn), (key(3, turn), b"x"))
            await land.parts[0].checkpoint()
        await land.split(0, MIDDLE)
        await land.write((key(1, 8), b"left"))
        await land.write((key(3, 2), None))

    async def act(land: Land, zombies: list[RangePartition]) -> list[RangePartition]:
        if what == "split":
            land.before, land.after, land.rest = (zombies[1].number,), (20, 21), (zombies[0].number,)
            return list(await split(zombies[1], partition_boundary(key(3, 0)), 20, 21, land.next_epoch()))
        if what == "merge":
            land.before, land.after = (zombies[0].number, zombies[1].number), (20,)
            return [await merge(*zombies, 20, land.next_epoch())]
        for zombie in zombies:
            if what == "checkpoint":
                await zombie.checkpoint()
            elif what == "combine":
                await zombie.combine()
            elif what == "stop":
                await zombie.stop()
        return zombies

    async def run(at: int) -> bool:
        land = Land()
        await prepare(land)
        zombies, ghost = list(land.parts), land.streams
        ghost.crash_at, ghost.after = len(ghost.steps) + at, after

        async def intrude() -> None:
            land.streams = CrashingStreams(land.memory)
            if what not in ("split", "merge"):
                land.before, land.after = (), tuple(part.number for part in zombies)
                land.parts = [await load(land, number) for number in land.after]
            else:
                await land.recover()
            await land.write((key(1, 60), b"of the new owner"))
            await land.write((key(3, 60), b"of the new owner"))

        ghost.intrude = intrude
        try:
            results = await act(land, zombies)
        except EngineError:
            results = []
        if ghost.crash_at > len(ghost.steps):
            return False
        for zombie in [*results, *zombies]:
            mine = key(1, 70) if zombie.low == b"" else key(3, 70)
            with pytest.raises(EngineError):
                await zombie.write([mine], lambda rows, sequence, mine=mine: [(mine, b"of the zombie")])
        await land.verify()
        land.parts = [await load(land, part.number) for part in land.parts]
        await land.verify()
        return True

    async def load(land: Land, number: int) -> RangePartition:
        return await RangePartition.load(land.world, NODE, land.streams, land.options, number, land.next_epoch())

    at = 1
    while Land().world.run(run(at)):
        at += 1
    assert at > 1


def test_nothing_of_a_plain_stream_is_touched_by_a_load_that_is_repeated():
    """P3: loading again and again gives the same rows."""
    land = Land(MemoryStreams())
    land.world.run(life(land))
    for _ in range(3):
        land.world.run(land.recover())
