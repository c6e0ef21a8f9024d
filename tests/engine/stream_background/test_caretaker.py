"""Background work on a whole stream layer: repair, garbage, scrub, each against what was acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.stream.access import Location, MultiModify, NewStream, NotThere
from pkadvisor.engine.stream.caretaker import Caretaker, Condition
from pkadvisor.engine.stream.nodes.extent_store import file_name
from pkadvisor.engine.stream.topology import lay_out
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt

OPTIONS = EngineOptions(
    extent_bytes_target=2000,
    garbage_grace_ns=3 * SECOND,
    poll_period_ns=SECOND,
    node_lost_ns=4 * SECOND,
    scrub_period_ns=20 * SECOND,
    background_bytes=1500,
)


class Layer:
    """A stream layer and every block that it acknowledged."""

    def __init__(self, count: int = 6, options: EngineOptions = OPTIONS, seed: int = 1) -> None:
        self.world = Simulator(seed)
        self.layer = lay_out(self.world, options, count=count)
        self.world.run(self.layer.start())
        self.client = self.layer.client("client")
        self.acked: dict[str, list[tuple[Location, bytes]]] = {}
        self.chance = Random(seed)

    def fill(self, name: str, bytes_: int = 5000) -> None:
        if name not in self.acked:
            self.world.run(self.client.create(name, 1), "client")
            self.acked[name] = []
        while bytes_ > 0:
            blocks = [self.chance.randbytes(self.chance.randrange(1, 300)) for _ in range(self.chance.randrange(1, 4))]
            places = self.world.run(self.client.append(name, blocks, 1), "client")
            self.acked[name] += zip(places, blocks, strict=True)
            bytes_ -= sum(map(len, blocks))

    def pass_seconds(self, seconds: int) -> None:
        self.world.run_until(self.world.now_ns() + seconds * SECOND)

    def until(self, true: Callable[[], bool], seconds: int = 120) -> None:
        for _ in range(seconds):
            if true():
                return
            self.pass_seconds(1)
        raise AssertionError(f"not in {seconds} s; {self.world.counts}")

    @property
    def caretaker(self) -> Caretaker:
        assert self.layer.caretaker is not None
        return self.layer.caretaker

    def all_whole(self) -> bool:
        """S8: every live sealed extent has all its copies."""
        found = self.caretaker.conditions()
        return bool(found) and all(
            condition is Condition.WHOLE for conditions in found.values() for _, condition in conditions
        )

    def everything_reads(self, name: str) -> None:
        """S1: every acknowledged block, at its place and in a walk of the stream, from a client that knows nothing."""
        client = self.layer.client("other client")

        async def walk() -> list[tuple[Location, bytes]]:
            return [found async for found in client.records(name)]

        for location, block in self.acked[name]:
            assert self.world.run(client.read(location), "other client") == block
        walked = self.world.run(walk(), "other client")
        assert [found for found in walked if found in self.acked[name]] == self.acked[name]

    def extents(self, name: str) -> list[int]:
        assert self.layer.manager is not None
        return self.layer.manager.directory.streams[name].extents

    def info(self, extent: int) -> object:
        assert self.layer.manager is not None
        return self.layer.manager.directory.extents[extent]

    def holders(self, extent: int) -> list[str]:
        return [name for name, node in self.layer.extent_nodes.items() if extent in node.replicas]

    def flip(self, node: str, name: str, offset: int) -> None:
        """Turns a bit at rest."""
        next(file for file in self.world.disk(node, "data").files() if file.name == name).flip(offset, 3)

    def check(self) -> None:
        self.layer.check()
        assert not self.world.unhandled


def test_s8_the_copies_of_a_lost_node_are_made_elsewhere() -> None:
    layer = Layer()
    layer.fill("a", 9000)
    layer.pass_seconds(3)
    gone = layer.layer.manager.directory.extents[layer.extents("a")[0]].replicas[1]
    layer.world.crash(gone, lose_disks=True)
    layer.pass_seconds(3)
    assert not layer.world.counts["re-replicated"], "not before it is away for long"
    layer.until(lambda: layer.world.counts["re-replicated"] > 0 and layer.all_whole())
    for info in layer.layer.manager.directory.extents.values():
        if info.sealed is not None:
            assert gone not in info.replicas and len(set(info.replicas)) == 3
    layer.everything_reads("a")
    layer.check()


def test_a_node_that_comes_back_gives_up_what_was_made_elsewhere() -> None:
    layer = Layer()
    layer.fill("a", 9000)
    layer.pass_seconds(3)
    first = layer.extents("a")[0]
    gone = layer.layer.manager.directory.extents[first].replicas[0]
    layer.world.crash(gone)
    layer.until(lambda: gone not in layer.layer.manager.directory.extents[first].replicas and layer.all_whole())
    layer.world.start(gone)
    layer.until(lambda: len(layer.holders(first)) == 3)
    assert layer.world.counts["copy too many"] > 0
    assert gone not in layer.holders(first)
    layer.everything_reads("a")
    layer.check()


def test_a_node_that_comes_back_without_its_disks_is_filled() -> None:
    layer = Layer(count=3)
    layer.fill("a", 9000)
    layer.pass_seconds(2)
    node = "extent-node-1"
    layer.world.crash(node, lose_disks=True)
    layer.world.start(node)
    layer.until(lambda: layer.world.counts["copy repaired"] > 2 and layer.all_whole())
    assert node in layer.holders(layer.extents("a")[0])
    for other in ("extent-node-0", "extent-node-2"):
        layer.world.crash(other)
    sealed = [found for found in layer.acked["a"] if layer.info(found[0].extent).sealed is not None]
    layer.layer.extent_nodes = {node: layer.layer.extent_nodes[node]}
    for location, block in sealed:
        assert layer.world.run(layer.client.read(location), "client") == block, "one copy is enough to read"


def test_s9_an_extent_goes_when_no_stream_holds_it_and_not_before() -> None:
    layer = Layer()
    layer.fill("b", 6000)
    change = MultiModify("split", 1, (NewStream("c", ("b",), 1), NewStream("d", ("b",), 1)), ("b",))
    layer.world.run(layer.client.multi_modify(change), "client")
    layer.acked["c"] = layer.acked["d"] = layer.acked["b"]
    shared = layer.extents("c")
    assert shared == layer.extents("d")
    layer.world.run(layer.client.delete("c"), "client")
    layer.pass_seconds(20)
    layer.everything_reads("d")
    assert not layer.world.counts["collected"]
    middle = layer.acked["d"][-1][0]
    layer.world.run(layer.client.drop_before("d", middle), "client")
    dropped = [extent for extent in shared if extent not in layer.extents("d")]
    layer.pass_seconds(2)
    assert layer.world.run(layer.client.read(layer.acked["d"][0][0]), "client") == layer.acked["d"][0][1], "grace"
    layer.until(lambda: not any(layer.holders(extent) for extent in dropped))
    assert layer.world.counts["collected"] == len(dropped) > 0
    with pytest.raises(NotThere):
        layer.world.run(layer.layer.client("x").read(layer.acked["d"][0][0]), "x")
    assert all(len(layer.holders(extent)) == 3 for extent in layer.extents("d"))
    layer.check()


def test_reads_hedge_when_a_replica_is_slow() -> None:
    layer = Layer()
    layer.fill("a", 3000)
    location, block = layer.acked["a"][0]
    slow = layer.info(location.extent).replicas[0]
    layer.world.network.clog(["client"], [slow], 3 * SECOND)
    began = layer.world.now_ns()
    assert layer.world.run(layer.client.read(location), "client") == block
    assert layer.world.now_ns() - began <= 150 * MS
    assert layer.world.counts["hedged read"] == 1


def test_s7_the_scrub_finds_a_flipped_bit_and_it_is_mended_from_another_copy() -> None:
    layer = Layer()
    layer.fill("a", 9000)
    layer.pass_seconds(2)
    extents = layer.extents("a")[:-1]
    for extent in extents:
        length = layer.info(extent).sealed
        for number, node in enumerate(layer.info(extent).replicas):  # all three copies, each somewhere else
            layer.flip(node, file_name(extent), (number * length // 3 + 5) % length)
    layer.everything_reads("a")
    layer.until(lambda: layer.world.counts["replica mended"] >= 3 * len(extents) and layer.all_whole())
    contents = {}
    for extent in extents:
        for node in layer.info(extent).replicas:
            file = next(f for f in layer.world.disk(node, "data").files() if f.name == file_name(extent))
            contents.setdefault(extent, set()).add(bytes(file.content))
    assert all(len(found) == 1 for found in contents.values()), "bit-identical (S3)"
    layer.everything_reads("a")
    layer.check()


def test_s7_what_is_good_nowhere_is_reported_and_nothing_else_is_lost() -> None:
    layer = Layer(count=3)
    layer.fill("a", 4000)
    layer.pass_seconds(2)
    extent = layer.extents("a")[0]
    for node in layer.info(extent).replicas:
        layer.flip(node, file_name(extent), 20)
    layer.pass_seconds(60)
    assert layer.world.counts["corrupt replica"] == 3
    assert not layer.world.counts["replica mended"]
    spoiled = next(found for found in layer.acked["a"] if found[0].extent == extent and found[0].offset <= 20)
    with pytest.raises(DataCorrupt):
        layer.world.run(layer.client.read(spoiled[0]), "client")
    for location, block in layer.acked["a"][3:]:
        assert layer.world.run(layer.client.read(location), "client") == block
    assert len(layer.holders(extent)) == 3, "a copy that may still serve is not deleted"
    layer.check()


def test_s9_a_copy_too_many_stays_while_another_is_not_whole() -> None:
    layer = Layer(count=5)
    layer.fill("a", 2500)
    layer.pass_seconds(2)
    first = layer.extents("a")[0]
    before = layer.info(first).replicas
    layer.world.crash(before[0])
    layer.until(lambda: before[0] not in layer.info(first).replicas)
    others = layer.info(first).replicas
    layer.world.crash(others[1])
    layer.world.start(before[0])
    layer.pass_seconds(3)
    assert before[0] in layer.holders(first), "one of the three is silent: the fourth copy may be needed"
    layer.world.start(others[1])
    layer.until(lambda: before[0] not in layer.holders(first))
    layer.everything_reads("a")
    layer.check()


def test_s8_an_open_extent_that_nobody_appends_to_is_sealed_when_a_replica_is_gone() -> None:
    layer = Layer(5)
    layer.fill("a", 300)
    last = layer.extents("a")[-1]
    gone = layer.info(last).replicas[1]
    layer.world.crash(gone)
    layer.pass_seconds(2)
    layer.world.start(gone)
    layer.pass_seconds(4)
    assert layer.info(last).sealed is None, "a short absence changes nothing"
    layer.world.crash(gone, lose_disks=True)
    layer.until(lambda: layer.info(last).sealed is not None and layer.all_whole())
    assert layer.world.counts["sealed because a replica lacks"] == 1
    assert gone not in layer.info(last).replicas and len(layer.info(last).replicas) == 3
    layer.fill("a", 300)
    layer.everything_reads("a")
    layer.check()
