"""Reads, writes, checkpoints, combines and the collection of extents beside each other, each waiting at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pkadvisor.engine.lsm.checkpoint_writer import CombineTask
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import Fenced, Location, NotThere
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.fakes import MemoryStreams
from tests.engine.lsm.straight import run

OPTIONS = replace(
    EngineOptions(), memory_table_bytes=3_000, page_bytes=80, index_fan_out=4, page_cache_bytes=3_000, combine_fan_in=2
)


class SlowStreams(MemoryStreams):
    """Streams that take their time, with an extent for every append."""

    def __init__(self, world: Simulator) -> None:
        super().__init__()
        self._world, self._chance = world, world.random("streams")

    async def append(self, name: str, blocks: Sequence[bytes], epoch: int) -> list[Location]:
        await self._world.sleep(self._chance.randrange(50))
        self._new_extent(name)
        return await super().append(name, blocks, epoch)

    async def read(self, location: Location) -> bytes:
        await self._world.sleep(self._chance.randrange(30))
        if location.extent not in self.extents:
            raise NotThere(str(location))
        return await super().read(location)

    def collect(self, used: Sequence[int]) -> int:
        """Forgets what is not used."""
        gone = [extent for extent in self.extents if extent not in used and self.extents[extent]]
        for extent in gone:
            self.extents[extent] = []
        return len(gone)


@pytest.mark.parametrize("seed", range(12))
def test_readers_see_one_moment_whatever_goes_on_beside_them(seed: int) -> None:
    world = Simulator(seed)
    streams = SlowStreams(world)
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, OPTIONS)
    chance = world.random("test")
    rows: dict[bytes, tuple[int, bytes]] = {}
    counts = dict.fromkeys(("get", "scan", "checkpoint", "combine", "collected"), 0)
    keys = [b"%02d" % i for i in range(60)]
    ended = False

    async def write() -> None:
        nonlocal ended
        for sequence in range(1, 500):
            changed = {
                chance.choice(keys): chance.choice((None, b"", b"v%d" % sequence * chance.randrange(9)))
                for _ in range(chance.randrange(1, 4))
            }
            tree.apply(sequence, list(changed.items()))
            for key, value in changed.items():
                if value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = (sequence, value)
            await world.sleep(chance.randrange(10))
        ended = True

    async def maintain() -> None:
        while not ended:
            await world.sleep(chance.randrange(200))
            tree.freeze()
            checkpoint = await tree.write_checkpoint()
            await world.sleep(chance.randrange(20))
            if checkpoint is not None:
                tree.install(checkpoint)
                counts["checkpoint"] += 1

    async def combine() -> None:
        while not ended:
            await world.sleep(chance.randrange(100))
            task = tree.combine_task()
            if task is not None:
                checkpoint = await tree.combine(task)
                await world.sleep(chance.randrange(20))
                tree.install_combined(task, checkpoint)
                counts["combine"] += 1
            counts["collected"] += streams.collect(tree.extents())

    async def get() -> None:
        while not ended:
            key = chance.choice(keys)
            expected = rows.get(key)
            assert await tree.get(key) == expected
            counts["get"] += 1
            await world.sleep(chance.randrange(5))

    async def scan() -> None:
        while not ended:
            low, high = sorted((chance.choice(keys), chance.choice(keys)))
            expected = [(key, *rows[key]) for key in sorted(rows) if low <= key < high]
            cursor = tree.cursor(low, high, tree.sequence)
            found: list[tuple[bytes, int, bytes]] = []
            while part := await cursor.next():
                found += part
                await world.sleep(chance.randrange(300))
            assert found == expected
            counts["scan"] += 1
            await world.sleep(chance.randrange(5))

    async def everything() -> None:
        tasks = [world.spawn(job()) for job in (write, maintain, combine, get, get, scan, scan, scan)]
        for task in tasks:
            await task
        await tree.check()

    world.run(everything())
    assert not world.unhandled
    assert all(counts.values()), counts


def test_a_checkpoint_that_fails_half_way_leaves_the_table_readable_and_can_be_written_again() -> None:
    streams = MemoryStreams()
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, OPTIONS)
    tree.apply(1, [(b"k%03d" % i, bytes(50)) for i in range(100)])
    tree.freeze()
    run(streams.acquire("data", 2))
    with pytest.raises(Fenced):
        run(tree.write_checkpoint())
    assert run(tree.get(b"k042")) == (1, bytes(50))
    assert tree.extents() == ()
    streams.owners["data"] = 1
    checkpoint = run(tree.write_checkpoint())
    assert checkpoint is not None
    assert tree.extents() == checkpoint.extents, "what is written and not yet installed is in use"
    tree.install(checkpoint)
    assert run(tree.get(b"k042")) == (1, bytes(50))
    assert len(tree.memory_tables) == 1
    run(tree.check())


def test_a_read_whose_checkpoint_is_combined_away_while_it_waits_reads_the_combined_one() -> None:
    world = Simulator()
    streams = SlowStreams(world)
    run(streams.create("data", 1))
    tree = Tree(streams, "data", 1, OPTIONS)

    async def story() -> None:
        for sequence in (1, 2):
            tree.apply(sequence, [(b"k%d%03d" % (sequence, i), bytes(50)) for i in range(20)])
            tree.freeze()
            checkpoint = await tree.write_checkpoint()
            assert checkpoint is not None
            tree.install(checkpoint)
        task = CombineTask(tree.checkpoints, True)
        combined = await tree.combine(task)
        tree.cache.clear()
        reads = [world.spawn(tree.get(b"k1%03d" % i)) for i in range(20)]
        await world.pass_turn()
        assert not any(read.done for read in reads), "all of them wait for an index node of the old checkpoint"
        tree.install_combined(task, combined)
        assert streams.collect(tree.extents())
        for read in reads:
            assert await read == (1, bytes(50))

    world.run(story())
