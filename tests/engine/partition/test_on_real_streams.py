"""A range partition on the stream layer itself: on files that are opened again, and among faults in virtual time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from pkadvisor.engine.partition.range_partition import RangePartition
from pkadvisor.engine.partition.split_merge import merge, split
from pkadvisor.engine.stream.topology import lay_out
from pkadvisor.engine.tables.row_keys import partition_boundary
from pkadvisor.engine.worlds.faults import NetworkFaults
from pkadvisor.engine.worlds.machine import Machine
from pkadvisor.engine.worlds.simulator import Simulator
from tests.engine.partition.harness import NODE, OPTIONS, History, Land, key, rows_of
from tests.engine.partition.test_concurrent_life import change_on, read_on, write_on

MS = 1_000_000
SMALL = replace(OPTIONS, extent_bytes_target=20_000, memory_table_bytes=20_000, log_bytes=20_000)


def test_on_files_everything_acknowledged_is_there_when_they_are_opened_again(tmp_path: Path):
    """P3, P6: nothing is closed in between, as after kill -9."""
    history = History()

    def open_files() -> tuple[Machine, object]:
        machine = Machine(tmp_path, sync=False)
        layer = lay_out(machine, SMALL, count=3, poll=False)
        machine.run(layer.start())
        return machine, layer.client(NODE)

    for epoch in range(1, 5):
        machine, streams = open_files()
        if epoch == 1:
            partition = machine.run(RangePartition.create(machine, NODE, streams, SMALL, 1, b"", None, epoch))  # type: ignore[arg-type]
        else:
            partition = machine.run(RangePartition.load(machine, NODE, streams, SMALL, 1, epoch))  # type: ignore[arg-type]
        partition.look_after_itself()
        assert machine.run(rows_of(partition)) == history.recovered(partition.sequence)
        for row in range(150):
            changes = [(key(row % 7, row), b"%d" % row * 40), (key(row % 7, row // 2), None)][: 1 + row % 2]
            machine.run(history.write(partition, changes))
        machine.run(partition.check())
        assert machine.counts["checkpoint"] and machine.counts["combine"]
        machine.close()


def test_on_files_children_and_the_range_they_become_again_hold_the_same_rows(tmp_path: Path):
    """P4 on the stream layer: the merged range holds the blocks of its grandparent twice, each half believed once."""
    with Machine(tmp_path, sync=False) as machine:
        layer = lay_out(machine, SMALL, count=3, poll=False)
        machine.run(layer.start())
        streams = layer.client(NODE)

        async def run() -> None:
            history = History()
            partition = await RangePartition.create(machine, NODE, streams, SMALL, 1, b"", None, 1)
            for row in range(100):
                await history.write(partition, [(key(row % 9, row), b"x" * 300)])
            at = partition.halving_key()
            assert at is not None
            left, right = await split(partition, at, 2, 3, 2)
            assert await rows_of(left, right) == history.all_rows()
            for row in range(9):  # delete on each side, so that what the other half still holds must not come back
                await (left if key(row, row) < at else right).write([key(row, row)], _deletes)
            for child in (left, right):
                await child.checkpoint()
                await child.combine()
            left_rows, right_rows = await rows_of(left), await rows_of(right)
            merged = await merge(left, right, 4, 3)
            for name in left_rows.keys() | right_rows.keys():
                assert await merged.read(name) == (left_rows | right_rows)[name]
            assert await rows_of(merged) == left_rows | right_rows
            for turn in range(5):
                await merged.write([key(1, turn)], _puts)
                await merged.checkpoint()
                await merged.maintain()
                await merged.check()
            again = await RangePartition.load(machine, NODE, streams, SMALL, 4, 4)
            assert (await rows_of(again)).keys() == (left_rows | right_rows).keys() | {
                key(1, turn) for turn in range(5)
            }

        def _deletes(rows: object, _: int) -> list[tuple[bytes, bytes | None]]:
            return [(deleted.pop(0), None)]

        def _puts(rows: object, _: int) -> list[tuple[bytes, bytes | None]]:
            return [(written.pop(0), b"again")]

        deleted = [key(row, row) for row in range(9)]
        written = [key(1, turn) for turn in range(5)]
        machine.run(run())
        layer.check()


def test_a_range_that_is_split_and_merged_over_and_over_holds_each_extent_once(tmp_path: Path):
    """S9: halves share their extents; a merge that counted them twice would double them with every round."""
    with Machine(tmp_path, sync=False) as machine:
        layer = lay_out(machine, SMALL, count=3, poll=False)
        machine.run(layer.start())
        streams = layer.client(NODE)

        async def run() -> None:
            history = History()
            partition = await RangePartition.create(machine, NODE, streams, SMALL, 1, b"", None, 1)
            for row in range(9):
                await history.write(partition, [(key(row, row), b"x" * 300)])
            for turn in range(12):
                number, epoch = 10 * turn + 10, 2 * turn + 2
                left, right = await split(partition, partition_boundary(key(4, 0)), number, number + 1, epoch)
                partition = await merge(left, right, number + 2, epoch + 1)
                assert await rows_of(partition) == history.all_rows()
            assert layer.manager is not None
            for stream in layer.manager.directory.streams.values():
                assert len(stream.extents) == len(set(stream.extents)) < 100

        machine.run(run())
        layer.check()


def fault_life(seed: int) -> Simulator:
    """Servers that crash, power cuts and lossy links under many writers, splits and merges; judged after each."""
    network = NetworkFaults(
        delay_ns_min=MS // 10, delay_ns_mean=MS, drop_per_million=3_000, duplicate_per_million=3_000
    )
    world = Simulator(seed, network=network)
    layer = lay_out(world, SMALL, count=4)
    world.run(layer.start())
    land = Land(options=SMALL)
    land.world = world
    chance = Random(seed)

    async def boot() -> None:
        land.streams = layer.client(NODE)  # type: ignore[assignment]
        await (land.recover() if land.after else land.create())
        for part in land.parts:
            part.look_after_itself()
        turn = world.random("turn").getrandbits(30)
        for number in range(6):
            world.spawn(write_on(land, turn + number, Random(f"{seed} {turn} {number}")), NODE)
        world.spawn(read_on(land, Random(f"{seed} {turn} reader")), NODE)
        world.spawn(change_on(land, Random(f"{seed} {turn} changer")), NODE)

    world.add_node(NODE, boot)
    for turn in range(4):
        world.start(NODE)
        world.run_until(world.now_ns() + chance.randrange(300, 3_000) * MS)
        if turn % 2:
            world.power_cut()
            for node in (*layer.nodes,):
                world.start(node.name)
            world.start(layer.manager_name)
        else:
            world.crash(NODE)
    land.streams = layer.client("judge")  # type: ignore[assignment]
    world.run(land.recover())
    layer.check()
    return world


def test_among_faults_nothing_acknowledged_is_lost():
    """P3, P4, S1."""
    written = 0
    for seed in range(2):
        world = fault_life(seed)
        written += world.counts["written"]
        assert world.counts["walked"]
    assert written > 300
    assert partition_boundary(key(1, 1)) < key(1, 1)
