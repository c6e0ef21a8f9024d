"""A range partition on plain streams: what was acknowledged is there after a load, nobody sees half a change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.metadata import (
    FORMAT,
    KeyOutside,
    RangeMissing,
    RangeReadOnly,
    RangeStopped,
    WriteUncertain,
    decode_root,
    encode_root,
)
from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.partition.range_rows import READ_ONLY, STOPPED
from pkadvisor.engine.rows import Row
from pkadvisor.engine.stream.access import Fenced, LimitReached
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt, DiskFull, FormatError
from tests.engine.fakes import MemoryStreams
from tests.engine.partition.harness import NODE, OPTIONS, CrashingStreams, History, key, rows_of, walk


class House:
    """One range, its streams and what was written to it."""

    def __init__(self, options: EngineOptions = OPTIONS) -> None:
        self.world, self.memory, self.options = Simulator(), MemoryStreams(), options
        self.streams = CrashingStreams(self.memory)
        self.history = History()
        self.epoch = 1

    async def create(self, low: bytes = b"", high: bytes | None = None) -> RangePartition:
        return await RangePartition.create(self.world, NODE, self.streams, self.options, 1, low, high, self.epoch)

    async def load(self) -> RangePartition:
        self.epoch += 1
        return await RangePartition.load(self.world, NODE, self.streams, self.options, 1, self.epoch)

    async def put(self, partition: RangePartition, *rows: int, value: bytes = b"value") -> int:
        return await self.history.write(partition, [(key(row % 5, row), b"%b %d" % (value, row)) for row in rows])


def test_load_gives_all_acknowledged_writes_whatever_was_checkpointed_and_combined():
    """P3, P6."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        for turn in range(12):
            await house.put(partition, turn, turn + 1, value=b"turn %d" % turn)
            if turn % 3 == 2:
                await house.history.write(partition, [(key(turn % 5, turn), None)])
            if turn % 4 == 1:
                await partition.checkpoint()
            if turn == 9:
                assert len(partition.tree.checkpoints) == 3
                await partition.combine()
                assert len(partition.tree.checkpoints) == 1
            if turn % 5 == 3:
                before = partition
                partition = await house.load()
                assert before.sequence == partition.sequence
            await partition.check()
            assert await rows_of(partition) == house.history.rows(partition.sequence)

    house.world.run(run())


def test_a_checkpoint_lets_go_of_the_log_that_it_covers_and_only_of_that():
    """P6: what is dropped is never needed."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        for row in range(5):
            await house.put(partition, row)
            partition = await house.load()  # each owner writes into an extent of its own
        log = house.memory.streams["range/1/log"]
        assert len(log) > 5
        await partition.checkpoint()
        assert len(house.memory.streams["range/1/log"]) == 1
        await house.put(partition, 7)
        partition = await house.load()
        assert await rows_of(partition) == house.history.rows(partition.sequence)
        assert house.world.counts["log replayed"] > 0

    house.world.run(run())


def test_combined_row_data_is_let_go():
    house = House()

    async def run() -> None:
        partition = await house.create()
        for row in range(3):
            await house.put(partition, row)
            await partition.checkpoint()
            partition = await house.load()
        held = len(house.memory.streams["range/1/data"])
        await partition.combine()
        assert len(house.memory.streams["range/1/data"]) < held
        partition = await house.load()
        assert await rows_of(partition) == house.history.rows(partition.sequence)
        await partition.check()

    house.world.run(run())


def test_thresholds_start_checkpoints_and_combines_in_the_background():
    house = House(replace(OPTIONS, memory_table_bytes=2_000))

    async def run() -> None:
        partition = await house.create()
        partition.look_after_itself()
        for row in range(60):
            await house.put(partition, row)
            await house.world.pass_turn()
        assert house.world.counts["checkpoint"] >= 3
        assert house.world.counts["combine"] >= 1
        assert not partition.wants_checkpoint()
        assert await rows_of(await house.load()) == house.history.rows(60)

    house.world.run(run())


def test_a_long_log_asks_for_a_checkpoint_even_if_the_memory_table_is_small():
    house = House(replace(OPTIONS, log_bytes=500))

    async def run() -> None:
        partition = await house.create()
        while not partition.wants_checkpoint():
            await house.put(partition, 1)
        assert partition.sequence > 5
        await partition.maintain()
        assert not partition.wants_checkpoint()

    house.world.run(run())


def test_decide_sees_the_rows_as_they_are_and_a_refusal_leaves_no_trace():
    """T2, T4 below the table service."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, 1)

        def refuse(rows: object, sequence: int) -> list[tuple[bytes, bytes]]:
            assert rows == [(1, b"value 1"), None] and sequence == 2
            raise ValueError("precondition")

        with pytest.raises(ValueError, match="precondition"):
            await partition.write([key(1, 1), key(1, 2)], refuse)
        assert await partition.write([key(1, 1)], lambda rows, sequence: []) == 1
        appended = len(house.streams.steps)
        assert await house.put(partition, 2) == 2, "no number is lost to a refusal"
        assert len(house.streams.steps) == appended + 1
        await partition.check()

    house.world.run(run())


def test_a_key_outside_of_the_range_is_never_served():
    """P8: a stale map gives no wrong answer."""
    house = House()

    async def run() -> None:
        partition = await house.create(key(1, 0), key(3, 0))
        await house.history.write(partition, [(key(1, 0), b"low"), (key(2, 999), b"x")])
        for outside in (key(0, 5), key(3, 0)):
            with pytest.raises(KeyOutside):
                await partition.read(outside)
            with pytest.raises(KeyOutside):
                await partition.write([key(2, 0), outside], lambda rows, sequence: [])
        assert set(await walk(partition.cursor(b"", None))) == {key(1, 0), key(2, 999)}

    house.world.run(run())


def test_a_deposed_owner_writes_nothing_and_stops():
    """P2: the zombie's record is not applied, and its checkpoint not believed."""
    house = House()

    async def run() -> None:
        old = await house.create()
        await house.put(old, 1)
        new = await house.load()
        await house.history.write(new, [(key(0, 0), b"new")])
        with pytest.raises(WriteUncertain):
            await old.write([key(0, 0)], lambda rows, sequence: [(key(0, 0), b"zombie")])
        assert old.state is STOPPED
        with pytest.raises(RangeStopped):
            await old.read(key(0, 0))
        with pytest.raises(RangeStopped):
            old.cursor(b"", None)
        with pytest.raises(RangeStopped):
            await old.checkpoint()
        assert await rows_of(await house.load()) == house.history.rows(2)
        assert house.world.counts["zombie rejected"] == 1

    house.world.run(run())


def test_a_deposed_owner_that_checkpoints_first_stops_too():
    house = House()

    async def run() -> None:
        old = await house.create()
        await house.put(old, 1)
        await house.load()
        with pytest.raises(Fenced):
            await old.checkpoint()
        assert old.state is STOPPED

    house.world.run(run())


def test_a_full_disk_under_the_log_refuses_writes_and_goes_on_reading_until_the_next_load():
    house = House()

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, 1)
        house.streams.fail, house.streams.crash_at = DiskFull("no room"), len(house.streams.steps) + 1
        with pytest.raises(WriteUncertain):
            await partition.write([key(2, 2)], lambda rows, sequence: [(key(2, 2), b"x")])
        assert partition.state is READ_ONLY
        with pytest.raises(RangeReadOnly):
            await house.put(partition, 3)
        with pytest.raises(RangeReadOnly):
            await partition.checkpoint()
        assert await partition.read(key(1, 1)) == (1, b"value 1")
        assert await walk(partition.cursor(b"", None)) == {key(1, 1): (1, b"value 1")}
        house.history.records = house.history.records[:1]
        partition = await house.load()
        await house.put(partition, 4)
        assert await rows_of(partition) == house.history.rows(2)

    house.world.run(run())


def test_a_full_disk_under_the_row_data_costs_nothing_but_the_checkpoint():
    house = House()

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, 1)
        house.streams.fail, house.streams.crash_at = LimitReached("extents"), len(house.streams.steps) + 1
        house.streams.fail_once = True
        with pytest.raises(LimitReached):
            await partition.checkpoint()
        await house.put(partition, 2)
        assert await partition.checkpoint() is not None
        await house.put(partition, 3)
        await partition.check()
        assert await rows_of(partition) == house.history.rows(3)
        assert await rows_of(await house.load()) == house.history.rows(3)

    house.world.run(run())


def test_a_hand_over_takes_two_checkpoints_and_leaves_nothing_to_replay():
    house = House()

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, 1)
        await partition.prepare_offload()
        await house.put(partition, 2)
        await partition.stop()
        await partition.stop()
        assert house.world.counts["checkpoint"] == 2
        with pytest.raises(RangeStopped):
            await house.put(partition, 3)
        partition = await house.load()
        assert house.world.counts["log replayed"] == 0
        assert await rows_of(partition) == house.history.rows(2)

    house.world.run(run())


def test_writers_wait_while_a_range_is_paused_and_are_told_when_it_stopped():
    house = House()
    answers: list[str] = []

    async def writer(partition: RangePartition, row: int) -> None:
        try:
            await house.put(partition, row)
            answers.append(f"wrote {row}")
        except RangeStopped:
            answers.append(f"stopped {row}")

    async def run() -> None:
        partition = await house.create()
        await partition.pause()
        house.world.spawn(writer(partition, 1))
        await house.world.pass_turn()
        assert answers == []
        partition.unpause()
        await house.world.pass_turn()
        assert answers == ["wrote 1"]
        await partition.pause()
        house.world.spawn(writer(partition, 2))
        await house.world.pass_turn()
        partition.close("moved")
        partition.unpause()
        await house.world.pass_turn()
        assert answers == ["wrote 1", "stopped 2"]

    house.world.run(run())


def test_a_cursor_sees_one_moment_whatever_is_written_checkpointed_and_combined_meanwhile():
    """T3."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, *range(40))
        before = house.history.rows(1)
        cursor = partition.cursor(b"", None)
        first = await cursor.next()
        for turn in range(4):
            await house.put(partition, *range(turn, 40, 3), value=b"later")
            await partition.checkpoint()
        await partition.combine()
        seen: dict[bytes, Row] = {name: (sequence, value) for name, sequence, value in first}
        seen.update(await walk(cursor))
        assert seen == before

    house.world.run(run())


def test_a_record_larger_than_a_block_is_one_record_all_the_same():
    """T2: a group is there as a whole after a load."""
    house = House(replace(OPTIONS, block_bytes_max=8_192))

    async def run() -> None:
        partition = await house.create()
        await house.put(partition, *range(30), value=b"v" * 1_000)
        partition = await house.load()
        assert await rows_of(partition) == house.history.rows(1)
        assert partition.sequence == 1

    house.world.run(run())


def test_the_halving_key_lies_at_the_start_of_a_partition_key():
    """P5."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        assert partition.halving_key() is None
        await house.put(partition, *range(50))
        await partition.checkpoint()
        at = partition.halving_key()
        assert at is not None and at.count(0) == 3 and at.endswith(b"\0")
        assert 0 < sum(name < at for name in await rows_of(partition)) < 50
        assert partition.size_bytes() > 500

    house.world.run(run())


def test_a_range_of_one_partition_key_has_no_halving_key():
    """P5."""
    house = House()

    async def run() -> None:
        partition = await house.create()
        for row in range(20):
            await house.history.write(partition, [(key(1, row), b"value")])
        at = partition.halving_key()
        assert at is None or at <= key(1, 0)

    house.world.run(run())


def test_a_range_that_was_never_made_is_missing():
    house = House()

    async def run() -> None:
        with pytest.raises(RangeMissing):
            await house.load()

    house.world.run(run())


def test_metadata_of_a_newer_format_is_refused_in_words():
    house = House()

    async def run() -> None:
        partition = await house.create()
        block = encode_root(partition.metadata.root)
        newer = block[:1] + bytes((FORMAT + 1,)) + block[2:]
        with pytest.raises(FormatError, match=f"reads up to {FORMAT}"):
            decode_root(newer)
        with pytest.raises(DataCorrupt):
            decode_root(block[:-3])

    house.world.run(run())
