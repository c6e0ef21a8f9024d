"""Stamps of test size, and clients who know what they were told."""

from __future__ import annotations

from dataclasses import dataclass, field

from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.stamp import Layout, Stamp
from pkadvisor.engine.tables.entity_codec import Body, encode_properties
from pkadvisor.engine.tables.row_keys import row_key
from pkadvisor.engine.tables.table_messages import Answer, ReadRequest, RowWrite, WriteKind, WriteRequest
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import Property

SMALL = EngineOptions(
    extent_bytes_target=64 << 10,
    block_bytes_max=16 << 10,
    memory_table_bytes=8 << 10,
    log_bytes=32 << 10,
    page_bytes=512,
    journal_segment_bytes=64 << 10,
    lease_ns=2 * SECOND,
    heartbeat_ns=250 * MS,
    clock_drift_ns_max=100 * MS,
    evaluate_ns=SECOND,
    sustain_ns=5 * SECOND,
    merge_after_ns=60 * SECOND,
    traffic_half_life_ns=2 * SECOND,
    traffic_sample_every=1,
    range_requests_per_s=100,
    server_requests_per_s=400,
    operation_timeout_ns=10 * SECOND,
    route_retry_ns=20 * MS,
    map_snapshot_changes=5,
    split_bytes=1 << 30,
)


def key_of(number: int) -> bytes:
    """Ten rows in each partition."""
    return row_key("a", "t", f"p{number // 10:05}", f"r{number % 10}")


def write_of(key: bytes, value: int, kind: WriteKind = WriteKind.INSERT_OR_REPLACE) -> WriteRequest:
    """A write of one number."""
    encoded, form = encode_properties({"N": Property(EdmType.INT64, value)})
    return WriteRequest(1, (RowWrite(kind, key, Body(encoded, form, 100)),))


async def put(stamp: Stamp, number: int, value: int, front_end: int = 0) -> Answer:
    """Writes a number under a key."""
    key = key_of(number)
    return await stamp.front_end(front_end).send(key, write_of(key, value))


async def get(stamp: Stamp, number: int, front_end: int = 0) -> int | None:
    """The number under a key."""
    key = key_of(number)
    answer = await stamp.front_end(front_end).send(key, ReadRequest(1, key))
    if answer.status == 404:
        return None
    assert answer.ok, answer
    return int(answer.entities[0].properties["N"].value)  # type: ignore[arg-type]


@dataclass
class Client:
    """Writes growing numbers under keys of its own and reads them back: each read must be between what was
    acknowledged before it began and what was sent before it ended (T1, T8)."""

    stamp: Stamp
    keys: range
    front_end: int = 0
    acked: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    refused: int = 0
    done: int = 0
    stopped: bool = False

    def stop(self) -> None:
        """Begins no more operations."""
        self.stopped = True

    async def work(self, operations: int, pause_ns: int = 20 * MS) -> None:
        world = self.stamp.world
        chance = world.random(f"client/{self.keys.start}")
        for _ in range(operations):
            if self.stopped:
                return
            number = self.keys[chance.randrange(len(self.keys) if chance.randrange(3) else 2)]  # two of them are hot
            if chance.randrange(3):
                await self.write(number)
            else:
                await self.read(number)
            if pause_ns:
                await world.sleep(chance.randrange(2 * pause_ns))

    async def write(self, number: int) -> None:
        value = self.sent.get(number, 0) + 1
        self.sent[number] = value
        try:
            answer = await put(self.stamp, number, value, self.front_end)
        except EngineError:
            self.refused += 1
            return
        assert answer.ok, answer
        self.acked[number] = value
        self.done += 1

    async def read(self, number: int) -> None:
        least = self.acked.get(number, 0)
        try:
            found = await get(self.stamp, number, self.front_end) or 0
        except EngineError:
            self.refused += 1
            return
        assert least <= found <= self.sent.get(number, 0), f"{number}: {least} <= {found} <= {self.sent.get(number, 0)}"
        self.acked[number] = max(found, self.acked.get(number, 0))  # no later read goes back behind it
        self.done += 1

    async def read_all(self) -> None:
        """After healing every key answers."""
        refused = self.refused
        for number in sorted(self.sent):
            await self.read(number)
        assert self.refused == refused, "a healed stamp answers everything"


def built(world: Simulator, options: EngineOptions = SMALL, **layout: object) -> Stamp:
    """A stamp that serves."""
    stamp = Stamp(world, options, Layout(**layout))  # type: ignore[arg-type]
    world.run(stamp.start(), limit_ns=60 * SECOND)
    stamp.check()
    return stamp
