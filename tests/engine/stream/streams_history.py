"""A stream layer under faults, writers that note what they were told, and the judgement of it afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.access import Fenced, Location, StreamExists
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.topology import StreamLayer, lay_out
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError

MS = 1_000_000
SECOND = 1_000 * MS
TIMEOUTS = {"extents": 300 * MS, "extents.append": 800 * MS, "streams": 3 * SECOND}
TINY = EngineOptions(extent_bytes_target=700, journal_segment_bytes=1_500, poll_period_ns=SECOND)


def restart_after_crash(world: Simulator, after_ns: int) -> None:
    """Starts every node again a while after its crash."""

    def listen(now_ns: int, name: str, facts: tuple[object, ...]) -> None:
        if name == "crash":
            node = str(facts[0])
            if node in world.nodes():
                world.at(now_ns + after_ns, lambda: None if world.is_up(node) else _start(world, node))

    world.on_event(listen)


def _start(world: Simulator, node: str) -> None:
    world.start(node).when_done(lambda: None)


@dataclass
class Append:
    """An append as its writer saw it."""

    epoch: int
    number: int
    blocks: tuple[bytes, ...]
    begun: int
    ended: int = 0
    places: tuple[Location, ...] | None = None


@dataclass
class History:
    """What the writers of one stream were told."""

    name: str
    appends: list[Append] = field(default_factory=list)
    loads: list[tuple[int, int, list[tuple[Location, bytes]]]] = field(default_factory=list)

    def judge(self, final: list[tuple[Location, bytes]]) -> None:
        """AssertionError where something acknowledged is not there, in order and whole (S1, S4, S5, S10)."""
        at = {location: position for position, (location, _) in enumerate(final)}
        assert len(at) == len(final), "a block is read once"
        ends: dict[int, int] = {}
        for location, _ in final:
            assert location.offset == ends.get(location.extent, 0), "no gap between blocks (S5)"
            ends[location.extent] = location.offset + location.length
        acknowledged: list[tuple[int, int, int]] = []
        for append in self.appends:
            if append.places is None:
                continue
            positions = []
            for place, block in zip(append.places, append.blocks, strict=True):
                assert place in at, f"{self.name}: acknowledged {place} of {append.number} is lost (S1)"
                assert final[at[place]][1] == block, "the bytes are the same (S1)"
                positions.append(at[place])
            assert positions == list(range(positions[0], positions[0] + len(positions)))
            acknowledged.append((append.begun, append.ended, positions[0]))
        self._judge_order(acknowledged)
        self._judge_whole([block for _, block in final])
        for epoch, acquired, loaded in self.loads:
            assert final[: len(loaded)] == loaded, "a later load begins with what an earlier one read (S10)"
            there = dict(loaded)
            for append in self.appends:
                if append.epoch < epoch and append.places is not None:
                    assert append.begun < acquired, "an owner that was fenced is told nothing (S4)"
                    assert all(place in there for place in append.places), "the next owner reads all of it (S1)"

    @staticmethod
    def _judge_order(acknowledged: list[tuple[int, int, int]]) -> None:
        """An append that began after another was acknowledged lies behind it (S5)."""
        by_end = sorted((ended, position) for _, ended, position in acknowledged)
        behind = at = 0
        for begun, _, position in sorted(acknowledged):
            while at < len(by_end) and by_end[at][0] < begun:
                behind = max(behind, by_end[at][1])
                at += 1
            assert at == 0 or position > behind, "acknowledged in order (S5)"

    def _judge_whole(self, blocks: list[bytes]) -> None:
        """Appends of several blocks are there as a whole, or not at all (S5)."""
        position = 0
        while position < len(blocks):
            epoch, number, part, parts, _ = blocks[position].split(b"/", 4)
            assert part == b"0", "an append begins with its first block (S5)"
            for other in range(int(parts)):
                found = blocks[position + other].split(b"/", 4)
                assert found[:4] == [epoch, number, str(other).encode(), parts], "all blocks or none (S5)"
            position += int(parts)


class Stage:
    """A simulator with a stream layer and clients that live on a node of their own."""

    def __init__(self, world: Simulator, count: int = 5, options: EngineOptions = TINY) -> None:
        self.world = world
        self.options = options
        for service, timeout_ns in TIMEOUTS.items():
            world.network.set_timeout(service, timeout_ns)
        self.layer: StreamLayer = lay_out(world, options, count=count)
        self.histories: dict[str, History] = {}
        self._number = 0

        async def nothing() -> None:
            return

        for name in ("client-1", "client-2", "judge"):
            world.add_node(name, nothing)
            world.start(name)

    async def start(self) -> None:
        """Starts all; nobody waits for a node that crashes while it starts."""
        for task in self.world.start_all():
            task.when_done(lambda: None)
        await self.world.pass_turn()

    def client(self, node: str) -> StreamClient:
        return self.layer.client(node)

    async def create(self, client: StreamClient, name: str) -> None:
        self.histories[name] = History(name)
        while True:
            try:
                return await client.create(name, 1)
            except StreamExists:
                return None
            except EngineError:
                await self.world.sleep(100 * MS)

    async def append(self, client: StreamClient, name: str, epoch: int, chance: Random) -> bool:
        """One append; False where the writer was fenced."""
        self._number += 1
        parts = chance.choice((1, 1, 2, 4))
        filler = bytes([65 + self._number % 26]) * chance.choice((0, 10, 60, 200))
        blocks = tuple(b"%d/%d/%d/%d/%b" % (epoch, self._number, part, parts, filler) for part in range(parts))
        append = Append(epoch, self._number, blocks, self._number)
        self.histories[name].appends.append(append)
        try:
            append.places = tuple(await client.append(name, blocks, epoch))
            self._number += 1
            append.ended = self._number
        except Fenced:
            self.world.event("zombie fenced", name)
            return False
        except EngineError:
            return True
        return True

    async def take_over(self, client: StreamClient, name: str, epoch: int) -> None:
        """Acquires, loads, and notes what was read."""
        await client.acquire(name, epoch)
        self._number += 1
        acquired = self._number
        loaded = await all_of(client.records(name))
        self.histories[name].loads.append((epoch, acquired, loaded))

    async def judge(self, epoch: int = 1_000) -> None:
        """After the faults: everything is there, whoever reads; all replicas are the same."""
        client = self.client("judge")
        for name, history in self.histories.items():
            await client.acquire(name, epoch)
            final = await all_of(client.records(name))
            assert await all_of(self.client("client-2").records(name)) == final, (
                "the same whichever replica serves (S10)"
            )
            history.judge(final)
            for location, block in final:
                assert await client.read(location) == block
            await client.append(name, [b"afterwards"], epoch)
        manager = self.layer.manager
        assert manager is not None
        await manager.poll()
        self.layer.check()
        for extent, info in manager.directory.extents.items():
            if info.sealed is None:
                continue
            contents = []
            for node in info.replicas:
                if self.world.atlas is not None and node == "extent-node-1":
                    continue  # its devices are bad, and it may say so
                replica = self.layer.extent_nodes[node].replicas.get(extent)
                if replica is not None and not replica.lost:
                    assert replica.sealed == info.sealed, f"{node} has extent {extent} at {replica.sealed} (S3)"
                    contents.append(await replica.bytes_at(0, replica.length))
            assert contents, f"extent {extent} is nowhere"
            assert all(content == contents[0] for content in contents), "replicas are the same bit for bit (S3)"


async def all_of(found: AsyncIterator[tuple[Location, bytes]]) -> list[tuple[Location, bytes]]:
    return [item async for item in found]
