"""Many writers and readers at once, while ranges checkpoint, combine, split and merge, until the server crashes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from pkadvisor.engine.partition.metadata import RangeError
from pkadvisor.engine.tables.row_keys import partition_boundary
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.partition.harness import NODE, OPTIONS, CrashingStreams, Land, key, walk

MS = 1_000_000
PARTITIONS, ROWS = 4, 4


def crashing(land: Land, at: int, after: bool, repeat: bool) -> None:
    land.streams = CrashingStreams(land.memory, crash_at=at, after=after, world=land.world)
    land.streams.repeat_appends = repeat


async def write_on(land: Land, number: int, chance: Random) -> None:
    """Writes twin rows (same value, one record) and single rows, one after the other, for ever."""
    turn = 0
    while True:
        turn += 1
        value = b"%d-%d" % (number, turn)
        partition, row = chance.randrange(PARTITIONS), chance.randrange(ROWS)
        gone = chance.random() < 0.2
        changes = [(key(partition, row), None if gone else value), (key(partition, row + 100), None if gone else value)]
        try:
            await land.write(*changes)
            land.world.event("written")
        except RangeError:
            await land.world.sleep(MS)


async def read_on(land: Land, chance: Random) -> None:
    """Walks over ranges: twins are equal (T2), and each row is as the model had it at some one moment (T3)."""
    while True:
        part = chance.choice(land.parts)
        try:
            cursor = part.cursor(b"", None)
            at, history = part.sequence, land.histories[part.number]
            seen = await walk(cursor)
        except RangeError:
            await land.world.sleep(MS)
            continue
        assert seen == history.rows(at), "a page of no single moment"
        for name, (_, value) in seen.items():
            twin = name[:-3] + b"%03d" % ((int(name[-3:]) + 100) % 200)
            assert seen[twin][1] == value, "half of a group"
        land.world.event("walked")
        await land.world.sleep(chance.randrange(3 * MS))


async def change_on(land: Land, chance: Random) -> None:
    """Checkpoints, combines, splits, merges."""
    while True:
        await land.world.sleep(chance.randrange(6 * MS))
        index = chance.randrange(len(land.parts))
        part = land.parts[index]
        what = chance.randrange(4)
        if what == 0:
            await part.checkpoint()
        elif what == 1:
            await part.maintain()
        elif what == 2 and len(land.parts) < 3:
            at = partition_boundary(key(chance.randrange(1, PARTITIONS), 0))
            if part.low < at and (part.high is None or at < part.high):
                await land.split(index, at)
        elif index + 1 < len(land.parts):
            await land.merge(index)


def live(seed: int) -> Counter[str]:
    """Several lives, each ended by a crash at a step drawn from the seed; the model is compared after each."""
    land = Land(options=replace(OPTIONS, memory_table_bytes=3_000, log_bytes=4_000, group_commit_records=4))
    land.world = Simulator(seed)
    chance = Random(seed)
    for turn in range(4):
        crashing(land, chance.randrange(5, 260), chance.random() < 0.5, chance.random() < 0.3)

        async def begin(turn: int = turn) -> None:
            await (land.recover() if turn else land.create())
            for part in land.parts:
                part.look_after_itself()
            for number in range(6):
                land.world.spawn(write_on(land, turn * 10 + number, Random(f"{seed} {turn} {number}")), NODE)
            land.world.spawn(read_on(land, Random(f"{seed} {turn} reader")), NODE)
            land.world.spawn(change_on(land, Random(f"{seed} {turn} changer")), NODE)

        land.world.spawn(begin(), NODE)
        land.world.run_until(land.world.now_ns() + 2_000 * MS)
        assert land.streams.dead, "the steps of a life are passed in time"
    land.streams = CrashingStreams(land.memory)
    land.world.run(land.recover())
    return land.world.counts


def test_lives_with_many_writers_end_anywhere_and_lose_nothing():
    """P3, P4, T2, T3, with what should sometimes happen happening."""
    seen: Counter[str] = Counter()
    for seed in range(15):
        seen += live(seed)
    for what in ("written", "walked", "checkpoint", "combine", "split", "merge", "duplicate record replayed"):
        assert seen[what], f"never happened: {what}"
    for what in ("log replayed", "range made of its parents"):
        assert seen[what], f"never happened: {what}"


def test_writers_of_one_key_take_turns_and_none_is_lost():
    """T1: as many increments as acknowledgements."""
    world = Simulator(1)
    land = Land()
    land.world = world
    land.world.run(land.create())
    part = land.parts[0]
    part.streams.world = world  # type: ignore[attr-defined]
    done: list[int] = []

    async def add() -> None:
        try:
            done.append(
                await part.write(
                    [key(1, 1)], lambda rows, _: [(key(1, 1), b"%d" % (int(rows[0][1]) + 1 if rows[0] else 1))]
                )
            )
        except EngineError:
            raise AssertionError("nothing fails here") from None

    for _ in range(30):
        world.spawn(add(), NODE)
    world.run_until(10_000 * MS)
    assert len(done) == 30 and done == sorted(done)
    assert world.run(part.read(key(1, 1))) == (30, b"30")


def test_writers_wait_where_checkpoints_do_not_keep_up_and_memory_stays_bounded():
    land = Land(options=replace(OPTIONS, memory_table_bytes=10_000, group_commit_records=4))
    land.world = Simulator(3)
    land.world.run(land.create())
    part = land.parts[0]
    part.look_after_itself()
    slow = CrashingStreams(land.memory, world=land.world)
    part.tree._streams = slow  # type: ignore[attr-defined]
    most = 0
    done: list[int] = []

    async def write(number: int) -> None:
        nonlocal most
        for turn in range(40):
            await part.write([key(number, turn)], lambda rows, _, turn=turn: [(key(number, turn), b"v" * 100)])
            most = max(most, part.tree.memory_bytes)
            await land.world.sleep(1_000)
        done.append(number)

    for number in range(8):
        land.world.spawn(write(number), NODE)
    land.world.run_until(60_000 * MS)
    assert sorted(done) == list(range(8)), "somebody waits for ever"
    assert land.world.counts["writers wait for a checkpoint"] > 3
    assert 20_000 <= most < 28_000
    assert len(land.world.run(walk(part.cursor(b"", None)))) == 320
